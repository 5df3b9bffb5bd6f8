"""Scores of sequences, and of their states: one home for what several models answer alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from eigentext.errors import DataError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eigentext.base.types import Float64s, Int32s
    from eigentext.sequences.observations import Encoded, Symbols


class ScoresSequences:
    """Scores of token sequences, of ``surprisals_encoded`` and ``symbols_``.

    With n tokens in all, ``log p = - sum_t surprisal_t``, ``score = log p / n`` and
    ``perplexity = exp(- score)``.
    """

    symbols_: Symbols

    if TYPE_CHECKING:

        def check_fitted(self) -> None: ...  # noqa: D102
        def surprisals_encoded(self, data: Encoded) -> Float64s: ...  # noqa: D102

    def _encoded(self, X: Iterable[Sequence[str]]) -> Encoded:
        """Sequences as numbers of symbols."""
        self.check_fitted()
        return self.symbols_.encode(X)

    def surprisals(self, X: Iterable[Sequence[str]]) -> list[Float64s]:
        """``-log p(x_t | x_1 .. x_t-1)`` of every token, one array a sequence."""
        data = self._encoded(X)
        return data.split(self.surprisals_encoded(data))

    def log_prob(self, X: Iterable[Sequence[str]]) -> Float64s:
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


class HiddenStates(ScoresSequences):
    """Answers of ``parameters_`` by the functions of the module ``_inference``."""

    _inference: ClassVar[Any]
    parameters_: Any

    def surprisals_encoded(self, data: Encoded) -> Float64s:
        """(N,) for sequences that are numbers already."""
        self.check_fitted()
        surprisals: Float64s = self._inference.surprisals(self.parameters_, data)
        return surprisals

    def next_symbols(self, X: Iterable[Sequence[str]]) -> Float64s:
        """(S, V) distribution of the symbol after each sequence, in the order of ``symbols_``."""
        data = self._encoded(X)
        shares: Float64s = self._inference.next_symbols(self.parameters_, data)
        return shares

    def predict(
        self, X: Iterable[Sequence[str]], *, method: Literal["viterbi", "posterior"] = "viterbi"
    ) -> list[Int32s]:
        """States of each sequence: the best path, or the best state for each token by itself."""
        if method not in ("viterbi", "posterior"):
            raise SettingsError(f"method {method!r}: expected viterbi or posterior")
        data, of = self._encoded(X), self._inference
        decode = of.viterbi if method == "viterbi" else of.posterior_decode
        return data.split(decode(self.parameters_, data))
