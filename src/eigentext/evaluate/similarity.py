"""How well word vectors agree with people: similarity by rank correlation, and analogies.

1. :func:`read_pairs` and :func:`read_analogies` take the usual files, and name bad lines.
2. :func:`score_similarity` looks the words up, takes cosines and gives Spearman's rank correlation
   with the human scores over the pairs that are covered, and says how many those are.
3. :func:`score_analogies` counts how often ``b - a + c`` is nearest to ``d`` (3CosAdd), the words
   of the question left out.

A word is looked up as it is written; failing that in lower case; failing that with a capital.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eigentext.base.files.opening import OnError, Source, numbered_lines, raise_or_tell
from eigentext.errors import DataError
from eigentext.features.symbols import looked_up

_QUESTIONS_AT_ONCE = 512


@dataclass(frozen=True)
class SimilarityScore:
    """Spearman's ``rho`` over the ``covered`` of ``total`` pairs; NaN where it is not defined."""

    rho: float
    covered: int
    total: int

    @property
    def coverage(self) -> float:
        """The part of the pairs whose words are both known."""
        return self.covered / self.total if self.total else 0.0


@dataclass(frozen=True)
class AnalogyScore:
    """``right`` answers to the ``covered`` of ``total`` questions."""

    right: int
    covered: int
    total: int

    @property
    def accuracy(self) -> float:
        """Right answers per covered question; NaN without any."""
        return self.right / self.covered if self.covered else float("nan")


def read_pairs(source: Source, *, on_error: OnError | None = None) -> list[tuple[str, str, float]]:
    r"""Word pairs with human scores: ``word word score`` a line, by tabs, spaces or commas.

    Empty lines and lines that begin with ``#`` are passed over.

    >>> from eigentext.base.files.opening import write_lines
    >>> _ = write_lines("memory://doc/pairs.txt", ["# word pairs", "cup\tmug\t9.5", "cup sea 0.5"])
    >>> read_pairs("memory://doc/pairs.txt")
    [('cup', 'mug', 9.5), ('cup', 'sea', 0.5)]
    """
    path = os.fspath(source)
    pairs = []
    for number, line in numbered_lines(path, on_error=on_error):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split("\t") if "\t" in line else line.replace(",", " ").split()
        fields = [field.strip() for field in fields]
        why = ""
        if len(fields) != 3 or not all(fields):
            why = f"{len(fields)} columns, expected 3: word, word, score"
        else:
            score = _number(fields[2])
            if score is None:
                why = f"score {fields[2][:40]!r}, expected a finite number"
            else:
                pairs.append((fields[0], fields[1], score))
        if why:
            raise_or_tell(DataError(path, number, why), on_error)
    if not pairs:
        raise DataError(path, None, "no word pairs in this file")
    return pairs


def _number(field: str) -> float | None:
    try:
        value = float(field)
    except ValueError:
        return None
    return value if np.isfinite(value) and "_" not in field else None


def read_analogies(
    source: Source, *, on_error: OnError | None = None
) -> dict[str, list[tuple[str, str, str, str]]]:
    """Questions ``a b c d`` (a is to b as c is to d), by the sections that ``: name`` lines open.

    >>> from eigentext.base.files.opening import write_lines
    >>> _ = write_lines("memory://doc/q.txt", [": capitals", "Athens Greece Rome Italy"])
    >>> read_analogies("memory://doc/q.txt")
    {'capitals': [('Athens', 'Greece', 'Rome', 'Italy')]}
    """
    path = os.fspath(source)
    sections: dict[str, list[tuple[str, str, str, str]]] = {}
    name = "all"
    for number, line in numbered_lines(path, on_error=on_error):
        if line.startswith(":"):
            name = line[1:].strip() or "all"
        elif fields := line.split():
            if len(fields) == 4:
                a, b, c, d = fields
                sections.setdefault(name, []).append((a, b, c, d))
                continue
            why = f"{len(fields)} words, expected 4, or ': name' to open a section"
            raise_or_tell(DataError(path, number, why), on_error)
    if not sections:
        raise DataError(path, None, "no analogies in this file")
    return sections


def spearman(first: Sequence[float] | NDArray[np.float64], second: Sequence[float]) -> float:
    """Spearman's rank correlation; tied numbers share the mean of their ranks.

    NaN for fewer than two numbers, or when one side is constant.

    >>> round(spearman([1, 2, 3, 4], [1, 2, 2, 9]), 4)
    0.9487
    """
    from scipy.stats import rankdata

    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} numbers, expected as many of each")
    a, b = rankdata(first), rankdata(second)
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def score_similarity(
    row_of: Mapping[str, int],
    vectors: NDArray[np.floating],
    pairs: Sequence[tuple[str, str, float]],
) -> SimilarityScore:
    """Cosines against human scores, over the pairs that ``row_of`` (word to row) covers.

    >>> places = {"cup": 0, "mug": 1, "sea": 2}
    >>> vectors = np.array([[1.0, 0.1], [1.0, 0.0], [0.0, 1.0]])
    >>> pairs = [("cup", "mug", 9.5), ("cup", "sea", 0.5), ("mug", "sea", 0.1), ("x", "sea", 5.0)]
    >>> score = score_similarity(places, vectors, pairs)
    >>> round(score.rho, 6), score.covered, score.total
    (1.0, 3, 4)
    """
    rows = [(looked_up(row_of, a), looked_up(row_of, b), score) for a, b, score in pairs]
    covered = [(i, j, score) for i, j, score in rows if i is not None and j is not None]
    left = _unit(vectors[[i for i, _, _ in covered]])
    right = _unit(vectors[[j for _, j, _ in covered]])
    cosines = np.einsum("ij,ij->i", left, right)
    rho = spearman(cosines, [score for _, _, score in covered])
    return SimilarityScore(rho, len(covered), len(pairs))


def score_analogies(
    row_of: Mapping[str, int],
    vectors: NDArray[np.floating],
    questions: Sequence[tuple[str, str, str, str]],
) -> AnalogyScore:
    """``argmax over w not in {a, b, c} of cos(w, b - a + c)``, with vectors of length 1.

    >>> words = {"man": 0, "king": 1, "woman": 2, "queen": 3, "sea": 4}
    >>> vectors = np.array([[1.0, 0, 1], [1, 1, 1], [-1, 0, 1], [-1, 1, 1], [0, -1, 0]])
    >>> score_analogies(words, vectors, [("man", "king", "woman", "queen")]).accuracy
    1.0
    """
    unit = _unit(vectors).astype(np.float32)
    rows = [[looked_up(row_of, word) for word in question] for question in questions]
    covered = np.array([row for row in rows if None not in row], dtype=np.int64).reshape(-1, 4)
    right = 0
    for first in range(0, len(covered), _QUESTIONS_AT_ONCE):
        a, b, c, d = covered[first : first + _QUESTIONS_AT_ONCE].T
        nearness = (unit[b] - unit[a] + unit[c]) @ unit.T
        for word in (a, b, c):
            nearness[np.arange(len(a)), word] = -np.inf
        right += int((nearness.argmax(axis=1) == d).sum())
    return AnalogyScore(right, len(covered), len(questions))


def _unit(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """The rows at length 1; rows of zeros stay."""
    rows = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)
