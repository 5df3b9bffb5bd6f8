"""The command line in this process: a process of its own spends a second on imports."""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from eigentext.cli.main import run

PLAIN = {"NO_COLOR": "1", "COLUMNS": "200", "TERM": "dumb"}
ENVIRONMENT = {name: os.environ[name] for name in os.environ if name != "EIGENTEXT_DATA"} | PLAIN

Done = subprocess.CompletedProcess[bytes]


def eigentext(*arguments: object, cwd: Path, **environment: str) -> Done:
    """Run the command here, in that folder; what it wrote comes back."""
    line = [str(argument) for argument in arguments]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with (
        chdir(cwd),
        patch.dict(os.environ, ENVIRONMENT | environment, clear=True),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = run(line)
        out.flush()
        err.flush()
    return subprocess.CompletedProcess(line, code, out.buffer.getvalue(), err.buffer.getvalue())


def started(*arguments: object, cwd: Path, given: bytes | None = None) -> Done:
    """Run the command in a process of its own: for standard input, warnings and signals."""
    done = subprocess.run(
        [sys.executable, "-m", "eigentext.cli", *map(str, arguments)],
        cwd=cwd,
        env=ENVIRONMENT,
        input=given,
        capture_output=True,
        check=False,
        timeout=300,
    )
    # whether something had to be compiled hangs on what ran before
    done.stderr = re.sub(rb"^eigentext: compiling.*\n", b"", done.stderr, flags=re.MULTILINE)
    return done


class Examples:
    """Lines of commands, each run once in the folder that the lines before it leave behind.

    Many examples begin with the same lines: what is trained there is trained once.  Models that
    a line installs by name lie in its folder, too.
    """

    MODELS = ".models"

    def __init__(self, first: Path, folder: Path) -> None:
        self._folder = folder
        self._left = {(): first}
        self._done: dict[tuple[str, ...], Done] = {}

    def run(self, lines: Sequence[str]) -> Done:
        """Run the last of the lines behind the others, unless it was."""
        key = tuple(lines)
        if key not in self._done:
            if len(key) > 1:
                self.run(key[:-1])
            folder = self.copy(key[:-1], self._folder / str(len(self._done)))
            models = str(folder / self.MODELS)
            self._done[key] = eigentext(*key[-1].split(), cwd=folder, EIGENTEXT_MODELS=models)
            self._left[key] = folder
        return self._done[key]

    def copy(self, lines: Sequence[str], folder: Path) -> Path:
        """Make a folder as these lines leave theirs."""
        return Path(shutil.copytree(self._left[tuple(lines)], folder))


def blocks(page: Path) -> list[str]:
    """The indented blocks of a page, in order."""
    found = re.findall(r"(?:^    .*\n|^\n(?=    ))+", page.read_text("utf-8"), re.MULTILINE)
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE).strip("\n") for block in found]


def run_block(block: str, folder: Path) -> int:
    """Run the commands, or the Python, of a block; return how many commands there were."""
    if block.startswith("from "):
        with chdir(folder), redirect_stdout(io.StringIO()):
            exec(compile(block, "page", "exec"), {"__name__": "page"})
        return 0
    lines = block.splitlines()
    for line in lines:
        program, *arguments = shlex.split(line, comments=True)
        assert program == "eigentext", line
        done = eigentext(*arguments, cwd=folder)
        assert done.returncode == 0, f"{line}\n{done.stderr.decode()}"
    return len(lines)
