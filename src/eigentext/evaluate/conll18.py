"""All measures of the CoNLL 2018 shared task, as its official scorer gives them.

The pairs and their questions are those of :mod:`eigentext.evaluate.attachment_counts`; here every
measure also has the number of aligned words it was asked of, and the percentages are made by the
official formulas, so that they are the same to the last bit:

    precision = correct / system   recall = correct / gold   F1 = 2 correct / (system + gold)
    aligned accuracy = correct / aligned

CLAS, MLAS and BLEX are given for whatever relations there are, as the official scorer does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eigentext.evaluate.alignment import Words
from eigentext.evaluate.attachment import spans_score
from eigentext.evaluate.attachment_counts import AlignedTexts
from eigentext.language.formats.conllu import each_conllu

if TYPE_CHECKING:
    from eigentext.language.formats.conllu import Treebank

OF_TREES = ("UAS", "LAS", "CLAS", "MLAS", "BLEX")
MEASURES = (
    *("Tokens", "Sentences", "Words", "UPOS", "XPOS", "UFeats", "AllTags", "Lemmas"),
    *OF_TREES,
)


class Measure(NamedTuple):
    """Counts of one measure; percentages are made of them.

    >>> found = Measure(correct=3, gold=4, system=6, aligned=4)
    >>> found.precision, found.recall, found.f1, found.aligned_accuracy
    (50.0, 75.0, 60.0, 75.0)
    """

    correct: int
    gold: int
    system: int
    aligned: int | None = None  # None: not asked of aligned words

    @property
    def precision(self) -> float:
        """Percentage of the system's items that are right."""
        return 100 * (self.correct / self.system if self.system else 0.0)

    @property
    def recall(self) -> float:
        """Percentage of the gold items that were found."""
        return 100 * (self.correct / self.gold if self.gold else 0.0)

    @property
    def f1(self) -> float:
        """Harmonic mean of the two, in percent."""
        total = self.system + self.gold
        return 100 * (2 * self.correct / total if total else 0.0)

    @property
    def aligned_accuracy(self) -> float | None:
        """Percentage of the aligned words that are right; None where words are not asked."""
        if self.aligned is None:
            return None
        return 100 * (self.correct / self.aligned if self.aligned else 0.0)


def evaluate(gold: Treebank, system: Treebank) -> dict[str, Measure]:
    """Every measure by its name; those of trees only where both sides have heads.

    Either side is a file, a Doc, or a list of sentences or Docs.

    >>> from eigentext.language.formats.conllu import make_sentence
    >>> words = ["dogs", "bark", "."]
    >>> right = make_sentence(words, head=[2, 0, 2], deprel=["nsubj", "root", "punct"])
    >>> wrong = make_sentence(words, head=[2, 0, 1], deprel=["obj", "root", "punct"])
    >>> scores = evaluate([right], [wrong])
    >>> round(scores["UAS"].f1, 2), round(scores["LAS"].f1, 2), scores["CLAS"].f1
    (66.67, 33.33, 50.0)
    """
    mine, its = Words.of(gold, need_heads=False), Words.of(system, need_heads=False)
    both = AlignedTexts(mine, its)

    scores = {
        "Tokens": Measure(*spans_score(mine.token_spans, its.token_spans)),
        "Sentences": Measure(*spans_score(mine.sentence_spans, its.sentence_spans)),
    }
    for name, (agree, counted) in both.questions().items():
        if name in OF_TREES and not (mine.has_heads and its.has_heads):
            continue
        aligned = sum(counted(mine, g) for g, _ in both.pairs)
        score = both.count(agree, counted)
        scores[name] = Measure(*score, None if name == "Words" else aligned)
    return scores


_SLIPS = 0.001  # of the words: Szeged has no XPOS, but for a slip in its dev part


def lacking(gold: Treebank) -> set[str]:
    """The measures of tags and lemmas that a treebank has not: ``_`` for all words but slips.

    Whoever leaves such a column blank is right by the official scorer, which says nothing.
    """
    columns = {"Lemmas": 2, "UPOS": 3, "XPOS": 4, "UFeats": 5}
    rows = [row for sentence in each_conllu(gold) for row in sentence.rows]
    most = _SLIPS * len(rows)
    return {name for name, at in columns.items() if sum(row[at] != "_" for row in rows) <= most}
