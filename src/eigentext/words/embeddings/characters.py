"""Words by their characters: features of a word, and vectors for words that nobody has seen.

Features are the n-grams of a word between marks of its beginning and end (so that prefixes and
suffixes are among them), its shape and its case.  The linear map B from rows f_w of length 1 to
word vectors v_w is that of

    min_B sum_w |f_w B - v_w|^2 + ridge |B|^2,

by conjugate gradients; the ridge is the one that does best for words held out.  So there is a
vector for any word (what fastText does with its n-grams, Bojanowski et al. 2017).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eigentext.base.fields import Reals, Strings
from eigentext.base.records import stored
from eigentext.base.types import Float32s, Numbers, Sparse
from eigentext.features.signatures import case_of, lowered, outline
from eigentext.linalg.ties import single_threaded, unit_rows

SHORTEST, LONGEST = 2, 6  # n-grams
RIDGES = (1.0, 0.3, 0.1, 0.03)  # which are tried
_LEAST_WORDS = 3  # that have a feature
_FEW_FEATURES = 100  # common ones; where there are fewer, all are taken
_LONGEST_WORD = 60  # characters; of a longer one its two ends
_HELD_OUT = 10  # one word of so many tells the ridge
_TRIED_COLUMNS, _TRIED_STEPS = 32, 20
_STEPS = 40


def features_of(word: str) -> list[str]:
    """N-grams of 2 to 6 characters, shape and case, each once and in order.

    >>> features_of("Ox")
    ['<o', '<ox', '<ox>', 'case=title', 'ox', 'ox>', 'shape=Xx', 'x>']
    """
    plain = lowered(word)
    if len(plain) > _LONGEST_WORD:
        plain = plain[: _LONGEST_WORD // 2] + plain[-_LONGEST_WORD // 2 :]
    marked = f"<{plain}>"
    features = {
        marked[at : at + n]
        for n in range(SHORTEST, LONGEST + 1)
        for at in range(len(marked) - n + 1)
    }
    if word:
        features |= {f"shape={outline(word)[:_LONGEST_WORD]}", f"case={case_of(word)}"}
    return sorted(features)


def common_features(words: Iterable[str]) -> tuple[str, ...]:
    """The features that three of the words have, in order; all, of a few words.

    >>> common_features(["at"])
    ('<a', '<at', '<at>', 'at', 'at>', 'case=lower', 'shape=x', 't>')
    """
    from collections import Counter

    often = Counter(feature for word in words for feature in features_of(word))
    common = [feature for feature, n in often.items() if n >= _LEAST_WORDS]
    return tuple(sorted(common if len(common) >= _FEW_FEATURES else often))


def feature_matrix(words: Sequence[str], column_of: Mapping[str, int]) -> Sparse:
    """Which word has which feature: (words, features), ones; CSR."""
    from scipy.sparse import csr_array

    columns: list[int] = []
    starts = [0]
    for word in words:
        columns_of_word = (column_of.get(feature) for feature in features_of(word))
        columns += sorted(column for column in columns_of_word if column is not None)
        starts.append(len(columns))
    data = np.ones(len(columns), dtype=np.float32)
    shape = (len(words), len(column_of))
    return csr_array((data, np.array(columns, np.int32), np.array(starts, np.int64)), shape=shape)


@dataclass(frozen=True)
class CharacterMap:
    """``features``, and the ``weights`` (features, d) that turn them into a vector.

    >>> learned = CharacterMap(("<c", "at"), np.eye(2, dtype=np.float32))
    >>> [[round(x, 4) for x in row] for row in learned.vectors(["cat", "dog"]).tolist()]
    [[0.7071, 0.7071], [0.0, 0.0]]
    """

    features: tuple[str, ...] = stored(Strings("features", distinct=True))
    weights: Float32s = stored(Reals(("features", "size"), ("float32",), -1e6, 1e6), "characters")

    @cached_property
    def _column_of(self) -> dict[str, int]:
        return {feature: column for column, feature in enumerate(self.features)}

    def vectors(self, words: Sequence[str]) -> Float32s:
        """Vectors of length 1, (words, d); zeros for a word without a known feature."""
        rows = _unit_sums(feature_matrix(words, self._column_of))
        return np.asarray(unit_rows(np.asarray(rows @ self.weights, dtype=np.float32)))


def fit_character_map(words: Sequence[str], vectors: Float32s) -> tuple[CharacterMap, float]:
    """The map from characters to vectors, and the ridge that did best for every tenth word."""
    features = common_features(words)
    column_of = {feature: column for column, feature in enumerate(features)}
    rows = _unit_sums(feature_matrix(words, column_of))
    aim = np.asarray(vectors, dtype=np.float32)
    with single_threaded():
        ridge = _best_ridge(rows, aim[:, :_TRIED_COLUMNS])
        weights = ridge_regression(rows, aim, ridge, n_iter=_STEPS)
    return CharacterMap(features, weights), ridge


def _best_ridge(rows: Sparse, aim: Float32s) -> float:
    """The ridge whose answers for held-out words have the largest mean cosine."""
    held_out = np.arange(len(aim)) % _HELD_OUT == _HELD_OUT - 1
    if not held_out.any():
        return RIDGES[0]
    truth = unit_rows(aim[held_out].copy())
    scores = []
    for ridge in RIDGES:
        weights = ridge_regression(rows[~held_out], aim[~held_out], ridge, n_iter=_TRIED_STEPS)
        predicted = unit_rows(np.asarray(rows[held_out] @ weights, dtype=np.float32))
        scores.append(round(float(np.einsum("ij,ij->", predicted, truth)) / len(truth), 4))
    return RIDGES[int(np.argmax(scores))]  # of equal ones the largest


def ridge_regression(X: Sparse, Y: Numbers, ridge: float, *, n_iter: int) -> Numbers:
    """``inv(X'X + ridge) X'Y`` by so many steps of conjugate gradients, all columns at once.

    >>> X = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> ridge_regression(X, np.array([[1.0], [2.0]]), 1.0, n_iter=9).round(6).tolist()
    [[0.8], [0.6]]
    """
    B = np.zeros((X.shape[1], Y.shape[1]), dtype=Y.dtype)
    Xt = X.T.tocsr() if hasattr(X, "tocsr") else X.T
    R = np.asarray(Xt @ Y)  # what is left of X'Y
    direction = R.copy()
    left = np.einsum("ij,ij->j", R, R)
    tiny = np.finfo(Y.dtype).tiny
    enough = left * np.finfo(Y.dtype).eps ** 2
    for _ in range(n_iter):
        if (left <= enough).all():
            break
        ahead = np.asarray(Xt @ (X @ direction)) + Y.dtype.type(ridge) * direction
        step = left / np.maximum(np.einsum("ij,ij->j", direction, ahead), tiny)
        B += step * direction
        R -= step * ahead
        now = np.einsum("ij,ij->j", R, R)
        direction *= now / np.maximum(left, tiny)
        direction += R
        left = now
    return B


def _unit_sums(matrix: Sparse) -> Sparse:
    """Rows of ones at length 1."""
    from scipy.sparse import csr_array

    sizes = np.diff(matrix.indptr)
    data = np.repeat(1 / np.sqrt(np.maximum(sizes, 1)), sizes).astype(np.float32)
    return csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
