"""Arrays that are too many for memory: folders of raw arrays, and sums of sorted runs.

A full disk is a StorageError that names the folder, and leaves no half-written run behind.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eigentext.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence
    from pathlib import Path

    from eigentext.base.engines import Engine
    from eigentext.base.types import Int32s, Int64s, Json, Numbers, Sparse, UInt8s

_ABOUT = "about.json"
_ALIGNED = 8  # arrays in a file begin at multiples of this


def save_arrays(folder: Path, arrays: Mapping[str, Numbers], about: Mapping[str, Any]) -> None:
    """Write arrays and a JSON record; the folder gets its name when all is written."""
    unfinished = folder.with_name(folder.name + ".unfinished")
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        listed = {}
        for name, array in arrays.items():
            write_array(unfinished / name, array)
            listed[name] = [array.dtype.str, len(array)]
        record = json.dumps({"arrays": listed, "about": dict(about)})
        (unfinished / _ABOUT).write_text(record, encoding="utf-8")
        if folder.exists():  # of a run that was killed before it could say that this is complete
            shutil.rmtree(folder)
        os.replace(unfinished, folder)
    except OSError as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise disk_error(folder, error) from error


def write_array(path: Path, array: Numbers, mode: str = "wb") -> None:
    """Write (or append) the raw bytes of an array."""
    with open(path, mode) as out:
        out.write(np.ascontiguousarray(array).data)


def disk_error(folder: Path, error: OSError) -> StorageError:
    """The StorageError for a work folder that cannot be written."""
    why = error.strerror or str(error)
    return StorageError(str(folder), None, f"cannot write intermediate results here: {why}")


def saved(folder: Path) -> Json | None:
    """The JSON record of a complete folder whose files have their full length, else None."""
    try:
        record = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
        for name, (dtype, length) in record["arrays"].items():
            if (folder / name).stat().st_size != np.dtype(dtype).itemsize * length:
                return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    about: Json = record["about"]
    return about


def load_arrays(folder: Path, names: Sequence[str]) -> list[Numbers]:
    """Whole arrays of a folder."""
    try:
        record = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))["arrays"]
        return [np.fromfile(folder / name, dtype=record[name][0]) for name in names]
    except OSError as error:
        why = f"cannot read intermediate results: {error.strerror or error}"
        raise StorageError(str(folder), None, why) from error


def load_slice(path: Path, dtype: npt.DTypeLike, begin: int, end: int) -> Numbers:
    """Items ``begin`` to ``end`` of a raw array (read, not mapped: maps would count as memory)."""
    item = np.dtype(dtype).itemsize
    return np.fromfile(path, dtype=dtype, count=end - begin, offset=begin * item)


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


class ArrayStore:
    """Groups of arrays by key; those beyond ``room`` bytes are in files of a folder.

    Groups under one key are put end to end.

    >>> from eigentext.base.files.scratch import scratch_folder
    >>> with scratch_folder() as folder:
    ...     store = ArrayStore(folder, room=20)
    ...     for numbers in ([1, 2], [3], [4]):
    ...         store.add("a", [np.array(numbers)])
    ...     store.take("a")[0].tolist()
    [1, 2, 3, 4]
    """

    def __init__(self, folder: Path, room: int) -> None:
        self._folder = folder
        self._room = room
        self._here: dict[Hashable, list[Sequence[Numbers]]] = {}
        # what is in the file of a key: type and length of each array, group by group
        self._away: dict[Hashable, list[list[tuple[np.dtype[Any], int]]]] = {}
        self._lock = threading.Lock()

    def add(self, key: Hashable, arrays: Sequence[Numbers]) -> None:
        """Keep a group behind those of the key (several threads may, with keys of their own)."""
        size = sum(array.nbytes for array in arrays)
        with self._lock:
            fits = size <= self._room and key not in self._away
            if fits:
                self._room -= size
                self._here.setdefault(key, []).append(arrays)
                return
            group = [(array.dtype, len(array)) for array in arrays]
            self._away.setdefault(key, []).append(group)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with open(self._file(key), "ab") as out:
                for array in arrays:
                    out.write(np.ascontiguousarray(array).data)
                    out.write(bytes(-array.nbytes % _ALIGNED))
        except OSError as error:
            raise disk_error(self._folder, error) from error

    @property
    def largest_away(self) -> int:
        """Bytes of the largest file: what a buffer for :meth:`get` needs."""
        return max((_file_bytes(groups) for groups in self._away.values()), default=0)

    def get(self, key: Hashable, buffer: UInt8s | None = None) -> list[Numbers]:
        """The arrays of a key; what is read from disk may be put into a buffer, and stay there."""
        groups = list(self._here.get(key, []))
        if key in self._away:
            away = self._away[key]
            size = _file_bytes(away)
            raw = np.empty(size, dtype=np.uint8) if buffer is None else buffer[:size]
            try:
                with open(self._file(key), "rb", buffering=0) as file:
                    rest = raw.data
                    while rest and (n_bytes := file.readinto(rest)):
                        rest = rest[n_bytes:]
            except OSError as error:
                why = f"cannot read intermediate results: {error.strerror or error}"
                raise StorageError(str(self._folder), None, why) from error
            if rest:
                raise StorageError(str(self._folder), None, "intermediate results are cut short")
            at = 0
            for group in away:
                arrays = []
                for kind, length in group:
                    n_bytes = kind.itemsize * length
                    arrays.append(raw[at : at + n_bytes].view(kind))
                    at += n_bytes + -n_bytes % _ALIGNED
                groups.append(arrays)
        if len(groups) == 1:
            return list(groups[0])
        return [np.concatenate(parts) for parts in zip(*groups, strict=True)]

    def take(self, key: Hashable) -> list[Numbers]:
        """The arrays of a key, which are forgotten."""
        arrays = self.get(key)
        with self._lock:
            groups = self._here.pop(key, [])
            self._room += sum(array.nbytes for group in groups for array in group)
            if self._away.pop(key, None):
                self._file(key).unlink(missing_ok=True)
        return arrays

    def _file(self, key: Hashable) -> Path:
        return self._folder / f"{key}.arrays"


def _file_bytes(groups: Sequence[Sequence[tuple[np.dtype[Any], int]]]) -> int:
    sizes = [kind.itemsize * length for group in groups for kind, length in group]
    return sum(size + -size % _ALIGNED for size in sizes)
