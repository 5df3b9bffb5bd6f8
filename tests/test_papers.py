"""docs/papers.md: what it names is there, and nothing is left blank without a reason."""

from __future__ import annotations

import pkgutil
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "papers.md"


def _rows() -> list[tuple[str, ...]]:
    lines = PAGE.read_text("utf-8").splitlines()
    rows = [
        tuple(cell.strip() for cell in line.strip().strip("|").split("|"))
        for line in lines
        if line.startswith("|")
    ]
    return [row for row in rows if row[1:2] != ("function",) and set("".join(row)) != {"-"}]


ROWS = _rows()


FAMILY = sorted(PAGE.parent.glob("family-*.md"))


def _check_tests(cell: str) -> None:
    """Every test that is named is there."""
    held = re.findall(r"`(tests/[^`]+)`", cell)
    assert held
    for one in held:
        path, _, name = one.partition("::")
        source = (ROOT / path).read_text("utf-8")
        assert f"def {name}(" in source if name else "def test_" in source, one


def _exists(name: str) -> bool:
    """Is there such a module of ours, or such a name in one?"""
    full = name if name.startswith("rivals.") else f"eigentext.{name}"
    try:
        pkgutil.resolve_name(full)
    except AttributeError:
        import_module(full)
    return True


def test_every_paper_has_its_table() -> None:
    assert PAGE.read_text("utf-8").count("\n## ") == PAGE.read_text("utf-8").count(
        "|---|---|---|---|"
    )
    assert len(ROWS) > 60


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:60])
def test_what_a_row_names_is_there(row: tuple[str, ...]) -> None:
    assert len(row) == 4, "a statement, a function, a test, and a figure or why there is none"
    statement, functions, tests, figure = row
    assert statement
    names = re.findall(r"`([^`]+)`", functions)
    assert names
    assert all(_exists(name) for name in names)
    _check_tests(tests)
    page = re.fullmatch(r"\[[^\]]+\]\(([\w-]+\.md)\)", figure)
    if page is None:
        assert re.fullmatch(r"none: .{8,}", figure), "a figure, or why there is none"
    else:
        assert (ROOT / "docs" / page[1]).is_file(), figure


@pytest.mark.parametrize("page", FAMILY, ids=lambda page: page.stem)
def test_a_member_of_the_family_has_all_that_a_page_needs(page: Path) -> None:
    """An equation, commands, a table of figures and how to get them, tests, and when to use it."""
    text = page.read_text("utf-8")
    assert text.count("$$") >= 2, "an equation"
    assert "eigentext " in text, "a command"
    assert "python benchmarks/" in text, "how to get the figures"
    assert text.count("\n|---|") >= 2, "a table"
    assert re.search(r"^## When to use it, and when not$", text, re.MULTILINE)
    _check_tests(text)
    assert f"]({page.name})" in (PAGE.parent / "family.md").read_text("utf-8")
