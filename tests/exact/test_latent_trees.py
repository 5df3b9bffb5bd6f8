"""Operators of Dhillon et al. 2012, corrected and as printed, at exact moments of random models.

The oracle sums over all assignments of states to nodes.  Exact moments come from two sources: by
formula from the parameters (any size), and by summing the package's own moments over all words of
small trees with their probabilities, which also tests how events are taken from trees.
"""

from __future__ import annotations

from dataclasses import fields
from itertools import product

import numpy as np
import pytest

from eigentext.dependency.latent.moments import (
    InstrumentMoments,
    TreeDictionary,
    TreeMoments,
    link_moments,
)
from eigentext.dependency.latent.observations import WordForest
from eigentext.dependency.latent.operators import TreeOperators, make_operators
from oracle.latent_trees import (
    SHAPES,
    Model,
    dictionary_of,
    links_by_formula,
    moments_by_formula,
    random_heads,
    signed_score,
)

RTOL = 1e-10


def exact_operators(model, dictionary, rng, *, links=None):
    pbar = rng.dirichlet(np.full(model.k, 3.0))  # far from pi and from any stationary state
    return make_operators(moments_by_formula(model, dictionary.U, pbar), dictionary, links=links)[
        0
    ]


def assert_scores(operators, model, trees, *, rtol=RTOL):
    for seen, heads in trees:
        sign, log = signed_score(operators, seen, heads)
        expected = model.by_passing(seen, heads)
        assert sign == 1
        np.testing.assert_allclose(np.exp(log), expected, rtol=rtol)


def some_trees(model, rng, n_trees=12, *, missing=False):
    found = [np.array(heads) for heads in SHAPES.values()]
    found += [random_heads(rng, n) for n in range(1, n_trees + 1)]
    out = []
    for heads in found:
        seen = np.stack([rng.integers(len(one), size=len(heads)) for one in model.O])
        if missing:
            seen[rng.random(seen.shape) < 0.3] = -1
        out.append((seen, heads))
    return out


def test_the_oracles_agree():
    model, rng = Model.draw(0, k=2, sizes=(4, 3)), np.random.default_rng(0)
    for seen, heads in some_trees(model, rng, 7, missing=True):
        if len(heads) <= 7:
            np.testing.assert_allclose(
                model.by_passing(seen, heads), model.by_listing(seen, heads), rtol=1e-12
            )


@pytest.mark.parametrize("kind", ["svd", "cca", "other"])
@pytest.mark.parametrize("seed", range(3))
def test_operators_equal_summation_over_states(kind, seed):
    rng = np.random.default_rng(seed)
    model = Model.draw(seed)
    dictionary = dictionary_of(model, kind, rng)
    links = links_by_formula(model, dictionary.U, rng) if kind == "other" else None
    operators = exact_operators(model, dictionary, rng, links=links)
    trees = some_trees(model, rng)
    assert_scores(operators, model, trees)
    for seen, heads in trees[:8]:  # and listing itself where it is feasible
        if len(heads) <= 5:
            value = np.exp(signed_score(operators, seen, heads)[1])
            np.testing.assert_allclose(value, model.by_listing(seen, heads), rtol=RTOL)


@pytest.mark.parametrize("kind", ["svd", "cca", "other"])
def test_several_emissions_and_missing_ones(kind):
    rng = np.random.default_rng(7)
    model = Model.draw(2, sizes=(15, 6, 4))
    dictionary = dictionary_of(model, kind, rng)
    operators = exact_operators(
        model, dictionary, rng, links=links_by_formula(model, dictionary.U, rng)
    )
    assert_scores(operators, model, some_trees(model, rng))
    assert_scores(operators, model, some_trees(model, rng, missing=True))


def test_observables_are_the_parameters_in_other_coordinates():
    rng = np.random.default_rng(1)
    model = Model.draw(1)
    dictionary = dictionary_of(model, "cca", rng)
    operators = exact_operators(model, dictionary, rng)
    G = dictionary.U.T @ model.O[0]
    inverse = np.linalg.inv(G)
    np.testing.assert_allclose(operators.c_inf @ G, np.ones(3), atol=1e-10)
    np.testing.assert_allclose(operators.c_1, G @ model.pi, atol=1e-10)
    for side in (0, 1):
        np.testing.assert_allclose(operators.E[side], G @ model.T[side] @ inverse, atol=1e-9)
    y = rng.standard_normal(3)
    D = np.einsum("j,ijl->il", y, operators.D)
    np.testing.assert_allclose(D, G @ np.diag(G.T @ y) @ inverse, atol=1e-9)
    assert operators.y[0].shape == (15, 3)


# ---------------------------------------------------------------- moments taken from trees


