"""Two aligned texts, word by word: which pairs agree in what, and how many there are.

The flow: two :class:`~eigentext.evaluate.alignment.Words` -> pairs of a gold and a system word ->
questions about a pair (same head? same relation? same tags?) -> :class:`WordScore`, the three
counts that every measure of the CoNLL 2018 shared task is made of.  Tables cut the words by
length, relation or distance; added up, their rows are the scores of the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple, TypeVar

from eigentext.evaluate.alignment import ROOT, Words, align

Agree = Callable[[int, int], bool]  # of a gold and a system word
Counted = Callable[[Words, int], bool]


Key = TypeVar("Key")
DISTANCES = ((0, 0), (1, 1), (2, 2), (3, 6), (7, None))  # 0: from the root


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


CONTENT_RELATIONS = _names(
    "nsubj obj iobj csubj ccomp xcomp obl vocative expl dislocated advcl advmod discourse "
    "nmod appos nummod acl amod conj fixed flat compound list parataxis orphan goeswith "
    "reparandum root dep"
)
FUNCTION_RELATIONS = _names("aux cop mark det clf case cc")
UNIVERSAL_RELATIONS = CONTENT_RELATIONS | FUNCTION_RELATIONS | {"punct"}
_MOST_OTHER = 0.05  # of the words of a UD treebank may have a relation that is not UD's: slips
UNIVERSAL_FEATURES = _names(
    "PronType NumType Poss Reflex Foreign Abbr Gender Animacy Number Case Definite Degree "
    "VerbForm Mood Tense Aspect Voice Evident Polarity Person Polite"
)


class WordScore(NamedTuple):
    """Counts of one measure; the percentages are made of them.

    >>> WordScore(correct=3, gold=4, system=6).f1
    60.0
    """

    correct: int
    gold: int
    system: int

    @property
    def precision(self) -> float:
        """Percentage of the system's items that are right."""
        return 100.0 * self.correct / self.system if self.system else 0.0

    @property
    def recall(self) -> float:
        """Percentage of the gold items that were found."""
        return 100.0 * self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of the two, in percent."""
        total = self.gold + self.system
        return 200.0 * self.correct / total if total else 0.0


def is_punctuation(words: Words, word: int) -> bool:
    """Punctuation by its relation or by its tag."""
    return words.plain[word] == "punct" or words.upos[word] == "PUNCT"


def is_content(words: Words, word: int) -> bool:
    """Has the word a relation that CLAS counts?"""
    return words.plain[word] in CONTENT_RELATIONS


def always(*_: object) -> bool:
    """Of any word and any pair."""
    return True


def other_relations(words: Words) -> list[str]:
    """Relations that are not UD's, the most frequent first, if a treebank goes by such; or none.

    CLAS asks which relations are of content, which only UD tells.
    """
    others = Counter(name for name in words.plain if name not in UNIVERSAL_RELATIONS)
    if others.total() <= _MOST_OTHER * len(words):
        return []
    return sorted(others, key=lambda name: (-others[name], name))


def _universal(feats: str) -> str:
    universal = (pair for pair in feats.split("|") if pair.partition("=")[0] in UNIVERSAL_FEATURES)
    return "|".join(sorted(universal))


class AlignedTexts:
    """Two aligned texts: answers which aligned pairs agree in what."""

    def __init__(self, gold: Words, system: Words, *, punctuation: bool = True) -> None:
        self.gold, self.system = gold, system
        self.partner = align(gold, system)
        # which words are counted: all, or all but punctuation; an aligned word of the system goes
        # by what its gold partner is
        self.gold_kept = [punctuation or not is_punctuation(gold, g) for g in range(len(gold))]
        self.system_kept = [
            self.gold_kept[g] if g is not None else punctuation or not is_punctuation(system, s)
            for s, g in enumerate(self.partner)
        ]
        self.pairs = [
            (g, s) for s, g in enumerate(self.partner) if g is not None and self.gold_kept[g]
        ]

    def same_head(self, g: int, s: int) -> bool:
        """Do the two words hang from the same word?"""
        head = self.system.heads[s]
        if head == ROOT or self.gold.heads[g] == ROOT:
            return head == self.gold.heads[g]
        # a head that no gold word is aligned to is wrong
        return self.partner[head] == self.gold.heads[g]

    def same_relation(self, g: int, s: int) -> bool:
        """Have they the same relation?"""
        return self.gold.relations[g] == self.system.relations[s]

    def labelled(self, g: int, s: int) -> bool:
        """The same head and relation?"""
        return self.same_relation(g, s) and self.same_head(g, s)

    def same_lemma(self, g: int, s: int) -> bool:
        """The same lemma, where the gold side has one?"""
        return self.gold.lemmas[g] in ("_", self.system.lemmas[s])

    def labelled_with_lemma(self, g: int, s: int) -> bool:
        """The same head, relation and lemma?"""
        return self.labelled(g, s) and self.same_lemma(g, s)

    def same_upos(self, g: int, s: int) -> bool:
        """The same universal tag?"""
        return self.gold.upos[g] == self.system.upos[s]

    def same_xpos(self, g: int, s: int) -> bool:
        """The same tag of the treebank's own?"""
        return self.gold.xpos[g] == self.system.xpos[s]

    def same_feats(self, g: int, s: int) -> bool:
        """The same universal features?"""
        return _universal(self.gold.feats[g]) == _universal(self.system.feats[s])

    def same_tags(self, g: int, s: int) -> bool:
        """All of these?"""
        return self.same_upos(g, s) and self.same_xpos(g, s) and self.same_feats(g, s)

    def count(self, agree: Agree, is_counted: Counted) -> WordScore:
        """Agreeing pairs among the words kept; a pair is kept for its gold word."""
        gold, system = self.gold, self.system
        return WordScore(
            sum(is_counted(gold, g) and agree(g, s) for g, s in self.pairs),
            sum(is_counted(gold, g) for g, counted in enumerate(self.gold_kept) if counted),
            sum(is_counted(system, s) for s, counted in enumerate(self.system_kept) if counted),
        )

    def by_sentence(self, agree: Agree) -> tuple[WordScore, ...]:
        """Counts of each gold sentence; a system word counts where its first character stands.

        Added up they are what :meth:`count` gives, so that resampled sets of sentences are scored
        as the whole is.
        """
        gold, system = self.gold, self.system
        correct, mine, its = ([0] * len(gold.sizes) for _ in range(3))
        for g, s in self.pairs:
            correct[gold.sentence_of[g]] += agree(g, s)
        for g, counted in enumerate(self.gold_kept):
            mine[gold.sentence_of[g]] += counted
        for s, counted in enumerate(self.system_kept):
            p = self.partner[s]
            home = gold.sentence_at(system.starts[s]) if p is None else gold.sentence_of[p]
            its[home] += counted
        return tuple(map(WordScore, correct, mine, its))

    @cached_property
    def _function_words(self) -> list[dict[int, list[int]]]:
        """Of the gold side and of the system the function words below each word."""
        below: list[dict[int, list[int]]] = [{}, {}]
        for words, children in zip((self.gold, self.system), below, strict=True):
            for word, relation in enumerate(words.plain):
                if relation in FUNCTION_RELATIONS:
                    children.setdefault(words.heads[word], []).append(word)
        return below

    def _alike(self, g: int, s: int) -> bool:
        return self.same_relation(g, s) and self.same_upos(g, s) and self.same_feats(g, s)

    def same_with_function_words(self, g: int, s: int) -> bool:
        """Label, tags and features agree, and so do those of all function words below."""
        if not (self._alike(g, s) and self.same_head(g, s)):
            return False
        mine, its = (
            below.get(word, []) for below, word in zip(self._function_words, (g, s), strict=True)
        )
        return [self.partner[child] for child in its] == mine and all(map(self._alike, mine, its))

    def questions(self) -> dict[str, tuple[Agree, Counted]]:
        """What each measure asks of a pair, and which words it counts."""
        return {
            "Words": (always, always),
            "UPOS": (self.same_upos, always),
            "XPOS": (self.same_xpos, always),
            "UFeats": (self.same_feats, always),
            "AllTags": (self.same_tags, always),
            "Lemmas": (self.same_lemma, always),
            "UAS": (self.same_head, always),
            "LAS": (self.labelled, always),
            "CLAS": (self.labelled, is_content),
            "MLAS": (self.same_with_function_words, is_content),
            "BLEX": (self.labelled_with_lemma, is_content),
        }


