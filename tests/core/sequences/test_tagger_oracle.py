"""Every dynamic program of the taggers against enumeration, and against the parser's own."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rivals.trigram_tagger import (
    TrigramTagger,
    deleted_interpolation,
    trigram_best,
    trigram_shares,
    trigram_sums,
)

from eigentext.constituency.chart.decode import Skeleton
from eigentext.constituency.lexicon import Emission
from eigentext.constituency.params import LatentParams
from eigentext.constituency.scoring import skeleton_log_score
from eigentext.sequences.kernels.tag_states import chain_kbest, chain_marginals
from eigentext.sequences.tagger.chain import TagCandidates, TagChain
from eigentext.sequences.tagger.model import LatentTagger
from eigentext.sequences.tagger.trees import END, label_places

TAGS = ("A", "B", "C")


def planted(seed: int, n: int = 60, n_tags: int = 3) -> tuple[list[list[str]], list[list[str]]]:
    """Sentences of a random HMM whose tags depend on more than the tag before."""
    rng = np.random.default_rng(seed)
    after = rng.dirichlet(np.full(n_tags, 0.6), size=(n_tags, n_tags))
    words = rng.dirichlet(np.full(12, 0.3), size=n_tags)
    X: list[list[str]] = []
    y: list[list[str]] = []
    for _ in range(n):
        before, last = rng.integers(n_tags), rng.integers(n_tags)
        X.append([])
        y.append([])
        for _ in range(rng.integers(1, 8)):
            before, last = last, rng.choice(n_tags, p=after[before, last])
            X[-1].append(f"w{rng.choice(12, p=words[last])}")
            y[-1].append(TAGS[last])
    return X, y


def fitted(estimator: str, n_states: int, **more: object) -> LatentTagger:
    chosen = {"keep": 0.0, "per_state": 5, "k_next": 0.7, **more}
    return LatentTagger(n_states, estimator=estimator, **chosen).fit(*planted(3))


@pytest.fixture(scope="module", params=["clustering", "moments", "em"])
def tagger(request) -> LatentTagger:
    return fitted(request.param, 3, **({"n_iter": 4} if request.param == "em" else {}))


SENTENCES = (["w1"], ["w0", "w3", "w3"], ["w2", "never", "w5", "w1"])


def transition(chain, a: int, b: int, e: np.ndarray) -> np.ndarray:
    """A[h1, h3] of the kernels' docstring, written out; b = T is the end."""
    ma, mw = int(chain.arrays.m[a]), int(chain.arrays.m_word[a])
    s, w = chain.arrays.state_ptr, chain.arrays.word_ptr
    one, mean_word = (
        chain.arrays.any_state[s[a] : s[a + 1]],
        chain.arrays.mean_word[w[a] : w[a + 1]],
    )
    n_tags = len(chain.arrays.m)
    mean = np.ones(1) if b == n_tags else chain.arrays.mean[s[b] : s[b + 1]]
    place = chain.arrays.end_at[a] if b == n_tags else chain.arrays.at[a, b]
    A = (1 - chain.arrays.keep[a]) * chain.arrays.p_next[b] * np.outer(one, mean) * (mean_word @ e)
    if place >= 0:
        flat = chain.arrays.end if b == n_tags else chain.params.tensor.astype(float)
        tensor = flat[place : place + ma * mw * len(mean)].reshape(ma, mw, len(mean))
        A = A + chain.arrays.keep[a] * np.einsum("xyz,y->xz", tensor, e)
    return A


def by_enumeration(tagger: LatentTagger, tokens: list[str]) -> dict[tuple[int, ...], float]:
    """Weight of every tag sequence; for each, every sequence of states is gone through."""
    chain = tagger.chains_[0]
    c = TagCandidates.of(tokens, tagger.words_)
    e_ptr, e = chain.emission(tokens, c)
    assert len(c.tags) == len(tokens) * len(tagger.tags_)
    vectors = [
        {int(c.tags[k]): e[e_ptr[k] : e_ptr[k + 1]] for k in range(c.ptr[i], c.ptr[i + 1])}
        for i in range(len(tokens))
    ]
    end = len(tagger.tags_)
    found = {}
    for tags in product(range(end), repeat=len(tokens)):
        steps = [
            transition(chain, a, b, vectors[i][a])
            for i, (a, b) in enumerate(zip(tags, (*tags[1:], end), strict=True))
        ]
        root = chain.arrays.root[
            chain.arrays.state_ptr[tags[0]] : chain.arrays.state_ptr[tags[0] + 1]
        ]
        total = 0.0
        for states in product(*(range(chain.arrays.m[tag]) for tag in tags)):
            weight = root[states[0]]
            for step, here, there in zip(steps, states, (*states[1:], 0), strict=True):
                weight *= step[here, there]
            total += weight
        found[tags] = total
    return found


