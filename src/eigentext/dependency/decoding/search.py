"""Scores of one sentence -> trees: which decoder, list or sum fits order and projectivity.

======  ==================  =========================  =======================================
order   trees               best, k best               marginals
======  ==================  =========================  =======================================
1       projective          Eisner, exact              inside-outside
1       any                 Chu-Liu/Edmonds, exact     matrix-tree theorem
2       projective          Eisner, siblings, exact    inside-outside
                            over the arcs left
2       projective, with    exact; lists are those of  inside-outside, grandparents as in the
        grandparents        siblings in a new order:   best tree: approximate
                            approximate
2       any, with           greedy rearrangement, and  matrix-tree theorem, siblings and
        grandparents or     lists by arcs alone and    grandparents as in the best tree:
        without             projective in a new        approximate
                            order: approximate
======  ==================  =========================  =======================================

Order 2 looks only at arcs whose own score is not far below that of the word's best head
(``margin`` of the training); "exact" is meant among the trees of these.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property

import numpy as np

from eigentext.base.types import Float64s, Int32s
from eigentext.dependency.decoding import decoders
from eigentext.dependency.decoding.constraints import constrained, no_tree
from eigentext.dependency.graph.training import Grandparents
from eigentext.errors import SettingsError

Scores = Float64s
Heads = Int32s


class Search:
    """The trees of one sentence under its scores, with required and forbidden arcs.

    >>> arc = np.zeros((3, 3))
    >>> arc[0, 2] = arc[2, 1] = 1.0
    >>> Search(arc, None, True).best()[0].tolist()
    [2, 0]
    """

    def __init__(
        self,
        arc: Scores,
        sib: Scores | None,
        projective: bool,
        required: Iterable[tuple[int, int]] = (),
        forbidden: Iterable[tuple[int, int]] = (),
        grand: Grandparents | None = None,
        charge: float = 0.0,
        heat: float = 1.0,
    ) -> None:
        self.heat = heat
        self.arc = constrained(arc, required, forbidden, projective=projective)
        self.sib, self.projective, self.grand, self.charge = sib, projective, grand, charge
        self.approximate = sib is not None and not projective

    def best(self) -> tuple[Heads, float]:
        """Heads (n,) and score of the best tree."""
        if self.sib is None:
            find = decoders.eisner if self.projective else decoders.chu_liu_edmonds
            return find(self.arc)
        if self.grand is not None:
            heads, score = self.grand.best(self.arc, self.sib)
            if score == -np.inf:
                raise no_tree(self.arc, projective=self.projective, siblings=True)
            return heads, score
        if self.projective:
            return decoders.eisner(self.arc, self.sib)
        return decoders.rearrange(self.arc, self.sib, charge=self.charge)

    def kbest(self, k: int) -> tuple[Heads, Scores]:
        """(K, n) heads and (K,) scores of at most k different trees, best first."""
        if k < 1:
            raise SettingsError(f"k must be 1 or more, found {k}")
        if self.sib is None:
            find = decoders.kbest_projective if self.projective else decoders.kbest_nonprojective
            return find(self.arc, k=k)
        if not self.projective:
            return self._with_crossing_arcs(k)
        if self.grand is not None:
            more = decoders.kbest_projective(self.arc, self.sib, k=2 * k)
            return self._with_grandparents(*more, k)
        return decoders.kbest_projective(self.arc, self.sib, k=k)

    def _with_crossing_arcs(self, k: int) -> tuple[Heads, Scores]:
        """The best by arcs alone and the best projective trees, in the order of the score."""
        from eigentext.dependency.kernels.eisner import siblings_score
        from eigentext.dependency.kernels.rearrange import crossing_arcs

        best, top = self.best()
        lists = [best[None], decoders.kbest_nonprojective(self.arc, k=2 * k)[0]]
        with suppress(SettingsError):  # the arcs asked for may leave none that is projective
            lists.append(decoders.kbest_projective(self.arc, self.sib, k=k)[0])
        heads, first = np.unique(np.concatenate(lists), axis=0, return_index=True)
        heads = heads[np.argsort(first)]
        scores = np.array([siblings_score(self.arc, self.sib, tree) for tree in heads])
        if self.charge:
            scores -= [self.charge * crossing_arcs(tree) for tree in heads]
        if self.grand is not None:
            scores += self.grand.totals(heads)
        scores[0] = top  # the answer of best() stays ahead of its equals
        order = np.argsort(-scores, kind="stable")[:k]
        return heads[order], scores[order]

    def _with_grandparents(self, heads: Heads, scores: Scores, k: int) -> tuple[Heads, Scores]:
        """The list in the order of the whole score, and the best tree of all in it."""
        assert self.grand is not None  # noqa: S101 - for the type checker
        best, top = self.best()
        scores = scores + self.grand.totals(heads)
        others = ~(heads == best).all(axis=1)
        heads = np.concatenate([best[None], heads[others]])
        scores = np.concatenate([[top], scores[others]])
        order = np.argsort(-scores, kind="stable")[:k]
        return heads[order], scores[order]

    def marginals(self) -> Scores:
        """(n+1, n+1): the probability of each arc, by exp of scores over heat."""
        arc = self._arcs_in_context / self.heat
        if not self.projective:
            return decoders.nonprojective_marginals(arc)[0]
        siblings = None if self.sib is None else self.sib / self.heat
        return decoders.projective_marginals(arc, siblings)[0]

    @cached_property
    def _arcs_in_context(self) -> Scores:
        """Scores of arcs with what no sum over trees can hold, as in the best tree."""
        # That is the grandparents' share, and where arcs may cross the siblings'.
        siblings = self.sib is not None and not self.projective
        if self.grand is None and not siblings:
            return self.arc
        heads, _ = self.best()
        arc = self.arc.copy()
        for h, d in np.argwhere(arc > -np.inf).tolist():
            if self.grand is not None:
                arc[h, d] += self.grand.in_tree(h, d, heads)
            if siblings:
                arc[h, d] += self.sib[h, _inner_sibling(h, d, heads), d]  # type: ignore[index]
        return arc


def _inner_sibling(h: int, d: int, heads: Heads) -> int:
    """The modifier of h in a tree that comes before d on its side, h for none.

    >>> _inner_sibling(1, 4, np.array([0, 1, 2, 3]))
    2
    """
    step = 1 if d > h else -1
    for s in range(d - step, h, -step):
        if heads[s - 1] == h:
            return s
    return h
