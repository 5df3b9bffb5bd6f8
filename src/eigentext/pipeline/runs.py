"""Files of any size through a pipeline: in order, in bounded memory, by one or more processes.

Units depend on the input alone, and sentences of CoNLL-U are numbered when the units come back in
order: the bytes do not depend on the processes.  A work folder beside the output has a record of
how far it is, so that a run that was killed goes on, to the same bytes in the end.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from itertools import chain, islice
from operator import add
from typing import TYPE_CHECKING, Literal, NamedTuple

from eigentext.base.files.opening import numbered_lines
from eigentext.base.parallel import in_order
from eigentext.counting.workfolder import opened, stage, write_record
from eigentext.errors import DataError, StorageError
from eigentext.features.symbols import Share
from eigentext.language.doc import Doc
from eigentext.language.formats import conllu
from eigentext.language.formats.conll import controls_as_blanks
from eigentext.language.formats.conllu_docs import conllu_parts, numbered
from eigentext.pipeline.annotate import AnswerOptions
from eigentext.pipeline.pieces import document_pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from eigentext.base.files.opening import OnError
    from eigentext.pipeline.model import Pipeline

Input = Literal["text", "lines", "horizontal", "vertical", "conllu"]
Format = Literal["conllu", "jsonl", "docbin"]
_SENTENCES = 256  # of tokens or CoNLL-U in a unit
_DONE = "done.json"


class RunUnit(NamedTuple):
    """A share of the work: a piece of text, sentences of tokens or of CoNLL-U."""

    source: object
    doc_id: str | None
    begins: bool
    start: int = 0  # where its text begins, of tokens; a piece knows that itself
    size: int = 0  # in bytes, as far as it is known


class RunJob(NamedTuple):
    """What every process needs to know."""

    pipeline: Pipeline
    keep: str | None = None
    options: AnswerOptions = AnswerOptions()
    format: Format = "conllu"
    offsets: bool = False


class RunCounts(NamedTuple):
    """How far a run is: units, sentences and words that are done, and the words looked up."""

    units: int = 0
    sentences: int = 0
    words: int = 0
    looked_up: int = 0
    in_vocabulary: int = 0


NOTHING = RunCounts()


def units_of(
    sources: Iterable[str], input_: Input, *, field: str | None, on_error: OnError | None
) -> Iterator[RunUnit]:
    """The units of all files, in order.

    A text file is a document, and so is every record of a file of records, whose text stands in
    ``field``: its name is that of the file and the record's number, ``a.jsonl:7``.
    """
    for source in sources:
        name = None if source == "-" else os.path.basename(source)
        if input_ == "conllu":
            yield from _of_conllu(source, on_error)
        elif input_ == "vertical":
            yield from _of_columns(source, name, on_error)
        else:
            empty = True
            for number, piece in document_pieces(source, field=field, on_error=on_error):
                empty = False
                doc_id = name if number is None else f"{name or 'record'}:{number}"
                yield RunUnit(piece, doc_id, piece.start == 0, size=len(piece.text.encode()))
            if empty:
                raise DataError(source, None, "an empty file, expected text")


def _of_conllu(source: str, on_error: OnError | None) -> Iterator[RunUnit]:
    sentences = conllu.read_sentences(source, on_error=on_error)
    start = 0
    begins = True
    following = list(islice(sentences, _SENTENCES))
    while chunk := following:
        following = list(islice(sentences, _SENTENCES))
        yield RunUnit(chunk, None, begins, start, sum(len(s.verbatim.encode()) for s in chunk))
        if first := following[:1]:  # the white space between the two is as the file says
            start += len(Doc.from_conllu([*chunk, *first]).text) - len(Doc.from_conllu(first).text)
        begins = False
    if begins:
        raise DataError(source, None, "no sentences in this file, expected CoNLL-U")


def _of_columns(source: str, name: str | None, on_error: OnError | None) -> Iterator[RunUnit]:
    """One token a line, in the first of its columns; an empty line ends a sentence."""
    held: list[list[str]] = []
    tokens: list[str] = []
    start = size = 0
    begins = True
    for _, line in numbered_lines(source, on_error=on_error):
        size += len(line.encode()) + 1
        form = line.partition("\t")[0].strip()
        if form:
            if controls_as_blanks(form).strip():
                tokens.append(form)
            continue
        if tokens:
            held.append(tokens)
            tokens = []
        if len(held) == _SENTENCES:
            yield RunUnit(held, name, begins, start, size)
            start += sum(len(form) + 1 for sentence in held for form in sentence)
            begins, held, size = False, [], 0
    if tokens:
        held.append(tokens)
    if held:
        yield RunUnit(held, name, begins, start, size)
    elif begins:
        raise DataError(source, None, "no tokens in this file, expected one a line")


class _Answer(NamedTuple):
    """What comes back of a unit: text with places for numbers, or bytes; and how much it was."""

    parts: list[str]
    content: bytes
    sentences: int
    words: int
    share: Share


def annotated(
    units: Iterable[RunUnit], job: RunJob, *, jobs: int = 1, done: RunCounts = NOTHING
) -> Iterator[tuple[RunUnit, bytes, RunCounts]]:
    """Each unit with its answer as it is written, and how far the run is after it."""
    rest = islice(units, done.units, None)
    for unit, answer in in_order(_work, rest, state=job, jobs=jobs, chunk=1):
        content = answer.content
        if job.format == "conllu":
            content = numbered(answer.parts, done.sentences + 1).encode()
        more = 1, answer.sentences, answer.words, *answer.share
        done = RunCounts(*map(add, done, more))
        yield unit, content, done


def _work(job: RunJob, units: list[RunUnit]) -> list[_Answer]:
    """What a worker process does."""
    return [_answer(job, unit) for unit in units]


def _answer(job: RunJob, unit: RunUnit) -> _Answer:
    (doc,) = job.pipeline._annotated([(unit.source, unit.doc_id)], job.keep, job.options)
    if unit.start:
        doc = replace(doc, start=unit.start)
    vocabulary = job.pipeline.known_words()
    forms = chain.from_iterable(sentence.forms for sentence in doc.sentences)
    share = Share() if vocabulary is None else vocabulary.share(forms)
    counts = len(doc.sentences), doc.n_words, share
    if job.format == "conllu":
        parts = conllu_parts(
            doc, newdoc=unit.begins, offsets=job.offsets, probabilities=job.options.probabilities
        )
        return _Answer(parts, b"", *counts)
    docs = list(paragraphs_of(doc))
    if job.format == "jsonl":
        return _Answer([], "".join(f"{part.to_json()}\n" for part in docs).encode(), *counts)
    from eigentext.language.formats.spacy_docs import doc_bin

    return _Answer([], doc_bin(docs).to_bytes(), *counts)


def paragraphs_of(doc: Doc) -> Iterator[Doc]:
    r"""Each paragraph as a Doc of its own; all of them together are the text.

    >>> text = "1\tHi\t_\t_\t_\t_\t_\t_\t_\tSpacesAfter=\\n\\n\n\n"
    >>> doc = Doc.from_conllu(text + "# newpar\n" + text)
    >>> [(part.text, part.start) for part in paragraphs_of(doc)]
    [('Hi\n\n', 0), ('Hi\n\n', 4)]
    """
    sentences = doc.sentences
    if not sentences:
        return
    first = [0, *(at for at, s in enumerate(sentences) if at and s.new_paragraph)]
    begin = 0
    for at, after in zip(first, [*first[1:], len(sentences)], strict=True):
        end = sentences[after].start if after < len(sentences) else len(doc.text)
        mine = tuple(sentence.moved(-begin) for sentence in sentences[at:after])
        yield Doc(doc.text[begin:end], mine, doc.id, doc.start + begin)
        begin = end


class _Record:
    """How far the file in the work folder is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"

    def counts(self) -> tuple[RunCounts, int]:
        """What is done, and its bytes; nothing where there is none."""
        try:
            record = json.loads((self.folder / _DONE).read_text(encoding="utf-8"))
            if self.data.stat().st_size >= record["bytes"]:
                return RunCounts(*record["done"]), int(record["bytes"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return NOTHING, 0

    def write(self, done: RunCounts, size: int) -> None:
        """Tell how far it is, all or nothing."""
        write_record(self.folder, _DONE, json.dumps({"done": list(done), "bytes": size}))


def write_resumably(
    units: Iterable[RunUnit], job: RunJob, output: str, key: str, *, resume: bool, jobs: int = 1
) -> Iterator[tuple[RunUnit, RunCounts]]:
    """Annotate to a file; gives each unit when it is safe, and moves the file into its place.

    ``key`` says what the file is made of.  With ``resume``, what a run with the same key left is
    taken over; its units are given once more, but not annotated.
    """
    target = os.path.realpath(output)  # a link stays a link: what it points to is replaced
    try:
        with opened(f"{target}.work") as work:
            record = _Record(stage(work, "result", key))
            record.folder.mkdir(exist_ok=True)
            done, size = record.counts() if resume else (NOTHING, 0)
            with open(record.data, "r+b" if size else "wb") as out:
                out.truncate(size)
                out.seek(size)
                for unit, content, now in annotated(units, job, jobs=jobs, done=done):
                    out.write(content)
                    out.flush()
                    record.write(now, out.tell())
                    yield unit, now
                os.fsync(out.fileno())
            if os.path.exists(target):
                shutil.copymode(target, record.data)
            os.replace(record.data, target)
    except OSError as error:
        raise StorageError(output, None, f"cannot write: {error.strerror}") from error
