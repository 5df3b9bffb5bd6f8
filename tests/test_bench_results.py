"""Benchmarks as a habit: results are kept, a made-up regression is found, noise is not."""

from __future__ import annotations

import importlib
import json
import random
import re
import sys
from pathlib import Path
from typing import Any

import _results
import pytest
import quick
import run_all

from eigentext.constituency.settings import LPCFGSettings

LAST = json.loads(quick.LAST.read_text(encoding="utf-8"))


def part(cost: float = 10.0, value: float = 80.0, *, higher: bool = True) -> dict[str, Any]:
    quality = {"F1": {"value": value, "tolerance": 0.3, "higher": higher}}
    return {"costs": {"train": cost}, "quality": quality, "seconds": {"train": cost / 2}}


def how(last: dict[str, Any], now: dict[str, Any]) -> list[tuple[str, str, bool]]:
    found = _results.changes({"dep": last}, {"dep": now})
    return [(change.figure, change.how, change.is_regression) for change in found]


# ---------------------------------------------------------------- what counts as a change


def test_a_made_up_regression_is_found() -> None:
    assert how(part(), part(cost=13.1)) == [("train", "slower", True)]
    assert how(part(), part(value=79.6)) == [("F1", "worse", True)]
    assert how(part(higher=False), part(value=80.4, higher=False)) == [("F1", "worse", True)]
    assert how(part(), part(value=float("nan"))) == [("F1", "worse", True)]


def test_what_is_better_is_told_and_no_regression() -> None:
    assert how(part(), part(cost=7.0)) == [("train", "faster", False)]
    assert how(part(), part(value=80.4)) == [("F1", "better", False)]


@pytest.mark.parametrize("seed", range(20))
def test_noise_is_no_change(seed: int) -> None:
    draw = random.Random(seed)
    last = {str(i): part(draw.uniform(0.5, 50), 80.0) for i in range(20)}
    now = {
        name: part(
            made["costs"]["train"] * draw.uniform(0.85, 1.25), 80.0 + draw.uniform(-0.29, 0.29)
        )
        for name, made in last.items()
    }
    assert _results.changes(last, now) == []


def test_a_cost_next_to_nothing_may_double() -> None:
    assert how(part(cost=0.05), part(cost=0.15)) == []


def test_a_figure_that_is_gone_is_a_regression_and_a_new_one_is_none() -> None:
    less = {**part(), "costs": {}}
    assert how(part(), less) == [("train", "gone", True)]
    assert how(less, part()) == [("train", "new", False)]
    gone = _results.changes({"dep": part(), "hmm": part()}, {"dep": part()})
    assert [(change.part, change.is_regression) for change in gone] == [("hmm", True)]


def test_a_change_reads_as_a_sentence() -> None:
    change = _results.Change("dep", "train", "slower", 10.0, 15.0)
    assert str(change) == "dep train: slower, 10 -> 15 (1.50 times the cost)"
    assert str(_results.Change("dep", "LAS", "worse", 80.0, 79.0)) == "dep LAS: worse, 80 -> 79"


