"""What the first pass leaves behind for the second: segments, in memory while there is room.

In a resumable job everything goes to disk, and a shard that is done is marked.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eigentext.base.tokens import each_sentence
from eigentext.base.types import Int32s
from eigentext.counting.interning import PAD, Types, TypeTable
from eigentext.counting.shards import Segment, ShardErrors
from eigentext.counting.spill import load_arrays, load_slice, save_arrays, saved
from eigentext.counting.workfolder import write_record
from eigentext.errors import DataError
from eigentext.language.formats.text import check_tokens

_BLOCK_BYTES = 1 << 20  # text interned at once


@dataclass(frozen=True)
class Handle:
    """One segment: its sizes, and where it is."""

    n_ids: int
    n_tokens: int
    n_sentences: int
    types_bytes: int
    segment: Segment | None = None
    folder: Path | None = None
    mapping: Int32s | None = None  # the id in the vocabulary of each type, where it is known

    def types(self) -> Types:
        """The distinct words of the segment."""
        if self.segment is not None:
            return self.segment.types
        return Types(*load_arrays(self._folder, ["blob", "offsets", "counts"]))

    def ids(self, begin: int, end: int) -> list[Int32s]:
        """Ids ``begin`` to ``end``, in pieces."""
        if self.segment is None:
            return [load_slice(self._folder / "ids", np.int32, begin, end)]
        pieces = []
        for chunk in self.segment.ids:
            piece = chunk[max(0, begin) : max(0, end)]
            if len(piece):
                pieces.append(piece)
            begin -= len(chunk)
            end -= len(chunk)
        return pieces

    @property
    def _folder(self) -> Path:
        if self.folder is None:
            raise ValueError("a handle is either in memory or in a folder")
        return self.folder


def handle_of(sentences: Iterable[Sequence[str]]) -> Handle:
    """The segment of lists of tokens, as if they were the lines of a text.

    >>> handle_of([["a", "cat"], [], ["a", "dog"]]).ids(0, 6)
    [array([ 0,  1, -1,  0,  2, -1], dtype=int32)]
    """
    from eigentext.counting.kernels import interning as kernels

    table = TypeTable()
    chunks: list[Int32s] = []
    lines: list[bytes] = []
    size = 0

    def intern() -> None:
        raw = b"".join(lines)
        # bytearray: a read-only array would be a second signature for every kernel
        text = np.frombuffer(bytearray(raw + bytes(PAD)), dtype=np.uint8)
        out = np.empty(len(raw), dtype=np.int32)
        chunks.append(out[: table.intern(text, 0, len(raw), out)].copy())
        lines.clear()

    for number, tokens in enumerate(each_sentence(sentences), start=1):
        check_tokens("sentences", number, tokens)
        try:
            lines.append(" ".join(tokens).encode() + b"\n")
        except UnicodeEncodeError as error:
            why = f"a lone surrogate, which UTF-8 cannot hold: {error.object[:60]!r}"
            raise DataError("sentences", number, why) from error
        size += len(lines[-1])
        if size > _BLOCK_BYTES:
            intern()
            size = 0
    if lines:
        intern()
    n_tokens = int(table.state[kernels.N_TOKENS])
    if not n_tokens:
        raise DataError("sentences", None, "no tokens, expected text")
    types = table.types
    segment = Segment(types, tuple(chunks), n_tokens, int(table.state[kernels.N_SENTENCES]))
    n_ids = sum(map(len, chunks))
    return Handle(n_ids, n_tokens, segment.n_sentences, types.nbytes, segment=segment)


@dataclass(frozen=True)
class ShardResult:
    """All segments of a shard, and its lines that were left out."""

    handles: tuple[Handle, ...]
    errors: ShardErrors


class SegmentStore:
    """Segments by shard; ``keep_on_disk`` makes the job resumable."""

    def __init__(self, folder: Path, kept_bytes: int, *, keep_on_disk: bool) -> None:
        self._folder = folder
        self._room = kept_bytes
        self._keep_on_disk = keep_on_disk
        self._lock = threading.Lock()

    def put(self, shard: int, number: int, segment: Segment) -> Handle:
        """Keep a segment (called by several threads)."""
        n_ids = sum(len(ids) for ids in segment.ids)
        types = segment.types
        sizes = (n_ids, segment.n_tokens, segment.n_sentences, types.nbytes)
        if not self._keep_on_disk:
            with self._lock:
                fits = segment.nbytes <= self._room
                if fits:
                    self._room -= segment.nbytes
            if fits:
                return Handle(*sizes, segment=segment)
        folder = self._folder / f"{shard:06d}-{number:06d}"
        arrays = {name: getattr(types, name) for name in ("blob", "offsets", "counts")}
        arrays["ids"] = np.concatenate([np.empty(0, dtype=np.int32), *segment.ids])
        save_arrays(folder, arrays, {"sizes": sizes})
        return Handle(*sizes, folder=folder)

    def finish_shard(self, shard: int, handles: Sequence[Handle], errors: ShardErrors) -> None:
        """Mark a shard as done."""
        if self._keep_on_disk:
            self._folder.mkdir(parents=True, exist_ok=True)
            record = {"segments": len(handles), "lines": errors.lines, "reasons": errors.reasons}
            write_record(self._folder, f"{shard:06d}.json", json.dumps(record))

    def done_shard(self, shard: int) -> ShardResult | None:
        """The result of a shard that an earlier run finished, else None."""
        if not self._keep_on_disk:
            return None
        try:
            path = self._folder / f"{shard:06d}.json"
            record = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        handles = []
        for number in range(record["segments"]):
            folder = self._folder / f"{shard:06d}-{number:06d}"
            about = saved(folder)
            if about is None:
                return None
            n_ids, n_tokens, n_sentences, types_bytes = about["sizes"]
            handles.append(Handle(n_ids, n_tokens, n_sentences, types_bytes, folder=folder))
        errors = ShardErrors()
        errors.lines, errors.reasons = record["lines"], record["reasons"]
        return ShardResult(tuple(handles), errors)
