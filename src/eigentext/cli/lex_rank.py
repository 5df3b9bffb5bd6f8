"""``eigentext lex rank``: text in, every analysis of every word ranked."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from eigentext.cli import options
from eigentext.cli.output import skipping
from eigentext.cli.text_input import typed_sentences

if TYPE_CHECKING:
    from eigentext.base.files.opening import SkipLog

Model = Annotated[str, typer.Argument(help="A model written by `lex train`.")]
OtherAnalyzer = Annotated[
    str | None,
    typer.Option("--analyzer", help="Where the analyzer lies now, if the model's is elsewhere."),
]


class RankFormat(StrEnum):
    """What comes out."""

    jsonl = "jsonl"
    conllu = "conllu"
    vocalised = "vocalised"


def rank(
    model: Model,
    source: options.Source,
    output: options.Output = "-",
    format_: Annotated[
        RankFormat,
        typer.Option(
            "--format",
            help="JSON Lines with the best candidates, CoNLL-U with the best one, or the text in "
            "its best vocalisation.",
        ),
    ] = RankFormat.jsonl,
    top: Annotated[int, typer.Option("--top", min=1, help="Candidates to list a word.")] = 3,
    analyzer: OtherAnalyzer = None,
    raw: options.Raw = False,
    tokeniser: options.Tokeniser = "arabic",
    newlines: options.Newlines = options.NewlinesName.auto,
    on_error: options.SkipErrors = options.OnError.stop,
    quiet: options.Quiet = False,
) -> None:
    """Rank every analysis of every word; the whole file is one document.

    Every token gets an answer; "guessed" marks those that neither the analyzer nor training knew.

    Example:

        $ eigentext lex train sample/arabic.jsonl -o arabic.ranker --bits 16

        $ eigentext lex rank arabic.ranker sample/arabic.txt -o ranked.jsonl

        $ eigentext lex rank arabic.ranker sample/arabic.txt --format conllu
    """
    from eigentext.base.files.writing import write_lines
    from eigentext.lexical.documents import Document, Word
    from eigentext.lexical.output import as_conllu, as_json_line, as_vocalised
    from eigentext.lexical.ranker.model import LexicalRanker

    ranker = LexicalRanker.load(model, analyzer=analyzer)

    def lines(log: SkipLog | None) -> Iterator[str]:
        given = list(
            typed_sentences(
                [source], raw=raw, tokeniser=tokeniser, newlines=newlines.value, on_error=log
            )
        )
        document = Document(source, [[Word(token.text) for token in tokens] for tokens in given])
        ranked = next(ranker.rank_documents([document]))
        for number, (tokens, found) in enumerate(zip(given, ranked, strict=True), start=1):
            words = [
                word._replace(typed=token.typed) for token, word in zip(tokens, found, strict=True)
            ]
            if format_ is RankFormat.jsonl:
                yield as_json_line(number, words, ranker, top)
            elif format_ is RankFormat.vocalised:
                yield as_vocalised(words, ranker)
            elif words:
                yield from as_conllu(number, words, ranker)

    with skipping(on_error, quiet=quiet) as log:
        write_lines(output, lines(log))
