"""The bracket model: scores of spans from hashed features, marginals, and steps of learning.

A feature is a 64-bit mix of its template's number and its values; its upper bits are its place in
the table of weights.  Templates of a *border* see the words on both sides of it, once as the begin
and once as the end of a span; templates of a *span* see both of its borders together.
"""

from __future__ import annotations

import math

import numpy as np

from eigentext.base.compiling import njit
from eigentext.constituency.brackets import N_BORDER, N_SPAN, PAD, BracketWords
from eigentext.constituency.kernels.coarse import span_id
from eigentext.features.kernels.hashing import mix

_SHORT = 6  # words of a span whose tags are all looked at
_MARKS = 3  # punctuation marks are counted up to here
_FAINT = -20.0  # exp of it is nothing beside 1 in these sums
_LEAST = 1e-4  # a smaller gradient changes nothing


@njit
def _length_class(length):
    """1 to 6 words apart, then wider and wider classes."""
    if length <= _SHORT:
        return np.uint64(length)
    bound, number = 8, 7  # beyond six words classes grow by a third each
    while length > bound and number < 13:
        bound += bound // 3 + 1
        number += 1
    return np.uint64(number)


@njit
def _border_features(words, shift, out):
    """``out`` (n + 1, 2 N_BORDER): features of each border as a begin, then as an end."""
    word, tag = words.word, words.tag
    for border in range(len(word) - 2 * PAD + 1):
        at = border + PAD  # the word behind the border
        for side in range(2):
            seed = np.uint64(100 * (side + 1))  # begins and ends have templates of their own
            row = out[border, side * N_BORDER : (side + 1) * N_BORDER]
            tags = mix(mix(seed, tag[at - 1]), tag[at])  # the tags on both sides of the border
            row[0] = tags
            row[1] = mix(mix(seed + np.uint64(1), word[at - 1]), tag[at])
            row[2] = mix(mix(seed + np.uint64(2), tag[at - 1]), word[at])
            row[3] = mix(mix(seed + np.uint64(3), word[at - 1]), word[at])
            row[4] = mix(mix(tags, np.uint64(4)), tag[at - 2])
            row[5] = mix(mix(tags, np.uint64(5)), tag[at + 1])
            row[6] = mix(row[4], tag[at + 1])
            for f in range(N_BORDER):
                row[f] >>= shift


@njit
def _span_features(words, i, j, shift, out):
    """``out`` (N_SPAN,): features of the span of words i to j - 1."""
    word, tag = words.word, words.tag
    first, behind = i + PAD, j + PAD
    last, before = behind - 1, first - 1
    length = _length_class(j - i)
    marks = np.uint64(min(_MARKS, words.marks[j] - words.marks[i]))
    seed = np.uint64(300)
    out[0] = mix(mix(mix(seed, tag[first]), tag[last]), length)
    out[1] = mix(mix(mix(seed + np.uint64(1), tag[before]), tag[behind]), length)
    out[2] = mix(mix(mix(seed + np.uint64(2), tag[first]), tag[behind]), length)
    out[3] = mix(mix(mix(seed + np.uint64(3), tag[before]), tag[last]), length)
    corners = mix(mix(seed + np.uint64(4), tag[before]), tag[first])
    out[4] = mix(mix(corners, tag[last]), tag[behind])
    out[5] = mix(mix(seed + np.uint64(5), word[first]), word[last])
    out[6] = mix(mix(seed + np.uint64(6), word[before]), word[behind])
    out[7] = mix(mix(mix(seed + np.uint64(7), word[first]), tag[last]), tag[behind])
    out[8] = mix(mix(mix(seed + np.uint64(8), tag[before]), tag[first]), word[last])
    out[9] = mix(mix(seed + np.uint64(9), word[first]), length)
    out[10] = mix(mix(seed + np.uint64(10), word[behind]), length)
    out[11] = mix(mix(mix(corners, np.uint64(11)), tag[behind]), marks)
    out[12] = mix(mix(mix(seed + np.uint64(12), tag[behind]), length), marks)
    within = mix(seed + np.uint64(13), tag[behind])
    if j - i <= _SHORT:
        for at in range(first, behind):
            within = mix(within, tag[at])
    else:
        within = mix(mix(mix(within, np.uint64(14)), tag[first]), tag[first + 1])
        within = mix(mix(within, tag[last - 1]), tag[last])
    out[13] = within
    for f in range(N_SPAN):
        out[f] >>= shift


