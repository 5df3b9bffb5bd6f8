"""CCA of a planted latent-variable model: x, y, z independent given the hidden state h."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from eigentext.errors import DataError, RankError, SettingsError
from eigentext.linalg.cca import cca_from_moments, generalised_cca


class Planted:
    """P(h), P(x|h), P(y|h), P(z|h) drawn at random, and their exact joint tables."""

    def __init__(self, states=4, sizes=(12, 15, 9), seed=0):
        rng = np.random.default_rng(seed)
        self.h = rng.dirichlet(np.ones(states) * 5)
        self.emissions = [rng.dirichlet(np.ones(size), states).T for size in sizes]

    def marginal(self, view):
        return self.emissions[view] @ self.h

    def joint(self, one, two):
        return self.emissions[one] @ np.diag(self.h) @ self.emissions[two].T

    def posterior(self, view):
        """P(h | x), one row per value of x."""
        return self.emissions[view] * self.h / self.marginal(view)[:, None]


def span_distance(A, B):
    """0 when the columns of A and B span the same space."""
    qa, qb = (np.linalg.qr(M)[0] for M in (A, B))
    return np.linalg.norm(qa @ qa.T - qb @ qb.T, 2)


def exact_sample(model, views):
    """Rows in exact proportion: every joint value once, weighted by the root of its chance.

    One-hot rows times sqrt(p n) have second moments equal to the model's.
    """
    sizes = [model.emissions[v].shape[0] for v in views]
    chances = np.einsum(
        "h," + ",".join(f"{c}h" for c in "abc"[: len(views)]) + "->abc"[: 2 + len(views)],
        model.h,
        *[model.emissions[v] for v in views],
    )
    cells = np.indices(sizes).reshape(len(sizes), -1)
    weights = np.sqrt(chances.ravel() * chances.size)
    n = weights.size
    return [
        sp.csr_matrix((weights, (np.arange(n), ids)), shape=(n, size))
        for ids, size in zip(cells, sizes, strict=True)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_projections_span_the_posterior_of_the_hidden_state(seed):
    model = Planted(seed=seed)
    result = cca_from_moments(model.joint(0, 1), model.marginal(0), model.marginal(1), 4)
    # a one-hot row times the projection is a row of the projection
    assert span_distance(result.projections[0], model.posterior(0)) < 1e-7
    assert span_distance(result.projections[1], model.posterior(1)) < 1e-7
    assert result.correlations[0] == pytest.approx(1, abs=1e-10)
    with pytest.raises(RankError, match="rank 4, but rank 5"):
        cca_from_moments(model.joint(0, 1), model.marginal(0), model.marginal(1), 5)


@pytest.mark.parametrize("views", [(0, 1), (0, 1, 2)])
def test_generalised_projections_span_the_posterior_as_well(views):
    model = Planted(seed=7)
    result = generalised_cca(exact_sample(model, views), 4)
    for view, projection in zip(views, result.projections, strict=True):
        assert span_distance(projection, model.posterior(view)) < 1e-6
    assert result.correlations[0] == pytest.approx(1, abs=1e-9)
    assert (result.correlations <= 1 + 1e-9).all()


def test_cases_and_moments_agree():
    model = Planted(seed=3)
    X, Y = exact_sample(model, (0, 1))
    cases = generalised_cca([X, Y], 4)
    moments = cca_from_moments(model.joint(0, 1), model.marginal(0), model.marginal(1), 4)
    # two projectors: eigenvalues 1 + rho
    np.testing.assert_allclose(cases.correlations, (1 + moments.correlations) / 2, rtol=1e-9)


def textbook(X, Y, ridge):
    """Canonical correlations by the generalised eigenproblem, centred."""
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    n = len(X)
    Cxx = X.T @ X / n + ridge * np.eye(X.shape[1])
    Cyy = Y.T @ Y / n + ridge * np.eye(Y.shape[1])
    Cxy = X.T @ Y / n
    values = scipy.linalg.eigh(Cxy @ np.linalg.solve(Cyy, Cxy.T), Cxx, eigvals_only=True)
    return np.sqrt(np.maximum(values[::-1], 0))


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_dense_views_by_the_textbook(ridge):
    rng = np.random.default_rng(1)
    hidden = rng.standard_normal((400, 3))
    X = hidden @ rng.standard_normal((3, 6)) + 0.5 * rng.standard_normal((400, 6)) + 4
    Y = hidden @ rng.standard_normal((3, 5)) + 0.5 * rng.standard_normal((400, 5)) - 2
    result = _centred_cca(X, Y, 4, ridge=ridge)
    np.testing.assert_allclose(result.correlations, textbook(X, Y, ridge)[:4], rtol=1e-8)
    if ridge == 0:
        centred = zip((X - X.mean(axis=0), Y - Y.mean(axis=0)), result.projections, strict=True)
        u, v = (view @ projection for view, projection in centred)
        np.testing.assert_allclose(u.T @ u / 400, np.eye(4), rtol=0, atol=1e-8)
        np.testing.assert_allclose(u.T @ v / 400, np.diag(result.correlations), rtol=0, atol=1e-8)


def _centred_cca(X, Y, rank, **settings):
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    moments = (A.T @ B / len(X) for A, B in ((X, Y), (X, X), (Y, Y)))
    return cca_from_moments(*moments, rank, **settings)


def one_hot(ids, size):
    n = len(ids)
    return sp.csr_matrix((np.ones(n), (np.arange(n), ids)), shape=(n, size))


def test_centring_one_hot_views_drops_the_constant_direction_alone():
    rng = np.random.default_rng(2)
    hidden = rng.integers(0, 4, 600)
    x = np.where(rng.random(600) < 0.6, hidden, rng.integers(0, 7, 600))
    y = np.where(rng.random(600) < 0.6, hidden, rng.integers(0, 5, 600))
    X, Y = one_hot(x, 7), one_hot(y, 5)
    totals = (np.asarray(view.sum(axis=0)).ravel() / 600 for view in (X, Y))
    plain = cca_from_moments(X.T @ Y / 600, *totals, 4)
    centred = _centred_cca(X.toarray(), Y.toarray(), 3)  # which knows nothing of one-hot rows
    assert plain.correlations[0] == pytest.approx(1, rel=1e-9)
    np.testing.assert_allclose(plain.correlations[1:], centred.correlations, rtol=1e-8)


def test_maxvar_is_the_consensus_by_brute_force():
    rng = np.random.default_rng(4)
    hidden = rng.standard_normal((80, 2))
    views = [
        hidden @ rng.standard_normal((2, d)) + 0.3 * rng.standard_normal((80, d))
        for d in (3, 4, 5)
    ]
    result = generalised_cca(views, 3)
    projector = sum(X @ np.linalg.pinv(X) for X in views)
    values, vectors = np.linalg.eigh(projector)
    np.testing.assert_allclose(result.correlations, values[::-1][:3] / 3, rtol=1e-9)
    # each view's best guess at the consensus G is X P, with P = pinv(X) G
    G = vectors[:, ::-1][:, :3]
    for X, projection in zip(views, result.projections, strict=True):
        ours, theirs = X @ projection, X @ np.linalg.pinv(X) @ G
        signs = np.sign(np.sum(ours * theirs, axis=0))
        np.testing.assert_allclose(ours / np.sqrt(len(X)), theirs * signs, rtol=0, atol=1e-8)


def test_projections_are_the_least_squares_ones_times_the_root_of_the_rows():
    rng = np.random.default_rng(6)
    views = [rng.standard_normal((90, d)) for d in (3, 4, 5)]
    masks = [rng.random(90) < 0.8 for _ in views]
    for ridge in (0.0, 0.3):
        for present in (None, masks):
            result = generalised_cca(views, 2, present=present, ridge=ridge)
            for v, X in enumerate(views):
                rows = np.ones(90, bool) if present is None else present[v]
                X, G = X[rows], result.consensus[rows]
                P = np.linalg.solve(X.T @ X + 90 * ridge * np.eye(X.shape[1]), X.T @ G)
                np.testing.assert_allclose(result.projections[v], np.sqrt(90) * P, atol=1e-9)
    said = generalised_cca.__doc__
    assert said is not None
    assert "``sqrt(n) P_v``" in said
    assert "``n ridge |P_v|^2``" in said


def test_a_word_that_never_occurs_projects_to_nothing():
    X, Y = one_hot([0, 0, 2, 2, 0], 4), one_hot([0, 0, 1, 1, 1], 2)
    result = generalised_cca([X, Y], 2)
    assert not result.projections[0][[1, 3]].any()


def test_bad_views():
    with pytest.raises(ValueError, match="rows"):
        generalised_cca([np.eye(2), np.eye(3)], 1)
    with pytest.raises(SettingsError, match="two or more"):
        generalised_cca([np.eye(2)], 1)
    with pytest.raises(SettingsError, match="ridge"):
        generalised_cca([np.eye(2)] * 2, 1, ridge=-1)
    with pytest.raises(DataError, match="no rows"):
        generalised_cca([np.zeros((0, 2))] * 2, 1)
    with pytest.raises(DataError, match="variance"):
        cca_from_moments(np.eye(2), np.array([-1.0, 1]), np.ones(2), 1)
    with pytest.raises(ValueError, match="Cyy is about 3"):
        cca_from_moments(np.eye(2), np.ones(2), np.ones(3), 1)
    wide = sp.csr_matrix(np.ones((2, 7000)))
    with pytest.raises(SettingsError, match="7000 columns that are not one-hot"):
        generalised_cca([wide, wide], 1)


def shared_latent(rows=60, shared=3, own=(2, 3, 4), seed=0):
    """Views whose columns span the same latent directions and, each, some of its own."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((rows, shared))
    views = [
        np.hstack([Z, rng.standard_normal((rows, d))])
        @ rng.standard_normal((shared + d, shared + d))
        for d in own
    ]
    return Z, views


