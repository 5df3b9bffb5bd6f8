"""Passes: the first sees what was typed, each later one also what its neighbours were taken for.

Predictions for training documents come from counts without the document itself and from a few
hundred shared weights: they are as good, and as bad, as those for new text.  No pass ever sees a
gold neighbour, except in the oracle that a benchmark asks for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.lexical.ranker.counts import (
    CountTable,
    LikeDocuments,
    columns,
    noise,
    ratio_columns,
    shares,
    statistics,
)
from eigentext.lexical.ranker.features import Hashes, table
from eigentext.lexical.ranker.softmax import PassInputs
from eigentext.lexical.ranker.templates import PAPER, parse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eigentext.base.types import Bools, Float64s, Int64s
    from eigentext.lexical.ranker.encoding import WordArrays
    from eigentext.lexical.ranker.records import RankWeights

_WHOLE = ("label", "lemma", "morph", "hard")


class RankerPass(NamedTuple):
    """One pass: its own templates and counts, and the weights over all columns it sees."""

    templates: tuple[str, ...]
    counts: CountTable
    weights: RankWeights


def counted_pairs(templates: Sequence[str], targets: Sequence[str]) -> Bools:
    """Which (template, target) pairs are counted.

    The paper's templates go with every target.  In a larger set a template that holds the word and
    something else goes with whole labels only, for the word settles most elements.
    """
    used = np.ones((len(templates), len(targets)), np.bool_)
    whole = np.array([target in _WHOLE for target in targets])
    if set(templates) <= set(PAPER) or not whole.any():
        return used
    for row, template in enumerate(templates):
        if ("form", 0) in parse(template) and len(parse(template)) > 1:
            used[row] = whole
    return used


def only_count(
    templates: Sequence[str],
    counts: CountTable,
    encoded: WordArrays,
    predicted: Mapping[str, Hashes] | None,
) -> None:
    """Add the words' own features to the counts of a pass, when nothing else is asked of them."""
    counts.add(_atoms(templates, encoded, predicted), encoded.gold_hash, encoded.countable)


def pass_columns(
    templates: Sequence[str],
    counts: CountTable,
    encoded: WordArrays,
    predicted: Mapping[str, Hashes] | None,
    *,
    after: PassInputs | None = None,
    training: bool = False,
    documents: LikeDocuments | None = None,
    transform: str = "ratio",
    with_noise: bool = False,
) -> PassInputs:
    """What stage 2 weighs in a pass.

    ``after`` are those of the first pass, or of an earlier one of this width, whose arrays are
    then written over.  ``training`` first adds the words' own to the counts (those of
    ``documents`` are there already), and then takes each document's own off for its words.
    ``with_noise`` also gives the variance of every column.
    """
    atoms = _atoms(templates, encoded, predicted)
    counted = encoded.countable
    left_out: Sequence[Int64s] = ()
    if training:
        counts.add(atoms, encoded.gold_hash, counted)
        # the counted words of each document
        left_out = np.split(counted, np.flatnonzero(np.diff(encoded.document_of[counted])) + 1)
    result = _allocated(templates, counts, encoded, after, int(documents is not None))
    if with_noise:
        noises = np.zeros_like(result.z)
        if after is not None and after.noise is not None:
            noises[:, : result.first_pass] = after.noise[:, : result.first_pass]
        result.noise = noises
    start = result.first_pass if after else 0  # the first column of this pass
    result.atoms[:, result.atoms.shape[1] - atoms.shape[1] :] = atoms
    if transform == "ratio":
        own_column = log_share = ratio_columns(
            counts, encoded, atoms, result.z, result.bucket, start, leave_out=left_out
        )
    else:
        stats = statistics(counts, encoded, atoms, leave_out=left_out)
        z = columns(stats, encoded, transform)
        result.z[:, start : start + atoms.shape[1]] = z[:, :-1]
        own_column, log_share = z[:, -1], shares(stats, encoded)
    if after is None:
        result.z[:, atoms.shape[1]] = own_column  # log p(u)
    last = None
    if result.noise is not None:
        stats = statistics(counts, encoded, atoms, leave_out=left_out)
        n_new = atoms.shape[1] + (after is None)
        result.noise[:, start : start + n_new] = noise(stats, encoded, transform=transform)[
            :, :n_new
        ]
        last = result.noise[:, -1]  # of the column of documents
    if documents is not None:
        n = int(encoded.document_of[-1]) + 1 if len(encoded.words) else 0
        number_of = range(n) if training else [-1] * n
        result.z[:, -1] = documents.column(encoded, log_share, number_of, noise=last)
    return result


