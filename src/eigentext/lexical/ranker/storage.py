"""What the file of a ranker holds.

The labels seen with each form, the counts of every pass (keys in order as gaps, about 3.3 bytes a
key), the weights (those of pairs in 16 bits), and the words and values of training documents;
among the facts the whole scheme, as text.  Of the analyzer there is the name only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.fields import (
    Array,
    Bits,
    Flag,
    Ints,
    Listed,
    Parts,
    Pointers,
    Real,
    Reals,
    Sparse,
    Spec,
    Strings,
    Text,
    Whole,
)
from eigentext.base.packing import pack_csr, unpack_csr
from eigentext.base.stored import Packed
from eigentext.lexical.ranker.counts import CountTable, DocumentCounts
from eigentext.lexical.ranker.encoding import NUMERIC, Observed, Targets
from eigentext.lexical.ranker.records import BUCKETS, Weights
from eigentext.lexical.ranker.second_pass import Stage, counted_pairs
from eigentext.lexical.schemes.labels import load_scheme

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from eigentext.lexical.ranker.model import LexicalRanker

    Arrays = Mapping[str, npt.NDArray[Any]]
    Texts = Mapping[str, list[str]]

__all__ = ["SPEC", "pack", "restore"]

_MOST = 10**12  # words counted
_DOCUMENT_ARRAYS = ("rarity", "values", "first", "documents", "counts", "sizes")


def _ranker(settings: dict[str, Any]) -> Parts:
    arrays: dict[str, Array | Pointers | Sparse] = {
        "labels_of_form": Ints(("forms",), ("int32",), 0)
    }
    for number, bits in enumerate(settings["weight_bits"]):
        arrays |= {
            f"{number}/counts": Bits((f"bytes{number}",)),
            f"{number}/size": Ints((2,), low=0, below=_MOST),
            f"{number}/dense": Reals(
                ("buckets", f"columns{number}", "targets"), low=-1e9, high=1e9
            ),
            f"{number}/numeric": Reals(("numbers",), low=-1e9, high=1e9),
            f"{number}/pairs": Reals((1 << bits,), ("float16",)),
        }
    if settings["document_counts"]:
        arrays |= {
            "documents/rarity": Reals(("vocabulary",), low=-100, high=100),
            "documents/values": Array(("values",), ("uint64",)),
            "documents/first": Pointers("values", "entries"),
            "documents/sizes": Reals(("documents",), low=0, high=_MOST),
            "documents/documents": Ints(("entries",), low=0, below="documents"),
            "documents/counts": Reals(("entries",), low=0, high=_MOST),
            "documents/words": Sparse(("documents", "vocabulary"), ("float64",), -1, 1.001),
        }
    words = {name: Strings(name, distinct=True) for name in ("vocabulary", "forms", "seen")}
    return Parts(
        arrays,
        {
            **words,
            "labels": Strings("labels"),
            "cluster_words": Strings("clusters", distinct=True),
            "cluster_bits": Strings("clusters", bits=True),
        },
    )


def _ranker_holds(arrays: Arrays, strings: Texts, settings: dict[str, Any]) -> None:
    if len(settings["weight_bits"]) != settings["passes"]:
        raise ValueError(f"settings.weight_bits are not of {settings['passes']} passes")
    if int(arrays["labels_of_form"].sum()) != len(strings["labels"]):
        raise ValueError("array 'labels_of_form' does not fit the labels")
    for number in range(settings["passes"]):
        # a key takes a byte at least
        if int(arrays[f"{number}/size"][0]) > len(arrays[f"{number}/counts"]):
            raise ValueError(f"array '{number}/size' tells of more keys than there are")
    if settings["document_counts"] and bool(np.any(np.diff(arrays["documents/values"]) == 0)):
        raise ValueError("array 'documents/values' holds a value twice")


SPEC = Spec(
    {
        "passes": Whole(1, 5),  # the settings that say which arrays there are
        "document_counts": Flag(),
        "analyzer": Text(),  # its name
        "scheme": Text(),
        "hard": Listed(Text()),
        "temperature": Real(1e-9, 1e9),
        "weight_bits": Listed(Whole(0, 28), 5),
    },
    _ranker,
    _ranker_holds,
)


def pack(ranker: LexicalRanker) -> Packed:
    """All that ranking needs, except the analyzer."""
    arrays: dict[str, np.ndarray] = {}
    for number, stage in enumerate(ranker.stages_):
        arrays[f"{number}/counts"] = stage.counts.packed()
        arrays[f"{number}/size"] = np.array([stage.counts.filled, stage.counts.n_words])
        arrays[f"{number}/dense"] = stage.weights.dense
        arrays[f"{number}/numeric"] = stage.weights.numeric
        arrays[f"{number}/pairs"] = stage.weights.sparse.astype(np.float16)
    strings: dict[str, list[str]] = {"vocabulary": []}
    if ranker.document_counts_ is not None:
        known = ranker.document_counts_
        arrays |= {f"documents/{name}": getattr(known, name) for name in _DOCUMENT_ARRAYS}
        arrays |= pack_csr("documents/words", known.matrix)
        strings["vocabulary"] = list(known.vocabulary)
    strings["cluster_words"] = list(ranker.clusters_)
    strings["cluster_bits"] = list(ranker.clusters_.values())
    strings["forms"] = list(ranker.observed_.documents)
    seen = [
        [ranker.scheme_.encode(label) for label in labels]
        for labels in ranker.observed_.documents.values()
    ]
    arrays["labels_of_form"] = np.array([len(labels) for labels in seen], np.int32)
    strings["labels"] = [label for labels in seen for label in labels]
    strings["seen"] = sorted(ranker.seen_)
    analyzer = ranker.settings_.analyzer
    name = analyzer if isinstance(analyzer, str) else analyzer.name
    facts = {
        "analyzer": name,
        "scheme": ranker.scheme_.to_json(),  # as text: its rules depend on the order of keys
        "hard": list(ranker.hard_),
        "temperature": ranker.temperature_,
        "weight_bits": [stage.weights.bits for stage in ranker.stages_],
    }
    return Packed(arrays, strings, facts)


def restore(ranker: LexicalRanker, packed: Packed) -> None:
    """Set all that :func:`pack` wrote; the settings are there, the analyzer is not open yet."""
    a, strings, facts = packed.arrays, packed.strings, packed.facts
    scheme = load_scheme(ranker.scheme)
    ranker.clusters_ = dict(ranker.clusters or {})
    ranker.hard_ = tuple(facts["hard"])
    ranker.temperature_ = float(facts["temperature"])
    ranker.seen_ = frozenset(strings["seen"])
    ranker.observed_ = Observed()
    labels = iter(strings["labels"])
    for form, times in zip(strings["forms"], a["labels_of_form"].tolist(), strict=True):
        for _ in range(times):
            ranker.observed_.add(form, scheme.decode(next(labels)), 0)
    names = Targets(scheme, hard=ranker.hard_, only=ranker.targets).names
    ranker.stages_ = [
        _stage(a, number, ranker, names, bits) for number, bits in enumerate(facts["weight_bits"])
    ]
    ranker.document_counts_ = None
    if ranker.document_counts:
        ranker.document_counts_ = known = DocumentCounts()
        for name in _DOCUMENT_ARRAYS:
            setattr(known, name, a[f"documents/{name}"])
        known.matrix = unpack_csr("documents/words", a, path=packed.path)
        known.vocabulary = {word: n for n, word in enumerate(strings["vocabulary"])}


def _stage(
    a: Arrays, number: int, ranker: LexicalRanker, names: Sequence[str], bits: int
) -> Stage:
    templates = ranker.second if number else ranker.first_templates
    size, n_words = a[f"{number}/size"].tolist()
    table = CountTable.unpacked(
        counted_pairs(templates, names), a[f"{number}/counts"], size, n_words
    )
    dense, numeric = a[f"{number}/dense"], a[f"{number}/numeric"]
    # the first pass also weighs the values' own frequency, and documents; later ones all of that
    columns = len(ranker.first_templates) + 1 + bool(ranker.document_counts)
    columns += len(ranker.second) if number else 0
    if dense.shape != (BUCKETS, columns, len(names)) or numeric.shape != (len(NUMERIC),):
        raise ValueError(f"weights of pass {number + 1} have shape {dense.shape}")
    sparse = a[f"{number}/pairs"].astype(np.float32)
    return Stage(templates, table, Weights(np.asfortranarray(dense), numeric, sparse, bits))
