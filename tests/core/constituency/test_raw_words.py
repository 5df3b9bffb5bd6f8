"""Words as people write them: quotes, headlines, single words, sentences without end."""

from __future__ import annotations

import json
from copy import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.cli.main import run
from eigentext.constituency import LPCFG, Constraints
from eigentext.constituency.answer import pieces
from eigentext.constituency.forms import capitals_tell, treebank_forms
from eigentext.constituency.settings import Smoothing
from eigentext.datasets import load_english
from eigentext.errors import SettingsError
from eigentext.language.formats.ptb import read_trees

# -- quotes ---------------------------------------------------------------------------------------

UD = {'"': 900, "“": 30, "”": 30, "'": 9, "-LRB-": 4}  # like GUM and EWT
PTB = {"``": 90, "''": 90, "`": 9, "'": 20}


@pytest.mark.parametrize(
    ("given", "counts", "expected"),
    [
        ("`` No '' .", UD, "“ No ” ."),
        ('" No " .', UD, '" No " .'),
        ("` No '", UD, "' No '"),
        ('" No " .', PTB, "`` No '' ."),
        ("“ No ”", PTB, "`` No ''"),
        ("« No »", PTB, "`` No ''"),
        ('" No "', {}, '" No "'),
    ],
)
def test_quotes_become_those_of_the_treebank(given, counts, expected):
    assert treebank_forms(given.split(), lambda word: counts.get(word, 0)) == expected.split()


def test_a_slip_of_the_annotators_is_no_quote_of_the_treebank():
    slips = {**UD, "``": 1, "''": 2}
    assert treebank_forms(["``", "''"], lambda word: slips.get(word, 0)) == ["“", "”"]
    only = {"``": 1, "''": 1}  # a small treebank has no others
    for typed in (['"', '"'], ["``", '"']):  # a straight quote closes what any quote has opened
        assert treebank_forms(typed, lambda word: only.get(word, 0)) == ["``", "''"]


_QUOTED = """\
(TOP (S (`` ") (S (NP (DT The) (NN dog)) (VP (VBZ barks))) (, ,) ('' ") (VP (VBZ says)) (. .)))
(TOP (S (NP (NNP Ann)) (CC and) (NP (NNP Bob)) (VP (VBZ says) (`` ") (INTJ (UH no)) ('' ")) (. .)))
"""


def test_raw_quotes_through_the_command(tmp_path, capsys):
    (tmp_path / "train.mrg").write_text(_QUOTED * 8)
    model = str(tmp_path / "m")
    assert (
        run(["const", "train", str(tmp_path / "train.mrg"), "-o", model, "--n-states", "2", "-q"])
        == 0
    )
    (tmp_path / "raw.txt").write_text('"The dog barks," says.\n“The dog barks,” says.\n')
    assert run(["const", "apply", model, str(tmp_path / "raw.txt"), "--raw", "-q"]) == 0
    straight, curly = capsys.readouterr().out.splitlines()
    assert straight == _QUOTED.splitlines()[0]
    assert curly == straight.replace('(`` ")', "(`` “)").replace("('' \")", "('' ”)")


# -- capitals -------------------------------------------------------------------------------------

HEADLINES = ("The farmer sold the old horse", "The dog saw the farmer with the telescope .")


@pytest.mark.parametrize("estimator", ["clustering", "moments"])
@pytest.mark.parametrize("sentence", HEADLINES)
@pytest.mark.parametrize("recase", [str.upper, str.title])
def test_headlines_are_parsed_like_the_same_words_in_a_text(
    parser, moments, sentence, recase, estimator
):
    chosen = parser if estimator == "clustering" else moments
    tokens = sentence.split()
    expected, found = chosen.parse(tokens), chosen.parse([recase(token) for token in tokens])
    assert found.tree.with_words(tokens) == expected.tree


@pytest.fixture(scope="module")
def moments(english):
    return LPCFG(n_states=4, estimator="moments").fit(english)


def test_capitals_in_running_text_still_tell():
    counts = {"the": 90, "mayor": 9, "new": 9, "New": 5, "York": 5, "of": 40, "met": 3}

    def tells(text):
        return capitals_tell(text.split(), lambda word: counts.get(word, 0))

    assert tells("The Mayor met the others")
    assert tells("Ann met the Mayor")  # the small words are short, but too many
    assert tells("New York")
    assert tells("the mayor of New York")
    assert tells("I")
    assert tells(". 1984 ?")
    assert not tells("The New Mayor of York")
    assert not tells("THE MAYOR")


def test_a_sentence_of_the_treebank_is_looked_up_as_before(parser, english):
    lexicon = parser.grammar_.lexicon
    for tree in english[:30]:
        words = parser.grammar_.forms(tree.words)
        assert list(words) == list(tree.words)
        assert capitals_tell(words, lexicon.seen)


