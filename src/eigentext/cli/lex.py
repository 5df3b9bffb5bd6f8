"""``eigentext lex``: analyses of words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from eigentext.cli import options
from eigentext.errors import SettingsError

app = typer.Typer(no_args_is_help=True, help="Analyses of words, in and out of context.")


@app.command("analyse")
def analyse(
    source: options.Source,
    analyzer: Annotated[
        str, typer.Option("--analyzer", help="Which analyzer: sample (Arabic, ours).")
    ] = "sample",
    output: options.Output = "-",
    format_: options.Format = options.ResultFormat.native,
) -> None:
    """List every analysis of every word of a tokenised text.

    Native output: word, vocalised form, lemma, part of speech, gloss; one analysis a line.

    Example:

        $ eigentext lex analyse sample/arabic.txt
    """
    from json import dumps

    from eigentext.datasets import analyse as analyse_word
    from eigentext.formats.text import read_sentences
    from eigentext.formats.writing import write_lines

    if analyzer != "sample":
        raise SettingsError(f"unknown analyzer {analyzer!r}; known: sample")

    def lines() -> Iterator[str]:
        for number, tokens in enumerate(read_sentences(source), start=1):
            for word in tokens:
                analyses = analyse_word(word)
                if format_ is options.ResultFormat.jsonl:
                    found = {"sentence": number, "word": word, "analyses": analyses}
                    yield dumps(found, ensure_ascii=False)
                    continue
                for a in analyses or [{}]:
                    columns = (a.get(key, "_") for key in ("vocalised", "lemma", "pos", "gloss"))
                    yield "\t".join((word, *columns))

    write_lines(output, lines())
