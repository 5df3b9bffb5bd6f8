"""Parquet: tables one of whose columns is text, read by pyarrow, some rows at a time.

What pyarrow refuses is a DataError, a row without a string a
:class:`~eigentext.language.formats.jsonl.BadRecord` in its place.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from eigentext.base.files.archives import suffix_of
from eigentext.base.files.opening import atomic_write
from eigentext.base.files.storage import driver_errors, filesystem_of, is_url, reason
from eigentext.base.files.writing import check_input
from eigentext.errors import DataError, EigentextError, StorageError, import_extra
from eigentext.language.formats.jsonl import BadRecord, named

_MARK = b"PAR1"
_ROWS = 128  # texts in memory at a time
_TABLE_ROWS = 1 << 16  # rows of words and numbers
_BUFFER = 1 << 20  # bytes of a column read at a time


class RowGroup(NamedTuple):
    """How many rows it has, and bytes of all columns when they are unpacked."""

    n_rows: int
    n_bytes: int


def row_groups(source: str) -> list[RowGroup]:
    """The groups of rows that a file is made of, in order."""
    with _opened(source) as file:
        about = file.metadata
        groups = (about.row_group(number) for number in range(about.num_row_groups))
        return [RowGroup(group.num_rows, group.total_byte_size) for group in groups]


def texts(
    source: str, field: str, first: int = 0, last: int | None = None
) -> Iterator[str | BadRecord]:
    """One column of the row groups ``first`` to ``last`` (which is not among them), row by row."""
    with _opened(source) as file:
        kind, shown = _kind_of(source, file.schema_arrow, field, hint=" (--field chooses one)")
        if kind != "strings":
            raise DataError(source, None, f"column {field!r} holds {shown}, expected strings")
        last = file.metadata.num_row_groups if last is None else last
        batches = file.iter_batches(_ROWS, list(range(first, last)), [field], use_threads=False)
        for batch in batches:
            for value in batch.column(0):
                yield _text(value, field)


def columns(
    source: str,
    *,
    strings: Sequence[str] = (),
    integers: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> Iterator[list[Any]]:
    """Columns as arrow arrays, some rows at a time: strings, then int64, of which those
    that are ``optional`` are left out where the file lacks them.
    """
    with _opened(source) as file:
        schema = file.schema_arrow
        integers = [*integers, *(name for name in optional if name in schema.names)]
        kinds = {name: _kind_of(source, schema, name) for name in (*strings, *integers)}
        for name, (kind, shown) in kinds.items():
            if kind != ("strings" if name in strings else "integers"):
                needed = "strings" if name in strings else "integers"
                raise DataError(source, None, f"column {name!r} holds {shown}, expected {needed}")
        names = [*strings, *integers]
        for batch in file.iter_batches(_TABLE_ROWS, columns=names, use_threads=False):
            arrays = [batch.column(name) for name in names]
            arrays = [
                array.cast("string" if name in strings else "int64")
                for name, array in zip(names, arrays, strict=True)
            ]
            for array in arrays:
                array.validate(full=True)  # UTF-8
            yield arrays


def write_columns(
    path: str,
    blocks: Iterable[Mapping[str, object]],
    *,
    strings: Sequence[str] = (),
    integers: Sequence[str] = (),
) -> None:
    """Write blocks of columns, whole or not at all, each block by itself."""
    pa, pq = _pyarrow(), _pyarrow(".parquet")
    kinds = dict.fromkeys(strings, pa.string()) | dict.fromkeys(integers, pa.int64())
    schema = pa.schema(kinds.items())
    with atomic_write(path) as out, pq.ParquetWriter(out, schema, compression="zstd") as writer:
        for block in blocks:
            writer.write_batch(pa.record_batch(dict(block), schema=schema))


def _kind_of(source: str, schema: Any, name: str, hint: str = "") -> tuple[str, str]:
    """Whether a column holds ``strings`` or ``integers``, and what its type is called."""
    import pyarrow.types as types

    if schema.names.count(name) != 1:
        count = "twice the" if name in schema.names else "no"
        why = f"{count} column {name!r}, found: {named(schema.names)}{hint}"
        raise DataError(source, None, why)
    kind = schema.field(name).type
    held = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_integer(held):
        return "integers", str(kind)
    is_text = str(held).removeprefix("large_").removesuffix("_view") in ("string", "binary")
    return "strings" if is_text else "", str(kind)


def _text(value: Any, field: str) -> str | BadRecord:
    try:
        text = value.as_py()
        if text is None:
            return BadRecord(f"nothing in the column {field!r}, expected a string")
        return text.decode() if isinstance(text, bytes) else str(text)
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        return BadRecord(f"not UTF-8: byte 0x{byte:02x} at position {error.start + 1}")


@contextlib.contextmanager
def _opened(source: str) -> Iterator[Any]:
    """A ``pyarrow.parquet.ParquetFile``; what goes wrong with it is a DataError."""
    pa, pq = _pyarrow(), _pyarrow(".parquet")
    check_input(source)
    if suffix_of(source):
        raise DataError(source, None, "a packed Parquet file: unpack it, it is packed inside")
    try:
        with contextlib.ExitStack() as stack:
            file: Any
            if is_url(source):
                with driver_errors(source, "cannot open"):
                    filesystem, path = filesystem_of(source)
                    file = stack.enter_context(filesystem.open(path, "rb"))
                if isinstance(file, io.BytesIO):
                    # memory:// gives everyone the same object, with one place to read at
                    file = io.BytesIO(file.getvalue())
            else:
                file = stack.enter_context(open(source, "rb"))
            _check_marks(source, file)
            yield pq.ParquetFile(
                file, buffer_size=_BUFFER, pre_buffer=False, page_checksum_verification=True
            )
    except EigentextError:
        raise
    except pa.ArrowException as error:
        raise DataError(source, None, f"not a sound Parquet file: {_brief(error)}") from error
    except OSError as error:
        # pyarrow's own has no number: a page that cannot be unpacked
        failed = is_url(source) or (error.errno and not isinstance(error, FileNotFoundError))
        kind = StorageError if failed else DataError
        raise kind(source, None, f"cannot read: {_brief(error)}") from error
    except Exception as error:
        if not is_url(source):
            raise
        why = f"cannot read: {type(error).__name__}: {error}"
        raise StorageError(source, None, why) from error


def _check_marks(source: str, file: Any) -> None:
    """Every such file begins with a mark, and ends with it when it is whole."""
    start = file.read(len(_MARK))
    if start != _MARK:
        raise DataError(source, None, f"begins with {start!r}, expected a Parquet file")
    file.seek(-len(_MARK), os.SEEK_END)
    if file.read() != _MARK:
        raise DataError(source, None, "a truncated Parquet file: its end is missing")
    file.seek(0)


def _pyarrow(module: str = "") -> Any:
    return import_extra(f"pyarrow{module}", "Parquet files", "parquet")


def _brief(error: Exception) -> str:
    return reason(error).split("\n")[0]
