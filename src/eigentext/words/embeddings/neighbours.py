"""The words nearest to a word, and analogies; from a model or from any word2vec file.

1. :func:`load_words` reads words and vectors: a model of vectors, or word2vec's text or binary
   format, whichever the file is; :func:`load_space` the same, ready for questions.
2. :func:`parse_query` reads ``word`` or ``a:b::c`` (a is to b as c is to what?).
3. :class:`WordSpace` holds vectors at length 1, ready for many questions; its ``nearest``
   multiplies a block of queries with all vectors at once, and takes the k largest cosines of each;
   words of the query are left out.  :func:`nearest_words` asks it once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.errors import SettingsError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

_ANALOGY = re.compile(r"(.+?):(.+?)::(.+)")
_CELLS_AT_ONCE = 1 << 24  # cosines held at once: 64 MB

Neighbours = list[tuple[str, float]]


def load_words(path: str | os.PathLike[str]) -> tuple[tuple[str, ...], NDArray[np.float32]]:
    """Words and vectors of a model file or of a word2vec file.

    >>> from eigentext.language.formats.word2vec import write_vectors
    >>> write_vectors(["cat", "dog"], np.eye(2), "memory://doc/near.bin", binary=True)
    >>> load_words("memory://doc/near.bin")[0]
    ('cat', 'dog')
    """
    from eigentext.base.files.opening import open_binary

    with open_binary(path) as stream:
        start = stream.read(9)
    if start[8:] == b"{":  # safetensors: eight bytes of length, then JSON
        embeddings = _load_model(path).embeddings_
        return embeddings.words, embeddings.vectors
    from eigentext.language.formats.word2vec import load_vectors

    words, vectors = load_vectors(path)
    return tuple(words), vectors


def _load_model(path: str | os.PathLike[str]) -> Any:
    from eigentext.base.modelfile import read_header
    from eigentext.words.embeddings.cca import CCAEmbedding
    from eigentext.words.embeddings.lrmvl import LRMVL
    from eigentext.words.embeddings.multiview import MultiviewEmbedding

    kinds: dict[str, Any] = {one.KIND: one for one in (LRMVL, MultiviewEmbedding)}
    return kinds.get(read_header(path).kind, CCAEmbedding).load(path)


def load_space(path: str | os.PathLike[str]) -> WordSpace:
    """The words and vectors of a file; where it has characters, unknown words have vectors too."""
    from eigentext.base.files.opening import open_binary

    with open_binary(path) as stream:
        start = stream.read(9)
    if start[8:] != b"{":
        return WordSpace(*load_words(path))
    model = _load_model(path)
    if hasattr(model, "space"):
        return model.space()  # type: ignore[no-any-return]
    return WordSpace(model.embeddings_.words, model.embeddings_.vectors)


def near_spellings(word: str, words: Iterable[str], n: int = 3) -> list[str]:
    """Known words that are written much like this one, the likeliest first.

    >>> near_spellings("recieve", ["receive", "Recieve", "deceive", "sea"], 2)
    ['Recieve', 'receive']
    """
    from difflib import get_close_matches

    known = list(words)
    same = [other for other in known if other.lower() == word.lower()]
    # a match at cutoff 0.75 cannot differ more than this in length
    near = [other for other in known if 0.6 * len(word) <= len(other) <= 1.7 * len(word)]
    close = get_close_matches(word, near, n=n, cutoff=0.75)
    return list(dict.fromkeys([*same, *close]))[:n]


def parse_query(query: str, known: Iterable[str] = ()) -> tuple[str, ...]:
    """One word, or the three words of ``a:b::c``; a known word is a word, whatever is in it.

    >>> parse_query("cat"), parse_query("man:king::woman"), parse_query("a:b::c", {"a:b::c"})
    (('cat',), ('man', 'king', 'woman'), ('a:b::c',))
    """
    if query in known:
        return (query,)
    match = _ANALOGY.fullmatch(query)
    return (query,) if match is None else (match[1], match[2], match[3])


def nearest_words(
    words: Sequence[str], vectors: NDArray[np.floating], queries: Sequence[str], k: int = 10
) -> list[Neighbours]:
    """For each query (a word, or ``a:b::c``) the k nearest words and their cosines.

    Of equal cosines the one that comes first in ``words`` is first.  An analogy looks for words
    near ``b - a + c``, all at length 1.

    >>> words = ["man", "king", "woman", "queen", "sea"]
    >>> vectors = np.array([[1.0, 0, 1], [1, 1, 1], [-1, 0, 1], [-1, 1, 1], [0, -1, 0]])
    >>> [near[0][0] for near in nearest_words(words, vectors, ["man", "man:king::woman"], 1)]
    ['king', 'queen']
    """
    return WordSpace(words, vectors).nearest(queries, k)


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
        asked = dict.fromkeys(parse_query(query, self.row_of))
        return [word for word in asked if self._vector(word) is None]

    def with_words(self, words: Iterable[str]) -> WordSpace:
        """This space with more words, as far as they have vectors."""
        new = [word for word in dict.fromkeys(words) if word not in self.row_of]
        if self.unknown is None or not new:
            return self
        vectors = _unit(self.unknown(new))
        known = np.asarray(vectors.any(axis=1))
        more = [word for word, has in zip(new, known.tolist(), strict=True) if has]
        together = np.concatenate([self.unit, vectors[known]])
        return WordSpace([*self.words, *more], together, self.unknown)

    def nearest(self, queries: Sequence[str], k: int = 10) -> list[Neighbours]:
        """For each query (a word, or ``a:b::c``) the k nearest words and their cosines."""
        if isinstance(queries, str):
            raise TypeError("nearest_words() takes a list of queries, not one str: [query]")
        if k < 1:
            raise SettingsError(f"k is {k}, expected at least 1")
        asked = [parse_query(query, self.row_of) for query in queries]
        aims = [_aim([self._known(word) for word in parts]) for parts in asked]
        words, unit = self.words, self.unit
        neighbours: list[Neighbours] = []
        step = max(1, _CELLS_AT_ONCE // max(len(words), 1))
        for first in range(0, len(asked), step):
            block = asked[first : first + step]
            cosines = _unit(np.stack(aims[first : first + step])) @ unit.T
            for row, parts in zip(cosines, block, strict=True):
                rows = [self.row_of[word] for word in parts if word in self.row_of]
                row[rows] = -np.inf
                nearest = _largest(row, k, len(set(rows)))
                neighbours.append([(words[i], float(row[i])) for i in nearest])
        return neighbours

    def _vector(self, word: str) -> NDArray[np.float32] | None:
        """The vector of a word at length 1, None where it has none."""
        row = self.row_of.get(word)
        if row is not None:
            return np.asarray(self.unit[row])
        if self.unknown is None:
            return None
        vector = _unit(self.unknown([word]))[0]
        return vector if vector.any() else None

    def _known(self, word: str) -> NDArray[np.float32]:
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


def _aim(vectors: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    if len(vectors) == 1:
        return vectors[0]
    a, b, c = vectors
    return np.asarray(b - a + c)


def _largest(row: NDArray[np.float32], k: int, left_out: int) -> list[int]:
    """The indices of the k largest numbers, largest first, ties by index."""
    k = min(k, len(row) - left_out)
    if k <= 0:
        return []
    least = np.partition(row, len(row) - k)[len(row) - k]
    candidates = np.flatnonzero(row >= least)
    order = np.argsort(-row[candidates], kind="stable")[:k]
    return [int(i) for i in candidates[order]]


def _unit(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    rows = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, np.float32(1)))
