"""A tagger as parts of a model file, and back.

The file holds the templates and tags, the keys of all features that were in an update, their
weights (sparse: most rows have two to six weights), and the tables of clusters and vectors that
new text needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from eigentext.base.fields import Array, Ints, Reals, Sparse, Strings
from eigentext.base.records import BitsOfWords, stored
from eigentext.base.values import Named, Real, Text, Whole
from eigentext.features.word_classes import VectorTable
from eigentext.tagging.sequence.features import KeyNumbers, TagTemplates
from eigentext.tagging.sequence.perceptron import N_OFFSETS, LinearModel
from eigentext.tagging.sequence.schemes import TagSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy.sparse import csr_array

    from eigentext.base.types import Float32s, Int32s, Int64s, UInt64s
    from eigentext.tagging.sequence.tagger import SequenceTagger


def _rows(tagger: SequenceTagger) -> tuple[Int32s, Int32s]:
    """Rows of weights of features without tags, and of cells of those with tags."""
    n_static = len(tagger.model_.table.keys)
    return tagger.model_.row_of[:n_static], tagger.model_.row_of[n_static:]


def _cells(tagger: SequenceTagger) -> Int64s:
    return np.flatnonzero(_rows(tagger)[1] >= 0)


def _first(tagger: SequenceTagger) -> Int64s:
    return tagger.model_.first - len(tagger.model_.table.keys)


@dataclass
class TaggerContent:
    """What a file holds."""

    tags: tuple[str, ...] = stored(Strings("tags", distinct=True), of="tag_set_.inside")
    templates: Sequence[str] = stored(Strings("templates"), of="templates_.names")
    clusters_: dict[str, str] = stored(BitsOfWords("cluster"))
    vector_words: Sequence[str] = stored(
        Strings("vector_words", distinct=True), of="vector_words_"
    )
    vectors_: Float32s = stored(Reals(("vector_words", "size"), ("float32",), -1e6, 1e6))
    keys: UInt64s = stored(Array(("static",), ("uint64",)), of="model_.table.keys")
    base_keys: UInt64s = stored(Array(("bases",), ("uint64",)), of="model_.bases.keys")
    base_first: Int64s = stored(Ints(("bases",), low=0, below=1 << 40), of=_first)
    n_cells: int = stored(
        Ints((), low=0, below=1 << 40),
        of=lambda tagger: 1 + max(_first(tagger).max(initial=-1), _cells(tagger).max(initial=-1)),
    )
    weights: csr_array = stored(
        Sparse(("rows", "tags"), ("float32",), -1e9, 1e9), of="model_.weights"
    )
    static_rows: Int32s = stored(
        Ints(("static",), ("int32",), -1, "rows"), of=lambda tagger: _rows(tagger)[0]
    )
    cells: Int64s = stored(Ints(("cells",), low=0, below=1 << 40), of=_cells)
    cell_rows: Int32s = stored(
        Ints(("cells",), ("int32",), 0, "rows"), of=lambda tagger: _rows(tagger)[1][_cells(tagger)]
    )
    dense: Float32s = stored(
        Reals(("places", "tags", "size"), ("float32",), -1e9, 1e9), of="model_.dense"
    )
    chosen: dict[str, float] = stored(
        Named({"entity_margin": Real(), "beam": Whole(1, 10_000)}),
        of=lambda tagger: {"entity_margin": tagger.entity_margin_, "beam": tagger.beam_},
    )
    best_epoch_: int = stored(Whole(0))
    tag_scheme: Literal["bio2", "plain"] = stored(Text(("bio2", "plain")), of="tag_set_.scheme")

    def _holds(self) -> None:
        if not self.tags:
            raise ValueError("strings 'tags' are none, expected some")
        if self.tag_scheme == "bio2":
            for tag in self.tags:
                if tag != "O" and (tag[:1] not in tuple("BILU") or tag[1:2] != "-"):
                    raise ValueError(f"strings 'tags' hold {tag!r}, expected O, B-, I-, L- or U-")
        expected = N_OFFSETS if self.vectors_.shape[1] else 0
        if len(self.dense) != expected:
            raise ValueError(f"array 'dense' is of {len(self.dense)} places, expected {expected}")

    def restore(self, tagger: SequenceTagger) -> None:
        """Set what ``fit`` would have learned."""
        tagger.entity_margin_ = float(self.chosen["entity_margin"])
        tagger.beam_ = int(self.chosen["beam"])
        tagger.tag_set_ = TagSet(self.tags, self.tag_scheme)
        tagger.templates_ = templates = TagTemplates(self.templates)
        # a template with tags has a cell for each tag, or pair of tags, that may come before
        most = (len(self.tags) + 1) ** int(templates.n_tags.max(initial=0))
        n_keys = len(self.base_keys)
        if self.n_cells > n_keys * most or bool(np.any(self.base_first >= self.n_cells)):
            raise ValueError(f"{self.n_cells} cells for {n_keys} keys")
        cells = np.full(self.n_cells + most, -1, np.int32)  # whatever template meets the last key
        cells[self.cells] = self.cell_rows
        tagger.model_ = LinearModel(
            KeyNumbers(self.keys),
            KeyNumbers(self.base_keys),
            self.base_first + len(self.keys),
            np.concatenate([self.static_rows, cells]),
            np.ascontiguousarray(self.weights.toarray()),
            self.dense,
        )
        tagger.vector_words_ = list(self.vector_words)
        # settings as well, so that a tagger of the same settings can be trained
        tagger.clusters = self.clusters_ or None
        tagger.vectors = VectorTable(tagger.vector_words_, self.vectors_) or None
