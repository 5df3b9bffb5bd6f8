"""Do the tests still catch the faults that they were written for?

usage: python benchmarks/mutants.py [--only PATTERN] [--list FILE]

Each mutant of ``tests/mutants.toml`` is a fault: in ``file`` (below src/eigentext) the text
``from``, which stands there once, becomes ``to``; and ``test`` (or several, with spaces between)
must fail.  Each is planted in a temporary copy of src, never in place; what survives is printed at
the end, with exit code 1.
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
CAUGHT, SURVIVED = 1, 0  # exit codes of pytest: some test failed, none did
MOST_SECONDS = 1800


def mutants(path: Path = LIST) -> list[dict[str, str]]:
    """The faults of a list, in its order."""
    found: list[dict[str, str]] = tomllib.loads(path.read_text("utf-8"))["mutant"]
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
    environment = os.environ | {"PYTHONPATH": str(src)}
    try:
        path.write_text(planted(clean, mutant), "utf-8")
        done = subprocess.run(
            [*command, *mutant["test"].split()],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=MOST_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"caught: no end within {MOST_SECONDS} seconds"
    finally:
        path.write_text(clean, "utf-8")
    if done.returncode in (CAUGHT, SURVIVED):
        failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
        return f"caught by {failed[0] if failed else '?'}" if done.returncode else "SURVIVED"
    return f"NOT RUN: pytest ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr}"


def main() -> int:
    """Plant the mutants that are asked for; 1 if any survives."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", metavar="PATTERN", help="in file, text or test")
    parser.add_argument("--list", type=Path, default=LIST, metavar="FILE", help="other mutants")
    options = parser.parse_args()
    chosen = [m for m in mutants(options.list) if re.search(options.only, "\n".join(m.values()))]
    bad = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        src = shutil.copytree(ROOT / "src", Path(folder) / "src")
        for number, mutant in enumerate(chosen, start=1):
            said = outcome(mutant, src)
            bad += not said.startswith("caught")
            what = f"{mutant['file']}: {mutant['from']!r} -> {mutant['to']!r}"
            print(f"{number}/{len(chosen)} {what}\n    {said}", flush=True)
    print(f"{len(chosen)} planted, {bad} not caught")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
