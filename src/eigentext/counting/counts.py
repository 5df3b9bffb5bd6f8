"""The record of what was counted: it adds, it is saved, and it gives context matrices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from eigentext.base import modelfile
from eigentext.base.fields import Ints, Sparse, Strings
from eigentext.base.files.opening import Source
from eigentext.base.model import Stored
from eigentext.base.records import Each, Group
from eigentext.base.types import Int64s
from eigentext.base.types import Sparse as Csr
from eigentext.base.values import Flag, Named, Packed, Text, Whole
from eigentext.counting.contexts import Contexts, parse_contexts
from eigentext.counting.interning import Types, TypeTable
from eigentext.counting.vocabulary import Vocabulary, select
from eigentext.errors import SettingsError

_MOST = 10**15  # tokens


def _span_names(values: Mapping[str, Any]) -> list[str]:
    try:
        spans = parse_contexts(values["contexts"]).spans
    except SettingsError as error:
        raise ValueError(f"settings.contexts: {error}") from error
    return [f"{near}-{far}" for near, far in spans]


@dataclass(frozen=True, eq=False)
class Counts(Stored):
    """Unigram and pair counts over one vocabulary.

    ``unigrams[w]``  how often word w occurs; (n,), n words including ``<unk>``, the last.
    ``halves[s]``    for the s-th of ``contexts.spans`` (distances a to b): entry (v, w) is how
                     often v stands a to b words before w in its line; (n, n) CSR, int64.  The
                     matrix of position -d is the transpose of that of +d, so one is kept.
    ``complete``     the vocabulary holds every word of the text.
    """

    KIND = "counts"
    CONTENT = Group(
        words=Strings("words", distinct=True),
        unigrams=Ints(("words+1",), low=0, below=_MOST),
        halves=Each(Sparse(("words+1", "words+1"), low=0, high=_MOST), _span_names, "pairs/{}"),
        n_tokens=Whole(0, _MOST),
        n_sentences=Whole(0, _MOST),
        n_skipped=Whole(0, _MOST),
        complete=Flag(),
    )
    SIZED_BY = Named({"contexts": Text()})

    vocabulary: Vocabulary
    unigrams: Int64s
    contexts: Contexts
    halves: tuple[Csr, ...]
    n_tokens: int
    n_sentences: int
    n_skipped: int = 0
    complete: bool = False

    def __repr__(self) -> str:
        return (
            f"<Counts: {len(self.words):,} words, {self.n_tokens:,} tokens, contexts "
            f"{','.join(self.context_names) or 'none'}>"
        )

    @property
    def words(self) -> tuple[str, ...]:
        """The words in the order of their ids, ``<unk>`` last."""
        return self.vocabulary.words

    @property
    def context_names(self) -> tuple[str, ...]:
        """One name per context matrix, such as ``-1``, ``+1`` or ``bag5``."""
        return self.contexts.names

    def matrix(self, position: int | str) -> Csr:
        """The (n, n) CSR matrix of one context: entry (w, c) is how often c is there around w.

        ``position`` is a relative position such as -1 or ``"+1"``, or the name of the bag.
        """
        name = f"{position:+d}" if isinstance(position, int) else position
        if name not in self.context_names:
            counted = ", ".join(self.context_names) or "none"
            raise SettingsError(f"no context {name!r} in these counts, only: {counted}")
        if self.contexts.bag:
            return (self.halves[0] + self.halves[0].T).tocsr()
        half = self.half(abs(int(name)))
        return half if int(name) > 0 else half.T.tocsr()

    def half(self, distance: int) -> Csr:
        """The one of ``halves`` that is of this distance alone."""
        return self.halves[self.contexts.spans.index((distance, distance))]

    def context_matrix(self) -> Csr:
        """All contexts side by side: (n, k n) CSR, k matrices in the order of the names."""
        from scipy.sparse import hstack

        if not self.context_names:
            raise SettingsError("these counts are unigrams only; count with contexts such as lr2")
        return hstack([self.matrix(name) for name in self.context_names], format="csr")

    @property
    def n_stored(self) -> int:
        """The number of distinct pairs that are kept."""
        return sum(int(half.nnz) for half in self.halves)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        plain = ("contexts", "n_tokens", "n_sentences", "n_skipped", "complete")
        return (
            all(getattr(self, name) == getattr(other, name) for name in plain)
            and self.vocabulary == other.vocabulary
            and np.array_equal(self.unigrams, other.unigrams)
            and all(map(_same_matrix, self.halves, other.halves))
        )

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Counts) -> Counts:
        """The counts of both texts together.

        Exact when the vocabularies are the same, or when both are complete (then their union).
        """
        if not isinstance(other, Counts):
            return NotImplemented
        if self.contexts != other.contexts:
            raise SettingsError(
                f"cannot add counts of contexts {self.contexts} and {other.contexts}"
            )
        if self.complete and other.complete:
            return _union(self, other)
        if self.vocabulary != other.vocabulary:
            raise SettingsError(
                "cannot add counts over different vocabularies when one of them was cut: words "
                "that one side dropped are unknown there. Count the new text with the vocabulary "
                "of the old counts (--vocab-from OLD, or vocabulary=old)"
            )
        return Counts(
            self.vocabulary,
            self.unigrams + other.unigrams,
            self.contexts,
            tuple((a + b).tocsr() for a, b in zip(self.halves, other.halves, strict=True)),
            self.n_tokens + other.n_tokens,
            self.n_sentences + other.n_sentences,
            self.n_skipped + other.n_skipped,
        )

    @classmethod
    def from_tables(
        cls,
        words: Iterable[str],
        pairs: Iterable[str] = (),
        *,
        contexts: str | Contexts | Iterable[int] = "lr1",
        n_sentences: int | None = None,
        memory: str | int = "2GB",
    ) -> Counts:
        """Counts that a database made, from Parquet files; see ``counting.tables``."""
        from eigentext.counting.tables import counts_from_tables

        return counts_from_tables(
            words, pairs, contexts=contexts, n_sentences=n_sentences, memory=memory
        )

    def to_tables(self, words: str, pairs: str | None = None) -> None:
        """Write the Parquet files that :meth:`from_tables` reads."""
        from eigentext.counting.tables import write_tables

        write_tables(self, words, pairs)

    @classmethod
    def load(cls, path: Source, *, mapped: bool = False, **unstored: Any) -> Counts:
        """Read what :meth:`save` wrote; ``mapped`` leaves large matrices in the file."""
        file = modelfile.load(path, cls.KIND, {cls.VERSION}, cls._contents(), mapped=mapped)
        return cls._from_file(file, unstored)

    @classmethod
    def stored_pairs(cls, path: Source) -> int:
        """How many distinct pairs a file of counts holds; they are not read."""
        arrays = modelfile.read_header(path, cls.KIND).arrays
        return sum(shape[0] for name, (_, shape) in arrays.items() if name.endswith("/indices"))

    def _pack(self) -> Packed:
        return self._packed({"contexts": str(self.contexts)})

    def _content(self) -> SimpleNamespace:
        names = _span_names({"contexts": self.contexts})
        halves = dict(zip(names, self.halves, strict=True))
        return SimpleNamespace(**{**vars(self), "words": self.words[:-1], "halves": halves})

    @classmethod
    def _unpack(cls, packed: Packed, **unstored: object) -> Counts:
        content = vars(cls._unpacked(packed))
        vocabulary = Vocabulary.from_words(content.pop("words"))
        halves = tuple(content.pop("halves").values())
        contexts = parse_contexts(packed.settings["contexts"])
        return cls(vocabulary, halves=halves, contexts=contexts, **content)


def _same_matrix(a: Csr, b: Csr) -> bool:
    return all(map(np.array_equal, (a.indptr, a.indices, a.data), (b.indptr, b.indices, b.data)))


def _union(first: Counts, second: Counts) -> Counts:
    """Add counts of which nothing was cut; the words are put in order anew."""
    from scipy.sparse import csr_array

    table = TypeTable()
    for counts in (first, second):
        types = counts.vocabulary.types
        table.intern_types(Types(types.blob, types.offsets, counts.unigrams[:-1]))
    types = table.types
    vocabulary = Vocabulary(types.take(select(types, min_count=0)[0]))
    unigrams = np.zeros(len(vocabulary), dtype=np.int64)
    shape = (len(vocabulary),) * 2
    halves = [csr_array(shape, dtype=np.int64) for _ in first.halves]
    for counts in (first, second):
        ids = np.append(vocabulary.mapping(counts.vocabulary.types), vocabulary.unknown_id)
        unigrams[ids] += counts.unigrams
        for number, half in enumerate(counts.halves):
            pairs = half.tocoo()
            moved = (ids[pairs.row], ids[pairs.col])
            halves[number] = halves[number] + csr_array((pairs.data, moved), shape=shape)
    for half in halves:
        half.sort_indices()
    return Counts(
        vocabulary,
        unigrams,
        first.contexts,
        tuple(halves),
        first.n_tokens + second.n_tokens,
        first.n_sentences + second.n_sentences,
        first.n_skipped + second.n_skipped,
        complete=True,
    )