# ---------------------------------------------------------------- tables


class LengthRow(NamedTuple):
    """Gold sentences of a range of lengths (all words counted), both ends included."""

    shortest: int
    longest: int
    n_sentences: int
    uas: WordScore
    las: WordScore


class RelationRow(NamedTuple):
    """One relation: how often its gold words have the right head, and the right head and label."""

    relation: str
    uas: WordScore
    las: WordScore  # of the system its words with this relation, for the precision


class DistanceRow(NamedTuple):
    """Words whose head stands so many words away, both ends included; 0 for roots."""

    shortest: int
    longest: int | None  # None: any
    uas: WordScore  # the gold head's distance for recall, the system's for precision
    las: WordScore


def _rows_by(
    both: AlignedTexts, key: Callable[[Words, int], Key]
) -> dict[Key, tuple[WordScore, WordScore]]:
    """Scores of heads, and of heads with relations, of the words with each key."""
    gold, system = both.gold, both.system
    in_gold = Counter(key(gold, g) for g, counted in enumerate(both.gold_kept) if counted)
    in_system = Counter(key(system, s) for s, counted in enumerate(both.system_kept) if counted)
    headed, labelled = Counter[Key](), Counter[Key]()
    for g, s in both.pairs:
        if both.same_head(g, s):
            headed[key(gold, g)] += 1
            labelled[key(gold, g)] += both.same_relation(g, s)
    return {
        name: (
            WordScore(headed[name], in_gold[name], in_system[name]),
            WordScore(labelled[name], in_gold[name], in_system[name]),
        )
        for name in {*in_gold, *in_system}
    }


