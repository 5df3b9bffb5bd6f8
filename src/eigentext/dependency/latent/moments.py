"""Moments of words in trees, and the observables of a latent tree model made from them.

Notation: ``O[x, h] = p(x | h)``; ``T_d[h', h] = p(child's state | parent's state)``, d = L, R;
``pi`` the root's states; ``U`` (n, k) the dictionary, ``G = U'O``, ``u_x`` row x of U.

1. **Moments**, all over the same triple events (left child a, parent p, right child b; every left
   child is paired with every right child), pbar the states of p over these events::

       K[i,j,l] = E[u_a(i) u_p(j) u_b(l)]     K(y)    = sum_j y_j K[:,j,:]
                                                      = G T_L diag(pbar o G'y) T_R' G'
       Sigma_R  = E[u_p u_b'] = G diag(pbar) T_R' G'      Sigma_L = E[u_p u_a']
       Omega    = E[u_a u_b'] = G T_L diag(pbar) T_R' G'
       c_1      = E[u_root]   = G pi                      (over roots only)

2. **Observables**::

       E_L  = Omega inv(Sigma_R)  = G T_L inv(G)          E_R = Omega' inv(Sigma_L)
       D(y) = inv(E_L) K(y) inv(Sigma_R) = G diag(G'y) inv(G)
       y_x  with G'y_x = O'delta_x, see TreeDictionary    c_inf = sum_x y_x

Where nodes have children on one side only there are no triples.  The *instrument* form replaces
the other child by any z that is independent of child c given the node's state (here: the parent,
and a neighbouring child, stacked)::

       E_d  = E[u_c z'] pinv(E[u_i z'])
       D(y) = E[u_i z'] pinv(E[u_c z']) E[u_c (y.u_i) z'] pinv(E[u_i z'])

The *undirected* form has one T for both sides: its events are all ordered pairs of children.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from eigentext.base.types import Bools, Float64s, Int64s
from eigentext.dependency.latent.observations import WordForest
from eigentext.errors import DataError, RankError, SettingsError
from eigentext.linalg.conditioning import ConditionReport, OnRank, guarded_pinv
from eigentext.linalg.svd import truncated_svd
from eigentext.linalg.ties import single_threaded

_AT_ONCE = 4096  # events per block of sums: bounds the room of u_a x u_p x u_b


@dataclass(frozen=True, eq=False)
class TreeMoments:
    """Sums over triple events of the products whose means stand in the module's docstring."""

    K: Float64s  # (k, k, k) u_a u_p u_b
    Sigma_L: Float64s  # (k, k) u_p u_a'
    Sigma_R: Float64s  # (k, k) u_p u_b'
    Omega: Float64s  # (k, k) u_a u_b'
    root: Float64s  # (k,) u over roots
    n: float  # events
    n_roots: float

    @classmethod
    def of(cls, forest: WordForest, U: Float64s, *, directed: bool = True) -> TreeMoments:
        """Moments of trees; ``U`` (n, k) is the dictionary of the first channel.

        A node whose first channel is missing takes part in no event.
        """
        k = U.shape[1]
        K, left, right, omega = np.zeros((k, k, k)), *(np.zeros((k, k)) for _ in range(3))
        shown = forest.shown[0]
        # an event is a node p with children a and b; nodes first, then what they show
        a, p, b = _triples(forest) if directed else _pairs(forest)
        ok = (shown[a] >= 0) & (shown[p] >= 0) & (shown[b] >= 0)
        times = forest.node_weights[p[ok]]
        a, p, b = shown[a[ok]], shown[p[ok]], shown[b[ok]]
        with single_threaded():
            for at in range(0, len(p), _AT_ONCE):  # the outer products would fill the memory
                u_a, u_p, u_b = (U[x[at : at + _AT_ONCE]] for x in (a, p, b))
                counted = times[at : at + _AT_ONCE, None]
                u_a, weighted_b = u_a * counted, u_b * counted
                outer = (u_a[:, :, None] * u_p[:, None, :]).reshape(len(u_a), -1)
                K += (outer.T @ u_b).reshape(k, k, k)
                left += u_p.T @ u_a
                right += u_p.T @ weighted_b
                omega += u_a.T @ u_b
        root, n_roots = _roots(forest, U)
        return cls(K, left, right, omega, root, float(times.sum()), n_roots)

    @property
    def k(self) -> int:
        """Number of states."""
        return len(self.root)

    def observables(
        self, *, max_condition: float = 1e12, on_rank: OnRank = "error"
    ) -> tuple[Float64s, Float64s, Float64s, tuple[ConditionReport, ...]]:
        """``E_L, E_R`` (k, k), ``D`` (k, k, k) with D(y) = sum_j y_j D[:, j, :], and reports."""
        _need(self.n, "a node with a left and a right child")
        how: dict[str, Any] = {"max_condition": max_condition, "on_rank": on_rank}
        with single_threaded():
            # E_L = Omega Sigma_R^-1 and D(y) = E_L^-1 K(y) Sigma_R^-1, as in the docstring above
            right, r1 = guarded_pinv(self.Sigma_R / self.n, symbol="Sigma_R", **how)
            left, r2 = guarded_pinv(self.Sigma_L / self.n, symbol="Sigma_L", **how)
            omega = self.Omega / self.n
            E_L, E_R = omega @ right, omega.T @ left
            inverse, r3 = guarded_pinv(E_L, symbol="E_L", **how)
            how["on_rank"] = "ignore"  # these two are not inverted
            _, r4 = guarded_pinv(E_R, symbol="E_R", **how)
            _, r5 = guarded_pinv(omega, symbol="Omega", **how)
            D = np.einsum("ai,ijl,lb->ajb", inverse, self.K / self.n, right, optimize=True)
        return E_L, E_R, D, (r1, r2, r5, r3, r4)


