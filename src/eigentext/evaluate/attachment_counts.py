"""Two aligned texts, word by word: which pairs agree in what, and how many there are.

The flow: two :class:`~eigentext.evaluate.alignment.Words` -> pairs of a gold and a system word ->
questions about a pair (same head? same relation? same tags?) -> :class:`WordScore`, the three
counts that every measure of the CoNLL 2018 shared task is made of.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from eigentext.evaluate.alignment import ROOT, Words, align

if TYPE_CHECKING:
    from collections.abc import Callable


def _names(text: str) -> frozenset[str]:
    """The words of a list written as one string."""
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
    """Two aligned texts: answers which aligned pairs agree in what.

    ``pairs``       (gold word, system word), aligned; only those counted
    ``gold_kept``   which gold words are counted: all, or all but punctuation
    ``system_kept`` the same of the system; an aligned word goes by what its gold partner is
    """

    def __init__(self, gold: Words, system: Words, *, punctuation: bool = True) -> None:
        self.gold, self.system = gold, system
        self.partner = align(gold, system)
        self.gold_kept = [punctuation or not is_punctuation(gold, g) for g in range(len(gold))]
        self.system_kept = [
            self.gold_kept[g] if g is not None else punctuation or not is_punctuation(system, s)
            for s, g in enumerate(self.partner)
        ]
        self.pairs = [
            (g, s) for s, g in enumerate(self.partner) if g is not None and self.gold_kept[g]
        ]

    def aligned(self, g: int, s: int) -> bool:
        """Of a pair that is always so."""
        return True

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

    def count(
        self,
        agree: Callable[[int, int], bool],
        is_counted: Callable[[Words, int], bool] = lambda words, word: True,
    ) -> WordScore:
        """Agreeing pairs among the words kept; a pair is kept for its gold word."""
        gold, system = self.gold, self.system
        return WordScore(
            sum(is_counted(gold, g) and agree(g, s) for g, s in self.pairs),
            sum(is_counted(gold, g) for g, counted in enumerate(self.gold_kept) if counted),
            sum(is_counted(system, s) for s, counted in enumerate(self.system_kept) if counted),
        )

    def by_sentence(self, agree: Callable[[int, int], bool]) -> tuple[WordScore, ...]:
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

    def morphology_agrees(self) -> Callable[[int, int], bool]:
        """MLAS: label, tags and features agree, and so do all function words below."""
        below: list[dict[int, list[int]]] = []
        for words in (self.gold, self.system):
            children: dict[int, list[int]] = {}
            for word, relation in enumerate(words.plain):
                if relation in FUNCTION_RELATIONS:
                    children.setdefault(words.heads[word], []).append(word)
            below.append(children)
        gold_below, system_below = below

        def alike(g: int, s: int) -> bool:
            return self.same_relation(g, s) and self.same_upos(g, s) and self.same_feats(g, s)

        def agree(g: int, s: int) -> bool:
            if not (alike(g, s) and self.same_head(g, s)):
                return False
            mine, its = gold_below.get(g, []), system_below.get(s, [])
            return [self.partner[child] for child in its] == mine and all(map(alike, mine, its))

        return agree
