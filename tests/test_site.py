"""The documentation site builds without a warning, its links lead somewhere, and all is there."""

from __future__ import annotations

import doctest
import json
import pkgutil
import re
import subprocess
import sys
from importlib import import_module
from inspect import isclass, isroutine

import plots
import pytest
import site_commands
import site_links
import site_names
import site_pages
from site_docstrings import as_restructured_text

DOCS = site_pages.DOCS
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?")


@pytest.fixture(scope="module")
def public_names():
    for module in ("fastapi", "spacy"):  # rooms that cannot be imported without them
        pytest.importorskip(module, reason=f"{module} is not installed")
    return site_names.public_names()


@pytest.mark.long
def test_the_site_builds_without_a_warning(tmp_path, public_names):
    pytest.importorskip("sphinx", reason="the extra docs is not installed")
    # in a process of its own: Sphinx changes what it finds
    done = subprocess.run(
        [sys.executable, DOCS / "site" / "build.py", tmp_path / "site"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    site = tmp_path / "site"
    reference = "\n".join(
        page.read_text("utf-8") for page in (site / "reference" / "api").glob("*.html")
    )
    for one in public_names:
        assert f"{one.home}.{one.name}" in reference, one
    assert "<math" in (site / "guide" / "how-words.html").read_text("utf-8")
    assert "MathJax" not in (site / "guide" / "how-words.html").read_text("utf-8")


@pytest.mark.parametrize("module", ["site_docstrings", "site_literals"])
def test_examples_of_the_extensions(module):
    pytest.importorskip("docutils", reason="the extra docs is not installed")
    result = doctest.testmod(import_module(module))
    assert result.attempted
    assert not result.failed


def test_fields_of_a_docstring_become_a_list():
    lines = ["``tree``   the best tree", "           of all", "``flags``  what is odd"]
    assert as_restructured_text(lines) == [
        "``tree``",
        "    the best tree",
        "    of all",
        "``flags``",
        "    what is odd",
        "",
    ]


def test_every_page_stands_in_a_chapter(tmp_path):
    site_pages.lay_out(tmp_path / "pages")
    listed = {page for pages in site_pages.contents().values() for page in pages}
    paths = [
        page.relative_to(tmp_path / "pages").with_suffix("").as_posix()
        for page in (tmp_path / "pages").rglob("*.md")
    ]
    there = {path for path in paths if not path.startswith("decisions/0")} - {"index"}
    assert there == listed


def test_every_decision_is_listed():
    index = (DOCS / "decisions" / "index.md").read_text("utf-8")
    for page in (DOCS / "decisions").glob("0*.md"):
        assert f"({page.name})" in index


def test_every_public_name_has_a_docstring(public_names):
    assert len(public_names) > 1000
    for one in public_names:
        if isclass(one.value) or isroutine(one.value):
            assert (one.value.__doc__ or "").strip(), f"{one.module}.{one.name}"


def test_every_public_name_is_on_a_page_of_the_reference(public_names):
    pages = site_names.pages()
    for one in public_names:
        page = pages[site_names.room_of(one.module)]
        assert re.search(rf"[.:`]\s?{one.name}\b", page), f"{one.module}.{one.name}"


def test_every_command_has_its_help_and_an_example():
    pages = site_commands.pages()
    for group, found in site_commands.groups().items():
        for name, command in found.items():
            assert f"\neigentext {name}\n---" in pages[group]
            assert command.help
            assert "$ eigentext" in command.help or "Example" in command.help, name
            for param in command.params:
                assert param.help, f"{name}: {param.opts[0]} says nothing"


PAGES = [*DOCS.rglob("*.md"), DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md"]
COMMANDS = json.loads((DOCS / "surface.json").read_text("utf-8"))["commands"]
GROUPS = {name.split()[1] for name in COMMANDS if " " in name}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_and_flags_on_a_page_are_there(page):
    named = rf"(?:eigentext |`)((?:{'|'.join(GROUPS)})(?: [a-z][a-z-]*){{0,2}})([^`\n]*)"
    for words, rest in re.findall(named, page.read_text("utf-8")):
        parts = ["eigentext", *words.split()]
        heads = [" ".join(parts[:n]) for n in range(len(parts), 1, -1)]
        command = next((head for head in heads if head in COMMANDS), None)
        if command is None or any(name.startswith(f"{command} ") for name in COMMANDS):
            assert words in GROUPS, f"{page.name}: {words}"
            continue
        takes = set(", ".join(COMMANDS[command]).split(", "))
        flags = re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", rest.split("#")[0].split("|")[0])
        assert set(flags) <= takes, f"{page.name}: {words}"


@pytest.mark.parametrize("page", PAGES[:-1], ids=lambda page: page.stem)
def test_what_a_page_imports_is_there(page, public_names):
    text = page.read_text("utf-8")
    names = set(re.findall(r"`(eigentext\.[\w.]*\w)", text))
    for module, imported in re.findall(r"^ *from (eigentext[\w.]*) import ([\w, ]+)$", text, re.M):
        names |= {f"{module}.{name.split()[0]}" for name in imported.split(",")}
    for name in names:
        try:
            pkgutil.resolve_name(name)
        except AttributeError:
            import_module(name)


def test_an_option_lists_what_it_takes():
    page = site_commands.pages()["words"]
    assert "(``spectral``, ``paper``, ``exchange``, ``brown``)" in page


def test_a_link_to_nowhere_is_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#x">b</a><a href="c.html">c</a>')
    (tmp_path / "b.html").write_text('<p id="y"><script src="https://example.org/a.js"></script>')
    assert sorted(site_links.faults(tmp_path)) == [
        "a.html links to b.html#x, which has no such place",
        "a.html links to c.html, which is not there",
        "b.html loads https://example.org/a.js",
    ]


def numbers(text: str) -> set[float]:
    return {float(number.replace(",", "")) for number in NUMBER.findall(text)}


@pytest.mark.parametrize(
    "path", sorted((DOCS / "data").glob("*.json")), ids=lambda path: path.stem
)
def test_figures_of_the_plots_are_those_of_the_results(path):
    plot = json.loads(path.read_text("utf-8"))
    page = (DOCS / plot["page"]).read_text("utf-8").splitlines()
    assert plot["command"]
    assert plot["machine"]
    for series in plot["series"]:
        for point in series["points"]:
            for row in point["rows"]:
                assert row in page, f"{plot['page']} has no line {row!r}"
            assert {point["x"], point["y"]} <= numbers(" ".join(point["rows"])), point


def test_plots_are_drawn_from_the_figures(tmp_path):
    pytest.importorskip("matplotlib", reason="the extra plot is not installed")
    plots.draw_all(tmp_path)
    for path in sorted((DOCS / "data").glob("*.json")):
        svg = (tmp_path / f"{path.stem}.svg").read_text("utf-8")
        assert "<title>" in svg
        assert (DOCS / "img" / "plots" / f"{path.stem}.svg").exists()
