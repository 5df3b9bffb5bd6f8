"""``eigentext convert``: between treebank formats."""

from __future__ import annotations

from typing import Annotated

import typer

from eigentext.cli import options
from eigentext.cli.output import show_figures, skipped_count, skipping


def convert(
    source: options.Source,
    output: options.Output = "-",
    from_format: Annotated[
        str | None, typer.Option("--from", help="ptb, conllu, conllx or tokens; else by name.")
    ] = None,
    to_format: Annotated[
        str | None, typer.Option("--to", help="ptb, conllu, conllx or tokens; else by name.")
    ] = None,
    heads: Annotated[
        str, typer.Option("--heads", help="Head rules for ptb to dependencies: english, neutral.")
    ] = "english",
    strip: Annotated[
        bool, typer.Option(help="Remove traces, function tags and indices from brackets.")
    ] = True,
    on_error: options.SkipErrors = options.OnError.stop,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Convert between PTB brackets, CoNLL-U, CoNLL-X and plain tokens.

    Brackets become dependencies by head rules.

    Example:

        $ eigentext convert sample/dev.mrg -o dev.conllu

        $ eigentext convert sample/dev.mrg --to tokens
    """
    from eigentext.formats.convert import convert as convert_file

    with skipping(on_error, quiet=quiet) as log:
        written = convert_file(
            source,
            output,
            source_format=from_format,
            target_format=to_format,
            heads=heads,
            strip=strip,
            on_error=log,
        )
    if json or not quiet:
        figures = {"sentences": written, "skipped": skipped_count(log)}
        show_figures(figures, as_json=json, results_on_stdout=output == "-")