@pytest.mark.parametrize("tokens", SENTENCES, ids=len)
def test_sums_over_states_and_tags_are_those_of_enumeration(tagger, tokens):
    weights = by_enumeration(tagger, tokens)
    chain = tagger.chains_[0]
    c = TagCandidates.of(tokens, tagger.words_)
    found = chain.posteriors(tokens, c)
    z = sum(weights.values())
    assert found.sign * np.exp(found.log_z) == pytest.approx(z, rel=1e-9)
    width = len(tagger.tags_)
    for i in range(len(tokens)):
        for tag in range(width):
            share = sum(w for tags, w in weights.items() if tags[i] == tag) / z
            assert found.single[i * width + tag] == pytest.approx(share, rel=1e-7, abs=1e-10)
    for i in range(len(tokens) - 1):
        for a, b in product(range(width), repeat=2):
            share = sum(w for tags, w in weights.items() if tags[i : i + 2] == (a, b)) / z
            at = c.pair_ptr[i] + a * width + b
            assert found.pairs[at] == pytest.approx(share, rel=1e-7, abs=1e-10)


@pytest.mark.parametrize("tokens", SENTENCES, ids=len)
def test_log_probabilities_are_those_of_enumeration(tagger, tokens):
    weights = by_enumeration(tagger, tokens)
    constant = sum(tagger.words_.log_p_word(word) for word in tokens)
    for tags, weight in weights.items():
        names = [tagger.tags_[tag] for tag in tags]
        want = np.log(weight) + constant if weight > 0 else -np.inf
        assert tagger.log_prob(tokens, names) == pytest.approx(want, rel=1e-9)
    z = sum(weights.values())
    want = np.log(z) + constant if z > 0 else -np.inf
    assert tagger.log_prob(tokens) == pytest.approx(want, rel=1e-9)


def as_grammar(chain) -> LatentParams:
    """The chain as an L-PCFG with a rule for every pair of tags, back-off multiplied out."""
    n_tags = len(chain.arrays.m)
    m = np.concatenate([chain.arrays.m_word, chain.arrays.m, [1]])  # labels: tags, chain, end
    rules, tensors = [], []
    for a in range(n_tags):
        units = np.eye(int(chain.arrays.m_word[a]))
        for b in range(n_tags + 1):
            rules.append((n_tags + a, a, n_tags + b))
            tensor = np.stack([transition(chain, a, b, unit) for unit in units], axis=1)
            tensors.append(tensor.reshape(-1))
    rule_ptr = np.concatenate([[0], np.cumsum([len(tensor) for tensor in tensors])])
    root = np.concatenate([np.zeros(int(chain.arrays.m_word.sum())), chain.arrays.root, [0.0]])
    lexicon = _Tags(np.append(np.arange(n_tags), 2 * n_tags), np.append(chain.arrays.word_ptr, 0))
    lexicon.tag_ptr[-1] = lexicon.tag_ptr[-2] + 1
    return LatentParams(
        m, np.array(rules), rule_ptr, np.concatenate(tensors).astype(float), root, lexicon
    )


class _Tags:
    """As much of a lexicon as the inside recursion asks for."""

    def __init__(self, tags: np.ndarray, tag_ptr: np.ndarray) -> None:
        self.tags, self.tag_ptr = tags, tag_ptr.copy()


