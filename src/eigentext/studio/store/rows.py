"""What all that is stored has to be, and rows that several write."""

from __future__ import annotations

import math
import re
import sqlite3
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError

from eigentext.errors import SettingsError, shortened
from eigentext.studio.store.problems import MissingError, TakenError
from eigentext.studio.store.records import DocumentFacts, Layer, Project
from eigentext.studio.store.schema import audit, documents, layers, projects, users

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Table
    from sqlalchemy.engine import Connection

LARGEST = 2**63 - 1

Found = TypeVar("Found", bound=Project | DocumentFacts)

# control characters, and marks that turn the direction of what stands around them
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def check_name(name: str, what: str) -> str:
    """A name that can be shown: not empty, one line, no marks that nobody sees.

    >>> check_name("", "the name of a project")
    Traceback (most recent call last):
    eigentext.errors.SettingsError: the name of a project is empty
    """
    if not name.strip():
        raise SettingsError(f"{what} is empty")
    if name != name.strip():
        raise SettingsError(f"{what} begins or ends with white space")
    if len(name) > 200:
        raise SettingsError(f"{what} has {len(name):,} characters, 200 are the most")
    hidden = _HIDDEN.search(name)
    if hidden:
        raise SettingsError(f"{what} has the character U+{ord(hidden[0]):04X} in it")
    return name


def check_text(text: str, what: str) -> str:
    """Text that every database can hold."""
    bad = _UNSTORABLE.search(text)
    if bad:
        raise SettingsError(f"{what}: the character U+{ord(bad[0]):04X} cannot be stored")
    return text


def is_storable(text: str) -> bool:
    """Can every database hold it?  What cannot be stored is nowhere in there."""
    return _UNSTORABLE.search(text) is None


def check_json(value: object, what: str, deepest: int = 100) -> Any:
    """A value that JSON and every database can hold, as it is read back from there.

    >>> check_json({"x": (1, float("nan"))}, "the value")
    Traceback (most recent call last):
    eigentext.errors.SettingsError: the value: nan is no number of JSON
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return check_text(value, what)
    if isinstance(value, int):
        if abs(value) > LARGEST:
            raise SettingsError(f"{what}: a number is too large")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise SettingsError(f"{what}: {value} is no number of JSON")
        return value
    if not deepest:
        raise SettingsError(f"{what}: too many values inside each other")
    if isinstance(value, (list, tuple)):
        return [check_json(item, what, deepest - 1) for item in value]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise SettingsError(f"{what}: the key {key!r} is no text")
            check_text(key, what)
        return {key: check_json(item, what, deepest - 1) for key, item in value.items()}
    raise SettingsError(f"{what}: {type(value).__name__} is no type of JSON")


def log(c: Connection, at: str, user: int | None, action: str, about: Mapping[str, Any]) -> None:
    """Write an entry of the audit log."""
    c.execute(insert(audit).values(at=at, user=user, action=action, about=dict(about)))


def row_number(number: int, what: str) -> int:
    """A number that a row can have."""
    if not 0 < number <= LARGEST:
        raise MissingError(f"there is no {what} {shortened(str(number), 40)}")
    return number


def taken_or(error: IntegrityError, why: str) -> Exception:
    """Was it a name that something else has?  Other failures are left to the database."""
    cause: Any = error.orig
    unique = (sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
    if getattr(cause, "sqlite_errorcode", None) in unique:
        return TakenError(why)
    return TakenError(why) if getattr(cause, "sqlstate", None) == "23505" else error


def insert_row(c: Connection, table: Table, row: Mapping[str, object], taken: str) -> int:
    """Add a row and give its number; ``taken`` is the error if its name is another's."""
    try:
        done = c.execute(insert(table).values(row))
    except IntegrityError as error:
        raise taken_or(error, taken) from error
    key = done.inserted_primary_key
    return int(key[0]) if key else 0


def update_row(
    c: Connection, table: Table, number: int, values: Mapping[str, object], taken: str
) -> None:
    """Change a row; ``taken`` is the error if its new name is another's."""
    try:
        c.execute(update(table).where(table.c.id == number).values(values))
    except IntegrityError as error:
        raise taken_or(error, taken) from error


def find_row(c: Connection, table: Table, number: int, query: object = None) -> Any:
    """The row of this number, in the columns of the query, or all."""
    what = table.name[:-1]
    chosen: Any = select(table) if query is None else query
    row = c.execute(chosen.where(table.c.id == row_number(number, what))).first()
    if row is None:
        raise MissingError(f"there is no {what} {number}")
    return row


def find_project(c: Connection, number: int) -> Project:
    """The project of this number, deleted or not."""
    return Project(*find_row(c, projects, number))


def find_facts(c: Connection, number: int) -> DocumentFacts:
    """The document of this number, deleted or not, without its text."""
    return DocumentFacts(*find_row(c, documents, number))


def there(row: Found, kind: str) -> Found:
    """What was found, if it was not deleted."""
    if row.deleted is not None:
        raise MissingError(f"the {kind} {row.name!r} was deleted")
    return row


def find_user(c: Connection, number: int) -> None:
    """See that there is a user of this number."""
    find_row(c, users, number, select(users.c.id))


def find_layer(c: Connection, number: int) -> Layer:
    """The layer of this number."""
    return Layer(*find_row(c, layers, number))
