"""Graphs of states: what is drawn, and what is refused."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from eigentext.drawing.state_graph import state_graph


def arrows(drawn: str) -> int:
    """Lines with a curve in them."""
    root = ElementTree.fromstring(drawn)
    paths = [p.get("d", "") for p in root.iter("{http://www.w3.org/2000/svg}path")]
    return sum("Q" in path for path in paths)


def test_arrows_are_those_that_are_likely_enough():
    T = [[0.5, 0.5, 0.0], [0.04, 0.0, 0.96], [1.0, 0.0, 0.0]]
    drawn = state_graph(T, ["one <b>", "two & $x$", "three"])
    assert arrows(drawn) == 3
    assert arrows(state_graph(T, list("abc"), least=0.01)) == 4
    assert arrows(state_graph(T, list("abc"), arrows=1, least=0.01)) in (2, 3)
    text = drawn
    assert "one &lt;b&gt;" in text
    assert "two &amp; $x$" in text
    assert "0.50" in text  # state 0 stays
    assert drawn == state_graph(T, ["one <b>", "two & $x$", "three"])


@pytest.mark.parametrize("k", [1, 2, 13, 90])
def test_any_number_of_states(k):
    T = np.random.default_rng(k).dirichlet(np.ones(k), size=k)
    names = [f"state{i}" for i in range(k)]
    text = state_graph(T, names, shares=np.arange(k) + 1.0, title="states")
    assert f"state{k - 1}" in text
    assert ("state0 " in text or "state0<" in text) == (k <= 60)  # the rarest are left out


def test_odd_input():
    with pytest.raises(ValueError, match="k x k"):
        state_graph([[0.5, 0.5]], ["a"])
    with pytest.raises(ValueError, match="k labels"):
        state_graph(np.eye(2), ["a"])
    with pytest.raises(ValueError, match="k x k"):
        state_graph(np.zeros((0, 0)), [])
    with pytest.raises(TypeError, match="list of strings"):
        state_graph(np.eye(2), "ab")
