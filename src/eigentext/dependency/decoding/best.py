"""Arc (and sibling) scores -> the best projective tree, exactly.

Scores are checked and constraints written into them (``constraints``),
a chart of half-trees is filled from short spans to long ones, and the best root word is chosen
last, so that exactly one word hangs from the root.  Ties go to the choice seen first; the answer
is the same on every run.

Complete half-trees C and incomplete ones I, by their head h and other end (Eisner 1996)::

    I[h, d] = arc[h, d] + max over m of C[a, m] + C[b, m + 1]        a, b = min, max of h and d
    C[h, e] = max over d of I[h, d] + C[d, e]                        C[h, h] = 0
    best    = max over r of arc[0, r] + C[r, 1] + C[r, n]

With siblings (McDonald and Pereira 2006) B joins the facing halves of two neighbouring
modifiers::

    B[s, d] = max over m of C[a, m] + C[b, m + 1]                    a, b = min, max of s and d
    I[h, d] = arc[h, d] + max(sib[h, h, d] + C[d, next to h],
                              max over s of I[h, s] + sib[h, s, d] + B[s, d])
    best    = max over r of arc[0, r] + sib[0, 0, r] + C[r, 1] + C[r, n]

Both take O(n^3) time and O(n^2) memory beside the scores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eigentext.dependency.decoding.constraints import checked_sib, constrained, no_tree

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from eigentext.dependency.decoding.constraints import Arc, Heads

__all__ = ["eisner"]


def eisner(
    arc: npt.ArrayLike,
    sib: npt.ArrayLike | None = None,
    *,
    required_arcs: Iterable[Arc] = (),
    forbidden_arcs: Iterable[Arc] = (),
) -> tuple[Heads, float]:
    """Heads (n,) and score of the best projective tree with one root, exact.

    ``arc``  (n+1, n+1): arc[h, d] scores head h (0: root) of word d; -inf forbids
    ``sib``  second order, (n+1, n+1, n+1): sib[h, s, d] scores d as the next modifier of h after
             s, outward on the same side; s == h: d is the first one there

    >>> arc = np.zeros((4, 4))
    >>> arc[0, 2] = arc[2, 1] = arc[2, 3] = 1.0
    >>> heads, score = eisner(arc)
    >>> heads.tolist(), score
    ([2, 0, 2], 3.0)
    >>> eisner(arc, required_arcs=[(3, 2)])[0].tolist()
    [2, 3, 0]
    >>> sib = np.zeros((4, 4, 4))
    >>> sib[1, 2, 3] = 4.0
    >>> eisner(arc, sib)[0].tolist()
    [0, 1, 1]
    """
    from eigentext.dependency.kernels.eisner import eisner_kernel, eisner_siblings_kernel

    scores = constrained(arc, required_arcs, forbidden_arcs, projective=True)
    heads = np.empty(len(scores) - 1, np.int32)
    if sib is None:
        score = float(eisner_kernel(scores, heads))
    else:
        score = float(eisner_siblings_kernel(scores, checked_sib(sib, len(heads)), heads))
    if score == -np.inf:
        raise no_tree(scores, projective=True, siblings=sib is not None)
    return heads, score
