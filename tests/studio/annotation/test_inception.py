"""INCEpTION's external recommenders, with documents as its own library makes them."""

from __future__ import annotations

import pytest

from eigentext.errors import DataError, SettingsError
from eigentext.studio.api.inception import examples, predict, task_of
from eigentext.studio.tasks import open_task

pytest.importorskip("cassis", reason="dkpro-cassis is not installed")

from helpers.cas import LEMMA, NER, POS, answered, request_of


def test_entities_are_proposed_with_scores(cases):
    task = cases("entities").task
    request = request_of([["Then", "Ada", "met", "Grace", "Smith"]], NER)
    found = answered(request, predict(request, task, "ner"))
    assert [(text, label) for text, label, *_ in found] == [("Ada", "PER"), ("Grace Smith", "PER")]
    assert all(predicted and 0.0 <= score <= 1.0 for *_, predicted, score in found)


def test_what_was_annotated_is_a_decision_and_is_not_proposed_again(cases):
    task = cases("entities").task
    words = [["Then", "Ada", "met", "Grace", "Smith"]]
    request = request_of(words, NER, [(3, 4, "LOC")])
    found = answered(request, predict(request, task, "ner"))
    assert [one[:3] for one in found] == [("Ada", "PER", True), ("Grace", "LOC", False)]


def test_tags_and_lemmas_of_every_word(cases):
    case = cases("tags")
    words = [list(case.document.sentences[0].forms), list(case.document.sentences[1].forms)]
    for recommender, layer, column in (("pos", POS, "xpos"), ("lemma", LEMMA, "lemma")):
        request = request_of(words, layer)
        found = answered(request, predict(request, case.task, recommender))
        expected = [
            tag for n in (0, 1) for tag in case.task.propose(case.document, {}, n).analysis[column]
        ]
        assert [label for _, label, *_ in found] == expected
        assert [text for text, *_ in found] == [word for row in words for word in row]


def test_emoji_and_right_to_left_keep_their_places(cases):
    task = cases("entities").task
    request = request_of([["😀😀", "then", "Ada", "met", "مريم"]], NER)
    found = answered(request, predict(request, task, "ner"))
    assert "Ada" in [text for text, *_ in found]


def test_examples_to_learn_from(cases):
    words = [["Ada", "ran"], ["Bob", "sat"]]
    request = request_of(
        words, POS, [(0, 1, "NNP"), (1, 2, "VBD"), (2, 3, "NNP")], key="documents"
    )
    found = examples(request, "pos")  # the second sentence is not annotated throughout
    assert [(one.sentence.forms, one.analysis) for one in found] == [
        (("Ada", "ran"), {"xpos": ["NNP", "VBD"]})
    ]
    request = request_of(words, NER, [(0, 1, "PER")], key="documents")
    found = examples(request, "ner")
    assert [one.analysis["tags"] for one in found] == [["B-PER", "O"], ["O", "O"]]
    model = open_task("entities").train(found * 5)
    assert open_task("entities", model).model is model


def test_bad_requests_are_told(cases):
    task = cases("entities").task
    good = request_of([["Ada"]], NER)
    for bad, why in (
        ([], "expected an object"),
        ({}, "expected an object"),
        ({**good, "metadata": {}}, "expected a text 'layer'"),
        ({**good, "typeSystem": "<x"}, "no CAS can be read"),
        ({**good, "document": {}}, "expected a text 'xmi'"),
        ({**good, "document": {"xmi": "nonsense"}}, "no CAS can be read"),
        ({**good, "document": {"xmi": "<!DOCTYPE a><a/>"}}, "declares entities"),
        ({**good, "metadata": {"layer": "x.Y", "feature": "f"}}, "has no type 'x.Y'"),
        ({**good, "metadata": {"layer": NER, "feature": "f"}}, "has no feature 'f'"),
    ):
        with pytest.raises(DataError, match=why) as error:
            predict(bad, task, "ner")
        assert "\n" not in str(error.value)
    with pytest.raises(SettingsError, match="no recommender 'x'"):
        task_of("x")
