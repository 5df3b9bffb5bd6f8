"""Split head automata: strings of dependents, exact moments, sums over trees, the expert."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from eigentext.dependency.rerank.experts import expert_from_bytes, expert_to_bytes, fit_expert
from eigentext.dependency.sentence import TaggedSentence
from eigentext.lab.automata.hankel import Automaton, Basis, spectral_automaton
from eigentext.lab.automata.model import STOP
from eigentext.lab.experts import ROOT, HeadAutomata, dependents
from eigentext.language.formats.conllu import make_sentence
from oracle.dependency_trees import projective_trees
from oracle.hankel import all_pieces, exact_hankel, known_automaton


def test_strings_go_outwards() -> None:
    strings = dependents(["D", "A", "N", "V", "P"], [3, 3, 4, 0, 4])
    assert strings[0] == (ROOT, ("V",))
    assert dict(strings)["N<"] == ("A", "D")
    assert dict(strings)["V>"] == ("P",)


def _automaton(rng: np.random.Generator) -> Automaton:
    leaving = rng.random((2, 5)) + 0.05
    leaving[:, -1] += 1.0
    leaving /= leaving.sum(axis=1, keepdims=True)
    matrices = leaving[:, :-1].reshape(2, 2, 2).transpose(1, 2, 0)
    return known_automaton([0.5, 0.5], leaving[:, -1], matrices)


@pytest.mark.parametrize("seed", range(3))
def test_exact_blocks_give_the_same_trees(seed: int) -> None:
    """Weights of all trees of up to four words over two tags, from exact Hankel blocks."""
    rng = np.random.default_rng(seed)
    sides = [ROOT, "0<", "0>", "1<", "1>"]
    true = {side: _automaton(rng) for side in sides}
    pieces = all_pieces(2, 1)
    basis = Basis.of(pieces, pieces)
    found = {side: spectral_automaton(exact_hankel(true[side], basis), 2) for side in sides}

    def weight(automata: dict[str, Automaton], tags: tuple[str, ...], heads: list[int]) -> float:
        strings = dependents(tags, heads)
        return float(np.prod([automata[side].weight(list(map(int, x))) for side, x in strings]))

    for n in range(1, 5):
        for tags in product("01", repeat=n):
            for heads in map(list, projective_trees(n)):
                assert abs(weight(found, tags, heads) - weight(true, tags, heads)) < 1e-8


TREES = [
    make_sentence(["the", "dog", "barks"], upos=["DET", "NOUN", "VERB"], head=[2, 3, 0]),
    make_sentence(["dogs", "see", "cats"], upos=["NOUN", "VERB", "NOUN"], head=[2, 0, 2]),
    make_sentence(["it", "rains"], upos=["PRON", "VERB"], head=[2, 0]),
] * 15


def test_the_expert_prefers_trees_like_those_seen_and_is_stored() -> None:
    expert = fit_expert("automata", TREES, n_states=3)
    sentence = TaggedSentence.from_conllu(TREES[0])
    heads = np.array([[2, 3, 0], [3, 1, 0], [0, 1, 2]])
    logs = expert.log_probs(sentence, heads)
    assert logs.argmax() == 0
    back = expert_from_bytes("automata", expert_to_bytes("automata", expert))
    np.testing.assert_array_equal(back.log_probs(sentence, heads), logs)


def test_log_p_of_a_tree_is_the_product_over_strings_symbol_by_symbol() -> None:
    learned = HeadAutomata.of([(t.column("upos"), t.heads) for t in TREES], n_states=3)
    model, tags = learned.model, ["DET", "NOUN", "VERB"]
    trees = projective_trees(3)
    found = learned.log_probs_of(tags, trees)
    for heads, log_p in zip(trees, found.tolist(), strict=True):
        want = 0.0
        for side, string in dependents(tags, heads):
            own = model.models_[model.model_of_[model.classes_.index(side)]]
            names = own.symbols_.names
            for at, symbol in enumerate([*string, STOP]):
                p = own.next_symbols([list(string[:at])])[0]
                want += np.log(p[names.index(symbol)])
        assert log_p == pytest.approx(want, rel=1e-9)


def test_a_head_that_was_not_seen_has_the_automaton_of_all() -> None:
    trees = [(["N", "V"], [2, 0])] * 40
    learned = HeadAutomata.of(trees, n_states=2)
    assert np.isfinite(learned.log_probs_of(["X", "V"], [[2, 0], [0, 1]])).all()
