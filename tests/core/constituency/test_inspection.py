"""What a grammar shows of itself, and the commands that show it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from eigentext.cli.main import run
from eigentext.constituency import LPCFG
from eigentext.constituency.inspection import (
    inventory,
    nonterminals,
    rules_by_probability,
    states_of,
)
from eigentext.errors import SettingsError
from eigentext.language.formats.ptb import write_trees
from eigentext.language.trees.constituent import Tree


def test_rules_are_those_of_the_pcfg(parser):
    rules = list(rules_by_probability(parser.grammar_))
    assert len(rules) == len(parser.grammar_.coarse.rules)
    of_np = [rule for rule in rules if rule.parent == "NP"]
    assert of_np == list(rules_by_probability(parser.grammar_, label="NP"))
    assert [rule.p for rule in of_np] == sorted((rule.p for rule in of_np), reverse=True)
    assert sum(rule.p for rule in of_np) == pytest.approx(1.0)
    assert list(rules_by_probability(parser.grammar_, label="NP", top=2)) == of_np[:2]
    parents = list(dict.fromkeys(rule.parent for rule in rules))
    assert len(parents) == len({rule.parent for rule in rules})  # each parent stands together


def test_all_nonterminals_are_there(parser):
    found = list(nonterminals(parser.grammar_))
    assert sorted(one.label for one in found) == sorted(parser.grammar_.labels)
    assert sum(one.share for one in found) == pytest.approx(1.0)
    assert [one.share for one in found] == sorted((one.share for one in found), reverse=True)
    by_label = {one.label: one for one in found}
    assert by_label["NN"].over_words
    assert not by_label["S"].over_words


def test_labels_and_tags_are_those_of_trees(parser, english):
    found = inventory(parser.grammar_)
    phrases, tags = set(), set()
    for tree in english:
        for node in range(tree.n_nodes):
            if tree.sizes[node] > 1:
                (tags if tree.sizes[node] == 2 else phrases).add(tree.labels[node])
    assert set(found.tags) == tags
    assert set(found.labels) == phrases - {"TOP"}
    assert list(found.tags) == sorted(tags)


def test_states_tell_words_apart():
    # What is under X and what is under Y differ in words and in rules: two states find that.
    trees = [
        Tree.from_nested(
            (
                "S",
                (side, ("D", "d"), ("P", (f"A{side}", "a"), ("N", f"{side}{k % 3}"))),
                ("V", "v"),
            )
        )
        for k in range(40)
        for side in ("X", "Y")
    ]
    parser = LPCFG(n_states=2, per_state=5, n_iter=0).fit(trees)
    states = list(states_of(parser.grammar_, "N"))
    assert len(states) == 2
    assert sum(state.weight for state in states) == pytest.approx(1.0)
    sides = [{word[0] for word, _ in state.words} for state in states]
    assert sorted(map(sorted, sides)) == [["X"], ["Y"]]
    assert all(p == pytest.approx(1.0) for state in states for _, p in state.words)
    (first, second) = states_of(parser.grammar_, "P")
    assert {first.rules[0][0], second.rules[0][0]} == {"AX N", "AY N"}
    assert min(first.rules[0][1], second.rules[0][1]) > 0.9
    assert first.weight == pytest.approx(0.5, abs=0.1)


def test_an_unknown_label(parser):
    with pytest.raises(SettingsError, match="no nonterminal 'QQ'"):
        list(states_of(parser.grammar_, "QQ"))


@pytest.fixture(scope="module")
def files(tmp_path_factory, parser, english):
    folder = tmp_path_factory.mktemp("const")
    parser.save(folder / "m.lpcfg")
    odd = Tree.from_brackets("(TOP (QQ (DT the) (NN horse)))")
    write_trees([*english[:9], odd], folder / "t.mrg")
    return folder


def test_score_command(files, parser, english, capsys):
    arguments = ["const", "score", str(files / "m.lpcfg"), str(files / "t.mrg")]
    assert run([*arguments, "--json"]) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    scores = [parser.log_prob(tree) for tree in english[:9]]
    assert [float(line) for line in lines[:9]] == pytest.approx(scores, abs=1e-5)
    assert lines[9:] == ["-inf"]
    figures = json.loads(captured.err.splitlines()[-1])
    n_words = sum(map(len, english[:9]))
    assert figures["trees"] == 10
    assert figures["impossible"] == 1
    assert figures["words"] == n_words
    assert figures["log_prob"] == pytest.approx(sum(scores))
    assert figures["perplexity_per_word"] == pytest.approx(np.exp(-sum(scores) / n_words))
    assert run([*arguments, "--format", "jsonl", "--quiet"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows[9] == {"log_prob": None, "words": 2}
    assert rows[0]["log_prob"] == pytest.approx(scores[0])


def test_inspect_command(files, capsys):
    model = str(files / "m.lpcfg")
    assert run(["const", "inspect", model, "--top", "2"]) == 0
    assert "NP -> DT NN" in capsys.readouterr().out
    assert run(["const", "inspect", model, "--label", "NN", "--format", "jsonl"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["kind"] for row in rows} == {"state"}
    assert all(row["words"] for row in rows)
    assert run(["const", "inspect", model, "--label", "QQ"]) == 2
    assert "no nonterminal" in capsys.readouterr().err


def test_parse_command_keeps_tokens_and_empty_lines(files, capsys):
    (files / "s.txt").write_text("The horse ( and / or ) slept .\n\nThe farmer slept .\n")
    arguments = ["const", "apply", str(files / "m.lpcfg"), str(files / "s.txt")]
    assert run([*arguments, "--format", "jsonl", "--kbest", "2"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows[0]["tokens"] == "The horse ( and / or ) slept .".split()
    assert "-LRB-" in rows[0]["tree"]
    assert rows[1] == {"tokens": [], "tree": None}
    assert len(rows[2]["kbest"]) == 2
    assert rows[2]["kbest"][0]["log_prob"] == rows[2]["log_prob"]
    assert run([*arguments, "--decoder", "viterbi"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[1] == ""
    assert Tree.from_brackets(lines[0]).words[2] == "-LRB-"
    assert run([*arguments, "--decoder", "viterbi", "--kbest", "2"]) == 2


def test_train_command_with_em(files, tmp_path, capsys):
    arguments = ["const", "train", str(files / "t.mrg"), "-o", str(tmp_path / "em.lpcfg")]
    arguments += ["--estimator", "em", "--n-iter", "2", "--n-states", "2", "--json"]
    assert run(arguments) == 0
    assert json.loads(capsys.readouterr().out)["trees"] == 10
    loaded = LPCFG.load(tmp_path / "em.lpcfg")
    assert (loaded.estimator, loaded.n_iter, loaded.n_states) == ("em", 2, 2)
    assert run([*arguments, "--estimator", "luck"]) == 2
