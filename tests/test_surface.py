"""``docs/surface.py`` lists what users can name, and says what has changed in two lists."""

from __future__ import annotations

import json
import sys

import pytest
import surface


def test_the_list_holds_every_sort_of_name(capsys, monkeypatch):
    pytest.importorskip("fastapi")
    monkeypatch.setattr(sys, "argv", ["surface.py"])
    assert surface.main() == 0
    names = json.loads(capsys.readouterr().out)
    assert names["commands"]["eigentext words count"]["--jobs, -j"] == "int 0.. = 1"
    assert "LPCFG" in names["names"]["eigentext"]
    assert names["models"]["lpcfg"]["settings"]["per_state"] == "Whole(low=1) = 10"
    assert "200, application/json: Health" in names["routes"]["GET /api/health"]
    assert names["file endings"]["convert"][".mrg"] == "ptb"
    assert "web" in names["extras"]


def test_a_difference_is_named_once(tmp_path, capsys, monkeypatch):
    before = {"commands": {"a": {"--x": "int = 1", "--y": "str"}, "b": {"--z": "str"}}}
    after = {"commands": {"a": {"--x": "int = 2", "--new": "str"}}, "names": {"eigentext": ["C"]}}
    stored = tmp_path / "surface.json"
    stored.write_text(surface.text_of(before))
    monkeypatch.setattr(surface, "surface", lambda: after)
    monkeypatch.setattr(sys, "argv", ["surface.py", "--against", str(stored)])
    assert surface.main() == 1
    assert capsys.readouterr().out.splitlines() == [
        "+ commands > a > --new  str",
        "~ commands > a > --x: int = 1 -> int = 2",
        "- commands > a > --y  str",
        "- commands > b",
        "+ names",
    ]
    stored.write_text(surface.text_of(after))
    assert surface.main() == 0
