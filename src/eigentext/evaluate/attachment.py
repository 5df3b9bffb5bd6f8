"""Attachment scores of dependency trees by the rules of the CoNLL 2018 shared task.

Flow of the datum: gold and system sentences -> two lists of words, aligned by characters
(:mod:`eigentext.evaluate.alignment`; the sentences may be cut into words and sentences differently
as long as the text is the same) -> for every aligned pair, which columns agree -> counts:

    precision = correct / system words     recall = correct / gold words     F1 = 2 P R / (P + R)

With the same words on both sides the three are one number, the accuracy.  Relations are compared
without subtypes (``nsubj:pass`` is ``nsubj``).  UAS: heads agree; LAS: heads and relations; CLAS:
LAS over content relations only; MLAS: CLAS with tags, features and function words; BLEX: CLAS with
lemmas.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from eigentext.errors import SettingsError
from eigentext.evaluate.alignment import ROOT, Words, align

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from eigentext.formats.conll import TenColumnSentence

__all__ = ["AttachmentResult", "LengthRow", "RelationRow", "Score", "evaluate"]


def _names(text: str) -> frozenset[str]:
    """The words of a list written as one string."""
    return frozenset(text.split())


CONTENT_RELATIONS = _names(
    "nsubj obj iobj csubj ccomp xcomp obl vocative expl dislocated advcl advmod discourse "
    "nmod appos nummod acl amod conj fixed flat compound list parataxis orphan goeswith "
    "reparandum root dep"
)
FUNCTION_RELATIONS = _names("aux cop mark det clf case cc")
UNIVERSAL_FEATURES = _names(
    "PronType NumType Poss Reflex Foreign Abbr Gender Animacy Number Case Definite Degree "
    "VerbForm Mood Tense Aspect Voice Evident Polarity Person Polite"
)


class Score(NamedTuple):
    """Counts of one measure; the percentages are made of them.

    >>> Score(correct=3, gold=4, system=6).f1
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


class LengthRow(NamedTuple):
    """Gold sentences of a range of lengths, both ends included."""

    shortest: int
    longest: int
    n_sentences: int
    uas: Score
    las: Score


class RelationRow(NamedTuple):
    """One relation: how often its gold words have the right head, and the right head and label.

    ``las.system`` counts the system's words with this relation, so that precision has a meaning.
    """

    relation: str
    uas: Score
    las: Score


@dataclass(frozen=True)
class AttachmentResult:
    """All scores; ``scores`` by name, the usual ones as attributes too (F1 in percent)."""

    scores: dict[str, Score]
    n_complete: int
    sentence_counts: tuple[tuple[int, int, int], ...]
    by_relation: tuple[RelationRow, ...]
    by_length: tuple[LengthRow, ...] = field(repr=False)

    @property
    def uas(self) -> float:
        """Unlabelled attachment score."""
        return self.scores["UAS"].f1

    @property
    def las(self) -> float:
        """Labelled attachment score."""
        return self.scores["LAS"].f1

    @property
    def clas(self) -> float:
        """Labelled attachment score of content words."""
        return self.scores["CLAS"].f1

    @property
    def complete_match(self) -> float:
        """Percentage of the gold sentences whose every word has the right head and relation."""
        n_sentences = len(self.sentence_counts)
        return 100.0 * self.n_complete / n_sentences if n_sentences else 0.0

    def as_dict(self) -> dict[str, float]:
        """F1 of every measure, and complete match, in percent."""
        figures = {name: score.f1 for name, score in self.scores.items()}
        return {**figures, "complete match": self.complete_match}


def _universal(feats: str) -> str:
    kept = (pair for pair in feats.split("|") if pair.partition("=")[0] in UNIVERSAL_FEATURES)
    return "|".join(sorted(kept))


class _Comparison:
    """Two aligned texts: answers which aligned pairs agree in what."""

    def __init__(self, gold: Words, system: Words) -> None:
        self.gold, self.system = gold, system
        self.partner = align(gold, system)
        self.pairs = [(g, s) for s, g in enumerate(self.partner) if g is not None]

    def same_head(self, g: int, s: int) -> bool:
        head = self.system.heads[s]
        if head == ROOT or self.gold.heads[g] == ROOT:
            return head == self.gold.heads[g]
        return self.partner[head] == self.gold.heads[g]

    def same_relation(self, g: int, s: int) -> bool:
        return self.gold.relations[g] == self.system.relations[s]

    def labelled(self, g: int, s: int) -> bool:
        return self.same_relation(g, s) and self.same_head(g, s)

    def same_lemma(self, g: int, s: int) -> bool:
        return self.gold.lemmas[g] in ("_", self.system.lemmas[s])

    def same_upos(self, g: int, s: int) -> bool:
        return self.gold.upos[g] == self.system.upos[s]

    def same_xpos(self, g: int, s: int) -> bool:
        return self.gold.xpos[g] == self.system.xpos[s]

    def same_feats(self, g: int, s: int) -> bool:
        return _universal(self.gold.feats[g]) == _universal(self.system.feats[s])

    def same_tags(self, g: int, s: int) -> bool:
        return self.same_upos(g, s) and self.same_xpos(g, s) and self.same_feats(g, s)

    def count(
        self,
        agree: Callable[[int, int], bool],
        kept: Callable[[Words, int], bool] = lambda words, place: True,
    ) -> Score:
        """Agreeing pairs among the words kept; a pair is kept for its gold word."""
        return Score(
            sum(kept(self.gold, g) and agree(g, s) for g, s in self.pairs),
            sum(kept(self.gold, g) for g in range(len(self.gold))),
            sum(kept(self.system, s) for s in range(len(self.system))),
        )

    def without_punctuation(self, agree: Callable[[int, int], bool]) -> Score:
        """Words the gold side calls punctuation do not count, on either side."""
        gold, system = self.gold, self.system
        n_system = sum(
            not _is_punctuation(gold, g) if g is not None else not _is_punctuation(system, s)
            for s, g in enumerate(self.partner)
        )
        return Score(
            sum(not _is_punctuation(gold, g) and agree(g, s) for g, s in self.pairs),
            sum(not _is_punctuation(gold, g) for g in range(len(gold))),
            n_system,
        )

    def morphology_agrees(self) -> Callable[[int, int], bool]:
        """MLAS: label, tags and features agree, and so do all function words below."""
        below: list[dict[int, list[int]]] = []
        for words in (self.gold, self.system):
            children: dict[int, list[int]] = {}
            for place, relation in enumerate(words.relations):
                if relation in FUNCTION_RELATIONS:
                    children.setdefault(words.heads[place], []).append(place)
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


