"""log p of trees and sentences, k-best through the model, against listing all trees."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eigentext.base.model import NotFittedError
from eigentext.constituency import LPCFG
from eigentext.constituency.chart.constraints import build_masks
from eigentext.constituency.chart.decode import Skeleton, skeleton_of
from eigentext.constituency.params import Tensors
from eigentext.constituency.settings import LPCFGSettings
from eigentext.constituency.transform import head_rules, prepare_tree, restore
from eigentext.errors import SettingsError
from eigentext.language.trees.constituent import Tree
from oracle import lpcfg_trees

PLAIN = {"heads": "neutral", "language": "generic"}
SETTINGS = LPCFGSettings(**PLAIN)
SENTENCES = ("x y", "x y y", "y x y x", "z x", "q x y")


@pytest.fixture(scope="module", params=[1, 2])
def small(request, toy):
    return LPCFG(
        n_states=2,
        per_state=2,
        n_models=request.param,
        beam=0.0,
        threshold=0.0,
        bracket_threshold=0.0,
        **PLAIN,
    ).fit(toy * 3)


def _all(parser, words):
    """(tree of the user, log p of this binary tree, list of weights by model) of every tree."""
    models = []
    for params in parser.grammar_.params:
        emissions = [params.lexicon.emission(w, first=i == 0) for i, w in enumerate(words)]
        models.append((params, emissions))
    params, emissions = models[0]
    of_words = sum(params.lexicon.tag_level.log_p_word(word) for word in words)
    found = []
    for tree in lpcfg_trees.all_trees(parser.grammar_.coarse, params.lexicon, emissions):
        weights = [lpcfg_trees.state_weights(tree, *model).sum() for model in models]
        binary = tree.tree(parser.grammar_.labels, words)
        found.append((tree, binary, math.log(np.mean(weights)) + of_words, weights))
    return found


def _bracket_weight(parser, words, tree):
    """What the bracket model multiplies the weight of a tree with."""
    n = len(words)
    if n < 3:
        return 1.0  # all trees have the same brackets
    lexicon = parser.grammar_.lexicon
    score = parser.grammar_.brackets.judge(words, lexicon).score
    spans = [(start, end) for _, start, end in tree.items() if end - start > 1]
    number = [i * n - i * (i - 1) // 2 + j - i - 1 for i, j in spans]
    return math.exp(parser.bracket_weight * score[number].sum())


@pytest.mark.parametrize("sentence", SENTENCES)
def test_sentence_is_the_sum_of_its_trees(small, sentence):
    words = sentence.split()
    logs = [log_prob for _, _, log_prob, _ in _all(small, words)]
    assert logs
    total = float(np.logaddexp.reduce(logs))
    assert small.sentence_log_prob(words, exact=True) == pytest.approx(total, abs=1e-4)
    assert small.sentence_log_prob(words) == pytest.approx(total, abs=1e-4)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_k_best_trees_carry_their_probability(small, sentence):
    words = sentence.split()
    every = _all(small, words)
    log_scores = np.zeros(len(every))
    of_brackets = [_bracket_weight(small, words, tree) for tree, *_ in every]
    for model in range(small.n_models):
        of_application, _ = lpcfg_trees.posteriors(
            [tree for tree, *_ in every],
            [
                weights[model] * more
                for (*_, weights), more in zip(every, of_brackets, strict=True)
            ],
        )
        log_scores += [
            sum(math.log(of_application[key]) for key in tree.applications()) for tree, *_ in every
        ]
    best = {}
    for score, (_, binary, log_prob, _) in sorted(
        zip(log_scores, every, strict=True), key=lambda pair: -pair[0]
    ):
        best.setdefault(restore(binary, small.grammar_.wrapper), (score, log_prob))
    found = small.parse(words, kbest=len(every) + 5, decoder="max-rule-product").kbest
    assert len({one.tree for one in found}) == len(found)
    assert {one.tree for one in found} == set(best)
    assert [one.log_score for one in found] == pytest.approx(
        [score for score, _ in best.values()], abs=1e-3
    )
    for one in found:
        assert one.log_prob == pytest.approx(best[one.tree][1], abs=1e-4)
        assert one.tree.words == tuple(words)


def restored_otherwise(parser, answer):
    """Is the tree binarised another way than training would?"""
    binary = prepare_tree(answer.tree, parser, head_rules(parser))
    return skeleton_of(binary, parser.grammar_.rule_numbers) is None


def test_score_of_the_best_tree(parser, english):
    for tree in english[:30]:
        answer = parser.parse(tree.words, kbest=4)
        assert answer.log_prob == answer.kbest[0].log_prob
        assert answer.tree == answer.kbest[0].tree
        assert parser.sentence_log_prob(tree.words) >= answer.log_prob - 1e-4
        scores = [one.log_score for one in answer.kbest]
        assert scores == sorted(scores, reverse=True)
        # The found binarisation is the tree's own, or the own one has no weight or another one.
        own = parser.log_prob(answer.tree)
        assert own == pytest.approx(answer.log_prob, abs=1e-6) or restored_otherwise(
            parser, answer
        )


def test_trees_of_training_have_weight_and_strange_ones_have_none(parser, english):
    assert all(math.isfinite(parser.log_prob(tree)) for tree in english)
    for strange in (
        "(TOP (S (NP (DT The) (NN farmer)) (VP (XX sold))))",  # unknown tag
        "(TOP (QQ (DT The) (NN farmer)))",  # unknown label
        "(TOP (. .) (. .))",  # unknown rule
        "(TOP (S the))",  # a label that never stands over a word
    ):
        assert parser.log_prob(Tree.from_brackets(strange)) == -math.inf
    nothing = Tree.from_brackets("(S (-NONE- *))")
    assert parser.log_prob(nothing) == -math.inf


def test_function_tags_and_wrappers_do_not_count(parser):
    plain = Tree.from_brackets("(S (NP (DT The) (NN farmer)) (VP (VBD slept)) (. .))")
    dressed = Tree.from_brackets(
        "(ROOT (S (NP-SBJ-1 (DT The) (NN farmer)) (VP (VBD slept) (NP (-NONE- *))) (. .)))"
    )
    assert parser.log_prob(plain) == parser.log_prob(dressed)
    assert math.isfinite(parser.log_prob(plain))


def test_words_sum_to_one_with_one_unknown(parser):
    lexicon = parser.grammar_.lexicon
    known = sum(math.exp(lexicon.log_p_word(word)) for word in lexicon.words)
    assert known + math.exp(lexicon.log_p_word("never-seen")) == pytest.approx(1.0, rel=1e-9)


def test_viterbi_is_one_tree_of_one_model(parser, english):
    with pytest.raises(SettingsError, match="viterbi"):
        parser.parse(english[0].words, kbest=2, decoder="viterbi")
    answer = parser.parse(english[0].words, decoder="viterbi")
    of_words = sum(parser.grammar_.lexicon.log_p_word(word) for word in english[0].words)
    # The best derivation is one of those that the tree's probability sums.
    assert answer.log_score + of_words <= answer.log_prob + 1e-6


def test_not_trained():
    with pytest.raises(NotFittedError, match="learned nothing"):
        LPCFG().parse(["a"])
    with pytest.raises(NotFittedError, match="learned nothing"):
        LPCFG().log_prob(Tree.from_brackets("(S a)"))


def test_exact_sum_is_at_least_the_pruned_one(parser, english):
    for tree in english[:5]:
        pruned = parser.sentence_log_prob(tree.words)
        assert parser.sentence_log_prob(tree.words, exact=True) >= pruned - 1e-4


def test_two_binarisations_of_one_tree_count_once(parser, english):
    words = list(english[0].words)
    emissions = [
        [parser.grammar_.params[0].lexicon.emission(w, first=i == 0) for i, w in enumerate(words)]
    ]
    one, two, *_ = (found.skeleton for found in _binary_trees(parser, words, emissions))
    stream = iter([(0.0, one, None), (-1.0, one, None), (-2.0, two, None), (-3.0, one, None)])
    found = parser._distinct(stream, 2, words, words, emissions)
    assert [candidate.log_score for candidate in found] == [0.0, -2.0]
    assert found[0].tree != found[1].tree


def _binary_trees(parser, words, emissions):
    masks = build_masks(len(words), parser.grammar_.labels, None)
    chart, passes = parser._chart(emissions, masks, parser.beam, parser.threshold)
    return parser._decode(chart, passes, emissions, "max-rule-product", 3)


def test_inside_values_that_are_all_negative_have_a_log_weight():
    """Moments are signed: below a node all may be negative, and the product positive again."""
    from eigentext.constituency.kernels.trees import tree_inside

    none = np.array([-1])
    skeleton = Skeleton(np.array([0]), none, none, none)
    tensors = Tensors(
        np.empty((0, 3), np.int64), np.array([2]), np.array([0]), np.empty(0, np.float32)
    )
    inside, root = np.array([-0.5, -0.25]), np.array([-1.0, -1.0])
    first = np.array([0])
    log_weight = tree_inside(skeleton, tensors, root, first, first, inside)
    assert log_weight == pytest.approx(np.log(0.75))
