"""``eigentext demo``: the main job on the sample data."""

from __future__ import annotations

from eigentext.cli import options
from eigentext.cli.command import flag, with_flags
from eigentext.cli.output import remark


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
