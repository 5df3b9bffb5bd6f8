"""Measures of a project from plain rows: known answers, rules, and what they say in words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.errors import SettingsError
from eigentext.evaluate.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha
from eigentext.studio.measures.effort import Effort, arm, comparison, effort_record, efforts
from eigentext.studio.measures.measures import DRAWS, measure, table
from eigentext.studio.tasks import open_task
from eigentext.studio.tasks.records import newest


class Project(NamedTuple):
    name: str
    task: str


class Text(NamedTuple):
    id: int
    name: str
    sentences: list[dict[str, Any]]


class Layer(NamedTuple):
    id: int
    document: int
    kind: str
    user: int | None


class Decided(NamedTuple):
    layer: int
    sentence: int
    item: str
    value: Any
    rank: int | None = 1
    ranked: bool = True
    seconds: float | None = 2.0
    keys: int | None = 1
    undone: str | None = None
    redo_of: int | None = None
    version: int | None = None


_VERSIONS = count(1)


@pytest.fixture(autouse=True, scope="module")
def few_draws() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(DRAWS, "n_samples", 100)
        yield


def Row(*fields: Any, **more: Any) -> Decided:
    """A row with a version of its own, as if it was decided alone, unless told."""
    return Decided(*fields, **{"version": next(_VERSIONS), **more})


def text(*lengths: int, number: int = 1) -> Text:
    sentences = [{"tokens": [{"text": f"w{k}"} for k in range(n)]} for n in lengths]
    return Text(number, f"text {number}", sentences)


def annotators(*numbers: int, document: int = 1) -> list[Layer]:
    return [Layer(k, document, "annotator", k) for k in numbers]


def figures(measures: list[dict[str, Any]]) -> dict[str, float | None]:
    return {one["measure"]: one["value"] for one in measures}


def measured(task: str, documents, layers, rows, **more: Any) -> dict[str, Any]:
    found = measure(Project("p", task), documents, layers, rows, **more)
    json.dumps(found, allow_nan=False)  # ready for a page
    assert all(len(row) == 3 for row in table(found))
    return found


# ---------------------------------------------------------------- what a layer says


def test_the_newest_value_that_was_not_undone_holds() -> None:
    rows = [
        Row(1, 0, "t0", {"upos": "NOUN"}),
        Row(1, 0, "t0", {"upos": "VERB"}, undone="later"),
        Row(1, 0, "t1", {"upos": "ADJ"}),
        Row(1, 0, "t1", None),
    ]
    assert {place: row.value for place, row in newest(rows).items()} == {
        (0, "t0"): {"upos": "NOUN"}
    }


def test_a_finished_sentence_says_all_of_its_items() -> None:
    """What was decided before the tree was accepted is in the tree, or no longer holds."""
    state = {
        (0, "a1"): {"head": 3, "deprel": "obj"},
        (0, "done"): {"analysis": {"head": [2, 0], "deprel": ["nsubj", "root"]}},
        (1, "a1"): {"head": 0},
    }
    assert open_task("dependency").compared(state) == {
        (0, "a1"): (2, "nsubj"),
        (0, "a2"): (0, "root"),
        (1, "a1"): (0, None),
    }
    found = open_task("dependency").answers(text(2, 2).sentences, state)
    assert found.arcs == {(0,): [(2, "nsubj"), (0, "root")], (1,): [(0, "_"), None]}


@pytest.mark.parametrize(
    ("task", "analysis", "expected"),
    [
        (
            "lexical",
            {"words": [{"form": "w", "label": {"pos": "N"}, "gloss": "x"}, {"form": "v"}]},
            {"w0": '{"label": {"pos": "N"}}', "w1": '{"none": true}'},
        ),
        (
            "tags",
            {"upos": ["NOUN", "VERB"], "lemma": ["dog", "_"]},
            {"t0": '{"lemma": "dog", "upos": "NOUN"}', "t1": '{"upos": "VERB"}'},
        ),
        (
            "entities",
            {"entities": [{"start": 0, "end": 2, "type": "PER"}]},
            {"e0-2": '{"type": "PER"}'},
        ),
        (
            "constituency",
            {"brackets": "(TOP (S (NP (NN w0)) (VP (VB w1))))"},
            {
                "s0-2": '{"labels": ["S"]}',
                "s0-1": '{"labels": ["NP"]}',
                "s1-2": '{"labels": ["VP"]}',
                "t0": '{"tag": "NN"}',
                "t1": '{"tag": "VB"}',
            },
        ),
        (
            "segmentation",
            {"sentences": [{"tokens": [{"start": 0, "end": 2}, {"start": 3, "end": 5}]}]},
            {"b3": '{"cut": "word"}'},
        ),
    ],
)
def test_items_of_accepted_sentences(task: str, analysis: Any, expected: dict) -> None:
    found = open_task(task).compared({(0, "done"): {"analysis": analysis}})
    assert found == {(0, item): value for item, value in expected.items()}


def test_what_was_decided_before_and_is_not_accepted_does_not_hold() -> None:
    state = {(0, "e0-2"): {"type": "PER"}, (0, "done"): {"analysis": {"entities": []}}}
    assert open_task("entities").compared(state) == {}


def test_notes_and_one_label_chains_do_not_tell_values_apart() -> None:
    one = open_task("constituency").compared({(0, "s0-2"): {"label": "NP", "note": "?"}})
    other = open_task("constituency").compared({(0, "s0-2"): {"labels": ["NP"]}})
    assert one == other


# ---------------------------------------------------------------- agreement


def test_agreement_of_three_is_that_of_the_plain_lists() -> None:
    said = {1: "NNVVN", 2: "NNVNN", 3: "NVVV."}
    rows = [
        Row(layer, k // 3, f"t{k % 3}", {"upos": value})
        for layer, values in said.items()
        for k, value in enumerate(values)
        if value != "."
    ]
    names = {1: "A", 2: "B", 3: "C"}
    found = measured("tags", [text(3, 2)], annotators(1, 2, 3), rows, users=names)
    ratings = [
        [None if v == "." else v for v in item] for item in zip(*said.values(), strict=True)
    ]
    whole = [item for item in ratings if None not in item]
    overall = figures(found["agreement"]["all"])
    assert overall["upos: Krippendorff's alpha"] == round(krippendorff_alpha(ratings).value, 4)
    assert overall["upos: Fleiss' kappa"] == round(fleiss_kappa(whole).value, 4)
    pairs = {tuple(p["annotators"]): figures(p["measures"]) for p in found["agreement"]["pairs"]}
    assert list(pairs) == [("A", "B"), ("A", "C"), ("B", "C")]
    kappa = cohen_kappa(list(said[1]), list(said[2])).value
    assert pairs["A", "B"] == {"upos: agreement": 80.0, "upos: Cohen's kappa": round(kappa, 4)}
    assert found["annotators"] == ["A", "B", "C"]
    assert any("Krippendorff" in line for line in found["in_words"])


def done(layer: int, sentence: int, **analysis: Any) -> Row:
    return Row(layer, sentence, "done", {"analysis": analysis})


def test_trees_of_dependencies() -> None:
    """Sentence 0: one of two relations differs; sentence 1: the second has decided one word."""
    rows = [
        done(1, 0, head=[2, 0], deprel=["nsubj", "root"]),
        done(2, 0, head=[2, 0], deprel=["obj", "root"]),
        done(1, 1, head=[0, 1, 1], deprel=["root", "obj", "punct"]),
        Row(2, 1, "a2", {"head": 3, "deprel": "obj"}),
    ]
    found = measured("dependency", [text(2, 3)], annotators(1, 2), rows)
    (pair,) = found["agreement"]["pairs"]
    figure = figures(pair["measures"])
    assert figure["UAS"] == pytest.approx(200 / 3, abs=1e-3)
    assert figure["LAS"] == pytest.approx(100 / 3, abs=1e-3)
    assert figure["relation: agreement"] == pytest.approx(200 / 3, abs=1e-3)
    assert pair["annotators"] == ["user 1", "user 2"]


def test_spans_count_in_sentences_that_both_finished() -> None:
    person = {"start": 0, "end": 2, "type": "PER"}
    place = {"start": 3, "end": 4, "type": "LOC"}
    rows = [
        done(1, 0, entities=[person, place]),
        done(2, 0, entities=[person]),
        done(1, 1, entities=[person]),
        Row(2, 1, "e0-2", {"type": "PER"}),  # not finished: nobody knows what is yet to come
        done(1, 2, entities=[]),
        done(2, 2, entities=[]),
    ]
    found = measured("entities", [text(4, 4, 4)], annotators(1, 2), rows)
    (one,) = found["agreement"]["all"]
    assert (one["measure"], one["sentences"]) == ("entities: span F1", 2)
    assert one["value"] == pytest.approx(200 / 3, abs=1e-3)


def test_brackets_and_segments() -> None:
    rows = [
        done(1, 0, brackets="(S (NP (NN w0)) (VP (VB w1)))"),
        done(2, 0, brackets="(S (NP (NN w0)) (NP (NN w1)))"),
    ]
    found = measured("constituency", [text(2)], annotators(1, 2), rows)
    overall = figures(found["agreement"]["all"])
    assert overall["bracket F1"] == pytest.approx(200 / 3, abs=1e-3)
    pair = figures(found["agreement"]["pairs"][0]["measures"])
    assert pair["tag: agreement"] == 50.0

    first = [{"tokens": [{"start": 0, "end": 2}]}, {"tokens": [{"start": 3, "end": 5}]}]
    second = [{"tokens": [{"start": 0, "end": 2}, {"start": 3, "end": 5}]}]
    rows = [done(1, 0, sentences=first), done(2, 0, sentences=second)]
    found = measured("segmentation", [text(2)], annotators(1, 2), rows)
    overall = figures(found["agreement"]["all"])
    assert (overall["tokens: span F1"], overall["sentences: span F1"]) == (100.0, 0.0)


def test_documents_by_themselves() -> None:
    """In one text they agree, in the other they do not."""
    layers = annotators(1, 2) + [Layer(k + 2, 2, "annotator", k) for k in (1, 2)]
    rows = [
        Row(layer, 0, f"t{k}", {"upos": value})
        for layer, values in {1: "NV", 2: "NV", 3: "NV", 4: "VN"}.items()
        for k, value in enumerate(values)
    ]
    found = measured("tags", [text(2), text(2, number=2)], layers, rows)
    by_text = {d["document"]: figures(d["measures"]) for d in found["agreement"]["documents"]}
    assert by_text["text 1"]["upos: Krippendorff's alpha"] == 1.0
    assert by_text["text 2"]["upos: Krippendorff's alpha"] < 0


def test_nothing_to_compare_is_said() -> None:
    found = measured("tags", [text(2)], [], [])
    assert found["agreement"] == {"all": [], "pairs": [], "documents": []}
    assert found["in_words"] == [
        "Agreement needs two annotators of the same sentences.",
        "Nothing was adjudicated yet, so proposals cannot be judged.",
    ]
    assert table(found) == []
    rows = [Row(1, 0, "t0", {"upos": "N"}), Row(2, 0, "t1", {"upos": "N"})]
    found = measured("tags", [text(2)], annotators(1, 2), rows)
    assert "No two annotators have decided the same items yet." in found["in_words"]
    rows = [Row(1, 0, "t0", {"upos": "N"}), Row(2, 0, "t0", {"upos": "N"})]
    found = measured("tags", [text(2)], annotators(1, 2), rows)
    assert any("not defined" in line for line in found["in_words"])
    with pytest.raises(SettingsError, match="no task"):
        measured("poetry", [], [], [])


def test_rows_of_other_texts_and_sentences_are_not_looked_at() -> None:
    rows = [Row(1, 5, "t0", {"upos": "N"}), Row(9, 0, "t0", {"upos": "N"})]
    found = measured("tags", [text(2)], [*annotators(1), Layer(9, 77, "annotator", 9)], rows)
    assert found["annotators"] == ["user 1"]
    assert found["effort"][0]["sentences"] == 0


# ---------------------------------------------------------------- proposals


def test_a1_and_a2_against_what_was_adjudicated() -> None:
    """By hand: first; second; not listed; the adjudicator's own third; taken over, so first."""

    def label(name: str) -> dict[str, Any]:
        return {"label": {"lemma": name}}

    rows = [
        Row(1, 0, "w0", label("a"), rank=1),
        Row(1, 0, "w1", label("b"), rank=2),
        Row(1, 0, "w2", label("own"), rank=None),
        Row(1, 0, "w3", label("wrong"), rank=1),
        done(1, 1, words=[{"form": "w0", "label": {"lemma": "e"}}]),
        Row(9, 0, "w0", label("a"), rank=4),  # the annotator's list counts, seen first
        Row(9, 0, "w1", label("b"), rank=1),
        Row(9, 0, "w2", label("own"), rank=None),
        Row(9, 0, "w3", label("d"), rank=3),
        done(9, 1, words=[{"form": "w0", "label": {"lemma": "e"}}]),
    ]
    layers = [*annotators(1), Layer(9, 1, "adjudication", None)]
    found = measured("lexical", [text(4, 1)], layers, rows)["proposals"]
    assert (found["items"], found["sentences"]) == (5, 2)
    assert (found["a1"]["value"], found["a2"]["value"]) == (40.0, 60.0)


