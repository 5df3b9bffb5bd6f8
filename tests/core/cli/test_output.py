"""What commands show: a bar on a terminal, which leaves alone what is printed."""

from __future__ import annotations

import pytest

from eigentext.cli.output import progress_bar, show_figures, show_table


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # so that rich takes stderr for one
    monkeypatch.setenv("TERM", "xterm")


def test_what_is_printed_beside_a_bar_goes_to_stdout_as_it_is(capsys: pytest.CaptureFixture[str]):
    with progress_bar() as update:
        print("before\tit")
        update(1, 2, "reading")
        print("beside\tit " + "long " * 40)
    shown = capsys.readouterr()
    assert shown.out == "before\tit\nbeside\tit " + "long " * 40 + "\n"
    assert "reading" in shown.err


def test_a_bar_that_is_never_fed_is_never_seen(capsys: pytest.CaptureFixture[str]):
    with progress_bar():
        print("alone")
    assert capsys.readouterr() == ("alone\n", "")


def test_what_is_wider_than_the_terminal_is_folded_not_cut(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    show_figures({"sha256": "f" * 64}, as_json=False)
    show_table("", [{"name": "g" * 64}])
    shown = capsys.readouterr().out
    assert (shown.count("f"), shown.count("g")) == (64, 64)


def test_a_figure_that_there_is_not_is_a_dash_for_people_and_null_for_programs(capsys):
    show_figures({"perplexity": None, "known": True}, as_json=False)
    assert capsys.readouterr().out.split() == ["perplexity", "-", "known", "True"]
    show_figures({"perplexity": None}, as_json=True)
    assert capsys.readouterr().out == '{"perplexity": null}\n'
