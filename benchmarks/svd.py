"""Truncated SVD of a word-by-context matrix: eigentext, scipy's ARPACK and scikit-learn.

    python benchmarks/svd.py --ranks 200 500 1000
    python benchmarks/svd.py --ranks 400 --cores 1 2 4    ours alone, on so many cores

The matrix has a row per word (50,000) and four columns per word (positions -2, -1, +1, +2), scaled
as in CCA: ``Omega[i, j] = c_ij / sqrt((u_i + kappa) (v_j + kappa))``.  scipy's ``svds`` in float64
is the reference for subspaces; ours works in float32, so ``svds`` in float32 is the fair peer for
speed, and both ratios are printed.  CPU seconds are of one thread (BLAS included).  Ours runs
before and after the reference, and the mean counts, so that a busy machine cannot favour one.

``overlap``   mean squared cosine between the left subspaces, ``|U' U_ref|_F^2 / rank``
``weighted``  the same with weights ``s_i^2 - s_rank^2``: a flat spectrum makes the last vectors
              arbitrary, and here they do not count
"""

from __future__ import annotations

import argparse
import hashlib
import os
import time
from functools import partial
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import numpy as np
from _data import data
from scipy.sparse.linalg import svds
from sklearn.utils.extmath import randomized_svd

from eigentext.base.cores import using_cores
from eigentext.counting.counting import count
from eigentext.linalg.scaling import cca_scale
from eigentext.linalg.svd import truncated_svd
from eigentext.linalg.ties import single_threaded

if TYPE_CHECKING:
    from collections.abc import Callable


PEERS = ("scipy svds", "scipy svds float32")


def word_by_context(text: str, vocab_size: int, kappa: float) -> Any:
    """The CCA-scaled LR2 matrix; the last word of the vocabulary is <unk>."""
    counts = count([text], contexts="lr2", vocab_size=vocab_size - 1)
    return cca_scale(counts.context_matrix(), kappa=kappa)


def by_arpack(matrix: Any, rank: int) -> tuple[Any, Any]:
    """The reference, sorted by falling singular value."""
    start = np.random.default_rng(0).standard_normal(min(matrix.shape)).astype(matrix.dtype)
    left, values, _ = svds(matrix, rank, solver="arpack", v0=start)
    order = np.argsort(-values)
    return left[:, order], values[order]


def by_sklearn(matrix: Any, rank: int, n_iter: int | str = "auto") -> tuple[Any, Any]:
    """scikit-learn's randomised subspace iteration, as it comes unless n_iter is given."""
    left, values, _ = randomized_svd(matrix, rank, n_iter=n_iter, random_state=0)
    return left, values


def by_eigentext(matrix: Any, rank: int, **settings: Any) -> tuple[Any, Any]:
    """Ours: all three factors are made, as in the others."""
    result = truncated_svd(matrix, rank, method="krylov", dtype=np.float32, **settings)
    return result.U, result.S


def timed(function: Callable[[], tuple[Any, Any]]) -> tuple[float, Any, Any]:
    """CPU seconds, left vectors and singular values."""
    with single_threaded():
        started = time.process_time()
        left, values = function()
        return time.process_time() - started, left, values


def agreement(left: Any, reference: Any, values: Any) -> tuple[float, float]:
    """Plain and weighted overlap of two left subspaces."""
    found = np.square(reference.T.astype(np.float32) @ left.astype(np.float32)).sum(axis=1)
    weights = np.square(values) - np.square(values[-1])
    return float(found.mean()), float((found * weights).sum() / weights.sum())


def on_cores(matrix: Any, rank: int, numbers: list[int]) -> None:
    """Ours on some numbers of cores: seconds, how many times as fast, and the same bytes."""
    print(f"{'rank':>4}{'cores':>7}{'wall s':>9}{'CPU s':>9}{'times':>7}  sha256 of U", flush=True)
    first = 0.0
    for cores in numbers:
        with using_cores(cores):
            started, spent = time.perf_counter(), time.process_time()
            left, _ = by_eigentext(matrix, rank, overlap=0.99)
            wall, spent = time.perf_counter() - started, time.process_time() - spent
        first = first or wall
        name = hashlib.sha256(left.tobytes()).hexdigest()[:16]
        print(
            f"{rank:>4}{cores:>7}{wall:>9.2f}{spent:>9.2f}{first / wall:>7.2f}  {name}", flush=True
        )


def main() -> None:
    """Build the matrix, run all methods at each rank, print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", help="one sentence a line, tokens by spaces; otherwise wiki")
    parser.add_argument("--ranks", type=int, nargs="+", default=[200, 500, 1000])
    parser.add_argument("--vocab-size", type=int, default=50_000)
    parser.add_argument("--kappa", type=float, default=200.0)
    parser.add_argument(
        "--no-double", action="store_true", help="svds in float32 alone, to save time"
    )
    parser.add_argument("--no-sklearn", action="store_true", help="leave randomized_svd out")
    parser.add_argument("--cores", type=int, nargs="+", help="ours alone, on so many cores")
    arguments = parser.parse_args()
    text = arguments.text or str(data() / "text" / "wiki.txt.xz")

    omega = word_by_context(text, arguments.vocab_size, arguments.kappa)
    narrow = omega.astype(np.float32)
    print(f"{omega.shape[0]:,} x {omega.shape[1]:,}, {omega.nnz:,} nonzeros", flush=True)
    by_eigentext(narrow[:200], 20)  # compiled code is loaded
    if arguments.cores:
        for rank in arguments.ranks:
            on_cores(narrow, rank, arguments.cores)
        return

    ours: dict[str, dict[str, Any]] = {
        "eigentext overlap=0.99": {"overlap": 0.99},
        "eigentext (default tol)": {},
    }
    titles = f"{'CPU s':>8}{'/ double':>9}{'/ single':>9}{'overlap':>10}{'weighted':>10}"
    print(f"{'rank':>4}  {'method':<28}{titles}")
    for rank in arguments.ranks:
        # each method: a list of seconds, and the left vectors of the last run
        runs: dict[str, tuple[list[float], Any]] = {}

        def run(name: str, function: Callable[[], tuple[Any, Any]], runs: Any = runs) -> Any:
            seconds, left, values = timed(function)
            runs[name] = ([*runs.get(name, ([], None))[0], seconds], left)
            return left, values

        for name, settings in ours.items():
            run(name, partial(by_eigentext, narrow, rank, **settings))
        matrices = {"scipy svds": omega, "scipy svds float32": narrow}
        peers = [name for name in PEERS if not (arguments.no_double and name == PEERS[0])]
        results = [run(name, partial(by_arpack, matrices[name], rank)) for name in peers]
        reference, values = results[0]
        for name, settings in ours.items():
            run(name, partial(by_eigentext, narrow, rank, **settings))
        if not arguments.no_sklearn:
            run("sklearn randomized_svd", partial(by_sklearn, narrow, rank))
        double, single = (
            float(np.mean(runs[name][0])) if name in runs else np.nan for name in PEERS
        )
        for name, (seconds, left) in runs.items():
            plain, weighted = agreement(left, reference, values)
            mean = float(np.mean(seconds))
            print(
                f"{rank:>4}  {name:<28}{mean:>8.1f}{double / mean:>9.1f}{single / mean:>9.1f}"
                f"{plain:>10.4f}{weighted:>10.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
