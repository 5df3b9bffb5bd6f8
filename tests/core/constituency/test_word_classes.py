"""Classes of words: what they say of rare and unknown words, by the book."""

from __future__ import annotations

import numpy as np
import pytest

from eigentext.constituency import LPCFG
from eigentext.constituency.class_counts import ClassCounts
from eigentext.constituency.learn.em import word_scores
from eigentext.constituency.lexicon import index_words
from eigentext.constituency.settings import LPCFGSettings
from eigentext.constituency.transform import read_treebank
from eigentext.errors import SettingsError
from eigentext.features.word_classes import WordClasses
from eigentext.language.formats.brown_paths import PathEntry
from eigentext.language.trees.constituent import Tree


def _paths(bits: dict[str, str], **settings) -> WordClasses:
    return WordClasses.from_paths((PathEntry(b, w, 1) for w, b in bits.items()), **settings)


@pytest.fixture(scope="module")
def by_tag(english) -> WordClasses:
    """Perfect classes: the words of the sample and two new ones, by their commonest tag."""
    bits = {}
    names = sorted({tag for tree in english for tag in tree.tags})
    for tree in english:
        for word, tag in zip(tree.words, tree.tags, strict=True):
            bits.setdefault(word, format(names.index(tag), "06b"))
    bits["wug"], bits["wugged"] = bits["horse"], bits["sold"]
    bits["plonk"] = bits["sold"]  # looks like a noun
    return _paths(bits)


def test_prefixes_merge_classes():
    bits = {"a": "0000", "b": "0001", "c": "01", "d": "1"}
    assert len({_paths(bits).of(word) for word in bits}) == 4
    short = _paths(bits, prefix=2)
    assert short.of("a") == short.of("b") != short.of("c")
    assert short.sizes == (4,)
    with pytest.raises(SettingsError, match="prefix"):
        _paths(bits, prefix=0)


def test_lookup_as_it_is_then_lower_case():
    classes = _paths({"Rose": "0", "rose": "1", "dog": "1"})
    assert classes.of("Rose") != classes.of("rose")
    assert classes.of("Dog") == classes.of("rose") == classes.of("ROSE")
    assert classes.of("xyzzy") == (0,)
    assert classes.of_all(["Dog", "?"]).tolist() == [[2], [0]]


def test_two_ways_side_by_side():
    both = WordClasses.merged([_paths({"a": "0", "b": "1"}), _paths({"b": "0", "c": "1"})])
    assert both.sizes == (3, 3)
    assert [both.of(word) for word in "abcd"] == [(1, 0), (2, 1), (0, 2), (0, 0)]


def test_vectors_that_point_the_same_way_are_one_class():
    rng = np.random.default_rng(0)
    of = np.arange(60) % 3
    vectors = np.eye(3)[of] * rng.uniform(0.5, 4, (60, 1)) + 0.01 * rng.standard_normal((60, 3))
    words = [str(i) for i in range(60)]
    classes = WordClasses.from_vectors(words, vectors, classes=3)
    found = classes.numbers[:, 0]
    assert all(len(set(found[of == k].tolist())) == 1 for k in range(3))
    assert len(set(found.tolist())) == 3
    assert found.min() == 1
    again = WordClasses.from_vectors(words, vectors, classes=3)
    np.testing.assert_array_equal(found, again.numbers[:, 0])
    with pytest.raises(SettingsError, match="vectors"):
        WordClasses.from_vectors(["a"], np.eye(2))


def test_factors_by_the_book():
    classes = WordClasses.merged([_paths({"a": "0", "b": "1"}), _paths({"a": "0"})])
    of_word = classes.of_all(["a", "a", "b", "?"])
    base, weight = np.array([0, 1, 1, 1]), np.array([2.0, 1.0, 1.0, 0.5])
    found = ClassCounts.count(classes, of_word, base, weight, 2)
    expected = np.ones(2)
    prior = np.array([2.0, 2.5]) + 1e-3
    prior /= prior.sum()
    given = (np.array([2.0, 1.0]) + 2 * prior) / 5  # class of a, the same in both ways
    expected = (given / prior) ** 0.7
    np.testing.assert_allclose(found.factors(classes.of_all(["a"]))[0], expected, rtol=1e-12)
    p = np.array([0.4, 0.6])
    shares = found.shares(classes.of_all(["a"]), p)[0]
    np.testing.assert_allclose(p * shares, p * expected / (p @ expected), rtol=1e-12)


def test_unknown_words_follow_their_class(english, by_tag):
    plain = LPCFG(n_states=2).fit(english).grammar_.lexicon
    told = LPCFG(n_states=2).fit(english, classes=by_tag).grammar_.lexicon
    bank, _ = read_treebank(english, LPCFGSettings())

    def tag(lexicon, word):
        found = lexicon.emission(word, first=False)
        p = found.scores * lexicon.p_tag[found.tags]
        return bank.labels[lexicon.tags[found.tags[np.argmax(p)]]]

    assert tag(plain, "plonk") != tag(told, "plonk") == "VBD"
    assert tag(told, "wug") == "NN"
    # a word that is seen often trusts its own counts: the class says nothing of it
    np.testing.assert_allclose(
        told.emission("the", first=False).scores.max(),
        plain.emission("the", first=False).scores.max(),
        rtol=0.05,
    )


def test_scores_in_one_stroke(english, by_tag):
    parser = LPCFG(n_states=2, n_iter=0).fit(english, classes=by_tag)
    lexicon = parser.grammar_.params[0].lexicon
    from dataclasses import replace

    bank = replace(read_treebank(english, LPCFGSettings())[0], classes=by_tag)
    expected = []
    for node in np.flatnonzero(bank.token >= 0):
        token = bank.token[node]
        emission = lexicon.emission(bank.words[token], first=bank.first_in_sentence[token])
        t = np.searchsorted(lexicon.tags, bank.label[node])
        expected.append(emission.states[lexicon.tag_ptr[t] : lexicon.tag_ptr[t + 1]])
    index = index_words(bank)
    np.testing.assert_allclose(
        word_scores(lexicon, index), np.concatenate(expected), rtol=1e-5, atol=1e-9
    )


@pytest.mark.parametrize("estimator", ["clustering", "moments"])
def test_files_keep_classes(english, by_tag, tmp_path, estimator):
    parser = LPCFG(n_states=2, estimator=estimator).fit(english, classes=by_tag)
    parser.save(tmp_path / "m")
    again = LPCFG.load(tmp_path / "m")
    tokens = "The wug plonk the wugged horse .".split()
    assert again.parse(tokens) == parser.parse(tokens)
    plain = LPCFG(n_states=2, estimator=estimator).fit(english)
    assert plain.parse(tokens).log_prob != parser.parse(tokens).log_prob


def test_one_class_for_all_changes_nothing(toy):
    grammar = {"heads": "neutral", "language": "generic"}
    plain = LPCFG(n_states=1, **grammar).fit(toy)
    told = LPCFG(n_states=1, **grammar).fit(toy, classes=_paths({"x": "", "y": "", "z": ""}))
    tree = Tree.from_brackets("(S (A x) (B y))")
    assert told.log_prob(tree) == pytest.approx(plain.log_prob(tree), rel=1e-3)
