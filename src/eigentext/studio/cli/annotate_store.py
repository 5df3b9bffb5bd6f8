"""What all commands of ``eigentext annotate`` share: the store, and names for what is in it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.base.files.outputs import check_input
from eigentext.cli.output import show_table
from eigentext.errors import MissingExtraError, SettingsError

if TYPE_CHECKING:
    from eigentext.studio.store.accounts import Accounts
    from eigentext.studio.store.store import AnnotationStore

Store = Annotated[
    str,
    typer.Argument(
        help="The annotations: a file, or postgresql://USER@HOST/DATABASE.", show_default=False
    ),
]
ProjectName = Annotated[str, typer.Argument(help="Name of a project.", show_default=False)]


def needed() -> None:
    """The packages of the store, or an error that says how to get them."""
    if not all(map(find_spec, ("sqlalchemy", "alembic", "argon2"))):
        raise MissingExtraError(
            "annotations", extra="web", modules=["sqlalchemy", "alembic", "argon2-cffi"]
        )


@contextmanager
def opened(where: str, **how: Any) -> Iterator[AnnotationStore]:
    """The store, which must be there unless ``create`` says otherwise."""
    needed()
    for file in ("", "-wal", "-shm", "-journal"):  # what SQLite keeps beside it
        check_input(where + file)
    from eigentext.studio.store.store import AnnotationStore

    store = AnnotationStore(where, **{"create": False, **how})
    try:
        yield store
    finally:
        store.close()


@contextmanager
def opened_accounts(where: str, **how: Any) -> Iterator[Accounts]:
    """The users of a store, which must be there unless ``create`` says otherwise."""
    with opened(where, **how) as store:
        from eigentext.studio.store.accounts import Accounts

        yield Accounts(store)


def new_password() -> str:
    """Asked for twice at a terminal; else the first line of standard input."""
    if sys.stdin is not None and sys.stdin.isatty():
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    line = sys.stdin.readline() if sys.stdin is not None else ""
    if not line:
        raise SettingsError("no password: expected one on the first line of standard input")
    return line.rstrip("\r\n")


def show_rows(rows: list[dict[str, Any]], format_: str) -> None:
    """Rows as a table, or as JSON Lines."""
    if format_ == "jsonl":
        for row in rows:
            print(json.dumps(row, ensure_ascii=False))
        return
    words = {None: "-", True: "yes", False: "no"}
    show_table(
        "",
        [
            {
                name: words[value] if value is None or isinstance(value, bool) else value
                for name, value in row.items()
            }
            for row in rows
        ],
    )
