"""The moments estimator: the spectral algorithm of Cohen et al. 2012, figure 4, over a treebank.

``plain=True`` is the paper, its singular vectors converged.  By default four things are added, all
of which vanish with much data: features are scaled; features are centred and a constant put in
front, so that m = 1 is exactly the PCFG; moments are backed off to products of lower-order ones;
the inverse has a ridge.

The parameters are signed.  A spectral number is a score, never a probability: ``chart.fine`` says
what becomes of negative ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

import numpy as np

from eigentext.base.cores import each, largest_first, row_blocks
from eigentext.base.progress import Progress
from eigentext.base.types import Float32s, Float64s, Int64s, UInt64s
from eigentext.constituency.features import inside_features, outside_features
from eigentext.constituency.lexicon import Lexicon, index_words
from eigentext.constituency.lexicon_moments import build_moment_lexicon
from eigentext.constituency.params import LatentParams, root_prior, tensor_layout
from eigentext.constituency.settings import LPCFGSettings, Scheme, Smoothing
from eigentext.constituency.treebank import Treebank
from eigentext.errors import RankWarning
from eigentext.features.spectrum import (
    FeatureRows,
    Spectra,
    converged_coordinates,
    orthonormal,
    scaled_rows,
    significant,
)
from eigentext.linalg.conditioning import guarded_pinv
from eigentext.linalg.ties import fix_signs, single_threaded

_RULES_AT_ONCE = 64  # whose moments one thread makes


class Coordinates(NamedTuple):
    """The projected nodes of one nonterminal: Y (n, m), Z (n, m), and the inverse of Sigma."""

    rows: Int64s  # (n,) the nodes
    Y: Float64s
    Z: Float64s
    inverse: Float64s
    s: Float64s  # the singular values, (m,) or one fewer with a constant


def node_weights(bank: Treebank, scheme: Scheme, rng: np.random.Generator) -> Float64s:
    """(N,) how much each node counts.

    ``all``           every node once
    ``one-per-tree``  one node of each tree, drawn evenly: the paper's scheme, whose samples are
                      independent.  It draws from large trees too seldom, and since the size of a
                      tree ties its inside to its outside, moments are biased when sizes differ
    ``one-per-tree-weighted``  the same draw, weighted by the size of the tree, which undoes that
    """
    n = len(bank.label)
    if scheme == "all":
        return np.ones(n)
    size = np.diff(np.append(bank.roots, n))
    weights = np.zeros(n)
    weights[bank.roots + rng.integers(size)] = 1.0 if scheme == "one-per-tree" else size
    return weights


def singular_coordinates(
    Phi: FeatureRows,
    Psi: FeatureRows,
    weights: Float64s,
    rank: int,
    rng: np.random.Generator,
    *,
    centre: bool,
    n_iter: int = 3,
) -> tuple[Float64s, Float64s, Float64s]:
    """Y = Phi U, Z = Psi V and s for the leading directions of Omega = Phi' diag(w) Psi."""
    # ``weights`` are scaled to sum to 1; with ``centre``, Omega is the covariance instead,
    # Phi' (diag(w) - w w') Psi, and the coordinates have (weighted) mean zero.  Block power
    # iteration; Omega is never formed.
    w = (weights / weights.sum()).astype(np.float32)[:, None]  # of the nodes, summing to 1
    weighted = Psi._replace(values=Psi.values * w)  # diag(w) Psi
    ones = np.ones((1, 1), np.float32)
    of_phi, of_psi = (X.transposed_times(_column_of(w), ones) for X in (Phi, Psi))  # means

    def forth(V: Float32s) -> Float32s:
        """Omega V."""
        product = Phi.transposed_times(weighted, V)
        return product - of_phi @ (of_psi.T @ V) if centre else product

    def back(U: Float32s) -> Float32s:
        """Omega' U."""
        product = weighted.transposed_times(Phi, U)
        return product - of_psi @ (of_phi.T @ U) if centre else product

    block = min(rank + 6, len(w), Phi.width, Psi.width)
    V = rng.standard_normal((Psi.width, block)).astype(np.float32)
    for step in range(n_iter):
        # On the way the columns need only stay apart; the last ones must be orthonormal.
        times = 2 if step == n_iter - 1 else 1
        U = orthonormal(forth(V), times)
        V = orthonormal(back(U), times) if U.shape[1] else V[:, :0]
        if not V.shape[1]:
            return np.empty((len(w), 0)), np.empty((len(w), 0)), np.empty(0)
    Y, Z = (X.times(W).astype(np.float64) for X, W in ((Phi, U), (Psi, V)))
    if centre:
        Y, Z = (X - (w * X).sum(axis=0) for X in (Y, Z))
    left, s, right = np.linalg.svd((w * Y).T @ Z)  # U' Omega V, small
    k = min(rank, int((s > 1e-5 * max(float(s[0]), 1e-30)).sum())) if len(s) else 0
    # Omega of nothing but rounding, as when every node has the same features, has no directions.
    k = k if k and s[0] > 1e-5 else 0
    signed, along = fix_signs(left[:, :k], right[:k])
    return Y @ signed, Z @ (right[:k] if along is None else along).T, s[:k]


