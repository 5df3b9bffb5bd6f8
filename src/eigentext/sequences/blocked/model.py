"""BlockedHMM: thousands of hidden states, each word shown by the few of its block.

1. ``fit`` numbers the symbols, learns a small dense model from moments and EM in small steps, and
   lifts it: a state is a word (or a block of words) with a state of the small model.
2. EM on the large model (learn.py); its transitions are smoothed level by level, with discounts,
   and as many iterations, as suit ten stretches of the text that neither model has seen.
3. The last pass counts all sequences.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from eigentext.base.fields import Listed, Real
from eigentext.base.model import Model
from eigentext.base.progress import Progress
from eigentext.base.records import As, learned
from eigentext.base.types import Float64s, Int64s
from eigentext.counting.memory import parse_memory
from eigentext.errors import SettingsError
from eigentext.sequences.blocked import inference
from eigentext.sequences.blocked.learn import (
    BlockedSmoothing,
    Chosen,
    Discounts,
    Trainer,
    choose_discounts,
    choose_states,
    lifted,
)
from eigentext.sequences.blocked.parameters import PARAMETERS, BlockedParameters
from eigentext.sequences.observations import SYMBOLS, Encoded, NumberedText, Symbols
from eigentext.sequences.scoring import HiddenStates
from eigentext.sequences.settings import BlockedHMMSettings
from eigentext.sequences.spectral.moments import Moments
from eigentext.sequences.spectral.recover import cluster_symbols, spectral_start

_STRETCHES = 10  # parts of the text that are held out, a fiftieth of it together
_HELD = 0.02
# bytes: libraries; a token of the text, with what the small model holds of it
_LIBRARIES, _TOKEN = 350_000_000, 200


@dataclass(eq=False, repr=False)
class BlockedHMM(HiddenStates, Model, BlockedHMMSettings):
    """A hidden Markov model with blocked emissions; settings: :class:`BlockedHMMSettings`.

    After ``fit``: ``symbols_``, ``parameters_``, ``discounts_`` and ``history_`` (mean log
    likelihood of a held-out token, before EM and after each iteration that was kept; of a text of
    fewer than 500 sequences nothing is held out, and it is empty).

    >>> text = [["a", "b", "a", "b", "a"], ["b", "a", "b"]] * 50
    >>> model = BlockedHMM(4, n_groups=2).fit(text)
    >>> model.perplexity([["a", "b", "a", "b"]]) < 1.5
    True
    """

    KIND = "blocked-hmm"
    _inference: ClassVar[Any] = inference
    symbols_: Symbols = learned(SYMBOLS)
    parameters_: BlockedParameters = learned(PARAMETERS)
    discounts_: Discounts = learned(As(Listed(Real(0, 1)), list, Discounts._make))
    history_: tuple[float, ...] = learned(Listed(Real()))

    # ------------------------------------------------------------ learning

    def fit(
        self,
        X: Iterable[Sequence[str]] | NumberedText,
        y: object = None,
        *,
        memory: str | int | None = None,
        progress: Progress | None = None,
    ) -> BlockedHMM:
        """Learn from sequences of tokens, which are read once; ``progress`` hears of each pass.

        What needs more than ``memory``, such as ``2GB``, is refused before EM begins.
        """
        self.check()
        text = NumberedText.of(X)
        symbols = Symbols.chosen(text, self)
        data = text.as_symbols(symbols)
        return self.fit_encoded(data, symbols, memory=memory, progress=progress)

    def fit_encoded(
        self,
        data: Encoded,
        symbols: Symbols,
        *,
        memory: str | int | None = None,
        progress: Progress | None = None,
    ) -> BlockedHMM:
        """Learn from sequences that are numbers already."""
        self.check()
        data = data.without_empty()
        _check_memory(memory, data.n_tokens)
        inner, held = _held_out(len(data))
        rest = data.only(inner)
        moments = Moments.of(rest, len(symbols))
        of_word = self._blocks(moments)
        small = spectral_start(
            moments, self.n_groups, data=rest, passes=self.passes, seed=self.seed
        )
        chosen = choose_states(small, moments.counts, of_word, self.n_states)
        del moments, rest  # large, and not needed any more
        trainer = Trainer(data, chosen.blocks)
        _check_memory(memory, data.n_tokens, trainer, self.n_groups)
        judge = _Judge(trainer, held)
        expecting, smoothing, discounts = self._em(
            lifted(small, chosen, trainer.pairs, trainer.dtype), inner, chosen, judge, progress
        )
        if len(held):
            discounts, _ = judge.chosen(smoothing, discounts)
            _, counts = trainer.expect(expecting, np.arange(len(data)))
            smoothing = BlockedSmoothing(counts, chosen.blocks, trainer.pairs, chosen.group)
        self.parameters_ = smoothing.parameters(discounts)
        self.symbols_, self.discounts_ = symbols, discounts
        return self

    def _em(
        self,
        expecting: BlockedParameters,
        inner: Int64s,
        chosen: Chosen,
        judge: _Judge,
        progress: Progress | None,
    ) -> tuple[BlockedParameters, BlockedSmoothing, Discounts]:
        """The parameters of the last step that helped, its counts, and the discounts.

        What belongs to a step that did not help is gone when this is done: it is large.
        """

        def tell(done: int) -> None:
            if progress is not None:
                progress(done, self.n_iter + 2, "EM")

        trainer = judge.trainer
        _, counts = trainer.expect(expecting, inner)
        smoothing = BlockedSmoothing(counts, chosen.blocks, trainer.pairs, chosen.group)
        discounts, value = judge.chosen(smoothing, Discounts())
        history = [value] if len(judge.held) else []
        tell(1)
        for number in range(self.n_iter):
            parameters = smoothing.parameters(discounts)
            _, counts = trainer.expect(parameters, inner)
            new = BlockedSmoothing(counts, chosen.blocks, trainer.pairs, chosen.group)
            value = judge.value(new, discounts)
            tell(number + 2)
            if len(judge.held) and value <= history[-1]:
                break
            if len(judge.held):
                history.append(value)
            expecting, smoothing = parameters, new
        self.history_ = tuple(history)
        return expecting, smoothing, discounts

    def _blocks(self, moments: Moments) -> Int64s:
        """(V,) the block of every word."""
        V = moments.n_symbols
        if self.n_blocks is None or self.n_blocks >= V:
            of_word = np.arange(V)
        else:
            of_word = cluster_symbols(moments, self.n_blocks, seed=self.seed)
        n_blocks = int(of_word.max()) + 1
        if self.n_states < n_blocks:
            raise SettingsError(
                f"{self.n_states} states for {n_blocks} blocks: expected at least one for each; "
                "take more --n-states (n_states), or fewer --n-blocks (n_blocks)"
            )
        return of_word

    # ------------------------------------------------------------ queries

    def sample(self, n: int = 1, length: int = 20, *, seed: int = 0) -> list[list[str]]:
        """``n`` sequences of ``length`` symbols drawn from the model."""
        self.check_fitted()
        if n < 0 or length < 0 or seed < 0:
            raise SettingsError(f"n {n}, length {length}, seed {seed}: expected 0 or more")
        drawn = inference.sample(self.parameters_, n, length, seed)
        return [[self.symbols_.names[x] for x in words] for words in drawn]

    def predict_proba(self, X: Iterable[Sequence[str]]) -> list[list[tuple[Int64s, Float64s]]]:
        """For each token the states of its block, and p(state | whole sequence) of each."""
        data = self._encoded(X)
        values, ptr = inference.posteriors(self.parameters_, data)
        first = self.parameters_.blocks.first
        answers = []
        for s in range(len(data)):
            tokens = []
            for t in range(int(data.first[s]), int(data.first[s + 1])):
                b = self.parameters_.blocks.of_word[data.ids[t]]
                shares = values[ptr[t] : ptr[t + 1]]
                tokens.append((np.arange(first[b], first[b + 1]), shares))
            answers.append(tokens)
        return answers

    def _summary(self) -> str:
        return f"{self.parameters_.n_states:,} states, {len(self.symbols_):,} symbols"


def _check_memory(
    memory: str | int | None, n_tokens: int, trainer: Trainer | None = None, n_groups: int = 0
) -> None:
    """Refuse a bound that the text alone breaks, or, when the transitions are known, EM."""
    if memory is None:
        return
    needed, of = _LIBRARIES + _TOKEN * n_tokens, f"{n_tokens:,} tokens"
    if trainer is not None:
        pairs, n_states = trainer.pairs, trainer.blocks.n_states
        # float32: two sets of counts and two of parameters; beside them what levels below have
        needed += 16 * int(pairs.at[-1]) + 24 * int(pairs.next[-1]) + 24 * n_groups * n_states
        of += f", {n_states:,} states and {int(pairs.at[-1]):,} transitions"
    if parse_memory(memory) < needed:
        remedy = "" if trainer is None else ", or take fewer --n-states (n_states)"
        raise SettingsError(
            f"memory {memory} is too small for {of}: {-(-needed // 10**7) * 10:,}MB is the "
            f"least{remedy}"
        )


def _held_out(n: int) -> tuple[Int64s, Int64s]:
    """Numbers of the sequences that are counted, and of those held out: none of a short text.

    Stretches, not single sequences: neighbours have words in common that another text has not.
    """
    size = int(n * _HELD / _STRETCHES)
    begin = (np.arange(1, _STRETCHES + 1) * n) // _STRETCHES - size
    held = (begin[:, None] + np.arange(size)).ravel()
    return np.setdiff1d(np.arange(n), held), held


class _Judge:
    """Mean log likelihood of the held-out tokens."""

    def __init__(self, trainer: Trainer, held: Int64s) -> None:
        self.trainer, self.held = trainer, held
        self.which = trainer.pairs_of(held)
        self.n_tokens = int(trainer.data.lengths[held].sum())
        self.room = np.zeros(trainer.pairs.at[-1], trainer.dtype)  # transitions of ``which``

    def value(self, smoothing: BlockedSmoothing, discounts: Discounts) -> float:
        """Under the parameters of these discounts; 0 where nothing is held out."""
        if not len(self.held):
            return 0.0
        parameters = smoothing.parameters(discounts, self.which, self.room)
        return self.trainer.log_likelihood(parameters, self.held) / self.n_tokens

    def chosen(self, smoothing: BlockedSmoothing, start: Discounts) -> tuple[Discounts, float]:
        """The best discounts; where nothing is held out, those of the start."""
        if not len(self.held):
            return start, 0.0
        return choose_discounts(lambda discounts: self.value(smoothing, discounts), start)
