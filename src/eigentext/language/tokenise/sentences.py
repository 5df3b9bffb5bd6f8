"""Where sentences begin and end in raw text.

Flow of the datum: raw text -> paragraphs (a blank line always ends a sentence) or lines (one
sentence a line) -> candidate stops, each a run of ``. ! ? …`` or of another script's full stop
with the quotes and brackets that close after it -> a decision from the word before and the word
after -> spans ``(start, end)`` into the raw text, without the white space around them.  Every
pattern is anchored at a character class and uses possessive repeats: time is linear.

``stretches`` says which line breaks end a sentence: ``end`` every one, ``join`` none, ``auto`` one
that was meant.  A break where the next word would have fitted into the line was meant (a headline,
an entry of a list), unless the line ends in a comma or the like, or the next one begins with a
small letter.  A paragraph counts as wrapped if its longest line has room for prose, and half of
its breaks or more are where a wrapping program would have put them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from eigentext.errors import SettingsError

Language = Literal["en", "ar", "generic"]
LANGUAGES: tuple[str, ...] = ("en", "ar", "generic")


def _names(text: str) -> frozenset[str]:
    """The words of a list written as one string."""
    return frozenset(text.split())


# Titles and the like stand before a name and never end a sentence.
_TITLES = _names(
    "mr mrs ms mx dr prof rev fr sr sra messrs mme mlle gen col lt sgt capt cmdr cpl pvt adm "
    "maj gov sen rep pres hon st ste mt ft supt insp amb atty asst assoc vs v e.g i.e eg ie "
    "cf viz ca al incl resp approx"
)
# These stop before a number and are ordinary words otherwise ("no. 5", but "I said no.").
_BEFORE_NUMBER = _names(
    "no nos p pp fig figs vol vols eq eqs sec secs ch chap art arts pt pts tab ex ver op jan "
    "feb mar apr jun jul aug sep sept oct nov dec c para"
)
# These keep their period, and may or may not end the sentence.
_ABBREVIATIONS = _names(
    "inc corp co ltd llc plc bros etc dept est jr sr esq ph.d phd m.d b.a m.a b.sc m.sc ave "
    "blvd rd hwy jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur "
    "thurs fri sat calif mass conn ariz ala ark colo del fla ill ind kan ky md mich minn mo "
    "mont neb nev okla ore pa penn tenn tex vt va wash wis wyo ont que univ inst natl intl "
    "govt mfg int'l nat'l gov't assn ed eds trans tel ext oz lb lbs ft hrs mins secs yr yrs "
    "misc sq no nos vol fig figs pp a.m p.m a.d b.c a.k.a w.r.t"
)
# Common abbreviations of other European languages, for language="generic".
_GENERIC = _names(
    "mr mrs ms dr prof st etc vs cf ca al bzw usw ggf inkl zzgl evtl nr str hr fr tel mm mme "
    "mlle mgr ing ex vol pp art fig réf env sig sra ud uds núm pág av avda dña dott sig.ra "
    "ecc np tzw tj itp itd ul gen płk inż mgr bp dz.u"
)
_ABBREVIATIONS_OF: dict[str, tuple[frozenset[str], frozenset[str], frozenset[str]]] = {
    "en": (_TITLES, _BEFORE_NUMBER, _ABBREVIATIONS),
    "ar": (_TITLES, _BEFORE_NUMBER, _ABBREVIATIONS),
    "generic": (_GENERIC, _BEFORE_NUMBER, frozenset()),
}
# A capitalised word of this list, after an abbreviation, begins a new sentence.
_STARTERS = _names(
    "The This That These Those It Its He His She Her They Their We Our You Your I I'm I've "
    "I'll It's There Here In On At As For From By With After Before During Since While When "
    "Where Why How What Who If Although Though Because But And Or So Yet However Moreover "
    "Also Then Thus Therefore An A Some Many Most Several Both Each Every All Any No Not Now "
    "Once One Another Other Such Under Despite To Is Are Was Were Do Does Did Can Could "
    "Please Let My"
)

_OPENERS = "\"'“”‘’«‹„‚([{<¿¡`*-–—"
_CLOSERS = "\"'”’»›)\\]}"
# A run of stops, then whatever closes.  Both repeats are possessive: no backtracking.
_STOP = re.compile(rf"(?P<stop>[.!?…‼⁇⁈⁉؟۔。！？｡।॥։።፧]++)(?P<close>[{_CLOSERS}」』）]*+)")
# What may follow a stop and still belongs to the sentence: "[3] [4]" and emoticons.
_TRAIL = re.compile(
    r"(?: ?\[\d{1,3}\]\.?){1,20}+(?=\s|\Z)|(?: [:;=]['-]?[()DPpO/|]{1,9}+){1,5}+(?=\s|\Z)"
)
_NO_SPACE_NEEDED = frozenset("。！？｡")
_BLANK_LINE = re.compile(r"\n(?:[^\S\n]*+\n)++|\u2029")
_LINE = re.compile(r"[^\n\u2029]++")
_LAST_WORD = re.compile(r"[^\s\"“”‘«(\[{<—–/]*+\Z")
_NEXT_WORD = re.compile(r"[\w'’]{1,24}")
_ACRONYM = re.compile(r"[^\W\d_](?:\.[^\W\d_]){1,9}")
_LOOK_BACK = 40


def is_acronym(word: str) -> bool:
    """Single letters with periods between them, the last period not included.

    >>> is_acronym("U.S"), is_acronym("e.g"), is_acronym("end")
    (True, True, False)
    """
    return _ACRONYM.fullmatch(word) is not None


def keeps_period(word: str, *, before_number: bool, last: bool, cut_last: bool = False) -> bool:
    """Whether a period after this word belongs to the word.

    ``before_number`` says that a digit comes next, ``last`` that nothing comes next; with
    ``cut_last`` a sentence that ends in an abbreviation gives its period up.

    >>> keeps_period("Mr", before_number=False, last=False)
    True
    >>> keeps_period("no", before_number=True, last=False)
    True
    >>> keeps_period("no", before_number=False, last=True)
    False
    """
    lowered = word.lower()
    titles, numeric, others = _ABBREVIATIONS_OF["en"]
    if last and cut_last:
        return False
    if lowered in numeric and before_number:
        return True
    if lowered in numeric and lowered not in others:
        return False
    if lowered in ("no", "nos", "fig", "figs", "ill", "ind", "mass", "wash", "ark", "mo", "ed"):
        # a common word too: only the capitalised one, inside a sentence, is the abbreviation
        return word[0].isupper() and not last and lowered not in ("no", "nos")
    if lowered in others or lowered in titles or is_acronym(word):
        return True
    return len(word) == 1 and word.isalpha() and not last and word.isupper()


def _ends_at_period(before: str, following: str, language: str, *, starts_here: bool) -> bool:
    """Whether a single period after ``before`` ends a sentence that ``following`` comes after."""
    first = following[:1]
    if not before:
        return True
    word = before.strip(".*#").replace("’", "'")
    lowered = word.lower()
    titles, numeric, others = _ABBREVIATIONS_OF[language]
    if starts_here and (word.isdecimal() or (len(word) == 1 and word.isalpha())):
        return False  # the number or letter of a list item: "1. First", "A. First"
    if lowered in titles:
        return False
    if lowered in numeric and first.isdecimal():
        return False
    if len(word) == 1 and word.isalpha() and word != "I":
        return first.isupper() and following in _STARTERS and following != "A"
    if lowered in others or is_acronym(word):
        return following in _STARTERS
    return True


def _is_boundary(raw: str, start: int, match: re.Match[str], end: int, language: str) -> bool:
    """Whether the stop found by ``match`` ends the sentence that began at ``start``."""
    stop = match.group("stop")
    after = match.end()
    if stop[-1] in _NO_SPACE_NEEDED:
        return True
    if not raw[after].isspace():
        return False
    position = after
    while position < end and raw[position].isspace():
        position += 1
    if raw[position] in ".!?…)]}":
        return False  # ". . ." and "source. )" go on
    while position < end and (raw[position].isspace() or raw[position] in _OPENERS):
        position += 1
    next_word = _NEXT_WORD.match(raw, position, end)
    following = next_word.group().replace("’", "'") if next_word else ""
    first = match.start()
    before = _LAST_WORD.search(raw[max(start, first - _LOOK_BACK) : first])
    word = before.group() if before else ""
    if following[:1].islower():
        # Informal English begins sentences in lower case; abbreviations are mostly short.
        plain = language == "en" and len(word) > 3 and word.isalpha() and not match["close"]
        return plain and stop == "." and word.lower() not in _ABBREVIATIONS | _TITLES
    if stop == ".":
        if language == "ar" and len(word.rstrip("ـ")) == 1:
            return False  # "د." for doctor, "ص." for page
        return _ends_at_period(word, following, language, starts_here=len(word) == first - start)
    return True


def _split_paragraph(
    raw: str, start: int, end: int, language: str, spans: list[tuple[int, int]]
) -> None:
    """Add the sentences of raw[start:end], which has no blank line, to ``spans``."""
    for match in _STOP.finditer(raw, start, end):
        after = match.end()
        if after >= end:
            break
        if start <= match.start() and _is_boundary(raw, start, match, end, language):
            trail = _TRAIL.match(raw, after, end)
            after = trail.end() if trail else after
            spans.append((start, after))
            start = after
            while start < end and raw[start].isspace():
                start += 1
    if start < end:
        spans.append((start, end))


def split_sentences(
    raw: str, language: Language | str = "en", *, one_per_line: bool = False
) -> list[tuple[int, int]]:
    """Sentences of a raw text as spans ``(start, end)``, or its lines if ``one_per_line``.

    >>> raw = 'Mr. Smith paid $3.50. "Really?" he asked. Yes.'
    >>> [raw[start:end] for start, end in split_sentences(raw)]
    ['Mr. Smith paid $3.50.', '"Really?" he asked.', 'Yes.']
    """
    if not isinstance(raw, str):
        raise TypeError(f"split_sentences needs a str, not {type(raw).__name__}")
    if language not in LANGUAGES:
        raise SettingsError(f"language {language!r} is not one of {', '.join(LANGUAGES)}")
    blocks: list[tuple[int, int]]
    if one_per_line:
        blocks = [match.span() for match in _LINE.finditer(raw)]
    else:
        cuts = [0]
        for match in _BLANK_LINE.finditer(raw):
            cuts += match.span()
        cuts.append(len(raw))
        blocks = list(zip(cuts[::2], cuts[1::2], strict=True))
    spans: list[tuple[int, int]] = []
    for start, end in blocks:
        while start < end and raw[start].isspace():
            start += 1
        while end > start and raw[end - 1].isspace():
            end -= 1
        if one_per_line:
            if start < end:
                spans.append((start, end))
        else:
            _split_paragraph(raw, start, end, language, spans)
    return spans


Newlines = Literal["auto", "end", "join"]
NEWLINES: tuple[str, ...] = get_args(Newlines)

_NARROWEST = 50  # characters: hardly anybody wraps prose to shorter lines
_GOES_ON = tuple(",;:–—-،؛")


def stretches(lines: Sequence[str], newlines: str = "auto") -> Iterator[tuple[int, int]]:
    """(first line, line after the last) of each stretch of a paragraph without such a break.

    >>> list(stretches(["Milk rises", "Prices go up again", "in all shops."]))
    [(0, 1), (1, 3)]
    >>> list(stretches(["Milk rises", "Prices go up"], "join"))
    [(0, 2)]
    """
    if newlines not in NEWLINES:
        raise SettingsError(f"newlines must be one of {', '.join(NEWLINES)}, not {newlines!r}")
    forced = _forced(lines) if newlines == "auto" else []
    first = 0
    for after in range(1, len(lines)):
        if newlines == "end" or (
            newlines == "auto"
            and not forced[after - 1]
            and not lines[after - 1].rstrip().endswith(_GOES_ON)
            and not lines[after].lstrip()[:1].islower()
        ):
            yield first, after
            first = after
    yield first, len(lines)


def _forced(lines: Sequence[str]) -> list[bool]:
    """For each break whether a wrapping program made it: the next word did not fit."""
    ends = [len(line.rstrip()) for line in lines]
    words = [len(line.split(maxsplit=1)[0]) for line in lines[1:]]
    width = max(ends)
    forced = [end + 1 + word > width for end, word in zip(ends, words, strict=False)]
    wrapped = width >= _NARROWEST and 2 * sum(forced) >= len(forced)
    return forced if wrapped else [False] * len(forced)
