"""May the arcs of the trees cross, and at what charge?  Chosen on held-out training sentences.

1. Trees without a crossing arc need no choice: projective, whose search is exact.
2. Otherwise a parser whose arcs may cross is trained for a few passes on three of four sentences
   and tried on the fourth: kept to projective trees, and with each of a few charges for a crossing
   arc.  Large treebanks are thinned out evenly first.
3. What gets most heads right is chosen; of equals the projective trees, then the higher charge.
   The parser that is kept is trained on all sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from eigentext.dependency.training import ArcModel, ArcSettings, train_arcs
from eigentext.trees.dependency import DependencyTree

if TYPE_CHECKING:
    from eigentext.dependency.encode import Batch

__all__ = ["Projectivity", "choose_projectivity"]

Progress = Callable[[int, int, str], None]
WORDS = 80_000  # about so many are looked at, so that large treebanks pay little
EVERY = 4  # one sentence of so many is held out
PASSES = 5
CHARGES = (np.inf, 0.8, 0.4, 0.2, 0.1, 0.0)  # infinity: projective trees


@dataclass(frozen=True)
class Projectivity:
    """What was chosen and why.

    ``projective``      are the trees kept from crossing?
    ``why``             as told; no crossing arcs; too few sentences; held-out sentences
    ``charge``          what a crossing arc costs a tree
    ``words``           held-out words, 0 if nothing was tried
    ``projective_uas``  their UAS in percent with projective trees
    ``crossing_uas``    and with trees whose arcs may cross, at the best charge

    >>> print(Projectivity(True, "no crossing arcs"))
    projective trees (no crossing arcs)
    >>> print(Projectivity(False, "held-out sentences", 0.2, 1200, 81.25, 81.5))
    arcs may cross (held-out sentences: UAS 81.25 projective, 81.50 crossing, 1,200 words)
    """

    projective: bool
    why: str
    charge: float = 0.0
    words: int = 0
    projective_uas: float | None = None
    crossing_uas: float | None = None

    def __str__(self) -> str:
        figures = ""
        if self.words:
            figures = (
                f": UAS {self.projective_uas:.2f} projective, {self.crossing_uas:.2f} crossing, "
                f"{self.words:,} words"
            )
        kind = "projective trees" if self.projective else "arcs may cross"
        return f"{kind} ({self.why}{figures})"

    def applied(self, settings: ArcSettings) -> ArcSettings:
        """The settings with what was chosen."""
        return replace(settings, projective=self.projective, charge=self.charge)


def choose_projectivity(
    batch: Batch,
    arc_names: Sequence[str],
    sib_names: Sequence[str],
    n_tags: int,
    settings: ArcSettings,
    told: bool | Literal["auto"] = "auto",
    *,
    grand_names: Sequence[str] = (),
    progress: Progress | None = None,
) -> Projectivity:
    """The choice for a batch with gold heads.

    ``told``  True: projective; False: arcs may cross, and only the charge is left to choose
    """
    if told is True or (told is False and settings.order == 1):
        return Projectivity(told, "as told")
    kept = Projectivity(told == "auto", "as told")
    if not any(map(_crosses, np.split(batch.heads, batch.starts[1:-1]))):
        return replace(kept, why="no crossing arcs") if told == "auto" else kept
    sample = np.arange(0, len(batch), max(1, round(batch.n_words / WORDS)))
    held_out = sample[EVERY - 1 :: EVERY]
    if not len(held_out):
        return replace(kept, why="too few sentences") if told == "auto" else kept
    free = train_arcs(
        batch, arc_names, sib_names, n_tags,
        replace(settings, projective=False, epochs=min(PASSES, settings.epochs)),
        grand_names=grand_names, sentences=np.setdiff1d(sample, held_out),
        progress=_renamed(progress),
    )  # fmt: skip
    test = batch.part(held_out)
    uas = _tried(free, test)
    best = max((charge for charge in uas if charge < np.inf), key=lambda charge: uas[charge])
    projective = told == "auto" and uas[np.inf] >= uas[best]
    return Projectivity(
        projective, "held-out sentences" if told == "auto" else "as told",
        0.0 if projective else best, test.n_words, uas[np.inf], uas[best],
    )  # fmt: skip


def _tried(model: ArcModel, test: Batch) -> dict[float, float]:
    """UAS in percent under each charge, the highest first."""
    charges: tuple[float, ...] = CHARGES
    if model.settings.order == 2:
        found = model.decode_charged(test, charges)
    else:
        charges = (np.inf, 0.0)
        kept = replace(model, settings=replace(model.settings, projective=True))
        found = np.stack([kept.decode(test), model.decode(test)])
    words = test.heads >= 0
    right = found[:, words] == test.heads[words]
    return dict(zip(charges, (100.0 * right.mean(axis=1)).tolist(), strict=True))


def _crosses(heads: npt.NDArray[np.int32]) -> bool:
    """Has the tree in these rows, the root's first, a crossing arc?"""
    return not DependencyTree([""] * (len(heads) - 1), heads[1:]).is_projective()


def _renamed(progress: Progress | None) -> Progress | None:
    if progress is None:
        return None
    return lambda done, total, _: progress(done, total, "may arcs cross?")
