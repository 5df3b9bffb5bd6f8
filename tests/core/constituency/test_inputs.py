"""Sentences and treebanks at the edge of what is likely; constraints through the parser."""

from __future__ import annotations

import random
import tracemalloc
from copy import copy

import numpy as np
import pytest

from eigentext.constituency import LPCFG, Constraints
from eigentext.constituency.settings import DECODERS
from eigentext.errors import SettingsError
from eigentext.language.trees.constituent import Tree


def _nodes(tree):
    """(label, start, end) of all nodes but words."""
    spans = tree.spans().tolist()
    return {
        (tree.labels[node], *spans[node]) for node in range(tree.n_nodes) if tree.sizes[node] > 1
    }


@pytest.fixture(scope="module")
def wide(parser) -> LPCFG:
    """The same parser without pruning, for constraints that force unlikely trees."""
    other = copy(parser)
    other.beam = other.threshold = 0.0
    return other


SENTENCE = "The farmer saw the horse with the telescope .".split()


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize(
    "constraints",
    [
        Constraints(required=[(3, 8)]),
        Constraints(required=[(3, 8, "NP")]),
        Constraints(required=[(2, 8, "VP"), (3, 5, "NP"), (5, 8, "PP")], forbidden=[(3, 8)]),
        Constraints(forbidden=[(3, 8, "NP")]),
        Constraints(forbidden=[(5, 8)]),
        Constraints(tags={1: "NNS", 4: "NNP"}),
        Constraints(tags={4: "CD"}, required=[(0, 2)]),
        Constraints(required=[(0, 9, "TOP"), (0, 9, "S")]),
    ],
)
def test_constraints_hold(parser, decoder, constraints):
    kbest = 1 if decoder == "viterbi" else 5
    answer = parser.parse(SENTENCE, constraints=constraints, decoder=decoder, kbest=kbest)
    assert "fallback" not in answer.flags
    for tree in [one.tree for one in answer.kbest] or [answer.tree]:
        nodes = _nodes(tree)
        for start, end, *label in constraints.required:
            assert any(n[1:] == (start, end) and n[0] in (label or [n[0]]) for n in nodes)
        for start, end, *label in constraints.forbidden:
            assert not any(n[1:] == (start, end) and n[0] in (label or [n[0]]) for n in nodes)
        for word, tag in (constraints.tags or {}).items():
            assert tree.tags[word] == tag
        assert tree.words == tuple(SENTENCE)


def test_what_the_grammar_cannot_do_is_flagged_and_still_bracketed(parser):
    constraints = Constraints(required=[(1, 3), (0, 9, "NP"), (4, 8, "PP")], tags={0: "CD"})
    answer = parser.parse(SENTENCE, constraints=constraints)
    assert "fallback" in answer.flags
    assert np.isfinite(answer.log_prob)
    assert "X" not in answer.tree.labels
    nodes = _nodes(answer.tree)
    assert {("NP", 0, 9), ("PP", 4, 8)} <= nodes
    assert any(node[1:] == (1, 3) for node in nodes)
    assert answer.tree.words == tuple(SENTENCE)
    assert answer.tree.tags[0] == "CD"


@pytest.mark.parametrize(
    ("constraints", "why"),
    [
        (Constraints(required=[(3, 20)]), "not within a sentence of 9 words"),
        (Constraints(forbidden=[(3, 3)]), "not within"),
        (Constraints(required=[(0, 2, "WHAT")]), "no label 'WHAT'"),
        (Constraints(tags={0: "WHAT"}), "no tag 'WHAT'"),
        (Constraints(tags={9: "NN"}), "word 9"),
        (Constraints(required=[(0, 3), (2, 4)]), "cross"),
        (
            Constraints(required=[(3, 8, "NP")], forbidden=[(3, 8)]),
            r"span \(3, 8, 'NP'\) is required, and \(3, 8\) is forbidden",
        ),
        (
            Constraints(required=[(3, 8, "NP")], forbidden=[(3, 8, "NP")]),
            r"\(3, 8, 'NP'\) is required, and \(3, 8, 'NP'\) is forbidden",
        ),
        (Constraints(required=[(3, 8)], forbidden=[(3, 8)]), "is required, and"),
        (Constraints(forbidden=[(0, 9)]), "every tree spans the whole sentence"),
        (Constraints(forbidden=[(0, 9, "TOP")]), "every tree has TOP on top"),
        (Constraints(forbidden=[(2, 3)]), "every word has a tag"),
        (Constraints(forbidden=[(1, 2, "NN")], tags={1: "NN"}), "word 1 has to have the tag 'NN'"),
    ],
)
def test_constraints_without_sense(parser, constraints, why):
    with pytest.raises(SettingsError, match=why):
        parser.parse(SENTENCE, constraints=constraints)


