"""Clustering end to end: methods, model file, paths, determinism, and what is refused."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.base import clone

from eigentext.base.files.opening import write_lines
from eigentext.base.model import NotFittedError
from eigentext.counting.counting import count, count_sentences
from eigentext.errors import DataError, ModelFileError, RankError, RankWarning, SettingsError
from eigentext.evaluate.clustering import paths_information
from eigentext.language.formats.brown_paths import read_paths
from eigentext.words.clusters import methods
from eigentext.words.clusters.methods import context_counts, contexts_to_count, embed, omega
from eigentext.words.clusters.model import SpectralClusters
from eigentext.words.settings import METHODS

SUBJECTS, VERBS, THINGS = "I you we they".split(), "see like want".split(), "tea soup rice".split()


def sentences(seed=0, n=300):
    rng = np.random.default_rng(seed)
    return [
        [str(rng.choice(SUBJECTS)), str(rng.choice(VERBS)), "some", str(rng.choice(THINGS)), "."]
        for _ in range(n)
    ]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("clusters") / "text"
    write_lines(str(path), [" ".join(s) for s in sentences()])
    return str(path)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("contexts", ["r1", "lr1", "lr2", "-2,+1"])
def test_every_method_finds_the_word_classes(method, contexts):
    # nothing stands to the right of ".": r1 has directions for four classes, the next is chance
    short = contexts == "r1" and method in ("spectral", "paper")
    with pytest.warns(RankWarning, match="only 4 of 5") if short else nullcontext():
        model = SpectralClusters(5, method=method, contexts=contexts, kappa=1.0).fit(sentences())
    for group in (SUBJECTS, VERBS, THINGS):
        assert len(set(model.predict(group).tolist())) == 1
    assert len(set(model.labels_.tolist())) == 5
    if short:
        assert model.singular_values_.shape == (4,)
    assert model.mutual_information_ == pytest.approx(
        paths_information(
            dict(zip(model.words_, model.paths_, strict=True)), count_of(sentences())
        )[None]
    )


def count_of(lines):
    write_lines("memory://test/clusters.txt", [" ".join(s) for s in lines])
    return count(["memory://test/clusters.txt"], contexts="r1")


def test_a_word_without_contexts_has_no_vector():
    counts = count_of(sentences())
    words = np.argsort(-counts.unigrams, kind="stable")[:12]
    totals = counts.unigrams[words]
    found = embed(omega(context_counts(counts, (1,), words), totals, 1.0), 4).vectors
    ends = [counts.words[w] for w in words].index(".")
    assert (found[ends] == 0).all()
    np.testing.assert_allclose(np.linalg.norm(np.delete(found, ends, 0), axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_the_same_paths_for_any_number_of_jobs(corpus, method, tmp_path):
    written = []
    for jobs in (1, 2):
        counts = count([corpus], contexts="lr1", jobs=jobs)
        model = SpectralClusters(4, method=method).fit(counts)
        model.write_paths(str(tmp_path / "paths"))
        written.append((tmp_path / "paths").read_bytes())
    assert written[0] == written[1]


def test_model_file_and_paths_round_trip(tmp_path):
    model = SpectralClusters(5, vocab_size=9).fit(sentences())
    model.save(tmp_path / "m")
    back = SpectralClusters.load(tmp_path / "m")
    assert back.get_params() == model.get_params()
    assert back.words_ == model.words_
    assert back.paths_ == model.paths_
    assert np.array_equal(back.labels_, model.labels_)
    assert back.mutual_information_ == model.mutual_information_
    model.write_paths(str(tmp_path / "paths"))
    entries = list(read_paths(str(tmp_path / "paths")))
    assert {e.word: e.bits for e in entries} == dict(zip(model.words_, model.paths_, strict=True))
    assert [e.bits for e in entries] == sorted(e.bits for e in entries)
    assert sum(e.count for e in entries) == 5 * 300
    with pytest.raises(
        ModelFileError, match="needs word clusters made by `eigentext words cluster`"
    ):
        SpectralClusters.load(corpus_counts(tmp_path))


def corpus_counts(folder):
    count_of(sentences()).save(folder / "c")
    return folder / "c"


def test_unk_is_a_word_like_others_and_stands_in_for_unknown_ones():
    model = SpectralClusters(4, vocab_size=6).fit(sentences())
    assert len(model.words_) == 7
    assert "<unk>" in model.words_
    assert model.transform(["never-seen"]) == model.transform(["<unk>"])
    whole = SpectralClusters(4).fit(sentences())
    assert "<unk>" not in whole.words_
    assert whole.predict(["never-seen"]).tolist() == [-1]
    assert whole.transform(["never-seen"]) == [""]


def test_scikit_learn_manners():
    model = SpectralClusters(3, method="exchange", passes=2)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(n_clusters=4).fit(sentences()).labels_.max() == 3
    labels = SpectralClusters(3).fit_predict(sentences())
    assert labels.shape == (12,)


def test_exchange_passes_improve_on_the_paper():
    rng = np.random.default_rng(5)
    lines = [[f"w{x}" for x in rng.zipf(1.5, 12) % 80] for _ in range(800)]
    paper = SpectralClusters(8, method="paper").fit(lines)
    refined = SpectralClusters(8, method="paper", passes=3).fit(lines)
    assert refined.mutual_information_ > paper.mutual_information_
    assert refined.clustering_.history == sorted(refined.clustering_.history)
    assert paper.gamma_ > 0
    assert paper.singular_values_.shape == (8,)


@pytest.mark.parametrize(
    ("settings", "lines", "error", "message"),
    [
        ({"n_clusters": 50}, sentences(), SettingsError, "50 clusters for 12 different words"),
        ({"n_clusters": 1}, [["a", "a"]], DataError, "1 different word"),
        ({"n_clusters": 2}, [], DataError, "no tokens"),
        ({"n_clusters": 2}, [["a"], ["b"]], DataError, "side by side"),
        ({"method": "nonsense"}, sentences(), SettingsError, "'spectral', 'paper'"),
        ({"hierarchy": "nonsense"}, sentences(), SettingsError, "bisect"),
        ({"contexts": "bag2"}, sentences(), SettingsError, "positions"),
        ({"kappa": -1.0}, sentences(), SettingsError, "kappa"),
        ({"passes": -1}, sentences(), SettingsError, "passes"),
        ({"n_clusters": 4, "contexts": "r1"}, [["a", "b", "c", "d"]] * 5, RankError, "rank"),
    ],
)
def test_what_is_refused(settings, lines, error, message):
    with pytest.raises(error, match=message):
        SpectralClusters(**{"n_clusters": 3, **settings}).fit(lines)


def test_strings_are_refused_with_a_hint():
    with pytest.raises(SettingsError, match="expected a list of sentences, not one string"):
        SpectralClusters(2).fit("a string")
    with pytest.raises(SettingsError, match="is a list of tokens, not the string 'word'"):
        SpectralClusters(2).fit(sentences()).predict("word")


def test_contexts_that_have_to_be_counted():
    assert contexts_to_count("lr2") == "-2,-1,+1,+2"
    assert contexts_to_count("-3,2") == "-3,+2,+1"


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (b"a b\nb a\n", ["-m", "9"], "9 clusters for 2 different words"),
        (b"", ["-m", "2"], "no tokens"),
        (b"a a a\n", ["-m", "1"], "1 different word"),
        (b"a \xff b\n", ["-m", "2"], "not UTF-8"),
        (b"a b c d\n", ["-m", "4", "--contexts", "r1"], "Omega has numerical rank 3"),
        (b"a b\n", ["-m", "2", "--counts", "x"], "either a corpus or --counts"),
        (b"a b\nb a\n", ["-m", "2", "--paths", "/no/such/folder/p"], "no such folder"),
    ],
)
def test_the_command_says_what_is_wrong_in_one_line(text, arguments, message, tmp_path, capsys):
    from eigentext.cli.main import run

    (tmp_path / "text").write_bytes(text)
    target = tmp_path / "model"
    code = run(["words", "cluster", str(tmp_path / "text"), "-o", str(target), *arguments])
    said = capsys.readouterr().err
    assert code == 2
    assert message in said
    assert said.count("\n") == 1


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch, capsys):
    import errno
    import os

    from eigentext.cli.main import run

    (tmp_path / "text").write_text("a b\nb a\nb b\n")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    code = run(["words", "cluster", str(tmp_path / "text"), "-o", str(tmp_path / "m"), "-m", "2"])
    assert code == 2
    assert "No space left" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.predict(["a"]),
        lambda model: model.transform(["a"]),
        lambda model: model.assign([["a"]]),
        lambda model: model.write_paths("memory://none"),
        lambda model: model.save("memory://none"),
    ],
    ids=["predict", "transform", "assign", "write_paths", "save"],
)
def test_unfitted_clusters_say_so(ask):
    with pytest.raises(NotFittedError, match="this SpectralClusters has learned nothing yet"):
        ask(SpectralClusters())


def test_clusters_that_need_more_than_the_bound_are_refused(monkeypatch):
    counts = count_sentences([["a", "cat", "ran"], ["the", "dog", "sat"]], contexts="lr1")
    SpectralClusters(2).fit(counts, memory="360MB")
    for memory in ("32MB", "349MB"):  # of a small text too
        with pytest.raises(SettingsError, match=r"6 words with 4 pairs: 360MB is the least"):
            SpectralClusters(2).fit(counts, memory=memory)
    monkeypatch.setattr(methods, "_NEIGHBOURS", 10**9)
    with pytest.raises(SettingsError, match=r"6 words with 4 pairs: 4,360MB is the least"):
        SpectralClusters(2).fit(counts, memory="2GB")
    monkeypatch.setattr(methods, "_NEIGHBOURS", 10**8)
    SpectralClusters(2).fit(counts, memory="2GB")


@pytest.mark.requires("data")
def test_kappa_and_contexts_are_as_in_figure_6(data):
    """Mutual information rises with kappa and falls again; contexts on both sides tell more."""
    text = [data / "text" / "openstax_by.txt.xz"]
    counts = count(text, contexts="lr2", vocab_size=5000)
    told = {
        (contexts, kappa): SpectralClusters(50, method="paper", contexts=contexts, kappa=kappa)
        .fit(counts)
        .mutual_information_
        for contexts in ("r1", "lr1", "lr2")
        for kappa in (0.0, 100.0, 10_000.0)
    }
    for contexts in ("r1", "lr1", "lr2"):
        none, some, much = (told[contexts, kappa] for kappa in (0.0, 100.0, 10_000.0))
        assert some > 1.04 * none
        assert some > 1.03 * much
    assert told["lr1", 100.0] > 1.2 * told["r1", 100.0]
    assert told["lr2", 100.0] > told["r1", 100.0] * 1.2
