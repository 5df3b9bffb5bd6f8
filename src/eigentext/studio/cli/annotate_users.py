"""``eigentext annotate user`` and ``token``: who may do what in a store."""

from __future__ import annotations

from typing import Annotated

import typer

from eigentext.cli import options
from eigentext.cli.command import flag, with_flags
from eigentext.cli.output import remark
from eigentext.errors import SettingsError
from eigentext.studio.cli.annotate_store import (
    Store,
    UserName,
    new_password,
    opened_accounts,
    show_rows,
)

users = typer.Typer(no_args_is_help=True, help="Users: add, list, set.")
tokens = typer.Typer(no_args_is_help=True, help="Tokens by which programs log in.")

Role = Annotated[
    str,
    typer.Option("--role", help="reader, annotator, adjudicator or admin.", show_default=False),
]


@users.command("add")
@with_flags()
def add(
    store: Store,
    name: UserName,
    role: Role,
    password: bool = flag(
        "It is asked for, or the first line of standard input; without one a user can "
        "log in by tokens alone.",
        True,
        "--password/--no-password",
    ),
    quiet: options.Quiet = False,
) -> None:
    """Add a user.

    Example:
        $ eigentext annotate init team.db
        $ eigentext annotate user add team.db script --role reader --no-password
        # eigentext annotate user add team.db ada --role admin
    """
    with opened_accounts(store) as accounts:
        user = accounts.add_user(name, role, new_password() if password else None)
        remark(f"{user.name}: user {user.id}, {user.role}", quiet=quiet)


@users.command("list")
def list_(store: Store, format_: options.Format = "native") -> None:
    """List the users.

    Example:
        $ eigentext annotate init team.db
        $ eigentext annotate user list team.db
    """
    with opened_accounts(store) as accounts:
        rows = [user._asdict() for user in accounts.users()]
    show_rows(rows, format_)


@users.command("set")
@with_flags()
def set_(
    store: Store,
    name: UserName,
    role: str | None = flag("reader, annotator, adjudicator or admin."),
    password: bool = flag(
        "A new one, which unlocks the account and ends all sessions: it is asked for, or "
        "the first line of standard input.",
        False,
    ),
    active: bool | None = flag(
        "May they log in, by password or token?  What they decided stays in any case.",
        None,
        "--active/--disabled",
    ),
) -> None:
    """Give a user another role or password, disable them, or allow them back.

    Example:
        $ eigentext annotate init team.db
        $ eigentext annotate user add team.db ada --role reader --no-password
        $ eigentext annotate user set team.db ada --role annotator
        $ eigentext annotate user set team.db ada --disabled
    """
    if role is None and active is None and not password:
        raise SettingsError("expected --role, --password, --active or --disabled")
    with opened_accounts(store) as accounts:
        number = accounts.user_named(name).id
        if role is not None:
            accounts.set_role(number, role)
        if active is not None:
            accounts.set_active(number, active)
        if password:
            accounts.set_password(number, new_password())


@tokens.command("make")
@with_flags()
def make(
    store: Store,
    user: UserName,
    name: Annotated[str, typer.Argument(help="What it is for.", show_default=False)],
    scope: str = flag("The role that it has at most.", "annotator"),
    days: int | None = flag("It expires after so many.", min=1, max=36500),
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
@with_flags()
def list_tokens(
    store: Store,
    user: str | None = flag("Of this user alone."),
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
    show_rows(rows, format_)


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
