"""What the file of a ranker holds.

The labels seen with each form, the counts of every pass (keys in order as gaps, about 3.3 bytes a
key), the weights (those of pairs in 16 bits), and the words and values of training documents;
among the facts the whole scheme, as text.  Of the analyzer there is the name only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigentext.base.fields import Array, Bits, Ints, Pointers, Reals, Sparse, Strings
from eigentext.base.records import BitsOfWords, Called, Each, Numbers, Record, When, stored
from eigentext.base.values import Listed, Real, Text, Whole
from eigentext.lexical.ranker.counts import CountTable, DocumentCounts
from eigentext.lexical.ranker.encoding import NUMERIC, Observed, Targets
from eigentext.lexical.ranker.records import BUCKETS, Weights
from eigentext.lexical.ranker.second_pass import Stage, counted_pairs
from eigentext.lexical.schemes.labels import load_scheme

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from eigentext.lexical.ranker.model import LexicalRanker

    Floats = npt.NDArray[np.float64]

__all__ = ["Content"]

_MOST = 10**12  # words counted


def _n_pairs(values: Mapping[str, Any]) -> int:
    return 1 << int(values["weight_bits"][values["#"]])


class _Pass(NamedTuple):
    """One pass; ``size`` is the number of keys that are counted, and of words."""

    counts: npt.NDArray[np.uint8]
    size: npt.NDArray[np.int64]
    dense: Floats
    numeric: Floats
    pairs: npt.NDArray[np.float32]


def _documents(**arrays: Any) -> DocumentCounts:
    documents = DocumentCounts()
    vars(documents).update(arrays)
    if bool(np.any(np.diff(documents.values) == 0)):
        raise ValueError("array 'documents/values' holds a value twice")
    return documents


@dataclass
class Content:
    """All that ranking needs, except the analyzer."""

    vocabulary: Sequence[str] = stored(Strings("vocabulary", distinct=True))
    documents: DocumentCounts | None = stored(
        When(
            lambda values: bool(values["document_counts"]),
            Record(
                _documents,
                prefix="documents/",
                rarity=Reals(("vocabulary",), low=-100, high=100),
                values=Array(("values",), ("uint64",)),
                first=Pointers("values", "entries"),
                sizes=Reals(("documents",), low=0, high=_MOST),
                documents=Ints(("entries",), low=0, below="documents"),
                counts=Reals(("entries",), low=0, high=_MOST),
                matrix=Called(
                    "words", Sparse(("documents", "vocabulary"), ("float64",), -1, 1.001)
                ),
            ),
        )
    )
    passes: Sequence[_Pass] = stored(
        Each(
            Record(
                _Pass,
                counts=Bits(),
                size=Ints((2,), low=0, below=_MOST),
                dense=Reals(("buckets", "columns#", "targets"), low=-1e9, high=1e9),
                numeric=Reals(("numbers",), low=-1e9, high=1e9),
                pairs=Reals((_n_pairs,), ("float16",), held="float32"),
            ),
            "weight_bits",
            "{}/",
        )
    )
    weight_bits: Sequence[int] = stored(Listed(Whole(0, 28), 5))
    clusters: dict[str, str] = stored(BitsOfWords("cluster"))
    seen: Sequence[str] = stored(Strings("seen", distinct=True))
    forms: Sequence[str] = stored(Strings("forms", distinct=True))
    labels_of_form: Sequence[int] = stored(Numbers(Ints(("forms",), ("int32",), 0)))
    labels: Sequence[str] = stored(Strings("labels"))
    analyzer: str = stored(Text())  # its name
    scheme: str = stored(Text())  # as text: its rules depend on the order of keys
    hard: Sequence[str] = stored(Listed(Text()))
    temperature: float = stored(Real(1e-9, 1e9))

    def _holds(self) -> None:
        if sum(self.labels_of_form) != len(self.labels):
            raise ValueError("array 'labels_of_form' does not fit the labels")
        for number, stage in enumerate(self.passes):
            if int(stage.size[0]) > len(stage.counts):  # a key takes a byte at least
                raise ValueError(f"array '{number}/size' tells of more keys than there are")

    @classmethod
    def of(cls, ranker: LexicalRanker) -> Content:
        """All that ranking needs."""
        documents, analyzer = ranker.document_counts_, ranker.settings_.analyzer
        labels = [
            [ranker.scheme_.encode(label) for label in of_form]
            for of_form in ranker.observed_.documents.values()
        ]
        return cls(
            vocabulary=[] if documents is None else list(documents.vocabulary),
            documents=documents,
            passes=[_packed_stage(stage) for stage in ranker.stages_],
            weight_bits=[stage.weights.bits for stage in ranker.stages_],
            clusters=ranker.clusters_,
            seen=sorted(ranker.seen_),
            forms=list(ranker.observed_.documents),
            labels_of_form=list(map(len, labels)),
            labels=[label for of_form in labels for label in of_form],
            analyzer=analyzer if isinstance(analyzer, str) else analyzer.name,
            scheme=ranker.scheme_.to_json(),
            hard=list(ranker.hard_),
            temperature=ranker.temperature_,
        )

    def restore(self, ranker: LexicalRanker) -> None:
        """Set what ``fit`` would have learned; the analyzer is not open yet."""
        if len(self.weight_bits) != ranker.passes:
            raise ValueError(f"settings.weight_bits are not of {ranker.passes} passes")
        scheme = load_scheme(ranker.scheme)
        ranker.clusters_ = dict(ranker.clusters or {})
        ranker.hard_, ranker.temperature_ = tuple(self.hard), float(self.temperature)
        ranker.seen_, ranker.observed_ = frozenset(self.seen), Observed()
        labels = iter(self.labels)
        for form, times in zip(self.forms, self.labels_of_form, strict=True):
            for _ in range(times):
                ranker.observed_.add(form, scheme.decode(next(labels)), 0)
        names = Targets(scheme, hard=ranker.hard_, only=ranker.targets).names
        ranker.stages_ = [
            _stage(stage, number, ranker, names, bits)
            for number, (stage, bits) in enumerate(zip(self.passes, self.weight_bits, strict=True))
        ]
        ranker.document_counts_ = self.documents
        if self.documents is not None:
            self.documents.vocabulary = {word: n for n, word in enumerate(self.vocabulary)}


def _packed_stage(stage: Stage) -> _Pass:
    counts, weights = stage.counts, stage.weights
    size = np.array([counts.filled, counts.n_words])
    return _Pass(counts.packed(), size, weights.dense, weights.numeric, weights.sparse)


def _stage(
    packed: _Pass, number: int, ranker: LexicalRanker, names: Sequence[str], bits: int
) -> Stage:
    templates = ranker.second if number else ranker.first_templates
    used = counted_pairs(templates, names)
    table = CountTable.unpacked(used, packed.counts, *packed.size.tolist())
    # the first pass also weighs the values' own frequency, and documents; later ones all of that
    columns = len(ranker.first_templates) + 1 + bool(ranker.document_counts)
    columns += len(ranker.second) if number else 0
    shapes = packed.dense.shape, packed.numeric.shape
    if shapes != ((BUCKETS, columns, len(names)), (len(NUMERIC),)):
        raise ValueError(f"weights of pass {number + 1} have shape {packed.dense.shape}")
    weights = Weights(np.asfortranarray(packed.dense), packed.numeric, packed.pairs, bits)
    return Stage(templates, table, weights)
