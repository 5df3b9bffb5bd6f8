"""Lists, features, learners and the reranker: known answers, plain twins, resumed runs."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from protocols.punctuation import without_punctuation

from eigentext.base.model import NotFittedError
from eigentext.dependency.graph.answer import Parse
from eigentext.dependency.graph.parser import DependencyParser
from eigentext.dependency.rerank import lists as kbest_lists
from eigentext.dependency.rerank.experts import expert_to_bytes, fit_expert, jackknifed
from eigentext.dependency.rerank.features import (
    Distance,
    TagCodes,
    TagTable,
    Valence,
    expert_column,
)
from eigentext.dependency.rerank.learners import (
    TagWeights,
    choose,
    held_out_words,
    log_linear,
    perceptron,
)
from eigentext.dependency.rerank.lists import KBestLists, cross_validated, lists_of
from eigentext.dependency.rerank.reranker import Reranker
from eigentext.dependency.sentence import TaggedSentence
from eigentext.errors import DataError, SettingsError
from eigentext.lab.experts import PathHMM, SurfaceHMM, root_paths
from eigentext.language.formats.conllu import make_sentence
from eigentext.language.trees.dependency import DependencyTree

TAGS = ("DT", "NN", "VB")


def _random_heads(rng, n):
    """Any tree with one root: each word hangs from one that came before it in a random order."""
    order = rng.permutation(n) + 1
    heads = [0] * n
    for at in range(1, n):
        heads[order[at] - 1] = int(order[rng.integers(at)])
    return heads


# ---------------------------------------------------------------- lists


def test_punctuation_is_taken_out_and_what_hung_from_it_hangs_higher():
    upos = ["PUNCT", "NOUN", "PUNCT", "VERB", "PUNCT"]
    one = make_sentence(["(", "a", ")", "b", "."], upos=upos, head=[2, 3, 4, 5, 0])
    bare = without_punctuation(one)
    assert bare.forms == ("a", "b")
    assert bare.heads == (2, 0)
    two = make_sentence(["-", "a", "b", "c"], upos=["PUNCT", *["X"] * 3], head=[0, 1, 1, 3])
    assert without_punctuation(two).heads == (0, 1, 2)  # the first becomes the root
    assert without_punctuation(make_sentence(["!"], upos=["PUNCT"], head=[0])) is None
    penn = make_sentence(["a", ","], xpos=["NN", ","], head=[0, 1])
    assert without_punctuation(penn).forms == ("a",)
    assert without_punctuation(make_sentence(["a", "!"], upos=["X", "PUNCT"])).heads is None


@given(st.integers(0, 10_000), st.integers(1, 12))
def test_taking_out_punctuation_leaves_a_tree_of_the_old_ancestors(seed, n):
    rng = np.random.default_rng(seed)
    heads = _random_heads(rng, n)
    upos = ["PUNCT" if rng.random() < 0.4 else "X" for _ in range(n)]
    bare = without_punctuation(make_sentence(list("abcdefghijkl"[:n]), upos=upos, head=heads))
    kept = [at for at in range(n) if upos[at] == "X"]
    if not kept:
        assert bare is None
        return
    tree = DependencyTree(bare.forms, bare.heads)
    assert tree.single_root
    for at, old in enumerate(kept):
        above, path = heads[old], []
        while above:
            path.append(above - 1)
            above = heads[above - 1]
        stay = [place for place in path if place in kept]
        if stay:
            assert kept[bare.heads[at] - 1] == stay[0]


def test_lists_know_their_oracle(tmp_path):
    lists = KBestLists.of(
        [([[0, 1, 1], [2, 0, 2], [0, 1, 2]], [5, 4, 3]), ([[0]], [1]), ([[2, 0], [0, 1]], [2, 1])]
    )
    gold = [[2, 0, 1], [0], [2, 0]]
    assert lists.right(gold).tolist() == [1, 2, 0, 1, 2, 0]
    assert lists.best_indices(gold).tolist() == [1, 0, 0]
    assert lists.best_indices([[3, 3, 0], [0], [0, 1]]).tolist() == [0, 0, 1]  # equals: the first
    assert lists.part(1, 3)[1].heads.tolist() == [[2, 0], [0, 1]]
    lists.made_with = {"k": 3}
    lists.save(tmp_path / "a.kbest")
    back = KBestLists.load(tmp_path / "a.kbest")
    assert back.made_with == {"k": 3}
    assert back.right(gold).tolist() == lists.right(gold).tolist()
    with pytest.raises(SettingsError, match="2 gold trees for 3"):
        lists.right(gold[:2])
    with pytest.raises(SettingsError, match="has 1 words"):
        lists.right([[0], [0], [2, 0]])
    assert len(KBestLists.of([])) == 0


def _bank(n_sentences, seed=0):
    """Sentences whose trees the tags tell: DT hangs from the NN after it, NN from the VB."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(n_sentences):
        noun, verb = str(rng.choice(["cat", "dog", "cow"])), str(rng.choice(["runs", "sits"]))
        made.append(
            make_sentence(
                ["the", noun, verb, "a", noun],
                upos=["DT", "NN", "VB", "DT", "NN"],
                head=[2, 3, 0, 5, 3],
                deprel=["d", "s", "root", "d", "o"],
                metadata={"sent_id": str(number)},
            )
        )
    return made


