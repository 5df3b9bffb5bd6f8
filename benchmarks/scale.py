"""How counting, clustering and vectors grow with the text: CPU, wall, memory, the same result.

    python benchmarks/scale.py --sizes 37e6 150e6 370e6
    python benchmarks/scale.py --sizes 1e9 --stages count --memory 4GB    # one stage at a time

For every size a text is made (``zipf_text.py``; its types and pairs grow as those of real text),
and every command runs as a process of its own, with each number of ``--jobs``:

* ``count``    `words count`, the most frequent words (--words), contexts lr1
* ``types``    `words count` of all words, contexts r1
* ``cluster``  `words cluster` of the counts of ``count``
* ``embed``    `words embed` of the text, which counts contexts up to five words away

A row is a size, a stage and a number of jobs.  It is kept when it is finished, and a second run
goes on where the first one was stopped.  The text of a size is removed when its rows are there, so
that disk is needed for one text (5.4 bytes a token, a third of it with --packed), its counts and
what the command puts aside.  The growth between two sizes is the exponent of CPU seconds in
tokens: 1 is linear.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from _data import kept
from zipf_text import write_shards

STAGES = ("count", "types", "cluster", "embed")
Row = dict[str, Any]


def commands(options: argparse.Namespace, texts: list[str], folder: Path) -> dict[str, list[str]]:
    """The arguments of each stage, but for jobs and output."""
    words = ["--vocab-size", str(int(options.words))]
    memory = ["--memory", options.memory]
    return {
        "count": ["count", *texts, *words, "--contexts", "lr1", *memory],
        "types": ["count", *texts, "--contexts", "r1", *memory],
        "cluster": [
            *("cluster", "--counts", str(folder / "count.out"), "-m", str(options.clusters)),
            *memory,
        ],
        "embed": ["embed", *texts, *words, *memory],
    }


def measured(arguments: list[str]) -> tuple[Row, str]:
    """Seconds and peak memory of a command, and what it told."""
    began = time.perf_counter()
    whole = [sys.executable, "-m", "eigentext.cli", "words", *arguments, "--json"]
    with subprocess.Popen(whole, stdout=subprocess.PIPE, text=True) as process:
        told = process.stdout.read() if process.stdout else ""
        # wait4 tells of this child alone; getrusage would give the largest of all so far
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(whole)}: exit code {process.returncode}")
    row = {
        "cpu": round(usage.ru_utime + usage.ru_stime, 2),
        "wall": round(time.perf_counter() - began, 2),
        "peak_mb": round(usage.ru_maxrss / (1024 if sys.platform != "darwin" else 2**20)),
    }
    return row, told


def digest(path: Path) -> str:
    """The sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Rows:
    """The rows that are finished, in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[Row] = []
        self.read()

    def read(self) -> None:
        """What is in the file now: another run may have added to it."""
        self.rows = json.loads(self.path.read_text()) if self.path.exists() else []

    def find(self, **key: Any) -> Row | None:
        """The row with these values."""
        found = (row for row in self.rows if all(row[name] == key[name] for name in key))
        return next(found, None)

    def add(self, row: Row) -> None:
        """Keep a row, whole or not at all."""
        self.read()
        self.rows.append(row)
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.rows, indent=1) + "\n")
        part.replace(self.path)


def run_size(size: int, options: argparse.Namespace, rows: Rows, folder: Path) -> None:
    """The rows of one size that are not there yet."""
    about = {"words": int(options.words), "clusters": options.clusters, "memory": options.memory}
    asked = [(stage, jobs) for stage in options.stages for jobs in options.jobs]
    missing = [
        (stage, jobs)
        for stage, jobs in asked
        if rows.find(size=size, stage=stage, jobs=jobs, **about) is None
    ]
    if not missing:
        return
    here = folder / str(size)
    began = time.process_time()
    texts = write_shards(here / "text", size, packed=options.packed, jobs=max(options.jobs))
    print(f"{size:,} tokens: text made in {time.process_time() - began:.0f} CPU s", flush=True)
    arguments = commands(options, [str(path) for path in texts], here)
    counted = here / "count.out"
    if any(stage == "cluster" for stage, _ in missing) and not counted.exists():
        measured([*arguments["count"], "-o", str(counted), "--jobs", str(max(options.jobs))])
    for stage, jobs in missing:
        target = here / f"{stage}.out"
        row, told = measured([*arguments[stage], "-o", str(target), "--jobs", str(jobs)])
        row |= {"output_mb": target.stat().st_size // 10**6, "sha256": digest(target)}
        row |= {"told": json.loads(told)}
        rows.add({"size": size, "stage": stage, "jobs": jobs, **about, **row})
        print(f"{size:>13,} {stage:<8} --jobs {jobs}: {row['cpu']:.0f} CPU s, ", end="")
        print(f"{row['wall']:.0f} s, {row['peak_mb']:,} MB", flush=True)
        if stage != "count":
            target.unlink()
    if not options.keep:
        shutil.rmtree(here)


def table(rows: Rows, options: argparse.Namespace) -> None:
    """One line a stage and size."""
    about = {"words": int(options.words), "clusters": options.clusters, "memory": options.memory}
    walls = "".join(f"{f'wall, {jobs}':>10}" for jobs in options.jobs)
    print(
        f"{'stage':<8}{'tokens':>15}{'CPU s':>9}{walls}{'faster':>8}{'MB':>8}{'growth':>8}  same"
    )
    for stage in options.stages:
        before: Row | None = None
        for size in options.sizes:
            found = [rows.find(size=size, stage=stage, jobs=j, **about) for j in options.jobs]
            known = [row for row in found if row is not None]
            if len(known) < len(found):
                continue
            first = known[0]
            growth = ""
            if before is not None:
                steps = (first["cpu"] / before["cpu"], size / before["size"])
                growth = f"{math.log(steps[0]) / math.log(steps[1]):.2f}"
            same = "yes" if len({row["sha256"] for row in known}) == 1 else "NO"
            same = same if len(known) > 1 else "-"  # nothing to compare with
            seconds = "".join(f"{row['wall']:>10.1f}" for row in known)
            faster = known[0]["wall"] / known[-1]["wall"]
            peak = max(row["peak_mb"] for row in known)
            print(
                f"{stage:<8}{size:>15,}{first['cpu']:>9.1f}{seconds}{faster:>8.2f}{peak:>8,}"
                f"{growth:>8}  {same}"
            )
            before = first


def main() -> None:
    """Make the rows, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sizes", type=float, nargs="+", default=[37e6, 150e6, 370e6])
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES))
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--words", type=float, default=200_000)
    parser.add_argument("--clusters", type=int, default=1000)
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--packed", action="store_true", help="texts are .zst")
    parser.add_argument("--keep", action="store_true", help="leave texts and counts")
    parser.add_argument("--folder", type=Path, help="for rows, texts and counts")
    parser.add_argument("--json", type=Path, help="copy the rows here")
    options = parser.parse_args()
    options.sizes = sorted(int(size) for size in options.sizes)
    folder = options.folder or kept(__file__)
    folder.mkdir(parents=True, exist_ok=True)
    rows = Rows(folder / "rows.json")
    for size in options.sizes:
        run_size(size, options, rows, folder)
    table(rows, options)
    if options.json:
        shutil.copy(rows.path, options.json)


if __name__ == "__main__":
    main()
