"""The context matrix in tiles of rows: the same matrix, whatever the memory and the threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.base import layout
from eigentext.base.cores import using_cores
from eigentext.base.engines import LocalEngine, using_cluster
from eigentext.base.heap import is_mapped
from eigentext.counting.counting import count, count_sentences
from eigentext.counting.counts import Counts
from eigentext.counting.spill import ArrayStore
from eigentext.errors import SettingsError
from eigentext.linalg import matrices
from eigentext.linalg.backend import CPU, Backend
from eigentext.words.embeddings import cca, context_tiles
from eigentext.words.embeddings.cca import cca_embeddings, context_counts, fold_contexts
from eigentext.words.embeddings.tiles import TiledOperator, TileStore
from eigentext.words.settings import CCASettings

KINDS = [
    CCASettings(5, contexts="bag2"),
    CCASettings(5, contexts="bag2", weighting="harmonic", fold_case=False),
    CCASettings(5, contexts=None, scaling="sqrt", smoothing=0.75),
    CCASettings(5, contexts="bag1", scaling="log", kappa=3.0),
    CCASettings(5, contexts="bag2", scaling="none", weighting="flat"),
]


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(3)
    words = [f"{letter}{n}" for n in range(40) for letter in "aAb"]  # a0 and A0 fold
    ids = np.minimum(rng.zipf(1.3, 6000), len(words)) - 1
    lines = [[words[i] for i in part] for part in np.split(ids, range(7, 6000, 7))]
    return count_sentences(lines, contexts="lr2", min_count=2)


@pytest.fixture
def small_tiles(monkeypatch):
    monkeypatch.setattr(cca, "_TILED_PAIRS", 0)
    monkeypatch.setattr(context_tiles, "TILE_ENTRIES", 300)
    monkeypatch.setattr(context_tiles, "_TILE_ROWS", 16)


@pytest.mark.parametrize("chosen", KINDS, ids=lambda kind: f"{kind.contexts}-{kind.scaling}")
def test_tiles_are_the_matrix(counts, chosen, small_tiles):
    plain = context_counts(counts, chosen.contexts, chosen.weighting or "linear")
    plain = fold_contexts(plain, counts.words) if chosen.fold_case else plain
    expected = cca.scaled_contexts(plain, chosen).toarray()
    with cca._omega(counts, chosen, len(counts.words), "2GB") as (Omega, _):
        assert isinstance(Omega, TiledOperator)
        assert len(Omega.store.cuts) > 4
        np.testing.assert_allclose(Omega.to_dense(), expected, rtol=1e-5, atol=1e-6)
        x = np.random.default_rng(0).standard_normal((expected.shape[1], 70)).astype(np.float32)
        z = np.random.default_rng(1).standard_normal((expected.shape[0], 3)).astype(np.float32)
        near = {"rtol": 1e-3, "atol": 1e-3}
        np.testing.assert_allclose(Omega.matmat(x), expected @ x, **near)
        np.testing.assert_allclose(Omega.rmatmat(z), expected.T @ z, **near)
        np.testing.assert_allclose(Omega.T.gram(x), expected.T @ (expected @ x), **near)
        assert (Omega.row_support() == expected.any(axis=1)).all()
        assert (Omega.column_support() == expected.any(axis=0)).all()


def test_neither_memory_nor_cores_change_a_digit(counts, small_tiles):
    reference = cca_embeddings(counts, KINDS[0]).vectors
    for memory, cores in (("32MB", 1), ("2GB", 2), ("32MB", 3)):
        with using_cores(cores):
            again = cca_embeddings(counts, KINDS[0], memory=memory).vectors
        np.testing.assert_array_equal(again, reference)


@pytest.fixture(scope="module")
def many_words():
    """So many that the decomposition is that of large matrices."""
    rng = np.random.default_rng(5)
    ids = rng.zipf(1.2, 60_000) % 1500
    lines = [[f"w{i}" for i in part] for part in np.split(ids, range(9, 60_000, 9))]
    return count_sentences(lines, contexts="lr2")


@pytest.mark.parametrize("tiled", [True, False])
def test_a_basis_on_disk_changes_no_digit(many_words, tiled, monkeypatch):
    monkeypatch.setattr(cca, "_TILED_PAIRS", 0 if tiled else 10**9)
    chosen = CCASettings(70, contexts="bag2")  # more columns than one product takes
    reference = cca_embeddings(many_words, chosen).vectors
    seen = []
    share_out = cca.Room.share_out

    def noted(memory, *sizes, **more):
        seen.append(share_out(memory, *sizes, **more))
        return seen[-1]

    monkeypatch.setattr(cca.Room, "share_out", noted)
    for memory, cores in (("2GB", 1), ("64MB", 1), ("64MB", 3)):
        with using_cores(cores):
            again = cca_embeddings(many_words, chosen, memory=memory).vectors
        np.testing.assert_array_equal(again, reference)
    assert [room.basis_on_disk for room in seen] == [False, True, True]


def test_a_bound_below_the_vectors_is_refused(many_words):
    chosen = CCASettings(200, contexts="bag2")
    with pytest.raises(
        SettingsError, match=r"1,\d\d\d vectors of 200 dimensions: .*MB is the least"
    ):
        cca_embeddings(many_words, chosen, memory="32MB")


@pytest.mark.parametrize("tiled", [True, False])
def test_counts_that_stay_in_their_file(many_words, tmp_path, tiled, monkeypatch):
    monkeypatch.setattr(cca, "_TILED_PAIRS", 0 if tiled else 10**9)
    monkeypatch.setattr(layout, "_SMALL", 1000)
    many_words.save(tmp_path / "a.counts")
    mapped = Counts.load(tmp_path / "a.counts", mapped=True)
    assert is_mapped(mapped.halves[0].data)
    assert mapped == many_words
    assert mapped.to_bytes() == many_words.to_bytes()
    vectors = [cca_embeddings(c, CCASettings(9, contexts="bag2")) for c in (many_words, mapped)]
    np.testing.assert_array_equal(vectors[0].vectors, vectors[1].vectors)


def test_workers_of_a_cluster_change_no_digit(counts, small_tiles, monkeypatch):
    monkeypatch.setattr(matrices, "_KERNEL_NONZEROS", 1)  # a matrix this small stays here
    for chosen in (KINDS[0], CCASettings(5, contexts="lr2", fold_case=False)):
        reference = cca_embeddings(counts, chosen).vectors
        for workers in (1, 3):
            with using_cluster(LocalEngine(workers)):
                again = cca_embeddings(counts, chosen).vectors
            np.testing.assert_array_equal(again, reference)


def test_tiles_go_to_another_device_in_one_piece(counts, small_tiles):
    with cca._omega(counts, KINDS[0], len(counts.words), "2GB") as (Omega, _):
        x = np.random.default_rng(0).standard_normal((Omega.shape[0], 5)).astype(np.float32)
        for operator in (Omega, Omega.T.T):
            moved = operator.on(Backend())
            np.testing.assert_allclose(moved.rmatmat(x), Omega.rmatmat(x), rtol=1e-4, atol=1e-5)
        turned = Omega.T.on(Backend())
        np.testing.assert_allclose(turned.matmat(x), Omega.rmatmat(x), rtol=1e-4, atol=1e-5)
        assert Omega.on(CPU) is Omega


def test_large_and_small_agree(counts, monkeypatch):
    whole = cca_embeddings(counts, KINDS[0]).vectors
    monkeypatch.setattr(cca, "_TILED_PAIRS", 0)
    tiled = cca_embeddings(counts, KINDS[0]).vectors
    np.testing.assert_allclose((whole * tiled).sum(axis=1), 1, atol=1e-4)


def test_counts_on_disk_give_the_same_vectors(tmp_path, small_tiles):
    rng = np.random.default_rng(0)
    path = tmp_path / "text.txt"
    path.write_text("\n".join(" ".join(f"w{i}" for i in rng.zipf(1.5, 9)) for _ in range(2000)))
    chosen = CCASettings(4, contexts="bag2")
    both = [count([str(path)], contexts="lr2", vocab_size=200, memory=m) for m in ("2GB", "32MB")]
    vectors = [cca_embeddings(counted, chosen).vectors for counted in both]
    np.testing.assert_array_equal(*vectors)


def test_tiles_are_float32(tmp_path):
    with pytest.raises(ValueError, match="float32"):
        TiledOperator(TileStore(tmp_path, 0, [0, 1], 1)).astype(np.float64)


def test_a_bad_memory_setting_is_refused(counts, small_tiles):
    with pytest.raises(SettingsError, match="memory"):
        cca_embeddings(counts, KINDS[0], memory="1KB")


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.lists(st.integers(0, 9), max_size=5))),
    st.integers(0, 200),
)
@settings(max_examples=50, deadline=None)
def test_arrays_come_back_in_order(tmp_path_factory, groups, room):
    store = ArrayStore(tmp_path_factory.mktemp("store"), room)
    expected = {}
    for key, numbers in groups:
        store.add(key, [np.array(numbers, np.int64), np.array(numbers, np.float32) / 2])
        expected.setdefault(key, []).extend(numbers)
    for key, numbers in expected.items():
        assert store.get(key)[0].tolist() == numbers
        whole, halves = store.take(key)
        assert whole.tolist() == numbers
        assert halves.tolist() == [n / 2 for n in numbers]
        assert store.take(key) == []
