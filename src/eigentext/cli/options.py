"""Flags that mean the same in every command, declared once."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class OnError(StrEnum):
    """What a reader does with an item that it cannot read."""

    stop = "stop"
    skip = "skip"


class ResultFormat(StrEnum):
    """How results are written: the format of the trade, or one JSON object a line."""

    native = "native"
    jsonl = "jsonl"


class NewlinesName(StrEnum):
    """Whether the end of a line of raw text ends a sentence."""

    auto = "auto"
    end = "end"
    joined = "join"  # str.join is taken


Sources = Annotated[
    list[str],
    typer.Argument(help="Files, globs or URLs; '-' is standard input.", show_default=False),
]
CorpusOrCounts = Annotated[
    list[str] | None,
    typer.Argument(help="Files, globs or URLs; '-' is standard input.", show_default=False),
]
StoredCounts = Annotated[
    str | None, typer.Option("--counts", help="Stored counts in place of a corpus.")
]
Memory = Annotated[
    str, typer.Option("--memory", help="Counting spills to disk beyond this: 500MB, 2GB, ...")
]
Source = Annotated[
    str, typer.Argument(help="A file or URL; '-' is standard input.", show_default=False)
]
Output = Annotated[
    str, typer.Option("--output", "-o", help="Where to write; '-' is standard output.")
]
ModelOutput = Annotated[
    str, typer.Option("--output", "-o", help="The model file to write.", show_default=False)
]
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", min=1, help="Workers; the result does not depend on it.")
]
Seed = Annotated[int, typer.Option("--seed", help="Start of every random choice.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")]
Json = Annotated[bool, typer.Option("--json", help="Figures as one JSON object.")]
Format = Annotated[ResultFormat, typer.Option("--format", help="How results are written.")]
SkipErrors = Annotated[
    OnError,
    typer.Option("--on-error", help="An item that cannot be read: stop, or skip and count it."),
]
Raw = Annotated[
    bool,
    typer.Option(
        "--raw/--tokens",
        help="Input is raw text, or one tokenised sentence a line (default).",
    ),
]
Tokeniser = Annotated[
    str,
    typer.Option(
        "--tokeniser", help="For --raw: ptb, ud-en, french, arabic, generic, whitespace."
    ),
]
Newlines = Annotated[
    NewlinesName,
    typer.Option(
        "--newlines",
        help="For --raw: does the end of a line end a sentence? end: always, join: never, auto: "
        "unless the text is wrapped there.",
    ),
]
DataName = Annotated[
    str | None, typer.Option("--data-name", help="Name of the data, for the model's header.")
]
DataLicence = Annotated[
    str | None, typer.Option("--data-licence", help="Licence of the data, for the header.")
]


def about_data(sources: list[str], name: str | None, licence: str | None) -> dict[str, object]:
    """What a model's header says of the data it was made from."""
    return {"name": name, "licence": licence, "files": sources}
