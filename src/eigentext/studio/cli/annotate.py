"""``eigentext annotate``: stores of annotations, what is in them, in and out."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from eigentext.cli import options
from eigentext.cli.command import argument, flag, with_flags
from eigentext.cli.output import remark, show_figures, show_table
from eigentext.errors import SettingsError
from eigentext.studio.cli import annotate_projects, annotate_users
from eigentext.studio.cli.annotate_store import ProjectName, Store, needed, opened, show_rows

app = typer.Typer(
    no_args_is_help=True, help="Projects of annotators: texts, decisions, users, backups."
)
app.add_typer(annotate_projects.app, name="project")
app.add_typer(annotate_users.users, name="user")
app.add_typer(annotate_users.tokens, name="token")

Layer = Annotated[str, typer.Option("--layer", help="adjudication, or the name of an annotator.")]


@app.command("init")
@with_flags()
def init(
    store: Store,
    source: str | None = flag(
        "A backup: the store, which is not there yet, is made of it.", None, "--from"
    ),
    backup_to: str | None = flag(
        "Bring the tables of an earlier release up to date; a backup goes here first, "
        "such as team.jsonl.  Stop the servers before.",
        None,
        "--backup",
        written=True,
    ),
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Make a store: a file, or the tables of an empty database; one that is there is left alone.

    A store in a file is brought up to date whenever it is opened; a database, with --backup.

    Example:
        $ eigentext annotate init team.db
        $ eigentext annotate backup team.db -o team.jsonl
        $ eigentext annotate init copy.db --from team.jsonl
        $ eigentext annotate init team.db --backup before.jsonl
    """
    if source is not None:
        if backup_to is not None:
            raise SettingsError("--from and --backup: expected one of them")
        needed()
        from eigentext.studio.store.backups import restore

        show_figures(restore(source, store), as_json=as_json)
        return
    if backup_to is not None:
        with opened(store, any_version=True) as before:
            from eigentext.studio.store.backups import back_up

            back_up(before, backup_to)
    how = {"create": True} if backup_to is None else {"migrate": True}
    with opened(store, **how) as ready:
        remark(f"{ready.name}: annotations, version {ready.version()} of the tables", quiet=quiet)


@app.command("import")
@with_flags()
def import_(
    store: Store,
    project: ProjectName,
    files: options.Sources,
    from_format: str | None = flag("text, conllu, ptb or columns; else by name.", None, "--from"),
    scheme: str = flag("How raw text is cut: generic, ptb, ud-en, arabic, ...", "generic"),
    pipe: str | None = flag("A pipeline whose segmenter cuts raw text."),
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
        documents = import_files(
            opened_store,
            opened_store.project_named(project).id,
            expand(files),
            kind=from_format,
            scheme=scheme,
            segmenter=segmenter,
        )
        for facts in documents:
            words = f"{facts.n_sentences:,} sentences, {facts.n_words:,} words"
            remark(f"{facts.name}: {words}", quiet=quiet)


@app.command("export")
@with_flags()
def export(
    store: Store,
    project: ProjectName,
    layer: Layer = "adjudication",
    to_format: str | None = flag(
        "conllu, ptb, jsonl, decisions, ...; else the task's first.", None, "--to"
    ),
    document: list[str] | None = flag("Only this one (may be given again)."),
    unfinished: bool = flag("Sentences that are not done, too.", False),
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
def measure(store: Store, project: ProjectName, format_: options.Format = "native") -> None:
    """Agreement of annotators, how good the proposals were, time and keys a word.

    Example:
        $ eigentext annotate init team.db
        $ eigentext annotate project create team.db Trees --task dependency
        $ eigentext annotate measure team.db Trees
    """
    with opened(store) as opened_store:
        from eigentext.studio.measures import measures
        from eigentext.studio.store.accounts import Accounts

        facts = opened_store.project_named(project)
        people = {user.id: user.name for user in Accounts(opened_store).users()}
        rows = measures.rows_of(opened_store, facts.id)
        record = measures.measure(facts, *rows, users=people)
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
@with_flags()
def retrain(
    store: Store,
    project: ProjectName,
    model: str = flag("The model that proposes now (a file), unless one learned.", ""),
    base: str | None = flag("Training data (a file) to which the accepted sentences are added."),
    layers: str = flag("all, or adjudication: whose sentences.", "all"),
    folder: str | None = flag(
        "Where it is kept; else beside the file.", None, "--annotation-models"
    ),
    keep_base: bool = flag("The page learns with --base, too, from now on.", False),
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

        from eigentext.studio.tasks.learning import gather, learn, models_folder, note, verdict

        facts = opened_store.project_named(project)
        if keep_base and base is None:
            raise SettingsError("--keep-base needs --base")
        lesson = gather(opened_store, facts.id, layers=layers, model=model, base=base)
        report = learn(lesson, models_folder(opened_store, folder).resolve())
        model_row = note(opened_store, lesson, report)
        if keep_base and base is not None:  # one that could not be read is not kept
            settings = {**facts.settings, "base_treebank": str(Path(base).resolve())}
            opened_store.change_project(facts.id, settings=settings)
    figures = {key: value for key, value in report.items() if key != "learned_from"}
    if format_ == "jsonl":
        print(json.dumps(figures, ensure_ascii=False))
        return
    print(verdict(report, model_row))
    remark(f"{report['file']}: {'in use' if model_row.in_use else 'kept beside'}", quiet=quiet)


@app.command("log")
@with_flags()
def log(
    store: Store,
    project: str | None = argument("Name of a project."),
    document: str | None = argument("Name of a document in it."),
    layer: str | None = flag(
        "Of a document: the name of an annotator.", show_default="adjudication"
    ),
    sentence: int | None = flag("Of a document: only this one, from 1.", min=1),
    limit: int | None = flag("Of a store: the newest so many.", min=1, show_default="50"),
    format_: options.Format = "native",
) -> None:
    """Who changed what, and who logged in, the newest last; or every decision on a document.

    Decisions stand in the order they were made, as JSON Lines.

    Example:
        $ eigentext annotate init team.db
        $ eigentext annotate log team.db
        $ eigentext annotate project create team.db Trees --task dependency
        $ eigentext annotate import team.db Trees sample/raw.txt
        $ eigentext annotate log team.db Trees raw
    """
    if project is not None:
        if document is None or limit is not None:
            why = "expected a document of it" if document is None else "--limit is for a store"
            raise SettingsError(f"project {project}: {why}")
        _decisions(store, project, document, layer or "adjudication", sentence)
        return
    if layer is not None or sentence is not None:
        raise SettingsError("--layer and --sentence are for a document: name it and its project")
    with opened(store) as opened_store:
        from eigentext.studio.store.accounts import Accounts

        names = {user.id: user.name for user in Accounts(opened_store).users()}
        rows = [
            {
                "number": entry.id,
                "at": entry.at,
                "user": "-" if entry.user is None else names.get(entry.user, "-"),
                "action": entry.action,
                "about": entry.about,
            }
            for entry in reversed(opened_store.audit(limit=limit or 50))
        ]
    if format_ == "jsonl":
        show_rows(rows, format_)
    else:
        about = (json.dumps(row["about"], ensure_ascii=False) for row in rows)
        show_rows([{**row, "about": text} for row, text in zip(rows, about, strict=True)], format_)


def _decisions(store: str, project: str, document: str, layer: str, sentence: int | None) -> None:
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
