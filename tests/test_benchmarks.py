"""Every benchmark runs without options: `benchmarks/run_all.py` gives none."""

from __future__ import annotations

import argparse
import ast
import runpy
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
IMPORTING = sorted(
    path
    for folder in ("benchmarks", "examples", "docs", ".ci")
    for path in (ROOT / folder).rglob("*.py")
)
SCRIPTS = sorted(
    path
    for path in (ROOT / "benchmarks").glob("*.py")
    if "import argparse" in path.read_text(encoding="utf-8")
)


class Parsed(Exception):
    """The options were read, and the work would begin."""


@pytest.mark.parametrize("path", IMPORTING, ids=lambda path: path.stem)
def test_nothing_is_put_before_the_package_that_is_tested(path: Path) -> None:
    """A test that imports it would have later workers run, and compile, the source tree."""
    assert '"src"))' not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_no_option_is_required(
    script: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read = argparse.ArgumentParser.parse_args

    def stop(self: argparse.ArgumentParser, *arguments: Any, **named: Any) -> None:
        read(self, *arguments, **named)
        raise Parsed

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", stop)
    monkeypatch.setattr(sys, "argv", [str(script)])
    monkeypatch.setenv("EIGENTEXT_DATA", str(tmp_path))
    monkeypatch.setenv("EIGENTEXT_ALMOR", str(tmp_path / "none.db"))
    monkeypatch.setenv("EIGENTEXT_BENCH", str(tmp_path / "kept"))
    monkeypatch.syspath_prepend(str(script.parent))
    with pytest.raises(Parsed):
        runpy.run_path(str(script), run_name="__main__")


@pytest.mark.parametrize("script", IMPORTING, ids=lambda path: path.stem)
def test_what_is_imported_later_is_there(script: Path) -> None:
    """Imports inside functions, too: many a script is run on a graphics card alone."""
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "eigentext":
            module = import_module(str(node.module))
            for name in node.names:
                within = f"{node.module}.{name.name}"
                there = hasattr(module, name.name)
                there = there or (hasattr(module, "__path__") and find_spec(within) is not None)
                assert there, f"{node.lineno}: {within}"
