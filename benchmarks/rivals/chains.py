"""Chains over the candidates of a sentence: CRF, MIRA and perceptron.

s(y) = sum_t w . f(t, y_t) + sum_t v . h(y_{t-1}, y_t),      y_t in C(t)

f are the ranker's first-pass features with the parts of the label, h pairs of elements of
neighbouring labels.

1. Classes: candidates that differ in the lemma only are alike to their neighbours.
2. Each sentence gives a gradient: the shares (CRF) or the best path (MIRA, perceptron) of all
   paths, less those of the paths through the gold rows.  A word without a gold row is free.
3. Scores of rows: log marginals (CRF), or max-marginals, the score of the best path through a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eigentext.errors import SettingsError
from eigentext.lexical.ranker.kernels import weighing
from eigentext.lexical.ranker.records import BUCKETS, CountColumns, RankWeights
from eigentext.lexical.ranker.second_pass import counted_pairs
from rivals import chain_kernels
from rivals.ranking import Rival

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.lexical.documents import LexDocument
    from eigentext.lexical.ranker.encoding import WordArrays
    from eigentext.lexical.ranker.features import Hashes

__all__ = ["METHODS", "ChainModel", "Lattice"]

METHODS = ("crf", "mira", "perceptron")
PAIR_BITS = 18

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass
class Lattice:
    """Classes of rows and the blocks of neighbouring classes; C classes, T targets."""

    class_of: Ints  # [R]
    class_first: Ints  # [n + 1]
    values: Hashes  # [C, T]
    offset: Ints  # [n + 1]
    sentences: list[tuple[int, int]]

    @classmethod
    def of(cls, encoded: WordArrays, morph: int) -> Lattice:
        """The lattice of encoded words; ``morph`` is the target by which rows are classed."""
        n = len(encoded.words)
        word_of = np.repeat(np.arange(n), np.diff(encoded.first))
        key = encoded.row_hash[:, morph]
        order = np.lexsort((key, word_of))
        new = np.ones(len(order), np.bool_)
        new[1:] = (np.diff(word_of[order]) != 0) | (key[order][1:] != key[order][:-1])
        class_of = np.zeros(len(order), np.int64)
        class_of[order] = np.cumsum(new) - 1
        class_first = np.searchsorted(word_of[order[new]], np.arange(n + 1)).astype(np.int64)
        sizes = np.diff(class_first)
        offset = np.zeros(n + 1, np.int64)
        np.cumsum(sizes[:-1] * sizes[1:], out=offset[2:])
        bounds = [0, *(np.flatnonzero(np.diff(encoded.sentence_of)) + 1).tolist(), n]
        return cls(
            class_of,
            class_first,
            encoded.row_hash[order[new]],
            offset,
            [(a, b) for a, b in pairwise(bounds) if b > a],
        )

    def widest(self) -> int:
        """The most class pairs of one sentence."""
        return max(
            (int(self.offset[e] - self.offset[b + 1]) for b, e in self.sentences), default=0
        )


class _Work:
    """Words, features and room for the sums of one sentence at a time."""

    def __init__(self, encoded: WordArrays, lattice: Lattice, atoms: Hashes, model: ChainModel):
        self.e, self.lattice, self.atoms, self.model = encoded, lattice, atoms, model
        n_targets = encoded.row_hash.shape[1]
        n_classes = len(lattice.values)
        # no columns of counts: only pairs and numbers are weighed
        self.columns = CountColumns(
            np.zeros((len(encoded.unit_hash), 0), np.float32),
            np.zeros((len(encoded.words), 0), np.int8),
        )
        self.dense = np.zeros((BUCKETS, 0, n_targets))
        self.rows = np.zeros(len(encoded.row_hash))
        self.trans = np.zeros(lattice.widest())
        self.class_score, self.alpha, self.beta = (np.zeros(n_classes) for _ in range(3))
        self.free = np.full(len(encoded.words), -1, np.int64)

    def score(
        self, begin: int, end: int, weights: npt.NDArray[np.float32], numeric: Floats
    ) -> None:
        """Scores of the sentence's rows and class pairs."""
        e, model, la = self.e, self.model, self.lattice
        weighing.score(
            np.arange(begin, end),
            e.feature_table(self.atoms, model.used_),
            e.rows,
            self.columns,
            RankWeights(self.dense, numeric, weights, model.bits),
            self.rows,
        )
        chain_kernels.transitions(
            begin,
            end,
            la.class_first,
            la.values,
            model.pairs_,
            weights[1 << model.bits :],
            PAIR_BITS,
            la.offset,
            self.trans,
        )

    def chain(self, begin: int, end: int, only: Ints, *, maximum: bool) -> float:
        """Forward and backward; the score of all paths, or of the best."""
        la = self.lattice
        total: float = chain_kernels.chain(
            begin,
            end,
            self.e.first,
            la.class_of,
            la.class_first,
            self.rows,
            only,
            la.offset,
            self.trans,
            maximum,
            self.class_score,
            self.alpha,
            self.beta,
        )
        return total

    def beliefs(self, begin: int, end: int, only: Ints, out: Floats) -> None:
        """What the paths through each row come to, after :meth:`chain`."""
        chain_kernels.row_beliefs(
            begin,
            end,
            self.e.first,
            self.lattice.class_of,
            self.rows,
            only,
            self.class_score,
            self.alpha,
            self.beta,
            out,
        )


