"""``eigentext annotate``: stores of annotations, what is in them, in and out."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from eigentext.base.files.opening import expand
from eigentext.base.files.writing import write_lines
from eigentext.cli import options
from eigentext.cli.command import flag, group, with_flags
from eigentext.cli.output import remark, show_figures, show_table
from eigentext.errors import SettingsError
from eigentext.studio.cli import annotate_admin
from eigentext.studio.cli.annotate_admin import ProjectName, Store, needed, opened, show_rows

Layer = Annotated[str, typer.Option("--layer", help="adjudication, or the name of an annotator.")]


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
        $ eigentext annotate project team.db Trees --task dependency
        $ eigentext annotate import team.db Trees sample/treebank.conllu sample/raw.txt
    """
    with opened(store) as opened_store:
        from eigentext.studio.store.files import import_files

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


@with_flags()
def export(
    store: Store,
    project: ProjectName,
    layer: Layer = "adjudication",
    to_format: str | None = flag(
        "conllu, ptb, jsonl, decisions, ...; else the task's first.", None, "--to"
    ),
    document: list[str] | None = flag("Only this one (may be given again)."),
    sentence: int | None = flag("Of decisions: only this sentence, from 1.", min=1),
    unfinished: bool = flag("Sentences that are not done, too.", False),
    output: options.Output = "-",
) -> None:
    """Write what was decided in a layer; sentences that are not done are left out.

    `--to decisions` has every decision with who, when and how long, those taken back too, in the
    order they were made.

    Example:
        $ eigentext annotate init team.db
        $ eigentext annotate project team.db Trees --task dependency
        $ eigentext annotate import team.db Trees sample/treebank.conllu
        $ eigentext annotate export team.db Trees --unfinished -o trees.conllu
        $ eigentext annotate export team.db Trees --to decisions
    """
    if sentence is not None and to_format != "decisions":
        raise SettingsError("--sentence is for --to decisions")
    with opened(store) as opened_store:
        from eigentext.studio.store.files import export_lines

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
        if sentence is not None:
            lines = (x for x in lines if json.loads(x)["sentence"] == sentence - 1)
        write_lines(output, lines)


@with_flags()
def measure(store: Store, project: ProjectName, format_: options.Format = "native") -> None:
    """Agreement of annotators, how good the proposals were, time and keys a word.

    Example:
        $ eigentext annotate init team.db
        $ eigentext annotate project team.db Trees --task dependency
        $ eigentext annotate measure team.db Trees
    """
    with opened(store) as opened_store:
        from eigentext.studio.measures import measures
        from eigentext.studio.store.accounts import Accounts

        facts = opened_store.project_named(project)
        people = Accounts(opened_store).names()
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


@with_flags()
def log(
    store: Store,
    limit: int = flag("The newest so many.", 50, min=1),
    format_: options.Format = "native",
) -> None:
    """Who changed what, and who logged in, the newest last.

    Example:
        $ eigentext annotate init team.db
        $ eigentext annotate log team.db
    """
    with opened(store) as opened_store:
        from eigentext.studio.store.accounts import Accounts

        names = Accounts(opened_store).names()
        rows = [
            {
                "number": entry.id,
                "at": entry.at,
                "user": "-" if entry.user is None else names.get(entry.user, "-"),
                "action": entry.action,
                "about": entry.about,
            }
            for entry in reversed(opened_store.audit(limit=limit))
        ]
    if format_ != "jsonl":
        rows = [{**row, "about": json.dumps(row["about"], ensure_ascii=False)} for row in rows]
    show_rows(rows, format_)


@with_flags()
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


app = group(
    init,
    annotate_admin.project,
    annotate_admin.user,
    import_,
    annotate_admin.assign,
    export,
    measure,
    retrain,
    log,
    backup,
    annotate_admin.delete,
)
