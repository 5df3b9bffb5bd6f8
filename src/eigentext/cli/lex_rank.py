"""``eigentext lex rank``: text in, every analysis of every word ranked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from eigentext.cli import options
from eigentext.cli.command import with_flags
from eigentext.cli.run import Applying
from eigentext.cli.text_input import ArabicText

if TYPE_CHECKING:
    from eigentext.base.files.opening import SkipLog
    from eigentext.lexical.ranked import RankedWord
    from eigentext.lexical.ranker.model import LexicalRanker

Model = Annotated[str, typer.Argument(help="A model written by `lex train`.")]
OtherAnalyzer = Annotated[
    str | None,
    typer.Option("--analyzer", help="Where the analyzer lies now, if the model's is elsewhere."),
]


@with_flags()
def rank(
    model: Model,
    source: options.Source,
    run: Applying,
    text: ArabicText,
    format_: Annotated[
        Literal["jsonl", "conllu", "vocalised"],
        typer.Option(
            "--format",
            help="JSON Lines with the best candidates, CoNLL-U with the best one, or the text in "
            "its best vocalisation.",
        ),
    ] = "jsonl",
    top: Annotated[int, typer.Option("--top", min=1, help="Candidates to list a word.")] = 3,
    analyzer: OtherAnalyzer = None,
    jobs: options.Jobs = 1,
) -> None:
    """Rank every analysis of every word; the whole file is one document.

    Every token gets an answer; "guessed" marks those that neither the analyzer nor training knew.

    Example:

        $ eigentext lex train sample/arabic.jsonl -o arabic.ranker --bits 16

        $ eigentext lex rank arabic.ranker sample/arabic.txt -o ranked.jsonl

        $ eigentext lex rank arabic.ranker sample/arabic.txt --format conllu
    """
    from eigentext.base.parallel import in_order
    from eigentext.lexical.documents import Document, Word
    from eigentext.lexical.ranker.model import LexicalRanker

    ranker = LexicalRanker.load(model, analyzer=analyzer)

    counts = {"sentences": 0, "words": 0}

    def lines(log: SkipLog | None) -> Iterator[str]:
        sentences = list(text.typed([source], log))
        words = [[Word(token.text) for token in tokens] for tokens in sentences]
        ranked = next(ranker.rank_documents([Document(source, words)]))
        readings = [
            [answer._replace(typed=token.typed) for token, answer in zip(*both, strict=True)]
            for both in zip(sentences, ranked, strict=True)
        ]
        # ranked as one document, written by all: processes that are forked have the state already
        state = _Ranked(ranker, readings, format_, top)
        for number, shown in in_order(_shown, range(len(readings)), state=state, jobs=jobs):
            counts["sentences"] += 1
            counts["words"] += len(readings[number])
            yield from shown

    with run.reading() as (log, _):
        run.write(lines(log))
    if run.json:
        run.tell({**counts, "skipped": run.skipped, **run.clock.figures(words=counts["words"])})


class _Ranked(NamedTuple):
    """What is to be written."""

    ranker: LexicalRanker
    sentences: list[list[RankedWord]]
    format: str
    top: int


def _shown(ranked: _Ranked, numbers: list[int]) -> list[list[str]]:
    """The lines of some sentences, which are numbered from 0."""
    from eigentext.lexical.output import as_conllu, as_json_line, as_vocalised

    answers = []
    for number in numbers:
        words = ranked.sentences[number]
        if ranked.format == "jsonl":
            lines = [as_json_line(number + 1, words, ranked.ranker, ranked.top)]
        elif ranked.format == "vocalised":
            lines = [as_vocalised(words, ranked.ranker)]
        else:
            lines = list(as_conllu(number + 1, words, ranked.ranker)) if words else []
        answers.append(lines)
    return answers
