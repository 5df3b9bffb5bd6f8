"""Rivals: chains equal enumeration, gradients equal differences, nothing leaks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from rivals import chain_kernels
from rivals.chains import ChainModel, Lattice, _Learner
from rivals.ranking import ElementClassifiers, fit_mixture

from eigentext.base.model import NotFittedError
from eigentext.errors import SettingsError
from eigentext.evaluate.ranking import in_order
from eigentext.lexical.crossval import MostFrequent, evaluate_ranker, label_counts
from eigentext.lexical.documents import LexDocument, LexWord

METHODS = ("crf", "mira", "perceptron")


class Tiny:
    """One sentence with a few rows in fewer classes, and random scores."""

    def __init__(self, seed, *, ties=False):
        chance = np.random.default_rng(seed)
        n = int(chance.integers(1, 5))
        sizes = chance.integers(1, 4, n)
        self.n = n
        self.first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        class_of, counts = [], []
        for size in sizes.tolist():
            own = chance.integers(0, 2, size)
            own = np.unique(own, return_inverse=True)[1]
            class_of += (own + sum(counts)).tolist()
            counts.append(int(own.max()) + 1)
        self.class_of = np.array(class_of, np.int64)
        self.class_first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.offset = np.zeros(n + 1, np.int64)
        blocks = self.class_first[1:] - self.class_first[:-1]
        np.cumsum(blocks[:-1] * blocks[1:], out=self.offset[2:])
        draw = (lambda k: chance.integers(0, 2, k).astype(float)) if ties else chance.normal
        self.rows = draw(size=self.first[-1]) if not ties else draw(int(self.first[-1]))
        width = int(self.offset[-1])
        self.trans = draw(width) if ties else draw(size=width)
        self.only = np.full(n, -1, np.int64)
        if chance.random() < 0.5:
            word = int(chance.integers(0, n))
            self.only[word] = chance.integers(self.first[word], self.first[word + 1])

    def pair(self, word, left, right):
        """Where the classes of two rows stand, the second being this word's."""
        a, b = self.class_of[left], self.class_of[right]
        width = self.class_first[word + 1] - self.class_first[word]
        row = (a - self.class_first[word - 1]) * width
        return int(self.offset[word] - self.offset[1] + row + b - self.class_first[word])

    def paths(self):
        allowed = [
            [r for r in range(self.first[w], self.first[w + 1]) if self.only[w] in (-1, r)]
            for w in range(self.n)
        ]
        return list(itertools.product(*allowed))

    def score(self, path):
        total = sum(self.rows[row] for row in path)
        for word in range(1, self.n):
            total += self.trans[self.pair(word, path[word - 1], path[word])]
        return total

    def chain(self, *, maximum):
        rooms = [np.zeros(int(self.class_first[-1])) for _ in range(3)]
        total = chain_kernels.chain(
            0,
            self.n,
            self.first,
            self.class_of,
            self.class_first,
            self.rows,
            self.only,
            self.offset,
            self.trans,
            maximum,
            *rooms,
        )
        beliefs = np.zeros(len(self.rows))
        chain_kernels.row_beliefs(
            0, self.n, self.first, self.class_of, self.rows, self.only, *rooms, beliefs
        )
        return total, beliefs, rooms


