"""The commands and the Python of the tutorials run, in order, in an empty folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from helpers.commands import blocks, run_block

TUTORIALS = sorted((Path(__file__).parents[1] / "docs").glob("tutorial-*.md"))


def test_there_are_tutorials():
    assert TUTORIALS


@pytest.mark.long
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_tutorial(page, tmp_path):
    parts = blocks(page)
    assert len(parts) >= 4
    assert sum(run_block(part, tmp_path) for part in parts) >= 8


@pytest.mark.long
def test_the_lines_of_the_first_page(tmp_path):
    page = (TUTORIALS[0].parent / "index.md").read_text("utf-8")
    (lines,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert run_block("eigentext model make sample", tmp_path) == 1
    assert run_block(lines, tmp_path) == 0


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_says_where_to_go_next(page):
    assert "\n## Where next\n" in page.read_text("utf-8")