def _atoms(
    templates: Sequence[str], encoded: WordArrays, predicted: Mapping[str, Hashes] | None
) -> Hashes:
    """The features of every word, among them the word's class and what was predicted."""
    targets = {**(predicted or {}), "class": encoded.class_hash}
    return table(templates, encoded.typed, encoded.sentence_of, targets)


def _allocated(
    templates: Sequence[str],
    counts: CountTable,
    encoded: WordArrays,
    after: PassInputs | None,
    more: int,
) -> PassInputs:
    """Columns of the first pass, the values' own, ``more`` of documents, then the pass' own."""
    n, n_own = len(encoded.words), len(templates)
    units = len(encoded.unit_hash)
    if after is None:
        width = n_own + 1 + more  # features, log p(u), documents
        atoms = np.empty((n, n_own), np.uint64)
        z, bucket = np.empty((units, width), np.float32), np.zeros((n, width), np.int8)
        return PassInputs(encoded, atoms, counts.used, z, bucket, None, width, n_own)
    first, n_atoms = after.first_pass, after.first_pass_atoms
    if after.z.shape[1] == first + n_own:  # a pass of this width was before: its arrays serve
        return after
    atoms = np.empty((n, n_atoms + n_own), np.uint64)
    used = np.vstack([after.used[:n_atoms], counts.used])
    z = np.empty((units, first + n_own), np.float32)
    bucket = np.zeros((n, first + n_own), np.int8)
    result = PassInputs(encoded, atoms, used, z, bucket, None, first, n_atoms)
    result.atoms[:, :n_atoms] = after.atoms[:, :n_atoms]
    result.z[:, :first] = after.z[:, :first]
    result.bucket[:, :first] = after.bucket[:, :first]
    return result


def best_rows(first: Int64s, scores: Float64s) -> Int64s:
    """The best row of each word; the first of equals (rows are in an order of their own).

    >>> best_rows(np.array([0, 2, 5]), np.array([0.0, 1.0, 3.0, 3.0, 2.0])).tolist()
    [1, 2]
    """
    if len(scores) == 0:
        return np.zeros(0, np.int64)
    top = np.repeat(np.maximum.reduceat(scores, first[:-1]), np.diff(first))  # of each row's word
    at_top = np.flatnonzero(scores == top)
    _, first_of_word = np.unique(np.searchsorted(first, at_top, side="right"), return_index=True)
    return at_top[first_of_word]


def predicted_targets(
    names: Sequence[str],
    encoded: WordArrays,
    rows: Int64s,
    *,
    fixed: Mapping[int, Hashes] | None = None,
    oracle: bool = False,
) -> dict[str, Hashes]:
    """The targets of every word's predicted label; ``fixed`` ones are as a person decided."""
    hashes = encoded.row_hash[rows] if len(rows) else encoded.gold_hash
    if oracle:
        # the right labels, as far as they are known
        hashes = np.where(encoded.gold_hash != 0, encoded.gold_hash, hashes)
    if fixed:
        hashes = hashes.copy()
        for token, decided in fixed.items():
            hashes[token] = decided
    return {name: hashes[:, column] for column, name in enumerate(names)}