def test_a_tree_that_only_the_adjudicator_has_was_not_proposed() -> None:
    """The annotator took over what was proposed, and one of two heads was wrong."""
    rows = [
        done(1, 0, head=[2, 0], deprel=["nsubj", "root"]),
        done(9, 0, head=[0, 1], deprel=["root", "obj"]),
        done(1, 1, head=[0], deprel=["root"]),
        done(9, 1, head=[0], deprel=["root"]),
    ]
    layers = [*annotators(1), Layer(9, 1, "adjudication", None)]
    found = measured("dependency", [text(2, 1)], layers, rows)["proposals"]
    assert (found["items"], found["a1"]["value"]) == (3, pytest.approx(100 / 3, abs=1e-3))


# ---------------------------------------------------------------- seconds and keys


def test_seconds_and_keys_by_hand() -> None:
    rows = [
        Row(1, 0, "t0", {"upos": "N"}, seconds=3.0, keys=2, undone="later"),  # it took time too
        Row(1, 0, "t0", {"upos": "V"}, seconds=1.0, keys=1),
        Row(1, 0, "t1", {"upos": "V"}, seconds=900.0, keys=1),  # a coffee
        Row(1, 0, "t1", {"upos": "V"}, seconds=900.0, keys=1, redo_of=3),  # cost nothing again
        Row(1, 1, "done", {"analysis": {"upos": ["N"] * 4}}, seconds=8.0, keys=1),
        Row(1, 2, "t0", {"upos": "N"}, seconds=None, keys=None),
    ]
    found = efforts(open_task("tags"), text(2, 4, 3).sentences, rows)
    assert found.n_cut == 1
    assert [one[:3] for one in found.sentences] == [(2, 64.0, 4), (4, 8.0, 1), (1, None, None)]
    record = effort_record(found)
    assert record["seconds_a_word"]["value"] == (32.0 + 2.0) / 2
    assert record["keys_a_word"]["value"] == (2.0 + 0.25) / 2
    assert (record["sentences"], record["words"], record["pauses_cut_off"]) == (3, 7, 1)


