"""StringTransducer: a weighted automaton of aligned pairs, which turns strings into strings.

1. :func:`aligned` puts every symbol of the output to a symbol of the input, in order, by least
   edits (``alignment.py``): a pair is an input symbol with the piece of output that belongs to
   it, which may be empty or longer than one symbol.  Before and behind the input stand two marks,
   which take what is put in front or at the end: the ending of *walk-ed* belongs to no letter.
2. Sequences of pairs are strings of a :class:`StringAutomaton` (Balle, Quattoni, Carreras 2011)::

       p(x, y) = sum over alignments of p(x_1:y_1, ..., x_n:y_n)

   They are read from the end, where most languages change their words.  Symbols in angle brackets
   that go before an input, such as its tag, ``["<VERB>", *"walked"]``, are its context: they stand
   at both ends of the sequence, so that what happens to either end is seen beside them.
3. Beside the automaton stand :class:`KneserNey` n-grams of the same pairs.  What comes next is a
   mixture, whose weight is that for which most held-out outputs are right::

       p(x:y | before) = (1 - w) p_automaton(x:y | before) + w p_ngrams(x:y | before)

4. The answer for an input is the output of its best sequence of pairs, by beam search: every step
   takes the pairs of one input symbol.  A symbol that no pair has is copied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from eigentext.base.fields import Ints, Reals
from eigentext.base.model import Model
from eigentext.base.records import Called, Inner, Record, stored
from eigentext.base.remembering import Remembered
from eigentext.base.settings import values_of
from eigentext.base.types import Float64s, Int64s
from eigentext.base.values import Whole
from eigentext.errors import DataError, SettingsError
from eigentext.lab.automata.alignment import aligned, costs_of
from eigentext.lab.automata.model import (
    STOP,
    StringAutomaton,
    answer_as,
    checked_strings,
    ended,
    share_right,
)
from eigentext.sequences.observations import Encoded, Symbols
from eigentext.sequences.settings import TransducerSettings

__all__ = ["StringTransducer", "Transduced", "aligned", "sequences_of_pairs"]

_BETWEEN = "\t"  # input symbol and piece of output in the name of a pair; two behind a context
_MARKS = _FIRST, _LAST = "<^>", "<$>"  # stand before and behind an input
_WEIGHTS = (0.0, 0.5, 0.8, 0.9, 0.95, 1.0)  # of n-grams
_MOST_ASKED = 500  # held-out inputs
_FEW, _OF_FEW = 30, 0.5  # strings, below which nothing is held out, and the weight then


BEFORE = -1  # stands before the first symbol
_DISCOUNT = 0.75
_CELLS = 4_000_000  # numbers of distributions that are remembered


class _Row(NamedTuple):
    """What was seen behind a context, and how often."""

    symbols: Int64s
    counts: Float64s


class KneserNey:
    """N-grams of numbers, smoothed after Kneser and Ney 1995; sequences end with an own symbol.

    With the ``order - 1`` symbols before as context ``h``, ``h'`` without its first one, and one
    discount D::

        p(x | h) = max(n(h x) - D, 0) / n(h) + D kinds(h) / n(h) p(x | h')

    ``kinds(h)`` is how many symbols were seen behind ``h``.  Shorter contexts count how many
    different symbols stood before ``h x``, not how often it came; below it all are alike.

    ``grams``   (n, order) different n-grams, in order; ``counts`` (n,) how often each came

    >>> two = KneserNey.counted([(0, 1, 2), (0, 2)], order=2, n_symbols=3)
    >>> two.shares((0,)).round(3).tolist(), round(float(two.shares((1,)).sum()), 9)
    ([0.188, 0.312, 0.5], 1.0)
    """

    def __init__(self, grams: Int64s, counts: Int64s, n_symbols: int) -> None:
        self.grams, self.counts, self.n_symbols = grams, counts, n_symbols
        self.order: int = grams.shape[1]
        of_order = dict(zip(map(tuple, grams.tolist()), counts.tolist(), strict=True))
        self._rows: dict[tuple[int, ...], _Row] = {}
        for _ in range(self.order):
            self._rows.update(_rows_of(of_order))
            of_order = Counter(gram[1:] for gram in of_order)
        self._even = np.full(n_symbols, 1 / n_symbols)
        self._known: Remembered[tuple[int, ...], Float64s] = Remembered(
            max(2, _CELLS // max(n_symbols, 1))
        )

    @classmethod
    def counted(
        cls, sequences: Iterable[Sequence[int]], *, order: int, n_symbols: int
    ) -> KneserNey:
        """Count."""
        grams: Counter[tuple[int, ...]] = Counter()
        for sequence in sequences:
            marked = (BEFORE,) * (order - 1) + tuple(sequence)
            grams.update(marked[at : at + order] for at in range(len(sequence)))
        ranked = sorted(grams)
        return cls(
            np.array(ranked, np.int64).reshape(-1, order),
            np.array([grams[gram] for gram in ranked], np.int64),
            n_symbols,
        )

    def begun(self) -> tuple[int, ...]:
        """The context of the first symbol."""
        return (BEFORE,) * (self.order - 1)

    def after(self, context: tuple[int, ...], x: int) -> tuple[int, ...]:
        """The context behind symbol ``x``."""
        return (*context[1:], x) if context else ()

    def shares(self, context: tuple[int, ...]) -> Float64s:
        """(V,) p(x | context)."""
        while context and context not in self._rows:
            context = context[1:]
        shares = self._known.get(context)
        if shares is not None:
            return shares
        row = self._rows.get(context)
        below = self.shares(context[1:]) if context else self._even
        if row is None:  # nothing was counted
            return below
        n = row.counts.sum()
        p = (_DISCOUNT * len(row.counts) / n) * below
        p[row.symbols] += (row.counts - _DISCOUNT) / n
        return self._known.put(context, p)


def _rows_of(grams: Mapping[tuple[int, ...], int]) -> dict[tuple[int, ...], _Row]:
    behind: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for gram, n in grams.items():
        behind.setdefault(gram[:-1], []).append((gram[-1], n))
    return {
        context: _Row(
            np.array([x for x, _ in those], np.int64), np.array([n for _, n in those], np.float64)
        )
        for context, those in behind.items()
    }


class _NGrams(NamedTuple):
    """N-grams of pairs, and their weight."""

    grams: Int64s
    counts: Int64s
    weight: Sequence[float]


@dataclass
class _Content:
    """What a file holds."""

    automaton: StringAutomaton = stored(Inner("string-automaton"), of="automaton_")
    ngrams: _NGrams | None = stored(
        Record(
            _NGrams,
            optional=True,
            grams=Ints(("grams", "order"), low=-1),
            counts=Called("gram_counts", Ints(("grams",), low=1, below=10**15)),
            weight=Called("gram_weight", Reals((1,), low=0, high=1)),
        ),
        of=lambda model: (
            None
            if (grams := model.ngrams_) is None
            else _NGrams(grams.grams, grams.counts, [model.weight_])
        ),
    )
    left_out_: int = stored(Whole(0))


class Transduced(NamedTuple):
    """An output, and log p of its best sequence of pairs with the input.

    An output may have several sequences of pairs; p(x, y), their sum, is no less than that.
    """

    output: str
    log_score: float


class _Path(NamedTuple):
    state: Float64s
    context: tuple[int, ...]
    output: str
    log_score: float


class _Step(NamedTuple):
    """The pairs of which one comes next, or what is copied."""

    numbers: Int64s | None
    copied: str


@dataclass(eq=False, repr=False)
class StringTransducer(Model, TransducerSettings):
    """Strings to strings; settings: :class:`TransducerSettings`.

    After ``fit``: ``automaton_`` (a :class:`StringAutomaton` of pairs), ``ngrams_`` and ``weight_``
    (n-grams of pairs and their weight; None and 0 in files that were made before there were any,
    whose inputs are read from the beginning) and ``left_out_``, how many strings had a pair that
    is too rare.

    >>> model = StringTransducer(4, basis=60).fit(["cats", "dogs", "cows"] * 9, ["cat", "dog", "cow"] * 9)
    >>> model.predict(["dogs", "cogs"])
    ['dog', 'cog']
    """  # noqa: E501

    KIND = "string-transducer"
    CONTENT = _Content

    def fit(self, X: Iterable[Sequence[str]], y: Iterable[Sequence[str]]) -> StringTransducer:
        """Learn from inputs and their outputs."""
        self.check()
        sources, targets = checked_strings(X), checked_strings(y)
        if len(sources) != len(targets):
            raise SettingsError(f"{len(sources)} inputs, but {len(targets)} outputs")
        strings = sequences_of_pairs(sources, targets)
        counts = Counter(pair for string in strings for pair in string)
        rows = [
            (string, (source, "".join(target)))
            for string, source, target in zip(strings, sources, targets, strict=True)
            if min(counts[pair] for pair in string) >= self.min_count
        ]
        usable = [string for string, _ in rows]
        if not usable:
            why = "no pair of strings to learn from"
            if strings:
                why = f"each of {len(strings)} pairs has a change that comes less than "
                why += f"{self.min_count} times: more pairs are needed, or min_count 1"
            raise DataError("pairs", None, why)
        self.left_out_ = len(strings) - len(usable)
        settings = values_of(self)
        for name in ("beam", "min_count", "order", "ngram_weight"):
            settings.pop(name)
        automaton = StringAutomaton(**settings).fit(usable)
        data = automaton.symbols_.encode(map(ended, usable))
        weight = self.ngram_weight
        if weight == "auto":
            weight = _chosen_weight(self, automaton, data, [row for _, row in rows])
        self._take(automaton, _counted(data, automaton.symbols_, self.order), float(weight))
        return self

    def _take(
        self, automaton: StringAutomaton, ngrams: KneserNey | None = None, weight: float = 0.0
    ) -> None:
        self.automaton_, self.ngrams_, self.weight_ = automaton, ngrams, weight
        pairs: dict[str, list[int]] = {}
        self._contexts: dict[str, int] = {}
        for number, name in enumerate(automaton.symbols_.names):
            source, between, piece = name.partition(_BETWEEN)
            if piece == _BETWEEN:
                self._contexts[source] = number
            elif between:
                pairs.setdefault(source, []).append(number)
        self._pairs = {source: np.array(numbers) for source, numbers in pairs.items()}
        self._end = automaton.symbols_.names.index(STOP)

    # ---------------------------------------------------------------- queries

    def kbest(self, sentence: Sequence[str], k: int = 5) -> list[Transduced]:
        """Different outputs of one input, best first, as far as the beam has them."""
        self.check_fitted()
        answer_as(self, [self.automaton_])
        ngrams, names = self.ngrams_, self.automaton_.symbols_.names
        width = max(self.beam, k)
        begun = () if ngrams is None else ngrams.begun()
        paths = [_Path(self.automaton_.operators_.start, begun, "", 0.0)]
        for numbers, copied in self._steps(checked_strings([sentence])[0]):
            if numbers is None:  # never seen: the state stays
                paths = [path._replace(output=self._joined(path, copied)) for path in paths]
                continue
            logs = np.array([path.log_score for path in paths])[:, None]
            with np.errstate(divide="ignore"):
                scores = logs + np.log(self._shares(paths)[:, numbers])
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
        score_of: dict[str, float] = {}
        with np.errstate(divide="ignore"):
            ends = np.log(self._shares(paths)[:, self._end]).tolist()
        for path, end in zip(paths, ends, strict=True):
            score = path.log_score + end
            score_of[path.output] = max(score, score_of.get(path.output, -np.inf))
        ranked = sorted(score_of.items(), key=lambda item: (-item[1], item[0]))
        return [Transduced(output, score) for output, score in ranked[:k]]

    def _steps(self, source: Sequence[str]) -> list[_Step]:
        """What is decided, in order; see :func:`sequences_of_pairs`."""
        context = list(takewhile(_is_context, source))
        symbols = source[len(context) :]
        # what no input of training had says nothing
        context = [symbol for symbol in context if self.knows(symbol)]
        if self.ngrams_ is None:
            return [_Step(self._pairs.get(symbol), symbol) for symbol in (*context, *symbols)]
        steps = [
            _Step(None if symbol in _MARKS else self._pairs.get(symbol), symbol)
            for symbol in reversed(symbols)
        ]
        last, first = (_Step(self._pairs.get(mark), "") for mark in (_LAST, _FIRST))
        around = [_Step(np.array([self._contexts[symbol]]), "") for symbol in context]
        return [*around, last, *steps, first, *reversed(around)]

    def _shares(self, paths: Sequence[_Path]) -> Float64s:
        """(paths, V) p(pair | what is before)."""
        weight = self.weight_ if self.ngram_weight == "auto" else float(self.ngram_weight)
        if self.ngrams_ is None or weight == 0:
            return self.automaton_._next_of_states(np.array([path.state for path in paths]))
        grams = np.array([self.ngrams_.shares(path.context) for path in paths])
        if weight == 1:
            return grams
        of_automaton = self.automaton_._next_of_states(np.array([path.state for path in paths]))
        return np.asarray((1 - weight) * of_automaton + weight * grams)

    def _joined(self, path: _Path, piece: str) -> str:
        """From the end, where there are n-grams."""
        return path.output + piece if self.ngrams_ is None else piece + path.output

    def _extended(self, path: _Path, number: int, names: Sequence[str], score: float) -> _Path:
        piece = names[number].partition(_BETWEEN)[2].removeprefix(_BETWEEN)
        return _Path(
            self.automaton_._after(path.state, number),
            () if self.ngrams_ is None else self.ngrams_.after(path.context, number),
            self._joined(path, piece),
            score,
        )

    def knows(self, symbol: str) -> bool:
        """Did an input of training have this symbol?"""
        self.check_fitted()
        return symbol in self._pairs or symbol in self._contexts

    def predict(self, X: Iterable[Sequence[str]]) -> list[str]:
        """The best output of each input."""
        return [self.kbest(source, 1)[0].output for source in checked_strings(X)]

    def score(self, X: Iterable[Sequence[str]], y: Iterable[str]) -> float:
        """Share of inputs whose output is right."""
        return share_right(self.predict(X), y)

    # ---------------------------------------------------------------- storage

    def _restore(self, content: _Content) -> None:
        ngrams = content.ngrams
        if ngrams is None:
            self._take(content.automaton)
            return
        n_symbols = len(content.automaton.symbols_)
        if not ngrams.grams.shape[1] or ngrams.grams.max(initial=-1) >= n_symbols:
            raise ValueError(f"array 'grams': expected numbers of {n_symbols} pairs")
        model = KneserNey(ngrams.grams, ngrams.counts, n_symbols)
        self._take(content.automaton, model, float(ngrams.weight[0]))

    def _summary(self) -> str:
        return f"{self.automaton_.automaton_.k} dimensions, {len(self.automaton_.symbols_)} pairs"

    def figures(self) -> dict[str, object]:
        """What is worth telling of training."""
        self.check_fitted()
        figures = self.automaton_.figures()
        figures["pairs"] = figures.pop("symbols")
        return {**figures, "ngram_weight": self.weight_, "left_out": self.left_out_}


# ---------------------------------------------------------------- sequences of pairs


def sequences_of_pairs(
    sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]
) -> list[list[str]]:
    """Names of pairs, from the end of each input to its beginning, between its context.

    >>> [name.split(_BETWEEN) for name in sequences_of_pairs([["<V>", "a"]], ["ab"])[0]]
    [['<V>', '', ''], ['<$>', 'b'], ['a', 'a'], ['<^>', ''], ['<V>', '', '']]
    """
    contexts = [list(takewhile(_is_context, source)) for source in sources]
    rest = [source[len(context) :] for source, context in zip(sources, contexts, strict=True)]
    costs = costs_of(list(zip(rest, targets, strict=True)))
    sequences = []
    for source, target, context in zip(rest, targets, contexts, strict=True):
        if set(_MARKS) & set(source):
            why = f"an input holds {_FIRST} or {_LAST}, which are marks of its ends"
            raise DataError("pairs", None, why)
        pairs = [_named(*pair) for pair in aligned([_FIRST, *source, _LAST], target, costs)]
        around = [_named(symbol, "") + _BETWEEN for symbol in context]
        sequences.append([*around, *reversed(pairs), *reversed(around)])
    return sequences


def _is_context(symbol: str) -> bool:
    """Is it in angle brackets?  The marks of the ends are not."""
    return len(symbol) > 2 and symbol[0] == "<" and symbol[-1] == ">" and symbol not in _MARKS


def _named(source: str, piece: str) -> str:
    if _BETWEEN in source or _BETWEEN in piece:
        raise DataError("pairs", None, "a string holds a tab, which strings of pairs cannot have")
    return f"{source}{_BETWEEN}{piece}"


# ---------------------------------------------------------------- n-grams beside the automaton


def _counted(data: Encoded, symbols: Symbols, order: int) -> KneserNey:
    sequences = [data[at].tolist() for at in range(len(data))]
    return KneserNey.counted(sequences, order=order, n_symbols=len(symbols))


def _chosen_weight(
    model: StringTransducer,
    automaton: StringAutomaton,
    data: Encoded,
    rows: Sequence[tuple[Sequence[str], str]],
) -> float:
    """The weight of n-grams with most right outputs of every tenth input; of equals the largest.

    ``rows`` are inputs and outputs of the sequences ``data``; of those held out at most
    ``_MOST_ASKED`` are asked for, at even distances.
    """
    if len(data) < _FEW:
        return _OF_FEW
    kept = Encoded.of([data[at].tolist() for at in range(len(data)) if at % 10])
    smaller = StringAutomaton(**values_of(automaton))
    for name in ("n_states", "basis", "unigram_weight"):
        setattr(smaller, name, automaton.figures()[name])
    held = StringTransducer(**values_of(model))
    if held.negatives == "error":
        held.negatives = "clip"
    smaller.fit_encoded(kept, automaton.symbols_)
    held._take(smaller, _counted(kept, automaton.symbols_, model.order))
    held_out = rows[::10]
    held_out = held_out[:: -(-len(held_out) // _MOST_ASKED)]
    right = []
    for weight in _WEIGHTS:
        held.ngram_weight = weight
        right.append(sum(held.kbest(x, 1)[0].output == y for x, y in held_out))
    return max(zip(right, _WEIGHTS, strict=True))[1]