@dataclass(frozen=True, eq=False)
class InstrumentMoments:
    """Sums for the instrument form: axis 0 is the side of the child, L and R."""

    cz: Float64s  # (2, k, m) u_c z'
    iz: Float64s  # (2, k, m) u_i z'
    ciz: Float64s  # (2, k, k, m) u_c x u_i x z
    n: Float64s  # (2,) events per side
    root: Float64s  # (k,) u over roots
    n_roots: float

    @classmethod
    def of(cls, forest: WordForest, U: Float64s, *, directed: bool = True) -> InstrumentMoments:
        """Moments of trees.

        The instrument of child c of node i: the vector of i's parent, and that of another child
        of i, the one before c (or else after it), each in a block of its own by its side: 4k.
        """
        k = U.shape[1]
        m = 4 * k
        shown, parents, sides = forest.shown[0], forest.parents, forest.sides
        rows = np.concatenate([U, np.zeros((1, k))])  # -1 is the missing one
        vector = rows[np.where(shown >= 0, shown, len(U))]
        # (N,) for each child the child of the same parent before it, or else after it; else -1
        child, parent, _ = _children(forest)
        other, same = np.full(len(parents), -1), parent[1:] == parent[:-1]
        other[child[:-1][same]] = child[1:][same]
        other[child[1:][same]] = child[:-1][same]
        cz, iz, ciz, n = *np.zeros((2, 2, k, m)), np.zeros((2, k, k, m)), [0.0] * 2
        for side in (0, 1):
            # an event is a child c on this side of node i, with something that i has besides c
            c = np.flatnonzero((sides == side) & (shown >= 0) & (shown[parents] >= 0))
            i = parents[c]
            has_z = (parents[i] >= 0) | (other[c] >= 0)
            c, i = c[has_z], i[has_z]
            times = forest.node_weights[c]
            n[side] = float(times.sum())
            with single_threaded():
                for at in range(0, len(c), _AT_ONCE):
                    cc, ii = c[at : at + _AT_ONCE], i[at : at + _AT_ONCE]
                    z = np.zeros((len(cc), 4, k))
                    for kind, whose, its_side in (
                        (0, parents[ii], sides[ii]),
                        (2, other[cc], sides[other[cc]]),
                    ):
                        ok = np.flatnonzero(whose >= 0)
                        z[ok, kind + its_side[ok]] = vector[whose[ok]]
                    flat = z.reshape(len(cc), m) * times[at : at + _AT_ONCE, None]
                    outer = (vector[cc][:, :, None] * vector[ii][:, None, :]).reshape(len(cc), -1)
                    ciz[side] += (outer.T @ flat).reshape(k, k, m)
                    cz[side] += vector[cc].T @ flat
                    iz[side] += vector[ii].T @ flat
        if not directed:
            cz[:], iz[:], ciz[:], n = cz.sum(0), iz.sum(0), ciz.sum(0), [sum(n)] * 2
        root, n_roots = _roots(forest, U)
        return cls(cz, iz, ciz, np.array(n), root, n_roots)

    @property
    def k(self) -> int:
        """Number of states."""
        return len(self.root)

    def observables(
        self, *, max_condition: float = 1e12, on_rank: OnRank = "error"
    ) -> tuple[Float64s, Float64s, Float64s, tuple[ConditionReport, ...]]:
        """As :meth:`TreeMoments.observables`; a side without children has E = 0."""
        # Each side gives an estimate of D; they are averaged by their numbers of events.
        k = self.k
        _need(float(self.n.sum()), "a child with a grandparent or a sibling")
        how: dict[str, Any] = {"max_condition": max_condition, "need_rank": k, "on_rank": on_rank}
        E = np.zeros((2, k, k))
        D = np.zeros((k, k, k))
        reports: list[ConditionReport] = []
        with single_threaded():
            for side, name in enumerate("LR"):
                if not self.n[side]:
                    continue
                cz, iz, ciz = (x[side] / self.n[side] for x in (self.cz, self.iz, self.ciz))
                # two-stage least squares: E u_i = u_c in the mean given z
                inverse, report = guarded_pinv(iz, symbol=f"E[u_i z'] ({name})", **how)
                E[side] = cz @ inverse
                through, second = guarded_pinv(cz, symbol=f"E[u_c z'] ({name})", **how)
                D_side = np.einsum("am,mi,ijn,nb->ajb", iz, through, ciz, inverse, optimize=True)
                D += D_side * (self.n[side] / self.n.sum())
                _, third = guarded_pinv(E[side], symbol=f"E_{name}", on_rank="ignore")
                reports += [report, second, third]
        return E[0], E[1], D, tuple(reports)


