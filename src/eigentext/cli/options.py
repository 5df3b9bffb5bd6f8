"""Flags that mean the same in every command, declared once."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from eigentext.base import cores
from eigentext.cli.command import EXPERT, noted

Sources = Annotated[
    list[str],
    typer.Argument(help="Files, globs or URLs; '-' is standard input.", show_default=False),
]
Labelled = Annotated[
    list[str], typer.Argument(help="Files (.jsonl, .conllu), globs or URLs.", show_default=False)
]
_TEXTS = "Text files, .parquet, .jsonl or .wet, globs or URLs; '-' is standard input."
Texts = Annotated[list[str], typer.Argument(help=_TEXTS, show_default=False)]
CorpusOrCounts = Annotated[list[str] | None, typer.Argument(help=_TEXTS, show_default=False)]
StoredCounts = Annotated[
    str | None, typer.Option("--counts", help="Stored counts in place of a corpus.")
]
Memory = Annotated[
    str, typer.Option("--memory", help="Beyond this, work goes to disk: 500MB, 2GB, ...")
]
Source = Annotated[
    str, typer.Argument(help="A file or URL; '-' is standard input.", show_default=False)
]


def written(*names: str, **how: Any) -> Any:
    """The option of a flag that names a file to write, which must not be an input too."""
    return typer.Option(*names, callback=noted, **how)


Output = Annotated[str, written("--output", "-o", help="Where to write; '-' is standard output.")]
ModelOutput = Annotated[
    str, written("--output", "-o", help="The model file to write.", show_default=False)
]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs",
        "-j",
        min=0,
        envvar="EIGENTEXT_JOBS",
        show_envvar=True,
        callback=lambda jobs: jobs or cores.available_cores(),
        help="Cores to use, 0 for all; the result does not depend on it.",
    ),
]
Device = Annotated[
    cores.Device,
    typer.Option(
        "--device",
        help="Where the work is done: cuda is a graphics card, auto the card where there is one.",
    ),
]
Model = Annotated[str, typer.Argument(help="A model of this group, a file or its name.")]
ModelOrAnswers = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="A model, or what any system answered to the gold: a file."
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="Start of every random choice.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no remarks.")]
Json = Annotated[bool, typer.Option("--json", help="Figures as one JSON object.")]
Format = Annotated[
    Literal["native", "jsonl"],
    typer.Option("--format", help="The usual format of such files, or one JSON object a line."),
]
OnError = Annotated[
    Literal["stop", "skip"],
    typer.Option(
        "--on-error",
        help="An item that cannot be read: stop, or skip and count it.",
        rich_help_panel=EXPERT,
    ),
]
DataName = Annotated[
    str | None,
    typer.Option(
        "--data-name", help="Name of the data, for the model's header.", rich_help_panel=EXPERT
    ),
]
DataLicence = Annotated[
    str | None,
    typer.Option(
        "--data-licence", help="Licence of the data, for the header.", rich_help_panel=EXPERT
    ),
]