@pytest.mark.parametrize("tokens", SENTENCES, ids=len)
def test_the_chain_is_the_inside_algorithm_on_skeletal_trees(tagger, tokens):
    """Cohen et al. 2012 section 8: log p of every tagging by the parser's recursion."""
    chain = tagger.chains_[0]
    grammar = as_grammar(chain)
    n_tags, n = len(tagger.tags_), len(tokens)
    number = {tuple(rule): at for at, rule in enumerate(grammar.rules.tolist())}
    for tags in product(range(n_tags), repeat=n):
        c = TagCandidates.tagged(tokens, tags, tagger.words_)
        e_ptr, e = chain.emission(tokens, c)
        emissions = []
        for i, tag in enumerate(tags):
            states = np.zeros(int(grammar.lexicon.tag_ptr[-1]))
            states[chain.arrays.word_ptr[tag] : chain.arrays.word_ptr[tag + 1]] = e[
                e_ptr[i] : e_ptr[i + 1]
            ]
            emissions.append(Emission(np.array([tag]), np.ones(1), states))
        emissions.append(Emission(np.array([0]), np.ones(1), np.ones(len(states))))
        label, rule, left, right = [], [], [], []
        for i, tag in enumerate(tags):
            behind = n_tags + (tags[i + 1] if i + 1 < n else n_tags)
            label += [n_tags + tag, tag]
            rule += [number[n_tags + tag, tag, behind], -1]
            left += [2 * i + 1, -1]
            right += [2 * i + 2, -1]
        columns = [[*label, 2 * n_tags], [*rule, -1], [*left, -1], [*right, -1]]
        skeleton = Skeleton(*(np.array(column) for column in columns))
        score, sign = chain.log_score(tokens, c)
        want = skeleton_log_score(skeleton, grammar, emissions)
        assert (score if sign > 0 else -np.inf) == pytest.approx(want, rel=1e-9)


def test_the_grammar_itself_scores_training_trees_the_same_without_back_off():
    """The estimated L-PCFG, untouched, by the parser's recursion on its own skeletal trees."""
    tagger = fitted("clustering", 3, k_next=1e-12)
    chain = tagger.chains_[0]
    over_word, spine, end = label_places(chain.labels, len(tagger.tags_))
    assert chain.labels[end] == END
    params = chain.params
    number = {tuple(rule): at for at, rule in enumerate(params.rules.tolist())}
    X, y = planted(3)
    for tokens, names in zip(X[:20], y[:20], strict=True):
        tags = [TAGS.index(tag) for tag in names]
        c = TagCandidates.tagged(tokens, tags, tagger.words_)
        e_ptr, e = chain.emission(tokens, c)
        emissions = []
        for i, tag in enumerate(tags):
            place = int(np.searchsorted(params.lexicon.tags, over_word[tag]))
            states = np.zeros(params.lexicon.n_ts)
            at = params.lexicon.tag_ptr[place]
            states[at : at + chain.arrays.m_word[tag]] = e[e_ptr[i] : e_ptr[i + 1]]
            emissions.append(Emission(np.array([place]), np.ones(1), states))
        emissions.append(Emission(np.array([0]), np.ones(1), np.ones(params.lexicon.n_ts)))
        label, rule, left, right = [], [], [], []
        for i, tag in enumerate(tags):
            behind = spine[tags[i + 1]] if i + 1 < len(tags) else end
            label += [spine[tag], over_word[tag]]
            rule += [number[int(spine[tag]), int(over_word[tag]), int(behind)], -1]
            left += [2 * i + 1, -1]
            right += [2 * i + 2, -1]
        columns = [[*label, end], [*rule, -1], [*left, -1], [*right, -1]]
        skeleton = Skeleton(*(np.array(column) for column in columns))
        want = skeleton_log_score(skeleton, params, emissions)
        assert chain.log_score(tokens, c)[0] == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize("estimator", ["clustering", "moments", "em"])
