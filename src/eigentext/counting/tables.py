"""Counts from two tables that a database made, and back: of words, and of pairs of words.

1. The words, with how often each occurs, become the vocabulary, in the order that counting has.
2. The pairs, with how often the left word stands so many words before the right one, become sorted
   runs, some rows at a time, which are added up as those of counting are: beyond the memory
   setting they are on disk.
3. What no text could have given is refused: a pair more often than its words, too few pairs.

Both are Parquet files, as DuckDB, Spark or pandas write them; :func:`write_tables` goes back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from eigentext.base.engines import LocalEngine
from eigentext.base.files.opening import expand
from eigentext.base.files.writing import scratch_folder
from eigentext.base.heap import read_mapped
from eigentext.base.types import Int64s, Numbers, Sparse
from eigentext.counting.contexts import Contexts, parse_contexts
from eigentext.counting.counts import Counts
from eigentext.counting.interning import Types
from eigentext.counting.memory import IN_FLIGHT_BYTES, Budget
from eigentext.counting.runs import PairRun, RunStore
from eigentext.counting.vocabulary import UNKNOWN, Vocabulary, select
from eigentext.errors import DataError, SettingsError
from eigentext.language.formats.parquet import columns, write_columns

_WHITE = re.compile(r"[ \t\n\r\v\f]")
_MOST = 10**15  # the largest count
_ROWS = 1 << 22  # rows of pairs that become a run, at most
_ROW_BYTES = 96  # a row until it is in a run: words, ids, count, and two orders of them
_ENTRIES = 1 << 21  # of a matrix that are looked at together
_TABLE_ROWS = 1 << 16  # rows that are written at once


def counts_from_tables(
    words: Iterable[str],
    pairs: Iterable[str] = (),
    *,
    contexts: str | Contexts | Iterable[int] = "lr1",
    n_sentences: int | None = None,
    memory: str | int | Budget = "2GB",
) -> Counts:
    """The counts that these tables hold.

    ``words``  files with the columns ``word`` and ``count``, each word once; a row ``<unk>`` has
               the tokens of all words that are left out
    ``pairs``  files with the columns ``left``, ``right``, ``count``, and ``distance``: how many
               words right stands behind left in its line, 1 where there is no such column; rows of
               the same pair add up
    ``n_sentences``  the number of lines with tokens; found by itself where pairs of distance 1 are
               counted apart from others, since every token but a line's last is the left of one
    ``memory`` bounds the process, as it does for :func:`~eigentext.counting.counting.count`; words
               must fit
    """
    budget = memory if isinstance(memory, Budget) else Budget.share_out(memory, 1)
    chosen = parse_contexts(contexts)
    word_files, pair_files = expand(words), expand(pairs)
    if not word_files or (chosen.spans and not pair_files):
        raise SettingsError("counts are made of a table of words, and one of pairs for contexts")
    vocabulary, unigrams = _words(word_files)
    n_tokens = int(unigrams.sum())
    if not n_tokens:
        raise DataError(word_files[0], None, "no tokens, expected counts of words")
    halves = _halves(pair_files, vocabulary, chosen, budget)
    totals = []
    for (near, far), half in zip(chosen.spans, halves, strict=True):
        lefts, rights = _margins(half)
        for side, margin in (("left", lefts), ("right", rights)):
            _check_margin(pair_files[0], vocabulary, unigrams, side, margin, far - near + 1)
        totals.append(int(lefts.sum()))
    n_lines = _n_sentences(pair_files, chosen, totals, n_tokens, n_sentences)
    # every word of the text has a row exactly when no token is left for the others
    complete = not unigrams[-1]
    return Counts(vocabulary, unigrams, chosen, halves, n_tokens, n_lines, complete=complete)


def write_tables(counts: Counts, words: str, pairs: str | None = None) -> None:
    """Write what :func:`counts_from_tables` reads; it gives the same counts.

    Not of a bag, which adds up its distances.
    """
    if counts.contexts.bag and pairs is not None:
        raise SettingsError(f"pairs of {counts.contexts} are of no one distance: none to write")
    listed, step = counts.words, _TABLE_ROWS

    def rows_of_words() -> Iterator[Mapping[str, Any]]:
        for begin in range(0, len(listed), step):
            part = slice(begin, begin + step)
            yield {"word": listed[part], "count": counts.unigrams[part]}

    write_columns(words, rows_of_words(), strings=["word"], integers=["count"])
    if pairs is not None:
        blocks = _rows_of_pairs(counts, np.array(listed, dtype=object))
        numbers = ["distance", "count"]
        write_columns(pairs, blocks, strings=["left", "right"], integers=numbers)


def _rows_of_pairs(counts: Counts, words: Numbers) -> Iterator[Mapping[str, Any]]:
    for (distance, _), half in zip(counts.contexts.spans, counts.halves, strict=True):
        for begin in range(0, half.nnz, _TABLE_ROWS):
            places = np.arange(begin, min(begin + _TABLE_ROWS, half.nnz))
            yield {
                "left": words[np.searchsorted(half.indptr, places, side="right") - 1],
                "right": words[half.indices[places]],
                "distance": np.full(len(places), distance),
                "count": half.data[places],
            }


def _words(files: Sequence[str]) -> tuple[Vocabulary, Int64s]:
    """The words by falling count, then by their bytes, and the count of each, ``<unk>`` last."""
    count_of: dict[str, int] = {}
    for file in files:
        row = 0
        for texts, counts in columns(file, strings=("word",), integers=("count",)):
            _check_nothing_missing(file, texts, row)
            for word, count in zip(texts.to_pylist(), _counts(file, counts, row), strict=True):
                row += 1
                if not word or _WHITE.search(word):
                    raise _fault(file, row, f"word {word[:40]!r} can never be a token")
                if word in count_of:
                    raise _fault(file, row, f"word {word[:40]!r} occurs twice")
                count_of[word] = int(count)
    others = count_of.pop(UNKNOWN, 0)
    types = Types.from_words([word.encode() for word in count_of])
    types = Types(
        types.blob, types.offsets, np.fromiter(count_of.values(), np.int64, len(count_of))
    )
    types = types.take(select(types, min_count=0)[0])
    return Vocabulary(types), np.append(types.counts, np.int64(others))


def _halves(
    files: Sequence[str], vocabulary: Vocabulary, contexts: Contexts, budget: Budget
) -> tuple[Sparse, ...]:
    """For each span of distances the matrix of pairs; (n, n) CSR."""
    size = len(vocabulary)
    waiting: list[list[tuple[Int64s, Int64s, Int64s]]] = [[] for _ in contexts.spans]
    n_waiting = 0
    most = min(_ROWS, budget.batch_pairs * IN_FLIGHT_BYTES // _ROW_BYTES)
    with scratch_folder() as folder:
        runs = RunStore(folder / "spill", budget.run_bytes)
        for span in range(len(contexts.spans)):
            runs.add(span, _run([], size))  # there may be no pairs at all
        for file in files if contexts.spans else ():
            for left, right, count, distance in _pairs(file, vocabulary, contexts):
                for span, (near, far) in enumerate(contexts.spans):
                    here = (distance >= near) & (distance <= far) & (count > 0)
                    waiting[span].append((left[here], right[here], count[here]))
                    n_waiting += int(here.sum())
                if n_waiting > most:
                    for span, rows in enumerate(waiting):
                        runs.add(span, _run(rows, size))
                        rows.clear()
                    n_waiting = 0
        for span, rows in enumerate(waiting):
            runs.add(span, _run(rows, size))
            rows.clear()
        n_bytes = 12 * sum(run.n_entries for parts in runs.runs.values() for run in parts)
        large = n_bytes > 2 * budget.run_bytes
        spans = range(len(contexts.spans))
        engine = LocalEngine()
        return tuple(runs.matrix(span, folder, engine, on_disk=large) for span in spans)


def _run(rows: Sequence[tuple[Int64s, Int64s, Int64s]], size: int) -> PairRun:
    """The sum of rows (left, right, count), sorted."""
    from scipy.sparse import csr_array

    if not rows:
        part = csr_array((size, size), dtype=np.int64)
    else:
        left, right, count = map(np.concatenate, zip(*rows, strict=True))
        part = csr_array((count, (left, right)), shape=(size, size))
        part.sum_duplicates()
    starts, columns = part.indptr.astype(np.int64), part.indices.astype(np.int32)
    return PairRun.of(starts, columns, part.data)


def _pairs(
    file: str, vocabulary: Vocabulary, contexts: Contexts
) -> Iterator[tuple[Int64s, Int64s, Int64s, Int64s]]:
    """Rows of pairs: id of the left word, of the right one, count, distance."""
    alone = contexts.spans == ((1, 1),)
    numbers = ("count",) if alone else ("count", "distance")
    row = 0
    for lefts, rights, counts, *distances in columns(
        file, strings=("left", "right"), integers=numbers, optional=("distance",) if alone else ()
    ):
        left, right = (_ids(file, texts, row, vocabulary) for texts in (lefts, rights))
        count = _counts(file, counts, row)
        distance = _counts(file, distances[0], row) if distances else np.ones_like(count)
        counted = np.zeros(len(distance), dtype=np.bool_)
        for near, far in contexts.spans:
            counted |= (distance >= near) & (distance <= far)
        if not counted.all():
            at = int(np.flatnonzero(~counted)[0])
            why = f"distance {distance[at]}, expected one of the contexts {contexts}"
            raise _fault(file, row + at + 1, why)
        yield left, right, count, distance
        row += len(count)


def _ids(file: str, texts: Any, row: int, vocabulary: Vocabulary) -> Int64s:
    """The ids of a column of words; each distinct word is looked up once."""
    _check_nothing_missing(file, texts, row)
    distinct = texts.dictionary_encode()
    ids = [vocabulary.ids.get(word, -1) for word in distinct.dictionary.to_pylist()]
    places = distinct.indices.to_numpy(zero_copy_only=False)
    ids_of_rows: Int64s = np.array(ids, dtype=np.int64)[places]
    if (ids_of_rows < 0).any():
        at = int(np.flatnonzero(ids_of_rows < 0)[0])
        why = f"word {texts[at].as_py()[:40]!r} is not in the table of words"
        raise _fault(file, row + at + 1, why)
    return ids_of_rows


def _counts(file: str, numbers: Any, row: int) -> Int64s:
    """A column of counts."""
    _check_nothing_missing(file, numbers, row)
    counts: Int64s = np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.int64)
    outside = (counts < 0) | (counts >= _MOST)
    if outside.any():
        at = int(np.flatnonzero(outside)[0])
        raise _fault(file, row + at + 1, f"{counts[at]}, expected a number from 0 to 10^15")
    return counts


def _check_nothing_missing(file: str, column: Any, row: int) -> None:
    if column.null_count:
        at = column.is_null().to_pylist().index(True)
        raise _fault(file, row + at + 1, "nothing in a column, expected a value")


def _margins(half: Sparse) -> tuple[Int64s, Int64s]:
    """How many pairs each word is the left of, and the right; the matrix may be on disk."""
    n = half.shape[0]
    lefts, rights = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for begin in range(0, half.nnz, _ENTRIES):
        end = min(begin + _ENTRIES, half.nnz)
        counts = read_mapped(half.data, begin, end)
        np.add.at(rights, read_mapped(half.indices, begin, end), counts)
        rows = np.searchsorted(half.indptr, np.arange(begin, end), side="right") - 1
        np.add.at(lefts, rows, counts)
    return lefts, rights


def _check_margin(
    file: str, vocabulary: Vocabulary, unigrams: Int64s, side: str, totals: Int64s, width: int
) -> None:
    """A word is the left of at most ``width`` pairs each time that it occurs, and the right."""
    worst = int(np.argmax(totals - width * unigrams))
    if totals[worst] > width * unigrams[worst]:
        word = vocabulary.words[worst]
        why = (
            f"word {word[:40]!r} is the {side} of {totals[worst]} pairs, "
            f"but occurs {unigrams[worst]} times"
        )
        raise DataError(file, None, why)


def _n_sentences(
    files: Sequence[str],
    contexts: Contexts,
    totals: Sequence[int],
    n_tokens: int,
    n_sentences: int | None,
) -> int:
    """The number of lines, held against the numbers of pairs of each distance.

    A line of n tokens has max(n - d, 0) pairs of distance d: of all lines, at least
    tokens - d lines.
    """
    n_lines = n_tokens - totals[0] if contexts.spans[:1] == ((1, 1),) else n_sentences
    if n_lines is None:
        raise SettingsError("the number of sentences is not in these tables: say how many")
    if n_sentences is not None and n_sentences != n_lines:
        why = f"pairs and words are those of {n_lines} lines, not of {n_sentences}"
        raise DataError(files[0], None, why)
    if not 0 < n_lines <= n_tokens:
        raise DataError(files[0] if files else "tables", None, f"{n_lines} lines, expected tokens")
    for (near, far), total in zip(contexts.spans, totals, strict=True):
        least = sum(max(0, n_tokens - d * n_lines) for d in range(near, far + 1))
        if total < least:
            why = f"{total} pairs of distance {near} to {far}, but {n_lines} lines of {n_tokens} "
            raise DataError(files[0], None, f"{why}tokens have {least} or more")
    return n_lines


def _fault(file: str, row: int, why: str) -> DataError:
    return DataError(file, None, f"row {row}: {why}")
