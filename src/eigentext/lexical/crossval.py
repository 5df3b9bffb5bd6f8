"""How good a ranker is: on documents it has not seen, or in folds by document."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from eigentext.base import parallel
from eigentext.base.cores import cores_in_use
from eigentext.base.folds import dealt
from eigentext.base.model import NotFittedError
from eigentext.base.progress import Progress
from eigentext.base.tokens import checked_tokens
from eigentext.base.types import Float64s
from eigentext.errors import SettingsError
from eigentext.evaluate.ranking import RankedItem, RankingScores, in_order, score_ranking
from eigentext.lexical.analysis import Analyzer
from eigentext.lexical.analyzers import open_analyzer
from eigentext.lexical.candidates import LabelSource
from eigentext.lexical.documents import LexDocument, LexWord
from eigentext.lexical.ranker.encoding import (
    Observed,
    Targets,
    WordArrays,
    WordEncoder,
    hard_elements,
)
from eigentext.lexical.ranker.model import LexicalRanker
from eigentext.lexical.ranker.second_pass import best_rows
from eigentext.lexical.ranker.softmax import calibration_error, probabilities
from eigentext.lexical.schemes.labels import Label, LabelScheme, load_scheme


class MostFrequent:
    """The label that the form had most often in training; for new forms the highest prior.

    >>> scheme = load_scheme("arabic14")
    >>> noun = scheme.from_mapping({"lemma": "x", "pos": "N"})
    >>> ranker = MostFrequent().fit([LexDocument("d", [[LexWord("من", noun)]])])
    >>> ranker.rank(["من"])[0][0][0] == noun
    True
    """

    temperature_ = 1.0

    def __init__(
        self, *, analyzer: str | Analyzer = "sample", scheme: str | LabelScheme = "arabic14"
    ) -> None:
        self.analyzer = analyzer
        self.scheme = scheme

    def fit(
        self, documents: Iterable[LexDocument], *, candidates: LabelSource | None = None
    ) -> Self:
        """Learn from documents whose words have labels; ``candidates`` as of the ranker."""
        documents = list(documents)
        forms = [w.form for d in documents for w in d.words() if w.label is not None]
        if not forms:
            raise SettingsError("no word with a label in the training documents: nothing to learn")
        if candidates is None:
            candidates = LabelSource(open_analyzer(self.analyzer), load_scheme(self.scheme))
        self.candidates_, self.scheme_ = candidates, candidates.scheme
        self.hard_ = hard_elements(self.scheme_, candidates, forms)
        self.targets_ = Targets(self.scheme_, hard=self.hard_)
        self.observed_ = Observed()
        numbers: dict[str, int] = {}
        for number, document in enumerate(documents):
            numbers[document.id] = number
            for word in document.words():
                if word.label is not None:
                    self.observed_.add(word.form, word.label, number)
        self.seen_ = frozenset(forms)
        self.encoder_ = WordEncoder(candidates, self.targets_)
        self._learn(self.encoder_(documents, self.observed_, training=numbers), documents)
        return self

    def score_documents(self, documents: Sequence[LexDocument]) -> tuple[WordArrays, Float64s]:
        """The words as arrays, and the score of every row."""
        if not hasattr(self, "encoder_"):
            raise NotFittedError("nothing was learned yet: call fit first")
        encoded = self.encoder_(documents, self.observed_)
        return encoded, self._score(encoded)

    def rank(self, tokens: Sequence[str]) -> list[list[tuple[Label, float]]]:
        """Each token's labels with their scores, best first; ties by the labels' fixed hash."""
        sentence = [LexWord(token) for token in checked_tokens(tokens)]
        encoded, row_scores = self.score_documents([LexDocument("", [sentence])])
        ranked = []
        for number, candidates in enumerate(encoded.candidates):
            labels = [candidate.label for candidate in candidates]
            scores = row_scores[encoded.first[number] : encoded.first[number + 1]].tolist()
            of = dict(zip(labels, scores, strict=True))
            ranked.append([(label, of[label]) for label in in_order(labels, scores)])
        return ranked

    def _learn(self, encoded: WordArrays, documents: Sequence[LexDocument]) -> None:
        self.counts_ = label_counts(documents)

    def _score(self, encoded: WordArrays) -> Float64s:
        return np.array(
            [
                # counts first, the prior among equals
                1000.0 * self.counts_[word][candidate.label] + candidate.prior
                for word, candidates in zip(encoded.words, encoded.candidates, strict=True)
                for candidate in candidates
            ],
            np.float64,
        )


def label_counts(documents: Iterable[LexDocument]) -> defaultdict[str, Counter[Label]]:
    """How often each form had each label.

    >>> label_counts([LexDocument("d", [[LexWord("a", ("x",)), LexWord("a", ("x",))]])])["a"]
    Counter({('x',): 2})
    """
    counts: defaultdict[str, Counter[Label]] = defaultdict(Counter)
    for document in documents:
        for word in document.words():
            if word.label is not None:
                counts[word.form][word.label] += 1
    return counts


@dataclass
class FoldResult:
    """The figures of one evaluation, how far its probabilities are off, and CPU seconds."""

    scores: RankingScores
    calibration_error: float
    train_seconds: float
    rank_seconds: float


def evaluate_ranker(
    ranker: LexicalRanker | MostFrequent,
    documents: Sequence[LexDocument],
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
    best = best_rows(encoded.first, row_scores)  # [n] the row of each word's answer
    right = best[scored] == encoded.gold_row[scored]  # -1, no row, is never right

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


def folds_by_document(documents: Sequence[LexDocument], folds: int = 10) -> list[int]:
    """The fold of each document.

    >>> sorted(folds_by_document([LexDocument(name, []) for name in "abc"], 3))
    [0, 1, 2]
    """
    return dealt([document.id for document in documents], folds)


def cross_validate(
    documents: Sequence[LexDocument],
    make: Callable[[], LexicalRanker | MostFrequent],
    *,
    folds: int = 10,
    without: Sequence[str] = ("cas",),
    progress: Progress | None = None,
) -> Iterator[FoldResult]:
    """Train and evaluate fold by fold, in as many processes as cores."""
    work = _Folds(list(documents), folds_by_document(documents, folds), make, tuple(without))
    answers = parallel.in_order(
        _fold_results, range(folds), state=work, jobs=cores_in_use(), chunk=1
    )
    if progress:
        progress(0, folds, "folds")
    for done, (_, result) in enumerate(answers, start=1):
        yield result
        if progress:
            progress(done, folds, "folds")


@dataclass
class _Folds:
    """What all folds share; words that were analysed for one are known to the next."""

    documents: list[LexDocument]
    fold: list[int]
    make: Callable[[], LexicalRanker | MostFrequent]
    without: tuple[str, ...]
    candidates: LabelSource | None = None

    def result(self, number: int) -> FoldResult:
        """Train on the others, evaluate on this one."""
        began = time.process_time()
        pairs = list(zip(self.documents, self.fold, strict=True))
        training = [document for document, fold in pairs if fold != number]
        ranker = self.make().fit(training, candidates=self.candidates)
        self.candidates = ranker.candidates_  # with what it remembers of words
        spent = time.process_time() - began
        test = [document for document, fold in pairs if fold == number]
        result = evaluate_ranker(ranker, test, without=self.without)
        result.train_seconds = spent
        return result


def _fold_results(folds: _Folds, numbers: list[int]) -> list[FoldResult]:
    return [folds.result(number) for number in numbers]
