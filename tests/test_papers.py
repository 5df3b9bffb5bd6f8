"""docs/reference/papers.md: what it names is there, and nothing is left blank without a reason."""

from __future__ import annotations

import ast
import os
import pkgutil
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "papers.md"


def _rows() -> list[tuple[str, ...]]:
    lines = PAGE.read_text("utf-8").splitlines()
    rows = [
        tuple(cell.strip() for cell in line.strip().strip("|").split("|"))
        for line in lines
        if line.startswith("|")
    ]
    return [row for row in rows if row[1:2] != ("function",) and set("".join(row)) != {"-"}]


ROWS = _rows()


DOCS = ROOT / "docs"
PAYING = ("anchor-hmm", "blocked-hmm", "views")
FAMILY = sorted(
    [
        *(DOCS / "guide" / f"{name}.md" for name in PAYING),
        *(page for page in (DOCS / "lab").glob("*.md") if page.stem != "index"),
    ]
)


def _check_tests(cell: str) -> None:
    """Every test that is named is there."""
    held = re.findall(r"`(tests/[^`]+)`", cell)
    assert held
    for one in held:
        path, _, name = one.partition("::")
        source = (ROOT / path).read_text("utf-8")
        assert f"def {name}(" in source if name else "def test_" in source, one


def _exists(name: str) -> bool:
    """Is there such a module of ours, of tests/ or of benchmarks/, or such a name in one?"""
    outside = name.partition(".")[0] in ("oracle", "protocols", "rivals")
    full = name if outside else f"eigentext.{name}"
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
    page = re.fullmatch(r"\[[^\]]+\]\(([\w./-]+\.md)\)", figure)
    if page is None:
        assert re.fullmatch(r"none: .{8,}", figure), "a figure, or why there is none"
    else:
        assert (PAGE.parent / page[1]).is_file(), figure


def test_a_statement_has_a_test_of_its_own() -> None:
    """What scores an answer holds no statement of a paper, and what was left out stands there."""
    for statement, _, tests, _ in ROWS:
        if "entity" in statement or "supervised training" in statement:
            assert "tests/core/evaluate/test_ner.py" not in tests, statement
    statements = "\n".join(row[0] for row in ROWS)
    for named in ("table 4: M_e", "table 5", "vocalisation", "root-to-leaf", "max-recall"):
        assert named in statements, named


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
    index = (DOCS / "lab" / "index.md").read_text("utf-8")
    assert f"]({Path(os.path.relpath(page, DOCS / 'lab')).as_posix()})" in index


# ---------------------------------------------------------------- names on pages of equations

EXPLAINED = sorted(
    page
    for kind in (
        *("reference/equations-*", "guide/how-*", "reference/notation", "lab/*"),
        *("reference/latent-trees", "reference/spectral-hmm", *(f"guide/{p}" for p in PAYING)),
    )
    for page in DOCS.glob(f"{kind}.md")
)
SOURCE = ROOT / "src"


@cache
def _defined() -> frozenset[str]:
    """Every module, what it defines or imports, and what its classes have, by dotted names."""
    names = set()
    for path in (SOURCE / "eigentext").rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        names.add(module)
        for node in ast.parse(path.read_text("utf-8")).body:
            for name in _bound(node):
                names.add(f"{module}.{name}")
            if isinstance(node, ast.ClassDef):
                members = [name for inner in node.body for name in _bound(inner)]
                members += [
                    target.attr
                    for target in ast.walk(node)
                    if isinstance(target, ast.Attribute)
                    and isinstance(target.ctx, ast.Store)
                    and isinstance(target.value, ast.Name)
                    and target.value.id == "self"
                ]
                names |= {f"{module}.{node.name}.{member}" for member in members}
    return frozenset(names)


def _bound(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.ImportFrom):
        return [alias.asname or alias.name for alias in node.names]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _rooms(text: str) -> list[str]:
    """The package that a page says its names belong to, and those around it."""
    stated = re.search(r"`(eigentext\.[\w.]+)`", text)
    parts = stated[1].split(".") if stated else ["eigentext"]
    return [".".join(parts[:n]) for n in range(len(parts), 0, -1)]


def _dotted(text: str) -> set[str]:
    """The dotted names between backticks; `A.x, .y` are two of A."""
    names = set()
    for quoted in re.findall(r"`([^`\n]+)`", text):
        first = re.match(r"([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*)+)(?=$|[(,\[ ])", quoted)
        if first and not quoted.endswith(FILES):
            names.add(first[0])
            names |= {first[1] + more for more in re.findall(r", (\.\w+)", quoted)}
    return names


FILES = (".py", ".md", ".txt", ".json", ".conllu", ".mrg", ".npz")


def _stands(name: str, rooms: list[str]) -> bool:
    """Is it in one of the rooms, or, for what belongs to a class, anywhere?"""
    owner = name.partition(".")[0]
    if owner.endswith("_"):  # of a fitted model
        return any(known.endswith(f".{owner}") for known in _defined())
    if name[0].isupper():
        return any(known.endswith(f".{name}") for known in _defined())
    return not _defined().isdisjoint([name, *(f"{room}.{name}" for room in rooms)])


@pytest.mark.parametrize("page", EXPLAINED, ids=lambda page: page.stem)
def test_what_a_page_of_equations_names_is_there(page: Path) -> None:
    text = page.read_text("utf-8")
    rooms = _rooms(text)
    assert [name for name in sorted(_dotted(text)) if not _stands(name, rooms)] == []
    for file in set(re.findall(r"`([\w/]+\.py)(?:::\w+)?`", text)):
        assert any(path.as_posix().endswith(f"/{file}") for path in _sources()), file
    # a word of its own, or a test
    assert set(re.findall(r"[`:](\w+_\w+)`", text)) <= _words()


@cache
def _sources() -> list[Path]:
    """Ours, and the tests but for this one."""
    folders = ("src", "tests", "benchmarks")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return [path for path in paths if path != Path(__file__)]


@cache
def _words() -> set[str]:
    """All that stands in them."""
    return {word for path in _sources() for word in re.findall(r"\w+", path.read_text("utf-8"))}


def test_a_name_that_moved_is_noticed() -> None:
    assert "a_name_that_moved" not in _words()
    assert "read_documents" in _words()

    rooms = _rooms("Module names are those of `eigentext.constituency`.")
    assert rooms == ["eigentext.constituency", "eigentext"]
    assert _dotted("`SVDResult.U, .S` and `chart.fine.fine_pass(...)`, `weights.py`, `a b.c`") == {
        "SVDResult.U",
        "SVDResult.S",
        "chart.fine.fine_pass",
    }
    assert _stands("linear.lists.learn_weights", rooms)
    assert _stands("LPCFG.log_prob", rooms)
    assert not _stands("rerank.learn", rooms)
    assert not _stands("LPCFG.log_probability", rooms)