@njit(nogil=True)
def bracket_scores(words, weights, scores):
    """``scores`` (spans,): the sum of the weights of each span's features; 0 over one word."""
    n = len(words.marks) - 1
    shift = _shift_of(weights)
    # features of borders are hashed n times, not n^2: a span adds up those of its two
    of_border = np.empty((n + 1, 2 * N_BORDER), np.uint64)
    _border_features(words, shift, of_border)
    features = np.empty(N_SPAN, np.uint64)
    border = np.zeros((n + 1, 2), np.float32)
    for at in range(n + 1):
        for f in range(N_BORDER):
            border[at, 0] += weights[of_border[at, f]]
            border[at, 1] += weights[of_border[at, N_BORDER + f]]
    for i in range(n):
        scores[span_id(i, i + 1, n)] = 0.0
        for j in range(i + 2, n + 1):
            _span_features(words, i, j, shift, features)
            total = border[i, 0] + border[j, 1]
            for f in range(N_SPAN):
                total += weights[features[f]]
            scores[span_id(i, j, n)] = total


@njit
def _shift_of(weights):
    """How far a feature is shifted to become a place in a table of 2^bits weights."""
    bits = 0
    while (1 << bits) < len(weights):
        bits += 1
    return np.uint64(64 - bits)


@njit(nogil=True)
def bracket_marginals(n, scores, inside, marginal):
    """Fill ``marginal`` (spans,), p(span is in the tree); returns log Z.  ``inside`` is scratch.

    inside[i, j] = log of the sum over binary trees of words i..j-1 of exp(sum of their scores)
                 = score[i, j] + log of the sum over k of exp(inside[i, k] + inside[k, j])
    p(i, k and k, j | i, j) = exp(inside[i, k] + inside[k, j] + score[i, j] - inside[i, j])
    Time O(n^3), most of it comparisons: a split that adds nothing takes no exp.
    """
    for i in range(n - 1, -1, -1):
        inside[span_id(i, i + 1, n)] = 0.0
        for j in range(i + 2, n + 1):
            best = -np.inf  # the largest term is taken out of the sum of exponentials
            for k in range(i + 1, j):
                both = inside[span_id(i, k, n)] + inside[span_id(k, j, n)]
                if both > best:
                    best = both
            total = 0.0
            for k in range(i + 1, j):
                less = inside[span_id(i, k, n)] + inside[span_id(k, j, n)] - best
                if less > _FAINT:
                    total += math.exp(less)
            s = span_id(i, j, n)
            inside[s] = best + math.log(total) + scores[s]
    marginal[:] = 0.0
    marginal[span_id(0, n, n)] = 1.0
    for i in range(n):  # by rising start and falling end: parents come before their children
        for j in range(n, i + 1, -1):
            s = span_id(i, j, n)
            if marginal[s] < 1e-9:
                continue
            trees = inside[s] - scores[s]  # log of the sum over the splits of this span
            for k in range(i + 1, j):
                left, right = span_id(i, k, n), span_id(k, j, n)
                less = inside[left] + inside[right] - trees
                if less > _FAINT:
                    share = marginal[s] * math.exp(less)
                    marginal[left] += share
                    marginal[right] += share
    return inside[span_id(0, n, n)]


@njit
def _sentence_of(sentences, number):
    """The keys of one of the sentences, and which of its spans are in its tree."""
    at, n = sentences.first[number], sentences.first[number + 1] - sentences.first[number]
    # the words of each sentence stand between PAD places on either side, its marks are n + 1
    padded = slice(at + 2 * PAD * number, at + 2 * PAD * number + n + 2 * PAD)
    words = BracketWords(
        sentences.word[padded],
        sentences.tag[padded],
        sentences.marks[at + number : at + number + n + 1],
    )
    return words, sentences.gold[sentences.spans[number] : sentences.spans[number + 1]]


