"""The same answer every time: one BLAS thread in a fit, and seeded random blocks.

How many threads a BLAS uses changes the order of its sums, and so the last digits of a fit.
Every fit therefore runs inside :func:`single_threaded`; parallel work is done by our own threads
and processes over fixed row blocks (:mod:`eigentext.base.cores`).
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eigentext.base.types import Numbers

_thread = threading.local()


class _Held:
    """The limit of BLAS in this process: how many fits hold it, and what gives it back."""

    lock = threading.Lock()
    holders = 0
    limits: Any = None
    libraries: Any = None
    n_modules = 0


def _libraries() -> Any:
    """The libraries with threads: looking takes milliseconds, and new ones come by imports."""
    from threadpoolctl import ThreadpoolController

    if _Held.n_modules != len(sys.modules):
        _Held.n_modules, _Held.libraries = len(sys.modules), ThreadpoolController()
    return _Held.libraries


@contextmanager
def single_threaded() -> Iterator[None]:
    """Hold BLAS and OpenMP to one thread; the former limits come back when the last fit leaves.

    The limit of BLAS is the process's, so several threads hold it together; that of OpenMP is each
    thread's own.  Inside another one it costs nothing.

    >>> with single_threaded():
    ...     float(np.ones(3) @ np.ones(3))
    3.0
    """
    # scipy has a BLAS of its own, which can be held only once it is there
    import scipy.linalg  # noqa: F401

    if getattr(_thread, "holds", False):
        yield
        return
    with _Held.lock:
        if _Held.holders == 0:
            _Held.limits = _libraries().limit(limits=1, user_api="blas")
        _Held.holders += 1
        libraries = _libraries()
    try:
        with libraries.limit(limits=1, user_api="openmp"):
            _thread.holds = True
            yield
    finally:
        _thread.holds = False
        with _Held.lock:
            _Held.holders -= 1
            if _Held.holders == 0:
                _Held.limits.restore_original_limits()
                _Held.limits = None


def random_block(
    n_rows: int, n_columns: int, *, seed: int, stream: int = 0, dtype: Any = np.float64
) -> Numbers:
    """Standard normal numbers that depend on ``seed`` and ``stream`` alone.

    >>> bool(np.all(random_block(2, 3, seed=1) == random_block(2, 3, seed=1)))
    True
    >>> bool(np.any(random_block(2, 3, seed=1) == random_block(2, 3, seed=1, stream=1)))
    False
    """
    if seed < 0:
        raise SettingsError(f"seed is {seed}, but a seed is a non-negative integer")
    rng = np.random.default_rng([seed, stream])
    return rng.standard_normal((n_rows, n_columns), dtype=np.dtype(dtype).type)
