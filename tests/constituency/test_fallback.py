"""When the models fail the plain PCFG parses; settings and mixed ensembles survive a file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from eigentext.constituency import LPCFG, Constraints
from eigentext.constituency.decode import DECODERS
from eigentext.constituency.params import MomentSmoothing
from eigentext.errors import SettingsError

SENTENCE = "The farmer saw the horse with the telescope .".split()


def _silenced(parser, *, every=True):
    """The same parser with models that give nothing any weight."""
    other = LPCFG(**parser.get_params())
    for name in ("labels_", "wrapper_", "coarse_"):
        setattr(other, name, getattr(parser, name))
    silent = [replace(one, tensor=np.zeros_like(one.tensor)) for one in parser.params_]
    other.params_ = silent if every else [*silent[:-1], parser.params_[-1]]
    return other


@pytest.mark.parametrize("decoder", DECODERS)
def test_the_plain_pcfg_stands_in(parser, english, decoder):
    plain = LPCFG(states=1).fit(english)
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
    parser = LPCFG(states=2, ensemble=2).fit(english[:60])
    answer = _silenced(parser, every=False).parse(SENTENCE)
    assert "coarse" not in answer.flags
    assert "coarse" not in parser.parse(SENTENCE).flags


def test_a_single_word_still_gets_a_tree(parser):
    one = parser.params_[0]
    silent = _silenced(parser)
    silent.params_ = [replace(one, root=np.zeros_like(one.root))]
    answer = silent.parse(["Yes"])
    assert answer.tree.words == ("Yes",)
    assert "fallback" in answer.flags


def test_a_tree_without_log_p_is_flagged(parser):
    upside_down = _silenced(parser)
    upside_down.params_ = [replace(one, root=-one.root) for one in parser.params_]
    answer, right = upside_down.parse(SENTENCE, kbest=2), parser.parse(SENTENCE, kbest=2)
    assert answer.tree == right.tree  # posteriors are divided by the signed Z
    assert (answer.log_p, answer.flags) == (-np.inf, {"negative"})
    assert right.flags == set()
    assert right.log_p > -np.inf
    assert [one.log_p for one in answer.kbest] == [-np.inf] * 2


def test_smoothing_of_moments_is_a_setting(english, tmp_path):
    some = MomentSmoothing(C_mean=50.0, ridge=9.0)
    parser = LPCFG(states=4, estimator="moments", moment_smoothing=some).fit(english)
    usual = LPCFG(states=4, estimator="moments").fit(english)
    assert usual.moment_smoothing == MomentSmoothing()
    assert not np.allclose(parser.params_[0].tensor, usual.params_[0].tensor, atol=1e-3)
    parser.save(tmp_path / "m")
    again = LPCFG.load(tmp_path / "m")
    assert again.moment_smoothing == some
    assert again.get_params() == parser.get_params()
    assert again.parse(SENTENCE) == parser.parse(SENTENCE)
    with pytest.raises(SettingsError, match="ridge"):
        MomentSmoothing(ridge=-1.0)


def test_a_mixed_ensemble_survives_a_file(english, tmp_path):
    parser = LPCFG(states=3, ensemble=2, estimator="mixed").fit(english)
    parser.save(tmp_path / "m")
    again = LPCFG.load(tmp_path / "m")
    for tree in english[:10]:
        assert again.parse(tree.words, marginals=True) == parser.parse(tree.words, marginals=True)
    for mine, theirs in zip(parser.params_, again.params_, strict=True):
        assert np.array_equal(mine.spectra.values, theirs.spectra.values)
        assert type(mine.lexicon) is type(theirs.lexicon)
