"""A whole store as one file, and back: nothing is left out, whatever database it comes from.

1. A *copy* is a SQLite file as it is at one moment, made while others are at work in it.
2. A *dump* is JSON Lines, from either database and for either: a head with the version of the
   tables, a line for every row, and at the end how many there were, so that a dump that was cut
   off is known as one.  The same store gives the same lines.
3. :func:`restore` makes a new store of either; it appears when it is complete, or not at all.  A
   dump of an earlier version is put into tables of that version, which are then brought up to
   date.

Both hold the users with their passwords (as argon2 has them): only the owner may read the file.
"""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import JSON, Float, MetaData, func, insert, select, text
from sqlalchemy.exc import OperationalError, StatementError

from eigentext.base.files.opening import atomic_write, numbered_lines
from eigentext.base.files.writing import scratch_folder
from eigentext.errors import DataError, SettingsError
from eigentext.studio.store import migrating
from eigentext.studio.store.database import Database
from eigentext.studio.store.problems import StoreError
from eigentext.studio.store.records import is_sentence
from eigentext.studio.store.rows import LARGEST, check_json
from eigentext.studio.store.schema import VERSION_TABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import Table
    from sqlalchemy.engine import Connection

    from eigentext.base.types import Json

_KIND = "eigentext annotations"
_AT_A_TIME = 200  # rows
_LONGEST_HEAD = 1 << 16  # bytes of the first line: no more is read of what is no dump
_LONGEST = 1 << 30  # bytes of a row: a document is one, and SQLite holds no larger ones


def back_up(store: Database, target: str) -> str:
    """Write the store to a file and say how: "copy", or "dump" where the name has ``.jsonl``."""
    if ".jsonl" in os.path.basename(target):
        dump(store, target)
        return "dump"
    if not store.is_file:
        raise SettingsError(
            f"a backup of a database on a server is a dump: give it a name that ends in .jsonl or "
            f".jsonl.gz, not {target!r}"
        )
    if os.path.exists(target) and os.path.samefile(target, store.path):
        raise SettingsError(f"{target} is the store itself")
    migrating.copy_file(store.path, target)
    return "copy"


def dump(store: Database, target: str) -> None:
    """Write all rows of a store as JSON Lines; packed where the name ends in .gz, .xz, ..."""

    def work(c: Connection) -> None:
        with atomic_write(target) as out:
            for line in dump_lines(c, store.name):
                out.write(line.encode() + b"\n")

    store.reading(work)
    if os.path.isfile(target):
        os.chmod(target, 0o600)


def dump_lines(c: Connection, name: str) -> Iterator[str]:
    """The lines of a dump, of the tables as they are found."""
    version = migrating.found_version(c, name)
    yield _line({"kind": _KIND, "version": version})
    counts = {}
    for table in _tables(c):
        counts[table.name] = 0
        rows = c.execution_options(yield_per=_AT_A_TIME).execute(
            select(table).order_by(*table.primary_key)
        )
        for row in rows:
            counts[table.name] += 1
            yield _line({"table": table.name, "row": row._asdict()})
    yield _line({"end": counts, "numbers": dict(sorted(_numbers(c)))})


def restore(source: str, where: str) -> dict[str, int]:
    """Make a new store of a backup; how many rows each table has."""
    is_dump = not _is_database(source)
    if "://" in where and not where.startswith("sqlite"):
        return _restore_to(source, where, is_dump)
    path = where.removeprefix("sqlite:///")
    if os.path.exists(path):
        raise SettingsError(f"{path} is there already: a backup is restored to a new store")
    folder = Path(os.path.abspath(path)).parent
    if not folder.is_dir():
        raise StoreError(f"{path}: there is no folder {folder}")
    migrating.check_beside(path, path)
    with scratch_folder(folder) as scratch:
        counts = _restore_to(source, str(scratch / "store.db"), is_dump)
        os.rename(scratch / "store.db", path)
    return counts


def _restore_to(source: str, where: str, is_dump: bool) -> dict[str, int]:
    if not is_dump:
        with scratch_folder() as folder:
            lines = str(folder / "store.jsonl")
            copy = str(folder / "copy.db")  # a backup is not touched, not even migrated
            migrating.prepare_file(os.path.abspath(source), source, create=False)
            migrating.copy_file(os.path.abspath(source), copy)
            backup = Database(copy, create=False)
            dump(backup, lines)
            backup.close()
            return _restore_to(lines, where, is_dump=True)
    store = Database(where, fill=lambda c: _load(c, source, where))
    try:
        return store.reading(_counts)
    finally:
        store.close()


