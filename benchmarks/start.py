"""How long a stranger waits: every command on the sample, with an empty cache and again.

    python benchmarks/start.py                          # the eigentext of this Python
    python benchmarks/start.py --python /venv/bin/python

*Cold* is the first run ever: no kernel was compiled on this machine, and unless the wheel brings
compiled kernels the command compiles what it needs, with helpers on all cores.  Seconds by the
clock are of an idle machine; CPU seconds are of the command, without its helpers.  *Warm* is the
same command again.  *Bare* is `eigentext --version`: Python and the command line, no model.
*studio* starts from nothing and is told by the clock: seconds to its address, and to the last of
its sample models; warm, they are there and are loaded.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

COMMANDS = {
    "bare": "--version",
    "words cluster": "words cluster sample/text.txt -o text.clusters --n-clusters 20",
    "words embed": "words embed sample/text.txt -o text.vec --n-components 20",
    "hmm train": "hmm train sample/text.txt -o text.hmm --n-states 5",
    "hmm eval": "hmm eval text.hmm sample/text.txt --train sample/text.txt",
    "const train": "const train sample/train.mrg -o my.lpcfg --n-states 4",
    "const apply": "const apply my.lpcfg sample/text.txt -o parsed.mrg",
    "dep train": "dep train train.conllu -o my.dep",
    "dep apply": "dep apply my.dep train.conllu -o predicted.conllu",
    "lex train": "lex train sample/arabic.jsonl -o arabic.ranker",
    "lex apply": "lex apply arabic.ranker sample/arabic.txt -o ranked.jsonl",
    "tag train": "tag train sample/entities.bio -o ner.tagger",
    "tag apply": "tag apply ner.tagger sample/entities.bio -o tagged.bio",
    "pipe train": "pipe train sample/treebank.conllu -o my.pipe",
    "pipe apply": "pipe apply my.pipe sample/raw.txt -o parsed.conllu",
}
BEFORE = ("data get sample -o .", "convert sample/train.mrg -o train.conllu")


def seconds(python: str, line: str, folder: Path, cache: Path) -> tuple[float, float, bool]:
    """CPU seconds of a command, those by the clock, and whether it said that it was compiling."""
    before, began = os.times(), time.monotonic()
    done = subprocess.run(
        [python, "-m", "eigentext.cli", *line.split()],
        cwd=folder,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    after = os.times()
    if done.returncode:
        raise SystemExit(f"eigentext {line}: {done.stderr}")
    used = after.children_user + after.children_system
    used -= before.children_user + before.children_system
    return used, time.monotonic() - began, "compiling" in done.stderr


def studio(python: str, folder: Path, cache: Path) -> tuple[float, float]:
    """Seconds by the clock until `eigentext studio` prints its address, and has all models."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    began = time.monotonic()
    with subprocess.Popen(
        [python, "-m", "eigentext.cli", "studio", "--port", "0", "--quiet"],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), "XDG_CACHE_HOME": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        listening = time.monotonic() - began
        while True:
            with direct.open(f"{address}/api/health") as answer:
                health = json.load(answer)
            coming = health["training"] and health["training"]["names"]
            if health["status"] == "ok" and not coming:
                break
            time.sleep(0.2)
        ready = time.monotonic() - began
        process.terminate()
    return listening, ready


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--python", default=sys.executable, help="whose eigentext is asked")
    given = parser.parse_args()
    print("| command | cold, s by the clock | cold, CPU s | warm, CPU s | compiled |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="eigentext-") as name:
        folder, cache = Path(name) / "work", Path(name) / "cache"
        folder.mkdir()
        for line in BEFORE:
            seconds(given.python, line, folder, cache)
        for command, line in COMMANDS.items():
            shutil.rmtree(cache, ignore_errors=True)  # not even what other commands share
            cold, clock, compiled = seconds(given.python, line, folder, cache)
            warm = min(seconds(given.python, line, folder, cache)[0] for _ in range(2))
            said = "yes" if compiled else "no"
            print(f"| {command} | {clock:.1f} | {cold:.1f} | {warm:.1f} | {said} |", flush=True)
        shutil.rmtree(cache, ignore_errors=True)
        for state in ("cold", "warm"):
            listening, ready = studio(given.python, folder / "samples", cache)
            print(f"studio, {state}: address after {listening:.1f} s, ready after {ready:.1f} s")


if __name__ == "__main__":
    main()
