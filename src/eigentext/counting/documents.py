r"""Documents: what belongs together in a text, as lists of tokens and as a matrix of counts.

1. :func:`read_documents` cuts a file: a record of JSON Lines, Parquet or WARC is a document; of a
   text file each line, each paragraph (up to an empty line), so many lines, or the whole file;
   of CoNLL-U a sentence is a line, and paragraphs and documents are those that it marks.
2. :func:`count_documents` chooses the words and counts them, (documents, words) sparse.  Stop
   words are those that stand in too many documents; nothing is known of any language.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from eigentext.base.files.opening import OnError
from eigentext.base.ragged import pointers
from eigentext.base.tokens import checked_list, checked_tokens
from eigentext.base.types import Int32s, Sparse
from eigentext.errors import DataError, SettingsError
from eigentext.language.formats.conllu import read_sentences
from eigentext.language.formats.records import documents, kind_of
from eigentext.language.formats.registry import format_of
from eigentext.language.formats.text import split_tokens, text_lines

UNITS = ("line", "paragraph", "document", "file")
_PARAGRAPHS = ("newpar", "newpar_id")
_DOCUMENTS = ("newdoc", "newdoc_id")  # Bosque has the second one


def read_documents(
    source: str,
    unit: str = "line",
    *,
    tokeniser: str | None = None,
    newlines: str = "auto",
    field: str | None = None,
    on_error: OnError | None = None,
) -> Iterator[list[str]]:
    """The documents of a file as lists of tokens; those without tokens are empty lists.

    ``unit``  of text files: ``line``, ``paragraph``, ``file``, or a number of lines such as 20;
    of CoNLL-U also ``document``, up to the next ``# newdoc``; a file without one is a DataError.
    With a ``tokeniser`` the text is raw, otherwise tokens stand between spaces.

    >>> from eigentext.base.files.opening import write_lines
    >>> _ = write_lines("memory://doc/d.txt", ["a cat sat", "it slept", "", "a dog"])
    >>> list(read_documents("memory://doc/d.txt", "paragraph"))
    [['a', 'cat', 'sat', 'it', 'slept'], ['a', 'dog']]
    >>> list(read_documents("memory://doc/d.txt", "2"))
    [['a', 'cat', 'sat', 'it', 'slept'], ['a', 'dog']]
    """
    if unit not in UNITS and not (unit.isdecimal() and int(unit) > 0):
        raise SettingsError(
            f"documents {unit!r}: expected line, paragraph, document, file, or a number"
        )
    is_conllu = format_of(source, ("conllu",), "") == "conllu"
    if tokeniser is None and field is None and is_conllu:
        yield from _of_conllu(source, unit, on_error)
        return
    if kind_of(source, field):
        texts: Iterable[str] = (
            text.replace("\r\n", "\n") for _, text in documents(source, field, on_error=on_error)
        )
    else:
        if unit == "document":
            why = (
                "documents are marked in CoNLL-U alone: expected line, paragraph, file or a number"
            )
            raise SettingsError(f"{source}: {why}")
        lines = (line for _, line in text_lines(source, field, on_error=on_error))
        texts = ("\n".join(some) for some in _cut(lines, unit))
    for text in texts:
        if tokeniser is None:
            yield [token for line in text.split("\n") for token in split_tokens(line)]
        else:
            from eigentext.counting.raw_text import tokenise_document

            sentences = tokenise_document(text, tokeniser, newlines=newlines)
            yield [token.form for tokens in sentences for token in tokens]


def _of_conllu(source: str, unit: str, on_error: OnError | None) -> Iterator[list[str]]:
    """The words of the sentences that belong together."""
    marks = {"paragraph": _PARAGRAPHS + _DOCUMENTS, "document": _DOCUMENTS}.get(unit, ())
    most = int(unit) if unit.isdecimal() else 1 if unit == "line" else 0
    some: list[str] = []
    n_sentences, marked = 0, False
    for sentence in read_sentences(source, on_error=on_error):
        begins = any(key.split()[0] in marks for key in sentence.metadata if key.strip())
        marked = marked or begins
        if n_sentences and (begins or n_sentences == most):
            yield some
            some, n_sentences = [], 0
        some.extend(sentence.forms)
        n_sentences += 1
    if n_sentences and unit == "document" and not marked:
        why = "marks no documents, expected # newdoc: take file, or a number of sentences"
        raise DataError(source, None, why)
    if n_sentences:
        yield some


def _cut(lines: Iterable[str], unit: str) -> Iterator[list[str]]:
    """Lines that belong together; empty ones are no document, but those of ``line`` are kept."""
    most = {"line": 1, "paragraph": 0, "file": 0}.get(unit) if unit in UNITS else int(unit)
    some: list[str] = []
    for line in lines:
        if line.strip() or unit == "line":
            some.append(line)
        if some and ((most and len(some) == most) or (unit == "paragraph" and not line.strip())):
            yield some
            some = []
    if some:
        yield some


@dataclass(frozen=True)
class WordChoice:
    """Which words count; a word has a letter in it: figures and punctuation marks are none."""

    vocab_size: int | None = None  # so many at most, the most frequent that the rest leaves
    min_documents: int = 1  # words of fewer documents are left out
    max_share: float = 1.0  # and words of more than this share of the documents: stop words
    fold_case: bool = True  # words that differ in case alone are one


@dataclass(frozen=True, eq=False)
class CountedDocuments:
    """``words`` by falling count, then by their bytes; ``matrix`` (n, V) csr, int64."""

    words: tuple[str, ...]
    matrix: Sparse


def count_documents(
    texts: Iterable[Sequence[str]],
    choice: WordChoice = WordChoice(),
    *,
    words: Sequence[str] | None = None,
) -> CountedDocuments:
    """Counts of words in documents; ``words`` that are given are taken as they are.

    >>> counted = count_documents([["A", "cat", "a", "."], ["a", "dog"]])
    >>> counted.words, counted.matrix.toarray().tolist()
    (('a', 'cat', 'dog'), [[2, 1, 0], [1, 0, 1]])
    """
    from scipy.sparse import csr_array

    ids: dict[str, int] = {}
    documents_ids: list[Int32s] = []
    for tokens in checked_list(texts, "documents"):
        plain = checked_tokens(tokens, "a document")
        if choice.fold_case:
            plain = [token.lower() for token in plain]
        documents_ids.append(
            np.fromiter((ids.setdefault(t, len(ids)) for t in plain), np.int32, len(plain))
        )
    if not documents_ids:
        raise DataError("documents", None, "found none, expected at least one")
    ptr = pointers(len(ids_of_one) for ids_of_one in documents_ids)
    shape = (len(documents_ids), len(ids))
    matrix = csr_array(
        (np.ones(ptr[-1], np.int64), np.concatenate(documents_ids), ptr), shape=shape
    )
    matrix.sum_duplicates()
    if words is None:
        words = list(ids)
        kept = _chosen(words, matrix, choice)
        return CountedDocuments(tuple(words[i] for i in kept), matrix[:, kept].tocsr())
    column = {word: number for number, word in enumerate(words)}
    to = np.array([column.get(word, -1) for word in ids], np.int64)
    entries = matrix.tocoo()
    there = to[entries.col] >= 0
    where = (entries.row[there], to[entries.col[there]])
    moved = csr_array((entries.data[there], where), shape=(len(documents_ids), len(words)))
    moved.sum_duplicates()
    return CountedDocuments(tuple(words), moved)


def _chosen(words: list[str], matrix: Sparse, choice: WordChoice) -> list[int]:
    """The columns that are kept, in their new order."""
    in_documents = np.bincount(matrix.indices, minlength=len(words))
    counts = np.asarray(matrix.sum(axis=0)).ravel()
    # a word in just that share of the documents is kept, whatever rounding makes of the product
    most = choice.max_share * matrix.shape[0] * (1 + 1e-12)
    good = (in_documents >= choice.min_documents) & (in_documents <= most)
    kept = [
        i for i in np.flatnonzero(good).tolist() if any(letter.isalpha() for letter in words[i])
    ]
    kept.sort(key=lambda i: (-counts[i], words[i].encode("utf-8", "surrogatepass")))
    return kept[: choice.vocab_size]
