from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  it has a BLAS of its own, which must be there before it is counted
from threadpoolctl import threadpool_info, threadpool_limits

from eigentext.errors import SettingsError
from eigentext.linalg.ties import random_block, single_threaded


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_one_thread_inside_and_the_former_number_after():
    with threadpool_limits(limits=2):
        before = blas_threads()
        assert before, "numpy came without a BLAS that threadpoolctl knows"
        with single_threaded():
            assert set(blas_threads()) == {1}
            with single_threaded():
                assert set(blas_threads()) == {1}
            assert set(blas_threads()) == {1}
        assert blas_threads() == before


def test_limits_come_back_after_an_error():
    before = blas_threads()
    with pytest.raises(KeyError), single_threaded():
        raise KeyError
    assert blas_threads() == before


def test_random_block_depends_on_seed_and_stream_alone():
    block = random_block(4, 3, seed=2, stream=5, dtype=np.float32)
    assert block.dtype == np.float32
    np.testing.assert_array_equal(block, random_block(4, 3, seed=2, stream=5, dtype=np.float32))
    assert (block != random_block(4, 3, seed=3, stream=5, dtype=np.float32)).all()
    with pytest.raises(SettingsError, match="seed"):
        random_block(1, 1, seed=-1)
