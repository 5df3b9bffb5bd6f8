"""The commands and the Python of the tutorials run, in order, in an empty folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from helpers.commands import blocks, run_block

DOCS = Path(__file__).parents[1] / "docs"
MODELS = ("words", "sequences", "constituency", "dependency", "lexical", "new-language")
READERS = ("linguist", "engineer", "teacher", "annotator")
TUTORIALS = [DOCS / "guide" / f"{name}.md" for name in (*MODELS, *READERS)]


def test_there_are_tutorials():
    assert all(page.is_file() for page in TUTORIALS)


@pytest.mark.long
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_tutorial(page, tmp_path):
    parts = blocks(page)
    assert len(parts) >= 4
    assert sum(run_block(part, tmp_path) for part in parts) >= 8


@pytest.mark.long
def test_the_lines_of_the_first_page(tmp_path):
    page = (DOCS / "index.md").read_text("utf-8")
    (lines,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert run_block("eigentext model make sample", tmp_path) == 1
    assert run_block(lines, tmp_path) == 0


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_says_where_to_go_next(page):
    assert "\n## Where next\n" in page.read_text("utf-8")
