"""Labelled documents from files of any kind that we know, by their names.

``.conllu`` is a treebank, ``.jsonl`` words with labels; the sample's own sentences name the right
analysis of the sample lexicon by its id.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from eigentext.base.files.opening import numbered_lines, raise_or_tell
from eigentext.errors import DataError, shortened
from eigentext.language.formats.registry import format_of
from eigentext.lexical.documents import Document, Word, read_conllu_documents, read_words_jsonl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from eigentext.lexical.schemes.labels import LabelScheme


def read_documents(
    sources: Iterable[str],
    scheme: LabelScheme,
    *,
    documents: str = "auto",
    on_error: Callable[[DataError], None] | None = None,
) -> list[Document]:
    """All documents of the files; those of one id in several files are told apart by a number."""
    gathered: list[Document] = []
    taken: dict[str, int] = {}
    for source in sources:
        for document in _of_file(source, scheme, documents, on_error):
            times = taken[document.id] = taken.get(document.id, 0) + 1
            name = document.id if times == 1 else f"{document.id} ({times})"
            gathered.append(Document(name, document.sentences))
    return gathered


def _of_file(
    source: str, scheme: LabelScheme, documents: str, on_error: Callable[[DataError], None] | None
) -> list[Document]:
    file_format = format_of(source, ("conllu", "jsonl"), "")
    if file_format == "conllu":
        return read_conllu_documents(source, scheme, documents=documents, on_error=on_error)
    if file_format == "jsonl":
        if _is_sample(source):
            return _sample_documents(source, scheme, on_error)
        return read_words_jsonl(source, scheme, on_error=on_error)
    raise DataError(source, None, "expected labelled words in a .jsonl or .conllu file")


def _is_sample(source: str) -> bool:
    """By the first line that can be read; whoever reads the rest tells of the others."""
    for _, text in numbered_lines(source, on_error=lambda _: None):
        return '"analysis"' in text and '"label"' not in text
    return False


def _sample_documents(
    source: str, scheme: LabelScheme, on_error: Callable[[DataError], None] | None
) -> list[Document]:
    """Each sentence of the sample is a document of its own."""
    from eigentext.datasets import analyse
    from eigentext.lexical.analyzers.sample import SampleAnalyzer

    readings = SampleAnalyzer()
    documents = []
    for number, text in numbered_lines(source, on_error=on_error):
        try:
            record = json.loads(text)
            words = []
            for item in record["words"]:
                label = None
                ids = [entry["id"] for entry in analyse(item["form"])]
                if item["analysis"] in ids:
                    reading = readings.analyse(item["form"])[ids.index(item["analysis"])]
                    label = scheme.project(reading)[0]
                punctuation = not any(letter.isalnum() for letter in item["form"])
                words.append(Word(item["form"], label, label is not None and not punctuation))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            why = f"expected words with analyses: {shortened(repr(error), 200)}"
            raise_or_tell(DataError(source, number, why), on_error)
            continue
        documents.append(Document(str(record.get("id", number)), [words]))
    return documents
