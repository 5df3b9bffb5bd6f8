"""Agreement of annotators: published worked examples, other implementations, properties."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.datasets import load_english
from eigentext.errors import SettingsError
from eigentext.evaluate import attachment, parseval
from eigentext.evaluate.agreement import (
    attachment_counts,
    bracket_counts,
    cohen_kappa,
    f1_agreement,
    fleiss_kappa,
    krippendorff_alpha,
    raw_agreement,
    span_counts,
)
from eigentext.evaluate.ner import Entity, evaluate
from eigentext.language.formats.conllu import make_sentence
from eigentext.language.trees.constituent import Tree

FEW = {"n_samples": 50}


def judged(table: list[list[int]]) -> tuple[list[int], list[int]]:
    """Two lists of values with these frequencies of (row, column)."""
    pairs = [
        (row, column)
        for row, cells in enumerate(table)
        for column, times in enumerate(cells)
        for _ in range(times)
    ]
    return [a for a, _ in pairs], [b for _, b in pairs]


# ---------------------------------------------------------------- published examples


def test_cohens_own_example() -> None:
    """Cohen 1960: 200 cases, three diagnoses; P_o = 0.70, P_e = 0.41, kappa = 0.492."""
    first, second = judged([[88, 14, 18], [10, 40, 10], [2, 6, 12]])
    # rows 120, 60, 20; columns 100, 60, 40
    chance = 0.6 * 0.5 + 0.3 * 0.3 + 0.1 * 0.2
    assert chance == pytest.approx(0.41, abs=1e-12)
    found = cohen_kappa(first, second)
    assert found.value == pytest.approx((0.70 - 0.41) / (1 - 0.41), abs=1e-12)
    assert round(found.value, 3) == 0.492
    assert raw_agreement(first, second).value == pytest.approx(70.0, abs=1e-9)
    # the standard error of Fleiss, Cohen and Everitt's formula is near 0.05 here
    assert 0.38 < found.low < 0.43
    assert 0.56 < found.high < 0.60


def test_the_example_of_fleiss() -> None:
    """Ten subjects, fourteen raters, five categories: P = 0.378, P_e = 0.213, kappa = 0.210."""
    table = [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
    by_item = [sum(n * (n - 1) for n in row) / (14 * 13) for row in table]
    expected = [1.000, 0.253, 0.308, 0.440, 0.330, 0.462, 0.242, 0.176, 0.286, 0.286]
    assert [round(p, 3) for p in by_item] == expected
    chance = sum((sum(column) / 140) ** 2 for column in zip(*table, strict=True))
    observed = sum(by_item) / 10
    assert (round(observed, 3), round(chance, 3)) == (0.378, 0.213)
    ratings = [[value for value, n in enumerate(row) for _ in range(n)] for row in table]
    found = fleiss_kappa(ratings)
    assert found.value == pytest.approx((observed - chance) / (1 - chance), abs=1e-12)
    assert round(found.value, 3) == 0.210
    assert (found.n_items, found.n_groups) == (10, 10)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["0100000010", "1110010000"], 0.095),  # two observers, two values
        (["aabbdcccedda", "babbbccceddd"], 0.692),  # two observers, five values
        # four observers, twelve units, some values missing; the last unit has one value
        (["123321412...", "1233224125.3", ".3332342251.", "12332441251."], 0.743),
    ],
)
def test_krippendorffs_examples(rows: list[str], expected: float) -> None:
    ratings = [[None if v == "." else v for v in unit] for unit in zip(*rows, strict=True)]
    found = krippendorff_alpha(ratings)
    assert round(found.value, 3) == expected


def test_alpha_of_the_third_example_by_hand() -> None:
    """40 values can be paired: 9 of 1, 13 of 2, 10 of 3, 5 of 4, 3 of 5.

    Like pairs, weighted, by unit: 3, 2, 4, 4, 4, 0, 4, 2, 4, 3, 2; so 8 of 40 are unlike.
    """
    totals = (9, 13, 10, 5, 3)
    unlike = 40 - (3 + 2 + 4 + 4 + 4 + 0 + 4 + 2 + 4 + 3 + 2)
    assert (sum(totals), unlike) == (40, 8)
    alpha = 1 - 39 * unlike / (40**2 - sum(n * n for n in totals))
    assert round(alpha, 3) == 0.743


def test_spans_by_hand() -> None:
    """The first has three entities, the second four; two are the same: 2 * 2 / (3 + 4)."""
    first = [[Entity("PER", 0, 2), Entity("LOC", 4, 5)], [Entity("ORG", 0, 1)]]
    second = [
        [Entity("PER", 0, 2), Entity("LOC", 3, 5)],
        [Entity("ORG", 0, 1), Entity("PER", 2, 3)],
    ]
    found = f1_agreement("spans", span_counts(first, second), **FEW)
    assert found.value == pytest.approx(400 / 7, abs=1e-9)
    assert (found.n_items, found.n_groups) == (5, 2)


# ---------------------------------------------------------------- against others

values = st.sampled_from("abc")
pairs = st.lists(st.tuples(values, values), min_size=2, max_size=30)


@given(pairs)
@settings(max_examples=60, deadline=None)
def test_kappa_is_scikit_learns(judgements: list[tuple[str, str]]) -> None:
    from sklearn.metrics import cohen_kappa_score

    first, second = map(list, zip(*judgements, strict=True))
    found = cohen_kappa(first, second, **FEW)
    if len({*first, *second}) == 1:
        assert math.isnan(found.value)
        return
    assert found.value == pytest.approx(cohen_kappa_score(first, second), abs=1e-9)


@given(
    st.lists(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=3, max_size=3), min_size=2)
)
@settings(max_examples=60, deadline=None)
def test_alpha_by_its_definition(ratings: list[list[str | None]]) -> None:
    """Observed and expected disagreement over all pairs, as in the definition."""
    units = [[v for v in item if v is not None] for item in ratings]
    units = [unit for unit in units if len(unit) > 1]
    everything = [value for unit in units for value in unit]
    n = len(everything)
    found = krippendorff_alpha(ratings, **FEW).value
    if len(set(everything)) < 2:
        assert math.isnan(found)
        return
    observed = sum(
        (a != b) / (len(unit) - 1)
        for unit in units
        for i, a in enumerate(unit)
        for j, b in enumerate(unit)
        if i != j
    )
    expected = sum(
        (a != b) / (n - 1)
        for i, a in enumerate(everything)
        for j, b in enumerate(everything)
        if i != j
    )
    assert found == pytest.approx(1 - observed / expected, abs=1e-9)


relations = st.sampled_from(["nsubj", "obj", "obl:agent", "obl"])
arcs = st.lists(st.tuples(relations, relations, st.booleans()), min_size=2, max_size=6)


@given(st.lists(arcs, min_size=1, max_size=4), st.booleans())
@settings(max_examples=30, deadline=None)
def test_attachment_is_that_of_the_scorer(drawn: list, subtypes: bool) -> None:
    """Heads: the first word is the root, the others hang from it or from the word before."""
    sides: list[list] = [[], []]
    for sentence in drawn:
        for side in (0, 1):
            tree = [(0, "root")]
            for k, word in enumerate(sentence[1:], start=2):
                far = word[2] if side else True
                tree.append((1 if far else k - 1, word[side]))
            sides[side].append(tree)
    uas, las = (
        f1_agreement(
            "arcs", attachment_counts(*sides, labelled=labelled, subtypes=subtypes), **FEW
        )
        for labelled in (False, True)
    )

    def conllu(trees: list) -> list:
        return [
            make_sentence(
                [f"w{k}" for k in range(len(tree))],
                head=[head for head, _ in tree],
                deprel=[relation for _, relation in tree],
            )
            for tree in trees
        ]

    scored = attachment.evaluate(conllu(sides[0]), conllu(sides[1]), subtypes=subtypes)
    assert uas.value == pytest.approx(scored.uas, abs=1e-9)
    assert las.value == pytest.approx(scored.las, abs=1e-9)


def test_words_that_one_did_not_decide_are_left_out() -> None:
    first = [[(2, "det"), (0, "root"), None]]
    second = [[(2, "amod"), None, (1, "obj")]]
    uas, las = (
        f1_agreement("arcs", attachment_counts(first, second, labelled=labelled), **FEW)
        for labelled in (False, True)
    )
    assert (uas.value, uas.n_items, las.value) == (100.0, 1, 0.0)


def test_brackets_are_those_of_evalb() -> None:
    """Trees of the sample against their neighbours' labels: counts add as in parseval."""
    trees = [Tree.from_brackets(line) for line in load_english("dev")]
    others = [tree.relabel(lambda name: "NP" if name == "PP" else name) for tree in trees]
    found = f1_agreement("brackets", bracket_counts(trees, others), **FEW)
    assert found.value == pytest.approx(parseval.evaluate(trees, others).all.f1, abs=1e-9)
    assert found.value < 100
    assert found.low <= found.value <= found.high


