"""When the models fail the plain PCFG parses; settings and mixed ensembles survive a file."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from eigentext.constituency import LPCFG, Constraints
from eigentext.constituency.settings import DECODERS, Smoothing
from eigentext.errors import SettingsError
from eigentext.language.trees.constituent import Tree

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


def test_a_tree_without_log_p_has_that_of_the_plain_pcfg_and_is_flagged(parser, english):
    upside_down = _with(parser, [replace(one, root=-one.root) for one in parser.grammar_.params])
    plain = LPCFG(n_states=1, estimator="clustering").fit(english)
    answer, right = upside_down.parse(SENTENCE, kbest=2), parser.parse(SENTENCE, kbest=2)
    assert answer.tree == right.tree  # posteriors are divided by the signed Z
    assert answer.flags == {"negative"}
    assert right.flags == set()
    for one in answer.kbest:
        assert one.log_prob == pytest.approx(plain.log_prob(one.tree), abs=0.05)
        assert one.log_prob == pytest.approx(upside_down.log_prob(one.tree))
    of_words = plain.sentence_log_prob(SENTENCE)
    assert upside_down.sentence_log_prob(SENTENCE) == pytest.approx(of_words, abs=0.05)


# -- no tree in the pruned chart ---------------------------------------------------------------


def _labels(trees):
    return {label for tree in trees for label in tree.relabel(str).labels}


def _cells(monkeypatch):
    """The beam of every coarse pass."""
    from eigentext.constituency.chart import coarse

    beams, inside = [], coarse._inside

    def watched(grammar, tags, beam, masks):
        beams.append((len(tags.ptr) - 1, beam))
        return inside(grammar, tags, beam, masks)

    monkeypatch.setattr(coarse, "_inside", watched)
    return beams


WITHOUT_TREE = "telescope the . the of with . saw saw the the . horse with with".split()


def test_without_a_tree_the_best_pieces_come_together(english, monkeypatch):
    parser = LPCFG(n_states=2).fit(english)
    beams = _cells(monkeypatch)
    answer = parser.parse(WITHOUT_TREE, kbest=2)
    assert answer.flags == {"fallback"}
    assert answer.tree.words == tuple(WITHOUT_TREE)
    assert set(answer.tree.labels) - set(WITHOUT_TREE) <= _labels(english)
    assert np.isfinite(answer.log_prob)
    assert [one.tree for one in answer.kbest] == [answer.tree]
    # three steps, one pass for the pieces, and each word in one piece: never without pruning
    n = len(WITHOUT_TREE)
    assert [beam for words, beam in beams if words == n] == pytest.approx([1e-4, 1e-5, 1e-6, 1e-6])
    assert sum(words for words, _ in beams if words < n) <= n


def test_pieces_are_constituents_and_keep_what_is_required(english):
    parser = LPCFG(n_states=2).fit(english)
    tokens = "with with the farmer saw the horse . the".split()
    plain = parser.parse(tokens, marginals=True)
    assert plain.marginals[2, 4, "NP"] > 0.5
    assert plain.flags == {"fallback"}
    assert ("NP", 2, 4) in plain.tree.constituents()
    assert ("NP", 5, 7) in plain.tree.constituents()
    required = [(0, 4, "PP"), (1, 4), (7, 9, "NP")]
    found = parser.parse(tokens, constraints=Constraints(required=required, tags={8: "NN"})).tree
    spans = found.constituents()
    assert {("PP", 0, 4), ("NP", 7, 9)} <= set(spans)
    assert (1, 4) in {(start, end) for _, start, end in spans}
    assert found.tags[8] == "NN"


def test_tags_that_the_grammar_cannot_have_stand_over_its_tree(english):
    parser = LPCFG(n_states=2).fit(english)
    for tree in english[:12]:
        n = len(tree.words)
        usual = parser.parse(tree.words).tree
        tags = dict(enumerate(usual.tags)) | {n - 1: "DT", n - 2: "VBD"}
        answer = parser.parse(tree.words, constraints=Constraints(tags=tags))
        assert answer.tree.tags == tuple(tags[word] for word in range(n))
        assert set(answer.tree.labels) - set(tree.words) <= _labels(english)
        if "fallback" in answer.flags:
            assert answer.tree.height > 3  # not words under one node


def test_constraints_leave_spans_closed(english):
    parser = LPCFG(n_states=2).fit(english)
    free = parser._masks(SENTENCE, Constraints())
    closed = free.marginal < free.threshold
    assert closed.sum() > 5
    over_all = parser._masks(SENTENCE, Constraints(required=[(0, 9)]))
    assert np.array_equal(over_all.marginal < over_all.threshold, closed)
    tagged = parser._masks(SENTENCE, Constraints(tags={1: "NN"}))
    assert 0 < tagged.threshold < free.threshold
    for number in np.flatnonzero(closed):
        first, last = (one[number] for one in np.triu_indices(9))
        span = int(first), int(last) + 1
        required = parser._masks(SENTENCE, Constraints(required=[span]))
        assert required.marginal[number] == pytest.approx(1.0)
        assert np.any(required.marginal < required.threshold)


@pytest.mark.parametrize("empty", [Constraints(), Constraints((), (), {}), Constraints([(0, 9)])])
def test_no_demand_is_no_constraint(english, empty):
    parser = LPCFG(n_states=2).fit(english)
    free = parser.parse(SENTENCE, kbest=3, marginals=True)
    assert parser.parse(SENTENCE, kbest=3, marginals=True, constraints=empty) == free


def test_an_unknown_word_of_marks_has_only_tags_of_such_words(english):
    dashes = [
        Tree.from_brackets(f"(TOP (S (NP (NNP Ann)) (: {dash}) (VP (VBZ sings)) (. .)))")
        for dash in ("--", "-", ";")
        for _ in range(20)
    ]
    parser = LPCFG(n_states=2).fit([*english, *dashes])
    lexicon = parser.grammar_.lexicon
    marks = {
        tag
        for tree in [*english, *dashes]
        for word, tag in zip(tree.words, tree.tags, strict=True)
        if not any(map(str.isalnum, word))
    }
    assert {":", "."} <= marks
    for mark in ("\u2e3a", "\u301c", "?!"):
        emission = lexicon.emission(mark, first=False)
        tags = {parser.grammar_.labels[a].split(">")[-1] for a in lexicon.tags[emission.tags]}
        assert tags <= marks
        best = lexicon.tags[
            emission.tags[np.argmax(emission.scores * lexicon.p_tag[emission.tags])]
        ]
        assert mark == "?!" or parser.grammar_.labels[best] == ":"
    assert parser.parse(["Ann", "\u2e3a", "sings", "."]).tree.tags[1] == ":"


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
