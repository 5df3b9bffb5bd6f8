"""``eigentext lab`` with automata: training, answers, and bad input in one line."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from eigentext.cli.main import run

PAGE = Path(__file__).parents[2] / "docs" / "lab" / "automata.md"
FORMS = ["walks", "talks", "walked", "talked", "jumps", "jumped", "calls", "called"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: Any) -> Path:
    path: Path = tmp_path_factory.mktemp("automaton")
    (path / "words.txt").write_text("\n".join(FORMS * 10) + "\n\n")
    classes = [f"{form}\t{'past' if form.endswith('ed') else 'present'}" for form in FORMS * 10]
    (path / "classes.txt").write_text("\n".join(classes) + "\n")
    pairs = [f"{form}\t{form.removesuffix('ed').removesuffix('s')}" for form in FORMS * 10]
    (path / "pairs.txt").write_text("\n".join(pairs) + "\n")
    (path / "new.txt").write_text("talked\nwalks\n")
    small = ["-q", "-k", "8", "--basis", "60"]
    for of, name in (("strings", "words"), ("classes", "classes"), ("pairs", "pairs")):
        line = [
            "lab",
            "train-automaton",
            str(path / f"{name}.txt"),
            "-o",
            str(path / f"{of}.model"),
        ]
        assert run([*line, "--of", of, *small]) == 0
    return path


def test_scores(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["lab", "score", str(folder / "strings.model"), str(folder / "new.txt")]
    assert run([*line, "-q"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [row.split("\t")[1] for row in printed] == ["talked", "walks"]
    assert run([*line, "--json", "--summary"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["symbols"] == 13
    assert figures["log_prob"] == pytest.approx(
        sum(float(row.split("\t")[0]) for row in printed), abs=1e-3
    )


def test_answers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for of, answers in (("classes", ["past", "present"]), ("pairs", ["talk", "walk"])):
        line = ["lab", "apply", str(folder / f"{of}.model"), str(folder / "new.txt"), "-q"]
        assert run(line) == 0
        rows = capsys.readouterr().out.splitlines()
        assert [row.split("\t")[1] for row in rows] == answers
        assert run([*line, "--kbest", "2"]) == 0
        assert len(capsys.readouterr().out.splitlines()[0].split("\t")) >= 3


def test_samples(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", "inspect", str(folder / "strings.model"), "--sample", "3"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            ["train-automaton", "words.txt", "-o", "x.model", "--of", "pairs"],
            "expected input TAB output",
        ),
        (["train-automaton", "pairs.txt", "-o", "x.model"], "expected a string and no tab"),
        (
            ["train-automaton", "words.txt", "-o", "x.model", "--beam", "3"],
            "--beam is for transducers",
        ),
        (["score", "pairs.model", "new.txt"], "this needs an automaton of strings"),
        (["apply", "strings.model", "new.txt"], "this needs automata of strings, one a class"),
        (["inspect", "words.txt"], "no eigentext model"),
    ],
)
def test_bad_input_is_one_line(
    folder: Path, line: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    named = [str(folder / word) if "." in word else word for word in line]
    assert run(["lab", *named]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "flags", "said"),
    [
        ("a\tb\na\tb\tc\n", ["--of", "pairs"], "x.txt:2: 'a\\tb\\tc': expected input TAB output"),
        (
            "a\tb\na\tb\tc\n",
            ["--of", "classes"],
            "x.txt:2: 'a\\tb\\tc': expected string TAB class",
        ),
        ("a\tb\na\t\n", ["--of", "classes"], "x.txt:2: 'a\\t': expected string TAB class"),
        ("\tb\n", ["--of", "pairs"], "x.txt:1: '\\tb': expected input TAB output"),
        ("a </s>\n", ["--tokens"], "x.txt:1: 'a </s>': </s> is the end of strings"),
        ("cats\tcat\n", ["--of", "pairs"], "x.txt: each of 1 pairs has a change"),
        ("", ["--of", "pairs"], "x.txt: no strings to learn from"),
    ],
)
def test_bad_training_files_are_named(
    tmp_path: Path, text: str, flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.txt").write_text(text)
    line = ["lab", "train-automaton", str(tmp_path / "x.txt"), "-o", str(tmp_path / "m")]
    assert run([*line, *flags]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1


def test_one_pair_and_what_is_no_letter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "one.txt").write_text("cats\tcat\n")
    (tmp_path / "new.txt").write_text("dogs\n\U0001f600s\n", encoding="utf-8")
    line = ["lab", "train-automaton", str(tmp_path / "one.txt"), "-o", str(tmp_path / "m"), "-q"]
    assert run([*line, "--of", "pairs", "--min-count", "1"]) == 0
    assert run(["lab", "apply", str(tmp_path / "m"), str(tmp_path / "new.txt"), "-q"]) == 0
    assert capsys.readouterr().out.splitlines() == ["dogs\tdog", "\U0001f600s\t\U0001f600"]


def test_the_example_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    code = re.search(r"## An example\n\n(.*?)\nIt prints", PAGE.read_text("utf-8"), re.DOTALL)
    assert code is not None
    exec(textwrap.dedent(code[1]), {})
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "True"
    assert out[1:] == ["['past', 'present']", "['jump']"]


def conllu(rows: list[tuple[str, str, str]]) -> str:
    """A sentence of (form, lemma, tag)."""
    lines = [
        f"{number}\t{form}\t{lemma}\t{tag}" + "\t_" * 6
        for number, (form, lemma, tag) in enumerate(rows, 1)
    ]
    return "\n".join(lines) + "\n\n"


def test_a_transducer_is_told_the_tags_of_conllu(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # the tag alone decides whether the last letter goes
    stems = [letter + "s" for letter in "bcdfglm"]
    rows = [(stem, stem[:-1] if tag == "NOUN" else stem, tag)
            for stem in stems for tag in ("NOUN", "ADV")]  # fmt: skip
    (tmp_path / "a.conllu").write_text(conllu(rows))
    new = [("bs", "_", "NOUN"), ("bs", "_", "ADV"), ("cs", "_", "X")]
    (tmp_path / "b.conllu").write_text(conllu(new))
    model, small = str(tmp_path / "m"), ["-q", "-k", "8", "--basis", "60"]
    train = ["lab", "train-automaton", str(tmp_path / "a.conllu"), "-o", model, "--of", "pairs"]
    assert run([*train, *small]) == 0
    assert run(["lab", "apply", model, str(tmp_path / "b.conllu"), "-q"]) == 0
    found = [row.split("\t") for row in capsys.readouterr().out.splitlines()]
    assert found[:2] == [["bs", "b"], ["bs", "bs"]]
    assert found[2][0] == "cs"
    assert "X" not in found[2][1]  # a tag that was never seen says nothing


def test_tokens_are_remembered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "a.txt"
    text.write_text("the cat sat\nthe dog sat\n" * 10)
    model = str(tmp_path / "m")
    flags = ["--tokens", "-q", "-k", "3", "--basis", "40"]
    assert run(["lab", "train-automaton", str(text), "-o", model, *flags]) == 0
    line = ["lab", "score", model, str(text), "--json", "--summary"]
    assert run(line) == 0
    assert json.loads(capsys.readouterr().out)["symbols"] == 20 * 4
    assert run([*line, "--characters"]) == 0
    assert json.loads(capsys.readouterr().out)["symbols"] == 20 * 12
    assert run(["lab", "inspect", model, "--sample", "5"]) == 0
    words = {word for row in capsys.readouterr().out.splitlines() for word in row.split()}
    assert words <= {"the", "cat", "dog", "sat"}


def test_tokens_of_one_character_are_remembered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "a.txt"
    text.write_text("a b c\nb c\n" * 10)
    for flag, n_symbols in (("--tokens", 10 * (4 + 3)), ("", 10 * (6 + 4))):
        model = str(tmp_path / f"m{flag}")
        line = ["lab", "train-automaton", str(text), "-o", model, "-q", "-k", "3", "--basis", "40"]
        assert run([*line, *flag.split()]) == 0
        assert run(["lab", "score", model, str(text), "--json", "--summary"]) == 0
        assert json.loads(capsys.readouterr().out)["symbols"] == n_symbols
    assert run(["lab", "inspect", str(tmp_path / "m--tokens"), "--sample", "9"]) == 0
    assert "a b c" in capsys.readouterr().out


def test_a_string_that_no_class_can_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.tsv").write_text("aa\tA\nab\tA\nbb\tB\n" * 9)
    (tmp_path / "b.txt").write_text("xyz\n")
    model = str(tmp_path / "m")
    line = [
        "lab",
        "train-automaton",
        str(tmp_path / "a.tsv"),
        "-o",
        model,
        "--of",
        "classes",
        "-q",
    ]
    assert run([*line, "-k", "2", "--basis", "20", "--unigram-weight", "0"]) == 0
    assert run(["lab", "apply", model, str(tmp_path / "b.txt"), "--kbest", "2"]) == 0
    found = capsys.readouterr()
    assert "nan" not in found.out
    assert "warning" not in found.err
    assert found.out.split("\t")[:3] == ["xyz", "A", "0.6667"]


@pytest.mark.parametrize(("of", "said"), [("classes", "with a tag"), ("pairs", "with a lemma")])
def test_columns_that_are_not_given_are_not_learned(
    tmp_path: Path, of: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.conllu").write_text(conllu([("hello", "_", "_")] * 3))
    line = ["lab", "train-automaton", str(tmp_path / "a.conllu"), "-o", str(tmp_path / "m")]
    assert run([*line, "--of", of]) == 2
    assert f"a.conllu: no word {said} in this file" in capsys.readouterr().err
