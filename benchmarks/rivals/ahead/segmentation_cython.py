# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, infer_types=True
"""The loops of segmentation in Cython's pure Python mode: `benchmarks/ahead_of_time.py`.

A twin of ``eigentext.tagging.segmentation.kernels`` with ``mix`` and ``adagrad``, in the same
order; what its comments say of features stands there.  Cython makes C of it.  As plain Python it
does not run: whole numbers would not wrap, and ``cython.cimports`` is no module.
"""

import cython
import numpy as np
from cython.cimports.libc.math import exp, log, sqrtf

Count = cython.fused_type(cython.uchar, cython.ushort)
Weight = cython.fused_type(cython.float, cython.schar)

MIXER = cython.declare(cython.ulonglong, 0x9E3779B97F4A7C15)
SCATTER = cython.declare(cython.uint, 0x9E3779B1)
SEED = cython.declare(cython.ulonglong, 0x51A7)
PARAGRAPH = cython.declare(cython.int, 10)
LINE_BREAK = cython.declare(cython.int, 11)
BLANK = cython.declare(cython.int, 32)
PARAGRAPH_CLASS = cython.declare(cython.int, 1)
SPACE = cython.declare(cython.int, 2)
REACH = cython.declare(cython.int, 8)
EXTENDS = cython.declare(cython.int, 1)
JOINS = cython.declare(cython.int, 2)
FLAG = cython.declare(cython.int, 3)
LEADING = cython.declare(cython.int, 4)
VOWEL = cython.declare(cython.int, 5)
TRAILING = cython.declare(cython.int, 6)
OPEN_SYLLABLE = cython.declare(cython.int, 7)
SYLLABLE = cython.declare(cython.int, 8)
PICTURE = cython.declare(cython.int, 9)
N_KEYS = cython.declare(cython.int, 64)
WHOLE = cython.declare(cython.int, 48)
LONGEST = cython.declare(cython.int, 14)
GLUED = cython.declare(cython.int, 1)
CUT = cython.declare(cython.int, 2)
JOINED = cython.declare(cython.int, 3)
LAST_OF_WORDS = cython.declare(cython.int, 13)
MOST_OWN = cython.declare(cython.int, 8)


@cython.cclass
class Text:
    """A squeezed text and its chunks, as ``boundaries.Text`` has them."""

    chars: cython.const[cython.uint][::1]
    classes: cython.const[cython.uchar][::1]
    glue: cython.const[cython.uchar][::1]
    starts: cython.const[cython.longlong][::1]
    ends: cython.const[cython.longlong][::1]
    hashes: cython.const[cython.ulonglong][::1]
    longest: cython.const[cython.uchar][::1]
    ended: cython.const[cython.longlong][::1]

    def __init__(self, squeezed):
        self.chars, self.classes, self.glue, self.starts = squeezed[:4]
        self.ends, self.hashes, self.longest, self.ended = squeezed[4:]


@cython.cclass
class Known:
    """A table of the hashes of tokens."""

    keys: cython.const[cython.uint][::1]
    counts: cython.const[cython.uchar][::1]

    def __init__(self, known):
        self.keys, self.counts = known


@cython.cclass
class Tokens:
    """The tokens of a squeezed text, as ``sentence_ends.Tokens`` has them."""

    hashes: cython.ulonglong[::1]
    shapes: cython.ulonglong[::1]
    firsts: cython.uchar[::1]
    lasts: cython.ulonglong[::1]
    lengths: cython.longlong[::1]
    gaps: cython.uchar[::1]
    opens: cython.schar[::1]
    cases: cython.ulonglong[::1]
    begins: cython.ulonglong[::1]
    finals: cython.ulonglong[::1]
    endings: cython.ulonglong[::1]
    tails: cython.ulonglong[:, ::1]
    heads: cython.ulonglong[:, ::1]

    def __init__(self, described):
        self.hashes, self.shapes, self.firsts, self.lasts, self.lengths = described[:5]
        self.gaps, self.opens, self.cases, self.begins, self.finals = described[5:10]
        self.endings, self.tails, self.heads = described[10:]


@cython.cfunc
@cython.exceptval(check=False)
@cython.inline
def mix(key: cython.ulonglong, part: cython.ulonglong) -> cython.ulonglong:
    """A key with one more part."""
    key = (key ^ part) * MIXER
    return key ^ (key >> 29)


@cython.cfunc
@cython.exceptval(check=False)
@cython.inline
def adagrad(
    weights: cython.float[::1],
    squares: cython.float[::1],
    at: cython.ulonglong,
    gradient: cython.double,
    rate: cython.double,
) -> cython.void:
    """One weight goes up its gradient."""
    squares[at] += gradient * gradient
    weights[at] += rate * gradient / sqrtf(squares[at])


