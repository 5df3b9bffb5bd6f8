"""Words and their vectors, however they were learned: neighbours, files, gensim."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.fields import Reals, Strings
from eigentext.base.records import Record
from eigentext.errors import MissingExtraError
from eigentext.linalg.ties import unit_rows

if TYPE_CHECKING:
    import numpy.typing as npt

    from eigentext.base.files.opening import Source
    from eigentext.base.types import Float32s, Float64s


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

    @property
    def row_of(self) -> dict[str, int]:
        """The row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    def neighbours(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """The k nearest words by cosine, without the word itself."""
        from eigentext.words.embeddings.neighbours import nearest_words

        return nearest_words(self.words, self.vectors, [word], k)[0]

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


def vectors_from(U: npt.NDArray[Any], S: npt.NDArray[Any], exponent: float) -> Float32s:
    """Rows of ``U diag(S)^exponent`` at length 1; rows of zeros stay zero.

    >>> vectors_from(np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([1.0, 1.0]), 0.5).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    rows = U * (S.astype(np.float64) ** exponent).astype(U.dtype)
    return np.asarray(unit_rows(rows, out=rows), dtype=np.float32)