def summed_over_words(model, shapes, take):
    """sum over trees and words of p(words | tree) times what ``take`` finds in that one tree."""
    total = None
    sizes = [len(table) for table in model.O]
    for heads in shapes:
        n = len(heads)
        for flat in product(*(range(size) for size in sizes for _ in range(n))):
            seen = np.array(flat, np.int32).reshape(len(sizes), n)
            forest = WordForest(seen, np.array(heads, np.int32), np.array([0, n]))
            found, p = take(forest), model.by_passing(seen, heads)
            scaled = [np.asarray(one) * p for one in found]
            total = (
                scaled if total is None else [a + b for a, b in zip(total, scaled, strict=True)]
            )
    return total


def values_of(moments):
    return [getattr(moments, one.name) for one in fields(moments)]


@pytest.mark.parametrize(
    ("kind", "directed", "shapes"),
    [
        (TreeMoments, True, [[2, 0, 2, 3], [3, 3, 0, 3], [2, 0, 4, 2]]),
        (TreeMoments, False, [[2, 0, 2, 3], [0, 1, 1, 2], [3, 3, 0]]),
        (InstrumentMoments, True, [[2, 0, 2, 3], [3, 1, 0, 3]]),
        (InstrumentMoments, True, [[0, 1, 2, 3]]),  # a chain: children on one side only
        (InstrumentMoments, True, [[2, 3, 4, 0], [3, 3, 0]]),
        (InstrumentMoments, False, [[2, 3, 0, 3]]),
    ],
)
def test_moments_taken_from_all_words_of_some_trees_are_exact(kind, directed, shapes):
    model = Model.draw(5, k=2, sizes=(4,), directed=directed)
    rng = np.random.default_rng(5)
    dictionary = dictionary_of(model, "svd", rng)
    total = summed_over_words(
        model, shapes, lambda forest: values_of(kind.of(forest, dictionary.U, directed=directed))
    )
    operators = make_operators(kind(*total), dictionary)[0]
    one_side = {int(h < i + 1) for heads in shapes for i, h in enumerate(heads) if h}
    trees = some_trees(model, rng)
    if len(one_side) == 1 and directed:  # the other side was never seen
        trees = [
            (seen, heads)
            for seen, heads in trees
            if {int(h < i + 1) for i, h in enumerate(heads) if h} <= one_side
        ]
        assert len(trees) > 2
    assert_scores(operators, model, trees, rtol=1e-9)


def test_links_taken_from_all_words_of_some_trees_are_exact():
    model = Model.draw(6, k=2, sizes=(3, 2))
    rng = np.random.default_rng(6)
    U = rng.uniform(-1, 1, (3, 2))

    def take(forest):
        sums, uz = link_moments(forest, U, [3, 2])
        return [*sums, uz, *values_of(TreeMoments.of(forest, U))]

    *sums, uz, K, SL, SR, Om, root, n, n_roots = summed_over_words(
        model, [[2, 0, 2], [0, 1, 2]], take
    )
    moments = TreeMoments(K, SL, SR, Om, root, n, n_roots)
    operators = make_operators(moments, TreeDictionary(U, "other"), links=(sums, uz))[0]
    assert_scores(operators, model, some_trees(model, rng, missing=True), rtol=1e-9)


# ---------------------------------------------------------------- samples


def sample(model, shapes, n_trees, rng):
    """Words of random trees of these shapes: (n_trees, n) per shape, vectorised."""
    seen, heads = [], []
    for shape in shapes:
        h = np.zeros((n_trees, len(shape)), int)
        done = set()
        while len(done) < len(shape):
            for i, head in enumerate(shape):
                if i in done or (head and head - 1 not in done):
                    continue
                table = (
                    np.repeat(model.pi[:, None], model.k, 1)
                    if head == 0
                    else model.T[int(head < i + 1)]
                )
                given = h[:, head - 1] if head else np.zeros(n_trees, int)
                cumulative = np.cumsum(table, axis=0)[:, given]
                h[:, i] = (rng.random(n_trees)[None] > cumulative).sum(0).clip(max=model.k - 1)
                done.add(i)
        cumulative = np.cumsum(model.O[0], axis=0)[:, h]
        words = (rng.random(h.shape)[None] > cumulative).sum(0).clip(max=len(model.O[0]) - 1)
        seen.append(words.ravel())
        heads.append(np.tile(shape, n_trees))
    lengths = np.concatenate([np.full(n_trees, len(shape)) for shape in shapes])
    ptr = np.concatenate([[0], np.cumsum(lengths)])
    return WordForest(
        np.concatenate(seen).astype(np.int32)[None], np.concatenate(heads).astype(np.int32), ptr
    )


