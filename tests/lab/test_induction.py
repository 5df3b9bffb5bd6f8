"""Trees without a treebank: the shortest tree by enumeration, known trees from exact moments."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.errors import SettingsError
from eigentext.evaluate.brackets import spans_f1, spans_of, unlabelled_f1
from eigentext.lab import Bracketer
from eigentext.lab.induction.distances import brackets, log_product
from eigentext.lab.induction.model import is_punctuation
from eigentext.language.formats.ptb import read_trees
from eigentext.language.trees.constituent import Tree
from helpers.commands import eigentext
from oracle.projective_trees import (
    bracketings,
    edges_of,
    least_squares_length,
    path_matrix,
    unrooted,
)


def _random_spans(rng: np.random.Generator, start: int, end: int) -> set[tuple[int, int]]:
    if end - start < 2:
        return set()
    split = int(rng.integers(start + 1, end))
    parts = _random_spans(rng, start, split) | _random_spans(rng, split, end)
    return {(start, end)} | parts


def _distances(spans: set[tuple[int, int]], n: int, rng: np.random.Generator) -> np.ndarray:
    """Path lengths in the tree with random positive lengths."""
    D = np.zeros((n, n))
    for edge in edges_of(frozenset(spans), n):
        inside = np.array([word in edge for word in range(n)])
        D += rng.uniform(0.05, 2.0) * (inside[:, None] != inside[None])
    return D


# ---------------------------------------------------------------- the dynamic program


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7])
def test_no_tree_is_shorter(n: int) -> None:
    rng = np.random.default_rng(n)
    for cut in (None, *range(1, n)):
        D = rng.uniform(0.5, 3.0, (n, n))
        D = np.triu(D, 1) + np.triu(D, 1).T
        trees = [(least_squares_length(D, edges), edges) for edges, _ in unrooted(n, cut)]
        shortest, edges = min(trees, key=lambda pair: pair[0])
        found = brackets(D, cut)
        assert found.length == pytest.approx(shortest, rel=1e-9)
        assert edges_of(frozenset(found.spans), n) == edges
        assert frozenset(found.spans) in bracketings(0, n)
        if cut is not None:  # the topmost bracket is cut there
            parts = {(0, cut), (cut, n)}
            assert {(start, end) for start, end in parts if end - start > 1} <= set(found.spans)


@pytest.mark.parametrize("seed", range(20))
def test_the_tree_of_additive_distances_comes_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 16))
    spans = _random_spans(rng, 0, n)
    (cut,) = {end for start, end in spans if start == 0 and (end, n) in spans} or {
        max([end for start, end in spans if start == 0 and end < n], default=1)
    }
    found = brackets(_distances(spans, n, rng), cut)
    assert set(found.spans) == spans


def test_the_root_is_half_way_between_the_first_word_and_the_last() -> None:
    # words at 0, 1, 2, 3 of a line of 10, each on a short edge, and one at its end
    at = np.array([0.0, 1.0, 2.0, 3.0, 10.0])
    D = np.abs(at[:, None] - at) + 0.1 * (at[:, None] != at)
    assert brackets(D).spans[1] == (0, 4)
    assert (1, 5) in brackets(np.ascontiguousarray(D[::-1, ::-1])).spans


def test_equal_distances_have_one_answer() -> None:
    n = 9
    D = 1.0 - np.eye(n)
    noise = 1e-13 * np.random.default_rng(0).standard_normal((n, n))
    assert brackets(D + noise + noise.T, 1).spans == brackets(D, 1).spans


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_words(n: int) -> None:
    assert brackets(np.zeros((n, n))).spans == ([(0, 2)] if n == 2 else [])


def test_wrong_distances_are_refused() -> None:
    with pytest.raises(ValueError, match="expected"):
        brackets(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="cut is 3"):
        brackets(np.zeros((3, 3)), 3)


# ---------------------------------------------------------------- exact moments


def test_distances_of_a_gaussian_latent_tree_are_additive() -> None:
    """Population covariances: z_child = A z_parent + noise, x = C z + noise, d > m."""
    rng = np.random.default_rng(3)
    n, m, d = 7, 2, 5
    spans = _random_spans(rng, 0, n)
    nodes = sorted(spans | {(i, i + 1) for i in range(n)}, key=lambda s: (s[0], -s[1]))
    parent = {
        s: min(
            (o for o in spans if o != s and o[0] <= s[0] and s[1] <= o[1]),
            key=lambda o: o[1] - o[0],
        )
        for s in nodes
        if s != (0, n)
    }
    cov: dict[Any, np.ndarray] = {(0, n): np.eye(m)}
    steps: dict[Any, np.ndarray] = {}
    for node in nodes[1:]:
        leaf = node[1] - node[0] == 1
        steps[node] = rng.standard_normal((d if leaf else m, m))
        noise = rng.standard_normal((len(steps[node]), len(steps[node])))
        cov[node] = steps[node] @ cov[parent[node]] @ steps[node].T + noise @ noise.T

    def above(node: Any) -> list[Any]:
        return [node] if node == (0, n) else [node, *above(parent[node])]

    def down(top: Any, node: Any) -> np.ndarray:
        turn = np.eye(len(cov[node]))
        while node != top:
            turn, node = turn @ steps[node], parent[node]
        return turn

    D = np.zeros((n, n))
    own = [log_product(cov[i, i + 1], m) / 2 for i in range(n)]
    for i in range(n):
        for j in range(i):
            a, b = (i, i + 1), (j, j + 1)
            top = next(node for node in above(a) if node in above(b))
            Sigma = down(top, a) @ cov[top] @ down(top, b).T
            D[i, j] = D[j, i] = -log_product(Sigma, m) + own[i] + own[j]
    # additive: least squares over the edges of the true tree leaves nothing
    edges = edges_of(frozenset(spans), n)
    wanted = np.array([D[i, j] for i in range(n) for j in range(i)])
    matrix = path_matrix(list(edges), n)
    lengths = np.linalg.lstsq(matrix, wanted, rcond=None)[0]
    assert np.abs(matrix @ lengths - wanted).max() < 1e-8
    inner = [length for length, edge in zip(lengths, edges, strict=True) if 1 < len(edge) < n - 1]
    assert min(inner, default=1.0) > 0
    cut = next(s[1] for s in nodes if s != (0, n) and parent[s] == (0, n))
    assert set(brackets(D, cut).spans) == spans


def _corpus(spans: frozenset[tuple[int, int]], n: int) -> tuple[list[list[str]], list[list[str]]]:
    """All sentences of a hidden tree of two states, as often as they are likely.

    A child has the state of its parent three times in four, and a word shows its state as often.
    """
    nodes = sorted(spans | {(i, i + 1) for i in range(n)}, key=lambda s: (s[0], -s[1]))
    parent = [
        None
        if s == (0, n)
        else min(
            (k for k, o in enumerate(nodes) if o != s and o[0] <= s[0] and s[1] <= o[1]),
            key=lambda k: nodes[k][1] - nodes[k][0],
        )
        for s in nodes
    ]
    leaves = [k for k, s in enumerate(nodes) if s[1] - s[0] == 1]
    counts: dict[tuple[int, ...], int] = {}
    for states in product((0, 1), repeat=len(nodes)):
        weight = 1
        for k, above in enumerate(parent):
            if above is not None:
                weight *= 3 if states[k] == states[above] else 1
        word = tuple(states[k] for k in leaves)
        counts[word] = counts.get(word, 0) + weight
    words, tags = [], []
    for word, weight in sorted(counts.items()):
        for _ in range(weight):
            words.append([f"w{state}" for state in word])
            tags.append([f"T{i}" for i in range(n)])
    return words, tags


@pytest.mark.parametrize("number", range(5))
def test_the_hidden_tree_of_a_whole_population_comes_back(number: int) -> None:
    """Empirical covariances that are those of the population: `fit` finds the tree."""
    n = 4
    spans = bracketings(0, n)[number]
    words, tags = _corpus(spans, n)
    vectors = {"w0": [1.0, 0.0], "w1": [0.0, 1.0]}
    model = Bracketer(rank=1, smoothing=0.0).fit(words, tags, vectors=vectors)
    D = model.distances(tags[0])
    # the covariance halves with every edge, 2 * 3/4 - 1: all lengths are log 2
    true = np.zeros((n, n))
    for edge in edges_of(spans, n):
        inside = np.array([word in edge for word in range(n)])
        true += np.log(2) * (inside[:, None] != inside[None])
    if (0, 2) in spans and (2, 4) in spans:  # two edges meet at the root
        inside = np.array([word < 2 for word in range(n)])
    else:
        inside = np.array([word < (1 if (1, 4) in spans else 3) for word in range(n)])
    true += np.log(2) * (inside[:, None] != inside[None])
    assert np.abs(D - true).max() < 1e-6
    cut = int(inside.sum())
    assert set(brackets(D, cut).spans) == set(spans)


# ---------------------------------------------------------------- the model


@pytest.fixture(scope="module")
def bracketer() -> Bracketer:
    words = [["the", "dog", "saw", "a", "cat", "."], ["a", "man", ",", "we", "saw", "ran"]] * 10
    tags = [["D", "N", "V", "D", "N", "."], ["D", "N", ",", "P", "V", "V"]] * 10
    return Bracketer().fit(words, tags)


def test_a_tag_never_seen_is_not_the_edge_of_a_sentence() -> None:
    # N V at the end is common, and far apart in meaning; N V within a sentence is another thing
    rng = np.random.default_rng(0)
    nouns, verbs = ["dog", "cat", "cow", "sun"], ["ran", "sat", "fell", "shone"]
    words, tags = [], []
    for _ in range(300):
        at = int(rng.integers(4))
        words.append([nouns[at], verbs[at]])  # the noun tells the verb
        tags.append(["N", "V"])
        words.append([nouns[at], verbs[int(rng.integers(4))], "."])
        tags.append(["N", "V", "F"])
    model = Bracketer(smoothing=10.0, punctuation=True).fit(words, tags)
    alone, before = model.distances(["N", "V"])[0, 1], model.distances(["N", "V", "F"])[0, 1]
    new = model.distances(["N", "V", "?"])[0, 1]
    assert alone != pytest.approx(before)
    assert new != pytest.approx(alone)
    assert model.distances(["?", "N", "V"])[1, 2] != pytest.approx(alone)
    # of a context with an unseen tag, what is known without it: tags, distance, what is between
    key = list(model.contexts_.keys[3]).index(_between_key(model))
    own = model.contexts_.of_tag
    assert new == pytest.approx(model.contexts_.cross[3][key] + own[1] + own[2])


def _between_key(model: Bracketer) -> int:
    """The context N V, neighbours, V behind N and N before V."""
    assert model.tags_ == ("F", "N", "V")
    base = len(model.tags_) + 1
    tags = 1 * base + 2
    return ((tags * 13 + 1) * base + 2) * base + 1


@given(st.lists(st.sampled_from([("a", "D"), ("dog", "N"), (",", ","), ("ran", "V"), ("x", "?")])))
def test_any_sentence_has_a_tree_of_its_words(
    bracketer: Bracketer, pairs: list[tuple[str, str]]
) -> None:
    words, tags = [word for word, _ in pairs], [tag for _, tag in pairs]
    if not words:
        with pytest.raises(SettingsError, match="without tokens"):
            bracketer.bracket(words, tags)
        return
    tree = bracketer.bracket(words, tags)
    assert (list(tree.words), list(tree.tags)) == (words, tags)
    n = sum(not is_punctuation(word) for word in words)
    assert len(spans_of(tree, is_punctuation)) == max(n - 2, 0)  # binary but for punctuation
    assert Tree.from_brackets(str(tree)) == tree


def test_the_root_is_cut_where_it_is_told(bracketer: Bracketer) -> None:
    words, tags = ["the", "dog", "saw", "the", "cat"], ["D", "N", "V", "D", "N"]
    assert {(0, 2), (2, 5)} <= spans_of(bracketer.bracket(words, tags))
    other = Bracketer.from_bytes(bracketer.to_bytes()).set_params(root="first")
    assert (1, 5) in spans_of(other.bracket(words, tags))


def test_a_long_sentence_is_bracketed_in_pieces(bracketer: Bracketer) -> None:
    words, tags = ["dog", "ran", "."] * 30, ["N", "V", "."] * 30
    other = Bracketer.from_bytes(bracketer.to_bytes()).set_params(longest=10)
    tree = other.bracket(words, tags)
    assert list(tree.words) == words
    assert (3, 5) in spans_of(tree)


def test_vectors_of_more_dimensions_are_projected() -> None:
    words = [["a", "b", "c"], ["c", "b", "a"]] * 5
    tags = [["A", "B", "C"], ["C", "B", "A"]] * 5
    vectors = {word: np.eye(30)[k] for k, word in enumerate("abc")}
    model = Bracketer(n_components=2).fit(words, tags, vectors=vectors)
    assert np.isfinite(model.distances(["A", "B", "C"])).all()


def test_what_cannot_be_learned_from_is_told() -> None:
    with pytest.raises(SettingsError, match="no sentence of two words"):
        Bracketer().fit([["a"], [","]], [["A"], [","]])
    many = [str(number) for number in range(901)]
    with pytest.raises(SettingsError, match="901 different tags"):
        Bracketer().fit([many], [many])


def test_unlabelled_f1_leaves_trivial_spans_out() -> None:
    gold = Tree.from_brackets("(S (NP (D a) (N b)) (VP (V c) (NP (D d) (N e))) (. .))")
    other = Tree.from_brackets("(S (X (D a) (X (N b) (V c))) (X (D d) (N e)) (. .))")
    assert spans_of(gold, ".".__eq__) == {(0, 2), (2, 5), (3, 5)}
    assert unlabelled_f1([gold], [other], leave_out=".".__eq__) == pytest.approx(1 / 3)
    assert spans_f1([set()], [set()]) == 1.0


# ---------------------------------------------------------------- commands and real data


def test_the_commands(tmp_path: Path) -> None:
    sentence = "the\tD\ndog\tN\nsaw\tV\na\tD\ncat\tN\n.\t.\n\n"
    (tmp_path / "train.tags").write_text((sentence + sentence.replace("cat", "bird")) * 10)

    def done(line: str) -> Any:
        return eigentext(*line.split(), cwd=tmp_path)

    assert done("lab train-bracketer train.tags -o m").returncode == 0
    assert done("lab apply m train.tags -o out.mrg").returncode == 0
    assert len(list(read_trees(str(tmp_path / "out.mrg")))) == 20
    # trees are read for their words and tags alone
    assert done("lab apply m out.mrg -o again.mrg").returncode == 0
    assert (tmp_path / "again.mrg").read_text() == (tmp_path / "out.mrg").read_text()
    (tmp_path / "plain.txt").write_text("the dog\n")
    refused = done("lab train-bracketer plain.txt -o m")
    assert refused.returncode == 2
    assert b"text without tags" in refused.stderr
    (tmp_path / "empty.tags").write_text("")
    assert done("lab apply m empty.tags").returncode == 2


@pytest.mark.requires("data")
def test_better_than_chance_on_real_text(data: Path) -> None:
    def trees(part: str, most: int) -> list[Tree]:
        read = read_trees(str(data / "constituency" / "gum" / f"{part}.mrg"))
        return [tree for tree, _ in zip(read, range(most), strict=False)]

    train = trees("train", 2000)
    held_out = [
        tree
        for tree in trees("dev", 600)
        if 2 < sum(not is_punctuation(word) for word in tree.words) <= 10
    ]
    model = Bracketer().fit([tree.words for tree in train], [tree.tags for tree in train])
    gold = [spans_of(tree, is_punctuation) for tree in held_out]
    left = [{(0, end) for end in range(2, len(spans) + 2)} for spans in gold]
    assert model.score(held_out) > 0.4 > spans_f1(gold, left)


def test_vectors_are_looked_up_as_written_then_in_small_letters() -> None:
    words, tags = [["Anna", "saw", "Rome"], ["anna", "saw", "rome"]] * 8, [["N", "V", "N"]] * 16
    vectors = {"anna": [1.0, 0.0], "saw": [0.0, 1.0], "Rome": [1.0, 1.0], "rome": [-1.0, 1.0]}
    spelt = [["anna" if word == "Anna" else word for word in row] for row in words]
    found = [Bracketer(rank=1).fit(text, tags, vectors=vectors) for text in (words, spelt)]
    np.testing.assert_array_equal(found[0].distances(tags[0]), found[1].distances(tags[0]))
    small = [[word.lower() for word in row] for row in words]
    other = Bracketer(rank=1).fit(small, tags, vectors=vectors)
    assert not np.array_equal(other.distances(tags[0]), found[0].distances(tags[0]))
    with pytest.raises(SettingsError, match="no word of the text has a vector"):
        Bracketer().fit(words, tags, vectors={"QQ": [1.0, 2.0]})
