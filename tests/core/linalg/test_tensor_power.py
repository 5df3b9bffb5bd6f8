"""The tensor power method: planted pairs come back, and with noise nearly so."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.errors import RankError, SettingsError
from eigentext.linalg.tensors import symmetric_part, tensor_power


def planted(seed, k, values=None):
    rng = np.random.default_rng(seed)
    V = np.linalg.qr(rng.standard_normal((k, k)))[0]
    values = np.sort(rng.uniform(1, 4, k))[::-1] if values is None else np.asarray(values)
    return values, V, np.einsum("i,ai,bi,ci->abc", values, V, V, V, optimize=True)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12))
def test_planted_pairs_come_back(seed, k):
    values, V, T = planted(seed, k)
    found = tensor_power(T)
    np.testing.assert_allclose(found.values, values, atol=1e-9)
    np.testing.assert_allclose(found.vectors, V, atol=1e-8)  # with their signs
    assert found.residual < 1e-10
    assert (np.diff(found.left) < 1e-9).all()  # each takes something off
    assert found.left[-1] < 1e-9


def test_equal_values_and_fewer_pairs():
    _, V, T = planted(3, 5, [2.0, 2.0, 2.0, 1.0, 1.0])
    found = tensor_power(T)
    near = np.abs(V.T @ found.vectors)
    np.testing.assert_allclose(np.sort(near.max(axis=0)), 1, atol=1e-9)
    assert sorted(near.argmax(axis=0)) == list(range(5))
    three = tensor_power(T, 3)
    np.testing.assert_allclose(three.values, 2, atol=1e-9)
    assert three.residual == pytest.approx((2 / 14) ** 0.5, abs=1e-9)  # what the other two weigh


def test_noise_moves_pairs_by_as_much():
    values, V, T = planted(4, 8)
    noise = symmetric_part(np.random.default_rng(0).standard_normal((8, 8, 8)))
    for size in (1e-3, 1e-2):
        found = tensor_power(T + size * noise)
        near = np.abs(V.T @ found.vectors)
        assert np.abs(np.sort(found.values) - np.sort(values)).max() < 8 * size
        assert (1 - near.max(axis=0)).max() < 50 * size**2 + 1e-9
        assert 0 < found.residual < 10 * size


def test_what_is_left_is_told():
    _, _, T = planted(8, 2, [3.0, 2.0])
    found = tensor_power(T)
    np.testing.assert_allclose(found.left, [2 / 13**0.5, 0], atol=1e-9)  # |T| is 13 to the half
    _, _, T = planted(8, 6)
    noisy = T + 0.3 * symmetric_part(np.random.default_rng(1).standard_normal((6, 6, 6)))
    found = tensor_power(noisy)
    rest = noisy - np.einsum("i,ai,bi,ci->abc", found.values, *[found.vectors] * 3)
    share = np.linalg.norm(rest) / np.linalg.norm(noisy)
    assert found.residual == pytest.approx(share, abs=1e-12)
    assert 0.01 < found.residual <= found.left[-1] + 1e-9


def test_the_same_answer_every_time():
    _, _, T = planted(5, 9)
    one, two = tensor_power(T), tensor_power(T)
    assert (one.vectors == two.vectors).all()
    other = tensor_power(T, seed=7)
    np.testing.assert_allclose(one.vectors, other.vectors, atol=1e-9)


def test_symmetric_part_is_the_mean_over_orders():
    T = np.random.default_rng(6).standard_normal((3, 3, 3))
    orders = [T.transpose(order) for order in permutations(range(3))]
    np.testing.assert_allclose(symmetric_part(T), np.mean(orders, axis=0), atol=1e-15)


def test_what_is_no_such_tensor_is_refused():
    with pytest.raises(RankError):
        tensor_power(np.zeros((2, 2, 2)))
    one = np.zeros((3, 3, 3))
    one[0, 0, 0] = 1.0
    with pytest.raises(RankError, match="third moment"):
        tensor_power(one, 2)
    assert tensor_power(one, 1).vectors.ravel().tolist() == [1, 0, 0]
    with pytest.raises(SettingsError, match="rank 4"):
        tensor_power(one, 4)
    with pytest.raises(ValueError, match="three equal axes"):
        tensor_power(np.zeros((2, 2, 3)))
