"""English tokens by the conventions of the Penn Treebank, with offsets kept.

Flow of the datum: raw text -> chunks between white space -> pieces by one pattern (addresses,
numbers, words with inner hyphens, dashes, quotes, single signs) -> words are cut at contractions
(``don't`` to ``do n't``), and a period goes back to the abbreviation it belongs to -> normalised
text (`` `` `` and ``''`` for quotes) beside the offsets of what was typed.  In ``"ptb"``, the
classic convention, hyphens and slashes stay inside words; ``"ud-en"`` cuts at them as EWT and GUM.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import accumulate, pairwise

from eigentext.language.tokenise.characters import ADDRESS, emoji_pattern
from eigentext.language.tokenise.sentences import keeps_period

_MARKS = "\u0300-\u036f\u200c\u200d\u00ad\ufe0e\ufe0f"  # combining marks and joiners after Latin
_THOUSANDS = r",(?=\d{3}(?!\d))"
# What may stand inside a word: not the period of "end.Next", where a space was forgotten.
_JOINT = rf"(?:[\-‑'’/&·+@]|\.(?![A-Z][a-z])|(?<=\d)(?::(?=\d)|{_THOUSANDS}))"
_PIECE = re.compile(
    rf"""
    (?P<address>{ADDRESS})
  | (?P<emoji>{emoji_pattern(_MARKS)})
  | (?P<handle>(?<!\w)[@\#][^\W\d]\w*+)
  | (?P<emoticon>(?:[:;=]['’]?-?[)(DPpO|/\\*]++|<3++|\^_*\^|:-?\[)(?![\w/]))
  | (?P<dots>\.{{2,}}+|…++)
  | (?P<dash>-{{2,}}+|[–—―]++)
  | (?P<quote>``|''|["“”„‟«»])
  | (?P<elision>['’](?:[Ee][Mm]|cause|Cause|cuz|til|till|Til|bout|Bout|round|neath|n['’]?|N['’]?
        |\d\ds?|\d\d['’]s|[sS]|[mM]|[dD]|re|RE|ve|VE|ll|LL|t)(?!\w))
  | (?P<tis>['’][Tt](?=(?:is|was|were|will|would|IS|WAS)(?!\w)))
  | (?P<money>(?:US|USD|NZ|HK|AU|CA|[CASR])?\$|[£€¥₹¢₽])
  | (?P<number>(?:(?<!\w)[+−]?)(?:\d++(?:(?:[.:]|{_THOUSANDS})\d++)*+|\.\d++)
        (?![\w\-'’/&.{_MARKS}]))
  | (?P<word>(?:(?:[^\W\d_]\.){{2,9}}+(?=-\w)|(?:\.(?=\d))?+[^\W_][\w{_MARKS}]*+)
        (?:{_JOINT}(?=\w)[\w{_MARKS}]++)*+)
  | (?P<run>[!?]++|\*++|=++|_++|~++|<++|>++|\#++|\^++|\++|\|++|•++|`)
  | (?P<other>.[{_MARKS}]*+)
    """,
    re.VERBOSE | re.DOTALL,
)
_CONTRACTION = re.compile(r"(?i)(?<=[^\W_])(?:n['’]t|['’](?:s|m|d|re|ve|ll))\Z")


def _cut_at_bars(words: str) -> dict[str, tuple[int, ...]]:
    """Words, and where the bars in them are: there they are cut."""
    pieces = {word.replace("|", ""): word.split("|")[:-1] for word in words.split()}
    return {word: tuple(accumulate(map(len, parts))) for word, parts in pieces.items()}


_WHOLE_CUTS = _cut_at_bars(
    "can|not gon|na got|ta wan|na gim|me lem|me du|n|no y'|all d'|you d'|ye more|'n"
)
# In UD informal spellings are cut too.
_UD_CUTS = _cut_at_bars(
    "do|nt ca|nt did|nt does|nt is|nt are|nt was|nt were|nt could|nt would|nt should|nt have|nt "
    "has|nt ai|nt lot|ta out|ta haf|ta wo|nt i|m i|ve you|ll you|re they|re that|s what|s there|s"
)
# A word that begins so keeps its hyphen in UD.
_UD_PREFIXES = re.compile(
    "non|e|re|co|anti|pre|mid|pro|cross|post|over|semi|sub|multi|ex|counter|mini|inter|intra|super"
    "|ultra|mis|neo|vice|un|trans|proto|socio|psycho|bi|tri|uh|mm",
    re.IGNORECASE,
)
_UD_KEEPS = re.compile(r"\d{3}-\d{4}|\d{3}-\d{3}-\d{4}|\d-\d{3}-\d{3}-\d{4}|(?:\d++/)+\d++")
_UD_JOINTS = re.compile(r"[-‑/]")
_UD_UNIT = re.compile(r"(?<=\d)(?:[aApP][mM]|[kKmM]|mm|cm|km|kg|ft)\Z")
_OPENING_CONTEXT = frozenset('([{<-–—―/"“‘`=')
_FOLLOWS_ABBREVIATION = frozenset(",;:")

Piece = tuple[str, int, int]


def _cuts_of(word: str, *, ud: bool) -> list[int]:
    """Where to cut a word at its contractions, as increasing positions inside it."""
    lowered = word.lower().replace("’", "'")
    whole = _WHOLE_CUTS.get(lowered) or (
        _UD_CUTS.get(lowered) if ud and not word.isupper() else None
    )
    if whole:
        return list(whole)
    cuts: list[int] = []
    stem = len(word)
    if "'" in lowered:
        while contraction := _CONTRACTION.search(word, max(0, stem - 3), stem):
            stem = contraction.start()
            cuts.append(stem)
        cuts.reverse()
    head = word[:stem]
    joints = list(_UD_JOINTS.finditer(head)) if ud else []
    if joints and not _UD_KEEPS.fullmatch(head):
        # a prefix holds on to its hyphen, but only if the word has no other
        if len(joints) > 1 or not _UD_PREFIXES.fullmatch(head, 0, joints[0].start()):
            inner = [cut for joint in joints for cut in joint.span() if joint.end() < len(head)]
            cuts = inner + cuts
    elif ud and (unit := _UD_UNIT.search(head)):
        cuts = [unit.start(), *cuts]
    return cuts


def _quote(sign: str, chunk: str, start: int, end: int) -> str:
    """Penn form of a double quote: ```` opens, ``''`` closes; other quotes stay as typed."""
    if sign in ("“", "``", "„", "‟"):
        return "``"
    if sign in ("”", "''"):
        return "''"
    if sign != '"':
        return sign
    opens = (start == 0 or chunk[start - 1] in _OPENING_CONTEXT) and end < len(chunk)
    return "``" if opens and not all(c in ".,;:!?)]}" for c in chunk[end : end + 2]) else "''"


def _split_chunk(chunk: str, last: bool, before_number: bool, ud: bool) -> tuple[Piece, ...]:
    """The pieces of one chunk, which holds no white space."""
    pieces: list[Piece] = []
    position = 0
    length = len(chunk)
    while position < length:
        match = _PIECE.match(chunk, position)
        # the last alternative takes any character, so there is always a match
        kind, (start, end) = match.lastgroup, match.span()  # type: ignore[union-attr]
        text = chunk[start:end]
        position = end
        if kind == "word":
            rest = chunk[end + 1 : end + 5]
            if chunk[end : end + 1] == "." and (rest[:1] != "." or rest == "."):
                ends = not rest or all(c in "\"'”’)]}»" for c in rest)
                if (rest[:1] in _FOLLOWS_ABBREVIATION and len(text) < 6) or keeps_period(
                    text.rpartition("-")[2] or text,
                    before_number=before_number and not rest,
                    last=last and ends,
                    cut_last=ud,
                ):
                    end += 1
                    position = end
                    text = chunk[start:end]
            elif end == length - 1 and chunk[end] == "-" and text.islower():
                end += 1
                position = end
                text += "-"
            cuts = _cuts_of(text, ud=ud)
            if cuts:
                borders = [0, *cuts, len(text)]
                pieces += [
                    (text[a:b].replace("’", "'"), start + a, start + b)
                    for a, b in pairwise(borders)
                ]
                continue
            text = text.replace("’", "'")
        elif kind == "quote":
            text = _quote(text, chunk, start, end)
        elif kind in ("elision", "tis"):
            text = text.replace("’", "'")
        elif kind == "other" and text in ("'", "’", "‘"):
            opens = (start == 0 or chunk[start - 1] in _OPENING_CONTEXT) and end < length
            text = "`" if text == "‘" or (opens and text == "'") else "'"
        pieces.append((text, start, end))
    return tuple(pieces)


_split_cached = lru_cache(maxsize=1 << 16)(_split_chunk)
_CHUNK = re.compile(r"\S++")
_CACHED_LENGTH = 48


def english_pieces(raw: str, start: int, end: int, *, ud: bool) -> list[Piece]:
    """Pieces ``(text, start, end)`` of raw[start:end] taken as one sentence."""
    result: list[Piece] = []
    opened = 0  # double quotes open so far: a quote between spaces closes if one is open
    for match in _CHUNK.finditer(raw, start, end):
        chunk = match.group()
        first, after = match.span()
        last = before_number = False
        if "." in chunk[-4:]:
            last = after == end
            before_number = not last and raw[after + 1 : after + 2].isdecimal()
        if len(chunk) <= _CACHED_LENGTH:
            pieces = _split_cached(chunk, last, before_number, ud)
        else:
            pieces = _split_chunk(chunk, last, before_number, ud)
        if '"' in chunk:
            if chunk == '"':
                pieces = (("''" if opened > 0 else "``", 0, 1),)
            opened += sum((p[0] == "``") - (p[0] == "''") for p in pieces)
        result += [(text, first + a, first + b) for text, a, b in pieces]
    return result
