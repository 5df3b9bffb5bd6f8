"""Other ways to rank the same candidates, for comparison: documents in, scores of rows out.

1. :class:`Rival` gathers what every method shares: candidates C(t) with the labels seen in
   training, rows and units as the ranker has them, and the context features of words.
2. :class:`MostFrequent` counts; :class:`ElementClassifiers` asks one classifier per element and
   adds up agreements; the chains (CRF, MIRA, perceptron) are in ``structured``.
3. ``score_documents`` has the shape of the ranker's, so that one evaluation serves all.

A word of a training document never sees the labels that only its own document showed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eigentext.errors import SettingsError
from eigentext.evaluate.ranking import in_order
from eigentext.lexical import features
from eigentext.lexical.analyzers import open_analyzer
from eigentext.lexical.candidates import Candidates
from eigentext.lexical.documents import Document, Word
from eigentext.lexical.encoding import Encoded, Encoder, Observed, Targets, hard_elements
from eigentext.lexical.labels import Label, LabelScheme, load_scheme
from eigentext.lexical.second_pass import weighed
from eigentext.lexical.softmax import probabilities

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from eigentext.lexical.analysis import Analyzer

__all__ = ["ElementClassifiers", "MostFrequent", "Rival"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Rival:
    """What the methods share; each says how to ``_learn`` and how to ``_score``.

    ``analyzer``   an analyzer, or what ``open_analyzer`` takes
    ``scheme``     a label scheme, or what ``load_scheme`` takes
    ``templates``  features of what was typed (those of the ranker's first pass)
    ``bits``       weights lie in a table of 2^bits
    ``epochs``     passes over the training words
    ``seed``       of shuffles and splits
    """

    def __init__(
        self,
        *,
        analyzer: str | Analyzer = "sample",
        scheme: str | LabelScheme = "arabic14",
        templates: Sequence[str] = features.WIDE,
        bits: int = 22,
        epochs: int = 3,
        seed: int = 0,
    ) -> None:
        self.analyzer = open_analyzer(analyzer) if isinstance(analyzer, str) else analyzer
        self.scheme = scheme if isinstance(scheme, LabelScheme) else load_scheme(scheme)
        self.templates = tuple(templates)
        self.bits = bits
        self.epochs = epochs
        self.seed = seed
        self.temperature_ = 1.0
        self.candidates = Candidates(self.analyzer, self.scheme)
        if not 1 <= bits <= 30 or epochs < 1:
            raise SettingsError(
                f"expected bits of 1 to 30 and epochs of 1 or more, found {bits} and {epochs}"
            )

    def fit(self, documents: Iterable[Document]) -> Self:
        """Learn from documents whose words have labels."""
        given = list(documents)
        forms = [w.form for d in given for w in d.words() if w.label is not None]
        if not forms:
            raise SettingsError("no word with a label in the training documents: nothing to learn")
        self.hard_ = hard_elements(self.scheme, self.candidates, forms)
        self.targets_ = Targets(self.scheme, hard=self.hard_)
        self.used_ = weighed(self.templates, self.targets_.names)
        self.observed_ = Observed()
        numbers: dict[str, int] = {}
        for number, document in enumerate(given):
            numbers[document.id] = number
            for word in document.words():
                if word.label is not None:
                    self.observed_.add(word.form, word.label, number)
        self.seen_ = frozenset(forms)
        self.encoder_ = Encoder(self.candidates, self.targets_)
        self._learn(self.encoder_(given, self.observed_, training=numbers), given)
        return self

    def score_documents(self, documents: Sequence[Document]) -> tuple[Encoded, Floats]:
        """The words as arrays, and the score of every row."""
        if not hasattr(self, "encoder_"):
            raise SettingsError("nothing was learned yet: call fit first")
        encoded = self.encoder_(documents, self.observed_)
        return encoded, self._score(encoded)

    def rank(self, tokens: Sequence[str]) -> list[list[tuple[Label, float]]]:
        """Each token's labels with their scores, best first; ties by the labels' fixed hash."""
        if isinstance(tokens, str):
            raise TypeError("expected a list of tokens, found a str: split it into words first")
        encoded, found = self.score_documents([Document("", [[Word(t) for t in tokens]])])
        ranked = []
        for place, candidates in enumerate(encoded.candidates):
            labels = [candidate.label for candidate in candidates]
            scores = found[encoded.first[place] : encoded.first[place + 1]].tolist()
            of = dict(zip(labels, scores, strict=True))
            ranked.append([(label, of[label]) for label in in_order(labels, scores)])
        return ranked

    def _atoms(self, encoded: Encoded) -> features.Hashes:
        known = {"class": encoded.class_hash}
        return features.table(self.templates, encoded.typed, encoded.sentence_of, known)

    def _learn(self, encoded: Encoded, documents: Sequence[Document]) -> None:
        raise NotImplementedError

    def _score(self, encoded: Encoded) -> Floats:
        raise NotImplementedError


class MostFrequent(Rival):
    """The label that the form had most often in training; for new forms the highest prior.

    >>> from eigentext.lexical.documents import Document, Word
    >>> scheme = load_scheme("arabic14")
    >>> noun = scheme.from_mapping({"lemma": "x", "pos": "N"})
    >>> rival = MostFrequent().fit([Document("d", [[Word("من", noun)]])])
    >>> rival.rank(["من"])[0][0][0] == noun
    True
    """

    def _learn(self, encoded: Encoded, documents: Sequence[Document]) -> None:
        self.counts_ = label_counts(documents)

    def _score(self, encoded: Encoded) -> Floats:
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


class ElementClassifiers(Rival):
    """One logistic classifier per element; a candidate counts what it agrees with (as MADA).

    s(l) = sum_e w_e [l_e = argmax_v p_e(v | context)] + w_f log(1 + freq(form, l)) + g x(l)

    Each classifier chooses among the values that the word's candidates offer, and knows nothing of
    the other elements.  Classifiers learn on nine tenths of the documents (D1); the weights w, g
    on the last tenth (D2), where the classifiers are out of sample.
    """

    rate = 0.1

    def _learn(self, encoded: Encoded, documents: Sequence[Document]) -> None:
        from eigentext.lexical import kernels_train

        names = self.targets_.names
        elements = set(self.scheme.elements)
        self.columns_ = [column for column, name in enumerate(names) if name in elements]
        self.used_ = np.ones((len(self.templates), len(names)), np.bool_)
        self.used_[:, [c for c in range(len(names)) if c not in self.columns_]] = False
        random = np.random.default_rng(self.seed)
        held = random.permutation(len(documents))[: max(1, round(0.1 * len(documents)))]
        is_held = np.isin(encoded.document_of, held)
        words = encoded.learnable
        self.counts_ = label_counts(
            [d for place, d in enumerate(documents) if place not in set(held.tolist())]
        )
        self.weights_ = np.zeros(1 << self.bits, np.float32)
        sums = np.full(1 << self.bits, 0.1, np.float32)
        atoms = self._atoms(encoded)
        scratch = np.zeros(len(encoded.unit_hash))
        for _ in range(self.epochs):
            kernels_train.learn_elements(
                random.permutation(words[~is_held[words]]),
                encoded.gold_row,
                encoded.row_units,
                atoms,
                encoded.unit_first,
                encoded.unit_hash,
                encoded.unit_target,
                self.used_,
                self.weights_,
                sums,
                self.bits,
                self.rate,
                scratch,
            )
        tuning = words[is_held[words]]
        self.mixture_ = fit_mixture(encoded, self._agreements(encoded), tuning)
        self.counts_ = label_counts(documents)

    def _agreements(self, encoded: Encoded) -> Floats:
        """For each row: which elements agree with their classifiers, and the row's numbers."""
        from eigentext.lexical import kernels_train

        scores = np.zeros(len(encoded.unit_hash))
        kernels_train.unit_scores(
            np.arange(len(encoded.words)),
            self._atoms(encoded),
            encoded.unit_first,
            encoded.unit_hash,
            encoded.unit_target,
            self.used_,
            self.weights_,
            self.bits,
            scores,
        )
        word_of = np.repeat(np.arange(len(encoded.words)), np.diff(encoded.first))
        agree = np.zeros((len(encoded.row_hash), len(self.columns_)))
        for place, column in enumerate(self.columns_):
            units = encoded.row_units[:, column]
            mine = (
                np.where(units >= 0, scores[units], 0.0) if len(scores) else np.zeros(len(units))
            )
            top = np.full(len(encoded.words), -np.inf)
            np.maximum.at(top, word_of, mine)
            agree[:, place] = (mine == top[word_of]) & (units >= 0)
        often = [
            np.log1p(self.counts_[word][candidate.label])
            for word, candidates in zip(encoded.words, encoded.candidates, strict=True)
            for candidate in candidates
        ]
        return np.column_stack([agree, np.array(often, np.float64), encoded.numeric])

    def _score(self, encoded: Encoded) -> Floats:
        found: Floats = self._agreements(encoded) @ self.mixture_
        return found


def fit_mixture(encoded: Encoded, columns: Floats, words: Ints) -> Floats:
    """The weights of columns that make the gold rows of these words most probable."""
    from scipy.optimize import minimize

    if not len(words):
        return np.ones(columns.shape[1])
    sizes = encoded.first[words + 1] - encoded.first[words]
    first = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.repeat(encoded.first[words] - first[:-1], sizes) + np.arange(first[-1])
    own = columns[rows]
    gold = encoded.gold_row[words] - encoded.first[words] + first[:-1]

    def loss(weights: Floats) -> tuple[float, Floats]:
        shares = probabilities(first, own @ weights)
        value = -np.log(np.maximum(shares[gold], 1e-300)).mean() + 1e-4 * weights @ weights
        shares[gold] -= 1.0
        return float(value), shares @ own / len(words) + 2e-4 * weights

    found = minimize(loss, np.zeros(columns.shape[1]), jac=True, method="L-BFGS-B")
    weights: Floats = found.x
    return weights
