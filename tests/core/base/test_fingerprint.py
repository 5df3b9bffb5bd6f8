"""What differs in anything has another fingerprint; what is the same has the same one."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from eigentext.base.hashing import fingerprint

DIFFERENT: list[Any] = [
    np.zeros(2, np.int32),
    np.zeros(2, np.float32),
    np.zeros(1, np.int64),
    np.zeros((2, 1), np.int32),
    np.zeros((1, 2), np.int32),
    np.array([0, 1], np.int32),
    [0, 0],
    [0.0, 0.0],
    [False, False],
    [0, [0]],
    [[0], 0],
    [[0, 0]],
    [],
    [[]],
    "",
    b"",
    None,
    "None",
    [None],
    "ab",
    ["ab"],
    ["a", "b"],
    [["a", "b"]],
    [["a"], ["b"]],
    [["a"], "b"],
    {},
    {"a": "b"},
    {"b": "a"},
    {"a": {"b": 1}},
    {"a": "b", "b": 1},
    [{"a": 1}, "b", 2],
    [{"a": 1, "b": 2}],
    [{"a": 1}, {"b": 2}],
    0.1,
    np.nextafter(0.1, 1),
    np.arange(2000),
    np.where(np.arange(2000) == 1000, -1, np.arange(2000)),  # the same to `repr`
]


def test_what_differs_has_another_one() -> None:
    keys = list(map(fingerprint, DIFFERENT))
    for (one, a), (other, b) in combinations(zip(DIFFERENT, keys, strict=True), 2):
        assert a != b, (one, other)
    assert fingerprint(1, 2) != fingerprint(2, 1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": [2]}, {"b": [2], "a": 1}),
        (["a", 1], ("a", 1)),
        (np.float64(0.5), 0.5),
        (np.arange(12).reshape(3, 4)[:, ::2], np.array([[0, 2], [4, 6], [8, 10]])),
    ],
)
def test_what_is_the_same_has_the_same_one(one: Any, other: Any) -> None:
    assert fingerprint(one) == fingerprint(other)
