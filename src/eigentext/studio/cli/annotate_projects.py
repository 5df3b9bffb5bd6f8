"""``eigentext annotate project``: projects of a store."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.command import argument, flag, with_flags
from eigentext.cli.output import remark, show_figures, show_table
from eigentext.errors import SettingsError
from eigentext.studio.cli.annotate_store import ProjectName, Store, opened, show_rows

app = typer.Typer(no_args_is_help=True, help="Projects: create, list, delete, assign.")


@app.command("create")
@with_flags()
def create(
    store: Store,
    name: ProjectName,
    task: Annotated[
        str,
        typer.Option(
            "--task",
            help="lexical, dependency, constituency, tags, entities or segmentation.",
            show_default=False,
        ),
    ],
    language: str = flag("Of the texts, such as en.", ""),
    guidelines: str | None = flag("A file of text that annotators see."),
    model: str = flag("The model that proposes.", ""),
    quiet: options.Quiet = False,
) -> None:
    """Make a project.

    Example:
        $ eigentext annotate init team.db
        $ eigentext annotate project create team.db Trees --task dependency --language en
    """
    with opened(store) as opened_store:
        from eigentext.base.files.opening import numbered_lines

        text = ""
        if guidelines is not None:
            text = "".join(f"{line}\n" for _, line in numbered_lines(guidelines))
        project = opened_store.create_project(
            name, task, language=language, guidelines=text, model=model
        )
        remark(f"{project.name}: project {project.id}, {project.task}", quiet=quiet)


@app.command("list")
@with_flags()
def list_(
    store: Store,
    name: str | None = argument("Name of a project."),
    deleted: bool = flag("Those that were deleted.", False),
    format_: options.Format = "native",
) -> None:
    """List the projects; or the documents of one, who works on them, and how far they are.

    Example:
        $ eigentext annotate init team.db
        $ eigentext annotate project create team.db Trees --task dependency
        $ eigentext annotate project list team.db
        $ eigentext annotate project list team.db Trees
    """
    if name is not None:
        if deleted:
            raise SettingsError("--deleted lists projects: expected no name")
        _show(store, name, format_)
        return
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
        names = {user.id: user.name for user in Accounts(opened_store).users()}
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


@app.command("delete")
@with_flags()
def delete(
    store: Store,
    name: Annotated[
        str,
        typer.Argument(
            help="Name of a project; with --undo its number: `project list --deleted` shows it.",
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
        $ eigentext annotate project create team.db Trees --task dependency
        $ eigentext annotate project delete team.db Trees --confirm Trees
        $ eigentext annotate project delete team.db 1 --undo
    """
    if undo:
        if not name.isdecimal() or confirm is not None or purge:
            raise SettingsError("--undo: expected the number of a project, and no other flag")
        with opened(store) as opened_store:
            opened_store.restore_project(int(name))
            remark(f"{opened_store.project(int(name)).name}: there again", quiet=quiet)
        return
    if confirm is None:
        raise SettingsError("expected --confirm, the name of the project once more")
    with opened(store) as opened_store:
        number = opened_store.project_named(name).id
        opened_store.delete_project(number, confirm=confirm)
        if purge:
            opened_store.purge_project(number, confirm=confirm)
            remark(f"{name}: removed for good", quiet=quiet)
        else:
            back = f"`eigentext annotate project delete {store} {number} --undo` has it back"
            remark(f"{name}: deleted; {back}", quiet=quiet)


@app.command("assign")
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
        $ eigentext annotate project create team.db Trees --task dependency
        $ eigentext annotate import team.db Trees sample/raw.txt
        $ eigentext annotate user add team.db ada --role annotator --no-password
        $ eigentext annotate project assign team.db Trees raw ada
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
