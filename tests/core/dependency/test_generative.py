"""The generative parser against enumeration of all projective trees and all states."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.base.model import NotFittedError
from eigentext.dependency import long_sentences
from eigentext.dependency.generative.learn import (
    N_LENGTHS,
    Corpus,
    GenerativeParams,
    TreeSmoothing,
    cluster_states,
    count_states,
    em_counts,
    length_classes,
    smoothed,
)
from eigentext.dependency.generative.parser import GenerativeParser
from eigentext.dependency.sentence import TaggedSentence
from eigentext.errors import ModelFileError, SettingsError
from eigentext.language.formats.conllu import make_sentence
from eigentext.language.trees.dependency import DependencyTree
from helpers import small_models

TAGS = ("NOUN", "VERB", "DET")
WORDS = {"NOUN": ("dog", "cat", "idea"), "VERB": ("sees", "runs"), "DET": ("a", "the")}


def _random_tree(rng, n):
    """A random projective tree with one root, as heads."""

    def build(low, high, parent, heads):
        if low > high:
            return
        root = int(rng.integers(low, high + 1))
        heads[root] = parent
        for a, b in ((low, root - 1), (root + 1, high)):
            while a <= b:
                cut = int(rng.integers(a, b + 1))
                build(a, cut, root, heads)
                a = cut + 1

    heads = {}
    build(1, n, 0, heads)
    return [heads[d] for d in range(1, n + 1)]


def _random_sentence(rng, n, heads=True):
    upos = [str(rng.choice(TAGS)) for _ in range(n)]
    words = [str(rng.choice(WORDS[tag])) for tag in upos]
    return make_sentence(words, upos=upos, head=_random_tree(rng, n) if heads else None)


def _random_parser(seed, states=2):
    """A parser whose every number is random, with a different number of states for each tag."""
    rng = np.random.default_rng(seed)
    train = [_random_sentence(rng, int(rng.integers(1, 6))) for _ in range(40)]
    parser = GenerativeParser(n_states=states, n_iter=0, tagset="upos", min_count=1, per_state=1)
    parser.fit(train)
    tag_of = parser._tag_of
    m = np.array([1 + (t % states) for t in range(len(parser._tag_ids))], np.int64)
    first = np.concatenate([[0], np.cumsum(m)[:-1]]).astype(np.int64)
    S, M, Q = int(m.sum()), int(m.max()), 6
    T = rng.dirichlet(np.full(S, 0.5), (2, Q, S))
    E = rng.random((len(tag_of), M)) * (np.arange(M) < m[tag_of][:, None])
    go = rng.uniform(0.05, 0.95, (2, Q, N_LENGTHS, S))
    parser._finish(GenerativeParams(first, m, T, go, rng.dirichlet(np.ones(S)), E), tag_of)
    return parser, rng


def _plain_log_p(parser, sentence, heads, states):
    """log p(words, tree, states), the plain way: every head walks outwards over its children."""
    p = parser.params_
    n = len(heads)
    tags = [parser._tag_ids[tag] for tag in sentence.column("upos")]
    kind = [parser._kind(tag) for tag in sentence.column("upos")]
    state = [int(p.first[t]) + h for t, h in zip(tags, states, strict=True)]

    def covered(i):
        return {i}.union(*(covered(d) for d in range(n) if heads[d] == i + 1))

    length = length_classes(n)
    total = math.log(p.root[state[heads.index(0)]])
    for i in range(n):
        word = parser._word_ids[sentence.forms[i], tags[i]]
        total += math.log(p.E[word, states[i]])
        for side, children in enumerate(
            (
                [d for d in range(i - 1, -1, -1) if heads[d] == i + 1],
                [d for d in range(i + 1, n) if heads[d] == i + 1],
            )
        ):
            q, done = 0, 0
            for d in children:
                total += math.log(p.go[side, q, length[done], state[i]])
                total += math.log(p.T[side, q, state[i], state[d]])
                q = kind[d]
                done = max(abs(x - i) for x in covered(d))
            total += math.log(1 - p.go[side, q, length[done], state[i]])
    return total


def _all_trees(n):
    for heads in itertools.product(range(n + 1), repeat=n):
        if heads.count(0) == 1 and all(h != d + 1 for d, h in enumerate(heads)):
            try:
                tree = DependencyTree(["x"] * n, list(heads))
            except ValueError:
                continue
            if tree.is_projective():
                yield list(heads)


TREES = {n: list(_all_trees(n)) for n in range(1, 6)}


def _every_state(parser, sentence):
    m = [int(parser.params_.m[parser._tag_ids[tag]]) for tag in sentence.column("upos")]
    return list(itertools.product(*(range(k) for k in m)))


@pytest.mark.parametrize(("n", "seed"), [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4), (4, 5)])
def test_inside_marginals_and_viterbi_equal_enumeration(n, seed):
    parser, rng = _random_parser(seed, states=2 if n == 5 else 3)
    sentence = _random_sentence(rng, n)
    upos = sentence.column("upos")
    states = _every_state(parser, sentence)
    joint = np.array(
        [[_plain_log_p(parser, sentence, t, s) for s in states] for t in TREES[n]]
    )  # (trees, states)
    by_tree = np.logaddexp.reduce(joint, axis=1)
    log_z = np.logaddexp.reduce(by_tree)
    np.testing.assert_allclose(
        parser.log_probs(sentence.forms, TREES[n], upos=upos), by_tree, rtol=1e-11
    )
    marginals, found = parser.marginals(sentence.forms, upos=upos)
    assert found == pytest.approx(log_z, rel=1e-12)
    expected = np.zeros((n + 1, n + 1))
    for heads, weight in zip(TREES[n], np.exp(by_tree - log_z), strict=True):
        expected[heads, np.arange(1, n + 1)] += weight
    np.testing.assert_allclose(marginals, expected, atol=1e-12)
    np.testing.assert_allclose(marginals[:, 1:].sum(0), 1.0, atol=1e-12)
    best = parser.parse(sentence.forms, upos=upos, decoder="viterbi")
    assert best.score == pytest.approx(joint.max(), rel=1e-12)
    assert best.tree.heads.tolist() == TREES[n][int(joint.max(1).argmax())]
    risk = parser.parse(sentence.forms, upos=upos)
    gains = [expected[heads, np.arange(1, n + 1)].sum() for heads in TREES[n]]
    assert risk.score == pytest.approx(max(gains), rel=1e-10)


def test_the_models_trees_sum_to_one():
    # p over all sentences of one tag with one word: lengths 1.. make a converging series
    parser, _ = _random_parser(7, states=1)
    S = len(parser.params_.m)
    old = parser.params_
    go = np.full_like(old.go, 0.2)
    E = np.zeros_like(old.E)
    first_word = {t: int(np.flatnonzero(parser._tag_of == t)[0]) for t in range(S)}
    for word in first_word.values():
        E[word] = 1.0
    parser._finish(GenerativeParams(old.first, old.m, old.T, go, old.root, E), parser._tag_of)
    names = list(parser._tag_ids)
    words = {
        t: next(
            w for (w, tag), k in parser._word_ids.items() if k == first_word[tag] == k and tag == t
        )
        for t in range(S)
    }
    total = 0.0
    for n in range(1, 6):
        for tags in itertools.product(range(S), repeat=n):
            tokens, upos = [words[t] for t in tags], [names[t] for t in tags]
            total += math.exp(parser.marginals(tokens, upos=upos)[1])
    # independently: the total number of words of a Galton-Watson tree with two geometric sides
    offspring = np.array([(k + 1) * 0.8**2 * 0.2**k for k in range(6)])  # p(k children)
    size = np.zeros(7)  # p(tree has s words)
    for s in range(1, 6):
        power = np.zeros(7)
        power[0] = 1.0  # sizes of k children added
        for k in range(s):
            size[s] += offspring[k] * power[s - 1]
            power = np.convolve(power, size)[:7]
    assert total == pytest.approx(size[1:6].sum(), rel=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 25))
def test_inside_bounds_every_tree_and_marginals_are_a_distribution(seed, n):
    parser, rng = _random_parser(seed % 7, states=3)
    rng = np.random.default_rng(seed)
    sentence = _random_sentence(rng, n)
    marginals, log_z = parser.marginals(sentence.forms, upos=sentence.column("upos"))
    np.testing.assert_allclose(marginals[:, 1:].sum(0), 1.0, atol=1e-9)
    assert marginals[0, 1:].sum() == pytest.approx(1.0)
    assert marginals.min() >= 0
    trees = [_random_tree(rng, n) for _ in range(5)]
    logs = parser.log_probs(sentence.forms, trees, upos=sentence.column("upos"))
    assert (logs < log_z).all()


def test_a_sentence_of_300_words():
    parser, rng = _random_parser(3, states=3)
    sentence = _random_sentence(rng, 300)
    marginals, log_z = parser.marginals(sentence.forms, upos=sentence.column("upos"))
    np.testing.assert_allclose(marginals[:, 1:].sum(0), 1.0, atol=1e-6)
    assert -5000 < log_z < -300
    chain = [0, *range(1, 300)]
    flat = [0] + [1] * 299
    logs = parser.log_probs(sentence.forms, [chain, flat], upos=sentence.column("upos"))
    assert np.isfinite(logs).all()
    assert (logs < log_z).all()


def _corpus(seed, n_sentences=60):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, n_sentences)
    ptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    tag_of = np.repeat(np.arange(3), 4)
    word = rng.integers(0, 12, int(ptr[-1]))
    heads = np.concatenate([_random_tree(rng, int(n)) for n in sizes]).astype(np.int64)
    relation = rng.integers(1, 4, len(word))
    return Corpus(ptr, word, tag_of[word], heads, relation, tag_of, np.array([1, 2, 5]))


def test_em_never_lowers_the_likelihood_and_counts_add_up():
    corpus = _corpus(0)
    m = np.array([3, 2, 1])
    state = np.random.default_rng(1).integers(0, m[corpus.tag])
    params = smoothed(corpus, m, count_states(corpus, state, m), TreeSmoothing())
    before = -np.inf
    for _ in range(12):
        counts, likelihood = em_counts(corpus, params)
        assert likelihood >= before - 1e-7
        before = likelihood
        n_words, n_sentences = len(corpus.word), len(corpus.ptr) - 1
        assert counts.E.sum() == pytest.approx(n_words)
        assert counts.root.sum() == pytest.approx(n_sentences)
        assert counts.T.sum() == counts.go.sum() == pytest.approx(n_words - n_sentences)
        assert counts.stop.sum() == pytest.approx(2 * n_words)
        # free tables: the exact M step of each, no ties between them
        by_head = counts.T.sum(-1, keepdims=True)
        T = np.divide(counts.T, by_head, out=params.T.copy(), where=by_head > 0)
        tried = counts.go + counts.stop
        go = np.divide(counts.go, tried, out=params.go.copy(), where=tried > 0)
        of_tag = np.zeros((3, 3))
        np.add.at(of_tag, corpus.tag_of, counts.E)
        E = np.divide(
            counts.E, of_tag[corpus.tag_of], out=params.E.copy(), where=of_tag[corpus.tag_of] > 0
        )
        go = np.clip(go, 1e-12, 1 - 1e-12)
        params = GenerativeParams(params.first, m, T, go, counts.root / counts.root.sum(), E)


def test_counts_of_known_states_are_plain_counts():
    corpus = _corpus(3)
    m = np.array([3, 2, 1])
    state = np.random.default_rng(2).integers(0, m[corpus.tag])
    counts = count_states(corpus, state, m)
    first = np.array([0, 3, 5])
    expected = np.zeros((2, 6, 6))
    roots = np.zeros(6)
    for a, b in itertools.pairwise(corpus.ptr.tolist()):
        for d in range(a, b):
            h, own = int(corpus.heads[d]), first[corpus.tag[d]] + state[d]
            if h == 0:
                roots[own] += 1
            else:
                up = a + h - 1
                expected[int(d > up), first[corpus.tag[up]] + state[up], own] += 1
    np.testing.assert_allclose(counts.T.sum(1), expected, atol=1e-9)
    np.testing.assert_allclose(counts.root, roots, atol=1e-9)
    words = np.zeros_like(counts.E)
    np.add.at(words, (corpus.word, state), 1)
    np.testing.assert_allclose(counts.E, words, atol=1e-9)


UNSMOOTHED = TreeSmoothing(*[1e-9] * 4)


@pytest.mark.parametrize(
    "strength", [TreeSmoothing(), UNSMOOTHED, TreeSmoothing(tag=100, state=50)]
)
def test_smoothed_parameters_are_distributions(strength):
    corpus = _corpus(4)
    m = np.array([3, 1, 2])
    state = np.random.default_rng(2).integers(0, m[corpus.tag])
    p = smoothed(corpus, m, count_states(corpus, state, m), strength)
    np.testing.assert_allclose(p.T.sum(-1), 1.0, atol=1e-9)
    assert p.root.sum() == pytest.approx(1.0)
    assert ((p.go > 0) & (p.go < 1)).all()
    mass = np.zeros((3, 3))
    np.add.at(mass, corpus.tag_of, p.E)
    np.testing.assert_allclose(mass[np.arange(3) < m[:, None]], 1.0, atol=1e-9)
    assert (p.T > 0).all()


def _planted(seed, n_sentences):
    """Two kinds of nouns that one tag hides: things follow their verb, people precede it."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n_sentences):
        people = [str(rng.choice(["ann", "bob", "cy"])) for _ in range(2)]
        things = [str(rng.choice(["tea", "jam", "oil"])) for _ in range(2)]
        if rng.random() < 0.5:  # x took y ; z saw
            words = [people[0], "took", things[0], people[1], "saw"]
            heads = [2, 0, 2, 5, 2]
        else:  # x saw ; y took z: the middle noun goes to the other verb
            words = [people[0], "took", things[0], things[1], "saw"]
            heads = [2, 0, 2, 2, 2]
        tags = ["NOUN", "VERB", "NOUN", "NOUN", "VERB"]
        made.append(make_sentence(words, upos=tags, head=heads))
    return made