def by_relation(both: AlignedTexts) -> tuple[RelationRow, ...]:
    """One row per relation, the most frequent of the gold side first."""
    rows = _rows_by(both, lambda words, word: words.relations[word])
    return tuple(
        RelationRow(name, uas._replace(system=uas.gold), las)
        for name, (uas, las) in sorted(rows.items(), key=lambda row: (-row[1][0].gold, row[0]))
    )


def by_length(
    sizes: Sequence[int], headed: Sequence[WordScore], labelled: Sequence[WordScore], width: int
) -> tuple[LengthRow, ...]:
    """One row per range of ``width`` lengths, from the scores of each sentence."""
    buckets: dict[int, list[int]] = {}
    for sentence, size in enumerate(sizes):
        buckets.setdefault((size - 1) // width, []).append(sentence)
    return tuple(
        LengthRow(
            bucket * width + 1,
            (bucket + 1) * width,
            len(members),
            added([headed[k] for k in members]),
            added([labelled[k] for k in members]),
        )
        for bucket, members in sorted(buckets.items())
    )


def by_distance(both: AlignedTexts) -> tuple[DistanceRow, ...]:
    """One row per range of distances between a word and its head."""
    rows = _rows_by(both, _range_of)
    nothing = WordScore(0, 0, 0), WordScore(0, 0, 0)
    return tuple(
        DistanceRow(*ends, *rows.get(number, nothing)) for number, ends in enumerate(DISTANCES)
    )


def added(scores: Sequence[WordScore]) -> WordScore:
    """The counts of several scores together.

    >>> added([WordScore(1, 2, 3), WordScore(1, 1, 1)])
    WordScore(correct=2, gold=3, system=4)
    """
    return WordScore(*map(sum, zip(*scores, strict=True))) if scores else WordScore(0, 0, 0)


def _range_of(words: Words, word: int) -> int:
    distance = 0 if words.heads[word] == ROOT else abs(words.heads[word] - word)
    return next(k for k, (_, last) in enumerate(DISTANCES) if last is None or distance <= last)
