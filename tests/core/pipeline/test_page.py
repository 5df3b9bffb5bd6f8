"""The commands and the Python of the pipeline's page run, in order, in an empty folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.commands import blocks, run_block


@pytest.mark.long
def test_the_page_runs(tmp_path: Path) -> None:
    page = Path(__file__).parents[3] / "docs" / "guide" / "pipeline.md"
    assert sum(run_block(part, tmp_path) for part in blocks(page)) >= 11