def test_brackets_of_other_words_are_misses() -> None:
    one = Tree.from_brackets("(S (NP (NN dogs)) (VP (VB bark)))")
    other = Tree.from_brackets("(S (NP (NN dogs)))")
    counts = bracket_counts([one, one], [one, other])
    assert f1_agreement("brackets", counts, **FEW).value == pytest.approx(600 / 11)


def test_entities_are_those_of_the_scorer() -> None:
    first = [["B-PER", "I-PER", "O"], ["B-LOC", "O", "O"]]
    second = [["B-PER", "O", "O"], ["B-LOC", "O", "B-PER"]]
    from eigentext.evaluate.ner import entities

    spans = [[entities(tags) for tags in side] for side in (first, second)]
    assert f1_agreement("spans", span_counts(*spans), **FEW).value == pytest.approx(
        evaluate(first, second).f1
    )


# ---------------------------------------------------------------- properties


@given(pairs, st.permutations("abc"))
@settings(max_examples=40, deadline=None)
def test_names_of_values_and_sides_do_not_matter(
    judgements: list[tuple[str, str]], names: list[str]
) -> None:
    first, second = map(list, zip(*judgements, strict=True))
    renamed = dict(zip("abc", names, strict=True))
    for measure in (
        lambda a, b: cohen_kappa(a, b, **FEW),
        lambda a, b: fleiss_kappa(zip(a, b, strict=True), **FEW),
        lambda a, b: krippendorff_alpha(zip(a, b, strict=True), **FEW),
    ):
        value = measure(first, second).value
        others = (
            measure(second, first).value,
            measure([renamed[v] for v in first], [renamed[v] for v in second]).value,
        )
        for other in others:
            assert other == pytest.approx(value, abs=1e-9, nan_ok=True)
        assert math.isnan(value) or value <= 1 + 1e-12


