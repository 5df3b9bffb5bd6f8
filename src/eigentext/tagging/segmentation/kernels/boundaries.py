"""Does a token end here?  Features of every place between two characters, training, answers.

A chunk is what stands between two white spaces.  At each place j inside of it the model sees the
characters around j, the chunk, the token that has begun at s < j, and what the dictionary knows.
Where the treebank has spaces inside tokens, the white space before a chunk is such a place too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import Int64s, UInt8s, UInt32s, UInt64s
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
WHOLE = 48  # a chunk up to this length is looked at as a whole
LONGEST = 14  # the dictionary is asked for strings up to this length
GLUED, CUT, JOINED = 1, 2, 3  # in ``Text.glue``: no token begins here; one does; none does


class Text(NamedTuple):
    """A squeezed text and its chunks."""

    chars: UInt32s
    classes: UInt8s
    glue: UInt8s  # GLUED inside of a grapheme; CUT or JOINED where a person decided
    starts: Int64s  # of chunks
    ends: Int64s  # of chunks
    hashes: UInt64s  # of each chunk
    longest: UInt8s  # at each place the length of the longest known token that begins there
    ended: Int64s  # in training, where the token ends that begins at each place, 0 for none


class Known(NamedTuple):
    """A table of the hashes of tokens."""

    keys: UInt32s
    counts: UInt8s  # how often each was seen


@njit
def chunks_of(chars, classes):
    """(starts, ends, hashes) of the chunks of a squeezed text."""
    n = 0
    for i in range(1, len(classes)):
        if classes[i] > SPACE and classes[i - 1] <= SPACE:
            n += 1
    starts = np.empty(n, np.int64)
    ends = np.empty(n, np.int64)
    hashes = np.empty(n, np.uint64)
    n = 0
    for i in range(1, len(classes)):
        if classes[i] > SPACE and classes[i - 1] <= SPACE:  # a chunk begins behind white space
            starts[n] = i
        if classes[i] <= SPACE and classes[i - 1] > SPACE:
            ends[n] = i
            hashes[n] = string_key(chars, max(starts[n], i - WHOLE), i)
            n += 1
    return starts, ends, hashes


@njit
def seen(key, length, start, text_ended, dictionary):
    """How often a string is a token in the training text, but for this very one."""
    count = value_of(key, dictionary.keys, dictionary.counts)
    # in training: this token itself does not count
    if text_ended[start] == start + length and count > 0:
        count -= 1
    return count


@njit
def longest_known(chars, classes, ended, dictionary, spaces):
    """At each place the length of the longest token of the dictionary that begins there."""
    longest = np.zeros(len(chars), np.uint8)
    for i in range(len(chars)):
        if classes[i] <= SPACE:
            continue
        key = SEED
        for length in range(1, LONGEST + 1):
            at = i + length - 1
            if classes[at] == PARAGRAPH_CLASS or (classes[at] == SPACE and not spaces):
                break
            key = mix(key, chars[at])  # the hash grows letter by letter
            if classes[at] != SPACE and seen(key, length, i, ended, dictionary) > 0:
                longest[i] = length
    return longest


@njit
def inside_keys(text, dictionary, chunk, j, s, token_key, front, back, out):
    """Features of a place inside of a chunk; how many."""
    c, k = text.chars, text.classes
    start, end = text.starts[chunk], text.ends[chunk]
    n = 0
    # letters before j (a1 to a5) and behind it (b1 to b5), and their classes (x, y)
    a1 = mix(np.uint64(1), c[j - 1])
    a2 = mix(a1, c[j - 2])
    a3 = mix(a2, c[j - 3])
    a4 = mix(a3, c[j - 4])
    a5 = mix(a4, c[j - 5])
    b1 = mix(np.uint64(2), c[j])
    b2 = mix(b1, c[j + 1])
    b3 = mix(b2, c[j + 2])
    b4 = mix(b3, c[j + 3])
    b5 = mix(b4, c[j + 4])
    x1 = mix(np.uint64(3), k[j - 1])
    x2 = mix(x1, k[j - 2])
    x3 = mix(x2, k[j - 3])
    x4 = mix(x3, k[j - 4])
    y1 = mix(np.uint64(4), k[j])
    y2 = mix(y1, k[j + 1])
    y3 = mix(y2, k[j + 2])
    y4 = mix(y3, k[j + 3])
    for key in (a1, a2, a3, a4, a5, b1, b2, b3, b4, b5):
        out[n] = key
        n += 1
    out[n] = mix(a1, b1)
    out[n + 1] = mix(a2, b1)
    out[n + 2] = mix(a1, b2)
    out[n + 3] = mix(a2, b2)
    out[n + 4] = mix(a3, b1)
    out[n + 5] = mix(a1, b3)
    out[n + 6] = mix(a3, b2)
    out[n + 7] = mix(a2, b3)
    out[n + 8] = mix(a3, b3)
    out[n + 9] = mix(a4, b4)
    out[n + 10] = mix(x1, y1)
    out[n + 11] = mix(x2, y2)
    out[n + 12] = mix(x3, y3)
    out[n + 13] = mix(x4, y1)
    out[n + 14] = mix(x1, y4)
    out[n + 15] = mix(x4, y4)
    out[n + 16] = mix(a1, y2)
    out[n + 17] = mix(x2, b1)
    out[n + 18] = mix(a1, y3)
    out[n + 19] = mix(x3, b1)
    n += 20
    kinds = mix(x1, y1)  # classes of the letters on both sides
    before, behind = min(j - start, 8), min(end - j, 8)
    out[n] = mix(mix(mix(np.uint64(5), before), k[j - 1]), b1)
    out[n + 1] = mix(mix(mix(np.uint64(6), behind), k[j]), a1)
    out[n + 2] = mix(mix(mix(np.uint64(7), before), behind), kinds)
    n += 3
    following = k[end + 1]  # class of the first letter of the next chunk
    if end - start <= WHOLE:
        out[n] = mix(mix(np.uint64(8), front), back)
        out[n + 1] = mix(np.uint64(9), front)
        out[n + 2] = mix(np.uint64(10), back)
        out[n + 3] = mix(mix(np.uint64(11), front), b1)
        out[n + 4] = mix(mix(np.uint64(12), back), a1)
        out[n + 5] = mix(mix(np.uint64(13), front), following)
        n += 6
    out[n] = mix(mix(mix(np.uint64(14), behind), a1), mix(b1, following))
    out[n + 1] = mix(mix(np.uint64(15), token_key), b1)
    out[n + 2] = mix(mix(np.uint64(16), token_key), b2)
    out[n + 3] = mix(mix(np.uint64(17), token_key), y1)
    out[n + 4] = mix(mix(np.uint64(18), min(j - s, 12)), kinds)
    n += 5
    # the dictionary: is s..j a token, which is the longest from s, which from j
    # how often s..j is a token elsewhere
    ours = bucket(seen(token_key, j - s, s, text.ended, dictionary))
    there, here = np.int64(text.longest[s]), np.int64(text.longest[j])
    # none from s; shorter than j - s, just that, or longer
    relation = 0 if there == 0 else (1 if there < j - s else (2 if there == j - s else 3))
    out[n] = mix(mix(np.uint64(19), ours), kinds)
    out[n + 1] = mix(mix(mix(np.uint64(20), ours), relation), min(here, 8))
    out[n + 2] = mix(mix(mix(np.uint64(21), relation), min(there, 8)), min(here, 8))
    out[n + 3] = mix(mix(mix(mix(np.uint64(22), ours), relation), min(here, 4)), kinds)
    rest = 0  # does the longest token from j reach the end of the chunk, or go beyond?
    if here > 0:
        rest = 1 if j + here < end else (2 if j + here == end else 3)
    out[n + 4] = mix(mix(mix(mix(np.uint64(23), ours > 0), relation), rest), kinds)
    n += 5
    if end - j <= 2:  # a mark at the end of the chunk: what comes next tells what it is
        ahead = mix(b2, following)
        out[n] = mix(mix(np.uint64(24), k[j - 1]), ahead)
        out[n + 1] = mix(mix(np.uint64(25), a3), ahead)
        out[n + 2] = mix(mix(mix(np.uint64(26), x3), min(j - start, 6)), ahead)
        n += 3
        if k[end] == SPACE:
            out[n] = mix(mix(np.uint64(27), text.hashes[chunk + 1]), b2)
            out[n + 1] = mix(mix(mix(np.uint64(28), text.hashes[chunk + 1]), b2), k[j - 1])
            n += 2
    return n


@njit
def gap_keys(text, dictionary, chunk, s, token_key, out):
    """Features of the white space before a chunk: does the token from s go on behind it?"""
    c, k = text.chars, text.classes
    start, end = text.starts[chunk], text.ends[chunk]
    j = start - 1
    # the chunks on both sides of the space
    left, right = text.hashes[chunk - 1], text.hashes[chunk]
    more = text.hashes[chunk + 1] if k[end] == SPACE else np.uint64(0)
    less = np.uint64(0)
    if k[text.starts[chunk - 1] - 1] == SPACE:
        less = text.hashes[chunk - 2]
    x1 = mix(np.uint64(33), k[j - 1])
    x2 = mix(x1, k[j - 2])
    x3 = mix(x2, k[j - 3])
    y1 = mix(np.uint64(34), k[start])
    y2 = mix(y1, k[start + 1])
    y3 = mix(y2, k[start + 2])
    y4 = mix(y3, k[start + 3])
    kinds = mix(x1, y1)
    n = 0
    out[n] = mix(np.uint64(35), left)
    out[n + 1] = mix(np.uint64(36), right)
    out[n + 2] = mix(mix(np.uint64(37), left), right)
    out[n + 3] = mix(np.uint64(38), token_key)
    out[n + 4] = mix(mix(np.uint64(39), token_key), right)
    out[n + 5] = mix(mix(np.uint64(40), right), more)
    out[n + 6] = mix(mix(np.uint64(41), less), left)
    out[n + 7] = mix(mix(mix(np.uint64(42), less), left), right)
    out[n + 8] = mix(mix(mix(np.uint64(43), left), right), more)
    out[n + 9] = kinds
    out[n + 10] = mix(x3, y3)
    out[n + 11] = mix(mix(x3, y4), min(end - start, 8))
    out[n + 12] = mix(mix(mix(np.uint64(44), min(j - s, 8)), min(end - start, 8)), kinds)
    out[n + 13] = mix(mix(np.uint64(45), left), y2)
    out[n + 14] = mix(mix(np.uint64(46), right), x2)
    n += 15
    key = mix(token_key, c[j])
    for at in range(start, min(end, start + WHOLE)):
        key = mix(key, c[at])
    ours = bucket(seen(token_key, j - s, s, text.ended, dictionary))
    both = bucket(seen(key, end - s, s, text.ended, dictionary))
    there, here = np.int64(text.longest[s]), np.int64(text.longest[start])
    relation = 0 if there == 0 else (1 if there < j - s else (2 if there == j - s else 3))
    wider = 1 if here > end - start else 0
    out[n] = mix(mix(mix(np.uint64(47), ours), both), relation)
    out[n + 1] = mix(mix(mix(np.uint64(48), ours), both), wider)
    out[n + 2] = mix(mix(mix(np.uint64(49), both), relation), kinds)
    out[n + 3] = mix(mix(mix(np.uint64(50), both), relation), wider)
    n += 4
    return n


@njit
def chunk_hashes(chars, start, end, fronts, backs):
    """Hashes of the letters of a chunk up to each place, and from each place on."""
    length = min(end - start, WHOLE)
    key = SEED
    fronts[0] = key
    for i in range(length):
        key = mix(key, chars[start + i])
        fronts[i + 1] = key
    key = SEED
    backs[length] = key
    for i in range(length - 1, -1, -1):
        key = mix(key, chars[start + i])
        backs[i] = key


@njit
def train(text, dictionary, token_starts, order, weights, squares, shift, rate, spaces):
    """One pass over the chunks; the sum of the losses.  ``token_starts``: one a place."""
    keys = np.empty(N_KEYS, np.uint64)
    fronts = np.empty(WHOLE + 1, np.uint64)
    backs = np.empty(WHOLE + 1, np.uint64)
    loss = 0.0
    for o in range(len(order)):
        chunk = order[o]
        start, end = text.starts[chunk], text.ends[chunk]
        s = start
        if spaces and text.classes[start - 1] == SPACE:
            s = token_starts[start - 2]
            key = string_key(text.chars, s, start - 1)
            n = gap_keys(text, dictionary, chunk, s, key, keys)
            # 1: the white space ends the token
            gold = 1.0 if token_starts[start] == start else 0.0
            score = total(weights, keys, n, shift)
            loss += step(weights, squares, keys, n, shift, score, gold, rate)
            s = token_starts[start]
        key = string_key(text.chars, s, start)
        if end - start > 1:
            chunk_hashes(text.chars, start, end, fronts, backs)
        for j in range(start + 1, end):
            key = mix(key, text.chars[j - 1])
            if text.glue[j]:  # inside of a grapheme or an address
                continue
            at = min(j - start, WHOLE)
            n = inside_keys(text, dictionary, chunk, j, s, key, fronts[at], backs[at], keys)
            gold = 1.0 if token_starts[j] == j else 0.0
            score = total(weights, keys, n, shift)
            loss += step(weights, squares, keys, n, shift, score, gold, rate)
            if gold:
                s = j
                key = SEED
    return loss


@njit
def answer(text, dictionary, weights, shift, spaces, odds):
    """(starts, ends) of the tokens; ``odds`` (places, or none) gets the score of every place."""
    keys = np.empty(N_KEYS, np.uint64)
    fronts = np.empty(WHOLE + 1, np.uint64)
    backs = np.empty(WHOLE + 1, np.uint64)
    most = 0
    for chunk in range(len(text.starts)):
        most += text.ends[chunk] - text.starts[chunk]
    starts = np.empty(most, np.int64)
    ends = np.empty(most, np.int64)
    count = 0  # tokens that have ended
    s = np.int64(0)
    key = SEED
    for chunk in range(len(text.starts)):
        start, end = text.starts[chunk], text.ends[chunk]
        joined = False  # does the token go on over the white space?
        if text.classes[start - 1] == SPACE and chunk > 0:
            decided = text.glue[start]
            if decided in (CUT, JOINED):
                joined = decided == JOINED
            elif spaces:
                n = gap_keys(text, dictionary, chunk, s, key, keys)
                score = total(weights, keys, n, shift)
                joined = score < 0.0
                if len(odds) > 0:
                    odds[start] = score
        if joined:
            key = mix(key, text.chars[start - 1])
        else:
            if chunk > 0:
                starts[count], ends[count] = s, text.ends[chunk - 1]
                count += 1
            s = start
            key = SEED
        if end - start > 1:
            chunk_hashes(text.chars, start, end, fronts, backs)
        for j in range(start + 1, end):
            key = mix(key, text.chars[j - 1])
            if text.glue[j] == GLUED or text.glue[j] == JOINED:
                continue
            score = 1.0
            if text.glue[j] != CUT:
                at = min(j - start, WHOLE)
                n = inside_keys(text, dictionary, chunk, j, s, key, fronts[at], backs[at], keys)
                score = float(total(weights, keys, n, shift))
                if len(odds) > 0:
                    odds[j] = score
            if score > 0.0:
                starts[count], ends[count] = s, j
                count += 1
                s = j
                key = SEED
        key = mix(key, text.chars[end - 1])
    if len(text.starts):
        starts[count], ends[count] = s, text.ends[len(text.ends) - 1]
        count += 1
    return starts[:count], ends[:count]


@njit
def token_keys(chars, starts, ends):
    """The hashes of tokens."""
    keys = np.empty(len(starts), np.uint64)
    for t in range(len(starts)):
        keys[t] = string_key(chars, starts[t], ends[t])
    return keys
