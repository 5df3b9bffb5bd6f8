"""The most frequent label of each form: the simplest ranker, which every other one has to beat.

:class:`MostFrequent` does all that a ranker needs besides scores: candidates C(t) with the labels
seen in training, as rows and units.  A word of a training document never sees the labels that only
its own document showed.  ``score_documents`` has the shape of the ranker's, so that one evaluation
serves both.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import numpy as np

from eigentext.base.model import NotFittedError
from eigentext.base.tokens import checked_tokens
from eigentext.errors import SettingsError
from eigentext.evaluate.ranking import in_order
from eigentext.lexical.analyzers import open_analyzer
from eigentext.lexical.candidates import Candidates
from eigentext.lexical.documents import Document, Word
from eigentext.lexical.ranker.encoding import Encoded, Encoder, Observed, Targets, hard_elements
from eigentext.lexical.schemes.labels import Label, LabelScheme, load_scheme

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from eigentext.base.types import Float64s
    from eigentext.lexical.analysis import Analyzer


class MostFrequent:
    """The label that the form had most often in training; for new forms the highest prior.

    ``analyzer``   an analyzer, or what ``open_analyzer`` takes
    ``scheme``     a label scheme, or what ``load_scheme`` takes

    >>> from eigentext.lexical.documents import Document, Word
    >>> scheme = load_scheme("arabic14")
    >>> noun = scheme.from_mapping({"lemma": "x", "pos": "N"})
    >>> ranker = MostFrequent().fit([Document("d", [[Word("من", noun)]])])
    >>> ranker.rank(["من"])[0][0][0] == noun
    True
    """

    temperature_ = 1.0

    def __init__(
        self, *, analyzer: str | Analyzer = "sample", scheme: str | LabelScheme = "arabic14"
    ) -> None:
        self.analyzer = analyzer
        self.scheme = scheme

    def fit(self, documents: Iterable[Document], *, candidates: Candidates | None = None) -> Self:
        """Learn from documents whose words have labels; ``candidates`` as of the ranker."""
        documents = list(documents)
        forms = [w.form for d in documents for w in d.words() if w.label is not None]
        if not forms:
            raise SettingsError("no word with a label in the training documents: nothing to learn")
        if candidates is None:
            candidates = Candidates(open_analyzer(self.analyzer), load_scheme(self.scheme))
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
        self.encoder_ = Encoder(candidates, self.targets_)
        self._learn(self.encoder_(documents, self.observed_, training=numbers), documents)
        return self

    def score_documents(self, documents: Sequence[Document]) -> tuple[Encoded, Float64s]:
        """The words as arrays, and the score of every row."""
        if not hasattr(self, "encoder_"):
            raise NotFittedError("nothing was learned yet: call fit first")
        encoded = self.encoder_(documents, self.observed_)
        return encoded, self._score(encoded)

    def rank(self, tokens: Sequence[str]) -> list[list[tuple[Label, float]]]:
        """Each token's labels with their scores, best first; ties by the labels' fixed hash."""
        sentence = [Word(token) for token in checked_tokens(tokens)]
        encoded, row_scores = self.score_documents([Document("", [sentence])])
        ranked = []
        for number, candidates in enumerate(encoded.candidates):
            labels = [candidate.label for candidate in candidates]
            scores = row_scores[encoded.first[number] : encoded.first[number + 1]].tolist()
            of = dict(zip(labels, scores, strict=True))
            ranked.append([(label, of[label]) for label in in_order(labels, scores)])
        return ranked

    def _learn(self, encoded: Encoded, documents: Sequence[Document]) -> None:
        self.counts_ = label_counts(documents)

    def _score(self, encoded: Encoded) -> Float64s:
        return np.array(
            [
                1000.0 * self.counts_[word][candidate.label] + candidate.prior
                for word, candidates in zip(encoded.words, encoded.candidates, strict=True)
                for candidate in candidates
            ],
            np.float64,
        )


def label_counts(documents: Iterable[Document]) -> defaultdict[str, Counter[Label]]:
    """How often each form had each label.

    >>> from eigentext.lexical.documents import Document, Word
    >>> label_counts([Document("d", [[Word("a", ("x",)), Word("a", ("x",))]])])["a"]
    Counter({('x',): 2})
    """
    counts: defaultdict[str, Counter[Label]] = defaultdict(Counter)
    for document in documents:
        for word in document.words():
            if word.label is not None:
                counts[word.form][word.label] += 1
    return counts
