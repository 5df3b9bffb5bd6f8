"""Every conversion on small files whose answers are written out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from eigentext.base.files.opening import SkipLog
from eigentext.errors import DataError, SettingsError
from eigentext.language.formats import conllu, ptb, text
from eigentext.language.formats.convert import convert
from eigentext.language.formats.registry import CONVERTIBLE, FORMATS, format_of, the_format

if TYPE_CHECKING:
    from pathlib import Path

BRACKETS = (
    "( (S (NP-SBJ-1 (DT the) (NN dog)) (VP (VBZ wants) (S (NP-SBJ (-NONE- *-1)) "
    "(VP (TO to) (VP (VB sleep)))))))\n"
    "(TOP (X (-NONE- *)))\n"
    "(NP=2 (NN rain))\n"
)
CONLLU = (
    "# sent_id = s1\n"
    "# text = du 13 819 pluie\n"
    "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tde\tde\tADP\tP\t_\t3\tcase\t3:case\t_\n"
    "2\tle\tle\tDET\tD\tNumber=Sing\t3\tdet\t_\t_\n"
    "3\t13 819\t13 819\tNUM\tC\t_\t0\troot\t_\tSpaceAfter=No\n"
    "3.1\tvide\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "4\tpluie\tpluie\tNOUN\tN\t_\t3\tdep\t_\t_\n"
    "\n"
)
CONLLX = (
    "1\tde\tde\tADP\tP\t_\t3\tcase\t_\t_\n"
    "2\tle\tle\tDET\tD\tNumber=Sing\t3\tdet\t_\t_\n"
    "3\t13 819\t13 819\tNUM\tC\t_\t0\troot\t_\t_\n"
    "4\tpluie\tpluie\tNOUN\tN\t_\t3\tdep\t_\t_\n"
    "\n"
)
NO_BREAK = "\u00a0"


def converted(folder: Path, content: str, names: str, **options: Any) -> tuple[int, str]:
    """Number of sentences and text of the target, for names such as ``mrg conllu``."""
    source, target = (folder / f"case.{suffix}" for suffix in names.split())
    if source == target:
        target = folder / f"other{target.suffix}"
    source.write_bytes(content.encode())
    n_written = convert(str(source), str(target), **options)
    return n_written, target.read_bytes().decode()


STRIPPED_ROWS = (
    "1\tthe\t_\t_\tDT\t_\t2\tDT<NP\t_\t_\n"
    "2\tdog\t_\t_\tNN\t_\t3\tNP<S\t_\t_\n"
    "3\twants\t_\t_\tVBZ\t_\t0\troot\t_\t_\n"
    "4\tto\t_\t_\tTO\t_\t{to}\t_\t_\n"
    "5\tsleep\t_\t_\tVB\t_\t{sleep}\t_\t_\n"
    "\n"
    "1\train\t_\t_\tNN\t_\t0\troot\t_\t_\n"
    "\n"
)


@pytest.mark.parametrize("target", ["conllu", "conllx"])
def test_brackets_to_dependencies(tmp_path: Path, target: str) -> None:
    # "to" heads its verb phrase by the English rules
    expected = STRIPPED_ROWS.format(to="3\tS<VP", sleep="4\tVP<VP")
    assert converted(tmp_path, BRACKETS, f"mrg {target}") == (2, expected)


def test_brackets_to_dependencies_with_traces(tmp_path: Path) -> None:
    n_written, found = converted(tmp_path, BRACKETS, "mrg conllu", strip=False)
    assert n_written == 3
    rows = [line.split("\t") for line in found.splitlines() if line]
    assert [row[1] for row in rows] == ["the", "dog", "wants", "*-1", "to", "sleep", "*", "rain"]
    assert [row[7] for row in rows] == [
        *("DT<NP-SBJ-1", "NP-SBJ-1<S", "root", "NP-SBJ<S", "S<VP", "VP<VP"),
        *("root", "root"),
    ]
    assert [row[6] for row in rows] == ["2", "3", "0", "5", "3", "5", "0", "0"]


def test_neutral_heads_differ_from_english_ones(tmp_path: Path) -> None:
    english = converted(tmp_path, BRACKETS, "mrg conllu")
    neutral = converted(tmp_path, BRACKETS, "mrg conllu", heads="neutral")
    assert english[0] == neutral[0] == 2
    assert english[1] != neutral[1]


@pytest.mark.parametrize(
    ("strip", "expected"),
    [(True, "the dog wants to sleep\nrain\n"), (False, "the dog wants *-1 to sleep\n*\nrain\n")],
)
def test_brackets_to_tokens(tmp_path: Path, strip: bool, expected: str) -> None:
    found = converted(tmp_path, BRACKETS, "mrg txt", strip=strip)
    assert found == (expected.count("\n"), expected)


def test_brackets_to_brackets(tmp_path: Path) -> None:
    n_written, stripped = converted(tmp_path, BRACKETS, "mrg ptb")
    assert n_written == 2
    assert [ptb.parse_tree(line) for line in stripped.splitlines()] == [
        ptb.parse_tree(
            "( (S (NP (DT the) (NN dog)) (VP (VBZ wants) (S (VP (TO to) (VP (VB sleep)))))))"
        ),
        ptb.parse_tree("(NP (NN rain))"),
    ]
    n_written, whole = converted(tmp_path, BRACKETS, "mrg ptb", strip=False)
    assert n_written == 3
    assert [ptb.parse_tree(line) for line in whole.splitlines()] == [
        ptb.parse_tree(line) for line in BRACKETS.splitlines()
    ]


def test_between_the_two_conlls(tmp_path: Path) -> None:
    assert converted(tmp_path, CONLLU, "conllu conllx") == (1, CONLLX)
    assert converted(tmp_path, CONLLX, "conllx conllu") == (1, CONLLX)
    guesses = CONLLX.replace("root\t_\t_", "root\t0\tROOT")
    assert guesses != CONLLX
    assert converted(tmp_path, guesses, "conll conllu") == (1, CONLLX)


def test_conllu_to_itself_keeps_every_byte(tmp_path: Path) -> None:
    assert converted(tmp_path, CONLLU, "conllu conllu") == (1, CONLLU)


@pytest.mark.parametrize(("content", "source"), [(CONLLU, "conllu"), (CONLLX, "conllx")])
def test_a_space_in_a_form_becomes_a_no_break_space(
    tmp_path: Path, content: str, source: str
) -> None:
    found = converted(tmp_path, content, f"{source} txt")
    assert found == (1, f"de le 13{NO_BREAK}819 pluie\n")
    read = list(text.read_sentences(str(tmp_path / "case.txt")))
    assert read == [["de", "le", f"13{NO_BREAK}819", "pluie"]]


def test_other_white_space_in_a_form_names_the_source(tmp_path: Path) -> None:
    row = "1\t{}\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    content = row.format("fine") + row.format("a\vb") + row.format("too")
    with pytest.raises(DataError, match=r"case\.conllu:3: form 'a\\x0bb'"):
        converted(tmp_path, content, "conllu txt")
    assert not (tmp_path / "case.txt").exists()
    log = SkipLog()
    assert converted(tmp_path, content, "conllu txt", on_error=log) == (2, "fine\ntoo\n")
    assert log.count == 1


@pytest.mark.parametrize("target", ["conllu", "conllx"])
def test_tokens_to_columns(tmp_path: Path, target: str) -> None:
    lines = f"Birds  sing\n\n10{NO_BREAK}000\n"
    bare = "\t_" * 8
    expected = f"1\tBirds{bare}\n2\tsing{bare}\n\n1\t10{NO_BREAK}000{bare}\n\n"
    assert converted(tmp_path, lines, f"txt {target}") == (2, expected)


def test_tokens_to_tokens(tmp_path: Path) -> None:
    found = converted(tmp_path, " Birds\tsing \n\nloudly\n", "txt tok")
    assert found == (2, "Birds sing\nloudly\n")


def test_bad_items_are_refused_or_skipped(tmp_path: Path) -> None:
    content = CONLLX + "1\tx\n\n" + CONLLX
    with pytest.raises(DataError, match=r"case\.conllx:6"):
        converted(tmp_path, content, "conllx conllu")
    assert not (tmp_path / "case.conllu").exists()
    log = SkipLog()
    assert converted(tmp_path, content, "conllx conllu", on_error=log) == (2, CONLLX * 2)
    assert log.count == 1


@pytest.mark.parametrize("source", ["conllu", "conllx", "tokens"])
def test_nothing_but_brackets_becomes_brackets(source: str) -> None:
    with pytest.raises(SettingsError, match=f"{source} has no constituents"):
        convert("-", "-", source_format=source, target_format="ptb")


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(SettingsError, match=r"cannot tell the format of 'a\.xyz'"):
        convert("a.xyz", "b.txt")
    with pytest.raises(SettingsError, match="cannot tell the format of '-'"):
        convert("a.mrg", "-")
    with pytest.raises(SettingsError, match="unknown format 'xml'"):
        convert("a.mrg", "b", target_format="xml")
    with pytest.raises(SettingsError, match="unknown format 'penn'"):
        convert("a.mrg", "b.txt", source_format="penn")
    with pytest.raises(SettingsError, match="'english' or 'neutral', not 'french'"):
        convert("a.mrg", "b.conllu", heads="french")
    with pytest.raises(DataError, match=r"nowhere\.mrg"):
        convert("nowhere.mrg", "memory://doc/nowhere.conllu")


def test_formats_by_name() -> None:
    names = ["a.mrg", "a.ptb.gz", "b.conllu.xz", "c.conll", "c.conllx.zst", "d.txt.bz2", "d.tok"]
    assert [format_of(name, CONVERTIBLE) for name in names] == [
        *("ptb", "ptb", "conllu", "conllx", "conllx", "tokens", "tokens")
    ]
    assert {format_of(name, CONVERTIBLE) for name in names} == set(CONVERTIBLE)


@pytest.mark.requires("data")
def test_a_french_treebank_keeps_its_words(data: Path, tmp_path: Path) -> None:
    source = str(data / "dependency" / "fr-sequoia" / "dev.conllu")
    target = str(tmp_path / "dev.txt")
    forms = [list(sentence.forms) for sentence in conllu.read_sentences(source)]
    assert convert(source, target) == len(forms)
    assert any(" " in form for words in forms for form in words)
    assert list(text.read_sentences(target)) == [
        [form.replace(" ", NO_BREAK) for form in words] for words in forms
    ]


def test_every_format_reads_and_writes_what_it_says() -> None:
    for each in FORMATS:
        assert each.read == "" or callable(each.reader())
        assert each.write == "" or callable(each.writer())
    assert all(the_format(name, CONVERTIBLE).write for name in CONVERTIBLE)
    assert format_of("a.txt", ("tokens",)) == "tokens"
    assert format_of("a.txt", ("text", "tokens")) == "text"
    with pytest.raises(SettingsError, match="unknown format 'x'; known: ptb"):
        the_format("x", ("ptb",))
