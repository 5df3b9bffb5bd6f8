"""The commands and the Python of the README run, in order, in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def _blocks() -> list[str]:
    """Indented blocks, in order."""
    found = re.findall(r"(?:^    .*\n|^\n(?=    ))+", README.read_text("utf-8"), re.MULTILINE)
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE).strip("\n") for block in found]


def test_readme(tmp_path):
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    n_commands = n_scripts = 0
    for block in _blocks():
        if block.startswith("make") or "serve" in block:
            continue  # what is running here, and what runs for ever
        if block.startswith("from "):
            command: list[str] = [sys.executable, "-c", block]
            n_scripts += 1
        else:
            command = ["/bin/sh", "-ec", block]
            n_commands += len(block.splitlines())
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
    assert n_commands >= 10
    assert n_scripts == 1


def test_links_lead_somewhere():
    pages = [README, *(README.parent / "docs").rglob("*.md"), README.parent / "CONTRIBUTING.md"]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
