"""Distances of words given the tags around them, from covariances of their vectors; from distances
to brackets.

If the words of a sentence are leaves of a hidden tree given its tags, and every hidden node is a
vector of m dimensions that depends linearly on its neighbours, then (Parikh, Cohen and Xing 2014)

    d(i, j) = - log L(Sigma_ij) + 1/2 log L(Sigma_ii) + 1/2 log L(Sigma_jj)

is additive: the length of the path from word i to word j.  Sigma_ij is the covariance of their
vectors given the tags, and L(A) the product of the m largest singular values of A.

1. No sentence of the same tags need ever have been seen.  So covariances are smoothed by a kernel
   over places in tag sequences: pairs of words whose tags, distance and neighbours agree count
   most, those that agree in less count less.  With the contexts c_0 (any pair), c_1 (both tags),
   c_2 (and the distance), c_3 (and the tags next to them between the two), c_4 (and those outside)

       Sigma(c_l) = (sum over the n_l pairs in c_l of x y' + C Sigma(c_(l-1))) / (n_l + C)

   where x and y are vectors less the mean of their tag.
2. What is kept of a context is one number, - log L(Sigma(c)), and of a tag 1/2 log L(Sigma_ii).
3. :func:`brackets` finds, among all binary trees without a root whose edges cut off stretches of
   words, that of least total length, where the lengths of edges are fitted to the distances by
   least squares (minimum evolution, Rzhetsky and Nei 1993): the tree itself, where the distances
   are those of one with positive lengths.  Distances know no root; one that keeps the words in
   their order lies between the first word and the last, where it is told or half-way.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eigentext.base.ragged import pointers
from eigentext.base.types import Float64s, Int64s
from eigentext.linalg.ties import single_threaded

N_LEVELS = 5
STRENGTHS = (10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0)
_FAR = 12  # distances from here on are one
_LEAST = (1, 1, 5, 20, 20)  # pairs that a context of each level must have to be kept
_MOST_PAIRS = 40  # words: pairs of longer sentences are not looked at
_FLOOR = 1e-12  # a singular value is at least this share of the variance


class VectorText(NamedTuple):
    """Tagged text end to end; sentence s is at ``ptr[s]:ptr[s + 1]``."""

    ptr: Int64s
    tag: Int64s  # (N,) numbers of tags
    vectors: Float64s  # (N, d) of words, less the mean of their tag

    def part(self, sentences: Int64s) -> VectorText:
        """Some of the sentences."""
        stretches = [np.arange(self.ptr[s], self.ptr[s + 1]) for s in sentences.tolist()]
        at = np.concatenate(stretches) if stretches else np.zeros(0, np.int64)
        return VectorText(pointers(map(len, stretches)), self.tag[at], self.vectors[at])


class TagContexts(NamedTuple):
    """What is known of the contexts of each level, sorted by key."""

    keys: tuple[Int64s, ...]  # (levels,) of rising integers
    cross: tuple[Float64s, ...]  # (levels,) of - log L(Sigma_ij)
    of_tag: Float64s  # (tags + 1,) 1/2 log L(Sigma_ii) of each tag, and of a tag not seen


def log_product(Sigma: Float64s, m: int, scale: float = 1.0) -> Float64s:
    """log of the product of the m largest singular values, over the last two axes.

    None of them counts as less than 1e-12 times ``scale``.

    >>> round(float(np.exp(log_product(np.diag([4.0, 2.0, 1.0]), 2))), 6)
    8.0
    """
    values = np.linalg.svd(Sigma, compute_uv=False)[..., :m]
    return np.asarray(np.log(np.maximum(values, _FLOOR * scale)).sum(-1))


# ---------------------------------------------------------------- contexts


def _pairs(ptr: Int64s) -> tuple[Int64s, Int64s]:
    """All pairs of words of the same sentence, the first before the second."""
    first, second = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for start, end in zip(ptr[:-1].tolist(), ptr[1:].tolist(), strict=True):
        if end - start <= _MOST_PAIRS:
            i, j = np.triu_indices(end - start, 1)
            first.append(i + start)
            second.append(j + start)
    return np.concatenate(first), np.concatenate(second)


def _keys(ptr: Int64s, tag: Int64s, n_tags: int, first: Int64s, second: Int64s) -> list[Int64s]:
    """The context of each pair at every level; a context says those of lower levels."""
    none, base = n_tags, n_tags + 1  # no neighbour
    before, after = np.full(len(tag), none), np.full(len(tag), none)
    before[1:], after[:-1] = tag[:-1], tag[1:]
    starts = ptr[:-1][np.diff(ptr) > 0]
    before[starts] = none
    after[starts[1:] - 1] = none
    tags = tag[first] * base + tag[second]
    near = tags * (_FAR + 1) + np.minimum(second - first, _FAR)
    between = (near * base + after[first]) * base + before[second]
    around = (between * base + before[first]) * base + after[second]
    return [np.zeros(len(first), np.int64), tags, near, between, around]


def _places(keys: Int64s, sought: Int64s) -> Int64s:
    """Where each of the wanted keys is among the (rising) keys, -1 where it is not."""
    if not len(keys):
        return np.full(len(sought), -1)
    at = np.minimum(np.searchsorted(keys, sought), len(keys) - 1)
    return np.where(keys[at] == sought, at, -1)


class _Level(NamedTuple):
    """TagContexts of one level: keys, the places of their own in the level below, counts, sums."""

    keys: Int64s
    below: Int64s
    n: Float64s
    sums: Float64s


def _levels(text: VectorText, n_tags: int) -> list[_Level]:
    from eigentext.lab.induction.kernels import add_products

    first, second = _pairs(text.ptr)
    d = text.vectors.shape[1]
    levels: list[_Level] = []
    below = np.zeros(len(first), np.int64)  # place of each pair in the level below
    for keys, least in zip(_keys(text.ptr, text.tag, n_tags, first, second), _LEAST, strict=True):
        distinct, at, n = np.unique(keys, return_index=True, return_counts=True)
        kept = n >= least
        distinct, at, n = distinct[kept], at[kept], n[kept]
        row = _places(distinct, keys)
        sums = np.zeros((len(distinct), d, d))
        add_products(row, first, second, text.vectors, text.vectors, sums)
        levels.append(_Level(distinct, below[at], n.astype(np.float64), sums))
        below = row
    return levels


def _smoothed(levels: Sequence[_Level], strength: float) -> list[Float64s]:
    """Sigma of every context, see the module."""
    covariances: list[Float64s] = []
    for level in levels:
        prior = covariances[-1][level.below] if covariances else np.zeros_like(level.sums)
        c = strength if covariances else 0.0
        covariances.append(
            (level.sums + c * prior) / (np.maximum(level.n, 1.0) + c)[:, None, None]
        )
    return covariances


def _finest(keys: Sequence[Int64s], sought: Sequence[Int64s]) -> tuple[Int64s, Int64s]:
    """For each pair the highest level that knows its context, and the place there."""
    level, row = np.zeros(len(sought[0]), np.int64), np.zeros(len(sought[0]), np.int64)
    alive = np.ones(len(sought[0]), bool)
    for number, (of_level, keys_of) in enumerate(zip(keys, sought, strict=True)):
        at = _places(of_level, keys_of)
        alive &= at >= 0
        level[alive], row[alive] = number, at[alive]
    return level, row


def chosen_strength(text: VectorText, n_tags: int) -> float:
    """The C with the least squared error on the half of the sentences not learned from."""
    # For covariances S of contexts learned from one half, and the products x y' of the other half,
    # the error is the sum of ``|S - x y'|^2 = |S|^2 - 2 <S, x y'> + ...``; both halves take turns.
    from eigentext.lab.induction.kernels import add_products

    numbers = np.arange(len(text.ptr) - 1)
    errors = np.zeros(len(STRENGTHS))
    for turn in range(2):
        levels = _levels(text.part(numbers[turn::2]), n_tags)
        other = text.part(numbers[1 - turn :: 2])
        first, second = _pairs(other.ptr)
        sought = _keys(other.ptr, other.tag, n_tags, first, second)
        level, row = _finest([trained.keys for trained in levels], sought)
        sums, n = [], []
        for number, trained in enumerate(levels):
            group = np.where(level == number, row, -1)
            added = np.zeros_like(trained.sums)
            add_products(group, first, second, other.vectors, other.vectors, added)
            sums.append(added)
            n.append(np.bincount(group[group >= 0], minlength=len(trained.keys)))
        for trial, strength in enumerate(STRENGTHS):
            for Sigma, added, count in zip(_smoothed(levels, strength), sums, n, strict=True):
                squares = np.einsum("kab,kab->k", Sigma, Sigma)
                errors[trial] += float(count @ squares - 2 * (Sigma * added).sum())
    return STRENGTHS[int(np.argmin(errors))]


def learn_contexts(text: VectorText, n_tags: int, m: int, strength: float) -> TagContexts:
    """All contexts of a text with their - log L(Sigma)."""
    with single_threaded():
        d = text.vectors.shape[1]
        scale = float(np.square(text.vectors).sum() / max(text.vectors.size, 1)) or 1.0
        levels = _levels(text, n_tags)
        cross = [-log_product(Sigma, m, scale) for Sigma in _smoothed(levels, strength)]
        of_tags = np.zeros(n_tags + 1)
        total = text.vectors.T @ text.vectors / max(len(text.tag), 1)
        for t in range(n_tags):
            X = text.vectors[text.tag == t]
            of_tags[t] = (
                log_product((X.T @ X + strength * total) / (len(X) + strength), m, scale) / 2
            )
        of_tags[n_tags] = log_product(total.reshape(d, d), m, scale) / 2
    return TagContexts(tuple(level.keys for level in levels), tuple(cross), of_tags)


def tree_distances(contexts: TagContexts, tags: Int64s) -> Float64s:
    """(n, n) distances of the words of a sentence with these tags; unseen ones are n_tags."""
    n, n_tags = len(tags), len(contexts.of_tag) - 1
    i, j = np.triu_indices(n, 1)
    sought = _keys(np.array([0, n]), tags, n_tags, i, j)
    # _keys has one number for an unseen tag and for the edge of a sentence; but a context with an
    # unseen tag was never seen, and has no key
    unseen = np.pad(tags == n_tags, 1)  # of word i at i + 1
    sought[1][unseen[i + 1] | unseen[j + 1]] = -1
    sought[3][unseen[i + 2] | unseen[j]] = -1
    sought[4][unseen[i] | unseen[j + 2]] = -1
    level, row = _finest(contexts.keys, sought)
    cross = np.zeros(len(i))
    for number, values in enumerate(contexts.cross):
        here = level == number
        cross[here] = values[row[here]]
    D = np.zeros((n, n))
    D[i, j] = D[j, i] = cross + contexts.of_tag[tags[i]] + contexts.of_tag[tags[j]]
    return D


_TIE = 1e-9  # lengths that differ by less than this share of the distances are equal


class BracketTree(NamedTuple):
    """Spans of more than one word, the whole sentence first, and the length of the tree."""

    spans: list[tuple[int, int]]
    length: float


def brackets(D: npt.ArrayLike, cut: int | None = None) -> BracketTree:
    """The shortest tree for distances D, (n, n), with the root behind the first ``cut`` words.

    Without ``cut`` the root is half-way between the first word and the last.

    >>> D = [[0, 2, 4, 5], [2, 0, 4, 5], [4, 4, 0, 3], [5, 5, 3, 0]]
    >>> brackets(D).spans
    [(0, 4), (0, 2), (2, 4)]
    """
    from eigentext.lab.induction.kernels import shortest_tree

    distances = np.ascontiguousarray(D, dtype=np.float64)
    n = len(distances)
    if distances.shape != (n, n) or not np.isfinite(distances).all():
        raise ValueError(f"distances have the shape {distances.shape}, expected (n, n), finite")
    if cut is not None and not 0 < cut < max(n, 2):
        raise ValueError(f"cut is {cut}, expected 1 to {n - 1}")
    if n < 3:
        return BracketTree([(0, n)] if n > 1 else [], float(distances.sum() / 2))
    tolerance = _TIE * max(float(np.abs(distances).max()), 1e-300)
    nodes, length = shortest_tree(distances, cut or 0, tolerance)
    # nodes [0, end) are those on the way from the first word to the last: the root cuts that way
    ends = sorted(end for start, _, end in nodes.tolist() if start == 0)
    cuts = [1, *ends]
    if cut is None:
        cut = _middle(distances, cuts)
    spans = {(0, n), *((start, end) for start, _, end in nodes.tolist() if start > 0)}
    spans |= {(0, end) for end in ends if end <= cut}
    spans |= {(end, n) for end in cuts if cut <= end < n - 1}
    return BracketTree(sorted(spans, key=lambda span: (span[0], -span[1])), float(length))


def _middle(D: Float64s, cuts: list[int]) -> int:
    """The cut half-way between the first word and the last."""
    # The words between two cuts hang from one node of the way, which is nearer to the last word
    # if they are.
    ahead = D[0] - D[-1]
    for start, end in pairwise(cuts):
        if float(ahead[start:end].mean()) > _TIE * float(np.abs(D).max()):
            return start
    return cuts[-1]
