"""P(tag, state | word): the formula written out for one word, in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from eigentext.features.smoothing import Evidence, Strengths, smoothed

TAG = [0, 0, 1, 2, 2]  # of five (tag, state) pairs
BASE = [0, 0, 0, 1, 1]  # tags 0 and 1 have the base tag 0
TEXT = np.array([0.1, 0.3, 0.2, 0.15, 0.25])
SHAPE = np.array([0.5, 0.1, 0.1, 0.2, 0.1])


def _by_the_book(counts, k):
    n = sum(counts)
    same_base = [[x for x in range(5) if BASE[x] == b] for b in BASE]
    same_tag = [[x for x in range(5) if TAG[x] == t] for t in TAG]

    def total(values, entries):
        return sum(float(values[x]) for x in entries)

    found = []
    within = []
    for ts in range(5):
        shape, text, seen = (total(v, same_base[ts]) for v in (SHAPE, TEXT, counts))
        of_shape = (SHAPE[ts] + 0.1 * TEXT[ts]) / (shape + 0.1 * text)
        share = min(1.0, n / 10)
        within.append((1 - share) * of_shape + share * TEXT[ts] / text)
        if n == 0:
            p_base = shape
        elif n < k.trust:
            p_base = (seen + k.k_sig * shape) / (n + k.k_sig)
        else:
            p_base = seen / n
        prior = p_base * within[ts]
        found.append(prior if n == 0 else (counts[ts] + k.k_base * prior) / (n + k.k_base))
    if n == 0 or k.k_state == 0:
        return found
    return [
        total(found, same_tag[ts])
        * (counts[ts] + k.k_state * within[ts] / total(within, same_tag[ts]))
        / (total(counts, same_tag[ts]) + k.k_state)
        for ts in range(5)
    ]


def _evidence(counts):
    def by_base(values):
        return np.bincount(BASE, weights=values)

    return Evidence(
        cell=np.array(BASE),
        group=np.array(TAG),
        counts=counts,
        n=np.full(2, counts.sum()),
        n_base=by_base(counts),
        p_shape=SHAPE,
        p_shape_base=by_base(SHAPE),
        p_text=TEXT,
        p_text_base=by_base(TEXT),
        given_base=TEXT / by_base(TEXT)[BASE],
    )


@pytest.mark.parametrize(
    "counts", [[0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [3, 1, 0, 0, 2], [40, 1, 0, 0, 20]]
)
@pytest.mark.parametrize(
    "k", [Strengths(2, 1, 4, 50), Strengths(2, 1, 0, 50), Strengths(0, 3, 1, 5)]
)
def test_as_by_the_book(counts, k):
    p = smoothed(_evidence(np.array(counts, float)), k)
    np.testing.assert_allclose(p, _by_the_book(counts, k), rtol=1e-12)
    assert p.sum() == pytest.approx(1.0)


def test_several_words_at_once_are_as_one_by_one():
    k = Strengths(2, 1, 4, 50)
    rows = [_evidence(np.array(counts, float)) for counts in ([0] * 5, [3, 1, 0, 0, 2])]
    both = Evidence(*(np.concatenate(parts) for parts in zip(*rows, strict=True)))
    both = both._replace(
        cell=np.concatenate([rows[0].cell, rows[1].cell + 2]),
        group=np.concatenate([rows[0].group, rows[1].group + 3]),
    )
    alone = [smoothed(row, k) for row in rows]
    np.testing.assert_allclose(smoothed(both, k), np.concatenate(alone), rtol=1e-12)
