"""The theorems of Stratos et al. on random Brown models, at exact moments and from samples.

A model is (pi, T, O): T[c', c] = t(c'|c), O[x, c] = o(x|c), one nonzero entry in each row of O.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from eigentext.linalg.svd import truncated_svd
from eigentext.words.clusters.methods import embed, omega
from eigentext.words.clusters.model import SpectralClusters

POSITIONS = {"R1": (1,), "LR1": (-1, 1), "LR2": (-2, -1, 1, 2), "odd": (-3, 2, 5)}


def random_model(rng, n, m, *, sharp=1.0):
    """A random Brown model whose chain is in its stationary state, and each word's cluster."""
    clusters = np.concatenate([np.arange(m), rng.integers(0, m, n - m)])
    emit = np.zeros((n, m))
    emit[np.arange(n), clusters] = rng.uniform(0.5, 1.5, n)
    emit /= emit.sum(axis=0)
    T = rng.dirichlet(np.full(m, sharp), m).T
    values, vectors = np.linalg.eig(T)
    pi = np.abs(np.real(vectors[:, np.argmax(np.real(values))]))
    return pi / pi.sum(), T, emit, clusters


def exact_blocks(pi, T, emit, positions):
    """B for each position: P(X_i = x, X_{i+p} = x'), stationary chain, and u = P(X_i = x)."""
    blocks = []
    for p in positions:
        ahead = emit @ np.diag(pi) @ np.linalg.matrix_power(T, abs(p)).T @ emit.T
        blocks.append(csr_array(ahead if p > 0 else ahead.T))
    return blocks, emit @ pi


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(2, 6), st.sampled_from(sorted(POSITIONS)))
def test_theorem_5_1(seed, m, name):
    """U U' = sqrt(O) sqrt(O)' at exact moments, whatever the context positions."""
    rng = np.random.default_rng(seed)
    pi, T, emit, clusters = random_model(rng, int(rng.integers(3 * m, 40)), m)
    blocks, u = exact_blocks(pi, T, emit, POSITIONS[name])
    Omega = omega(blocks, u, 0.0)
    spectrum = np.linalg.svd(Omega.toarray(), compute_uv=False)
    if spectrum[m - 1] < 1e-6:
        return  # T^p nearly singular: the theorem asks for rank m
    assert spectrum[m:].max(initial=0) < 1e-12  # Lemma 5.1: Omega has rank m
    U = truncated_svd(Omega, m).U
    np.testing.assert_allclose(U @ U.T, np.sqrt(emit) @ np.sqrt(emit).T, atol=1e-7)
    M = embed(Omega, m).vectors
    # rows are equal just when the words share a cluster, else orthogonal
    np.testing.assert_allclose(M @ M.T, clusters[:, None] == clusters[None, :], atol=1e-6)


def test_the_wrong_scaling_breaks_theorem_5_1():
    pi, T, emit, _ = random_model(np.random.default_rng(0), 20, 4)
    blocks, u = exact_blocks(pi, T, emit, (1,))
    U = truncated_svd(omega(blocks, u**2, 0.0), 4).U
    assert np.abs(U @ U.T - np.sqrt(emit) @ np.sqrt(emit).T).max() > 0.01


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.floats(0.05, 1.0))
def test_theorem_5_2(seed, share):
    """Within its bound on the error, words of one cluster are nearer than words of others."""
    rng = np.random.default_rng(seed)
    m, n = 3, 12
    pi, T, emit, clusters = random_model(rng, n, m)
    blocks, u = exact_blocks(pi, T, emit, (1,))
    Omega = omega(blocks, u, 0.0).toarray()
    sigma = np.linalg.svd(Omega, compute_uv=False)[m - 1]
    bound = 0.07 * np.sqrt(emit[np.arange(n), clusters]).min()
    noise = rng.normal(size=(n, n))
    noise *= share * bound * sigma / np.linalg.norm(noise, 2)
    M = embed(Omega + noise, m).vectors
    apart = np.linalg.norm(M[:, None] - M[None, :], axis=2)
    same = clusters[:, None] == clusters[None, :]
    for x in range(n):
        assert apart[x][same[x]].max() < apart[x][~same[x]].min()


def sample_pairs(rng, pi, T, emit, size):
    """I.i.d. sentences of two words, as in appendix C."""
    joint = (emit @ np.diag(pi) @ T.T @ emit.T).ravel()
    drawn = rng.multinomial(size, joint / joint.sum())
    return drawn.reshape(emit.shape[0], emit.shape[0])


def test_the_error_of_omega_falls_with_the_root_of_the_sample():
    """Appendix C: |Omega^ - Omega| is O(1/sqrt(N))."""
    rng = np.random.default_rng(4)
    pi, T, emit, _ = random_model(rng, 30, 4)
    blocks, u = exact_blocks(pi, T, emit, (1,))
    Omega = omega(blocks, u, 0.0).toarray()
    sizes = [4_000, 16_000, 64_000, 256_000, 1_024_000]
    errors = []
    for size in sizes:
        found = []
        for _ in range(5):
            pairs = csr_array(sample_pairs(rng, pi, T, emit, size))
            estimate = omega([pairs], pairs.sum(axis=1), 0.0).toarray()
            found.append(np.linalg.norm(estimate - Omega, 2))
        errors.append(np.mean(found))
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.06)


def sample_sentences(rng, pi, T, emit, n_sentences, length):
    m = T.shape[0]
    state = rng.choice(m, n_sentences, p=pi)
    columns = []
    steps, words = np.cumsum(T, axis=0), np.cumsum(emit, axis=0)
    for _ in range(length):
        columns.append((rng.random(n_sentences)[:, None] > words[:, state].T).sum(axis=1))
        state = (rng.random(n_sentences)[:, None] > steps[:, state].T).sum(axis=1)
    return np.stack(columns, axis=1)


# exchange from frequency alone has no such promise: here it ends in a local optimum
@pytest.mark.parametrize("method", ["spectral", "paper", "brown"])
def test_samples_give_back_the_planted_clusters(method):
    rng = np.random.default_rng(1)
    pi, T, emit, clusters = random_model(rng, 60, 6, sharp=0.4)
    names = np.array([f"w{x}" for x in range(60)])
    text = names[sample_sentences(rng, pi, T, emit, 12_000, 10)].tolist()
    found = SpectralClusters(6, method=method, kappa=10.0).fit(text)
    labels = found.predict(names)
    together = labels[:, None] == labels[None, :]
    planted = clusters[:, None] == clusters[None, :]
    assert np.array_equal(together, planted)
