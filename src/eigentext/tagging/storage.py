"""A tagger as a model file of kind ``tagger``, and back.

The file holds the templates and tags, the keys of all features that were in an update, their
weights (sparse: most rows have two to six weights), and the tables of clusters and vectors that
new text needs: whole, or (``compact``) only for the words seen in training.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from eigentext.base import modelfile
from eigentext.base.fields import (
    Array,
    Auto,
    Flag,
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
from eigentext.tagging.features import FeatureTable
from eigentext.tagging.perceptron import Model
from eigentext.tagging.schemes import TagSet
from eigentext.tagging.templates import Templates

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from eigentext.tagging.tagger import SequenceTagger

__all__ = ["KIND", "VERSION", "load_tagger", "save_tagger"]

KIND = "tagger"
VERSION = 1
_KEPT = (
    "epochs",
    "scheme",
    "min_count",
    "margin",
    "entity_margin",
    "beam",
    "vector_scale",
    "vector_reach",
    "repair",
    "seed",
)
Tagger = TypeVar("Tagger", bound="SequenceTagger")


def _holds(arrays: Mapping[str, np.ndarray], strings: Any, settings: Mapping[str, Any]) -> None:
    if not strings["tags"]:
        raise ValueError("strings 'tags' are none, expected some")
    if settings["tag_scheme"] == "bio2":
        for tag in strings["tags"]:
            if tag != "O" and (tag[:1] not in tuple("BILU") or tag[1:2] != "-"):
                raise ValueError(f"strings 'tags' hold {tag!r}, expected O, B-, I-, L- or U-")
    places = len(arrays["dense"])
    expected = 2 * settings["vector_reach"] + 1 if arrays["vectors"].size else 0
    if places != expected:
        raise ValueError(f"array 'dense' is of {places} places, expected {expected}")


SPEC = Spec(
    {
        "epochs": Whole(1),
        "scheme": Text(),
        "min_count": Whole(1),
        "margin": Real(),
        "entity_margin": Auto(Real(0)),
        "beam": Auto(Whole(1, 10_000)),
        "chosen": Named({"entity_margin": Real(), "beam": Whole(1, 10_000)}),
        "vector_scale": Real(),
        "vector_reach": Whole(0, 1000),
        "repair": Flag(),
        "seed": Whole(0),
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
        best_epoch=tagger.best_epoch_,
        tag_scheme=tagger.tag_set_.scheme,
        chosen={"entity_margin": tagger.entity_margin_, "beam": tagger.beam_},
    )
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
    file = modelfile.load(path, KIND, {VERSION}, SPEC)
    with file.fitting():
        a, strings = file.arrays, file.strings
        settings = file.header.settings
        tagger = kind(**{name: settings[name] for name in _KEPT})
        tagger.best_epoch_ = settings["best_epoch"]
        tagger.entity_margin_ = float(settings["chosen"]["entity_margin"])
        tagger.beam_ = int(settings["chosen"]["beam"])
        tagger.seen_ = frozenset()
        templates = Templates(strings["templates"])
        # a template with tags has a cell for each tag, or pair of tags, that may come before
        most = (len(strings["tags"]) + 1) ** int(templates.n_tags.max(initial=0))
        n_cells = int(a["n_cells"])
        if n_cells > len(a["base_keys"]) * most or bool(np.any(a["base_first"] >= n_cells)):
            raise ValueError(f"{n_cells} cells for {len(a['base_keys'])} keys")
        cells = np.full(n_cells + most, -1, np.int32)  # whatever template meets the last key
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
            templates,
            model,
            clusters,
            (strings["vector_words"], a["vectors"]),
        )
    return tagger
