"""The database under a store: connections, transactions, and what their failures mean.

1. A path, or ``sqlite:///...``, is one SQLite file: write-ahead log, every commit on the disk.
   ``postgresql://...`` is a database on a server.
2. Every public call of a store is one transaction: durable when the call returns, undone when it
   raises.  One that writes in SQLite is alone in the file from its beginning on; in PostgreSQL it
   locks the rows it changes.  One that reads sees one state of the whole database.
3. A connection is looked at before it is used: after a server was restarted, or a file was put
   in the place of another, a new one is made.  What is gone is a :class:`StoreError`, for as
   long as it is gone.
4. Deadlocks and serialisation failures are tried again, a few times; no other failure is, for
   nobody knows what became of it.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import wraps
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import create_engine, event
from sqlalchemy.engine import Connection, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    DisconnectionError,
    NoSuchModuleError,
    SQLAlchemyError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import QueuePool

from eigentext.errors import EigentextError, MissingExtraError, SettingsError
from eigentext.studio.store import migrating
from eigentext.studio.store.problems import (
    MissingError,
    StoreBusyError,
    StoreError,
    StoreVersionError,
)

if TYPE_CHECKING:
    from eigentext.base.types import Json

_WAIT = 10.0  # seconds for the turn of another process
_ATTEMPTS = 8
_PASSWORDS = ("password", "sslpassword")  # in the query of a URL
_TRY_AGAIN = {"40001", "40P01"}  # serialisation failure, deadlock
_LOCKED = {"55P03"}  # lock not available

Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")
Store = TypeVar("Store", bound="Database")
Work = Callable[Concatenate[Store, Connection, Parameters], Result]
Call = Callable[Concatenate[Store, Parameters], Result]  # the same without the connection


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


def stamp(moment: datetime) -> str:
    """A time as it is stored.

    >>> stamp(datetime(2026, 1, 2, tzinfo=UTC))
    '2026-01-02T00:00:00.000+00:00'
    """
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")


def reads(work: Work[Store, Parameters, Result]) -> Call[Store, Parameters, Result]:
    """A method that is one transaction and changes nothing; see :meth:`Database.reading`."""

    @wraps(work)
    def call(store: Store, /, *args: Parameters.args, **named: Parameters.kwargs) -> Result:
        return store.reading(lambda c: work(store, c, *args, **named))

    return call


def writes(work: Work[Store, Parameters, Result]) -> Call[Store, Parameters, Result]:
    """A method that is one transaction; see :meth:`Database.writing`."""

    @wraps(work)
    def call(store: Store, /, *args: Parameters.args, **named: Parameters.kwargs) -> Result:
        return store.writing(lambda c: work(store, c, *args, **named))

    return call


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class Database:
    """A database of annotations; made when it is not there and ``create`` says so.

    A file of an earlier version is brought up to date, after a copy was made beside it; a database
    on a server only where ``migrate`` says so, since others may be at work in it.  ``fill`` makes
    and fills the tables of a new one, which must be empty; ``any_version`` opens an earlier
    version as it is, for a backup.
    """

    def __init__(
        self,
        where: str | os.PathLike[str],
        *,
        create: bool = True,
        migrate: bool | None = None,
        clock: Callable[[], datetime] = now,
        fill: Callable[[Connection], None] | None = None,
        any_version: bool = False,
    ) -> None:
        self.clock = clock
        url = _address(os.fspath(where))
        self.is_file = url.get_backend_name() == "sqlite"
        self.path = os.path.abspath(url.database or "") if self.is_file else ""
        # what messages say: the file as it was given, no password
        shown = url.difference_update_query(_PASSWORDS)
        self.name = (url.database or "") if self.is_file else shown.render_as_string()
        secrets = (url.password, *map(url.query.get, _PASSWORDS))
        self._secrets = [str(secret) for secret in secrets if secret]
        self._pid = os.getpid()
        if self.is_file:
            migrating.prepare_file(self.path, self.name, create=create)
            self._engine = create_engine(
                "sqlite+pysqlite://",
                creator=self._connect_file,
                json_serializer=_json,
                poolclass=QueuePool,
                pool_size=5,
                max_overflow=45,
                pool_timeout=_WAIT,
            )
            event.listen(self._engine, "checkout", self._check_file)
            event.listen(self._engine, "begin", _begin_file)
        else:
            self._engine = _server_engine(url)
        try:
            migrate = self.is_file if migrate is None else migrate
            self._open(create=create, migrate=migrate, fill=fill, any_version=any_version)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Give all connections back; the store can still be used, with new ones."""
        self._engine.dispose()

    def now(self) -> str:
        """The time as it is stored."""
        return stamp(self.clock())

    # ---- transactions

    def reading(self, work: Callable[[Connection], Result]) -> Result:
        """What ``work`` gives, which sees one state of the database and changes nothing."""
        return self._repeated(work, write=False)

    def writing(self, work: Callable[[Connection], Result]) -> Result:
        """What ``work`` gives, in one transaction; it may be called again, from the beginning."""
        return self._repeated(work, write=True)

    def _repeated(self, work: Callable[[Connection], Result], *, write: bool) -> Result:
        for attempt in range(_ATTEMPTS):
            try:
                with self._transaction(write=write) as c:
                    return work(c)
            except DBAPIError as error:
                if _sqlstate(error) not in _TRY_AGAIN:
                    raise self._explained(error) from error
                failed = error
            # those who were in each other's way shall not be so again
            time.sleep(random.uniform(0, 0.02 * 2**attempt))  # noqa: S311 - nothing secret
        raise StoreBusyError(
            f"the annotations {self.name}: too many are at work on the same thing; nothing was "
            "saved: try again later"
        ) from failed

    @contextmanager
    def _transaction(self, *, write: bool) -> Iterator[Connection]:
        if os.getpid() != self._pid:  # a fork must not use its parent's connections
            self._pid = os.getpid()
            self._engine.dispose(close=False)
        options: Json = {"eigentext_write": write}
        if not self.is_file and not write:
            options["isolation_level"] = "REPEATABLE READ"
        try:
            connection = self._engine.connect()
        except (SQLAlchemyError, sqlite3.Error) as error:
            raise self._explained(error) from error
        with connection as plain:
            c = plain.execution_options(**options)
            with c.begin():
                yield c

    def _explained(self, error: BaseException) -> EigentextError:
        """What a failure means; a message of a database is its first line."""
        cause = getattr(error, "orig", None) or error
        whole = getattr(cause, "sqlite_errorcode", 0)
        if whole == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY or _sqlstate(error) == "23503":
            return MissingError(
                "a user is not there that is named, or what is changed was removed"
            )
        if isinstance(cause, PoolTimeoutError):
            return StoreBusyError(
                f"the annotations {self.name}: too many calls at a time; nothing was saved: try "
                "again later"
            )
        code = whole & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or _sqlstate(error) in _LOCKED:
            return StoreBusyError(
                f"another program has {self.name} to itself for more than {_WAIT:g} seconds; "
                "nothing was saved: try again later"
            )
        said = (str(cause).strip().splitlines() or [type(cause).__name__])[0]
        for secret in self._secrets:
            said = said.replace(secret, "***")
        if self.is_file and not os.path.exists(self.path):
            return StoreError(f"the annotations {self.name} are not there: put the file back")
        if not self.is_file and getattr(error, "connection_invalidated", False):
            return StoreError(f"the connection to the annotations {self.name} was lost: {said}")
        return StoreError(f"the annotations {self.name}: {said}")

    # ---- opening

    def _open(
        self,
        *,
        create: bool,
        migrate: bool,
        fill: Callable[[Connection], None] | None,
        any_version: bool,
    ) -> None:
        def look(c: Connection) -> str | None:
            return migrating.found_version(c, self.name)

        version = self.reading(look)
        newest = migrating.newest_version()
        if version is None and not create:
            raise StoreVersionError(f"{self.name}: no annotations are in this database")
        if version not in (None, newest) and version not in migrating.known_versions():
            raise StoreVersionError(
                f"{self.name}: written by a newer release (version {version} of the tables, this "
                f"release reads up to {newest})"
            )
        if fill is not None:
            self.writing(lambda c: self._fill(c, fill))
            return
        if version == newest or any_version:
            return
        if version is not None and not migrate:
            raise StoreVersionError(
                f"{self.name}: version {version} of the tables, this release has {newest}; stop "
                "the servers, and `eigentext annotate init --backup FILE` brings it up to date"
            )
        if version is not None and self.is_file:
            stem = f"{self.path}.version-{version}"
            names = chain([f"{stem}.bak"], (f"{stem}-{n}.bak" for n in count(2)))
            copy = next(name for name in names if not os.path.lexists(name))
            migrating.copy_file(self.path, copy)
        self.writing(lambda c: migrating.upgrade(c, self.name))

    def _fill(self, c: Connection, fill: Callable[[Connection], None]) -> None:
        if migrating.found_version(c, self.name) is not None:
            raise StoreVersionError(f"{self.name}: there are annotations in it already")
        fill(c)
        migrating.upgrade(c, self.name)

    def version(self) -> str:
        """The version of the tables."""
        return self.reading(lambda c: migrating.found_version(c, self.name)) or ""

    def _connect_file(self) -> sqlite3.Connection:
        # mode=rw: one that was taken away is missed, not made anew
        connection = sqlite3.connect(
            f"{Path(self.path).as_uri()}?mode=rw",
            timeout=_WAIT,
            isolation_level=None,
            uri=True,
            check_same_thread=False,
        )
        try:
            migrating.check_file(connection, self.name)
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_file(self, connection: Any, record: Any, _proxy: Any) -> None:
        """Is the file that is open still the one that has the name?"""
        try:
            status = os.stat(self.path)
        except OSError as error:
            raise DisconnectionError(str(error)) from error
        identity = status.st_dev, status.st_ino
        if record.info.setdefault("file", identity) != identity:
            raise DisconnectionError("another file is in its place")


