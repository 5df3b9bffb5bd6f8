"""What the tagger looks at around a word: slots of a word, and templates that put slots together.

A *slot* is one thing that is known of a word alone: its form, its endings, its shape, its cluster,
the tags it may have.  A *template* names one to three slots at places around the word to be
tagged, such as ``lower[-1]&ending3[0]``; its value is one feature.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from eigentext.base.hashing import text_key

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = [
    "BITS",
    "CLUSTER_SLOTS",
    "N_BEGINNINGS",
    "N_ENDINGS",
    "SLOTS",
    "TEMPLATES",
    "VECTOR_SLOTS",
    "compiled",
]

N_ENDINGS, N_BEGINNINGS = 6, 4
BITS = (4, 6, 9, 20)
CLUSTER_SLOTS = tuple(f"cluster{n}" for n in BITS)
VECTOR_SLOTS = tuple(f"near{n}" for n in BITS)
SLOTS = (
    "word",
    "lower",
    "shape",
    "kind",
    "analysis",
    *(f"ending{n}" for n in range(1, N_ENDINGS + 1)),
    *(f"beginning{n}" for n in range(1, N_BEGINNINGS + 1)),
    "ambiguity",
    "best",
    "upos",
    *CLUSTER_SLOTS,
    *VECTOR_SLOTS,
)
_PART = re.compile(r"([a-z]+[0-9]*)\[([+-]?[0-9])\]")
_MOST_PARTS = 3


def _names() -> tuple[str, ...]:
    own = ["word", "lower", "shape", "kind", "analysis", "ambiguity", "best"]
    own += [f"ending{n}" for n in range(1, N_ENDINGS + 1)]
    own += [f"beginning{n}" for n in range(1, N_BEGINNINGS + 1)]
    names = [f"{slot}[0]" for slot in own]
    for at in ("-1", "+1"):
        names += [f"{slot}[{at}]" for slot in ("lower", "best", "ambiguity", "ending3", "shape")]
        names += [f"{slot}[0]&{slot}[{at}]" for slot in ("best", "ending3", "shape")]
        names += [f"lower[0]&best[{at}]", f"ending3[0]&best[{at}]", f"shape[0]&best[{at}]"]
        names += [f"best[0]&lower[{at}]"]
    names += ["lower[-2]", "lower[+2]", "best[-2]", "best[+2]"]
    names += ["lower[-1]&lower[+1]", "best[-1]&best[+1]", "best[-2]&best[-1]"]
    names += ["best[+1]&best[+2]", "best[-1]&best[0]&best[+1]"]
    for slots in (CLUSTER_SLOTS, VECTOR_SLOTS):
        names += [f"{slot}[{at}]" for slot in slots for at in ("-1", "0", "+1")]
    return tuple(names)


TEMPLATES = _names()


@cache
def compiled(
    names: tuple[str, ...] = TEMPLATES,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Templates as arrays: (n, 3, 2) slot and place of each part, -1 for none; (n,) their keys.

    >>> parts, seeds = compiled(("lower[-1]&ending3[0]",))
    >>> [(SLOTS[slot], place) for slot, place in parts[0, :2].tolist()]
    [('lower', -1), ('ending3', 0)]
    """
    parts = np.full((len(names), _MOST_PARTS, 2), -1, np.int64)
    for row, name in enumerate(names):
        for column, (slot, place) in enumerate(_PART.findall(name)):
            parts[row, column] = SLOTS.index(slot), int(place)
    return parts, np.array([text_key(f"template\t{name}") or 1 for name in names], np.uint64)
