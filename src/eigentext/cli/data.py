"""``eigentext data`` and ``demo``: open data sets, our own sample, and the main job on it."""

from __future__ import annotations

from json import dumps
from typing import Annotated

import typer

from eigentext.cli import options
from eigentext.cli.command import flag, group, with_flags
from eigentext.cli.output import remark, show_table


@with_flags()
def list_(format_: options.Format = "native") -> None:
    """List the data sets that eigentext knows, with licence and size, and where they are.

    Example:
        $ eigentext data list
    """
    from eigentext.datasets import entries, locate

    if format_ == "jsonl":
        for entry in entries():
            folder = locate(entry.name)
            row = {
                "name": entry.name,
                "title": entry.title,
                "licence": entry.licence,
                "bytes": entry.bytes,
                "place": None if folder is None else str(folder),
            }
            print(dumps(row, ensure_ascii=False))
        return
    rows = [
        {
            "name": entry.name,
            "title": entry.title,
            "licence": entry.licence,
            "MB": round(entry.bytes / 1e6, 1),
            "here": "yes" if locate(entry.name) else "-",
        }
        for entry in entries()
    ]
    show_table("", rows)


@with_flags()
def get(
    name: Annotated[str, typer.Argument(help="Name of a data set, as `data list` shows it.")],
    output: str | None = flag("The data folder; else the one EIGENTEXT_DATA names.", None, "-o"),
    check: bool = flag("Get nothing: are all files there, and the right ones?", False),
    quiet: options.Quiet = False,
) -> None:
    """Get a data set: from EIGENTEXT_DATA if it is there, else by download.

    The licence is printed first. The sample is written out of this package.

    Example:
        $ eigentext data get sample -o .
        $ eigentext data get sample -o . --check
    """
    from eigentext.datasets import check as problems_of
    from eigentext.datasets import find
    from eigentext.datasets import get as get_set

    if check:
        problems = problems_of(name, output)
        for problem in problems:
            print(f"{problem.path}: {problem.why}")
        if problems:
            raise typer.Exit(2)
        print(f"{name}: all files are right")
        return
    entry = find(name)
    remark(entry.title, quiet=quiet)
    remark(f"licence: {entry.licence}. {entry.terms}", quiet=quiet)
    print(get_set(name, output))


@with_flags()
def demo(
    output: str = flag("Folder to write.", "demo-report", "-o"), quiet: options.Quiet = False
) -> None:
    """Train every model on the sample data, use it, and write an HTML report.

    Example:
        $ eigentext demo -o demo-report
    """
    from eigentext.reports.demo import run_demo

    page = run_demo(output, lambda text: remark(text, quiet=quiet))
    print(page)


app = group(list_, get)
