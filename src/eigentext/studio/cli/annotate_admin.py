"""``eigentext annotate project``, ``assign``, ``delete``, ``user``: who may do what, on what."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.base.files.opening import numbered_lines
from eigentext.base.files.writing import check_input
from eigentext.cli import options
from eigentext.cli.command import Flags, argument, flag, with_flags
from eigentext.cli.output import remark, show_figures, show_table
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
def opened_accounts(where: str, **how: object) -> Iterator[Accounts]:
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


@dataclass(kw_only=True)
class ProjectFlags(Flags):
    """What a new project is."""

    task: str | None = flag(
        "Make the project: lexical, dependency, constituency, tags, entities or segmentation."
    )
    language: str = flag("Of the texts, such as en.", "")
    guidelines: str | None = flag("A file of text that annotators see.")
    model: str = flag("The model that proposes.", "")


@with_flags()
def project(
    store: Store,
    name: str | None = argument("Name of a project."),
    *,
    flags: ProjectFlags,
    deleted: bool = flag("Those that were deleted.", False),
    format_: options.Format = "native",
    quiet: options.Quiet = False,
) -> None:
    """List the projects; show one, its documents and who works on them; or, with --task, make it.

    Example:
        $ eigentext annotate init team.db
        $ eigentext annotate project team.db Trees --task dependency --language en
        $ eigentext annotate project team.db
        $ eigentext annotate project team.db Trees
    """
    if flags.task is None:
        flags.refuse("is for a new project: expected its name and --task")
    if name is None:
        if flags.task is not None:
            raise SettingsError("--task: expected the name of the project to make")
        _list(store, format_, deleted=deleted)
    elif deleted:
        raise SettingsError("--deleted lists projects: expected no name")
    elif flags.task is None:
        _show(store, name, format_)
    else:
        _make(store, name, flags.task, flags, quiet=quiet)


def _make(store: str, name: str, task: str, flags: ProjectFlags, *, quiet: bool) -> None:
    with opened(store) as opened_store:
        text = ""
        if flags.guidelines is not None:
            text = "".join(f"{line}\n" for _, line in numbered_lines(flags.guidelines))
        project = opened_store.create_project(
            name, task, language=flags.language, guidelines=text, model=flags.model
        )
        remark(f"{project.name}: project {project.id}, {project.task}", quiet=quiet)


def _list(store: str, format_: str, *, deleted: bool) -> None:
    with opened(store) as opened_store:
        rows = [
            {
                "number": project.id,
                "name": project.name,
                "task": project.task,
                "language": project.language,
                "documents": len(opened_store.documents(project.id)),
                "created": project.created,
            }
            for project in opened_store.projects(deleted=deleted)
        ]
    show_rows(rows, format_)


def _show(store: str, name: str, format_: str) -> None:
    with opened(store) as opened_store:
        from eigentext.studio.store.accounts import Accounts

        project = opened_store.project_named(name)
        names = Accounts(opened_store).names()
        assigned = opened_store.assignments(project.id)
        layers_of = opened_store.layers_of(project.id)
        rows: list[dict[str, Any]] = []
        for facts in opened_store.documents(project.id):
            layers = {
                "adjudication" if layer.user is None else names[layer.user]: {
                    "decided": layer.decided,
                    "sentences_done": layer.done_sentences,
                    "done": layer.done is not None,
                }
                for layer in layers_of.get(facts.id, ())
            }
            rows.append(
                {
                    "number": facts.id,
                    "document": facts.name,
                    "sentences": facts.n_sentences,
                    "words": facts.n_words,
                    "assigned": [names[user] for user in assigned.get(facts.id, ())],
                    "layers": layers,
                }
            )
    if format_ == "jsonl":
        show_rows(rows, format_)
        return
    show_figures(
        {
            "project": project.name,
            "task": project.task,
            "language": project.language or None,
            "model": project.model or None,
            "documents": len(rows),
        },
        as_json=False,
    )
    show_table(
        "Documents",
        [
            {
                **row,
                "assigned": ", ".join(row["assigned"]) or "-",
                "layers": ", ".join(
                    f"{user} {state['sentences_done']}/{row['sentences']}"
                    for user, state in row["layers"].items()
                )
                or "-",
            }
            for row in rows
        ],
    )


@with_flags()
def delete(
    store: Store,
    name: Annotated[
        str,
        typer.Argument(
            help="Name of a project; with --undo its number: `project --deleted` shows it.",
            show_default=False,
        ),
    ],
    confirm: str | None = flag("The name once more."),
    purge: bool = flag("For good, with everything in it: no way back.", False),
    undo: bool = flag("Have it back.", False),
    quiet: options.Quiet = False,
) -> None:
    """Delete a project; --undo has it back, unless it is purged.

    Example:
        $ eigentext annotate init team.db
        $ eigentext annotate project team.db Trees --task dependency
        $ eigentext annotate delete team.db Trees --confirm Trees
        $ eigentext annotate delete team.db 1 --undo
    """
    if undo:
        if not name.isdecimal() or confirm is not None or purge:
            raise SettingsError("--undo: expected the number of a project, and no other flag")
        with opened(store) as opened_store:
            opened_store.restore("project", int(name))
            remark(f"{opened_store.project(int(name)).name}: there again", quiet=quiet)
        return
    if confirm is None:
        raise SettingsError("expected --confirm, the name of the project once more")
    with opened(store) as opened_store:
        number = opened_store.project_named(name).id
        opened_store.delete("project", number, confirm=confirm)
        if purge:
            opened_store.purge("project", number, confirm=confirm)
            remark(f"{name}: removed for good", quiet=quiet)
        else:
            back = f"`eigentext annotate delete {store} {number} --undo` has it back"
            remark(f"{name}: deleted; {back}", quiet=quiet)


@with_flags()
def assign(
    store: Store,
    name: ProjectName,
    document: Annotated[str, typer.Argument(help="Name of a document.", show_default=False)],
    user: Annotated[str, typer.Argument(help="Name of a user.", show_default=False)],
    remove: bool = flag("Take it from them again.", False),
) -> None:
    """Give a document to an annotator; one that nobody was given is open to all.

    Example:
        $ eigentext annotate init team.db
        $ eigentext annotate project team.db Trees --task dependency
        $ eigentext annotate import team.db Trees sample/raw.txt
        $ eigentext annotate user team.db ada --new --role annotator --no-password
        $ eigentext annotate assign team.db Trees raw ada
    """
    with opened(store) as opened_store:
        from eigentext.studio.store.accounts import Accounts

        number = opened_store.project_named(name).id
        text = opened_store.document_named(number, document).id
        annotator = Accounts(opened_store).user_named(user).id
        if remove:
            opened_store.unassign(text, annotator)
        else:
            opened_store.assign(text, annotator)


@dataclass(kw_only=True)
class UserFlags(Flags):
    """What becomes of a user."""

    new: bool = flag("Add the user.", False)
    role: str | None = flag("reader, annotator, adjudicator or admin.")
    password: bool | None = flag(
        "Of a new user, unless they log in by tokens alone; of another a new one, which unlocks "
        "the account and ends all sessions.  It is asked for, or the first line of standard "
        "input.",
        None,
        "--password/--no-password",
    )
    active: bool | None = flag(
        "May they log in, by password or token?  What they decided stays in any case.",
        None,
        "--active/--disabled",
    )


@dataclass(kw_only=True)
class TokenFlags(Flags):
    """Tokens by which programs log in."""

    tokens: bool = flag("List tokens, of the user or all, without what makes them work.", False)
    token: str | None = flag("Make a token of this name and print it: it is shown this once.")
    scope: str = flag("The role that the token has at most.", "annotator")
    days: int | None = flag("The token expires after so many.", min=1, max=36500)
    revoke: int | None = flag("Let the token of this number (--tokens) hold no longer.")


@with_flags()
def user(
    store: Store,
    name: str | None = argument("Name of a user."),
    *,
    flags: UserFlags,
    tokens: TokenFlags,
    format_: options.Format = "native",
    quiet: options.Quiet = False,
) -> None:
    """List the users; add or change one, disable them, or make the tokens of their programs.

    Example:
        $ eigentext annotate init team.db
        $ eigentext annotate user team.db ada --new --role reader --no-password
        $ eigentext annotate user team.db ada --role annotator
        $ eigentext annotate user team.db ada --token nightly --scope reader --days 30
        $ eigentext annotate user team.db --tokens
        $ eigentext annotate user team.db --revoke 1
        $ eigentext annotate user team.db ada --disabled
        $ eigentext annotate user team.db
        # eigentext annotate user team.db eve --new --role admin
    """
    from datetime import timedelta

    changed = flags.changed()
    if tokens.token is None and (tokens.days is not None or tokens.scope != "annotator"):
        raise SettingsError("--scope and --days are for a new token: expected --token NAME")
    if name is None and (changed or tokens.token is not None):
        raise SettingsError(f"{(*changed, '--token')[0]}: expected the name of a user")
    if name is not None and not changed and not tokens.changed():
        raise SettingsError("expected --role, --password, --active, --disabled, --new or --token")
    if flags.new and flags.role is None:
        raise SettingsError("--new: expected --role, too")
    rows: list[dict[str, Any]] | None = None
    with opened_accounts(store) as accounts:
        if flags.new and name is not None:
            secret = None if flags.password is False else new_password()
            added = accounts.add_user(name, flags.role or "", secret)
            remark(f"{added.name}: user {added.id}, {added.role}", quiet=quiet)
        number = None if name is None else accounts.user_named(name).id
        if number is not None and not flags.new:
            if flags.role is not None:
                accounts.set_role(number, flags.role)
            if flags.password:
                accounts.set_password(number, new_password())
        if number is not None and flags.active is not None:
            accounts.set_active(number, flags.active)
        if number is not None and tokens.token is not None:
            expires = tokens.days and accounts.store.clock() + timedelta(days=tokens.days)
            issued = accounts.make_token(
                number, tokens.token, scope=tokens.scope, expires=expires or None
            )
            print(issued.secret)
        if tokens.revoke is not None:
            accounts.revoke_token(tokens.revoke)
        if tokens.tokens:
            names = accounts.names()
            listed = accounts.tokens(number)
            rows = [{**each._asdict(), "user": names[each.user]} for each in listed]
        elif name is None and tokens.revoke is None:
            rows = [each._asdict() for each in accounts.users()]
    if rows is not None:
        show_rows(rows, format_)
