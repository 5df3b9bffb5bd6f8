"""Anchor HMMs: exact moments, anchors, points of a hull, and what text needs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eigentext.errors import DataError, RankError, SettingsError
from eigentext.features.signatures import signatures
from eigentext.sequences import HMM, Encoded, Parameters
from eigentext.sequences.hmm.inference import sample
from eigentext.sequences.spectral.anchors import (
    EXACT,
    AnchorChoices,
    NeighbourCounts,
    _nonnegative,
    anchor_hmm,
    drawn_together,
    find_anchors,
    small_forms,
)
from oracle.hmm_moments import exact_contexts


def planted(seed, k, V, *, anchors_of_each=1):
    """An anchor HMM; its anchors are its last symbols, those of state 0 first."""
    rng = np.random.default_rng(seed)
    own = k * anchors_of_each
    O = np.zeros((k, V))  # noqa: E741
    O[:, : V - own] = rng.dirichlet(np.full(V - own, 0.7), k) * 0.8
    for state in range(k):
        first = V - own + state * anchors_of_each
        O[state, first : first + anchors_of_each] = 0.2 * rng.dirichlet(np.ones(anchors_of_each))
    T = rng.dirichlet(np.full(k, 0.7), k) * 0.9 + 0.1 / k
    return Parameters(rng.dirichlet(np.ones(k)), T, O)


def reordered(found, true):
    """The parameters that were found, with the states in the order of the true ones."""
    order = [int(np.argmax(found.parameters.emission[:, x])) for x in anchors_in(found, true)]
    p = found.parameters
    return Parameters(p.initial[order], p.transition[np.ix_(order, order)], p.emission[order])


def anchors_in(found, true):
    """One anchor of each true state, of those that were found."""
    state_of = {int(x): int(np.argmax(true.emission[:, x])) for x in found.anchors}
    by_state = {state: x for x, state in state_of.items()}
    return [by_state[state] for state in range(true.n_states)]


@pytest.mark.parametrize("length", [4, 15])
@pytest.mark.parametrize(("k", "V", "each"), [(1, 4, 1), (2, 6, 1), (4, 20, 1), (6, 40, 3)])
def test_the_parameters_come_back_from_exact_moments(k, V, each, length):
    true = planted(k, k, V, anchors_of_each=each)
    found = anchor_hmm(exact_contexts(true, length), k, choices=EXACT)
    if k > 1:  # with one state every word is an anchor
        assert (np.sum(true.emission[:, found.anchors] > 0, axis=0) == 1).all()
    got = reordered(found, true)
    for name in ("initial", "transition", "emission"):
        np.testing.assert_allclose(getattr(got, name), getattr(true, name), atol=1e-8)


def test_scaling_keeps_the_answer_exact():
    true = planted(3, 3, 12)
    scaled = replace(EXACT, kappa=30.0)
    got = reordered(anchor_hmm(exact_contexts(true, 9), 3, choices=scaled), true)
    np.testing.assert_allclose(got.emission, true.emission, atol=1e-8)


def test_anchors_that_are_averaged_keep_the_answer_exact():
    true = planted(4, 3, 14, anchors_of_each=2)
    averaged = replace(EXACT, rounds=2, share=0.999999)
    got = reordered(anchor_hmm(exact_contexts(true, 9), 3, choices=averaged), true)
    np.testing.assert_allclose(got.transition, true.transition, atol=1e-8)


def test_more_data_come_nearer_to_the_truth():
    true = planted(5, 3, 9)
    errors = []
    for n in (300, 30_000):
        data = sample(true, n, 12, 1)
        found = anchor_hmm(NeighbourCounts.of(data, 9), 3, choices=replace(EXACT, weight=0.5))
        errors.append(np.abs(reordered(found, true).emission - true.emission).max())
    assert errors[1] < errors[0] / 2
    assert errors[1] < 0.05


def test_contexts_are_those_of_the_expectation():
    true = planted(6, 2, 5)
    exact, drawn = exact_contexts(true, 3), NeighbourCounts.of(sample(true, 100_000, 3, 1), 5)
    np.testing.assert_allclose(drawn.beside.toarray() / 1e5, exact.beside.toarray(), atol=0.01)
    np.testing.assert_allclose(drawn.beside.sum(axis=1), 2 * drawn.counts)


def test_of_symbols_that_are_alike_the_first_is_the_anchor():
    corners = np.array([[1.0, 0.0], [1.0, 1e-14], [0.0, 1.0], [0.0, 1.0 + 1e-14], [0.5, 0.5]])
    assert find_anchors(corners, np.array([1.0, 1, 1, 1, 2]), 2).tolist() == [0, 2]


def test_fewer_directions_than_states_are_an_error():
    text = Encoded.of([[0, 1] * 5, [1, 0] * 5])
    with pytest.raises(RankError, match="rank 3 was asked for"):
        anchor_hmm(NeighbourCounts.of(text, 2), 3)
    with pytest.raises(SettingsError, match="k 0"):
        anchor_hmm(NeighbourCounts.of(text, 2), 0)
    with pytest.raises(DataError, match="no tokens"):
        NeighbourCounts.of(Encoded.of([[]]), 2)


def test_sequences_of_one_symbol_and_symbols_that_never_occur():
    found = anchor_hmm(
        NeighbourCounts.of(Encoded.of([[0], [1], [0]]), 3), 1, names=["a", "b", "<unk>"]
    )
    np.testing.assert_allclose(found.parameters.emission.sum(), 1)
    assert found.parameters.emission[0, 2] > 0


WORDS = {
    "D": ["the", "a", "my", "this"],
    "N": ["cat", "dog", "cow", "sun", "hat", "pig"],
    "V": ["walked", "talked", "jumped", "looked"],
}


def drawn_text(n, seed=0):
    """Sentences of the pattern D N V (D N), with their tags; some words are seen once."""
    rng = np.random.default_rng(seed)
    text, tags = [], []
    for number in range(n):
        kinds = "DNVDN" if rng.random() < 0.6 else "DNV"
        words = [str(rng.choice(WORDS[kind])) for kind in kinds]
        if number % 5 == 0:  # words that only their looks can tell
            words[2] = f"{chr(97 + number % 23)}{chr(97 + number % 19)}rked"
        text.append(words)
        tags.append(list(kinds))
    return text, tags


def test_states_of_text_are_its_parts_of_speech_and_looks_tell_rare_words():
    text, tags = drawn_text(200)
    model = HMM(3, estimator="anchor", min_count=1, language="generic").fit(text)
    assert model.history_ == ()  # no EM
    states = [(tag, state) for t, p in zip(tags, model.predict(text), strict=True)
              for tag, state in zip(t, p.tolist(), strict=True)]  # fmt: skip
    assert len(set(states)) == 3  # each tag has a state of its own
    new = model.predict([["the", "dog", "barked"]])[0].tolist()
    assert new == model.predict([["my", "cat", "walked"]])[0].tolist()


def test_the_same_answer_every_time_and_after_loading(tmp_path):
    text, _ = drawn_text(150)
    made = [HMM(3, estimator="anchor", n_iter=2).fit(text) for _ in range(2)]
    path = tmp_path / "anchor.hmm"
    made[0].save(path)
    loaded = HMM.load(path)
    for other in (made[1], loaded):
        for name in ("initial", "transition", "emission"):
            np.testing.assert_array_equal(
                getattr(made[0].parameters_, name), getattr(other.parameters_, name)
            )
    assert len(loaded.history_) == 2
    assert loaded.estimator == "anchor"


def test_no_seed_changes_the_answer():
    true = planted(7, 5, 1200)
    text = sample(true, 400, 30, 1)
    found = [anchor_hmm(NeighbourCounts.of(text, 1200), 5, seed=seed) for seed in (0, 1, 5)]
    for other in found[1:]:
        np.testing.assert_array_equal(other.anchors, found[0].anchors)
        np.testing.assert_allclose(other.states, found[0].states, atol=1e-6)


def test_senses_bound_the_states_of_a_word():
    text, _ = drawn_text(150)
    data = Encoded.of([[hash_of(word) for word in words] for words in text])
    for senses in (1, 2):
        choices = AnchorChoices(senses=senses)
        states = anchor_hmm(NeighbourCounts.of(data, 14), 3, choices=choices).states
        assert (np.sum(states > 0, axis=1) <= senses).all()


def hash_of(word):
    known = [word for words in WORDS.values() for word in words]
    return known.index(word) if word in known else len(WORDS["D"])


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"start": "random"}, "needs no start: found start 'random'"),
        ({"parameters": Parameters.random(3, 4)}, "needs no start: found parameters"),
        ({"senses": 0}, "senses is 0"),
        ({"estimator": "anchors"}, "expected 'em' or 'anchor'"),
        ({"estimator": "em", "senses": 2}, "senses is of estimator 'anchor'"),
        ({"estimator": "em", "looks": False}, "looks is of estimator 'anchor'"),
    ],
)
def test_settings_that_do_not_go_together(choice, message):
    with pytest.raises(SettingsError, match=message):
        HMM(3, **{"estimator": "anchor", **choice}).check()


@pytest.mark.requires("data")
def test_states_of_a_treebank_are_nearer_to_its_tags_than_one_start_of_em(data: Path):
    from eigentext.evaluate.clustering import contingency, many_to_one, v_measure
    from eigentext.tagging.sequence.reading import read_tagged

    source = str(data / "dependency" / "hu-szeged" / "train.conllu")
    tokens, tags, _ = read_tagged([source], scheme="plain")
    flat = [tag for sentence in tags for tag in sentence]
    figures = {}
    for name, model in {
        "anchor": HMM(16, estimator="anchor", language="generic"),
        "em": HMM(16, start="random", n_iter=20, language="generic"),
    }.items():
        states = np.concatenate(model.fit(tokens).predict(tokens))
        table = contingency(states, flat)
        figures[name] = (many_to_one(table), v_measure(table))
    assert figures["anchor"][0] > 0.6 > figures["em"][0] + 0.1
    assert figures["anchor"][1] > 0.45 > figures["em"][1] + 0.1


def test_the_example_of_the_page_runs():
    page = Path(__file__).parents[2] / "docs" / "guide" / "anchor-hmm.md"
    lines = page.read_text(encoding="utf-8").split("\n")
    code = "\n".join(line[4:] for line in lines if line.startswith("    "))
    names: dict[str, HMM] = {}
    exec(code, names)
    assert len(set(names["model"].predict([["my", "dog", "sat"]])[0].tolist())) == 3


def cased_text(n, seed=0):
    """Sentences of the same pattern that begin with a capital, and with marks of both kinds."""
    text, tags = drawn_text(n, seed)
    rng = np.random.default_rng(seed + 1)
    for words, kinds in zip(text, tags, strict=True):
        words[0] = words[0].capitalize()
        if len(words) > 3:  # a comma where a determiner might stand, for contexts to mistake
            words.insert(3, ",")
            kinds.insert(3, "P")
        words.append(str(rng.choice([".", "!"])))
        kinds.append("P")
    return text, tags


def test_marks_have_a_state_and_the_first_capital_has_none():
    text, tags = cased_text(300)
    model = HMM(4, estimator="anchor", min_count=1, language="generic").fit(text)
    names = model.symbols_.names
    contexts = NeighbourCounts.of(model.symbols_.encode(text), len(names))
    found = anchor_hmm(contexts, 4, names=names, choices=AnchorChoices(senses=None))
    at = {name: found.states[i] for i, name in enumerate(names)}
    for mark in (",", ".", "!"):
        np.testing.assert_array_equal(at[mark], [0, 0, 0, 1])
    for word in WORDS["D"]:
        np.testing.assert_array_equal(at[word.capitalize()], at[word])
        assert at[word][3] == 0
    assert names[found.anchors[3]] in (",", ".", "!")
    assert len(set(found.anchors.tolist())) == 4
    pairs = {(tag, state) for t, p in zip(tags, model.predict(text), strict=True)
             for tag, state in zip(t, p.tolist(), strict=True)}  # fmt: skip
    assert len(pairs) == 4  # each kind of word has a state of its own, marks too


def test_joined_contexts_are_those_of_the_joined_text():
    rng = np.random.default_rng(3)
    text = [rng.integers(0, 5, rng.integers(1, 6)).tolist() for _ in range(40)]
    to = np.array([0, 1, 0, 3, 1])
    joined = NeighbourCounts.of(Encoded.of(text), 5).joined(to)
    expected = NeighbourCounts.of(Encoded.of([to[words].tolist() for words in text]), 5)
    for name in ("first", "counts"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(expected, name))
    for name in ("pairs", "beside"):
        np.testing.assert_array_equal(
            getattr(joined, name).toarray(), getattr(expected, name).toarray()
        )


@pytest.mark.parametrize("text", [[["."]], [[".", "!"], ["?"]], [["a", "."]], [["a"], ["."]]])
def test_texts_of_marks_and_little_else(text):
    model = HMM(1, estimator="anchor", min_count=1, language="generic").fit(text)
    assert model.predict(text)[0].tolist() == [0] * len(text[0])


def test_a_text_of_marks_alone_has_as_many_states_as_without_looks():
    drawn = sample(planted(9, 3, 8), 200, 9, 1)
    contexts, names = NeighbourCounts.of(drawn, 9), [*".,!?;:/-", "<unk>"]
    found = [anchor_hmm(contexts, 3, names=those) for those in (names, ())]
    for model in found:
        assert len(set(model.anchors.tolist())) == 3
        assert np.isfinite(model.states).all()
        assert (model.states[:8].sum(axis=0) > 0).all()  # no state is without a symbol


def test_marks_and_two_words_have_three_states_at_most():
    rng = np.random.default_rng(0)
    text = [rng.integers(0, 5, 8).tolist() for _ in range(60)]
    contexts, names = NeighbourCounts.of(Encoded.of(text), 5), [".", ",", "!", "a", "b"]
    found = anchor_hmm(contexts, 3, names=names)
    assert {names[x] for x in found.anchors.tolist()[:2]} == {"a", "b"}
    with pytest.raises(RankError, match="rank 3, but rank 4 was asked for"):
        anchor_hmm(contexts, 4, names=names)


def test_a_state_that_shows_nothing_follows_nothing():
    R, P = np.diag([2.0, 0.0]), np.array([[4.0, 1.0], [1.0, 1.0]])
    np.testing.assert_allclose(_nonnegative(R, P), [[1.0, 0.0], [0.0, 0.0]], atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_transitions_are_nonnegative_least_squares(seed):
    """Beside the textbook's active sets, on k^2 numbers at once."""
    from scipy.optimize import nnls

    rng = np.random.default_rng(seed)
    k = 6
    R, P = np.triu(rng.standard_normal((k, k))) + 2 * np.eye(k), rng.standard_normal((k, k))
    R *= rng.uniform(0.01, 10, k)  # rare and frequent states
    want = nnls(np.kron(R, R), P.ravel(), maxiter=10_000)[0].reshape(k, k)
    scale = np.linalg.norm(R, axis=0)
    got = _nonnegative(R, P)
    assert (got >= 0).all()
    assert (want == 0).any()  # the bound is felt
    np.testing.assert_allclose(got * np.outer(scale, scale), want * np.outer(scale, scale),
                               atol=1e-5)  # fmt: skip