def _column_of(w: Float32s) -> FeatureRows:
    """One column as a feature matrix."""
    return FeatureRows(np.zeros((len(w), 1), np.int32), w, 1)


def project(
    bank: Treebank, settings: LPCFGSettings, weights: Float64s, *, progress: Progress | None = None
) -> list[Coordinates]:
    """Steps 0 and 1 of figure 4 for every nonterminal."""
    # A nonterminal with too few nodes for two states, or without any direction, has one state and
    # constant coordinates: there the grammar is the PCFG.
    plain, ridge = settings.plain, settings.smoothing.ridge
    inside = inside_features(bank, settings.inside)
    outside = outside_features(bank, settings.outside)
    order = np.argsort(bank.label, kind="stable")
    bounds = np.searchsorted(bank.label[order], np.arange(len(bank.labels) + 1))

    def of_label(a: int) -> Coordinates:
        rows = order[bounds[a] : bounds[a + 1]]
        w = weights[rows]
        states = min(settings.most_states, int((w > 0).sum()) // settings.per_state)
        constant = np.ones((len(rows), 1))
        alone = Coordinates(rows, constant, constant, np.ones((1, 1)), np.empty(0))
        if states < 2:
            return alone
        rng = np.random.default_rng([settings.seed, a])
        Phi, Psi = (_rows(x[rows], settings, rng) for x in (inside, outside))
        rank = states if plain else states - 1
        if plain:
            Y, Z, s = converged_coordinates(Phi, Psi, w, rank)
        else:
            Y, Z, s = singular_coordinates(Phi, Psi, w, rank, rng, centre=True)
        if settings.n_states == "auto":
            keep = _above_noise(Phi, Psi, w, s, rng, centre=not plain)
            Y, Z, s = Y[:, :keep], Z[:, :keep], s[:keep]
        if not len(s):
            return alone
        # Any invertible change of U and V is as good; this one makes Sigma the identity, so that
        # numbers of all coordinates are alike in size.
        Y, Z = Y / np.sqrt(s), Z / np.sqrt(s)
        if plain:
            sigma = (Y * w[:, None]).T @ Z / w.sum()  # (m, m) E[y z'], inverted where it can be
            inverse = guarded_pinv(sigma, max_condition=1e8, on_rank="ignore", symbol="Sigma")[0]
            return Coordinates(rows, Y, Z, inverse, s)
        damped = np.diag(np.concatenate([[1.0], s**2 / (s**2 + ridge)]))
        return Coordinates(rows, np.hstack([constant, Y]), np.hstack([constant, Z]), damped, s)

    def report(done: int) -> None:
        if progress is not None:
            progress(done, len(order), "moments")

    with warnings.catch_warnings():
        # Filters are those of all threads: what one of them ignores, the outer block ignores.
        warnings.simplefilter("ignore", RankWarning)
        return largest_first(of_label, np.diff(bounds).tolist(), report)


def _above_noise(
    Phi: FeatureRows,
    Psi: FeatureRows,
    w: Float64s,
    s: Float64s,
    rng: np.random.Generator,
    *,
    centre: bool,
) -> int:
    """How many of s are larger than chance makes them: outside features dealt out anew."""
    dealt = rng.permutation(len(Psi.columns))
    shuffled = Psi._replace(columns=Psi.columns[dealt], values=Psi.values[dealt])
    _, _, noise = singular_coordinates(Phi, shuffled, w, 2, rng, centre=centre)
    largest = noise[0 if centre else 1 :]  # that of the means is no noise
    return significant(s, float(largest[0]) if len(largest) else 0.0)


def _rows(features: UInt64s, settings: LPCFGSettings, rng: np.random.Generator) -> FeatureRows:
    X = scaled_rows(features, settings.kappa)
    values: Float32s = np.ones_like(X.values) if settings.plain else X.values
    if not settings.noised:
        return X._replace(values=values)
    if settings.dropout:
        # The kept values stand in for the dropped: singular values keep their size for the ridge.
        keep = rng.random(values.shape, dtype=np.float32) >= settings.dropout
        values = values * keep.astype(np.float32) / np.float32(1 - settings.dropout)
    if settings.noise:
        values = values * (1 + settings.noise * rng.standard_normal(values.shape, np.float32))
    return X._replace(values=values)


def rule_moment(
    Z: Float64s, Y2: Float64s, Y3: Float64s, w: Float64s, smoothing: Smoothing
) -> Float64s:
    """E[z y2 y3] over the nodes of one rule, weights w, axes (parent, left, right).

    This is the one place where the order of the axes of D is decided (parent, left, right).
    The raw moment is written as means, covariances and the third central moment; the less there
    is to see of a rule, the more each of them is shrunk, which leaves products of lower-order
    moments.  Without shrinking it is the plain average.  Coordinate 0, the constant, stays.

    >>> Z, Y2, Y3 = np.ones((1, 2)), np.ones((1, 3)), np.ones((1, 4))
    >>> rule_moment(Z, Y2, Y3, np.ones(1), Smoothing.none()).shape
    (2, 3, 4)
    """
    n = float(w.sum())
    if len(w) == 1:  # half of all rules: nothing varies, only means are left
        means = [X[0].copy() for X in (Z, Y2, Y3)]
        for mean in means:
            mean[1:] *= n / (n + smoothing.C_mean)
        z, y2, y3 = means
        return cast("Float64s", z[:, None, None] * (y2[:, None] * y3))
    root = np.sqrt(n)
    p = (w / n)[:, None]  # shares of the nodes of the rule
    keep_pair = root / (smoothing.C_pair + root)
    keep_triple = keep_pair * root / (smoothing.C_triple + root)
    z, y2, y3 = ((p * X).sum(axis=0) for X in (Z, Y2, Y3))
    Zc, Lc, Rc = Z - z, Y2 - y2, Y3 - y3  # what varies about the means
    for mean in (z, y2, y3):
        mean[1:] *= n / (n + smoothing.C_mean)
    pZ = p * Zc  # (n, m) so that pZ' X is a covariance with z
    D = z[:, None, None] * (y2[:, None] * y3 + keep_pair * ((p * Lc).T @ Rc))
    D += (keep_pair * (pZ.T @ Lc))[:, :, None] * y3
    D += (keep_pair * (pZ.T @ Rc))[:, None, :] * y2[:, None]
    if keep_triple:
        pairs = (Lc[:, :, None] * Rc[:, None, :]).reshape(len(w), -1)
        D += keep_triple * (pZ.T @ pairs).reshape(D.shape)
    return cast("Float64s", D)


def _row_of(bank: Treebank, coordinates: Sequence[Coordinates]) -> Int64s:
    """(N,) the row of each node in the coordinates of its nonterminal."""
    row_of = np.empty(len(bank.label), dtype=np.int64)
    for c in coordinates:
        row_of[c.rows] = np.arange(len(c.rows))
    return row_of


def _rule_moments(
    bank: Treebank, coordinates: Sequence[Coordinates], weights: Float64s, smoothing: Smoothing
) -> Callable[[int], Float64s]:
    """From the number of a rule to its D: E[[r] z y2 y3 | a]."""
    row_of = _row_of(bank, coordinates)
    of_label = np.bincount(bank.label, weights=weights, minlength=len(bank.labels))
    counted = np.flatnonzero((bank.rule >= 0) & (weights > 0))
    counted = counted[np.argsort(bank.rule[counted], kind="stable")]
    ends = np.searchsorted(bank.rule[counted], np.arange(1, len(bank.rules)))
    nodes_of_rules = np.split(counted, ends)  # nodes that count, by their rule

    def of_rule(r: int) -> Float64s:
        nodes, (a, b, c) = nodes_of_rules[r], bank.rules[r].tolist()
        A, B, C = coordinates[a], coordinates[b], coordinates[c]
        if not len(nodes):
            return np.zeros((A.Z.shape[1], B.Y.shape[1], C.Y.shape[1]))
        w = weights[nodes]
        Z = A.Z[row_of[nodes]]
        Y2, Y3 = B.Y[row_of[bank.left[nodes]]], C.Y[row_of[bank.right[nodes]]]
        return cast("Float64s", w.sum() / of_label[a] * rule_moment(Z, Y2, Y3, w, smoothing))

    return of_rule


def _tensors(
    bank: Treebank, coordinates: Sequence[Coordinates], moment_of: Callable[[int], Float64s]
) -> tuple[Int64s, Float32s, Float64s]:
    """Places and numbers of all tensors; (R,) the smallest absolute value in each rule's D."""
    # The cores in use share out the rules; only the D at hand are in memory.
    m = np.array([c.Y.shape[1] for c in coordinates])
    rule_ptr = tensor_layout(bank.rules, m)
    tensor = np.empty(int(rule_ptr[-1]), np.float32)
    smallest = np.empty(len(bank.rules))

    def work(block: slice) -> None:
        for r in range(block.start, block.stop):
            D = moment_of(r)
            C = observable_tensor(D, coordinates[bank.rules[r, 0]].inverse)
            tensor[rule_ptr[r] : rule_ptr[r + 1]] = C.reshape(-1)
            smallest[r] = np.abs(D).min()

    each(work, row_blocks(len(bank.rules), _RULES_AT_ONCE))
    return rule_ptr, tensor, smallest


def _roots(
    bank: Treebank,
    coordinates: Sequence[Coordinates],
    weights: Float64s,
    C_root: float,
    k_root: float = 0.0,
) -> list[Float64s]:
    """c_1 of every nonterminal: E[[a] y | root]; if no drawn node is a root, all roots count."""
    # ``k_root`` trees more have roots like any constituent, whose mean y is (1, 0, 0, ...).
    count = np.bincount(bank.label, minlength=len(bank.labels)).astype(float)
    more = k_root * root_prior(bank.labels, count)
    row_of = _row_of(bank, coordinates)
    w = weights[bank.roots]
    w = w if w.any() else np.ones(len(w))
    roots = []
    for a, c in enumerate(coordinates):
        here = bank.label[bank.roots] == a
        total = w[here] @ c.Y[row_of[bank.roots[here]]]
        total[1:] *= w[here].sum() / (w[here].sum() + C_root) if C_root else 1.0
        total[0] += more[a]
        roots.append(total / (w.sum() + k_root))
    return roots


def fit_moments(
    bank: Treebank, settings: LPCFGSettings, *, progress: Progress | None = None
) -> LatentParams:
    """Parameters for the same chart and decoders as those of the other estimators, but signed.

    ``plain`` switches off scaling, centring, back-off and ridge: figure 4 as it is.

    >>> from eigentext.constituency.settings import LPCFGSettings
    >>> from eigentext.constituency.transform import read_treebank
    >>> from eigentext.language.trees.constituent import Tree
    >>> trees = [Tree.from_brackets(s) for s in ("(S (A x) (B y))", "(S (B y) (A x))")]
    >>> bank, _ = read_treebank(trees, LPCFGSettings())
    >>> fit_moments(bank, LPCFGSettings(n_states=1)).tensor.tolist()
    [0.5, 0.5]
    """
    smoothing = Smoothing.none() if settings.plain else settings.smoothing
    rng = np.random.default_rng([settings.seed, len(bank.labels)])
    weights = node_weights(bank, settings.scheme, rng)
    with single_threaded():
        coordinates = project(bank, settings, weights, progress=progress)
        moment_of = _rule_moments(bank, coordinates, weights, smoothing)
        rule_ptr, tensor, smallest_of_rule = _tensors(bank, coordinates, moment_of)
        lexicon = build_moment_lexicon(
            bank,
            [c.Z @ c.inverse for c in coordinates],
            _row_of(bank, coordinates),
            weights,
            k_word=smoothing.k_word,
            k_shape=smoothing.k_shape,
            plain=settings.plain,
        )
    c_one = _roots(bank, coordinates, weights, smoothing.C_root)
    roots = _roots(bank, coordinates, weights, smoothing.C_root, smoothing.k_root)
    smallest = smallest_elements(bank, coordinates, weights, smallest_of_rule, c_one)
    # The lexicon answers like any other; only its counts are arranged differently.
    return LatentParams(
        np.array([c.Y.shape[1] for c in coordinates]),
        bank.rules,
        rule_ptr,
        tensor,
        np.concatenate(roots),
        cast("Lexicon", lexicon),
        Spectra.of([c.s for c in coordinates], smallest),
    )


def observable_tensor(D: Float64s, inverse: Float64s) -> Float64s:
    """Equation 2: C[p, l, r] = sum over k of D[k, l, r] inverse[k, p], ``inverse`` of Sigma.

    >>> observable_tensor(np.ones((2, 1, 1)), np.diag([1.0, 0.5])).ravel().tolist()
    [1.0, 0.5]
    """
    return (inverse.T @ D.reshape(len(D), -1)).reshape(D.shape)


def smallest_elements(
    bank: Treebank,
    coordinates: Sequence[Coordinates],
    weights: Float64s,
    smallest_of_rule: Float64s,  # (R,) the smallest absolute value in each rule's D
    c_one: Sequence[Float64s],
) -> Float64s:
    """(labels,) Lambda_a of every nonterminal from the moments of figure 4, step 2."""
    index = index_words(bank)
    word_of_token = np.zeros(len(bank.words), np.int64)
    word_of_token[bank.token[bank.token >= 0]] = index.type_word[index.type_of]
    smallest = np.full(len(bank.labels), np.inf)
    for a, c in enumerate(coordinates):
        smallest[a] = np.abs(np.diag(c.inverse)).min()
        if np.any(c_one[a]):
            smallest[a] = min(smallest[a], np.abs(c_one[a]).min())
        token = bank.token[c.rows]
        over_word = np.flatnonzero((token >= 0) & (weights[c.rows] > 0))
        if len(over_word):
            n = weights[c.rows].sum()
            word = word_of_token[token[over_word]]
            order = np.argsort(word, kind="stable")
            first = np.unique(word[order], return_index=True)[1]
            weighted = (c.Z[over_word] * weights[c.rows][over_word, None])[order]
            d_inf = np.add.reduceat(weighted, first, axis=0) / n
            smallest[a] = min(smallest[a], np.abs(d_inf).min())
    np.minimum.at(smallest, bank.rules[:, 0], smallest_of_rule)
    return smallest
