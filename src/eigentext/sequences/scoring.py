"""Scores of sequences: one home for every model that gives a surprisal to each token."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eigentext.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from eigentext.sequences.observations import Encoded, Symbols

    Floats = npt.NDArray[np.float64]

__all__ = ["ScoresSequences"]


class ScoresSequences:
    """Scores of token sequences, of ``surprisals_encoded`` and ``symbols_``.

    With n tokens in all, ``log p = - sum_t surprisal_t``, ``score = log p / n`` and
    ``perplexity = exp(- score)``.
    """

    symbols_: Symbols

    if TYPE_CHECKING:

        def check_fitted(self) -> None: ...  # noqa: D102
        def surprisals_encoded(self, data: Encoded) -> Floats: ...  # noqa: D102

    def _encoded(self, X: Iterable[Sequence[str]]) -> Encoded:
        """Sequences as numbers of symbols."""
        self.check_fitted()
        return self.symbols_.encode(X)

    def surprisals(self, X: Iterable[Sequence[str]]) -> list[Floats]:
        """``-log p(x_t | x_1 .. x_t-1)`` of every token, one array a sequence."""
        data = self._encoded(X)
        return data.split(self.surprisals_encoded(data))

    def log_prob(self, X: Iterable[Sequence[str]]) -> Floats:
        """(S,) log p of each sequence; 0 for an empty one."""
        data = self._encoded(X)
        return data.sums(-self.surprisals_encoded(data))

    def score(self, X: Iterable[Sequence[str]], y: object = None) -> float:
        """Mean log likelihood of a token."""
        data = self._encoded(X)
        if not data.n_tokens:
            raise DataError("sequences", None, "no tokens to score")
        return -float(self.surprisals_encoded(data).mean())

    def perplexity(self, X: Iterable[Sequence[str]]) -> float:
        """``exp(- log p / number of tokens)``."""
        return float(np.exp(-self.score(X)))
