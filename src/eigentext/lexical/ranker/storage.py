"""What the file of a ranker holds.

The labels seen with each form, the counts of every pass (keys in order as gaps, about 3.3 bytes a
key), the weights (those of pairs in 16 bits), and the words and values of training documents;
among the facts the whole scheme, as text.  Of the analyzer there is the name only.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.base.fields import Array, Bits, Ints, Pointers, Reals, Sparse, Strings
from eigentext.base.records import As, BitsOfWords, Called, Each, Numbers, Record, When, stored
from eigentext.base.values import Listed, Real, Text, Whole
from eigentext.lexical.ranker.counts import CountTable, LikeDocuments
from eigentext.lexical.ranker.encoding import NUMERIC, Observed, Targets
from eigentext.lexical.ranker.records import BUCKETS, RankWeights
from eigentext.lexical.ranker.second_pass import RankerPass, counted_pairs
from eigentext.lexical.schemes.labels import load_scheme

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.types import Float32s, Float64s, Int64s, UInt8s
    from eigentext.lexical.ranker.model import LexicalRanker

_MOST = 10**12  # words counted


class _Pass(NamedTuple):
    """One pass; ``size`` is the number of keys that are counted, and of words."""

    counts: UInt8s
    size: Int64s
    dense: Float64s
    numeric: Float64s
    pairs: Float32s


def _documents(**arrays: object) -> LikeDocuments:
    documents = LikeDocuments()
    vars(documents).update(arrays)
    if bool(np.any(np.diff(documents.values) == 0)):
        raise ValueError("array 'documents/values' holds a value twice")
    return documents


@dataclass
class RankerContent:
    """All that ranking needs, except the analyzer."""

    vocabulary: tuple[str, ...] = stored(
        Strings("vocabulary", distinct=True),
        of=lambda ranker: list(getattr(ranker.document_counts_, "vocabulary", ())),
    )
    document_counts_: LikeDocuments | None = stored(
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
                pairs=Reals(
                    (lambda values: 1 << values["weight_bits"][values["#"]],),
                    ("float16",),
                    held="float32",
                ),
            ),
            "weight_bits",
            "{}/",
        ),
        of=lambda ranker: list(map(_packed_stage, ranker.stages_)),
    )
    weight_bits: tuple[int, ...] = stored(
        Listed(Whole(0, 28), 5), of=lambda ranker: [stage.weights.bits for stage in ranker.stages_]
    )
    clusters_: dict[str, str] = stored(BitsOfWords("cluster"))
    seen_: frozenset[str] = stored(As(Strings("seen", distinct=True), sorted, frozenset))
    forms: tuple[str, ...] = stored(
        Strings("forms", distinct=True), of=lambda ranker: list(ranker.observed_.documents)
    )
    labels_of_form: list[int] = stored(
        Numbers(Ints(("forms",), ("int32",), 0)),
        of=lambda ranker: list(map(len, ranker.observed_.documents.values())),
    )
    labels: tuple[str, ...] = stored(
        Strings("labels"),
        of=lambda ranker: list(
            map(ranker.scheme_.encode, chain(*ranker.observed_.documents.values()))
        ),
    )
    analyzer: str = stored(
        Text(),
        of=lambda ranker: getattr(ranker.settings_.analyzer, "name", ranker.settings_.analyzer),
    )
    # as text: its rules depend on the order of keys
    scheme: str = stored(Text(), of=lambda ranker: ranker.scheme_.to_json())
    hard_: tuple[str, ...] = stored(Listed(Text()))
    temperature_: float = stored(Real(1e-9, 1e9))

    def _holds(self) -> None:
        if sum(self.labels_of_form) != len(self.labels):
            raise ValueError("array 'labels_of_form' does not fit the labels")
        for number, stage in enumerate(self.passes):
            if int(stage.size[0]) > len(stage.counts):  # a key takes a byte at least
                raise ValueError(f"array '{number}/size' tells of more keys than there are")

    def restore(self, ranker: LexicalRanker) -> None:
        """Set what ``fit`` would have learned; the analyzer is not open yet."""
        if len(self.weight_bits) != ranker.passes:
            raise ValueError(f"settings.weight_bits are not of {ranker.passes} passes")
        scheme = load_scheme(ranker.scheme)
        ranker.clusters_, ranker.observed_ = dict(ranker.clusters or {}), Observed()
        labels = iter(self.labels)
        for form, times in zip(self.forms, self.labels_of_form, strict=True):
            for _ in range(times):
                ranker.observed_.add(form, scheme.decode(next(labels)), 0)
        names = Targets(scheme, hard=self.hard_, only=ranker.targets).names
        ranker.stages_ = [
            _stage(stage, number, ranker, names, bits)
            for number, (stage, bits) in enumerate(zip(self.passes, self.weight_bits, strict=True))
        ]
        if self.document_counts_ is not None:
            self.document_counts_.vocabulary = {word: n for n, word in enumerate(self.vocabulary)}


def _packed_stage(stage: RankerPass) -> _Pass:
    counts, weights = stage.counts, stage.weights
    size = np.array([counts.filled, counts.n_words])
    return _Pass(counts.packed(), size, weights.dense, weights.numeric, weights.sparse)


def _stage(
    packed: _Pass, number: int, ranker: LexicalRanker, names: Sequence[str], bits: int
) -> RankerPass:
    templates = ranker.second if number else ranker.first_templates
    used = counted_pairs(templates, names)
    table = CountTable.unpacked(used, packed.counts, *packed.size.tolist())
    # the first pass also weighs the values' own frequency, and documents; later ones all of that
    columns = len(ranker.first_templates) + 1 + bool(ranker.document_counts)
    columns += len(ranker.second) if number else 0
    shapes = packed.dense.shape, packed.numeric.shape
    if shapes != ((BUCKETS, columns, len(names)), (len(NUMERIC),)):
        raise ValueError(f"weights of pass {number + 1} have shape {packed.dense.shape}")
    weights = RankWeights(np.asfortranarray(packed.dense), packed.numeric, packed.pairs, bits)
    return RankerPass(templates, table, weights)
