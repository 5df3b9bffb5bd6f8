"""Sentences too long to parse whole: parsed in pieces, and the pieces joined.

The search takes time and memory that grow with the third power of the length: 500 words take
five seconds, 1,000 words 8 GB.  What is so long is hardly one sentence, but a list or a text
without full stops, so it is cut after punctuation, and the root of each further piece hangs from
the root of the first with the relation ``dep``.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from eigentext.formats.conllu import Sentence, make_sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["MOST_WORDS", "parsed_in_pieces", "pieces_of"]

MOST_WORDS = 400
_ENDS = frozenset(".!?;:؟。！？…")


def pieces_of(forms: Sequence[str], most: int) -> list[tuple[int, int]]:
    """Where each piece begins and ends: at most so many words, cut after punctuation if it can be.

    >>> pieces_of("a b . c d , e f g h".split(), 4)
    [(0, 3), (3, 6), (6, 10)]
    """
    found, begin = [], 0
    while len(forms) - begin > most:
        places = range(begin + most, begin + most // 2, -1)  # the later half
        strong = (end for end in places if forms[end - 1] in _ENDS)
        weak = (end for end in places if _is_punctuation(forms[end - 1]))
        end = next(strong, None) or next(weak, None) or begin + most
        found.append((begin, end))
        begin = end
    return [*found, (begin, len(forms))]


def _is_punctuation(form: str) -> bool:
    return all(unicodedata.category(character).startswith("P") for character in form)


def parsed_in_pieces(
    sentences: Iterable[Sentence],
    parse: Callable[[list[Sentence]], Iterable[Sentence]],
    *,
    most: int | None = None,
) -> Iterator[Sentence]:
    """What ``parse`` answers for sentences in order; for one that is too long, its pieces joined.

    Such an answer has the comment ``# split = 3``, the number of its pieces.
    """
    most = MOST_WORDS if most is None else most
    short: list[Sentence] = []
    for sentence in sentences:
        if len(sentence) <= most:
            short.append(sentence)
            continue
        if short:
            yield from parse(short)
            short = []
        yield _joined(sentence, parse, most)
    if short:
        yield from parse(short)


def _joined(
    sentence: Sentence, parse: Callable[[list[Sentence]], Iterable[Sentence]], most: int
) -> Sentence:
    given = {name: sentence.column(name) for name in ("upos", "xpos", "feats")}
    found: dict[str, list[str]] = {"upos": [], "xpos": [], "deprel": []}
    heads: list[int] = []
    root = 0
    spans = pieces_of(sentence.forms, most)
    for begin, end in spans:
        columns: dict[str, Any] = {name: cells[begin:end] for name, cells in given.items()}
        answer = next(iter(parse([make_sentence(sentence.forms[begin:end], **columns)])))
        for name, cells in found.items():
            cells += answer.column(name)
        for head in answer.heads or ():
            heads.append(head + begin if head else root)
            if not head and root:
                found["deprel"][len(heads) - 1] = "dep"
            root = root or (0 if head else len(heads))
    tags = {name: found[name] for name in ("upos", "xpos") if set(given[name]) == {"_"}}
    whole = sentence.with_columns(head=heads, deprel=found["deprel"], **tags)
    return Sentence(f"# split = {len(spans)}\n{whole.verbatim}")
