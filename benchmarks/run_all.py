"""Run every benchmark on the data in $EIGENTEXT_DATA, one after the other, and keep what they say.

usage: python benchmarks/run_all.py [--again] [NAME ...]

Every script runs without options, on data below $EIGENTEXT_DATA (and an ALMOR database at
$EIGENTEXT_ALMOR); rows that take long are kept below .bench or $EIGENTEXT_BENCH, so that a second
run prints them at once.  All of them together take many hours.

What a script printed goes to .bench/results/NAME.json: command, data, machine, commit, seconds,
the rows of its tables by column, and the whole text.  A script that has a result of this commit is
passed over, so that a run that was stopped goes on where it was; ``--again`` runs it anew.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from _data import KEPT
from _results import commit, machine, read, tables, write

HERE = Path(__file__).parent
RESULTS = KEPT / "results"
NO_BENCHMARKS = ("compiling.py", "mutants.py", "quick.py", "run_all.py", "trace_files.py")


def scripts() -> list[Path]:
    """Every benchmark that takes part, by name."""
    return [
        path
        for path in sorted(HERE.glob("*.py"))
        if path.name not in NO_BENCHMARKS and not path.name.startswith("_")
    ]


def is_done(path: Path, at: str) -> bool:
    """Is there a result of this commit?  Changed files (+) are never the same ones again."""
    result = read(path)
    whole = result is not None and result.get("returncode") == 0
    return bool(whole and result and result.get("commit") == at and at and not at.endswith("+"))


def run(script: Path, target: Path, at: str) -> int:
    """Run it, show what it prints as it comes, and write the result; its exit code."""
    command = [sys.executable, "-u", str(script)]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    printed = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            printed.append(line)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = "".join(printed)
    write(
        target,
        {
            "command": f"python benchmarks/{script.name}",
            "commit": at,
            "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            "data": "$EIGENTEXT_DATA",
            "date": time.strftime("%Y-%m-%d", time.gmtime(began)),
            "machine": machine(),
            "returncode": process.returncode,
            "rows": tables(text),
            "seconds": time.time() - began,
            "text": text.splitlines(),
        },
    )
    return process.returncode


def main() -> int:
    """Run the benchmarks that are named, or all; 1 if any failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--again", action="store_true", help="also those that are done")
    given = parser.parse_args()
    if not os.environ.get("EIGENTEXT_DATA"):
        print("set EIGENTEXT_DATA to the folder of open data sets", file=sys.stderr)
        return 2
    known = {script.stem: script for script in scripts()}
    if unknown := sorted(set(given.names) - set(known)):
        print(f"no such benchmark: {', '.join(unknown)}", file=sys.stderr)
        return 2
    at = commit()
    failed = []
    for name in given.names or known:
        target = RESULTS / f"{name}.json"
        if not given.again and is_done(target, at):
            print(f"== {name}: done, {target}", flush=True)
            continue
        print(f"== {name}", flush=True)
        if run(known[name], target, at) != 0:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
