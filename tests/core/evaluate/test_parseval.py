"""EVALB's figures, from a naive twin of its rules and from its own output on real parses."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.errors import DataError, SettingsError
from eigentext.evaluate.brackets import Rules
from eigentext.evaluate.parseval import (
    Summary,
    by_length,
    evaluate,
    format_report,
    parse_prediction,
    score_pair,
)
from eigentext.language.formats.prm import EvalbSettings
from eigentext.language.formats.ptb import read_trees
from eigentext.language.trees.constituent import Tree

if TYPE_CHECKING:
    from pathlib import Path

LABELS = ["S", "NP", "VP", "ADVP", "PRT", "NP-SBJ", "S=2", "TOP", "-NONE-"]
TAGS = ["NN", "VB", "''", ".", "-NONE-", "ADVP"]
tags = st.sampled_from(TAGS)


@st.composite
def trees_over(draw: st.DrawFn, words: list[str], tag_of: list[str]) -> Tree:
    """A random tree over given words and tags."""

    def build(low: int, high: int, depth: int) -> Any:
        if high - low == 1 and (depth > 2 or draw(st.booleans())):
            return (tag_of[low], words[low])
        cuts = (
            sorted(draw(st.sets(st.integers(low + 1, high - 1), max_size=3)))
            if high - low > 1
            else []
        )
        if depth > 4:
            cuts = list(range(low + 1, high))
        borders = [low, *cuts, high]
        parts = [
            build(a, b, depth + 1) if depth <= 4 else (tag_of[a], words[a])
            for a, b in pairwise(borders)
        ]
        return (draw(st.sampled_from(LABELS)), *parts)

    return Tree.from_nested(("TOP", build(0, len(words), 0)))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Tree, Tree]:
    words = draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=7))
    gold_tags = [draw(tags) for _ in words]
    test_tags = [tag if draw(st.integers(0, 9)) else draw(tags) for tag in gold_tags]
    return draw(trees_over(words, gold_tags)), draw(trees_over(words, test_tags))


def naive(
    tree: Tree, settings: EvalbSettings
) -> tuple[list[str], list[str], list[tuple[str, int, int]]]:
    """Words, tags and brackets that count, by recursion over the nested view."""
    words: list[str] = []
    kept_tags: list[str] = []
    brackets: list[tuple[str, int, int]] = []

    def walk(node: Any) -> None:
        if node.is_preterminal:
            if node.label not in settings.delete_labels:
                words.append(node.children[0].label)
                kept_tags.append(node.label)
            return
        place = len(brackets)
        start = len(words)
        brackets.append(("", 0, 0))
        for child in node.children:
            walk(child)
        label = node.label.split("-")[0].split("=")[0]
        brackets[place] = (label, start, len(words))

    walk(tree.root)
    kept = [b for b in brackets if b[1] < b[2] and b[0] not in settings.delete_labels]
    return words, kept_tags, kept


@given(pair=pairs())
@settings(max_examples=250, deadline=None)
def test_agrees_with_a_naive_twin(pair: tuple[Tree, Tree]) -> None:
    gold, test = pair
    rules = EvalbSettings()
    score = score_pair(gold, test, rules)
    words, gold_tags, gold_brackets = naive(gold, rules)
    other_words, test_tags, test_brackets = naive(test, rules)
    assert score.length == sum(tag != "-NONE-" for tag in gold.tags)
    if not other_words:
        assert score.status == 2
        return
    if words != other_words:
        assert score.status == 1
        return

    def as_one(label: str) -> str:
        return "ADVP" if label == "PRT" else label

    # with a single pair of equal labels the matching is the multiset intersection
    mine = Counter((as_one(label), a, b) for label, a, b in gold_brackets)
    its = Counter((as_one(label), a, b) for label, a, b in test_brackets)
    crossing = sum(
        any(a < s < b < e or s < a < e < b for _, a, b in gold_brackets)
        for _, s, e in test_brackets
    )
    assert score.status == 0
    assert (score.matched, score.gold, score.test) == (
        (mine & its).total(),
        mine.total(),
        its.total(),
    )
    assert score.crossing == crossing
    assert score.words == len(words)
    assert score.correct_tags == sum(
        map(lambda a, b: as_one(a) == as_one(b), gold_tags, test_tags)
    )


@given(pair=pairs())
@settings(max_examples=100, deadline=None)
def test_a_tree_against_itself_is_perfect(pair: tuple[Tree, Tree]) -> None:
    tree = pair[0]
    score = score_pair(tree, tree)
    if score.status == 0:
        assert score.complete
        assert score.matched == score.gold
        assert score.crossing == 0
        assert score.correct_tags == score.words


def tree(text: str) -> Tree:
    return Tree.from_brackets(text)


def test_duplicate_brackets_match_one_to_one() -> None:
    gold = tree("(TOP (NP (NP (NP (NN a)) (NN b))))")
    test = tree("(TOP (NP (NP (NN a)) (NN b)))")
    score = score_pair(gold, test)
    assert (score.matched, score.gold, score.test) == (2, 3, 2)


def test_statuses() -> None:
    gold = tree("(TOP (S (NN a) (VB b) (. .)))")
    assert score_pair(gold, tree("(TOP (S (NN a) (VB b) (NN .)))")).why == "Length unmatch (2|3)"
    assert score_pair(gold, tree("(TOP (S (NN a) (VB c) (. .)))")).why == "Words unmatch (b|c)"
    assert score_pair(gold, tree("(TOP (S (. .)))")).status == 2
    assert score_pair(gold, None).status == 2
    equal = EvalbSettings(equal_words=(("c", "b"),))
    assert score_pair(gold, tree("(TOP (S (NN a) (VB c) (. .)))"), equal).status == 0


def test_errors_and_skipped_sentences_as_misses() -> None:
    gold = tree("(TOP (S (NP (NN a)) (VP (VB b)) (. .)))")
    wrong_length = tree("(TOP (S (NP (NN a)) (VP (VB b) (NP (NN .)))))")
    other_word = tree("(TOP (S (NP (NN a) (VB c)) (. .)))")
    result = evaluate([gold] * 4, [gold, wrong_length, other_word, None])
    assert [score.status for score in result.sentences] == [0, 1, 1, 2]
    assert [(s.lost_gold, s.lost_test) for s in result.sentences] == [
        (0, 0),
        (3, 4),
        (3, 2),
        (3, 0),
    ]
    assert result.all.f1 == 100.0
    assert result.all.f1_with_errors == 100.0 * 2 * 3 / (3 + 3 + 9 + 6)
    assert result.all.as_dict()["f1_with_errors_as_misses"] == result.all.f1_with_errors
    assert evaluate([gold], [gold]).all.f1_with_errors == 100.0
    assert evaluate([gold], [None]).all.f1_with_errors == 0.0


def test_crossing_brackets_up_to_two_are_counted_apart() -> None:
    gold = tree("(S (A (N a) (N b)) (B (N c) (N d)) (C (N e) (N f)) (D (N g) (N h)))")
    bc, de, fg = "(N b) (N c)", "(N d) (N e)", "(N f) (N g)"  # each across two of gold's brackets
    tests = [
        tree(f"(S (N a) {bc} {de} {fg} (N h))"),
        tree(f"(S (N a) (X {bc}) {de} {fg} (N h))"),
        tree(f"(S (N a) (X {bc}) (X {de}) {fg} (N h))"),
        tree(f"(S (N a) (X {bc}) (X {de}) (X {fg}) (N h))"),
    ]
    result = evaluate([gold] * 4, tests)
    assert [score.crossing for score in result.sentences] == [0, 1, 2, 3]
    assert (result.all.no_crossing, result.all.two_or_less_crossing) == (25.0, 75.0)
    assert result.all.average_crossing == 1.5
    assert "2 or less crossing        =  75.00" in format_report(result)


def test_a_failed_parse_as_an_empty_tree_costs_recall_alone() -> None:
    gold = tree("(TOP (S (NP (NN a)) (VP (VB b))))")
    skipped, empty = (
        evaluate([gold, gold], [gold, None]),
        evaluate([gold] * 2, [gold, None], failed="empty"),
    )
    assert (skipped.all.recall, skipped.all.n_skipped) == (100.0, 1)
    assert (empty.all.recall, empty.all.precision, empty.all.n_skipped) == (50.0, 100.0, 0)
    assert empty.all.tag_accuracy == 50.0
    assert empty.counts() == [(3, 3, 3), (0, 3, 0)]


def test_unlabelled_and_deleted_equal_labels() -> None:
    gold, test = tree("(TOP (S (NP (NN a)) (VB b)))"), tree("(TOP (X (Y (NN a)) (VB b)))")
    assert score_pair(gold, test).matched == 0
    assert score_pair(gold, test, EvalbSettings(labeled=False)).matched == 2
    # a label equal to a deleted one is deleted too
    deleting = EvalbSettings(delete_labels=("TOP", "NP"), equal_labels=(("NP", "X"),))
    assert score_pair(tree("(TOP (X (NN a)))"), tree("(TOP (X (NN a)))"), deleting).gold == 0


def test_a_mistagged_quote_is_put_back() -> None:
    gold = tree("(TOP (S (NP (NN a) ('' ')) (VP (VB b))))")
    test = tree("(TOP (S (NP (NN a) (POS ')) (VP (VB b))))")
    assert score_pair(gold, test).status == 1
    mended = score_pair(gold, test, EvalbSettings(quote_labels=("''", "POS")))
    assert (mended.status, mended.words, mended.matched, mended.correct_tags) == (0, 3, 3, 2)
    other_way = score_pair(test, gold, EvalbSettings(quote_labels=("''", "POS")))
    assert (other_way.status, other_way.matched, other_way.crossing) == (0, 3, 0)


N_LEVELS = 100_000


def test_deep_unary_chains() -> None:
    half = N_LEVELS // 2
    one, other = "(X " * half, "(Y " * half
    deep = tree(one + other + "(NN a)" + ")" * N_LEVELS)
    turned = tree(other + one + "(NN a)" + ")" * N_LEVELS)
    score = score_pair(deep, turned)
    assert (score.matched, score.test, score.crossing) == (N_LEVELS, N_LEVELS, 0)


def test_deep_branching_trees() -> None:
    """Every bracket is as long as it is deep: the cost must not be depth times length."""
    right = tree("(X (NN a) " * N_LEVELS + "(NN a)" + ")" * N_LEVELS)
    left = tree("(X " * N_LEVELS + "(NN a)" + " (NN a))" * N_LEVELS)
    for same in (right, left):
        score = score_pair(same, same)
        assert (score.matched, score.gold, score.crossing) == (N_LEVELS, N_LEVELS, 0)
    # all but the whole begin at 0 on one side and end with the sentence on the other
    score = score_pair(right, left)
    assert (score.matched, score.crossing) == (1, N_LEVELS - 1)


spans = st.tuples(st.integers(0, 20), st.integers(1, 12)).map(lambda p: ("X", p[0], p[0] + p[1]))


@given(gold=st.lists(spans, max_size=4), test=st.lists(spans, max_size=6))
@settings(max_examples=300, deadline=None)
def test_crossing_brackets_by_brute_force(
    gold: list[tuple[str, int, int]], test: list[tuple[str, int, int]]
) -> None:
    crossing = sum(any(a < s < b < e or s < a < e < b for _, a, b in gold) for _, s, e in test)
    assert Rules.of(EvalbSettings()).n_crossing(gold, test) == crossing


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_equal_labels_take_the_first_free_bracket(data: st.DataObject) -> None:
    """Equality is not transitive, so the order of the brackets decides."""
    labels = st.lists(st.sampled_from("ABC"), min_size=1, max_size=6)
    rules = EvalbSettings(equal_labels=(("A", "B"), ("B", "C")))
    gold, test = data.draw(labels), data.draw(labels)
    chains = [tree("".join(f"({x} " for x in c) + "(NN a)" + ")" * len(c)) for c in (gold, test)]
    free, matched = list(test), 0
    for label in gold:
        place = next((i for i, x in enumerate(free) if {x, label} != {"A", "C"}), None)
        if place is not None:
            del free[place]
            matched += 1
    assert score_pair(*chains, rules).matched == matched


def test_predictions_and_bad_input() -> None:
    assert parse_prediction(" ( () )\n") is None
    assert parse_prediction("") is None
    one = tree("(S (NN a))")
    with pytest.raises(DataError, match="it has 1 trees, but the gold"):
        evaluate([one, one], [one])
    with pytest.raises(DataError, match="it has 1 trees, but the test"):
        evaluate([one], [one, one])
    for test in ([], [one]):
        with pytest.raises(DataError, match="<gold trees>: no trees, expected at least one"):
            evaluate([], test)
    with pytest.raises(TypeError, match=r"formats\.ptb"):
        evaluate(["(S (NN a))"], [one])  # type: ignore[list-item]
    with pytest.raises(SettingsError, match="failed='maybe'"):
        evaluate([one], [one], failed="maybe")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="DISC_ONLY"):
        evaluate([one], [one], EvalbSettings(disc_only=True))
    with pytest.raises(SettingsError, match="width"):
        by_length([], 0)


def test_nothing_to_score_prints_zeros() -> None:
    report = format_report(evaluate([tree("(S (NN a))")], [None]))
    assert "   1    1    2    0.00   0.00     0      0    0      0      0     0     0.00" in report
    assert "Bracketing FMeasure       =   0.00" in report
    assert "Number of Skip  sentence  =      1" in report


@pytest.mark.requires("data")
@pytest.mark.parametrize("part", ["dev", "test"])
def test_equals_evalb_to_the_last_digit(data: Path, part: str) -> None:
    gold = read_trees(data / "constituency" / "gum" / f"{part}.mrg")
    test = read_trees(data / "peers" / f"berkeley-sm5-gum-{part}.mrg")
    expected = (data / "peers" / f"berkeley-sm5-gum-{part}.evalb").read_text(encoding="utf8")
    result = evaluate(gold, test)
    assert format_report(result) == expected
    rows = by_length(result.sentences)
    assert Summary.of(score for score in result.sentences if score.length <= 40) == result.short
    assert sum(row.summary.matched for row in rows) == result.all.matched
    assert sum(row.summary.n_sentences for row in rows) == result.all.n_sentences


@pytest.mark.requires("data")
@pytest.mark.parametrize(
    ("part", "name", "f1", "n_errors"),
    [("dev", "dev.mrg", 82.80, 115), ("test", "test.mrg.xz", 82.44, 213)],
)
def test_craft(data: Path, part: str, name: str, f1: float, n_errors: int) -> None:
    gold = read_trees(data / "constituency" / "craft" / f"{part}.mrg")
    test = read_trees(data / "peers" / f"berkeley-sm4-craft-{name}")
    result = evaluate(gold, test)
    assert round(result.all.f1, 2) == f1
    assert result.all.n_errors == n_errors
    assert result.evalb_would_stop


def test_every_pair_of_small_trees_is_symmetric() -> None:
    """Recall one way is precision the other way."""
    shapes = [
        "(TOP (S (NN a) (NN b) (NN c)))",
        "(TOP (S (NP (NN a) (NN b)) (NN c)))",
        "(TOP (S (NN a) (NP (NN b) (NN c))))",
        "(TOP (S (S (S (NN a) (NN b) (NN c)))))",
        "(TOP (S (ADVP (NN a)) (PRT (NN b) (NN c))))",
    ]
    for one, other in product(map(tree, shapes), repeat=2):
        there, back = score_pair(one, other), score_pair(other, one)
        assert there.matched == back.matched
        assert there.recall == back.precision


@pytest.mark.parametrize(("max_error", "would_stop"), [(0, True), (1, True), (2, False)])
def test_evalb_stops_at_one_error_more_than_it_takes(max_error: int, would_stop: bool) -> None:
    gold = Tree.from_brackets("(S (NN a) (NN b))")
    test = Tree.from_brackets("(S (NN a))")
    result = evaluate([gold] * 4, [test] * 3 + [gold], EvalbSettings(max_error=max_error))
    assert result.all.n_errors == 3
    assert result.evalb_would_stop == would_stop
