"""The latent tree model with valid parameters: one hidden state per word, learned from trees.

A tree's words, given the tree (Dhillon et al. 2012, equation 2; ``e`` is the class of the edge
above j)::

    p(x_1 .. x_m, h_1 .. h_m) = pi[h_root] prod_j T_e(j)[h_j | h_parent(j)] prod_j O[x_j | h_j]

With ``structure`` each node also shows something of the tree (numbers of children, distance to
its head, size of its subtree), so that the shape of the tree counts as well.  Every
number is a probability: nothing is ever negative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from eigentext.base.fields import Ints, Shares, Strings
from eigentext.base.model import Model
from eigentext.base.progress import Progress
from eigentext.base.records import As, Each, Record, stored
from eigentext.base.registry import part
from eigentext.base.settings import values_of
from eigentext.base.tokens import checked_item
from eigentext.base.types import Float64s, Int64s
from eigentext.base.values import Flag, Listed, Named, Real, Text, Whole
from eigentext.dependency.latent import learn
from eigentext.dependency.latent.learn import (
    EDGES,
    N_CLASSES,
    LatentSmoothing,
    StateRanges,
    StateTables,
    table_starts,
)
from eigentext.dependency.latent.observations import (
    Observations,
    WordForest,
    channels_of,
    check_heads,
    each_tree,
)
from eigentext.dependency.settings import LatentTreeSettings, Unlabelled, UnlabelledReport
from eigentext.errors import RankError, SettingsError
from eigentext.features.symbols import UNKNOWN
from eigentext.language.trees.dependency import DependencyTree

# share of each table that all states of a tag have in common at the start: EM cannot leave a state
# that is certain
_SOFTEN = 0.6


_MEMBERS = Each(
    Record(
        StateTables,
        pi=Shares(("n_states",)),
        T=Shares((lambda v: N_CLASSES[EDGES[v["edges"]]], "n_states", "n_states")),
        rows=Shares(("rows", "n_states")),
    ),
    "n_models",
    "{}.",
)
_NAMES = Each(
    Strings("names#", distinct=True), lambda v: v["observations"].count("+") + 1, "names{}"
)


@dataclass
class _Content:
    """What a file holds."""

    group: Int64s = stored(Ints(("n_states",), low=0, below="n_states"), of="ranges_.group")
    shares_: Float64s = stored(Shares(("n_states",)))
    members_: list[StateTables] = stored(As(_MEMBERS, list, list))
    names: tuple[tuple[str, ...], ...] = stored(_NAMES, of="observations_.names")  # by channel
    log_likelihoods_: list[float] = stored(As(Listed(Real()), list, list))


@dataclass(frozen=True, eq=False)
class LatentTreeParams:
    """The parameters as arrays; every column is a distribution."""

    pi: Float64s  # (k,) of the root's state
    T_left: Float64s  # (k, k) [child, parent] of a left child's state
    T_right: Float64s  # of a right child's
    O: Float64s  # noqa: E741 - (n, k) p(x | h) of the first channel
    more: tuple[Float64s, ...] = ()  # of further channels, and of structure last where it is there
    T: Float64s | None = None  # (classes, k, k) [class, child, parent] for all classes of edges


class TreeLists(Protocol):
    """Sentences without trees, each with a list of trees in their place: of the laboratory."""

    def words(self) -> list[DependencyTree]:
        """One tree of each sentence, to count words in."""

    def beside(self, trees: Sequence[DependencyTree], weight: float) -> Any:
        """``trees`` given and listed, and how often each counts (``weights``)."""


@dataclass(eq=False, repr=False)
class LatentTreeModel(Model, LatentTreeSettings):
    """A latent tree model; see the module's docstring.

    After ``fit``: ``observations_``, ``params``, ``log_likelihoods_`` (one per iteration),
    ``shares_`` (n_states,) of the states among all words, ``members_`` (the tables of each model).

    >>> from eigentext.language.trees.dependency import DependencyTree
    >>> tags = ("DET", "NOUN", "VERB")
    >>> trees = [DependencyTree((a, b, c), [2, 3, 0], tags=tags)
    ...          for a in ("a", "the") for b in ("cat", "dog") for c in ("runs", "sits")]
    >>> model = LatentTreeModel(3, min_count=1, n_iter=3).fit(trees)
    >>> model.log_prob(trees[0]) > model.log_prob(DependencyTree(trees[0].forms, [0, 1, 2],
    ...                                                          tags=tags))
    True
    """

    KIND = "latent-tree"
    CONTENT = _Content
    SIZED_BY = Named(
        {
            "n_states": Whole(1, 10**6),
            "n_models": Whole(1, 1000),
            "edges": Text(tuple(EDGES)),
            "structure": Text(),
            "observations": Text(),
            "split": Flag(),
        }
    )

    def check(self) -> None:
        """Raise SettingsError for settings that no such model can have."""
        super().check()
        learn.kinds_of_structure(self.structure)
        channels_of(self.observations)

    # ---------------------------------------------------------------- learning

    def fit(
        self,
        trees: Iterable[DependencyTree],
        *,
        unlabelled: Unlabelled | None = None,
        progress: Progress | None = None,
    ) -> LatentTreeModel:
        """Learn from trees; ``progress`` hears of each EM iteration.

        ``unlabelled`` are sentences without trees to learn from as well, by trees that a parser
        gives them; ``unlabelled_`` then tells what became of them.
        """
        self.check()
        bank = list(each_tree(trees))
        if unlabelled is None:
            return self.fit_trees(bank, None, 0.0, progress)
        fit = part("latent trees of trees and text")
        self.unlabelled_: UnlabelledReport = fit(self, bank, unlabelled, progress)
        return self

    def scores_of(
        self, trees: list[DependencyTree], text: TreeLists, weight: float
    ) -> Callable[[Sequence[str], Sequence[str] | None, npt.ArrayLike], Float64s]:
        """The scores of trees by a model with these settings, of other trees."""
        other = type(self)(**values_of(self))
        try:
            other.fit_trees(trees, text, weight, None)
        except (RankError, SettingsError) as error:
            why = "trees are too few to choose the weight of sentences without"
            raise SettingsError(f"{why}: {error}") from None
        return other.log_probs

    def fit_trees(
        self,
        bank: list[DependencyTree],
        text: TreeLists | None,
        weight: float,
        progress: Progress | None,
    ) -> LatentTreeModel:
        """Learn from trees, and from a text if there is one that counts."""
        forest = self.observe(bank, text if weight else None, weight)
        encoded = self._encode(forest)
        self.members_: list[StateTables] = []
        for member in range(self.n_models):
            tables, values, shares = self._fit_member(forest, encoded, member, progress)
            self.members_.append(tables)
            if member == 0:
                self.log_likelihoods_, self.shares_ = values, shares
        return self

    def observe(
        self, bank: list[DependencyTree], text: TreeLists | None, weight: float = 0.0
    ) -> WordForest:
        """What there is to see in trees and text: observations, and the states that they have."""
        self.observations_ = Observations.learn(
            bank if text is None else [*bank, *text.words()],
            self.observations,
            min_count=self.min_count,
            language=self.language,
        )
        if text is None:
            forest = WordForest.of(bank, self.observations_)
        else:
            both = text.beside(bank, weight)
            forest = WordForest.of(both.trees, self.observations_, both.weights)
        self.ranges_ = self._find_ranges(forest)
        return forest

    def _fit_member(
        self, forest: WordForest, rows: learn.EncodedForest, member: int, progress: Progress | None
    ) -> tuple[StateTables, list[float], Float64s]:
        seed, smoothing = self.seed + member, self.smoothing or LatentSmoothing()
        if self.start == "random":
            rng = np.random.default_rng(seed)
            states = rng.integers(rows.lo, rows.hi)
        else:
            of_observation = learn.spectral_states(
                forest, self.observations_.sizes[0], self.ranges_, seed=seed
            )
            states = of_observation[np.maximum(forest.shown[0], 0)]
        counts = learn.counts_of_states(rows, states, self.n_states)
        prior = learn.spread_of(counts, rows.starts, self.ranges_)
        tables = learn.estimate(counts, rows, prior, smoothing)
        start = learn.softened(tables, prior, _SOFTEN if self.n_iter else 0.0)

        def told(done: int, total: int, stage: str) -> None:
            if progress is not None:
                progress(member * total + done, self.n_models * total, stage)

        tables, values, last = learn.run_em(
            rows, start, prior, smoothing, self.n_iter, progress=told
        )
        final = counts if last is None else last
        shares = final.pi + final.T.sum(axis=(0, 1))
        return tables, values, shares / shares.sum()

    @property
    def tables_(self) -> StateTables:
        """The tables of the (first) model."""
        self.check_fitted()
        return self.members_[0]

    def _find_ranges(self, forest: WordForest) -> StateRanges:
        size, tag_of = self.observations_.sizes[0], self.observations_.tag_of
        if not self.split:
            return StateRanges.shared(size, self.n_states)
        if not self.observations_.tags:
            raise SettingsError(
                f"observations {self.observations_.spec!r} have no tag in their first channel: "
                "split=False is the way"
            )
        return StateRanges.by_tag(tag_of, learn.states_per_tag(forest, tag_of, self.n_states))

    def _encode(self, forest: WordForest) -> learn.EncodedForest:
        return learn.encode_structure(
            forest,
            self.observations_.sizes,
            self.ranges_,
            edges=self.settings_.edges,
            structure=self.settings_.structure,
        )

    @property
    def _starts(self) -> Int64s:
        return learn.table_starts(self.observations_.sizes, self.settings_.structure)

    @property
    def _structure_starts(self) -> Int64s:
        """(3,) the first row of each kind of structure, -1 where it is not shown."""
        kinds = learn.kinds_of_structure(self.settings_.structure)
        first = dict(zip(kinds, self._starts[len(self.observations_.sizes) :], strict=False))
        return np.array([first.get(kind, -1) for kind in learn.STRUCTURE], np.int64)

    @property
    def params(self) -> LatentTreeParams:
        """The parameters in the paper's orientation."""
        self.check_fitted()
        starts = self._starts
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
        self.check_fitted()
        tree = checked_item(DependencyTree, tree, "a dependency tree")
        return float(self.log_probs(tree.forms, tree.tags, tree.heads[None])[0])

    def log_probs(
        self, forms: Sequence[str], tags: Sequence[str] | None, heads: npt.ArrayLike
    ) -> Float64s:
        """log p for each of several trees over one sentence, heads (trees, n) or a list of them.

        Words and tags may be None where they are not known; they are summed out.
        """
        from eigentext.dependency.kernels.latent import LatentWords, TreeShape, tree_log_probs

        self.check_fitted()
        observed = self.observations_.encode(forms, tags).astype(np.int64)
        array = check_heads(heads, len(forms))
        starts = self._starts
        ids = np.where(observed >= 0, observed + starts[: len(observed), None], -1)
        words = LatentWords(ids, self.ranges_.lo[observed[0]], self.ranges_.hi[observed[0]])
        shape = TreeShape(EDGES[self.settings_.edges], self._structure_starts)
        logs, total = np.empty(len(array)), np.zeros(len(array))
        for tables in self.members_:
            if not tree_log_probs(words, array, shape, tables, logs):
                raise ValueError("heads form a cycle")
            total += logs
        return total / len(self.members_)

    def posteriors(self, tree: DependencyTree) -> Float64s:
        """(n, k) p(state of each word | words, tree)."""
        from eigentext.dependency.kernels.latent import posteriors_and_counts

        self.check_fitted()
        encoded = self._encode(WordForest.of([tree], self.observations_))
        tables = self.tables_
        k = len(tables.pi)  # of what was learned: n_states may have been set anew since
        posteriors = np.zeros((len(tree), k))
        counts = StateTables.zeros(len(tables.rows), encoded.n_classes, k)
        posteriors_and_counts(encoded, tables, posteriors, counts)
        return posteriors

    def log_likelihood(self, trees: Iterable[DependencyTree]) -> float:
        """Sum of log p over trees (of the first model)."""
        self.check_fitted()
        encoded = self._encode(WordForest.of(trees, self.observations_))
        return learn.expected_counts(encoded, self.tables_)[0]

    def score(self, trees: Sequence[DependencyTree], y: None = None) -> float:
        """Mean log p of a word (of the first model): more is better, as searches want it."""
        self.check_fitted()
        bank = list(each_tree(trees))
        return self.log_likelihood(bank) / max(sum(map(len, bank)), 1)

    def sample(self, heads: Sequence[int], *, seed: int = 0) -> list[tuple[str, ...]]:
        """Draw what each word of a tree shows: for each channel its name, one tuple per word."""
        from eigentext.dependency.latent.inspection import sample_words

        return sample_words(self, heads, seed=seed)

    # ---------------------------------------------------------------- storage

    def _restore(self, content: _Content) -> None:
        names = content.names
        expected = int(table_starts([*map(len, names)], self.structure)[-1])
        n_rows = len(content.members_[0].rows)
        if n_rows != expected:
            raise ValueError(f"array '0.rows' has {n_rows} rows, expected {expected}")
        if any(UNKNOWN not in channel for channel in names):
            raise ValueError(f"strings 'names': one list is without {UNKNOWN}")
        observed = self.observations_ = Observations(
            self.observations, names, self.min_count, language=self.language
        )
        if len(observed.channels) != len(names):
            raise ValueError(f"names of {len(names)} channels")
        if self.split:
            per_tag = np.bincount(content.group, minlength=len(observed.tags)).tolist()
            self.ranges_ = StateRanges.by_tag(observed.tag_of, per_tag)
        else:
            self.ranges_ = StateRanges.shared(observed.sizes[0], self.n_states)
        if not np.array_equal(self.ranges_.group, content.group):
            raise ValueError("the states do not fit the tags")

    def _summary(self) -> str:
        return f"{len(self.tables_.pi)} states, {self.observations_.sizes[0]:,} observations"