# ---------------------------------------------------------------- the quick set


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the quick set keeps its results; parts are made up."""
    monkeypatch.setenv("EIGENTEXT_DATA", str(tmp_path))
    monkeypatch.setattr(quick, "KEPT", tmp_path)
    monkeypatch.setattr(quick, "LAST", tmp_path / "last.json")
    return tmp_path


def run_quick(monkeypatch: pytest.MonkeyPatch, made: dict[str, Any], *arguments: str) -> int:
    monkeypatch.setattr(quick, "in_process", lambda name, rounds: made)
    monkeypatch.setattr(sys, "argv", ["quick.py", *arguments])
    return quick.main()


def test_the_quick_set_keeps_compares_and_fails(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_quick(monkeypatch, part(), "--keep") == 0
    first = json.loads((kept / "last.json").read_text())
    assert set(first["parts"]) == set(quick.PARTS)
    assert {"command", "commit", "data", "date", "machine"} <= set(first)
    assert run_quick(monkeypatch, part(cost=10.5), "--keep") == 0
    second = json.loads((kept / "last.json").read_text())
    assert second["parts"]["dep"]["costs"] == {"train": 10.5}
    assert run_quick(monkeypatch, part(cost=20.0), "dep", "--keep") == 1
    assert "dep train: slower, 10.5 -> 20 (1.90 times the cost)" in capsys.readouterr().out
    assert json.loads((kept / "last.json").read_text()) == second, "a regression is not kept"
    assert json.loads((kept / "results/quick.json").read_text())["parts"]["dep"] == part(cost=20.0)
    assert run_quick(monkeypatch, part(cost=20.0), "dep", "--accept") == 1
    third = json.loads((kept / "last.json").read_text())["parts"]
    assert third["dep"]["costs"] == {"train": 20.0}
    assert third["hmm"]["costs"] == {"train": 10.5}, "parts that did not run stay"


def test_rounds_keep_the_least_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([part(cost=12.0), part(cost=9.0), part(cost=11.0)])

    class Done:
        @property
        def stdout(self) -> str:
            return json.dumps(next(answers)) + "\n"

    monkeypatch.setattr(quick.subprocess, "run", lambda *positional, **named: Done())
    best = quick.in_process("dep", 3)
    assert (best["costs"], best["seconds"]) == ({"train": 9.0}, {"train": 4.5})


def test_the_last_results_have_all_parts_and_no_place_of_their_machine() -> None:
    assert set(LAST["parts"]) == set(quick.PARTS)
    for name, made in LAST["parts"].items():
        assert made["costs"], name
        assert all(cost > 0 for cost in made["costs"].values()), name
        assert made["quality"], name
    assert LAST["data"] == "$EIGENTEXT_DATA"
    assert _results.changes(LAST["parts"], LAST["parts"]) == []


def test_the_page_shows_the_last_results() -> None:
    assert quick.page(LAST) == quick.PAGE.read_text(encoding="utf-8"), "quick.py --page"


def test_the_calibration_is_work_of_some_length() -> None:
    assert _results.calibration(1) > 0.01


# ---------------------------------------------------------------- all scripts

PRINTED = """a line
| k | F1 | s |
|---|---:|---|
| 2 | 80.1 | 3 |
| 4 | 81.0 | 5 |

