"""StringTransducer: alignments, search against enumeration, exact moments of pairs, storage."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext import load
from eigentext.errors import DataError, SettingsError
from eigentext.sequences import StringAutomaton, StringTransducer
from eigentext.sequences.automata.automaton import Automaton
from eigentext.sequences.automata.hankel import Basis, all_pieces, exact_hankel, spectral_automaton
from eigentext.sequences.automata.model import STOP
from eigentext.sequences.automata.transducer import aligned
from eigentext.sequences.observations import Symbols


@given(st.text("abC", max_size=6), st.text("abc", max_size=6))
def test_an_alignment_spells_both_strings(source: str, target: str) -> None:
    pairs = aligned(source, target)
    assert "".join(x for x, _ in pairs) == source
    if source:
        assert "".join(y for _, y in pairs) == target


def test_insertions_belong_to_the_symbol_before() -> None:
    assert aligned("ac", "xabc") == [("a", "xab"), ("c", "c")]
    assert aligned("Ab", "ab") == [("A", "a"), ("b", "b")]
    assert aligned(["NOUN", *"be"], "abe") == [("NOUN", "a"), ("b", "b"), ("e", "e")]


PAIRS = ["a\ta", "a\tb", "b\tb", "b\t"]


def known_transducer(seed: int) -> tuple[StringTransducer, Automaton]:
    """One of known automaton over four pairs: learned from its exact Hankel block."""
    rng = np.random.default_rng(seed)
    leaving = rng.random((2, 9)) + 0.02
    leaving /= leaving.sum(axis=1, keepdims=True)
    true = Automaton.known(
        [0.6, 0.4], leaving[:, -1], leaving[:, :-1].reshape(2, 4, 2).transpose(1, 2, 0)
    )
    pieces = all_pieces(4, 1)
    found = spectral_automaton(exact_hankel(true, Basis.of(pieces, pieces)), 2)
    for string in all_pieces(4, 5):
        assert abs(found.weight(string) - true.weight(string)) < 1e-8
    names = (*PAIRS, STOP, "<unk>")
    own = StringAutomaton(unigram_weight=0.0, floor=0.0)
    own.symbols_ = Symbols(names, np.ones(6, np.int64), "one")
    none = np.zeros((2, 2, 2))
    matrices = np.concatenate([found.matrices, none])
    own._take_automaton(
        Automaton(found.start, found.stop, found.total, found.usual, matrices), 0.0
    )
    model = StringTransducer(beam=100, unigram_weight=0.0, floor=0.0)
    model._take(own)
    return model, true


@pytest.mark.parametrize("seed", range(4))
def test_the_best_output_is_that_of_enumeration(seed: int) -> None:
    model, true = known_transducer(seed)
    for n in range(1, 5):
        for source in map("".join, product("ab", repeat=n)):
            scores: dict[str, float] = {}
            for string in product(range(4), repeat=n):
                if "".join(PAIRS[x][0] for x in string) == source:
                    output = "".join(PAIRS[x][2:] for x in string)
                    scores[output] = max(scores.get(output, 0.0), true.weight(string))
            for answer in model.kbest(source, 100):
                assert np.exp(answer.log_score) == pytest.approx(scores[answer.output], abs=1e-8)
            assert len(model.kbest(source, 100)) == len(scores)


FORMS = ["walks", "talks", "walked", "talked", "jumps", "jumped", "calls", "called"]
LEMMAS = ["walk", "talk", "walk", "talk", "jump", "jump", "call", "call"]


def test_it_learns_and_is_stored(tmp_path: Path) -> None:
    model = StringTransducer(12, basis=100).fit(FORMS * 4, LEMMAS * 4)
    assert model.score(FORMS, LEMMAS) == 1.0
    assert model.predict(["?alks", ""])[0].startswith("?")
    assert model.predict([""]) == [""]
    model.save(tmp_path / "t.eig")
    back = load(tmp_path / "t.eig")
    assert back.kbest("walled", 3) == model.kbest("walled", 3)
    assert back.fingerprint() == model.fingerprint()


def test_bad_input() -> None:
    with pytest.raises(SettingsError, match="2 inputs, but 1 outputs"):
        StringTransducer().fit(["a", "b"], ["a"])
    with pytest.raises(DataError, match="tab"):
        StringTransducer().fit(["a\tb"], ["a"])
    with pytest.raises(DataError, match="no pair"):
        StringTransducer().fit([], [])


def test_a_symbol_that_no_pair_has_is_copied_whole():
    model = StringTransducer(4, basis=60).fit(["cats", "dogs"] * 9, ["cat", "dog"] * 9)
    assert model.predict([["foo"], ["d", "o", "XY", "s"]]) == ["foo", "doXY"]
    assert model.knows("d")
    assert not model.knows("XY")
    assert "symbols" not in model.figures()
    with pytest.raises(SettingsError, match="1 strings, but 2 answers"):
        model.score(["dogs"], ["dog", "x"])
