"""Decoders against the list of all trees, and what they say of senseless input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eigentext.dependency.decoding.constraints import checked_arc, checked_sib, constrained
from eigentext.dependency.decoding.decoders import chu_liu_edmonds, eisner, rearrange
from eigentext.dependency.kernels.rearrange import crossing_arcs, rearrange_kernel, whole_score
from eigentext.errors import SettingsError
from oracle import dependency_trees

KINDS = ["plain", "tied", "equal", "holes", "large", "small", "mixed"]


def decoders(n, arc, sib):
    """(decoder, arguments, its trees, sibling scores or None)."""
    return [
        (eisner, (arc,), dependency_trees.projective_trees(n), None),
        (eisner, (arc, sib), dependency_trees.projective_trees(n), sib),
        (chu_liu_edmonds, (arc,), dependency_trees.all_trees(n), None),
    ]


def check_best(decoder, arguments, trees, arc, sib):
    ranked = dependency_trees.ranked(trees, arc, sib)
    if not ranked:
        with pytest.raises(SettingsError, match="is left"):
            decoder(*arguments)
        return
    heads, score = decoder(*arguments)
    assert heads.dtype == np.int32
    assert tuple(heads.tolist()) in trees
    assert score == pytest.approx(ranked[0][0], rel=1e-12, abs=1e-12)
    assert dependency_trees.score(heads.tolist(), arc, sib) == pytest.approx(
        score, rel=1e-12, abs=1e-12
    )


def test_the_oracle_lists_all_trees():
    assert [len(dependency_trees.all_trees(n)) for n in range(1, 7)] == [1, 2, 9, 64, 625, 7776]
    assert [len(dependency_trees.projective_trees(n)) for n in range(1, 7)] == [
        1,
        2,
        7,
        30,
        143,
        728,
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_best_tree(draw_scores, n, kind):
    for seed in range(12 if n < 5 else 4):
        arc, sib = draw_scores(n, seed, kind)
        for decoder, arguments, trees, siblings in decoders(n, arc, sib):
            check_best(decoder, arguments, trees, arc, siblings)


@pytest.mark.parametrize("kind", ["plain", "holes"])
def test_best_tree_of_six_words(draw_scores, kind):
    arc, sib = draw_scores(6, 1, kind)
    for decoder, arguments, trees, siblings in decoders(6, arc, sib):
        check_best(decoder, arguments, trees, arc, siblings)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), n=st.integers(1, 4))
def test_any_scores(data, n):
    values = st.one_of(st.just(-np.inf), st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0, -1.0]))
    arc = data.draw(hnp.arrays(np.float64, (n + 1, n + 1), elements=values))
    sib = np.zeros((n + 1,) * 3)
    for decoder, arguments, trees, siblings in decoders(n, arc, sib):
        ranked = dependency_trees.ranked(trees, arc, siblings)
        if not ranked:
            with pytest.raises(SettingsError, match="is left"):
                decoder(*arguments)
            continue
        heads, score = decoder(*arguments)
        assert tuple(heads.tolist()) in trees
        assert score == pytest.approx(ranked[0][0], rel=1e-9, abs=1e-7)


def test_one_root_is_no_matter_of_a_penalty():
    # both words would rather hang from the root, by far more than any constant could outweigh
    arc = np.array([[0, 1e300, 1e300], [0, 0, -1e300], [0, -1e280, 0]])
    for decoder in (eisner, chu_liu_edmonds):
        assert decoder(arc)[0].tolist() == [2, 0]


def some_demands(rng, n):
    """Required and forbidden arcs that some tree meets."""
    tree = dependency_trees.all_trees(n)[rng.integers(len(dependency_trees.all_trees(n)))]
    arcs = [(h, d) for d, h in enumerate(tree, 1)]
    required = [arcs[i] for i in rng.permutation(n)[: rng.integers(0, 3)]]
    others = [
        (h, d) for d in range(1, n + 1) for h in range(n + 1) if h != d and (h, d) not in arcs
    ]
    forbidden = [others[i] for i in rng.permutation(len(others))[: rng.integers(0, 4)]]
    return required, forbidden


@pytest.mark.parametrize("seed", range(25))
def test_demands_equal_the_list_of_trees_that_meet_them(draw_scores, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    arc, sib = draw_scores(n, seed)
    required, forbidden = some_demands(rng, n)
    for decoder, arguments, trees, siblings in decoders(n, arc, sib):
        left = [heads for heads in trees if dependency_trees.meets(heads, required, forbidden)]
        if left:
            check_best(
                decoder,
                (constrained(arguments[0], required, forbidden), *arguments[1:]),
                left,
                arc,
                siblings,
            )
        else:
            with pytest.raises(SettingsError):
                decoder(constrained(arguments[0], required, forbidden), *arguments[1:])


@pytest.mark.parametrize(
    ("required", "forbidden", "why"),
    [
        ([(2, 1), (3, 1)], [], "word 1 two heads: 2 and 3"),
        ([(0, 1), (0, 2)], [], "root two words: 1 and 2"),
        ([(2, 1), (3, 2), (1, 3)], [], "cycle: 1 -> 2 -> 3 -> 1"),
        ([(2, 1), (3, 2), (2, 3)], [], "cycle: 2 -> 3 -> 2"),
        ([(2, 1)], [(2, 1)], "both required and forbidden"),
        ([(1, 4)], [], "dependent from 1 to 3"),
        ([(1, 0)], [], "dependent from 1 to 3"),
        ([(4, 1)], [], "head from 0 to 3"),
        ([], [(-1, 1)], "head from 0 to 3"),
        ([(1, 1)], [], "to itself"),
        ([], [(0, 1), (2, 1), (3, 1)], "word 1 has no head"),
        ([], [(0, 1), (0, 2), (0, 3)], "hang from the root"),
        ([(2, 1)], [(0, 2), (3, 2)], "no tree with one root is left"),
    ],
)
def test_senseless_demands(required, forbidden, why):
    with pytest.raises(SettingsError, match=why):
        constrained(np.zeros((4, 4)), required, forbidden)


def test_crossing_demands_suit_only_trees_that_may_cross():
    arc, demands = np.zeros((5, 5)), [(1, 3), (2, 4)]
    assert chu_liu_edmonds(constrained(arc, demands))[0][[2, 3]].tolist() == [1, 2]
    with pytest.raises(SettingsError, match=r"\(1, 3\) and \(2, 4\) cross"):
        constrained(arc, demands, projective=True)
    with pytest.raises(SettingsError, match=r"no projective tree"):
        constrained(arc, [(1, 3), (0, 2)], projective=True)  # the arc from the root crosses


def test_a_required_arc_of_score_minus_infinity():
    arc = np.zeros((3, 3))
    arc[1, 2] = -np.inf
    with pytest.raises(SettingsError, match="score -inf"):
        constrained(arc, [(1, 2)])


def test_scores_are_not_changed_by_demands():
    arc = np.zeros((3, 3))
    constrained(arc, [(0, 1)], [(1, 2)][:0])
    assert (arc == 0).all()


@pytest.mark.parametrize("arcs", ["12", [1, 2], [(1, 2, 3)], [("a", 1)], [(1.5, 2)]])
def test_arcs_of_the_wrong_kind(arcs):
    with pytest.raises(TypeError, match="pair"):
        constrained(np.zeros((4, 4)), arcs)


@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (3, 4), (3,), (2, 2, 2)])
def test_arc_scores_of_a_wrong_shape(shape):
    with pytest.raises(ValueError, match="expected"):
        checked_arc(np.zeros(shape))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_no_numbers(bad):
    arc, sib = np.zeros((3, 3)), np.zeros((3, 3, 3))
    arc[1, 2] = sib[1, 1, 2] = bad
    with pytest.raises(ValueError, match="NaN"):
        eisner(arc)
    with pytest.raises(ValueError, match="NaN"):
        eisner(np.zeros((3, 3)), sib)
    with pytest.raises(ValueError, match="to go with"):
        checked_sib(sib, 3)
    sib = np.full((4, 4, 4), bad)  # and only where they mean something
    for h in range(4):
        for s in range(4):
            for d in range(1, 4):
                if (s == h != d) or (h and (h < s < d or d < s < h)):
                    sib[h, s, d] = 0.0
    assert eisner(np.zeros((4, 4)), sib)[1] == 0.0


@pytest.mark.parametrize("kind", ["plain", "tied", "equal", "holes", "large", "small"])
@pytest.mark.parametrize("n", [1, 2, 4, 5])
def test_rearrangement_ends_where_no_change_leads_up(draw_scores, n, kind):
    trees = dependency_trees.all_trees(n)
    for seed in range(6 if n < 5 else 2):
        arc, sib = draw_scores(n, seed, kind)
        projective = dependency_trees.ranked(dependency_trees.projective_trees(n), arc, sib)
        if not projective:
            continue
        heads, score = rearrange(arc, sib)
        slack = 1e-9 * max(1.0, abs(score))
        assert score == pytest.approx(dependency_trees.score(heads.tolist(), arc, sib), rel=1e-9)
        assert score >= projective[0][0] - slack
        for other in trees:
            changed = [d for d in range(n) if other[d] != heads[d]]
            if len(changed) == 1:
                assert dependency_trees.score(other, arc, sib) <= score + slack


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_crossing_arcs_are_counted(n):
    for heads in dependency_trees.all_trees(n):
        found = crossing_arcs(np.array(heads, np.int32))
        assert found == dependency_trees.crossing_arcs(heads)
        assert (found == 0) == dependency_trees.is_projective(heads)


def grandparent_arrays(grand, arc):
    """grand[g, h, d] and the arcs left -> what the kernel reads: governors of h by number."""
    n = len(arc) - 1
    index = np.full((n + 1, n + 1), -1, np.int64)
    by_number = np.full((n + 1, n + 1, n + 1), np.nan)  # what is not there must not be read
    for h in range(1, n + 1):
        for i, g in enumerate(g for g in range(n + 1) if g != h and arc[g, h] > -np.inf):
            index[g, h] = i
            by_number[i, h] = grand[g, h]
    return by_number, index


@pytest.mark.parametrize("kind", ["plain", "holes"])
@pytest.mark.parametrize("charge", [0.0, 0.7])
@pytest.mark.parametrize("n", [1, 2, 4, 5])
def test_rearrangement_with_grandparents_and_a_charge(draw_scores, n, charge, kind):
    """The score is the enumerated one, and no tree with one other head or root is better."""
    rng = np.random.default_rng(n)
    trees = dependency_trees.all_trees(n)
    for seed in range(6 if n < 5 else 3):
        arc, sib = draw_scores(n, seed, kind)
        sib[np.isinf(sib)] = -5.0
        grand = rng.normal(size=(n + 1,) * 3)
        every = {one: dependency_trees.score(one, arc, sib, grand, charge) for one in trees}
        left = [one for one in trees if every[one] > -np.inf]
        if not left:
            continue
        start = left[int(rng.integers(len(left)))]
        heads = np.array(start, np.int32)
        parts = (arc, sib, *grandparent_arrays(grand, arc), charge)
        assert whole_score(*parts, heads) == pytest.approx(every[start])
        score = rearrange_kernel(*parts, heads)
        found = tuple(heads.tolist())
        assert found in every  # a tree with one root
        assert score == pytest.approx(every[found])
        assert score >= every[start] - 1e-9
        root = found.index(0)
        for other in trees:
            changed = [d for d in range(n) if other[d] != found[d]]
            new_root = len(changed) == 2 and root in changed and other.index(0) in changed
            if len(changed) == 1 or new_root:
                assert every[other] <= score + 1e-9


def test_a_high_charge_keeps_arcs_from_crossing(draw_scores):
    crossing = []
    for seed in range(10):
        arc, sib = draw_scores(5, seed)
        best, score = eisner(arc, sib)
        kept = rearrange(arc, sib, charge=1e6)
        assert (kept[0].tolist(), kept[1]) == (best.tolist(), pytest.approx(score))
        crossing.append(dependency_trees.crossing_arcs(rearrange(arc, sib)[0].tolist()))
    assert any(crossing)


def test_rearrangement_can_change_the_root():
    arc, sib = np.zeros((4, 4)), np.zeros((4, 4, 4))
    arc[0, 3] = 5.0
    heads, score = rearrange(arc, sib, [0, 1, 2])
    assert (heads[2], score) == (0, 5.0)


def test_rearrangement_from_a_senseless_tree():
    arc, sib = np.zeros((3, 3)), np.zeros((3, 3, 3))
    with pytest.raises(ValueError, match="cycle"):
        rearrange(arc, sib, [2, 1])
    with pytest.raises(ValueError, match="exactly one"):
        rearrange(arc, sib, [0, 0])
    arc[0, 1] = -np.inf
    with pytest.raises(SettingsError, match="start from"):
        rearrange(arc, sib, [0, 1])


def test_rearrangement_with_crossing_demands():
    arc, sib = np.zeros((5, 5)), np.zeros((5, 5, 5))
    assert rearrange(constrained(arc, [(1, 3), (2, 4)]), sib)[0][[2, 3]].tolist() == [1, 2]


def test_three_hundred_words(draw_scores):
    arc, _ = draw_scores(300, 0)
    (projective, low), (free, high) = eisner(arc), chu_liu_edmonds(arc)
    assert low <= high
    for heads, score in ((projective, low), (free, high)):
        assert score == pytest.approx(arc[heads, np.arange(1, 301)].sum())
        assert (heads == 0).sum() == 1
