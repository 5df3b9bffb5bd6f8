"""HMM: a hidden Markov model with valid parameters, learned from sequences of tokens.

1. ``fit`` numbers the symbols (observations.py), makes a start (at random, or from moments by
   spectral/recover.py or spectral/anchors.py), and improves it by EM (em.py).
2. Every query goes through inference.py; each answer is a probability.

``estimator="anchor"`` is an anchor HMM: one answer, of moments alone, which EM may improve.
EM finds a local optimum: ``start="random", n_starts=10`` tries ten random starts, keeps the best,
and tells in ``starts_`` and ``spread_`` how far they lie apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from eigentext.base.fields import Listed, Named, Reals, Whole
from eigentext.base.model import Model
from eigentext.base.progress import Progress
from eigentext.base.records import Called, Each, Numbers, Record, RecordColumns, learned
from eigentext.base.types import Float64s
from eigentext.errors import DataError, MissingExtraError, SettingsError
from eigentext.sequences.hmm import inference
from eigentext.sequences.hmm.em import baum_welch
from eigentext.sequences.hmm.parameters import Parameters
from eigentext.sequences.observations import SYMBOLS, Encoded, NumberedText, Symbols
from eigentext.sequences.scoring import HiddenStates
from eigentext.sequences.settings import HMMSettings


@dataclass(frozen=True)
class EMStart:
    """What came of one start: log likelihoods of a token."""

    seed: int
    history: tuple[float, ...]  # before each iteration of EM
    final: float  # after the last


@dataclass(eq=False, repr=False)
class HMM(HiddenStates, Model, HMMSettings):
    """A hidden Markov model over tokens; settings: :class:`HMMSettings`.

    After ``fit``: ``symbols_``, ``parameters_``, ``history_`` (log likelihood of a token before
    each iteration, of the start that was kept), ``starts_`` (one :class:`EMStart` each) and
    ``spread_`` (best, worst, mean and standard deviation of what they reached, per token).

    >>> text = [["a", "b", "a", "b", "a"], ["b", "a", "b"]] * 50
    >>> model = HMM(2, start="random", n_starts=5).fit(text)
    >>> model.perplexity([["a", "b", "a", "b"]]) < 1.5
    True
    >>> (model.predict([["a", "b"]])[0] == model.predict([["b", "a"]])[0][::-1]).all().item()
    True
    """

    KIND = "hmm"
    _inference: ClassVar[Any] = inference
    SIZED_BY = Named({"n_states": Whole(1, 10**6)})

    symbols_: Symbols = learned(SYMBOLS)
    parameters_: Parameters = learned(Record(Parameters))
    starts_: tuple[EMStart, ...] = learned(
        RecordColumns(
            EMStart,
            seed=Called("seeds", Listed(Whole(0))),
            history=Each(Numbers(Reals(("steps#",)), tuple), "seeds", "history{}"),
            final=Reals((lambda values: len(values["seeds"]),)),
        )
    )

    # ------------------------------------------------------------ learning

    def fit(
        self,
        X: Iterable[Sequence[str]] | NumberedText,
        y: object = None,
        *,
        progress: Progress | None = None,
    ) -> HMM:
        """Learn from sequences of tokens, which are read once and need not be in memory.

        ``progress`` hears of each iteration.
        """
        self.check()
        text = NumberedText.of(X)
        symbols = self.symbols or Symbols.chosen(text, self)
        return self.fit_encoded(text.as_symbols(symbols), symbols, progress=progress)

    def fit_encoded(
        self, data: Encoded, symbols: Symbols, *, progress: Progress | None = None
    ) -> HMM:
        """Learn from sequences that are numbers already."""
        self.check()
        data = data.without_empty()
        if not data.n_tokens:
            raise DataError("sequences", None, "no tokens to learn from")
        tries: list[EMStart] = []
        for number in range(self.n_starts):
            seed = self.seed + number
            result = baum_welch(
                self._begin(data, symbols, seed),
                data,
                n_iter=self._iterations,
                tol=self.tol,
                smoothing=self.smoothing,
                precision=self.precision,
                progress=self._counted(progress, number),
            )
            final = float(inference.log_likelihoods(result.params, data).sum())
            history = tuple(value / data.n_tokens for value in result.log_likelihoods)
            tries.append(EMStart(seed, history, final / data.n_tokens))
            if tries[-1] is max(tries, key=lambda start: start.final):  # the first of equals
                self.parameters_, self.history_ = result.params, history
        self.symbols_ = symbols
        self.starts_ = tuple(tries)
        return self

    def check(self) -> None:
        """Raise SettingsError for a setting that is not what was declared."""
        super().check()
        start = self.parameters
        if start is not None and start.n_states != self.n_states:
            raise SettingsError(
                f"parameters have {start.n_states} states, but n_states is {self.n_states}"
            )
        if self.n_starts > 1 and (start is not None or self.start != "random"):
            raise SettingsError(f"n_starts is {self.n_starts}: several are for a random start")
        if self.estimator == "anchor" and (start is not None or self.start != "spectral"):
            what = "parameters" if start is not None else f"start {self.start!r}"
            raise SettingsError(f"estimator is 'anchor', which needs no start: found {what}")
        if self.estimator != "anchor" and (self.senses != HMMSettings.senses or not self.looks):
            what = "looks" if self.senses == HMMSettings.senses else "senses"
            raise SettingsError(f"{what} is of estimator 'anchor', but it is {self.estimator!r}")

    @property
    def _iterations(self) -> int:
        """Iterations of EM."""
        if self.n_iter is not None:
            return self.n_iter
        return 10 if self.estimator == "em" else 0

    def _begin(self, data: Encoded, symbols: Symbols, seed: int) -> Parameters:
        if self.parameters is not None:
            if self.parameters.n_symbols != len(symbols):
                raise SettingsError(
                    f"parameters have {self.parameters.n_symbols} symbols, but here are "
                    f"{len(symbols)}: give their symbols as well"
                )
            return self.parameters
        if self.estimator == "anchor":
            return self._anchored(data, symbols, seed)
        if self.start == "random":
            return Parameters.random(self.n_states, len(symbols), seed)
        from eigentext.sequences.spectral.moments import Moments
        from eigentext.sequences.spectral.recover import Method, recover_parameters, spectral_start

        moments = Moments.of(data, len(symbols))
        if self.start == "spectral":
            return spectral_start(moments, self.n_states, data=data, seed=seed)
        method: Method = "tensor" if self.start == "tensor" else "clusters"
        return recover_parameters(moments, self.n_states, method=method, seed=seed)

    def _anchored(self, data: Encoded, symbols: Symbols, seed: int) -> Parameters:
        from eigentext.sequences.spectral.anchors import AnchorChoices, NeighbourCounts, anchor_hmm

        prior = AnchorChoices.prior if self.looks else 0.0
        return anchor_hmm(
            NeighbourCounts.of(data, len(symbols)),
            self.n_states,
            names=symbols.names,
            language=symbols.language,
            choices=AnchorChoices(prior=prior, senses=self.senses, smoothing=self.smoothing),
            seed=seed,
        ).parameters

    def _counted(self, progress: Progress | None, start: int) -> Progress | None:
        """The progress of one start as that of all."""
        if progress is None:
            return None
        each = self._iterations
        total = self.n_starts * each
        return lambda done, _, stage: progress(start * each + done, total, stage)

    @property
    def spread_(self) -> dict[str, float]:
        """Best, worst, mean and standard deviation of ``final`` over the starts."""
        self.check_fitted()
        finals = np.array([start.final for start in self.starts_])
        return {
            "best": float(finals.max()),
            "worst": float(finals.min()),
            "mean": float(finals.mean()),
            "std": float(finals.std()),
        }

    # ------------------------------------------------------------ states

    def predict_proba(self, X: Iterable[Sequence[str]]) -> list[Float64s]:
        """p(state of each token | whole sequence), (n, k) for each sequence."""
        data = self._encoded(X)
        return data.split(inference.smoothed(self.parameters_, data))

    def filter(self, X: Iterable[Sequence[str]]) -> list[Float64s]:
        """p(state of each token | tokens up to it), (n, k) for each sequence."""
        data = self._encoded(X)
        return data.split(inference.filtered(self.parameters_, data))

    def sample(self, n: int = 1, length: int = 20, *, seed: int = 0) -> list[list[str]]:
        """``n`` sequences of ``length`` symbols drawn from the model."""
        self.check_fitted()
        return self.symbols_.decode(inference.sample(self.parameters_, n, length, seed))

    # ------------------------------------------------------------ elsewhere

    def to_hmmlearn(self) -> Any:
        """A ``hmmlearn.hmm.CategoricalHMM`` with these parameters, for numbers of symbols."""
        self.check_fitted()
        try:
            hmmlearn = import_module("hmmlearn.hmm")
        except ImportError as error:
            raise MissingExtraError("models of hmmlearn", modules=["hmmlearn"]) from error
        ours = self.parameters_
        theirs = hmmlearn.CategoricalHMM(ours.n_states, implementation="scaling")
        theirs.n_features = ours.n_symbols
        theirs.startprob_ = ours.initial.copy()
        theirs.transmat_ = ours.transition.copy()
        theirs.emissionprob_ = ours.emission.copy()
        return theirs

    def _restore(self, content: HMM) -> None:
        self.history_ = max(self.starts_, key=lambda start: start.final).history

    def _picture(self) -> str:
        from eigentext.sequences.inspection import graph_of

        return graph_of(self.parameters_, self.symbols_)

    def _summary(self) -> str:
        return f"{self.parameters_.n_states} states, {len(self.symbols_):,} symbols"
