"""A store of each kind, and small models and texts of each task, made once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from eigentext.constituency import LPCFG
from eigentext.datasets import load_english
from eigentext.language import Columns, Doc
from eigentext.language.trees.constituent import Tree
from eigentext.lexical import LexDocument as Words
from eigentext.lexical import LexicalRanker, LexWord
from eigentext.lexical.schemes.labels import load_scheme
from eigentext.studio.store.store import AnnotationStore
from eigentext.studio.tasks import open_task
from eigentext.studio.tasks.task import Task
from eigentext.studio.tasks.texts import (
    COLUMN_OF,
    column_of,
    document_of_columns,
    document_of_trees,
    paragraphs,
    spans_of_tags,
)
from eigentext.tagging.segmentation import Segmenter
from eigentext.tagging.segmentation.raw import lay_out
from eigentext.tagging.sequence import SequenceTagger
from helpers.postgres import Server
from helpers.sample_pipeline import pipeline, treebank

NAMES = ["Ada", "Charles", "London", "Paris", "Grace", "Rome"]


class Case(NamedTuple):
    """A task with a model, one without, a text, and the gold analysis of each sentence."""

    task: Task
    bare: Task
    document: Doc
    gold: list[dict[str, Any]]


def _trees() -> Case:
    train = [Tree.from_brackets(line) for line in load_english("train")]
    dev = [Tree.from_brackets(line) for line in load_english("dev")][:12]
    model = LPCFG(n_states=2).fit(train)
    gold = [{"brackets": str(tree)} for tree in dev]
    document = document_of_trees("trees", dev)
    bare = Doc.from_tokens([sentence.forms for sentence in document.sentences], doc_id="trees")
    return Case(
        open_task("constituency", model), open_task("constituency", wrapper="TOP"), bare, gold
    )


def _treebank(name: str, columns: tuple[str, ...]) -> Case:
    dev = treebank("treebank-dev")[:12]
    whole = Doc.from_conllu(dev, doc_id="dev")
    gold: list[dict[str, Any]] = []
    sentences = []
    for sentence in whole.sentences:
        n = len(sentence)
        gold.append({column: column_of(sentence, column) or ["_"] * n for column in columns})
        if "head" in columns:
            gold[-1]["head"] = list(sentence.columns.heads)
        empty = {COLUMN_OF[column].name: None for column in columns}
        left = sentence.with_columns(**empty)
        if name == "tags":
            left = replace(left, columns=Columns(left.forms, misc=left.columns.misc))
        sentences.append(left)
    document = replace(whole, sentences=tuple(sentences))
    return Case(open_task(name, pipeline()), open_task(name), document, gold)


def _entities() -> Case:
    text, tags = [], []
    for number in range(24):
        one, other = NAMES[number % 6], NAMES[(number + 1 + number // 6) % 6]
        text.append(["Then", one, "met", other, "Smith", "in", "town"])
        tags.append(["O", "B-PER", "O", "B-PER", "I-PER", "O", "O"])
    model = SequenceTagger(epochs=3, entity_margin=0.0, beam=1).fit(text, tags)
    new = [
        ["Yesterday", "Ada", "Smith", "met", "Grace", "."],
        ["In", "London", "it", "rained", "on", "Smith", "and", "Jones"],
        ["Nobody", "met", "nobody"],
    ]
    golden = [
        ["O", "B-PER", "I-PER", "O", "B-PER", "O"],
        ["O", "B-LOC", "O", "O", "O", "B-PER", "O", "B-PER"],
        ["O", "O", "O"],
    ]
    gold = [{"entities": spans_of_tags(row), "tags": row} for row in golden]
    document = document_of_columns("names", new)
    return Case(open_task("entities", model), open_task("entities"), document, gold)


def _segmentation() -> Case:
    layout = lay_out(treebank("treebank-dev")[:30])
    document = paragraphs("raw", layout.text)
    ends, gold = set(layout.ends), []
    for unit in document.sentences:
        first, last = unit.tokens[0].start, unit.tokens[0].end
        sentences: list[list[Any]] = [[]]
        pairs = zip(layout.spans, layout.words, strict=True)
        for number, ((start, end), words) in enumerate(pairs, start=1):
            if first <= start and end <= last:
                sentences[-1].append({"start": start, "end": end, "words": list(words)})
                if number in ends:
                    sentences.append([])
        gold.append({"sentences": [{"tokens": tokens} for tokens in sentences if tokens]})
    model = Segmenter(epochs=1, bits=10).fit(treebank()[:8])  # one that makes mistakes
    return Case(open_task("segmentation", model), open_task("segmentation"), document, gold)


def _lexical() -> Case:
    scheme = load_scheme("arabic14")

    def word(form: str, pos: str) -> LexWord:
        return LexWord(form, scheme.from_mapping({"lemma": form, "pos": pos, "det": "0"}))

    text = [
        Words(f"d{i}", [[word("من", "P"), word("علم", "N")], [word("علم", "V"), word("من", "P")]])
        for i in range(4)
    ]
    model = LexicalRanker(analyzer="sample", scheme=scheme, bits=0).fit(text)
    document = document_of_columns("words", [["من", "علم"], ["علم", "من", "كتب"]])
    rows = [[("من", "P"), ("علم", "V")], [("علم", "N"), ("من", "N"), ("كتب", "V")]]
    gold = [
        {
            "words": [
                {"form": form, "label": scheme.as_mapping(word(form, pos).label)}
                for form, pos in row
            ]
        }
        for row in rows
    ]
    bare = open_task("lexical", scheme="arabic14", analyzer="sample")
    return Case(open_task("lexical", model), bare, document, gold)


_MAKE = {
    "constituency": _trees,
    "dependency": lambda: _treebank("dependency", ("head", "deprel")),
    "entities": _entities,
    "lexical": _lexical,
    "segmentation": _segmentation,
    "tags": lambda: _treebank("tags", ("upos", "xpos", "feats", "lemma")),
}
_made: dict[str, Case] = {}


@pytest.fixture(params=sorted(_MAKE))
def case(request) -> Case:
    return case_of(request.param)


def case_of(name: str) -> Case:
    if name not in _made:
        _made[name] = _MAKE[name]()
    return _made[name]


@pytest.fixture(scope="session")
def cases():
    return case_of


BOTH = ["sqlite", pytest.param("postgres", marks=pytest.mark.requires("postgres"))]


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    made = Server()
    try:
        yield made.start()
    finally:
        made.remove()


@pytest.fixture(params=BOTH)
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Makes places for new stores: paths, or URLs of empty databases."""
    if request.param == "postgres":
        return request.getfixturevalue("server").new_database
    numbers = iter(range(1, 1000))
    return lambda: str(tmp_path / f"store{next(numbers)}.db")


@pytest.fixture
def place(new_place: Callable[[], str]) -> str:
    return new_place()


@pytest.fixture
def store(place: str) -> Iterator[AnnotationStore]:
    opened = AnnotationStore(place)
    yield opened
    opened.close()