@pytest.mark.parametrize("kind", [TreeMoments, InstrumentMoments])
def test_error_from_samples_falls_with_the_root_of_their_number(kind):
    model, rng = Model.draw(11, k=2, sizes=(6,)), np.random.default_rng(11)
    dictionary = dictionary_of(model, "svd", rng)
    shapes = [[2, 0, 2, 3], [3, 1, 0, 3, 4]]
    judged = [one for one in some_trees(model, rng, 6) if len(one[1]) <= 6]
    sizes, errors = [1_000, 10_000, 100_000], []
    for size in sizes:
        found = []
        for seed in range(4):
            forest = sample(model, shapes, size, np.random.default_rng(seed))
            operators = make_operators(kind.of(forest, dictionary.U), dictionary)[0]
            for seen, heads in judged:
                sign, log = signed_score(operators, seen, heads)
                p = model.by_passing(seen, heads)
                found.append(abs(sign * np.exp(log) / p - 1))
        errors.append(np.median(found))
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert -0.65 < slope < -0.35, (slope, errors)
    assert errors[-1] < 0.02


# ---------------------------------------------------------------- what the print says


def worst_error(operators, model, trees):
    found = []
    for seen, heads in trees:
        sign, log = signed_score(operators, seen, heads)
        found.append(abs(sign * np.exp(log) / model.by_passing(seen, heads) - 1))
    return max(found)


def test_the_printed_formulas_fail_at_exact_moments():
    """Errata of Dhillon et al. 2012: each printed formula alone spoils an exact estimate."""
    rng = np.random.default_rng(21)
    model = Model.draw(21)
    dictionary = dictionary_of(model, "svd", rng)
    pbar = rng.dirichlet(np.full(3, 3.0))
    moments = moments_by_formula(model, dictionary.U, pbar)
    right = make_operators(moments, dictionary)[0]
    trees = some_trees(model, rng)
    assert worst_error(right, model, trees) < 1e-9
    U, TR = dictionary.U, model.T[1]
    G = U.T @ model.O[0]

    # Omega as printed is made of U_w(i) U_u(j): left child and parent, not left and right child
    printed = TreeMoments(
        moments.K, moments.Sigma_L, moments.Sigma_R, moments.Sigma_L.T, moments.root, 1.0, 1.0
    )
    assert worst_error(make_operators(printed, dictionary)[0], model, trees) > 0.3

    # c_inf = mu' inv(Sigma_R) holds only where T_R pi = pi
    c_inf = (G @ pbar) @ np.linalg.inv(moments.Sigma_R)
    spoiled = TreeOperators(right.c_1, c_inf, right.E, right.D, right.y)
    assert worst_error(spoiled, model, trees) > 0.3

    # c_1 is the mean over roots, not over all words
    spoiled = TreeOperators(G @ pbar, right.c_inf, right.E, right.D, right.y)
    assert worst_error(spoiled, model, trees) > 0.05

    # Sigma must come from the triples, not from all parents with a right child
    other = rng.dirichlet(np.full(3, 3.0))
    Sigma_R = G @ np.diag(other) @ (G @ TR).T
    printed = TreeMoments(
        moments.K, moments.Sigma_L, Sigma_R, moments.Omega, moments.root, 1.0, 1.0
    )
    assert worst_error(make_operators(printed, dictionary)[0], model, trees) > 0.05

    # (U'U)^-1 U' delta_x needs range(U) = range(O): false for CCA dictionaries
    cca = dictionary_of(model, "cca", rng)
    by_cca = moments_by_formula(model, cca.U, pbar)
    assert worst_error(make_operators(by_cca, cca)[0], model, trees) < 1e-9
    as_printed = TreeDictionary(cca.U, "svd")
    assert worst_error(make_operators(by_cca, as_printed)[0], model, trees) > 0.3


@pytest.mark.parametrize("directed", [True, False])
def test_every_left_child_is_paired_with_every_right_child(directed):
    """Moments by plain loops over the definition of events."""
    rng = np.random.default_rng(9)
    shapes = [random_heads(rng, n) for n in (1, 2, 5, 9, 9, 12)] + [np.array([3, 3, 0, 3, 3, 3])]
    U = rng.standard_normal((8, 2))
    ptr = np.concatenate([[0], np.cumsum([len(heads) for heads in shapes])])
    seen = rng.integers(8, size=(1, ptr[-1])).astype(np.int32)
    forest = WordForest(seen, np.concatenate(shapes).astype(np.int32), ptr)
    K, Sigma_L, Sigma_R, Omega, root, n = *(np.zeros((2,) * d) for d in (3, 2, 2, 2, 1)), 0
    for t, heads in enumerate(shapes):
        u = U[seen[0, ptr[t] : ptr[t + 1]]]
        for p in range(len(heads)):
            children = [j for j, head in enumerate(heads) if head == p + 1]
            for a, b in product(children, repeat=2):
                if (a < p < b) if directed else a != b:
                    K += np.einsum("i,j,l->ijl", u[a], u[p], u[b])
                    Sigma_L += np.outer(u[p], u[a])
                    Sigma_R += np.outer(u[p], u[b])
                    Omega += np.outer(u[a], u[b])
                    n += 1
            if heads[p] == 0:
                root += u[p]
    found = TreeMoments.of(forest, U, directed=directed)
    expected = TreeMoments(K, Sigma_L, Sigma_R, Omega, root, n, len(shapes))
    for a, b in zip(values_of(found), values_of(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    assert n > 6