@cython.cfunc
@cython.exceptval(check=False)
def first_at_least(
    rising: cython.const[cython.longlong][::1], value: cython.longlong
) -> cython.longlong:
    """Where a value would stand, as ``np.searchsorted`` says it."""
    low: cython.longlong = 0
    high: cython.longlong = len(rising)
    while low < high:
        middle = (low + high) // 2
        if rising[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


# ---------------------------------------------------------------- squeeze


@cython.cfunc
@cython.exceptval(check=False)
def is_break(codes: cython.const[cython.uint][::1], i: cython.longlong) -> cython.int:
    """How many line breaks the white space at i is; the two characters of CRLF are one."""
    code = codes[i]
    if code == 0x2029:
        return 2
    if code == 13:
        return 0 if i + 1 < len(codes) and codes[i + 1] == 10 else 1
    if code == 10 or code == 11 or code == 12 or code == 0x85 or code == 0x2028:
        return 1
    return 0


@cython.cfunc
@cython.exceptval(check=False)
def sticks(before: cython.int, here: cython.int, flags: cython.longlong) -> cython.bint:
    """Whether a character is of one grapheme with that before it; ``flags``: how many before."""
    if here in (EXTENDS, JOINS):
        return True
    if before == JOINS:
        return here == PICTURE
    if here == FLAG:
        return before == FLAG and flags % 2 == 1
    if before == LEADING:
        return here in (LEADING, VOWEL, OPEN_SYLLABLE, SYLLABLE)
    if before in (VOWEL, OPEN_SYLLABLE):
        return here in (VOWEL, TRAILING)
    if before in (TRAILING, SYLLABLE):
        return here == TRAILING
    return False


def squeeze(
    codes: cython.const[cython.uint][::1],
    tables,
    paragraphs: cython.bint,
    line_breaks: cython.bint,
):
    """(chars, classes, glue, at) of a text; see ``characters.Squeezed``."""
    class_of: cython.const[cython.uchar][::1]
    folded: cython.const[cython.uint][::1]
    glue_of: cython.const[cython.uchar][::1]
    class_of, folded, glue_of = tables
    n_codes = len(codes)
    # each gap makes one character, or REACH of them where two line breaks or more are
    size = n_codes + 2 * REACH
    for i in range(n_codes):
        if class_of[codes[i]] == SPACE and is_break(codes, i) > 0:
            size += REACH
    chars: cython.uint[::1] = np.empty(size, np.uint32)
    classes: cython.uchar[::1] = np.empty(size, np.uint8)
    glue: cython.uchar[::1] = np.zeros(size, np.uint8)
    at: cython.longlong[::1] = np.empty(size, np.int64)
    n = 0
    for _ in range(REACH):
        chars[n], classes[n], at[n] = PARAGRAPH, PARAGRAPH_CLASS, 0
        n += 1
    i = 1 if n_codes > 0 and codes[0] == 0xFEFF else 0  # a byte order mark is no text
    flags = 0
    while i < n_codes:
        if class_of[codes[i]] != SPACE:
            chars[n], classes[n], at[n] = folded[codes[i]], class_of[codes[i]], i
            here = glue_of[codes[i]]
            if classes[n - 1] != SPACE and classes[n - 1] != PARAGRAPH_CLASS:
                glue[n] = sticks(glue_of[codes[i - 1]], here, flags)
            else:
                flags = 0
            flags = flags + 1 if here == FLAG else 0
            n += 1
            i += 1
            continue
        first = i
        breaks = 0
        while i < n_codes and class_of[codes[i]] == SPACE:
            breaks += is_break(codes, i)
            i += 1
        if classes[n - 1] == PARAGRAPH_CLASS or i == n_codes:
            continue  # at either end of a paragraph
        if breaks > 1 and paragraphs:
            for _ in range(REACH):
                chars[n], classes[n], at[n] = PARAGRAPH, PARAGRAPH_CLASS, first
                n += 1
        else:
            chars[n] = LINE_BREAK if breaks and line_breaks else BLANK
            classes[n], at[n] = SPACE, first
            n += 1
    for _ in range(REACH):
        chars[n], classes[n], at[n] = PARAGRAPH, PARAGRAPH_CLASS, n_codes
        n += 1
    squeezed = np.asarray(chars), np.asarray(classes), np.asarray(glue), np.asarray(at)
    return tuple([array[:n] for array in squeezed])


# ---------------------------------------------------------------- tables


@cython.cfunc
@cython.exceptval(check=False)
def string_key(
    chars: cython.const[cython.uint][::1], start: cython.longlong, end: cython.longlong
) -> cython.ulonglong:
    """The hash of chars[start:end], the same as one extended letter by letter with ``mix``."""
    key = SEED
    for i in range(start, end):
        key = mix(key, chars[i])
    return key


@cython.cfunc
@cython.exceptval(check=False)
@cython.inline
def short(key: cython.ulonglong) -> cython.uint:
    """A key as a table keeps it: 32 bits, never 0."""
    half: cython.uint = cython.cast(cython.uint, key >> 32)
    return half if half != 0 else 1


def fill(
    keys: cython.const[cython.uint][::1],
    values: cython.const[Count][::1],
    table_keys: cython.uint[::1],
    table_values: Count[::1],
):
    """Put distinct 32-bit keys into an empty table (a power of two, at most half full)."""
    mask: cython.uint = cython.cast(cython.uint, len(table_keys) - 1)  # its size is a power of two
    for n in range(len(keys)):
        at: cython.uint = (keys[n] * SCATTER) & mask
        while table_keys[at] != 0:
            at = (at + 1) & mask
        table_keys[at] = keys[n]
        table_values[at] = values[n]


@cython.cfunc
@cython.exceptval(check=False)
@cython.inline
def value_of(
    key: cython.ulonglong,
    table_keys: cython.const[cython.uint][::1],
    table_values: cython.const[Count][::1],
) -> cython.int:
    """The value of a 64-bit key, 0 for one that is not there."""
    half = short(key)
    mask: cython.uint = cython.cast(cython.uint, len(table_keys) - 1)
    at: cython.uint = (half * SCATTER) & mask
    while table_keys[at] != 0:
        if table_keys[at] == half:
            return table_values[at]
        at = (at + 1) & mask
    return 0


@cython.cfunc
@cython.exceptval(check=False)
def bucket(count: cython.longlong) -> cython.int:
    """0, 1-2, 3-6, 7-14, ..., from 63 on: how often, roughly."""
    step = 0
    while count > 0:
        count = (count - 1) >> 1 if count > 1 else 0
        step += 1
    return min(step, 7)


@cython.cfunc
@cython.exceptval(check=False)
@cython.inline
def total(
    weights: cython.const[Weight][::1],
    keys: cython.ulonglong[::1],
    n: cython.int,
    shift: cython.int,
) -> cython.double:
    """The sum of the weights of n features."""
    score = 0.0
    for f in range(n):
        score += weights[keys[f] >> shift]
    return score


@cython.cfunc
@cython.exceptval(check=False)
@cython.inline
def step(
    weights: cython.float[::1],
    squares: cython.float[::1],
    keys: cython.ulonglong[::1],
    n: cython.int,
    shift: cython.int,
    score: cython.double,
    gold: cython.double,
    rate: cython.double,
) -> cython.double:
    """One step of AdaGrad on the logistic loss; the loss before it."""
    chance = 1.0 / (1.0 + exp(-min(max(score, -30.0), 30.0)))  # p of the logistic model
    slope = chance - gold
    if abs(slope) < 0.005:  # sure enough: nothing to learn
        return 0.0
    for f in range(n):
        adagrad(weights, squares, keys[f] >> shift, -slope, rate)
    return -log(chance if gold else 1.0 - chance)


# ---------------------------------------------------------------- boundaries


def chunks_of(chars: cython.const[cython.uint][::1], classes: cython.const[cython.uchar][::1]):
    """(starts, ends, hashes) of the chunks of a squeezed text."""
    n = 0
    for i in range(1, len(classes)):
        if classes[i] > SPACE and classes[i - 1] <= SPACE:
            n += 1
    starts: cython.longlong[::1] = np.empty(n, np.int64)
    ends: cython.longlong[::1] = np.empty(n, np.int64)
    hashes: cython.ulonglong[::1] = np.empty(n, np.uint64)
    n = 0
    for i in range(1, len(classes)):
        if classes[i] > SPACE and classes[i - 1] <= SPACE:  # a chunk begins behind white space
            starts[n] = i
        if classes[i] <= SPACE and classes[i - 1] > SPACE:
            ends[n] = i
            hashes[n] = string_key(chars, max(starts[n], i - WHOLE), i)
            n += 1
    return np.asarray(starts), np.asarray(ends), np.asarray(hashes)


@cython.cfunc
@cython.exceptval(check=False)
@cython.inline
def seen(
    key: cython.ulonglong,
    length: cython.longlong,
    start: cython.longlong,
    text_ended: cython.const[cython.longlong][::1],
    dictionary: Known,
) -> cython.int:
    """How often a string is a token in the training text, but for this very one."""
    count = value_of(key, dictionary.keys, dictionary.counts)
    # in training: this token itself does not count
    if text_ended[start] == start + length and count > 0:
        count -= 1
    return count


def longest_known(
    chars: cython.const[cython.uint][::1],
    classes: cython.const[cython.uchar][::1],
    ended: cython.const[cython.longlong][::1],
    known,
    spaces: cython.bint,
):
    """At each place the length of the longest token of the dictionary that begins there."""
    dictionary = Known(known)
    longest: cython.uchar[::1] = np.zeros(len(chars), np.uint8)
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
    return np.asarray(longest)


@cython.cfunc
@cython.exceptval(check=False)
def inside_keys(
    text: Text,
    dictionary: Known,
    chunk: cython.longlong,
    j: cython.longlong,
    s: cython.longlong,
    token_key: cython.ulonglong,
    front: cython.ulonglong,
    back: cython.ulonglong,
    out: cython.ulonglong[::1],
) -> cython.int:
    """Features of a place inside of a chunk; how many."""
    c, k = text.chars, text.classes
    start, end = text.starts[chunk], text.ends[chunk]
    n = 0
    # letters before j (a1 to a5) and behind it (b1 to b5), and their classes (x, y)
    a1 = mix(1, c[j - 1])
    a2 = mix(a1, c[j - 2])
    a3 = mix(a2, c[j - 3])
    a4 = mix(a3, c[j - 4])
    a5 = mix(a4, c[j - 5])
    b1 = mix(2, c[j])
    b2 = mix(b1, c[j + 1])
    b3 = mix(b2, c[j + 2])
    b4 = mix(b3, c[j + 3])
    b5 = mix(b4, c[j + 4])
    x1 = mix(3, k[j - 1])
    x2 = mix(x1, k[j - 2])
    x3 = mix(x2, k[j - 3])
    x4 = mix(x3, k[j - 4])
    y1 = mix(4, k[j])
    y2 = mix(y1, k[j + 1])
    y3 = mix(y2, k[j + 2])
    y4 = mix(y3, k[j + 3])
    out[0] = a1
    out[1] = a2
    out[2] = a3
    out[3] = a4
    out[4] = a5
    out[5] = b1
    out[6] = b2
    out[7] = b3
    out[8] = b4
    out[9] = b5
    n = 10
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
    out[n] = mix(mix(mix(5, before), k[j - 1]), b1)
    out[n + 1] = mix(mix(mix(6, behind), k[j]), a1)
    out[n + 2] = mix(mix(mix(7, before), behind), kinds)
    n += 3
    following = k[end + 1]  # class of the first letter of the next chunk
    if end - start <= WHOLE:
        out[n] = mix(mix(8, front), back)
        out[n + 1] = mix(9, front)
        out[n + 2] = mix(10, back)
        out[n + 3] = mix(mix(11, front), b1)
        out[n + 4] = mix(mix(12, back), a1)
        out[n + 5] = mix(mix(13, front), following)
        n += 6
    out[n] = mix(mix(mix(14, behind), a1), mix(b1, following))
    out[n + 1] = mix(mix(15, token_key), b1)
    out[n + 2] = mix(mix(16, token_key), b2)
    out[n + 3] = mix(mix(17, token_key), y1)
    out[n + 4] = mix(mix(18, min(j - s, 12)), kinds)
    n += 5
    # the dictionary: is s..j a token, which is the longest from s, which from j
    # how often s..j is a token elsewhere
    ours = bucket(seen(token_key, j - s, s, text.ended, dictionary))
    there, here = text.longest[s], text.longest[j]
    # none from s; shorter than j - s, just that, or longer
    relation = 0 if there == 0 else (1 if there < j - s else (2 if there == j - s else 3))
    out[n] = mix(mix(19, ours), kinds)
    out[n + 1] = mix(mix(mix(20, ours), relation), min(here, 8))
    out[n + 2] = mix(mix(mix(21, relation), min(there, 8)), min(here, 8))
    out[n + 3] = mix(mix(mix(mix(22, ours), relation), min(here, 4)), kinds)
    rest = 0  # does the longest token from j reach the end of the chunk, or go beyond?
    if here > 0:
        rest = 1 if j + here < end else (2 if j + here == end else 3)
    out[n + 4] = mix(mix(mix(mix(23, ours > 0), relation), rest), kinds)
    n += 5
    if end - j <= 2:  # a mark at the end of the chunk: what comes next tells what it is
        ahead = mix(b2, following)
        out[n] = mix(mix(24, k[j - 1]), ahead)
        out[n + 1] = mix(mix(25, a3), ahead)
        out[n + 2] = mix(mix(mix(26, x3), min(j - start, 6)), ahead)
        n += 3
        if k[end] == SPACE:
            out[n] = mix(mix(27, text.hashes[chunk + 1]), b2)
            out[n + 1] = mix(mix(mix(28, text.hashes[chunk + 1]), b2), k[j - 1])
            n += 2
    return n


@cython.cfunc
@cython.exceptval(check=False)
def gap_keys(
    text: Text,
    dictionary: Known,
    chunk: cython.longlong,
    s: cython.longlong,
    token_key: cython.ulonglong,
    out: cython.ulonglong[::1],
) -> cython.int:
    """Features of the white space before a chunk: does the token from s go on behind it?"""
    c, k = text.chars, text.classes
    start, end = text.starts[chunk], text.ends[chunk]
    j = start - 1
    # the chunks on both sides of the space
    left, right = text.hashes[chunk - 1], text.hashes[chunk]
    more = text.hashes[chunk + 1] if k[end] == SPACE else 0
    less = 0
    if k[text.starts[chunk - 1] - 1] == SPACE:
        less = text.hashes[chunk - 2]
    x1 = mix(33, k[j - 1])
    x2 = mix(x1, k[j - 2])
    x3 = mix(x2, k[j - 3])
    y1 = mix(34, k[start])
    y2 = mix(y1, k[start + 1])
    y3 = mix(y2, k[start + 2])
    y4 = mix(y3, k[start + 3])
    kinds = mix(x1, y1)
    n = 0
    out[n] = mix(35, left)
    out[n + 1] = mix(36, right)
    out[n + 2] = mix(mix(37, left), right)
    out[n + 3] = mix(38, token_key)
    out[n + 4] = mix(mix(39, token_key), right)
    out[n + 5] = mix(mix(40, right), more)
    out[n + 6] = mix(mix(41, less), left)
    out[n + 7] = mix(mix(mix(42, less), left), right)
    out[n + 8] = mix(mix(mix(43, left), right), more)
    out[n + 9] = kinds
    out[n + 10] = mix(x3, y3)
    out[n + 11] = mix(mix(x3, y4), min(end - start, 8))
    out[n + 12] = mix(mix(mix(44, min(j - s, 8)), min(end - start, 8)), kinds)
    out[n + 13] = mix(mix(45, left), y2)
    out[n + 14] = mix(mix(46, right), x2)
    n += 15
    key = mix(token_key, c[j])
    for at in range(start, min(end, start + WHOLE)):
        key = mix(key, c[at])
    ours = bucket(seen(token_key, j - s, s, text.ended, dictionary))
    both = bucket(seen(key, end - s, s, text.ended, dictionary))
    there, here = text.longest[s], text.longest[start]
    relation = 0 if there == 0 else (1 if there < j - s else (2 if there == j - s else 3))
    wider = 1 if here > end - start else 0
    out[n] = mix(mix(mix(47, ours), both), relation)
    out[n + 1] = mix(mix(mix(48, ours), both), wider)
    out[n + 2] = mix(mix(mix(49, both), relation), kinds)
    out[n + 3] = mix(mix(mix(50, both), relation), wider)
    n += 4
    return n


@cython.cfunc
@cython.exceptval(check=False)
def chunk_hashes(
    chars: cython.const[cython.uint][::1],
    start: cython.longlong,
    end: cython.longlong,
    fronts: cython.ulonglong[::1],
    backs: cython.ulonglong[::1],
) -> cython.void:
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


def boundaries_train(
    squeezed,
    known,
    token_starts: cython.const[cython.longlong][::1],
    order: cython.const[cython.longlong][::1],
    weights: cython.float[::1],
    squares: cython.float[::1],
    shift: cython.int,
    rate: cython.double,
    spaces: cython.bint,
):
    """One pass over the chunks; the sum of the losses.  ``token_starts``: one a place."""
    text, dictionary = Text(squeezed), Known(known)
    keys: cython.ulonglong[::1] = np.empty(N_KEYS, np.uint64)
    fronts: cython.ulonglong[::1] = np.empty(WHOLE + 1, np.uint64)
    backs: cython.ulonglong[::1] = np.empty(WHOLE + 1, np.uint64)
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


def boundaries_answer(
    squeezed,
    known,
    weights: cython.const[Weight][::1],
    shift: cython.int,
    spaces: cython.bint,
    odds: cython.double[::1],
):
    """(starts, ends) of the tokens; ``odds`` (places, or none) gets the score of every place."""
    text, dictionary = Text(squeezed), Known(known)
    keys: cython.ulonglong[::1] = np.empty(N_KEYS, np.uint64)
    fronts: cython.ulonglong[::1] = np.empty(WHOLE + 1, np.uint64)
    backs: cython.ulonglong[::1] = np.empty(WHOLE + 1, np.uint64)
    most = 0
    for chunk in range(len(text.starts)):
        most += text.ends[chunk] - text.starts[chunk]
    starts: cython.longlong[::1] = np.empty(most, np.int64)
    ends: cython.longlong[::1] = np.empty(most, np.int64)
    count = 0  # tokens that have ended
    s = 0
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
    return np.asarray(starts)[:count], np.asarray(ends)[:count]


def token_keys(
    chars: cython.const[cython.uint][::1],
    starts: cython.const[cython.longlong][::1],
    ends: cython.const[cython.longlong][::1],
):
    """The hashes of tokens."""
    keys: cython.ulonglong[::1] = np.empty(len(starts), np.uint64)
    for t in range(len(starts)):
        keys[t] = string_key(chars, starts[t], ends[t])
    return np.asarray(keys)


# ---------------------------------------------------------------- sentence_ends


def habits_of(
    chars: cython.const[cython.uint][::1],
    starts: cython.const[cython.longlong][::1],
    ends: cython.const[cython.longlong][::1],
    table_keys: cython.const[cython.uint][::1],
    table_values: cython.const[Count][::1],
):
    """What is known of the habits of tokens, by a table."""
    habits: cython.ushort[::1] = np.empty(len(starts), np.uint16)
    for t in range(len(starts)):
        key = string_key(chars, starts[t], ends[t])
        habits[t] = value_of(key, table_keys, table_values)
    return np.asarray(habits)


def describe(
    chars: cython.const[cython.uint][::1],
    classes: cython.const[cython.uchar][::1],
    starts: cython.const[cython.longlong][::1],
    ends: cython.const[cython.longlong][::1],
    habits: cython.const[cython.ushort][::1],
    line_break: cython.int,
):
    """``Tokens`` of a squeezed text, by where they start and end and what is known of them."""
    n = len(starts)
    arrays = (
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
    tokens = Tokens(arrays)
    for t in range(n):
        start, end = starts[t], ends[t]
        key, shape, last = SEED, SEED, 0
        for i in range(start, end):
            key = mix(key, chars[i])
            kind = classes[i]
            if kind != last:  # runs of a class count once
                shape = mix(shape, kind)
            last = kind
        tokens.hashes[t], tokens.shapes[t], tokens.firsts[t] = key, shape, classes[start]
        tokens.lasts[t] = mix(mix(end - start > 1, chars[end - 1]), classes[end - 2])
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
        habit = habits[t]
        # three small numbers in one
        case, begin, final = habit & 31, (habit >> 5) & 31, habit >> 10
        tokens.cases[t] = mix(case, kind)
        tokens.begins[t] = mix(begin, kind)
        tokens.finals[t] = mix(final, kind)
        ending = 7  # of the last three letters
        for i in range(max(start, end - 3), end):
            ending = mix(ending, chars[i])
        tokens.endings[t] = mix(ending, kind)
        for k in range(3):
            # the last and the first 2, 3, 4 letters
            tokens.tails[t, k] = string_key(chars, max(start, end - 2 - k), end)
            tokens.heads[t, k] = string_key(chars, start, min(start + 2 + k, end))
    return arrays


@cython.cfunc
@cython.exceptval(check=False)
def keys_at(
    tokens: Tokens,
    first: cython.longlong,
    last: cython.longlong,
    t: cython.longlong,
    b: cython.longlong,
    depth: cython.int,
    quotes: cython.int,
    out: cython.ulonglong[::1],
) -> cython.int:
    """Features of the place behind token t of a paragraph first..last; sentence from b."""
    h, sh = tokens.hashes, tokens.shapes
    none = 99
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
    state = mix(mix(1, min(max(depth, 0), 2)), quotes)  # open brackets and quotes
    n = 0
    out[n] = mix(101, t0)
    out[n + 1] = mix(mix(102, t0), gap)
    out[n + 2] = mix(mix(103, t0), t1)
    out[n + 3] = mix(mix(104, t1), tokens.firsts[t + 1])
    out[n + 4] = mix(mix(105, s0), s1)
    out[n + 5] = mix(mix(mix(106, t0), s1), gap)
    out[n + 6] = mix(mix(mix(107, t0), s1), s2)
    out[n + 7] = mix(mix(mix(108, s0), t1), tokens.firsts[t + 1])
    out[n + 8] = mix(mix(109, tm1), t0)
    out[n + 9] = mix(mix(mix(110, tm1), t0), s1)
    out[n + 10] = mix(mix(mix(111, tm1), t0), t1)
    out[n + 11] = mix(mix(mix(112, t0), t1), t2)
    out[n + 12] = mix(mix(mix(113, t0), s1), case1)
    out[n + 13] = mix(mix(mix(114, s0), s1), case1)
    out[n + 14] = mix(mix(mix(mix(115, sm1), t0), case1), s2)
    out[n + 15] = mix(mix(116, size), t0)
    out[n + 16] = mix(mix(117, size), mix(s0, s1))
    out[n + 17] = mix(mix(118, left), t0)
    out[n + 18] = mix(mix(119, state), t0)
    out[n + 19] = mix(mix(mix(120, state), t0), t1)
    out[n + 20] = mix(mix(mix(121, state), t0), case1)
    out[n + 21] = mix(mix(122, h[b]), t0)
    out[n + 22] = mix(mix(mix(123, sh[b]), s0), s1)
    out[n + 23] = mix(mix(mix(124, tokens.lasts[t]), min(tokens.lengths[t], 6)), s1)
    out[n + 24] = mix(mix(mix(125, tokens.lasts[t]), gap), case1)
    out[n + 25] = mix(mix(126, t1), t2)
    out[n + 26] = mix(mix(mix(127, sm1), s0), mix(s1, s2))
    out[n + 27] = mix(mix(mix(128, tm2), tm1), t0)
    out[n + 28] = mix(mix(mix(129, gap), gap1), mix(s0, s1))
    out[n + 29] = mix(mix(mix(130, gap), case1), size)
    out[n + 30] = mix(mix(mix(131, gap), left), mix(s0, s1))
    out[n + 31] = mix(132, gap)
    out[n + 32] = mix(mix(mix(133, t1), tokens.firsts[t + 1]), gap)
    n += 33
    out[n] = mix(mix(134, s0), begin1)
    out[n + 1] = mix(mix(135, t0), begin1)
    out[n + 2] = mix(mix(136, final0), begin1)
    out[n + 3] = mix(mix(137, final0), case1)
    out[n + 4] = mix(mix(138, final0), s1)
    out[n + 5] = mix(mix(mix(139, final0), case1), begin1)
    out[n + 6] = mix(mix(mix(140, s0), case1), begin1)
    out[n + 7] = mix(mix(141, tokens.endings[t]), begin1)
    out[n + 8] = mix(mix(mix(142, gap), case1), begin1)
    n += 9
    # the last word before t, and the words around, by their affixes
    for k in range(3):
        before = tokens.tails[t - 1, k] if t > first else none
        out[n] = mix(mix(mix(143, k), t0), before)
        out[n + 1] = mix(mix(mix(144, k), tokens.tails[t, k]), gap)
        out[n + 2] = mix(mix(mix(145, k), tokens.heads[t + 1, k]), s0)
        out[n + 3] = mix(mix(mix(146, k), tokens.heads[t + 1, k]), t0)
        n += 4
    return n


def sentence_ends_train(
    described,
    lasts: cython.const[cython.longlong][::1],
    ends: cython.const[cython.longlong][::1],
    order: cython.const[cython.longlong][::1],
    weights: cython.float[::1],
    squares: cython.float[::1],
    shift: cython.int,
    rate: cython.double,
):
    """One pass over sentences, of which ``ends`` has the last tokens; the sum of the losses."""
    tokens = Tokens(described)
    keys: cython.ulonglong[::1] = np.empty(N_KEYS, np.uint64)
    loss = 0.0
    for o in range(len(order)):
        sentence = order[o]
        b = ends[sentence - 1] + 1 if sentence > 0 else 0
        p = first_at_least(lasts, b)  # the paragraph that the sentence is in
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


def sentence_ends_answer(
    described,
    lasts: cython.const[cython.longlong][::1],
    weights: cython.const[Weight][::1],
    shift: cython.int,
    threshold: cython.int,
    decided: cython.const[cython.schar][::1],
    odds: cython.double[::1],
):
    """For each token whether a sentence ends with it.

    ``decided`` (tokens,) 1: one does, -1: none does, 0: open; ``odds`` (tokens,) gets the scores
    of open ones, less the threshold.  Either may be of no tokens.
    """
    tokens = Tokens(described)
    keys: cython.ulonglong[::1] = np.empty(N_KEYS, np.uint64)
    is_end: cython.uchar[::1] = np.zeros(len(tokens.hashes), np.uint8)
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
    return np.asarray(is_end).view(np.bool_)


# ---------------------------------------------------------------- multiword


def with_sides(
    base: cython.const[cython.ulonglong][:, ::1],
    sides: cython.const[cython.ulonglong][:, ::1],
    forms: cython.const[cython.ulonglong][::1],
):
    """Base features and those of the neighbours; the latter joined with a form that is known."""
    n, width, more = len(base), base.shape[1], sides.shape[1]
    out: cython.ulonglong[:, ::1] = np.zeros((n, width + more + 2), np.uint64)
    for i in range(n):
        for f in range(width):
            out[i, f] = mix(f, base[i, f]) if base[i, f] != 0 else 0
        for f in range(more):
            key = mix(100 + f, sides[i, f])  # what stands beside the token
            out[i, width + f] = mix(key, forms[i])
            if forms[i] != 0 and f < 2:
                out[i, width + more + f] = key
    return np.asarray(out)


@cython.cfunc
@cython.exceptval(check=False)
def own_keys(
    counts: cython.const[cython.longlong][::1], key: cython.ulonglong, out: cython.ulonglong[::1]
) -> cython.int:
    """Features of a candidate by its counts; how many."""
    kind, stem, form, length, lemma = counts[0], counts[1], counts[2], counts[3], counts[4]
    if kind == 0:  # of a known form, which needs no counts
        return 0
    if length == 0:  # to keep the token
        out[0] = mix(207, form)
        out[1] = mix(mix(208, form), stem)
        out[2] = mix(209, lemma)
        return 3
    rule = mix(key, stem)
    out[0] = mix(201, rule)
    out[1] = mix(mix(202, rule), form)
    out[2] = mix(mix(mix(203, kind), stem), form)
    out[3] = mix(mix(204, key), length)
    out[4] = mix(mix(mix(205, kind), stem), length)
    out[5] = mix(mix(206, rule), length)
    out[6] = mix(mix(210, key), lemma)
    out[7] = mix(mix(mix(211, kind), stem), lemma)
    return MOST_OWN


@cython.cfunc
@cython.exceptval(check=False)
def scores_of(
    base: cython.const[cython.ulonglong][::1],
    keys: cython.const[cython.ulonglong][::1],
    counts: cython.const[cython.longlong][:, ::1],
    first: cython.longlong,
    last: cython.longlong,
    weights: cython.const[Weight][::1],
    shift: cython.int,
    more: cython.ulonglong[::1],
    scores: cython.double[::1],
) -> cython.void:
    """Scores of the candidates first..last of a token."""
    for c in range(first, last):
        score = 0.0
        for f in range(len(base)):
            if base[f] != 0:
                score += weights[mix(base[f], keys[c]) >> shift]
        for f in range(own_keys(counts[c], keys[c], more)):
            score += weights[more[f] >> shift]
        scores[c - first] = score


def multiword_train(
    base: cython.const[cython.ulonglong][:, ::1],
    starts: cython.const[cython.longlong][::1],
    keys: cython.const[cython.ulonglong][::1],
    counts: cython.const[cython.longlong][:, ::1],
    gold: cython.const[cython.longlong][::1],
    order: cython.const[cython.longlong][::1],
    weights: cython.float[::1],
    squares: cython.float[::1],
    shift: cython.int,
    rate: cython.double,
):
    """One pass of AdaGrad on -log p(gold), p = softmax of the scores; the sum of the losses."""
    most = 1
    for token in range(len(starts) - 1):
        most = max(most, starts[token + 1] - starts[token])
    scores: cython.double[::1] = np.empty(most)
    more: cython.ulonglong[::1] = np.empty(MOST_OWN, np.uint64)
    loss = 0.0
    for o in range(len(order)):
        token = order[o]
        first, last = starts[token], starts[token + 1]
        scores_of(base[token], keys, counts, first, last, weights, shift, more, scores)
        highest = scores[0]
        for c in range(1, last - first):
            highest = max(highest, scores[c])
        total = 0.0
        for c in range(last - first):
            scores[c] = exp(scores[c] - highest)  # softmax over the candidates of the token
            total += scores[c]
        loss -= log(max(scores[gold[token]] / total, 1e-30))
        for c in range(first, last):
            # p(c) - [c is right]
            slope = scores[c - first] / total - (1.0 if c - first == gold[token] else 0.0)
            if abs(slope) < 0.002:
                continue
            for f in range(base.shape[1]):
                if base[token, f] != 0:
                    at = mix(base[token, f], keys[c]) >> shift
                    adagrad(weights, squares, at, -slope, rate)
            for f in range(own_keys(counts[c], keys[c], more)):
                adagrad(weights, squares, more[f] >> shift, -slope, rate)
    return loss


def choose(
    base: cython.const[cython.ulonglong][:, ::1],
    starts: cython.const[cython.longlong][::1],
    keys: cython.const[cython.ulonglong][::1],
    counts: cython.const[cython.longlong][:, ::1],
    weights: cython.const[Weight][::1],
    shift: cython.int,
):
    """The best candidate of each token, the first of equals."""
    most = 1
    for token in range(len(starts) - 1):
        most = max(most, starts[token + 1] - starts[token])
    scores: cython.double[::1] = np.empty(most)
    more: cython.ulonglong[::1] = np.empty(MOST_OWN, np.uint64)
    chosen: cython.longlong[::1] = np.empty(len(starts) - 1, np.int64)
    for token in range(len(chosen)):
        first, last = starts[token], starts[token + 1]
        scores_of(base[token], keys, counts, first, last, weights, shift, more, scores)
        best = 0
        for c in range(1, last - first):
            if scores[c] > scores[best]:
                best = c
        chosen[token] = best
    return np.asarray(chosen)