def link_moments(
    forest: WordForest, U: Float64s, sizes: Sequence[int]
) -> tuple[list[Float64s], Float64s]:
    """Sums over nodes of delta_x z' for each channel, (n_c, 4k), and of u z', (k, 4k)."""
    # z is what surrounds the node: the parent's vector in one of two blocks by the node's side,
    # the sums of its left and of its right children's vectors.  ``E[delta_x z'] = O diag(p) M'``
    # spans range(O), so ``y_x' = delta_x' E[delta_x z'] pinv(E[u z'])`` for any dictionary and
    # channel.
    k = U.shape[1]
    shown, parents, sides = forest.shown[0], forest.parents, forest.sides
    rows = np.concatenate([U, np.zeros((1, k))])
    vector = rows[np.where(shown >= 0, shown, len(U))]
    z = np.zeros((len(shown), 4, k))
    child = np.flatnonzero(parents >= 0)
    z[child, sides[child]] = vector[parents[child]]
    np.add.at(z, (parents[child], 2 + sides[child]), vector[child])
    flat = z.reshape(len(shown), 4 * k) * forest.node_weights[:, None]
    sums = []
    for channel, size in enumerate(sizes):
        ok = (shown >= 0) & (forest.shown[channel] >= 0)  # the same events for u and for delta
        total = np.zeros((size, 4 * k))
        np.add.at(total, forest.shown[channel][ok], flat[ok])
        sums.append(total)
    ok = shown >= 0
    with single_threaded():
        return sums, vector[ok].T @ flat[ok]


