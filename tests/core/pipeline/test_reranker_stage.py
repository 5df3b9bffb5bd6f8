"""The reranker in a pipeline: by choice, by held-out figures, from a file; kept and resumed."""

from __future__ import annotations

import json
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from eigentext.dependency import Reranker
from eigentext.dependency.rerank import reranker as reranking
from eigentext.dependency.rerank.learners import HeldOut
from eigentext.errors import ModelFileError, SettingsError
from eigentext.pipeline import Pipeline
from eigentext.pipeline.annotate import tagged_sentence
from helpers.commands import eigentext
from helpers.sample_pipeline import SMALL, pipeline, treebank

TEXT = "Anna can't sleep. The old dog saw a cat in the kitchen.\n\nWe walked home."
CHEAP: dict[str, Any] = {"experts": ("valence", "distance"), "kbest": 4, "folds": 2}
SETTINGS = {**SMALL, "reranker_settings": CHEAP}


_WORK = tempfile.TemporaryDirectory(prefix="eigentext-work-")


@cache
def reranked() -> Pipeline:
    """Read it, and leave it as it is."""
    return Pipeline(**SETTINGS, rerank="yes").fit(treebank(), work=f"{_WORK.name}/work")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A work folder with the stages of `reranked`: what is tested here is what comes after."""
    assert reranked()
    return Path(shutil.copytree(f"{_WORK.name}/work", tmp_path / "work"))


def test_the_tree_is_the_one_that_the_reranker_chooses() -> None:
    nlp = reranked()
    assert nlp.morphology_ is not None
    assert nlp.parser_ is not None
    assert nlp.reranker_ is not None
    assert nlp.parser_.to_bytes() == pipeline().stages()["parser"].to_bytes()
    assert nlp.choices_ == {}
    moved = 0
    for sentence in nlp(list(treebank("treebank-dev")), keep="words").sentences:
        others = nlp.morphology_.tag([sentence.columns.forms])[0].others
        tagged = tagged_sentence(sentence, others)
        listed = nlp.parser_.kbest(tagged, k=CHEAP["kbest"])
        best = nlp.reranker_.choose(tagged, listed)[0].tree
        assert sentence.columns.heads == best.heads.tolist()
        if best.relations.count("root") == 1:  # else it is mended
            assert list(sentence.columns.deprels or ()) == list(best.relations)
        moved += best.heads.tolist() != listed[0].tree.heads.tolist()
    assert moved  # it is not the parser's own choice throughout


def test_listed_trees_begin_with_the_choice() -> None:
    for sentence in reranked()(TEXT, top=3, probabilities=True).sentences:
        trees = sentence.alternatives.trees
        assert list(trees[0].heads) == sentence.columns.heads
        assert list(trees[0].deprels) == list(sentence.columns.deprels)
        assert [tree.score for tree in trees] == sorted((t.score for t in trees), reverse=True)
        assert sum(tree.probability for tree in trees) == pytest.approx(1)


def test_a_text_is_parsed_alike_however_it_is_cut() -> None:
    texts = [TEXT, "No.", "Where is it? We sang."] * 3
    assert list(reranked().pipe(texts)) == [reranked()(text) for text in texts]


def test_a_sentence_that_is_too_long_has_the_parsers_tree() -> None:
    words = ["dog"] * 401
    nlp = reranked()
    found = nlp([["We", "sang"], words, ["No"]], keep="tokens").sentences
    plain = pipeline()([words], keep="tokens").sentences[0]
    assert found[1].columns.heads == plain.columns.heads
    assert [len(sentence) for sentence in found] == [2, 401, 1]


def test_it_is_in_the_file(tmp_path: Path) -> None:
    reranked().save(tmp_path / "english.pipe")
    again = Pipeline.load(tmp_path / "english.pipe")
    assert list(again.stages()) == ["segmenter", "morphology", "parser", "reranker"]
    assert again(TEXT) == reranked()(TEXT)
    assert again.to_bytes() == reranked().to_bytes()
    again.use("reranker", None)
    assert again(TEXT) == pipeline()(TEXT)
    again.use("reranker", reranked().reranker_)
    assert again(TEXT) == reranked()(TEXT)
    with pytest.raises(ModelFileError, match="needs"):
        again.use("reranker", again.parser_)


def test_one_that_is_given_is_taken(tmp_path: Path, work: Path) -> None:
    given = reranked().reranker_
    assert given is not None
    given.save(tmp_path / "my.rerank")
    models = {"reranker": tmp_path / "my.rerank"}
    taken = Pipeline(**SETTINGS).fit(treebank(), models=models, work=work)
    assert taken.stages()["reranker"].to_bytes() == given.to_bytes()
    assert taken(TEXT) == reranked()(TEXT)
    with pytest.raises(SettingsError, match="expected both"):
        Pipeline(**SETTINGS, without=("parser",)).fit(treebank(), models={"reranker": given})
    with pytest.raises(SettingsError, match="one of them"):
        Pipeline(**SETTINGS, without=("reranker",)).fit(treebank(), models={"reranker": given})


@pytest.mark.parametrize("chosen", [1501, 1500, 1499])
def test_auto_keeps_it_if_more_heads_are_right(
    chosen: int, monkeypatch: pytest.MonkeyPatch, work: Path
) -> None:
    measured = HeldOut(words=2000, first=1500, chosen=chosen)
    monkeypatch.setattr(reranking, "held_out_words", lambda *_: measured)
    made = Pipeline(**SETTINGS, rerank="auto").fit(treebank(), work=work)
    assert made.choices_ == {
        "reranker": {"kept": chosen == 1501, "las": 75.0, "reranked_las": chosen / 20}
    }
    assert ("reranker" in made.stages()) == (chosen == 1501)
    assert made(TEXT) == (reranked() if chosen == 1501 else pipeline())(TEXT)
    assert Pipeline.from_bytes(made.to_bytes()).choices_ == made.choices_


def test_auto_measures_on_sentences_that_are_held_out(work: Path) -> None:
    made = Pipeline(**SETTINGS, rerank="auto").fit(treebank(), work=work)
    found = made.choices_["reranker"]
    assert 50 < found["las"] < 100
    assert found["kept"] == (found["reranked_las"] > found["las"])
    assert found["las"] != found["reranked_las"]


def test_too_few_sentences_to_see_if_it_pays() -> None:
    made = Pipeline(**{**SMALL, "folds": 0}, rerank="auto").fit(treebank()[:2])
    assert "reranker" not in made.stages()
    assert made.choices_ == {}


def test_what_does_not_go_together() -> None:
    for without in ("parser", "reranker"):
        with pytest.raises(SettingsError, match=f"the {without} is left out"):
            Pipeline(rerank="yes", without=(without,)).check()
    Pipeline(rerank="auto", without=("reranker",)).check()
    with pytest.raises(SettingsError, match="rerank is 'perhaps'"):
        Pipeline(rerank="perhaps").check()
    with pytest.raises(SettingsError, match=r"reranker_settings\.nothing"):
        Pipeline(**SMALL, rerank="yes", reranker_settings={"nothing": 1}).fit(treebank())


@pytest.mark.long
def test_a_work_folder_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = Pipeline(**SETTINGS, rerank="yes").fit(treebank()).to_bytes()
    assert reranked().to_bytes() == expected
    work = tmp_path / "work"
    weights = Reranker.weights_from
    monkeypatch.setattr(Reranker, "weights_from", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Pipeline(**SETTINGS, rerank="yes").fit(treebank(), work=work)
    monkeypatch.setattr(Reranker, "weights_from", weights)
    monkeypatch.setattr("eigentext.dependency.rerank.lists.lists_of", lambda *_, **__: 1 / 0)
    made = Pipeline(**SETTINGS, rerank="yes").fit(treebank(), work=work)  # the lists are there
    assert made.to_bytes() == expected
    monkeypatch.setattr(Reranker, "fit", lambda *_, **__: 1 / 0)
    made = Pipeline(**SETTINGS, rerank="yes").fit(treebank(), work=work)
    assert made.to_bytes() == expected
    with pytest.raises(ZeroDivisionError):  # figures are wanted that are not there
        Pipeline(**SETTINGS, rerank="auto").fit(treebank(), work=work)


def test_the_command_takes_and_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from eigentext.language.formats.conllu import write_sentences

    write_sentences(treebank()[:60], tmp_path / "a.conllu")
    given = reranked().reranker_
    assert given is not None
    given.save(tmp_path / "my.rerank")
    line = "pipe train a.conllu -o a.pipe --folds 0 --without segmenter --quiet".split()
    assert eigentext(*line, "--reranker", "my.rerank", cwd=tmp_path).returncode == 0
    shown = eigentext("pipe", "inspect", "a.pipe", "--json", cwd=tmp_path).stdout
    assert b'"dependency-reranker"' in shown
    measured = HeldOut(words=2000, first=1500, chosen=1499)
    monkeypatch.setattr(reranking, "held_out_words", lambda *_: measured)
    done = eigentext(*line, "--rerank", "auto", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["reranker reranked_las"] == 74.95
    shown = eigentext("pipe", "inspect", "a.pipe", cwd=tmp_path).stdout
    assert b"75.00" in shown
    assert b"74.95" in shown
