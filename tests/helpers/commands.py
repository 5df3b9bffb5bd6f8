"""The command line in this process: a process of its own spends a second on imports."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from eigentext.cli.main import run

PLAIN = {"NO_COLOR": "1", "COLUMNS": "200", "TERM": "dumb"}
ENVIRONMENT = {name: os.environ[name] for name in os.environ if name != "EIGENTEXT_DATA"} | PLAIN

Done = subprocess.CompletedProcess[bytes]


def eigentext(*arguments: object, cwd: Path) -> Done:
    """Run the command here, in that folder; what it wrote comes back."""
    line = [str(argument) for argument in arguments]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with (
        chdir(cwd),
        patch.dict(os.environ, ENVIRONMENT, clear=True),
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
    done.stderr = re.sub(rb"^eigentext: compiling, .*\n", b"", done.stderr, flags=re.MULTILINE)
    return done


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
