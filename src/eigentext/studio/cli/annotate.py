"""``eigentext annotate``: stores of annotations, what is in them, in and out."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from eigentext.cli import options
from eigentext.cli.output import remark, show_figures, show_table
from eigentext.studio.cli import annotate_projects, annotate_users
from eigentext.studio.cli.annotate_store import ProjectName, Store, needed, opened

app = typer.Typer(
    no_args_is_help=True, help="Projects of annotators: texts, decisions, users, backups."
)
app.add_typer(annotate_projects.app, name="project")
app.add_typer(annotate_users.users, name="user")
app.add_typer(annotate_users.tokens, name="token")

Layer = Annotated[str, typer.Option("--layer", help="adjudication, or the name of an annotator.")]


@app.command("init")
def init(store: Store, quiet: options.Quiet = False) -> None:
    """Make a store: a file, or the tables of an empty database; one that is there is left alone.

    Example:

        $ eigentext annotate init team.db
    """
    with opened(store, create=True) as made:
        remark(f"{made.name}: annotations, version {made.version()} of the tables", quiet=quiet)


@app.command("import")
def import_(
    store: Store,
    project: ProjectName,
    files: options.Sources,
    from_format: Annotated[
        str | None, typer.Option("--from", help="text, conllu, ptb or columns; else by name.")
    ] = None,
    scheme: Annotated[
        str, typer.Option("--scheme", help="How raw text is cut: generic, ptb, ud-en, arabic, ...")
    ] = "generic",
    pipe: Annotated[
        str | None, typer.Option("--pipe", help="A pipeline whose segmenter cuts raw text.")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Add files to a project: a document each, or one for each `# newdoc` of CoNLL-U.

    Columns, comments and multiword tokens of CoNLL-U are kept.

    Example:

        $ eigentext annotate init team.db

        $ eigentext annotate project create team.db Trees --task dependency

        $ eigentext annotate import team.db Trees sample/treebank.conllu sample/raw.txt
    """
    with opened(store) as opened_store:
        from eigentext.base.files.opening import expand
        from eigentext.studio.store.imports import import_files

        segmenter = None
        if pipe is not None:
            from eigentext.pipeline import Pipeline

            segmenter = Pipeline.load(pipe)
        made = import_files(
            opened_store,
            opened_store.project_named(project).id,
            expand(files),
            kind=from_format,
            scheme=scheme,
            segmenter=segmenter,
        )
        for facts in made:
            words = f"{facts.n_sentences:,} sentences, {facts.n_words:,} words"
            remark(f"{facts.name}: {words}", quiet=quiet)


@app.command("export")
def export(
    store: Store,
    project: ProjectName,
    layer: Layer = "adjudication",
    to_format: Annotated[
        str | None,
        typer.Option("--to", help="conllu, ptb, jsonl, decisions, ...; else the task's first."),
    ] = None,
    document: Annotated[
        list[str] | None, typer.Option("--document", help="Only this one (may be given again).")
    ] = None,
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Sentences that are not done, too.")
    ] = False,
    output: options.Output = "-",
) -> None:
    """Write what was decided in a layer; sentences that are not done are left out.

    `--to decisions` has every decision with who, when and how long, those taken back too.

    Example:

        $ eigentext annotate init team.db

        $ eigentext annotate project create team.db Trees --task dependency

        $ eigentext annotate import team.db Trees sample/treebank.conllu

        $ eigentext annotate export team.db Trees --unfinished -o trees.conllu
    """
    with opened(store) as opened_store:
        from eigentext.base.files.writing import write_lines
        from eigentext.studio.store.exports import export_lines

        number = opened_store.project_named(project).id
        chosen = [opened_store.document_named(number, name).id for name in document or ()]
        lines = export_lines(
            opened_store,
            number,
            layer=layer,
            format=to_format,
            documents=chosen or None,
            unfinished=unfinished,
        )
        write_lines(output, lines)


@app.command("measure")
def measure(
    store: Store,
    project: ProjectName,
    format_: options.Format = "native",
) -> None:
    """Agreement of annotators, how good the proposals were, time and keys a word.

    Example:

        $ eigentext annotate init team.db

        $ eigentext annotate project create team.db Trees --task dependency

        $ eigentext annotate measure team.db Trees
    """
    with opened(store) as opened_store:
        from eigentext.studio.measures import measures
        from eigentext.studio.store.accounts import Accounts

        found = opened_store.project_named(project)
        people = {user.id: user.name for user in Accounts(opened_store).users()}
        rows = measures.rows_of(opened_store, found.id)
        record = measures.measure(found, *rows, users=people)
    if format_ == "jsonl":
        print(json.dumps(record, ensure_ascii=False))
        return
    for line in record["in_words"]:
        print(line)
    names = ("about", "measure", "value")
    listed = [dict(zip(names, row, strict=True)) for row in measures.table(record)]
    if listed:
        show_table("", listed)


