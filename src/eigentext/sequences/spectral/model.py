"""SpectralHMM: sequences -> moments -> operators -> predictions, without iteration.

1. ``fit`` numbers the symbols, takes the moments (moments.py), a dictionary, and the operators of
   the chosen estimator (operators.py).  No random start, no local optimum: one answer.
2. A query runs the state along a sequence, ``b_t+1 = B_x b_t / (b_inf' B_x b_t)``.  The value
   ``p_t(x) = b_inf' B_x b_t`` of a symbol can be negative: nothing asks the estimates to be
   probabilities.
3. **The one policy** (``_states``, ``_values``, ``_mixed``): values that are not positive are
   treated as ``negatives`` says, the rest is divided by its sum over all symbols and mixed with
   the unigram::

       p(x | x_1 .. x_t) = (1 - w) p+_t(x) / sum_z p+_t(z) + w p_unigram(x)

   So every query answers with a distribution, and ``negative_rate_`` tells for how many of the
   tokens asked about the operators themselves had no positive value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.fields import Ints, Parts, Reals, Spec, Strings, Text
from eigentext.base.model import Model, Packed
from eigentext.errors import DataError, SettingsError
from eigentext.linalg.determinism import single_threaded
from eigentext.sequences.observations import SYMBOLS, Encoded, NumberedText, Symbols
from eigentext.sequences.settings import SpectralHMMSettings
from eigentext.sequences.spectral.moments import Moments, dictionary
from eigentext.sequences.spectral.operators import Operators, make_operators

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

__all__ = ["NegativeReport", "SpectralHMM"]

_CELLS = 20_000_000  # numbers of a block of predictions


def _parts(settings: dict[str, Any]) -> Parts:
    reduced = settings["estimator"] == "fru"
    own = {"y": Reals(("symbols", "k"))} if reduced else {}
    first = "k" if reduced else "symbols"
    return Parts(
        {
            "start": Reals(("k",)),
            "stop": Reals(("k",)),
            "usual": Reals(("k",)),
            "matrices": Reals((first, "k", "k"), ("float64", "float32"), -1e30, 1e30),
            "singular_values": Reals(("values",)),
            "counts": Ints(("symbols",), low=0, below=10**15),
            **own,
        },
        {"names": Strings("symbols", distinct=True)},
    )


@dataclass(frozen=True)
class NegativeReport:
    """What the operators had to be corrected for in one query.

    ``n_tokens`` asked about, ``n_negative`` of them with a value of 0 or less; ``mass``: the mean
    over places of the sum of the negative values of all symbols (the positive ones sum to 1 more).

    >>> NegativeReport(200, 5, 0.01).rate
    0.025
    """

    n_tokens: int
    n_negative: int
    mass: float

    @property
    def rate(self) -> float:
        """Share of the tokens."""
        return self.n_negative / self.n_tokens if self.n_tokens else 0.0


@dataclass(eq=False, repr=False)
class SpectralHMM(Model, SpectralHMMSettings):
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
    SPEC = Spec({"estimator": Text(("cca", "hkz", "fru")), "symbols": SYMBOLS}, _parts)

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

    def _take(self, operators: Operators) -> None:
        self.operators_ = operators
        self._rows = operators.rows()
        self._unigram = self.symbols_.unigram()

    # ------------------------------------------------------------ queries

    def surprisals(self, X: Iterable[Sequence[str]]) -> list[Floats]:
        """``-log p(x_t | x_1 .. x_t-1)`` of every token, one array a sequence."""
        self.check_fitted()
        data = self.symbols_.encode(X)
        surprisal = self.surprisals_encoded(data)
        return np.split(surprisal, data.first[1:-1]) if len(data) else []

    def surprisals_encoded(self, data: Encoded) -> Floats:
        """(N,) for sequences that are numbers already."""
        self.check_fitted()
        states, raw = self._states(data)
        self._judge(raw, data.ids)
        own = np.abs(raw) if self.negatives == "abs" else np.maximum(raw, 0.0)
        mass = 0.0
        at_once = max(1, _CELLS // len(self._rows))
        for low in range(0, data.n_tokens, at_once):
            _, total, negative = self._values(states[low : low + at_once])
            own[low : low + at_once] = self._mixed(
                own[low : low + at_once], total, self._unigram[data.ids[low : low + at_once]]
            )
            mass += float(negative.sum())
        self._report(raw, data.ids, mass)
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log(own))

    def log_prob(self, X: Iterable[Sequence[str]]) -> Floats:
        """(S,) log p of each sequence; 0 for an empty one.

        >>> model = SpectralHMM(1, unigram_weight=0).fit([["a", "b", "a"]] * 4)
        >>> model.log_prob([["b"], []]).round(4).tolist()
        [-1.0986, 0.0]
        """
        return np.array([0.0 - float(surprisal.sum()) for surprisal in self.surprisals(X)])

    def score(self, X: Iterable[Sequence[str]], y: object = None) -> float:
        """Mean log-likelihood of a token."""
        surprisals = self.surprisals(X)
        n = sum(map(len, surprisals))
        if not n:
            raise DataError("sequences", None, "no tokens to score")
        return -sum(float(surprisal.sum()) for surprisal in surprisals) / n

    def perplexity(self, X: Iterable[Sequence[str]]) -> float:
        """``exp(- log p / number of tokens)``."""
        return float(np.exp(-self.score(X)))

    def next_symbols(self, X: Iterable[Sequence[str]]) -> Floats:
        """(S, V) distribution of the symbol after each sequence.

        >>> model = SpectralHMM(2, unigram_weight=0).fit([["a", "b"] * 3, ["b", "a"] * 3] * 9)
        >>> model.symbols_.names[model.next_symbols([["b", "a"]])[0].argmax()]
        'b'
        """
        self.check_fitted()
        data = self.symbols_.encode(X)
        # one more symbol at the end of each: its state is what is wanted
        first = data.first + np.arange(len(data.first))
        ids = np.insert(data.ids, data.first[1:], 0).astype(np.int32)
        states, raw = self._states(Encoded(ids, first))
        asked = np.ones(len(ids), np.bool_)
        asked[first[1:] - 1] = False
        self._judge(raw[asked], data.ids)
        predicted, negative = self._predict(states[first[1:] - 1])
        self._report(raw[asked], data.ids, float(negative.sum()), n_positions=len(data))
        return predicted

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
        at_once = max(1, _CELLS // len(names))
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

    def raw_probability(self, X: Iterable[Sequence[str]]) -> tuple[npt.NDArray[np.int8], Floats]:
        """Sign and log of the absolute value of ``b_inf' B_xn ... B_x1 b_1``, as it comes out."""
        self.check_fitted()
        data = self.symbols_.encode(X)
        signed = [self.operators_.signed_probability(data[at]) for at in range(len(data))]
        signs = np.array([sign for sign, _ in signed], np.int8)
        n_bad = int((signs <= 0).sum())
        self.negatives_ = NegativeReport(len(signs), n_bad, float("nan"))
        return signs, np.array([log for _, log in signed])

    @property
    def negative_rate_(self) -> float:
        """Share of the tokens of the last query with no positive value (of sequences, for raw)."""
        self.check_fitted()
        if not hasattr(self, "negatives_"):
            raise AttributeError("negative_rate_ is there after a query, such as score(X)")
        return self.negatives_.rate

    # ------------------------------------------------------------ the policy

    def _weak(self) -> Floats:
        return (
            self.floor * self._unigram
            if self.negatives == "clip"
            else np.zeros_like(self._unigram)
        )

    def _states(self, data: Encoded) -> tuple[Floats, Floats]:
        """State before each token (N, k), and the operators' value of the token (N,)."""
        from eigentext.sequences.kernels.operators import OperatorArrays, operator_states

        ops = self.operators_
        states, raw = np.empty((data.n_tokens, ops.k)), np.empty(data.n_tokens)
        y = np.zeros((0, ops.k)) if ops.y is None else ops.y
        operator_states(
            data.ids,
            data.first,
            OperatorArrays(ops.start, ops.usual, self._rows, ops.matrices, y),
            self._weak(),
            self.negatives != "abs",
            states,
            raw,
        )
        return states, raw

    def _values(self, states: Floats) -> tuple[npt.NDArray[Any], Floats, Floats]:
        """What the operators say of all symbols (n, V), corrected; its sum; what was negative."""
        with single_threaded():
            values = states.astype(self._rows.dtype) @ self._rows.T
            plain = states @ self._rows.sum(axis=0, dtype=np.float64)
            np.maximum(values, 0, out=values)
            positive = (values @ np.ones(values.shape[1], values.dtype)).astype(np.float64)
            if self.negatives == "abs":
                values = np.abs(states.astype(self._rows.dtype) @ self._rows.T)
        negative = np.maximum(positive - plain, 0.0)
        return values, positive + negative * (self.negatives == "abs"), negative

    def _mixed(self, own: npt.NDArray[Any], total: Floats, unigram: Floats) -> Floats:
        """The share of ``total``, and the unigram; that alone where nothing is positive."""
        good = total > 0
        w = np.where(good, self.unigram_weight, 1.0)
        return np.asarray(own * ((1 - w) / np.where(good, total, 1.0)) + w * unigram)

    def _predict(self, states: Floats) -> tuple[Floats, Floats]:
        """Distributions (n, V) at these states, and the mass that was negative (n,)."""
        values, total, negative = self._values(states)
        return self._mixed(values.T, total, self._unigram[:, None]).T, negative

    def _judge(self, raw: Floats, ids: npt.NDArray[np.int32]) -> None:
        bad = np.flatnonzero(~(raw > 0))
        if self.negatives == "error" and len(bad):
            name = self.symbols_.names[ids[bad[0]]]
            why = f"{len(bad)} of {len(raw)} tokens have a value of 0 or less, the first {name!r}"
            raise DataError("sequences", None, why)

    def _report(
        self, raw: Floats, ids: npt.NDArray[np.int32], mass: float, n_positions: int | None = None
    ) -> None:
        n_bad = int((~(raw > self._weak()[ids])).sum())
        self.negatives_ = NegativeReport(len(raw), n_bad, mass / max(n_positions or len(raw), 1))

    # ------------------------------------------------------------ storage

    def _pack_learned(self) -> Packed:
        operators, symbols = self.operators_, self.symbols_.packed()
        arrays = {
            name: getattr(operators, name) for name in ("start", "stop", "matrices", "usual")
        }
        arrays["singular_values"] = self.singular_values_
        if operators.y is not None:
            arrays["y"] = operators.y
        return Packed({**arrays, **symbols.arrays}, symbols.strings, symbols.facts)

    def _restore(self, packed: Packed) -> None:
        arrays = packed.arrays
        self.symbols_ = Symbols.unpacked(packed)
        self.singular_values_ = arrays["singular_values"]
        named = {name: arrays[name] for name in ("start", "stop", "matrices", "usual")}
        self._take(Operators(**named, y=arrays.get("y")))

    def _summary(self) -> str:
        return f"{self.operators_.k} dimensions, {len(self.symbols_):,} symbols"