def _load(c: Connection, source: str, name: str) -> None:
    """Make the tables of the dump's version and fill them."""
    number, head = next(numbered_lines(source, longest=_LONGEST_HEAD), (1, ""))
    version = _record(source, number, head).get("version")
    if version not in migrating.known_versions():
        raise DataError(
            source,
            number,
            f"a dump of version {version} of the tables; this release knows "
            f"{', '.join(migrating.known_versions())}",
        )
    migrating.upgrade(c, name, version)
    tables = {table.name: table for table in _tables(c)}
    waiting: list[Json] = []
    counts = dict.fromkeys(tables, 0)
    table = ""
    lines = numbered_lines(source, longest=_LONGEST)
    for number, line in itertools.islice(lines, 1, None):
        record = _record(source, number, line)
        if "end" in record:
            _insert(c, tables, table, waiting, source, number)
            if record["end"] != counts:
                raise DataError(source, number, "rows are missing, or there are too many")
            numbers = record.get("numbers")
            _set_numbers(c, numbers if isinstance(numbers, dict) else {}, tables)
            if next(lines, None) is not None:
                raise DataError(source, number + 1, "found more behind the end of the dump")
            return
        named, row = record.get("table"), record.get("row")
        if not isinstance(named, str) or named not in tables or not isinstance(row, dict):
            raise DataError(source, number, "expected a row of a table")
        if named != table or len(waiting) >= _AT_A_TIME:
            _insert(c, tables, table, waiting, source, number)
            waiting, table = [], named
        if row.keys() != set(tables[table].c.keys()):
            raise DataError(source, number, f"expected the columns of the table {table}")
        try:
            waiting.append(check_json(row, f"a row of {table}"))
            _check_types(row, tables[table])
        except SettingsError as error:
            raise DataError(source, number, str(error)) from error
        counts[table] += 1
    raise DataError(source, number, "the dump ends in the middle: its last line is missing")


def _record(source: str, number: int, line: str) -> Json:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict) or (number == 1 and record.get("kind") != _KIND):
        what = "the first line of a dump of annotations" if number == 1 else "a JSON object"
        raise DataError(source, number, f"expected {what}")
    return record


def _check_types(row: Mapping[str, object], table: Table) -> None:
    """See that the values are of the columns' types; SQLite would take any."""
    for column in table.c:
        value = row[column.name]
        if isinstance(column.type, JSON):
            fits = (
                isinstance(value, list) and all(map(is_sentence, value))
                if column.name == "sentences"
                else isinstance(value, dict) or (column.name == "value" and value is None)
            )
        elif value is None:
            fits = bool(column.nullable)
        elif isinstance(column.type, Float):
            fits = isinstance(value, (int, float)) and not isinstance(value, bool)
        else:
            fits = type(value) is column.type.python_type
        if not fits:
            raise SettingsError(f"a row of {table.name}: no value of the column {column.name}")


def _insert(
    c: Connection, tables: dict[str, Table], table: str, rows: list[Json], source: str, number: int
) -> None:
    if not rows:
        return
    try:
        c.execute(insert(tables[table]), rows)
    except OperationalError:
        raise  # the database, and not the row
    except StatementError as error:
        why = (str(error.orig).strip().splitlines() or ["it cannot be stored"])[0]
        raise DataError(source, number, f"a row of {table} before this line: {why}") from error


def _tables(c: Connection) -> list[Table]:
    """The tables that are there, those that are referred to first."""
    tables = MetaData()
    tables.reflect(c)
    return [table for table in tables.sorted_tables if table.name != VERSION_TABLE]


def _counts(c: Connection) -> dict[str, int]:
    return {
        table.name: c.execute(select(func.count()).select_from(table)).scalar_one()
        for table in _tables(c)
    }


def _numbers(c: Connection) -> Iterator[tuple[str, int]]:
    """The last number that was given in each table: no number is given twice, here or there."""
    for table in _tables(c):
        if "id" not in table.c:
            continue
        if c.dialect.name == "sqlite":
            query = text("SELECT seq FROM sqlite_sequence WHERE name = :table")
            yield table.name, c.execute(query, {"table": table.name}).scalar() or 0
        else:
            sequence = _sequence(c, table.name)
            last, called = c.execute(text(f"SELECT last_value, is_called FROM {sequence}")).one()  # noqa: S608
            yield table.name, last if called else 0


def _set_numbers(c: Connection, numbers: dict[str, int], tables: dict[str, Table]) -> None:
    for table, number in numbers.items():
        if table not in tables or not isinstance(number, int) or not 0 < number <= LARGEST:
            continue
        if c.dialect.name == "sqlite":
            row = {"table": table, "number": number}
            done = c.execute(
                text("UPDATE sqlite_sequence SET seq = max(seq, :number) WHERE name = :table"), row
            )
            if not done.rowcount:
                query = "INSERT INTO sqlite_sequence (name, seq) VALUES (:table, :number)"
                c.execute(text(query), row)
        else:
            query = "SELECT setval(CAST(:sequence AS regclass), :number)"
            c.execute(text(query), {"sequence": _sequence(c, table), "number": number})


def _sequence(c: Connection, table: str) -> str:
    query = text("SELECT pg_get_serial_sequence(:table, 'id')")
    return str(c.execute(query, {"table": table}).scalar_one())


def _line(record: Json) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def _is_database(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except FileNotFoundError as error:
        raise DataError(path, None, "no such file") from error
    except OSError as error:
        raise DataError(path, None, str(error.strerror)) from error