def test_a_redo_holds_and_costs_nothing() -> None:
    accepted = {"analysis": {"head": [0, 1], "deprel": ["root", "obj"]}}
    rows = [
        Row(1, 0, "done", accepted, seconds=4.0, undone="later", version=1),
        Row(1, 0, "done", accepted, seconds=4.0, redo_of=1, version=3),
    ]
    (found,) = efforts(open_task("dependency"), text(2).sentences, rows).sentences
    assert found[:3] == (2, 4.0, 1)


def test_what_was_decided_together_took_its_time_once() -> None:
    """Three tags by one key in four seconds, told with each or with one of them."""
    for told in ((4.0, 4.0, 4.0), (None, 4.0, None)):
        rows = [
            Row(1, 0, f"t{k}", {"upos": "N"}, seconds=one, keys=one and 1, version=7)
            for k, one in enumerate(told)
        ]
        rows.append(Row(1, 0, "t0", {"upos": "V"}, seconds=1.0, keys=2, version=8))
        (found,) = efforts(open_task("tags"), text(3).sentences, rows).sentences
        assert found[:3] == (3, 5.0, 3)


def test_trees_count_when_they_are_finished() -> None:
    rows = [Row(1, 0, "a1", {"head": 0}), done(1, 1, head=[0, 1], deprel=["root", "obj"])]
    found = efforts(open_task("dependency"), text(2, 2).sentences, rows)
    assert [one.words for one in found.sentences] == [2]


