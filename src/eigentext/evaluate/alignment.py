"""Two annotations of the same text, word by word, by the rules of the CoNLL 2018 shared task.

Flow of the datum: sentences -> :class:`Words`, flat lists over the whole text, where every word
has a span of characters counted without white space (all words of a multiword token share its
span) -> ``align`` pairs words of equal span; inside multiword tokens, where spans cannot tell,
it takes the longest common subsequence of lower-cased forms.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eigentext.errors import DataError
from eigentext.formats import conllu

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eigentext.formats.conll import TenColumnSentence

__all__ = ["Words", "align"]

ROOT = -1  # the head of a root


@dataclass
class Words:
    """All words of a text; one entry per word in each list but the last five."""

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    in_range: list[bool] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)
    lemmas: list[str] = field(default_factory=list)
    upos: list[str] = field(default_factory=list)
    xpos: list[str] = field(default_factory=list)
    feats: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)  # place in these lists, or ROOT
    relations: list[str] = field(default_factory=list)  # as compared: with subtypes or without
    plain: list[str] = field(default_factory=list)  # relations without subtypes
    sentence_of: list[int] = field(default_factory=list)
    token_spans: list[tuple[int, int]] = field(default_factory=list)
    sentence_spans: list[tuple[int, int]] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)  # words of each sentence
    places: list[tuple[str, int]] = field(default_factory=list)  # file and line of each sentence
    text: str = ""

    @classmethod
    def of(cls, sentences: Iterable[TenColumnSentence], *, subtypes: bool = False) -> Words:
        """Lay the sentences end to end; relations are cut at ``:`` unless ``subtypes``."""
        words = cls()
        characters: list[str] = []
        position = 0
        for sentence in sentences:
            position = words._add(sentence, characters, position)
        words.text = "".join(characters)
        if not subtypes:
            words.relations = words.plain
        return words

    def _add(self, sentence: TenColumnSentence, characters: list[str], position: int) -> int:
        first, begun = len(self.forms), position
        unit_end = 0  # the last word of the multiword token we are in
        ranges = (
            {unit.start: unit for unit in sentence.ranges}
            if isinstance(sentence, conllu.Sentence)
            else {}
        )
        rows = sentence.rows
        for number, row in enumerate(rows, start=1):
            unit = ranges.get(number)
            inside = number <= unit_end
            if not inside:
                surface = _without_spaces(row[1] if unit is None else unit.form)
                characters.append(surface)
                span = (position, position + len(surface))
                position = span[1]
                self.token_spans.append(span)
                unit_end = unit.end if unit is not None else 0
            self.starts.append(span[0])
            self.ends.append(span[1])
            self.in_range.append(inside or unit is not None)
            self.forms.append(row[1])
            self.lemmas.append(row[2])
            self.upos.append(row[3])
            self.xpos.append(row[4])
            self.feats.append(row[5])
            if row[6] == "_":
                why = "the sentence that begins here has no heads; expected a tree to score"
                raise DataError(sentence.source, sentence.first_line, why)
            self.heads.append(first + int(row[6]) - 1 if row[6] != "0" else ROOT)
            self.relations.append(row[7])
            self.plain.append(row[7].partition(":")[0] or row[7])  # ":<NP" has no subtype
        self.sentence_of += [len(self.sentence_spans)] * len(rows)
        self.sentence_spans.append((begun, position))
        self.sizes.append(len(rows))
        self.places.append((sentence.source, sentence.first_line))
        return position

    def __len__(self) -> int:
        return len(self.forms)

    def sentence_at(self, place: int) -> int:
        """The sentence that holds a character of the text, or the last one before it."""
        return max(bisect_right(self.sentence_spans, place, key=lambda span: span[0]) - 1, 0)

    def where(self, place: int) -> tuple[str, int | None]:
        """File and first line of the sentence that holds a character of the text."""
        return self.places[self.sentence_at(place)] if self.places else ("<no sentences>", None)


def _without_spaces(form: str) -> str:
    if form.isascii():
        return form.replace(" ", "")
    return "".join(c for c in form if unicodedata.category(c) != "Zs")


def _check_same_text(gold: Words, system: Words) -> None:
    if gold.text == system.text:
        return
    both = zip(gold.text, system.text, strict=False)
    shorter = min(len(gold.text), len(system.text))
    place = next((k for k, (one, other) in enumerate(both) if one != other), shorter)
    found, expected = system.text[place : place + 20], gold.text[place : place + 20]
    gold_file, gold_line = gold.where(place)
    why = (
        f"another text than that of {gold_file}: in the sentence that begins here "
        f"{f'found {found!r}' if found else 'the text ends'} where the gold text has "
        f"{f'{expected!r} (line {gold_line})' if expected else 'ended'}"
    )
    raise DataError(*system.where(place), why)


def align(gold: Words, system: Words) -> list[int | None]:
    """For every system word the gold word it stands for, or None.

    >>> g = Words.of([conllu.make_sentence(["a", "bc"], head=[0, 1])])
    >>> s = Words.of([conllu.make_sentence(["a", "b", "c"], head=[0, 1, 1])])
    >>> align(g, s)
    [0, None, None]
    """
    if gold.forms == system.forms:
        # the same words, also where one side does not know of multiword tokens (CoNLL-X)
        return list(range(len(gold)))
    _check_same_text(gold, system)
    partner: list[int | None] = [None] * len(system)
    one = other = 0
    while one < len(gold) and other < len(system):
        if gold.in_range[one] or system.in_range[other]:
            one, other = _align_region(gold, system, one, other, partner)
        elif (gold.starts[one], gold.ends[one]) == (system.starts[other], system.ends[other]):
            partner[other] = one
            one, other = one + 1, other + 1
        elif gold.starts[one] <= system.starts[other]:
            one += 1
        else:
            other += 1
    return partner


def _is_beyond(words: Words, place: int, end: int) -> bool:
    if place >= len(words):
        return True
    return words.starts[place] >= end if words.in_range[place] else words.ends[place] > end


def _align_region(
    gold: Words, system: Words, one: int, other: int, partner: list[int | None]
) -> tuple[int, int]:
    """Align the words of a stretch that multiword tokens of either side cover."""
    if gold.in_range[one]:
        end = gold.ends[one]
        if not system.in_range[other] and system.starts[other] < gold.starts[one]:
            other += 1
    else:
        end = system.ends[other]
        if not gold.in_range[one] and gold.starts[one] < system.starts[other]:
            one += 1
    first, first_other = one, other
    while not (_is_beyond(gold, one, end) and _is_beyond(system, other, end)):
        gold_next = one < len(gold) and (
            other >= len(system) or gold.starts[one] <= system.starts[other]
        )
        words, place = (gold, one) if gold_next else (system, other)
        if words.in_range[place]:
            end = max(end, words.ends[place])
        if gold_next:
            one += 1
        else:
            other += 1
    _align_by_form(gold, system, range(first, one), range(first_other, other), partner)
    return one, other


def _align_by_form(
    gold: Words, system: Words, mine: range, its: range, partner: list[int | None]
) -> None:
    """Pair words along a longest common subsequence of lower-cased forms."""
    left = [gold.forms[k].lower() for k in mine]
    right = [system.forms[k].lower() for k in its]
    # longest[i][j]: length of the longest common subsequence of left[i:] and right[j:]
    longest = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in reversed(range(len(left))):
        for j in reversed(range(len(right))):
            longest[i][j] = max(
                longest[i + 1][j + 1] + 1 if left[i] == right[j] else 0,
                longest[i + 1][j],
                longest[i][j + 1],
            )
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] == right[j]:
            partner[its[j]] = mine[i]
            i, j = i + 1, j + 1
        elif longest[i][j] == longest[i + 1][j]:
            i += 1
        else:
            j += 1
