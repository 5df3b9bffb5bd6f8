"""Code points to the squeezed text that all stages look at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import UInt8s, UInt32s

PARAGRAPH = 10  # the character that stands, REACH times, around every paragraph
LINE_BREAK = 11  # one line break, where the training text has some that matter
BLANK = 32
PARAGRAPH_CLASS = 1
SPACE = 2  # the class of white space
REACH = 8  # no feature looks further than this over the end of a paragraph

# how characters stick together
EXTENDS = 1  # to the one before: combining marks, modifiers
JOINS = 2  # both of its neighbours
FLAG = 3  # by twos
LEADING, VOWEL, TRAILING, OPEN_SYLLABLE, SYLLABLE = 4, 5, 6, 7, 8  # of Hangul
PICTURE = 9  # one joined to another stays with it


class Tables(NamedTuple):
    """What is known of each code point."""

    class_of: UInt8s  # 0: not met
    folded: UInt32s  # letter
    glue: UInt8s  # the way to stick


@njit
def is_break(codes, i):
    """How many line breaks the white space at i is; the two characters of CRLF are one."""
    code = codes[i]
    if code == 0x2029:
        return 2
    if code == 13:
        return 0 if i + 1 < len(codes) and codes[i + 1] == 10 else 1
    if code == 10 or code == 11 or code == 12 or code == 0x85 or code == 0x2028:
        return 1
    return 0


@njit
def sticks(before, here, flags):
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


@njit
def squeeze(codes, tables, paragraphs, line_breaks):
    """(chars, classes, glue, at) of a text; see ``characters.Squeezed``."""
    class_of, folded, glue_of = tables
    n_codes = len(codes)
    # each gap makes one character, or REACH of them where two line breaks or more are
    size = n_codes + 2 * REACH
    for i in range(n_codes):
        if class_of[codes[i]] == SPACE and is_break(codes, i) > 0:
            size += REACH
    chars = np.empty(size, np.uint32)
    classes = np.empty(size, np.uint8)
    glue = np.zeros(size, np.uint8)
    at = np.empty(size, np.int64)
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
    return chars[:n], classes[:n], glue[:n], at[:n]
