"""Files as documents of a project, and one layer of a project as a file.

1. The format is told, or taken from the file's name (:func:`kind_of`): raw text, CoNLL-U, Penn
   Treebank brackets, columns.
2. Raw text is cut into sentences and words by a scheme of rules, or by a segmenter or a pipeline
   that was learned; for a project of segmentation it is left as it is, paragraph by paragraph.
3. A CoNLL-U file becomes a document for each ``# newdoc``, or one.  Columns, comments, multiword
   tokens and empty nodes are kept, and come out again as they went in.
4. All files are read before the first is stored: an error names file and line, and nothing was
   imported then.  What comes out is what `Task.lines` makes of each document.
"""

from __future__ import annotations

import io
import os
import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from eigentext.base.files.opening import numbered_lines, open_binary
from eigentext.base.files.storage import is_url
from eigentext.errors import DataError, SettingsError
from eigentext.language import Doc
from eigentext.language.formats.registry import format_of
from eigentext.studio.store.accounts import Accounts
from eigentext.studio.store.problems import MissingError
from eigentext.studio.store.records import StoredDocument
from eigentext.studio.tasks import open_task, task_class, texts
from eigentext.studio.tasks.learning import task_settings
from eigentext.studio.tasks.records import AnnotatedDocument

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eigentext.base.types import Json
    from eigentext.language.formats import conllu
    from eigentext.studio.store.records import DocumentFacts, Layer, Project
    from eigentext.studio.store.store import AnnotationStore
    from eigentext.studio.tasks.task import Task

KINDS = ("text", "conllu", "ptb", "columns")
_COMPRESSED = (".gz", ".xz", ".zst", ".bz2")
MOST_BYTES = 100_000_000  # of a file, unpacked: all of it is held in memory
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def kind_of(path: str) -> str:
    """What a file's name says of it.

    >>> kind_of("en.conllu.gz"), kind_of("wsj.mrg"), kind_of("letter.txt")
    ('conllu', 'ptb', 'text')
    """
    return format_of(path, KINDS)


def import_files(
    store: AnnotationStore,
    project: int,
    paths: Sequence[str],
    *,
    kind: str | None = None,
    scheme: str = "generic",
    segmenter: object = None,
) -> list[DocumentFacts]:
    """Store files as documents of a project, all of them or none."""
    target = store.project(project)
    read: list[StoredDocument] = []
    for path in paths:
        read += read_documents(
            path, kind=kind, scheme=scheme, segmenter=segmenter, task=target.task
        )
    return store.add_documents(project, read)


def read_documents(
    path: str,
    *,
    kind: str | None = None,
    scheme: str = "generic",
    segmenter: object = None,
    task: str = "tags",
    name: str | None = None,
) -> list[StoredDocument]:
    """The documents of a file; ``segmenter`` may be a pipeline that has one."""
    chosen = kind or kind_of(path)
    if chosen not in KINDS:
        raise SettingsError(f"unknown kind of file {chosen!r}; known: {', '.join(KINDS)}")
    _check_size(path)
    title = name or PurePath(_bare(path)).stem or "text"
    about: Json = {"format": chosen, "file": os.path.basename(path)}
    read: Iterable[Doc]
    if chosen == "conllu":
        read = _of_conllu(path, title)
    elif chosen == "ptb":
        read = [_of_trees(path, title)]
    elif chosen == "columns":
        read = [_of_columns(path, title)]
    else:
        cut = scheme if segmenter is None else _segmenter_of(segmenter)
        doc, about["scheme"] = task_class(task).of_text(title, _raw(path), cut)
        read = [doc]
    documents = [StoredDocument.of(doc, about) for doc in read]
    if not any(document.sentences for document in documents):
        raise DataError(path, None, "found no sentences; expected some to annotate")
    return documents


def _bare(path: str) -> str:
    """The name of a file without the suffix of its packing."""
    name = PurePath(path)
    return name.stem if name.suffix in _COMPRESSED else name.name


def _check_size(path: str) -> None:
    """Refuse a file that is larger than can be held, before any of it is kept."""
    if path == "-" or not (is_url(path) or os.path.isfile(path)):
        return  # it can be read once
    with open_binary(path) as stream:
        left = MOST_BYTES
        while left >= 0 and (block := stream.read(1 << 20)):
            left -= len(block)
    if left < 0:
        why = f"more than {MOST_BYTES:,} bytes, the most of a file that is imported: cut it"
        raise DataError(path, None, why)


