"""SpectralHMM: sequences -> moments -> operators -> predictions, without iteration.

1. ``fit`` numbers the symbols, takes the moments (moments.py), a dictionary, and the operators of
   the chosen estimator (operators.py).  No random start, no local optimum: one answer.
2. A query runs the state along a sequence, ``b_t+1 = B_x b_t / (b_inf' B_x b_t)``.  The value
   ``p_t(x) = b_inf' B_x b_t`` of a symbol can be negative: nothing asks the estimates to be
   probabilities.
3. ``policy.py`` makes distributions of such values, and counts what was negative.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eigentext.base.fields import Named, Reals, Text
from eigentext.base.model import Model
from eigentext.base.records import When, learned
from eigentext.base.types import Float64s, Int8s
from eigentext.errors import SettingsError
from eigentext.sequences.observations import SYMBOLS, Encoded, NumberedText, Symbols
from eigentext.sequences.settings import SpectralHMMSettings
from eigentext.sequences.spectral.moments import Moments, dictionary
from eigentext.sequences.spectral.operators import Operators, make_operators
from eigentext.sequences.spectral.policy import CELLS, NegativeReport, Predicting


def _is_reduced(values: Mapping[str, object]) -> bool:
    return bool(values["estimator"] == "fru")


def _n_matrices(values: Mapping[str, object]) -> str:
    return "k" if _is_reduced(values) else "symbols"


@dataclass(eq=False, repr=False)
class SpectralHMM(Model, Predicting, SpectralHMMSettings):
    """A hidden Markov model learned from moments alone; settings: :class:`SpectralHMMSettings`.

    After ``fit``: ``symbols_``, ``operators_``, ``singular_values_``; after every query
    ``negative_rate_`` and ``negatives_`` (:class:`NegativeReport`).

    >>> model = SpectralHMM(2).fit([["a", "b", "a", "b", "a"], ["b", "a", "b", "a"]] * 9)
    >>> model.perplexity([["a", "b", "a"]]) < 2
    True
    >>> model.negative_rate_
    0.0
    """

    KIND = "spectral-hmm"
    SIZED_BY = Named({"estimator": Text(("cca", "hkz", "fru"))})

    symbols_: Symbols = learned(SYMBOLS)
    operators_: Operators = learned(
        Operators.stored(
            Reals((_n_matrices, "k", "k"), ("float64", "float32"), -1e30, 1e30),
            y=When(_is_reduced, Reals(("symbols", "k"))),
        )
    )
    singular_values_: Float64s = learned(Reals(("values",)))

    # ------------------------------------------------------------ learning

    def fit(self, X: Iterable[Sequence[str]] | NumberedText, y: object = None) -> SpectralHMM:
        """Learn from sequences of tokens, which are read once and need not be in memory."""
        self.check()
        text = NumberedText.of(X)
        symbols = Symbols.chosen(text, self)
        return self.fit_encoded(text.as_symbols(symbols), symbols)

    def fit_encoded(self, data: Encoded, symbols: Symbols) -> SpectralHMM:
        """Learn from sequences that are numbers already."""
        self.check()
        return self.fit_moments(Moments.of(data, len(symbols)), symbols)

    def fit_moments(self, moments: Moments, symbols: Symbols) -> SpectralHMM:
        """Learn from moments."""
        self.check()
        words = dictionary(
            moments, self.n_states, self.dictionary, kappa=self.kappa, seed=self.seed
        )
        self.symbols_ = symbols
        self.singular_values_ = words.S
        self._take(make_operators(moments, words, self.estimator))
        return self

    # ------------------------------------------------------------ queries

    def next_symbols(self, X: Iterable[Sequence[str]]) -> Float64s:
        """(S, V) distribution of the symbol after each sequence.

        >>> model = SpectralHMM(2, unigram_weight=0).fit([["a", "b"] * 3, ["b", "a"] * 3] * 9)
        >>> model.symbols_.names[model.next_symbols([["b", "a"]])[0].argmax()]
        'b'
        """
        return self._next_encoded(self._encoded(X))

    def sample(self, n: int = 1, length: int = 20, *, seed: int = 0) -> list[list[str]]:
        """``n`` sequences of ``length`` symbols, drawn one by one from the predictions.

        >>> model = SpectralHMM(2, unigram_weight=0).fit([["a", "b"] * 3, ["b", "a"] * 3] * 9)
        >>> model.sample(1, 4)[0] in (["a", "b"] * 2, ["b", "a"] * 2)
        True
        """
        self.check_fitted()
        if n < 0 or length < 0 or seed < 0:
            raise SettingsError(f"n {n}, length {length}, seed {seed}: expected 0 or more")
        rng = np.random.default_rng(seed)
        names = self.symbols_.names
        drawn: list[list[str]] = [[] for _ in range(n)]
        at_once = max(1, CELLS // len(names))
        for low in range(0, n, at_once):
            part = drawn[low : low + at_once]
            for _ in range(length):
                passed = np.cumsum(self.next_symbols(part), axis=1)
                chances = rng.random((len(part), 1)) * passed[:, -1:]
                for sequence, x in zip(
                    part, (passed <= chances).sum(axis=1).tolist(), strict=True
                ):
                    sequence.append(names[min(x, len(names) - 1)])
        return drawn

    def raw_probability(self, X: Iterable[Sequence[str]]) -> tuple[Int8s, Float64s]:
        """Sign and log of the absolute value of ``b_inf' B_xn ... B_x1 b_1``, as it comes out."""
        data = self._encoded(X)
        signed = [self.operators_.signed_probability(data[at]) for at in range(len(data))]
        signs = np.array([sign for sign, _ in signed], np.int8)
        n_bad = int((signs <= 0).sum())
        self.negatives_ = NegativeReport(len(signs), n_bad, float("nan"))
        return signs, np.array([log for _, log in signed])

    # ------------------------------------------------------------ storage

    def _restore(self, content: SpectralHMM) -> None:
        self._take(content.operators_)

    def _summary(self) -> str:
        return f"{self.operators_.k} dimensions, {len(self.symbols_):,} symbols"