def test_hidden_states_learn_what_tags_hide():
    train, test = _planted(0, 400), _planted(1, 60)

    def right(parser):
        return np.mean(
            [
                parser.parse(s.forms, upos=s.column("upos")).tree.heads.tolist() == list(s.heads)
                for s in test
            ]
        )

    plain = GenerativeParser(n_states=1).fit(train)
    hidden = GenerativeParser(n_states=4).fit(train)
    assert right(plain) < 0.7
    assert right(hidden) == 1.0
    assert len(hidden.log_likelihoods_) == 6


def test_clusters_are_the_same_each_time_and_within_their_tag():
    corpus = _corpus(5, 200)
    state, m = cluster_states(corpus, 3, per_state=20)
    again, _ = cluster_states(corpus, 3, per_state=20)
    assert (state == again).all()
    assert (state < m[corpus.tag]).all()
    assert m.max() == 3
    assert cluster_states(corpus, 1)[1].tolist() == [1, 1, 1]


def test_saved_and_loaded(tmp_path):
    parser = GenerativeParser(n_states=3, n_iter=2, per_state=20).fit(_planted(2, 100))
    parser.save(tmp_path / "g.eig")
    back = GenerativeParser.load(tmp_path / "g.eig")
    for sentence in _planted(3, 5):
        tokens, upos = [*sentence.forms[:-1], "unseen"], sentence.column("upos")
        one, two = parser.marginals(tokens, upos=upos), back.marginals(tokens, upos=upos)
        np.testing.assert_array_equal(one[0], two[0])
        assert one[1] == two[1]
    (tmp_path / "bad.eig").write_bytes((tmp_path / "g.eig").read_bytes()[:-7])
    with pytest.raises(ModelFileError):
        GenerativeParser.load(tmp_path / "bad.eig")


