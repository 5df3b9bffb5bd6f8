"""``eigentext pipe eval``: all measures of the CoNLL 2018 shared task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eigentext.cli import options
from eigentext.cli.command import flag, with_flags
from eigentext.cli.inputs import is_model
from eigentext.cli.output import progress_bar, show_figures, show_table
from eigentext.cli.verbs import Workers
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from eigentext.evaluate.conll18 import Measure
    from eigentext.language.formats.conllu import ConlluBlock


@with_flags()
def eval_(
    model: options.ModelOrAnswers,
    gold: Annotated[str, typer.Argument(help="A gold treebank, CoNLL-U.", show_default=False)],
    workers: Workers,
    given: Literal["sentences", "tokens", "words", "tags"] | None = flag(
        "What is taken from the treebank; by default its raw text alone."
    ),
    counts: bool = flag("Numbers of words in place of percentages.", False),
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
        $ eigentext pipe eval sample/treebank-dev.conllu sample/treebank-dev.conllu
    """
    from eigentext.evaluate.conll18 import evaluate, lacking
    from eigentext.pipeline.training import read_treebanks

    treebank = read_treebanks(gold)
    if is_model(model):
        with workers.at_work(jobs):
            scores = _of_model(model, treebank, given, jobs, quiet)
    else:
        if given is not None:
            raise SettingsError(f"--given is for a model, and {model} is none")
        scores = evaluate(treebank, read_treebanks(model))
    if json:
        show_figures({name: _row(measure) for name, measure in scores.items()}, as_json=True)
        return
    columns = ("correct", "gold", "system", "aligned") if counts else _PERCENTAGES
    absent = lacking(treebank)
    rows = []
    for name, measure in scores.items():
        row = _row(measure)
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


def _row(measure: Measure) -> dict[str, Any]:
    percentages = {name: getattr(measure, name) for name in _PERCENTAGES}
    return {**percentages, **measure._asdict()}


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if isinstance(value, float) else str(value)
