"""``eigentext annotate project``: projects of a store."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.output import remark, show_figures, show_table
from eigentext.studio.cli.annotate_store import ProjectName, Store, opened

app = typer.Typer(no_args_is_help=True, help="Projects: create, list, show, delete.")


@app.command("create")
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
    language: Annotated[str, typer.Option("--language", help="Of the texts, such as en.")] = "",
    guidelines: Annotated[
        str | None, typer.Option("--guidelines", help="A file of text that annotators see.")
    ] = None,
    model: Annotated[str, typer.Option("--model", help="The model that proposes.")] = "",
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
        made = opened_store.create_project(
            name, task, language=language, guidelines=text, model=model
        )
        remark(f"{made.name}: project {made.id}, {made.task}", quiet=quiet)


@app.command("list")
def list_(
    store: Store,
    deleted: Annotated[bool, typer.Option("--deleted", help="Those that were deleted.")] = False,
    format_: options.Format = "native",
) -> None:
    """List the projects.

    Example:

        $ eigentext annotate init team.db

        $ eigentext annotate project list team.db
    """
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
    if format_ == "jsonl":
        for row in rows:
            print(json.dumps(row, ensure_ascii=False))
    else:
        show_table("", rows)


@app.command("show")
def show(store: Store, name: ProjectName, format_: options.Format = "native") -> None:
    """Show a project: its documents, who works on them, and how far they are.

    Example:

        $ eigentext annotate init team.db

        $ eigentext annotate project create team.db Trees --task dependency

        $ eigentext annotate project show team.db Trees
    """
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
        for row in rows:
            print(json.dumps(row, ensure_ascii=False))
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
                    f"{who} {told['sentences_done']}/{row['sentences']}"
                    for who, told in row["layers"].items()
                )
                or "-",
            }
            for row in rows
        ],
    )


@app.command("delete")
def delete(
    store: Store,
    name: ProjectName,
    confirm: Annotated[
        str, typer.Option("--confirm", help="The name once more.", show_default=False)
    ],
    purge: Annotated[
        bool, typer.Option("--purge", help="For good, with everything in it: no way back.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Delete a project; `project restore` has it back, unless it is purged.

    Example:

        $ eigentext annotate init team.db

        $ eigentext annotate project create team.db Trees --task dependency

        $ eigentext annotate project delete team.db Trees --confirm Trees
    """
    with opened(store) as opened_store:
        number = opened_store.project_named(name).id
        opened_store.delete_project(number, confirm=confirm)
        if purge:
            opened_store.purge_project(number, confirm=confirm)
            remark(f"{name}: removed for good", quiet=quiet)
        else:
            back = f"`eigentext annotate project restore {store} {number}` has it back"
            remark(f"{name}: deleted; {back}", quiet=quiet)


@app.command("restore")
def restore(
    store: Store,
    number: Annotated[
        int, typer.Argument(help="As `project list --deleted` shows it.", show_default=False)
    ],
    quiet: options.Quiet = False,
) -> None:
    """Take back that a project was deleted.

    Example:

        $ eigentext annotate init team.db

        $ eigentext annotate project create team.db Trees --task dependency

        $ eigentext annotate project delete team.db Trees --confirm Trees

        $ eigentext annotate project restore team.db 1
    """
    with opened(store) as opened_store:
        opened_store.restore_project(number)
        remark(f"{opened_store.project(number).name}: there again", quiet=quiet)


@app.command("assign")
def assign(
    store: Store,
    name: ProjectName,
    document: Annotated[str, typer.Argument(help="Name of a document.", show_default=False)],
    user: Annotated[str, typer.Argument(help="Name of a user.", show_default=False)],
    remove: Annotated[bool, typer.Option("--remove", help="Take it from them again.")] = False,
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
        who = Accounts(opened_store).user_named(user).id
        if remove:
            opened_store.unassign(text, who)
        else:
            opened_store.assign(text, who)
