"""The latent tree model with valid parameters: one hidden state per word, learned from trees.

A tree's words, given the tree (Dhillon et al. 2012, equation 2; ``e`` is the class of the edge
above j)::

    p(x_1 .. x_m, h_1 .. h_m) = pi[h_root] prod_j T_e(j)[h_j | h_parent(j)] prod_j O[x_j | h_j]

1. ``fit``: observations (observations.py) -> states by CCA and k-means -> counts -> EM
   (learn_latent.py).
2. ``log_prob`` sums the states out, leaves to root, in one pass; ``log_probs`` does so for many
   trees over one sentence; ``posteriors`` adds the way back down.
3. With ``structure`` each node also shows something of the tree (numbers of children, distance to
   its head, size of its subtree), so that the shape of the tree counts as well.

Every number is a probability: nothing is ever negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from eigentext.base import modelfile
from eigentext.dependency import learn_latent, storage_fields
from eigentext.dependency.learn_latent import EDGES, LatentSmoothing, StateRanges, Tables
from eigentext.dependency.observations import Forest, Observations, check_heads
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from eigentext.trees.dependency import DependencyTree

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]

__all__ = ["LatentTreeModel", "LatentTreeParams"]

KIND = "latent-tree"
VERSION = 1
_TABLES = ("pi", "T", "rows")
_SETTINGS = (
    "k",
    "observations",
    "split",
    "edges",
    "structure",
    "min_count",
    "lower",
    "language",
    "iterations",
    "soften",
    "kappa",
    "start",
    "ensemble",
    "seed",
)


@dataclass(frozen=True, eq=False)
class LatentTreeParams:
    """The parameters as arrays; every column is a distribution.

    ``pi``       (k,) of the root's state
    ``T_left``   (k, k) [child, parent] of a left child's state; ``T_right`` of a right child's
    ``O``        (n, k) p(x | h) of the first channel; ``more`` those of further channels, and
                 those of structure last where the model has it
    ``T``        (classes, k, k) [class, child, parent] for all classes of edges
    """

    pi: Floats
    T_left: Floats
    T_right: Floats
    O: Floats  # noqa: E741
    more: tuple[Floats, ...] = ()
    T: Floats | None = None


class LatentTreeModel:
    """A latent tree model; see the module's docstring.

    ``k``             hidden states in all
    ``split``         each tag has states of its own, so that a state says the tag and more (the
                      default); or all tags share them
    ``observations``  ``word|tag`` (default), ``word+tag`` (two emissions), ``tag``, ``word``; or
                      ready-made :class:`Observations`
    ``edges``         what a transition depends on besides the parent's state: ``undirected``
                      (nothing), ``directed`` (side), ``adjacent`` (side, and whether the words
                      are neighbours), ``ordered`` (side, and whether it is the nearest child)
    ``structure``     what a node shows of the tree besides: ``valence`` (numbers of left and of
                      right children), ``distance`` (to its head), ``size`` (of its subtree), or
                      several joined by ``+``; nothing by default
    ``iterations``    of EM
    ``soften``        share of each table that all states of a tag have in common at the start; EM
                      cannot leave a state that is certain
    ``start``         ``spectral``, or ``random`` states for comparison
    ``ensemble``      so many models from different seeds; log p is then their mean, which ranks
                      trees better than one; states, parameters and posteriors are the first's
    ``kappa``         added to counts in the scaling of the CCA

    After ``fit``: ``observations_``, ``params``, ``log_likelihoods`` (one per iteration),
    ``shares_`` (k,) of the states among all words, ``members_`` (the tables of each model).

    >>> from eigentext.trees.dependency import DependencyTree
    >>> tags = ("DET", "NOUN", "VERB")
    >>> trees = [DependencyTree((a, b, c), [2, 3, 0], tags=tags)
    ...          for a in ("a", "the") for b in ("cat", "dog") for c in ("runs", "sits")]
    >>> model = LatentTreeModel(3, min_count=1, iterations=3).fit(trees)
    >>> model.log_prob(trees[0]) > model.log_prob(DependencyTree(trees[0].forms, [0, 1, 2],
    ...                                                          tags=tags))
    True
    """

    def __init__(
        self,
        k: int = 200,
        *,
        observations: str | Observations = "word|tag",
        split: bool = True,
        edges: Literal["undirected", "directed", "adjacent", "ordered"] = "directed",
        structure: str = "",
        iterations: int = 30,
        soften: float = 0.6,
        min_count: int = 2,
        lower: bool = True,
        language: Literal["english", "generic"] = "english",
        smoothing: LatentSmoothing | None = None,
        kappa: float = 5.0,
        start: Literal["spectral", "random"] = "spectral",
        ensemble: int = 1,
        seed: int = 0,
    ) -> None:
        if k < 1:
            raise SettingsError(f"k {k}: expected at least 1")
        if ensemble < 1:
            raise SettingsError(f"ensemble {ensemble}: expected at least 1")
        if iterations < 0:
            raise SettingsError(f"iterations {iterations}: expected 0 or more")
        learn_latent.kinds_of_structure(structure)
        if edges not in EDGES:
            raise SettingsError(f"edges {edges!r}: expected {', '.join(EDGES)}")
        if not 0 <= soften < 1:
            raise SettingsError(f"soften {soften}: expected 0 or more, and less than 1")
        if start not in ("spectral", "random"):
            raise SettingsError(f"start {start!r}: expected spectral or random")
        self.k = k
        self.observations = observations
        self.split = split
        self.edges = edges
        self.structure = structure
        self.iterations = iterations
        self.soften = soften
        self.min_count = min_count
        self.lower = lower
        self.language = language
        self.smoothing = smoothing if smoothing is not None else LatentSmoothing()
        self.kappa = kappa
        self.start = start
        self.ensemble = ensemble
        self.seed = seed

    # ---------------------------------------------------------------- learning

    def fit(
        self,
        trees: Iterable[DependencyTree],
        *,
        progress: Callable[[int, float], None] | None = None,
    ) -> LatentTreeModel:
        """Learn from trees; ``progress`` hears of each EM iteration."""
        bank = list(trees)
        if isinstance(self.observations, Observations):
            self.observations_ = self.observations
        else:
            self.observations_ = Observations.learn(
                bank,
                self.observations,
                min_count=self.min_count,
                lower=self.lower,
                language=self.language,
            )
        forest = Forest.of(bank, self.observations_)
        self.ranges_ = self._find_ranges(forest)
        encoded = self._encode(forest)
        self.members_: list[Tables] = []
        for member in range(self.ensemble):
            told = progress and partial(_told, progress, member * self.iterations)
            tables, values, shares = self._fit_member(forest, encoded, self.seed + member, told)
            self.members_.append(tables)
            if member == 0:
                self.log_likelihoods, self.shares_ = values, shares
        return self

    def _fit_member(
        self,
        forest: Forest,
        encoded: learn_latent.EncodedForest,
        seed: int,
        progress: Callable[[int, float], None] | None,
    ) -> tuple[Tables, list[float], Floats]:
        """Tables, log likelihoods and shares of the states of one model."""
        if self.start == "random":
            rng = np.random.default_rng(seed)
            states = rng.integers(encoded.lo, encoded.hi)
        else:
            of_observation = learn_latent.spectral_states(
                forest, self.observations_.sizes[0], self.ranges_, kappa=self.kappa, seed=seed
            )
            states = of_observation[np.maximum(forest.seen[0], 0)]
        counts = learn_latent.counts_of_states(encoded, states, self.k)
        prior = learn_latent.spread_of(counts, encoded.starts, self.ranges_)
        tables = learn_latent.estimate(counts, encoded, prior, self.smoothing)
        start = learn_latent.softened(tables, prior, self.soften if self.iterations else 0.0)
        tables, values, last = learn_latent.run_em(
            encoded, start, prior, self.smoothing, self.iterations, progress=progress
        )
        found = counts if last is None else last
        shares = found.pi + found.T.sum(axis=(0, 1))
        return tables, values, shares / shares.sum()

    @property
    def tables_(self) -> Tables:
        """The tables of the (first) model."""
        return self._fitted().members_[0]

    def _fitted(self) -> LatentTreeModel:
        if not hasattr(self, "members_"):
            raise SettingsError("this model is not trained yet: call fit or load first")
        return self

    def _find_ranges(self, forest: Forest) -> StateRanges:
        size, tag_of = self.observations_.sizes[0], self.observations_.tag_of
        if not self.split:
            return StateRanges.shared(size, self.k)
        if not self.observations_.tags:
            raise SettingsError(
                f"observations {self.observations_.spec!r} have no tag in their first channel: "
                "split=False is the way"
            )
        return StateRanges.by_tag(tag_of, learn_latent.states_per_tag(forest, tag_of, self.k))

    def _encode(self, forest: Forest) -> learn_latent.EncodedForest:
        return learn_latent.encode_structure(
            forest,
            self.observations_.sizes,
            self.ranges_,
            edges=self.edges,
            structure=self.structure,
        )

    @property
    def _starts(self) -> Ints:
        return learn_latent.table_starts(self.observations_.sizes, self.structure)

    @property
    def _structure_starts(self) -> Ints:
        """(3,) the first row of each kind of structure, -1 where it is not shown."""
        kinds = learn_latent.kinds_of_structure(self.structure)
        first = dict(zip(kinds, self._starts[len(self.observations_.sizes) :], strict=False))
        return np.array([first.get(kind, -1) for kind in learn_latent.STRUCTURE], np.int64)

    @property
    def params(self) -> LatentTreeParams:
        """The parameters in the paper's orientation."""
        starts = self._fitted()._starts
        tables = [self.tables_.rows[a:b] for a, b in pairwise(starts)]
        T = np.ascontiguousarray(self.tables_.T.transpose(0, 2, 1))
        return LatentTreeParams(
            self.tables_.pi, T[0], T[min(1, len(T) - 1)], tables[0], tuple(tables[1:]), T
        )

    # ---------------------------------------------------------------- scoring

    def log_prob(self, tree: DependencyTree) -> float:
        """log p(words | tree), with ``structure`` of its shape as well.

        Several roots are independent of each other.
        """
        return float(self.log_probs(tree.forms, tree.tags, tree.heads[None])[0])

    def log_probs(
        self, forms: Sequence[str], tags: Sequence[str] | None, heads: npt.ArrayLike
    ) -> Floats:
        """log p for each of several trees over one sentence, heads (trees, n) or a list of them.

        Words and tags may be None where they are not known; they are summed out.
        """
        from eigentext.dependency.kernels_latent import tree_log_probs

        array = check_heads(heads, len(forms))
        seen = self._fitted().observations_.encode(forms, tags).astype(np.int64)
        starts = self._starts
        ids = np.where(seen >= 0, seen + starts[: len(seen), None], -1)
        logs, total = np.empty(len(array)), np.zeros(len(array))
        for tables in self.members_:
            fine = tree_log_probs(
                ids,
                self.ranges_.lo[seen[0]],
                self.ranges_.hi[seen[0]],
                array,
                EDGES[self.edges],
                self._structure_starts,
                tables.rows,
                tables.T,
                tables.pi,
                logs,
            )
            if not fine:
                raise ValueError("heads form a cycle")
            total += logs
        return total / len(self.members_)

    def sentence_score(
        self, forms: Sequence[str], tags: Sequence[str] | None, heads: npt.ArrayLike
    ) -> float:
        """log of the sum of p over a list of trees: a score of the sentence."""
        logs = self.log_probs(forms, tags, heads)
        best = float(logs.max())
        return best + float(np.log(np.exp(logs - best).sum())) if np.isfinite(best) else best

    def posteriors(self, tree: DependencyTree) -> Floats:
        """(n, k) p(state of each word | words, tree)."""
        from eigentext.dependency.kernels_latent import posteriors_and_counts

        encoded = self._encode(Forest.of([tree], self._fitted().observations_))
        tables = self.tables_
        found = np.zeros((len(tree), self.k))
        counts = learn_latent.Counts.zeros(len(tables.rows), encoded.n_classes, self.k)
        posteriors_and_counts(
            encoded.ids,
            encoded.lo,
            encoded.hi,
            encoded.heads,
            encoded.ptr,
            encoded.classes,
            tables.rows,
            tables.T,
            tables.pi,
            found,
            counts.rows,
            counts.T,
            counts.pi,
        )
        return found

    def log_likelihood(self, trees: Iterable[DependencyTree]) -> float:
        """Sum of log p over trees (of the first model)."""
        encoded = self._encode(Forest.of(trees, self._fitted().observations_))
        return learn_latent.expected_counts(encoded, self.tables_)[0]

    def sample(self, heads: Sequence[int], *, seed: int = 0) -> list[tuple[str, ...]]:
        """Draw what each word of a tree shows: for each channel its name, one tuple per word."""
        from eigentext.dependency.latent_inspection import sample_words

        return sample_words(self, heads, seed=seed)

    # ---------------------------------------------------------------- disk

    def save(self, path: str | os.PathLike[str], *, data: Mapping[str, Any] | None = None) -> None:
        """Write a model file of kind ``latent-tree``."""
        seen = self._fitted().observations_
        settings = {name: getattr(self, name) for name in _SETTINGS}
        settings.update(
            observations=seen.spec,
            min_count=seen.min_count,
            lower=seen.lower,
            language=seen.language,
            smoothing=dict(vars(self.smoothing)),
            log_likelihoods=self.log_likelihoods,
        )
        arrays = {"group": self.ranges_.group, "shares": self.shares_}
        for member, tables in enumerate(self.members_):
            arrays.update({f"{member}.{name}": getattr(tables, name) for name in _TABLES})
        modelfile.save(
            path,
            KIND,
            arrays,
            settings=settings,
            format_version=VERSION,
            seed=self.seed,
            data=data,
            strings={f"names{at}": names for at, names in enumerate(seen.names)},
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LatentTreeModel:
        """A model from its file."""
        file = modelfile.load(path, KIND, {VERSION}, storage_fields.LATENT_TREE)
        with file.fitting():
            settings = dict(file.header.settings)
            smoothing = LatentSmoothing(**settings.pop("smoothing"))
            values = settings.pop("log_likelihoods")
            model = cls(**settings, smoothing=smoothing)
            seen = model.observations_ = Observations(
                settings["observations"],
                tuple(tuple(file.strings[f"names{at}"]) for at in range(len(file.strings))),
                model.min_count,
                model.lower,
                model.language,
            )
            if len(seen.channels) != len(seen.names):
                raise ValueError(f"names of {len(seen.names)} channels")
            model.members_ = [
                Tables(*(file.arrays[f"{member}.{name}"] for name in _TABLES))
                for member in range(model.ensemble)
            ]
            model.log_likelihoods, model.shares_ = values, file.arrays["shares"]
            if model.split:
                per_tag = np.bincount(file.arrays["group"], minlength=len(seen.tags)).tolist()
                model.ranges_ = StateRanges.by_tag(seen.tag_of, per_tag)
            else:
                model.ranges_ = StateRanges.shared(seen.sizes[0], model.k)
            if not np.array_equal(model.ranges_.group, file.arrays["group"]):
                raise ValueError("the states do not fit the tags")
        return model


def _told(progress: Callable[[int, float], None], before: int, done: int, value: float) -> None:
    progress(before + done, value)
