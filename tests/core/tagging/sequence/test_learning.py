"""Training and search against plain twins: dictionaries, sums after every token, enumeration."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pytest

from eigentext.tagging.sequence import SequenceTagger, perceptron
from eigentext.tagging.sequence.selection import cross_validated
from oracle.tagger_keys import plain_keys

BIO = ["O", "B-P", "I-P"]


def random_data(rng, n_sentences, tags, longest=7):
    X, y = [], []
    for _ in range(n_sentences):
        length = int(rng.integers(1, longest + 1))
        X.append(
            [f"{'Aab'[rng.integers(3)]}w{'abcdefghijkl'[rng.integers(12)]}" for _ in range(length)]
        )
        row = []
        for _ in range(length):
            tag = tags[rng.integers(len(tags))]
            if tag == "I-P" and (not row or row[-1] == "O"):
                tag = "B-P"
            row.append(tag)
        y.append(row)
    return X, y


def names_at(keys, templates, t1, t2):
    """What a token shows: static keys, and keys with the tags before."""
    names = [key for key in keys[: templates.n_static] if key]
    for n_tags, key in zip(templates.n_tags, keys[templates.n_static :], strict=True):
        if key:
            names.append((key, t1) if n_tags == 1 else (key, t1, t2))
    return names


def naive(tagger, X, y):
    """The perceptron with dictionaries; the average is the mean over all tokens, summed anew."""
    templates, tag_set = tagger.templates_, tagger.tag_set_
    n = len(tag_set.inside)
    all_keys = [plain_keys(tagger._words, tokens, templates) for tokens in X]
    static, dynamic = Counter(), Counter()
    for rows in all_keys:
        for row in rows:
            static.update(row[: templates.n_static])
            dynamic.update(row[templates.n_static :])

    def known(name):
        if isinstance(name, tuple):
            return dynamic[name[0]] >= 2 * tagger.min_count
        return static[name] >= tagger.min_count

    margins = np.full(n, tagger.margin)
    if tag_set.scheme == "bio2":
        margins[1:] += tagger.entity_margin_
    margins *= len(templates.all)
    weights = defaultdict(lambda: np.zeros(n))
    total = defaultdict(lambda: np.zeros(n))
    seen = 0
    for epoch in range(tagger.epochs):
        for s in np.random.default_rng([tagger.seed, epoch]).permutation(len(X)):
            gold = tag_set.encode([y[s]])
            t1 = t2 = n
            for i, keys in enumerate(all_keys[s]):
                on = [(name, 1.0) for name in names_at(keys, templates, t1, t2) if known(name)]
                rows = tagger._words.batch([X[s]]).vector_of
                for place in (-1, 0, 1):
                    if 0 <= i + place < len(X[s]) and rows[i + place] >= 0:
                        x = tagger.vectors_[rows[i + place]]
                        on += [(("vector", place, d), float(v)) for d, v in enumerate(x)]
                scores = sum((weights[name] * value for name, value in on), np.zeros(n))
                want = gold[i]
                rival = max((k for k in range(n) if k != want), key=lambda k: scores[k])
                if scores[want] - scores[rival] <= margins[want]:
                    for name, value in on:
                        weights[name][want] += value
                        weights[name][rival] -= value
                t1, t2 = int(np.argmax(scores)), t1
                seen += 1
                for name, row in weights.items():
                    total[name] += row
    return {name: row / seen for name, row in total.items() if weights[name].any() or row.any()}


def learned(tagger):
    """The weights of a trained tagger by name."""
    model, n = tagger.model_, len(tagger.tag_set_.inside)
    found = {int(key): model.weights[model.row_of[f]] for f, key in enumerate(model.table.keys)}
    kinds = {}
    for keys in tagger.all_keys:
        for row in keys:
            dynamic = row[tagger.templates_.n_static :]
            kinds.update(zip(dynamic, tagger.templates_.n_tags.tolist(), strict=True))
    for key, first in zip(model.bases.keys.tolist(), model.first.tolist(), strict=True):
        for tags in product(range(n + 1), repeat=kinds[key]):
            cell = first + (tags[0] if len(tags) == 1 else tags[0] * (n + 1) + tags[1])
            if model.row_of[cell] >= 0:
                found[(key, *tags)] = model.weights[model.row_of[cell]]
    reach = model.dense.shape[0] // 2
    for place, d in product(range(model.dense.shape[0]), range(model.dense.shape[2])):
        found["vector", place - reach, d] = model.dense[place, :, d]
    return found


@pytest.mark.parametrize(
    ("tags", "options"),
    [
        (["A", "B", "C"], {}),
        (["A", "B", "C"], {"min_count": 2, "margin": 0.5}),
        (BIO, {"entity_margin": 2.0, "clusters": {"Awa": "0101", "bwb": "0111", "awc": "1"}}),
        (BIO, {"vectors": {"Awa": [1.0, 2.0], "bwb": [0.0, -1.5]}}),
    ],
)
def test_the_lazy_average_is_the_mean_over_all_tokens(tags, options):
    X, y = random_data(np.random.default_rng(3), 25, tags)
    tagger = SequenceTagger(epochs=3, seed=5, **options).fit(X, y)
    tagger.all_keys = [plain_keys(tagger._words, tokens, tagger.templates_) for tokens in X]
    expected, found = naive(tagger, X, y), learned(tagger)
    assert len(found) > 100
    for name in expected.keys() | found.keys():
        zero = np.zeros(len(tagger.tag_set_.inside))
        np.testing.assert_allclose(
            found.get(name, zero), expected.get(name, zero), rtol=2e-5, atol=2e-5, err_msg=name
        )


def test_weights_that_have_to_grow_are_the_same(monkeypatch):
    X, y = random_data(np.random.default_rng(0), 60, ["A", "B", "C", "D"])
    at_once = SequenceTagger(epochs=2).fit(X, y).model_
    monkeypatch.setattr(perceptron, "_FIRST_ROWS", 8)
    grown = SequenceTagger(epochs=2).fit(X, y).model_
    assert len(grown.weights) > 1000
    assert np.array_equal(grown.weights, at_once.weights)
    assert np.array_equal(grown.row_of, at_once.row_of)


def plain_score(tagger, weights, tokens, numbers):
    n = len(tagger.tag_set_.inside)
    total, t1, t2 = 0.0, n, n
    rows = plain_keys(tagger._words, tokens, tagger.templates_)
    for keys, tag in zip(rows, numbers, strict=True):
        for name in names_at(keys, tagger.templates_, t1, t2):
            if name in weights:
                total += float(weights[name][tag])
        t1, t2 = tag, t1
    return total


@pytest.mark.parametrize("tags", [["A", "B", "C"], BIO])
def test_kbest_with_a_full_beam_is_enumeration(tags):
    rng = np.random.default_rng(8)
    X, y = random_data(rng, 30, tags)
    tagger = SequenceTagger(epochs=2, min_count=1).fit(X, y)
    tagger.all_keys = [plain_keys(tagger._words, tokens, tagger.templates_) for tokens in X]
    weights = learned(tagger)
    legal, may_end = tagger.tag_set_.legal(), tagger.tag_set_.may_end()
    n = len(tagger.tag_set_.inside)
    for tokens in random_data(rng, 6, tags, longest=4)[0]:
        every = []
        for numbers in product(range(n), repeat=len(tokens)):
            steps = zip((n, *numbers[:-1]), numbers, strict=True)
            if may_end[numbers[-1]] and all(legal[a, b] for a, b in steps):
                score = plain_score(tagger, weights, tokens, numbers)
                every.append((score, tagger.tag_set_.decode(numbers)))
        every.sort(key=lambda pair: -pair[0])
        found = tagger.kbest(tokens, n ** len(tokens))
        assert len(found) == len(every)
        np.testing.assert_allclose(
            [answer.score for answer in found], [score for score, _ in every], atol=1e-3
        )
        by_tags = {tuple(row): score for score, row in every}
        for answer in found:
            np.testing.assert_allclose(by_tags[tuple(answer.tags)], answer.score, atol=1e-3)
        assert len({tuple(answer.tags) for answer in found}) == len(every)
        assert abs(sum(answer.share for answer in found) - 1) < 1e-9


def test_greedy_takes_the_best_tag_each_time():
    rng = np.random.default_rng(2)
    X, y = random_data(rng, 30, BIO)
    tagger = SequenceTagger(epochs=2, beam=1).fit(X, y)
    tagger.all_keys = [plain_keys(tagger._words, tokens, tagger.templates_) for tokens in X]
    weights = learned(tagger)
    legal, may_end = tagger.tag_set_.legal(), tagger.tag_set_.may_end()
    n = len(tagger.tag_set_.inside)
    for tokens in random_data(rng, 20, BIO)[0]:
        numbers = []
        for place in range(len(tokens)):
            last = place == len(tokens) - 1
            options = [
                k
                for k in range(n)
                if legal[numbers[-1] if numbers else n, k] and (may_end[k] or not last)
            ]
            scores = [
                plain_score(tagger, weights, tokens[: place + 1] + tokens[place + 1 :], path)
                if last
                else _prefix_score(tagger, weights, tokens, path)
                for path in ([*numbers, k] for k in options)
            ]
            numbers.append(options[int(np.argmax(scores))])
        assert tagger.tag(tokens) == tagger.tag_set_.decode(numbers)


def _prefix_score(tagger, weights, tokens, numbers):
    n = len(tagger.tag_set_.inside)
    total, t1, t2 = 0.0, n, n
    rows = plain_keys(tagger._words, tokens, tagger.templates_)[: len(numbers)]
    for keys, tag in zip(rows, numbers, strict=True):
        for name in names_at(keys, tagger.templates_, t1, t2):
            if name in weights:
                total += float(weights[name][tag])
        t1, t2 = tag, t1
    return total


def test_margin_and_beam_are_asked_of_fifty_sentences_and_not_of_fewer():
    X, y = [["Ann", "ran"], ["he", "sat"]] * 25, [["B-P", "O"], ["O", "O"]] * 25

    def tagger(margin):
        return SequenceTagger(epochs=1, margin=margin)

    found = cross_validated(tagger, X, y, [0.5, 1.0], [1, 4])
    assert found == {(margin, beam): 1.0 for margin in (0.5, 1.0) for beam in (1, 4)}
    assert cross_validated(tagger, X[:49], y[:49], [0.5], [1]) == {}


class Noting:
    """A tagger that remembers what it learned from, and finds nothing."""

    def __init__(self, margin):
        self.margin, self.beam = margin, 1
        self.asked = []

    def fit(self, X, y):
        self.learned_from = set(map(tuple, X))
        return self

    def predict(self, X):
        assert self.learned_from.isdisjoint(map(tuple, X))
        assert len(self.learned_from) + len(X) == 60
        return [["O"] * len(tokens) for tokens in X]


def test_margin_and_beam_are_asked_of_sentences_that_were_not_learned_from():
    X, y = [[f"w{n}", "ran"] for n in range(60)], [["B-P", "O"]] * 60
    assert cross_validated(Noting, X, y, [0.5], [1, 4]) == {(0.5, 1): 0.0, (0.5, 4): 0.0}
