"""Every benchmark runs without options: `benchmarks/run_all.py` gives none."""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = sorted(
    path
    for path in (Path(__file__).parent.parent / "benchmarks").glob("*.py")
    if "import argparse" in path.read_text(encoding="utf-8")
)


class Parsed(Exception):
    """The options were read, and the work would begin."""


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
