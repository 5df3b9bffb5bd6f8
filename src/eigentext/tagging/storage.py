"""A tagger as a model file of kind ``tagger``, and back.

The file holds the templates and tags, the keys of all features that were in an update, their
weights (sparse: most rows have two to six weights), and the tables of clusters and vectors that
new text needs: whole, or (``compact``) only for the words seen in training.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from eigentext.errors import ModelFileError
from eigentext.formats import modelfile
from eigentext.tagging.features import FeatureTable
from eigentext.tagging.perceptron import Model
from eigentext.tagging.schemes import TagSet
from eigentext.tagging.templates import Templates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eigentext.tagging.tagger import SequenceTagger

__all__ = ["KIND", "VERSION", "load_tagger", "save_tagger"]

KIND = "tagger"
VERSION = 1
_KEPT = (
    "epochs", "scheme", "min_count", "margin", "entity_margin", "beam", "vector_scale",
    "vector_reach", "repair", "seed",
)  # fmt: skip
Tagger = TypeVar("Tagger", bound="SequenceTagger")


def save_tagger(
    tagger: SequenceTagger,
    path: str | os.PathLike[str],
    *,
    compact: bool = False,
    data: Mapping[str, Any] | None = None,
) -> None:
    """Write everything that tagging needs."""
    from scipy.sparse import csr_array

    model = tagger.model_
    cells = np.flatnonzero(model.row_of[len(model.table.keys) :] >= 0)
    arrays: dict[str, np.ndarray] = {
        "keys": model.table.keys,
        "base_keys": model.bases.keys,
        "base_first": model.first - len(model.table.keys),
        "n_cells": np.array(len(model.row_of) - len(model.table.keys)),
        "static_rows": model.row_of[: len(model.table.keys)],
        "cells": cells.astype(np.int64),
        "cell_rows": model.row_of[len(model.table.keys) :][cells],
        "dense": model.dense,
        **modelfile.pack_csr("weights", csr_array(model.weights)),
    }
    clusters, words = tagger.clusters_, tagger.vector_words_
    rows = np.arange(len(words))
    if compact:
        seen = {form for word in tagger.seen_ for form in (word, word.lower())}
        clusters = {word: bits for word, bits in clusters.items() if word in seen}
        rows = np.array([row for row, word in enumerate(words) if word in seen], np.int64)
    arrays["vectors"] = tagger.vectors_[rows] if len(words) else tagger.vectors_
    settings = {name: getattr(tagger, name) for name in _KEPT}
    settings.update(
        best_epoch=tagger.best_epoch_, tag_scheme=tagger.tag_set_.scheme,
        chosen={"entity_margin": tagger.entity_margin_, "beam": tagger.beam_},
    )  # fmt: skip
    modelfile.save(
        path,
        KIND,
        arrays,
        settings=settings,
        format_version=VERSION,
        strings={
            "tags": tagger.tag_set_.inside,
            "templates": tagger.templates_.names,
            "cluster_words": list(clusters),
            "cluster_bits": list(clusters.values()),
            "vector_words": [words[row] for row in rows],
        },
        seed=tagger.seed,
        data=data,
    )


def load_tagger(kind: type[Tagger], path: str | os.PathLike[str]) -> Tagger:
    """Read what :func:`save_tagger` wrote."""
    file = modelfile.load(path, KIND, versions={VERSION})
    try:
        a, strings = file.arrays, file.strings
        settings = file.header.settings
        tagger = kind(**{name: settings[name] for name in _KEPT})
        tagger.best_epoch_ = settings["best_epoch"]
        tagger.entity_margin_ = float(settings["chosen"]["entity_margin"])
        tagger.beam_ = int(settings["chosen"]["beam"])
        tagger.seen_ = frozenset()
        cells = np.full(int(a["n_cells"]), -1, np.int32)
        cells[a["cells"]] = a["cell_rows"]
        model = Model(
            FeatureTable(a["keys"]),
            FeatureTable(a["base_keys"]),
            a["base_first"] + len(a["keys"]),
            np.concatenate([a["static_rows"], cells]),
            np.ascontiguousarray(file.csr("weights").toarray()),
            a["dense"],
        )
        clusters = dict(zip(strings["cluster_words"], strings["cluster_bits"], strict=True))
        tagger._restore(
            TagSet(tuple(strings["tags"]), settings["tag_scheme"]),
            Templates(strings["templates"]),
            model,
            clusters,
            (strings["vector_words"], a["vectors"]),
        )
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise ModelFileError(os.fspath(path), why=f"parts do not fit: {error!r}") from error
    return tagger
