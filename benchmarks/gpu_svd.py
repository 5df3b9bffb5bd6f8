"""Truncated SVD of large sparse matrices on a graphics card: eigentext, CuPy and scipy.

    python benchmarks/gpu_svd.py --quick        correctness, and the smaller matrix
    python benchmarks/gpu_svd.py                both matrices
    python benchmarks/gpu_svd.py --products     kernels of the sparse product side by side

Needs numpy, scipy and CuPy (or torch, for ours alone), and ``PYTHONPATH=src``.

The matrices are made on the card and look like scaled counts of text: rows and columns are drawn
by Zipf's law, and a row's classes (of 4 to 4,096 classes) prefer columns of their own, so that
singular values fall as slowly as those of words by contexts do.

(a) 50,000 x 200,000 with 10 million nonzeros at rank 1,000
(b) 1,000,000 x 4,000,000 with 200 million nonzeros at rank 500

``s``        seconds until the factors are on the card, after one run to warm up, synchronised
``host s``   seconds more until they are numpy's
``overlap``  mean squared cosine with the left subspace of a run that goes on much longer
``GB``       bytes that the sparse products gather, and their share of the card's bandwidth
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.accel.devices import CupyBackend, TorchBackend
from eigentext.linalg.backend import backend_for
from eigentext.linalg.svd import truncated_svd

if TYPE_CHECKING:
    from collections.abc import Callable

CLASSES = (4, 16, 64, 256, 1024, 4096)
ROWS: list[str] = []  # of the table that is printed last


def text_like(xp: Any, m: int, n: int, nonzeros: int, kappa: float = 200.0, seed: int = 0) -> Any:
    """(m, n) in CSR: indptr, indices, values of ``c_ij / sqrt((u_i + kappa) (v_j + kappa))``."""
    classes = [1, *(c for c in CLASSES if 4 * c <= n)]
    xp.random.seed(seed)
    keys, counts = xp.zeros(0, dtype=xp.int64), xp.zeros(0, dtype=xp.int64)
    while keys.shape[0] < nonzeros:
        size = min(max(2 * (nonzeros - keys.shape[0]), nonzeros // 8), 100_000_000)
        # 1 / rank: the logarithm of the rank is even
        i = xp.minimum(xp.exp(np.log(m) * xp.random.rand(size)).astype(xp.int64), m) - 1
        # with no class a column by chance; with some, one of the columns that the row's class has
        level = xp.random.randint(-1, len(classes), size)
        n_classes = xp.asarray(classes, dtype=xp.int64)[xp.maximum(level, 0)]
        own = (i * 2654435761 % 4294967291) % n_classes
        room = (n // n_classes).astype(xp.float64)
        z = xp.minimum(xp.exp(xp.log(room) * xp.random.rand(size)), room).astype(xp.int64) - 1
        drawn, times = xp.unique(i * n + (z * n_classes + own), return_counts=True)
        del i, level, n_classes, own, room, z
        both, order = xp.unique(xp.concatenate([keys, drawn]), return_inverse=True)
        weights = xp.concatenate([counts, times]).astype(xp.float64)
        counts = xp.bincount(order.ravel(), weights=weights).astype(xp.int64)
        keys = both
        del both, order, drawn, times
    if keys.shape[0] > nonzeros:  # some of all, evenly
        kept = (xp.arange(nonzeros) * (keys.shape[0] / nonzeros)).astype(xp.int64)
        keys, counts = keys[kept], counts[kept]
    rows, columns = keys // n, (keys % n).astype(xp.int32)
    by_row = xp.bincount(rows, weights=counts.astype(xp.float64), minlength=m)
    by_column = xp.bincount(columns, weights=counts.astype(xp.float64), minlength=n)
    values = counts / xp.sqrt((by_row[rows] + kappa) * (by_column[columns] + kappa))
    indptr = xp.zeros(m + 1, dtype=xp.int64)
    indptr[1:] = xp.cumsum(xp.bincount(rows, minlength=m))
    return indptr, columns, values.astype(xp.float32)


def tried(name: str, function: Callable[[], Any]) -> Any:
    """The result, or None and the traceback in print: one failure does not end the run."""
    try:
        return function()
    except Exception:
        print(f"FAILED: {name}", flush=True)
        traceback.print_exc(file=sys.stdout)
        ROWS.append(f"{name:<44} FAILED")
        return None


def timed(cupy: Any, function: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds with the card's work done, and the result."""
    cupy.cuda.Device().synchronize()
    started = time.perf_counter()
    result = function()
    cupy.cuda.Device().synchronize()
    return time.perf_counter() - started, result


def overlap_with(reference: Any, left: Any) -> float:
    """Mean squared cosine of two subspaces, on whatever device they are."""
    cosines = reference.T @ left
    return float((cosines * cosines).sum()) / left.shape[1]


