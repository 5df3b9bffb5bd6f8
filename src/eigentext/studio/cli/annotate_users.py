"""``eigentext annotate user`` and ``token``: who may do what in a store."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.output import remark, show_table
from eigentext.studio.cli.annotate_store import Store, UserName, new_password, opened_accounts

users = typer.Typer(no_args_is_help=True, help="Users: add, list, password, role, disable.")
tokens = typer.Typer(no_args_is_help=True, help="Tokens by which programs log in.")

Role = Annotated[
    str,
    typer.Option("--role", help="reader, annotator, adjudicator or admin.", show_default=False),
]


@users.command("add")
def add(
    store: Store,
    name: UserName,
    role: Role,
    password: Annotated[
        bool,
        typer.Option(
            "--password/--no-password",
            help="It is asked for, or the first line of standard input; without one a user can "
            "log in by tokens alone.",
        ),
    ] = True,
    quiet: options.Quiet = False,
) -> None:
    """Add a user.

    Example:

        $ eigentext annotate init team.db

        $ eigentext annotate user add team.db script --role reader --no-password

        # eigentext annotate user add team.db ada --role admin
    """
    with opened_accounts(store) as accounts:
        made = accounts.add_user(name, role, new_password() if password else None)
        remark(f"{made.name}: user {made.id}, {made.role}", quiet=quiet)


@users.command("list")
def list_(store: Store, format_: options.Format = "native") -> None:
    """List the users.

    Example:

        $ eigentext annotate init team.db

        $ eigentext annotate user list team.db
    """
    with opened_accounts(store) as accounts:
        rows = [user._asdict() for user in accounts.users()]
    _show(rows, format_)


@users.command("passwd")
def passwd(store: Store, name: UserName) -> None:
    """Give a user a new password; it unlocks the account and ends all sessions.

    It is asked for, or the first line of standard input.

    Example (asks):

        # eigentext annotate user passwd team.db ada
    """
    with opened_accounts(store) as accounts:
        accounts.set_password(accounts.user_named(name).id, new_password())


@users.command("role")
def role_(
    store: Store,
    name: UserName,
    role: Annotated[
        str,
        typer.Argument(help="reader, annotator, adjudicator or admin.", show_default=False),
    ],
) -> None:
    """Give a user another role.

    Example:

        $ eigentext annotate init team.db

        $ eigentext annotate user add team.db ada --role reader --no-password

        $ eigentext annotate user role team.db ada annotator
    """
    with opened_accounts(store) as accounts:
        accounts.set_role(accounts.user_named(name).id, role)


@users.command("disable")
def disable(store: Store, name: UserName) -> None:
    """Disable a user: no login, no tokens; what they decided stays.

    Example:

        $ eigentext annotate init team.db

        $ eigentext annotate user add team.db ada --role reader --no-password

        $ eigentext annotate user disable team.db ada
    """
    with opened_accounts(store) as accounts:
        accounts.set_active(accounts.user_named(name).id, False)


@users.command("enable")
def enable(store: Store, name: UserName) -> None:
    """Allow a user back who was disabled.

    Example:

        $ eigentext annotate init team.db

        $ eigentext annotate user add team.db ada --role reader --no-password

        $ eigentext annotate user enable team.db ada
    """
    with opened_accounts(store) as accounts:
        accounts.set_active(accounts.user_named(name).id, True)


@tokens.command("make")
def make(
    store: Store,
    user: UserName,
    name: Annotated[str, typer.Argument(help="What it is for.", show_default=False)],
    scope: Annotated[
        str, typer.Option("--scope", help="The role that it has at most.")
    ] = "annotator",
    days: Annotated[
        int | None, typer.Option("--days", min=1, max=36500, help="It expires after so many.")
    ] = None,
) -> None:
    """Make a token and print it: it is shown this once.

    Example:

        $ eigentext annotate init team.db

        $ eigentext annotate user add team.db ada --role reader --no-password

        $ eigentext annotate token make team.db ada nightly --scope reader --days 30
    """
    from datetime import timedelta

    with opened_accounts(store) as accounts:
        expires = None if days is None else accounts.store.clock() + timedelta(days=days)
        number = accounts.user_named(user).id
        print(accounts.make_token(number, name, scope=scope, expires=expires).secret)


@tokens.command("list")
def list_tokens(
    store: Store,
    user: Annotated[str | None, typer.Option("--user", help="Of this user alone.")] = None,
    format_: options.Format = "native",
) -> None:
    """List tokens, without what makes them work.

    Example:

        $ eigentext annotate init team.db

        $ eigentext annotate token list team.db
    """
    with opened_accounts(store) as accounts:
        number = None if user is None else accounts.user_named(user).id
        names = {one.id: one.name for one in accounts.users()}
        rows = [
            {**token._asdict(), "user": names[token.user]} for token in accounts.tokens(number)
        ]
    _show(rows, format_)


@tokens.command("revoke")
def revoke(
    store: Store,
    number: Annotated[int, typer.Argument(help="As `token list` shows it.", show_default=False)],
) -> None:
    """Let a token hold no longer.

    Example:

        $ eigentext annotate init team.db

        $ eigentext annotate user add team.db ada --role reader --no-password

        $ eigentext annotate token make team.db ada nightly

        $ eigentext annotate token revoke team.db 1
    """
    with opened_accounts(store) as accounts:
        accounts.revoke_token(number)


def _show(rows: list[dict[str, Any]], format_: str) -> None:
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
