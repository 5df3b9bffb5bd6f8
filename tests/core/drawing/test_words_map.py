"""The map of words and the plot of singular values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.drawing.words_map import decay_plot, map_points, plane, word_map
from eigentext.errors import SettingsError


@given(st.integers(0, 1000), st.integers(3, 30), st.integers(2, 9))
def test_the_plane_is_that_of_the_svd(seed: int, n: int, d: int) -> None:
    vectors = np.random.default_rng(seed).standard_normal((n, d)) * np.linspace(3, 1, d)
    points = plane(vectors)
    U, S, _ = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
    expected = (U * S)[:, :2]
    for axis in range(2):  # up to the sign, which is fixed otherwise
        sign = np.sign(points[:, axis] @ expected[:, axis])
        np.testing.assert_allclose(points[:, axis], sign * expected[:, axis], atol=1e-7)
    np.testing.assert_array_equal(plane(vectors), points)
    np.testing.assert_allclose(plane(vectors + 5), points, atol=1e-9)


def test_the_plane_keeps_distances_of_flat_vectors() -> None:
    rng = np.random.default_rng(1)
    flat = rng.standard_normal((20, 2))
    turn, _ = np.linalg.qr(rng.standard_normal((7, 7)))
    points = plane(flat @ turn[:2])

    def distances(x: np.ndarray) -> np.ndarray:
        return np.linalg.norm(x[:, None] - x[None], axis=2)

    np.testing.assert_allclose(distances(points), distances(flat), atol=1e-9)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (4, 1), (2, 2), (3, 0)])
def test_the_plane_of_little(shape: tuple[int, int]) -> None:
    points = plane(np.ones(shape))
    assert points.shape == (shape[0], 2)
    assert np.isfinite(points).all()


def test_what_is_on_the_map() -> None:
    words = ["the", ",", "<unk>", "cat", "1984", "الولد", "naïve", "zebra"]
    vectors = np.random.default_rng(0).standard_normal((8, 5))
    assert map_points(words, vectors).words == ["the", "cat", "الولد", "naïve", "zebra"]
    placed = map_points(words, vectors, n_words=2, paths={"cat": "0110", "naïve": "11", ",": "0"})
    assert placed.words == ["cat", "naïve"]
    assert placed.groups == [0, 1]
    vectors[3] = np.nan
    assert "cat" not in map_points(words, vectors).words
    with pytest.raises(SettingsError, match="no word to put on the map"):
        map_points(words, vectors, paths={})
    with pytest.raises(SettingsError, match="expected at least 1"):
        map_points(words, vectors, n_words=0)


def test_far_words_do_not_squeeze_the_others_and_order_stays() -> None:
    vectors = np.zeros((21, 3))
    vectors[:, 0] = np.arange(21)
    vectors[20, 0] = 10_000.0
    placed = map_points([f"w{chr(97 + k)}" for k in range(21)], vectors)
    along = placed.points[:, 0]
    assert (np.diff(along) > 0).all() or (np.diff(along) < 0).all()
    assert np.ptp(along[:20]) > 0.001 * np.ptp(along) * 20 / 10


def test_drawings_are_the_same_every_time() -> None:
    vectors = np.random.default_rng(0).standard_normal((30, 5))
    words = [f"w{chr(97 + k % 26)}{k}" for k in range(30)]
    one, other = (word_map(map_points(words, vectors)) for _ in range(2))
    assert one.svg() == other.svg() == one._repr_svg_()
    assert one.png() == other.png() == other.as_file("map.PNG")
    assert one.png().startswith(b"\x89PNG")
    assert decay_plot([3, 2, 1]).as_file("decay.svg").startswith(b"<svg")


@pytest.mark.parametrize("values", [[1.0], [1.0, 0.0], [1.0, 1e-9], [0.5, 0.5], [1.0, 0.9, 0.2]])
def test_singular_values_of_every_kind(values: list[float]) -> None:
    svg = decay_plot(values, title="Decay <b>").svg()
    assert svg.startswith("<svg ")
    assert "Decay &lt;b&gt;" in svg
