"""Arrays that are too many for memory: folders of raw arrays, and sums of sorted runs.

A full disk is a StorageError that names the folder, and leaves no half-written run behind.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from eigentext.base.types import Json, Numbers, UInt8s
from eigentext.errors import StorageError

_ABOUT = "about.json"
_ALIGNED = 8  # arrays in a file begin at multiples of this


def save_arrays(folder: Path, arrays: Mapping[str, Numbers], about: Mapping[str, object]) -> None:
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


class ArrayStore:
    """Groups of arrays by key; those beyond ``room`` bytes are in files of a folder.

    Groups under one key are put end to end.

    >>> from eigentext.base.files.writing import scratch_folder
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
