"""Words of which something is decided: the best of the rest, against all sequences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from eigentext.errors import SettingsError
from eigentext.language.formats.conllu import make_sentence
from eigentext.tagging.morphology import MorphTagger, learn
from eigentext.tagging.morphology.kernels.chain import room_for, score_pairs, score_words

SENTENCES = [
    (["the", "saw", "runs"], ["DET", "NOUN", "VERB"], ["_", "Number=Sing", "Tense=Pres"]),
    (["dogs", "saw", "runs"], ["NOUN", "VERB", "NOUN"], ["Number=Plur", "Tense=Past", "_"]),
    (["runs", "the", "dogs"], ["VERB", "DET", "NOUN"], ["Tense=Pres", "_", "Number=Plur"]),
    (["saw", "dogs", "saw"], ["VERB", "NOUN", "NOUN"], ["Tense=Past", "Number=Plur", "_"]),
]
WORDS = ["the", "saw", "saw", "runs", "dogs"]


@pytest.fixture(scope="module")
def tagger():
    text = [make_sentence(f, upos=u, feats=x, lemma=f) for f, u, x in SENTENCES] * 4
    return MorphTagger(bits=12).fit(text)


def every_sequence(tagger):
    """(score, tags) of all sequences of candidates, by the kernels' own numbers."""
    forms, sentences = tagger._read([WORDS])
    lists, rows, n = tagger._words.lists, sentences.rows, len(forms)
    text, chain = sentences.text, sentences.chain(tagger.tag_set_, *tagger.weights_)
    room = room_for(text, chain, False)
    score_words(0, n, text, chain, room)
    counts = room.counts[:n] = lists.n[rows]
    room.kept[:] = np.arange(room.kept.shape[1])
    score_pairs(0, n, text, chain, room)
    scores, pairs = room.scores, room.pairs
    found = []
    for path in itertools.product(*map(range, counts.tolist())):
        before = (0, *path)
        total = sum(scores[i, c] + pairs[i, before[i], c] for i, c in enumerate(path))
        found.append((total, [int(lists.tags[rows[i], c]) for i, c in enumerate(path)]))
    return found


DECIDED = [
    {},
    {1: {"upos": "NOUN"}},
    {1: {"upos": "VERB"}},
    {2: {"upos": "NOUN", "feats": "_"}},
    {2: {"feats": "Tense=Past"}},
    {1: {"upos": "NOUN"}, 3: {"upos": "NOUN"}},
    {1: {"upos": "VERB"}, 2: {"upos": "VERB"}, 4: {"upos": "NOUN"}},
]


@pytest.mark.parametrize("decided", DECIDED)
def test_the_best_is_the_best_of_all_that_agree(tagger, monkeypatch, decided):
    monkeypatch.setattr(learn, "WIDTH", 1e9)
    triples = tagger.tag_set_.triples
    columns = ("upos", "xpos", "feats")

    def agrees(tags):
        return all(
            triples[tags[word]][columns.index(name)] == value
            for word, values in decided.items()
            for name, value in values.items()
        )

    agreeing = [(score, tags) for score, tags in every_sequence(tagger) if agrees(tags)]
    assert len(agreeing) > 1
    top = max(score for score, _ in agreeing)
    best = [
        tuple(triples[tag][0] for tag in tags) + tuple(triples[tag][2] for tag in tags)
        for score, tags in agreeing
        if score > top - 1e-4
    ]
    answer = tagger.tag_decided(WORDS, decided)
    assert answer.best.upos + answer.best.feats in best
    assert all(answer.followed.values())


def test_nothing_decided_is_the_plain_answer(tagger):
    plain = tagger.tag([WORDS])[0]
    answer = tagger.tag_decided(WORDS, {})
    assert answer.best[:4] == plain[:4]
    assert answer.readings == tagger.nbest(WORDS)


def test_decisions_condition_their_neighbours(tagger):
    readings = [
        tagger.tag_decided(WORDS, {1: {"upos": upos}}).readings[2][0].probability
        for upos in ("NOUN", "VERB")
    ]
    assert readings[0] != readings[1]


def test_what_no_tag_fits_stands_and_is_told(tagger):
    answer = tagger.tag_decided(WORDS, {1: {"upos": "INTJ", "lemma": "SAW"}})
    assert answer.best.upos[1] == "INTJ"
    assert answer.best.lemmas[1] == "SAW"
    assert answer.followed == {1: False}


def test_a_tag_that_the_word_never_had(tagger):
    answer = tagger.tag_decided(WORDS, {0: {"upos": "NOUN"}})
    assert answer.best.upos[0] == "NOUN"
    assert answer.followed == {0: True}
    assert answer.readings[0][0].upos == "NOUN"


def test_no_such_word(tagger):
    with pytest.raises(SettingsError, match="no word 7 among 5"):
        tagger.tag_decided(WORDS, {7: {"upos": "X"}})