class _Parser(DependencyParser):
    """A base parser that remembers what it was trained on."""

    trained_on: list[set[str]] = []  # noqa: RUF012

    def fit(self, sentences, **more):
        sentences = list(sentences)
        self.trained_on.append({one.metadata["sent_id"] for one in sentences})
        return super().fit(sentences, **more)


def _new_parser():
    return _Parser(epochs=1, bits=14, labels=False)


def test_no_sentence_is_parsed_by_a_parser_that_saw_it(monkeypatch):
    sentences = _bank(10)
    _Parser.trained_on.clear()
    asked = []

    def watched(parser, those, **more):
        asked.append({one.metadata["sent_id"] for one in those})
        return lists_of(parser, those, **more)

    monkeypatch.setattr(kbest_lists, "lists_of", watched)
    lists = cross_validated(_new_parser(), sentences, k=4, folds=3)
    assert len(_Parser.trained_on) == len(asked) == 3
    for seen, held_out in zip(_Parser.trained_on, asked, strict=True):
        assert not seen & held_out
        assert len(seen | held_out) == 10
    assert set().union(*asked) == {str(number) for number in range(10)}
    assert lists.sizes.tolist() == [4] * 10
    with pytest.raises(SettingsError, match="folds is 11"):
        cross_validated(_new_parser(), sentences, folds=11)


def test_killed_list_making_goes_on_where_it_stopped(tmp_path, monkeypatch):
    sentences = _bank(12)
    monkeypatch.setattr(kbest_lists, "_STRETCH", 2)
    whole = cross_validated(_new_parser(), sentences, k=3, folds=3)
    calls = []

    def failing(parser, those, **more):
        if len(calls) == 3:
            raise KeyboardInterrupt
        calls.append(1)
        return lists_of(parser, those, **more)

    monkeypatch.setattr(kbest_lists, "lists_of", failing)
    with pytest.raises(KeyboardInterrupt):
        cross_validated(_new_parser(), sentences, k=3, folds=3, folder=tmp_path / "w")
    _Parser.trained_on.clear()
    resumed = []

    def counted(parser, those, **more):
        resumed.append(1)
        return lists_of(parser, those, **more)

    monkeypatch.setattr(kbest_lists, "lists_of", counted)
    lists = cross_validated(_new_parser(), sentences, k=3, folds=3, folder=tmp_path / "w")
    assert len(resumed) == 6 - 3
    assert len(_Parser.trained_on) == 1  # fold 2 was half done: its parser was kept
    np.testing.assert_array_equal(lists.heads, whole.heads)
    np.testing.assert_array_equal(lists.scores, whole.scores)
    with pytest.raises(DataError, match="lists made with other k:"):
        cross_validated(_new_parser(), sentences, k=2, folds=3, folder=tmp_path / "w")
    with pytest.raises(DataError, match="lists made with other sentences:"):
        cross_validated(_new_parser(), _bank(12, seed=9), k=3, folds=3, folder=tmp_path / "w")


def test_lists_made_with_other_clusters_are_not_taken_for_ours(tmp_path):
    # scikit-learn shortens the repr of a parser, so that many clusters look like one another
    many = {f"word{number}": f"{number:010b}" for number in range(1000)}
    sentences = _bank(6)

    def lists(clusters):
        parser = DependencyParser(epochs=1, bits=12, labels=False, clusters=clusters)
        return cross_validated(parser, sentences, k=2, folds=2, folder=tmp_path / "w")

    first = lists(many)
    np.testing.assert_array_equal(lists(dict(reversed(many.items()))).scores, first.scores)
    with pytest.raises(DataError, match="lists made with other parser settings:"):
        lists({**many, "word500": "1"})
    paths = tmp_path / "clusters.paths"
    paths.write_text("".join(f"{bits}\t{word}\t1\n" for word, bits in many.items()))
    np.testing.assert_array_equal(lists(str(paths)).scores, first.scores)
    paths.write_text("0\tword1\t1\n")  # the same name, another content
    with pytest.raises(DataError, match="lists made with other parser settings:"):
        lists(str(paths))


