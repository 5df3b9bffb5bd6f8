"""Theorems 1 and 2 and lemma 1 of Cohen et al. 2012, with exact moments of random grammars."""

from __future__ import annotations

import numpy as np
import pytest

from eigentext.constituency.inspection import nodes_needed
from oracle import lpcfg
from oracle.tensor_form import (
    Moments,
    TensorForm,
    house_order,
    observable_form,
    singular_bases,
    smallest_element,
)

SEEDS = range(4)


def compare(grammar, form, *, rtol):
    """Figure 2 on every tree and figure 3 on every span, against listing."""
    n_trees = 0
    for words in ([0, 1], [1, 0, 2], [2, 1, 0], [0, 2, 1, 1], [1, 0, 0, 2]):
        trees = grammar.trees_over(words)
        mu, z = grammar.marginals(words)
        if not trees:
            continue
        for tree in trees:
            expected = grammar.tree_probability(tree)
            np.testing.assert_allclose(form.tree_score(tree), expected, rtol=rtol, atol=1e-15)
            n_trees += 1
        found = form.marginals(words)
        for key in found.keys() | mu.keys():
            np.testing.assert_allclose(
                found.get(key, 0.0), mu.get(key, 0.0), rtol=rtol, atol=rtol * z
            )
    assert n_trees > 50


def exact_moments(grammar, inside, outside, *, printed=False):
    """Exact moments in the SVD bases, and the bases."""
    bases = [singular_bases(Omega, grammar.m) for Omega in grammar.omega(inside, outside)]
    U, V = [b.U for b in bases], [b.V for b in bases]
    sigma, D, d_inf, c_one = grammar.moments(inside, outside, U, V)
    if printed:  # y2 z y3 where y3 z y2 is meant
        D = [np.swapaxes(d, 0, 2) for d in D]
    rules = np.array(grammar.rules)
    return Moments(rules, sigma, [house_order(d) for d in D], d_inf, c_one), bases


def exact_form(grammar, inside, outside, *, printed=False):
    """Equations 2 to 4."""
    return observable_form(exact_moments(grammar, inside, outside, printed=printed)[0])


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_1_any_invertible_bases_give_probabilities_and_marginals(seed):
    rng = np.random.default_rng(seed)
    grammar = lpcfg.draw(rng, m=2)
    G = rng.uniform(-1, 1, (grammar.n_labels, grammar.m, grammar.m))
    assert np.abs(np.linalg.det(G)).min() > 1e-3
    inverse = np.linalg.inv(G)
    C = []
    for r, (a, b, c) in enumerate(grammar.rules):
        # [C(y)]_ij = sum_k C_ijk y_k, in the paper's axes, from condition 1 of the theorem
        paper = np.einsum(
            "ih,kh,h,hj->ijk",
            G[c] @ grammar.t[r],
            G[b] @ grammar.s[r],
            grammar.q_rule[r],
            inverse[a],
        )
        y = rng.standard_normal(grammar.m)
        by_theorem = G[c] @ grammar.t[r] @ np.diag(y @ G[b] @ grammar.s[r])
        by_theorem = by_theorem @ np.diag(grammar.q_rule[r]) @ inverse[a]
        np.testing.assert_allclose(paper @ y, by_theorem, rtol=1e-9, atol=1e-12)
        C.append(house_order(paper))
    form = TensorForm(
        rules=np.array(grammar.rules),
        C=tuple(C),
        c_inf={
            (a, x): q[x] @ inverse[a]
            for a, q in grammar.q_word.items()
            for x in range(grammar.n_words)
        },
        c_one=tuple(
            G[a] @ grammar.pi.get(a, np.zeros(grammar.m)) for a in range(grammar.n_labels)
        ),
    )
    compare(grammar, form, rtol=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("m", [1, 2, 3])
def test_lemma_1_singular_bases_meet_condition_2(seed, m):
    rng = np.random.default_rng([seed, m])
    grammar = lpcfg.draw(rng, m=m)
    inside, outside = grammar.random_features(rng, d=m + 3)
    for a, Omega in enumerate(grammar.omega(inside, outside)):
        U, V, s = singular_bases(Omega, m)
        assert s[-1] > 1e-9
        G, K = U.T @ inside[a], V.T @ outside[a]
        assert np.linalg.matrix_rank(G, tol=1e-9) == m
        assert np.linalg.matrix_rank(K, tol=1e-9) == m
        np.testing.assert_allclose(U.T @ U, np.eye(m), atol=1e-12)
        np.testing.assert_allclose(V.T @ V, np.eye(m), atol=1e-12)
        # the remaining singular values are nothing: Omega has rank m
        np.testing.assert_allclose(U @ np.diag(s) @ V.T, Omega, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_2_exact_moments_give_exact_probabilities_and_marginals(seed):
    rng = np.random.default_rng(seed)
    grammar = lpcfg.draw(rng, m=2)
    compare(grammar, exact_form(grammar, *grammar.random_features(rng, d=5)), rtol=1e-8)


def test_theorem_2_with_features_of_real_trees():
    """The rule below and the rule above are features enough for two states."""
    grammar = lpcfg.draw(np.random.default_rng(7), m=2, n_words=4)
    compare(grammar, exact_form(grammar, *grammar.rule_features()), rtol=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_misprinted_axis_order_is_wrong(seed):
    """Figure 4 step 2 with y2 z y3 must not pass for y3 z y2 (see notes on the transcription)."""
    rng = np.random.default_rng(seed)
    grammar = lpcfg.draw(rng, m=2)
    form = exact_form(grammar, *grammar.random_features(rng, d=5), printed=True)
    with pytest.raises(AssertionError):
        compare(grammar, form, rtol=1e-1)


def test_the_oracle_is_a_distribution():
    grammar = lpcfg.draw(np.random.default_rng(3), m=2, n_words=2)
    total = 0.0
    for n in (2, 3, 4):
        for words in np.ndindex(*(2,) * n):
            total += grammar.marginals(list(words))[1]
    np.testing.assert_allclose(total, 1.0, rtol=1e-10)


def test_theorem_3_bound_from_the_constants_of_a_grammar():
    rng = np.random.default_rng(2)
    grammar = lpcfg.draw(rng, m=2)
    moments, bases = exact_moments(grammar, *grammar.random_features(rng, d=5))
    # Sigma is diag(s) in the bases of Omega: beside the diagonal there is rounding only
    for S, b in zip(moments.sigma, bases, strict=True):
        np.testing.assert_allclose(S, np.diag(b.s), rtol=1e-9, atol=1e-12)
    every = [1 / b.s for b in bases]
    every += [*moments.D, *moments.d_inf.values(), moments.c_one[0], moments.c_one[1]]
    Lambda = smallest_element(moments)
    assert Lambda == pytest.approx(min(np.abs(x).min() for x in every))
    n_rules = len(moments.rules) + len(moments.d_inf)
    fixed = {"m": 2, "n_rules": n_rules, "tree_size": 7, "eps": 0.1, "delta": 0.05}
    sigma = min(b.s[-1] for b in bases)
    needed = nodes_needed(Lambda=Lambda, sigma=sigma, **fixed)
    assert 0 < needed < float("inf")
    assert nodes_needed(Lambda=Lambda, sigma=sigma / 2, **fixed) == pytest.approx(16 * needed)
    assert nodes_needed(Lambda=Lambda / 2, sigma=sigma, **fixed) == pytest.approx(4 * needed)
    assert nodes_needed(Lambda=Lambda, sigma=0.0, **fixed) == float("inf")
