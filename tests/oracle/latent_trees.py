"""Random latent tree models, sums over all their states, and their exact moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from eigentext.dependency.latent.moments import TreeDictionary, TreeMoments
from eigentext.dependency.latent.operators import TreeOperators


@dataclass
class Model:
    """pi (k,), T (2, k, k) [side, child, parent], O: for each channel (n_c, k)."""

    pi: np.ndarray
    T: np.ndarray
    O: list[np.ndarray]  # noqa: E741

    @property
    def k(self):
        return len(self.pi)

    @classmethod
    def draw(cls, seed, k=3, sizes=(15,), *, directed=True):
        rng = np.random.default_rng(seed)
        T = rng.dirichlet(np.full(k, 0.4), size=(2, k)).transpose(0, 2, 1)
        # far from singular: exactness is asked to 1e-10
        T = 0.55 * np.stack([np.eye(k), np.eye(k)[::-1]]) + 0.45 * T
        if not directed:
            T[1] = T[0]
        tables = []
        for n in sizes:
            own = np.zeros((n, k))
            for x in range(n):
                own[x, x % k] = rng.uniform(0.5, 1.5)
            tables.append(own / own.sum(0) * 0.6 + 0.4 * rng.dirichlet(np.ones(n), size=k).T)
        return cls(rng.dirichlet(np.full(k, 2.0)), T, tables)

    def by_listing(self, seen, heads):
        """Sum over all states of all nodes of the product of all factors."""
        n, total = len(heads), 0.0
        for h in product(range(self.k), repeat=n):
            p = 1.0
            for i, head in enumerate(heads):
                p *= self.pi[h[i]] if head == 0 else self.T[int(head < i + 1), h[i], h[head - 1]]
                for table, x in zip(self.O, seen[:, i], strict=True):
                    p *= table[x, h[i]] if x >= 0 else 1.0
            total += p
        return total

    def marginals(self, heads):
        """State distribution of each node, from the root down."""
        found = {}
        while len(found) < len(heads):
            for i, head in enumerate(heads):
                if head == 0:
                    found[i] = self.pi
                elif head - 1 in found and i not in found:
                    found[i] = self.T[int(head < i + 1)] @ found[head - 1]
        return [found[i] for i in range(len(heads))]

    def by_passing(self, seen, heads):
        """The same as ``by_listing`` in linear time, for larger trees."""

        def r(i):
            value = np.ones(self.k)
            for table, x in zip(self.O, seen[:, i], strict=True):
                value = value * (table[x] if x >= 0 else 1.0)
            for j, head in enumerate(heads):
                if head == i + 1:
                    value = value * (self.T[int(j > i)].T @ r(j))
            return value

        return float(np.prod([self.pi @ r(i) for i, head in enumerate(heads) if head == 0]))


def random_heads(rng, n):
    """A random tree, projective or not."""
    order = rng.permutation(n)
    heads = np.zeros(n, int)
    for at in range(1, n):
        heads[order[at]] = order[rng.integers(at)] + 1
    return heads


SHAPES = {
    "one word": [0],
    "chain to the right": [0, 1, 2, 3, 4],
    "chain to the left": [2, 3, 4, 5, 0],
    "children on the left only": [5, 5, 5, 5, 0],
    "children on the right only": [0, 1, 1, 1, 1],
    "many on both sides": [4, 4, 4, 0, 4, 4, 4],
    "crossing": [3, 4, 0, 3, 2],
    "deep and wide": [2, 4, 2, 0, 6, 4, 6, 9, 6],
}


def dictionary_of(model, kind, rng):
    """U with the range that SVD and CCA give; any other U is random."""
    O, k = model.O[0], model.k  # noqa: E741
    mix = rng.standard_normal((k, k))
    if kind == "svd":
        return TreeDictionary(np.linalg.qr(O @ mix)[0], "svd")
    if kind == "cca":  # P^(-1/2) times the singular vectors of P^(-1/2) O ...
        p = O @ rng.dirichlet(np.ones(k))
        left = np.linalg.qr(O @ mix / np.sqrt(p)[:, None])[0]
        return TreeDictionary(left / np.sqrt(p)[:, None], "cca", p)
    return TreeDictionary(np.linalg.qr(O @ mix + rng.normal(0, 0.05, O.shape))[0], "other")


def moments_by_formula(model, U, pbar):
    G, (TL, TR) = U.T @ model.O[0], model.T
    K = np.einsum("ih,jh,lh,h->ijl", G @ TL, G, G @ TR, pbar)
    Sigma_L, Sigma_R = G @ np.diag(pbar) @ (G @ TL).T, G @ np.diag(pbar) @ (G @ TR).T
    Omega = G @ TL @ np.diag(pbar) @ (G @ TR).T
    return TreeMoments(K, Sigma_L, Sigma_R, Omega, G @ model.pi, 1.0, 1.0)


def links_by_formula(model, U, rng):
    """A random surrounding z: only that it depends on the word by the state alone matters."""
    p = rng.dirichlet(np.ones(model.k))
    M = rng.uniform(0, 1, (4 * model.k, model.k))
    sums = [table @ np.diag(p) @ M.T for table in model.O]
    return sums, U.T @ sums[0]


def signed_score(
    operators: TreeOperators, seen: npt.NDArray[np.integer], heads: Sequence[int]
) -> tuple[int, float]:
    """Sign and log of the absolute score of one tree; (0, -inf) for 0.

    The plain recursion, the twin of the kernel; ``seen`` (channels, n), -1 where missing.
    """
    n = len(heads)
    children: list[list[int]] = [[] for _ in range(n + 1)]
    for word, head in enumerate(heads, start=1):
        children[head].append(word)
    # r[i]' = c_inf' prod over children of D(E' r_j) prod over channels of D(y_x), see above
    order = list(children[0])
    for word in order:  # grows while it is walked: heads before dependents
        order.extend(children[word])
    if len(order) != n:
        raise ValueError("heads form a cycle")
    r = np.zeros((n + 1, len(operators.c_1)))
    log_scale, sign = 0.0, 1
    for i in reversed(order):
        left = [j for j in reversed(children[i]) if j < i]
        right = [j for j in children[i] if j > i]
        row = operators.c_inf
        for side, those in ((0, left), (1, right)):
            for j in those:
                row = np.einsum("i,ijl,j->l", row, operators.D, operators.E[side].T @ r[j])
        for channel, y in enumerate(operators.y):
            x = seen[channel][i - 1]
            if x >= 0:
                row = np.einsum("i,ijl,j->l", row, operators.D, y[x])
        size = float(np.abs(row).max())
        if not size > 0:
            return 0, -np.inf
        log_scale += float(np.log(size))
        r[i] = row / size
    for root in children[0]:
        value = float(r[root] @ operators.c_1)
        if value == 0:
            return 0, -np.inf
        sign *= 1 if value > 0 else -1
        log_scale += float(np.log(abs(value)))
    return sign, log_scale
