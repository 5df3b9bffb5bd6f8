"""``eigentext pipe eval``: all measures of the CoNLL 2018 shared task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eigentext.cli import options
from eigentext.cli.command import with_flags
from eigentext.cli.output import progress_bar, show_figures, show_table
from eigentext.cli.workers import Workers
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from eigentext.evaluate.conll18 import Measure
    from eigentext.language.formats.conllu import ConlluBlock


@with_flags()
def eval_(
    files: Annotated[
        list[str],
        typer.Argument(
            help="A model written by `pipe train` and a gold treebank; the treebank alone with "
            "--system.",
            show_default=False,
        ),
    ],
    workers: Workers,
    system: Annotated[
        str | None, typer.Option("--system", help="CoNLL-U of any system, in place of a model.")
    ] = None,
    given: Annotated[
        Literal["sentences", "tokens", "words", "tags"] | None,
        typer.Option(
            "--given",
            help="What is taken from the treebank; by default its raw text alone.",
            show_default=False,
        ),
    ] = None,
    counts: Annotated[
        bool, typer.Option("--counts", help="Numbers of words in place of percentages.")
    ] = False,
    jobs: options.Jobs = 1,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Score a pipeline, or the CoNLL-U of any system, against a treebank.

    The raw text is put together from the treebank.  Precision, recall, F1 and the accuracy on
    aligned words are those of the official scorer; a column that the treebank lacks has "-".

    Example:

        $ eigentext pipe train sample/treebank.conllu -o english.pipe --folds 2

        $ eigentext pipe eval english.pipe sample/treebank-dev.conllu

        $ eigentext pipe eval english.pipe sample/treebank-dev.conllu --given tokens --json

        $ eigentext pipe eval --system sample/treebank-dev.conllu sample/treebank-dev.conllu
    """
    from eigentext.evaluate.conll18 import evaluate, lacking
    from eigentext.pipeline.training import read_treebanks

    if system is not None:
        if len(files) != 1:
            raise SettingsError("with --system: expected one file, the gold treebank")
        if given is not None:
            raise SettingsError("--given is for a model, not for --system")
        gold = read_treebanks(files[0])
        scores = evaluate(gold, read_treebanks(system))
    else:
        if len(files) != 2:
            raise SettingsError("expected a model and a gold treebank, or --system and a treebank")
        gold = read_treebanks(files[1])
        with workers.at_work(jobs):
            scores = _of_model(files[0], gold, given, jobs, quiet)
    if json:
        show_figures({name: _row(found) for name, found in scores.items()}, as_json=True)
        return
    columns = ("correct", "gold", "system", "aligned") if counts else _PERCENTAGES
    absent = lacking(gold)
    rows = []
    for name, found in scores.items():
        row = _row(found)
        cells = {column: "-" if name in absent else _cell(row[column]) for column in columns}
        rows.append({"measure": name, **cells})
    show_table("", rows)


_PERCENTAGES = ("precision", "recall", "f1", "aligned_accuracy")


def _of_model(
    model: str, gold: list[ConlluBlock], given: str | None, jobs: int, quiet: bool
) -> dict[str, Measure]:
    from eigentext.pipeline import Pipeline
    from eigentext.pipeline.scoring import score

    pipeline = Pipeline.load(model)
    with progress_bar(quiet=quiet, unit="pieces") as progress:
        return score(pipeline, gold, given=given, jobs=jobs, progress=progress)


def _row(found: Measure) -> dict[str, Any]:
    percentages = {name: getattr(found, name) for name in _PERCENTAGES}
    return {**percentages, **found._asdict()}


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if isinstance(value, float) else str(value)
