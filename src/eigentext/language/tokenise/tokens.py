"""Raw text to tokens that remember where they stood.

Flow of the datum: raw text -> sentences -> tokens by a scheme: ``whitespace`` (ASCII
white space), ``generic`` (Unicode categories), ``french`` (elisions too), ``ptb`` and ``ud-en``
(``english``), ``arabic`` (punctuation and digits come off, clitics and diacritics stay).
``raw[token.start:token.end]`` is what was typed; ``token.form`` may be a normalised form.  Every
character that is not white space is in one token; control characters are white space, but for the
scheme ``whitespace``, whose tokens are as they were given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from eigentext.errors import SettingsError
from eigentext.language.formats.conll import controls_as_blanks
from eigentext.language.token import Token
from eigentext.language.tokenise.characters import (
    ADDRESS,
    IDEOGRAPHS,
    combining_marks,
    emoji_pattern,
)
from eigentext.language.tokenise.english import english_pieces
from eigentext.language.tokenise.sentences import split_sentences

__all__ = ["SCHEMES", "split_sentences", "tokenise", "tokenise_text"]


_LINE = re.compile(r"[^\n]++")
_WHITESPACE = re.compile(r"[^ \t\n\r\f\v]++")
# Invisible signs that steer the layout and carry no text: dropped from Token.form.
_INVISIBLE = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]++")


@cache
def _generic(*, elision: bool = False) -> re.Pattern[str]:
    """The pattern of any language; with ``elision``, of French: l' arbre, dit -il."""
    marks = combining_marks()
    letter = rf"[^\W{IDEOGRAPHS}]"  # a word character that is not an ideograph
    run = rf"{letter}++(?:[{marks}]++{letter}*+)*+"
    joint = r"['’ʼ\-‐‑·_&]|(?<=\d)[.,:/٫٬](?=\d)|\.(?=[^\W\d_]{2})"
    pronoun = "je|tu|il|elle|on|nous|vous|ils|elles|ce|le|la|les|lui|leur|moi|toi|en|y"
    inverted = rf"-(?:t-)?+(?i:{pronoun})(?!-?{letter})"
    elided = rf"(?i:[ldjmtsnc]|qu|jusqu|lorsqu|puisqu|quoiqu)['’](?={letter})"
    french = rf"(?<!\w){elided} | (?<=\w)(?<!endez){inverted} |" if elision else ""
    no_inversion = rf"(?!(?<!endez){inverted})" if elision else ""
    return re.compile(
        rf"""
        {ADDRESS} | {french}
        [{marks}]*+(?:
            (?<!\w)[^\W\d_{IDEOGRAPHS}]\.(?=\s[^\W\d_a-z])(?<![a-z]\.)  # an initial before a name
          | (?:[^\W\d_{IDEOGRAPHS}]\.){{2,9}}+(?!\w)         # U.S., e.g.
          | [@\#]{run}
          | {run}(?:{no_inversion}(?:{joint})(?={letter}){run})*+
          | [{IDEOGRAPHS}][{marks}]*+
        )
      | {emoji_pattern(marks)}
      | \.{{2,}}+ | …++ | -{{2,}}+ | [–—]++ | [!?]++
      | [^\s][{marks}]*+
        """,
        re.VERBOSE,
    )


@cache
def _arabic() -> re.Pattern[str]:
    marks = combining_marks()
    # Latin words and digits come off Arabic words; an Arabic word is letters, marks and tatweel.
    letters = "\u0620-\u064a\u066e-\u06d3\u06d5\u06ee\u06ef\u06fa-\u06ff\u0750-\u077f"
    letters += "\u0870-\u088f\u08a0-\u08c9\ufb50-\ufbb1\ufbd3-\ufd3d\ufd50-\ufdfb\ufe70-\ufefc"
    latin = rf"[^\W\d{letters}{IDEOGRAPHS}]"
    run = rf"{latin}(?:[\w{marks}](?<![{letters}]))*+"
    return re.compile(
        rf"""
        {ADDRESS}
      | [{marks}]*+(?:
            [{letters}][{letters}{marks}]*+
          | \d++(?:[.,٫٬:/]\d++)*+[{marks}]*+
          | {run}(?:['’\-.&](?={latin}){run})*+
          | [{IDEOGRAPHS}][{marks}]*+
        )
      | {emoji_pattern(marks)}
      | \.{{2,}}+ | …++ | -{{2,}}+ | [–—]++ | [!?؟]++
      | [^\s][{marks}]*+
        """,
        re.VERBOSE,
    )


