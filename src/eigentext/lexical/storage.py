"""A ranker as a model file of kind ``lexical``, and back.

The file holds the scheme, the labels seen with each form, the counts of every pass (keys in order
as gaps, about 3.3 bytes a key), the weights (those of pairs in 16 bits), and the words and values
of training documents.  Of the analyzer it holds the name only.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base import modelfile
from eigentext.errors import ModelFileError
from eigentext.lexical.analyzers import open_analyzer
from eigentext.lexical.counts import BUCKETS, CountTable, DocumentCounts
from eigentext.lexical.encoding import NUMERIC, Encoder, Observed, Targets
from eigentext.lexical.labels import LabelScheme
from eigentext.lexical.second_pass import Stage, weighed
from eigentext.lexical.softmax import Weights
from eigentext.lexical.storage_fields import RANKER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eigentext.lexical.analysis import Analyzer
    from eigentext.lexical.ranker import LexicalRanker

__all__ = ["KIND", "VERSION", "load_ranker", "save_ranker"]

KIND = "lexical"
VERSION = 2
_KEPT = (
    "templates",
    "second",
    "passes",
    "documents",
    "bits",
    "epochs",
    "rate",
    "sparse_rate",
    "holdout",
    "min_count",
    "only",
    "transform",
    "observed",
    "weights",
    "seed",
)
_DOCUMENT_ARRAYS = ("rarity", "values", "first", "documents", "counts", "sizes")


def save_ranker(
    ranker: LexicalRanker, path: str | os.PathLike[str], *, data: Mapping[str, Any] | None = None
) -> None:
    """Write all that ranking needs, except the analyzer."""
    arrays: dict[str, np.ndarray] = {}
    for number, stage in enumerate(ranker.stages_):
        arrays[f"{number}/counts"] = stage.counts.packed()
        arrays[f"{number}/size"] = np.array([stage.counts.filled, stage.counts.n_words])
        if stage.weights is None:
            raise ModelFileError(os.fspath(path), why="expected a fitted ranker")
        arrays[f"{number}/dense"] = stage.weights.dense
        arrays[f"{number}/numeric"] = stage.weights.numeric
        arrays[f"{number}/pairs"] = stage.weights.sparse.astype(np.float16)
    strings: dict[str, list[str]] = {"vocabulary": []}
    if ranker.document_counts_ is not None:
        known = ranker.document_counts_
        arrays |= {f"documents/{name}": getattr(known, name) for name in _DOCUMENT_ARRAYS}
        arrays |= modelfile.pack_csr("documents/words", known.matrix)
        strings["vocabulary"] = list(known.vocabulary)
    strings["cluster_words"] = list(ranker.clusters)
    strings["cluster_bits"] = list(ranker.clusters.values())
    strings["forms"] = list(ranker.observed_.documents)
    seen = [
        [ranker.scheme.encode(label) for label in labels]
        for labels in ranker.observed_.documents.values()
    ]
    arrays["labels_of_form"] = np.array([len(labels) for labels in seen], np.int32)
    strings["labels"] = [label for labels in seen for label in labels]
    strings["seen"] = sorted(ranker.seen_)
    settings: dict[str, Any] = {name: getattr(ranker, name) for name in _KEPT}
    settings |= {
        "analyzer": ranker.analyzer_name,
        "scheme": ranker.scheme.to_json(),  # as text: its rules depend on the order of keys
        "hard": ranker.hard_,
        "temperature": ranker.temperature_,
        "weight_bits": [stage.weights.bits for stage in ranker.stages_ if stage.weights],
    }
    modelfile.save(
        path,
        KIND,
        arrays,
        settings=json.loads(json.dumps(settings)),
        format_version=VERSION,
        strings=strings,
        seed=ranker.seed,
        data=data,
    )


def load_ranker(
    kind: type[LexicalRanker],
    path: str | os.PathLike[str],
    *,
    analyzer: str | Analyzer | None = None,
) -> LexicalRanker:
    """Read what :func:`save_ranker` wrote."""
    file = modelfile.load(path, KIND, {VERSION}, RANKER)
    told = analyzer or file.header.settings["analyzer"]
    opened = open_analyzer(told) if isinstance(told, str) else told
    with file.fitting():
        a, strings, settings = file.arrays, file.strings, file.header.settings
        scheme = LabelScheme.from_json(settings["scheme"], os.fspath(path))
        kept = {name: settings[name] for name in _KEPT}
        bits = dict(zip(strings["cluster_words"], strings["cluster_bits"], strict=True))
        ranker = kind(analyzer=opened, scheme=scheme, clusters=bits, **kept)
        ranker.analyzer_name = told if isinstance(told, str) else told.name
        ranker.hard_ = tuple(settings["hard"])
        ranker.temperature_ = float(settings["temperature"])
        ranker.targets_ = Targets(scheme, hard=ranker.hard_, only=ranker.only)
        ranker.encoder_ = Encoder(ranker.candidates, ranker.targets_, ranker.clusters)
        ranker.seen_ = frozenset(strings["seen"])
        ranker.observed_ = Observed()
        labels = iter(strings["labels"])
        for form, times in zip(strings["forms"], a["labels_of_form"].tolist(), strict=True):
            for _ in range(times):
                ranker.observed_.add(form, scheme.decode(next(labels)), 0)
        ranker.stages_ = [
            _stage(a, number, ranker, bits) for number, bits in enumerate(settings["weight_bits"])
        ]
        ranker.document_counts_ = None
        if ranker.documents:
            ranker.document_counts_ = known = DocumentCounts()
            for name in _DOCUMENT_ARRAYS:
                setattr(known, name, a[f"documents/{name}"])
            known.matrix = file.csr("documents/words")
            known.vocabulary = {word: n for n, word in enumerate(strings["vocabulary"])}
    return ranker


def _stage(a: Mapping[str, Any], number: int, ranker: LexicalRanker, bits: int) -> Stage:
    templates = ranker.templates if number == 0 else ranker.second
    names = ranker.targets_.names
    size, n_words = a[f"{number}/size"].tolist()
    table = CountTable.unpacked(weighed(templates, names), a[f"{number}/counts"], size, n_words)
    dense, numeric = a[f"{number}/dense"], a[f"{number}/numeric"]
    # the first pass also weighs the values' own frequency, and documents; later ones all of that
    columns = len(ranker.templates) + 1 + bool(ranker.documents)
    columns += len(ranker.second) if number else 0
    if dense.shape != (BUCKETS, columns, len(names)) or numeric.shape != (len(NUMERIC),):
        raise ValueError(f"weights of pass {number + 1} have shape {dense.shape}")
    sparse = a[f"{number}/pairs"].astype(np.float32)
    return Stage(templates, table, Weights(np.asfortranarray(dense), numeric, sparse, bits))
