"""May the arcs of the trees cross, and at what charge?  Chosen on held-out training sentences.

1. Trees without a crossing arc need no choice: projective, whose search is exact.
2. Otherwise two parsers are trained for a few passes on three of four sentences and tried on the
   fourth: one of projective trees, and one whose arcs may cross, with each of a few charges for a
   crossing arc.  (Projective trees are better learned by their own exact search than read off the
   parser whose arcs may cross.)  Large treebanks are thinned out evenly first.
3. What gets most heads right is chosen; of equals the projective trees, then the higher charge.
   The parser that is kept is trained on all sentences.
4. The same sentences say how sharp probabilities are to be.  Scores are learned by margins, so
   that p(tree) = exp(score) / Z says the right order and the wrong size; with a heat T

       p(tree) = exp(score(tree) / T) / Z(T)

   and T is the one, of a few, that makes the gold heads of held-out words most probable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from eigentext.base.cores import each
from eigentext.base.progress import Progress
from eigentext.base.types import Float64s, Int32s
from eigentext.dependency.graph.encode import ArcBatch
from eigentext.dependency.graph.training import ArcModel, ArcSettings, train_arcs
from eigentext.language.trees.dependency import DependencyTree

WORDS = 80_000  # about so many are looked at, so that large treebanks pay little
EVERY = 4  # one sentence of so many is held out
PASSES, SMALL_PASSES = 3, 5  # small treebanks: more passes cost little, and say more
SMALL = 40_000  # words
FEW = 20_000  # words looked at where nothing but the heat is left to fit
CHARGES = (0.8, 0.4, 0.2, 0.1, 0.0)  # for each crossing arc, the highest first
_HEATS = tuple(2.0 ** (k / 4) for k in range(-16, 5))  # 1/16 to 2
_MOST_SENTENCES, _MOST_WORDS = 300, 80  # looked at; longer sentences would take most of the time
_FLOOR = 1e-6  # the probability of a gold head that was ruled out


@dataclass(frozen=True)
class Projectivity:
    """What was chosen and why.

    >>> print(Projectivity(True, "no crossing arcs"))
    projective trees (no crossing arcs)
    >>> print(Projectivity(False, "held-out sentences", 0.2, 1200, 81.25, 81.5))
    arcs may cross (held-out sentences: UAS 81.25 projective, 81.50 crossing, 1,200 words)
    """

    projective: bool  # are the trees kept from crossing?
    why: str  # as told; no crossing arcs; too few sentences; held-out sentences
    charge: float = 0.0  # what a crossing arc costs a tree
    words: int = 0  # held-out words, 0 if nothing was tried
    projective_uas: float | None = None  # their UAS in percent with projective trees
    crossing_uas: float | None = None  # and with trees whose arcs may cross, at the best charge
    heat: float = 1.0  # probabilities go by exp of scores over it; 1 if nothing was tried

    def __str__(self) -> str:
        both = (("projective", self.projective_uas), ("crossing", self.crossing_uas))
        scores = [f"{uas:.2f} {kind}" for kind, uas in both if uas is not None]
        figures = f": UAS {', '.join(scores)}, {self.words:,} words" if scores else ""
        kind = "projective trees" if self.projective else "arcs may cross"
        return f"{kind} ({self.why}{figures})"

    def applied(self, settings: ArcSettings) -> ArcSettings:
        """The settings with what was chosen."""
        return replace(settings, projective=self.projective, charge=self.charge, heat=self.heat)


def choose_projectivity(
    batch: ArcBatch,
    arc_names: Sequence[str],
    sib_names: Sequence[str],
    n_tags: int,
    settings: ArcSettings,
    projective: bool | str = "auto",
    *,
    grand_names: Sequence[str] = (),
    coarse: ArcModel | None = None,
    progress: Progress | None = None,
) -> Projectivity:
    """The choice for a batch with gold heads.

    ``projective``  True: they are; False: arcs may cross, and only the charge is left to choose;
                auto: both are
    ``coarse``  says which arcs are scored, the same for both; None: each learns its own
    """
    crosses = any(map(_crosses, np.split(batch.heads, batch.starts[1:-1])))
    searched = "held-out sentences" if crosses else "no crossing arcs"
    why = searched if projective == "auto" else "as told"
    settled = projective is True or not crosses or (projective is False and settings.order == 1)
    sample = np.arange(0, len(batch), max(1, round(batch.n_words / (FEW if settled else WORDS))))
    held_out = sample[EVERY - 1 :: EVERY]
    if not len(held_out):
        reason = why if settled or projective is False else "too few sentences"
        return Projectivity(projective is not False, reason)
    test = batch.part(held_out)
    passes = SMALL_PASSES if batch.n_words < SMALL else PASSES

    def trained(*, projective: bool) -> ArcModel:
        return train_arcs(
            batch,
            arc_names,
            sib_names,
            n_tags,
            replace(settings, projective=projective, epochs=min(passes, settings.epochs)),
            grand_names=grand_names,
            coarse=coarse,
            sentences=np.setdiff1d(sample, held_out),
            progress=progress
            and (lambda done, total, _: progress(done, total, "may arcs cross?")),
        )

    if settled:
        model = trained(projective=projective is not False)
        return Projectivity(projective is not False, why, heat=fitted_heat(model, test))
    crossing = trained(projective=False)
    charges = CHARGES if settings.order == 2 else (0.0,)
    decoded = zip(charges, crossing.decode_charged(test, charges), strict=True)
    scores = {charge: _uas(heads, test) for charge, heads in decoded}
    best = max(scores, key=lambda charge: scores[charge])
    tried = Projectivity(False, why, best, test.n_words, None, scores[best])
    if projective is not False:
        without = trained(projective=True)
        uas = _uas(without.decode(test), test)
        tried = replace(tried, projective_uas=uas)
        if uas >= scores[best]:
            heat = fitted_heat(without, test)
            return replace(tried, projective=True, charge=0.0, heat=heat)
    return replace(tried, heat=fitted_heat(crossing, test))


def _uas(heads: Int32s, test: ArcBatch) -> float:
    words = test.heads >= 0
    return 100.0 * float((heads[words] == test.heads[words]).mean())


def _crosses(heads: Int32s) -> bool:
    """Has the tree in these rows, the root's first, a crossing arc?"""
    return not DependencyTree([""] * (len(heads) - 1), heads[1:]).is_projective()


def fitted_heat(model: ArcModel, test: ArcBatch) -> float:
    """The heat of a model by sentences that it has not seen; 1 if there are none."""
    lengths = np.diff(test.starts) - 1
    short = np.flatnonzero((lengths > 1) & (lengths <= _MOST_WORDS))
    chosen = short[:: max(1, -(-len(short) // _MOST_SENTENCES))]

    def logs(number: int) -> Float64s:
        """(heats,) log probabilities of the gold heads of one sentence."""
        search = model.search(test, number)
        gold = test.heads[test.starts[number] + 1 : test.starts[number + 1]]
        words = np.arange(1, len(gold) + 1)
        sums = np.zeros(len(_HEATS))
        for at, heat in enumerate(_HEATS):
            search.heat = heat
            sums[at] = np.log(np.maximum(search.marginals()[gold, words], _FLOOR)).sum()
        return sums

    totals = np.zeros(len(_HEATS))
    for sums in each(logs, chosen.tolist()):
        totals += sums
    # of nearly equals the first, so that rounding decides nothing
    near = totals >= totals.max() - 1e-9 * abs(totals.max())
    return _HEATS[int(np.argmax(near))] if len(chosen) else 1.0
