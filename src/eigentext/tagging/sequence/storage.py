"""A tagger as parts of a model file, and back.

The file holds the templates and tags, the keys of all features that were in an update, their
weights (sparse: most rows have two to six weights), and the tables of clusters and vectors that
new text needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.fields import (
    Array,
    Ints,
    Named,
    Parts,
    Real,
    Reals,
    Sparse,
    Spec,
    Strings,
    Text,
    Whole,
)
from eigentext.base.model import Packed
from eigentext.base.packing import pack_csr, unpack_csr
from eigentext.features.word_classes import WordVectors
from eigentext.tagging.sequence.features import FeatureTable
from eigentext.tagging.sequence.perceptron import N_OFFSETS, LinearModel
from eigentext.tagging.sequence.schemes import TagSet
from eigentext.tagging.sequence.templates import Templates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eigentext.tagging.sequence.tagger import SequenceTagger

__all__ = ["SPEC", "pack_tagger", "restore_tagger"]


def _holds(arrays: Mapping[str, np.ndarray], strings: Any, settings: Mapping[str, Any]) -> None:
    if not strings["tags"]:
        raise ValueError("strings 'tags' are none, expected some")
    if settings["tag_scheme"] == "bio2":
        for tag in strings["tags"]:
            if tag != "O" and (tag[:1] not in tuple("BILU") or tag[1:2] != "-"):
                raise ValueError(f"strings 'tags' hold {tag!r}, expected O, B-, I-, L- or U-")
    positions = len(arrays["dense"])
    expected = N_OFFSETS if arrays["vectors"].shape[1] else 0
    if positions != expected:
        raise ValueError(f"array 'dense' is of {positions} places, expected {expected}")


SPEC = Spec(
    {
        "chosen": Named({"entity_margin": Real(), "beam": Whole(1, 10_000)}),
        "best_epoch": Whole(0),
        "tag_scheme": Text(("bio2", "plain")),
    },
    Parts(
        {
            "keys": Array(("static",), ("uint64",)),
            "base_keys": Array(("bases",), ("uint64",)),
            "base_first": Ints(("bases",), low=0, below=1 << 40),
            "n_cells": Ints((), low=0, below=1 << 40),
            "weights": Sparse(("rows", "tags"), ("float32",), -1e9, 1e9),
            "static_rows": Ints(("static",), ("int32",), -1, "rows"),
            "cells": Ints(("cells",), low=0, below=1 << 40),
            "cell_rows": Ints(("cells",), ("int32",), 0, "rows"),
            "vectors": Reals(("vector_words", "size"), ("float32",), -1e6, 1e6),
            "dense": Reals(("places", "tags", "size"), ("float32",), -1e9, 1e9),
        },
        {
            "tags": Strings("tags", distinct=True),
            "templates": Strings("templates"),
            "cluster_words": Strings("clusters", distinct=True),
            "cluster_bits": Strings("clusters", bits=True),
            "vector_words": Strings("vector_words", distinct=True),
        },
    ),
    _holds,
)


def pack_tagger(tagger: SequenceTagger) -> Packed:
    """Everything that tagging needs."""
    from scipy.sparse import csr_array

    model = tagger.model_
    cells = np.flatnonzero(model.row_of[len(model.table.keys) :] >= 0)
    first = model.first - len(model.table.keys)
    arrays: dict[str, np.ndarray] = {
        "keys": model.table.keys,
        "base_keys": model.bases.keys,
        "base_first": first,
        "n_cells": np.array(1 + max(first.max(initial=-1), cells.max(initial=-1))),
        "static_rows": model.row_of[: len(model.table.keys)],
        "cells": cells.astype(np.int64),
        "cell_rows": model.row_of[len(model.table.keys) :][cells],
        "dense": model.dense,
        "vectors": tagger.vectors_,
        **pack_csr("weights", csr_array(model.weights)),
    }
    strings = {
        "tags": tagger.tag_set_.inside,
        "templates": tagger.templates_.names,
        "cluster_words": list(tagger.clusters_),
        "cluster_bits": list(tagger.clusters_.values()),
        "vector_words": tagger.vector_words_,
    }
    facts = {
        "best_epoch": tagger.best_epoch_,
        "tag_scheme": tagger.tag_set_.scheme,
        "chosen": {"entity_margin": tagger.entity_margin_, "beam": tagger.beam_},
    }
    return Packed(arrays, strings, facts)


def restore_tagger(tagger: SequenceTagger, packed: Packed) -> None:
    """Set what :func:`pack_tagger` kept."""
    a, strings, facts = packed.arrays, packed.strings, packed.facts
    tagger.best_epoch_ = facts["best_epoch"]
    tagger.entity_margin_ = float(facts["chosen"]["entity_margin"])
    tagger.beam_ = int(facts["chosen"]["beam"])
    tagger.tag_set_ = TagSet(tuple(strings["tags"]), facts["tag_scheme"])
    tagger.templates_ = templates = Templates(strings["templates"])
    # a template with tags has a cell for each tag, or pair of tags, that may come before
    most = (len(strings["tags"]) + 1) ** int(templates.n_tags.max(initial=0))
    n_cells = int(a["n_cells"])
    if n_cells > len(a["base_keys"]) * most or bool(np.any(a["base_first"] >= n_cells)):
        raise ValueError(f"{n_cells} cells for {len(a['base_keys'])} keys")
    cells = np.full(n_cells + most, -1, np.int32)  # whatever template meets the last key
    cells[a["cells"]] = a["cell_rows"]
    tagger.model_ = LinearModel(
        FeatureTable(a["keys"]),
        FeatureTable(a["base_keys"]),
        a["base_first"] + len(a["keys"]),
        np.concatenate([a["static_rows"], cells]),
        np.ascontiguousarray(unpack_csr("weights", a, path=packed.path).toarray()),
        a["dense"],
    )
    tagger.clusters_ = dict(zip(strings["cluster_words"], strings["cluster_bits"], strict=True))
    tagger.vector_words_, tagger.vectors_ = list(strings["vector_words"]), a["vectors"]
    # settings as well, so that a tagger of the same settings can be trained
    tagger.clusters = tagger.clusters_ or None
    tagger.vectors = WordVectors(tagger.vector_words_, tagger.vectors_) or None
