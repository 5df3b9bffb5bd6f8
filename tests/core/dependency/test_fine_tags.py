"""The fine tag: which features, or xpos, say most of the relations; templates that fit."""

from __future__ import annotations

import numpy as np

from eigentext.dependency import DependencyParser
from eigentext.dependency.graph.encode import TokenEncoder, chosen_features
from eigentext.dependency.graph.templates import arc_templates, fitting
from eigentext.dependency.sentence import TaggedSentence
from eigentext.features.attributes import PARSING
from eigentext.language.formats.conllu import make_sentence

RELATIONS = ["subj", "obj", "subj", "obj"]
CASES = ["Case=Nom|Number=Sing", "Case=Acc|Number=Sing", "Case=Nom|Number=Plur", "Case=Acc"]


def chosen(*, xpos=None, feats=None, relations=RELATIONS, times=100):
    one = TaggedSentence.of(list("abcd"), upos=["N"] * 4, xpos=xpos, feats=feats)
    return chosen_features([one] * times, [relations] * times)


def test_what_says_most_of_the_relations_is_the_fine_tag():
    assert chosen(feats=CASES) == ("Case",)  # number says nothing
    assert chosen(xpos=["N1", "N2", "N1", "N2"]) is None  # xpos says all
    assert chosen(xpos=["N1", "N1", "N2", "N2"], feats=CASES) == ("Case",)  # xpos says nothing
    assert chosen(xpos=["N1", "N2", "N1", "N2"], feats=CASES) is None  # the same: xpos
    assert chosen() is None


def test_a_tag_that_is_seen_too_seldom_is_not_worth_its_price():
    number = ["Number=Sing", "Number=Sing", "Number=Plur", "Number=Plur"]
    told = ["subj", "subj", "subj", "obj"]  # one word in four is another with the plural
    assert chosen(feats=number, relations=told, times=1) is None
    assert chosen(feats=number, relations=told) == ("Number",)


def test_the_encoder_puts_features_in_the_place_of_xpos():
    texts = PARSING.texts(TokenEncoder(fine=["Case"]).word("a", "N", "X", CASES[0], "b"))
    assert (texts["upos"], texts["xpos"], texts["lemma"]) == ("N", "N|Case=Nom", "b")
    texts = PARSING.texts(TokenEncoder().word("Ab", "N", "X", CASES[0]))
    assert texts["lemma"] == "ab"  # there is none


def test_xpos_alone_stands_for_its_upos():
    """A parser that learned from both columns, given the finer one only."""
    tags = {"upos": ["DET", "NOUN", "VERB"], "xpos": ["DT", "NN", "VBZ"]}
    trees = [
        make_sentence(list(words), **tags, head=[2, 3, 0], deprel=["det", "nsubj", "root"])
        for words in ("adb", "acb", "ade", "ace")
    ]
    parser = DependencyParser(epochs=2, bits=16).fit(trees)
    assert parser.encoder_.upos_of == {"DT": "DET", "NN": "NOUN", "VBZ": "VERB"}
    again = DependencyParser.from_bytes(parser.to_bytes())
    whole, fine = parser.scores(list("xyz"), **tags), again.scores(list("xyz"), xpos=tags["xpos"])
    assert np.array_equal(whole[0], fine[0])
    other = again.scores(list("xyz"), xpos=["XX"] * 3)
    assert not np.array_equal(whole[0], other[0])


def test_templates_that_say_the_same_are_there_once():
    names = fitting(arc_templates(), fine=False, feats=False, lemmas=False)
    assert len(set(names)) == len(names)
    assert not any(part in name for name in names for part in ("xpos", "feats", "morph", "lemma"))
    assert fitting(arc_templates()) == arc_templates()


def test_case_tells_the_parser_who_does_what():
    """The word order is free: only the case says which noun is which."""
    trees = []
    for first, second in ((0, 1), (1, 0)):
        cases = ["Case=Nom", "Case=Acc"]
        trees.append(
            make_sentence(
                ["x", "see", "y"],
                upos=["NOUN", "VERB", "NOUN"],
                feats=[cases[first], "_", cases[second]],
                head=[2, 0, 2],
                deprel=[["nsubj", "obj"][first], "root", ["nsubj", "obj"][second]],
            )
        )
    parser = DependencyParser(epochs=3, bits=14).fit(trees * 60)
    assert parser.encoder_.fine == ("Case",)
    again = DependencyParser.from_bytes(parser.to_bytes())
    new = [
        TaggedSentence.of(
            ["z", "hear", "u"], upos=["NOUN", "VERB", "NOUN"], feats=["Case=Acc", "_", "Case=Nom"]
        )
    ]
    assert parser.trees(new) == again.trees(new) == ([[2, 0, 2]], [["obj", "root", "nsubj"]])
    assert np.array_equal(again.arcs_.weights, parser.arcs_.weights)
    assert again.encoder_.fine == ("Case",)
