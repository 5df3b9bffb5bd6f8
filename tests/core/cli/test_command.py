"""Flags that are made from settings, through typer as a user meets them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
import typer
from typer.testing import CliRunner

from eigentext.base.settings import setting
from eigentext.base.values import Anything, Auto, Flag, Listed, Real, Text, Whole
from eigentext.cli.command import Flags, SettingFlags, with_flags
from eigentext.errors import SettingsError


@dataclass
class FirstSettings:
    """Settings of the first model."""

    n_states: int = setting(10, Whole(1, 99), "Hidden states.", short="-k")
    way: str = setting("plain", Text(("plain", "join")), "Which way.")
    crossing: bool | str = setting("auto", Auto(Flag()), "May arcs cross?", off="--flat")
    rank: int | str = setting("auto", Auto(Whole(1)), "Rank, or auto.")
    share: float = setting(0.5, Real(0, 1), "Of the data.")
    groups: tuple[str, ...] = setting(("a",), Listed(Text()), "Of features.")
    rates: tuple[float, ...] = setting((0.1, 0.5), Listed(Real(0, 1)), "Of smoothing.")
    chosen: tuple[str, ...] = setting((), Listed(Text(("a", "b"))), "Of names.")
    words: Any = setting(None, Anything(), "A file.", path=True)
    hook: Any = setting(None, Anything(), "No flag.")


@dataclass
class SecondSettings:
    """Settings of the second model."""

    n_states: int = setting(16, Whole(1), "Hidden states.")
    smooth: bool = setting(False, Flag(), "Smooth counts.")
    way: str = setting("fast", Text(("fast", "plain")), "How.")
    hook: str = setting("", Text(), "Not that of the first.", flag=False)


got: dict[str, Any] = {}
app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
@with_flags(FirstSettings, SecondSettings)
def train(
    file: str, settings: SettingFlags, second: Annotated[bool, typer.Option("--second")] = False
) -> None:
    """Train."""
    got.clear()
    got.update(settings.of(SecondSettings if second else FirstSettings), file=file)


def run(*line: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, list(line), catch_exceptions=False)
    if result.exit_code:
        raise ValueError(result.output)
    return dict(got)


def test_what_is_not_given_is_the_models_own_default() -> None:
    assert run("x") == {"file": "x"}


def test_every_type_of_setting() -> None:
    line = "x -k 5 --way join --flat --rank 7 --share 0.25 --groups a --groups b --words w.txt"
    line += " --rates 0.2 --rates 1"
    assert run(*line.split()) == {
        "file": "x",
        "n_states": 5,
        "way": "join",
        "crossing": False,
        "rank": 7,
        "share": 0.25,
        "groups": ("a", "b"),
        "rates": (0.2, 1.0),
        "words": "w.txt",
    }
    assert run("x", "--crossing", "--rank", "auto") == {
        "file": "x",
        "crossing": True,
        "rank": "auto",
    }


def test_names_out_of_a_choice_may_be_joined_by_commas():
    assert run("x", "--chosen", "a, b") == {"file": "x", "chosen": ("a", "b")}
    assert run("x", "--chosen", "a", "--chosen", "b") == {"file": "x", "chosen": ("a", "b")}
    assert run("x", "--chosen", "none") == {"file": "x", "chosen": ()}
    assert run("x", "--groups", "a,b") == {"file": "x", "groups": ("a,b",)}


@pytest.mark.parametrize("line", ["x -k 0", "x --way third", "x --share 2", "x --hook 1"])
def test_bounds_are_checked_and_shown(line: str) -> None:
    with pytest.raises(ValueError, match=r"(?i)error|invalid|no such option"):
        run(*line.split())


def test_a_flag_of_the_other_model_is_refused() -> None:
    with pytest.raises(SettingsError) as error:
        run("x", "--smooth")
    assert str(error.value) == "--smooth is for the second model, not for the first model"
    assert run("x", "--second", "--smooth") == {"file": "x", "smooth": True}


def test_of_several_such_flags_it_is_always_the_same_that_is_named() -> None:
    names = [f"other{n:02}" for n in range(50)]
    with pytest.raises(SettingsError, match=r"^--other00 is for"):
        SettingFlags(dict.fromkeys(reversed(names), 1), ()).of(FirstSettings)


def test_models_share_a_flag_each_with_its_own_choices_bounds_and_help() -> None:
    assert run("x", "--second", "--way", "fast", "-k", "1000") == {
        "file": "x",
        "way": "fast",
        "n_states": 1000,
    }
    page = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200", "TERM": "dumb"}).output
    assert "Which way.  For the second model: How." in " ".join(page.split()).replace(
        "way. For", "way.  For"
    )
    assert "plain|join|fast" in page
    assert page.index("─ Options ") < page.index("--way") < page.index("─ For the second model ")
    assert page.index("─ For the second model ") < page.index("--smooth")


def test_the_help_page_shows_help_and_defaults() -> None:
    page = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200", "TERM": "dumb"}).output
    assert "Hidden states." in page
    assert "10 or 16" in page
    assert "May arcs cross?" in page
    assert "--hook" not in page


@dataclass(kw_only=True)
class Telling(Flags):
    quiet: Annotated[bool, typer.Option("--quiet")] = False
    policy: Annotated[Literal["stop", "skip"], typer.Option("--policy")] = "stop"


@dataclass(kw_only=True)
class Writing(Telling):
    output: Annotated[str, typer.Option("--output", "-o")]
    from_: Annotated[str, typer.Option("--from")] = "auto"


records = typer.Typer(pretty_exceptions_enable=False)
kept: list[Any] = []


@records.command()
@with_flags(SecondSettings)
def write(file: str, run: Writing, settings: SettingFlags, last: bool = False) -> None:
    """Write."""
    kept[:] = [file, run, settings.of(SecondSettings), last]


def test_a_record_stands_for_its_flags() -> None:
    line = ["x", "-o", "y", "--policy", "skip", "--smooth", "--last"]
    result = CliRunner().invoke(records, line, catch_exceptions=False)
    assert not result.exit_code, result.output
    assert kept == ["x", Writing(output="y", policy="skip"), {"smooth": True}, True]
    assert CliRunner().invoke(records, ["x"]).exit_code == 2  # --output has no default
    assert CliRunner().invoke(records, ["x", "-o", "y", "--policy", "third"]).exit_code == 2


def test_a_help_page_has_the_flags_of_a_record_with_its_own_first() -> None:
    page = CliRunner().invoke(records, ["--help"], env={"COLUMNS": "200", "TERM": "dumb"}).output
    places = [
        page.index(flag) for flag in ("--output", "--from", "--quiet", "--policy", "--smooth")
    ]
    assert places == sorted(places)


def test_a_record_knows_what_was_changed() -> None:
    assert Telling().changed() == []
    assert Writing(output="y", from_="b", quiet=True).changed() == [
        "--quiet",
        "--output",
        "--from",
    ]
