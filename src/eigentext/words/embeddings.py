"""One-step CCA word embeddings: contexts -> scaling -> SVD -> vectors.

With counts C (words x contexts), row totals u and column totals v of the square-rooted counts,

    Omega = sqrt(C) / sqrt((u + kappa) (v + kappa)')      (Stratos et al. 2014; square root first)
    Omega ~ U diag(s) V',     embeddings = U diag(s)^exponent, rows scaled to length 1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eigentext.errors import SettingsError
from eigentext.linalg.determinism import single_threaded
from eigentext.linalg.scaling import cca_scale, sqrt_transform
from eigentext.linalg.svd import truncated_svd

if TYPE_CHECKING:
    import numpy.typing as npt

    from eigentext.corpus.counts import Counts

__all__ = ["Embeddings", "cca_embeddings"]


@dataclass(frozen=True)
class Embeddings:
    """``words`` and their ``vectors`` (n, d), rows of length 1; ``singular_values`` (d,)."""

    words: tuple[str, ...]
    vectors: npt.NDArray[np.float32]
    singular_values: npt.NDArray[np.float64]

    def neighbours(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """The k nearest words by cosine, without the word itself."""
        if word not in self.words:
            raise SettingsError(f"the word {word!r} is not in the vocabulary")
        at = self.words.index(word)
        cosine = self.vectors @ self.vectors[at]
        nearest = [i for i in np.argsort(-cosine, kind="stable").tolist() if i != at][:k]
        return [(self.words[i], float(cosine[i])) for i in nearest]


def cca_embeddings(
    counts: Counts, rank: int, *, kappa: float = 20.0, exponent: float = 0.5, seed: int = 0
) -> Embeddings:
    """Word vectors from the context counts of a corpus.

    >>> from eigentext.corpus.counting import count
    >>> from eigentext.formats.opening import atomic_write
    >>> with atomic_write("memory://embed-example.txt") as out:
    ...     _ = out.write(b"a cat ran\\na dog ran\\nthe cat sat\\nthe dog sat\\n" * 3)
    >>> found = cca_embeddings(count(["memory://embed-example.txt"], contexts="lr1"), 2)
    >>> found.neighbours("cat", 1)[0][0]
    'dog'
    """
    matrix = sqrt_transform(counts.context_matrix())
    with single_threaded():
        Omega = cca_scale(matrix, kappa=kappa)  # (words, contexts)
        found = truncated_svd(Omega, rank, seed=seed, symbol="Omega", on_rank="warn")
    vectors = found.U * found.S**exponent
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = vectors / np.where(lengths > 0, lengths, 1.0)
    return Embeddings(counts.words, vectors.astype(np.float32), np.asarray(found.S))
