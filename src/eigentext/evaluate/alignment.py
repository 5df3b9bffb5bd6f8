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

from eigentext.errors import DataError
from eigentext.language.formats import conllu

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
    origins: list[tuple[str, int]] = field(default_factory=list)  # file, line of each sentence
    text: str = ""
    has_heads: bool = True
    need_heads: bool = True

    @classmethod
    def of(
        cls, sentences: conllu.Treebank, *, subtypes: bool = False, need_heads: bool = True
    ) -> Words:
        """Lay the sentences end to end; relations are cut at ``:`` unless ``subtypes``.

        A sentence without heads is an error, unless they are not needed.
        """
        words = cls(need_heads=need_heads)
        characters: list[str] = []
        position = 0
        for sentence in conllu.each_conllu(sentences):
            position = words._add(sentence, characters, position)
        words.text = "".join(characters)
        if not subtypes:
            words.relations = words.plain
        return words

    def _add(self, sentence: conllu.ConlluBlock, characters: list[str], position: int) -> int:
        first, begun = len(self.forms), position
        unit_end = 0  # the last word of the multiword token we are in
        ranges = {unit.start: unit for unit in sentence.ranges}
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
            # a word that is a token has no spaces in it, as the official scorer has it
            self.forms.append(row[1] if inside or unit is not None else surface)
            self.lemmas.append(row[2])
            self.upos.append(row[3])
            self.xpos.append(row[4])
            self.feats.append(row[5])
            if row[6] == "_" and not self.need_heads:
                self.has_heads = False
                row[6] = "0"
            if row[6] == "_":
                why = "the sentence that begins here has no heads; expected a tree to score"
                raise DataError(sentence.source, sentence.first_line, why)
            self.heads.append(first + int(row[6]) - 1 if row[6] != "0" else ROOT)
            self.relations.append(row[7])
            self.plain.append(row[7].partition(":")[0] or row[7])  # ":<NP" has no subtype
        self.sentence_of += [len(self.sentence_spans)] * len(rows)
        self.sentence_spans.append((begun, position))
        self.sizes.append(len(rows))
        self.origins.append((sentence.source, sentence.first_line))
        return position

    def __len__(self) -> int:
        return len(self.forms)

    def sentence_at(self, position: int) -> int:
        """The sentence that holds a character of the text, or the last one before it."""
        return max(bisect_right(self.sentence_spans, position, key=lambda span: span[0]) - 1, 0)

    def where(self, position: int) -> tuple[str, int | None]:
        """File and first line of the sentence that holds a character of the text."""
        if not self.origins:
            return "<no sentences>", None
        return self.origins[self.sentence_at(position)]


def _without_spaces(form: str) -> str:
    if form.isascii():
        return form.replace(" ", "")
    return "".join(c for c in form if unicodedata.category(c) != "Zs")


def _check_same_text(gold: Words, system: Words) -> None:
    if gold.text == system.text:
        return
    both = zip(gold.text, system.text, strict=False)
    shorter = min(len(gold.text), len(system.text))
    position = next((k for k, (ours, theirs) in enumerate(both) if ours != theirs), shorter)
    excerpt, expected = system.text[position : position + 20], gold.text[position : position + 20]
    gold_file, gold_line = gold.where(position)
    why = (
        f"another text than that of {gold_file}: in the sentence that begins here "
        f"{f'found {excerpt!r}' if excerpt else 'the text ends'} where the gold text has "
        f"{f'{expected!r} (line {gold_line})' if expected else 'ended'}"
    )
    raise DataError(*system.where(position), why)


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
    g = s = 0
    while g < len(gold) and s < len(system):
        if gold.in_range[g] or system.in_range[s]:
            g, s = _align_region(gold, system, g, s, partner)
        elif (gold.starts[g], gold.ends[g]) == (system.starts[s], system.ends[s]):
            partner[s] = g
            g, s = g + 1, s + 1
        elif gold.starts[g] <= system.starts[s]:
            g += 1
        else:
            s += 1
    return partner


def _is_beyond(words: Words, word: int, end: int) -> bool:
    if word >= len(words):
        return True
    return words.starts[word] >= end if words.in_range[word] else words.ends[word] > end


def _align_region(
    gold: Words, system: Words, g: int, s: int, partner: list[int | None]
) -> tuple[int, int]:
    """Align the words of a stretch that multiword tokens of either side cover."""
    if gold.in_range[g]:
        end = gold.ends[g]
        if not system.in_range[s] and system.starts[s] < gold.starts[g]:
            s += 1
    else:
        end = system.ends[s]
        if not gold.in_range[g] and gold.starts[g] < system.starts[s]:
            g += 1
    first, first_other = g, s
    while not (_is_beyond(gold, g, end) and _is_beyond(system, s, end)):
        gold_next = g < len(gold) and (s >= len(system) or gold.starts[g] <= system.starts[s])
        words, word = (gold, g) if gold_next else (system, s)
        if words.in_range[word]:
            end = max(end, words.ends[word])
        if gold_next:
            g += 1
        else:
            s += 1
    _align_by_form(gold, system, range(first, g), range(first_other, s), partner)
    return g, s


def _align_by_form(
    gold: Words, system: Words, mine: range, its: range, partner: list[int | None]
) -> None:
    """Pair words along a longest common subsequence of lower-cased forms."""
    left = [gold.forms[k].lower() for k in mine]
    right = [system.forms[k].lower() for k in its]
    # longest[i][j]: length of the longest common subsequence of left[i:] and right[j:], the best
    # of pairing both first words, if alike, and of leaving out either; O(left right) for a region
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
        if left[i] == right[j]:  # like first words are in some longest subsequence
            partner[its[j]] = mine[i]
            i, j = i + 1, j + 1
        elif longest[i][j] == longest[i + 1][j]:
            i += 1
        else:
            j += 1
