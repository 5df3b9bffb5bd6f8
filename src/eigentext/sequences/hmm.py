"""HMM: a hidden Markov model with valid parameters, learned from sequences of tokens.

1. ``fit`` numbers the symbols (observations.py), makes a start (at random, or from moments by
   recover.py), and improves it by EM (learn_em.py).
2. Every query goes through inference.py; each answer is a probability.

EM finds a local optimum: ``starts=10`` tries ten random starts, keeps the best, and tells in
``starts_`` and ``spread_`` how far they lie apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from eigentext.base.fields import (
    Ints,
    Listed,
    Parts,
    Reals,
    Shares,
    Spec,
    Strings,
    Text,
    Whole,
)
from eigentext.errors import DataError, MissingExtraError, SettingsError
from eigentext.sequences import inference
from eigentext.sequences.learn_em import baum_welch
from eigentext.sequences.observations import Encoded, Symbols, checked_sequences
from eigentext.sequences.parameters import Parameters

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from eigentext.sequences.batches import Precision

    Floats = npt.NDArray[np.float64]

__all__ = ["FORMAT_VERSION", "HMM", "KIND", "EMStart"]

KIND = "hmm"
FORMAT_VERSION = 1
STARTS = ("random", "spectral", "recovered")
SPEC = Spec(
    {
        "n_states": Whole(1, 10**6),
        "seeds": Listed(Whole(0)),
        "start": Text((*STARTS, "given")),
        "unknown": Text(("signature", "one")),
        "language": Text(("english", "generic")),
    },
    lambda settings: Parts(
        {
            "initial": Shares(("states",)),
            "transition": Shares(("states", "states")),
            "emission": Shares(("states", "symbols")),
            "counts": Ints(("symbols",), low=0, below=10**15),
            "final": Reals((len(settings["seeds"]),)),
            **{f"history{n}": Reals((f"steps{n}",)) for n in range(len(settings["seeds"]))},
        },
        {"names": Strings("symbols", distinct=True)},
        {"states": settings["n_states"]},
    ),
)


@dataclass(frozen=True)
class EMStart:
    """What came of one start: its seed, the log likelihood of a token before each iteration of EM
    (``history``) and after the last (``final``)."""

    seed: int
    history: tuple[float, ...]
    final: float


class HMM(BaseEstimator):  # type: ignore[misc]
    """A hidden Markov model over tokens.

    ``n_states``    k
    ``start``       ``random``; ``recovered``: clusters of a CCA; ``spectral``: those, softened,
                    and a pass of EM in small steps (recover.py; both need k directions in the
                    data, else RankError); or :class:`Parameters` over the given ``symbols``
    ``iterations``  of EM; 0 keeps the start
    ``starts``      so many random starts (seeds ``seed``, ``seed + 1``, ...), the best is kept
    ``tolerance``   EM stops when it gains less than this per token; 0: never early
    ``smoothing``   tokens added to every row of every table in EM (learn_em.py); with 0, what was
                    never seen has probability 0
    ``precision``   ``single`` runs EM in float32, faster with many states (1.6 times at 100)
    ``symbols``     ready-made :class:`Symbols`; else they are chosen by ``vocab_size``,
                    ``min_count``, ``unknown`` and ``language``

    After ``fit``: ``symbols_``, ``parameters_``, ``history_`` (log likelihood of a token before
    each iteration, of the start that was kept), ``starts_`` (one :class:`EMStart` each) and
    ``spread_`` (best, worst, mean and standard deviation of what they reached, per token).

    >>> model = HMM(2, starts=5).fit([["a", "b", "a", "b", "a"], ["b", "a", "b"]] * 50)
    >>> model.perplexity([["a", "b", "a", "b"]]) < 1.5
    True
    >>> (model.predict([["a", "b"]])[0] == model.predict([["b", "a"]])[0][::-1]).all().item()
    True
    """

    def __init__(
        self,
        n_states: int = 10,
        *,
        start: Literal["random", "spectral", "recovered"] | Parameters = "random",
        iterations: int = 20,
        starts: int = 1,
        tolerance: float = 0.0,
        smoothing: float = 1.0,
        precision: Precision = "double",
        symbols: Symbols | None = None,
        vocab_size: int | None = None,
        min_count: int = 1,
        unknown: Literal["signature", "one"] = "signature",
        language: Literal["english", "generic"] = "english",
        seed: int = 0,
    ) -> None:
        self.n_states = n_states
        self.start = start
        self.iterations = iterations
        self.starts = starts
        self.tolerance = tolerance
        self.smoothing = smoothing
        self.precision = precision
        self.symbols = symbols
        self.vocab_size = vocab_size
        self.min_count = min_count
        self.unknown = unknown
        self.language = language
        self.seed = seed

    # ------------------------------------------------------------ learning

    def fit(
        self,
        X: Iterable[Sequence[str]],
        y: object = None,
        *,
        progress: Callable[[int, float], None] | None = None,
    ) -> HMM:
        """Learn from a list of sequences of tokens; ``progress`` hears of each iteration."""
        self._check()
        sequences = list(checked_sequences(X))
        symbols = self.symbols
        if symbols is None:
            symbols = Symbols.fit(
                sequences,
                vocab_size=self.vocab_size,
                min_count=self.min_count,
                unknown=self.unknown,
                language=self.language,
            )
        return self.fit_encoded(symbols.encode(sequences), symbols, progress=progress)

    def fit_encoded(
        self,
        data: Encoded,
        symbols: Symbols,
        *,
        progress: Callable[[int, float], None] | None = None,
    ) -> HMM:
        """Learn from sequences that are numbers already."""
        self._check()
        data = data.without_empty()
        if not data.n_tokens:
            raise DataError("sequences", None, "no tokens to learn from")
        tries: list[EMStart] = []
        for number in range(self.starts):
            seed = self.seed + number
            result = baum_welch(
                self._begin(data, symbols, seed),
                data,
                iterations=self.iterations,
                tolerance=self.tolerance,
                smoothing=self.smoothing,
                precision=self.precision,
                progress=_counted(progress, number * self.iterations),
            )
            final = float(inference.log_likelihoods(result.parameters, data).sum())
            history = tuple(value / data.n_tokens for value in result.log_likelihoods)
            tries.append(EMStart(seed, history, final / data.n_tokens))
            if tries[-1] is max(tries, key=lambda one: one.final):  # the first of equals
                self.parameters_, self.history_ = result.parameters, history
        self.symbols_ = symbols
        self.starts_ = tuple(tries)
        return self

    def _check(self) -> None:
        for name, least in (("n_states", 1), ("iterations", 0), ("starts", 1), ("seed", 0)):
            value = getattr(self, name)
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if not whole or value < least:
                raise SettingsError(f"{name} {value!r}: expected an integer of at least {least}")
        for name in ("tolerance", "smoothing"):
            value = getattr(self, name)
            if not (isinstance(value, (int, float, np.floating)) and 0 <= value < np.inf):
                raise SettingsError(f"{name} {value!r}: expected a number, 0 or more")
        if isinstance(self.start, Parameters):
            if self.start.n_states != self.n_states:
                raise SettingsError(
                    f"start has {self.start.n_states} states, but n_states is {self.n_states}"
                )
        elif self.start not in STARTS:
            raise SettingsError(
                f"start {self.start!r}: expected {', '.join(STARTS)} or Parameters"
            )
        if self.starts > 1 and self.start != "random":
            raise SettingsError(f"starts {self.starts}: several are for start='random' only")

    def _begin(self, data: Encoded, symbols: Symbols, seed: int) -> Parameters:
        if isinstance(self.start, Parameters):
            if self.start.n_symbols != len(symbols):
                raise SettingsError(
                    f"start has {self.start.n_symbols} symbols, but here are {len(symbols)}: "
                    "give the symbols of the start as well"
                )
            return self.start
        if self.start == "random":
            return Parameters.random(self.n_states, len(symbols), seed)
        from eigentext.sequences.moments import Moments
        from eigentext.sequences.recover import recover_parameters, spectral_start

        moments = Moments.of(data, len(symbols))
        if self.start == "spectral":
            return spectral_start(moments, self.n_states, data=data, seed=seed)
        return recover_parameters(moments, self.n_states, seed=seed)

    @property
    def spread_(self) -> dict[str, float]:
        """Best, worst, mean and standard deviation of ``final`` over the starts."""
        check_is_fitted(self, "parameters_")
        found = np.array([one.final for one in self.starts_])
        return {
            "best": float(found.max()),
            "worst": float(found.min()),
            "mean": float(found.mean()),
            "std": float(found.std()),
        }

    # ------------------------------------------------------------ probabilities

    def _encoded(self, X: Iterable[Sequence[str]]) -> Encoded:
        check_is_fitted(self, "parameters_")
        return self.symbols_.encode(X)

    def surprisals(self, X: Iterable[Sequence[str]]) -> list[Floats]:
        """``-log p(x_t | x_1 .. x_t-1)`` of every token, one array a sequence."""
        data = self._encoded(X)
        return _split(inference.surprisals(self.parameters_, data), data)

    def surprisals_encoded(self, data: Encoded) -> Floats:
        """(N,) for sequences that are numbers already."""
        check_is_fitted(self, "parameters_")
        return inference.surprisals(self.parameters_, data)

    def log_likelihood(self, X: Iterable[Sequence[str]]) -> Floats:
        """(S,) log p of each sequence; 0 for an empty one."""
        data = self._encoded(X)
        return inference.log_likelihoods(self.parameters_, data)

    def score(self, X: Iterable[Sequence[str]], y: object = None) -> float:
        """Mean log likelihood of a token."""
        data = self._encoded(X)
        if not data.n_tokens:
            raise DataError("sequences", None, "no tokens to score")
        return -float(inference.surprisals(self.parameters_, data).mean())

    def perplexity(self, X: Iterable[Sequence[str]]) -> float:
        """``exp(- log p / number of tokens)``."""
        return float(np.exp(-self.score(X)))

    def next_symbols(self, X: Iterable[Sequence[str]]) -> Floats:
        """(S, V) distribution of the symbol after each sequence, in the order of ``symbols_``."""
        data = self._encoded(X)
        return inference.next_symbols(self.parameters_, data)

    # ------------------------------------------------------------ states

    def predict(
        self, X: Iterable[Sequence[str]], *, method: Literal["viterbi", "posterior"] = "viterbi"
    ) -> list[npt.NDArray[np.int32]]:
        """States of each sequence: the best path, or the best state for each token by itself."""
        if method not in ("viterbi", "posterior"):
            raise SettingsError(f"method {method!r}: expected viterbi or posterior")
        data = self._encoded(X)
        decode = inference.viterbi if method == "viterbi" else inference.posterior_decode
        return _split(decode(self.parameters_, data), data)

    def predict_proba(self, X: Iterable[Sequence[str]]) -> list[Floats]:
        """p(state of each token | whole sequence), (n, k) for each sequence."""
        data = self._encoded(X)
        return _split(inference.smoothed(self.parameters_, data), data)

    def filter(self, X: Iterable[Sequence[str]]) -> list[Floats]:
        """p(state of each token | tokens up to it), (n, k) for each sequence."""
        data = self._encoded(X)
        return _split(inference.filtered(self.parameters_, data), data)

    def sample(self, n: int = 1, length: int = 20, *, seed: int = 0) -> list[list[str]]:
        """``n`` sequences of ``length`` symbols drawn from the model."""
        check_is_fitted(self, "parameters_")
        return self.symbols_.decode(inference.sample(self.parameters_, n, length, seed))

    # ------------------------------------------------------------ elsewhere

    def to_hmmlearn(self) -> Any:
        """A ``hmmlearn.hmm.CategoricalHMM`` with these parameters, for numbers of symbols."""
        check_is_fitted(self, "parameters_")
        try:
            hmmlearn = import_module("hmmlearn.hmm")
        except ImportError as error:
            raise MissingExtraError("models of hmmlearn", modules=["hmmlearn"]) from error
        ours = self.parameters_
        found = hmmlearn.CategoricalHMM(self.n_states, implementation="scaling")
        found.n_features = ours.n_symbols
        found.startprob_ = ours.initial.copy()
        found.transmat_ = ours.transition.copy()
        found.emissionprob_ = ours.emission.copy()
        return found

    def save(self, path: str | os.PathLike[str], *, data: Mapping[str, Any] | None = None) -> None:
        """Write a model file of kind ``hmm``."""
        from eigentext.base import modelfile

        check_is_fitted(self, "parameters_")
        settings = {name: value for name, value in self.get_params().items() if name != "symbols"}
        if isinstance(self.start, Parameters):
            settings["start"] = "given"
        settings.update(unknown=self.symbols_.unknown, language=self.symbols_.language)
        settings["seeds"] = [one.seed for one in self.starts_]
        arrays = {
            name: getattr(self.parameters_, name) for name in ("initial", "transition", "emission")
        }
        arrays["counts"] = self.symbols_.counts
        arrays["final"] = np.array([one.final for one in self.starts_])
        for number, one in enumerate(self.starts_):
            arrays[f"history{number}"] = np.array(one.history, np.float64)
        modelfile.save(
            path,
            KIND,
            arrays,
            settings=settings,
            format_version=FORMAT_VERSION,
            data=data,
            strings={"names": self.symbols_.names},
            seed=self.seed,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> HMM:
        """Read a model file of kind ``hmm``."""
        from eigentext.base import modelfile

        stored = modelfile.load(path, KIND, {FORMAT_VERSION}, SPEC)
        arrays, settings = stored.arrays, dict(stored.header.settings)
        with stored.fitting():
            seeds, given = settings.pop("seeds"), settings["start"] == "given"
            tables = (arrays[name] for name in ("initial", "transition", "emission"))
            parameters = Parameters(*tables)
            made = cls(**{**settings, "start": parameters if given else settings["start"]})
            made._check()
            made.symbols_ = Symbols(
                tuple(stored.strings["names"]), arrays["counts"], made.unknown, made.language
            )
            made.parameters_ = parameters
            made.starts_ = tuple(
                EMStart(seed, tuple(arrays[f"history{number}"].tolist()), float(final))
                for number, (seed, final) in enumerate(zip(seeds, arrays["final"], strict=True))
            )
            made.history_ = max(made.starts_, key=lambda one: one.final).history
        return made


def _split(values: npt.NDArray[Any], data: Encoded) -> list[npt.NDArray[Any]]:
    return np.split(values, data.first[1:-1]) if len(data) else []


def _counted(
    progress: Callable[[int, float], None] | None, before: int
) -> Callable[[int, float], None] | None:
    if progress is None:
        return None
    return lambda done, value: progress(before + done, value)
