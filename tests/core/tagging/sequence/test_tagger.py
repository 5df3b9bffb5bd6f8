"""The tagger as a whole: what helps, what stays the same, what is refused, and real data."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from eigentext.base import modelfile
from eigentext.base.model import NotFittedError
from eigentext.errors import DataError, EigentextError, ModelFileError, SettingsError
from eigentext.evaluate.ner import evaluate
from eigentext.language.formats.columns import find_tag_fault, read_columns
from eigentext.language.formats.conllu import read_sentences
from eigentext.tagging.sequence import SequenceTagger

X = [["Ada", "met", "Charles", "Babbage"], ["she", "met", "Ada"]] * 4
Y = [["B-PER", "O", "B-PER", "I-PER"], ["O", "O", "B-PER"]] * 4


@pytest.fixture(scope="module")
def tagger():
    return SequenceTagger(epochs=4, clusters={"Ada": "01", "she": "1"}).fit(X, Y)


def test_clusters_help_where_nothing_else_tells(planted_data):
    train, test, clusters = planted_data
    without = SequenceTagger().fit(*train).score(*test)
    with_clusters = SequenceTagger(clusters=clusters).fit(*train).score(*test)
    assert with_clusters > 0.97
    assert with_clusters > without + 0.15


def test_vectors_help_where_nothing_else_tells(planted_data):
    train, test, clusters = planted_data
    rng = np.random.default_rng(0)
    vectors = {
        word: rng.normal(0, 0.3, 4) + (1 if bits == "0101" else -1)
        for word, bits in clusters.items()
    }
    without = SequenceTagger().fit(*train).score(*test)
    assert (
        SequenceTagger(vectors=vectors, vector_scale=3.0).fit(*train).score(*test) > without + 0.15
    )


def test_the_same_seed_gives_the_same_tagger():
    one, other = (SequenceTagger(epochs=2, seed=3).fit(X, Y).model_ for _ in range(2))
    assert np.array_equal(one.weights, other.weights)
    assert np.array_equal(one.row_of, other.row_of)


def test_saved_and_loaded(tagger, tmp_path):
    tagger.save(tmp_path / "a.tagger", data={"name": "made up"})
    back = SequenceTagger.load(tmp_path / "a.tagger")
    assert back.get_params()["epochs"] == 4
    sentences = [*X, ["Nobody", "knew", "Ada", "Lovelace", "!"], []]
    assert back.predict(sentences) == tagger.predict(sentences)
    for one, other in zip(back.kbest(X[0], 4), tagger.kbest(X[0], 4), strict=True):
        assert one == other
    back.save(tmp_path / "b.tagger", data={"name": "made up"})
    assert (tmp_path / "a.tagger").read_bytes() == (tmp_path / "b.tagger").read_bytes()


def test_vectors_and_clusters_travel_with_the_model(planted_data, tmp_path):
    train, test, clusters = planted_data
    vectors = {
        word: [1.0, -1.0] if bits == "0101" else [0.5, 1.0] for word, bits in clusters.items()
    }
    made = SequenceTagger(clusters=clusters, vectors=vectors, epochs=3).fit(*train)
    made.save(tmp_path / "whole")
    compact = SequenceTagger(clusters=clusters, vectors=vectors, epochs=3, compact=True)
    compact.fit(*train).save(tmp_path / "compact")
    assert SequenceTagger.load(tmp_path / "whole").predict(test[0]) == made.predict(test[0])
    small = SequenceTagger.load(tmp_path / "compact")
    assert small.predict(train[0]) == made.predict(train[0])
    assert small.predict(test[0]) == compact.predict(test[0])  # it knows what its file knows
    assert 0 < len(small.clusters_) < len(clusters)
    assert len(small.vectors_) == len(small.vector_words_) < len(clusters)


def test_a_damaged_model_is_said_to_be_one(tagger, tmp_path):
    modelfile.save(tmp_path / "x", "tagger", {}, settings={}, format_version=1)
    with pytest.raises(ModelFileError, match=r"settings\.chosen is missing"):
        SequenceTagger.load(tmp_path / "x")
    modelfile.save(tmp_path / "y", "counts", {}, settings={}, format_version=1)
    with pytest.raises(ModelFileError, match="holds counts of words"):
        SequenceTagger.load(tmp_path / "y")


def test_two_processes_give_the_same(tagger):
    sentences = [["Ada", "met", f"Mr{n}", "Babbage"][: 1 + n % 4] for n in range(5000)] + [[]]
    alone = list(tagger.stream_kbest(sentences, 2))
    assert list(tagger.stream_kbest(sentences, 2, jobs=2)) == alone
    assert alone[-1] == []


@settings(max_examples=40)
@given(st.lists(st.lists(st.text(min_size=1, max_size=12), max_size=6), max_size=4))
def test_any_tokens_get_good_tags(sentences):
    made = any_tagger()
    found = made.predict(sentences)
    assert [len(tags) for tags in found] == [len(tokens) for tokens in sentences]
    for tags in found:
        assert find_tag_fault(tags, "bio2") is None


_made: list[SequenceTagger] = []


def any_tagger() -> SequenceTagger:
    if not _made:
        _made.append(SequenceTagger(epochs=1, beam=3).fit(X, Y))
    return _made[0]


def test_the_best_epoch_on_dev_is_kept(planted_data):
    train, test, _ = planted_data
    made = SequenceTagger(epochs=30).fit(*train, dev=test, patience=3)
    assert made.score(*test) == max(made.dev_scores_)
    assert made.dev_scores_.index(max(made.dev_scores_)) + 1 == made.best_epoch_
    assert len(made.dev_scores_) == min(30, made.best_epoch_ + 3)


def test_tags_of_one_kind_only():
    assert SequenceTagger(epochs=1).fit([["a", "b"]], [["X", "X"]]).tag(["c"]) == ["X"]
    assert SequenceTagger(epochs=1, scheme="bio2").fit([["a"]], [["O"]]).tag(["c"]) == ["O"]


def test_parameters_in_scikit_learn_manner():
    made = clone(SequenceTagger(epochs=2, seed=7))
    assert made.get_params()["seed"] == 7
    with pytest.raises(NotFittedError, match="this SequenceTagger has learned nothing yet"):
        made.tag(["a"])


def test_a_tag_outside_bio2_is_an_error_or_repaired():
    with pytest.raises(DataError, match=r"token 2.*I-PER.*after .O."):
        SequenceTagger().fit([["a", "b"], ["c"]], [["O", "I-PER"], ["B-PER"]])
    made = SequenceTagger(repair=True).fit([["a", "b"], ["c"]], [["O", "I-PER"], ["B-PER"]])
    assert made.tag(["a", "b"]) == ["O", "B-PER"]


@pytest.mark.parametrize(
    ("X", "y", "options", "kind"),
    [
        ([], [], {}, DataError),
        ([["a"]], [["X", "Y"]], {}, DataError),
        ([["a"], ["b"]], [["X"]], {}, DataError),
        ([["a"]], [["X"]], {"epochs": 0}, SettingsError),
        ([["a"]], [["X"]], {"scheme": "iob7"}, SettingsError),
        ([["a"]], [["X"]], {"margin": -1.0}, SettingsError),
        ([["a"]], [["X"]], {"seed": -1}, SettingsError),
        ([["a"]], [["X"]], {"templates": ["tag[-1]"]}, SettingsError),
        ([["a"]], [["X"]], {"clusters": {"a": "012"}}, SettingsError),
        ([["a"]], [["X"]], {"vectors": {"a": [1.0], "b": [1.0, 2.0]}}, SettingsError),
        ([["a"]], [["X"]], {"vectors": {"a": [0.0]}}, DataError),
    ],
)
def test_bad_input(X, y, options, kind):
    with pytest.raises(kind) as caught:
        SequenceTagger(**options).fit(X, y)
    assert issubclass(kind, EigentextError)
    assert str(caught.value)


def test_one_str_is_not_a_sentence(tagger):
    with pytest.raises(SettingsError, match="not the string 'Ada met Charles'"):
        tagger.tag("Ada met Charles")
    with pytest.raises(SettingsError, match="token 2 of a sentence is empty"):
        tagger.tag(["Ada", ""])
    with pytest.raises(SettingsError, match="k is 0"):
        tagger.kbest(["Ada"], 0)


@pytest.mark.requires("data")
def test_entities_of_real_text(data):
    train = list(read_columns(data / "ner/wnut17/train.bio"))[:1500]
    dev = list(read_columns(data / "ner/wnut17/dev.bio"))[:400]
    gold = [one.tags for one in dev]

    def f1(**options):
        made = SequenceTagger(epochs=4, **options)
        made.fit([one.tokens for one in train], [one.tags for one in train])
        return evaluate(gold, made.predict([one.tokens for one in dev])).f1

    without = f1()
    assert without > 12
    assert f1(clusters=data / "peers/wcluster-wiki50k-500.paths.xz") > without + 5


@pytest.mark.requires("data")
def test_parts_of_speech_of_real_text(data):
    sentences = list(read_sentences(data / "dependency/ewt/dev.conllu"))
    train, test = sentences[:1500], sentences[1500:]
    made = SequenceTagger(epochs=4)
    made.fit([one.forms for one in train], [one.column("upos") for one in train])
    score = made.score([one.forms for one in test], [one.column("upos") for one in test])
    assert made.tag_set_.scheme == "plain"
    assert score > 0.88


# -- margin and beam -----------------------------------------------------------------------------


def test_margin_and_beam_are_chosen_on_the_training_data(planted_data, monkeypatch):
    train, _, clusters = planted_data
    seen = []

    def watched(made, X, y, **more):
        seen.append({tuple(tokens) for tokens in X})
        return fit(made, X, y, **more)

    fit = SequenceTagger.fit
    monkeypatch.setattr(SequenceTagger, "fit", watched)
    made = SequenceTagger(clusters=clusters, epochs=2).fit(*train)
    assert set(made.tried_) == {(m, b) for m in (0.5, 1.0, 2.0) for b in (1, 4)}
    assert made.tried_[made.entity_margin_, made.beam_] == max(made.tried_.values()) > 0
    first, second = (
        {tuple(tokens) for tokens in train[0][at]} for at in (slice(30), slice(30, 60))
    )
    assert seen[1:] == [second] * 3 + [first] * 3  # each stretch by taggers of the other


def test_the_best_pair_is_used_and_stored(planted_data, tmp_path, monkeypatch):
    from eigentext.tagging.sequence import selection

    train, test, _ = planted_data
    scores = {(0.5, 1): 1.0, (0.5, 4): 2.0, (2.0, 1): 3.0, (2.0, 4): 9.0}
    monkeypatch.setattr(selection, "cross_validated", lambda *given, **more: scores)
    made = SequenceTagger(epochs=1).fit(*train)
    assert (made.entity_margin_, made.beam_) == (2.0, 4)
    made.save(tmp_path / "a.tagger")
    back = SequenceTagger.load(tmp_path / "a.tagger")
    assert (back.entity_margin_, back.beam_, back.beam) == (2.0, 4, "auto")
    assert back.predict(test[0]) == made.predict(test[0])
    # the same as one that is told so, and what is told stays
    told = SequenceTagger(epochs=1, entity_margin=2.0, beam=4).fit(*train)
    assert np.array_equal(told.model_.weights, made.model_.weights)
    assert told.tried_ == {}
    assert SequenceTagger(epochs=1, beam=2).fit(*train).beam_ == 2
    assert SequenceTagger(epochs=1, entity_margin=0.0).fit(*train).entity_margin_ == 0.0


def test_development_data_choose_margin_and_beam(planted_data):
    train, test, clusters = planted_data
    made = SequenceTagger(clusters=clusters, epochs=2).fit(*train, dev=test)
    assert len(made.tried_) == 6
    assert made.score(*test) == max(made.tried_.values()) == max(made.dev_scores_)


def test_few_sentences_and_other_tags_need_no_choice(planted_data):
    few = SequenceTagger(epochs=1).fit(X, Y)
    assert (few.entity_margin_, few.beam_, few.tried_) == (1.0, 4, {})
    train, _, _ = planted_data
    tags = [["A" if tag == "O" else "B" for tag in row] for row in train[1]]
    plain = SequenceTagger(epochs=1).fit(train[0], tags)
    assert (plain.beam_, plain.tried_) == (1, {})
    with pytest.raises(SettingsError, match="entity_margin is -1"):
        SequenceTagger(entity_margin=-1).fit(X, Y)


@pytest.mark.parametrize("beam", [1, 2])
def test_among_equal_scores_the_first_tag_stays_ahead(beam):
    """Words that no weight speaks of: every tag has the same score, in a full beam too."""
    tagger = SequenceTagger(epochs=1, beam=beam, seed=0)
    tagger.fit([["a", "b", "c"]] * 3, [["A", "B", "C"]] * 3)
    tagger.model_.weights[:] = 0.0
    assert tagger.tag(["x", "y"]) == ["A", "A"]


def test_a_loaded_tagger_is_small_to_show_and_to_send():
    rng = np.random.default_rng(0)
    vectors = {f"w{n}": rng.normal(size=5) for n in range(400)}
    X = [[f"w{n}", f"w{n + 1}"] for n in range(0, 40, 2)]
    tagger = SequenceTagger(epochs=1, vectors=vectors, scheme="plain")
    loaded = SequenceTagger.from_bytes(tagger.fit(X, [["A", "B"]] * len(X)).to_bytes())
    assert "vectors=<400 vectors of 5 numbers>" in repr(loaded)
    assert len(pickle.dumps(loaded)) < 1.5 * len(pickle.dumps(tagger.set_params(vectors=None)))
    again = clone(loaded).fit(X, [["A", "B"]] * len(X))
    assert again.predict(X) == loaded.predict(X)
    np.testing.assert_array_equal(again.vectors_, loaded.vectors_)


@pytest.mark.requires("data")
def test_clusters_find_entities_in_real_text(data):
    """Brown clusters of Wikipedia beside the words: section 6.2 of Stratos et al. 2014."""
    folder = data / "ner" / "wnut17"
    train, dev = (
        list(read_columns(folder / f"{part}.bio", scheme="bio2")) for part in ("train", "dev")
    )
    paths = str(data / "peers" / "wcluster-wiki50k-200.paths.xz")

    def f1(clusters):
        tagger = SequenceTagger(clusters=clusters, entity_margin=2.0, beam=1, epochs=4)
        tagger.fit([one.tokens for one in train], [one.tags for one in train])
        found = tagger.predict([one.tokens for one in dev])
        return evaluate([one.tags for one in dev], found).f1

    without = f1(None)
    assert 25 < without < 35
    assert f1(paths) > without + 7
