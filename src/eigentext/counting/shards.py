"""Text to segments of ids: the first pass.

1. :func:`plan_shards` cuts the sources into shards: a packed file or a stream is one, a plain file
   is several byte ranges, a Parquet file several stretches of row groups.  A line belongs to the
   shard in which its first byte lies.
2. :func:`read_segments` streams one shard block by block through a word table.  Whenever the table
   or the ids exceed the budget, a :class:`Segment` is closed and a new table begun, in the middle
   of a line if need be.
   Of files of records (JSON Lines, Parquet, WARC) the text goes in, each record from a new line.
3. A line that is not UTF-8 is found at the closing: white space is ASCII, so the text is valid
   exactly when each of its words is, and only the distinct words need a look.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from eigentext.base.files.archives import suffix_of
from eigentext.base.files.opening import (
    LONGEST_LINE,
    NO_TEXT,
    TOO_LONG,
    RawChunks,
    is_model,
    open_binary,
)
from eigentext.base.files.storage import driver_errors, filesystem_of, is_url, reason
from eigentext.base.types import Int32s, Int64s
from eigentext.counting.interning import PAD, Types, TypeTable
from eigentext.counting.memory import Budget
from eigentext.counting.record_text import LONGEST_WORD, long_word, record_texts
from eigentext.errors import DataError, StorageError
from eigentext.language.formats import parquet
from eigentext.language.formats.records import FIELD, fault, kind_of
from eigentext.language.formats.text import check_text

_BOM = b"\xef\xbb\xbf"
_WHITE = b" \n\t\r\v\f"
# what drivers tell of a file
_MARKS = ("mtime", "created", "ino", "LastModified", "ETag", "blob_id")
_REASONS = 20  # of lines left out that are kept
_PACKING = 4  # text bytes per packed byte, for the progress of packed files only

OnBytes = Callable[[int], None]
Fill = Callable[[memoryview], int]  # of a buffer, with how many bytes; 0 at the end


@dataclass(frozen=True)
class Shard:
    """A byte range of a source; of a Parquet file a range of row groups."""

    source: str
    start: int
    stop: int | None  # None: to its end, however long that is
    size: int  # the bytes it stands for in the progress report
    identity: str = ""  # tells whether the file is still the same when a job is resumed
    kind: str = ""  # of a file of records, see ``formats.records``
    field: str | None = None


@dataclass(frozen=True)
class Segment:
    """Ids of a stretch of text, in terms of its own types; -1 ends a sentence."""

    types: Types
    ids: tuple[Int32s, ...]
    n_tokens: int
    n_sentences: int

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return self.types.nbytes + sum(ids.nbytes for ids in self.ids)


class ShardErrors:
    """The lines of one shard that were left out; the reasons are kept for the first few."""

    def __init__(self) -> None:
        self.lines: list[int] = []
        self.reasons: list[str] = []

    def __call__(self, line: int, why: str) -> None:
        """Note one bad line (counted from 0 at the start of the shard)."""
        self.lines.append(line)
        if len(self.reasons) < _REASONS:
            self.reasons.append(why)

    def tell(self, shard: Shard, on_error: Callable[[DataError], None]) -> None:
        """Pass on each line as a DataError, with its number in the file."""
        before = lines_before(shard) if self.lines else 0
        reasons = self.reasons + ["left out"] * (len(self.lines) - len(self.reasons))
        for line, why in zip(self.lines, reasons, strict=True):
            on_error(fault(shard.source, shard.kind, before + line + 1, why))


def plan_shards(
    sources: Sequence[str], jobs: int, largest: int, field: str | None = None
) -> list[Shard]:
    """Cut the sources so that ``jobs`` workers have about the same to do."""
    whole_files = [look_at(source, field) for source in sources]
    total = sum(shard.size for shard in whole_files)
    step = min(largest, max(1 << 16, -(-total // jobs)))
    shards: list[Shard] = []
    for whole in whole_files:
        if whole.stop is None:
            shards.append(whole)
            continue
        if whole.kind == "parquet":
            shards.extend(_stretches(whole, step))
            continue
        n_parts = max(1, -(-whole.size // step))
        cuts = [whole.size * i // n_parts for i in range(n_parts + 1)]
        shards.extend(
            replace(whole, start=start, stop=stop, size=stop - start)
            for start, stop in itertools.pairwise(cuts)
        )
    return shards


def _stretches(whole: Shard, step: int) -> Iterator[Shard]:
    """Row groups of a Parquet file, so many in a row as are no larger than ``step`` together."""
    groups = parquet.row_groups(whole.source)
    total = sum(group.n_bytes for group in groups) or 1
    sizes = [whole.size * group.n_bytes // total for group in groups]  # as they lie in the file
    start = size = 0
    for stop, more in enumerate(sizes):
        if size and size + more > step:
            yield replace(whole, start=start, stop=stop, size=size)
            start, size = stop, 0
        size += more
    if start < len(groups):
        yield replace(whole, start=start, stop=len(groups), size=size)


def look_at(source: str, field: str | None = None) -> Shard:
    """A source as one shard, with its size and identity."""
    kind = kind_of(source, field)
    field = (field or FIELD) if kind else None
    if source == "-":
        return Shard(source, 0, None, 0, secrets.token_hex(16), kind, field)
    if is_url(source):
        with driver_errors(source, "cannot look at"):
            filesystem, path = filesystem_of(source)
            about = filesystem.info(path)
        size = about.get("size")
        marks = [about[key] for key in _MARKS if about.get(key) is not None]
        # a server that tells nothing of the content may have another one next time
        identity = "/".join(map(str, marks)) or secrets.token_hex(16)
        regular = about.get("type") == "file" and size is not None
    else:
        try:
            status = os.stat(source)
        except (OSError, ValueError) as error:
            raise DataError(source, None, f"cannot open: {reason(error)}") from error
        size = status.st_size
        # the change time cannot be set: it tells of an edit that kept the old date
        identity = f"{status.st_mtime_ns}/{status.st_ctime_ns}/{status.st_ino}"
        regular = os.path.isfile(source)
    # a pipe cannot be cut into ranges either
    whole = bool(suffix_of(source)) or not regular or kind == "warc"
    return Shard(source, 0, None if whole else size, size or 0, identity, kind, field)


@contextlib.contextmanager
def _open_at(shard: Shard) -> Iterator[Fill]:
    """A function that fills a buffer from the shard's place on, and gives 0 at the file's end."""
    if shard.stop is None:
        with open_binary(shard.source) as stream:
            yield stream.readinto
        return
    begin = max(0, shard.start - 1)  # one byte earlier: is it a line end?
    with contextlib.ExitStack() as stack:
        if is_url(shard.source):
            with driver_errors(shard.source, "cannot open"):
                filesystem, path = filesystem_of(shard.source)
                remote = stack.enter_context(filesystem.open(path, "rb"))
                if isinstance(remote, io.BytesIO):
                    # memory:// gives everyone the same object, with one place to read at
                    remote = io.BytesIO(remote.getvalue())
                remote.seek(begin)

            def fill(view: memoryview) -> int:
                with driver_errors(shard.source, "cannot read"):
                    content = remote.read(len(view))
                view[: len(content)] = content
                return len(content)

            yield fill
            return
        try:
            local = stack.enter_context(open(shard.source, "rb", buffering=0))
            local.seek(begin)
        except OSError as error:
            raise DataError(shard.source, None, f"cannot open: {reason(error)}") from error

        def fill_local(view: memoryview) -> int:
            try:
                return local.readinto(view) or 0
            except OSError as error:
                why = f"cannot read: {reason(error)}"
                raise StorageError(shard.source, None, why) from error

        yield fill_local


class _Blocks:
    """The text of a shard, in blocks that end in white space (or at a line end, if asked).

    ``too_long`` is called when a word (a line) is longer than any that is read; if it returns, the
    line is left out.
    """

    def __init__(self, shard: Shard, fill: Fill, size: int, too_long: Callable[[], None]) -> None:
        self._fill = fill
        self._too_long = too_long
        self._left_out = shard.start > 0  # the rest of the line that began in the shard before
        self._to_go = None if shard.stop is None else shard.stop - max(0, shard.start - 1)
        self._first = shard.start == 0 and not shard.kind
        self._resize(max(size, 16), b"")

    def _resize(self, size: int, content: bytes) -> None:
        self.raw = bytearray(size + PAD)
        self.raw[: len(content)] = content
        self.text = np.frombuffer(self.raw, dtype=np.uint8)
        self._view = memoryview(self.raw)
        self._size = size

    def cut(self, by_line: bool) -> Iterator[tuple[int, int]]:
        """Give (begin, end) of what stands in ``text`` and is ready to be used."""
        filled = 0
        last_byte = 10
        ended = False
        most = LONGEST_LINE if by_line else LONGEST_WORD
        while not ended:
            if filled > most:
                self._too_long()
                self._left_out = True
                self._to_go = None if self._to_go is None else self._to_go - filled
                filled = 0
            if filled == self._size:  # one word (or line) as long as the buffer
                self._resize(2 * self._size, bytes(self._view[:filled]))
            fresh = filled
            while filled < self._size:
                n_bytes = self._fill(self._view[filled : self._size])
                if not n_bytes:
                    ended = True
                    break
                filled += n_bytes
            begin = 0
            if self._first:
                begin = 3 if self.raw.startswith(_BOM, 0, filled) else 0
                self._first = False
            if self._left_out:
                at = self.raw.find(b"\n", fresh, filled)
                consumed = filled if at < 0 else at + 1
                begin = consumed
                if self._to_go is not None and consumed >= self._to_go:
                    return  # no line begins in this range
                if at < 0:
                    self._to_go = None if self._to_go is None else self._to_go - filled
                    filled = 0
                    continue
                self._left_out = False
            if self._to_go is not None and filled >= self._to_go:
                at = self.raw.find(b"\n", max(fresh, self._to_go - 1), filled)
                if at >= 0:
                    filled = at + 1
                    ended = True
            if ended:
                last_byte = self.raw[filled - 1] if filled > begin else last_byte
                if last_byte != 10:
                    self.raw[filled] = 10  # PAD leaves room for this line end
                    filled += 1
                if filled > begin:
                    yield begin, filled
                return
            end = self._last_cut(begin, filled, by_line)
            if end > begin:
                last_byte = self.raw[end - 1]
                yield begin, end
            used = max(begin, end)
            if used:
                rest = bytes(self._view[used:filled])
                self._view[: len(rest)] = rest
                filled -= used
                self._to_go = None if self._to_go is None else self._to_go - used

    def _last_cut(self, begin: int, end: int, by_line: bool) -> int:
        if by_line:
            return self.raw.rfind(b"\n", begin, end) + 1
        for at in range(end - 1, max(begin, end - 64) - 1, -1):
            if self.raw[at] in _WHITE:
                return at + 1
        return max(self.raw.rfind(_WHITE[i : i + 1], begin, end) for i in range(6)) + 1


def read_segments(
    shard: Shard,
    budget: Budget,
    *,
    errors: ShardErrors | None = None,
    on_bytes: OnBytes | None = None,
) -> Iterator[Segment]:
    """The ids of a shard, segment by segment; with ``errors``, bad lines are left out."""
    from eigentext.counting.kernels import interning as kernels

    table = TypeTable(min(1 << 14, budget.segment_types))
    chunks: list[Int32s] = []
    out = np.empty(0, dtype=np.int32)
    n_ids = 0
    n_reported = 0
    line = 0
    seen_text = False

    def too_long() -> None:
        nonlocal line
        if errors is None:
            at = int(table.state[kernels.LINE]) + 1 + lines_before(shard)
            raise DataError(shard.source, at, long_word(LONGEST_WORD))
        errors(line, TOO_LONG)
        line += 1

    with _open_text(shard, budget, errors) as (text, fill):
        blocks = _Blocks(text, fill, budget.block_bytes, too_long)
        plain = not shard.kind  # what comes out of records has been looked at
        for begin, end in blocks.cut(by_line=plain and errors is not None):
            if plain and not seen_text and shard.start == 0:
                seen_text = _look_at_first_line(shard, blocks.raw, begin, end)
            if plain and errors is not None:
                line = _blank_bad_lines(blocks.raw, begin, end, line, errors)
            if len(out) < end - begin:
                out = np.empty(max(end - begin, budget.block_bytes), dtype=np.int32)
            n_out = table.intern(blocks.text, begin, end, out)
            chunks.append(out[:n_out].copy())
            n_ids += n_out
            n_reported = _report(shard, n_reported, end - begin, on_bytes)
            if (
                len(table) > budget.segment_types
                or table.word_bytes > budget.segment_bytes
                or n_ids > budget.segment_tokens
            ):
                yield _closed(shard, table, chunks)
                state = table.state
                table = TypeTable(min(1 << 14, budget.segment_types))
                for counter in (kernels.LINE, kernels.IN_LINE):
                    table.state[counter] = state[counter]
                chunks, n_ids = [], 0
    if n_ids:
        yield _closed(shard, table, chunks)
    if on_bytes is not None:
        on_bytes(shard.size - n_reported)


@contextlib.contextmanager
def _open_text(
    shard: Shard, budget: Budget, errors: ShardErrors | None
) -> Iterator[tuple[Shard, Fill]]:
    """The text of a shard: itself, or what stands in its records, which then is a whole."""
    if not shard.kind:
        with _open_at(shard) as fill:
            yield shard, fill
        return

    def left_out(number: int, why: str) -> None:
        if errors is None:
            raise fault(shard.source, shard.kind, lines_before(shard) + number + 1, why)
        errors(number, why)

    lines = _numbered_lines(shard, budget.block_bytes, left_out)
    with contextlib.closing(record_texts(shard, lines, left_out)) as texts:
        yield replace(shard, start=0, stop=None), RawChunks(texts).readinto


def _numbered_lines(
    shard: Shard, block_bytes: int, left_out: Callable[[int, str], None]
) -> Iterator[tuple[int, bytes]]:
    """The lines that begin in a shard, with their numbers from 0."""
    number = 0

    def too_long() -> None:
        nonlocal number
        left_out(number, TOO_LONG)
        number += 1

    with _open_at(shard) as fill:
        blocks = _Blocks(shard, fill, block_bytes, too_long)
        for begin, end in blocks.cut(by_line=True):
            lines = bytes(blocks.raw[begin:end]).split(b"\n")
            yield from enumerate(lines[:-1], start=number)
            number += len(lines) - 1


def _look_at_first_line(shard: Shard, raw: bytearray, begin: int, end: int) -> bool:
    """Refuse what is no text by its first line; False while there has been none."""
    if is_model(bytes(raw[begin : min(end, begin + 100)])):
        raise DataError(shard.source, 1, NO_TEXT)
    for number, content in enumerate(bytes(raw[begin:end]).split(b"\n"), start=1):
        if content.strip():
            check_text(shard.source, number, content.decode(errors="replace"))
            return True
    return False


def _report(shard: Shard, before: int, fresh: int, on_bytes: OnBytes | None) -> int:
    """Tell how many bytes of the file were used; of a packed file that is an estimate."""
    if on_bytes is None:
        return before
    fresh = fresh if shard.stop is not None else fresh // _PACKING
    fresh = max(0, min(fresh, shard.size - before))
    on_bytes(fresh)
    return before + fresh


def _closed(shard: Shard, table: TypeTable, chunks: list[Int32s]) -> Segment:
    from eigentext.counting.kernels.interning import N_SENTENCES, N_TOKENS

    types = table.types
    try:
        # no word ends in the middle of a character exactly when each word is valid by itself
        types.blob[: types.offsets[-1]].tobytes().decode()
        lone = (types.blob[types.offsets[:-1]] & 0xC0) == 0x80
        valid = not lone.any()
    except UnicodeDecodeError:
        valid = False
    if not valid:
        _raise_bad_word(shard, types, table.first_lines)
    state = table.state
    return Segment(types, tuple(chunks), int(state[N_TOKENS]), int(state[N_SENTENCES]))


def _raise_bad_word(shard: Shard, types: Types, first_lines: Int64s) -> None:
    """Name the first line that holds a word that is not UTF-8."""
    for number in np.argsort(first_lines, kind="stable"):
        try:
            types.word(int(number)).decode()
        except UnicodeDecodeError as error:
            line = int(first_lines[number]) + 1 + lines_before(shard)
            raise DataError(shard.source, line, _why(error)) from error


def _why(error: UnicodeDecodeError) -> str:
    shown = ascii(error.object[:40])[1:]
    return f"not UTF-8: byte 0x{error.object[error.start]:02x} in {shown}"


def lines_before(shard: Shard) -> int:
    """The number of line ends before the first line of the shard, or of rows."""
    if shard.start == 0:
        return 0
    if shard.kind == "parquet":
        return sum(group.n_rows for group in parquet.row_groups(shard.source)[: shard.start])
    lines, to_go, last_byte = 0, shard.start, 10
    block = bytearray(1 << 20)
    with _open_at(Shard(shard.source, 0, shard.start, shard.start)) as fill:
        while to_go and (n_bytes := fill(memoryview(block)[: min(to_go, len(block))])):
            lines += block.count(b"\n", 0, n_bytes)
            to_go -= n_bytes
            last_byte = block[n_bytes - 1]
    return lines + (last_byte != 10)  # a line that began before is not of this shard


def _blank_bad_lines(raw: bytearray, begin: int, end: int, line: int, errors: ShardErrors) -> int:
    """Overwrite lines that are not UTF-8 with spaces; returns the number of the next line."""
    block = bytes(raw[begin:end])
    n_lines = block.count(b"\n")
    try:
        block.decode()
    except UnicodeDecodeError:
        at = begin
        for number, content in enumerate(block.split(b"\n")):
            try:
                content.decode()
            except UnicodeDecodeError as error:
                errors(line + number, _why(error))
                raw[at : at + len(content)] = b" " * len(content)
            at += len(content) + 1
    return line + n_lines
