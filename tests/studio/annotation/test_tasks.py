"""What every task does: proposals under decisions, what is open, what comes out."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eigentext.errors import DataError, SettingsError
from eigentext.language import Columns, Doc, Sentence
from eigentext.studio.store.records import record_of, sentence_of
from eigentext.studio.tasks import TASKS, open_task
from eigentext.studio.tasks.records import DONE, AnnotatedDocument
from helpers.annotators import correct, remaining


@pytest.mark.parametrize("which", ["task", "bare"])
def test_an_annotator_gets_to_gold(case, which):
    task = getattr(case, which)
    wrong = corrections = 0
    for number, gold in enumerate(case.gold):
        result = correct(task, case.document, number, gold)
        wrong += result.wrong
        corrections += result.corrections
        done = {(number, DONE): task.accepted(case.document, result.decisions, number)}
        (finished,) = task.finished(case.document, done)
        assert not remaining(task, finished.analysis, gold)
    assert wrong > 0
    if task.name != "constituency":  # a small grammar may be misled
        assert corrections <= wrong, "decisions must help"


def test_gold_decided_at_once_is_gold(case):
    for number, gold in enumerate(case.gold):
        decisions = {
            (number, item): case.task.check(case.document, number, item, value)
            for item, value in case.task.items_of(gold)
        }
        analysis = case.task.apply(case.document, decisions, number)
        left = remaining(case.task, analysis, gold)
        # what gold does not have may still be proposed: it is to be taken away
        extra = {"cut": "none"}, {"type": None}, {"forbid": True}, {"words": []}
        assert all(value in extra for _, value in left)


def test_proposals_are_plain_data_and_certain_from_0_to_1(case):
    for task in (case.task, case.bare):
        for number in range(len(case.document.sentences)):
            proposal = task.propose(case.document, {}, number, k=3)
            json.dumps(proposal.analysis)
            assert 0.0 <= proposal.certainty <= 1.0
            assert proposal.task == task.name
            names = [item.item for item in proposal.items]
            assert len(set(names)) == len(names)
            for item in proposal.items:
                json.dumps(item.value)
                assert task.ITEMS.fullmatch(item.item)
                assert not item.decided
                assert 0.0 <= item.certainty <= 1.0
                if item.value is not None:  # what is proposed can be decided
                    task.check(case.document, number, item.item, item.value)
                for candidate in item.candidates:
                    json.dumps(candidate.value)
            assert all(json.dumps(tree.analysis) for tree in proposal.kbest)


def test_whole_answers_come_best_first(cases):
    for name in ("constituency", "dependency"):
        case = cases(name)
        trees = case.task.propose(case.document, {}, 1, k=4).kbest
        assert len(trees) == 4
        assert len({json.dumps(tree.analysis) for tree in trees}) == 4
        assert [t.score for t in trees] == sorted((t.score for t in trees), reverse=True)


def test_certainty_says_what_is_open(case):
    found = case.task.certainty(case.document, {})
    assert [one.sentence for one in found] == list(range(len(case.document.sentences)))
    assert not any(one.done or one.n_decided for one in found)
    done = {(0, DONE): case.task.accepted(case.document, {}, 0)}
    first = case.task.certainty(case.document, done)[0]
    assert (first.done, first.n_open, first.certainty, first.least) == (True, 0, 1.0, None)


def test_what_is_done_stays_as_accepted(case):
    task, document = case.task, case.document
    value = task.check(document, 0, DONE, {"analysis": case.gold[0], "note": "hard"})
    assert value["note"] == "hard"
    proposal = task.propose(document, {(0, DONE): value}, 0)
    assert proposal.source == "done"
    assert proposal.analysis == value["analysis"]
    assert all(item.decided for item in proposal.items)
    again = task.propose(document, {(0, DONE): None}, 0)
    assert again.source == "model"
    assert case.task.check(document, 0, DONE, None) is None


def test_candidates_are_ranked_and_searched(case):
    task, document = case.task, case.document
    for number in range(2):
        for item in task.propose(document, {}, number).items[:6]:
            found = task.candidates(document, {}, number, item.item, k=5)
            assert 0 < len(found) <= 5
            shares = [one.probability for one in found if one.probability is not None]
            assert shares == sorted(shares, reverse=True)
            for one in found:
                task.check(document, number, item.item, one.value)
            assert task.candidates(document, {}, number, item.item, search="no such thing") == []
    with pytest.raises(DataError):
        task.candidates(document, {}, 0, "nonsense")


def test_bad_items_values_and_sentences(case):
    task, document = case.task, case.document
    good = task.propose(document, {}, 0).items[0].item
    for item, value in (
        ("", {}),
        ("z1", {}),
        (f"{good[0]}999999", {"upos": "X"}),
        (good, {}),
        (good, "text"),
        (good, 3),
        (good, {"nonsense": 1}),
        (good, {"note": 3}),
        (DONE, {"analysis": 3}),
        (DONE, {"analysis": {}}),
        (DONE, {"tree": "x"}),
    ):
        with pytest.raises(DataError):
            task.check(document, 0, item, value)
    for sentence in (-1, len(document.sentences)):
        with pytest.raises(DataError, match="no sentence"):
            task.propose(document, {}, sentence)
    with pytest.raises(SettingsError):
        task.propose(document, {}, 0, k=0)
    with pytest.raises(SettingsError, match="is not exported"):
        list(task.lines(AnnotatedDocument(document, {(0, DONE): {}}), format="nonsense"))


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 40) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "head",
                    "deprel",
                    "label",
                    "labels",
                    "forbid",
                    "tag",
                    "upos",
                    "feats",
                    "lemma",
                    "type",
                    "cut",
                    "words",
                    "none",
                    "note",
                    "analysis",
                    "sentences",
                    "brackets",
                    "x",
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
_ITEMS = st.from_regex(r"(?a:[abestmwz][0-9]{1,2}(-[0-9]{1,2})?|done)", fullmatch=True)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(_ITEMS | st.text(max_size=5), _VALUES)
def test_whatever_comes_is_a_decision_or_a_data_error(case, item, value):
    try:
        kept = case.task.check(case.document, 0, item, value)
    except DataError:
        return
    assert json.loads(json.dumps(kept)) == kept
    # what was taken can be proposed under, and taken again
    assert case.task.check(case.document, 0, item, kept) == kept
    proposal = case.task.propose(case.document, {(0, item): kept}, 0)
    json.dumps(proposal.analysis)


def test_a_decision_that_was_taken_back_is_as_if_it_never_was(case):
    task, document = case.task, case.document
    item = task.propose(document, {}, 0).items[0].item
    assert task.propose(document, {(0, item): None}, 0) == task.propose(document, {}, 0)


def test_tasks_by_name(cases):
    assert [open_task(name).name for name in TASKS] == list(TASKS)
    with pytest.raises(SettingsError, match="no task 'parsing'"):
        open_task("parsing")
    with pytest.raises(SettingsError, match="cannot be annotated with a model of the kind"):
        open_task("tags", cases("lexical").task.model)


def test_a_model_from_its_file(cases, tmp_path):
    case = cases("entities")
    case.task.model.save(tmp_path / "names.tagger")
    again = open_task("entities", tmp_path / "names.tagger")
    assert again.propose(case.document, {}, 0) == case.task.propose(case.document, {}, 0)


def test_records_there_and_back(case):
    for sentence in case.document.sentences:
        record = json.loads(json.dumps(record_of(sentence)))
        assert record_of(sentence_of(record)) == record


def test_a_sentence_without_words(case):
    if case.task.name == "segmentation":
        return
    empty = Doc("", (Sentence((), Columns(())),), "empty")
    for task in (case.task, case.bare):
        proposal = task.propose(empty, {}, 0)
        assert proposal.items == ()
        assert proposal.certainty == 1.0