def _is_punctuation(words: Words, place: int) -> bool:
    return words.relations[place] == "punct" or words.upos[place] == "PUNCT"


def _is_content(words: Words, place: int) -> bool:
    return words.relations[place] in CONTENT_RELATIONS


def _spans_score(gold: list[tuple[int, int]], system: list[tuple[int, int]]) -> Score:
    common = Counter(gold) & Counter(system)
    return Score(common.total(), len(gold), len(system))


def evaluate(
    gold: Iterable[TenColumnSentence],
    system: Iterable[TenColumnSentence],
    *,
    length_width: int = 10,
) -> AttachmentResult:
    """Score the system's trees against the gold trees of the same text.

    >>> from eigentext.formats.conllu import make_sentence
    >>> words = ["dogs", "bark", "."]
    >>> gold = make_sentence(words, head=[2, 0, 2], deprel=["nsubj", "root", "punct"])
    >>> system = make_sentence(words, head=[2, 0, 1], deprel=["obj", "root", "punct"])
    >>> result = evaluate([gold], [system])
    >>> round(result.uas, 1), round(result.las, 1), result.scores["UAS without punct"].f1
    (66.7, 33.3, 100.0)
    """
    if length_width < 1:
        raise SettingsError(f"length_width is {length_width}, expected 1 or more")
    mine, its = Words.of(gold), Words.of(system)
    both = _Comparison(mine, its)
    scores = {
        "Tokens": _spans_score(mine.token_spans, its.token_spans),
        "Sentences": _spans_score(mine.sentence_spans, its.sentence_spans),
        "Words": both.count(lambda g, s: True),
        "UPOS": both.count(both.same_upos),
        "XPOS": both.count(both.same_xpos),
        "UFeats": both.count(both.same_feats),
        "AllTags": both.count(both.same_tags),
        "Lemmas": both.count(both.same_lemma),
        "UAS": both.count(both.same_head),
        "LAS": both.count(both.labelled),
        "CLAS": both.count(both.labelled, _is_content),
        "MLAS": both.count(both.morphology_agrees(), _is_content),
        "BLEX": both.count(
            lambda g, s: both.labelled(g, s) and both.same_lemma(g, s), _is_content
        ),
        "UAS without punct": both.without_punctuation(both.same_head),
        "LAS without punct": both.without_punctuation(both.labelled),
    }
    headed = Counter(mine.sentence_of[g] for g, s in both.pairs if both.same_head(g, s))
    labelled = Counter(mine.sentence_of[g] for g, s in both.pairs if both.labelled(g, s))
    counts = tuple((labelled[k], size, size) for k, size in enumerate(mine.sizes))
    return AttachmentResult(
        scores=scores,
        n_complete=sum(correct == size for correct, size, _ in counts),
        sentence_counts=counts,
        by_relation=_by_relation(both),
        by_length=_by_length(mine.sizes, headed, labelled, length_width),
    )


def _by_relation(both: _Comparison) -> tuple[RelationRow, ...]:
    in_gold = Counter(both.gold.relations)
    in_system = Counter(both.system.relations)
    headed: Counter[str] = Counter()
    labelled: Counter[str] = Counter()
    for g, s in both.pairs:
        if both.same_head(g, s):
            headed[both.gold.relations[g]] += 1
            labelled[both.gold.relations[g]] += both.same_relation(g, s)
    return tuple(
        RelationRow(
            name,
            Score(headed[name], in_gold[name], in_gold[name]),
            Score(labelled[name], in_gold[name], in_system[name]),
        )
        for name in sorted({*in_gold, *in_system}, key=lambda name: (-in_gold[name], name))
    )


def _by_length(
    sizes: list[int], headed: Counter[int], labelled: Counter[int], width: int
) -> tuple[LengthRow, ...]:
    buckets: dict[int, list[int]] = {}
    for sentence, size in enumerate(sizes):
        buckets.setdefault((size - 1) // width, []).append(sentence)
    rows = []
    for place in sorted(buckets):
        members = buckets[place]
        n_words = sum(sizes[k] for k in members)
        uas = Score(sum(headed[k] for k in members), n_words, n_words)
        las = Score(sum(labelled[k] for k in members), n_words, n_words)
        rows.append(LengthRow(place * width + 1, (place + 1) * width, len(members), uas, las))
    return tuple(rows)