def _begin_file(c: Connection) -> None:
    writes = c.get_execution_options().get("eigentext_write", True)
    c.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _address(where: str) -> Any:
    """The URL of a database; what has no ``://`` is a file."""
    if not where:
        raise SettingsError("the annotations need a file or a URL")
    if "://" not in where:
        return make_url("sqlite://").set(database=where)
    try:
        url = make_url(where)
        backend = url.get_backend_name()
    except (ArgumentError, ValueError) as error:
        raise SettingsError(f"not the URL of a database: {error}") from error
    if backend in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if backend == "sqlite" and url.database and url.database != ":memory:":
        return url
    raise SettingsError(
        "annotations are kept in a SQLite file (a path, or sqlite:///path) or in PostgreSQL "
        f"(postgresql://user@host/database), not in {backend}"
    )


def _server_engine(url: Any) -> Any:
    try:
        engine = create_engine(
            url,
            json_serializer=_json,
            pool_pre_ping=True,
            pool_size=5,
            max_overflow=45,
            pool_timeout=_WAIT,
            connect_args={
                "connect_timeout": 5,
                # a server that vanished without a word is missed in seconds
                "tcp_user_timeout": 10_000,
                "application_name": "eigentext",
            },
        )
    except (ImportError, NoSuchModuleError) as error:
        raise MissingExtraError(
            "annotations in PostgreSQL", extra="postgres", modules=["psycopg[binary]"]
        ) from error

    def connected(connection: Any, _record: Any) -> None:
        autocommit, connection.autocommit = connection.autocommit, True
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = {int(_WAIT * 1000)}")
            cursor.execute("SHOW synchronous_commit")
            # what is confirmed is on the disk, whatever the server does for others
            if cursor.fetchone()[0] in ("off", "local"):
                cursor.execute("SET synchronous_commit = on")
        connection.autocommit = autocommit

    event.listen(engine, "connect", connected)
    return engine


def _sqlstate(error: BaseException) -> str:
    return getattr(getattr(error, "orig", None), "sqlstate", None) or ""
