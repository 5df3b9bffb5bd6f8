"""Hankel blocks of a known automaton give an automaton with the same weights."""

from __future__ import annotations

import numpy as np
import pytest

from eigentext.lab.automata.hankel import (
    BEGIN,
    END,
    Automaton,
    Basis,
    Hankel,
    spectral_automaton,
    strings_of,
)
from oracle.hankel import all_pieces, exact_hankel, known_automaton


def random_automaton(k: int, V: int, seed: int) -> Automaton:
    """A probabilistic automaton: from each state the end or a symbol and the next state."""
    rng = np.random.default_rng(seed)
    leaving = rng.random((k, V * k + 1)) ** 3 + 0.01
    leaving[:, -1] = leaving[:, :-1].sum(axis=1) * rng.uniform(0.2, 0.6, k)
    leaving /= leaving.sum(axis=1, keepdims=True)
    matrices = leaving[:, :-1].reshape(k, V, k).transpose(1, 2, 0)
    start = rng.random(k) ** 2
    return known_automaton(start / start.sum(), leaving[:, -1], matrices)


def basis_of(statistic: str, V: int, longest: int) -> Basis:
    pieces = all_pieces(V, longest)
    whole = [(BEGIN, *p) for p in pieces], [(*p, END) for p in pieces]
    if statistic == "strings":
        return Basis.of(*whole)
    if statistic == "substrings":
        return Basis.of(pieces, pieces)
    return Basis.of(pieces + whole[0], pieces + whole[1])


@pytest.mark.parametrize("statistic", ["strings", "substrings", "both"])
@pytest.mark.parametrize("scaling", ["cca", "none"])
@pytest.mark.parametrize("seed", range(3))
def test_exact_blocks_give_an_equal_automaton(statistic: str, scaling: str, seed: int) -> None:
    V = 3
    true = random_automaton(3, V, seed)
    hankel = exact_hankel(true, basis_of(statistic, V, 2))
    found = spectral_automaton(hankel, 3, scaling=scaling, kappa=0.01)  # type: ignore[arg-type]
    assert found.k == 3
    for string in all_pieces(V, 6):
        assert abs(found.weight(string) - true.weight(string)) < 1e-8
        assert abs(found.prefix_weight(string) - true.prefix_weight(string)) < 1e-8


def test_the_rank_of_the_block_is_that_of_the_automaton() -> None:
    true = random_automaton(3, 2, 5)
    found = spectral_automaton(exact_hankel(true, basis_of("both", 2, 3)), 10)
    assert found.k == 3


def test_a_smaller_rank_is_the_leading_part() -> None:
    hankel = exact_hankel(random_automaton(4, 2, 1), basis_of("both", 2, 2))
    cut = spectral_automaton(hankel, 4).truncated(2)
    own = spectral_automaton(hankel, 2)
    np.testing.assert_allclose(cut.matrices, own.matrices, rtol=0, atol=1e-9)
    np.testing.assert_allclose(cut.start, own.start, rtol=0, atol=1e-9)


def test_blocks_of_an_automaton_are_sums_over_strings() -> None:
    """By enumeration: strings of up to 12 symbols have nearly all of the weight."""
    true = known_automaton(
        [0.7, 0.3], [0.6, 0.8], [[[0.1, 0.1], [0.1, 0.0]], [[0.1, 0.0], [0.1, 0.1]]]
    )
    strings = {string: true.weight(string) for string in all_pieces(2, 12)}
    assert abs(sum(strings.values()) - 1) < 1e-5
    basis = basis_of("both", 2, 2)
    counted, exact = Hankel.counted(strings, basis, 2), exact_hankel(true, basis)
    np.testing.assert_allclose(counted.block, exact.block, rtol=0, atol=1e-4)
    for own, known in zip(counted.by_symbol, exact.by_symbol, strict=True):
        np.testing.assert_allclose(own.toarray(), known, rtol=0, atol=1e-4)
    for name in ("first", "last", "places", "total"):
        np.testing.assert_allclose(getattr(counted, name), getattr(exact, name), atol=1e-4)


def test_counts_are_those_of_a_search() -> None:
    rng = np.random.default_rng(0)
    strings = strings_of([rng.integers(0, 3, rng.integers(0, 6)).tolist() for _ in range(40)])
    basis = Basis.frequent(strings, 12, 3)
    hankel = Hankel.counted(strings, basis, 3)

    def found(piece: tuple[int, ...]) -> float:
        n = 0.0
        for string, weight in strings.items():
            marked = (BEGIN, *string, END)
            for at in range(len(marked) - len(piece) + 1):
                n += weight * (marked[at : at + len(piece)] == piece)
        return n

    for p, i in basis.beginnings.items():
        for s, j in basis.endings.items():
            if p + s:  # the empty piece has a place less than marked strings have
                assert hankel.block[i, j] == found(p + s), (p, s)
            for x in range(3):
                assert hankel.by_symbol[x][[i], [j]].sum() == found((*p, x, *s))
    assert hankel.n == 40


def test_the_end_is_a_symbol_of_the_operators() -> None:
    true = random_automaton(3, 2, 2)
    operators = true.with_end(1)
    for string in all_pieces(2, 4):
        ids = [0 if x == 0 else 2 for x in string]
        sign, log = operators.signed_probability([*ids, 1])
        assert abs(sign * np.exp(log) - true.weight(string)) < 1e-12
        sign, log = operators.signed_probability(ids)
        assert abs(sign * np.exp(log) - true.prefix_weight(string)) < 1e-12
    back = Automaton.without_end(operators, 1)
    np.testing.assert_allclose(back.stop, true.stop, atol=1e-12)