def test_one_state_is_exactly_the_bigram_hmm(estimator):
    sentences, gold = planted(5)
    k_next = 1.5
    tagger = LatentTagger(1, estimator=estimator, k_next=k_next, keep=0.0)
    tagger.fit(sentences, gold)
    n_tags = len(tagger.tags_)
    pairs, roots = np.zeros((n_tags, n_tags + 1)), np.zeros(n_tags)
    for row in gold:
        tags = [tagger.tags_.index(tag) for tag in row] + [n_tags]
        roots[tags[0]] += 1
        np.add.at(pairs, (tags[:-1], tags[1:]), 1)
    n_tag = pairs.sum(axis=1)
    share = np.append(n_tag, len(sentences)) / (n_tag.sum() + len(sentences))
    p = (pairs + k_next * share) / (n_tag + k_next)[:, None]
    p_first = (roots + k_next * n_tag / n_tag.sum()) / (len(sentences) + k_next)
    words = tagger.words_
    for tokens in SENTENCES:
        given_word = [
            words.p_given_word(w, first=i == 0) / words.p_tag for i, w in enumerate(tokens)
        ]
        constant = np.exp(sum(words.log_p_word(word) for word in tokens))
        weights = {}
        for tags in product(range(n_tags), repeat=len(tokens)):
            weight = p_first[tags[0]] * constant
            for i, (a, b) in enumerate(zip(tags, (*tags[1:], n_tags), strict=True)):
                weight *= given_word[i][a] * p[a, b]
            weights[tags] = weight
        z = sum(weights.values())
        assert np.exp(tagger.log_prob(tokens)) == pytest.approx(z, rel=2e-5)
        ranked = sorted(weights, key=weights.get, reverse=True)
        answers = tagger.kbest(tokens, len(ranked))
        assert [answer.share for answer in answers] == pytest.approx(
            [weights[tags] / z for tags in ranked], rel=2e-5, abs=1e-11
        )
        for answer in answers[:3]:
            tags = tuple(map(tagger.tags_.index, answer.tags))
            assert np.exp(answer.log_prob) == pytest.approx(weights[tags], rel=2e-5)
        table = tagger.marginals(tokens)
        for i, tag in product(range(len(tokens)), range(n_tags)):
            want = sum(w for tags, w in weights.items() if tags[i] == tag) / z
            assert table[i, tag] == pytest.approx(want, rel=2e-5, abs=1e-11)


# -- chains of tags alone -----------------------------------------------------------------------


@st.composite
def chains(draw):
    width = draw(st.lists(st.integers(1, 3), min_size=1, max_size=5))
    ptr = np.concatenate([[0], np.cumsum(width)])
    n_pairs = sum(a * b for a, b in pairwise(width))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pairs = rng.random(n_pairs) * (rng.random(n_pairs) > draw(st.sampled_from([0.0, 0.3])))
    c = TagCandidates(ptr, np.arange(ptr[-1]), np.ones(int(ptr[-1])))
    return c, rng.random(width[0]), pairs


def listed(c: TagCandidates, start: np.ndarray, pairs: np.ndarray) -> dict[tuple[int, ...], float]:
    found = {}
    width = np.diff(c.ptr)
    for path in product(*(range(w) for w in width)):
        weight = start[path[0]]
        for i in range(len(path) - 1):
            weight *= pairs[c.pair_ptr[i] + path[i] * width[i + 1] + path[i + 1]]
        found[tuple(int(c.ptr[i] + k) for i, k in enumerate(path))] = weight
    return found


@given(chains(), st.integers(1, 12))
def test_kbest_and_shares_of_a_chain_are_those_of_enumeration(chain, n):
    c, start, pairs = chain
    weights = {path: w for path, w in listed(c, start, pairs).items() if w > 0}
    single = np.zeros(len(c.tags))
    total = chain_marginals(c.ptr, start, c.pair_ptr, pairs, single)
    z = sum(weights.values())
    found = np.zeros((n, len(c.ptr) - 1), np.int64)
    scores = np.zeros(n)
    k = chain_kbest(c.ptr, start, c.pair_ptr, pairs, found, scores)
    assert k == min(n, len(weights))
    best = sorted(weights.values(), reverse=True)[:k]
    assert np.exp(scores[:k]) == pytest.approx(best, rel=1e-9)
    paths = [tuple(row) for row in found[:k].tolist()]
    assert len(set(paths)) == k
    assert [weights[path] for path in paths] == pytest.approx(best, rel=1e-9)
    if not weights:
        assert total == -np.inf
        return
    assert np.exp(total) == pytest.approx(z, rel=1e-9)
    for place in range(len(c.tags)):
        share = sum(w for path, w in weights.items() if place in path) / z
        assert single[place] == pytest.approx(share, rel=1e-9, abs=1e-12)


