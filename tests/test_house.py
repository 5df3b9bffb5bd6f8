"""docs/house.md names every room once, and the picture shows the imports as they are."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def graph() -> Any:
    pytest.importorskip("grimp")
    return importlib.import_module("import_graph")


def test_the_page_names_every_room_and_fits_a_screen(graph: Any) -> None:
    page = (ROOT / "docs" / "house.md").read_text("utf-8")
    rooms = [
        room
        for line in page.splitlines()
        if line.startswith("| `")
        for room in re.findall(r"`(\w+)/`", line.split("|")[1])
    ]
    assert sorted(rooms) == sorted(room for layer in graph.layers() for room in layer)
    assert len(page.splitlines()) <= 45


def test_the_files_to_read_are_there() -> None:
    page = (ROOT / "docs" / "house.md").read_text("utf-8")
    files = re.findall(r"`(\w+/[\w/]+\.py)`", page)
    assert len(files) > 20
    for file in files:
        assert any((ROOT / folder / file).is_file() for folder in ("src/eigentext", ".")), file


def test_the_picture_is_that_of_the_imports(graph: Any) -> None:
    stored = (ROOT / "docs" / "import-graph.svg").read_text("utf-8")
    pairs = re.compile(r"<title>(\w+ imports \w+): \d+</title>")
    assert set(pairs.findall(stored)) == set(pairs.findall(graph.draw())), "docs/import_graph.py"


def test_the_core_imports_neither_wing(graph: Any) -> None:
    for above, below in graph.edges():
        if below in ("lab", "studio"):
            assert above == below, f"{above} imports {below}"
