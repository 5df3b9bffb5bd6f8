"""The tagger as a whole: what it learns, keeps, and answers."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from eigentext.errors import DataError, SettingsError
from eigentext.language.formats.conllu import make_sentence
from eigentext.lexical.analysis import Analysis
from eigentext.tagging.morphology import Morphology, MorphTagger, jackknifed
from eigentext.tagging.settings import MorphTaggerSettings

NOUNS = ("dog", "cat", "bird", "horse", "cow", "goat", "fox", "wolf")
VERBS = ("sees", "hears", "likes", "calls")


def _sentence(subject, verb, other):
    return make_sentence(
        ["The", subject, verb, "the", f"{other}s", "."],
        lemma=["the", subject, verb[:-1], "the", other, "."],
        upos=["DET", "NOUN", "VERB", "DET", "NOUN", "PUNCT"],
        feats=["_", "Number=Sing", "Person=3", "_", "Number=Plur", "_"],
    )


TREEBANK = [
    _sentence(subject, VERBS[at % 4], NOUNS[(at * 3 + 1) % 8])
    for at, subject in enumerate(NOUNS * 3)
]


@pytest.fixture(scope="module")
def tagger():
    return MorphTagger(bits=14).fit(TREEBANK)


def test_new_words_are_tagged_by_their_endings_and_neighbours(tagger) -> None:
    answer = tagger.tag([["The", "newt", "hears", "the", "lizards", "."]])[0]
    assert answer.upos == ("DET", "NOUN", "VERB", "DET", "NOUN", "PUNCT")
    assert answer.feats[4] == "Number=Plur"
    assert answer.lemmas == ("the", "newt", "hear", "the", "lizard", ".")
    assert answer.xpos == ("_",) * 6


def test_answers_do_not_depend_on_what_was_asked_before(tagger) -> None:
    sentences = [["The", f"x{n}", "sees"] for n in range(30)]
    at_once = tagger.tag(sentences)
    again = MorphTagger.from_bytes(tagger.to_bytes())
    assert [again.tag([one])[0] for one in reversed(sentences)] == at_once[::-1]
    assert tagger.tag([]) == []
    assert tagger.tag([[]]) == [Morphology((), (), (), ())]


def test_a_word_that_is_in_doubt_has_another_upos() -> None:
    """`hide` is a noun half as often as a verb, and nothing around it tells; `dog` is sure."""
    text = [
        make_sentence(["dog", "hide"], upos=["NOUN", upos]) for upos in ("VERB", "VERB", "NOUN")
    ] * 12
    tagger = MorphTagger(bits=14).fit(text)
    answer = tagger.tag([["dog", "hide"]])[0]
    assert answer.others[0] == "_"
    near, _, other = answer.others[1].partition(":")
    assert near in "123"
    assert {answer.upos[1], other} == {"NOUN", "VERB"}
    readings = {reading.upos: reading.probability for reading in tagger.nbest(["dog", "hide"])[1]}
    assert (near == "1") == (readings[answer.upos[1]] / sum(readings.values()) <= 0.7)


def test_the_same_treebank_gives_the_same_bytes(tagger) -> None:
    assert MorphTagger(bits=14).fit(TREEBANK).to_bytes() == tagger.to_bytes()


def test_a_file_answers_as_the_model_does(tagger, tmp_path) -> None:
    tagger.save(tmp_path / "a.eig")
    loaded = MorphTagger.load(tmp_path / "a.eig")
    words = ["the", "old", "Dogs", "calls", "him", "", "3.5", "\U0001f600"]
    assert loaded.tag([words]) == tagger.tag([words])
    assert loaded.nbest(words) == tagger.nbest(words)


def test_readings_are_ranked_and_sum_to_one(tagger) -> None:
    words = ["the", "zebras", "walks"]
    readings = tagger.nbest(words, 100)
    best = tagger.tag([words])[0]
    for at, word in enumerate(readings):
        chances = [reading.probability for reading in word]
        assert all(a >= b for a, b in pairwise(chances))
        known = words[at] in tagger.lexicon_.form_counts
        assert math.isclose(sum(chances), tagger.coverage_[not known], abs_tol=1e-6)
        assert word[0][:4] == tuple(column[at] for column in best[:4])
    assert [len(word) for word in tagger.nbest(words, 1)] == [1, 1, 1]
    assert tagger.nbest([]) == []
    with pytest.raises(SettingsError, match="k is 0"):
        tagger.nbest(words, 0)


def test_quotes_and_composed_letters_are_those_of_the_treebank() -> None:
    upos = ["PUNCT", "NOUN", "PUNCT"]
    quoted = make_sentence(['"', "café", '"'], lemma=['"', "café", '"'], upos=upos)
    tagger = MorphTagger(bits=10).fit([quoted, *TREEBANK])
    answer = tagger.tag([["“", "cafe\u0301", "”"]])[0]
    assert answer.upos == ("PUNCT", "NOUN", "PUNCT")
    assert answer.lemmas[::2] == ('"', '"')
    assert answer == tagger.tag([['"', "cafe\u0301", '"']])[0]


def test_xpos_that_words_tell_is_part_of_the_tag() -> None:
    """However many tags it makes of few parts of speech: small treebanks have XPOS, too."""
    fine = []
    for one in TREEBANK:
        tags = zip(one.column("upos"), one.forms, strict=True)
        fine.append(one.with_columns(xpos=[f"{tag}-{form[-1]}" for tag, form in tags]))
    tagger = MorphTagger(bits=12).fit([one.with_columns(feats=["_"] * len(one)) for one in fine])
    assert tagger.other_xpos_ is None
    assert len(tagger.tag_set_) > 2 * len({upos for upos, _, _ in tagger.tag_set_.triples})
    (answer,) = tagger.tag([["the", "newts"]])
    assert answer.xpos == ("DET-e", "NOUN-s")


def test_xpos_that_tells_of_more_is_no_part_of_the_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eigentext.tagging.morphology.tags._MOST_TAGS", 10)
    tagger = MorphTagger(bits=10).fit([one.with_columns(xpos=one.forms) for one in TREEBANK])
    assert len(tagger.tag_set_) == len(MorphTagger(bits=10).fit(TREEBANK).tag_set_)
    assert tagger.tag([["the", "dog"]])[0].xpos == ("the", "dog")
    assert tagger.tag([["newts"]])[0].xpos[0] in {f"{noun}s" for noun in NOUNS}
    again = MorphTagger.from_bytes(tagger.to_bytes())
    assert again.tag([["the", "newt"]]) == tagger.tag([["the", "newt"]])
    assert again.nbest(["the", "newt"]) == tagger.nbest(["the", "newt"])


def test_xpos_that_no_word_tells_is_left_empty() -> None:
    places = [
        sentence.with_columns(xpos=[f"{n % 7}{at}" for at in range(6)])
        for n, sentence in enumerate(TREEBANK)
    ]
    assert MorphTagger(bits=10).fit(places).tag([["the", "dog"]])[0].xpos == ("_", "_")


class _Analyzer:
    """Words in -o are verbs, whatever they are like; it does not know others."""

    name = "toy"

    def normalise(self, word):
        return word

    def analyse(self, word):
        known = word.endswith("o")
        return [Analysis.whole(word, "V", source="lexicon" if known else "backoff")]


def test_an_analyzer_tells_what_endings_cannot() -> None:
    text = [
        make_sentence([f"{a}{b}o", f"{b}{a}a"], upos=["VERB", "NOUN"])
        for a in "bdfgk"
        for b in "lmnr"
    ]
    tagger = MorphTagger(bits=12).fit(text, analyzer=_Analyzer())
    assert tagger.tag([["zzo"]])[0].upos == ("VERB",)
    assert "toy" in str(tagger._pack().facts)


def test_out_of_sample_tags_are_those_of_the_others() -> None:
    chosen = MorphTaggerSettings(bits=12, epochs=2)
    answers = jackknifed(TREEBANK, chosen, ways=3)
    assert len(answers) == len(TREEBANK)
    first = MorphTagger(bits=12, epochs=2).fit(TREEBANK[8:]).tag([s.forms for s in TREEBANK[:8]])
    assert answers[:8] == first


def test_out_of_sample_tags_hear_the_analyzer_too() -> None:
    asked = []

    class Heard(_Analyzer):
        def analyse(self, word):
            asked.append(word)
            return super().analyse(word)

    jackknifed(TREEBANK, MorphTaggerSettings(bits=12, epochs=1), ways=3, analyzer=Heard())
    times = [asked.count(form) for form in (NOUNS[0], VERBS[0])]
    assert min(times) >= 3  # each of the three taggers asks, at the least once


def test_nothing_to_learn_from_is_an_error() -> None:
    with pytest.raises(DataError, match="no words"):
        MorphTagger().fit([])


def test_progress_is_told() -> None:
    told = []
    MorphTagger(bits=10, epochs=2).fit(TREEBANK, progress=lambda *step: told.append(step[:2]))
    assert told[-1] == (2, 2)
