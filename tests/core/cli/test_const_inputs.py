"""``const`` on odd sentences and treebanks: a tree and exit 0, or one clear line and exit 2."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys

import pytest

from eigentext.cli.main import run
from eigentext.datasets import load_english
from eigentext.language.formats.ptb import escape, parse_tree
from eigentext.language.trees.constituent import Tree


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A parser of the English sample, trained by the command."""
    folder = tmp_path_factory.mktemp("odd")
    (folder / "train.mrg").write_text("\n".join(load_english("train")) + "\n")
    path = str(folder / "m.lpcfg")
    trees = str(folder / "train.mrg")
    assert (
        run(
            [
                "const",
                "train",
                trees,
                "-o",
                path,
                "--n-states",
                "4",
                "--estimator",
                "clustering",
                "-q",
            ]
        )
        == 0
    )
    return path


def _parsed(model, text, tmp_path, *more):
    """(trees, answers as JSON) of the lines of a text."""
    source, trees, answers = (tmp_path / name for name in ("in.txt", "out.mrg", "out.jsonl"))
    source.write_text(text, encoding="utf-8")
    arguments = ["const", "apply", model, str(source), "-q", *more]
    assert run([*arguments, "-o", str(trees)]) == 0
    assert run([*arguments, "-o", str(answers), "--format", "jsonl"]) == 0
    lines = trees.read_text(encoding="utf-8").split("\n")[:-1]
    found = [json.loads(line) for line in answers.read_text(encoding="utf-8").split("\n")[:-1]]
    assert [one["tree"] or "" for one in found] == lines
    given = [line.split(" ") if line.strip() else [] for line in text.split("\n")[:-1]]
    assert [one["tokens"] for one in found] == given
    return lines, found


def test_empty_lines_stay_where_they_are(model, tmp_path):
    lines, found = _parsed(model, "\nThe farmer slept .\n\n \n", tmp_path)
    assert [bool(line) for line in lines] == [False, True, False, False]
    assert found[0] == {"tokens": [], "tree": None}


def test_a_file_with_nothing_in_it(model, tmp_path):
    lines, _ = _parsed(model, "", tmp_path)
    assert lines == []


def test_250_words_in_bounded_memory(model, tmp_path):
    rng = random.Random(1)
    trees = [Tree.from_brackets(line) for line in rng.sample(load_english("train"), 60)]
    tokens = [*[word for tree in trees for word in tree.words if word != "."][:249], "."]
    (tmp_path / "long.txt").write_text(" ".join(tokens) + "\n")
    script = (
        # of this process alone: ru_maxrss would begin with what the process that started it holds
        "import sys; from eigentext.cli.main import run; done = run(sys.argv[1:]);"
        "status = dict(line.split(':', 1) for line in open('/proc/self/status'));"
        "print(status['VmHWM'].split()[0], file=sys.stderr);"
        "sys.exit(done)"
    )
    arguments = ["const", "apply", model, "long.txt", "--format", "jsonl", "-q"]
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        check=True,
        timeout=300,
    )
    answer = json.loads(done.stdout)
    assert parse_tree(answer["tree"]).words == tuple(tokens)
    assert not {"fallback", "coarse"} & set(answer["flags"])
    assert int(done.stderr.split()[-1]) < 1_000_000  # kB


@pytest.mark.parametrize(
    "sentence",
    [
        "كتابها хорошо 言語 🐎",
        "ⴰⵎⴰⵣⵉⵖ ᚠᚢᚦ 𒀀𒁀",
        "a\u00a0b \u200b e\u0301",
        "zyzzyva",
        "The zyzzyva quxed the frob .",
        "( the horse )",
        "the [ old ] { horse } / cart .",
        "and/or \\ \\/ -LRB- x -RRB-",
        "( ( ) )",
        ") (",
        "@>S|A A>B @ | > ^",
        "-NONE- *T*-1 0",
        ". . . .",
        "the " * 40 + ".",
    ],
)
def test_odd_tokens_come_back(model, tmp_path, sentence):
    for decoder in ("max-constituents", "max-rule-product", "max-recall", "viterbi"):
        (line,), (answer,) = _parsed(model, sentence + "\n", tmp_path, "--decoder", decoder)
        tree = parse_tree(line)  # brackets survive in brackets
        assert tree.labels[0] == "TOP"
        assert len(tree.words) == len(answer["tokens"])
        assert list(tree.words) in (answer["tokens"], [escape(word) for word in answer["tokens"]])


def test_unknown_words_are_flagged(model, tmp_path):
    _, found = _parsed(model, "The zyzzyva slept .\nThe farmer slept .\n", tmp_path)
    assert ["unknown" in one["flags"] for one in found] == [True, False]


def test_a_word_never_seen_in_a_treebank_without_rare_words(tmp_path):
    """No signature, no rare word, no tag that admits new words: still a tree."""
    trees = "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))\n" * 60
    model = _trained(trees, tmp_path)
    (line,), (answer,) = _parsed(model, "qqq 77 Ω\n", tmp_path)
    assert parse_tree(line).words == ("qqq", "77", "Ω")
    assert "unknown" in answer["flags"]


def _trained(trees, tmp_path, *more):
    (tmp_path / "train.mrg").write_text(trees, encoding="utf-8")
    path = str(tmp_path / "m.lpcfg")
    assert run(["const", "train", str(tmp_path / "train.mrg"), "-o", path, "-q", *more]) == 0
    return path


