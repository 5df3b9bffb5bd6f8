"""Ids to pair counts, and sums of them: the second pass.

:func:`count_pairs` takes a stretch of ids.  Its pairs are put into buckets by their right word,
each bucket is summed in a dense array, and the sums are transposed into rows, which so come out
sorted: a run.  Stretches are independent of each other: they can be counted at the same time, and
their runs add up, on disk beyond a limit.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from eigentext.base.engines import Engine
from eigentext.base.types import Int32s, Int64s, Sparse
from eigentext.counting.spill import disk_error, load_slice, save_arrays, saved, write_array
from eigentext.errors import StorageError


@dataclass(frozen=True)
class PairRun:
    """A block of CSR rows with sorted columns: arrays in memory, or the folder that holds them."""

    arrays: tuple[Int64s, Int32s, Int64s] | None
    n_rows: int
    n_entries: int
    folder: Path | None = None

    @classmethod
    def of(cls, starts: Int64s, columns: Int32s, data: Int64s) -> PairRun:
        """A run in memory."""
        return cls((starts, columns, data), len(starts) - 1, int(starts[-1]))

    @classmethod
    def from_disk(cls, folder: Path) -> PairRun:
        """A run that was written before."""
        about = saved(folder)
        if about is None:
            raise StorageError(str(folder), None, "intermediate results have disappeared")
        return cls(None, about["n_rows"], about["n_entries"], folder)

    def to_disk(self, folder: Path) -> PairRun:
        """Write the run into a folder of its own."""
        starts, columns, data = self.rows(0, self.n_rows)
        about = {"n_rows": self.n_rows, "n_entries": self.n_entries}
        save_arrays(folder, {"starts": starts, "columns": columns, "data": data}, about)
        return PairRun(None, self.n_rows, self.n_entries, folder)

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return 0 if self.arrays is None else sum(array.nbytes for array in self.arrays)

    def starts(self, begin: int, end: int) -> Int64s:
        """Where rows ``begin`` to ``end`` start, and where the last of them ends."""
        if self.arrays is not None:
            return self.arrays[0][begin : end + 1]
        return load_slice(self._folder / "starts", np.int64, begin, end + 1)

    def rows(self, begin: int, end: int) -> tuple[Int64s, Int32s, Int64s]:
        """CSR arrays of some rows."""
        starts = self.starts(begin, end)
        first, last = int(starts[0]), int(starts[-1])
        if self.arrays is not None:
            return starts - first, self.arrays[1][first:last], self.arrays[2][first:last]
        columns = load_slice(self._folder / "columns", np.int32, first, last)
        return starts - first, columns, load_slice(self._folder / "data", np.int64, first, last)

    @property
    def _folder(self) -> Path:
        if self.folder is None:
            raise ValueError("a run is either in memory or in a folder")
        return self.folder


def add_runs(runs: Sequence[tuple[Int64s, Int32s, Int64s]]) -> tuple[Int64s, Int32s, Int64s]:
    """The sum of CSR blocks with the same rows, two by two."""
    from eigentext.counting.kernels import pairs as kernels

    level = list(runs)
    while len(level) > 1:
        merged = []
        for a, b in zip(level[::2], level[1::2], strict=False):
            size = len(a[1]) + len(b[1])
            starts = np.empty(len(a[0]), dtype=np.int64)
            columns = np.empty(size, dtype=np.int32)
            data = np.empty(size, dtype=np.int64)
            used = kernels.merge_rows(a, b, (starts, columns, data))
            merged.append((starts, columns[:used], data[:used]))
        level = merged + level[len(level) & ~1 :]
    return level[0]


@dataclass
class RunStore:
    """Runs by key (which matrix, which rows); keeps at most ``limit`` bytes of them in memory."""

    folder: Path
    limit: int
    runs: dict[Hashable, list[PairRun]] = field(default_factory=dict)
    _written: int = 0

    def add(self, key: Hashable, run: PairRun) -> None:
        """Take in a run; when memory is full, sum what is there, or spill it."""
        self.runs.setdefault(key, []).append(run)
        if self._in_memory() <= self.limit:
            return
        for other in self.runs:
            self._condense(other)
        if 2 * self._in_memory() > self.limit:
            for other, runs in self.runs.items():
                self.runs[other] = [
                    run if run.folder is not None else run.to_disk(self._fresh()) for run in runs
                ]

    def _in_memory(self) -> int:
        return sum(run.nbytes for runs in self.runs.values() for run in runs)

    def _fresh(self) -> Path:
        self._written += 1
        return self.folder / f"spill-{self._written:06d}"

    def _condense(self, key: Hashable) -> None:
        """Make the runs of a key that are in memory into one."""
        runs = self.runs[key]
        ours = [run for run in runs if run.folder is None]
        if len(ours) > 1:
            summed = PairRun.of(*add_runs([run.rows(0, run.n_rows) for run in ours]))
            self.runs[key] = [run for run in runs if run.folder is not None] + [summed]

    def total(self, key: Hashable, engine: Engine) -> Iterator[tuple[Int64s, Int32s, Int64s]]:
        """The sum of all runs of a key, in blocks of rows, and forget the runs."""
        runs = self.runs.pop(key)
        n_rows = runs[0].n_rows
        if len(runs) == 1 and runs[0].arrays is not None:
            yield runs[0].arrays
            return
        entries = np.zeros(n_rows + 1, dtype=np.int64)
        for run in runs:
            entries += run.starts(0, n_rows)
        # of an entry there are at most four copies of 12 bytes, and a result may be waiting
        step = min(self.limit // 64 // engine.jobs, int(entries[-1]) // engine.jobs + 1)
        cuts = [0]
        while cuts[-1] < n_rows:
            end = int(np.searchsorted(entries, entries[cuts[-1]] + step, side="right")) - 1
            cuts.append(min(max(end, cuts[-1] + 1), n_rows))

        def added(rows: tuple[int, int]) -> tuple[Int64s, Int32s, Int64s]:
            return add_runs([run.rows(*rows) for run in runs])

        yield from engine.map(added, itertools.pairwise(cuts))
        for run in runs:
            if run.folder is not None and run.folder.parent == self.folder:
                shutil.rmtree(run.folder, ignore_errors=True)

    def matrix(self, key: Hashable, folder: Path, engine: Engine, *, on_disk: bool) -> Sparse:
        """One square CSR matrix out of all runs of a key, in memory or left in the folder."""
        from scipy.sparse import csr_array

        bound = sum(run.n_entries for run in self.runs[key])
        n_words = self.runs[key][0].n_rows
        files = [folder / f"{key}.columns", folder / f"{key}.data"]
        # memory that is never touched is never taken, so the bound may be generous
        columns = np.empty(0 if on_disk else bound, dtype=np.int32)
        data = np.empty(0 if on_disk else bound, dtype=np.int64)
        starts = np.zeros(n_words + 1, dtype=np.int64)
        row = used = 0
        try:
            if on_disk:
                folder.mkdir(parents=True, exist_ok=True)
                for file in files:
                    file.unlink(missing_ok=True)  # earlier counts may still be mapped to the old
            for block_starts, block_columns, block_data in self.total(key, engine):
                n_rows, size = len(block_starts) - 1, len(block_columns)
                if on_disk:
                    write_array(files[0], block_columns, "ab")
                    write_array(files[1], block_data, "ab")
                elif n_rows == n_words:
                    columns, data = block_columns, block_data
                else:
                    columns[used : used + size] = block_columns
                    data[used : used + size] = block_data
                starts[row + 1 : row + n_rows + 1] = block_starts[1:] + used
                row += n_rows
                used += size
        except OSError as error:
            raise disk_error(folder, error) from error
        if on_disk and used:  # nothing cannot be mapped
            columns = np.memmap(files[0], dtype=np.int32, mode="r+", shape=(used,))
            data = np.memmap(files[1], dtype=np.int64, mode="r+", shape=(used,))
        # set one by one: the constructor would look through all columns, and load them from disk
        matrix = csr_array((n_words, n_words), dtype=np.int64)
        matrix.data, matrix.indices = data[:used], columns[:used]
        matrix.indptr = starts if used >= 2**31 else starts.astype(np.int32)
        if used >= 2**31:
            matrix.indices = matrix.indices.astype(np.int64)
        matrix.has_canonical_format = True
        return matrix


def count_pairs(ids: Int32s, begin: int, end: int, span: tuple[int, int], n_words: int) -> PairRun:
    """Counts of (ids[i - d], ids[i]) for begin <= i < end and distances d in the span.

    Rows are left words, columns are right words; -1 in the ids ends a sentence.

    >>> ids = np.array([0, 1, 0, 1, -1, 0], dtype=np.int32)
    >>> count_pairs(ids, 0, 6, (1, 1), 2).rows(0, 2)
    (array([0, 1, 2]), array([1, 0], dtype=int32), array([2, 1]))
    """
    from eigentext.counting.kernels import pairs as kernels

    nearest, farthest = span
    # int32: a batch has fewer than 2**31 pairs, and these arrays have to stay in the cache
    sizes = np.zeros(n_words, dtype=np.int32)
    kernels.count_ids(ids, begin, end, sizes)  # no word is the right one of more pairs
    closes = np.cumsum(sizes * np.int32(farthest - nearest + 1), dtype=np.int32)
    starts = np.zeros_like(closes)
    starts[1:] = closes[:-1]
    ends = starts.copy()
    bucket = np.empty(int(closes[-1]), dtype=np.int32)
    kernels.fill_buckets(ids, begin, end, nearest, farthest, ends, bucket)
    sums = np.empty(len(bucket), dtype=np.int32)
    row_starts = np.zeros(n_words + 1, dtype=np.int64)
    dense = np.zeros(n_words, dtype=np.int32)
    used = kernels.sum_buckets(bucket, starts, ends, dense, sums, row_starts)
    np.cumsum(row_starts, out=row_starts)
    columns = np.empty(used, dtype=np.int32)
    data = np.empty(used, dtype=np.int64)
    kernels.buckets_to_rows(bucket, sums, ends, row_starts[:-1].copy(), columns, data)
    return PairRun.of(row_starts, columns, data)