| name | value |
|---|---|
| x | y |
no | table |
"""


def test_tables_are_read_by_column() -> None:
    assert _results.tables(PRINTED) == [
        {"k": "2", "F1": "80.1", "s": "3"},
        {"k": "4", "F1": "81.0", "s": "5"},
        {"name": "x", "value": "y"},
    ]
    assert _results.tables("| no head |\n| x |") == []


def test_a_run_writes_what_was_printed_and_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    ran = tmp_path / "ran"
    text = f"open({str(ran)!r}, 'a').write('x')\nprint({PRINTED!r})"
    (tmp_path / "good.py").write_text(text)
    (tmp_path / "bad.py").write_text("import sys\nsys.exit(3)")
    (tmp_path / "_hidden.py").write_text("1 / 0")
    monkeypatch.setattr(run_all, "HERE", tmp_path)
    monkeypatch.setattr(run_all, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(run_all, "commit", lambda: "abc")
    monkeypatch.setenv("EIGENTEXT_DATA", str(tmp_path))

    def again(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["run_all.py", *arguments])
        return run_all.main()

    assert again() == 1
    assert "failed: bad" in capfd.readouterr().err
    result = json.loads((tmp_path / "results/good.json").read_text())
    assert result["command"] == "python benchmarks/good.py"
    assert (result["commit"], result["returncode"], result["data"]) == (
        "abc",
        0,
        "$EIGENTEXT_DATA",
    )
    assert result["rows"] == _results.tables(PRINTED)
    assert result["machine"]["cores"]
    assert json.loads((tmp_path / "results/bad.json").read_text())["returncode"] == 3
    assert again("good") == 0
    assert ran.read_text() == "x", "done is done"
    assert again("good", "--again") == 0
    monkeypatch.setattr(run_all, "commit", lambda: "def")
    assert again("good") == 0
    assert ran.read_text() == "xxx", "another commit is another result"
    monkeypatch.setattr(run_all, "commit", lambda: "def+")
    assert again("good") == 0
    assert again("good") == 0
    assert ran.read_text() == "xxxxx", "changed files may have changed again"
    assert again("nothing") == 2


def test_every_script_takes_part_but_the_quick_set() -> None:
    names = {path.stem for path in run_all.scripts()}
    assert {"dependency", "pipeline", "words_clusters"} <= names
    assert not names & {"quick", "run_all", "_data", "_results"}


# ---------------------------------------------------------------- results pages


DOCS = Path(quick.__file__).parents[1] / "docs"


@pytest.mark.parametrize("column", ["LAS", "MLAS"])
def test_means_of_the_pipeline_are_those_of_its_rows(column: str) -> None:
    page = (DOCS / "guide" / "results-pipeline.md").read_text("utf-8")
    published, newer = page.split("## Treebanks of the data")
    table, _, mean = newer.split("| treebank | |")[1].partition("Mean of the 6 but PADT")
    header, _, *lines = table.strip().splitlines()
    at = [cell.strip() for cell in header.split("|")].index(column)
    rows: dict[tuple[str, bool], float] = {}
    for line in [*re.findall(r"^\|.*\| UDPipe \|.*", published, re.MULTILINE), *lines]:
        treebank, system, *cells = (cell.strip(" *") for cell in line.strip("|").split("|"))
        if "PADT" not in treebank and "with text" not in system:
            rows[treebank, system == "ours"] = float(cells[at])
    ours = [name for name, is_ours in rows if is_ours]
    gains = [rows[name, True] - rows[name, False] for name in ours]
    stated = re.search(rf"\b{column} \+(\d\.\d\d)", mean)
    assert len(gains) == 6
    assert stated
    assert abs(sum(gains) / 6 - float(stated[1])) < 0.03


def test_the_tutorial_has_the_figures_of_the_quick_set() -> None:
    """Both are a pipeline of Hungarian by its defaults, on dev."""
    page = (DOCS / "guide" / "new-language.md").read_text("utf-8")
    header, _, row = page[page.index("| dev, F1 |") :].splitlines()[:3]
    shown = dict(zip(header.split(" | "), row.split(" | "), strict=True))
    quality = LAST["parts"]["pipe"]["quality"]
    assert shown["LAS"] == f"{quality['LAS']['value']:.1f}"
    assert shown["Sents"] == f"{quality['sentences']['value']:.1f}"


def test_claims_that_did_not_hold_are_gone() -> None:
    """FastText with its five epochs; n-grams on speech; who ran beside whom."""
    names = ("results.md", "lab/index.md", "reference/papers.md", "index.md", "../README.md")
    pages = {name: (DOCS / name).read_text("utf-8") for name in names}
    for name, text in pages.items():
        for gone in ("2 epochs", "two epochs", "all five texts", "the peer in one run"):
            assert gone not in text, f"{name}: {gone}"
        if "FastText" in text and name != "reference/papers.md":
            assert "21.8" in text, name
        if "blocked" in text and "130.8" in text:
            assert re.search(r"99\.2.*97\.1.*95\.0|97\.13.*95\.0", text, re.DOTALL), name
            assert "86.4" in text, name


def test_the_page_of_constituency_begins_with_the_default() -> None:
    """Its settings and what its plain commands gave; what was tried comes last."""
    page = (DOCS / "guide" / "results-constituency.md").read_text("utf-8")
    _, today, *_ = page.split("\n## ")
    chosen = LPCFGSettings()
    for default in (chosen.n_states, chosen.threshold, chosen.bracket_weight):
        assert f"{default}" in today
    assert f"{chosen.bracket_threshold:.4f}" in today
    assert "the decoder `max-constituents`" in today
    rows = json.loads((quick.LAST.with_name("readme.json")).read_text("utf-8"))["rows"]
    plain = today
    for task in ("constituents", "the same, another kind of text"):
        for step in rows[task]["commands"]:
            for figure in (*step.get("figures", {}).values(), step.get("cpu_seconds", "")):
                assert str(figure) in plain, figure
    assert len(page.splitlines()) < 340
    before = page.index("\n## Beside EM, and one thing changed at a time")
    assert page.index("\n## Decoders") < before < page.index("\n## Tried and not taken")


def test_the_benchmark_of_pipelines_has_no_figure_for_a_column_that_is_blank() -> None:
    pytest.importorskip("udtools.udeval")
    pipeline = importlib.import_module("pipeline")
    row = "1\tdogs\tdog\tNOUN\t{}\t_\t0\troot\t_\t_\n\n"
    blank, tagged = row.format("_"), row.format("NNS")
    assert {"xpos", "ufeats"}.isdisjoint(pipeline.scores(blank, blank))
    assert pipeline.scores(tagged, blank)["xpos"] == 0.0
    assert pipeline.line("x", pipeline.scores(blank, blank)).count("| - ") == 2


def test_no_figure_for_what_a_treebank_lacks() -> None:
    """UDPipe's scores have a dash there; ours, of a column that is blank, would be near 100."""
    page = (DOCS / "guide" / "results-pipeline.md").read_text("utf-8")
    n_rows = 0
    for table in re.findall(r"^\| treebank \| \| Words .*\n(?:\|.*\n)+", page, re.MULTILINE):
        lacking: dict[str, list[bool]] = {}
        for line in table.splitlines()[2:]:
            treebank, system, *cells = (cell.strip(" *") for cell in line.strip("|").split("|"))
            dashes = [cell == "-" for cell in cells]
            assert lacking.setdefault(treebank, dashes) == dashes, f"{treebank}, {system}"
            n_rows += 1
    assert n_rows >= 59
