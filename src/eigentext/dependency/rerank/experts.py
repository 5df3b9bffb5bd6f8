"""The reranker's experts by name: how each is learned from gold trees, asked, and stored.

    latent       log p of the latent tree model with valid parameters (word|UPOS)
    operators    log of the raw spectral operators' score, floored where it is not positive
    generative   log p(words, tree) of the generative parser
    automata     log p(tags, tree) of split head automata from moments
    valence, distance      from counts
    paths, surface         baselines: hidden Markov models of root-to-leaf paths, of the sentence

``jackknifed`` gives each training list the answer of an expert that has not seen its fold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from eigentext.base.folds import held_out
from eigentext.base.progress import Progress
from eigentext.base.registry import part
from eigentext.base.settings import declared
from eigentext.base.types import Float32s, Float64s
from eigentext.dependency.rerank.features import Distance, Expert, Valence, expert_column
from eigentext.dependency.rerank.lists import KBestLists
from eigentext.dependency.sentence import TaggedSentence
from eigentext.dependency.settings import EXPERTS
from eigentext.errors import RankError, SettingsError
from eigentext.language.formats.conllu import ConlluBlock
from eigentext.language.trees.dependency import DependencyTree

_STATES = 200  # of the latent tree model, unless told
_CHAINS = {"paths": "HMM of paths", "surface": "HMM of the surface"}  # parts of the laboratory


class _OfTags:
    """A model asked with forms and coarse tags."""

    def __init__(self, model: object, method: str = "log_probs") -> None:
        self.model, self.method = model, method

    def log_probs(self, sentence: TaggedSentence, heads: npt.NDArray[np.integer]) -> Float64s:
        ask = getattr(self.model, self.method)
        logs: Float64s = ask(sentence.forms, sentence.coarse, heads)
        return logs


def _trees(sentences: Sequence[ConlluBlock]) -> list[DependencyTree]:
    return [
        DependencyTree(
            sentence.forms, sentence.heads or (), tags=TaggedSentence.from_conllu(sentence).coarse
        )
        for sentence in sentences
    ]


def _latent(trees: list[DependencyTree], seed: int, settings: dict[str, Any]) -> Any:
    """A latent tree model, with valence; unless told, with as many states as trees support."""
    from eigentext.dependency.latent.model import LatentTreeModel

    n_tags = len({tag for tree in trees for tag in tree.tags or ()})
    n_states = settings.get("n_states", _STATES)
    while True:
        usual = {"structure": "valence", "split": n_states >= n_tags, "seed": seed}
        try:
            return LatentTreeModel(**{**usual, **settings, "n_states": n_states}).fit(trees)
        except (RankError, SettingsError):
            if "n_states" in settings or n_states == 1:
                raise
            n_states = max(1, n_states * 2 // 3)


def check_settings(name: str, settings: dict[str, Any]) -> None:
    """Raise SettingsError for what the model of an expert does not have, or cannot be.

    >>> check_settings("latent", {"states": 5})
    Traceback (most recent call last):
    ...
    eigentext.errors.SettingsError: latent.states is not known here
    """
    from eigentext.dependency.generative.parser import GenerativeParser
    from eigentext.dependency.latent.model import LatentTreeModel

    kind = LatentTreeModel if name == "latent" else GenerativeParser
    names = {key for key, setting in declared(kind).items() if setting.stored}
    if more := sorted(settings.keys() - names):
        raise SettingsError(f"{name}.{more[0]} is not known here")
    try:
        kind(**settings).check()
    except SettingsError as error:
        raise SettingsError(f"{name}.{error}") from None


def fit_expert(
    name: str, sentences: Sequence[ConlluBlock], *, seed: int = 0, **settings: Any
) -> Expert:
    """Learn one of ``EXPERTS`` from sentences with heads; ``settings`` go to its model."""
    from eigentext.dependency.generative.parser import GenerativeParser
    from eigentext.dependency.latent.operators import SpectralTreeOperators

    if name == "latent":
        return _OfTags(_latent(_trees(sentences), seed, settings))
    if name == "operators":
        model = SpectralTreeOperators(seed=seed, **settings).fit(_trees(sentences))
        return _OfTags(model, "log_scores")
    if name == "generative":
        return GenerativeParser(**{"seed": seed, **settings}).fit(sentences)
    if name == "automata":
        strings = ((tree.tags or (), tree.heads) for tree in _trees(sentences))
        learned: Expert = part("automata of dependents").of(strings, **settings)
        return learned
    if name in ("valence", "distance"):
        kind = Valence if name == "valence" else Distance
        return kind.of(
            (TaggedSentence.from_conllu(source), source.heads or ()) for source in sentences
        )
    if name in _CHAINS:
        return _OfTags(part(_CHAINS[name])(seed=seed, **settings).fit(_trees(sentences)))
    raise SettingsError(f"expert {name!r}: expected one of {', '.join(EXPERTS)}")


def jackknifed(
    fit: Callable[[Sequence[ConlluBlock]], Expert],
    sentences: Sequence[ConlluBlock],
    lists: KBestLists,
    *,
    folds: int = 3,
    progress: Progress | None = None,
) -> Float32s:
    """One column: every list's trees under an expert of the other folds.

    ``fit`` makes an expert from sentences.  The folds are those of ``lists``.
    """
    parts = []
    for fold, (others, numbers) in enumerate(held_out(len(sentences), folds)):
        if progress is not None:
            progress(fold, folds, "experts")
        expert = fit([sentences[at] for at in others])
        tagged = [TaggedSentence.from_conllu(sentences[number]) for number in numbers]
        parts.append(expert_column(expert, tagged, lists.part(numbers[0], numbers[-1] + 1)))
    return np.concatenate(parts)


def expert_to_bytes(name: str, expert: Any) -> bytes:
    """What a model file keeps of an expert: its own file, or its counts as text."""
    if name in ("valence", "distance"):
        counts = sorted(expert.counts.items())
        return "\n".join(f"{c}\t{o}\t{n}" for (c, o), n in counts).encode() or b" "
    raw: bytes = (expert if name == "generative" else expert.model).to_bytes()
    return raw


def expert_from_bytes(name: str, raw: bytes) -> Expert:
    """What :func:`expert_to_bytes` wrote."""
    from eigentext.dependency.generative.parser import GenerativeParser
    from eigentext.dependency.latent.model import LatentTreeModel

    if name == "automata":
        stored: Expert = part("automata of dependents").from_bytes(raw)
        return stored
    if name in ("valence", "distance"):
        rows = [line.split("\t") for line in raw.decode().strip().splitlines()]
        counts = {(c, int(o)): int(n) for c, o, n in rows}
        return (Valence if name == "valence" else Distance)(counts)
    if name == "generative":
        return GenerativeParser.from_bytes(raw)
    chain = part(_CHAINS[name]) if name in _CHAINS else LatentTreeModel
    return _OfTags(chain.from_bytes(raw))
