"""How good a ranker is: on documents it has not seen, or in folds by document.

1. :func:`evaluate_ranker` ranks documents and counts A1 and A2 of their scored words.
2. :func:`folds_by_document` deals documents out by a hash of their ids: the same folds everywhere.
3. :func:`cross_validate` trains on the others and evaluates on each fold in turn.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.cores import cores_in_use
from eigentext.base.folds import dealt
from eigentext.base.parallel import in_order
from eigentext.evaluate.ranking import RankedItem, RankingScores, score_ranking
from eigentext.lexical.ranker.calibration import calibration_error
from eigentext.lexical.ranker.second_pass import best_rows
from eigentext.lexical.ranker.softmax import probabilities

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eigentext.base.progress import Progress
    from eigentext.lexical.baseline import MostFrequent
    from eigentext.lexical.documents import Document
    from eigentext.lexical.ranker.model import LexicalRanker


@dataclass
class FoldResult:
    """The figures of one evaluation, how far its probabilities are off, and CPU seconds."""

    scores: RankingScores
    calibration_error: float
    train_seconds: float
    rank_seconds: float


def evaluate_ranker(
    ranker: LexicalRanker | MostFrequent,
    documents: Sequence[Document],
    *,
    without: Sequence[str] = ("cas",),
) -> FoldResult:
    """Rank the documents' scored words and count; gold is looked at only here."""
    began = time.process_time()
    encoded, row_scores = ranker.score_documents(documents)
    spent = time.process_time() - began
    shares = probabilities(encoded.first, row_scores / ranker.temperature_)
    gold = [word.label for document in documents for word in document.words()]
    scored = np.flatnonzero(encoded.scored)
    best = best_rows(encoded.first, row_scores)
    right = best[scored] == encoded.gold_row[scored]

    def items() -> Iterator[RankedItem]:
        for token in scored.tolist():
            label = gold[token]
            if label is None:
                continue
            begin, end = encoded.first[token], encoded.first[token + 1]
            yield RankedItem(
                label,
                [candidate.label for candidate in encoded.candidates[token]],
                row_scores[begin:end].tolist(),
                encoded.words[token] in ranker.seen_,
                documents[encoded.document_of[token]].id,
            )

    return FoldResult(
        score_ranking(items(), ranker.scheme_.elements, without=without),
        calibration_error(shares[best[scored]] if len(scored) else np.zeros(0), right),
        0.0,
        spent,
    )


def folds_by_document(documents: Sequence[Document], folds: int = 10) -> list[int]:
    """The fold of each document.

    >>> from eigentext.lexical.documents import Document
    >>> sorted(folds_by_document([Document("a", []), Document("b", []), Document("c", [])], 3))
    [0, 1, 2]
    """
    return dealt([document.id for document in documents], folds)


def cross_validate(
    documents: Sequence[Document],
    make: Callable[[], LexicalRanker | MostFrequent],
    *,
    folds: int = 10,
    only: Sequence[int] | None = None,
    without: Sequence[str] = ("cas",),
    progress: Progress | None = None,
) -> Iterator[FoldResult]:
    """Train and evaluate fold by fold, ``only`` some of them; in as many processes as cores.

    A process analyses a word once for all its folds.
    """
    wanted = list(range(folds)) if only is None else list(only)
    work = _Folds(list(documents), folds_by_document(documents, folds), make, tuple(without))
    answers = in_order(_fold_results, wanted, state=work, jobs=cores_in_use(), chunk=1)
    if progress:
        progress(0, len(wanted), "folds")
    for done, (_, result) in enumerate(answers, start=1):
        yield result
        if progress:
            progress(done, len(wanted), "folds")


@dataclass
class _Folds:
    """What all folds share; words that were analysed for one are known to the next."""

    documents: list[Document]
    fold: list[int]
    make: Callable[[], LexicalRanker | MostFrequent]
    without: tuple[str, ...]
    candidates: Any = None

    def result(self, number: int) -> FoldResult:
        """Train on the others, evaluate on this one."""
        began = time.process_time()
        pairs = list(zip(self.documents, self.fold, strict=True))
        training = [document for document, fold in pairs if fold != number]
        ranker = self.make().fit(training, candidates=self.candidates)
        self.candidates = ranker.candidates_
        spent = time.process_time() - began
        test = [document for document, fold in pairs if fold == number]
        result = evaluate_ranker(ranker, test, without=self.without)
        result.train_seconds = spent
        return result


def _fold_results(folds: _Folds, numbers: list[int]) -> list[FoldResult]:
    return [folds.result(number) for number in numbers]
