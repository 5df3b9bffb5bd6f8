"""The latent tagger from outside: trees, views, words, odd input, files, answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rivals.trigram_tagger import TrigramTagger

from eigentext.base.model import NotFittedError
from eigentext.datasets import load_english
from eigentext.errors import DataError, ModelFileError, SettingsError
from eigentext.language.trees.constituent import Tree
from eigentext.sequences.tagger.evaluation import evaluate_tagger
from eigentext.sequences.tagger.model import LatentTagger
from eigentext.sequences.tagger.trees import END_WORD, chain_views, label_places, skeletal_trees
from eigentext.sequences.tagger.words import ShapeModel, WordTags, shapes_of

Tagged = tuple[list[list[str]], list[list[str]]]  # sentences, and their tags


def english(part: str) -> Tagged:
    """The words and tags of the sample trees."""
    trees = [Tree.from_brackets(line) for line in load_english(part)]
    return [list(tree.words) for tree in trees], [list(tree.tags) for tree in trees]


@pytest.fixture(scope="module")
def sample() -> Tagged:
    return english("train")


@pytest.fixture(scope="module")
def tagger(sample) -> LatentTagger:
    return LatentTagger(4).fit(*sample)


# -- trees and views ----------------------------------------------------------------------------

tagged = st.lists(
    st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 2)), min_size=1, max_size=6),
    min_size=1,
    max_size=5,
)


@given(tagged)
def test_skeletal_trees_branch_to_the_right_and_their_rules_are_tag_bigrams(sentences):
    words = [[word for word, _ in sentence] for sentence in sentences]
    tags = [[tag for _, tag in sentence] for sentence in sentences]
    bank = skeletal_trees(words, tags, 3, language="generic")
    assert bank.n_trees == len(sentences)
    assert list(bank.words) == [w for row in words for w in (*row, END_WORD)]
    inner = np.flatnonzero(bank.rule >= 0)
    assert (bank.left[inner] == inner + 1).all()
    assert (bank.right[inner] == inner + 2).all()
    found = [tuple(bank.labels[label] for label in bank.rules[r]) for r in bank.rule[inner]]
    want = [
        (f"s{a}", f"p{a}", "end" if b is None else f"s{b}")
        for row in tags
        for a, b in zip(row, [*row[1:], None], strict=True)
    ]
    assert found == want
    assert [bank.labels[bank.label[root]] for root in bank.roots] == [f"s{r[0]}" for r in tags]


@given(tagged, st.data())
def test_a_view_never_sees_the_other_side(sentences, data):
    """A change before a token leaves its inside view alone; one behind it leaves its outside."""
    words = [[word for word, _ in sentence] for sentence in sentences]
    tags = [[tag for _, tag in sentence] for sentence in sentences]
    s = data.draw(st.integers(0, len(words) - 1))
    i = data.draw(st.integers(0, len(words[s]) - 1))
    everything = [
        [*words, list("abcde") * 3],
        [*tags, [0, 1, 2, 0, 1] * 3],
    ]  # numbers as they come
    one = skeletal_trees(everything[0][::-1], everything[1][::-1], 3, language="generic", rare=0)
    changed = [list(row) for row in words]
    changed[s][i] = data.draw(st.sampled_from("abcde"))
    everything[0] = [*changed, list("abcde") * 3]
    two = skeletal_trees(everything[0][::-1], everything[1][::-1], 3, language="generic", rare=0)
    (inside, outside), (inside2, outside2) = chain_views(one), chain_views(two)
    chain = one.left >= 0
    before = chain & (one.start <= i)  # in other sentences nothing changes anyway
    apart = (one.start > i) | (~chain & (one.start != i))  # a tag node has its own word alone
    assert (inside[apart] == inside2[apart]).all()
    assert (outside[before] == outside2[before]).all()


def test_the_end_needs_no_states(tagger):
    over_word, spine, end = label_places(tagger.chains_[0].labels, len(tagger.tags_))
    assert len({*over_word.tolist(), *spine.tolist(), end}) == 2 * len(tagger.tags_) + 1
    bank = skeletal_trees([["a", "b"], ["b"]], [[0, 1], [1]], 2, language="generic")
    for view in chain_views(bank):
        assert not view[bank.label == bank.labels.index("end")].any()


# -- words --------------------------------------------------------------------------------------

token = st.text(min_size=1, max_size=8).filter(lambda text: "\n" not in text)


@settings(max_examples=60)
@given(token, st.booleans())
def test_every_word_has_tags_that_sum_to_one(tagger, word, first):
    words = tagger.words_
    p = words.p_given_word(word, first=first)
    assert p.sum() == pytest.approx(1.0, rel=1e-9)
    assert (p >= 0).all()
    found = words.scores(word, first=first)
    assert len(found.tags)
    assert found.p == pytest.approx(p[found.tags], rel=1e-12)
    assert found.scores == pytest.approx(found.p / words.p_tag[found.tags], rel=1e-12)


def test_without_smoothing_known_words_have_their_relative_frequencies():
    words = WordTags.count(
        ["A", "B"], [["x", "x", "x", "y"]], [[0, 0, 1, 1]], k_word=0.0, keep=0.0
    )
    assert words.p_given_word("x", first=False).tolist() == pytest.approx([2 / 3, 1 / 3])
    assert words.scores("y", first=False).tags.tolist() == [1]


def test_shapes_are_drawn_towards_coarser_ones_step_by_step():
    words = WordTags.count(["A", "B"], [["runs", "cats"]], [[0, 1]], k_shape=2.0)
    assert shapes_of("hits", first=False)[-3:] == ("lower+++s", "lower+++ts", "lower+++its")
    # cats is no first word, as runs is: all words, then small letters, no marks, s, ts: cats alone
    p = np.array([0.5, 0.5])
    for n in ([1, 1], [0, 1], [0, 1], [0, 1], [0, 1]):
        p = (n + 2 * p) / (sum(n) + 2)
    levels = replace(words, model=None).p_given_shape
    assert levels("hits", first=False) == pytest.approx(p, rel=1e-9)
    assert levels("his", first=False)[0] == pytest.approx(4 / 27, rel=1e-9)


def test_a_capital_at_the_start_and_capitals_throughout_find_the_small_word(tagger, sample):
    words = tagger.words_
    dt = tagger.tags_.index("DT")
    assert words.p_given_word("The", first=True)[dt] > 0.9
    assert not words.knows("THE")
    assert words.p_given_word("THE", first=False)[dt] > 0.8


# -- odd input ----------------------------------------------------------------------------------


def test_an_empty_sentence_has_no_tags_and_probability_one(tagger):
    assert tagger.tag([]) == []
    assert tagger.kbest([]) == []
    assert tagger.log_prob([]) == 0.0 == tagger.log_prob([], [])
    answer = tagger.analyse([])
    assert answer.tags == []
    assert answer.marginals.shape == (0, len(tagger.tags_))
    trained = LatentTagger(2).fit([[], ["a"], []], [[], ["X"], []])
    assert trained.n_sentences_ == 1


@pytest.mark.parametrize("bad", ["a b", b"a"])
def test_a_str_is_no_sentence(tagger, bad):
    with pytest.raises(SettingsError, match="a list of tokens, not the string"):
        tagger.tag(bad)


@pytest.mark.parametrize("bad", [[["a", ""]], [["a", 1]]])
def test_what_is_no_token_is_refused(tagger, bad):
    with pytest.raises(SettingsError, match="token"):
        tagger.tag(bad[0])


def test_bad_training_data_is_named():
    with pytest.raises(DataError, match="no tokens"):
        LatentTagger().fit([[], []], [[], []])
    with pytest.raises(DataError, match="<tags>:1: 3 tags for 2 tokens"):
        LatentTagger().fit([["a", "b"]], [["X", "Y", "Z"]])
    with pytest.raises(DataError, match="1 sentences for 2 of tokens"):
        LatentTagger().fit([["a"], ["b"]], [["X"]])
    for X, y in ((["ab"], [["X"]]), ([["a", "b"]], ["XY"]), ("ab", [["X", "Y"]])):
        with pytest.raises(SettingsError, match="string"):
            LatentTagger().fit(X, y)


@pytest.mark.parametrize(
    "bad",
    [
        {"n_states": 0},
        {"n_states": 65},
        {"n_states": 2.5},
        {"estimator": "magic"},
        {"decoder": "viterbi"},
        {"n_models": 0},
        {"n_iter": -1},
        {"n_iter": 2, "estimator": "moments"},
        {"estimator": "mixed"},
        {"k_next": 0.0},
        {"keep": 1.5},
        {"language": "klingon"},
        {"per_state": 0},
        {"seed": -1},
    ],
    ids=str,
)
def test_bad_settings_are_refused(bad):
    with pytest.raises(SettingsError):
        LatentTagger(**bad).fit([["a"]], [["X"]])


def test_not_trained_is_said():
    for ask in (LatentTagger().tag, LatentTagger().kbest, LatentTagger().log_prob):
        with pytest.raises(NotFittedError, match="this LatentTagger has learned nothing yet"):
            ask(["a"])


@pytest.mark.parametrize("estimator", ["clustering", "moments", "em"])
@pytest.mark.parametrize("n_states", [1, 8])
def test_one_tag_only_and_more_states_than_words(estimator, n_states):
    tagged = [["a", "b"], ["c"]], [["X", "X"], ["X"]]
    tagger = LatentTagger(n_states, estimator=estimator, per_state=1).fit(*tagged)
    assert tagger.tag(["b", "never"]) == ["X", "X"]
    assert tagger.marginals(["q"]).tolist() == [[1.0]]
    assert TrigramTagger().fit(*tagged).tag(["b", "never"]) == ["X", "X"]


@pytest.mark.parametrize("estimator", ["clustering", "moments", "em"])
def test_more_states_than_occurrences(estimator):
    n_iter = 0 if estimator != "em" else 2
    tagger = LatentTagger(32, estimator=estimator, per_state=1, n_iter=n_iter)
    tagger.fit([["a", "b", "a"]] * 4 + [["z"]], [["X", "Y", "X"]] * 4 + [["Z"]])
    assert (tagger.chains_[0].arrays.m <= 12).all()
    assert tagger.tag(["a", "b", "a"]) == ["X", "Y", "X"]
    assert tagger.tag(["z"]) == ["Z"]


def test_unseen_words_only_a_long_word_and_a_long_sentence(tagger):
    assert len(tagger.tag(["zyx", "Qwrt", "1-2-3"])) == 3
    (tag,) = tagger.tag(["a" * 10_000])
    assert tag in tagger.tags_
    words = ["the", "cat", "zzyx", "sat", "."] * 2000
    found = tagger.tag(words)
    assert len(found) == len(words)
    assert found[:2] == found[5000:5002]
    assert np.isfinite(tagger.log_prob(words))
    assert len(tagger.kbest(words, 3)) == 3


@settings(max_examples=30)
@given(st.lists(token, min_size=1, max_size=6))
def test_any_tokens_have_an_answer(tagger, tokens):
    answer = tagger.analyse(tokens, kbest=4)
    assert len(answer.tags) == len(tokens)
    assert not answer.fallback
    assert answer.marginals.sum(axis=1) == pytest.approx(np.ones(len(tokens)), rel=1e-9)
    shares = [one.share for one in answer.kbest]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) <= 1 + 1e-9
    assert all(one.log_prob <= answer.log_prob + 1e-9 for one in answer.kbest)


def test_tags_that_look_like_labels_of_the_grammar_do_no_harm():
    odd = ["@<NP|X", "S>VP", "-LRB-", "end", "p0", "NN|VB", " "]
    words = [f"w{i}" for i in range(len(odd))]
    tagger = LatentTagger(2).fit([words] * 12, [odd] * 12)
    assert tagger.tag(words) == odd


def test_a_tag_never_seen_and_a_wrong_number_of_tags(tagger):
    assert tagger.log_prob(["the"], ["NOPE"]) == -np.inf
    with pytest.raises(SettingsError, match="2 tags for 1"):
        tagger.log_prob(["the"], ["DT", "NN"])


def test_no_weight_at_all_falls_back_to_the_words(tagger, monkeypatch):
    from eigentext.sequences.tagger.chain import Chain

    monkeypatch.setattr(Chain, "posteriors", lambda *_: None)
    answer = tagger.analyse(["The", "farmer", "sold"])
    assert answer.fallback
    for at, word in enumerate(["The", "farmer", "sold"]):
        scores = tagger.words_.scores(word, first=at == 0)
        found = answer.marginals[at, scores.tags]
        assert found == pytest.approx(scores.p / scores.p.sum(), rel=1e-9)


# -- answers ------------------------------------------------------------------------------------


def test_the_decoders_agree_with_their_definitions(tagger):
    for tokens in english("dev")[0][:5]:
        table = tagger.marginals(tokens)
        assert tagger.tag(tokens) == [tagger.tags_[k] for k in table.argmax(axis=1)]
        tagger.decoder = "product"
        assert tagger.tag(tokens) == tagger.kbest(tokens, 1)[0].tags
        tagger.decoder = "posterior"


@pytest.mark.parametrize(
    "settings_", [{}, {"estimator": "moments"}, {"n_models": 2, "estimator": "mixed"}], ids=str
)
def test_a_model_file_gives_the_same_answers(sample, tmp_path, settings_):
    tagger = LatentTagger(3, **settings_).fit(*sample)
    path = tmp_path / "tagger.model"
    tagger.save(path, data={"name": "sample"})
    again = LatentTagger.load(path)
    assert again.get_params() == tagger.get_params()
    for tokens in english("dev")[0][:10]:
        one, two = tagger.analyse(tokens, kbest=3), again.analyse(tokens, kbest=3)
        assert one.tags == two.tags
        assert one.log_prob == two.log_prob
        assert (one.marginals == two.marginals).all()
    again.save(tmp_path / "again.model", data={"name": "sample"})
    assert path.read_bytes() == (tmp_path / "again.model").read_bytes()


def test_a_file_of_another_kind_is_refused(tmp_path):
    from eigentext.base import modelfile

    path = tmp_path / "other.model"
    modelfile.save(path, "lpcfg", {"a": np.ones(1)}, settings={}, format_version=1)
    with pytest.raises(ModelFileError):
        LatentTagger.load(path)
    modelfile.save(path, "latent-tagger", {"a": np.ones(1)}, settings={}, format_version=1)
    with pytest.raises(ModelFileError, match=r"settings\.n_models is missing"):
        LatentTagger.load(path)


def test_the_same_seed_gives_the_same_model(sample):
    X, y = (part[:150] for part in sample)
    one, two, three = (
        LatentTagger(3, seed=seed, estimator="em", n_iter=3).fit(X, y) for seed in (0, 0, 1)
    )
    assert (one.chains_[0].params.tensor == two.chains_[0].params.tensor).all()
    assert (one.chains_[0].params.tensor != three.chains_[0].params.tensor).any()


def test_states_help_on_the_sample(sample):
    dev = [one + other for one, other in zip(english("dev"), english("test"), strict=True)]
    plain = LatentTagger(1).fit(*sample).score(*dev)
    assert LatentTagger(8).fit(*sample).score(*dev) > plain - 0.003
    assert plain > 0.8


def test_states_find_what_a_bigram_cannot_see():
    """After B comes what came before it; the two kinds of B look the same."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(400):
        side = "LR"[rng.integers(2)]
        word = ("x", "y")[rng.integers(2)] if rng.random() < 0.3 else "xy"["LR".index(side)]
        X.append([f"{side.lower()}{rng.integers(3)}", "b", word])
        y.append([side, "B", side])
    test = [["l0", "b", "y"], ["r0", "b", "x"]], [["L", "B", "L"], ["R", "B", "R"]]
    assert LatentTagger(1).fit(X, y).score(*test) < 1
    assert LatentTagger(4).fit(X, y).score(*test) == 1
    assert TrigramTagger().fit(X, y).score(*test) == 1


