"""All trees at once over flat arrays, against one tree after the other, node by node."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eigentext.constituency.settings import LPCFGSettings
from eigentext.constituency.transform import head_rules, prepare_tree, prepare_trees, read_treebank
from eigentext.constituency.treebank import Numbering, _rules
from eigentext.errors import SettingsError
from eigentext.features.signatures import signatures
from eigentext.language.formats.ptb import read_trees
from eigentext.language.trees.clean import WRAPPERS
from eigentext.language.trees.constituent import Tree
from eigentext.language.trees.heads import HeadRules
from oracle.binarised import binarised_heads
from oracle.treebank import build_treebank


def plain_treebank(
    trees: list[Tree], settings: LPCFGSettings, rare: int
) -> tuple[dict[str, Any], Any]:
    """Every field of the treebank, one tree and one node at a time."""
    rules = head_rules(settings)
    wrappers = Counter()
    columns = "label left right parent sibling side start end head offset length depth token rule"
    found: dict[str, list] = {name: [] for name in columns.split()}
    roots, words, first_in_sentence, tag_at = [], [], [], []
    names: Numbering = Numbering()
    for tree in trees:
        binary = prepare_tree(tree, settings, rules)
        if binary is None:
            continue
        wrappers[tree.labels[0] if tree.labels[0] in WRAPPERS else None] += 1
        heads, parents, depths = binarised_heads(binary, rules), binary.parents, binary.depths
        inner = [node for node in range(binary.n_nodes) if binary.sizes[node] > 1]
        number = {node: len(found["label"]) + k for k, node in enumerate(inner)}
        roots.append(number[0])
        for node in inner:
            start, end = binary.spans()[node].tolist()
            below = [number[child] for child in binary.children(node) if child in number]
            beside = binary.children(parents[node]) if node else [node]
            found["label"].append(names[binary.labels[node]])
            found["left"].append(below[0] if below else -1)
            found["right"].append(below[1] if below else -1)
            found["parent"].append(number[parents[node]] if node else -1)
            found["side"].append(beside.index(node) if node else -1)
            found["sibling"].append(number[beside[1 - beside.index(node)]] if node else -1)
            found["start"].append(start)
            found["end"].append(end)
            found["head"].append(heads[node])
            found["offset"].append(len(words))
            found["length"].append(len(binary))
            found["depth"].append(depths[node])
            found["token"].append(-1 if below else len(words) + start)
            if not below:
                tag_at.append(names[binary.labels[node]])
        words += binary.words
        first_in_sentence += [place == 0 for place in range(len(binary))]
    label = found["label"]
    triples = {
        node: (label[node], label[found["left"][node]], label[found["right"][node]])
        for node in range(len(label))
        if found["left"][node] >= 0
    }
    distinct = sorted(set(triples.values()))
    found["rule"] = [
        distinct.index(triples[node]) if node in triples else -1 for node in range(len(label))
    ]
    counts, numbers, of_words = Counter(words), Numbering(), []
    for word, first in zip(words, first_in_sentence, strict=True):
        shape = "\0sig " + signatures(word, first=first, language=settings.language)[0]
        small = word.lower()
        of_word = shape if counts[word] <= rare else word
        four = (of_word, shape, "\0-2 " + small[-2:], "\0-3 " + small[-3:])
        of_words.append([1 + numbers[name] for name in four])
    for k, name in enumerate(("word_class", "signature", "suffix2", "suffix3")):
        found[name] = [of_words[t][k] if t >= 0 else 0 for t in found["token"]]
    found |= {"word_at": [row[0] for row in of_words], "tag_at": tag_at, "roots": roots}
    arrays: dict[str, Any] = {k: np.array(v, dtype=np.int64) for k, v in found.items()}
    arrays["rules"] = np.array(distinct, dtype=np.int64).reshape(-1, 3)
    arrays["first_in_sentence"] = np.array(first_in_sentence)
    arrays |= {"labels": tuple(names), "words": tuple(words)}
    return arrays, max(wrappers, key=lambda name: (wrappers[name], name or ""), default=None)


def assert_same(trees: list[Tree], settings: LPCFGSettings, rare: int = 1) -> None:
    expected, wrapper = plain_treebank(trees, settings, rare)
    bank, found_wrapper = read_treebank(iter(trees), settings, rare=rare)
    assert found_wrapper == wrapper
    names = {field.name for field in fields(bank)} - {"classes", "language", "_once"}
    assert set(expected) == names
    for name in names:
        value, found = expected[name], getattr(bank, name)
        if isinstance(value, tuple):
            assert found == value, name
        else:
            np.testing.assert_array_equal(found, value, err_msg=name)
            assert (found.dtype, found.shape) == (value.dtype, value.shape), name
            assert found.flags.c_contiguous, name


# -- trees of all kinds ---------------------------------------------------------------------------

ODD = st.text(alphabet="aN>\\@^|<-=*\n", max_size=4) | st.sampled_from(["@<S|NP", "S>VP", "a\\"])
COMMON = st.sampled_from(
    [
        *["S", "NP", "NP-SBJ", "NP=2", "NP-SBJ-1", "VP", "PP", "UCP", "IP", "TOP", "ROOT", ""],
        *["NN", "VBZ", "CC", "CONJP", ",", ".", "-LRB-", "-NONE-", "N-", "IP-MAT"],
    ]
)
WORDS = st.sampled_from(["the", "The", "dogs", "Ísland", "3.5", "-NONE-", "NP", ""]) | ODD


def nested(labels: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        st.tuples(labels, WORDS),
        lambda inner: st.builds(
            lambda label, below, chain: _under(chain, (label, *below)),
            labels,
            st.lists(inner, min_size=1, max_size=6),
            st.lists(labels, max_size=2),
        ),
        max_leaves=14,
    )


def _under(chain: list[str], tree: Any) -> Any:
    for label in chain:
        tree = (label, tree)
    return tree


TREES = st.lists((nested(COMMON) | nested(ODD | COMMON)).map(Tree.from_nested), max_size=4)
SETTINGS = st.builds(
    LPCFGSettings,
    direction=st.sampled_from(["head", "right", "left"]),
    markov_order=st.sampled_from([0, 1, 2, 3, None]),
    heads=st.sampled_from(["english", "neutral"]),
    language=st.sampled_from(["english", "generic"]),
    cut_tags=st.booleans(),
)
GONE = Tree.from_nested(("S", ("NP", ("-NONE-", "*")), ("-NONE-", "0")))


@given(TREES, SETTINGS, st.integers(0, 2))
@example(
    [Tree.from_nested(("TOP", "w")), GONE, Tree.from_nested(("", ("TOP", ("X", "w"))))],
    LPCFGSettings(),
    1,
)
@example([Tree.from_nested(("TOP", ("-NONE-", "*"), ("S", ("TOP", "w"))))], LPCFGSettings(), 1)
@example(
    [Tree.from_nested(("S", ("", "w"), ("-NONE-", ("A", "a"), ("-NONE-", "b"))))],
    LPCFGSettings(),
    0,
)
def test_all_at_once_is_one_after_the_other(
    trees: list[Tree], settings: LPCFGSettings, rare: int
) -> None:
    if any(prepare_tree(tree, settings, HeadRules.english()) is not None for tree in trees):
        assert_same(trees, settings, rare)
    else:
        with pytest.raises(SettingsError, match="at least one tree with words"):
            read_treebank(trees, settings)


@pytest.mark.parametrize("direction", ["head", "right", "left"])
@pytest.mark.parametrize("h", [0, 1, 2])
def test_the_sample(english: list[Tree], direction: Any, h: int) -> None:
    assert_same(english[:150], LPCFGSettings(direction=direction, markov_order=h))


@pytest.mark.parametrize("heads", range(7))
def test_every_place_of_the_head_in_a_wide_node(heads: int) -> None:
    tags = ["D"] * 7
    tags[heads] = "X"
    tree = Tree.from_nested(("XP", *((tag, f"w{k}") for k, tag in enumerate(tags))))
    assert_same([tree] * 2, LPCFGSettings(heads="neutral", markov_order=2))
    bank, _ = read_treebank([tree], LPCFGSettings(heads="neutral"))
    assert bank.head[0] == heads


def test_build_treebank_lays_out_the_same(english: list[Tree]) -> None:
    settings = LPCFGSettings()
    rules = head_rules(settings)
    binary = [prepare_tree(tree, settings, rules) for tree in english[:80]]
    heads = [binarised_heads(tree, rules)[~tree.is_leaf].tolist() for tree in binary]
    built = build_treebank(binary, heads, rare=1, language="english")
    bank, _ = read_treebank(english[:80], settings)
    for field in fields(bank):
        np.testing.assert_array_equal(getattr(built, field.name), getattr(bank, field.name))


def test_depth_and_width_cost_nothing_but_time() -> None:
    n = 70_000  # deeper than 16 bits count
    sizes = np.empty(3 * n + 2, dtype=np.int32)
    sizes[0:-2:3], sizes[1:-2:3], sizes[2:-2:3] = np.arange(3 * n + 2, 2, -3), 2, 1
    sizes[-2:] = 2, 1
    deep = Tree(("A", "B", "w") * n + ("A", "w"), sizes)
    chain = Tree(("A",) * n + ("w",), np.arange(n + 1, 0, -1))
    flat = Tree(("A", *("B", "w") * n), np.array([2 * n + 1, *(2, 1) * n]))
    bank, _ = read_treebank([deep, chain, flat], LPCFGSettings(heads="neutral", markov_order=0))
    assert bank.roots.tolist() == [0, 2 * n + 1, 2 * n + 2]
    assert bank.depth.max() == n
    assert bank.length[bank.roots].tolist() == [n + 1, 1, n]
    assert bank.head[bank.roots].tolist() == [n, 0, 0]  # down the spine of A; the chain; first B
    assert bank.labels == ("A", "B", ">".join("A" * n), "@>A")


def test_wrapper_of_most_trees() -> None:
    def wrapped(*labels: str) -> list[Tree]:
        return [Tree.from_nested((label, ("X", ("A", "a"), ("B", "b")))) for label in labels]

    rules = HeadRules.english()
    assert prepare_trees(wrapped("TOP", "ROOT", "ROOT"), rules)[1] == "ROOT"
    assert prepare_trees(wrapped("S", "", "S"), rules)[1] is None
    # traces do not count
    gone = [Tree.from_nested(("TOP", ("-NONE-", "*")))] * 3
    assert prepare_trees([*gone, *wrapped("")], rules)[1] == ""


def test_rules_are_numbered_alike_with_very_many_labels() -> None:
    rng = np.random.default_rng(0)
    parent, left, right = rng.integers(0, 5, size=(3, 200))
    few, few_number = _rules(parent, left, right, 5)
    many, many_number = _rules(parent, left, right, 1 << 22)
    np.testing.assert_array_equal(few, many)
    np.testing.assert_array_equal(few_number, many_number)
    np.testing.assert_array_equal(few[few_number], np.stack([parent, left, right], axis=1))


def test_faults_are_told() -> None:
    beside = Tree.from_nested(("S", ("NP", "a"), "b"))
    with pytest.raises(SettingsError, match="alone under its tag"):
        read_treebank([beside], LPCFGSettings())
    with pytest.raises(SettingsError, match="expected a list of trees, whose item 1 is a str"):
        read_treebank(["(S (NP a))"], LPCFGSettings())
    for settings in (LPCFGSettings(markov_order=-1), LPCFGSettings(direction="up")):
        with pytest.raises(SettingsError):
            read_treebank([Tree.from_nested(("A", "a"))], settings)
    with pytest.raises(SettingsError, match="at least one tree"):
        read_treebank([], LPCFGSettings())


@pytest.mark.requires("data")
@pytest.mark.parametrize(
    ("treebank", "settings", "rare"),
    [
        ("gum", LPCFGSettings(), 1),
        ("craft", LPCFGSettings(markov_order=2), 2),
        ("icepahc", LPCFGSettings(heads="neutral", language="generic"), 1),
    ],
)
def test_real_trees(data, treebank: str, settings: LPCFGSettings, rare: int) -> None:
    source = str(data / "constituency" / treebank / "dev.mrg")
    assert_same(list(islice(read_trees(source), 400)), settings, rare)
