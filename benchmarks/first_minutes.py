"""The first ten minutes of a stranger, as a transcript with times.

    python benchmarks/first_minutes.py dist/eigentext-*.whl          # a wheel, or a checkout

A new virtual environment in a new folder, an empty home, no compiled kernel but what the wheel
brings: the commands of the README are run one after the other, as somebody would who pastes them.
Each is shown with the seconds that it took by the clock and of the processor, and with the end of
what it said.  The times are of one run; the machine may be busy.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

INSTALL = "pip install {package}"
COMMANDS = """\
eigentext --version
eigentext --help
eigentext model make sample
eigentext data get sample -o .
eigentext pipe apply sample sample/raw.txt -o parsed.conllu
eigentext pipe train sample/treebank.conllu -o english.pipe
eigentext pipe eval english.pipe sample/treebank-dev.conllu
eigentext const train sample/train.mrg -o my.lpcfg --n-states 4
eigentext convert sample/test.mrg -o test.txt
eigentext const apply my.lpcfg test.txt -o parsed.mrg
eigentext dep train sample/treebank.conllu -o english.dep --tags own --epochs 5
eigentext dep apply english.dep sample/treebank-dev.conllu -o predicted.conllu
eigentext words cluster sample/text.txt -o text.clusters --paths text.paths --n-clusters 20
eigentext words embed sample/text.txt -o text.vectors --n-components 50
eigentext hmm train sample/text.txt -o text.hmm --n-states 5
eigentext tag train sample/entities.bio -o ner.tagger --clusters text.paths
eigentext lex train sample/arabic.jsonl -o arabic.ranker --bits 16
eigentext lex apply arabic.ranker sample/arabic.txt --format vocalised
eigentext dep apply english.dep nowhere.conllu -o predicted.conllu
"""
SHOWN = 4  # lines of what a command said


def said(line: str, folder: Path, environment: dict[str, str]) -> tuple[float, float, int, str]:
    """Run a line: seconds by the clock, of the processor, exit code, and the end of its words."""
    before, start = os.times(), time.perf_counter()
    done = subprocess.run(
        line,
        shell=True,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    after = os.times()
    used = after.children_user + after.children_system
    used -= before.children_user + before.children_system
    lines = [one for one in done.stdout.splitlines() if one.strip() and "WARNING" not in one]
    cut = ["…", *lines[-SHOWN:]] if len(lines) > SHOWN else lines
    return time.perf_counter() - start, used, done.returncode, "\n".join(cut)


def main() -> None:
    """Print the transcript."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    here = Path(__file__).parents[1]
    parser.add_argument(
        "package", type=Path, nargs="?", default=here, help="a wheel or a checkout"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="eigentext-") as name:
        folder = Path(name)
        (folder / "home").mkdir()
        (folder / "work").mkdir()
        venv.create(folder / "venv", with_pip=True)
        environment = {
            **{
                key: value for key, value in os.environ.items() if key.startswith(("PIP_", "LANG"))
            },
            "HOME": str(folder / "home"),
            "PATH": f"{folder / 'venv' / 'bin'}:/usr/bin:/bin",
            "COLUMNS": "100",
        }
        began = time.perf_counter()
        install = INSTALL.format(package=given.package.absolute())
        for line in [install, *COMMANDS.splitlines()]:
            seconds, used, code, end = said(line, folder / "work", environment)
            shown = line.replace(str(given.package.absolute()), given.package.name)
            exit_code = f", exit code {code}" if code else ""
            print(f"$ {shown}", end.replace(str(folder), ""), sep="\n")
            print(f"    [{seconds:.1f} s, {used:.1f} CPU s{exit_code}]", flush=True)
        print(f"\nall: {(time.perf_counter() - began) / 60:.1f} minutes", file=sys.stderr)


if __name__ == "__main__":
    main()
