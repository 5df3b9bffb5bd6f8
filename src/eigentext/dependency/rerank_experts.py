"""The reranker's experts by name: how each is learned from gold trees, asked, and stored.

    latent       log p of the latent tree model with valid parameters (word|UPOS)
    operators    log of the raw spectral operators' score, floored where it is not positive
    generative   log p(words, tree) of the generative parser
    valence, distance      from counts
    paths, surface         baselines: hidden Markov models of root-to-leaf paths, of the sentence

``jackknifed`` gives each training list the answer of an expert that has not seen its fold.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.dependency.kbest_lists import fold_numbers
from eigentext.dependency.rerank_features import (
    Distance,
    Expert,
    Known,
    Valence,
    expert_column,
    known_of,
)
from eigentext.errors import RankError, SettingsError
from eigentext.trees.dependency import DependencyTree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from eigentext.dependency.kbest_lists import KBestLists
    from eigentext.formats.conllu import Sentence

    Progress = Callable[[int, int, str], None]

__all__ = ["EXPERTS", "experts_from_bytes", "fit_expert", "jackknifed", "to_bytes"]

_STATES = 200  # of the latent tree model, unless told
EXPERTS = ("latent", "operators", "generative", "valence", "distance", "paths", "surface")


class _OfTags:
    """A model asked with forms and one column of tags."""

    def __init__(self, model: Any, column: str, method: str = "log_probs") -> None:
        self.model, self.column, self.method = model, column, method

    def log_probs(self, known: Known, heads: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        tags = getattr(known, self.column)
        found: npt.NDArray[np.float64] = getattr(self.model, self.method)(known.forms, tags, heads)
        return found


class _Generative:
    def __init__(self, model: Any) -> None:
        self.model = model

    def log_probs(self, known: Known, heads: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        found: npt.NDArray[np.float64] = self.model.log_probs(*known, heads)
        return found


def _trees(sentences: Sequence[Sentence], column: str) -> list[DependencyTree]:
    return [
        DependencyTree(
            one.forms,
            one.heads or (),
            tags=getattr(known_of(one), column),
        )
        for one in sentences
    ]


def _latent(trees: list[DependencyTree], seed: int, settings: dict[str, Any]) -> Any:
    """A latent tree model; unless told, with as many states as the trees support."""
    from eigentext.dependency.latent import LatentTreeModel

    if "k" in settings:
        return LatentTreeModel(seed=seed, **settings).fit(trees)
    n_tags = len({tag for tree in trees for tag in tree.tags or ()})
    k = _STATES
    while True:
        more = {"structure": "valence", "split": k >= n_tags, **settings}
        try:
            return LatentTreeModel(k, seed=seed, **more).fit(trees)
        except (RankError, SettingsError):
            if k == 1:
                raise
            k = max(1, k * 2 // 3)


def fit_expert(
    name: str, sentences: Sequence[Sentence], *, seed: int = 0, **settings: Any
) -> Expert:
    """Learn one of :data:`EXPERTS` from sentences with heads; ``settings`` go to its model."""
    from eigentext.dependency.generative import GenerativeParser
    from eigentext.dependency.operators import SpectralTreeOperators
    from eigentext.dependency.path_hmm import PathHMM, SurfaceHMM

    column = settings.pop("column", "coarse")  # of Known
    if name == "latent":
        return _OfTags(_latent(_trees(sentences, column), seed, settings), column)
    if name == "operators":
        model = SpectralTreeOperators(seed=seed, **settings).fit(_trees(sentences, column))
        return _OfTags(model, column, "scores")
    if name == "generative":
        return _Generative(GenerativeParser(seed=seed, **settings).fit(sentences))
    if name in ("valence", "distance"):
        kind = Valence if name == "valence" else Distance
        return kind.of((known_of(one), one.heads or ()) for one in sentences)
    if name in ("paths", "surface"):
        chain = PathHMM if name == "paths" else SurfaceHMM
        return _OfTags(chain(seed=seed, **settings).fit(_trees(sentences, column)), column)
    raise SettingsError(f"expert {name!r}: expected one of {', '.join(EXPERTS)}")


def jackknifed(
    fit: Callable[[Sequence[Sentence]], Expert],
    sentences: Sequence[Sentence],
    lists: KBestLists,
    *,
    folds: int = 3,
    progress: Progress | None = None,
) -> npt.NDArray[np.float32]:
    """One column: every list's trees under an expert of the other folds.

    ``fit`` makes an expert from sentences.  The folds are those of ``kbest_lists``.
    """
    parts = []
    for fold, numbers in enumerate(fold_numbers(len(sentences), folds)):
        if progress is not None:
            progress(fold, folds, "experts")
        left_out = set(numbers.tolist())
        expert = fit([one for at, one in enumerate(sentences) if at not in left_out])
        known = [known_of(sentences[at]) for at in numbers]
        parts.append(expert_column(expert, known, lists.part(numbers[0], numbers[-1] + 1)))
    return np.concatenate(parts)


def to_bytes(name: str, expert: Any) -> dict[str, npt.NDArray[Any]]:
    """What a model file keeps of an expert: its own file's bytes, or its counts as text."""
    if name in ("valence", "distance"):
        text = "\n".join(f"{c}\t{o}\t{n}" for (c, o), n in sorted(expert.table.counts.items()))
        return {f"expert.{name}": np.frombuffer(text.encode() or b" ", np.uint8)}
    if name == "operators":
        raise SettingsError("the raw operators are a reference and are not stored")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "expert"
        expert.model.save(path)
        return {f"expert.{name}": np.frombuffer(path.read_bytes(), np.uint8)}


def experts_from_bytes(
    names: Sequence[str], arrays: Mapping[str, npt.NDArray[Any]], columns: Mapping[str, str]
) -> dict[str, Expert]:
    """The experts that :func:`to_bytes` wrote."""
    from eigentext.dependency.generative import GenerativeParser
    from eigentext.dependency.latent import LatentTreeModel
    from eigentext.dependency.path_hmm import PathHMM, SurfaceHMM

    found: dict[str, Expert] = {}
    for name in names:
        raw = arrays[f"expert.{name}"].tobytes()
        if name in ("valence", "distance"):
            rows = [line.split("\t") for line in raw.decode().strip().splitlines()]
            counts = {(c, int(o)): int(n) for c, o, n in rows}
            found[name] = (Valence if name == "valence" else Distance)(counts)
            continue
        kinds: dict[str, Any] = {
            "latent": LatentTreeModel,
            "generative": GenerativeParser,
            "paths": PathHMM,
            "surface": SurfaceHMM,
        }
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "expert")
            Path(path).write_bytes(raw)
            model = kinds[name].load(path)
        found[name] = _Generative(model) if name == "generative" else _OfTags(model, columns[name])
    return found
