"""The list of faults that tests catch: each can still be planted, and its tests are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mutants import mutants, planted

TESTS = Path(__file__).parent
SOURCES = TESTS.parent / "src" / "eigentext"


@pytest.mark.parametrize("mutant", mutants(), ids=lambda mutant: f"{mutant['file']}")
def test_it_can_be_planted_and_its_tests_are_there(mutant: dict[str, str]) -> None:
    source = (SOURCES / mutant["file"]).read_text("utf-8")
    assert planted(source, mutant) != source
    for test in mutant["test"].split():
        path, *names = test.partition("[")[0].split("::")
        text = (TESTS.parent / path).read_text("utf-8")
        for name in names:
            assert re.search(rf"\b(def|class) {re.escape(name)}\b", text), test
