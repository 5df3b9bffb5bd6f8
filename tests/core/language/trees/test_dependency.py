"""The dependency tree against definitions written out in full."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.language.trees.dependency import DependencyTree


def ancestors(heads: list[int], word: int) -> list[int] | None:
    """Heads from the word upwards to 0; None when they run in a circle."""
    path = []
    while word:
        word = heads[word - 1]
        path.append(word)
        if len(path) > len(heads) + 1:
            return None
    return path


def projective_by_definition(heads: list[int]) -> bool:
    for dependent, head in enumerate(heads, start=1):
        for between in range(min(head, dependent) + 1, max(head, dependent)):
            if head not in (ancestors(heads, between) or []):
                return False
    return True


def any_heads(max_size: int = 8) -> st.SearchStrategy[list[int]]:
    return st.integers(1, max_size).flatmap(
        lambda n: st.lists(st.integers(0, n), min_size=n, max_size=n)
    )


@st.composite
def tree_heads(draw: st.DrawFn, max_size: int = 9) -> list[int]:
    """Heads of a tree: words join in random order, each under one that is in already."""
    n = draw(st.integers(1, max_size))
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for k, word in enumerate(order):
        heads[word - 1] = draw(st.sampled_from([0, *order[:k]]))
    return heads


@given(any_heads())
def test_a_tree_is_accepted_exactly_when_all_heads_lead_to_the_root(heads: list[int]) -> None:
    forms = [f"w{k}" for k in range(len(heads))]
    if all(ancestors(heads, word) is not None for word in range(1, len(heads) + 1)):
        assert DependencyTree(forms, heads).heads.tolist() == heads
    else:
        with pytest.raises(ValueError, match="cycle") as caught:
            DependencyTree(forms, heads)
        cycle = [int(word) for word in str(caught.value).split(": ")[1].split(" -> ")]
        assert cycle[0] == cycle[-1]
        assert all(heads[word - 1] == head for word, head in itertools.pairwise(cycle))


@given(tree_heads())
def test_projectivity_is_the_definition(heads: list[int]) -> None:
    tree = DependencyTree(["w"] * len(heads), heads)
    assert tree.is_projective() == projective_by_definition(heads)


@given(tree_heads())
def test_depths_children_roots_arcs(heads: list[int]) -> None:
    n = len(heads)
    tree = DependencyTree(["w"] * n, heads, relations=[str(k) for k in range(n)])
    assert tree.depths.tolist() == [len(ancestors(heads, word) or []) for word in range(1, n + 1)]
    assert tree.roots == tuple(word for word in range(1, n + 1) if heads[word - 1] == 0)
    assert tree.single_root == (heads.count(0) == 1)
    assert sorted((h, d) for h in range(n + 1) for d in tree.children[h]) == sorted(
        (h, d) for h, d, _ in tree.arcs
    )
    assert [relation for _, _, relation in tree.arcs] == [str(k) for k in range(n)]


def test_long_chains_need_no_recursion() -> None:
    n = 100_000
    chain = DependencyTree(["w"] * n, list(range(n)))
    assert chain.is_projective()
    assert chain.depths[-1] == n
    with pytest.raises(ValueError, match=r"cycle: 1 -> 2 -> .* -> \.\.\. -> 1"):
        DependencyTree(["w"] * n, [*range(2, n + 1), 1])


@pytest.mark.parametrize(
    ("forms", "heads", "why"),
    [
        (["a"], [2], "head 2 of word 1 is out of range: expected 0..1"),
        (["a", "b"], [0, -1], "head -1 of word 2"),
        (["a"], [1], "cycle: 1 -> 1"),
        ([], [], "no words"),
        (["a", "b"], [0], "expected 2 integer heads"),
        (["a"], [0.0], "expected 1 integer heads"),
    ],
)
def test_what_is_no_tree(forms: list[str], heads: list[int], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        DependencyTree(forms, heads)


def test_columns_must_fit() -> None:
    with pytest.raises(ValueError, match="found 1 tags for 2 words"):
        DependencyTree(["a", "b"], [0, 1], tags=["X"])
    with pytest.raises(TypeError, match="not one str"):
        DependencyTree("ab", [0, 1])


def test_frozen_equal_and_hashable() -> None:
    tree = DependencyTree(["a", "b"], np.array([0, 1]), ["root", "x"])
    same = DependencyTree(("a", "b"), [0, 1], ("root", "x"))
    assert tree == same
    assert len({tree, same}) == 1
    assert tree != DependencyTree(["a", "b"], [2, 0], ["root", "x"])
    assert tree != "a"
    with pytest.raises(ValueError, match="read-only"):
        tree.heads[0] = 2