@given(chains())
def test_the_mean_of_one_model_with_itself_is_the_model(chain):
    from eigentext.sequences.tagger.chain import Posteriors

    c, start, pairs = chain
    weights = listed(c, start, pairs + 0.01)
    z = sum(weights.values())
    width = np.diff(c.ptr)
    single = np.array(
        [sum(w for path, w in weights.items() if place in path) / z for place in c.tags]
    )
    shares = np.zeros(len(pairs))
    for path, weight in weights.items():
        for i in range(len(path) - 1):
            a, b = path[i] - c.ptr[i], path[i + 1] - c.ptr[i + 1]
            shares[c.pair_ptr[i] + a * width[i + 1] + b] += weight / z
    one = Posteriors(single, shares, 0.0, 1, 0.0)
    for models in ([one], [one, one, one]):
        found, total = TagChain.of(c, models).marginals()
        assert found == pytest.approx(single, rel=1e-6, abs=1e-9)
        assert total == pytest.approx(0.0, abs=1e-6)


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 3), min_size=1, max_size=5))
def test_trigram_sums_and_best_are_those_of_enumeration(seed, width):
    rng = np.random.default_rng(seed)
    n_tags = 3
    p = rng.dirichlet(np.ones(n_tags + 1), size=(n_tags + 1, n_tags + 1))
    ptr = np.concatenate([[0], np.cumsum(width)])
    tags = np.concatenate([np.sort(rng.choice(n_tags, w, replace=False)) for w in width])
    scores = rng.random(len(tags)) + 0.1
    before = np.array([1, *width[:-1]])
    pair_ptr = np.concatenate([[0], np.cumsum(np.array(width) * before)])
    weights = {}
    for path in product(*(range(a, b) for a, b in pairwise(ptr))):
        around = [n_tags, n_tags, *tags[list(path)], n_tags]
        weight = np.prod(scores[list(path)])
        for i in range(len(around) - 2):
            weight *= p[tuple(around[i : i + 3])]
        weights[path] = weight
    z = sum(weights.values())
    single, size = np.zeros(len(tags)), int(pair_ptr[-1])
    total = trigram_sums(ptr, tags, scores, p, pair_ptr, np.empty(size), np.empty(size), single)
    assert np.exp(total) == pytest.approx(z, rel=1e-9)
    for place in range(len(tags)):
        share = sum(w for path, w in weights.items() if place in path) / z
        assert single[place] == pytest.approx(share, rel=1e-9)
    path = np.zeros(len(width), np.int64)
    best = trigram_best(
        ptr, tags, scores, p, pair_ptr, np.empty(size), np.empty(size, np.int64), path
    )
    assert np.exp(best) == pytest.approx(max(weights.values()), rel=1e-9)
    assert weights[tuple(path.tolist())] == pytest.approx(max(weights.values()), rel=1e-9)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_trigram_shares_sum_to_one_and_weights_too(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, size=(4, 4, 4)) * (rng.random((4, 4, 4)) < 0.4)
    counts[0, 0, 0] += 1
    weights = deleted_interpolation(counts)
    assert sum(weights) == pytest.approx(1.0, rel=1e-12)
    p = trigram_shares(counts, weights)
    assert p.sum(axis=2) == pytest.approx(np.ones((4, 4)), rel=1e-12)


def test_deleted_interpolation_votes_by_hand():
    # a b c four times, x b d once: without itself the second history has seen nothing
    counts = np.zeros((4, 4, 4), dtype=np.int64)
    counts[0, 1, 2] = 4
    counts[3, 1, 3] = 1
    # trigram (0,1,2): 3/3 against 3/4 and 3/4; (3,1,3): 0/0 -> 0, 0/4, 0/4: the first wins
    assert deleted_interpolation(counts) == (0.0, 0.0, 1.0)
    counts[3, 1, 3] = 0
    counts[0, 1, 2], counts[0, 1, 3], counts[3, 1, 3] = 1, 9, 9
    # (0,1,3) 8/9 = .889 against 17/18 = .944: the bigram; (3,1,3) 8/8; (0,1,2) all 0
    assert deleted_interpolation(counts) == pytest.approx((0.0, 9 / 19, 10 / 19), rel=1e-12)


def test_the_trigram_tagger_posteriors_sum_to_one_and_agree_with_log_p():
    tagger = TrigramTagger().fit(*planted(3))
    for tokens in SENTENCES:
        assert tagger.marginals(tokens).sum(axis=1) == pytest.approx(
            np.ones(len(tokens)), rel=1e-9
        )
        assert np.isfinite(tagger.log_prob(tokens))
    assert tagger.tag([]) == []
    assert tagger.log_prob([]) == 0.0
