"""Folds cover everything once, as stretches."""

from __future__ import annotations

from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.base.folds import dealt, held_out
from eigentext.errors import SettingsError


@given(st.integers(2, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(2, n))))
def test_every_item_is_held_out_once(sizes: tuple[int, int]) -> None:
    n_items, folds = sizes
    parts = list(held_out(n_items, folds))
    assert [number for _, fold in parts for number in fold] == list(range(n_items))
    assert len(parts) == folds
    for others, fold in parts:
        assert sorted([*others, *fold]) == list(range(n_items))
        assert fold.tolist() == list(range(fold[0], fold[-1] + 1))
        assert n_items // folds <= len(fold) <= n_items // folds + 1


@pytest.mark.parametrize("folds", [0, 1, 6])
def test_too_few_or_too_many_are_refused(folds: int) -> None:
    with pytest.raises(SettingsError, match=f"folds is {folds}, expected 2 to 5"):
        list(held_out(5, folds))


def test_things_dealt_by_name_are_in_the_same_fold_in_any_order():
    names = [f"document {number}" for number in range(11)]
    fold = dict(zip(names, dealt(names, 4), strict=True))
    assert sorted(fold.values()) == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3]
    turned = names[5:] + names[:5]
    assert dict(zip(turned, dealt(turned, 4), strict=True)) == fold
    with pytest.raises(SettingsError, match="folds is 12, expected 2 to 11"):
        dealt(names, 12)


def test_names_of_the_same_crc_are_dealt_in_one_order():
    names = ["plumless", "buckeroo"]
    assert crc32(b"plumless") == crc32(b"buckeroo")
    assert dealt(names, 2) == [1, 0]
    assert dealt(names[::-1], 2) == [0, 1]