# ---------------------------------------------------------------- features


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 9))
def test_templates_equal_a_plain_twin(seed, n):
    rng = np.random.default_rng(seed)
    tags = [str(rng.choice([*TAGS, "new"])) for _ in range(n)]
    heads = np.array([_random_heads(rng, n) for _ in range(3)])
    templates = TagCodes(TAGS)
    rows, codes = templates.codes(tags, heads)
    assert (np.diff(rows) >= 0).all()
    assert codes.max() < templates.size
    number = {"DT": 1, "NN": 2, "VB": 3, "new": 0, "root": 4}
    named = ["root", *tags]
    for tree in range(3):
        expected = Counter()
        above = [0, *heads[tree].tolist()]
        for m in range(1, n + 1):
            h = above[m]
            code = [number[named[m]], number[named[h]], number[named[above[h]]]]
            expected[(1 + (m > h)) * 125 + code[0] * 25 + code[1] * 5 + code[2]] += 1
        for h in range(1, n + 1):
            left = [m for m in range(1, h) if above[m] == h]
            right = [m for m in range(h + 1, n + 1) if above[m] == h]
            for a, b in itertools.product(left, right):
                code = number[named[a]] * 25 + number[named[h]] * 5 + number[named[b]]
                expected[code] += 1
        assert Counter(codes[rows == tree].tolist()) == expected


def test_valence_and_distance_equal_plain_counts():
    known = TaggedSentence.of(["a", "b", "c"], upos=list(TAGS))
    trees = [(known, [2, 0, 2])] * 3 + [(known, [0, 1, 2])]
    heads = np.array([[2, 0, 2], [0, 1, 2]])
    valence = Valence.of(trees).log_probs(known, heads)
    # outcomes: (left, right) numbers of children; 12 words in 4 trees
    plain = Counter({(0, 0): 7, (1, 1): 3, (0, 1): 2})
    counts = {
        "DT": Counter({(0, 0): 3, (0, 1): 1}),
        "NN": Counter({(1, 1): 3, (0, 1): 1}),
        "VB": Counter({(0, 0): 4}),
    }

    def p(tag, pair):
        back = (plain[pair] + 0.5) / (12 + 1.5 + 1)
        return math.log((counts[tag][pair] + 5 * back) / (4 + 5))

    first = p("DT", (0, 0)) + p("NN", (1, 1)) + p("VB", (0, 0))
    second = p("DT", (0, 1)) + p("NN", (0, 1)) + p("VB", (0, 0))
    np.testing.assert_allclose(valence, [first, second], rtol=1e-12)
    distance = Distance.of(trees).log_probs(known, heads)
    # arcs: NN->DT left 1 (3), DT->NN right 1 (1), NN->VB right 1 (4)
    left, right = (3 + 0.5) / (8 + 2), (5 + 0.5) / (8 + 2)
    one = math.log((3 + 5 * left) / 8) + math.log((4 + 5 * right) / 9)
    two = math.log((1 + 5 * right) / 6) + math.log((4 + 5 * right) / 9)
    np.testing.assert_allclose(distance, [one, two], rtol=1e-12)


def test_paths_equal_chains_one_by_one():
    rng = np.random.default_rng(0)
    trees = []
    for _ in range(60):
        n = int(rng.integers(1, 8))
        words = [str(rng.choice(["a", "b", "c"])) for _ in range(n)]
        trees.append(
            DependencyTree(words, _random_heads(rng, n), tags=[word.upper() for word in words])
        )
    model = PathHMM(3, n_iter=2).fit(trees)
    for tree in trees[:12]:
        heads = np.array([tree.heads, _random_heads(rng, len(tree))])
        expected = [
            sum(
                model.model.log_prob(
                    DependencyTree(
                        [tree.forms[i - 1] for i in path],
                        list(range(len(path))),
                        tags=[tree.tags[i - 1] for i in path],
                    )
                )
                for path in root_paths(row.tolist())
            )
            for row in heads
        ]
        found = model.log_probs(tree.forms, tree.tags, heads)
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    surface = SurfaceHMM(2, n_iter=1).fit(trees)
    same = surface.log_probs(trees[0].forms, trees[0].tags, np.array([trees[0].heads] * 2))
    assert same[0] == same[1] < 0