def _roots(forest: WordForest, U: Float64s) -> tuple[Float64s, float]:
    """(k,) the sum of u over roots, and how many there are."""
    roots = np.flatnonzero((forest.parents < 0) & (forest.shown[0] >= 0))
    times = forest.node_weights[roots]
    return (U[forest.shown[0][roots]] * times[:, None]).sum(axis=0), float(times.sum())


def _need(n: float, what: str) -> None:
    if not n > 0:
        raise SettingsError(f"no event to take moments from: the trees have not once {what}")


def _children(forest: WordForest) -> tuple[Int64s, Int64s, Int64s]:
    """Children sorted by parent and position, their parents, and starts (N + 1,) by parent."""
    child = np.flatnonzero(forest.parents >= 0)
    parent = forest.parents[child]
    order = np.argsort(parent, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(parent, minlength=len(forest.heads)))])
    return child[order], parent[order], starts


def _triples(forest: WordForest) -> tuple[Int64s, Int64s, Int64s]:
    """Every left child with every right child of the same parent."""
    child, parent, starts = _children(forest)
    n_left = np.bincount(parent[child < parent], minlength=len(forest.heads))
    is_left = child < parent
    a = child[is_left]
    p = parent[is_left]
    n_right = starts[p + 1] - starts[p] - n_left[p]
    first = starts[p] + n_left[p]
    return _spread(a, p, first, n_right, child)


def _pairs(forest: WordForest) -> tuple[Int64s, Int64s, Int64s]:
    """Every ordered pair of two children of the same parent."""
    child, parent, starts = _children(forest)
    a, p, b = _spread(child, parent, starts[parent], starts[parent + 1] - starts[parent], child)
    different = a != b
    return a[different], p[different], b[different]


def _spread(
    a: Int64s, p: Int64s, first: Int64s, n: Int64s, child: Int64s
) -> tuple[Int64s, Int64s, Int64s]:
    """Row r of (a, p) repeated n[r] times, with b = child[first[r] + 0 .. n[r] - 1]."""
    row = np.repeat(np.arange(len(a)), n)
    within = np.arange(len(row)) - np.repeat(np.cumsum(n) - n, n)
    return a[row], p[row], child[first[row] + within]


# ---------------------------------------------------------------- dictionaries


@dataclass(frozen=True, eq=False)
class TreeDictionary:
    """A vector u_x of k numbers for each observation, so that ``G = U'O`` is invertible.

    It has its ``y_x``, the vector with ``G'y_x = O'delta_x`` that puts an observation into an
    operator.  With V any basis of range(O)::

        y_x = inv(V'U) V'delta_x        SVD: V = U      CCA: V = P U, P = diag p(x)
                                        any other: V = E[delta_x z'] for a neighbour z

    ``U`` (n, k); ``kind`` says what V is; ``p`` (n,) the shares of the observations, for CCA.

    >>> two = TreeDictionary(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), "svd")
    >>> two.y().tolist()
    [[0.5, 0.0], [0.5, 0.0], [0.0, 1.0]]
    """

    U: Float64s
    kind: Literal["svd", "cca", "other"]
    p: Float64s | None = None
    correlations: Float64s | None = None

    def __post_init__(self) -> None:
        if self.U.ndim != 2 or not np.isfinite(self.U).all():
            raise DataError("U", None, "expected a matrix of finite numbers")
        if self.kind not in ("svd", "cca", "other"):
            raise SettingsError(f"kind {self.kind!r}: expected svd, cca or other")
        if self.kind == "cca" and (self.p is None or self.p.shape != (len(self.U),)):
            raise SettingsError("a CCA dictionary needs the share p of each observation")

    @property
    def k(self) -> int:
        """Number of dimensions."""
        return int(self.U.shape[1])

    def y(self) -> Float64s | None:
        """(n, k) y_x for each x; None for kind ``other``: that takes moments of neighbours."""
        if self.kind == "other":
            return None
        # y = V (U'V)^-1, so that U'y is the identity
        V = self.U if self.kind == "svd" else self.U * np.asarray(self.p)[:, None]
        with single_threaded():
            inverse, _ = guarded_pinv(V.T @ self.U, symbol="V'U", max_condition=1e14)
            return np.asarray(V @ inverse.T)


