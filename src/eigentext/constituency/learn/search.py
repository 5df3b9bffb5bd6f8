"""The number of latent states with the best F1 on dev trees."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from eigentext.errors import SettingsError
from eigentext.evaluate.parseval import evaluate
from eigentext.language.formats.prm import EvalbSettings
from eigentext.language.trees.clean import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eigentext.base.progress import Progress
    from eigentext.constituency.model import LPCFG
    from eigentext.constituency.settings import States
    from eigentext.language.trees.constituent import Tree

GRID: tuple[States, ...] = (4, 8, 16, 24, 32, "auto")


class Trial(NamedTuple):
    """One number of states that was tried: its F1 on dev, and CPU seconds of training."""

    n_states: States
    f1: float
    seconds: float


def f1_on(parser: LPCFG, trees: Sequence[Tree], *, progress: Progress | None = None) -> float:
    """F1 by EVALB's rules (COLLINS.prm) on the words of gold trees."""
    spoken = [tree for tree in map(clean, trees) if tree is not None]
    if not spoken:
        raise SettingsError("the dev trees have no words")
    predicted = []
    for number, tree in enumerate(spoken):
        if progress is not None:
            progress(number, len(spoken), "parsing dev")
        predicted.append(parser.parse(tree.words).tree)
    return evaluate(spoken, predicted, EvalbSettings.collins(), failed="empty").all.f1


def search_states(
    fit: Callable[[States], LPCFG],
    dev: Sequence[Tree],
    grid: Sequence[States] = GRID,
    *,
    progress: Progress | None = None,
) -> tuple[LPCFG, list[Trial]]:
    """The parser with the best F1 on dev among those that ``fit`` makes, and all that was tried.

    Of equals the first in the grid wins: the smallest.

    >>> from eigentext.constituency import LPCFG
    >>> from eigentext.datasets import load_english
    >>> from eigentext.language.trees.constituent import Tree
    >>> trees = [Tree.from_brackets(line) for line in load_english("train")[:60]]
    >>> best, tried = search_states(lambda m: LPCFG(n_states=m).fit(trees), trees[:9], (1, 2))
    >>> [trial.n_states for trial in tried], best.n_states in (1, 2)
    ([1, 2], True)
    """
    best: LPCFG | None = None
    tried: list[Trial] = []
    for n_states in grid:
        began = time.process_time()
        parser = fit(n_states)
        seconds = time.process_time() - began
        f1 = f1_on(parser, dev, progress=progress)
        if best is None or f1 > max(trial.f1 for trial in tried):
            best = parser
        tried.append(Trial(n_states, f1, seconds))
    if best is None:
        raise SettingsError("there is no number of states to try")
    return best, tried