def test_many_states_are_learned_in_little_time():
    true = planted(8, 60, 300)
    found = anchor_hmm(exact_contexts(true, 5), 60, choices=EXACT)
    got = reordered(found, true)
    np.testing.assert_allclose(got.transition, true.transition, atol=1e-6)


# ---------------------------------------------------------------- looks


def test_rare_symbols_are_drawn_to_what_looks_alike_level_by_level():
    """The formula of the docstring, written out for words with two levels of signatures."""
    names = ["walked", "talked", "went", "7"]
    chains = [signatures(name, language="generic") for name in names]
    v = np.array([[1.0, 0.0], [3.0, 1.0], [-2.0, 5.0], [0.0, -4.0]])
    n, prior = np.array([2.0, 40.0, 7.0, 1.0]), 20.0
    w = prior * n / (n + prior)
    everything = (w @ v) / w.sum()

    def mean(s, depth):
        """m_s; ``depth`` is how many coarser ones come before the mean of all."""
        has = np.array([s in chain for chain in chains])
        chain = next(chain for chain in chains if s in chain)
        coarser = chain[chain.index(s) + 1 :]
        below = mean(coarser[0], depth + 1) if coarser else everything
        return ((w * has) @ v + prior * below) / ((w * has).sum() + prior)

    want = [
        (n[x] * v[x] + prior * mean(chains[x][0], 0)) / (n[x] + prior) for x in range(len(names))
    ]
    assert len(chains[0]) > 1
    assert chains[0][0] == chains[1][0] != chains[2][0]
    np.testing.assert_allclose(drawn_together(v, n, names, "generic", prior), want, rtol=1e-12)


def test_a_capital_of_the_beginning_is_none_in_turkish_too():
    names = ["için", "İçin", "ısı", "Isı", "iyi", "Iyi", "Ankara", "ankara"]
    first = np.array([0.0, 5, 0, 5, 0, 5, 1, 0])
    counts = np.array([9.0, 5, 9, 6, 9, 5, 9, 2])
    assert small_forms(names, first, counts).tolist() == [0, 0, 2, 2, 4, 4, 6, 7]
