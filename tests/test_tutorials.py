"""The commands and the Python of the tutorials run, in order, in an empty folder."""

from __future__ import annotations

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
    assert sum(run_block(part, tmp_path) for part in parts) >= 10
