"""Probabilities of heads: how sharp they are, and what of the best tree they take for granted."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from eigentext.dependency.decoding.decoders import nonprojective_marginals, projective_marginals
from eigentext.dependency.decoding.search import Search
from eigentext.dependency.graph.projectivity import fitted_heat
from eigentext.errors import SettingsError
from oracle import dependency_trees


def _scores(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    chance = np.random.default_rng(seed)
    return chance.normal(size=(n + 1, n + 1)), chance.normal(size=(n + 1, n + 1, n + 1))


@pytest.mark.parametrize("heat", [0.25, 1.0, 3.0])
def test_marginals_are_those_of_scores_over_heat(heat: float) -> None:
    arc, sib = _scores(4, 1)
    trees = dependency_trees.projective_trees(4)
    want, _ = dependency_trees.marginals(trees, arc / heat, sib / heat)
    np.testing.assert_allclose(
        Search(arc, sib, True, heat=heat).marginals()[:, 1:], want[:, 1:], rtol=1e-9, atol=1e-12
    )


class _Grand:
    """Grandparents that add a number of their own to each arc, and choose the tree."""

    def __init__(self, share: np.ndarray, heads: list[int]) -> None:
        self.share, self.heads = share, np.array(heads, np.int32)

    def best(self, arc: np.ndarray, sib: np.ndarray) -> tuple[np.ndarray, float]:
        return self.heads, 0.0

    def in_tree(self, h: int, d: int, heads: np.ndarray) -> float:
        assert heads is self.heads
        return float(self.share[h, d])


def test_grandparents_are_those_of_the_best_tree() -> None:
    (arc, sib), (share, _) = _scores(4, 2), _scores(4, 3)
    found = Search(arc, sib, True, grand=_Grand(share, [2, 0, 2, 3])).marginals()
    np.testing.assert_allclose(found, projective_marginals(arc + share, sib)[0], rtol=1e-12)


def test_where_arcs_may_cross_siblings_are_too() -> None:
    (arc, sib), (share, _) = _scores(4, 4), _scores(4, 5)
    heads = [3, 4, 0, 3]
    found = Search(arc, sib, False, grand=_Grand(share, heads)).marginals()
    context = arc + share
    for h in range(5):
        for d in set(range(1, 5)) - {h}:
            between = range(h + 1, d) if d > h else range(h - 1, d, -1)
            inner = [s for s in between if heads[s - 1] == h]
            context[h, d] += sib[h, inner[-1] if inner else h, d]
    np.testing.assert_allclose(found, nonprojective_marginals(context)[0], rtol=1e-12)


def test_the_heat_is_the_one_that_fits() -> None:
    """Two trees, one ahead by 1: it is right in 88 of 100 cases, as exp(1 / 0.5) would have it."""
    arc = np.zeros((3, 3))
    arc[0, 1] = 1.0
    heads = np.array([[-1, 0, 1]] * 88 + [[-1, 2, 0]] * 12, np.int32)
    test = SimpleNamespace(starts=np.arange(0, 303, 3), heads=heads.ravel())
    model = SimpleNamespace(search=lambda batch, number: Search(arc, None, True))
    assert fitted_heat(model, test) == 0.5
    empty = SimpleNamespace(starts=np.array([0, 2]), heads=np.array([-1, 0], np.int32))
    assert fitted_heat(model, empty) == 1.0  # one word has one tree


def test_a_heat_of_nothing_is_refused() -> None:
    from eigentext.dependency.graph.training import ArcSettings

    with pytest.raises(SettingsError, match=r"heat is 0\.0, expected a number above 0"):
        ArcSettings(heat=0.0)
