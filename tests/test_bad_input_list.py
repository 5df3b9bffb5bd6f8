"""Bad input of every kind, what each gets, and the page in docs/ that lists them.

``EIGENTEXT_WRITE_DOCS=1`` writes the page anew; without it the test compares.
"""

from __future__ import annotations

import gzip
import lzma
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eigentext.base import modelfile
from eigentext.base.files import opening
from eigentext.base.files.writing import one_command, will_write
from eigentext.counting.counting import count
from eigentext.counting.counts import Counts
from eigentext.counting.workfolder import opened
from eigentext.datasets import write_sample
from eigentext.dependency import DependencyParser
from eigentext.errors import EigentextError
from eigentext.evaluate.attachment import evaluate
from eigentext.evaluate.tree_files import evaluate_files
from eigentext.language.formats import (
    brown_paths,
    columns,
    conllu,
    conllx,
    prm,
    ptb,
    text,
    word2vec,
)
from eigentext.language.formats.convert import convert
from eigentext.language.formats.parquet import write_columns
from eigentext.lexical.documents import read_words_jsonl
from eigentext.linalg.svd import truncated_svd
from eigentext.pipeline.drafts import draft
from eigentext.recipes.making import card_to_write
from eigentext.reports.demo import run_demo
from eigentext.sequences import BlockedHMM
from eigentext.studio.cli.serve import Service
from eigentext.studio.store.backups import restore
from eigentext.studio.store.files import MOST_BYTES, read_documents
from eigentext.studio.store.store import AnnotationStore
from eigentext.words import SpectralClusters
from helpers.record_files import parquet, warc_record, wet

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "bad-input.md"


def _all(read: Callable[[str], Iterable[object]]) -> Callable[[str], None]:
    def read_all(path: str) -> None:
        for _ in read(path):
            pass

    return read_all


def _row(*cells: str) -> bytes:
    return ("\t".join(cells) + "\n").encode()


def _conllu(*rows: bytes) -> bytes:
    return b"".join(rows) + b"\n"


_WORD = ("dog", "dog", "NOUN", "NN", "_")
_GOOD = _row("1", *_WORD, "0", "root", "_", "_")
_READ_TREES = _all(ptb.read_trees)
_READ_CONLLU = _all(conllu.read_sentences)
_READ_CONLLX = _all(conllx.read_sentences)
_READ_COLUMNS = _all(columns.read_columns)
_READ_PATHS = _all(brown_paths.read_paths)
_READ_TEXT = _all(text.read_sentences)
_EMPTY = ("_",) * 8
_GOLD = conllu.make_sentence(["dog", "cat"], head=[0, 1])


def _train_parser(path: str) -> None:
    DependencyParser().fit(conllu.read_sentences(path))


def _evaluate_trees(path: str) -> None:
    gold = "memory://bad-input-gold.mrg"
    with opening.atomic_write(gold) as out:
        out.write(b"(S (NN dog))\n")
    evaluate_files(gold, path)


def _evaluate(path: str) -> None:
    evaluate([_GOLD], conllu.read_sentences(path))


def _read_ids(path: str) -> None:
    list(text.read_sentences(path, "id"))


def _table(words: list[str], counts: list[int]) -> bytes:
    write_columns(
        "memory://words.parquet",
        [{"word": words, "count": counts}],
        strings=["word"],
        integers=["count"],
    )
    with opening.open_binary("memory://words.parquet") as stream:
        return stream.read()


def _from_tables(path: str) -> None:
    block = {"left": ["dog", "dog"], "right": ["dog", "cat"], "count": [1, 1]}
    pairs = "memory://pairs.parquet"
    write_columns(pairs, [block], strings=["left", "right"], integers=["count"])
    Counts.from_tables([path], [pairs])


def _over_itself(path: str) -> None:
    with one_command():
        will_write(path)
        list(text.read_sentences(path))


def _output_twice(path: str) -> None:
    with one_command():
        will_write(path)
        will_write(path)


def _card(path: str) -> None:
    card_to_write(Path(path).with_suffix(""))


def _demo(path: str) -> None:
    run_demo(os.path.dirname(path))


def _sample(path: str) -> None:
    write_sample(Path(path).parents[1])


def _work(path: str) -> None:
    with opened(os.path.dirname(path)):
        pass


