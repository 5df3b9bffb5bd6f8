"""The page of the house, the picture of its imports, and the names that its code uses."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
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


# words that say nothing of what a variable holds; the field has a noun for it
SAY_NOTHING = set("found one own told given wanted made seen place who asked known".split())


def _variables(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of every parameter, and of every name that something is stored in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id


def test_variables_say_what_they_hold() -> None:
    source = ROOT / "src" / "eigentext"
    silent = [
        f"{path.relative_to(source)}:{line}: {name}"
        for path in sorted(source.rglob("*.py"))
        for line, name in _variables(ast.parse(path.read_text("utf-8")))
        if name in SAY_NOTHING
    ]
    assert not silent, "\n".join(silent)


def test_a_class_has_a_name_of_its_own() -> None:
    """Except where two rooms mean the same thing of two models: a parse, a reranker."""
    homes: dict[str, set[str]] = {}
    source = ROOT / "src" / "eigentext"
    for path in source.rglob("*.py"):
        if "kernels" in path.parts:
            continue
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, set()).add(str(path.relative_to(source)))
    several = {name: sorted(paths) for name, paths in homes.items() if len(paths) > 1}
    assert several.keys() <= {"Parse", "Reranker"}, several