class ChainModel(Rival):
    """A linear chain over candidates, learned by ``method``: crf, mira or perceptron.

    ``crf`` climbs the log-likelihood by AdaGrad, sentence by sentence; ``mira`` makes the smallest
    change that puts gold above the worst wrong path by as much as that is wrong, in steps of
    ``limit`` at most; ``perceptron`` adds gold less best path.  The last two average weights.

    >>> from eigentext.lexical.documents import LexDocument, Word
    >>> from eigentext.lexical.schemes.labels import load_scheme
    >>> scheme = load_scheme("arabic14")
    >>> def word(form, pos):
    ...     return Word(form, scheme.from_mapping({"lemma": form, "pos": pos, "det": "0"}))
    >>> text = [LexDocument(f"d{i}", [[word("من", "P"), word("علم", "N")]]) for i in range(4)]
    >>> ChainModel(method="perceptron", bits=10).fit(text).rank(["من", "علم"])[1][0][0][1]
    'N'
    """

    def __init__(
        self, *, method: str = "crf", rate: float = 0.1, limit: float = 0.05, **settings: Any
    ) -> None:
        super().__init__(**settings)
        if method not in METHODS:
            raise SettingsError(f"method: expected one of {', '.join(METHODS)}, found {method!r}")
        self.method = method
        self.rate = rate
        self.limit = limit

    def _pairs(self) -> Ints:
        """The pairs of targets of neighbours: equal elements, hard with hard, all hard at once."""
        place = {name: column for column, name in enumerate(self.targets_.names)}
        names = [(e, e) for e in self.scheme_.elements if e != "lemma"]
        names += [(a, b) for a in self.hard_ for b in self.hard_ if a != b]
        if "hard" in place:
            names.append(("hard", "hard"))
        return np.array([(place[a], place[b]) for a, b in names], np.int64).reshape(-1, 2)

    def _work(self, encoded: WordArrays) -> _Work:
        lattice = Lattice.of(encoded, self.targets_.names.index("morph"))
        return _Work(encoded, lattice, self._atoms(encoded), self)

    def _learn(self, encoded: WordArrays, documents: Sequence[LexDocument]) -> None:
        self.pairs_ = self._pairs()
        self.used_ = counted_pairs(self.templates, self.targets_.names)
        size = (1 << self.bits) + (1 << PAIR_BITS)
        self.weights_ = np.zeros(size, np.float32)
        self.numeric_ = np.zeros(encoded.numeric.shape[1])
        learner = _Learner(self, self._work(encoded))
        random = np.random.default_rng(self.seed)
        sentences = [
            (begin, end)
            for begin, end in learner.work.lattice.sentences
            if (encoded.gold_row[begin:end] >= 0).any()
        ]
        for _ in range(self.epochs):
            for number in random.permutation(len(sentences)).tolist():
                learner.step(*sentences[number])
        learner.finish()

    def _score(self, encoded: WordArrays) -> Floats:
        work = self._work(encoded)
        out = np.zeros(len(encoded.row_hash))
        for begin, end in work.lattice.sentences:
            work.score(begin, end, self.weights_, self.numeric_)
            total = work.chain(begin, end, work.free, maximum=self.method != "crf")
            work.beliefs(begin, end, work.free, out)
            out[encoded.first[begin] : encoded.first[end]] -= total
        return out