_LONG = gzip.compress(b"some text\n" * 1000)


def _model(**changes: object) -> bytes:
    settings: dict[str, Any] = {"kind": "counts", "format_version": 1} | changes
    path = "memory://bad-input-model"
    modelfile.save(
        path,
        str(settings["kind"]),
        settings.get("arrays", {"a": np.arange(8)}),
        settings=settings.get("settings", {}),
        strings=settings.get("strings"),
        format_version=int(str(settings["format_version"])),
    )
    with opening.open_binary(path) as stream:
        return stream.read()


def _counts(*, unigrams: list[Any]) -> bytes:
    """Counts of one word, and of unknown ones."""
    settings: dict[str, Any] = {"contexts": "unigrams", "complete": True}
    settings |= {"n_tokens": 4, "n_sentences": 1, "n_skipped": 0}
    arrays = {"unigrams": np.array(unigrams)}
    return _model(arrays=arrays, strings={"words": ["dog"]}, settings=settings)


def _flipped(content: bytes) -> bytes:
    return content[:-3] + bytes([content[-3] ^ 1]) + content[-2:]


def _open_store(path: str) -> None:
    AnnotationStore(path)


def _restore(path: str) -> None:
    restore(path, f"{path}.db")


def _cluster_in_little_memory(path: str) -> None:
    SpectralClusters(2).fit(count([path], contexts="lr1"), memory="100MB")


def _learn_in_little_memory(path: str) -> None:
    BlockedHMM(4, n_groups=2).fit([list("ababa"), list("bab")] * 50, memory="100MB")


def _draft_of_tokens(path: str) -> None:
    draft(None, [Path(path).read_text().split()], "tokens")


_DUMP = b'{"kind":"eigentext annotations","version":"0001"}\n'

