"""The commands and the Python of the README run, in order, in an empty folder."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from helpers.commands import blocks, run_block

README = Path(__file__).parents[1] / "README.md"


def test_readme(tmp_path):
    n_commands = n_scripts = 0
    for block in blocks(README):
        if block.startswith("make") or "serve" in block or "studio" in block:
            continue  # what is running here, and what runs for ever
        n_commands += run_block(block, tmp_path)
        n_scripts += block.startswith("from ")
    assert n_commands >= 10
    assert n_scripts == 1


def test_it_is_short():
    assert len(README.read_text("utf-8").splitlines()) <= 120


def test_the_mean_of_its_table_is_that_of_the_results():
    results = (README.parent / "docs" / "results-pipeline.md").read_text("utf-8")
    rows = [line.split("|") for line in results.splitlines() if line.startswith("| ")]
    las = rows[0].index(" LAS ")
    fresh = [float(row[las].strip(" *")) for row in rows[1:21]]  # UDPipe and ours, in turns
    theirs, ours = sum(fresh[::2]) / 10, sum(fresh[1::2]) / 10
    table = README.read_text("utf-8")
    assert f"mean LAS {ours:.1f};" in table
    assert f"UDPipe 1.2, same files: {theirs:.1f}" in table


def test_the_command_is_installed():
    command = Path(sys.executable).with_name("eigentext")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"eigentext \d+\.\d+\S*\n", done.stdout)


def test_links_lead_somewhere():
    pages = [README, *(README.parent / "docs").rglob("*.md"), README.parent / "CONTRIBUTING.md"]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
