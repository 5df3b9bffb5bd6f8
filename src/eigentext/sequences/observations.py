"""Token lists become numbers: which symbols there are, and sequences end to end.

Frequent tokens are symbols of their own; the rare ones share classes by their signatures, from
fine to coarse, the last ``<unk>``.  A token never seen goes to the finest class there is.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import get_args

import numpy as np

from eigentext.base.cores import row_blocks
from eigentext.base.fields import Ints, Named, Strings, Text
from eigentext.base.ragged import pointers
from eigentext.base.records import Called, Record
from eigentext.base.settings import check
from eigentext.base.tokens import each_sentence
from eigentext.base.types import Float64s, Int32s, Int64s, Numbers
from eigentext.errors import DataError
from eigentext.features.signatures import LANGUAGES, Language, signatures
from eigentext.features.symbols import UNKNOWN, first_known
from eigentext.sequences.settings import SymbolSettings, Unknown

_FEW = 10  # a class with fewer tokens gives way to a coarser one
_BLOCK = 1 << 20  # tokens that are looked up at once
_REMEMBERED = 500_000  # unknown words whose class is kept in memory


@dataclass(frozen=True, eq=False)
class Encoded:
    """Sequences of symbols end to end.

    ``ids``    (N,) int32 numbers of symbols
    ``first``  (S + 1,) int64: sequence s is ``ids[first[s] : first[s + 1]]``; it may be empty

    >>> two = Encoded.of([[0, 1, 1], [], [2]])
    >>> len(two), two.n_tokens, two.first.tolist(), two.lengths.tolist()
    (3, 4, [0, 3, 3, 4], [3, 0, 1])
    """

    ids: Int32s
    first: Int64s

    def __post_init__(self) -> None:
        ids, first = np.asarray(self.ids), np.asarray(self.first)
        for name, numbers in (("ids", ids), ("first", first)):
            if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
                raise ValueError(f"{name}: expected integers in one dimension, found {numbers!r}")
        sound = len(first) and first[0] == 0 and first[-1] == len(ids)
        if not sound or bool(np.any(np.diff(first) < 0)):
            raise ValueError(f"first: expected places from 0 to {len(ids)} in order")
        if ids.size and (ids.min() < 0 or ids.max() > np.iinfo(np.int32).max):
            raise ValueError("ids: expected numbers of symbols, 0 or more")
        object.__setattr__(self, "ids", np.ascontiguousarray(ids, np.int32))
        object.__setattr__(self, "first", np.ascontiguousarray(first, np.int64))

    @classmethod
    def of(cls, sequences: Iterable[Sequence[int]]) -> Encoded:
        """Join sequences of numbers."""
        parts = [np.asarray(sequence, np.int64).reshape(-1) for sequence in sequences]
        first = pointers(map(len, parts))
        ids = np.concatenate([np.zeros(0, np.int64), *parts])
        return cls(ids.astype(np.int32, casting="same_kind"), first)

    def __len__(self) -> int:
        """Number of sequences."""
        return len(self.first) - 1

    def __getitem__(self, at: int) -> Int32s:
        """The numbers of one sequence."""
        if not -len(self) <= at < len(self):
            raise IndexError(f"sequence {at} of {len(self)}")
        at %= len(self)
        return self.ids[self.first[at] : self.first[at + 1]]

    @property
    def n_tokens(self) -> int:
        """Number of tokens in all sequences."""
        return len(self.ids)

    @property
    def lengths(self) -> Int64s:
        """(S,) number of tokens of each sequence."""
        return np.diff(self.first)

    def part(self, begin: int, end: int) -> Encoded:
        """Sequences ``begin`` to ``end``.

        >>> Encoded.of([[0, 1], [2], [3]]).part(1, 3).ids.tolist()
        [2, 3]
        """
        first = self.first[begin : end + 1]
        return Encoded(self.ids[first[0] : first[-1]], first - first[0])

    def only(self, chosen: Int64s) -> Encoded:
        """The sequences of these numbers, in this order.

        >>> Encoded.of([[0, 1], [2], [3, 4]]).only(np.array([2, 0])).ids.tolist()
        [3, 4, 0, 1]
        """
        lengths = self.lengths[chosen]
        first = pointers(lengths)
        tokens = np.repeat(self.first[chosen] - first[:-1], lengths) + np.arange(first[-1])
        return Encoded(self.ids[tokens], first)

    def split(self, values: Numbers) -> list[Numbers]:
        """What belongs to each sequence, of values of all tokens.

        >>> [part.tolist() for part in Encoded.of([[0, 1], [], [2]]).split(np.array([5, 6, 7]))]
        [[5, 6], [], [7]]
        """
        return np.split(values, self.first[1:-1]) if len(self) else []

    def sums(self, values: Float64s) -> Float64s:
        """(S,) the sum over each sequence, of a number for every token; 0 for an empty one.

        >>> Encoded.of([[0, 0], [], [0]]).sums(np.array([1.0, 2.0, 4.0])).tolist()
        [3.0, 0.0, 4.0]
        """
        sums = np.zeros(len(self))
        full = np.flatnonzero(self.lengths)
        if len(full):
            sums[full] = np.add.reduceat(values, self.first[full])
        return sums

    def without_empty(self) -> Encoded:
        """The same without sequences of no tokens, as learning wants them.

        >>> len(Encoded.of([[0], [], [1]]).without_empty())
        2
        """
        kept = self.first[1:][self.lengths > 0]
        return Encoded(self.ids, np.concatenate([np.zeros(1, np.int64), kept]))


@dataclass(frozen=True, eq=False)
class NumberedText:
    """Sequences as numbers of the distinct ``words``, which come in order of first appearance.

    This is text before symbols are chosen: four bytes a token, where lists of strings take sixty.

    >>> text = NumberedText.of([["a", "cat"], [], ["a"]])
    >>> text.words, text.encoded.ids.tolist(), text.encoded.first.tolist()
    (('a', 'cat'), [0, 1, 0], [0, 2, 2, 3])
    """

    words: tuple[str, ...]
    encoded: Encoded

    @classmethod
    def of(cls, sequences: Iterable[Sequence[str]] | NumberedText) -> NumberedText:
        """Read sequences once, one after the other."""
        if isinstance(sequences, NumberedText):
            return sequences
        numbers: defaultdict[str, int] = defaultdict()
        numbers.default_factory = numbers.__len__  # in order of first appearance
        ids, first = array("i"), array("q", [0])
        for tokens in each_sentence(sequences):
            ids.extend(map(numbers.__getitem__, tokens))
            first.append(len(ids))
        encoded = Encoded(np.frombuffer(ids, np.int32), np.frombuffer(first, np.int64))
        return cls(tuple(numbers), encoded)

    def counts(self) -> Counter[str]:
        """How often each word comes."""
        tokens = np.zeros(len(self.words), np.int64)
        for part in self._blocks():
            tokens += np.bincount(self.encoded.ids[part], minlength=len(self.words))
        return Counter(dict(zip(self.words, tokens.tolist(), strict=True)))

    def as_symbols(self, symbols: Symbols) -> Encoded:
        """The same sequences as numbers of symbols."""
        number_of = np.array(symbols.numbers_of(self.words), np.int32)
        ids = np.empty_like(self.encoded.ids)
        for part in self._blocks():
            ids[part] = number_of[self.encoded.ids[part]]
        return Encoded(ids, self.encoded.first)

    def _blocks(self) -> list[slice]:
        """Tokens some at a time: where numpy looks up or counts, it takes eight bytes for each."""
        return row_blocks(self.encoded.n_tokens, _BLOCK)


class _Numbers(dict[str, int]):
    """Token -> number; a token that is not there is asked for once and remembered."""

    def __init__(self, symbols: Symbols) -> None:
        super().__init__((name, at) for at, name in enumerate(symbols.names))
        self.symbols = symbols
        self.most = len(self) + _REMEMBERED

    def __missing__(self, token: str) -> int:
        number = self[self.symbols.class_of(token)]
        if len(self) < self.most:
            self[token] = number
        return number


@dataclass(frozen=True, eq=False)
class Symbols:
    """The symbols of a model: frequent words, and classes for all others.

    ``names``     in order of number, the most frequent first
    ``counts``    (V,) how often each was seen in training; 0 for ``<unk>`` where nothing was rare
    ``unknown``   ``signature``: classes by shape; ``one``: ``<unk>`` alone
    ``language``  of the signatures: ``english`` or ``generic``

    >>> seen = Symbols.fit([["a", "cat"], ["a", "dog"]], min_count=2)
    >>> seen.names, seen.counts.tolist()
    (('<unk>', 'a'), [2, 2])
    >>> seen.encode([["a", "mouse"], []]).ids.tolist()
    [1, 0]
    """

    names: tuple[str, ...]
    counts: Int64s
    unknown: Unknown = "signature"
    language: Language = "english"

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names) or UNKNOWN not in self.names:
            raise ValueError(f"names: expected different names with {UNKNOWN!r} among them")
        counts = np.ascontiguousarray(self.counts, np.int64)
        if counts.shape != (len(self.names),) or bool(np.any(counts < 0)):
            raise ValueError(f"counts: expected {len(self.names)} numbers, 0 or more")
        object.__setattr__(self, "counts", counts)

    @classmethod
    def fit(
        cls,
        sequences: Iterable[Sequence[str]] | NumberedText,
        *,
        vocab_size: int | None = None,
        min_count: int = 1,
        unknown: Unknown = "signature",
        language: Language = "english",
    ) -> Symbols:
        """Choose the symbols.

        ``vocab_size``  so many words at most, the most frequent (and of equals the first by
                        name); classes come on top of them
        ``min_count``   words seen less often go to classes
        """
        check(
            SymbolSettings(
                vocab_size=vocab_size, min_count=min_count, unknown=unknown, language=language
            )
        )
        often = NumberedText.of(sequences).counts()
        if not often:
            raise DataError("sequences", None, "no tokens to learn from")
        ranked = sorted(often.items(), key=lambda item: (-item[1], item[0]))
        n_kept = sum(1 for _, n in ranked if n >= min_count)
        n_kept = n_kept if vocab_size is None else min(n_kept, vocab_size)
        counts, rare = Counter(dict(ranked[:n_kept])), ranked[n_kept:]
        if unknown == "one":
            counts[UNKNOWN] += sum(n for _, n in rare)
        else:
            class_of = _classes(rare, language)
            for (_, n), name in zip(rare, class_of, strict=True):
                counts[name] += n
            counts[UNKNOWN] += 0
        order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        symbols = cls(
            tuple(name for name, _ in order), np.array([n for _, n in order]), unknown, language
        )
        if unknown == "signature":  # the text is encoded next: do not look for classes again
            for (word, _), name in zip(rare[:_REMEMBERED], class_of, strict=False):
                symbols._numbers.setdefault(word, symbols._numbers[name])  # but for names
        return symbols

    @classmethod
    def chosen(
        cls, sequences: Iterable[Sequence[str]] | NumberedText, settings: SymbolSettings
    ) -> Symbols:
        """Choose them as a model's settings say."""
        names = ("vocab_size", "min_count", "unknown", "language")
        return cls.fit(sequences, **{name: getattr(settings, name) for name in names})

    def recounted(self, data: Encoded) -> Symbols:
        """The same symbols with their counts in other sequences.

        >>> Symbols.fit([["a", "b"]]).recounted(Encoded.of([[1, 1]])).counts.tolist()
        [0, 2, 0]
        """
        counts = np.bincount(data.ids, minlength=len(self.names)).astype(np.int64)
        return Symbols(self.names, counts, self.unknown, self.language)

    @property
    def unknowns(self) -> dict[str, str]:
        """What becomes of words that are no symbols."""
        return {"unknown": self.unknown, "language": self.language}

    def __len__(self) -> int:
        """Number of symbols, V."""
        return len(self.names)

    @cached_property
    def _numbers(self) -> _Numbers:
        return _Numbers(self)

    def class_of(self, token: str) -> str:
        """The class that stands for a token that is no symbol itself.

        >>> Symbols.fit([["a"]]).class_of("mouse")
        '<unk>'
        """
        if self.unknown == "one":
            return UNKNOWN
        return first_known(_shapes(token, self.language), self._numbers)

    def numbers_of(self, words: Iterable[str]) -> list[int]:
        """The number of each word: its own, or that of its class.

        >>> Symbols.fit([["a", "b"]]).numbers_of(["b", "mouse"])
        [1, 2]
        """
        return list(map(self._numbers.__getitem__, words))

    def encode(self, sequences: Iterable[Sequence[str]]) -> Encoded:
        """The numbers of sequences of tokens."""
        numbers = self._numbers.__getitem__
        lengths = []

        def counted() -> Iterable[Iterable[int]]:
            for tokens in each_sentence(sequences):
                lengths.append(len(tokens))
                yield map(numbers, tokens)

        ids = np.fromiter(chain.from_iterable(counted()), np.int32)
        return Encoded(ids, pointers(lengths))

    def decode(self, encoded: Encoded) -> list[list[str]]:
        """The names of the symbols of each sequence.

        >>> seen = Symbols.fit([["a", "cat"]])
        >>> seen.decode(seen.encode([["cat", "a"], ["b"]]))
        [['cat', 'a'], ['<unk>']]
        """
        return [[self.names[i] for i in encoded[at].tolist()] for at in range(len(encoded))]

    def unigram(self) -> Float64s:
        """(V,) probability of each symbol, none of them 0: ``(n_x + 1/2) / (n + V / 2)``.

        >>> Symbols.fit([["a", "a", "b"]]).unigram().round(3).tolist()
        [0.556, 0.333, 0.111]
        """
        counts = self.counts + 0.5
        return np.asarray(counts / counts.sum())


SYMBOLS = Record(
    lambda names, counts, unknowns: Symbols(names, counts, **unknowns),
    names=Strings("symbols", distinct=True),
    counts=Ints(("symbols",), low=0, below=10**15),
    unknowns=Called(
        "symbols",
        Named({"unknown": Text(get_args(Unknown)), "language": Text(LANGUAGES)}, closed=True),
    ),
)


def _shapes(token: str, language: Language) -> tuple[str, ...]:
    return signatures(token, language=language) if token else (UNKNOWN,)


def _classes(rare: list[tuple[str, int]], language: Language) -> list[str]:
    """The class of each rare word: the finest that is common enough."""
    shapes = [_shapes(word, language) for word, _ in rare]
    common: Counter[str] = Counter()
    for (_, n), chain_of_shapes in zip(rare, shapes, strict=True):
        for shape in chain_of_shapes:
            common[shape] += n
    usual = {shape for shape, n in common.items() if n >= _FEW}
    return [first_known(chain_of_shapes, usual) for chain_of_shapes in shapes]