def test_the_report_counts_by_tag_and_by_known_words(tagger):
    dev = english("dev")
    report = evaluate_tagger(tagger.stream, tagger.words_.knows, *dev)
    assert report.accuracy == pytest.approx(100 * tagger.score(*dev), rel=1e-12)
    assert sum(score.gold for score in report.tags) == report.n_tokens
    assert sum(score.correct for score in report.tags) == report.n_right
    unknown = [word for words in dev[0] for word in words if not tagger.words_.knows(word)]
    assert report.n_unknown == len(unknown)
    assert report.unknown <= 100 >= report.known
    with pytest.raises(DataError, match="tags for"):
        evaluate_tagger(lambda X: [[] for _ in X], tagger.words_.knows, [["a"]], [["X"]])


@pytest.mark.long
@pytest.mark.requires("data")
def test_states_gain_on_french(data):
    from eigentext.tagging.sequence.reading import read_tagged

    folder = data / "dependency" / "fr-sequoia"
    train, dev = (
        read_tagged([str(folder / f"{part}.conllu")], scheme="plain")[:2]
        for part in ("train", "dev")
    )
    plain = LatentTagger(1).fit(*train).score(*dev)
    latent = LatentTagger().fit(*train).score(*dev)
    trigram = TrigramTagger().fit(*train).score(*dev)
    assert latent >= plain + 0.005
    assert latent >= trigram


