"""``eigentext lex``: analyses of words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from eigentext.cli import options
from eigentext.cli.output import skipping
from eigentext.cli.text_input import sentences
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from eigentext.formats.opening import SkipLog

app = typer.Typer(no_args_is_help=True, help="Analyses of words, in and out of context.")


@app.command("analyse")
def analyse(
    source: options.Source,
    analyzer: Annotated[
        str, typer.Option("--analyzer", help="Which analyzer: sample (Arabic, ours).")
    ] = "sample",
    output: options.Output = "-",
    format_: options.Format = options.ResultFormat.native,
    raw: options.Raw = False,
    tokeniser: options.Tokeniser = "arabic",
    on_error: options.SkipErrors = options.OnError.stop,
    quiet: options.Quiet = False,
) -> None:
    """List every analysis of every word of a tokenised text.

    Native output: word, vocalised form, lemma, part of speech, gloss; one analysis a line.

    Example:

        $ eigentext lex analyse sample/arabic.txt
    """
    from json import dumps

    from eigentext.datasets import analyse as analyse_word
    from eigentext.formats.writing import write_lines

    if analyzer != "sample":
        raise SettingsError(f"unknown analyzer {analyzer!r}; known: sample")

    def lines(log: SkipLog | None) -> Iterator[str]:
        given = sentences([source], raw=raw, tokeniser=tokeniser, on_error=log)
        for number, tokens in enumerate(given, start=1):
            for word in tokens:
                analyses = analyse_word(word)
                if format_ is options.ResultFormat.jsonl:
                    found = {"sentence": number, "word": word, "analyses": analyses}
                    yield dumps(found, ensure_ascii=False)
                    continue
                for a in analyses or [{}]:
                    columns = (a.get(key, "_") for key in ("vocalised", "lemma", "pos", "gloss"))
                    yield "\t".join((word, *columns))

    with skipping(on_error, quiet=quiet) as log:
        write_lines(output, lines(log))