def _by_pattern(pattern: re.Pattern[str], raw: str, start: int, end: int) -> list[Token]:
    new = Token
    tokens = [
        new(match.group(), match.start(), match.end())
        for match in pattern.finditer(raw, start, end)
    ]
    if pattern is not _WHITESPACE and _INVISIBLE.search(raw, start, end):
        tokens = [new(_INVISIBLE.sub("", t.form) or t.form, t.start, t.end) for t in tokens]
    return tokens


_BRACKETS = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}


def _english(raw: str, start: int, end: int, *, ud: bool) -> list[Token]:
    return [Token(*piece) for piece in english_pieces(raw, start, end, ud=ud)]


# scheme -> (function of raw, start, end; language of the sentence splitter)
_TOKENISERS: dict[str, tuple[Callable[[str, int, int], list[Token]], str]] = {
    "whitespace": (lambda raw, a, b: _by_pattern(_WHITESPACE, raw, a, b), "generic"),
    "generic": (lambda raw, a, b: _by_pattern(_generic(), raw, a, b), "generic"),
    "french": (lambda raw, a, b: _by_pattern(_generic(elision=True), raw, a, b), "generic"),
    "ptb": (lambda raw, a, b: _english(raw, a, b, ud=False), "en"),
    "ud-en": (lambda raw, a, b: _english(raw, a, b, ud=True), "en"),
    "arabic": (lambda raw, a, b: _by_pattern(_arabic(), raw, a, b), "ar"),
}
SCHEMES: tuple[str, ...] = tuple(_TOKENISERS)


def _tokeniser(raw: str, scheme: str) -> tuple[str, Callable[[str, int, int], list[Token]], str]:
    """The text to cut, what cuts it, and the language of its sentences."""
    if not isinstance(raw, str):
        raise TypeError(
            f"raw text must be one str, not {type(raw).__name__}; tokens need no tokeniser"
        )
    if scheme not in _TOKENISERS:
        raise SettingsError(f"scheme {scheme!r} is not one of {', '.join(SCHEMES)}")
    return raw if scheme == "whitespace" else controls_as_blanks(raw), *_TOKENISERS[scheme]


def _escaped(tokens: list[Token]) -> list[Token]:
    return [t._replace(form=_BRACKETS[t.form]) if t.form in _BRACKETS else t for t in tokens]


def tokenise(raw: str, scheme: str = "generic", *, escape_brackets: bool = False) -> list[Token]:
    """Tokens of one sentence (or of any stretch of text taken as one).

    ``escape_brackets`` writes ``-LRB-`` and its kin for single brackets, as treebanks do.

    >>> [token.form for token in tokenise('"I can\\'t," said Mr. Low.', "ptb")]
    ['``', 'I', 'ca', "n't", ',', "''", 'said', 'Mr.', 'Low', '.']
    >>> tokenise("a b")[1][:3]
    ('b', 2, 3)
    """
    raw, cut, _ = _tokeniser(raw, scheme)
    tokens = cut(raw, 0, len(raw) if scheme == "whitespace" else len(raw.rstrip()))
    return _escaped(tokens) if escape_brackets else tokens


def tokenise_text(
    raw: str, scheme: str = "generic", *, one_per_line: bool = False, escape_brackets: bool = False
) -> Iterator[list[Token]]:
    """Sentences of a raw text, each a list of tokens with offsets into the whole text.

    The scheme ``whitespace`` is for pre-tokenised text, so there every line is a sentence.

    >>> [[t.form for t in s] for s in tokenise_text("It's cold. Isn't it?", "ptb")]
    [['It', "'s", 'cold', '.'], ['Is', "n't", 'it', '?']]
    """
    raw, cut, language = _tokeniser(raw, scheme)
    if scheme == "whitespace":  # pre-tokenised text has one sentence a line
        spans = [match.span() for match in _LINE.finditer(raw)]
    else:
        spans = split_sentences(raw, language, one_per_line=one_per_line)
    for start, end in spans:
        tokens = cut(raw, start, end)
        if tokens:
            yield _escaped(tokens) if escape_brackets else tokens
