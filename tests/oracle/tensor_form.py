"""The observable representation of Cohen et al. 2012: from moments to tensors (figures 2, 3).

1. :func:`singular_bases` takes U and V of one nonterminal from Omega (figure 5, lemma 1).
2. :class:`Moments` holds Sigma, D, d_inf and c_1 (section 6.2), exact or averaged over a sample.
3. :func:`observable_form` multiplies by the inverse of Sigma (equations 2 to 4; figure 4, step 3).
4. :class:`TensorForm` scores a tree (figure 2) and gives the marginals of a sentence (figure 3).

All in float64 and without pruning: what the fast chart is compared with.  The numbers of a form
are scores, never probabilities: each basis is known only up to an invertible matrix, and an
estimate may be negative.

**Axes.**  The paper writes D as ``y3 z' y2'``: (right child, outside, left child).  The order of
this house is (parent, left, right), and :func:`house_order` is the one line that converts.  Figure
4 is sometimes transcribed with y2 and y3 exchanged, which is wrong for every asymmetric grammar.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from eigentext.constituency.learn.moments import (
    Coordinates,
    Smoothing,
    _roots,
    _rule_moments,
    observable_tensor,
)
from eigentext.linalg.conditioning import guarded_pinv
from eigentext.linalg.tensors import contract_children
from eigentext.linalg.ties import fix_signs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from eigentext.constituency.treebank import Treebank

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

_ZERO = 1e-12  # elements below this, relative to the largest, are rounding

SkeletalTree: TypeAlias = "tuple[Any, ...]"
"""An s-tree: ``(tag, word)`` or ``(nonterminal, left, right)``, all numbers."""


class Bases(NamedTuple):
    """U (d, m), V (d', m) and the singular values s (m,) of one nonterminal."""

    U: Floats
    V: Floats
    s: Floats


def singular_bases(Omega: Floats, m: int) -> Bases:
    """The m leading singular directions of Omega (d, d'): figure 5.

    >>> singular_bases(np.diag([1.0, 3.0]), 1).s.tolist()
    [3.0]
    """
    U, s, Vt = np.linalg.svd(Omega, full_matrices=False)
    signed, along = fix_signs(U[:, :m], Vt[:m])
    return Bases(signed, Vt[:m].T if along is None else along.T, s[:m])


def house_order(D: Floats) -> Floats:
    """(right child, outside, left child), the paper's order, to (parent, left, right), ours.

    >>> house_order(np.zeros((3, 1, 2))).shape
    (1, 2, 3)
    """
    return D.transpose(1, 2, 0)


@dataclass(frozen=True)
class Moments:
    """Section 6.2, with Y1, Y2, Y3 and Z the projected inside and outside features.

    ``rules``   (R, 3) parent, left, right
    ``sigma``   per nonterminal a: E[Y1 Z' | a], (m_a, m_a)
    ``D``       per rule, in the order of this house: E[[r] Z Y2 Y3 | a], (m_a, m_b, m_c)
    ``d_inf``   per (tag, word): E[[a -> x] Z | a], (m_a,)
    ``c_one``   per nonterminal: E[[a] Y1 | root], (m_a,)
    """

    rules: Ints
    sigma: Sequence[Floats]
    D: Sequence[Floats]
    d_inf: Mapping[tuple[int, int], Floats]
    c_one: Sequence[Floats]


def observable_form(moments: Moments, *, max_condition: float = 1e12) -> TensorForm:
    """Equations 2 to 4: the parameters C, c_inf and c_1.

    A Sigma with a worse condition is inverted on the directions that it can carry.
    """
    inverse = [
        guarded_pinv(S, max_condition=max_condition, on_rank="ignore", symbol="Sigma")[0]
        for S in moments.sigma
    ]
    return TensorForm(
        rules=moments.rules,
        C=tuple(
            observable_tensor(D, inverse[a])
            for D, a in zip(moments.D, moments.rules[:, 0].tolist(), strict=True)
        ),
        c_inf={(a, x): d @ inverse[a] for (a, x), d in moments.d_inf.items()},
        c_one=tuple(moments.c_one),
    )


def smallest_element(moments: Moments) -> float:
    """Lambda of theorem 3: the smallest absolute value in c_1, d_inf, D and the inverse of Sigma.

    Parameters of nonterminals that are never a root are left out, and so is what is zero to
    rounding: Sigma, and its inverse, are diagonal in the bases of the same Omega.

    >>> one = np.ones((1, 1))
    >>> smallest_element(Moments(np.zeros((0, 3), int), [2 * one], [], {}, [one[0]]))
    0.5
    """
    elements = [guarded_pinv(S, on_rank="ignore", symbol="Sigma")[0] for S in moments.sigma]
    elements += [*moments.D, *moments.d_inf.values(), *(c for c in moments.c_one if np.any(c))]
    sizes = [np.abs(values) for values in elements]
    return min(float(size[size > _ZERO * size.max()].min()) for size in sizes if size.any())


@dataclass(frozen=True)
class TensorForm:
    """Parameters of the tensor form of the inside-outside algorithm (section 5).

    ``C``      per rule (m_a, m_b, m_c), axes (parent, left, right)
    ``c_inf``  per (tag, word) (m_a,);  ``c_one`` per nonterminal (m_a,)

    >>> one = np.ones(1)
    >>> form = TensorForm(
    ...     np.array([[0, 1, 1]]), (np.full((1, 1, 1), 0.5),), {(1, 7): one}, (one, 0 * one)
    ... )
    >>> form.tree_score((0, (1, 7), (1, 7))), form.marginals([7, 7])[0, 0, 2]
    (0.5, 0.5)
    """

    rules: Ints
    C: tuple[Floats, ...]
    c_inf: Mapping[tuple[int, int], Floats]
    c_one: tuple[Floats, ...]

    def tree_score(self, tree: SkeletalTree) -> float:
        """Figure 2: f_i = f_gamma C(f_beta) bottom-up, then f_1 c_1; 0 for an unseen rule."""
        number = {tuple(rule): r for r, rule in enumerate(self.rules.tolist())}
        pending: list[tuple[SkeletalTree, bool]] = [(tree, False)]
        done: list[Floats | None] = []
        while pending:
            node, children_known = pending.pop()
            if len(node) == 2:
                done.append(self.c_inf.get((node[0], node[1])))
            elif not children_known:
                pending += [(node, True), (node[2], False), (node[1], False)]
            else:
                right, left = done.pop(), done.pop()
                rule = number.get((node[0], node[1][0], node[2][0]))
                if rule is None or left is None or right is None:
                    done.append(None)
                else:
                    done.append(contract_children(self.C[rule], left, right))
        top = done.pop()
        return 0.0 if top is None else float(top @ self.c_one[tree[0]])

    def marginals(self, words: Sequence[int]) -> dict[tuple[int, int, int], float]:
        """Figure 3: mu(a, i, j) of every nonterminal over words i to j - 1 that can be there.

        The outside base case holds for the whole sentence: the figure's small n means its N.
        """
        n = len(words)
        inside: dict[tuple[int, int, int], Floats] = {}
        for i, x in enumerate(words):
            for a, y in self.c_inf:
                if y == x:
                    inside[a, i, i + 1] = self.c_inf[a, y]
        rules = self.rules.tolist()
        uses = []  # (rule, i, k, j), bottom-up
        for length in range(2, n + 1):
            for i in range(n - length + 1):
                j = i + length
                for k in range(i + 1, j):
                    for r, (a, b, c) in enumerate(rules):
                        left, right = inside.get((b, i, k)), inside.get((c, k, j))
                        if left is None or right is None:
                            continue
                        value = contract_children(self.C[r], left, right)
                        inside[a, i, j] = inside.get((a, i, j), 0.0) + value
                        uses.append((r, i, k, j))
        outside = {key: np.zeros_like(value) for key, value in inside.items()}
        for a, c_one in enumerate(self.c_one):
            if (a, 0, n) in outside:
                outside[a, 0, n] = outside[a, 0, n] + c_one
        for r, i, k, j in reversed(uses):
            a, b, c = rules[r]
            above = outside[a, i, j]
            outside[c, k, j] += np.einsum("plr,p,l->r", self.C[r], above, inside[b, i, k])
            outside[b, i, k] += np.einsum("plr,p,r->l", self.C[r], above, inside[c, k, j])
        return {key: float(alpha @ outside[key]) for key, alpha in inside.items()}


def sample_moments(
    bank: Treebank, coordinates: Sequence[Coordinates], weights: Floats, word_of_token: Ints
) -> Moments:
    """Step 2 of figure 4 by the letter: averages over the weighted nodes, nothing else."""
    sigma, d_inf = [], {}
    for a, c in enumerate(coordinates):
        w = weights[c.rows]
        n = max(float(w.sum()), 1e-300)
        sigma.append((c.Y * w[:, None]).T @ c.Z / n)
        token = bank.token[c.rows]
        word = np.where(token >= 0, word_of_token[token], -1)
        for x in np.unique(word[token >= 0]).tolist():
            d_inf[a, x] = w[word == x] @ c.Z[word == x] / n
    moment_of = _rule_moments(bank, coordinates, weights, Smoothing.none())
    return Moments(
        rules=bank.rules,
        sigma=sigma,
        D=[moment_of(r) for r in range(len(bank.rules))],
        d_inf=d_inf,
        c_one=_roots(bank, coordinates, weights, 0.0),
    )