def bandwidth(cupy: Any) -> float:
    """Bytes a second that a copy on this card reads and writes."""
    source = cupy.zeros(1 << 30, dtype=cupy.float32)
    target = cupy.empty_like(source)
    cupy.copyto(target, source)
    seconds, _ = timed(cupy, lambda: [cupy.copyto(target, source) for _ in range(5)])
    return 5 * 2 * source.nbytes / seconds


def gathered(nonzeros: int, products: int, itemsize: int = 4) -> float:
    """Bytes that products with ``A'`` and ``A`` gather: a row of the block for each nonzero."""
    return 2.0 * nonzeros * products * itemsize


def check() -> None:
    """The card's answers against the processor's, on small matrices of awkward shapes."""
    import scipy.sparse as sp

    backend = backend_for("cuda")
    print(f"backend {type(backend).__name__}", flush=True)
    rng = np.random.default_rng(0)
    for m, n, density in ((300, 5000, 0.2), (5000, 300, 0.2), (2000, 2000, 0.01), (1, 40, 0.9)):
        matrix = sp.random(m, n, density, format="csr", random_state=1)
        for dtype in (np.float32, np.float64):
            one = matrix.astype(dtype)
            forward, backward = backend.sparse(one)
            for width in (1, 3, 4, 17, 32, 64, 65, 128, 130, 256):
                for product, plain in ((forward, one), (backward, one.T)):
                    x = rng.standard_normal((plain.shape[1], width)).astype(dtype)
                    y = backend.to_host(product(backend.asarray(x)))
                    error = np.abs(y - plain @ x).max() / max(np.abs(plain @ x).max(), 1e-9)
                    if not error < (1e-4 if dtype == np.float32 else 1e-12):
                        print(f"WRONG {plain.shape} {np.dtype(dtype)} width {width}: {error:.1e}")
    indptr, indices, values = text_like(np, 3000, 9000, 300_000)
    matrix = sp.csr_array((values, indices, indptr), shape=(3000, 9000))
    for dtype in (np.float32, np.float64):
        ours = truncated_svd(matrix, 40, method="krylov", dtype=dtype, device="cuda")
        host = truncated_svd(matrix, 40, method="krylov", dtype=dtype, device="cpu")
        again = truncated_svd(matrix, 40, method="krylov", dtype=dtype, device="cuda")
        print(
            f"check {np.dtype(dtype)}: values differ by {np.abs(ours.S - host.S).max():.1e}, "
            f"overlap {overlap_with(host.U, ours.U):.6f}, same bytes twice: "
            f"{bool((ours.U == again.U).all())}; {ours.report}",
            flush=True,
        )


def products(cupy: Any, matrix: Any, name: str, peak: float) -> None:
    """Our kernel beside cuSPARSE, by the width of the dense block."""
    backend = CupyBackend()
    forward, backward = backend.sparse(matrix)
    transpose = matrix.T.tocsr()
    for width in (32, 64, 128, 256):
        x = cupy.random.standard_normal((matrix.shape[0], width), dtype=cupy.float32)
        bytes_moved = gathered(matrix.nnz, width)

        def both(x: Any = x) -> Any:
            return forward(backward(x))

        def line(label: str, function: Any, moved: float = bytes_moved, w: int = width) -> None:
            timed(cupy, function)
            seconds = min(timed(cupy, function)[0] for _ in range(3))
            share = moved / seconds / peak
            print(
                f"  {name} A A' x, {w:>3} columns, {label:<16} {1e3 * seconds:8.2f} ms, "
                f"{moved / 1e9:6.1f} GB gathered, {share:5.2f} of the bandwidth",
                flush=True,
            )

        tried("ours", lambda: line("ours", both))
        for columns in (x, cupy.asfortranarray(x)) if width == 64 else ():
            order = "row" if columns.flags.c_contiguous else "column"
            tried(
                "cusparse",
                lambda c=columns, o=order: line(
                    f"cuSPARSE {o}s", lambda: matrix @ (transpose @ c)
                ),
            )


