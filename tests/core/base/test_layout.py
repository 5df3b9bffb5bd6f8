"""The layout of safetensors that we write ourselves is the library's, and maps are the arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from safetensors.numpy import save

from eigentext.base import layout
from eigentext.base.layout import extremes, lay_out, map_arrays, pieces

TYPES = [
    *("bool", "float16", "float32", "float64"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
]
any_array = st.sampled_from(TYPES).flatmap(
    lambda kind: arrays(kind, array_shapes(min_dims=0, min_side=0, max_side=3))
)
names = st.text("abz/_.0", min_size=1, max_size=4)


@given(st.dictionaries(names, any_array, max_size=6), st.text(max_size=8))
def test_bytes_are_those_of_the_library(content, text):
    head, ordered = lay_out(content, {"eigentext": text})
    ours = b"".join([head, *(bytes(piece) for array in ordered for piece in pieces(array))])
    assert ours == save(content, metadata={"eigentext": text})


@pytest.fixture
def in_small_pieces(monkeypatch):
    monkeypatch.setattr(layout, "_PIECE", 64)
    monkeypatch.setattr(layout, "_SMALL", 100)


def test_a_map_has_the_same_numbers_and_bytes(tmp_path, in_small_pieces):
    import json

    content = {"large": np.arange(100) - 50, "small": np.eye(2), "none": np.zeros((0, 2))}
    raw = save(content)
    (tmp_path / "file").write_bytes(raw)
    begin = 8 + int.from_bytes(raw[:8], "little")
    table = json.loads(raw[8:begin])
    back = map_arrays(str(tmp_path / "file"), table, begin)
    assert isinstance(back["large"], np.memmap)
    assert not isinstance(back["small"], np.memmap)
    for name, array in content.items():
        np.testing.assert_array_equal(back[name], array)
        assert b"".join(bytes(piece) for piece in pieces(back[name])) == array.tobytes()
    assert extremes(back["large"]) == (-50, 49)
    table["large"]["shape"] = [99]
    with pytest.raises(ValueError, match="'large'"):
        map_arrays(str(tmp_path / "file"), table, begin)


def test_a_number_that_is_none_is_seen_in_any_piece(tmp_path, in_small_pieces):
    numbers = np.memmap(tmp_path / "file", np.float64, "w+", shape=(50,))
    numbers[40] = np.nan
    assert np.isnan(extremes(numbers)).all()