# ---------------------------------------------------------------- ranked against unranked


def test_arms_are_halves_that_know_nothing_of_each_other() -> None:
    dealt = np.array(
        [[arm("p", who, 3, s) == "ranked" for s in range(2000)] for who in ("A", "B")], float
    )
    assert abs(dealt.mean() - 0.5) < 0.05
    assert abs(np.corrcoef(dealt)[0, 1]) < 0.1
    assert arm("p", "A", 3, 0) == arm("p", "A", 3, 0)
    assert {arm(p, "A", 3, 0) for p in range(20)} == {"ranked", "unranked"}
    assert {arm("p", "A", d, 0) for d in range(20)} == {"ranked", "unranked"}


def test_arms_stay_as_they_are() -> None:
    """A project that runs must not be dealt anew by a new release."""
    dealt = "".join(arm(1, 2, 3, sentence)[0] for sentence in range(6))
    assert dealt == "ruuurr"


def sentences(n: int, seconds: float, keys: int, name: Any) -> list[Effort]:
    return [Effort(4, seconds * 4 + (k % 3 - 1), keys * 4, name) for k in range(n)]


def test_a_gain_is_found_and_told() -> None:
    found = comparison(sentences(30, 2.0, 1, "ranked") + sentences(30, 3.0, 1, "unranked"))
    assert found is not None
    assert found["seconds"]["gain"]["value"] == pytest.approx(1.0, abs=1e-9)
    assert 0.8 < found["seconds"]["gain"]["low"] < 1.0 < found["seconds"]["gain"]["high"] < 1.2
    assert found["keys"]["gain"] == {"value": 0.0, "low": 0.0, "high": 0.0}
    seconds, keys = found["in_words"]
    assert seconds.startswith("A word takes 2.00 seconds ranked and 3.00 unranked: ranking saves")
    assert "no difference can be told yet" in keys
    worse = comparison(sentences(30, 3.0, 1, "ranked") + sentences(30, 2.0, 1, "unranked"))
    assert "ranking costs 1.00 seconds a word" in worse["in_words"][0]


