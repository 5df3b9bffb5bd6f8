"""How Arabic words are written, what is matched, and how vocalised pieces are joined."""

from __future__ import annotations

import re
import unicodedata

FATHA, DAMMA, KASRA, SHADDA, SUKUN = "\u064e", "\u064f", "\u0650", "\u0651", "\u0652"
MARKS = frozenset("\u064b\u064c\u064d\u064e\u064f\u0650\u0651\u0652\u0670")
SUN_LETTERS = frozenset("تثدذرزسشصضطظلن")
LONG_VOWELS = frozenset("اويى")

_PRESENTATION = re.compile("[\ufb50-\ufdff\ufe70-\ufefe]+")
_INVISIBLE = re.compile("[\u0640\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\u00ad\u061c]")
_MARK = re.compile("[\u064b-\u0652\u0670]")
_OTHER_SIGNS = re.compile("[\u0610-\u061a\u0653-\u065f\u06d6-\u06ed]")
_ARABIC = re.compile("[\u0621-\u063a\u0641-\u064a\u0671-\u06d3]")
_PERSIAN = str.maketrans({"ک": "ك", "ی": "ي", "ە": "ه", "ہ": "ه", "ھ": "ه"})
CONTRADICTION = 3
_LEFT_OUT = frozenset({"اأ", "اإ", "اآ", "اٱ", "ٱا", "هة", "ىي"})  # typed, meant
_FOLDED = str.maketrans({"أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ة": "ه"})


def plain(word: str) -> str:
    """The word without what only serves display; letters and vowel signs stay as typed.

    >>> plain("ﻛـــﺘﺎﺏ") == plain("كتاب") == "كتاب"
    True
    """
    if _PRESENTATION.search(word):
        word = _PRESENTATION.sub(lambda run: unicodedata.normalize("NFKC", run[0]), word)
    word = unicodedata.normalize("NFC", word)
    return _INVISIBLE.sub("", word).translate(_PERSIAN)


def bare(word: str) -> str:
    """The letters of a plain word, without vowel signs.

    >>> bare("كِتَابٌ")
    'كتاب'
    """
    return _OTHER_SIGNS.sub("", _MARK.sub("", word))


def matching_key(word: str) -> str:
    """The form under which a word is looked up: letters that writers mix up count as one.

    >>> matching_key("إلى"), matching_key("مدرسة")
    ('الي', 'مدرسه')
    """
    return bare(plain(word)).translate(_FOLDED)


def is_arabic(word: str) -> bool:
    """Whether there is an Arabic letter in it.

    >>> is_arabic("2010"), is_arabic("عام")
    (False, True)
    """
    return _ARABIC.search(word) is not None


def spelling_cost(typed: str, read: str) -> int:
    """In how many letters a reading differs from what was typed; both without vowel signs.

    What many writers leave out costs 1: a bare alif for one with hamza, ha for ta marbuta, alif
    maqsura for final ya.  What contradicts the typed letter costs 3, such as a hamza elsewhere.

    >>> spelling_cost("الى", "إلى"), spelling_cost("أن", "إن"), spelling_cost("من", "من")
    (1, 3, 0)
    """
    if typed == read:
        return 0
    if len(typed) != len(read):
        return CONTRADICTION
    return sum(
        1 if typed_letter + read_letter in _LEFT_OUT else CONTRADICTION
        for typed_letter, read_letter in zip(typed, read, strict=True)
        if typed_letter != read_letter
    )


def letters_differ(typed: str, read: str) -> bool:
    """Whether an Arabic word is read in other letters than those typed, vowel signs aside.

    >>> letters_differ("مدرسه", "مَدْرَسَةٌ"), letters_differ("مدرسة", "مَدْرَسَةٌ")
    (True, False)
    """
    return is_arabic(typed) and bare(plain(typed)) != bare(read)


