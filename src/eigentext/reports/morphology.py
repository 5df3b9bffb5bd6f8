"""Readings of words for people: labels in plain words, and words cut into coloured pieces.

1. :func:`in_plain_words` turns the values of label elements into a phrase.
2. :func:`segment_words` says what a segment's tag means, and :func:`kinds` which segments stand
   before the stem and which after it.
3. :func:`cut` cuts the vocalised word where the segments meet, so that it can be coloured.

What no table knows is shown as it stands: nothing is left out because it has no name here.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from eigentext.reports.morphology_words import (
    CATEGORIES,
    ENDINGS,
    PRONOUN_PARTS,
    SEGMENT_TAGS,
    VALUES,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_CATEGORY = ("pos", "upos")
_NOT_SAID = frozenset({"dpos", "suf", "persuf", "numsuf", "gensuf"})  # or said elsewhere
_ORDER = tuple(
    "pos upos pre2 pre1 det asp Tense Aspect mood Mood vox Voice per perpos Person gen genpos num "
    "numpos Number cas case Case stt".split()
)
_AFTER = re.compile(
    r"(?:NSUFF|PVSUFF|IVSUFF|CVSUFF|CASE_|POSS_PRON|SUFFIX|PRON(?:_\d|$)|MOOD)", re.ASCII
)
_SUBJECT = re.compile(r"(?:IV|PVSUFF_SUBJ:|CVSUFF_SUBJ:)([123])([MF]?)([SDP])")
_OBJECT = re.compile(r"(?:IVSUFF_DO:|PVSUFF_DO:|CVSUFF_DO:|POSS_PRON_|PRON_)([123])([MF]?)([SDP])")
_CASE_TAG = re.compile(r"CASE_(?:DEF|INDEF)_(NOM|GEN|ACC)")
_CASE_NAME = {"NOM": "nominative", "GEN": "genitive", "ACC": "accusative"}
_LETTER_MARKS = re.compile("[^\u064b-\u0652\u0670][\u064b-\u0652\u0670]*")
_MARKS = re.compile("[\u064b-\u0652\u0670\u0640]")
_FOLD = str.maketrans("ةأإآٱؤئى", "تااااءءي")


class WordPiece(NamedTuple):
    """A stretch of a word and where it stands: ``before``, ``stem`` or ``after``."""

    text: str
    kind: str


def in_plain_words(label: Mapping[str, str], missing: str = "-") -> str:
    """The label without its lemma, as a phrase.

    >>> in_plain_words({"lemma": "x", "pos": "V", "asp": "p", "vox": "a", "per": "3", "gen": "f",
    ...                 "num": "s", "pron": "3ms"})
    'verb, perfect, active, 3rd person, feminine, singular, with the pronoun 3rd person masculine \
singular'
    >>> in_plain_words({"pos": "N", "det": "1", "odd": "x", "cas": "n"})
    'noun, with the article, nominative, odd x'
    """
    return _in_words(tuple((name, label[name]) for name in label if name != "lemma"), missing)


@lru_cache(maxsize=10_000)  # labels are many, but most differ in the lemma only
def _in_words(values: tuple[tuple[str, str], ...], missing: str) -> str:
    label = dict(values)
    in_order = [name for name in _ORDER if name in label]
    rest = [name for name in label if name not in _ORDER and name not in _NOT_SAID]
    phrases = []
    for name in (*in_order, *rest):
        value = label[name]
        if value in (missing, ""):
            continue
        if name == "pron":
            phrases.append(f"with the pronoun {_pronoun(value)}")
        elif name in _CATEGORY:
            phrases.append(CATEGORIES.get(value, value))
        else:
            phrases.append(VALUES.get(name, {}).get(value, f"{name} {value}"))
    if "dpos" in label:  # a verb's aspect and voice, or a noun's state, in one
        phrases.extend(_joined(label["dpos"]))
    return ", ".join(filter(None, phrases)) or "no more is known"


def _joined(value: str) -> list[str]:
    """The parts of a joined element: aspect, voice, state."""
    parts = value.split(".")
    tables = (VALUES["asp"], VALUES["vox"], VALUES["stt"])
    if len(parts) != len(tables):
        return [value]
    return [table[part] for table, part in zip(tables, parts, strict=True) if part in table]


def _pronoun(code: str) -> str:
    if len(code) != len(PRONOUN_PARTS):
        return code
    if code[0] == "1":  # I and we have no gender; labels say m
        code = f"1\x00{code[2]}"
    parts = zip(PRONOUN_PARTS, code, strict=True)
    return " ".join(table.get(c, c) for table, c in parts if c != "\x00")


@lru_cache(maxsize=1_000)
def segment_words(tag: str) -> str:
    """What the tag of a segment means.

    >>> segment_words("POSS_PRON_3MS"), segment_words("CASE_DEF_NOM"), segment_words("DET")
    ('pronoun, 3rd person masculine singular', 'nominative', 'the')
    """
    if tag in SEGMENT_TAGS:
        return SEGMENT_TAGS[tag]
    if match := _SUBJECT.match(tag):
        return f"subject, {_person(match)}"
    if match := _OBJECT.match(tag):
        return f"pronoun, {_person(match)}"
    if match := _CASE_TAG.match(tag):
        return _CASE_NAME[match[1]]
    if tag.startswith("NSUFF"):
        return " ".join(filter(None, map(ENDINGS.get, tag.split("_")[1:]))) or "ending"
    if "SUFF_SUBJ" in tag:
        return "subject"
    first = tag.split(":", maxsplit=1)[0].split("+", maxsplit=1)[0]
    return SEGMENT_TAGS.get(first, tag)


def _person(match: re.Match[str]) -> str:
    person, gender, number = match.groups()
    tables = zip(PRONOUN_PARTS, (person, gender.lower(), number.lower()), strict=True)
    return " ".join(table[c] for table, c in tables if c)


def kinds(tags: Sequence[str]) -> list[str]:
    """Where each segment stands: the stem is the last one before the endings.

    >>> kinds(["CONJ", "DET", "NOUN", "CASE_DEF_GEN"])
    ['before', 'before', 'stem', 'after']
    """
    end = len(tags)
    while end > 1 and _AFTER.match(tags[end - 1]):
        end -= 1
    return ["before"] * (end - 1) + ["stem"] * (end > 0) + ["after"] * (len(tags) - end)


def cut(vocalised: str, segments: Sequence[tuple[str, str]]) -> list[WordPiece]:
    """The vocalised word in pieces; whole where its letters are not those of the segments.

    Joined again, the pieces are the word.  A segment of vowel signs only stays with the letter
    before it.

    >>> cut("الْكِتابِ", [("ال", "DET"), ("كِتاب", "NOUN"), ("ِ", "CASE_DEF_GEN")])
    [WordPiece(text='الْ', kind='before'), WordPiece(text='كِتابِ', kind='stem')]
    """
    letters = _LETTER_MARKS.findall(vocalised)
    whole = [WordPiece(vocalised, "stem")]
    if "".join(letters) != vocalised:
        return whole
    folded = [_MARKS.sub("", letter).translate(_FOLD) for letter in letters]
    pieces: list[WordPiece] = []
    position = 0
    for (surface, tag), kind in zip(segments, kinds([tag for _, tag in segments]), strict=True):
        letters_of_piece = _MARKS.sub("", surface).translate(_FOLD)
        if not letters_of_piece:
            continue
        if tag == "DET" and letters_of_piece == "ال" and folded[position : position + 1] == ["ل"]:
            letters_of_piece = "ل"  # the article's alif is not written after li-
        if folded[position : position + len(letters_of_piece)] != list(letters_of_piece):
            return whole
        pieces.append(
            WordPiece("".join(letters[position : position + len(letters_of_piece)]), kind)
        )
        position += len(letters_of_piece)
    return pieces if position == len(letters) and pieces else whole
