"""NLTK's interfaces over our models."""

from __future__ import annotations

import pytest

from eigentext.constituency import LPCFG
from eigentext.datasets import load_english
from eigentext.integrations.nltk_trees import nltk_parser, nltk_tagger, to_nltk
from eigentext.language.trees.constituent import Tree
from eigentext.tagging.sequence import SequenceTagger

nltk = pytest.importorskip("nltk", exc_type=ImportError)


def test_a_parser_of_nltk_gives_our_trees() -> None:
    from nltk.parse.api import ParserI

    model = LPCFG(n_states=1).fit([Tree.from_brackets(line) for line in load_english("train")])
    sentence = "The farmer sold the horse .".split()
    parser = nltk_parser(model)
    assert isinstance(parser, ParserI)
    assert list(parser.parse(sentence)) == [to_nltk(model.parse(sentence).tree)]
    assert parser.parse_one(sentence) == to_nltk(model.parse(sentence).tree)
    assert [len(list(trees)) for trees in parser.parse_sents([sentence, sentence])] == [1, 1]
    several = list(nltk_parser(model, kbest=3).parse(sentence))
    assert several == [to_nltk(one.tree) for one in model.parse(sentence, kbest=3).kbest]


def test_a_tagger_of_nltk_gives_our_tags() -> None:
    from nltk.tag.api import TaggerI

    model = SequenceTagger(epochs=3).fit([["a", "dog"]] * 5, [["DET", "NOUN"]] * 5)
    tagger = nltk_tagger(model)
    assert isinstance(tagger, TaggerI)
    assert tagger.tag(["a", "dog"]) == [("a", "DET"), ("dog", "NOUN")]
    assert tagger.tag_sents([["a"], []]) == [[("a", "DET")], []]
    assert tagger.accuracy([[("a", "DET"), ("dog", "NOUN")]]) == 1.0