def in_typed_letters(typed: str, read: str) -> str:
    """The vowel signs of a reading on the letters that were typed; where they do not fit, none.

    >>> in_typed_letters("الى", "إِلَى")
    'اِلَى'
    >>> in_typed_letters("عمر", "عُمَرُو")
    'عمر'
    """
    if not letters_differ(typed, read):
        return read
    letters, kept = bare(plain(typed)), bare(read)
    if len(letters) != len(kept):
        return typed
    following = iter(letters)
    return "".join(next(following) if bare(char) else char for char in read)


def _groups(word: str) -> list[tuple[str, frozenset[str]]]:
    """Each letter with its vowel signs; sukun is the same as no sign."""
    letters: list[tuple[str, set[str]]] = []
    for char in word:
        if char in MARKS:
            if letters:
                letters[-1][1].add(char)
        else:
            letters.append((char, set()))
    return [(letter, frozenset(marks)) for letter, marks in letters]


def marks_agree(typed: str, read: str) -> bool:
    """Whether the vowel signs that were typed allow the reading.

    A sign that was typed must be there; where none was typed anything may be.  A typed sukun says
    that there is no vowel; the sign for a long a (dagger alif) and signs before a long vowel's
    letter may be left out of the reading.

    >>> marks_agree("كتبَ", "كَتَبَ"), marks_agree("كُتب", "كَتَبَ")
    (True, False)
    """
    ours, theirs = _groups(typed), _groups(read)
    if len(ours) != len(theirs):
        return True  # letters were folded or assimilated: no sign can be compared
    vowels = MARKS - {SHADDA, SUKUN, "\u0670"}
    for position, ((_, want), (_, have)) in enumerate(zip(ours, theirs, strict=True)):
        if SUKUN in want and have & vowels:
            return False
        missing = (want - {SUKUN, "\u0670"}) - have
        if not missing:
            continue
        follows = ours[position + 1][0] if position + 1 < len(ours) else ""
        silent = follows in LONG_VOWELS and not have & vowels and SHADDA not in missing
        # the tanwin of an accusative is typed on the alif or on the letter before it
        near = theirs[max(position - 1, 0) : position + 2]
        tanwin = missing <= {"\u064b"} and any("\u064b" in signs for _, signs in near)
        if not silent and not tanwin:
            return False
    return True


def join_stem(prefix: str, stem: str, *, article: bool) -> str:
    """Prefix and stem; after the article a sun letter is doubled, and the l of the article silent.

    >>> join_stem("ال", "سَبْت", article=True) == "الس" + SHADDA + FATHA + "بْت"
    True
    >>> join_stem("ال", "عِلْم", article=True)
    'الْعِلْم'
    """
    if not prefix or not stem:
        return prefix + stem
    if article:
        first = stem[0]
        if first in SUN_LETTERS:
            if SHADDA not in stem[1:3]:
                stem = first + SHADDA + stem[1:]
        elif prefix[-1] == "ل" and first not in "اٱ":
            prefix += SUKUN
    elif stem[0] in MARKS and prefix[-1] in MARKS:
        prefix = prefix[:-1]
    return prefix + stem


def join_suffix(stem: str, suffix: str) -> str:
    """Stem and suffix: one vowel between them, ta marbuta before letters is t.

    >>> join_suffix("مَدْرَسَة", "هُم"), join_suffix("كَتَبْ", "َت")
    ('مَدْرَسَتهُم', 'كَتَبَت')
    """
    if not suffix or not stem:
        return stem + suffix
    first = suffix[0]
    if first in (DAMMA, FATHA, KASRA) and (
        stem[-1] in "اى" or (stem.endswith(KASRA + "ي") and first != FATHA)
    ):
        return join_suffix(stem, suffix[1:])  # a long vowel, after which none is heard
    if first in MARKS:
        while stem[-1:] in MARKS and stem[-1] != SHADDA:
            stem = stem[:-1]  # the suffix brings the vowel
        if stem[-1:] == SHADDA and SHADDA in suffix[:2]:
            stem = stem[:-1]
    has_letter = first not in MARKS or any(char not in MARKS for char in suffix)
    if has_letter and stem[-1:] == "ة":
        stem = stem[:-1] + "ت"
    return stem + suffix