# -- shapes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("tags", [[0, 1, 0, 1, 1, 0], [0, 1, 2, 1, 2, 0], [2, 0, 2, 0, 0, 2]])
def test_the_model_of_shapes_does_not_depend_on_the_numbers_of_the_tags(tags):
    words = [(word, False) for word in ("runs", "cat", "hit", "bats", "run-2", "cats")]
    turned = [2, 1, 0]
    one = ShapeModel.fit(3, words, tags, [1.0] * 6)
    two = ShapeModel.fit(3, words, [turned[tag] for tag in tags], [1.0] * 6)
    for word in ("rats", "kit", "2-in", "zyx"):
        p = one.p(word, first=False)
        assert p.sum() == pytest.approx(1.0, rel=1e-12)
        assert two.p(word, first=False)[turned] == pytest.approx(p, rel=1e-2, abs=1e-5)
        assert all((p[tag] > 0.05) == (tag in tags) for tag in range(3))


def test_words_of_one_tag_need_no_model_of_shapes():
    assert ShapeModel.fit(2, [("a", True), ("b", False)], [1, 1], [1.0, 1.0]) is None
    words = WordTags.count(["A", "B"], [["x", "y"]], [[1, 1]])
    assert words.p_given_shape("q", first=False) == pytest.approx([0.0, 1.0])
