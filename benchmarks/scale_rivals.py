"""Clusters of a large text: ours, clustercat and wcluster, on the same text, words and cores.

    python benchmarks/scale_rivals.py --text text.txt --clusters 1000 --min-count 5 \
        --clustercat PATH --wcluster PATH --jobs 2 --limit 1800 --output rivals.json

Each tool gets the tokenised text and gives a cluster to every word seen ``--min-count`` times or
more.  Wall and CPU seconds and peak memory are of the whole process, from the text to the file of
clusters; one evaluator computes the mutual information of all of them (pairs within lines,
natural logarithm, other words are ``<unk>``).  A tool that takes longer than ``--limit`` seconds
is stopped and told so.  wcluster has threads for the costs of its merges, and gets as many.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from _data import plain_text

from eigentext.counting.counting import count
from eigentext.evaluate.clustering import paths_information
from eigentext.language.formats.brown_paths import read_paths


class Used(NamedTuple):
    """What a process used; ``done`` is False where it was stopped at the limit."""

    done: bool
    wall: float
    cpu: float
    megabytes: float


def run(command: list[str], folder: Path, limit: float) -> Used:
    """Run a command to its end, or to the limit."""
    began = time.perf_counter()
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            wall = time.perf_counter() - began
            if pid:
                break
            if wall > limit:
                process.kill()
                _, status, usage = os.wait4(process.pid, 0)
                break
            time.sleep(0.05)
    done = os.waitstatus_to_exitcode(status) == 0
    if not done and wall <= limit:
        sys.exit(f"{command[0]} failed:\n" + (folder / "log").read_text(errors="replace")[-2000:])
    return Used(done, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def commands(asked: argparse.Namespace, folder: Path) -> dict[str, tuple[list[str], Path]]:
    """What to run for each tool, and where its clusters will be."""
    text, m, jobs = str(Path(asked.text).resolve()), str(asked.clusters), str(asked.jobs)
    least = str(asked.min_count)
    ours = folder / "ours.paths"
    cli = [sys.executable, "-m", "eigentext.cli", "words"]
    counting = [*cli, "count", text, "-o", "ours.counts", "--contexts", "lr2"]
    counting += ["--min-count", least, "--jobs", jobs, "--quiet"]
    clustering = [*cli, "cluster", "--counts", "ours.counts", "-o", "ours.clusters", "-m", m]
    clustering += ["--paths", ours.name, "--jobs", jobs, "--quiet"]
    both = " && ".join(" ".join(command) for command in (counting, clustering))
    told = {"eigentext": (["sh", "-c", both], ours)}
    if asked.clustercat:
        found = folder / "clustercat.tsv"
        command = [str(Path(asked.clustercat).resolve()), "--in", text]
        command += ["-c", m, "-j", jobs, "--min-count", least]
        shell = f"exec {' '.join(command)} > {found.name}"  # it takes no notice of its --out
        told["clustercat"] = (["sh", "-c", shell], found)
    if asked.wcluster:
        found = folder / "wcluster" / "paths"
        command = [str(Path(asked.wcluster).resolve()), "--text", text, "--c", m]
        command += ["--min-occur", least, "--threads", jobs, "--output_dir", "wcluster"]
        told["wcluster"] = (command, found)
    return told


def clusters_of(name: str, path: Path) -> dict[str, str]:
    """A name of its cluster for every word."""
    if name != "clustercat":
        return {entry.word: entry.bits for entry in read_paths(str(path))}
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").split("\n") if line)
    return {word: number for word, number, *_ in rows}


def main() -> None:
    """Run all, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", help="tokenised text, uncompressed; unless told wiki")
    parser.add_argument("--clusters", type=int, default=1000)
    parser.add_argument("--min-count", type=int, default=5)
    parser.add_argument("--clustercat", help="path of the binary")
    parser.add_argument("--wcluster", help="path of the binary")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=1800, help="seconds for a tool")
    parser.add_argument("--output", help="figures as JSON")
    asked = parser.parse_args()
    asked.text = asked.text or plain_text()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        counts = count([asked.text], contexts="r1", min_count=asked.min_count)
        print(f"{counts.n_tokens:,} tokens, {len(counts.words):,} words, m = {asked.clusters}\n")
        print("| tool | wall s | CPU s | peak MB | MI | wall, times ours |")
        print("|---|---|---|---|---|---|")
        for tool, (command, found) in commands(asked, folder).items():
            used = run(command, folder, asked.limit)
            told = paths_information(clusters_of(tool, found), counts)[None] if used.done else None
            rows.append({"tool": tool, **used._asdict(), "information": told})
            shown = "not finished" if told is None else f"{told:.4f}"
            print(
                f"| {tool} | {'> ' if not used.done else ''}{used.wall:.0f} | {used.cpu:.0f} | "
                f"{used.megabytes:,.0f} | {shown} | {used.wall / rows[0]['wall']:.1f} |",
                flush=True,
            )
    if asked.output:
        about = {"tokens": counts.n_tokens, "words": len(counts.words), "m": asked.clusters}
        Path(asked.output).write_text(json.dumps({**about, "jobs": asked.jobs, "rows": rows}))


if __name__ == "__main__":
    main()
