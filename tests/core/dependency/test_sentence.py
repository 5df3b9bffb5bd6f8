"""One record of a sentence: what it refuses, and that every question may be asked with it."""

from __future__ import annotations

import numpy as np
import pytest

from eigentext.dependency import DependencyParser, GenerativeParser
from eigentext.dependency.sentence import TaggedSentence
from eigentext.errors import SettingsError
from eigentext.language.formats.conllu import make_sentence

WORDS, UPOS = ["the", "dog", "barks"], ["DET", "NOUN", "VERB"]
TREES = [
    make_sentence(WORDS, upos=UPOS, head=[2, 3, 0], deprel=["det", "nsubj", "root"]),
    make_sentence(["see", "dogs"], upos=["VERB", "NOUN"], head=[0, 1], deprel=["root", "obj"]),
] * 3


def test_all_ways_to_name_a_sentence_give_the_same_answers():
    parser = DependencyParser(epochs=2, bits=14).fit(TREES)
    generative = GenerativeParser(n_states=1, min_count=1).fit(TREES)
    tagged = TaggedSentence.of(WORDS, upos=UPOS)
    assert tagged == TaggedSentence.from_conllu(TREES[0])
    assert parser.parse(tagged) == parser.parse(WORDS, upos=UPOS)
    assert parser.kbest(tagged, k=4) == parser.kbest(WORDS, k=4, upos=UPOS)
    assert np.array_equal(parser.marginals(tagged), parser.marginals(WORDS, upos=UPOS))
    assert np.array_equal(parser.scores(tagged)[0], parser.scores(WORDS, upos=UPOS)[0])
    assert generative.parse(tagged).score == generative.parse(WORDS, upos=UPOS).score
    assert generative.marginals(tagged)[1] == generative.marginals(WORDS, upos=UPOS)[1]
    logs = generative.log_probs(tagged, [[2, 3, 0]])
    assert logs == generative.log_probs(WORDS, [[2, 3, 0]], upos=UPOS)


def test_columns_that_say_nothing_are_underscores():
    tagged = TaggedSentence.of(WORDS, xpos=["DT", "", "VB"])
    assert tagged.upos == tagged.feats == tagged.lemmas == ("_", "_", "_")
    assert tagged.xpos == tagged.coarse == tagged.fine == ("DT", "_", "VB")
    assert TaggedSentence.of(WORDS, upos=UPOS, xpos=["a", "b", "c"]).coarse == tuple(UPOS)
    assert tagged.part(1, 3) == TaggedSentence.of(WORDS[1:], xpos=["", "VB"])
    assert TaggedSentence.of(tagged) is tagged


@pytest.mark.parametrize(
    ("sentence", "tags", "error", "why"),
    [
        ("the dog", {}, SettingsError, "list of tokens"),
        ([], {}, SettingsError, "no tokens"),
        (["a", ""], {}, SettingsError, "token 2 of a sentence is empty"),
        (WORDS, {"upos": "DNV"}, TypeError, "one str per token"),
        (WORDS, {"feats": ["_"]}, ValueError, "found 1 feats for 3 tokens"),
        (WORDS, {"tags": UPOS}, TypeError, "unexpected keyword argument 'tags'"),
        (TaggedSentence.of(WORDS), {"upos": UPOS}, TypeError, "has its tags"),
    ],
)
def test_what_is_no_sentence_is_refused(sentence, tags, error, why):
    with pytest.raises(error, match=why):
        TaggedSentence.of(sentence, **tags)


def test_lemmas_come_from_the_file():
    tree = make_sentence(WORDS, lemma=["the", "dog", "bark"], upos=UPOS)
    assert TaggedSentence.from_conllu(tree).lemmas == ("the", "dog", "bark")
    given = TaggedSentence.of(WORDS, upos=UPOS, lemmas=["the", "dog", "bark"])
    assert given == TaggedSentence.from_conllu(tree)
