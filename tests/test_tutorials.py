"""The commands and the Python of the tutorials run, in order, in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TUTORIALS = sorted((Path(__file__).parents[1] / "docs").glob("tutorial-*.md"))


def _blocks(page: Path) -> list[str]:
    """Indented blocks, in order."""
    found = re.findall(r"(?:^    .*\n|^\n(?=    ))+", page.read_text("utf-8"), re.MULTILINE)
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE).strip("\n") for block in found]


def test_there_are_tutorials():
    assert TUTORIALS


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_tutorial(page, tmp_path):
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    blocks = _blocks(page)
    assert len(blocks) >= 4
    for block in blocks:
        script = block.startswith("from ")
        command = [sys.executable, "-c", block] if script else ["/bin/sh", "-ec", block]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, f"{block}\n{done.stderr}"
