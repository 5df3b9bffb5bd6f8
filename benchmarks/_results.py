"""Results that programs read: where they were made, how a table is read, and how costs compare.

The flow of a result: a benchmark prints tables -> :func:`tables` -> ``.bench/results/NAME.json``
(written whole or not at all) -> pages of documentation, and the next run, which compares.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eigentext import __version__
from eigentext.base.files.writing import atomic_write

HERE = Path(__file__).parent
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def write(path: Path, record: dict[str, Any]) -> None:
    """A JSON file with sorted keys, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(str(path)) as out:
        out.write((json.dumps(record, indent=1, sort_keys=True) + "\n").encode())


def read(path: Path) -> dict[str, Any] | None:
    """What :func:`write` wrote; None where nothing is, or where it is no JSON object."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def commit() -> str:
    """The commit of the source, with + where files differ from it; "" outside a repository."""

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(HERE), *arguments], capture_output=True, text=True, check=False
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    changed = git("status", "--porcelain", "--untracked-files=no", "--", "../src", "*.py")
    return git("rev-parse", "HEAD") + "+" * bool(changed)


def machine() -> dict[str, Any]:
    """What the figures hang on."""
    processor = platform.processor() or platform.machine()
    try:
        told = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        told = ""
    if found := re.search(r"^model name\s*:\s*(.+)$", told, re.MULTILINE):
        processor = found[1]
    packages = {}
    for name in PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = ""
    return {
        "cores": os.cpu_count(),
        "eigentext": __version__,
        "packages": packages,
        "processor": processor,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def tables(printed: str) -> list[dict[str, str]]:
    """The rows of all Markdown tables in a text, each a mapping from column to cell.

    >>> tables("before\\n| k | F1 |\\n|---|---|\\n| 2 | 80.1 |\\nafter")
    [{'k': '2', 'F1': '80.1'}]
    """
    rows: list[dict[str, str]] = []
    columns: list[str] | None = None
    before: list[str] = []
    for line in printed.splitlines():
        if not (line.startswith("|") and line.rstrip().endswith("|")):
            columns, before = None, []
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells and all(re.fullmatch(":?-+:?", cell) for cell in cells):
            columns = before
        elif columns is not None:
            rows.append(dict(zip(columns, cells, strict=False)))
        before = cells
    return rows


# ---------------------------------------------------------------- comparing


def calibration(rounds: int = 3) -> float:
    """CPU seconds of a fixed piece of work: the unit in which costs are told.

    Four sorts of work that models do: Python's own, products of matrices, sorting, and reading
    memory out of order.  The mean of some rounds, and not the least: what is measured beside it
    goes through the slow moments of a busy machine too.
    """
    random = np.random.default_rng(0)
    square = random.standard_normal((400, 400))
    unsorted = random.standard_normal(1_000_000)
    places = random.integers(0, 8_000_000, 4_000_000)
    memory = np.arange(8_000_000, dtype=np.float64)

    def python() -> None:
        seen: dict[int, int] = {}
        for number in range(400_000):
            seen[number % 997] = seen.get(number % 997, 0) + number

    def products() -> None:
        for _ in range(8):
            square @ square

    pieces = (python, products, lambda: np.sort(unsorted), lambda: memory[places].sum())
    began = time.process_time()
    for _ in range(rounds):
        for piece in pieces:
            piece()
    return (time.process_time() - began) / rounds


class Change(NamedTuple):
    """A figure that is not what it was: ``how`` is slower, faster, worse, better, new or gone."""

    part: str
    figure: str
    how: str
    before: float | None
    now: float | None

    @property
    def is_regression(self) -> bool:
        """Is it for the worse?"""
        return self.how in ("slower", "worse", "gone")

    def __str__(self) -> str:
        shown = " -> ".join("-" if x is None else f"{x:.4g}" for x in (self.before, self.now))
        more = ""
        if self.before and self.now and self.how in ("slower", "faster"):
            more = f" ({self.now / self.before:.2f} times the cost)"
        return f"{self.part} {self.figure}: {self.how}, {shown}{more}"


def changes(
    last: dict[str, Any], now: dict[str, Any], *, tolerance: float = 1.3, least: float = 0.5
) -> list[Change]:
    """What changed between two results of the quick set, by part.

    A part has ``costs``, in units of :func:`calibration`, and ``quality``: value, tolerance, and
    whether higher is better.  A cost changed if it is ``tolerance`` times the other and more than
    ``least`` units apart; quality, if it is beyond the tolerance that now goes with it.

    >>> last = {"dep": {"costs": {"train": 10.0}, "quality": {}}}
    >>> now = {"dep": {"costs": {"train": 15.0}, "quality": {}}}
    >>> [str(change) for change in changes(last, now)]
    ['dep train: slower, 10 -> 15 (1.50 times the cost)']
    """
    found: list[Change] = []
    for part in sorted({*last, *now}):
        was, is_ = last.get(part), now.get(part)
        if was is None or is_ is None:
            found.append(Change(part, "all of it", "new" if was is None else "gone", None, None))
            continue
        for figure in sorted({*was["costs"], *is_["costs"]}):
            a, b = was["costs"].get(figure), is_["costs"].get(figure)
            if a is None or b is None:
                found.append(Change(part, figure, "new" if a is None else "gone", a, b))
            elif abs(b - a) > least and max(a, b) > tolerance * min(a, b):
                found.append(Change(part, figure, "slower" if b > a else "faster", a, b))
        for figure in sorted({*was["quality"], *is_["quality"]}):
            old, new = was["quality"].get(figure), is_["quality"].get(figure)
            if old is None or new is None:
                values = (old and old["value"], new and new["value"])
                found.append(Change(part, figure, "new" if old is None else "gone", *values))
                continue
            gain = (new["value"] - old["value"]) * (1 if new["higher"] else -1)
            if not abs(gain) <= new["tolerance"]:  # what is no number is a regression
                how = "better" if gain > 0 else "worse"
                found.append(Change(part, figure, how, old["value"], new["value"]))
    return found
