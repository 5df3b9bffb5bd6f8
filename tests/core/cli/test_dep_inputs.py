"""``dep`` on odd and bad CoNLL-U: a good answer and exit 0, or one clear line and exit 2."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from eigentext.cli.main import run
from eigentext.datasets import load_english
from eigentext.dependency import DependencyParser, LatentTreeModel
from eigentext.language.formats import conllu
from eigentext.language.trees.constituent import Tree
from eigentext.language.trees.heads import to_dependencies


def _row(number: object, form: str, head: object, relation: str = "dep", xpos: str = "X") -> str:
    return f"{number}\t{form}\t_\t_\t{xpos}\t_\t{head}\t{relation}\t_\t_\n"


GOOD = _row(1, "the", 2, "det", "DT") + _row(2, "dog", 3, "nsubj", "NN")
GOOD += _row(3, "barks", 0, "root", "VBZ") + "\n"


def _sample(split: str) -> list[conllu.ConlluBlock]:
    trees = [to_dependencies(Tree.from_brackets(line)) for line in load_english(split)]
    return [conllu.from_dependency_tree(tree, tags="xpos") for tree in trees]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Trees of the sample, a parser with taggers of its own, and one that needs tags."""
    folder = tmp_path_factory.mktemp("odd")
    conllu.write_sentences(_sample("train")[:120], folder / "train.conllu")
    conllu.write_sentences(_sample("dev"), folder / "dev.conllu")
    (folder / "good.conllu").write_text(GOOD * 40)
    trees = list(conllu.read_sentences(folder / "train.conllu"))
    few = {"epochs": 2, "bits": 14}  # small models are read fast
    DependencyParser(tags="own", **few).fit(trees).save(folder / "own.dep")
    DependencyParser(**few).fit(trees).save(folder / "tags.dep")
    latent = LatentTreeModel(5, split=False, n_iter=1)
    latent.fit([conllu.to_dependency_tree(one, tags="xpos") for one in trees])
    latent.save(folder / "english.latent")
    return folder


# --- bad files ----------------------------------------------------------------------------------

