"""Does a sentence end behind this token?  Features of tokens, training, answers.

The last token of a paragraph ends a sentence, whatever it is.  Elsewhere the model sees the tokens
around, how they are written, the space between them, and the sentence that began at token b: its
length, its first token, and whether brackets and quotes are open.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import Int8s, Int64s, UInt8s, UInt64s
from eigentext.features.kernels.hashing import mix
from eigentext.tagging.segmentation.kernels.squeeze import PARAGRAPH_CLASS, SPACE
from eigentext.tagging.segmentation.kernels.tables import (
    SEED,
    bucket,
    step,
    string_key,
    total,
    value_of,
)

N_KEYS = 64  # room for the features of a place
LAST_OF_WORDS = 13  # classes up to here are of letters, digits and what is set on them


class Tokens(NamedTuple):
    """The tokens of a squeezed text."""

    hashes: UInt64s  # of the letters
    shapes: UInt64s  # of their classes, runs as one
    firsts: UInt8s  # class of the first letter
    lasts: UInt64s  # of the last letter, and of the class of the one before it
    lengths: Int64s
    gaps: UInt8s  # behind it: 0 nothing, 1 white space, 2 a line break, 3 the end of the paragraph
    opens: Int8s  # 1 an opening bracket, -1 a closing one, 2 a quote that is both
    cases: UInt64s  # how often it is written small, and with a capital inside a sentence
    begins: UInt64s  # how often it is the first of a sentence
    finals: UInt64s  # how often the last word of one
    endings: UInt64s  # of the last three letters
    tails: UInt64s  # (tokens, 3) of the last 2, 3, 4 letters
    heads: UInt64s  # (tokens, 3) of the first 2, 3, 4 letters


@njit
def habits_of(chars, starts, ends, table_keys, table_values):
    """What is known of the habits of tokens, by a table."""
    habits = np.empty(len(starts), np.uint16)
    for t in range(len(starts)):
        key = string_key(chars, starts[t], ends[t])
        habits[t] = value_of(key, table_keys, table_values)
    return habits


@njit
def describe(chars, classes, starts, ends, habits, line_break):
    """``Tokens`` of a squeezed text, by where they start and end and what is known of them."""
    n = len(starts)
    tokens = Tokens(
        np.empty(n, np.uint64),
        np.empty(n, np.uint64),
        np.empty(n, np.uint8),
        np.empty(n, np.uint64),
        np.empty(n, np.int64),
        np.zeros(n, np.uint8),
        np.zeros(n, np.int8),
        np.empty(n, np.uint64),
        np.empty(n, np.uint64),
        np.empty(n, np.uint64),
        np.empty(n, np.uint64),
        np.empty((n, 3), np.uint64),
        np.empty((n, 3), np.uint64),
    )
    for t in range(n):
        start, end = starts[t], ends[t]
        key, shape, last = SEED, SEED, np.uint8(0)
        for i in range(start, end):
            key = mix(key, chars[i])
            kind = classes[i]
            if kind != last:  # runs of a class count once
                shape = mix(shape, kind)
            last = kind
        tokens.hashes[t], tokens.shapes[t], tokens.firsts[t] = key, shape, classes[start]
        tokens.lasts[t] = mix(mix(np.uint64(end - start > 1), chars[end - 1]), classes[end - 2])
        tokens.lengths[t] = end - start
        kind = classes[end]
        if kind == SPACE:
            tokens.gaps[t] = 2 if chars[end] == line_break else 1
        elif kind == PARAGRAPH_CLASS:
            tokens.gaps[t] = 3
        kind = classes[start]
        if end - start == 1:
            if kind == 14 or kind == 16:
                tokens.opens[t] = 1
            elif kind == 15 or kind == 17:
                tokens.opens[t] = -1
            elif chars[start] == 34:
                tokens.opens[t] = 2
        habit = np.int64(habits[t])
        # three small numbers in one
        case, begin, final = habit & 31, (habit >> 5) & 31, habit >> 10
        tokens.cases[t] = mix(np.uint64(case), kind)
        tokens.begins[t] = mix(np.uint64(begin), kind)
        tokens.finals[t] = mix(np.uint64(final), kind)
        ending = np.uint64(7)  # of the last three letters
        for i in range(max(start, end - 3), end):
            ending = mix(ending, chars[i])
        tokens.endings[t] = mix(ending, kind)
        for k in range(3):
            # the last and the first 2, 3, 4 letters
            tokens.tails[t, k] = string_key(chars, max(start, end - 2 - k), end)
            tokens.heads[t, k] = string_key(chars, start, min(start + 2 + k, end))
    return tokens


@njit
def keys_at(tokens, first, last, t, b, depth, quotes, out):
    """Features of the place behind token t of a paragraph first..last; sentence from b."""
    h, sh = tokens.hashes, tokens.shapes
    none = np.uint64(99)
    t0, s0 = h[t], sh[t]
    t1, s1 = h[t + 1], sh[t + 1]  # t is never the last
    t2 = h[t + 2] if t + 2 <= last else none
    s2 = sh[t + 2] if t + 2 <= last else none
    tm1 = h[t - 1] if t > first else none
    sm1 = sh[t - 1] if t > first else none
    tm2 = h[t - 2] if t - 1 > first else none
    gap = tokens.gaps[t]
    gap1 = tokens.gaps[t + 1]
    case1, begin1, final0 = tokens.cases[t + 1], tokens.begins[t + 1], tokens.finals[t]
    # tokens of the sentence so far
    size = bucket(t + 1 - b) if t + 1 - b < 9 else 8 + min((t + 1 - b) // 10, 5)
    left = min(last - t, 6)  # tokens that the paragraph still has
    state = mix(mix(np.uint64(1), min(max(depth, 0), 2)), quotes)  # open brackets and quotes
    n = 0
    out[n] = mix(np.uint64(101), t0)
    out[n + 1] = mix(mix(np.uint64(102), t0), gap)
    out[n + 2] = mix(mix(np.uint64(103), t0), t1)
    out[n + 3] = mix(mix(np.uint64(104), t1), tokens.firsts[t + 1])
    out[n + 4] = mix(mix(np.uint64(105), s0), s1)
    out[n + 5] = mix(mix(mix(np.uint64(106), t0), s1), gap)
    out[n + 6] = mix(mix(mix(np.uint64(107), t0), s1), s2)
    out[n + 7] = mix(mix(mix(np.uint64(108), s0), t1), tokens.firsts[t + 1])
    out[n + 8] = mix(mix(np.uint64(109), tm1), t0)
    out[n + 9] = mix(mix(mix(np.uint64(110), tm1), t0), s1)
    out[n + 10] = mix(mix(mix(np.uint64(111), tm1), t0), t1)
    out[n + 11] = mix(mix(mix(np.uint64(112), t0), t1), t2)
    out[n + 12] = mix(mix(mix(np.uint64(113), t0), s1), case1)
    out[n + 13] = mix(mix(mix(np.uint64(114), s0), s1), case1)
    out[n + 14] = mix(mix(mix(mix(np.uint64(115), sm1), t0), case1), s2)
    out[n + 15] = mix(mix(np.uint64(116), size), t0)
    out[n + 16] = mix(mix(np.uint64(117), size), mix(s0, s1))
    out[n + 17] = mix(mix(np.uint64(118), left), t0)
    out[n + 18] = mix(mix(np.uint64(119), state), t0)
    out[n + 19] = mix(mix(mix(np.uint64(120), state), t0), t1)
    out[n + 20] = mix(mix(mix(np.uint64(121), state), t0), case1)
    out[n + 21] = mix(mix(np.uint64(122), h[b]), t0)
    out[n + 22] = mix(mix(mix(np.uint64(123), sh[b]), s0), s1)
    out[n + 23] = mix(mix(mix(np.uint64(124), tokens.lasts[t]), min(tokens.lengths[t], 6)), s1)
    out[n + 24] = mix(mix(mix(np.uint64(125), tokens.lasts[t]), gap), case1)
    out[n + 25] = mix(mix(np.uint64(126), t1), t2)
    out[n + 26] = mix(mix(mix(np.uint64(127), sm1), s0), mix(s1, s2))
    out[n + 27] = mix(mix(mix(np.uint64(128), tm2), tm1), t0)
    out[n + 28] = mix(mix(mix(np.uint64(129), gap), gap1), mix(s0, s1))
    out[n + 29] = mix(mix(mix(np.uint64(130), gap), case1), size)
    out[n + 30] = mix(mix(mix(np.uint64(131), gap), left), mix(s0, s1))
    out[n + 31] = mix(np.uint64(132), gap)
    out[n + 32] = mix(mix(mix(np.uint64(133), t1), tokens.firsts[t + 1]), gap)
    n += 33
    out[n] = mix(mix(np.uint64(134), s0), begin1)
    out[n + 1] = mix(mix(np.uint64(135), t0), begin1)
    out[n + 2] = mix(mix(np.uint64(136), final0), begin1)
    out[n + 3] = mix(mix(np.uint64(137), final0), case1)
    out[n + 4] = mix(mix(np.uint64(138), final0), s1)
    out[n + 5] = mix(mix(mix(np.uint64(139), final0), case1), begin1)
    out[n + 6] = mix(mix(mix(np.uint64(140), s0), case1), begin1)
    out[n + 7] = mix(mix(np.uint64(141), tokens.endings[t]), begin1)
    out[n + 8] = mix(mix(mix(np.uint64(142), gap), case1), begin1)
    n += 9
    # the last word before t, and the words around, by their affixes
    for k in range(3):
        before = tokens.tails[t - 1, k] if t > first else none
        out[n] = mix(mix(mix(np.uint64(143), k), t0), before)
        out[n + 1] = mix(mix(mix(np.uint64(144), k), tokens.tails[t, k]), gap)
        out[n + 2] = mix(mix(mix(np.uint64(145), k), tokens.heads[t + 1, k]), s0)
        out[n + 3] = mix(mix(mix(np.uint64(146), k), tokens.heads[t + 1, k]), t0)
        n += 4
    return n


@njit
def train(tokens, lasts, ends, order, weights, squares, shift, rate):
    """One pass over sentences, of which ``ends`` has the last tokens; the sum of the losses."""
    keys = np.empty(N_KEYS, np.uint64)
    loss = 0.0
    for o in range(len(order)):
        sentence = order[o]
        b = ends[sentence - 1] + 1 if sentence > 0 else 0
        p = np.searchsorted(lasts, b)  # the paragraph that the sentence is in
        first, last = lasts[p - 1] + 1 if p > 0 else 0, lasts[p]
        depth, quotes = 0, 0
        for t in range(b, ends[sentence] + 1):
            if tokens.opens[t] == 2:
                quotes = 1 - quotes
            else:
                depth = max(depth + tokens.opens[t], 0)
            if t < last:
                n = keys_at(tokens, first, last, t, b, depth, quotes, keys)
            elif (
                t == last == ends[sentence]
                and t + 1 < len(tokens.hashes)
                and tokens.firsts[t] > LAST_OF_WORDS
            ):
                # the end of a paragraph is no question; but a mark that ends one ends sentences
                # elsewhere, and some treebanks have hardly other examples: as if a space followed
                tokens.gaps[t] = 1
                n = keys_at(tokens, first, lasts[p + 1], t, b, depth, quotes, keys)
                tokens.gaps[t] = 3
            else:
                break
            score = total(weights, keys, n, shift)
            gold = 1.0 if t == ends[sentence] else 0.0
            loss += step(weights, squares, keys, n, shift, score, gold, rate)
    return loss


@njit
def answer(tokens, lasts, weights, shift, threshold, decided, odds):
    """For each token whether a sentence ends with it.

    ``decided`` (tokens,) 1: one does, -1: none does, 0: open; ``odds`` (tokens,) gets the scores
    of open ones, less the threshold.  Either may be of no tokens.
    """
    keys = np.empty(N_KEYS, np.uint64)
    is_end = np.zeros(len(tokens.hashes), np.bool_)
    for p in range(len(lasts)):
        first = lasts[p - 1] + 1 if p > 0 else 0
        b = first
        depth, quotes = 0, 0
        for t in range(first, lasts[p]):
            if tokens.opens[t] == 2:
                quotes = 1 - quotes
            else:
                depth = max(depth + tokens.opens[t], 0)
            if len(decided) > 0 and decided[t] != 0:
                score = float(decided[t])
            else:
                n = keys_at(tokens, first, lasts[p], t, b, depth, quotes, keys)
                score = float(total(weights, keys, n, shift)) - threshold
                if len(odds) > 0:
                    odds[t] = score
            if score > 0.0:
                is_end[t] = True
                b = t + 1
                depth, quotes = 0, 0
        is_end[lasts[p]] = True
    return is_end
