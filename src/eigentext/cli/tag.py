"""``eigentext tag``: tags of tokens."""

from __future__ import annotations

from typing import Annotated

import typer

from eigentext.cli import options
from eigentext.cli.output import show_figures

app = typer.Typer(no_args_is_help=True, help="Tags of tokens: entities and parts of speech.")


@app.command("eval")
def eval_(
    gold: Annotated[str, typer.Argument(help="Gold columns; the last one holds the tags.")],
    predicted: Annotated[str, typer.Argument(help="Predicted columns of the same tokens.")],
    strict: Annotated[
        bool, typer.Option("--strict", help="Count well-formed IOB2 entities only.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Score entity tags: precision, recall and F1 of whole entities, and token accuracy.

    Example:

        $ eigentext tag eval sample/entities.bio sample/entities.bio
    """
    from eigentext.evaluate.ner import evaluate
    from eigentext.formats.columns import read_columns

    result = evaluate(
        (sentence.tags for sentence in read_columns(gold)),
        (sentence.tags for sentence in read_columns(predicted)),
        mode="strict" if strict else "conll",
    )
    figures: dict[str, float | int] = {
        "precision": result.micro.precision,
        "recall": result.micro.recall,
        "f1": result.f1,
        "macro_f1": result.macro_f1,
        "token_accuracy": result.token_accuracy,
    }
    for score in result.types:
        figures[f"f1 {score.type}"] = score.f1
    show_figures(figures, as_json=json)
