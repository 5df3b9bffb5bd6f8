"""What a command tells a person: results, figures, remarks, progress.

Results go where ``--output`` says.  Figures (counts, scores, seconds) go to stdout, or to stderr
when stdout carries the results.  Progress and remarks always go to stderr; progress is silent when
stderr is not a terminal.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from eigentext.errors import SettingsError, shortened


class Clock:
    """Seconds since it was made: by the clock on the wall, and of CPUs, those of workers too.

    >>> sorted(Clock().figures())
    ['cpu_seconds', 'wall_seconds']
    """

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), _cpu_seconds()

    def figures(self, **counts: int) -> dict[str, float]:
        """Both, by name, and for each count how many there were in a second on the wall."""
        wall = time.perf_counter() - self._wall
        seconds = {"wall_seconds": wall, "cpu_seconds": _cpu_seconds() - self._cpu}
        rates = {f"{name}_per_second": count / max(wall, 1e-9) for name, count in counts.items()}
        return {name: round(value, 2) for name, value in (seconds | rates).items()}


def _cpu_seconds() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


# what could steer a terminal or hide the end of a line: control characters, line and direction
# marks, halves of characters
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""A message as one line that a terminal only shows; file names and data may hold anything.

    >>> print(printable("no file \x1b[31mred"))
    no file \x1b[31mred
    """
    return _UNPRINTABLE.sub(
        lambda match: match[0].encode("unicode_escape", "surrogatepass").decode(),
        shortened(text, 4000),
    )


def remark(text: str, *, quiet: bool = False) -> None:
    """One line to the person at the terminal."""
    if not quiet:
        print(printable(text), file=sys.stderr)


def show_figures(
    figures: Mapping[str, object], *, as_json: bool, results_on_stdout: bool = False
) -> None:
    """Print figures as one JSON object or as a two-column table."""
    stream = sys.stderr if results_on_stdout else sys.stdout
    if as_json:
        print(json.dumps(figures, ensure_ascii=False), file=stream)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(justify="left")
    table.add_column(justify="right", overflow="fold")  # a checksum is shown whole
    for name, value in figures.items():
        table.add_row(
            *(Text(printable(cell)) for cell in (name.replace("_", " "), readable(value)))
        )
    Console(file=stream).print(table)


def show_table(title: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Rows that have the same columns, under a title; numbers stand to the right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False)
    for name, value in rows[0].items() if rows else ():
        table.add_column(
            name.replace("_", " "),
            justify="left" if isinstance(value, str) else "right",
            overflow="fold",
        )
    for row in rows:
        cells = (f"{x:.4g}" if isinstance(x, float) else str(x) for x in row.values())
        table.add_row(*(Text(printable(cell)) for cell in cells))  # brackets are no markup
    if title:
        print()
    Console().print(table)


def readable(value: object) -> str:
    """A value as a person reads it; what is neither number nor text as JSON."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def check_picture(path: str, flag: str) -> None:
    """A picture is written as its name says: .png or .svg, in any case of letters.

    >>> check_picture("a.PNG", "--plot")
    """
    if not path.lower().endswith((".svg", ".png")):
        raise SettingsError(f"{flag} writes .svg or .png, not {path!r}")


def write_picture(path: str, picture: str | bytes) -> None:
    """A picture as a file."""
    from eigentext.base.files.opening import atomic_write

    with atomic_write(path) as file:
        file.write(picture if isinstance(picture, bytes) else picture.encode("utf-8"))


# what stages count that are not of the text itself
_UNITS = dict.fromkeys(("exchange", "insertion", "ward"), "words")
_UNITS |= {"rounds": "rounds", "svd": "directions"}


def _rate(a_second: float, unit: str) -> str:
    """How fast it goes.

    >>> _rate(2_500_000, "bytes"), _rate(3.25, "rounds")
    ('2.5 MB/s', '3.2 rounds/s')
    """
    if unit != "bytes":
        return f"{a_second:,.1f} {unit}/s"
    from rich.filesize import decimal

    return f"{decimal(int(a_second))}/s"


@contextmanager
def progress_bar(
    *, quiet: bool = False, unit: str = "bytes"
) -> Iterator[Callable[[int, int, str], None]]:
    """A bar with rate and time left, fed as ``update(done, total, stage)``.

    Without a known total (0) it shows the rate alone; who never feeds it sees none.

    >>> with progress_bar(quiet=True) as update:
    ...     update(1, 10, "reading")
    """
    if quiet or not (os.isatty(2) or os.environ.get("FORCE_COLOR")):
        yield lambda done, total, stage: None  # and rich need not be imported
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        redirect_stdout=False,  # or what is printed to a file would go to the terminal
        disable=not console.is_terminal,
    )
    stages: dict[str, TaskID] = {}
    began: dict[str, float] = {}

    def update(done: int, total: int, stage: str) -> None:
        if not stages:
            bar.start()
        if stage not in stages:
            stages[stage] = bar.add_task(stage, total=total or None, rate="")
            began[stage] = time.monotonic()
        a_second = done / max(time.monotonic() - began[stage], 1e-3)
        rate = _rate(a_second, _UNITS.get(stage, unit))
        bar.update(stages[stage], completed=done, total=total or None, rate=rate)

    try:
        yield update
    finally:
        if stages:
            bar.stop()
