"""Do the tests still catch the faults that they were written for?

usage: python benchmarks/mutants.py [--only PATTERN]

Each mutant of ``tests/mutants.toml`` is planted in a temporary copy of src, never in place, and
its test must fail; what survives is told, with exit code 1.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIST = ROOT / "tests" / "mutants.toml"
MOST_SECONDS = 1800


def mutants() -> list[dict[str, str]]:
    """The faults, in the order of the list."""
    found: list[dict[str, str]] = tomllib.loads(LIST.read_text("utf-8"))["mutant"]
    return found


def planted(source: str, mutant: dict[str, str]) -> str:
    """The source with the fault in it."""
    times = source.count(mutant["from"])
    if times != 1 or mutant["from"] == mutant["to"]:
        raise SystemExit(f"{mutant['file']}: {mutant['from']!r} stands there {times} times")
    return source.replace(mutant["from"], mutant["to"])


def outcome(mutant: dict[str, str], src: Path) -> str:
    """Plant the fault in that copy, run the tests, and take it out again."""
    path = src / "eigentext" / mutant["file"]
    clean = path.read_text("utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    command += mutant["test"].split()
    environment = os.environ | {"PYTHONPATH": str(src)}
    settings = {"cwd": ROOT, "env": environment, "capture_output": True, "text": True}
    try:
        path.write_text(planted(clean, mutant), "utf-8")
        done = subprocess.run(command, check=False, timeout=MOST_SECONDS, **settings)
    except subprocess.TimeoutExpired:
        return f"caught: no end within {MOST_SECONDS} seconds"
    finally:
        path.write_text(clean, "utf-8")
    said = {0: "SURVIVED", 1: "caught"}  # pytest: no test failed, some did
    return said.get(done.returncode, f"NOT RUN: {done.stdout[-2000:]}{done.stderr}")


def main() -> int:
    """Plant the mutants that are asked for; 1 if any is not caught."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", metavar="PATTERN", help="in file, text or test")
    only = parser.parse_args().only
    chosen = [mutant for mutant in mutants() if re.search(only, "\n".join(mutant.values()))]
    bad = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        src = shutil.copytree(ROOT / "src", Path(folder) / "src")
        for number, mutant in enumerate(chosen, start=1):
            said = outcome(mutant, src)
            bad += not said.startswith("caught")
            where = f"{number}/{len(chosen)} {mutant['file']}"
            print(f"{where}: {mutant['from']!r} -> {mutant['to']!r}\n    {said}", flush=True)
    print(f"{len(chosen)} planted, {bad} not caught")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