# ---------------------------------------------------------------- learners


def _table(dense, right, codes=None):
    """Lists of two trees each, one template a tree."""
    trees = len(right)
    return TagTable(
        np.arange(0, trees + 1, 2),
        np.arange(trees + 1),
        np.asarray(codes if codes is not None else [0] * trees, np.int32),
        np.asarray(dense, np.float32).reshape(trees, -1),
        ("base", "more")[: np.asarray(dense).reshape(trees, -1).shape[1]],
        np.asarray(right, np.int32),
        np.full(trees // 2, 9),
    )


def test_log_linear_weight_is_the_known_maximum():
    # the first tree is right in 3 of 4 lists, one unit of base score apart: p = 3/4
    table = _table([1, 0] * 4, [5, 4, 5, 4, 5, 4, 4, 5])
    weights = log_linear(table, 1, l2=1e-9, templates=False)
    assert weights.dense[0] == pytest.approx(math.log(3), abs=1e-4)
    # two trees equally right: their probabilities add up, nothing is to be learned
    tied = _table([1, 0] * 4, [5, 5] * 4)
    assert log_linear(tied, 1, l2=1e-6, templates=False).dense[0] != 0
    # from other weights it comes to the same maximum
    again = log_linear(
        table, 1, l2=1e-9, templates=False, start=replace(weights, dense=weights.dense - 3)
    )
    assert again.dense[0] == pytest.approx(math.log(3), abs=1e-4)


def test_log_linear_gradient_equals_differences(monkeypatch):
    import scipy.optimize

    rng = np.random.default_rng(0)
    table = _table(rng.normal(size=(12, 2)), rng.integers(0, 2, 12), rng.integers(0, 4, 12))
    kept = {}

    def minimize(loss, start, **more):
        kept["loss"], kept["start"] = loss, start
        return scipy.optimize.OptimizeResult(x=start)

    monkeypatch.setattr(scipy.optimize, "minimize", minimize)
    log_linear(table, 4, l2=0.3)
    loss = kept["loss"]
    x = rng.normal(size=len(kept["start"]))
    for at in range(len(x)):
        step = np.zeros_like(x)
        step[at] = 1e-5
        slope = (loss(x + step)[0] - loss(x - step)[0]) / 2e-5
        assert loss(x)[1][at] == pytest.approx(slope, rel=1e-4, abs=1e-5)


def test_one_step_of_the_perceptron():
    # the base score prefers the wrong tree; template 1 marks the right one
    table = _table([1.0, 0.0], [3, 5], codes=[0, 1])
    weights = perceptron(table, 2, epochs=1, base=1.0)
    # spread of (1, 0) is 1/2, so the step is -2 and the weight goes from 1 to -1; the answer is
    # the mean of the first weights and those after the one step
    np.testing.assert_allclose(weights.templates, [-0.5, 0.5])
    np.testing.assert_allclose(weights.dense, [0.0], atol=1e-12)
    assert perceptron(table, 2, epochs=20).templates[1] > 0
    still = perceptron(_table([1.0, 0.0], [5, 3]), 2, base=2.0)
    np.testing.assert_allclose(still.dense, [4.0])


@pytest.mark.parametrize("learn", [perceptron, log_linear])
def test_learners_find_the_column_that_knows(learn):
    rng = np.random.default_rng(3)
    right = np.array([[9, 5] if rng.random() < 0.5 else [5, 9] for _ in range(200)]).ravel()
    dense = np.column_stack([rng.normal(size=400), right + rng.normal(size=400)])
    table = _table(dense, right)
    weights = learn(table, 1)
    chosen = choose(table, table.scores(weights))
    found = right.reshape(-1, 2)[np.arange(200), chosen]
    assert (found == 9).mean() > 0.97
    assert weights.dense[1] > 3 * abs(weights.dense[0])
    with pytest.raises(SettingsError, match="columns"):
        replace(table, names=("more",), dense=table.dense[:, 1:]).scores(weights)


# ---------------------------------------------------------------- the whole


def _random_table(seed, n_sentences=7):
    """Lists of random trees of random sentences, their sentences, and gold trees."""
    rng = np.random.default_rng(seed)
    tagged, lists, gold = [], [], []
    for _ in range(n_sentences):
        n = int(rng.integers(1, 8))
        words = [f"w{at}" for at in range(n)]
        tagged.append(TaggedSentence.of(words, xpos=rng.choice(TAGS, n).tolist()))
        trees = np.array([_random_heads(rng, n) for _ in range(rng.integers(1, 5))])
        lists.append((trees, rng.normal(size=len(trees))))
        gold.append(_random_heads(rng, n))
    return tagged, lists, gold


def test_a_part_of_a_table_is_the_table_of_that_part():
    tagged, lists, gold = _random_table(3)
    templates, numbers = TagCodes(TAGS), np.array([5, 0, 3])
    whole = TagTable.of(tagged, KBestLists.of(lists), templates, None, gold).part(numbers)
    own = TagTable.of(
        [tagged[n] for n in numbers],
        KBestLists.of(lists[n] for n in numbers),
        templates,
        None,
        [gold[n] for n in numbers],
    )
    for name in ("tree_at", "indptr", "codes", "dense", "right", "lengths"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(own, name))


def test_the_score_of_a_tree_does_not_hang_on_those_beside_it():
    tagged, lists, _ = _random_table(4, 40)
    templates = TagCodes(TAGS)
    rng = np.random.default_rng(0)
    weights = TagWeights(("base",), rng.normal(size=1), rng.normal(size=templates.size))
    whole = TagTable.of(tagged, KBestLists.of(lists), templates).scores(weights)
    alone = [
        TagTable.of([one], KBestLists.of([its]), templates).scores(weights)
        for one, its in zip(tagged, lists, strict=True)
    ]
    assert whole.tolist() == np.concatenate(alone).tolist()


def test_right_heads_of_lists_that_the_weights_have_not_seen():
    tagged, lists, gold = _random_table(5, 12)
    templates = TagCodes(TAGS)
    table = TagTable.of(tagged, KBestLists.of(lists), templates, None, gold)

    def learn(part):
        return log_linear(part, templates.size, l2=0.1)

    found = held_out_words(table, learn, 3)
    first = chosen = 0
    for fold in range(3):
        mine = range(4 * fold, 4 * fold + 4)
        weights = learn(table.part(np.array([n for n in range(12) if n not in mine])))
        for n in mine:
            right = (lists[n][0] == np.array(gold[n])).sum(1)
            one = TagTable.of([tagged[n]], KBestLists.of([lists[n]]), templates)
            first += right[0]
            chosen += right[one.scores(weights).argmax()]
    assert found == (sum(map(len, gold)), first, chosen)
    assert found.better == (chosen > first)


def test_of_very_many_tags_the_most_frequent_are_in_templates():
    words = [f"t{number:03}" for number in range(400)]
    rare = TaggedSentence.of(words, xpos=words)
    often = TaggedSentence.of(words[300:], xpos=words[300:])
    templates = TagCodes.of([rare, often])
    assert len(templates.tags) == 150
    assert set(words[300:]) < set(templates.tags)
    assert set(words[:50]) < set(templates.tags)  # of equals the first
    assert templates.size < 2**31


def _ambiguous(n_sentences, seed):
    """A noun's head is told by the word, not by tags: ``with fork`` goes to the verb."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n_sentences):
        last = str(rng.choice(["fork", "spoon", "sauce", "cheese"]))
        head = 1 if last in ("fork", "spoon") else 2
        verb, noun = str(rng.choice(["eat", "have"])), str(rng.choice(["pasta", "rice", "fish"]))
        made.append(
            make_sentence(
                [verb, noun, "with", last],
                upos=["VB", "NN", "IN", "NN"],
                head=[0, 1, 4, head],
                deprel=["root", "o", "c", "m"],
            )
        )
    return made


def _two_trees(sentence):
    heads = [[0, 1, 4, 1], [0, 1, 4, 2]]
    return [
        Parse(DependencyTree(sentence.forms, row), score)
        for row, score in zip(heads, (1.0, 0.9), strict=True)
    ]


@pytest.fixture(scope="module", params=["trees", "tags"])
def trained(request):
    sentences = _ambiguous(150, 0)
    lists = KBestLists.of([([[0, 1, 4, 1], [0, 1, 4, 2]], [1.0, 0.9])] * 150)
    more = {"n_states": 5, "n_iter": 4}
    names = ("latent", "generative", "valence", "distance", "paths", "surface")
    reranker = Reranker(
        features=request.param,
        experts=names,
        latent=more,
        generative={"n_states": 2, "per_state": 20},
    )
    return reranker.fit(sentences, lists=lists)


def test_a_reranker_learns_what_the_base_parser_cannot_know(trained):
    for sentence in _ambiguous(20, 1):
        parses = trained.choose(sentence, _two_trees(sentence))
        assert parses[0].tree.heads.tolist() == list(sentence.heads)
        assert parses[0].score >= parses[1].score


def test_saved_and_loaded(trained, tmp_path):
    trained.save(tmp_path / "r.eig")
    back = Reranker.load(tmp_path / "r.eig")
    for sentence in _ambiguous(5, 2):
        one, two = (r.choose(sentence, _two_trees(sentence)) for r in (trained, back))
        assert [parse.score for parse in one] == [parse.score for parse in two]
    operators = fit_expert("operators", _bank(9), n_states=1)
    with pytest.raises(SettingsError, match="not stored"):
        expert_to_bytes("operators", operators)


def test_experts_judge_folds_they_have_not_seen():
    sentences = _bank(9)
    lists = KBestLists.of([([[2, 3, 0, 5, 3]], [1.0])] * 9)
    seen = []

    class Watch:
        def log_probs(self, known, heads):
            return np.full(len(heads), float(len(seen)))

    def fit(those):
        seen.append({one.metadata["sent_id"] for one in those})
        return Watch()

    column = jackknifed(fit, sentences, lists, folds=3)
    assert column.tolist() == [1] * 3 + [2] * 3 + [3] * 3
    assert sorted(seen[0]) == ["3", "4", "5", "6", "7", "8"]
    with pytest.raises(SettingsError, match="expert 'oracle'"):
        fit_expert("oracle", sentences)


def test_fit_from_a_base_parser_and_odd_inputs(tmp_path):
    sentences = _bank(12)
    reranker = Reranker(features="tags", experts=(), learner="perceptron", kbest=5)
    reranker.fit(sentences, DependencyParser(epochs=1, bits=14), folder=tmp_path / "lists")
    base = DependencyParser(epochs=1, bits=14).fit(sentences)
    parses = base.kbest(["the", "cat", "runs"], upos=["DT", "NN", "VB"], k=4)
    again = reranker.choose(
        TaggedSentence.of(["the", "cat", "runs"], upos=["DT", "NN", "VB"]), parses
    )
    assert sorted(p.tree.heads.tolist() for p in again) == sorted(
        p.tree.heads.tolist() for p in parses
    )
    assert reranker.choose(sentences[0], []) == []
    with pytest.raises(ValueError, match="trees of 3 words"):
        reranker.choose(sentences[0], parses)
    with pytest.raises(SettingsError, match="base parser, or lists"):
        Reranker().fit(sentences)
    with pytest.raises(NotFittedError, match="Reranker has learned nothing yet"):
        Reranker().choose(sentences[0], parses)
    with pytest.raises(SettingsError, match="learner"):
        Reranker(learner="svm").fit(sentences)
    with pytest.raises(SettingsError, match="set features to tags"):
        Reranker(learner="perceptron").fit(sentences)
    with pytest.raises(SettingsError, match="kbest is 1"):
        Reranker(kbest=1).fit(sentences)
    with pytest.raises(SettingsError, match="expected a list"):
        Reranker(experts="latent").fit(sentences)
    with pytest.raises(SettingsError, match="one of them twice"):
        Reranker(experts=("valence", "valence")).fit(sentences)
    lists = KBestLists.of([([[0]], [math.inf])])
    with pytest.raises(SettingsError, match="finite"):
        TagTable.of([TaggedSentence.from_conllu(make_sentence(["a"]))], lists, TagCodes(()))
    with pytest.raises(SettingsError, match="need gold"):
        perceptron(
            TagTable.of(
                [TaggedSentence.from_conllu(make_sentence(["a"]))],
                KBestLists.of([([[0]], [1.0])]),
                TagCodes(()),
            ),
            1,
        )

    class Impossible:
        def log_probs(self, known, heads):
            return np.full(len(heads), -np.inf)

    one = KBestLists.of([([[0]], [1.0])])
    assert expert_column(
        Impossible(), [TaggedSentence.from_conllu(make_sentence(["a"]))], one
    ).tolist() == [-1e4]
