"""How many latent states a nonterminal gets: from its spectrum, or from F1 on dev trees.

1. ``auto``: a singular value of Omega_a counts when it is larger than chance would make it.  What
   chance makes is seen when the outside features are dealt out anew among the nodes of a, so that
   inside and outside know nothing of each other (parallel analysis):

       m_a = number of k with  s_k(Phi' Psi / M)  >  s_2(Phi' P Psi / M),    P a random permutation

   The first direction of the shuffled Omega is that of the two means, which no shuffling removes;
   the second is the largest one made by chance.  Where features are centred (``moments``) it is
   the first, and the constant coordinate makes one state more.
2. ``search``: train with each of a few numbers of states (or ``auto``), parse dev, keep the best.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal, NamedTuple

from eigentext.constituency.spectrum import omega_svd
from eigentext.errors import SettingsError
from eigentext.evaluate.parseval import evaluate
from eigentext.formats.prm import EvalbSettings
from eigentext.trees.clean import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import numpy.typing as npt

    from eigentext.constituency.model import LPCFG
    from eigentext.constituency.spectrum import FeatureRows
    from eigentext.trees.constituent import Tree

    Progress = Callable[[int, int, str], None]

__all__ = [
    "AUTO_MOST",
    "GRID",
    "States",
    "Trial",
    "checked_states",
    "f1_on",
    "noise_level",
    "search_states",
    "significant",
]

States = int | Literal["auto"]

MOST = 64
AUTO_MOST = 32  # auto gives no nonterminal more states than so many
GRID: tuple[States, ...] = (4, 8, 16, 24, 32, "auto")


def checked_states(states: States) -> States:
    """A number of states between 1 and 64, or ``auto``.

    >>> checked_states("auto"), checked_states(16)
    ('auto', 16)
    """
    if states != "auto" and (not isinstance(states, int) or not 1 <= states <= MOST):
        raise SettingsError(f"states must lie between 1 and {MOST} or be 'auto', not {states!r}")
    return states


def noise_level(Phi: FeatureRows, Psi: FeatureRows, rng: np.random.Generator) -> float:
    """The largest singular value that chance alone gives Omega = Phi' Psi / M.

    >>> import numpy as np
    >>> from eigentext.constituency.spectrum import FeatureRows
    >>> same = FeatureRows(np.zeros((9, 1), np.int32), np.ones((9, 1), np.float32), 1)
    >>> noise_level(same, same, np.random.default_rng(0))
    0.0
    """
    dealt = rng.permutation(len(Psi.columns))
    shuffled = Psi._replace(columns=Psi.columns[dealt], values=Psi.values[dealt])
    s = omega_svd(Phi, shuffled, 2, rng).s
    return float(s[1]) if len(s) > 1 else 0.0


def significant(s: npt.NDArray[np.floating], noise: float) -> int:
    """How many of the singular values s, falling, are above the noise.

    >>> import numpy as np
    >>> significant(np.array([9.0, 2.0, 0.6, 0.5]), 0.55)
    3
    """
    return int((s > noise).sum())


class Trial(NamedTuple):
    """One number of states that was tried: its F1 on dev, and CPU seconds of training."""

    states: States
    f1: float
    seconds: float


def f1_on(parser: LPCFG, trees: Sequence[Tree], *, progress: Progress | None = None) -> float:
    """F1 by EVALB's rules (COLLINS.prm) on the words of gold trees."""
    spoken = [tree for tree in map(clean, trees) if tree is not None]
    if not spoken:
        raise SettingsError("the dev trees have no words")
    found = []
    for number, tree in enumerate(spoken):
        if progress is not None:
            progress(number, len(spoken), "parsing dev")
        found.append(parser.parse(tree.words).tree)
    return evaluate(spoken, found, EvalbSettings.collins(), failed="empty").all.f1


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
    >>> from eigentext.trees.constituent import Tree
    >>> trees = [Tree.from_brackets(line) for line in load_english("train")[:60]]
    >>> best, tried = search_states(lambda m: LPCFG(states=m).fit(trees), trees[:9], (1, 2))
    >>> [trial.states for trial in tried], best.states in (1, 2)
    ([1, 2], True)
    """
    best: LPCFG | None = None
    tried: list[Trial] = []
    for states in map(checked_states, grid):
        began = time.process_time()
        parser = fit(states)
        seconds = time.process_time() - began
        f1 = f1_on(parser, dev, progress=progress)
        if best is None or f1 > max(trial.f1 for trial in tried):
            best = parser
        tried.append(Trial(states, f1, seconds))
    if best is None:
        raise SettingsError("there is no number of states to try")
    return best, tried
