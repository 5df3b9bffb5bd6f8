"""``eigentext info`` on a file of every kind: read by a person, or by a program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eigentext.base.modelfile import read_header
from eigentext.base.registry import KINDS
from eigentext.base.settings import declared
from eigentext.cli.main import run
from helpers.golden_model import file_of
from helpers.small_models import SMALL

GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.mark.parametrize("kind", KINDS)
def test_settings_and_facts_are_read_line_by_line(
    kind: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(GOLDEN / file_of(kind))
    monkeypatch.setenv("COLUMNS", "400")
    assert run(["info", path]) == 0
    shown = capsys.readouterr().out.splitlines()
    header = read_header(path)
    assert any(line.startswith("what ") and KINDS[kind].what in line for line in shown)
    for name in (*header.settings, *header.facts, *header.arrays):
        assert any(line.split(" ")[0].split(".")[0] == name.split(".")[0] for line in shown), name
    if kind in SMALL:
        for name, setting in declared(SMALL[kind].kind).items():
            lines = [line for line in shown if line.split(" ")[0].split(".")[0] == name]
            if name not in header.settings:
                continue  # it came after the golden file
            # rich has one space for several
            assert not setting.stored or any(
                setting.help.replace("  ", " ") in line.replace("  ", " ") for line in lines
            ), name
    assert run(["info", path, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["settings"] == header.settings
    assert told["facts"] == header.facts


def test_brackets_in_a_table_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    from eigentext.cli.output import show_table

    show_table("", [{"name": "[red]tag", "value": "a[/red]\x1b[0m"}])
    assert "[red]tag" in (shown := capsys.readouterr().out)
    assert r"a[/red]\x1b[0m" in shown
