"""Lambda and sigma of theorem 3: by the letter on small treebanks, and absent where they are."""

from __future__ import annotations

import numpy as np
import pytest

from eigentext.constituency import LPCFG
from eigentext.constituency.inspection import nodes_needed, theorem_3
from eigentext.constituency.learn.moments import (
    _roots,
    _rule_moments,
    node_weights,
    project,
    smallest_elements,
)
from eigentext.constituency.settings import LPCFGSettings, Smoothing
from eigentext.constituency.transform import read_treebank
from oracle.tensor_form import sample_moments


@pytest.mark.parametrize("scheme", ["all", "one-per-tree"])
def test_lambda_is_the_smallest_element_of_the_moments(english, scheme):
    bank, _ = read_treebank(english, LPCFGSettings())
    weights = node_weights(bank, scheme, np.random.default_rng(0))
    coordinates = project(bank, LPCFGSettings(n_states=3, plain=True), weights)
    moment_of = _rule_moments(bank, coordinates, weights, Smoothing.none())
    found = smallest_elements(
        bank,
        coordinates,
        weights,
        np.array([np.abs(moment_of(r)).min() for r in range(len(bank.rules))]),
        _roots(bank, coordinates, weights, 0.0),
    )
    words = sorted(set(bank.words))
    numbers = np.array([words.index(word) for word in bank.words])
    moments = sample_moments(bank, coordinates, weights, numbers)
    for a in range(len(bank.labels)):
        elements = [np.diag(coordinates[a].inverse)]
        elements += [d for (tag, _), d in moments.d_inf.items() if tag == a and np.any(d)]
        elements += [D for D, rule in zip(moments.D, bank.rules, strict=True) if rule[0] == a]
        if np.any(moments.c_one[a]):
            elements.append(moments.c_one[a])
        expected = min(float(np.abs(values).min()) for values in elements)
        assert found[a] == pytest.approx(expected, rel=1e-9)


def test_what_a_model_of_moments_says(english, tmp_path):
    model = LPCFG(n_states=3, estimator="moments").fit(english)
    model.save(tmp_path / "m")
    for one in (model, LPCFG.load(tmp_path / "m")):
        found = theorem_3(one.grammar_, tree_size=7)
        params, coarse = one.grammar_.params[0], one.grammar_.coarse
        most = np.argsort(-coarse.prior, kind="stable")[:2]
        expected = [one.grammar_.labels[a] for a in most]
        assert [b.label for b in found.nonterminals[:2]] == expected
        assert found.sigma == min(b.sigma for b in found.nonterminals if b.sigma is not None)
        assert found.Lambda == min(params.spectra.smallest)
        for bound in found.nonterminals:
            assert list(bound.singular_values) == sorted(bound.singular_values, reverse=True)
            # the constant coordinate has no singular value
            assert len(bound.singular_values) == bound.states - 1
            assert bound.sigma == (bound.singular_values[-1] if bound.states > 1 else None)
        n_rules = len(params.rules) + len(params.lexicon.tag_level.word_ts)
        assert found.nodes_needed == nodes_needed(
            m=3,
            n_rules=n_rules,
            tree_size=7,
            Lambda=found.Lambda,
            sigma=found.sigma,
            eps=0.5,
            delta=0.1,
        )


def test_clustering_has_sigma_but_no_lambda(english):
    found = theorem_3(LPCFG(n_states=4, n_iter=1).fit(english).grammar_)
    assert found.Lambda is None
    assert found.nodes_needed is None
    for bound in found.nonterminals:
        if bound.states > 1:
            values = (*bound.singular_values, 0.0, 0.0, 0.0)  # of smaller rank than that: 0
            assert bound.sigma == values[bound.states - 1]
            assert bound.singular_values[0] > 0
    auto = theorem_3(LPCFG(n_states="auto", estimator="clustering").fit(english).grammar_)
    for bound in auto.nonterminals:
        if bound.states > 1:
            assert bound.sigma == bound.singular_values[bound.states - 1]


def test_em_from_a_random_start_has_neither(english):
    found = theorem_3(LPCFG(n_states=2, estimator="em", n_iter=1).fit(english[:40]).grammar_)
    assert found.sigma is None
    assert found.Lambda is None
    assert all(bound.singular_values == () for bound in found.nonterminals)
