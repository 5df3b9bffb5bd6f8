"""``eigentext data``: the catalogue of open data sets, and our own sample."""

from __future__ import annotations

from typing import Annotated

import typer

from eigentext.cli import options
from eigentext.cli.output import remark

app = typer.Typer(no_args_is_help=True, help="Open data sets: list, get, check.")

Name = Annotated[str, typer.Argument(help="Name of a data set, as `data list` shows it.")]
Folder = Annotated[
    str | None,
    typer.Option("--output", "-o", help="The data folder; else the one EIGENTEXT_DATA names."),
]


@app.command("list")
def list_(format_: options.Format = options.ResultFormat.native) -> None:
    """List the data sets that eigentext knows, with licence and size, and where they are.

    Example:

        $ eigentext data list
    """
    from json import dumps

    from eigentext.datasets import entries, locate

    if format_ is options.ResultFormat.jsonl:
        for entry in entries():
            found = locate(entry.name)
            row = {
                "name": entry.name,
                "title": entry.title,
                "licence": entry.licence,
                "bytes": entry.bytes,
                "place": None if found is None else str(found),
            }
            print(dumps(row, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("name", "title", "licence", "size", "here"):
        table.add_column(column, justify="right" if column == "size" else "left")
    for entry in entries():
        size = f"{entry.bytes / 1e6:.1f} MB"
        here = "yes" if locate(entry.name) else "-"
        table.add_row(entry.name, entry.title, entry.licence, size, here)
    Console().print(table)


@app.command("get")
def get(name: Name, output: Folder = None, quiet: options.Quiet = False) -> None:
    """Get a data set: from EIGENTEXT_DATA if it is there, else by download.

    The licence is printed first. The sample is written out of this package.

    Example:

        $ eigentext data get sample -o .
    """
    from eigentext.datasets import find
    from eigentext.datasets import get as get_set

    entry = find(name)
    remark(f"{entry.title}\nlicence: {entry.licence}. {entry.terms}", quiet=quiet)
    print(get_set(name, output))


@app.command("check")
def check(name: Name, output: Folder = None) -> None:
    """Check the files of a data set: there, of the right size, with the right checksum.

    Example:

        $ eigentext data get sample -o .

        $ eigentext data check sample -o .
    """
    from eigentext.datasets import check as check_set

    problems = check_set(name, output)
    for problem in problems:
        print(f"{problem.path}: {problem.why}")
    if problems:
        raise typer.Exit(2)
    print(f"{name}: all files are right")
