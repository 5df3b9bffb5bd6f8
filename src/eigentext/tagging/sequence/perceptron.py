"""Training: feature numbers and gold tags -> averaged weights.

Every feature that occurs ``min_count`` times gets a number; the static part of a template with
tags gets a block of cells, one per tag (or pair of tags) before.  The kernel goes through the
sentences in an order shuffled by the seed, tags each token with the weights so far and its own
earlier tags, and corrects where the gold tag does not win by its margin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eigentext.base.averaging import Averaged
from eigentext.base.ragged import pointers
from eigentext.base.types import Bools, Float32s, Float64s, Int32s, Int64s
from eigentext.tagging.sequence.features import KeyNumbers, TagBatch, TagTemplates, WordRows
from eigentext.tagging.sequence.schemes import TagSet

N_OFFSETS = 3  # of vectors: the words at -1, 0 and +1
_FIRST_ROWS = 1 << 12  # of weights at least; more as they are needed
_DYNAMIC_FACTOR = 2  # the static part of a template with tags must occur so much more often


@dataclass(frozen=True)
class LinearModel:
    """All that scoring needs."""

    table: KeyNumbers  # numbers of the static features; feature n < F has the number n
    bases: KeyNumbers  # numbers of the static parts of templates with tags
    first: Int64s  # (bases,) first cell of each, from F on
    row_of: Int32s  # (F + cells,) row of the weights, -1 for none
    weights: Float32s  # (rows, T)
    dense: Float32s  # (offsets, T, d) weights of the vectors around a token

    def numbers(
        self, words: WordRows, batch: TagBatch, templates: TagTemplates
    ) -> tuple[Int32s, Int64s]:
        """Static features (tokens, n) and first cells (tokens, m) of sentences."""
        keys = words.feature_keys(batch, templates)
        static = self.table.numbers(np.ascontiguousarray(keys[:, : templates.n_static]))
        bases = self.bases.numbers(np.ascontiguousarray(keys[:, templates.n_static :]))
        return static, _cells(bases, self.first)


def _cells(bases: Int32s, first: Int64s) -> Int64s:
    if not len(first):
        return np.full(bases.shape, -1, np.int64)
    return np.where(bases >= 0, first[bases], -1)


class Learner:
    """The state of training; :meth:`run_epoch` goes once through the data."""

    def __init__(
        self,
        words: WordRows,
        templates: TagTemplates,
        batch: TagBatch,
        gold: Int64s,
        vectors: Float32s,
        *,
        min_count: int,
        margins: Float64s,
        seed: int,
    ) -> None:
        self._batch, self._gold, self._vectors = batch, gold, vectors
        self._margins, self._seed, self._kinds = margins, seed, templates.n_tags
        n_tags = len(margins)
        keys = words.feature_keys(batch, templates)
        static = np.ascontiguousarray(keys[:, : templates.n_static])
        dynamic = np.ascontiguousarray(keys[:, templates.n_static :])
        self._table = KeyNumbers.counted(static, min_count)
        self._features = self._table.numbers(static)
        self._bases = KeyNumbers.counted(dynamic, _DYNAMIC_FACTOR * min_count)
        numbers = self._bases.numbers(dynamic)
        size = np.ones(len(self._bases.keys), np.int64)
        for column, kind in enumerate(self._kinds):
            here = numbers[:, column]
            size[here[here >= 0]] = (n_tags + 1) ** kind  # a cell for each tag, or pair, before
        n_static = len(self._table.keys)
        self._first = n_static + pointers(size)[:-1]
        self._first = self._first[: len(size)]
        self._cells = _cells(numbers, self._first)
        # -1: no row of weights until an update
        self._row_of = np.full(n_static + int(size.sum()), -1, np.int32)
        rows = max(_FIRST_ROWS, n_static)
        self._rows = Averaged.zeros((rows, n_tags))
        offsets = N_OFFSETS if vectors.size else 0
        self._dense = Averaged.zeros((offsets, n_tags, vectors.shape[1]))
        self._counters = np.zeros(3, np.int64)  # rows used, tokens seen, mistakes
        self._epoch = 0

    def run_epoch(self) -> int:
        """One pass over the sentences in a shuffled order; returns the number of mistakes."""
        from eigentext.tagging.sequence.kernels.perceptron import Sums, Text, Weights, train

        text = Text(
            self._batch.starts,
            self._features,
            self._cells,
            self._kinds,
            self._batch.vector_of,
            self._vectors,
        )
        n_sentences = len(self._batch.starts) - 1
        order = np.random.default_rng([self._seed, self._epoch]).permutation(n_sentences)
        self._counters[2] = 0
        done = 0
        while done < n_sentences:
            done = train(
                order,
                done,
                text,
                self._gold,
                Weights(self._row_of, self._rows.weights, self._dense.weights),
                Sums(self._rows.sums, self._dense.sums),
                self._margins,
                self._counters,
            )
            if done < n_sentences:  # too few rows for the longest that may come
                self._rows = self._rows.doubled()
        self._epoch += 1
        return int(self._counters[2])

    def average(self) -> LinearModel:
        """The mean of the weights after every token so far, without features in no update."""
        rows, n_tokens = int(self._counters[0]), int(self._counters[1])
        weights, dense = self._rows.first(rows).mean(n_tokens), self._dense.mean(n_tokens)
        n_static = len(self._table.keys)
        used = self._row_of[:n_static] >= 0  # features that were in an update
        static_rows = self._row_of[:n_static][used]
        cells = self._row_of[n_static:]
        row_of = np.concatenate([static_rows, cells])
        first = self._first - n_static + len(static_rows)
        table = KeyNumbers(self._table.keys[used])
        return LinearModel(table, self._bases, first, row_of, weights, dense)


def search(
    model: LinearModel,
    words: WordRows,
    templates: TagTemplates,
    tag_set: TagSet,
    vectors: Float32s,
    batch: TagBatch,
    *,
    beam: int = 1,
    kbest: int = 1,
    allowed: Bools | None = None,
) -> tuple[Int32s, Float64s, Int64s]:
    """Tags (kbest, tokens), scores (kbest, sentences) and how many there are (sentences)."""
    from eigentext.tagging.sequence.kernels import perceptron as kernels

    features, cells = model.numbers(words, batch, templates)
    n_sentences = len(batch.starts) - 1
    answers = kernels.Answers(
        tags=np.zeros((kbest, batch.n_tokens), np.int32),
        scores=np.full((kbest, n_sentences), -np.inf),
        counts=np.zeros(n_sentences, np.int64),
    )
    text = kernels.Text(batch.starts, features, cells, templates.n_tags, batch.vector_of, vectors)
    weights = kernels.Weights(model.row_of, model.weights, model.dense)
    width = max(beam, kbest)
    if allowed is None:
        allowed = np.ones((0, 0), np.bool_)
    kernels.search(text, weights, tag_set.legal(), tag_set.may_end(), allowed, width, answers)
    return answers.tags, answers.scores, answers.counts