@pytest.mark.parametrize("more", [(), ("--cut-tags",)])
def test_tags_with_hyphens_come_back_whole(tmp_path, capsys, more):
    trees = (
        "(TOP (S-main (NP-SBJ (pron-pers ele)) (VP (v-fin dorme)) (. .)))\n"
        "(TOP (S (NP (n-adj gato)) (VP (v-inf dormir)) (. .)))\n"
    )
    model = _trained(trees * 6, tmp_path, "--n-states", "2", *more)
    lines, _ = _parsed(model, "ele dorme .\ngato dormir .\n", tmp_path)
    assert [parse_tree(line).tags for line in lines] == (
        [("pron", "v", "."), ("n", "v", ".")]
        if more
        else [("pron-pers", "v-fin", "."), ("n-adj", "v-inf", ".")]
    )
    assert [parse_tree(line).labels[1:3] for line in lines] == [("S", "NP")] * 2
    source = str(tmp_path / "train.mrg")
    assert run(["const", "score", model, source, "-q", "--json", "-o", str(tmp_path / "s")]) == 0
    assert json.loads(capsys.readouterr().out)["impossible"] == 0
    partial = _trained(trees, tmp_path, "--n-states", "2", "--partial", source, *more)
    assert _parsed(partial, "ele dorme .\n", tmp_path)[0] == lines[:1]


_MANY = "".join(
    f"(S{k % 10} (A{k} (D the) (N w{k % 50})) (V goes))\n" for k in range(1000)
)  # 1,000 labels A0 to A999, and ten kinds of S
_ODD_LABEL = "\n".join(load_english("train")[:40]) + (
    "\n(TOP (S (WHNP (WP Who)) (VP (VBD slept)) (. ?)))\n"
)

TREEBANKS = {
    "one tree": ("(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)))\n", "the dog barks ."),
    "one word": ("(X y)\n", "y"),
    "only unary trees": ("(S (VP (VB Go)))\n(S (NP (NN dogs)))\n" * 12, "Go"),
    "a label that occurs once": (_ODD_LABEL, "Who slept ?"),
    "a thousand labels": (_MANY, "the w7 goes"),
    "one label": ("(A (A x) (A y))\n(A (A (A x) (A x)) (A y))\n", "x x y"),
    "deep": ("(A " * 400 + "(B x) (C y)" + ")" * 400 + "\n", "x y"),
    "wide": ("(S " + " ".join(f"(W w{k})" for k in range(300)) + ")\n", "w1 w2"),
}


@pytest.mark.parametrize("estimator", ["clustering", "em", "moments", "pivot", "auto"])
@pytest.mark.parametrize("name", TREEBANKS)
def test_odd_treebanks(name, estimator, tmp_path):
    trees, sentence = TREEBANKS[name]
    if estimator == "auto":
        more = ["--n-states", "auto"]
    else:
        more = ["--n-states", "4", "--estimator", estimator]
    model = _trained(trees, tmp_path, *more, *(["--n-iter", "1"] if estimator == "em" else []))
    lines, found = _parsed(model, f"{sentence}\nnever seen before !\nx\n", tmp_path)
    assert [parse_tree(line).words for line in lines] == [tuple(one["tokens"]) for one in found]
    if name not in ("wide", "a thousand labels"):
        assert "fallback" not in found[0]["flags"]
    first = trees.split("\n")[0]
    if name in ("one tree", "only unary trees", "deep", "one word"):
        assert lines[0] == str(parse_tree(first))
    if name == "a label that occurs once":
        assert "(WHNP (WP Who))" in lines[0]
    source = str(tmp_path / "train.mrg")
    assert run(["const", "score", model, source, "-q", "-o", str(tmp_path / "scores")]) == 0
    assert run(["const", "inspect", model, "--top", "2"]) == 0


@pytest.mark.parametrize(
    ("trees", "why"),
    [
        ("", "no trees|at least one tree"),
        ("(S (-NONE- *))\n", "at least one tree with words"),
        ("(S (NP (DT the)\n", "train.mrg:1"),
        ("(S (NP the dog))\n", "alone under its tag"),
        ("(S ())\n", "train.mrg:1"),
        ("the dog\n", "train.mrg:1"),
    ],
)
def test_treebanks_that_cannot_be_learned_from(trees, why, tmp_path, capsys):
    (tmp_path / "train.mrg").write_text(trees)
    target = tmp_path / "m"
    assert run(["const", "train", str(tmp_path / "train.mrg"), "-o", str(target), "-q"]) == 2
    message = capsys.readouterr().err
    assert re.search(why, message)
    assert message.startswith("eigentext: ")
    assert message.count("\n") == 1
    assert not target.exists()


def test_marginals_are_called_so(model, tmp_path):
    source, answers = tmp_path / "in.txt", tmp_path / "out.jsonl"
    source.write_text("The farmer sold the horse .\n", encoding="utf-8")
    arguments = ["const", "apply", model, str(source), "-q", "--marginals"]
    assert run([*arguments, "-o", str(answers)]) == 0
    (answer,) = map(json.loads, answers.read_text(encoding="utf-8").splitlines())
    assert {frozenset(one) for one in answer["marginals"]} == {
        frozenset(("start", "end", "label", "marginal"))
    }
    whole = [
        one["marginal"] for one in answer["marginals"] if (one["start"], one["end"]) == (0, 6)
    ]
    assert max(whole) > 0.9
