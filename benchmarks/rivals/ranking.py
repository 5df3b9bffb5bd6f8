"""Other ways to rank the same candidates, for comparison: documents in, scores of rows out.

1. :class:`Rival` adds context features of words to what
   :class:`~eigentext.lexical.crossval.MostFrequent` gathers.
2. :class:`ElementClassifiers` asks one classifier per element and adds up agreements; the chains
   (CRF, MIRA, perceptron) are in ``chains``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eigentext.base.ragged import pointers
from eigentext.errors import SettingsError
from eigentext.lexical.crossval import MostFrequent, label_counts
from eigentext.lexical.ranker import features
from eigentext.lexical.ranker.softmax import probabilities
from eigentext.lexical.ranker.templates import WIDE
from rivals import chain_kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.lexical.documents import LexDocument
    from eigentext.lexical.ranker.encoding import WordArrays

__all__ = ["ElementClassifiers", "Rival"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Rival(MostFrequent):
    """What the methods share; each says how to ``_learn`` and how to ``_score``.

    ``templates``  features of what was typed (those of the ranker's first pass)
    ``bits``       weights lie in a table of 2^bits
    ``epochs``     passes over the training words
    ``seed``       of shuffles and splits
    """

    def __init__(
        self,
        *,
        templates: Sequence[str] = WIDE,
        bits: int = 22,
        epochs: int = 3,
        seed: int = 0,
        **source: Any,
    ) -> None:
        super().__init__(**source)
        self.templates = tuple(templates)
        self.bits = bits
        self.epochs = epochs
        self.seed = seed
        if not 1 <= bits <= 30 or epochs < 1:
            raise SettingsError(
                f"expected bits of 1 to 30 and epochs of 1 or more, found {bits} and {epochs}"
            )

    def _atoms(self, encoded: WordArrays) -> features.Hashes:
        known = {"class": encoded.class_hash}
        return features.table(self.templates, encoded.typed, encoded.sentence_of, known)


class ElementClassifiers(Rival):
    """One logistic classifier per element; a candidate counts what it agrees with (as MADA).

    s(l) = sum_e w_e [l_e = argmax_v p_e(v | context)] + w_f log(1 + freq(form, l)) + g x(l)

    Each classifier chooses among the values that the word's candidates offer, and knows nothing of
    the other elements.  Classifiers learn on nine tenths of the documents (D1); the weights w, g
    on the last tenth (D2), where the classifiers are out of sample.
    """

    rate = 0.1

    def _learn(self, encoded: WordArrays, documents: Sequence[LexDocument]) -> None:
        names = self.targets_.names
        elements = set(self.scheme_.elements)
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
            chain_kernels.learn_elements(
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

    def _agreements(self, encoded: WordArrays) -> Floats:
        """For each row: which elements agree with their classifiers, and the row's numbers."""
        scores = np.zeros(len(encoded.unit_hash))
        chain_kernels.unit_scores(
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

    def _score(self, encoded: WordArrays) -> Floats:
        found: Floats = self._agreements(encoded) @ self.mixture_
        return found


def fit_mixture(encoded: WordArrays, columns: Floats, words: Ints) -> Floats:
    """The weights of columns that make the gold rows of these words most probable."""
    from scipy.optimize import minimize

    if not len(words):
        return np.ones(columns.shape[1])
    sizes = encoded.first[words + 1] - encoded.first[words]
    first = pointers(sizes)
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
