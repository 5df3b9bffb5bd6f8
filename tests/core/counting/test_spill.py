"""Runs: their sums are those of dense matrices, in memory and on disk."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, vstack

from eigentext.base.engines import LocalEngine
from eigentext.base.heap import is_mapped, read_mapped
from eigentext.counting.runs import PairRun, RunStore, count_pairs
from eigentext.counting.spill import load_arrays, save_arrays, saved

N = 6


def _dense(blocks) -> np.ndarray:
    made = []
    for starts, columns, data in blocks:
        assert all(np.all(np.diff(columns[a:b]) > 0) for a, b in itertools.pairwise(starts))
        made.append(csr_array((data, columns, starts), shape=(len(starts) - 1, N)))
    return vstack(made).toarray()


def _run(matrix: np.ndarray) -> PairRun:
    sparse = csr_array(matrix)
    return PairRun.of(sparse.indptr.astype(np.int64), sparse.indices.astype(np.int32), sparse.data)


matrices = st.lists(st.integers(0, 3), min_size=N * N, max_size=N * N).map(
    lambda numbers: np.array(numbers, dtype=np.int64).reshape(N, N)
)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(matrices, min_size=1, max_size=5),
    st.sampled_from([1, 200, 600, 10**6]),
    st.integers(1, 2),
)
def test_runs_add_up(tmp_path_factory, given_matrices, limit, jobs):
    engine = LocalEngine(jobs)
    folder = tmp_path_factory.mktemp("runs")
    store = RunStore(folder, limit)
    for matrix in given_matrices:
        store.add("a", _run(matrix))
        store.add("b", _run(matrix * 2**40))
    total = sum(given_matrices)
    assert _dense(store.total("a", engine)).tolist() == total.tolist()
    assert _dense(store.total("b", engine)).tolist() == (total * 2**40).tolist()
    assert not list(folder.iterdir())  # spilled runs are removed when they are used


@settings(deadline=None)
@given(
    st.lists(st.integers(-1, N - 1), max_size=40),
    st.integers(1, 3),
    st.integers(0, 3),
    st.lists(st.integers(0, 40), max_size=3),
)
def test_pairs_of_stretches(ids, nearest, extra, cuts):
    expected = np.zeros((N, N), dtype=np.int64)
    for i in range(len(ids)):
        for d in range(nearest, nearest + extra + 1):
            if d <= i and min(ids[i - d : i + 1]) >= 0:
                expected[ids[i - d], ids[i]] += 1
    found = np.zeros((N, N), dtype=np.int64)
    cuts = sorted({0, len(ids), *(min(cut, len(ids)) for cut in cuts)})
    for begin, end in itertools.pairwise(cuts):
        span = (nearest, nearest + extra)
        run = count_pairs(np.array(ids, dtype=np.int32), begin, end, span, N)
        found += _dense([run.rows(0, N)])
    assert found.tolist() == expected.tolist()


def test_folders_of_arrays(tmp_path):
    folder = tmp_path / "deep" / "run"
    save_arrays(folder, {"x": np.arange(5), "none": np.empty(0, dtype=np.int32)}, {"n": 5})
    assert saved(folder) == {"n": 5}
    x, none = load_arrays(folder, ["x", "none"])
    assert x.tolist() == [0, 1, 2, 3, 4]
    assert none.dtype == np.int32
    assert not none.size
    save_arrays(tmp_path / "deep" / "run2", {}, {})
    (folder / "x").write_bytes(b"short")
    assert saved(folder) is None
    assert saved(tmp_path / "nowhere") is None


def test_what_was_made_of_a_map_is_in_memory(tmp_path):
    path = tmp_path / "numbers"
    np.arange(5, dtype=np.int32).tofile(path)
    mapped = np.memmap(path, dtype=np.int32, mode="r")
    wider = mapped.astype(np.int64)
    assert is_mapped(mapped)
    assert not is_mapped(wider)
    for array in (mapped, wider, np.arange(5)):
        assert read_mapped(array, 1, 3).tolist() == [1, 2]
