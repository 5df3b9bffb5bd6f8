"""When the models fail the plain PCFG parses; settings and mixed ensembles survive a file."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from eigentext.constituency import LPCFG, Constraints
from eigentext.constituency.settings import DECODERS, Smoothing
from eigentext.errors import SettingsError

SENTENCE = "The farmer saw the horse with the telescope .".split()


def _silenced(parser, *, every=True):
    """The same parser with models that give nothing any weight."""
    params = parser.grammar_.params
    silent = [replace(one, tensor=np.zeros_like(one.tensor)) for one in params]
    return _with(parser, silent if every else [*silent[:-1], params[-1]])


def _with(parser, params):
    """The same parser with other models."""
    other = copy(parser)
    other.grammar_ = replace(parser.grammar_, params=tuple(params))
    return other


@pytest.mark.parametrize("decoder", DECODERS)
def test_the_plain_pcfg_stands_in(parser, english, decoder):
    plain = LPCFG(n_states=1).fit(english)
    instead = "max-rule-product" if decoder == "viterbi" else decoder
    silent = _silenced(parser)
    for tree in [*english[:8], SENTENCE]:
        words = getattr(tree, "words", tree)
        answer = silent.parse(words, decoder=decoder)
        assert "coarse" in answer.flags
        assert "fallback" not in answer.flags
        assert answer.tree == plain.parse(words, decoder=instead).tree


def test_kbest_marginals_and_constraints_of_the_plain_pcfg(parser):
    silent = _silenced(parser)
    constraints = Constraints(required=[(3, 8, "NP")])
    answer = silent.parse(SENTENCE, kbest=3, marginals=True, constraints=constraints)
    assert "coarse" in answer.flags
    assert len({one.tree for one in answer.kbest}) == 3
    assert answer.marginals[3, 8, "NP"] == pytest.approx(1.0, abs=0.02)
    for one in answer.kbest:
        spans = one.tree.spans().tolist()
        assert ("NP", [3, 8]) in list(zip(one.tree.labels, spans, strict=True))


def test_one_model_of_two_is_enough(english):
    parser = LPCFG(n_states=2, n_models=2).fit(english[:60])
    answer = _silenced(parser, every=False).parse(SENTENCE)
    assert "coarse" not in answer.flags
    assert "coarse" not in parser.parse(SENTENCE).flags


def test_a_single_word_still_gets_a_tree(parser):
    one = parser.grammar_.params[0]
    silent = _with(parser, [replace(one, root=np.zeros_like(one.root))])
    answer = silent.parse(["Yes"])
    assert answer.tree.words == ("Yes",)
    assert "fallback" in answer.flags


def test_a_tree_without_log_p_is_flagged(parser):
    upside_down = _with(parser, [replace(one, root=-one.root) for one in parser.grammar_.params])
    answer, right = upside_down.parse(SENTENCE, kbest=2), parser.parse(SENTENCE, kbest=2)
    assert answer.tree == right.tree  # posteriors are divided by the signed Z
    assert (answer.log_prob, answer.flags) == (-np.inf, {"negative"})
    assert right.flags == set()
    assert right.log_prob > -np.inf
    assert [one.log_prob for one in answer.kbest] == [-np.inf] * 2


def test_smoothing_of_moments_is_a_setting(english, tmp_path):
    some = Smoothing(C_mean=50.0, ridge=9.0)
    parser = LPCFG(n_states=4, estimator="moments", smoothing=some).fit(english)
    usual = LPCFG(n_states=4, estimator="moments").fit(english)
    assert usual.smoothing == Smoothing()
    tensors = [one.grammar_.params[0].whole_tensor for one in (parser, usual)]
    assert not np.allclose(*tensors, atol=1e-3)
    parser.save(tmp_path / "m")
    again = LPCFG.load(tmp_path / "m")
    assert again.smoothing == some
    assert again.get_params() == parser.get_params()
    assert again.parse(SENTENCE) == parser.parse(SENTENCE)
    with pytest.raises(SettingsError, match="ridge"):
        Smoothing(ridge=-1.0)


def test_a_mixed_ensemble_survives_a_file(english, tmp_path):
    parser = LPCFG(n_states=3, n_models=2, estimator="mixed").fit(english)
    parser.save(tmp_path / "m")
    again = LPCFG.load(tmp_path / "m")
    for tree in english[:10]:
        assert again.parse(tree.words, marginals=True) == parser.parse(tree.words, marginals=True)
    for mine, theirs in zip(parser.grammar_.params, again.grammar_.params, strict=True):
        assert np.array_equal(mine.spectra.values, theirs.spectra.values)
        assert type(mine.lexicon) is type(theirs.lexicon)
