"""Small treebanks, and a parser of one."""

from __future__ import annotations

import pytest

from eigentext.constituency import LPCFG
from eigentext.datasets import load_english
from eigentext.language.trees.constituent import Tree


@pytest.fixture(scope="session")
def english() -> list[Tree]:
    """The training trees of our English sample."""
    return [Tree.from_brackets(line) for line in load_english("train")]


@pytest.fixture(scope="session")
def parser(english) -> LPCFG:
    """A parser of the English sample with four states that have probabilities."""
    return LPCFG(n_states=4, estimator="clustering").fit(english)


@pytest.fixture(scope="session")
def toy() -> list[Tree]:
    """A few ambiguous trees; A and B stand over words as well as over constituents."""
    lines = (
        "(S (A (A x) (B y)) (B (A x) (B y)))",
        "(S (A x) (B (B y) (B (A x) (A y))))",
        "(S (A (A y) (A x)) (B y))",
        "(S (A x) (A y) (B x))",
        "(S (A (A x) (B y)) (A y) (B y))",
        "(S (B (C z)) (A x))",
    )
    return [Tree.from_brackets(line) for line in lines]
