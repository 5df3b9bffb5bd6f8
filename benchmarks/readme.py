"""The commands behind the table of the README, run again as a user runs them.

    python benchmarks/readme.py                  # all of them: some minutes of CPU
    python benchmarks/readme.py "word vectors"   # one row

`readme.json` holds the commands of each row with what they gave, and the lines of the results
pages that the other figures stand in; a test holds the README against it.  CPU seconds are those
of whole commands, Python's start included, with one thread and compiled code cached.  Files are
those of ``$EIGENTEXT_DATA``, texts unpacked, or of a folder of their own; ``train.txt`` and
``test.txt`` are those of `hmm_text.py`.  ``--keep`` writes what comes out.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from _data import data, plain_text

RESULTS = Path(__file__).with_name("readme.json")
FOUR = ("EN-WS-353-ALL.txt", "EN-MEN-TR-3k.txt", "EN-RW-STANFORD.txt", "EN-SIMLEX-999.txt")
MEAN = "mean of WS-353, MEN, RW and SimLex"
THREADS = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def run(command: str, folder: Path) -> tuple[float, str]:
    """CPU seconds of one command, and what it printed."""
    name, *words = command.split()
    if name == "first":
        n, source, target = words
        lines = (data() / source).read_text("utf-8").splitlines(keepends=True)
        (folder / target).write_text("".join(lines[: int(n)]), encoding="utf-8")
        return 0.0, ""
    known = {"text/wiki.txt": plain_text("wiki"), "text/elife.txt": plain_text("elife")}
    paths = [
        known.get(word) or (str(data() / word) if word.partition("/")[1] else word)
        for word in words
    ]
    line = [sys.executable, "-m", "eigentext.cli", name, *paths]
    if words[0] == "eval":
        line.append("--json")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        line, cwd=folder, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | THREADS
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def figures(printed: str) -> dict[str, float]:
    """What a command that scores told; of word pairs, the mean of four sets."""
    told: dict[str, Any] = json.loads(printed or "{}")
    of_files = [one for one in told.values() if isinstance(one, dict)]
    four = [told[name]["spearman"] for name in FOUR if name in told]
    mean = {MEAN: 100 * sum(four) / len(FOUR)} if four else {}
    return {**told, **(of_files[0] if of_files else {}), **mean}


def texts(folder: Path) -> None:
    """The parts of wiki that `hmm_text.py` learns from and is judged on."""
    from hmm_text import PARTS, SIZES, sentences

    parts = sentences({"train": (0, SIZES["1.1M"]), "test": PARTS["test"]})
    for name, lines in parts.items():
        text = "".join(" ".join(tokens) + "\n" for tokens in lines)
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")


def main() -> None:
    """Run the commands and print them with what is kept and what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("rows", nargs="*", help="rows of the table, by their tasks")
    parser.add_argument("--keep", action="store_true")
    chosen = parser.parse_args()
    results: dict[str, Any] = json.loads(RESULTS.read_text("utf-8"))
    folder = Path(tempfile.mkdtemp())
    texts(folder)
    for task, row in results["rows"].items():
        for step in row["commands"] if task in (chosen.rows or results["rows"]) else ():
            seconds, printed = run(step["command"], folder)
            print(f"eigentext {step['command']}")
            if "cpu_seconds" in step:
                print(f"    CPU s: kept {step['cpu_seconds']}, now {seconds:.1f}")
                step["cpu_seconds"] = round(seconds, 1)
            now = figures(printed) if "figures" in step else {}
            for name, kept in step.get("figures", {}).items():
                step["figures"][name] = f"{now[name]:.{len(kept.partition('.')[2])}f}"
                print(f"    {name}: kept {kept}, now {step['figures'][name]}", flush=True)
    if chosen.keep:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
