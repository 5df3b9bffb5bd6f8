"""A1 and A2: ties know nothing of the gold, and figures equal a count by hand."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.evaluate.ranking import Accuracy, RankedItem, in_order, score_ranking

ELEMENTS = ("lemma", "pos", "cas")
labels = st.lists(
    st.tuples(*(st.sampled_from("abc") for _ in ELEMENTS)), min_size=1, max_size=8, unique=True
)


@st.composite
def items(draw):
    found = draw(labels)
    scores = draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=len(found), max_size=len(found)))
    gold = draw(st.one_of(st.sampled_from(found), st.just(("x", "y", "z"))))
    return RankedItem(gold, found, scores, draw(st.booleans()), draw(st.sampled_from("de")))


@given(st.lists(items(), max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_candidates_changes_nothing(given_items, chance: random.Random):
    shuffled = []
    for item in given_items:
        pairs = list(zip(item.labels, item.scores, strict=True))
        chance.shuffle(pairs)
        changed = item._replace(labels=[p[0] for p in pairs], scores=[p[1] for p in pairs])
        shuffled.append(changed)
    assert score_ranking(given_items, ELEMENTS) == score_ranking(shuffled, ELEMENTS)


@given(st.lists(items(), max_size=12))
def test_ties_do_not_look_at_the_gold(given_items):
    for item in given_items:
        other = item._replace(gold=item.labels[-1])
        assert in_order(item.labels, item.scores) == in_order(other.labels, other.scores)


def test_all_tied_is_as_good_as_chance():
    chance = random.Random(0)
    found = []
    for number in range(3000):
        candidates = [(f"{number}-{k}", "n", "g") for k in range(4)]
        found.append(RankedItem(chance.choice(candidates), candidates, [0.0] * 4))
    assert 22 < score_ranking(found, ELEMENTS).full.a1 < 28


@given(st.lists(items(), min_size=1, max_size=12))
def test_figures_equal_a_count_by_hand(given_items):
    found = score_ranking(given_items, ELEMENTS, without=("cas",))
    ranked = [in_order(item.labels, item.scores) for item in given_items]
    pairs = list(zip(given_items, ranked, strict=True))
    assert found.full.first == sum(r[0] == i.gold for i, r in pairs)
    assert found.full.first_two == sum(i.gold in r[:2] for i, r in pairs)
    assert found.covered.first == sum(i.gold in i.labels for i in given_items)
    assert found.trained.words + found.untrained.words == len(given_items)
    assert sum(a.words for a in found.documents.values()) == len(given_items)
    assert found.reduced.first == sum(r[0][:2] == i.gold[:2] for i, r in pairs)
    for place, name in enumerate(ELEMENTS):
        distinct = [list(dict.fromkeys(label[place] for label in r)) for r in ranked]
        assert found.elements[name].first == sum(
            d[0] == i.gold[place] for i, d in zip(given_items, distinct, strict=True)
        )
        assert found.elements[name].first_two == sum(
            i.gold[place] in d[:2] for i, d in zip(given_items, distinct, strict=True)
        )


def test_adding_folds_is_scoring_them_together():
    one = RankedItem(("a", "b", "c"), [("a", "b", "c")], [0.0], document="d")
    two = RankedItem(("a", "b", "c"), [("a", "b", "x")], [0.0], in_training=False, document="e")
    apart = score_ranking([one], ELEMENTS) + score_ranking([two], ELEMENTS)
    assert apart == score_ranking([one, two], ELEMENTS)
    assert apart.full == Accuracy(2, 1, 1)
    assert apart.as_record()["coverage"] == pytest.approx(50.0, abs=1e-9)


def test_scores_must_fit_the_labels():
    with pytest.raises(ValueError, match="2 labels, found 1"):
        in_order([("a",), ("b",)], [0.0])


def test_nothing_to_score_is_no_number():
    assert score_ranking([], ELEMENTS).as_record()["a1"] is None