def _raw(path: str) -> str:
    text = io.StringIO()
    for number, line in numbered_lines(path):
        _check(path, number, line)
        text.write(f"{line}\n")
    return text.getvalue()


def _check(path: str, number: int, text: str) -> None:
    bad = _UNSTORABLE.search(text)
    if bad:
        why = f"the character U+{ord(bad[0]):04X} cannot be stored"
        raise DataError(path, number, why)


def _segmenter_of(model: object) -> Any:
    segmenter = getattr(model, "segmenter_", model)
    if not hasattr(segmenter, "segment"):
        raise SettingsError("this pipeline has no segmenter: raw text needs one, or a scheme")
    return segmenter


def _of_conllu(path: str, title: str) -> Iterator[Doc]:
    from eigentext.language.formats.conllu import read_sentences

    parts: list[tuple[str, list[conllu.ConlluBlock]]] = []
    names: set[str] = set()
    for sentence in read_sentences(path):
        _check(path, sentence.first_line, sentence.verbatim)
        begins, identifier = _newdoc(sentence)
        if begins or not parts:
            parts.append((_new_name(identifier or title, names), []))
        parts[-1][1].append(sentence)
    for name, sentences in parts:
        yield Doc.from_conllu(sentences, doc_id=name)


def _newdoc(sentence: conllu.ConlluBlock) -> tuple[bool, str]:
    """Does a document begin here, and what is it called?"""
    for comment in sentence.comments:
        key, _, value = comment[1:].partition("=")
        if key.split()[:1] == ["newdoc"]:
            return True, " ".join(value.split())[:150]
    return False, ""


def _new_name(title: str, names: set[str]) -> str:
    name, number = title, 1
    while name in names:
        number += 1
        name = f"{title}-{number}"
    names.add(name)
    return name


def _of_trees(path: str, title: str) -> Doc:
    from eigentext.language.formats.ptb import read_numbered_trees
    from eigentext.language.trees.clean import clean

    trees = []
    for number, tree in read_numbered_trees(path):
        _check(path, number, str(tree))
        kept = clean(tree)  # traces are no words
        if kept is not None:
            trees.append(kept)
    return texts.document_of_trees(title, trees)


def _of_columns(path: str, title: str) -> Doc:
    from eigentext.language.formats.columns import read_columns

    rows = []
    for sentence in read_columns(path):
        _check(path, sentence.line, sentence.verbatim)
        rows.append(sentence)
    tokens = [sentence.tokens for sentence in rows]
    return texts.document_of_columns(title, tokens, [row.tags for row in rows])


def task_of(project: Project) -> Task:
    """The task of a project, without a model: what is exported is what was decided."""
    return open_task(project.task, **task_settings(project.settings))


def annotated(
    store: AnnotationStore,
    layer: Layer,
    format: str | None,  # noqa: A002
) -> AnnotatedDocument:
    """A layer as it is exported."""
    opened = store.open_layer(layer)
    document = store.document(layer.document)
    history: list[Json] = []
    if format == "decisions" and layer.id:
        for decision in store.history(layer.id):
            row = decision._asdict()
            people = {name: opened.people.get(row[name]) for name in ("user", "undone_by")}
            history.append({**row, **people, "layer": layer.kind})
    annotator = "" if layer.user is None else opened.people[layer.user]
    return AnnotatedDocument(document.doc, opened.values, annotator, tuple(history))


def export_lines(
    store: AnnotationStore,
    project: int,
    *,
    layer: str = "adjudication",
    format: str | None = None,  # noqa: A002
    documents: Sequence[int] | None = None,
    unfinished: bool = False,
) -> Iterator[str]:
    """Lines, without line ends, of a layer: ``adjudication``, or the name of an annotator.

    Sentences that are not done are left out unless ``unfinished``.
    """
    exported = store.project(project)
    task = task_of(exported)
    task.check_format(format)
    user = None if layer == "adjudication" else Accounts(store).user_named(layer).id
    kind = "adjudication" if user is None else "annotator"
    numbers = [facts.id for facts in store.documents(project)]
    for number in documents or ():
        if number not in numbers:
            raise MissingError(f"there is no document {number} in the project {exported.name!r}")

    def lines() -> Iterator[str]:
        for number in documents or numbers:
            of_user = store.layer_to_see(number, kind=kind, user=user)
            yield from task.lines(
                annotated(store, of_user, format), format=format, unfinished=unfinished
            )

    return lines()
