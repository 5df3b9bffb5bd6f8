"""Keys of endings, and which tags a word may have, against plain counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.tagging.morphology.levels import LONGEST_ENDING, Edges, Levels, mixed_keys

texts = st.lists(st.text("abcİßé𝄞", max_size=10), min_size=1, max_size=6)


@settings(max_examples=80, deadline=None)
@given(texts)
def test_endings_and_beginnings_are_alike_where_the_letters_are(words) -> None:
    edges = Edges.of(words)
    for a, one in enumerate(words):
        for b, other in enumerate(words):
            for k in range(1, LONGEST_ENDING + 2):
                # one longer than the word is the whole of it
                same = f"^{one}"[-k:] == f"^{other}"[-k:]
                here, there = edges.endings[a, k - 1], edges.endings[b, k - 1]
                if k <= min(len(one), len(other)) + 1:
                    assert (here == there) == same
                else:
                    assert not here or not there
            for k in range(1, edges.beginnings.shape[1] + 1):
                here, there = edges.beginnings[a, k - 1], edges.beginnings[b, k - 1]
                if k <= min(len(one), len(other)):
                    assert (here == there) == (one[:k] == other[:k])
                else:
                    assert not here or not there


def _shares(path, counts, n_tags, own, own_last, n_types):
    """The equation of ``kernels/words.py``, in plain Python."""
    share = [1 / n_tags] * n_tags
    for level, key in enumerate(path):
        held = own if level >= n_types or own_last else -1
        here = {t: c - (t == held) for (k, t), c in counts.items() if k == key and key}
        here = {t: c for t, c in here.items() if c > 0}
        total, kinds = sum(here.values()), len(here)
        if kinds:
            share = [(here.get(t, 0) + kinds * p) / (total + kinds) for t, p in enumerate(share)]
    return share


rows = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=12
)


@settings(max_examples=80, deadline=None)
@given(rows, st.booleans(), st.integers(-1, 2), st.integers(0, 2))
def test_candidates_are_the_likeliest_tags(made, own_last, own, n_types) -> None:
    keys = np.array([[a, 10 * b] for a, b, _ in made], np.uint64)  # key 0: no node
    tags = np.array([t for *_, t in made])
    levels = Levels.counted(keys, tags, np.ones(keys.shape), 3)
    counts: dict[tuple[int, int], int] = {}
    for path, tag in zip(keys.tolist(), tags.tolist(), strict=True):
        for key in path:
            counts[key, tag] = counts.get((key, tag), 0) + 1
    lists = levels.lists(
        keys,
        2,
        least=0.2,
        held=np.full(len(keys), own),
        own_last=np.full(len(keys), own_last),
        n_types=n_types,
    )
    for row, path in enumerate(keys.tolist()):
        share = _shares(path, counts, 3, own, own_last, n_types)
        best = sorted(range(3), key=lambda t: (-round(share[t], 9), t))[:2]
        found = lists.tags[row, : lists.n[row]].tolist()
        assert len(found) == 1 + (share[best[1]] >= 0.2 * share[best[0]] - 1e-9)
        log_shares = np.log([share[t] for t in found])
        assert lists.shares[row, : lists.n[row]] == pytest.approx(log_shares, abs=1e-5)
        assert log_shares[0] == pytest.approx(np.log(share[best[0]]), abs=1e-9)


def test_a_key_that_is_none_stays_none() -> None:
    mixed = mixed_keys(np.array([[0, 7]], np.uint64), np.array([[5]], np.uint64))
    assert mixed[0, 0] == 0 != mixed[0, 1]
