"""``eigentext dep``: dependency trees."""

from __future__ import annotations

from typing import Annotated

import typer

from eigentext.cli import options
from eigentext.cli.output import show_figures

app = typer.Typer(no_args_is_help=True, help="Dependency trees.")


@app.command("eval")
def eval_(
    gold: Annotated[str, typer.Argument(help="Gold trees, CoNLL-U or CoNLL-X.")],
    predicted: Annotated[str, typer.Argument(help="Predicted trees of the same text.")],
    json: options.Json = False,
) -> None:
    """Score dependency trees by the rules of the CoNLL 2018 shared task.

    Example:

        $ eigentext convert sample/dev.mrg -o gold.conllu

        $ eigentext convert sample/dev.mrg -o pred.conllu --heads neutral

        $ eigentext dep eval gold.conllu pred.conllu
    """
    from eigentext.evaluate.attachment import evaluate
    from eigentext.formats import conllu, conllx
    from eigentext.formats.convert import format_of

    def read(path: str):  # type: ignore[no-untyped-def]
        reader = conllx if format_of(path) == "conllx" else conllu
        return reader.read_sentences(path)

    show_figures(evaluate(read(gold), read(predicted)).as_dict(), as_json=json)