class _Learner:
    """One sentence at a time: the gradient, then the step."""

    def __init__(self, model: ChainModel, work: _Work) -> None:
        self.model, self.work = model, work
        size = len(model.weights_)
        self.delta = np.zeros(size, np.float32)
        self.marked = np.zeros(size, np.bool_)
        self.touched = np.zeros(size, np.int32)
        self.sums = np.full(size if model.method == "crf" else 1, 0.1, np.float32)
        self.numeric_sums = np.full(len(model.numeric_), 0.1)
        self.total = np.zeros(1 if model.method == "crf" else size)
        self.numeric_total = np.zeros(len(model.numeric_))
        self.row_gradient = np.zeros_like(work.rows)
        self.pair_gradient = np.zeros_like(work.trans)
        self.scratch = np.zeros_like(work.rows)
        self.best = [np.zeros(len(work.free), np.int64) for _ in range(2)]
        self.time = 1

    def step(self, begin: int, end: int) -> None:
        """Learn from one sentence."""
        if self.model.method == "crf":
            self.shares(begin, end)
            step = self.model.rate
        else:
            gap, wrong = self.paths(begin, end)
            if wrong == 0:
                self.time += 1
                return
            step = 1.0 if self.model.method == "perceptron" else gap
        numeric = np.zeros_like(self.model.numeric_)
        places = self.touched[: self.gather(begin, end, numeric)]
        found = self.delta[places]
        if self.model.method == "crf":
            self.sums[places] += found * found
            self.model.weights_[places] -= step * found / np.sqrt(self.sums[places])
            self.numeric_sums += numeric * numeric
            self.model.numeric_ -= step * numeric / np.sqrt(self.numeric_sums)
        else:
            if self.model.method == "mira":
                norm = float(found @ found) + float(numeric @ numeric)
                step = min(self.model.limit, max(0.0, gap) / norm) if norm else 0.0
            self.model.weights_[places] -= step * found
            self.total[places] += self.time * step * found
            self.model.numeric_ -= step * numeric
            self.numeric_total += self.time * step * numeric
            self.time += 1
        self.delta[places] = 0.0
        self.marked[places] = False

    def finish(self) -> None:
        """Average, where the method does."""
        if self.model.method != "crf":
            self.model.weights_ += (self.total / self.time).astype(np.float32)
            self.model.numeric_ += self.numeric_total / self.time

    def shares(self, begin: int, end: int) -> float:
        """Row and pair gradients of the negative log-likelihood; its value."""
        work, la = self.work, self.work.lattice
        rows = slice(int(work.e.first[begin]), int(work.e.first[end]))
        work.score(begin, end, self.model.weights_, self.model.numeric_)
        self.row_gradient[rows] = 0.0
        self.pair_gradient[: la.offset[end] - la.offset[begin + 1]] = 0.0
        loss = 0.0
        for only, sign in ((work.free, 1.0), (work.e.gold_row, -1.0)):
            total = work.chain(begin, end, only, maximum=False)
            work.beliefs(begin, end, only, self.scratch)
            self.row_gradient[rows] += sign * np.exp(self.scratch[rows] - total)
            chain_kernels.expectations(
                begin,
                end,
                la.class_first,
                la.offset,
                work.trans,
                work.class_score,
                work.alpha,
                work.beta,
                total,
                sign,
                self.pair_gradient,
            )
            loss += sign * total
        return loss

    def paths(self, begin: int, end: int) -> tuple[float, int]:
        """Gradients of best less gold path; how far gold is behind, and how many words differ.

        For MIRA every wrong row of a word with gold is one better than it is (its cost).
        """
        work, la = self.work, self.work.lattice
        rows = slice(int(work.e.first[begin]), int(work.e.first[end]))
        work.score(begin, end, self.model.weights_, self.model.numeric_)
        if self.model.method == "mira":
            for word in np.flatnonzero(work.e.gold_row[begin:end] >= 0).tolist():
                at = work.e.first[begin + word]
                work.rows[at : work.e.first[begin + word + 1]] += 1.0
                work.rows[work.e.gold_row[begin + word]] -= 1.0
        self.row_gradient[rows] = 0.0
        self.pair_gradient[: la.offset[end] - la.offset[begin + 1]] = 0.0
        gap = 0.0
        for only, sign, best in (
            (work.free, 1.0, self.best[0]),
            (work.e.gold_row, -1.0, self.best[1]),
        ):
            gap += sign * work.chain(begin, end, only, maximum=True)
            chain_kernels.best_path(
                begin,
                end,
                work.e.first,
                la.class_of,
                la.class_first,
                work.rows,
                only,
                la.offset,
                work.trans,
                work.class_score,
                work.alpha,
                sign,
                best,
                self.row_gradient,
                self.pair_gradient,
            )
        known = work.e.gold_row[begin:end] >= 0
        wrong = (self.best[0][begin:end] != self.best[1][begin:end]) & known
        return gap, int(wrong.sum())

    def gather(self, begin: int, end: int, numeric: Floats) -> int:
        """Gradients of weights; how many there are."""
        e, la, model = self.work.e, self.work.lattice, self.model
        found: int = chain_kernels.gather(
            begin,
            end,
            e.first,
            e.row_units,
            e.numeric,
            e.unit_first,
            e.unit_hash,
            e.unit_target,
            self.work.atoms,
            model.used_,
            model.bits,
            la.class_first,
            la.values,
            model.pairs_,
            PAIR_BITS,
            la.offset,
            self.row_gradient,
            self.pair_gradient,
            self.delta,
            self.marked,
            self.touched,
            numeric,
        )
        return found
