"""Pivots with the exact moments of a small grammar: its parameters come back."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.constituency import LPCFG
from eigentext.datasets import load_english
from eigentext.errors import SettingsError
from eigentext.features.spectrum import FeatureRows
from eigentext.lab.pivot.learn import decompose, mixture_weights
from eigentext.language.formats.ptb import read_trees
from eigentext.language.trees.constituent import Tree
from helpers.commands import eigentext
from oracle import lpcfg

M = 3


def mixed(p, share=0.4):
    """The same columns, farther from 0: EM needs many steps to what is nearly nothing."""
    return (1 - share) * p + share / len(p)


def drawn(rng):
    """A grammar, and views of its nodes.

    I^a has a pivot for each state and 3 features more, J^a has 6 features, none of them a pivot.
    """
    grammar = lpcfg.draw(rng, m=M)
    grammar = replace(grammar, s=[mixed(s) for s in grammar.s], t=[mixed(t) for t in grammar.t])
    n = grammar.n_labels
    inside = rng.dirichlet(np.ones(M + 3), size=(n, M)).transpose(0, 2, 1)
    inside[:, :M] = np.eye(M) * (inside[:, :M] + 0.5)
    inside /= inside.sum(axis=1, keepdims=True)
    outside = rng.dirichlet(np.ones(6), size=(n, M)).transpose(0, 2, 1)
    outside[:, :M] += 2 * np.eye(M)
    return grammar, inside, outside / outside.sum(axis=1, keepdims=True)


def recovered(Q):
    """Step 1 from the probabilities Q (d, d') of pairs of features, and the features in use."""
    kept = np.flatnonzero(Q.sum(axis=1) > 0)
    i, j = np.nonzero(Q[kept])
    w = Q[kept][i, j]
    below, above = (
        FeatureRows(x[:, None].astype(np.int32), np.ones((len(x), 1), np.float32), width)
        for x, width in ((i, len(kept)), (j, Q.shape[1]))
    )
    seen = np.eye(Q.shape[1])[j]  # the outside feature itself
    return decompose(below, above, seen, M, weights=w), kept


@pytest.fixture(scope="module")
def english():
    return [Tree.from_brackets(line) for line in load_english("train")]


def aligned(found, kept, inside):
    """(M,) which of the states found is each true one: its pivot tells."""
    true = np.array([int(np.argmax(inside[kept[i]])) for i in found.pivots])
    assert sorted(true.tolist()) == list(range(M))
    return np.argsort(true)


@pytest.mark.parametrize("seed", range(2))
def test_exact_moments_give_the_parameters_back(seed):
    rng = np.random.default_rng(seed)
    grammar, inside, outside = drawn(rng)
    P_in, P_out, gamma = [], [], []
    for a, Omega in enumerate(grammar.omega(inside, outside)):
        found, kept = recovered(Omega)
        order = aligned(found, kept, inside[a])
        np.testing.assert_allclose(found.gamma[order], grammar.gamma[a], atol=1e-6)
        # P(feature | h) = P(h | feature) P(feature) / P(h)
        own = np.zeros_like(inside[a])
        own[kept] = found.inside[:, order] * Omega[kept].sum(axis=1)[:, None]
        P_in.append(own / found.gamma[order])
        P_out.append(found.outside[:, order] * Omega.sum(axis=0)[:, None] / found.gamma[order])
        gamma.append(found.gamma[order])
        np.testing.assert_allclose(P_in[a], inside[a], atol=1e-6)
        np.testing.assert_allclose(P_out[a], outside[a], atol=1e-6)
    for r, (a, b, c) in enumerate(grammar.rules):
        parts = grammar.gamma[a] * grammar.q_rule[r], grammar.s[r], grammar.t[r]
        joint = np.einsum("h,ih,jh->hij", *parts)  # p(r, h1, h2, h3 | a)
        D = np.einsum("xh,hij,yi,zj->xyz", outside[a], joint, inside[b], inside[c])
        x, y, z = np.nonzero(D)
        rows = P_out[a][x], P_in[b][y], P_in[c][z]
        start = np.ones((M, M, M))
        theta = mixture_weights(rows, start, weights=D[x, y, z], n_iter=20_000, tol=1e-11)
        found = theta * D.sum()
        np.testing.assert_allclose(found, joint, atol=1e-6)
        np.testing.assert_allclose(found.sum((1, 2)) / gamma[a], grammar.q_rule[r], atol=1e-5)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_convex_step_has_one_answer_from_any_start(seed):
    """At the one maximum no cell of theta has a slope of more than 1: max slope - 1 bounds what is
    left to gain, since the likelihood is concave."""
    rng = np.random.default_rng(seed)
    likely = [rng.random((60, m)) ** 4 for m in (2, 3, 2)]
    joint = np.einsum("nx,ny,nz->nxyz", *likely)

    def log_p(theta):
        return np.log(np.einsum("nxyz,xyz->n", joint, theta)).mean()

    def to_gain(theta):
        p = np.einsum("nxyz,xyz->n", joint, theta)
        return (joint / p[:, None, None, None]).mean(axis=0).max() - 1

    starts = [rng.random((2, 3, 2)) + 0.1 for _ in range(2)]
    found = [mixture_weights(tuple(likely), start, n_iter=2000) for start in starts]
    for start, theta in zip(starts, found, strict=True):
        assert theta.sum() == pytest.approx(1)
        assert to_gain(theta) < 2e-3 < to_gain(start / start.sum())
    assert log_p(found[0]) == pytest.approx(log_p(found[1]), abs=2e-3)
    more = mixture_weights(tuple(likely), found[0], n_iter=20)
    assert log_p(more) >= log_p(found[0]) - 1e-12


def test_a_treebank_gives_probabilities_that_sum_to_one(english):
    parser = LPCFG(n_states=3, estimator="pivot", bracket_weight=0.0).fit(english)
    (params,) = parser.grammar_.params
    assert params.m.max() == 3
    assert params.tensor.min() >= 0
    total = np.zeros(len(params.root))
    for r, a in enumerate(params.rules[:, 0].tolist()):
        own = params.tensor[params.rule_ptr[r] : params.rule_ptr[r + 1]]
        at = slice(params.label_ptr[a], params.label_ptr[a + 1])
        total[at] += own.reshape(params.m[a], -1).sum(axis=1)
    lexicon = params.lexicon
    for t, tag in enumerate(lexicon.tags.tolist()):
        at = slice(params.label_ptr[tag], params.label_ptr[tag + 1])
        total[at] += lexicon.emits[lexicon.tag_ptr[t] : lexicon.tag_ptr[t + 1]]
    np.testing.assert_allclose(total, 1, atol=1e-4)
    assert params.root.sum() == pytest.approx(1, abs=1e-6)
    again = LPCFG.from_bytes(parser.to_bytes())
    for tree in english[::40]:
        assert again.log_prob(tree) == pytest.approx(parser.log_prob(tree), abs=1e-6)
        assert again.parse(tree.words, decoder="viterbi").log_prob < 0
    twice = LPCFG(n_states=3, estimator="pivot", bracket_weight=0.0).fit(english)
    np.testing.assert_array_equal(twice.grammar_.params[0].tensor, params.tensor)


def test_one_state_is_the_plain_grammar_and_em_goes_on_from_pivots(english):
    one = LPCFG(n_states=1, estimator="pivot", bracket_weight=0.0).fit(english[:80])
    other = LPCFG(n_states=1, estimator="clustering", bracket_weight=0.0).fit(english[:80])
    assert one.log_prob(english[5]) == pytest.approx(other.log_prob(english[5]), abs=1e-5)
    few = LPCFG(n_states=3, estimator="pivot", bracket_weight=0.0).fit(english[:100])
    more = LPCFG(n_states=3, estimator="pivot", n_iter=2, bracket_weight=0.0).fit(english[:100])
    tensors = [parser.grammar_.params[0].tensor for parser in (few, more)]
    assert len(tensors[0]) == len(tensors[1])
    assert np.abs(tensors[0] - tensors[1]).max() > 1e-3
    assert np.isfinite(more.log_prob(english[5]))
    with pytest.raises(SettingsError, match="estimator"):
        LPCFG(estimator="pivots").fit(english[:5])


def test_the_command_has_both_and_refuses_a_rank_of_nothing(tmp_path):
    (tmp_path / "few.mrg").write_text("\n".join(list(load_english("train"))[:60]) + "\n")
    line = ["const", "train", "few.mrg", "-o", "m.lpcfg", "-k", "2", "--estimator", "pivot"]
    done = eigentext(*line, "--rank", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert LPCFG.load(tmp_path / "m.lpcfg").grammar_.params[0].low_rank is not None
    refused = eigentext(*line, "--rank", "0", cwd=tmp_path)
    assert refused.returncode == 2
    assert b"rank" in refused.stderr


@pytest.mark.requires("data")
def test_real_trees(data):
    """States of pivots parse better than none, and as well in products as in whole tensors."""
    folder = data / "constituency" / "gum"
    trees = list(islice(read_trees(str(folder / "train.mrg")), 500))
    gold = list(islice(read_trees(str(folder / "dev.mrg")), 40))
    known = {"estimator": "pivot", "bracket_weight": 0.0}
    plain, states, products = (
        LPCFG(**known, **more).fit(trees).score(gold)
        for more in ({"n_states": 1}, {"n_states": 6}, {"n_states": 6, "rank": 4})
    )
    assert states > plain + 0.01
    assert products > states - 0.03