def test_long_sentence_in_bounded_memory(parser, english):
    rng = random.Random(1)
    words = [w for tree in rng.sample(english, 60) for w in tree.words if w != "."]
    tokens = [*words[:249], "."]
    assert len(tokens) == 250
    parser.parse(tokens[:10])
    tracemalloc.start()
    answer = parser.parse(tokens, marginals=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 600e6
    assert answer.tree.words == tuple(tokens)
    assert "fallback" not in answer.flags
    assert np.isfinite(answer.log_prob)
    assert np.isfinite(answer.log_score)
    assert parser.sentence_log_prob(tokens) >= answer.log_prob - 1e-2
    values = np.array(list(answer.marginals.values()))
    assert np.all(np.isfinite(values))
    assert values.max() <= 1.01
    viterbi = parser.parse(tokens, decoder="viterbi")
    assert np.isfinite(viterbi.log_score)


@pytest.mark.parametrize(
    "tokens",
    [
        ["Yes"],
        ["."],
        ["(", "the", "horse", ")"],
        ["and", "/", "or"],
        ["[", "{", "}", "]"],
        ["كتابها", "хорошо", "言語", "🐎"],
        ["a\u00a0b", "\u200b", "é", "e\u0301"],
        ["zyzzyva"],
        ["ZYZZYVA", "zyzzyva", "1,234.5", "--", "@>S|A", "A>B", "\\"],
        ["-LRB-", "x", "-RRB-"],
        ["the"] * 40,
    ],
)
def test_the_tokens_come_back(parser, tokens):
    for decoder in DECODERS:
        answer = parser.parse(tokens, decoder=decoder)
        assert answer.tree.words == tuple(tokens)
        assert answer.tree.labels[0] == "TOP"
        assert np.isfinite(answer.log_prob)
        assert np.isfinite(parser.sentence_log_prob(tokens))


def test_unknown_words_are_flagged(parser):
    assert "unknown" in parser.parse(["The", "zyzzyva", "slept", "."]).flags
    assert "unknown" not in parser.parse(["The", "farmer", "sold", "the", "horse", "."]).flags


@pytest.mark.parametrize(
    ("written", "token"),
    [
        ("-LRB-", "("),
        ("-RRB-", ")"),
        ("-LSB-", "["),
        ("-RCB-", "}"),
        ("and\\/or", "and/or"),
        ("[", "-LSB-"),
        ("\\*", "*"),
    ],
)
def test_brackets_and_slashes_find_their_words(written, token):
    trees = [
        Tree.from_nested(("S", ("NN", "dog"), ("NN", "dog"))),
        Tree.from_nested(("S", ("NN", "dog"), ("SYM", written))),
    ]
    parser = LPCFG(n_states=1).fit(trees * 20)
    answer = parser.parse(["dog", token])
    assert answer.tree.tags == ("NN", "SYM")
    assert answer.tree.words == ("dog", token)
    assert "unknown" not in answer.flags


def test_no_tokens_and_no_lists(parser):
    with pytest.raises(SettingsError):
        parser.parse([])
    with pytest.raises(SettingsError):
        parser.parse(["a", ""])
    with pytest.raises(SettingsError, match="list of tokens"):
        parser.parse("a sentence")
    with pytest.raises(SettingsError, match="a token is a string"):
        parser.parse(["a", 1])
    with pytest.raises(SettingsError):
        parser.parse(["a"], kbest=0)
    with pytest.raises(SettingsError):
        parser.parse(["a"], decoder="best")


def _works(trees, tmp_path, **settings):
    """Fit, parse, score, save and load; the parser."""
    parser = LPCFG(**settings).fit(trees)
    for tree in trees[:5]:
        answer = parser.parse(tree.words)
        assert answer.tree.words == tree.words
        assert np.isfinite(parser.log_prob(tree))
    for tokens in (["x"], ["the", "dog"], ["never", "seen", "before", "!"]):
        assert parser.parse(tokens).tree.words == tuple(tokens)
    parser.save(tmp_path / "m.lpcfg")
    again = LPCFG.load(tmp_path / "m.lpcfg")
    assert again.parse(trees[0].words) == parser.parse(trees[0].words)
    return parser


@pytest.mark.parametrize("estimator", ["clustering", "em", "moments"])
def test_one_tree(tmp_path, estimator):
    tree = Tree.from_brackets("(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)))")
    em = None if estimator == "moments" else 2
    parser = _works([tree], tmp_path, estimator=estimator, n_iter=em)
    assert parser.parse(tree.words).tree == tree


@pytest.mark.parametrize("estimator", ["clustering", "em", "moments"])
def test_only_unary_trees(tmp_path, estimator):
    trees = [
        Tree.from_brackets(line)
        for line in ("(S (VP (VB Go)))", "(S (NP (NN dogs)))", "(FRAG (UH Yes))") * 12
    ]
    em = None if estimator == "moments" else 2
    parser = _works(trees, tmp_path, estimator=estimator, n_iter=em)
    assert parser.parse(["Go"]).tree == trees[0]
    assert parser.parse(["Go", "dogs"]).flags == {"fallback"}


def test_a_label_that_occurs_once(tmp_path, english):
    odd = Tree.from_brackets("(TOP (S (WHNP (WP Who)) (VP (VBD slept)) (. ?)))")
    parser = _works([*english[:40], odd], tmp_path, n_states=4)
    assert parser.parse(odd.words).tree == odd
    assert np.isfinite(parser.log_prob(odd))


def test_a_thousand_labels(tmp_path):
    trees = [
        Tree.from_nested(
            (f"S{k % 10}", (f"A{k}", ("D", "the"), ("N", f"w{k % 50}")), ("V", "goes"))
        )
        for k in range(1000)
    ]
    parser = _works(trees, tmp_path, n_states=4)
    assert len(parser.grammar_.labels) > 1000
    answer = parser.parse(["the", "w7", "goes"])
    assert "fallback" not in answer.flags


def test_labels_with_marks_of_our_own(tmp_path):
    tree = Tree.from_nested(
        ("@S", ("A>B", ("x|y", "a"), ("\\", "b")), ("A^C", ("N", "c")), (">", "d"), ("|", "e"))
    )
    parser = _works([tree] * 3, tmp_path, n_states=2)
    assert parser.parse(tree.words).tree == tree
    constraints = Constraints(required=[(0, 2, "A>B")], tags={0: "x|y", 1: "\\"})
    assert parser.parse(tree.words, constraints=constraints).tree == tree
    answer = parser.parse(tree.words, marginals=True)
    assert answer.marginals[0, 2, "A>B"] == pytest.approx(1.0, abs=1e-4)
    assert answer.marginals[2, 3, "A^C"] == pytest.approx(1.0, abs=1e-4)


def test_a_given_tag_that_the_word_never_had(parser):
    tokens = ["The", "farmer", "sold", "the", "horse", "."]
    for tag in ("NNS", "NNP", "CD"):
        answer = parser.parse(tokens, constraints=Constraints(tags={4: tag}))
        assert answer.tree.tags[4] == tag
        assert answer.tree.tags[3] == "DT"


def test_every_tag_can_be_given(wide):
    tags = sorted({tag for tree in (wide.parse(SENTENCE).tree,) for tag in tree.tags})
    for tag in tags:
        answer = wide.parse(["horse"] * 2, constraints=Constraints(tags={0: tag, 1: tag}))
        assert answer.tree.tags == (tag, tag)


def test_marginals_of_certain_things(parser):
    answer = parser.parse(["The", "farmer", "sold", "the", "horse", "."], marginals=True)
    assert answer.marginals[0, 6, "S"] == pytest.approx(1.0, abs=0.02)
    assert all(-1e-6 <= value <= 1.001 for value in answer.marginals.values())
    for word in range(6):
        tags = [
            p
            for (start, end, label), p in answer.marginals.items()
            if (start, end) == (word, word + 1) and label.isupper() and label in _tags(parser)
        ]
        assert word == 5 or sum(tags) == pytest.approx(1.0, abs=0.02)


def _tags(parser):
    lexicon = parser.grammar_.params[0].lexicon
    return {parser.grammar_.labels[label] for label in lexicon.tags}
