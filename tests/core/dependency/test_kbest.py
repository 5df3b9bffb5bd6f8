"""k-best lists against the list of all trees: complete, sorted, each tree once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from eigentext.dependency.decoding.constraints import constrained
from eigentext.dependency.decoding.decoders import (
    chu_liu_edmonds,
    eisner,
    kbest_nonprojective,
    kbest_projective,
)
from eigentext.errors import SettingsError
from oracle import dependency_trees

KINDS = ["plain", "tied", "equal", "holes", "large", "small", "mixed"]


def listers(n, arc, sib):
    return [
        (kbest_projective, (arc,), dependency_trees.projective_trees(n), None),
        (kbest_projective, (arc, sib), dependency_trees.projective_trees(n), sib),
        (kbest_nonprojective, (arc,), dependency_trees.all_trees(n), None),
    ]


def check_list(lister, arguments, trees, arc, sib, k):
    ranked = dependency_trees.ranked(trees, arc, sib)
    if not ranked:
        with pytest.raises(SettingsError, match="is left"):
            lister(*arguments, k=k)
        return
    heads, scores = lister(*arguments, k=k)
    found = [tuple(tree) for tree in heads.tolist()]
    assert len(found) == len(set(found)) == len(scores) == min(k, len(ranked))
    assert set(found) <= {tree for _, tree in ranked}
    assert (np.diff(scores) <= 0).all()
    # trees of equal score may come in any order: scores are what must agree
    want = [score for score, _ in ranked[:k]]
    own = [dependency_trees.score(tree, arc, sib) for tree in found]
    tolerance = 1e-12 * max(1.0, np.abs(want).max())
    assert scores == pytest.approx(want, rel=1e-11, abs=tolerance)
    assert scores == pytest.approx(own, rel=1e-11, abs=tolerance)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_lists(draw_scores, n, kind):
    for seed in range(6 if n < 5 else 1):
        arc, sib = draw_scores(n, seed, kind)
        for lister, arguments, trees, siblings in listers(n, arc, sib):
            for k in (1, 2, 10, len(trees) + 5):
                check_list(lister, arguments, trees, arc, siblings, k)


@pytest.mark.parametrize("kind", ["plain", "tied"])
def test_lists_of_six_words(draw_scores, kind):
    arc, sib = draw_scores(6, 3, kind)
    for lister, arguments, trees, siblings in listers(6, arc, sib):
        check_list(lister, arguments, trees, arc, siblings, 2000)


@settings(max_examples=100, deadline=None)
@given(data=st.data(), n=st.integers(1, 4), k=st.integers(1, 70))
def test_any_scores(data, n, k):
    values = st.one_of(st.just(-np.inf), st.floats(-1e3, 1e3), st.sampled_from([0.0, 1.0, -1.0]))
    arc = data.draw(hnp.arrays(np.float64, (n + 1, n + 1), elements=values))
    sib = data.draw(
        hnp.arrays(np.float64, (n + 1,) * 3, elements=st.sampled_from([0.0, 1.0, -np.inf, 0.5]))
    )
    for lister, arguments, trees, siblings in listers(n, arc, sib):
        check_list(lister, arguments, trees, arc, siblings, k)


@pytest.mark.parametrize("seed", range(12))
def test_demands(draw_scores, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 5))
    arc, sib = draw_scores(n, seed)
    tree = dependency_trees.projective_trees(n)[rng.integers(7)]
    required = [(tree[d - 1], d) for d in (rng.permutation(n) + 1)[: rng.integers(1, 3)].tolist()]
    forbidden = [
        (h, d)
        for d in range(1, n + 1)
        for h in range(n + 1)
        if h not in (d, tree[d - 1]) and rng.random() < 0.15
    ]
    for lister, arguments, trees, siblings in listers(n, arc, sib):
        left = [heads for heads in trees if dependency_trees.meets(heads, required, forbidden)]
        check_list(
            lister,
            (constrained(arguments[0], required, forbidden), *arguments[1:]),
            left,
            arc,
            siblings,
            100,
        )


@pytest.mark.parametrize("n", [12, 40])
def test_long_lists_begin_with_the_best_tree_and_hold_good_ones(draw_scores, n):
    arc, sib = draw_scores(n, 0)
    for lister, arguments, decoder in (
        (kbest_projective, (arc,), eisner),
        (kbest_projective, (arc, sib), eisner),
        (kbest_nonprojective, (arc,), chu_liu_edmonds),
    ):
        heads, scores = lister(*arguments, k=300)
        assert heads.shape == (300, n)
        assert len({tuple(tree) for tree in heads.tolist()}) == 300
        best, top = decoder(*arguments)
        assert (heads[0] == best).all()
        assert scores[0] == pytest.approx(top)
        # the best tree without one arc of the best is in the list, or worse than all of it
        for d in range(1, n + 1):
            other, score = decoder(constrained(arc, (), [(int(best[d - 1]), d)]), *arguments[1:])
            listed = (heads == other).all(axis=1).any()
            assert listed or score <= scores[-1] + 1e-9
        short = lister(*arguments, k=7)
        assert short[1] == pytest.approx(scores[:7])


def test_how_many():
    for k in (0, -3):
        with pytest.raises(SettingsError, match="1 or more"):
            kbest_projective(np.zeros((3, 3)), k=k)
    with pytest.raises(TypeError):
        kbest_projective(np.zeros((3, 3)), k=2.5)
    assert len(kbest_nonprojective(np.zeros((4, 4)), k=10**15)[0]) == 9


def test_three_hundred_words(draw_scores):
    arc, _ = draw_scores(300, 0)
    for lister in (kbest_projective, kbest_nonprojective):
        heads, _ = lister(arc, k=50)
        assert len({tree.tobytes() for tree in heads}) == 50


def test_of_equal_ways_the_older_one_comes_first():
    """Ties in the heap of ways are broken by age, so that lists never depend on how it grew."""
    from eigentext.dependency.kernels.kbest import Pool, _meld

    def pool(*scores):
        return Pool(np.array(scores), np.zeros(2), np.full((2, 6), -1, np.int32))

    for x, y in ((0, 1), (1, 0)):
        assert _meld(x, y, pool(2.0, 2.0)) == 0
    assert _meld(0, 1, pool(1.0, 2.0)) == 1
