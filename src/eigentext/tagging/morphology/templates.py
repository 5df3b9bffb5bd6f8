"""What the tagger looks at around a word: templates over attributes of the words there.

The attributes are ``features.attributes.MORPHOLOGY``: the form, its endings, its shape, its
cluster, the tags that the word may have.  A template names one to three of them at places around
the word to be tagged, such as ``lower[-1]&ending3[0]``; its value is one feature.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from eigentext.features.attributes import CLUSTER_BITS, MORPHOLOGY, N_BEGINNINGS, N_ENDINGS
from eigentext.features.templates import Grammar, seeds_of

if TYPE_CHECKING:
    from eigentext.base.types import Int64s, UInt64s

_GRAMMAR = Grammar("attribute[offset]", MORPHOLOGY.names)


def _names() -> tuple[str, ...]:
    alone = ["word", "lower", "shape", "kind", "analysis", "ambiguity", "best"]
    alone += [f"ending{n}" for n in range(1, N_ENDINGS + 1)]
    alone += [f"beginning{n}" for n in range(1, N_BEGINNINGS + 1)]
    names = [f"{name}[0]" for name in alone]
    for at in ("-1", "+1"):
        names += [f"{name}[{at}]" for name in ("lower", "best", "ambiguity", "ending3", "shape")]
        names += [f"{name}[0]&{name}[{at}]" for name in ("best", "ending3", "shape")]
        names += [f"lower[0]&best[{at}]", f"ending3[0]&best[{at}]", f"shape[0]&best[{at}]"]
        names += [f"best[0]&lower[{at}]"]
    names += ["lower[-2]", "lower[+2]", "best[-2]", "best[+2]"]
    names += ["lower[-1]&lower[+1]", "best[-1]&best[+1]", "best[-2]&best[-1]"]
    names += ["best[+1]&best[+2]", "best[-1]&best[0]&best[+1]"]
    for bits in CLUSTER_BITS:
        names += [f"{name}[{at}]" for name in bits for at in ("-1", "0", "+1")]
    return tuple(names)


TEMPLATES = _names()


@cache
def compiled(names: tuple[str, ...] = TEMPLATES) -> tuple[Int64s, UInt64s]:
    """Templates as arrays: (n, 3, 2) attribute and place of each part, -1 for none; their keys.

    >>> parts, seeds = compiled(("lower[-1]&ending3[0]",))
    >>> [(MORPHOLOGY.names[column], place) for column, place in parts[0, :2].tolist()]
    [('lower', -1), ('ending3', 0)]
    """
    templates = [_GRAMMAR.parse(name) for name in names]
    return _GRAMMAR.places(templates), seeds_of("template", templates)
