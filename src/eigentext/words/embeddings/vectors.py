"""Words and their vectors, however they were learned: files, gensim, nearest words, analogies.

A :class:`WordSpace` holds vectors at length 1, for many questions: ``word`` or ``a:b::c`` (a is to
b as c is to what?).  It multiplies a block of queries with all vectors at once, and takes the k
largest cosines of each; words of the query are left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eigentext.base.fields import Reals, Strings
from eigentext.base.files.opening import Source
from eigentext.base.model import TableTransformer
from eigentext.base.records import Record
from eigentext.base.registry import class_of
from eigentext.base.tokens import each_sentence
from eigentext.base.types import Float32s, Float64s, Int64s, Numbers
from eigentext.errors import MissingExtraError, SettingsError
from eigentext.linalg.ties import unit_rows

_ANALOGY = re.compile(r"(.+?):(.+?)::(.+)")
_CELLS_AT_ONCE = 1 << 24  # cosines held at once: 64 MB

Neighbours = list[tuple[str, float]]


def load_words(path: str | os.PathLike[str]) -> tuple[tuple[str, ...], Float32s]:
    """Words and vectors of a model file or of a word2vec file.

    >>> from eigentext.language.formats.word2vec import write_vectors
    >>> write_vectors(["cat", "dog"], np.eye(2), "memory://doc/near.bin", binary=True)
    >>> load_words("memory://doc/near.bin")[0]
    ('cat', 'dog')
    """
    if _is_model(path):
        embeddings = _load_model(path).embeddings_
        return embeddings.words, embeddings.vectors
    from eigentext.language.formats.word2vec import load_vectors

    words, vectors = load_vectors(path)
    return tuple(words), vectors


def _load_model(path: str | os.PathLike[str]) -> Any:
    from eigentext.base.modelfile import read_header

    kind = read_header(path).kind
    return class_of(kind if kind in ("lrmvl", "multiview") else "embeddings").load(path)


def load_space(path: str | os.PathLike[str]) -> WordSpace:
    """The words and vectors of a file; where it has characters, unknown words have vectors too."""
    space: WordSpace = (
        _load_model(path).space() if _is_model(path) else WordSpace(*load_words(path))
    )
    return space


def _is_model(path: str | os.PathLike[str]) -> bool:
    """Is it safetensors: eight bytes of length, then JSON?"""
    from eigentext.base.files.opening import open_binary

    with open_binary(path) as stream:
        return stream.read(9)[8:] == b"{"


def near_spellings(word: str, words: Iterable[str], n: int = 3) -> list[str]:
    """Known words that are written much like this one, the likeliest first.

    >>> near_spellings("recieve", ["receive", "Recieve", "deceive", "sea"], 2)
    ['Recieve', 'receive']
    """
    from difflib import get_close_matches

    vocabulary = list(words)
    same = [other for other in vocabulary if other.lower() == word.lower()]
    # a match at cutoff 0.75 cannot differ more than this in length
    near = [other for other in vocabulary if 0.6 * len(word) <= len(other) <= 1.7 * len(word)]
    close = get_close_matches(word, near, n=n, cutoff=0.75)
    return list(dict.fromkeys([*same, *close]))[:n]


def parse_query(query: str, vocabulary: Iterable[str] = ()) -> tuple[str, ...]:
    """One word, or the three words of ``a:b::c``; a known word is a word, whatever is in it.

    >>> parse_query("cat"), parse_query("man:king::woman"), parse_query("a:b::c", {"a:b::c"})
    (('cat',), ('man', 'king', 'woman'), ('a:b::c',))
    """
    if query in vocabulary:
        return (query,)
    match = _ANALOGY.fullmatch(query)
    return (query,) if match is None else (match[1], match[2], match[3])


class WordSpace:
    """Words, by decreasing frequency, and their vectors at length 1.

    ``unknown`` gives vectors of other words, zeros for those that it knows nothing of.

    >>> space = WordSpace(["cat", "dog", "sea"], np.array([[2.0, 0], [1, 1], [0, 1]]))
    >>> space.nearest(["cat"], 1), space.missing("cat:dog::fish")
    ([[('dog', 0.7071067690849304)]], ['fish'])
    """

    def __init__(
        self,
        words: Sequence[str],
        vectors: NDArray[np.floating],
        unknown: Callable[[Sequence[str]], NDArray[np.floating]] | None = None,
    ) -> None:
        self.words = words
        self.row_of = {word: row for row, word in enumerate(words)}
        self.unit = _unit(vectors)
        self.unknown = unknown

    def missing(self, query: str) -> list[str]:
        """The words of the query that have no vector."""
        words = dict.fromkeys(parse_query(query, self.row_of))
        return [word for word in words if self._vector(word) is None]

    def with_words(self, words: Iterable[str]) -> WordSpace:
        """This space with more words, as far as they have vectors."""
        new = [word for word in dict.fromkeys(words) if word not in self.row_of]
        if self.unknown is None or not new:
            return self
        vectors = _unit(self.unknown(new))
        has = np.asarray(vectors.any(axis=1))
        more = [word for word, has_vector in zip(new, has.tolist(), strict=True) if has_vector]
        together = np.concatenate([self.unit, vectors[has]])
        return WordSpace([*self.words, *more], together, self.unknown)

    def nearest(self, queries: Sequence[str], k: int = 10) -> list[Neighbours]:
        """For each query (a word, or ``a:b::c``) the k nearest words and their cosines.

        Of equal cosines the one that comes first in ``words`` is first.  An analogy looks for
        words near ``b - a + c``, all at length 1.

        >>> words = ["man", "king", "woman", "queen", "sea"]
        >>> vectors = np.array([[1.0, 0, 1], [1, 1, 1], [-1, 0, 1], [-1, 1, 1], [0, -1, 0]])
        >>> near = WordSpace(words, vectors).nearest(["man", "man:king::woman"], 1)
        >>> [words_near[0][0] for words_near in near]
        ['king', 'queen']
        """
        if isinstance(queries, str):
            raise TypeError("nearest() takes a list of queries, not one str: [query]")
        if k < 1:
            raise SettingsError(f"k is {k}, expected at least 1")
        queried = [parse_query(query, self.row_of) for query in queries]
        aims = []
        for parts in queried:
            vectors = [self._known(word) for word in parts]
            aims.append(vectors[0] if len(parts) == 1 else vectors[1] - vectors[0] + vectors[2])
        words, unit = self.words, self.unit
        neighbours: list[Neighbours] = []
        step = max(1, _CELLS_AT_ONCE // max(len(words), 1))
        for first in range(0, len(queried), step):
            block = queried[first : first + step]
            cosines = _unit(np.stack(aims[first : first + step])) @ unit.T  # (queries, n)
            for row, parts in zip(cosines, block, strict=True):
                rows = [self.row_of[word] for word in parts if word in self.row_of]
                row[rows] = -np.inf  # words of the query
                nearest = largest(row, min(k, len(row) - len(set(rows))))
                neighbours.append([(words[i], float(row[i])) for i in nearest.tolist()])
        return neighbours

    def _vector(self, word: str) -> Float32s | None:
        """The vector of a word at length 1, None where it has none."""
        row = self.row_of.get(word)
        if row is not None:
            return np.asarray(self.unit[row])
        if self.unknown is None:
            return None
        vector = _unit(self.unknown([word]))[0]
        return vector if vector.any() else None

    def _known(self, word: str) -> Float32s:
        vector = self._vector(word)
        if vector is None:
            raise SettingsError(not_known(word, near_spellings(word, self.row_of)))
        return vector


def not_known(word: str, near: Sequence[str]) -> str:
    """What is said of a word that has no vector, with the words that are written like it.

    >>> not_known("recieve", ["receive"])
    "the word 'recieve' is not in the vocabulary; near spellings: receive"
    """
    hint = f"; near spellings: {', '.join(near)}" if near else ""
    return f"the word {word!r} is not in the vocabulary{hint}"


def largest(row: Numbers, k: int) -> Int64s:
    """The indices of the k largest numbers, largest first, ties by index.

    >>> largest(np.array([1.0, 3.0, 2.0, 3.0]), 3).tolist()
    [1, 3, 2]
    """
    if k <= 0:
        return np.zeros(0, np.int64)
    candidates = np.arange(len(row))
    if k < len(row):  # sorting a whole vocabulary takes long
        candidates = np.flatnonzero(row >= np.partition(row, -k)[-k])
    return candidates[np.argsort(-row[candidates], kind="stable")[:k]]


def _unit(vectors: NDArray[np.floating]) -> Float32s:
    rows = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, np.float32(1)))


@dataclass(frozen=True)
class Embeddings:
    """``words`` and their ``vectors`` (n, d); ``singular_values`` (d,) where there are any.

    Vectors that were learned here have length 1.
    """

    words: tuple[str, ...]
    vectors: Float32s
    singular_values: Float64s = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def stored(cls, values: str = "size") -> Record:
        """What a model file holds of them, with so many singular values."""
        return Record(
            cls,
            words=Strings("words", distinct=True),
            vectors=Reals(("words", "size"), ("float32",), -1e6, 1e6),
            singular_values=Reals((values,)),
        )

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    def neighbours(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """The k nearest words by cosine, without the word itself."""

        return WordSpace(self.words, self.vectors).nearest([word], k)[0]

    def export(self, path: Source, *, binary: bool | None = None) -> None:
        """Write word2vec's text or binary format; by default binary for ``.bin``."""
        from eigentext.base.files.archives import suffix_of
        from eigentext.language.formats.word2vec import write_vectors

        name = str(path)
        if binary is None:
            binary = name.removesuffix(suffix_of(name)).endswith(".bin")
        write_vectors(self.words, self.vectors, path, binary=binary)

    def to_gensim(self) -> Any:
        """The same as gensim's ``KeyedVectors``; needs gensim."""
        try:
            from gensim.models import KeyedVectors
        except ImportError as error:
            raise MissingExtraError("gensim's vectors", modules=["gensim"]) from error
        keyed = KeyedVectors(self.vectors.shape[1], dtype=np.float32)
        keyed.add_vectors(list(self.words), self.vectors)
        return keyed

    @classmethod
    def from_gensim(cls, keyed: Any) -> Embeddings:
        """From gensim's ``KeyedVectors``, or from a model that has them as ``wv``."""
        keyed = getattr(keyed, "wv", keyed)
        return cls(tuple(keyed.index_to_key), np.array(keyed.vectors, dtype=np.float32))