def test_odd_inputs():
    parser = GenerativeParser(n_states=2, per_state=20).fit(_planted(4, 60))
    assert parser.parse(["什么"], upos=["NOUN"]).tree.heads.tolist() == [0]
    for upos in (None, ["_", "_"], ["X", "NOUN"]):  # unknown tags
        tree = parser.parse(["so", "\u00a0"], upos=upos).tree
        assert tree.single_root
    with pytest.raises(SettingsError, match="list of tokens"):
        parser.parse("so what")
    with pytest.raises(SettingsError, match="no tokens"):
        parser.parse([])
    with pytest.raises(ValueError, match="found 1 upos for 2 tokens"):
        parser.parse(["a", "b"], upos=["NOUN"])
    with pytest.raises(SettingsError, match="decoder"):
        parser.parse(["a"], upos=["NOUN"], decoder="best")
    logs = parser.log_probs(["a", "b"], [[0, 0], [2, 1], [2, 0]], upos=["NOUN", "VERB"])
    assert np.isneginf(logs[:2]).all()
    assert np.isfinite(logs[2])
    with pytest.raises(ValueError, match="out of range"):
        parser.log_probs(["a"], [[5]], upos=["NOUN"])
    with pytest.raises(ValueError, match="trees of 2 words"):
        parser.log_probs(["a"], [[2, 0]], upos=["NOUN"])
    crossed = DependencyTree(["a", "b", "c", "d"], [3, 4, 0, 3], tags=["NOUN"] * 4)
    assert np.isfinite(parser.log_prob(crossed))
    with pytest.raises(SettingsError, match="n_states is 0"):
        GenerativeParser(n_states=0).fit([])
    with pytest.raises(SettingsError, match="tagset is 'pos'"):
        GenerativeParser(tagset="pos").fit([])
    with pytest.raises(NotFittedError, match="GenerativeParser has learned nothing yet"):
        GenerativeParser().parse(["a"])
    with pytest.raises(SettingsError, match="exactly one root"):
        GenerativeParser().fit([])
    with pytest.raises(SettingsError, match="no heads"):
        GenerativeParser().fit([make_sentence(["a"])])