def test_too_few_sentences_are_said_and_mixed_ones_left_out() -> None:
    few = sentences(9, 2.0, 1, "ranked") + sentences(30, 3.0, 1, "unranked")
    found = comparison([*few, Effort(4, 1.0, 1, None)])
    assert found["seconds"] is None
    assert found["mixed"] == 1
    assert "Too few sentences" in found["in_words"][0]
    assert comparison(sentences(30, 2.0, 1, "ranked")) is None


def test_a_project_with_a_comparison() -> None:
    """Every sentence of twelve words by two annotators; unranked takes a second more a word."""
    lengths = [12] * 60
    rows = []
    for layer in (1, 2):
        for sentence in range(60):
            shown = arm("p", layer, 1, sentence)
            cost = 12 * (2.0 if shown == "ranked" else 3.0)
            value = {"analysis": {"upos": ["N", "V"] * 6}}
            rows.append(Row(layer, sentence, "done", value, None, shown == "ranked", cost, 12))
    found = measured("tags", [text(*lengths)], annotators(1, 2), rows)
    assert found["comparison"]["seconds"]["gain"]["value"] == pytest.approx(1.0, abs=1e-9)
    assert sum(found["comparison"]["sentences"].values()) == 120
    assert [one["annotator"] for one in found["comparison_by_annotator"]] == ["user 1", "user 2"]
    assert any("ranking saves 1.00 seconds" in line for line in found["in_words"])
    assert ("A/B gain", "seconds a word", "1.000 (1.000 to 1.000)") in table(found)
    assert any(row[:2] == ("user 1", "seconds a word") for row in table(found))


@given(
    st.lists(
        st.tuples(
            st.integers(1, 2),
            st.integers(0, 2),
            st.sampled_from(["t0", "t1", "done"]),
            st.sampled_from(["N", "V", None]),
            st.booleans(),
            st.one_of(st.none(), st.floats(0, 1e6)),
        ),
        max_size=25,
    )
)
@settings(max_examples=40, deadline=None)
def test_any_rows_have_a_record(drawn: list[tuple]) -> None:
    rows = []
    for layer, sentence, item, tag, flag, seconds in drawn:
        value: Any = None if tag is None else {"upos": tag}
        if item == "done" and tag is not None:
            value = {"analysis": {"upos": [tag, tag]}} if flag else {}
        undone = "later" if flag else None
        rows.append(Row(layer, sentence, item, value, 1, flag, seconds, 1, undone))
    layers = [*annotators(1), Layer(2, 1, "adjudication", None), *annotators(3)]
    measured("tags", [text(2, 2, 2)], layers, rows)
