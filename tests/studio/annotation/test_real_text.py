"""Simulated annotators on real treebanks: every task gets to gold."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from eigentext.constituency import LPCFG
from eigentext.dependency import DependencyParser
from eigentext.language import Doc
from eigentext.language.formats.conllu import read_sentences
from eigentext.language.formats.ptb import read_trees
from eigentext.lexical import LexicalRanker
from eigentext.lexical.documents import read_words_jsonl
from eigentext.studio.tasks import open_task
from eigentext.studio.tasks.learning import retrain
from eigentext.studio.tasks.records import DONE
from eigentext.studio.tasks.texts import (
    column_of,
    document_of_columns,
    document_of_trees,
    paragraphs,
    spans_of_tags,
)
from eigentext.tagging.morphology import MorphTagger
from eigentext.tagging.segmentation import Segmenter
from eigentext.tagging.segmentation.raw import lay_out
from eigentext.tagging.sequence import SequenceTagger
from eigentext.tagging.sequence.reading import read_tagged
from helpers.annotators import correct

pytestmark = pytest.mark.requires("data")


def data(*parts: str) -> Path:
    return Path(os.environ["EIGENTEXT_DATA"], *parts)


def conllu(name, part, n):
    return list(itertools.islice(read_sentences(data("dependency", name, f"{part}.conllu")), n))


def summed(task, document, golds):
    results = [correct(task, document, n, gold) for n, gold in enumerate(golds)]
    return sum(one.wrong for one in results), sum(one.corrections for one in results)


@pytest.fixture(scope="module")
def ewt():
    return conllu("ewt", "train", 400), Doc.from_conllu(conllu("ewt", "dev", 15), doc_id="ewt")


def test_dependency_on_ewt(ewt):
    train, document = ewt
    task = open_task("dependency", DependencyParser(epochs=2, order=1, bits=18).fit(train))
    golds = [
        {"head": list(s.columns.heads), "deprel": list(s.columns.deprels)}
        for s in document.sentences
    ]
    wrong, corrections = summed(task, document, golds)
    assert 0 < corrections < wrong


def test_tags_on_ewt(ewt):
    train, document = ewt
    task = open_task("tags", MorphTagger(bits=16).fit(train))
    golds = [
        {c: column_of(s, c) or ["_"] * len(s) for c in ("upos", "xpos", "feats", "lemma")}
        for s in document.sentences
    ]
    wrong, corrections = summed(task, document, golds)
    assert 0 < corrections <= wrong


@pytest.mark.parametrize("name", ["ewt", "fr-sequoia"])
def test_segmentation_of_raw_text(name):
    layout = lay_out(conllu(name, "dev", 30))
    document = paragraphs(name, layout.text)
    ends, golds = set(layout.ends), []
    tokens = list(zip(layout.spans, layout.words, strict=True))
    for unit in document.sentences:
        first, last = unit.tokens[0].start, unit.tokens[0].end
        sentences = [[]]
        for number, ((start, end), words) in enumerate(tokens, start=1):
            if first <= start and end <= last:
                sentences[-1].append({"start": start, "end": end, "words": list(words)})
                if number in ends:
                    sentences.append([])
        golds.append({"sentences": [{"tokens": one} for one in sentences if one]})
    task = open_task("segmentation", Segmenter(epochs=2, bits=16).fit(conllu(name, "train", 300)))
    wrong, corrections = summed(task, document, golds)
    assert 0 < corrections <= wrong


def test_constituents_of_gum():
    path = data("constituency", "gum")
    train = list(itertools.islice(read_trees(path / "train.mrg"), 400))
    dev = [t for t in itertools.islice(read_trees(path / "dev.mrg"), 40) if len(t.words) < 20]
    task = open_task("constituency", LPCFG(n_states=2).fit(train))
    golds = [{"brackets": str(tree)} for tree in dev]
    document = document_of_trees("gum", dev)
    followed_wrong = followed = 0
    for number, gold in enumerate(golds):
        result = correct(task, document, number, gold)
        if task.propose(document, result.decisions, number).followed:
            followed_wrong += result.wrong
            followed += result.corrections
    # where the grammar can follow, parsing anew under decisions saves others
    assert 0 < followed < followed_wrong


def test_entities_of_wnut():
    tokens, tags, _ = read_tagged([str(data("ner", "wnut17", "train.bio"))], repair=True)
    model = SequenceTagger(epochs=3, entity_margin=0.0, beam=1).fit(tokens[:800], tags[:800])
    tokens, tags, _ = read_tagged([str(data("ner", "wnut17", "dev.bio"))], repair=True)
    document = document_of_columns("wnut", tokens[:40])
    golds = [{"entities": spans_of_tags(row), "tags": list(row)} for row in tags[:40]]
    wrong, corrections = summed(open_task("entities", model), document, golds)
    assert 0 < corrections <= wrong


def test_readings_of_padt():
    documents = read_words_jsonl(data("lexical", "ar-padt", "words.jsonl"))
    ranker = LexicalRanker(analyzer="sample", passes=2, bits=0, epochs=2).fit(documents[:12])
    task = open_task("lexical", ranker)
    sentences = documents[20].sentences[:4]
    document = document_of_columns("padt", [[word.form for word in one] for one in sentences])
    golds = [
        {
            "words": [
                {"form": w.form, "label": w.label and task.scheme.as_mapping(w.label)} for w in one
            ]
        }
        for one in sentences
    ]
    wrong, corrections = summed(task, document, golds)
    # a ranker of so little text gains nothing from neighbours, but must not be led astray
    assert 0 < corrections <= 1.1 * wrong


def test_a_parser_learns_from_annotators(ewt):
    """Finished sentences make the next parser better; the old one is judged alongside."""
    train, _ = ewt
    document = Doc.from_conllu(train[:150], doc_id="own")
    state = {
        (n, DONE): {"analysis": {"head": list(s.columns.heads), "deprel": list(s.columns.deprels)}}
        for n, s in enumerate(document.sentences)
    }
    settings = {"epochs": 2, "order": 1, "bits": 18}
    old = DependencyParser(**settings).fit(conllu("ewt", "train", 440)[420:])
    result = retrain(open_task("dependency", old), [document], [state], folds=3)
    assert result.kept
    assert result.comparison.low > 0
    assert result.n_held_out == 150
