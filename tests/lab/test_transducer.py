"""StringTransducer: alignments, search against enumeration, exact moments of pairs, storage."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext import load
from eigentext.errors import DataError, ModelFileError, SettingsError
from eigentext.lab import StringAutomaton, StringTransducer
from eigentext.lab.automata.alignment import EDITS, _add_expected, aligned, costs_of, learned_costs
from eigentext.lab.automata.hankel import Automaton, Basis, spectral_automaton
from eigentext.lab.automata.model import STOP
from eigentext.lab.automata.transducer import BEFORE, KneserNey, Transduced, sequences_of_pairs
from eigentext.sequences.observations import Symbols
from helpers.changed_files import changed
from oracle.hankel import all_pieces, exact_hankel, known_automaton


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


def least_edits(source: str, target: str) -> float:
    """By the definition, over all ways to cut the output."""
    if not source or not target:
        return len(source) + len(target)
    kept = 0.0 if source[0] == target[0] else 1.0
    kept = 0.25 if kept and source[0].lower() == target[0].lower() else kept
    return min(
        kept + least_edits(source[1:], target[1:]),
        1 + least_edits(source[1:], target),
        1 + least_edits(source, target[1:]),
    )


@given(st.text("abC", min_size=1, max_size=5), st.text("abc", max_size=5))
def test_an_alignment_has_least_edits(source: str, target: str) -> None:
    cost = 0.0
    for x, piece in aligned(source, target):
        best = min((least_edits(x, y) for y in piece), default=1.0)  # of one symbol of the piece
        cost += best + max(len(piece) - 1, 0) if piece else 1.0
    assert cost == least_edits(source, target)


def edit_sequences(source: str, target: str) -> list[list[tuple[str, str]]]:
    """All ways to edit one into the other, a symbol at a time."""
    if not source and not target:
        return [[]]
    found = []
    for i, j in ((1, 1), (1, 0), (0, 1)):
        if i <= len(source) and j <= len(target):
            rest = edit_sequences(source[i:], target[j:])
            found += [[(source[:i], target[:j]), *more] for more in rest]
    return found


def test_expected_edits_are_those_of_enumeration() -> None:
    rng = np.random.default_rng(0)
    edits = [(a, b) for a in ("", "a", "b") for b in ("", "x", "y") if a or b]
    p = dict(zip(edits, rng.random(len(edits)) / 9, strict=True))
    for source, target in (("ab", "xy"), ("aba", "x"), ("", "xy"), ("b", "xxy")):
        counts: dict[tuple[str, str], float] = defaultdict(float)
        _add_expected(source, target, p, counts)
        ways = edit_sequences(source, target)
        shares = np.array([np.prod([p[edit] for edit in way]) for way in ways])
        shares /= shares.sum()
        for edit in edits:
            wanted = sum(s * way.count(edit) for s, way in zip(shares, ways, strict=True))
            assert counts[edit] == pytest.approx(wanted, abs=1e-12)


def test_two_alphabets_find_each_other() -> None:
    table = str.maketrans({"α": "a", "β": "v", "ψ": "ps", "ς": "s"})
    rng = np.random.default_rng(1)
    greek = ["".join(rng.choice(list("αβψ"), rng.integers(1, 6))) + "ς" for _ in range(60)]
    pairs = [(word, word.translate(table)) for word in greek]
    assert costs_of(pairs) is not EDITS
    model = StringTransducer(3, basis=40, ngram_weight=1.0).fit(*zip(*pairs, strict=True))
    new = ["ψαβψβας", "βαψαψψς"]
    assert model.predict(new) == [word.translate(table) for word in new]


def test_equal_changes_are_cut_equally() -> None:
    for form in ("going", "running", "ginning"):
        stem = form[: 2 if form == "going" else 3]
        assert [y for _, y in aligned(form, stem)] == [*stem, *[""] * (len(form) - len(stem))]


def test_contexts_and_marks_are_at_both_ends() -> None:
    ends = [["<V>", "", ""], ["<V>", "", ""]]
    for source, target, middle in (
        ("go", "goes", [["<$>", "es"], ["o", "o"], ["g", "g"], ["<^>", ""]]),
        ("go", "ago", [["<$>", ""], ["o", "o"], ["g", "g"], ["<^>", "a"]]),
    ):
        found = sequences_of_pairs([["<V>", *source], "x"], [target, "x"])[0]
        assert [name.split("\t") for name in found] == [ends[0], *middle, ends[1]]
    tokens = sequences_of_pairs([["the", "a", "cat"], ["the", "c"]], ["x", "y"])
    assert all(name.count("\t") == 1 for string in tokens for name in string)


def test_tokens_are_no_contexts_whatever_comes_with_them() -> None:
    rows = [(["die", "e"], "die e"), (["der", "r"], "der r"), (["das", "s"], "das s")] * 10
    found = []
    for more in ([], [(["die", "der"], "die der")] * 3):
        model = StringTransducer(4, basis=40).fit(*zip(*rows, *more, strict=True))
        found.append(model.predict([x for x, _ in rows[:3]]))
    assert found[0] == found[1] == ["die e", "der r", "das s"]


def test_a_context_that_was_never_seen_says_nothing() -> None:
    model = StringTransducer(4, basis=40).fit(
        [["<V>", *"ab"], ["<N>", *"ba"]] * 10, ["ab", "ba"] * 10
    )
    assert model.predict([["<X>", *"ab"]]) == model.predict(["ab"]) == ["ab"]


def test_marks_of_the_ends_are_no_symbols() -> None:
    with pytest.raises(DataError, match="marks of its ends"):
        StringTransducer(4, basis=40).fit([["<^>", "a"]] * 10, ["a"] * 10)
    model = StringTransducer(4, basis=40).fit(["ab", "ba"] * 10, ["ab", "ba"] * 10)
    assert model.predict([["a", "<$>", "b"]]) == ["a<$>b"]


@pytest.mark.parametrize("n", [3, 99, 100, 101, 552, 900])
def test_long_pairs_of_two_alphabets_are_aligned(n: int) -> None:
    """Those of more than a hundred symbols by rule: their products would vanish."""
    rng = np.random.default_rng(n)
    source = "".join(rng.choice(list("abcdefgh"), n))
    target = source.translate(str.maketrans("abcdefgh", "αβγδεζηθ"))
    costs = learned_costs([(source, target)])
    assert (costs is EDITS) == (n > 100)
    assert np.isfinite([0.0, *costs.learned.values()]).all()
    assert "".join(y for _, y in aligned(source, target, costs)) == target


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_the_mixture_is_found_by_enumeration(weight: float) -> None:
    """All sequences of pairs of an input, each with the product of its mixed shares."""
    pairs = [("ab", "a"), ("b", "bb"), ("aa", "b"), ("ba", "ab"), ("bb", "b")] * 8
    sources, targets = ([["<T>", *x] for x, _ in pairs], [y for _, y in pairs])
    model = StringTransducer(4, basis=40, order=3, beam=2000, ngram_weight=weight)
    model.fit(sources, targets)
    names = model.automaton_.symbols_.names
    number = {name: at for at, name in enumerate(names)}
    for source in ("a", "ab", "ba"):
        by_symbol = [
            [name for name in names if name.startswith(f"{symbol}\t")]
            for symbol in ("<T>", "<$>", *reversed(source), "<^>", "<T>")
        ]
        scores: dict[str, float] = {}
        for string in product(*by_symbol):
            p, begun = 1.0, [BEFORE] * 2
            for at, name in enumerate([*string, STOP]):
                own = model.automaton_.next_symbols([string[:at]])[0][number[name]]
                grams = model.ngrams_.shares(tuple(begun[-2:]))[number[name]]
                p *= (1 - weight) * own + weight * grams
                begun.append(number[name])
            output = "".join(name.split("\t")[1] for name in reversed(string))
            scores[output] = max(p, scores.get(output, 0.0))
        found = {one.output: np.exp(one.log_score) for one in model.kbest(["<T>", *source], 2000)}
        assert found.keys() == scores.keys()
        for output, p in scores.items():
            assert found[output] == pytest.approx(p, rel=1e-6, abs=1e-12)


def test_ngrams_are_distributions_by_the_definition() -> None:
    rng = np.random.default_rng(0)
    strings = [(*rng.integers(0, 3, rng.integers(0, 6)).tolist(), 3) for _ in range(50)]
    model = KneserNey.counted(strings, order=2, n_symbols=5)
    marked = [(BEFORE, *string) for string in strings]
    bigrams = [pair for string in marked for pair in pairwise(string)]
    kinds = {x: len({a for a, b in bigrams if b == x}) for x in range(5)}
    all_kinds, heard = len(set(bigrams)), sum(n > 0 for n in kinds.values())
    for before in (BEFORE, 0, 1, 2):
        behind = [b for a, b in bigrams if a == before]
        shares = model.shares((before,))
        assert shares.sum() == pytest.approx(1)
        for x in range(5):
            below = (max(kinds[x] - 0.75, 0) + 0.75 * heard / 5) / all_kinds
            own = max(behind.count(x) - 0.75, 0) + 0.75 * len(set(behind)) * below
            assert shares[x] == pytest.approx(own / len(behind))
    np.testing.assert_array_equal(model.shares((4,)), model.shares(()))


def test_the_weight_of_ngrams_is_given_or_chosen(tmp_path: Path) -> None:
    model = StringTransducer(8, basis=60).fit(FORMS * 10, LEMMAS * 10)
    assert model.weight_ in (0.0, 0.5, 0.8, 0.9, 0.95, 1.0)
    assert model.figures()["ngram_weight"] == model.weight_
    alone = StringTransducer(8, basis=60, ngram_weight=0.0).fit(FORMS * 10, LEMMAS * 10)
    assert alone.weight_ == 0
    model.ngram_weight = 0.0
    assert model.kbest("walks") == alone.kbest("walks")
    model.save(tmp_path / "t.eig")
    assert load(tmp_path / "t.eig").kbest("walks") == alone.kbest("walks")
    with pytest.raises(SettingsError, match="ngram_weight"):
        StringTransducer(ngram_weight=2.0).fit(FORMS, LEMMAS)
    for arrays, why in (
        ({"grams": model.ngrams_.grams + 1000}, "'grams': expected numbers of"),
        ({"gram_counts": None}, "'gram_counts'"),
    ):
        with pytest.raises(ModelFileError, match=why):
            StringTransducer.from_bytes(changed(model, arrays=arrays))


PAIRS = ["a\ta", "a\tb", "b\tb", "b\t"]


def known_transducer(seed: int) -> tuple[StringTransducer, Automaton]:
    """One of known automaton over four pairs: learned from its exact Hankel block."""
    rng = np.random.default_rng(seed)
    leaving = rng.random((2, 9)) + 0.02
    leaving /= leaving.sum(axis=1, keepdims=True)
    true = known_automaton(
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


def test_the_score_of_an_output_is_that_of_its_best_sequence_of_pairs() -> None:
    model, true = known_transducer(0)
    sequences = [
        string
        for string in product(range(4), repeat=4)
        if "".join(PAIRS[x][0] for x in string) == "abab"
    ]
    by_output: dict[str, list[float]] = {}
    for string in sequences:
        by_output.setdefault("".join(PAIRS[x][2:] for x in string), []).append(true.weight(string))
    several = [output for output, weights in by_output.items() if len(weights) > 1]
    assert several
    found = {one.output: np.exp(one.log_score) for one in model.kbest("abab", 100)}
    for output in several:
        assert found[output] == pytest.approx(max(by_output[output]), rel=1e-6)
        assert found[output] < 0.999 * sum(by_output[output])
    assert "best sequence of pairs" in (Transduced.__doc__ or "")


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
