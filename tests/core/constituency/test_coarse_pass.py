"""The coarse pass: rules found by pairs of labels or one by one, and values too small to keep."""

from __future__ import annotations

import numpy as np
import pytest

from eigentext import Tree
from eigentext.constituency import LPCFG
from eigentext.constituency.chart import coarse
from eigentext.constituency.kernels import coarse as kernel


def chain(label: str, n: int, *, left: bool) -> str:
    """A tree of n words that branches to one side only."""
    text = f"({label} (T x) (T x))"
    for _ in range(n - 2):
        text = f"({label} {text} (T x))" if left else f"({label} (T x) {text})"
    return text


def trees_of_chains(*, left: bool) -> list[Tree]:
    """One label that makes long chains, others that hardly do: their share sinks below 1e-45."""
    others = [f"B{k}" for k in range(8)]
    texts = [f"(S (U y) {chain('A', 40, left=left)})"] * 30
    for one in others:
        texts += [f"(S (U y) {chain(one, 2, left=left)})"] * 300
        for other in others:
            inner = f"({other} (T x) (T x))"
            pair = f"{inner} (T x)" if left else f"(T x) {inner}"
            texts.append(f"(S (U y) ({one} {pair}))")
    return [Tree.from_brackets(text) for text in texts]


@pytest.mark.parametrize("left", [True, False])
def test_values_of_zero_are_not_listed(left: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a beam, in Python, where an index past the end is an error."""
    model = LPCFG(n_states=1).fit(trees_of_chains(left=left))
    words = ["y", *["x"] * 40]
    compiled = model.sentence_log_prob(words, exact=True)
    monkeypatch.setattr(kernel, "coarse_inside", kernel.coarse_inside.py_func)
    assert model.sentence_log_prob(words, exact=True) == pytest.approx(compiled, rel=1e-9)


def test_rules_by_pairs_are_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = np.array([[0, 1, 2], [0, 2, 1], [3, 1, 2], [0, 1, 0], [2, 3, 3]])
    grammar = coarse.CoarseGrammar(
        rules, np.full(5, 0.2), np.full(4, 0.25), np.full(4, 0.25), np.ones(4)
    )
    table = grammar.by_left
    for b in range(4):
        for c in range(4):
            found = table.rule[table.pair[b, c] : table.pair[b, c + 1]].tolist()
            there = np.flatnonzero((rules[:, 1] == b) & (rules[:, 2] == c)).tolist()
            assert sorted(found) == there
    monkeypatch.setattr(coarse, "_MOST_PAIRED", 3)
    few = coarse.CoarseGrammar(
        *(getattr(grammar, n) for n in ("rules", "rule_p", "root_p", "prior", "emits"))
    )
    assert few.by_left.pair.shape == (0, 0)
    assert np.array_equal(few.by_left.rule, table.rule)


def test_trees_do_not_hang_on_the_table_of_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    trees = trees_of_chains(left=False)
    sentences = [["y", *["x"] * n] for n in (2, 3, 5, 9, 17)]

    def answers() -> list[tuple[str, float]]:
        parses = LPCFG(n_states=1).fit(trees).parse_many(sentences)
        return [(str(parse.tree), parse.log_prob) for parse in parses]

    with_table = answers()
    monkeypatch.setattr(coarse, "_MOST_PAIRED", 0)
    for (tree, log_prob), (other, its) in zip(with_table, answers(), strict=True):
        assert tree == other
        assert log_prob == pytest.approx(its)