# name of the file, what is wrong with it, its content, what reads it
CASES: list[tuple[str, str, bytes, Callable[[str], object]]] = [
    ("missing.txt", "a file that is not there", b"", _READ_TEXT),
    ("text.txt", "a byte that is not UTF-8", b"fine\nbad \xff byte\n", _READ_TEXT),
    ("text.txt.gz", "a gzip archive cut short", _LONG[: len(_LONG) // 2], _READ_TEXT),
    ("text.txt.gz", "a gzip archive that is none", b"not an archive\n", _READ_TEXT),
    ("text.txt.xz", "an xz archive cut short", lzma.compress(b"text\n" * 999)[:-20], _READ_TEXT),
    ("text.txt.xz", "an xz archive that is none", b"not an archive\n", _READ_TEXT),
    ("text.txt.zst", "a zstd archive that is none", b"not an archive\n", _READ_TEXT),
    ("text.txt.bz2", "a bzip2 archive that is none", b"not an archive\n", _READ_TEXT),
    ("trees.mrg", "a bracket that is not closed", b"(S (NP (NN dog))\n", _READ_TREES),
    ("trees.mrg", "a bracket too many", b"(S (NN dog)))\n", _READ_TREES),
    ("trees.mrg", "text between trees", b"(S (NN dog))\nhello\n", _READ_TREES),
    ("trees.mrg", "an empty constituent", b"(S (NP ) (NN dog))\n", _READ_TREES),
    ("trees.mrg", "nothing in the brackets", b"()\n", _READ_TREES),
    ("trees.mrg", "a word beside constituents", b"(S dog (NN cat))\n", _READ_TREES),
    ("trees.mrg", "a tree that is not UTF-8", b"(S (NN d\xe9j\xe0))\n", _READ_TREES),
    ("trees.mrg", "a bracket that is not closed, to be scored", b"(S (NN dog)\n", _evaluate_trees),
    ("trees.mrg", "text in place of trees, to be scored", b"the dog\n", _evaluate_trees),
    ("trees.mrg", "trees of other sentences, to be scored", b"(S (NN cat))\n", _evaluate_trees),
    ("trees.mrg", "fewer trees than the gold ones, to be scored", b"", _evaluate_trees),
    ("s.conllu", "nine columns", _conllu(_row("1", *_WORD, "0", "root", "_")), _READ_CONLLU),
    (
        "s.conllu",
        "a head out of range",
        _conllu(_row("1", *_WORD, "7", "obj", "_", "_")),
        _READ_CONLLU,
    ),
    (
        "s.conllu",
        "a head that is no number",
        _conllu(_row("1", *_WORD, "x", "obj", "_", "_")),
        _READ_CONLLU,
    ),
    (
        "s.conllu",
        "a word that is its own head",
        _conllu(_row("1", *_WORD, "1", "obj", "_", "_")),
        _READ_CONLLU,
    ),
    (
        "s.conllu",
        "a cycle of heads",
        _conllu(
            _GOOD, _row("2", *_WORD, "3", "a", "_", "_"), _row("3", *_WORD, "2", "b", "_", "_")
        ),
        _READ_CONLLU,
    ),
    (
        "s.conllu",
        "heads for some words only",
        _conllu(_GOOD, _row("2", *_WORD, "_", "_", "_", "_")),
        _READ_CONLLU,
    ),
    (
        "s.conllu",
        "an id that is skipped",
        _conllu(_GOOD, _row("3", *_WORD, "1", "obj", "_", "_")),
        _READ_CONLLU,
    ),
    (
        "s.conllu",
        "an id that is no number",
        _conllu(_row("one", *_WORD, "0", "root", "_", "_")),
        _READ_CONLLU,
    ),
    (
        "s.conllu",
        "a word without a form",
        _conllu(_row("1", "", "dog", "NOUN", "NN", "_", "0", "root", "_", "_")),
        _READ_CONLLU,
    ),
    (
        "s.conllu",
        "a range beyond the sentence",
        _conllu(_row("1-4", "dogs", *"________"), _GOOD),
        _READ_CONLLU,
    ),
    ("s.conllu", "comments without words", b"# sent_id = 1\n\n", _READ_CONLLU),
    (
        "s.conllu",
        "a range that overlaps another",
        _conllu(
            _row("1-2", "ab", *_EMPTY),
            _row("1", *_WORD, "0", "root", "_", "_"),
            _row("2-3", "bc", *_EMPTY),
            _row("2", *_WORD, "1", "x", "_", "_"),
            _row("3", *_WORD, "1", "x", "_", "_"),
        ),
        _READ_CONLLU,
    ),
    (
        "s.conllu",
        "an empty node out of order",
        _conllu(_GOOD, _row("1.2", "ghost", *_EMPTY)),
        _READ_CONLLU,
    ),
    (
        "s.conllu",
        "two roots, for a parser to learn from",
        _conllu(_GOOD, _row("2", *_WORD, "0", "root", "_", "_")),
        _train_parser,
    ),
    (
        "s.conllu",
        "no heads, for a parser to learn from",
        _conllu(_row("1", *_WORD, "_", "_", "_", "_")),
        _train_parser,
    ),
    (
        "s.conllu",
        "no heads, to be scored",
        _conllu(_row("1", *_WORD, "_", "_", "_", "_")),
        _evaluate,
    ),
    (
        "s.conllu",
        "another text than that of the gold trees",
        _conllu(_GOOD, b"\n", _GOOD),
        _evaluate,
    ),
    ("s.conllx", "nine columns", _conllu(_row("1", *_WORD, "0", "root", "_")), _READ_CONLLX),
    ("s.conllx", "a comment, which only CoNLL-U has", b"# hello\n" + _GOOD + b"\n", _READ_CONLLX),
    (
        "s.conllx",
        "a range, which only CoNLL-U has",
        _conllu(_row("1-2", "dogs", *"________"), _GOOD),
        _READ_CONLLX,
    ),
    ("tags.bio", "rows of different width", b"dog\tO\ncat\tN\tO\n\n", _READ_COLUMNS),
    (
        "tags.bio",
        "a tag of no BIO kind",
        b"dog\tX-PER\n\n",
        _all(lambda path: columns.read_columns(path, scheme="bio2")),
    ),
    ("brown.paths", "bits other than 0 and 1", b"0120\tdog\t3\n", _READ_PATHS),
    ("brown.paths", "a count that is no number", b"0110\tdog\tmany\n", _READ_PATHS),
    ("brown.paths", "one column", b"0110\n", _READ_PATHS),
    ("vectors.txt", "neither header nor vector", b"dog 0.1 x\n", word2vec.load_vectors),
    ("vectors.txt", "a vector that is too short", b"1 3\ndog 0.1 0.2\n", word2vec.load_vectors),
    ("vectors.txt", "a number that is none", b"1 2\ndog 0.1 abc\n", word2vec.load_vectors),
    ("vectors.txt", "fewer words than the header says", b"3 1\ndog 0.5\n", word2vec.load_vectors),
    (
        "vectors.bin",
        "a binary file cut short",
        b"2 2\ndog \x00\x00\x00\x3f\x00",
        lambda path: word2vec.load_vectors(path, binary=True),
    ),
    ("rules.prm", "a key that EVALB does not know", b"NONSENSE 1\n", prm.read_prm),
    ("rules.prm", "a number that is none", b"CUTOFF_LEN many\n", prm.read_prm),
    ("m.eig", "not a model file", b"hello\n", modelfile.load),
    ("m.eig", "a text, for a parser", b"A text.\n", DependencyParser.load),
    ("m.eig", "a model file cut short", _model()[:-9], modelfile.load),
    ("m.eig", "a model file with one bit flipped", _flipped(_model()), modelfile.load),
    ("m.eig", "a model of another kind", _model(kind="lpcfg"), Counts.load),
    ("m.eig", "a model of a version to come", _model(format_version=99), Counts.load),
    ("m.eig", "a model file with a setting missing", _model(), Counts.load),
    ("m.eig", "a model file with wild numbers", _counts(unigrams=[3, -7]), Counts.load),
    ("m.eig", "a model file whose arrays do not fit", _counts(unigrams=[3, 1, 1]), Counts.load),
    ("m.eig", "a model file with floats for integers", _counts(unigrams=[3.0, 1]), Counts.load),
    ("team.db", "a store of annotations that is none", b"my notes, " * 200, _open_store),
    ("team.jsonl", "a dump of annotations cut short", _DUMP, _restore),
    ("team.jsonl", "a dump of annotations that is none", b"{}\n", _restore),
    ("team.jsonl", "a dump with a row of no table", _DUMP + b'{"table":"x"}\n', _restore),
    ("team.jsonl", "a dump nested without an end", _DUMP + b"[" * 100_000, _restore),
    (
        "team.jsonl",
        "a dump with a value of another type",
        _DUMP + b'{"table":"assignments","row":{"document":"one","user":1}}\n',
        _restore,
    ),
    (
        "text.txt.gz",
        "more text than is imported",
        gzip.compress(b"\n" * (MOST_BYTES + 1), 1),
        read_documents,
    ),
    (
        "m.eig.gz",
        "a packed model that goes on and on",
        gzip.compress(_model() + bytes(9_000_000)),
        modelfile.load,
    ),
    (
        "models",
        "INCEpTION's models, for others to replace",
        b"",
        lambda path: Service(host="0.0.0.0").with_accounts(path),
    ),
    (
        "text.txt.xz",
        "a line without an end",
        lzma.compress(b"x" * (opening.LONGEST_LINE + 1)),
        _all(text.read_sentences),
    ),
    (
        "text.txt",
        "trees, for text",
        b"(S (NP (NN rain)) (VP (VBZ falls)))\n",
        _all(text.read_sentences),
    ),
    ("text.txt", "a model file, for text", _model(), _all(text.read_sentences)),
    ("brown.paths", "a model file, for paths", _model(), _all(brown_paths.read_paths)),
    ("tags.bio", "a model file, for columns", _model(), _all(columns.read_columns)),
    ("vectors.txt", "a model file, for vectors", _model(), _all(word2vec.read_vectors)),
    ("text.jsonl", "a line that is no JSON", b'{"text": "It rains."}\nIt rains.\n', _READ_TEXT),
    ("text.jsonl", "a field that is not there", b'{"id": 1, "body": "It rains."}\n', _READ_TEXT),
    ("text.jsonl", "a field that is no string", b'{"text": 7}\n', _READ_TEXT),
    ("text.jsonl", "half a character", b'{"text": "\\ud83d"}\n', _READ_TEXT),
    ("text.parquet", "a Parquet file that is none", b"It rains.\n", _READ_TEXT),
    ("text.parquet", "a Parquet file cut short", parquet(["It rains."])[:-9], _READ_TEXT),
    ("text.parquet", "a column that is not there", parquet(["a"], field="body"), _READ_TEXT),
    ("text.parquet", "a column of numbers", parquet(["a"], field="n"), _read_ids),
    ("text.parquet", "a row without text", parquet(["It rains.", None]), _READ_TEXT),
    ("text.wet", "a WET file that is none", b"It rains.\n", _READ_TEXT),
    ("text.wet", "a WET file cut short", wet(["It rains."])[:-9], _READ_TEXT),
    ("page.warc", "a page as it was sent", warc_record("response", b"<html>"), _READ_TEXT),
    ("words.parquet", "a word twice in a table", _table(["dog", "dog"], [1, 2]), _from_tables),
    ("words.parquet", "a count below 0 in a table", _table(["dog"], [-1]), _from_tables),
    ("words.parquet", "pairs without their words", _table(["dog"], [1]), _from_tables),
    ("text.txt", "JSON Lines, for text", b'{"text": "It rains."}\n', _all(text.read_sentences)),
    (
        "corpus.txt",
        "a word without an end",
        b"a\nb " + b"x" * (1 << 21),
        lambda path: count([path]),
    ),
    ("words.jsonl", "JSON nested without an end", b"[" * 100_000, read_words_jsonl),
    ("text.txt", "an output that is an input", b"It rains.\n", _over_itself),
    ("text.txt", "two outputs in one file", b"It rains.\n", _output_twice),
    ("m.pipe.md", "notes where the card of a model would be", b"# My notes\n", _card),
    ("sample/dev.mrg", "another file where one of the sample would be", b"(S (NN a))\n", _sample),
    ("out.work/notes.txt", "a folder of the user's where work would wait", b"mine", _work),
    ("report/index.html", "a folder of the user's for the demo", b"<html>", _demo),
    ("corpus.txt", "a corpus without words", b"\n\n  \n", lambda path: count([path])),
    ("corpus.txt", "contexts that are none", b"a b\n", lambda path: count([path], contexts="xy")),
    ("corpus.txt", "memory that is no size", b"a b\n", lambda path: count([path], memory="lots")),
    ("corpus.txt", "less memory than clustering needs", b"a b\n", _cluster_in_little_memory),
    ("corpus.txt", "less memory than EM needs", b"a b\n", _learn_in_little_memory),
    ("tokens.txt", "a token of control characters alone", b"a \x00\x1b\n", _draft_of_tokens),
    (
        "file.xyz",
        "a format that the name does not tell",
        b"a\n",
        lambda path: convert(path, "memory://out.txt"),
    ),
    (
        "file.txt",
        "tokens, which hold no constituents",
        b"a\n",
        lambda path: convert(path, "memory://out.mrg"),
    ),
    (
        "matrix",
        "a rank above that of the matrix",
        b"",
        lambda _path: truncated_svd(np.ones((4, 4)), 3, symbol="Omega"),
    ),
]


def _message(tmp_path: Path, case: tuple[str, str, bytes, Callable[[str], object]]) -> str:
    name, _, content, read = case
    path = tmp_path / name
    if name not in ("missing.txt", "matrix"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    with pytest.raises(EigentextError) as caught:
        read(str(path))
    error = caught.value
    message = str(error).replace(f"{tmp_path}{os.sep}", "")
    message = re.sub(r"sha256 [0-9a-f]+|expected [0-9a-f]{12}", "sha256 ", message)
    assert "\n" not in message
    return f"`{type(error).__name__}`: {message}"


def test_the_page_lists_what_each_kind_of_bad_input_gets(tmp_path):
    lines = [
        "# Bad input, and what it gets",
        "",
        "Each of these is an error of one line, with file and line where there are any; on the",
        "command line it ends with exit code 2 and leaves nothing half-written. A test makes this",
        "page and checks it.",
        "",
        "| file | what is wrong | what one gets |",
        "|---|---|---|",
    ]
    for case in CASES:
        message = _message(tmp_path, case).replace("|", "\\|")
        lines.append(f"| {case[0]} | {case[1]} | {message} |")
    page = "\n".join(lines) + "\n"
    if os.environ.get("EIGENTEXT_WRITE_DOCS"):
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page


def test_there_are_enough_kinds():
    assert len({case[1] + case[0] for case in CASES}) == len(CASES) >= 40
