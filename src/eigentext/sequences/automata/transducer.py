"""StringTransducer: a weighted automaton of aligned pairs, which turns strings into strings.

1. :func:`aligned` puts every symbol of the output to a symbol of the input, in order, by least
   edits: a pair is an input symbol with the piece of output that belongs to it, which may be empty
   or longer than one symbol.
2. Sequences of pairs are strings of a :class:`StringAutomaton` (Balle, Quattoni, Carreras 2011)::

       p(x, y) = sum over alignments of p(x_1:y_1, ..., x_n:y_n)

3. The answer for an input is the output of its best sequence of pairs, by beam search: every step
   takes the pairs of one input symbol.  A symbol that no pair has is copied.

An input may begin with symbols that are no characters, such as a tag: ``["VERB", *"walked"]``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigentext.base.fields import Bits, Parts, Spec, Whole
from eigentext.base.model import Model, Packed
from eigentext.base.settings import values_of
from eigentext.errors import DataError, SettingsError
from eigentext.sequences.automata.model import (
    STOP,
    StringAutomaton,
    answer_as,
    checked_strings,
    share_right,
)
from eigentext.sequences.settings import TransducerSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

__all__ = ["StringTransducer", "Transduced", "aligned"]

_BETWEEN = "\t"  # input symbol and piece of output in the name of a pair


def aligned(source: Sequence[str], target: Sequence[str]) -> list[tuple[str, str]]:
    """Each input symbol with its piece of output, by least edits.

    Of equals, symbols are kept or replaced first, from the end; what is inserted belongs to the
    symbol before it.

    >>> aligned("boxes", "box")
    [('b', 'b'), ('o', 'o'), ('x', 'x'), ('e', ''), ('s', '')]
    >>> aligned(["VERB", *"ran"], "run")
    [('VERB', ''), ('r', 'r'), ('a', 'u'), ('n', 'n')]
    """
    n, m = len(source), len(target)
    costs = [[0.0] * (m + 1) for _ in range(n + 1)]
    for i in range(n + 1):
        for j in range(m + 1):
            if i or j:
                costs[i][j] = min(
                    costs[i - 1][j] + 1 if i else np.inf,
                    costs[i][j - 1] + 1 if j else np.inf,
                    costs[i - 1][j - 1] + _replacing(source[i - 1], target[j - 1])
                    if i and j
                    else np.inf,
                )
    pieces = [""] * max(n, 1)
    i, j = n, m
    while i or j:
        cost = costs[i][j]
        if i and j and cost == costs[i - 1][j - 1] + _replacing(source[i - 1], target[j - 1]):
            i, j = i - 1, j - 1
            pieces[i] = target[j] + pieces[i]
        elif i and cost == costs[i - 1][j] + 1:
            i -= 1
        else:
            j -= 1
            pieces[max(i - 1, 0)] = target[j] + pieces[max(i - 1, 0)]
    return list(zip(source, pieces, strict=True)) if n else []


def _replacing(a: str, b: str) -> float:
    """Of equals 0, of a letter in another case little, of what is no character more than both."""
    if a == b:
        return 0.0
    if len(a) > 1 or len(b) > 1:
        return 2.5
    return 0.25 if a.lower() == b.lower() else 1.0


class Transduced(NamedTuple):
    """An output, and log p of it with the input."""

    output: str
    log_score: float


class _Path(NamedTuple):
    state: Floats
    output: str
    log_score: float


@dataclass(eq=False, repr=False)
class StringTransducer(Model, TransducerSettings):
    """Strings to strings; settings: :class:`TransducerSettings`.

    After ``fit``: ``automaton_`` (a :class:`StringAutomaton` of pairs) and ``left_out_``, how many
    strings had a pair that is too rare.

    >>> model = StringTransducer(4, basis=60).fit(["cats", "dogs", "cows"] * 9, ["cat", "dog", "cow"] * 9)
    >>> model.predict(["dogs", "cogs"])
    ['dog', 'cog']
    """  # noqa: E501

    KIND = "string-transducer"
    SPEC = Spec({"left_out": Whole(0)}, Parts({"automaton": Bits(("bytes",))}, {}))

    def fit(self, X: Iterable[Sequence[str]], y: Iterable[Sequence[str]]) -> StringTransducer:
        """Learn from inputs and their outputs."""
        self.check()
        sources, targets = checked_strings(X), checked_strings(y)
        if len(sources) != len(targets):
            raise SettingsError(f"{len(sources)} inputs, but {len(targets)} outputs")
        strings = [
            [_named(*pair) for pair in aligned(source, target)]
            for source, target in zip(sources, targets, strict=True)
        ]
        counts = Counter(pair for string in strings for pair in string)
        usable = [
            string
            for string in strings
            if string and min(counts[pair] for pair in string) >= self.min_count
        ]
        if not usable:
            raise DataError("pairs", None, "no pair of strings to learn from")
        self.left_out_ = len(strings) - len(usable)
        own = values_of(self)
        for name in ("beam", "min_count"):
            own.pop(name)
        self._take(StringAutomaton(**own).fit(usable))
        return self

    def _take(self, automaton: StringAutomaton) -> None:
        self.automaton_ = automaton
        pairs: dict[str, list[int]] = {}
        for number, name in enumerate(automaton.symbols_.names):
            source, between, _ = name.partition(_BETWEEN)
            if between:
                pairs.setdefault(source, []).append(number)
        self._pairs = {source: np.array(numbers) for source, numbers in pairs.items()}
        self._end = automaton.symbols_.names.index(STOP)

    # ---------------------------------------------------------------- queries

    def kbest(self, sentence: Sequence[str], k: int = 5) -> list[Transduced]:
        """Different outputs of one input, best first, as far as the beam has them."""
        self.check_fitted()
        automaton = self.automaton_
        answer_as(self, [automaton])
        names = automaton.symbols_.names
        width = max(self.beam, k)
        paths = [_Path(automaton.operators_.start, "", 0.0)]
        for symbol in checked_strings([sentence])[0]:
            numbers = self._pairs.get(symbol)
            if numbers is None:  # never seen: copied, and the state stays
                paths = [path._replace(output=path.output + symbol) for path in paths]
                continue
            shares = automaton._next_of_states(np.array([path.state for path in paths]))
            logs = np.array([path.log_score for path in paths])[:, None]
            scores = logs + np.log(shares[:, numbers])
            best = np.argsort(-scores, axis=None, kind="stable")[:width].tolist()
            paths = [
                self._extended(
                    paths[at // len(numbers)],
                    int(numbers[at % len(numbers)]),
                    names,
                    float(scores.flat[at]),
                )
                for at in best
            ]
        shares = automaton._next_of_states(np.array([path.state for path in paths]))
        found: dict[str, float] = {}
        for path, share in zip(paths, shares[:, self._end].tolist(), strict=True):
            score = path.log_score + float(np.log(share))
            found[path.output] = max(score, found.get(path.output, -np.inf))
        ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
        return [Transduced(output, score) for output, score in ranked[:k]]

    def _extended(self, path: _Path, number: int, names: Sequence[str], score: float) -> _Path:
        state = self.automaton_._after(path.state, number)
        return _Path(state, path.output + names[number].partition(_BETWEEN)[2], score)

    def knows(self, symbol: str) -> bool:
        """Did an input of training have this symbol?"""
        self.check_fitted()
        return symbol in self._pairs

    def predict(self, X: Iterable[Sequence[str]]) -> list[str]:
        """The best output of each input."""
        return [self.kbest(source, 1)[0].output for source in checked_strings(X)]

    def score(self, X: Iterable[Sequence[str]], y: Iterable[str]) -> float:
        """Share of inputs whose output is right."""
        return share_right(self.predict(X), y)

    # ---------------------------------------------------------------- storage

    def _pack_learned(self) -> Packed:
        raw = np.frombuffer(self.automaton_.to_bytes(), np.uint8)
        return Packed({"automaton": raw}, {}, {"left_out": self.left_out_})

    def _restore(self, packed: Packed) -> None:
        self.left_out_ = packed.facts["left_out"]
        self._take(StringAutomaton.from_bytes(packed.arrays["automaton"].tobytes()))

    def _summary(self) -> str:
        return f"{self.automaton_.automaton_.k} dimensions, {len(self.automaton_.symbols_)} pairs"

    def figures(self) -> dict[str, Any]:
        """What is worth telling of training."""
        self.check_fitted()
        own = self.automaton_.figures()
        own["pairs"] = own.pop("symbols")
        return {**own, "left_out": self.left_out_}


def _named(source: str, piece: str) -> str:
    if _BETWEEN in source or _BETWEEN in piece:
        raise DataError("pairs", None, "a string holds a tab, which strings of pairs cannot have")
    return f"{source}{_BETWEEN}{piece}"
