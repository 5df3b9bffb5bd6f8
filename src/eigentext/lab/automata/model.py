"""StringAutomaton: strings -> Hankel block -> weighted automaton -> predictions.

Rank, size of the basis and weight of the unigram are those that say most of a tenth of the
strings, held out.  What comes next has the values ``total' B_x b`` (a symbol) and ``stop' b`` (the
end), of which ``spectral/policy.py`` makes a distribution; what was negative is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from eigentext.base.fields import Reals
from eigentext.base.model import Model
from eigentext.base.records import learned
from eigentext.base.settings import values_of
from eigentext.base.types import Float64s
from eigentext.base.values import Real, Whole
from eigentext.errors import DataError, SettingsError
from eigentext.features.symbols import UNKNOWN
from eigentext.lab.automata.hankel import Automaton, Basis, Hankel, spectral_automaton, strings_of
from eigentext.sequences.observations import SYMBOLS, Encoded, Symbols
from eigentext.sequences.settings import AutomatonSettings
from eigentext.sequences.spectral.operators import Operators
from eigentext.sequences.spectral.policy import Predicting

STOP = "</s>"  # the name of the end symbol
_RANKS = (2, 5, 10, 25, 50, 100, 200, 400)
_SIZES = (250, 1000, 2000)
_WEIGHTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
_FEW = 30  # strings, below which nothing is held out
_OF_FEW = (5, 0.2)  # rank and weight then
_ENOUGH = 1.002  # a larger basis or rank has to be so much better


def symbols_of(strings: Iterable[Sequence[str]]) -> Symbols:
    """The symbols of strings, the end among them, and one for what is not known.

    >>> symbols_of(["ab", "a"]).names
    ('</s>', 'a', 'b', '<unk>')
    """
    return Symbols.fit([ended(string) for string in strings], unknown="one")


def ended(string: Sequence[str]) -> list[str]:
    """Its symbols, and the end."""
    tokens = list(string)
    if STOP in tokens:
        raise DataError("strings", None, f"a string holds {STOP!r}, which is the end of strings")
    return [*tokens, STOP]


def checked_strings(X: Iterable[Sequence[str]]) -> list[Sequence[str]]:
    """The strings as a list; anything else is a SettingsError."""
    if isinstance(X, (str, bytes)):
        raise SettingsError("expected a list of strings, not one string")
    if not hasattr(X, "__iter__"):
        raise SettingsError(f"expected a list of strings, not {type(X).__name__}")
    strings = list(X)
    for string in strings:
        if not isinstance(string, (str, list, tuple)):
            raise SettingsError(f"expected text or a list of symbols, found {string!r:.40}")
        if not all(isinstance(symbol, str) for symbol in string):
            raise SettingsError(f"expected symbols that are strings, found {string!r:.40}")
    return strings


def share_right(answers: Sequence[str], gold: Iterable[str]) -> float:
    """The share of answers that are what was wanted."""
    gold = list(gold)
    if len(answers) != len(gold):
        raise SettingsError(f"{len(answers)} strings, but {len(gold)} answers")
    right = [a == b for a, b in zip(answers, gold, strict=True)]
    if not right:
        raise DataError("strings", None, "no strings to score")
    return float(np.mean(right))


# ---------------------------------------------------------------- learning


def _automaton(
    ids: Sequence[tuple[int, ...]],
    symbols: Symbols,
    settings: AutomatonSettings,
    size: int,
    rank: int,
) -> Automaton:
    strings = strings_of(ids)
    basis = Basis.frequent(strings, size, settings.longest, settings.statistic)
    hankel = Hankel.counted(strings, basis, len(symbols))
    return spectral_automaton(hankel, rank, scaling=settings.scaling, kappa=settings.kappa)


def _chosen(
    ids: Sequence[tuple[int, ...]], data: Encoded, symbols: Symbols, settings: AutomatonSettings
) -> tuple[int, int, float]:
    """Rank, size of the basis and weight that are best for every tenth string."""
    # A smaller basis and a smaller rank are kept, unless more of it is better by 0.2%.
    kept = [string for at, string in enumerate(ids) if at % 10]
    rest = strings_of([(*ids[at], int(data[at][-1])) for at in range(0, len(ids), 10)])
    best: tuple[float, int, int, float] | None = None
    for size in _SIZES if settings.basis == "auto" else (settings.basis,):
        of_size: tuple[float, int, int, float] | None = None
        ranks = _RANKS if settings.n_states == "auto" else (settings.n_states,)
        whole = _automaton(kept, symbols, settings, size, max(ranks))
        for rank in sorted({min(rank, whole.k) for rank in ranks}):
            nats, weight = _nats(whole.truncated(rank), rest, symbols, settings)
            if of_size is None or nats * _ENOUGH < of_size[0]:
                of_size = (nats, rank, size, weight)
        if of_size is None or (best is not None and not of_size[0] * _ENOUGH < best[0]):
            break
        best = of_size
    if best is None:
        raise RuntimeError("no rank to try")
    return best[1:]


def _nats(
    automaton: Automaton,
    strings: Mapping[tuple[int, ...], float],
    symbols: Symbols,
    settings: AutomatonSettings,
) -> tuple[float, float]:
    """Mean surprisal of a symbol, and the weight of the unigram for which it is least."""
    data = Encoded.of(list(strings))
    often = np.repeat(list(strings.values()), data.lengths)
    often /= often.sum()
    policy = "clip" if settings.negatives == "error" else settings.negatives
    model = StringAutomaton(floor=settings.floor, negatives=policy, unigram_weight=0.0)
    model.symbols_ = symbols
    model._take_automaton(automaton, 0.0)
    shares = np.exp(-model.surprisals_encoded(data))
    unigram = symbols.unigram()[data.ids]
    weights = _WEIGHTS if settings.unigram_weight == "auto" else (settings.unigram_weight,)
    with np.errstate(divide="ignore"):
        return min((-float(often @ np.log((1 - w) * shares + w * unigram)), w) for w in weights)


def answer_as(settings: AutomatonSettings, models: Iterable[StringAutomaton]) -> None:
    """The settings that answers are made with are those of the model that has these inside."""
    for model in models:
        model.negatives, model.floor = settings.negatives, settings.floor
        model.unigram_weight = settings.unigram_weight


# ---------------------------------------------------------------- the model


@dataclass(eq=False, repr=False)
class StringAutomaton(Model, Predicting, AutomatonSettings):
    """A weighted automaton of strings; settings: :class:`AutomatonSettings`.

    A string is text, whose symbols are characters, or a list of symbols.  After ``fit``:
    ``symbols_``, ``automaton_``, ``weight_`` (of the unigram), ``basis_`` (its size); after every
    query ``negative_rate_`` and ``negatives_``.

    >>> model = StringAutomaton(2).fit(["ab", "abab", "ababab"] * 20)
    >>> bool(model.log_prob(["abab"])[0] > model.log_prob(["abba"])[0])
    True
    >>> model.automaton_.k
    2
    """

    KIND = "string-automaton"
    symbols_: Symbols = learned(SYMBOLS)
    operators_: Operators = learned(
        Operators.stored(Reals(("symbols", "k", "k"), low=-1e30, high=1e30))
    )
    weight_: float = learned(Real(0, 1))
    basis_: int = learned(Whole(1))

    def fit(self, X: Iterable[Sequence[str]], y: object = None) -> StringAutomaton:
        """Learn from strings; one that comes twice counts twice."""
        self.check()
        strings = checked_strings(X)
        if not strings:
            raise DataError("strings", None, "no strings to learn from")
        symbols = symbols_of(strings)
        return self.fit_encoded(symbols.encode(map(ended, strings)), symbols)

    def fit_encoded(self, data: Encoded, symbols: Symbols) -> StringAutomaton:
        """Learn from numbers: strings with the end symbol behind each."""
        self.check()
        ids = [tuple(data[at][:-1].tolist()) for at in range(len(data))]
        rank, size, weight = self.n_states, self.basis, self.unigram_weight
        free = "auto" in (rank, size, weight)
        if free and len(ids) < _FEW:
            rank = _OF_FEW[0] if rank == "auto" else rank
            size = _SIZES[0] if size == "auto" else size
            weight = _OF_FEW[1] if weight == "auto" else weight
        elif free:
            rank, size, weight = _chosen(ids, data, symbols, self)
        self.symbols_, self.basis_ = symbols, int(size)
        automaton = _automaton(ids, symbols, self, int(size), int(rank))
        self._take_automaton(automaton, float(weight))
        return self

    def _take_automaton(self, automaton: Automaton, weight: float) -> None:
        self.weight_ = weight
        # the end symbol has a matrix already, which is zero: no string goes on behind it
        bare = replace(automaton, matrices=np.delete(automaton.matrices, self._end, axis=0))
        self.automaton_ = automaton
        self._take(bare.with_end(self._end))

    def truncated(self, k: int) -> StringAutomaton:
        """The leading ``k`` dimensions: what ``fit`` with so many gives, at this unigram's weight.

        >>> StringAutomaton(4).fit(["ab", "abab", "ba"] * 9).truncated(2).automaton_.k
        2
        """
        self.check_fitted()
        small = StringAutomaton(**{**values_of(self), "n_states": k})
        small.symbols_, small.basis_ = self.symbols_, self.basis_
        small._take_automaton(self.automaton_.truncated(k), self.weight_)
        return small

    @property
    def _end(self) -> int:
        return self.symbols_.names.index(STOP)

    def _unigram_share(self) -> float:
        return self.weight_ if self.unigram_weight == "auto" else float(self.unigram_weight)

    # ---------------------------------------------------------------- queries

    def _encoded(self, X: Iterable[Sequence[str]]) -> Encoded:
        """Whole strings: the end is a symbol too."""
        self.check_fitted()
        return self.symbols_.encode([ended(string) for string in checked_strings(X)])

    def _begun(self, X: Iterable[Sequence[str]]) -> Encoded:
        """Strings, or beginnings of strings, without an end."""
        self.check_fitted()
        return self.symbols_.encode([list(string) for string in checked_strings(X)])

    def weights(self, X: Iterable[Sequence[str]], *, prefixes: bool = False) -> Float64s:
        """(S,) the automaton's own weight of each string, or of all strings that begin so.

        >>> model = StringAutomaton(1, basis=9).fit(["a", "aa"])
        >>> bool(abs(model.weights([""], prefixes=True)[0] - 1) < 0.2)
        True
        """
        data = self._begun(X)
        ask = self.automaton_.prefix_weight if prefixes else self.automaton_.weight
        return np.array([ask(data[at].tolist()) for at in range(len(data))])

    def next_symbols(self, X: Iterable[Sequence[str]]) -> Float64s:
        """(S, V) distribution of what comes after each beginning: a symbol of ``symbols_``, or the
        end.

        >>> model = StringAutomaton(2).fit(["ab", "abab", "ababab"] * 20)
        >>> model.symbols_.names[model.next_symbols(["aba"])[0].argmax()]
        'b'
        """
        return self._next_encoded(self._begun(X))

    def sample(self, n: int = 1, *, longest: int = 50, seed: int = 0) -> list[list[str]]:
        """``n`` strings of up to ``longest`` symbols, drawn symbol by symbol.

        >>> "".join(StringAutomaton(1).fit(["aa"] * 9).sample(1)[0]).strip("a")
        ''
        """
        self.check_fitted()
        if n < 0 or longest < 0 or seed < 0:
            raise SettingsError(f"n {n}, longest {longest}, seed {seed}: expected 0 or more")
        rng = np.random.default_rng(seed)
        names = self.symbols_.names
        drawn: list[list[str]] = [[] for _ in range(n)]
        going = list(drawn)
        for _ in range(longest):
            if not going:
                break
            shares = self._next_encoded(self.symbols_.encode(going))
            shares[:, names.index(UNKNOWN)] = 0.0  # stands for symbols that nobody can write
            passed = np.cumsum(shares, axis=1)
            chances = rng.random((len(going), 1)) * passed[:, -1:]
            further = []
            for string, x in zip(going, (passed <= chances).sum(axis=1).tolist(), strict=True):
                name = names[min(x, len(names) - 1)]
                if name != STOP:
                    string.append(name)
                    further.append(string)
            going = further
        return drawn

    # ---------------------------------------------------------------- storage

    def _restore(self, content: StringAutomaton) -> None:
        if STOP not in self.symbols_.names:
            raise ValueError(f"strings 'names' lack {STOP!r}")
        bare = Automaton.without_end(self.operators_, self._end)
        none = np.zeros_like(self.operators_.matrices[0])
        self.automaton_ = replace(bare, matrices=np.insert(bare.matrices, self._end, none, axis=0))
        self._take(self.operators_)

    def _summary(self) -> str:
        return f"{self.automaton_.k} dimensions, {len(self.symbols_) - 2:,} symbols"

    def figures(self) -> dict[str, object]:
        """What is worth telling of training."""
        self.check_fitted()
        return {
            "n_states": self.automaton_.k,
            "basis": self.basis_,
            "unigram_weight": self._unigram_share(),
            "symbols": len(self.symbols_) - 2,
        }
