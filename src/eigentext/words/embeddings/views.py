"""Views of a word: what is known of it, each as a matrix of words and whatever it was seen with.

1. :func:`words_after` and :func:`neighbour_view` count the words before or after a word, near ones
   more;
2. :func:`document_view` the stretches of neighbouring sentences that it stands in;
3. :func:`pair_view` the words of another language that it is aligned with;
4. :func:`character_view` its n-grams, shape and case.
5. :func:`reduced` scales such a matrix as the vectors of one view are (positive pointwise mutual
   information), and keeps its leading singular vectors.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eigentext.base.files.opening import numbered_lines, raise_or_tell
from eigentext.counting.pairs import count_pairs
from eigentext.errors import DataError, RankWarning
from eigentext.linalg.svd import truncated_svd
from eigentext.linalg.ties import TIE
from eigentext.words.embeddings.cca import fold_contexts, scaled_contexts
from eigentext.words.embeddings.characters import common_features, feature_matrix
from eigentext.words.settings import CCASettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eigentext.base.files.opening import OnError, Source
    from eigentext.base.types import Bools, Float32s, Float64s
    from eigentext.counting.encoding import EncodedText

WordPair = tuple[str, str, float]


@dataclass(frozen=True)
class ReducedView:
    """``U`` (words, k) and ``S`` (k,) of a scaled view; ``present``: the words that have it."""

    U: Float32s
    S: Float64s
    present: Bools

    def scaled(self) -> Float64s:
        """``U diag(S)`` with second moments of mean 1, so that a ridge means the same for all."""
        S = self.S / np.sqrt(np.square(self.S).mean())
        return np.asarray(self.U * (S * np.sqrt(len(self.U))), dtype=np.float64)


def words_after(text: EncodedText, window: int) -> Any:
    """Which words stand after which, up to ``window`` words away; CSR, ``<unk>`` included.

    One at distance d weighs (window - d + 1) / window.
    """
    from scipy.sparse import csr_array

    ids, n = text.ids, len(text.vocabulary)
    after = csr_array((n, n))
    for distance in range(1, window + 1):
        run = count_pairs(ids, 0, len(ids), (distance, distance), n)
        starts, columns, data = run.rows(0, n)
        weight = (window - distance + 1) / window
        after = after + csr_array((data * weight, columns, starts), shape=(n, n))
    return after


def neighbour_view(after: Any, side: str, words: Sequence[str]) -> Any:
    """Words before (``left``), after (``right``) or on both sides (``bag``) of all but ``<unk>``.

    Neighbours that differ in case alone are one.
    """
    matrix = {"left": lambda: after.T, "right": lambda: after, "bag": lambda: after + after.T}
    return fold_contexts(matrix[side]().tocsr()[: len(words) - 1], words)


def document_view(text: EncodedText, sentences: int) -> Any:
    """How often a word stands in each stretch of so many sentences."""
    ends = text.ids < 0
    place = np.cumsum(ends) // sentences
    known = ~ends & (text.ids < len(text.vocabulary) - 1)
    return _table(text.ids[known], place[known], None, len(text.vocabulary) - 1)


def pair_view(pairs: Iterable[WordPair], row_of: Mapping[str, int]) -> Any:
    """Words of another language with their counts."""
    known = [(row_of[word], other, n) for word, other, n in pairs if word in row_of]
    rows, names, counts = ([pair[part] for pair in known] for part in range(3))
    return _named_table(rows, names, counts, len(row_of))  # type: ignore[arg-type]


def character_view(words: Sequence[str]) -> Any:
    """N-grams, shape and case."""
    column_of = {feature: column for column, feature in enumerate(common_features(words))}
    return feature_matrix(words, column_of).astype(np.float64)


def read_word_pairs(source: Source, *, on_error: OnError | None = None) -> list[WordPair]:
    r"""Lines ``word TAB foreign word``, with a count after another TAB or without (then it is 1).

    >>> from eigentext.base.files.opening import write_lines
    >>> _ = write_lines("memory://doc/aligned.tsv", ["dog\tchien\t3", "cat\tchat"])
    >>> read_word_pairs("memory://doc/aligned.tsv")
    [('dog', 'chien', 3.0), ('cat', 'chat', 1.0)]
    """
    path = os.fspath(source)
    pairs: list[WordPair] = []
    for number, line in numbered_lines(path, on_error=on_error):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("\t")]
        count = _count(fields[2]) if len(fields) == 3 else 1.0
        if len(fields) not in (2, 3):
            why = f"{len(fields)} columns, expected word, foreign word and a count, by tabs"
        elif not all(fields):
            empty = fields.index("") + 1
            why = f"column {empty} is empty, expected word, foreign word and a count"
        elif count is None:
            why = f"count {fields[2][:40]!r}, expected a number above 0"
        else:
            pairs.append((fields[0], fields[1], count))
            continue
        raise_or_tell(DataError(path, number, why), on_error)
    if not pairs:
        raise DataError(path, None, "no word pairs in this file")
    return pairs


def _count(field: str) -> float | None:
    try:
        value = float(field)
    except ValueError:
        return None
    return value if 0 < value < 1e15 and "_" not in field else None


def reduced(matrix: Any, rank: int, *, overlap: float, seed: int, name: str) -> ReducedView:
    """The leading singular vectors of the scaled matrix, as many as there are up to ``rank``."""
    if not matrix.nnz:
        raise DataError(f"the view {name}", None, "it has no word of the vocabulary")
    Omega = scaled_contexts(matrix, CCASettings())
    Omega.data[np.abs(Omega.data) < TIE["d"]] = 0.0  # logarithms of what is 1 but for rounding
    Omega.eliminate_zeros()
    present = np.diff(Omega.indptr) > 0
    if not present.any():
        raise DataError(
            f"the view {name}",
            None,
            "it tells no word from another: every count is the one that chance gives",
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)  # a small view has fewer dimensions
        svd = truncated_svd(
            Omega,
            min(rank, *Omega.shape),
            dtype=np.float32,
            overlap=overlap,
            seed=seed,
            symbol=f"the view {name}",
            on_rank="warn",
            sides="left",
        )
    return ReducedView(svd.U, svd.S.astype(np.float64), present)


def _named_table(
    rows: Sequence[int], names: Sequence[str], counts: Sequence[float] | None, n_rows: int
) -> Any:
    """A table whose columns are names, in the order of the alphabet."""
    column_of = {name: column for column, name in enumerate(sorted(set(names)))}
    columns = np.array([column_of[name] for name in names], dtype=np.int64)
    return _table(np.array(rows, dtype=np.int64), columns, counts, n_rows)


def _table(
    rows: npt.NDArray[Any], columns: npt.NDArray[Any], counts: Sequence[float] | None, n_rows: int
) -> Any:
    """Counts of (row, column); CSR."""
    from scipy.sparse import coo_array

    n_columns = int(columns.max()) + 1 if len(columns) else 1
    data = np.ones(len(rows)) if counts is None else np.asarray(counts, dtype=np.float64)
    return coo_array((data, (rows, columns)), shape=(n_rows, n_columns)).tocsr()
