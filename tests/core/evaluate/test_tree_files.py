"""Files of trees against files of trees: what is scored, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eigentext.cli.main import run
from eigentext.errors import DataError
from eigentext.evaluate.tree_files import evaluate_files, read_predictions

TREES = [
    "(TOP (S (NP (PRP We)) (VP (VBP sing)) (. .)))",
    "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)))",
    "(TOP (NP (DT a) (JJ red) (NN house)))",
]
OTHER = [
    "(TOP (S (NP (PRP We)) (VP (VBP sing)) (. .)))",  # one sentence may be the same by chance
    "(TOP (NP (NN music)))",
    "(TOP (NP (DT a) (JJ red) (NN car)))",
]


def _file(folder: Path, name: str, lines: list[str]) -> str:
    (folder / name).write_text("".join(line + "\n" for line in lines))
    return str(folder / name)


def _refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["const", "eval", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("eigentext: ")
    assert shown.err.count("\n") == 1
    return shown.err


def test_failed_parses_and_trees_that_differ_a_little(tmp_path, capsys):
    gold = _file(tmp_path, "gold.mrg", TREES)
    escaped = TREES[1].replace("dog", "-LRB-")
    predicted = _file(tmp_path, "predicted.mrg", [TREES[0], "", TREES[2].replace("NN", ".")])
    assert run(["const", "eval", predicted, gold, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["valid"], found["skipped"], found["errors"], found["f1"]) == (1, 1, 1, 100.0)
    assert found["f1_with_errors_as_misses"] == 100.0 * 2 * 3 / (3 + 3 + 3 + 1 + 1)
    assert run(["const", "eval", predicted, gold]) == 0
    assert "f1 with errors as misses" in capsys.readouterr().out
    brackets = _file(tmp_path, "brackets.mrg", [escaped])
    assert evaluate_files(brackets, brackets).all.f1 == 100.0


def test_gold_traces_are_not_other_words(tmp_path):
    traced = "(TOP (S (NP-SBJ (-NONE- *)) (VP (VB Go)) (. .)))"
    gold = _file(tmp_path, "gold.mrg", [traced])
    predicted = _file(tmp_path, "predicted.mrg", ["(TOP (S (VP (VB Go)) (. .)))"])
    assert evaluate_files(gold, predicted).all.f1 == 100.0


def test_other_sentences_are_refused(tmp_path, capsys):
    gold, other = _file(tmp_path, "gold.mrg", TREES), _file(tmp_path, "other.mrg", OTHER)
    message = _refused(capsys, other, gold)
    assert "other.mrg:2: found 'music', expected 'the'" in message
    assert "2 of 3 trees are not of the sentences in" in message
    assert "gold.mrg" in message
    shorter = _file(tmp_path, "shorter.mrg", ["(TOP (NP (DT a) (JJ red)))"])
    longer = _file(tmp_path, "longer.mrg", [TREES[2]])
    with pytest.raises(DataError, match="found the end of the sentence, expected 'house'"):
        evaluate_files(longer, shorter)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([TREES[0], "(TOP (S (NP", TREES[2]], r"predicted:2: unbalanced brackets"),
        ([TREES[0], "the dog barks .", TREES[2]], r"predicted:2: found 'the' outside a tree"),
        ([TREES[0], f"{TREES[1]} {TREES[1]}", TREES[2]], r"predicted:2: found 2 trees"),
        ([TREES[0], "(TOP (NP the dog))", TREES[2]], r"predicted:2: .*alone under its tag"),
        (TREES[:2], r"predicted: it has 2 trees, but the gold trees go on"),
        ([*TREES, TREES[0]], r"gold: it has 3 trees, but the test trees go on"),
        ([], r"predicted: it has 0 trees"),
    ],
)
def test_files_that_are_no_predictions(tmp_path, capsys, lines, why):
    gold, predicted = _file(tmp_path, "gold", TREES), _file(tmp_path, "predicted", lines)
    with pytest.raises(DataError, match=why):
        evaluate_files(gold, predicted)
    _refused(capsys, predicted, gold)
    if "predicted:2" in why:
        with pytest.raises(DataError, match=why):
            list(read_predictions(predicted))
    if len(lines) == 3:
        _refused(capsys, gold, predicted)  # a gold file that is none
