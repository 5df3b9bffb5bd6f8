"""The commands and the Python of the README run, in order, in an empty folder."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.commands import blocks, run_block

README = Path(__file__).parents[1] / "README.md"
DOCS = README.parent / "docs"
RESULTS = json.loads((README.parent / "benchmarks" / "readme.json").read_text("utf-8"))["rows"]


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


def _table() -> dict[str, list[str]]:
    """The rows of figures by their tasks."""
    lines = README.read_text("utf-8").split("## What to expect")[1].split("## ")[0].splitlines()
    rows = [line.strip("|").split("|") for line in lines if line.startswith("| ")]
    return {re.split(r" \(\[|: ", row[0].strip())[0]: [c.strip() for c in row] for row in rows[1:]}


def _fresh(page: str) -> dict[str, str]:
    """The figures of the ten treebanks on which nothing was chosen: means and seconds."""
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| ")]
    las = rows[0].index(" LAS ")
    fresh = [float(row[las].strip(" *")) for row in rows[1:21]]  # UDPipe and ours, in turns
    names = {row[1].strip() for row in rows[1:21]}
    times = page.split("## Time, size, memory")[1].splitlines()
    seconds = [
        int(line.split("|")[2])
        for line in times
        if line[2:].split(",")[0] in names and ", UD 2.5" in line
    ]
    assert len(names) == len(seconds) == 10
    means = [f"{sum(part) / 10:.1f}" for part in (fresh[::2], fresh[1::2])]
    return dict(
        zip(
            ("theirs", "ours", "least", "most"),
            [*means, *map(str, (min(seconds), max(seconds)))],
            strict=True,
        )
    )


NAMES = re.compile(r"UDPipe 1\.2|5 rounds|30 iterations|times 30")
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?")


@pytest.mark.parametrize("task", RESULTS)
def test_every_figure_of_its_table_is_kept_or_stands_on_a_page(task: str) -> None:
    row = RESULTS[task]
    what, ours, theirs, learner = _table()[task]
    stands = set()
    for step in row["commands"]:
        stands |= {*step.get("figures", {}).values(), str(step.get("cpu_seconds"))}
    for page, lines in row["pages"].items():
        text = (DOCS / page).read_text("utf-8")
        assert f"(docs/{page})" in what
        for line in lines:
            assert line in text.splitlines(), line
            stands |= set(NUMBER.findall(line))
        if page == "guide/results-pipeline.md":
            stands |= set(_fresh(text).values())
    shown = NUMBER.findall(NAMES.sub("", f"{ours} {theirs}"))
    assert shown
    assert [figure for figure in shown if figure not in stands] == []
    measured = [step for step in row["commands"] if "figures" in step]
    assert (ours[0] == "*") == (not measured), "in slant is what was not run again"
    assert learner or what.startswith("the same")


def test_its_table_has_the_rows_of_the_results_and_their_commands() -> None:
    table = _table()
    assert list(table) == list(RESULTS)
    for task, (what, *_) in table.items():
        for command in re.findall(r"`([a-z]+ [^`]+)`", what):
            run = [
                {Path(word).name for word in step["command"].split()}
                for step in RESULTS[task]["commands"]
            ]
            assert command == "pipe train" or any(set(command.split()) <= one for one in run), (
                command
            )


def test_the_means_of_its_table_are_those_of_the_results() -> None:
    fresh = _fresh((DOCS / "guide" / "results-pipeline.md").read_text("utf-8"))
    _, ours, theirs, _ = _table()["raw text to trees"]
    assert ours == "*mean LAS {ours}; {least} to {most} s to train*".format(**fresh)
    assert theirs == "*UDPipe 1.2, same files: {theirs}*".format(**fresh)


def test_the_first_sentence_tells_of_both_kinds_of_learners() -> None:
    """Parsers, taggers and rankers learn online: linear algebra is not all."""
    root = README.parent
    files = ["README.md", "pyproject.toml", "CITATION.cff", "recipe/recipe.yaml", "docs/index.md"]
    for name in [*files, "src/eigentext/__init__.py", "src/eigentext/cli/main.py"]:
        told = re.findall(r"learned by linear algebra[^\n]*", (root / name).read_text("utf-8"))
        assert told, name
        assert all("online learners" in sentence for sentence in told), name


def test_the_command_is_installed():
    command = Path(sys.executable).with_name("eigentext")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"eigentext \d+\.\d+\S*\n", done.stdout)


def test_links_lead_somewhere():
    pages = [README, *(README.parent / "docs").rglob("*.md"), README.parent / "CONTRIBUTING.md"]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