@given(st.lists(values, min_size=2, max_size=20))
@settings(max_examples=30, deadline=None)
def test_full_agreement_is_one_or_not_defined(same: list[str]) -> None:
    ratings = [[value, value, value] for value in same]
    found = (
        cohen_kappa(same, same, **FEW),
        fleiss_kappa(ratings, **FEW),
        krippendorff_alpha(ratings, **FEW),
    )
    for one in found:
        if len(set(same)) == 1:
            assert one.as_record()["value"] is None
        else:
            assert one.value == pytest.approx(1.0, abs=1e-12)


@given(st.lists(st.lists(st.integers(0, 5), max_size=4), min_size=1, max_size=8))
@settings(max_examples=30, deadline=None)
def test_spans_agree_with_themselves(spans: list[list[int]]) -> None:
    found = f1_agreement(
        "spans", span_counts(spans, [list(reversed(one)) for one in spans]), **FEW
    )
    if any(spans):
        assert (found.value, found.low, found.high) == (100.0, 100.0, 100.0)
    else:
        assert math.isnan(found.value)


def test_sentences_are_drawn_whole() -> None:
    """Ten words each of two sentences: with groups there are but two things to draw."""
    first, second = ["a", "b"] * 10, ["a", "b"] * 5 + ["a", "a"] * 5
    groups = [0] * 10 + [1] * 10
    alone = cohen_kappa(first, second, seed=1)
    whole = cohen_kappa(first, second, groups=groups, seed=1)
    assert alone.value == whole.value
    assert whole.n_groups == 2
    assert whole.high - whole.low > alone.high - alone.low
    assert cohen_kappa(first, second, seed=1) == alone


def test_missing_values_are_left_out() -> None:
    first, second = ["a", "b", "b", None, "a"], ["a", "b", "a", "a", None]
    assert cohen_kappa(first, second).value == cohen_kappa(first[:3], second[:3]).value
    assert cohen_kappa([None], ["a"]).as_record()["value"] is None
    assert krippendorff_alpha([]).n_items == 0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: cohen_kappa(["a"], ["a", "b"]),
        lambda: raw_agreement(["a"], ["a"], groups=[1, 2]),
        lambda: fleiss_kappa([["a", "b"], ["a", "b", "c"]]),
        lambda: fleiss_kappa([["a"]]),
        lambda: krippendorff_alpha([["a", "b"]], groups=[]),
        lambda: span_counts([[]], []),
        lambda: attachment_counts([[(0, "root")]], [[(0, "root"), None]], labelled=True),
    ],
)
def test_what_does_not_fit_is_told(wrong) -> None:
    with pytest.raises(SettingsError, match="found"):
        wrong()


def test_a_span_counts_as_often_as_it_is() -> None:
    assert f1_agreement("spans", span_counts([["x", "x"]], [["x"]]), **FEW).value == pytest.approx(
        200 / 3
    )
    assert Counter(["x", "x"]) & Counter(["x"]) == Counter(["x"])