def neighbour_counts(forest: WordForest, size: int) -> Sequence[Float64s]:
    """Sparse (size, size) counts of each node against its parent as left and as right child."""
    # Entry [x, z] counts the children x of parents z; the transposes are the other two views.
    from scipy.sparse import coo_array

    shown, parents, sides = forest.shown[0], forest.parents, forest.sides
    counts = []
    for side in (0, 1):
        c = np.flatnonzero((sides == side) & (shown >= 0))
        c = c[shown[parents[c]] >= 0]
        cells = (forest.node_weights[c], (shown[c], shown[parents[c]]))
        counts.append(coo_array(cells, shape=(size, size)).tocsr())
    return counts


def treebank_dictionary(
    forest: WordForest,
    size: int,
    k: int,
    *,
    kind: Literal["svd", "cca"] = "cca",
    kappa: float = 0.0,
    seed: int = 0,
) -> TreeDictionary:
    """SVD or CCA of every observation against its direction-marked parent and children.

    ``kappa`` is added to the counts in the scaling of CCA, so that rare observations do not rule.
    The matrix is (size, 4 size): parent when the node is its left child, parent when its right
    child, left children, right children.

    A rank that the trees do not have is a RankError.
    """
    from scipy.sparse import diags_array, hstack

    if k < 1:
        raise SettingsError(f"k {k}: expected at least 1")
    # row x: what stands around the nodes that show x; entries are counts of edges
    left, right = neighbour_counts(forest, size)
    stacked = hstack([left, right, left.T, right.T], format="csr")
    if k > min(stacked.shape):
        raise RankError("the matrix of tree neighbours", rank=k, got=int(min(stacked.shape)))
    symbol = "the matrix of tree neighbours"
    totals = np.asarray(stacked.sum(axis=1)).ravel()
    if kind == "svd":
        # columns become p(x | neighbour), so that a frequent neighbour counts no more than others
        p_given = diags_array(1.0 / np.maximum(np.asarray(stacked.sum(axis=0)).ravel(), 1.0))
        svd = truncated_svd(stacked @ p_given, k, seed=seed, symbol=symbol)
        return TreeDictionary(np.asarray(svd.U, np.float64), "svd", None, svd.S)
    if kind != "cca":
        raise SettingsError(f"kind {kind!r}: expected svd or cca")
    # CCA of one-hot views: the covariances are diagonal, so whitening divides rows and columns by
    # the roots of their totals; what never occurs has no direction and stays 0
    columns = np.asarray(stacked.sum(axis=0)).ravel()
    rows = _inverse_root(totals + kappa, totals > 0)
    scaled = diags_array(rows) @ stacked @ diags_array(_inverse_root(columns + kappa, columns > 0))
    svd = truncated_svd(scaled.tocsr(), k, seed=seed, symbol=symbol)
    weights = (totals + kappa) * (totals > 0)
    n = max(weights.sum(), 1.0)
    return TreeDictionary(rows[:, None] * svd.U * np.sqrt(n), "cca", weights / n, svd.S)


def _inverse_root(totals: Float64s, present: Bools) -> Float64s:
    return np.where(present, 1.0 / np.sqrt(np.where(present, totals, 1.0)), 0.0)