@pytest.mark.parametrize("seed", range(25))
def test_forward_backward_equals_enumeration(seed):
    tiny = Tiny(seed)
    total, beliefs, rooms = tiny.chain(maximum=False)
    paths = tiny.paths()
    raised = np.exp([tiny.score(path) for path in paths])
    assert total == pytest.approx(np.log(raised.sum()), abs=1e-9)
    rows, pairs = np.zeros(len(tiny.rows)), np.zeros(len(tiny.trans))
    for path, share in zip(paths, raised / raised.sum(), strict=True):
        rows[list(path)] += share
        for word in range(1, tiny.n):
            pairs[tiny.pair(word, path[word - 1], path[word])] += share
    np.testing.assert_allclose(np.exp(beliefs - total), rows, atol=1e-9)
    found = np.zeros(len(tiny.trans))
    chain_kernels.expectations(
        0, tiny.n, tiny.class_first, tiny.offset, tiny.trans, *rooms, total, 1.0, found
    )
    np.testing.assert_allclose(found, pairs, atol=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_viterbi_and_max_marginals_equal_enumeration(seed):
    tiny = Tiny(seed, ties=seed % 3 == 0)
    total, beliefs, (class_score, alpha, _) = tiny.chain(maximum=True)
    scores = {path: tiny.score(path) for path in tiny.paths()}
    assert total == pytest.approx(max(scores.values()), abs=1e-9)
    for row in range(len(tiny.rows)):
        through = [s for path, s in scores.items() if row in path]
        assert beliefs[row] == pytest.approx(max(through, default=-np.inf), abs=1e-9)
    best = np.zeros(tiny.n, np.int64)
    rows, pairs = np.zeros(len(tiny.rows)), np.zeros(len(tiny.trans))
    chain_kernels.best_path(
        0,
        tiny.n,
        tiny.first,
        tiny.class_of,
        tiny.class_first,
        tiny.rows,
        tiny.only,
        tiny.offset,
        tiny.trans,
        class_score,
        alpha,
        1.0,
        best,
        rows,
        pairs,
    )
    assert scores[tuple(best.tolist())] == pytest.approx(total, abs=1e-9)
    assert rows[best].tolist() == [1.0] * tiny.n
    assert rows.sum() == tiny.n
    for word in range(1, tiny.n):
        assert pairs[tiny.pair(word, best[word - 1], best[word])] == 1.0


def chain_model(language, method="crf", **settings):
    chosen = {"bits": 12, "epochs": 2, **settings}
    return ChainModel(
        method=method, analyzer=language.analyzer(), scheme=language.scheme, **chosen
    )


def test_crf_gradient_equals_differences(language):
    model = chain_model(language, epochs=1).fit(language.documents(3, sentences=2))
    encoded = model.encoder_(language.documents(1, seed=5), model.observed_)
    encoded.gold_row[2] = -1  # a word without gold is free
    learner = _Learner(model, model._work(encoded))
    begin, end = learner.work.lattice.sentences[0]
    learner.shares(begin, end)
    numeric = np.zeros_like(model.numeric_)
    places = learner.touched[: learner.gather(begin, end, numeric)].copy()
    gradient = learner.delta[places].copy()
    strong = np.argsort(-np.abs(gradient))
    tried = strong[:: max(1, len(strong) // 25)]
    pairs = np.flatnonzero(places >= 1 << model.bits)
    tried = np.concatenate([tried, pairs[np.argsort(-np.abs(gradient[pairs]))[:10]]])
    assert (np.abs(gradient[tried]) > 1e-3).any()
    for chosen in tried.tolist():
        place, step = places[chosen], 2.0**-6
        kept = model.weights_[place]
        model.weights_[place] = kept + step
        more = learner.shares(begin, end)
        model.weights_[place] = kept - step
        less = learner.shares(begin, end)
        model.weights_[place] = kept
        assert (more - less) / (2 * step) == pytest.approx(gradient[chosen], abs=2e-3, rel=1e-2)
    for column in range(len(numeric)):
        model.numeric_[column] += 1e-3
        more = learner.shares(begin, end)
        model.numeric_[column] -= 2e-3
        less = learner.shares(begin, end)
        model.numeric_[column] += 1e-3
        assert (more - less) / 2e-3 == pytest.approx(numeric[column], abs=1e-3)


def test_mira_gap_is_loss_less_margin(language):
    model = chain_model(language, "mira", epochs=1).fit(language.documents(2, sentences=1))
    model.weights_[:] = np.random.default_rng(0).normal(size=len(model.weights_))
    encoded = model.encoder_(language.documents(2, seed=3), model.observed_)
    learner = _Learner(model, model._work(encoded))
    for begin, end in learner.work.lattice.sentences:
        gap, wrong = learner.paths(begin, end)
        best, gold = (found[begin:end] for found in learner.best)
        known = encoded.gold_row[begin:end] >= 0
        assert gold[known].tolist() == encoded.gold_row[begin:end][known].tolist()
        assert wrong == int((best != gold)[known].sum())
        assert gap >= -1e-6
        if wrong == 0:
            assert gap == pytest.approx(0.0, abs=1e-6)


def test_a_step_of_mira_closes_the_gap(language):
    """The smallest change that puts gold as far above as the other path is wrong."""
    model = chain_model(language, "mira", epochs=1, limit=1e9)
    model.fit(language.documents(2, sentences=1))
    model.weights_[:] = np.random.default_rng(1).normal(size=len(model.weights_))
    encoded = model.encoder_(language.documents(1, seed=4, sentences=1), model.observed_)
    learner = _Learner(model, model._work(encoded))
    begin, end = learner.work.lattice.sentences[0]
    gaps = []
    for _ in range(60):
        gap, wrong = learner.paths(begin, end)
        gaps.append(gap)
        if not wrong:
            break
        learner.step(begin, end)
    assert gaps[0] > 0.5
    assert gaps[-1] == pytest.approx(0.0, abs=1e-3)


def test_classes_gather_rows_that_differ_in_the_lemma_only(language):
    model = chain_model(language)
    given = language.documents(2)
    model.fit(given)
    encoded = model.encoder_(given, model.observed_)
    morph = model.targets_.names.index("morph")
    lattice = Lattice.of(encoded, morph)
    assert len(lattice.sentences) == sum(len(d.sentences) for d in given)
    for word in range(len(encoded.words)):
        rows = range(encoded.first[word], encoded.first[word + 1])
        own = range(lattice.class_first[word], lattice.class_first[word + 1])
        assert {lattice.class_of[r] for r in rows} == set(own)
        for a, b in itertools.combinations(rows, 2):
            same = encoded.row_hash[a, morph] == encoded.row_hash[b, morph]
            assert (lattice.class_of[a] == lattice.class_of[b]) == same
        for row in rows:
            assert lattice.values[lattice.class_of[row], morph] == encoded.row_hash[row, morph]


@pytest.mark.parametrize("method", METHODS)
def test_chains_learn_from_context(language, method):
    model = chain_model(language, method).fit(language.documents(15))
    result = evaluate_ranker(model, language.documents(4, seed=8))
    assert result.scores.full.a1 == 100.0
    if method == "crf":
        encoded, found = model.score_documents(language.documents(2, seed=8))
        shares = np.add.reduceat(np.exp(found), encoded.first[:-1])
        np.testing.assert_allclose(shares, 1.0, atol=1e-9)


def test_pairs_of_labels_are_learned(language):
    """With no view of the neighbours' forms, only the pairs tell."""
    model = chain_model(language, templates=("form@0",), epochs=6)
    result = evaluate_ranker(model.fit(language.documents(15)), language.documents(4, seed=8))
    most = MostFrequent(analyzer=language.analyzer(), scheme=language.scheme)
    base = evaluate_ranker(most.fit(language.documents(15)), language.documents(4, seed=8))
    assert result.scores.full.a1 > base.scores.full.a1 + 10


def test_most_frequent_known_answers(language):
    noun, verb = language.label("x", "NOUN", "Nom"), language.label("x", "VERB")
    lines = [[LexWord("x", verb), LexWord("x", noun), LexWord("x", verb), LexWord("x")]]
    rival = MostFrequent(analyzer=language.analyzer(), scheme=language.scheme)
    rival.fit([LexDocument("d", lines)])
    assert label_counts([LexDocument("d", lines)])["x"] == {verb: 2, noun: 1}
    assert [label for label, _ in rival.rank(["x"])[0]][:2] == [verb, noun]
    new = rival.rank([language.nouns[0]])[0]  # never seen, no priors: ties by the fixed hash
    labels = [label for label, _ in new]
    assert len({score for _, score in new}) == 1
    assert labels == in_order(labels[::-1], [0.0] * len(labels))


def test_classifiers_of_elements_learn(language):
    rival = ElementClassifiers(analyzer=language.analyzer(), scheme=language.scheme, bits=12)
    rival.fit(language.documents(20))
    assert evaluate_ranker(rival, language.documents(4, seed=8)).scores.full.a1 == 100.0
    case = rival.scheme_.elements.index("Case")
    assert rival.mixture_[[rival.columns_.index(c) for c in rival.columns_]][case] > 0


def test_mixture_without_words_is_plain(language):
    _, encoded = language.encoded(language.documents(1))
    columns = np.zeros((len(encoded.row_hash), 3))
    assert fit_mixture(encoded, columns, np.zeros(0, np.int64)).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("method", ["crf", "mira"])
def test_gold_of_test_documents_is_not_looked_at(language, method):
    model = chain_model(language, method).fit(language.documents(6))
    test = language.documents(2, seed=8)
    canary = language.label("canary", "X")
    planted = [
        LexDocument(d.id, [[LexWord(w.form, canary, w.scored) for w in s] for s in d.sentences])
        for d in test
    ]
    for rival in (model, MostFrequent(analyzer=language.analyzer(), scheme=language.scheme)):
        if rival is not model:
            rival.fit(language.documents(6))
        encoded, found = rival.score_documents(planted)
        np.testing.assert_array_equal(found, rival.score_documents(test)[1])
        assert all(c.label != canary for word in encoded.candidates for c in word)


def test_own_document_labels_are_no_candidates(language):
    """A label that only one document showed is free to its words, not a row of theirs."""
    given = language.documents(3)
    odd = language.label("odd", "X")
    given[0].sentences[0][0] = LexWord(language.nouns[0], odd)
    model = chain_model(language, epochs=1)
    seen = []
    model._learn = lambda encoded, documents: seen.append(encoded)
    model.fit(given)
    assert seen[0].gold_row[0] == -1


def test_bad_settings(language):
    with pytest.raises(SettingsError, match="method"):
        ChainModel(method="svm")
    with pytest.raises(SettingsError, match="bits"):
        ChainModel(bits=0)
    with pytest.raises(NotFittedError, match="call fit"):
        chain_model(language).rank(["a"])
    with pytest.raises(SettingsError, match="nothing to learn"):
        chain_model(language).fit([])
    with pytest.raises(SettingsError, match="list of tokens"):
        MostFrequent().rank("a b")