_LONG = gzip.compress((GOOD * 30).encode())
BAD: dict[str, tuple[str, bytes, str]] = {  # name of the file, content, what is said
    "cycle": (
        "s.conllu",
        (GOOD + _row(1, "a", 2) + _row(2, "b", 1) + _row(3, "c", 0) + "\n").encode(),
        r"s\.conllu:5: found the cycle 1 -> 2 -> 1",
    ),
    "no root": (
        "s.conllu",
        (_row(1, "a", 2) + _row(2, "b", 1) + "\n").encode(),
        r"s\.conllu:1: found no word whose head is 0",
    ),
    "head out of range": (
        "s.conllu",
        (GOOD + _row(1, "a", 0) + _row(2, "b", 9) + "\n").encode(),
        r"s\.conllu:6: found head '9'; expected a number from 0 to 2",
    ),
    "negative head": (
        "s.conllu",
        (_row(1, "a", 0) + _row(2, "b", -1) + "\n").encode(),
        r"s\.conllu:2: found head '-1'",
    ),
    "gap in the ids": (
        "s.conllu",
        (GOOD + _row(1, "a", 0) + _row(3, "b", 1) + "\n").encode(),
        r"s\.conllu:6: found id '3'; expected 2",
    ),
    "heads for some words": (
        "s.conllu",
        (_row(1, "a", 0) + _row(2, "b", "_") + "\n").encode(),
        r"s\.conllu:2: found head '_' after",
    ),
    "nine columns": (
        "s.conllu",
        (GOOD + "1\ta\t_\t_\t_\t_\t0\troot\t_\n\n").encode(),
        r"s\.conllu:5: found 9 columns",
    ),
    "spaces for tabs": (
        "s.conllu",
        GOOD.replace("\t", " ").encode(),
        r"s\.conllu:1: found 1 column",
    ),
    "a range that overlaps": (
        "s.conllu",
        (
            "1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n"
            + _row(1, "a", 0)
            + "2-3\tbc\t_\t_\t_\t_\t_\t_\t_\t_\n"
            + _row(2, "b", 1)
            + _row(3, "c", 1)
            + "\n"
        ).encode(),
        r"s\.conllu:3: found range 2-3",
    ),
    "not UTF-8": (
        "s.conllu",
        (GOOD.encode() + _row(1, "d\xe9j\xe0", 0).encode("latin-1") + b"\n"),
        r"s\.conllu:5: not UTF-8: byte 0xe9 at position 4 of the line",
    ),
    "truncated gz": (
        "s.conllu.gz",
        _LONG[: len(_LONG) // 2],
        r"s\.conllu\.gz:\d+: truncated gz archive",
    ),
    "not gz": ("s.conllu.gz", GOOD.encode(), r"s\.conllu\.gz:1: damaged gz archive"),
    "trees in brackets": (
        "s.conllu",
        b"(S (NP (NN dog)) (VP (VBZ barks)))\n",
        r"s\.conllu:1: found 1 column",
    ),
}

COMMANDS: dict[str, Callable[[Path, str, str], list[str]]] = {
    "train": lambda folder, bad, out: ["train", bad, "-o", out, "--epochs", "1"],
    "train --dev": lambda folder, bad, out: [
        "train",
        str(folder / "dev.conllu"),
        "--dev",
        bad,
        "-o",
        out,
        "--epochs",
        "1",
    ],
    "apply": lambda folder, bad, out: ["apply", str(folder / "own.dep"), bad, "-o", out],
    "apply --kbest": lambda folder, bad, out: [
        "apply",
        str(folder / "own.dep"),
        bad,
        "-o",
        out,
        "--kbest",
        "2",
    ],
    "train-latent": lambda folder, bad, out: [
        "train-latent",
        bad,
        "-o",
        out,
        "--n-states",
        "3",
        "--n-iter",
        "1",
    ],
    "score": lambda folder, bad, out: ["score", str(folder / "english.latent"), bad, "-o", out],
    "score by parser": lambda folder, bad, out: ["score", str(folder / "own.dep"), bad, "-o", out],
    "inspect": lambda folder, bad, out: ["inspect", bad, "--n-states", "2"],
    "train-reranker": lambda folder, bad, out: [
        "train-reranker",
        bad,
        "-o",
        out,
        "--base",
        str(folder / "own.dep"),
        "--kbest",
        "2",
        "--experts",
        "none",
    ],
    "eval answers": lambda folder, bad, out: ["eval", bad, str(folder / "dev.conllu")],
    "eval gold": lambda folder, bad, out: ["eval", str(folder / "dev.conllu"), bad],
    "eval against": lambda folder, bad, out: [
        "eval",
        *[str(folder / "dev.conllu")] * 2,
        "--against",
        bad,
    ],
    "draw": lambda folder, bad, out: ["convert", bad, "-o", f"{out}.html"],
    "draw against": lambda folder, bad, out: [
        "convert",
        str(folder / "good.conllu"),
        "--against",
        bad,
        "-o",
        f"{out}.html",
    ],
}


def _line(arguments: list[str]) -> list[str]:
    return arguments if arguments[0] == "convert" else ["dep", *arguments]


def _refused(arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2, one line that says why, and no output."""
    assert run(_line(arguments)) == 2
    shown = capsys.readouterr()
    assert re.search(why, shown.err), shown.err
    assert shown.err.startswith("eigentext: ")
    assert shown.err.count("\n") == 1
    assert shown.out == ""


# every kind through one command of each file reader, a few kinds through all of them
_THOROUGH = ("train", "apply", "eval gold", "draw")
_EVERYWHERE = ("cycle", "not UTF-8", "truncated gz")


@pytest.mark.parametrize(
    ("kind", "command"),
    [(k, c) for k in BAD for c in COMMANDS if k in _EVERYWHERE or c in _THOROUGH],
)
def test_bad_files(kind, command, folder, tmp_path, capsys):
    name, content, why = BAD[kind]
    (tmp_path / name).write_bytes(content)
    _refused(COMMANDS[command](folder, str(tmp_path / name), str(tmp_path / "out")), why, capsys)
    assert sorted(path.name for path in tmp_path.iterdir()) == [name]


@pytest.mark.parametrize("command", COMMANDS)
def test_files_that_are_not_there_or_no_files(command, folder, tmp_path, capsys):
    (tmp_path / "folder.conllu").mkdir()
    (tmp_path / "empty.conllu").write_bytes(b"")
    (tmp_path / "blank.conllu").write_bytes(b"\n\n\n")
    out = str(tmp_path / "out")
    for name, why in (
        ("none.conllu", r"none\.conllu: no such file"),
        ("folder.conllu", r"folder\.conllu: (a folder|a directory|is a)"),
    ):
        _refused(COMMANDS[command](folder, str(tmp_path / name), out), why, capsys)
    for name in ("empty.conllu", "blank.conllu"):
        if command in ("apply", "apply --kbest"):  # nothing in, nothing out
            assert run(_line(COMMANDS[command](folder, str(tmp_path / name), out))) == 0
            assert Path(out).read_bytes() == b""
            Path(out).unlink()
            continue
        why = rf"{name}: .*no sentences"
        _refused(COMMANDS[command](folder, str(tmp_path / name), out), why, capsys)
    assert len(list(tmp_path.iterdir())) == 3


NO_TREE = {  # content, the same with heads, what is said
    "no heads": (_row(1, "a", "_") + "\n", _row(1, "a", 0) + "\n", r":1: .*no heads"),
    "no heads further on": (
        GOOD + _row(1, "a", "_") + "\n",
        GOOD + _row(1, "a", 0) + "\n",
        r":5: .*no heads",
    ),
}


@pytest.mark.parametrize("command", [name for name in COMMANDS if "apply" not in name])
@pytest.mark.parametrize("kind", NO_TREE)
def test_sentences_without_heads(kind, command, folder, tmp_path, capsys):
    content, whole, why = NO_TREE[kind]
    (tmp_path / "s.conllu").write_text(content)
    for model in ("own.dep", "english.latent"):
        (tmp_path / model).symlink_to(folder / model)
    for other in ("dev", "good"):
        (tmp_path / f"{other}.conllu").write_text(whole)
    bad, out = str(tmp_path / "s.conllu"), str(tmp_path / "out")
    _refused(COMMANDS[command](tmp_path, bad, out), r"s\.conllu" + why, capsys)
    assert not list(tmp_path.glob("out*"))


TWO_ROOTS = GOOD + _row(1, "yes", 0, "root") + _row(2, "no", 0, "root") + "\n"


def test_two_roots_are_no_tree_to_learn_from(folder, tmp_path, capsys):
    (tmp_path / "s.conllu").write_text(TWO_ROOTS)
    source, out = str(tmp_path / "s.conllu"), str(tmp_path / "out")
    for command in ("train", "train --dev"):
        why = r"s\.conllu:5: .*2 roots, words 1 and 2"
        _refused(COMMANDS[command](folder, source, out), why, capsys)
    # but another parser's trees may have them, and are scored and drawn
    assert run(["dep", "eval", source, source, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["LAS"] == 100.0
    assert run(["convert", source, "-o", f"{out}.svg", "-n", "2"]) == 0
    assert Path(f"{out}.svg").read_text().count("et-arrow") == 2
    # parsed anew, the sentence has one root
    assert run(["dep", "apply", str(folder / "own.dep"), source, "-o", out]) == 0
    assert [one.heads.count(0) for one in conllu.read_sentences(out)] == [1, 1]


def test_bad_sentences_can_be_skipped(folder, tmp_path, capsys):
    bad = BAD["cycle"][1] + GOOD.encode()
    (tmp_path / "s.conllu").write_bytes(bad)
    source, out = str(tmp_path / "s.conllu"), str(tmp_path / "out")
    arguments = ["dep", "train", source, "-o", out, "--epochs", "1", "--on-error", "skip"]
    assert run([*arguments, "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["sentences"] == 2
    assert json.loads(shown.out)["skipped"] == 1
    assert "found the cycle" in shown.err
    (tmp_path / "s.conllu").write_text(TWO_ROOTS + _row(1, "a", "_") + "\n")
    assert run([*arguments, "--json"]) == 0
    shown = capsys.readouterr()
    assert (json.loads(shown.out)["sentences"], json.loads(shown.out)["skipped"]) == (1, 2)
    (tmp_path / "s.conllu").write_bytes(bad)
    model = str(folder / "own.dep")
    assert run(["dep", "apply", model, source, "-o", out, "--on-error", "skip", "-q"]) == 0
    assert len(list(conllu.read_sentences(out))) == 2


@pytest.mark.parametrize(
    "command", [name for name in COMMANDS if name.split()[0] not in ("eval", "inspect")]
)
def test_outputs_that_cannot_be_written(command, folder, tmp_path, capsys):
    source = str(folder / "good.conllu")
    out = str(tmp_path / "none" / "out")
    _refused(COMMANDS[command](folder, source, out), r"no such folder", capsys)
    suffix = ".html" if "draw" in command else ""
    (tmp_path / f"out{suffix}").mkdir()
    _refused(COMMANDS[command](folder, source, str(tmp_path / "out")), r"out", capsys)
    assert [path.name for path in tmp_path.iterdir()] == [f"out{suffix}"]
    assert not list((tmp_path / f"out{suffix}").iterdir())


def test_models_that_are_none(folder, tmp_path, capsys):
    source = str(folder / "dev.conllu")
    whole = (folder / "own.dep").read_bytes()
    (tmp_path / "text.dep").write_text("hello")
    (tmp_path / "cut.dep").write_bytes(whole[: len(whole) // 2])
    flipped = bytearray(whole)
    flipped[-5] ^= 1
    (tmp_path / "flipped.dep").write_bytes(flipped)
    for name in ("text", "cut", "flipped", "none"):
        arguments = ["apply", str(tmp_path / f"{name}.dep"), source, "-o", str(tmp_path / "out")]
        _refused(arguments, rf"{name}\.dep: ", capsys)
    assert not (tmp_path / "out").exists()


def test_text_without_tags_needs_a_parser_with_taggers(folder, tmp_path, capsys):
    (tmp_path / "text.txt").write_text("The farmer slept .\n")
    bare = [str(tmp_path / "text.txt"), "-o", str(tmp_path / "out")]
    hint = r"text\.txt:1: found 1 column .*--from tokens or --from raw"
    _refused(["apply", str(folder / "own.dep"), *bare], hint, capsys)
    arguments = [*bare, "--from", "tokens"]
    _refused(["apply", str(folder / "tags.dep"), *arguments], "tags", capsys)
    assert run(["dep", "apply", str(folder / "own.dep"), *arguments]) == 0


@pytest.mark.parametrize("tokeniser", ["ud-en", "ptb"])
def test_forms_of_raw_text_are_what_was_typed(tokeniser, folder, tmp_path):
    raw = "\"The farmer can’t sleep,\" he said. “Don't!” (A 'dog' barks.)\n"
    text = tmp_path / "text.txt"
    text.write_text(raw)
    out = tmp_path / "out.conllu"
    asked = [str(text), "--from", "raw", "--tokeniser", tokeniser, "-o", str(out), "-q"]
    for more in ([], ["--kbest", "2"]):
        assert run(["dep", "apply", str(folder / "own.dep"), *asked, *more]) == 0
        found = list(conllu.read_sentences(out))
        first = [one for one in found if one.metadata.get("kbest", "1") == "1"]
        assert "".join("".join(one.forms) for one in first) == "".join(raw.split())


# --- odd files ----------------------------------------------------------------------------------


def _parsed(
    model: Path, text: str | bytes, tmp_path: Path, *more: str
) -> list[conllu.ConlluBlock]:
    source, out = tmp_path / "in.conllu", tmp_path / "out.conllu"
    source.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert run(["dep", "apply", str(model), str(source), "-o", str(out), "-q", *more]) == 0
    return list(conllu.read_sentences(out))


def _trained(text: str | bytes, tmp_path: Path, *more: str) -> Path:
    source, model = tmp_path / "train.conllu", tmp_path / "m.dep"
    source.write_bytes(text if isinstance(text, bytes) else text.encode())
    arguments = ["dep", "train", str(source), "-o", str(model), "--epochs", "2", "-q", *more]
    assert run(arguments) == 0
    return model


RANGES = (
    "# sent_id = r-1\n# text = au parc\n"
    "1-2\tau\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=Yes\n"
    + _row(1, "\u00e0", 3, "case")
    + _row(2, "le", 3, "det")
    + _row(3, "parc", 0, "root")
    + "3.1\tvu\tvoir\tVERB\t_\t_\t_\t_\t0:root\t_\n\n"
)


def test_ranges_empty_nodes_and_comments_survive(folder, tmp_path):
    (found,) = _parsed(folder / "own.dep", RANGES, tmp_path)
    lines, given = found.verbatim.split("\n"), RANGES.split("\n")
    assert len(lines) == len(given)
    for place in (0, 1, 2, 6):  # what is no word stays to the byte
        assert lines[place] == given[place]
    assert found.ranges[0].form == "au"
    assert found.empty_nodes[0][1].split("\t")[1] == "vu"
    model = _trained(RANGES * 5, tmp_path)
    (again,) = _parsed(model, RANGES, tmp_path)
    assert again.heads == (3, 3, 0)
    several = _parsed(folder / "own.dep", RANGES, tmp_path, "--kbest", "3")
    assert [one.metadata["sent_id"] for one in several] == ["r-1"] * len(several)
    assert len({one.heads for one in several}) == len(several) == 3


@pytest.mark.parametrize("order", ["1", "2"])
def test_three_hundred_words(order, tmp_path):
    words = [word for one in _sample("train") for word in one.forms if word != "."][:299]
    text = "".join(_row(k, word, k - 1) for k, word in enumerate([*words, "."], start=1)) + "\n"
    model = _trained(GOOD * 30, tmp_path, "--order", order, "--projective")
    (found,) = _parsed(model, text, tmp_path)
    assert found.forms == (*words, ".")
    assert found.heads.count(0) == 1
    if order == "1":
        assert len(_parsed(model, text, tmp_path, "--kbest", "5")) == 5
    drawn = tmp_path / "long.svg"
    assert run(["convert", str(tmp_path / "out.conllu"), "-o", str(drawn), "-q"]) == 0
    assert drawn.read_text().count('class="et-word"') == 300


TREEBANKS = {
    "one sentence": GOOD,
    "one word": _row(1, "Yes", 0, "root") + "\n",
    "one-word sentences only": "".join(
        _row(1, word, 0, "root") + "\n" for word in ("Yes", "No", "Maybe") * 4
    ),
    "no tags": (_row(1, "a", 2, "det", "_") + _row(2, "dog", 0, "root", "_") + "\n") * 5,
    "no relations": (_row(1, "a", 2, "_") + _row(2, "dog", 0, "_") + "\n") * 5,
    "one relation": (_row(1, "a", 2, "x") + _row(2, "dog", 0, "x") + "\n") * 5,
    "crossing arcs only": (
        _row(1, "a", 3) + _row(2, "b", 4) + _row(3, "c", 4) + _row(4, "d", 0) + "\n"
    )
    * 5,
    "spaces in forms": (_row(1, "13 819", 2) + _row(2, "\u00a0x\u2003y", 0) + "\n") * 5,
    "odd tags": (_row(1, "a", 2, "a=b|c", "\u202e#") + _row(2, "b", 0, "0", "_0") + "\n") * 5,
}


@pytest.mark.parametrize(("order", "tags"), [("1", "gold"), ("2", "own")])
@pytest.mark.parametrize("name", TREEBANKS)
def test_odd_treebanks(name, order, tags, tmp_path, capsys):
    text = TREEBANKS[name]
    model = _trained(text, tmp_path, "--order", order, "--tags", tags)
    gold = list(conllu.read_sentences(tmp_path / "train.conllu"))
    found = _parsed(model, text + GOOD, tmp_path)
    assert [one.forms for one in found] == [*(one.forms for one in gold), ("the", "dog", "barks")]
    assert all(one.heads.count(0) == 1 for one in found)
    several = _parsed(model, text.split("\n\n")[0] + "\n\n", tmp_path, "--kbest", "4")
    assert 1 <= len(several) <= 4
    assert several[0].heads == found[0].heads
    assert run(["convert", str(tmp_path / "out.conllu"), "-o", str(tmp_path / "d.html")]) == 0
    pair = [str(tmp_path / "train.conllu")] * 2
    assert run(["dep", "eval", *pair, "--json", "--subtypes", "--by", "relation"]) == 0
    assert json.loads(capsys.readouterr().out)["LCM"] == 100.0


def test_windows_lines_and_byte_order_marks(folder, tmp_path):
    plain = _parsed(folder / "own.dep", GOOD * 2, tmp_path)
    windows = b"\xef\xbb\xbf" + (GOOD * 2).replace("\n", "\r\n").encode()
    found = _parsed(folder / "own.dep", windows, tmp_path)
    assert [one.heads for one in found] == [one.heads for one in plain]
    assert b"\r\n" in (tmp_path / "out.conllu").read_bytes()  # as they came
    one = _trained(windows, tmp_path).read_bytes()
    two = _trained(GOOD * 2, tmp_path).read_bytes()
    # the same model, but for where the header says it comes from
    assert len(one) == len(two)
    target = str(tmp_path / "w.svg")
    assert run(["convert", str(tmp_path / "out.conllu"), "-o", target]) == 0


def test_archives_and_globs_are_read(folder, tmp_path):
    for name in ("a.conllu.gz", "b.conllu.gz"):
        (tmp_path / name).write_bytes(gzip.compress(GOOD.encode()))
    out = tmp_path / "out.conllu.gz"
    arguments = ["dep", "apply", str(folder / "own.dep"), str(tmp_path / "?.conllu.gz")]
    assert run([*arguments, "-o", str(out)]) == 0
    assert len(list(conllu.read_sentences(out))) == 2
    assert run(["dep", "eval", str(out), str(out)]) == 0


def test_drawing_what_is_not_there(folder, tmp_path, capsys):
    source = str(folder / "dev.conllu")
    _refused(
        ["convert", source, "-o", str(tmp_path / "x.svg"), "-n", "9999"],
        r"dev\.conllu: there is no sentence 9999: the last is \d+",
        capsys,
    )
    _refused(
        ["convert", source, "-o", str(tmp_path / "x.html"), "-n", "1", "-n", "9999"],
        r"no sentence 9999",
        capsys,
    )
    _refused(["convert", source, "-o", str(tmp_path / "x.png"), "-n", "1"], "FILE.svg or", capsys)
    _refused(
        ["convert", source, "-o", str(tmp_path / "x.svg"), "-n", "1", "-n", "2"],
        "one tree",
        capsys,
    )
    (tmp_path / "other.conllu").write_text(GOOD)
    page, other = str(tmp_path / "x.html"), str(tmp_path / "other.conllu")
    why = r"other\.conllu:1: the words of sentence 1"
    _refused(["convert", source, "-o", page, "--against", other], why, capsys)
    (tmp_path / "longer.conllu").write_text(GOOD * 2)
    why = r"other\.conllu: ends after 1 sentences"
    longer = str(tmp_path / "longer.conllu")
    _refused(["convert", longer, "-o", page, "--against", other], why, capsys)
    assert not list(tmp_path.glob("x.*"))


def test_probabilities_of_the_last_column_are_drawn(tmp_path):
    text = "".join(
        row[:-2] + f"Prob={p}\n"
        for row, p in zip(GOOD.splitlines(True), (0.2, 0.5, 1), strict=False)
    )
    (tmp_path / "p.conllu").write_text(text + "\n")
    (tmp_path / "bad.conllu").write_text(text.replace("Prob=0.5", "Prob=x") + "\n")
    for name, shown in (("p", True), ("bad", False)):
        drawn = tmp_path / f"{name}.svg"
        assert run(["convert", str(tmp_path / f"{name}.conllu"), "-o", str(drawn)]) == 0
        assert ("p = 0.2" in drawn.read_text()) == shown


def test_probabilities_are_written_and_drawn(folder, tmp_path):
    given = GOOD.replace("\t_\t_\n", "\t_\tSpaceAfter=No|Prob=9\n", 1)
    (found,) = _parsed(folder / "own.dep", given, tmp_path, "--marginals")
    (plain,) = _parsed(folder / "own.dep", given, tmp_path)
    assert found.heads == plain.heads
    parser = DependencyParser.load(folder / "own.dep")
    chances = parser.marginals(parser.tagged_conllu(plain))
    cells = [conllu.parse_pairs(cell) for cell in found.column("misc")]
    for word, (head, cell) in enumerate(zip(found.heads, cells, strict=True), start=1):
        assert float(cell["Prob"]) == pytest.approx(chances[head, word], abs=1e-4)
    assert list(cells[0]) == ["SpaceAfter", "Prob"]
    several = _parsed(folder / "own.dep", given, tmp_path, "--marginals", "--kbest", "3")
    assert all("Prob=" in one.verbatim for one in several)
    drawn = tmp_path / "t.svg"
    assert run(["convert", str(tmp_path / "out.conllu"), "-o", str(drawn)]) == 0
    assert "p = " in drawn.read_text()


def test_standard_input_and_output(folder, tmp_path):
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "eigentext.cli", "dep", "apply", str(folder / "own.dep")],
        input=GOOD.encode(),
        capture_output=True,
        check=True,
        timeout=300,
        env={**os.environ, "COLUMNS": "200"},
    )
    assert done.stdout.count(b"\n") == 4
    assert b"\tbarks\t" in done.stdout


def test_very_long_sentences_are_parsed_in_pieces(folder, tmp_path, monkeypatch, capsys):
    from eigentext.dependency import long_sentences

    monkeypatch.setattr(long_sentences, "MOST_WORDS", 12)
    words = "the farmer slept . the dog barks , he sold a horse".split() * 5
    text, out = tmp_path / "text.txt", tmp_path / "out.conllu"
    text.write_text("he slept .\n" + " ".join(words) + "\nthe dog barks .\n")
    asked = [
        "dep",
        "apply",
        str(folder / "own.dep"),
        str(text),
        "--from",
        "tokens",
        "-o",
        str(out),
    ]
    for more in ([], ["--kbest", "2"]):
        assert run([*asked, *more]) == 0
        assert (
            "1 sentence(s) of more than 12 words were parsed in pieces" in capsys.readouterr().err
        )
        found = list(conllu.read_sentences(out))
        (long,) = [one for one in found if len(one) > 4]
        assert long.forms == tuple(words)
        assert long.heads.count(0) == 1
        assert "_" not in long.column("xpos")
        n_pieces = int(long.metadata["split"])
        assert 5 <= n_pieces <= 8
        assert long.column("deprel").count("dep") == n_pieces - 1
        assert [len(one) for one in found if len(one) <= 4][-1] == 4  # order is kept


def test_very_long_sentences_are_not_drawn(tmp_path, capsys):
    n = 1001
    rows = "".join(_row(k, "w", k - 1) for k in range(1, n + 1)) + "\n"
    (tmp_path / "t.conllu").write_text(rows + GOOD)
    source, page = str(tmp_path / "t.conllu"), tmp_path / "t.html"
    _refused(
        ["convert", source, "-o", str(tmp_path / "t.svg")],
        "has 1,001 words; at most 1,000",
        capsys,
    )
    assert run(["convert", source, "-o", str(page)]) == 0
    assert "left out: sentence 1 has 1,001 words" in capsys.readouterr().err
    assert "Sentence 2" in page.read_text()
