"""``eigentext demo``: the main job on the sample data."""

from __future__ import annotations

from typing import Annotated

import typer

from eigentext.cli import options
from eigentext.cli.output import remark


def demo(
    output: Annotated[
        str, typer.Option("--output", "-o", help="Folder to write.")
    ] = "demo-report",
    quiet: options.Quiet = False,
) -> None:
    """Train every model on the sample data, use it, and write an HTML report.

    Example:
        $ eigentext demo -o demo-report
    """
    from eigentext.reports.demo import run_demo

    page = run_demo(output, lambda text: remark(text, quiet=quiet))
    print(page)