@app.command("retrain")
def retrain(
    store: Store,
    project: ProjectName,
    model: Annotated[
        str,
        typer.Option("--model", help="The model that proposes now (a file), unless one learned."),
    ] = "",
    base: Annotated[
        str | None,
        typer.Option(
            "--base", help="Training data (a file) to which the accepted sentences are added."
        ),
    ] = None,
    layers: Annotated[
        str, typer.Option("--layers", help="all, or adjudication: whose sentences.")
    ] = "all",
    folder: Annotated[
        str | None,
        typer.Option("--annotation-models", help="Where it is kept; else beside the file."),
    ] = None,
    keep_base: Annotated[
        bool, typer.Option("--keep-base", help="The page learns with --base, too, from now on.")
    ] = False,
    format_: options.Format = "native",
    quiet: options.Quiet = False,
) -> None:
    """Make the next model from accepted sentences; it takes over only if it does no worse.

    Sentences that neither model learned from are held out to compare them. A service that runs on
    the same store uses the new model from the next proposal on.

    Example (needs a store with accepted sentences):

        # eigentext annotate retrain team.db Trees --model english.pipe --base train.conllu
    """
    with opened(store) as opened_store:
        from pathlib import Path

        from eigentext.errors import SettingsError
        from eigentext.studio.tasks.learning import gather, learn, models_folder, note, verdict

        found = opened_store.project_named(project)
        if keep_base and base is None:
            raise SettingsError("--keep-base needs --base")
        lesson = gather(opened_store, found.id, layers=layers, model=model, base=base)
        report = learn(lesson, models_folder(opened_store, folder).resolve())
        made = note(opened_store, lesson, report)
        if keep_base and base is not None:  # one that could not be read is not kept
            settings = {**found.settings, "base_treebank": str(Path(base).resolve())}
            opened_store.change_project(found.id, settings=settings)
    figures = {key: value for key, value in report.items() if key != "learned_from"}
    if format_ == "jsonl":
        print(json.dumps(figures, ensure_ascii=False))
        return
    print(verdict(report, made))
    remark(f"{report['file']}: {'in use' if made.in_use else 'kept beside'}", quiet=quiet)


@app.command("history")
def history(
    store: Store,
    project: ProjectName,
    document: Annotated[str, typer.Argument(help="Name of a document.", show_default=False)],
    layer: Layer = "adjudication",
    sentence: Annotated[
        int | None, typer.Option("--sentence", min=1, help="Only this one, from 1.")
    ] = None,
) -> None:
    """Every decision of a layer in the order they were made, as JSON Lines.

    Example:

        $ eigentext annotate init team.db

        $ eigentext annotate project create team.db Trees --task dependency

        $ eigentext annotate import team.db Trees sample/raw.txt

        $ eigentext annotate history team.db Trees raw
    """
    with opened(store) as opened_store:
        from eigentext.studio.store.exports import export_lines

        number = opened_store.project_named(project).id
        chosen = opened_store.document_named(number, document).id
        lines = export_lines(
            opened_store, number, layer=layer, format="decisions", documents=[chosen]
        )
        for line in lines:
            if sentence is None or json.loads(line)["sentence"] == sentence - 1:
                print(line)


@app.command("audit")
def audit(
    store: Store,
    limit: Annotated[int, typer.Option("--limit", min=1, help="The newest so many.")] = 50,
    format_: options.Format = "native",
) -> None:
    """The log: who changed what, and who logged in; the newest last.

    Example:

        $ eigentext annotate init team.db

        $ eigentext annotate audit team.db
    """
    with opened(store) as opened_store:
        from eigentext.studio.store.accounts import Accounts

        names = {user.id: user.name for user in Accounts(opened_store).users()}
        rows = [
            {
                "number": entry.id,
                "at": entry.at,
                "user": "-" if entry.user is None else names.get(entry.user, "-"),
                "action": entry.action,
                "about": json.dumps(entry.about, ensure_ascii=False),
            }
            for entry in reversed(opened_store.audit(limit=limit))
        ]
    if format_ == "jsonl":
        for row in rows:
            about = json.loads(str(row["about"]))
            print(json.dumps({**row, "about": about}, ensure_ascii=False))
    else:
        show_table("", rows)


@app.command("backup")
def backup(
    store: Store,
    output: Annotated[
        str,
        options.written(
            "--output",
            "-o",
            help="The file to write: a dump for any database if its name has .jsonl, else a copy.",
            show_default=False,
        ),
    ],
    quiet: options.Quiet = False,
) -> None:
    """Write the whole store to a file, while others are at work in it.

    Example:

        $ eigentext annotate init team.db

        $ eigentext annotate backup team.db -o team.jsonl.gz
    """
    with opened(store, any_version=True) as opened_store:
        from eigentext.studio.store.backups import back_up

        remark(f"{output}: {back_up(opened_store, output)} of {opened_store.name}", quiet=quiet)


@app.command("restore")
def restore(
    source: Annotated[str, typer.Argument(help="A backup.", show_default=False)],
    store: Store,
    as_json: options.Json = False,
) -> None:
    """Make a new store of a backup: a file that is not there yet, or an empty database.

    Example:

        $ eigentext annotate init team.db

        $ eigentext annotate backup team.db -o team.jsonl

        $ eigentext annotate restore team.jsonl copy.db
    """
    needed()
    from eigentext.studio.store.backups import restore as restore_to

    show_figures(restore_to(source, store), as_json=as_json)


@app.command("migrate")
def migrate(
    store: Store,
    output: Annotated[
        str,
        options.written(
            "--backup", help="Where a backup goes first, such as team.jsonl.", show_default=False
        ),
    ],
    quiet: options.Quiet = False,
) -> None:
    """Bring the tables of an earlier release up to date, after a backup; stop the servers first.

    A store in a file needs no such command: it is brought up to date when it is opened.

    Example:

        $ eigentext annotate init team.db

        $ eigentext annotate migrate team.db --backup before.jsonl
    """
    with opened(store, any_version=True) as before:
        from eigentext.studio.store.backups import back_up

        back_up(before, output)
    with opened(store, migrate=True) as after:
        remark(f"{after.name}: version {after.version()} of the tables", quiet=quiet)
