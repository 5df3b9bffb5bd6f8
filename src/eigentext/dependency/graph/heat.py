"""What the scores of trees say of their probability: fitted on sentences held out of training.

Scores are learned by margins, so that p(tree) = exp(score) / Z says the right order and the wrong
size.  With a heat T

    p(tree) = exp(score(tree) / T) / Z(T)

and T is the one, of a few, that makes the gold heads of held-out words most probable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eigentext.base.cores import each

if TYPE_CHECKING:
    from eigentext.base.types import Float64s
    from eigentext.dependency.graph.encode import ArcBatch
    from eigentext.dependency.graph.training import ArcModel

_HEATS = tuple(2.0 ** (k / 4) for k in range(-16, 5))  # 1/16 to 2
_MOST_SENTENCES, _MOST_WORDS = 300, 80  # looked at; longer sentences would take most of the time
_FLOOR = 1e-6  # the probability of a gold head that was ruled out


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
        found = np.zeros(len(_HEATS))
        for at, heat in enumerate(_HEATS):
            search.heat = heat
            found[at] = np.log(np.maximum(search.marginals()[gold, words], _FLOOR)).sum()
        return found

    totals = np.zeros(len(_HEATS))
    for found in each(logs, chosen.tolist()):
        totals += found
    # of nearly equals the first, so that rounding decides nothing
    near = totals >= totals.max() - 1e-9 * abs(totals.max())
    return _HEATS[int(np.argmax(near))] if len(chosen) else 1.0