def subspace_iteration(cupy: Any, matrix: Any, transpose: Any, rank: int, turns: int) -> Any:
    """The plain method by CuPy: multiply, and make orthonormal by Cholesky."""
    size = rank + max(rank // 10, 16)
    x = cupy.random.standard_normal((matrix.shape[0], size), dtype=cupy.float32)
    for _ in range(turns):
        for _ in range(2):
            factor = cupy.linalg.cholesky((x.T @ x).astype(cupy.float64))
            x = x @ cupy.linalg.inv(factor).T.astype(cupy.float32)
        x = matrix @ (transpose @ x)
    for _ in range(2):
        factor = cupy.linalg.cholesky((x.T @ x).astype(cupy.float64))
        x = x @ cupy.linalg.inv(factor).T.astype(cupy.float32)
    W = transpose @ x
    _, turn = cupy.linalg.eigh((W.T @ W).astype(cupy.float64))
    return x @ turn[:, ::-1][:, :rank].astype(cupy.float32)


def race(cupy: Any, name: str, m: int, n: int, nonzeros: int, rank: int, options: Any) -> None:
    """One matrix: the reference, ours with blocks of several widths, and the peers."""
    from cupyx.scipy import sparse

    seconds, arrays = timed(cupy, lambda: text_like(cupy, m, n, nonzeros))
    indptr, indices, values = arrays
    matrix = sparse.csr_matrix((values, indices, indptr.astype(cupy.int32)), shape=(m, n))
    print(f"{name}: {m:,} x {n:,}, {matrix.nnz:,} nonzeros, made in {seconds:.1f} s", flush=True)
    cupy.get_default_memory_pool().free_all_blocks()
    peak = options.bandwidth
    if options.products:
        tried("products", lambda: products(cupy, matrix, name, peak))

    def ours(**settings: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return truncated_svd(
                matrix, rank, method="krylov", dtype=np.float32, to_host=False, **settings
            )

    spent, exact = timed(cupy, lambda: ours(overlap=0.999999, block=128, max_iter=options.longest))
    reference, values = exact.U, exact.S
    print(f"  reference in {spent:.1f} s: {exact.report}, overlap {exact.report.overlap:.6f}")
    places = [k for k in (1, 2, 10, 30, 100, 200, 500, 1000) if k <= rank]
    print("  spectrum " + " ".join(f"s_{k} {values[k - 1]:.3f}" for k in places), flush=True)
    del exact

    def row(label: str, seconds: float, left: Any, moved: float, more: str = "") -> None:
        share = f"{moved / 1e9:7.0f} GB {moved / seconds / peak:5.2f}" if moved else ""
        ROWS.append(
            f"{name} {label:<42} {seconds:7.2f} s  overlap "
            f"{overlap_with(reference, left):.4f} {share} {more}"
        )
        print(ROWS[-1], flush=True)

    def one(label: str, **settings: Any) -> None:
        ours(**settings)  # warm
        seconds, result = timed(cupy, lambda: ours(**settings))
        moved = gathered(nonzeros, result.report.products + rank)
        host, _ = timed(cupy, lambda: (cupy.asnumpy(result.U), cupy.asnumpy(result.Vt.T)))
        row(
            label,
            seconds,
            result.U,
            moved,
            f"basis {result.report.basis_size}, estimated {result.report.overlap:.4f}, "
            f"host s {host:.2f}",
        )
        if options.profile:
            where(cupy, lambda: ours(**settings))

    for block in options.blocks:
        tried(f"{name} ours", lambda b=block: one(f"ours, blocks of {b}", overlap=0.99, block=b))
    if not options.no_peers:
        transpose = matrix.T.tocsr()

        def plain() -> None:
            subspace_iteration(cupy, matrix, transpose, rank, 1)
            seconds, left = timed(
                cupy, lambda: subspace_iteration(cupy, matrix, transpose, rank, 12)
            )
            row("CuPy, 12 subspace iterations", seconds, left, gathered(nonzeros, 13 * rank))

        tried(f"{name} subspace iteration", plain)
    if options.svds:
        from cupyx.scipy.sparse.linalg import svds

        def by_svds() -> None:
            seconds, (left, _, _) = timed(cupy, lambda: svds(matrix, rank))
            row("cupyx svds", seconds, left, 0.0)

        tried(f"{name} cupyx svds", by_svds)


def where(cupy: Any, function: Callable[[], Any]) -> None:
    """Seconds by method of the backend, each synchronised: where the time goes."""
    spent: dict[str, list[float]] = {}
    held: list[tuple[Any, str, Any]] = []

    def watch(owner: Any, method: str) -> None:
        plain = getattr(owner, method)
        held.append((owner, method, plain))

        def watched(*arguments: Any, **named: Any) -> Any:
            seconds, result = timed(cupy, lambda: plain(*arguments, **named))
            spent.setdefault(f"{owner.__name__}.{method}", []).append(seconds)
            return result

        setattr(owner, method, watched)

    from eigentext.accel import rows
    from eigentext.linalg import krylov

    for method in (
        "inner",
        "times",
        "subtract",
        "put",
        "row_order",
        "gram",
        "leading_eigh",
        "leading_entries",
        "scale_columns",
        "sum_of_squares",
        "to_host",
        "asarray",
        "sparse",
    ):
        watch(CupyBackend, method)
    watch(rows.CardRows, "times")
    watch(krylov, "random_block")
    watch(np.linalg, "eigh")
    try:
        total, _ = timed(cupy, function)
    finally:
        for owner, method, plain in reversed(held):
            setattr(owner, method, plain)
    parts = sorted(((sum(s), len(s), k) for k, s in spent.items()), reverse=True)
    print(
        f"  synchronised {total:.2f} s: " + ", ".join(f"{k} {s:.3f} ({c})" for s, c, k in parts),
        flush=True,
    )


def small_peers(cupy: Any) -> None:
    """scipy's svds on the processor and CuPy's on the card, on a matrix that they can do."""
    import scipy.sparse as sp
    from cupyx.scipy import sparse
    from cupyx.scipy.sparse.linalg import svds as card_svds
    from scipy.sparse.linalg import svds

    m, n, rank = 10_000, 30_000, 100
    arrays = text_like(cupy, m, n, 1_000_000)
    matrix = sparse.csr_matrix((arrays[2], arrays[1], arrays[0].astype(cupy.int32)), shape=(m, n))
    plain = sp.csr_array(matrix.get())
    started = time.perf_counter()
    left, values, _ = svds(plain.astype(np.float64), rank)
    seconds = time.perf_counter() - started
    reference, values = left[:, ::-1], values[::-1]

    def row(label: str, seconds: float, left: Any, found: Any) -> None:
        worst = np.abs(np.sort(np.asarray(found))[::-1] / values - 1).max()
        ROWS.append(
            f"small {label:<38} {seconds:7.2f} s  overlap "
            f"{overlap_with(reference, np.asarray(left)):.4f}, values off by {worst:.1e}"
        )
        print(ROWS[-1], flush=True)

    row("scipy svds, float64", seconds, left, values)
    for label, settings in (("ours, default tol", {}), ("ours, overlap 0.99", {"overlap": 0.99})):

        def ours(settings: Any = settings) -> Any:
            return truncated_svd(matrix, rank, method="krylov", dtype=np.float32, **settings)

        tried(label, ours)
        spent, result = timed(cupy, ours)
        row(label, spent, result.U, result.S)

    def theirs() -> None:
        spent, (left, found, _) = timed(cupy, lambda: card_svds(matrix, rank))
        row("cupyx svds, float32", spent, cupy.asnumpy(left), cupy.asnumpy(found))

    tried("cupyx svds", theirs)


def by_torch() -> None:
    """Ours by torch on the card, on the matrix of the small peers."""
    import scipy.sparse as sp
    import torch

    indptr, indices, values = text_like(np, 10_000, 30_000, 1_000_000)
    matrix = sp.csr_array((values, indices, indptr), shape=(10_000, 30_000))
    backend = TorchBackend("cuda")
    host = truncated_svd(matrix, 100, method="krylov", dtype=np.float32)
    for _ in range(2):
        torch.cuda.synchronize()
        started = time.perf_counter()
        ours = truncated_svd(matrix, 100, method="krylov", dtype=np.float32, device=backend)
        seconds = time.perf_counter() - started
    ROWS.append(
        f"small ours by torch, default tol {'':<14} {seconds:7.2f} s  overlap with the "
        f"processor's {overlap_with(host.U, ours.U):.6f}"
    )
    print(ROWS[-1], flush=True)


def main() -> None:
    """Check first, then race; the table is printed last."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave the larger matrix out")
    parser.add_argument("--only-large", action="store_true", help="leave all but the larger out")
    parser.add_argument("--products", action="store_true", help="time the sparse products")
    parser.add_argument("--profile", action="store_true", help="say where ours spends its time")
    parser.add_argument("--svds", action="store_true", help="cupyx svds on the large ones too")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--blocks", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--longest", type=int, default=8, help="products of the reference / rank")
    options = parser.parse_args()
    started = time.perf_counter()
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    options.bandwidth = bandwidth(cupy)
    print(
        f"{properties['name'].decode()}, CuPy {cupy.__version__}, a copy moves "
        f"{options.bandwidth / 1e12:.2f} TB/s",
        flush=True,
    )
    cupy.get_default_memory_pool().free_all_blocks()
    if not options.only_large:
        tried("check", check)
        print(f"[{time.perf_counter() - started:.0f} s]", flush=True)
        tried("(a)", lambda: race(cupy, "(a)", 50_000, 200_000, 10_000_000, 1000, options))
        cupy.get_default_memory_pool().free_all_blocks()
        print(f"[{time.perf_counter() - started:.0f} s]", flush=True)
        if not options.no_peers:
            tried("small peers", lambda: small_peers(cupy))
            tried("torch", by_torch)
            print(f"[{time.perf_counter() - started:.0f} s]", flush=True)
    if not options.quick:
        tried("(b)", lambda: race(cupy, "(b)", 1_000_000, 4_000_000, 200_000_000, 500, options))
        print(f"[{time.perf_counter() - started:.0f} s]", flush=True)
    print("\n".join(["", *ROWS]))


if __name__ == "__main__":
    main()
