"""The version of a database, and the way from an earlier one to this release's.

Every version of the tables is a file in ``migrations/versions``.  A new database goes through all
of them: there is one way to make tables.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import inspect, text

from eigentext.base.files.writing import scratch_folder
from eigentext.studio.store.problems import StoreError, StoreVersionError
from eigentext.studio.store.schema import VERSION_TABLE

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

FOLDER = Path(__file__).parent / "migrations"
VERSIONS = FOLDER / "versions"
_KIND = 0x45696741  # what SQLite's header calls the application
_LOCK = 0x45696741  # of those who change tables on a server


def known_versions() -> tuple[str, ...]:
    """All versions, the oldest first: the numbers that the names of their files begin with."""
    return tuple(sorted(file.name[:4] for file in VERSIONS.glob("[0-9]*.py")))


def newest_version() -> str:
    """The version of this release."""
    return known_versions()[-1]


def found_version(c: Connection, name: str) -> str | None:
    """The version of the database, None of an empty one; one that is another's is an error."""
    tables = set(inspect(c).get_table_names())
    if VERSION_TABLE in tables:
        versions = c.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalars().all()  # noqa: S608
        if len(versions) == 1:
            return str(versions[0])
        raise StoreVersionError(f"{name}: found {len(versions)} versions of the tables")
    if tables:
        raise StoreVersionError(f"{name}: a database, but not one of annotations")
    return None


def upgrade(c: Connection, name: str, to: str = "head") -> None:
    """Make the tables, or bring them up to date, in the transaction of the connection."""
    if c.dialect.name == "postgresql":  # SQLite's writers are alone anyway
        c.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
    found_version(c, name)  # another may have been here first; alembic then has nothing to do
    if c.dialect.name == "sqlite":
        c.exec_driver_sql(f"PRAGMA application_id = {_KIND}")
    # here, and not above: a store that is up to date has no need of it
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.set_main_option("version_locations", str(VERSIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    config.attributes["connection"] = c
    command.upgrade(config, to)


# ---- SQLite files


def prepare_file(path: str, name: str, *, create: bool) -> None:
    """See that the file is one of annotations, or empty; nothing of another's is touched."""
    if not os.path.exists(path):
        if not create:
            raise StoreError(f"{name}: no such file of annotations")
        folder = os.path.dirname(path)
        if not os.path.isdir(folder):
            raise StoreError(f"{name}: there is no folder {folder}")
        check_beside(path, name)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # passwords are in it
        except OSError as error:
            raise StoreError(f"{name}: {error.strerror}") from error
        return
    if os.path.isdir(path):
        raise StoreError(f"{name}: a folder, expected a file of annotations")
    try:
        with closing(sqlite3.connect(f"{Path(path).as_uri()}?mode=ro", uri=True)) as c:
            check_file(c, name)
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_NOTADB:
            raise StoreVersionError(f"{name}: not a file of annotations") from error
        raise StoreError(f"{name}: {error}") from error


def check_beside(path: str, name: str, *, replaced: bool = False) -> None:
    """Refuse a name beside which files stand that SQLite would take for its own.

    Those beside a file that is there are its own; where it is to be ``replaced``, a log with
    something in it would be played into the new one.
    """
    suffixes = ("-wal", "-journal", "-shm")
    beside = [path + suffix for suffix in suffixes if os.path.lexists(path + suffix)]
    if os.path.exists(path):  # looked at last: it may have been made in the meantime
        logs = [file for file in beside if not file.endswith("-shm")]
        beside = [file for file in logs if replaced and os.path.getsize(file)]
    if beside:
        raise StoreError(
            f"{name}: beside it is {os.path.basename(beside[0])}, which SQLite would take for a "
            "part of it: move it away, or give another name"
        )


def check_file(c: sqlite3.Connection, name: str) -> None:
    """Refuse a file that is a database of something else."""
    kind = c.execute("PRAGMA application_id").fetchone()[0]
    if kind == _KIND:
        return
    if kind or c.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise StoreVersionError(f"{name}: a database, but not one of annotations")


def copy_file(path: str, target: str) -> None:
    """A copy of a file of annotations as it is now, whoever is at work in it."""
    check_beside(target, target, replaced=True)
    try:
        with scratch_folder(Path(os.path.abspath(target)).parent) as folder:
            unfinished = folder / "copy"
            with (
                closing(sqlite3.connect(f"{Path(path).as_uri()}?mode=ro", uri=True)) as source,
                closing(sqlite3.connect(unfinished)) as copy,
            ):
                source.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")  # reading it leaves no files beside
            with open(unfinished, "rb") as file:
                os.fsync(file.fileno())
            os.chmod(unfinished, 0o600)
            os.replace(unfinished, target)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"cannot copy {path} to {target}: {error}") from error