def test_words_that_no_tree_explains_still_get_one():
    parser = GenerativeParser(n_states=1, min_count=1).fit(
        [make_sentence(["dogs", "bark"], upos=["NOUN", "VERB"], head=[2, 0])] * 3
    )
    parser.params_.T[:] = 0.0
    arcs, log_p = parser.marginals(["dogs", "bark"], upos=["NOUN", "VERB"])
    assert np.isneginf(log_p)
    assert not arcs.any()
    assert parser.parse(["dogs", "bark"], upos=["NOUN", "VERB"]).tree.single_root


@pytest.mark.parametrize("ask", [{}, {"decoder": "viterbi"}])
def test_a_sentence_that_is_too_long_is_refused(ask, monkeypatch):
    parser, _ = _random_parser(0)
    words, upos = ["dog"] * 8, ["NOUN"] * 8
    assert parser.parse(words, upos=upos, **ask).tree.heads.size == 8
    monkeypatch.setattr(long_sentences, "MOST_WORDS", 7)
    for question in (
        lambda: parser.parse(words, upos=upos, **ask),
        lambda: parser.marginals(words, upos=upos),
    ):
        with pytest.raises(SettingsError, match="at most 7 words, found one of 8"):
            question()


@pytest.mark.parametrize("decoder", ["mbr", "viterbi"])
def test_many_sentences_are_parsed_in_order_whatever_the_number_of_processes(decoder: str) -> None:
    trees = small_models.TREES
    parser = small_models.SMALL["dependency-generative"].trained()
    sentences = [trees[0], [], ["a", "dog", "ran"], trees[2]]
    expected = [
        parser.parse(TaggedSentence.from_conllu(trees[0]), decoder=decoder),
        None,
        parser.parse(["a", "dog", "ran"], decoder=decoder),
        parser.parse(TaggedSentence.from_conllu(trees[2]), decoder=decoder),
    ]
    for jobs in (1, 2) if decoder == "mbr" else (1,):
        answers = list(parser.parse_many(iter(sentences), jobs=jobs, decoder=decoder))
        assert answers[1] is None
        for answer, wanted in zip(answers, expected, strict=True):
            if wanted is not None:
                assert answer.tree.heads.tolist() == wanted.tree.heads.tolist()
                assert answer.tree.tags == wanted.tree.tags
                assert answer.score == wanted.score
