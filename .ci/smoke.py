"""What a fresh installation must do, in an empty folder: `python smoke.py`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

COMMANDS = """\
--version
words cluster sample/text.txt -o words.clusters --n-clusters 8 -q
hmm train sample/text.txt -o text.hmm --n-states 4 -q
const train sample/train.mrg -o english.lpcfg --n-states 2 -q
const apply english.lpcfg words.txt -o parsed.mrg -q
dep train sample/treebank.conllu -o english.dep --epochs 1 -q
dep apply english.dep sample/treebank-dev.conllu -o parsed.conllu -q
dep eval parsed.conllu sample/treebank-dev.conllu
info english.dep
words count packed.txt.zst -o packed.counts -q
"""


def main() -> None:
    """Run every command; the first that fails ends it."""
    with tempfile.TemporaryDirectory() as folder:
        from eigentext import __file__ as home
        from eigentext.base.files.writing import atomic_write
        from eigentext.datasets import write_sample

        assert "site-packages" in Path(home).parts, "the installed package is tried"
        write_sample(folder)
        Path(folder, "words.txt").write_text("The farmer sold the old house .\n")
        with atomic_write(Path(folder, "packed.txt.zst")) as out:
            out.write(b"a dog saw a cat\n" * 100)
        for line in COMMANDS.splitlines():
            command = [sys.executable, "-W", "error::DeprecationWarning:eigentext", "-m"]
            print("eigentext", line, flush=True)
            subprocess.run([*command, "eigentext.cli", *line.split()], cwd=folder, check=True)
    print(f"fine on Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
