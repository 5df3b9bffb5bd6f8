"""How memory is shared out while vectors are made: within the bound, or refused."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.counting.memory import parse_memory
from eigentext.errors import SettingsError
from eigentext.linalg.svd import basis_bytes
from eigentext.words.embeddings.context_tiles import Room

LARGE = {"entries": 300_000_000, "tile_entries": 2_000_000}


@given(
    st.integers(10**9, 10**11),
    st.integers(2, 2_000_000),
    st.integers(2, 2_000_000),
    st.integers(1, 1000),
    st.integers(1, 10**9),
    st.integers(1, 64),
)
def test_what_is_shared_out_is_within_the_bound(memory, n, m, rank, entries, cores):
    given_sizes = {"entries": entries, "tile_entries": 2_000_000, "cores": cores}
    try:
        room = Room.share_out(memory, (n, m), rank, **given_sizes)
    except SettingsError as error:
        least = parse_memory(re.search(r"([\d,]+MB) is the least", str(error))[1].replace(",", ""))
        assert least > memory
        Room.share_out(least, (n, m), rank, **given_sizes)  # what is told to do does
        return
    vectors = 4 * rank * (n + m)
    basis = 0 if room.basis_on_disk else basis_bytes((n, m), rank)
    making = 60 * min(entries, 2_000_000) * room.cores
    assert room.tiles + vectors + 300_000_000 <= memory
    assert room.tiles + basis + 300_000_000 <= memory
    assert room.tiles + room.turned + making + 300_000_000 <= memory
    assert 1 <= room.cores <= cores


def test_the_basis_is_in_memory_where_all_fits():
    shape = (200_000, 200_000)
    assert Room.share_out("2GB", shape, 200, **LARGE).basis_on_disk
    assert Room.share_out("4GB", shape, 200, **LARGE).basis_on_disk
    assert not Room.share_out("8GB", shape, 200, **LARGE).basis_on_disk


def test_fewer_threads_make_tiles_where_memory_is_short():
    shape = (200_000, 200_000)
    assert Room.share_out("1GB", shape, 200, cores=64, **LARGE).cores < 10
    assert Room.share_out("64GB", shape, 200, cores=64, **LARGE).cores == 64


def test_counts_in_memory_are_counted():
    shape = (200_000, 200_000)
    free, held = (Room.share_out("4GB", shape, 200, held=n, **LARGE) for n in (0, 10**9))
    assert free.tiles - held.tiles >= 10**9 // 2
    with pytest.raises(SettingsError, match="memory 4GB is too small for 200,000 vectors of 200"):
        Room.share_out("4GB", shape, 200, held=4 * 10**9, **LARGE)
