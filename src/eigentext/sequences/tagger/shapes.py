"""What the shape of a word says of its tag: a log-linear model over rare words.

1. :func:`features_of` names what there is to see: case, marks, shape, beginnings and endings, the
   length, and whether the word begins a sentence.
2. :meth:`ShapeModel.fit` learns weights from rare words (they are what unknown words are
   like), p(t | shape) ~ exp(b_t + sum_f W[f, t]), with a Gaussian prior on W.
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from eigentext.base.ragged import pointers
from eigentext.features.attributes import TAGGING, Word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.types import Float32s, Float64s

LONGEST_SEEN = 40  # characters at the end of a word that are looked at
_PRIOR = 0.5  # variance of a weight, in units of one occurrence
_ITERATIONS = 60
_LEAST = -14.0  # log weight of a tag that no rare word has
_SHAPE = 12  # characters of a shape


def features_of(word: str, *, first: bool) -> list[str]:
    """Names of what is seen, each once.

    >>> features_of("Re-run", first=True)[:4]
    ['case=title', 'kind=++dash', 'form=Xx-x', 'shape=Xx-xxx']
    """
    attributes = TAGGING.texts(Word(word[-LONGEST_SEEN:]))
    case = attributes["case"]
    names = [f"case={case}", f"kind={attributes['kind']}"]
    names += [f"form={attributes['form'][:_SHAPE]}", f"shape={attributes['shape'][:_SHAPE]}"]
    names += [f"{slot}={attributes[slot]}" for slot in _ENDS if slot in attributes]
    names += [f"end={attributes.get('suf2', '')}/{case}", f"lower={attributes['lower']}"]
    names.append(f"length={min(len(word), 8)}")
    if "-" in attributes["lower"]:
        names.append(f"last={attributes['lower'].rpartition('-')[2]}")
    if first:
        names += ["first", f"first={case}"]
    return names


_ENDS = ("suf1", "suf2", "suf3", "suf4", "pre1", "pre2", "pre3")


@dataclass(frozen=True, eq=False)
class ShapeModel:
    """``weights`` (F + 1, T) of the ``features``; the last row are the b_t."""

    features: tuple[str, ...]
    weights: Float32s

    @classmethod
    def fit(
        cls,
        n_tags: int,
        words: Sequence[tuple[str, bool]],
        tags: Sequence[int],
        weights: Sequence[float],
    ) -> ShapeModel | None:
        """From (word, begins a sentence), its tag and its weight; None if all have one tag."""
        if len(set(tags)) < 2:
            return None
        from scipy.sparse import csr_array
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        from eigentext.linalg.determinism import single_threaded

        rows = [features_of(word, first=first) for word, first in words]
        counts = Counter(name for row in rows for name in row)
        number: dict[str, int] = {}
        kept = [
            [number.setdefault(name, len(number)) for name in row if counts[name] > 1]
            for row in rows
        ]
        ptr = pointers(map(len, kept))
        columns = np.array([at for row in kept for at in row], dtype=np.int64)
        shape = (len(rows), max(len(number), 1))
        X = csr_array((np.ones(len(columns)), columns, ptr), shape=shape)
        with single_threaded(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # near enough is good enough
            model = LogisticRegression(C=_PRIOR, max_iter=_ITERATIONS, tol=1e-3)
            model.fit(X, np.asarray(tags), sample_weight=np.asarray(weights))
        coefficients = np.zeros((len(number) + 1, n_tags), np.float32)
        coefficients[-1] = _LEAST
        classes = model.classes_
        if len(classes) == 2:  # one column for the two: the other one is zero
            coefficients[-1, classes[0]] = 0.0
            classes = classes[1:]
        coefficients[:-1, classes] = model.coef_.T[: len(number)]
        coefficients[-1, classes] = model.intercept_
        return cls(tuple(number), coefficients)

    @cached_property
    def _number(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.features)}

    def p(self, word: str, *, first: bool) -> Float64s:
        """(T,) P(t | shape).

        >>> words = [("runs", False), ("cats", False), ("hits", False), ("bats", False)]
        >>> model = ShapeModel.fit(2, words, [0, 1, 0, 1], [1.0] * 4)
        >>> model.p("mats", first=False).round(1).tolist()
        [0.4, 0.6]
        """
        number = self._number
        rows = [number[name] for name in features_of(word, first=first) if name in number]
        scores = self.weights[[*rows, -1]].sum(axis=0, dtype=np.float64)
        p = np.exp(scores - scores.max())
        return np.asarray(p / p.sum())
