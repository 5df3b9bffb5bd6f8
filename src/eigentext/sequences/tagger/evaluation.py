"""How good a tagger is: accuracy over all, known and unknown words, and tag by tag.

``evaluate_tagger`` takes any tagger by its ``predict``: the generative ones of this folder, or the
perceptron of ``tagging``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from eigentext.errors import DataError
from eigentext.evaluate.ner import TypeScore


@dataclass(frozen=True)
class TagReport:
    """Counts of right tags, over all words and over unknown ones, and each tag's."""

    n_tokens: int
    n_right: int
    n_unknown: int
    n_right_unknown: int
    tags: tuple[TypeScore, ...]

    @property
    def accuracy(self) -> float:
        """Percent of right tags."""
        return 100 * self.n_right / max(self.n_tokens, 1)

    @property
    def known(self) -> float:
        """The same over words that training saw."""
        right = self.n_right - self.n_right_unknown
        return 100 * right / max(self.n_tokens - self.n_unknown, 1)

    @property
    def unknown(self) -> float:
        """The same over words that it did not."""
        return 100 * self.n_right_unknown / max(self.n_unknown, 1)


def evaluate_tagger(
    predict: Callable[[Iterable[Sequence[str]]], Iterable[Sequence[str]]],
    knows: Callable[[str], bool],
    X: Iterable[Sequence[str]],
    y: Iterable[Sequence[str]],
) -> TagReport:
    """Tag sentences and compare with their gold tags.

    >>> report = evaluate_tagger(
    ...     lambda X: [["N"] * len(x) for x in X], {"cat"}.__contains__, [["the", "cat"]],
    ...     [["D", "N"]])
    >>> report.accuracy, report.known, report.unknown
    (50.0, 100.0, 0.0)
    """
    gold, predicted, right = Counter[str](), Counter[str](), Counter[str]()
    n_unknown = right_unknown = 0
    sentences = list(X)
    rows = zip(sentences, y, predict(sentences), strict=True)
    for number, (words, tags, answers) in enumerate(rows, start=1):
        for row in (tags, answers):
            if len(row) != len(words):
                raise DataError("<tags>", number, f"{len(row)} tags for {len(words)} tokens")
        for word, tag, answer in zip(words, tags, answers, strict=True):
            gold[tag] += 1
            predicted[answer] += 1
            right[tag] += tag == answer
            if not knows(word):
                n_unknown += 1
                right_unknown += tag == answer
    return TagReport(
        gold.total(),
        right.total(),
        n_unknown,
        right_unknown,
        tuple(
            TypeScore(tag, right[tag], gold[tag], predicted[tag])
            for tag in sorted(gold | predicted)
        ),
    )