class WordVectorModel:
    """A model with ``embeddings_``: words and their vectors."""

    embeddings_: Embeddings

    if TYPE_CHECKING:

        def check_fitted(self) -> None: ...  # noqa: D102

    def space(self) -> WordSpace:
        """The words with their vectors, ready for many questions."""
        self.check_fitted()
        return WordSpace(self.embeddings_.words, self.embeddings_.vectors)

    def neighbours(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """The k nearest words by cosine, or the answers to an analogy ``a:b::c``."""
        return self.space().nearest([word], k)[0]

    def _summary(self) -> str:
        n_words, n_columns = self.embeddings_.vectors.shape
        return f"{n_words:,} words, {n_columns} dimensions"


class SentenceVectors(WordVectorModel, TableTransformer):
    """What gives a sentence the mean of the vectors of its words."""

    _COLUMN: ClassVar[str]  # what columns are called, before their number

    if TYPE_CHECKING:

        def _of_words(self, words: list[str]) -> Float32s: ...

    def transform(self, X: Iterable[Sequence[str]]) -> Any:
        """The mean of the vectors of each sentence's words: (sentences, n_components)."""
        self.check_fitted()
        size = self.embeddings_.vectors.shape[1]
        rows = []
        for sentence in each_sentence(X):
            vectors = self._of_words(list(sentence))
            rows.append(vectors.mean(axis=0) if len(vectors) else np.zeros(size, np.float32))
        return self._table(np.array(rows, dtype=np.float32).reshape(-1, size))

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Names of the columns of ``transform``, such as ``cca0``, ``cca1``, ..."""
        self.check_fitted()
        n_columns = self.embeddings_.vectors.shape[1]
        return np.array([f"{self._COLUMN}{i}" for i in range(n_columns)], dtype=object)


def vectors_from(U: Numbers, S: Numbers, exponent: float) -> Float32s:
    """Rows of ``U diag(S)^exponent`` at length 1; rows of zeros stay zero.

    >>> vectors_from(np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([1.0, 1.0]), 0.5).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    rows = U * (S.astype(np.float64) ** exponent).astype(U.dtype)  # U diag(S)^exponent
    return np.asarray(unit_rows(rows, out=rows), dtype=np.float32)