# -- roots ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ["clustering", "em", "moments"])
def test_one_word_sentences_and_bare_phrases(english, estimator):
    em = 2 if estimator == "em" else None
    parser = LPCFG(n_states=2, estimator=estimator, n_iter=em).fit(english)
    for sentence, expected in (
        (".", "(TOP (. .))"),
        ("with the telescope", "(TOP (PP (IN with) (NP (DT the) (NN telescope))))"),
    ):
        answer = parser.parse(sentence.split())
        assert str(answer.tree) == expected
        assert "fallback" not in answer.flags
        assert np.isfinite(answer.log_prob)
        assert answer.log_prob == pytest.approx(parser.log_prob(answer.tree))


def test_roots_share_to_one_and_are_counts_without_smoothing(english):
    smooth = LPCFG(n_states=3, estimator="clustering").fit(english)
    bare = LPCFG(n_states=3, estimator="clustering", smoothing=Smoothing.none()).fit(english)
    for parser in (smooth, bare):
        assert parser.grammar_.params[0].root.sum() == pytest.approx(1.0)
        assert parser.grammar_.coarse.root_p.sum() == pytest.approx(1.0)
    n = len(english)
    inner = np.array(["@" not in label for label in smooth.grammar_.labels])
    prior = np.where(inner, smooth.grammar_.coarse.prior, 0)
    prior /= prior.sum()
    expected = (n * bare.grammar_.coarse.root_p + prior) / (n + 1)
    np.testing.assert_allclose(smooth.grammar_.coarse.root_p, expected)
    assert "fallback" in bare.parse(["."]).flags
    moments = LPCFG(n_states=1, estimator="moments").fit(english)
    np.testing.assert_allclose(moments.grammar_.params[0].root, moments.grammar_.coarse.root_p)


# -- long sentences -------------------------------------------------------------------------------

_tokens = st.lists(st.sampled_from(["a", "b", ",", "."]), min_size=1, max_size=40)


@given(_tokens, st.integers(1, 9))
def test_pieces_are_the_sentence_and_short(tokens, longest):
    found = pieces(tokens, longest)
    assert [k for start, end in found for k in range(start, end)] == [*range(len(tokens))]
    assert all(0 < end - start <= longest for start, end in found)
    for start, end in found[:-1]:
        cut = tokens[end - 1]
        window = tokens[start : start + longest]
        assert (
            cut == "."
            or (cut == "," and "." not in window[: end - start])
            or (end - start == longest and "," not in window[1:])
        )
        assert "." not in tokens[start : end - 1]


def test_a_long_sentence_is_parsed_in_pieces(parser, english):
    one, two = english[0].words, english[1].words
    short = copy(parser)
    short.longest = max(len(one), len(two))
    answer = short.parse([*one, *two], marginals=True, kbest=2)
    first, second = parser.parse(one, marginals=True), parser.parse(two, marginals=True)
    inner = [str(p.tree).removeprefix("(TOP ").removesuffix(")") for p in (first, second)]
    assert str(answer.tree) == f"(TOP (S {inner[0]} {inner[1]}))"
    assert answer.flags == first.flags | second.flags | {"split"}
    assert answer.log_prob == pytest.approx(first.log_prob + second.log_prob)
    assert answer.log_score == pytest.approx(first.log_score + second.log_score)
    assert [candidate.tree for candidate in answer.kbest] == [answer.tree]
    for part, begin in ((first, 0), (second, len(one))):
        for (start, end, label), p in part.marginals.items():
            assert answer.marginals[begin + start, begin + end, label] == p
    with pytest.raises(SettingsError, match="constraints are for sentences of at most"):
        short.parse([*one, *two], constraints=Constraints(tags={0: "NN"}))
    with pytest.raises(SettingsError, match="at most"):
        short.sentence_log_prob([*one, *two])
    for longest in (0, 1001):
        with pytest.raises(SettingsError, match=r"longest is .* from 1 to 1000"):
            LPCFG(longest=longest).check()


def test_a_sentence_without_end_through_the_command(tmp_path, capsys):
    (tmp_path / "train.mrg").write_text("\n".join(load_english("train")) + "\n")
    model, text = str(tmp_path / "m"), tmp_path / "in.txt"
    assert (
        run(["const", "train", str(tmp_path / "train.mrg"), "-o", model, "--n-states", "1", "-q"])
        == 0
    )
    tokens = ["the", "farmer", "slept", "."] * 400
    text.write_text(" ".join(tokens) + "\n")
    arguments = ["const", "apply", model, str(text), "-o", str(tmp_path / "out")]
    assert run([*arguments, "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["split"] == 1
    assert "1 sentence(s) of more than 300 words were parsed in pieces" in shown.err
    (tree,) = read_trees(tmp_path / "out")
    assert list(tree.words) == tokens
    assert run([*arguments, "--longest", "2000"]) == 2
    assert "less than or equal to 1000" in capsys.readouterr().err
