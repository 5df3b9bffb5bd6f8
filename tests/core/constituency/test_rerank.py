"""The reranker: trees as flat arrays, features against a plain twin, the learner, the parser."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from eigentext.base.cores import using_cores
from eigentext.base.hashing import text_key
from eigentext.constituency import LPCFG
from eigentext.constituency.answer import word_emissions
from eigentext.constituency.chart.constraints import Constraints
from eigentext.constituency.rerank import Gold, Reranker, WordKeys, list_features, tree_list
from eigentext.constituency.scoring import forest_log_p, skeleton_log_p
from eigentext.constituency.transform import restore, user_labels
from eigentext.evaluate.parseval import score_pair
from eigentext.language.trees.constituent import Tree
from eigentext.language.trees.heads import HeadRules
from eigentext.linear.lists import ListWeights
from helpers.tree_hashes import EDGE, bucket, features_of_trees, more
from helpers.tree_hashes import hash_of as _hash

SENTENCES = (
    "The farmer sold the old horse and the cow in the village .",
    "In the house she saw a man with a dog .",
    "He Sang",
)


@pytest.fixture(scope="module")
def reranking(english) -> LPCFG:
    """A parser with a reranker."""
    return LPCFG(n_states=4, rerank=True).fit(english)


def _lists(parser, sentence, k=12):
    forest = parser.forest(sentence.split(), k)
    return forest, tree_list(forest, parser.label_table).trees


# -- flat trees --------------------------------------------------------------------------------


@pytest.mark.parametrize("sentence", SENTENCES)
def test_flat_trees_are_the_trees(parser, sentence):
    forest, flat = _lists(parser, sentence)
    labels, words = parser.grammar_.labels, sentence.split()
    trees = []
    for rank, (a, b) in enumerate(pairwise(flat.ptr.tolist())):
        tree = restore(forest.skeleton(rank).tree(labels, words), None)
        trees.append(tree)
        constituents = []
        for node in range(a, b):
            span = int(flat.start[node]), int(flat.end[node])
            constituents += [(name, *span) for name in user_labels(labels[flat.label[node]])]
        inner = np.flatnonzero(tree.sizes > 1)
        expected = [(tree.labels[node], *tree.spans()[node].tolist()) for node in inner.tolist()]
        assert constituents == expected
        for node in range(a + 1, b):
            above = a + flat.parent[node]
            assert above < node < above + flat.size[above]
            assert flat.start[above] <= flat.start[node] < flat.end[node] <= flat.end[above]
        # every node with children has one head child, and its head word is that child's
        for node in range(a, b):
            heads = [c for c in range(a, b) if flat.parent[c] == node - a and flat.is_head[c]]
            assert [flat.head[c] for c in heads] == [flat.head[node]] * int(flat.size[node] > 1)
    assert len(set(trees)) == len(trees)


def test_heads_are_those_of_the_head_rules(parser, english):
    seen = 0
    for gold in english[:40]:
        forest = parser.forest(gold.words, 1)
        flat = tree_list(forest, parser.label_table).trees
        tree = restore(forest.skeleton(0).tree(parser.grammar_.labels, gold.words), "TOP")
        if tree != gold:
            continue
        seen += 1
        heads, spans = HeadRules.english().lexical_heads(tree), tree.spans()
        expected = {tuple(spans[node].tolist()): int(heads[node]) for node in range(len(heads))}
        for node in range(len(flat.label)):
            assert flat.head[node] == expected[int(flat.start[node]), int(flat.end[node])]
    assert seen > 10


def test_brackets_are_counted_as_evalb_does(parser, english):
    table = parser.label_table
    for gold in english[:30]:
        forest = parser.forest(gold.words, 8)
        counts = Gold.of(gold).counts(tree_list(forest, table).trees, table)
        for rank, (matched, brackets) in enumerate(counts.tolist()):
            skeleton = forest.skeleton(rank)
            tree = restore(skeleton.tree(parser.grammar_.labels, gold.words), "TOP")
            score = score_pair(gold, tree)
            if score.status == 0:
                assert (matched, brackets) == (score.matched, score.test)


@pytest.mark.parametrize("estimator", ["clustering", "moments", "mixed"])
def test_log_p_of_a_forest_is_that_of_its_trees(english, estimator):
    n_models = 2 if estimator == "mixed" else 1
    parser = LPCFG(n_states=4, estimator=estimator, n_models=n_models).fit(english[:150])
    same: list[bool] = []
    for sentence in SENTENCES:
        words = sentence.split()
        kbest = parser.parse(words, kbest=15).kbest
        expected = [parser.log_prob(one.tree) for one in kbest]
        # log_prob is of the binarisation that training makes; a better one may have been decoded
        same += np.isclose([one.log_prob for one in kbest], expected, rtol=1e-5).tolist()
        forest = parser.forest(words, 15)
        emissions = word_emissions(parser.grammar_.params, parser.grammar_.labels, words, None)
        found = forest_log_p(parser.grammar_, forest, emissions)
        plain = [
            skeleton_log_p(parser.grammar_, forest.skeleton(rank), emissions)
            for rank in range(len(forest.roots))
        ]
        assert found.tolist() == pytest.approx(plain, rel=1e-6)
    assert np.mean(same) > 0.5


# -- features ----------------------------------------------------------------------------------


class _Node:
    """A node with links, for the plain twin."""

    def __init__(self, flat, table, a, node):
        label = flat.label[node]
        keys = (table.whole[label], table.top[label], table.bottom[label])
        self.whole, self.top, self.bottom = map(int, keys)
        self.start, self.end = int(flat.start[node]), int(flat.end[node])
        self.head, self.is_head = int(flat.head[node]), bool(flat.is_head[node])
        self.children, self.above = [], None

    @property
    def rule(self):
        state = self.whole
        for child in self.children:
            state = more(state, child.whole)
        return state

    @property
    def second(self):
        others = [child.head for child in self.children if not child.is_head]
        return others[-1] if others else None


def _plain_features(flat, table, words, a, b):
    """All features of one tree, node by node."""
    nodes = []
    for at in range(a, b):
        node = _Node(flat, table, a, at)
        if flat.parent[at] >= 0:
            node.above = nodes[flat.parent[at]]
            node.above.children.append(node)
        nodes.append(node)
    word, shape = ([EDGE, *map(int, keys), EDGE] for keys in words)  # place i + 1: word i
    tag = [EDGE, *(node.bottom for node in nodes if not node.children), EDGE]
    n = len(tag) - 2
    found = Counter()
    for x in nodes:
        s, e = x.start, x.end
        parent = x.above.bottom if x.above else EDGE
        top = x.above.above.bottom if x.above and x.above.above else EDGE
        w0, w1, w2, w3 = word[s], word[s + 1], word[e], word[e + 1]
        t0, t1, t2, t3 = tag[s], tag[s + 1], tag[e], tag[e + 1]
        if not x.children:
            found.update(
                [
                    _hash(1, x.whole), _hash(2, x.whole, w1), _hash(3, x.whole, w1, parent),
                    _hash(4, x.whole, w1, parent, top), _hash(5, x.whole, parent, top),
                    _hash(6, t1, t0), _hash(7, t1, t0, t3), _hash(8, t1, w0), _hash(9, t1, w3),
                    _hash(10, t1, w1, w0), _hash(11, t1, w1, w3), _hash(12, t1, shape[s + 1]),
                ]
            )  # fmt: skip
            continue
        own, hw, ht, rule, a_ = x.whole, word[x.head + 1], tag[x.head + 1], x.rule, x.bottom
        above = x.above.rule if x.above else EDGE
        pw = word[x.above.head + 1] if x.above else EDGE
        pt = tag[x.above.head + 1] if x.above else EDGE
        length, rest = bucket(e - s), bucket(n - e)
        right = int(e == n or (e == n - 1 and shape[n] == word[n]))
        found.update(
            [
                _hash(20, own), _hash(21, own, parent), _hash(22, own, parent, top),
                _hash(23, rule), _hash(24, rule, parent), _hash(25, rule, parent, top),
                _hash(26, rule, above), _hash(30, rule, ht), _hash(31, rule, hw),
                _hash(32, own, parent, hw), _hash(33, own, parent, ht),
                _hash(40, own, length, rest), _hash(41, own, length, t3),
                _hash(42, own, length, t0, t3), _hash(43, own, parent, length),
                _hash(44, right), _hash(45, right, own),
                _hash(50, own, w1), _hash(51, own, w2), _hash(52, own, w0), _hash(53, own, w3),
                _hash(54, own, t1), _hash(55, own, t2), _hash(56, own, t0), _hash(57, own, t3),
                _hash(58, own, t0, t1), _hash(59, own, t2, t3), _hash(60, own, w0, w1),
                _hash(61, own, w2, w3), _hash(62, own, t0, t3), _hash(63, own, t1, t2),
                _hash(64, own, t0, t1, t2, t3), _hash(65, own, w1, length),
                _hash(66, own, w3, length), _hash(67, own, parent, w1),
                _hash(68, own, parent, w3), _hash(69, own, parent, w0), _hash(70, own, w0, w3),
            ]
        )  # fmt: skip
        if not x.is_head:
            found.update(
                [
                    _hash(34, own, parent, hw, pw), _hash(35, own, parent, ht, pw),
                    _hash(36, own, parent, hw, pt), _hash(37, own, parent, ht, pt),
                    _hash(38, own, hw),
                ]
            )  # fmt: skip
        shapes = shape[s + 1 : e + 1]
        runs = [key for at, key in enumerate(shapes) if not at or key != shapes[at - 1]]
        found[_hash(80, own, *runs)] += 1
        found[_hash(80, own, *runs, shape[s], shape[e + 1])] += 1
        head_at = [child.is_head for child in x.children].index(True)
        tops = [EDGE, EDGE, *(child.top for child in x.children), EDGE]
        for at, child in enumerate(x.children):
            last2, last, label, side = *tops[at : at + 3], int(at > head_at)
            h = x.children[head_at].top
            found.update(
                [
                    _hash(90, a_, last, label), _hash(91, a_, last2, last, label),
                    _hash(92, a_, last, label, h, side), _hash(93, a_, child.whole, ht, side),
                    _hash(94, a_, child.whole, hw, side), _hash(95, a_, last, label, hw, side),
                ]
            )  # fmt: skip
            m = child.start
            if at:
                found.update(
                    [
                        _hash(100, a_, last, label, word[m]),
                        _hash(101, a_, last, label, word[m + 1]),
                        _hash(102, a_, last, label, bucket(m - s)),
                        _hash(103, a_, last, label, bucket(e - m)),
                        _hash(104, a_, word[m], word[m + 1], label),
                    ]
                )  # fmt: skip
            cw, ct = word[child.head + 1], tag[child.head + 1]
            if at != head_at:
                far = bucket(abs(child.head - x.head))
                found.update(
                    [
                        _hash(110, a_, label, ht, ct, side), _hash(111, a_, label, hw, ct, side),
                        _hash(112, a_, label, ht, cw, side), _hash(113, a_, label, hw, cw, side),
                        _hash(114, hw, cw, side), _hash(115, label, ht, ct, far, side),
                    ]
                )  # fmt: skip
                if child.second is not None:
                    ow, ot = word[child.second + 1], tag[child.second + 1]
                    found.update(
                        [
                            _hash(116, label, hw, cw, ot), _hash(117, label, ht, cw, ow),
                            _hash(118, label, hw, cw, ow), _hash(119, label, ht, cw, ot),
                        ]
                    )  # fmt: skip
            kin = [other for other in x.children[at + 1 :] if other.top == label]
            if kin and child.children:
                other, same = kin[0], int(kin[0].rule == child.rule)
                longer = (other.end - other.start) - (child.end - child.start)
                by, between = bucket(abs(longer)) + 100 * (longer > 0), word[other.start]
                found.update(
                    [
                        _hash(120, a_, label, same), _hash(121, label, same, between),
                        _hash(122, label, by), _hash(123, label, by, between),
                        _hash(124, label, ct, tag[other.head + 1]),
                    ]
                )  # fmt: skip
        found[_hash(90, a_, tops[-2], EDGE)] += 1
        found[_hash(91, a_, tops[-3], tops[-2], EDGE)] += 1
    return found


@pytest.mark.parametrize("sentence", SENTENCES)
def test_features_are_those_of_a_plain_twin(parser, sentence):
    # nodes that stand in every tree have no features: only differences between trees tell
    _, flat = _lists(parser, sentence)
    words = WordKeys(frozenset(("the", "in", ".", "farmer")), "english").of(sentence.split())
    table = parser.label_table
    found = features_of_trees(list_features(flat, table, words))
    plain = [_plain_features(flat, table, words, a, b) for a, b in pairwise(flat.ptr.tolist())]
    assert len(found) == len(plain) > 2
    for mine, expected in zip(found, plain, strict=True):
        assert mine - found[0] == expected - plain[0]
        assert found[0] - mine == plain[0] - expected


def test_rare_words_have_the_keys_of_their_signatures():
    keys, shapes = WordKeys(frozenset(("cat",)), "english").of(["cat", "zebras", "tables", "?"])
    assert keys[0] == text_key("cat")
    assert keys[1] == keys[2] != keys[0]
    assert shapes[0] == shapes[1] != shapes[3]


def test_few_trees_make_a_reranker_that_changes_nothing(english):
    plain, other = (LPCFG(n_states=1, rerank=r).fit(english[:4]) for r in (False, True))
    assert len(other.reranker_.weights.keys) == 0
    words = english[0].words
    assert other.parse(words, kbest=5).kbest == plain.parse(words, kbest=5).kbest


# -- the parser --------------------------------------------------------------------------------


def _preferring(parser, sentence):
    """The parser with a reranker that likes what only one tree has, and the rank of that tree."""
    _, flat = _lists(parser, sentence, 20)
    words = WordKeys(frozenset(), "english").of(sentence.split())
    trees = features_of_trees(list_features(flat, parser.label_table, words))
    for rank in range(len(trees) - 1, 0, -1):
        others = set().union(*(tree for at, tree in enumerate(trees) if at != rank))
        own = np.array(sorted(trees[rank].keys() - others)[:1], np.uint64)
        if len(own):
            break
    other = LPCFG.from_bytes(parser.to_bytes())
    other.reranker_ = Reranker(
        (), ListWeights(own, np.array([99.0], np.float32), np.ones(1)), "english"
    )
    return other, rank


def test_the_tree_with_the_weight_comes_first(parser):
    sentence, words = SENTENCES[1], SENTENCES[1].split()
    before = parser.parse(words, kbest=20, decoder="max-rule-product").kbest
    other, best = _preferring(parser, sentence)
    ranks = [best, *(rank for rank in range(len(before)) if rank != best)]
    found = other.parse(words, kbest=20)
    assert [one.tree for one in found.kbest] == [before[rank].tree for rank in ranks]
    assert [one.log_score for one in found.kbest] == [before[rank].log_score for rank in ranks]
    assert other.parse(words).tree == before[best].tree
    assert found.log_prob == pytest.approx(before[best].log_prob)
    # the reranker is for max-rule-product alone
    for decoder in ("max-constituents", "max-recall", "viterbi"):
        assert (
            other.parse(words, decoder=decoder).tree == parser.parse(words, decoder=decoder).tree
        )


def test_it_learns_what_the_grammar_cannot_see():
    # "a" attaches high after "x", low after "y", across a word that looks the same
    high = "(S (V x) (N n) (P p))"
    low = "(S (V y) (M (N n) (P p)))"
    trees = [Tree.from_brackets(line) for line in (high, low) * 30]
    alone = {"n_states": 1, "heads": "neutral", "bracket_weight": 0}  # brackets would see it too
    parser = LPCFG(rerank=True, **alone).fit(trees)
    first = LPCFG(**alone).fit(trees)
    right = [parser.parse(tree.words).tree == tree for tree in trees[:2]]
    assert right == [True, True]
    assert [first.parse(tree.words).tree == tree for tree in trees[:2]] != [True, True]


def test_files_keep_the_reranker(reranking, tmp_path):
    reranking.save(tmp_path / "model")
    back = LPCFG.load(tmp_path / "model")
    assert back.rerank
    assert back.reranker_.words == reranking.reranker_.words
    assert np.array_equal(back.reranker_.weights.keys, reranking.reranker_.weights.keys)
    words = SENTENCES[0].split()
    assert back.parse(words, kbest=7).kbest == reranking.parse(words, kbest=7).kbest
    plain = LPCFG(n_states=1).fit([Tree.from_brackets("(S (A x) (B y))")])
    assert LPCFG.from_bytes(plain.to_bytes()).reranker_ is None


def test_the_same_answer_again_and_for_any_jobs(reranking, english):
    with using_cores(3):
        again = LPCFG(n_states=4, rerank=True).fit(english)
    assert again.to_bytes() == reranking.to_bytes()
    sentences = [tree.words for tree in english[:12]]
    one = [parse.tree for parse in reranking.parse_many(sentences)]
    assert [parse.tree for parse in reranking.parse_many(sentences, jobs=2)] == one


def test_constraints_pieces_and_single_words(reranking):
    words = SENTENCES[1].split()
    found = reranking.parse(words, constraints=Constraints(required=[(4, 9, "NP")]), kbest=5)
    for one in found.kbest:
        assert ("NP", 4, 9) in one.tree.constituents()
    reranking.longest = 6
    try:
        assert "split" in reranking.parse(words).flags
    finally:
        reranking.longest = 300
    assert reranking.parse(["Go"]).tree.words == ("Go",)
    assert reranking.parse(words, marginals=True).marginals