@njit
def count_features(sentences, counts):
    """Add the features of the spans that are in the trees to ``counts``."""
    shift = _shift_of(counts)
    features = np.empty(N_SPAN, np.uint64)
    for number in range(len(sentences.first) - 1):
        words, gold = _sentence_of(sentences, number)
        n = len(words.marks) - 1
        of_border = np.empty((n + 1, 2 * N_BORDER), np.uint64)
        _border_features(words, shift, of_border)
        for i in range(n):
            for j in range(i + 2, n + 1):
                if gold[span_id(i, j, n)]:
                    _span_features(words, i, j, shift, features)
                    for f in range(N_SPAN):
                        counts[features[f]] += 1
                    for f in range(N_BORDER):
                        counts[of_border[i, f]] += 1
                        counts[of_border[j, N_BORDER + f]] += 1


@njit(nogil=True)
def find_gradients(sentences, numbers, weights, learned, slopes):
    """Gradients of the log probabilities of some trees; the sum of those log probabilities."""
    # The gradient of log p(tree) for the weight of a feature is the number of spans of the tree
    # that have it less the number expected, the sum of the marginals of the spans that have it.
    # ``slopes`` is filled: places of weights and their gradients, sentence after sentence; that of
    # ``numbers[s]`` ends at ``slopes.ends[s]``.  A place may come several times.
    shift = _shift_of(weights)
    features = np.empty(N_SPAN, np.uint64)
    total, used = 0.0, 0
    for s in range(len(numbers)):
        words, gold = _sentence_of(sentences, numbers[s])
        n = len(words.marks) - 1
        n_spans = n * (n + 1) // 2
        scores, inside, marginal = np.empty(n_spans), np.empty(n_spans), np.empty(n_spans)
        bracket_scores(words, weights, scores)
        total -= bracket_marginals(n, scores, inside, marginal)
        of_border = np.empty((n + 1, 2 * N_BORDER), np.uint64)
        _border_features(words, shift, of_border)
        of_borders = np.zeros((n + 1, 2), np.float32)  # gradients as begin and as end
        for i in range(n):
            for j in range(i + 2, n + 1):
                span = span_id(i, j, n)
                gradient = np.float32(gold[span] - marginal[span])  # observed less expected
                if gold[span]:
                    total += scores[span]
                if abs(gradient) < _LEAST:
                    continue
                of_borders[i, 0] += gradient
                of_borders[j, 1] += gradient
                _span_features(words, i, j, shift, features)
                for f in range(N_SPAN):
                    if learned[features[f]]:
                        slopes.places[used], slopes.gradients[used] = features[f], gradient
                        used += 1
        # a border's features get the sum over the spans that begin, or end, there
        for border in range(n + 1):
            for side in range(2):
                if of_borders[border, side] != 0.0:
                    for f in range(side * N_BORDER, (side + 1) * N_BORDER):
                        if learned[of_border[border, f]]:
                            slopes.places[used] = of_border[border, f]
                            slopes.gradients[used] = of_borders[border, side]
                            used += 1
        slopes.ends[s] = used
    return total


@njit(nogil=True)
def take_steps(slopes, table, begin, end, rate, time):
    """AdaGrad, in the order of the gradients: the more a weight has been moved, the less it moves.

    Only weights at the places from ``begin`` to ``end`` are moved: threads share out the table.
    ``time`` is that of the first sentence; each is one step of the mean.
    """
    at = 0
    for s in range(len(slopes.ends)):
        while at < slopes.ends[s]:
            weight_at, gradient = slopes.places[at], slopes.gradients[at]
            at += 1
            if begin <= weight_at < end:
                table.squares[weight_at] += gradient * gradient
                # AdaGrad, up the gradient
                change = rate * gradient / np.sqrt(table.squares[weight_at])
                table.weights[weight_at] += change
                table.sums[weight_at] += (time + s) * change