def test_maxvar_finds_what_all_views_share():
    Z, views = shared_latent()
    result = generalised_cca(views, 3)
    np.testing.assert_allclose(result.correlations, 1, rtol=1e-10)
    assert span_distance(result.consensus, Z) < 1e-8
    np.testing.assert_allclose(result.consensus.T @ result.consensus, np.eye(3), atol=1e-10)
    # whatever the views weigh
    weighted = generalised_cca(views, 3, weights=[1, 5, 0.2])
    assert span_distance(weighted.consensus, Z) < 1e-8


def test_rows_that_lack_a_view_are_judged_by_the_others():
    Z, views = shared_latent(seed=1)
    rng = np.random.default_rng(2)
    present = [rng.random(len(Z)) < 0.7 for _ in views]
    present[0][:5] = present[1][:5] = present[2][:5] = False  # no view at all
    spoiled = [np.where(mask[:, None], X, 1e3) for X, mask in zip(views, present, strict=True)]
    result = generalised_cca(spoiled, 3, present=present)
    assert not result.consensus[:5].any()
    seen = np.any(present, axis=0)
    assert span_distance(result.consensus[seen], Z[seen]) < 1e-8
    # without saying who lacks what, it is lost
    blind = generalised_cca(spoiled, 3)
    assert span_distance(blind.consensus[seen], Z[seen]) > 0.1


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_weights_and_missing_rows_against_a_dense_eigenproblem(ridge):
    rng = np.random.default_rng(3)
    n, weights = 30, np.array([1.0, 2.0, 0.5])
    views = [rng.standard_normal((n, d)) for d in (3, 4, 5)]
    present = [rng.random(n) < 0.8 for _ in views]
    present[0] |= ~(present[1] | present[2])
    result = generalised_cca(views, 4, weights=weights, present=present, ridge=ridge)
    shares = weights / weights.sum()
    D = np.diag(shares @ np.array(present, dtype=float))
    A = np.zeros((n, n))
    for share, mask, X in zip(shares, present, views, strict=True):
        K = np.diag(mask.astype(float))
        inverse = np.linalg.inv(X.T @ K @ X / n + ridge * np.eye(X.shape[1]))
        A += share * K @ X @ inverse @ X.T @ K / n
    values, vectors = scipy.linalg.eigh(A, D)
    np.testing.assert_allclose(result.correlations, values[::-1][:4], rtol=1e-8)
    theirs = vectors[:, ::-1][:, :4]
    signs = np.sign(np.sum(result.consensus * theirs, axis=0))
    np.testing.assert_allclose(result.consensus, theirs * signs, atol=1e-7)
    np.testing.assert_allclose(result.consensus.T @ D @ result.consensus, np.eye(4), atol=1e-9)


def test_bad_weights_and_masks():
    X = np.eye(3)
    with pytest.raises(SettingsError, match="2 numbers above 0"):
        generalised_cca([X, X], 1, weights=[1, 0])
    with pytest.raises(ValueError, match="present has shapes"):
        generalised_cca([X, X], 1, present=[np.ones(2, bool)] * 2)
