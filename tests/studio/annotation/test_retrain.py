"""The next model: made of decisions, judged on sentences neither has seen, kept if no worse."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eigentext.errors import DataError
from eigentext.language import Doc
from eigentext.studio.tasks import open_task
from eigentext.studio.tasks.learning import name_of, retrain
from eigentext.studio.tasks.records import DONE
from eigentext.studio.tasks.texts import column_of
from eigentext.tagging.morphology import MorphTagger
from helpers.sample_pipeline import treebank


def text_and_gold(n, name="d"):
    document = Doc.from_conllu(treebank()[:n], doc_id=name)
    columns = ("upos", "xpos", "feats", "lemma")
    gold = {
        (number, DONE): {"analysis": {c: column_of(s, c) or ["_"] * len(s) for c in columns}}
        for number, s in enumerate(document.sentences)
    }
    return document, gold


def test_every_task_makes_a_model_of_its_own_decisions(case):
    """From nothing, by folds; the task then works with it."""
    documents = [replace(case.document, id=f"{case.document.id}{copy}") for copy in range(3)]
    states = [
        {
            (n, DONE): {"analysis": case.task.check(d, n, DONE, {"analysis": g})["analysis"]}
            for n, g in enumerate(case.gold)
        }
        for d in documents
    ]
    result = retrain(case.bare, documents, states, folds=2)
    assert result.kept
    assert result.old is None
    assert 0.0 <= result.new.figure <= 100.0
    assert result.n_examples == 3 * len(case.gold)
    settings = {"scheme": "arabic14"} if case.task.name == "lexical" else {}
    task = open_task(case.task.name, result.model, **settings)
    proposal = task.propose(case.document, {}, 0)
    assert proposal.source == "model"
    assert result.as_record()["figure"] == result.new.name


def test_a_better_model_is_kept(tmp_path):
    document, gold = text_and_gold(60)
    old = MorphTagger(bits=12, epochs=2).fit(treebank()[:3])
    out = tmp_path / "next.model"
    result = retrain(open_task("tags", old), [document], [gold])
    assert result.kept
    assert result.comparison.difference > 0
    assert result.new.figure > result.old.figure
    assert "better" in result.why
    result.model.save(out)
    again = open_task("tags", out)
    assert again.propose(document, {}, 0).source == "model"


def test_a_worse_model_is_not_kept():
    document, gold = text_and_gold(60)
    good = MorphTagger(bits=14).fit(treebank())  # it has seen all of them: hard to beat
    # annotators who know nothing
    wrong = {
        key: {"analysis": {**value["analysis"], "upos": value["analysis"]["upos"][::-1]}}
        for key, value in gold.items()
    }
    mixed = {**wrong, **{(n, DONE): gold[n, DONE] for n in range(0, 60, 2)}}
    result = retrain(open_task("tags", good), [document], [mixed])
    assert not result.kept
    assert "the old model stays" in result.why


def test_sentences_that_the_old_model_learned_from_do_not_judge_it():
    document, gold = text_and_gold(40)
    task = open_task("tags")
    first = retrain(task, [document], [{k: v for k, v in gold.items() if k[0] < 20}], folds=2)
    assert first.n_held_out == 20
    after = open_task("tags", first.model)
    second = retrain(after, [document], [gold], learned_from=first.learned_from, folds=2)
    assert second.n_held_out == 20
    assert second.n_examples == 40
    assert set(first.learned_from) < set(second.learned_from)
    with pytest.raises(DataError, match="nothing to judge by"):
        retrain(after, [document], [gold], learned_from=second.learned_from)


def test_the_base_treebank_is_learned_from_too(tmp_path):
    document, gold = text_and_gold(12, "own")
    base = tmp_path / "base.conllu"
    base.write_text("".join(s.verbatim.rstrip("\n") + "\n\n" for s in treebank()[60:200]))
    task = open_task("tags")
    alone = retrain(task, [document], [gold], folds=2)
    both = retrain(task, [document], [gold], folds=2, base_treebank=str(base))
    assert both.new.figure > alone.new.figure


def test_too_few_sentences():
    document, gold = text_and_gold(3)
    with pytest.raises(DataError, match="3 finished sentences, expected at least 5"):
        retrain(open_task("tags"), [document], [gold])


def test_the_same_whatever_the_order_of_documents():
    one, first = text_and_gold(12, "one")
    other = Doc.from_conllu(treebank()[12:24], doc_id="other")
    second = {
        (n, DONE): {"analysis": {"upos": column_of(s, "upos")}}
        for n, s in enumerate(other.sentences)
    }
    task = open_task("tags")
    there = retrain(task, [one, other], [first, second], folds=3)
    back = retrain(task, [other, one], [second, first], folds=3)
    assert there.n_held_out == back.n_held_out
    assert there.learned_from == back.learned_from


def test_names_of_sentences():
    document = Doc.from_tokens([["a"]], doc_id="d")
    (finished,) = open_task("tags").finished(document, {(0, DONE): {"analysis": {"upos": ["X"]}}})
    assert name_of(finished) == "d/0"


@pytest.mark.parametrize("folds", [2, 3])
def test_how_far_it_is_is_told(folds):
    document, gold = text_and_gold(12)
    told = []

    def progress(*at):
        told.append(at)

    retrain(open_task("tags"), [document], [gold], folds=folds, progress=progress)
    steps = [done for done, _, _ in told]
    assert steps == sorted(steps)
    assert {total for _, total, _ in told} == {folds + 1}
    assert set(steps) == set(range(folds + 2))
    assert told[0] == (0, folds + 1, f"judging 1 of {folds}")
    assert told[-1] == (folds + 1, folds + 1, "done")
    # what the training itself tells goes with the step
    assert any(stage.startswith("the new model: ") for *_, stage in told)
