"""ClassAutomata: one automaton for each class of strings, and the class of a string by Bayes.

    p(c | string) = p(c) p(string | c) / sum over classes d of p(d) p(string | d)

Of words and their tags it is a guesser of unknown words; of sequences of dependents and their
heads it is a model of trees (:class:`~eigentext.lab.experts.HeadAutomata`).  All automata are over
the same symbols, so that their probabilities can be compared.  Classes of few strings share the
automaton of all strings.

:class:`CharacterAutomata` are those of rare words by tag, an opinion on an unknown word beside its
shape.  A product over all characters is too sure of itself, so it has a power, a small one::

    P(t | w) ~ P(t | shape) P_characters(t | w)^power

Power and rank are those for which held-out words have the most probable tags; 0 does without.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from eigentext.base.fields import Ints, Strings
from eigentext.base.model import Model
from eigentext.base.records import As, Each, Inner, stored
from eigentext.base.settings import values_of
from eigentext.base.types import Float64s, Int64s
from eigentext.base.values import Whole
from eigentext.errors import DataError, SettingsError
from eigentext.lab.automata.model import (
    StringAutomaton,
    answer_as,
    checked_strings,
    ended,
    share_right,
    symbols_of,
)
from eigentext.linalg.ties import single_threaded
from eigentext.sequences.observations import Encoded
from eigentext.sequences.settings import ClassAutomataSettings
from eigentext.sequences.tagger.words import LONGEST_SEEN


@dataclass
class _Content:
    """What a file holds."""

    n_models: int = stored(Whole(1, 100_000), of=lambda model: len(model.models_))
    classes_: tuple[str, ...] = stored(Strings("classes", distinct=True))
    sizes_: Int64s = stored(Ints(("classes",), low=0, below=10**15))
    model_of_: Int64s = stored(Ints(("classes",), low=0, below="n_models"))
    models_: list[StringAutomaton] = stored(
        As(Each(Inner("string-automaton"), "n_models", "model.{}"), list, list)
    )

    def _holds(self) -> None:
        if len({model.symbols_.names for model in self.models_}) > 1:
            raise ValueError("automata have different symbols, expected the same")


def _checked_classes(y: Iterable[str]) -> list[str]:
    if isinstance(y, (str, bytes)) or not hasattr(y, "__iter__"):
        raise SettingsError("expected a list of classes, one for each string")
    classes = list(y)
    for name in classes:
        if not isinstance(name, str):
            raise SettingsError(f"expected classes that are strings, found {name!r:.40}")
    return classes


@dataclass(eq=False, repr=False)
class ClassAutomata(Model, ClassAutomataSettings):
    """An automaton of strings for each class; settings: :class:`ClassAutomataSettings`.

    After ``fit``: ``classes_``, ``sizes_`` (strings of each) and ``models_``, the automata; the
    first is that of all strings.

    >>> words, tags = ["aa", "aaa", "bb", "bbb"] * 20, ["A", "A", "B", "B"] * 20
    >>> ClassAutomata(2).fit(words, tags).predict(["aaaa", "b"])
    ['A', 'B']
    """

    KIND = "class-automata"
    CONTENT = _Content

    def fit(self, X: Iterable[Sequence[str]], y: Sequence[str]) -> ClassAutomata:
        """Learn from strings and the class of each."""
        self.check()
        strings, classes = checked_strings(X), _checked_classes(y)
        if len(strings) != len(classes):
            raise SettingsError(f"{len(strings)} strings, but {len(classes)} classes")
        if not strings:
            raise DataError("strings", None, "no strings to learn from")
        sizes = Counter(classes)
        self.classes_ = tuple(sorted(sizes))
        self.sizes_ = np.array([sizes[name] for name in self.classes_], np.int64)
        symbols = symbols_of(strings)
        data = symbols.encode(map(ended, strings))
        self.models_ = [self._automaton().fit_encoded(data, symbols)]
        self.model_of_ = np.zeros(len(self.classes_), np.int64)
        for at, name in enumerate(self.classes_):
            if sizes[name] >= self.min_strings:
                strings_of_class = [
                    data[i].tolist() for i, class_ in enumerate(classes) if class_ == name
                ]
                self.model_of_[at] = len(self.models_)
                symbols_of_class = symbols.recounted(Encoded.of(strings_of_class))
                self.models_.append(
                    self._automaton().fit_encoded(Encoded.of(strings_of_class), symbols_of_class)
                )
        return self

    def _automaton(self) -> StringAutomaton:
        settings = values_of(self)
        settings.pop("min_strings")
        return StringAutomaton(**settings)

    def truncated(self, k: int) -> ClassAutomata:
        """All automata cut to their leading ``k`` dimensions; the weights of unigrams stay."""
        self.check_fitted()
        small = ClassAutomata(**{**values_of(self), "n_states": k})
        small.classes_, small.sizes_, small.model_of_ = self.classes_, self.sizes_, self.model_of_
        small.models_ = [model.truncated(k) for model in self.models_]
        return small

    # ---------------------------------------------------------------- queries

    def log_probs(self, X: Iterable[Sequence[str]]) -> Float64s:
        """(S, C) log p(string | class)."""
        self.check_fitted()
        data = self.models_[0].symbols_.encode(map(ended, checked_strings(X)))
        if not len(data):
            return np.zeros((0, len(self.classes_)))
        answer_as(self, self.models_)
        with single_threaded():  # once for all of them
            nats = np.array([model.surprisals_encoded(data) for model in self.models_])
        logs = 0.0 - np.add.reduceat(nats, data.first[:-1], axis=1)
        return np.asarray(logs.T[:, self.model_of_])

    def posteriors(self, X: Iterable[Sequence[str]]) -> Float64s:
        """(S, C) p(class | string); of a string that no class can have, p(class)."""
        logs = self.log_probs(X)
        logs[np.isneginf(logs).all(axis=1)] = 0.0
        logs += np.log(self.sizes_ / self.sizes_.sum())
        shares = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def predict(self, X: Iterable[Sequence[str]]) -> list[str]:
        """The most probable class of each string; of equals the first by name."""
        return [self.classes_[at] for at in self.posteriors(X).argmax(axis=1).tolist()]

    def score(self, X: Iterable[Sequence[str]], y: Sequence[str]) -> float:
        """Share of strings whose class is right."""
        return share_right(self.predict(X), y)

    def log_prob_of(self, X: Sequence[Sequence[str]], y: Sequence[str]) -> Float64s:
        """(S,) log p(string | its class); a class that was not seen has the automaton of all."""
        self.check_fitted()
        answer_as(self, self.models_)
        X, y = checked_strings(X), _checked_classes(y)
        if len(X) != len(y):
            raise SettingsError(f"{len(X)} strings, but {len(y)} classes")
        number = {name: at for at, name in enumerate(self.classes_)}
        model_of = [
            self.model_of_[number[number_of]] if number_of in number else 0 for number_of in y
        ]
        logs = np.zeros(len(X))
        for model in sorted(set(model_of)):
            here = [at for at, number_of in enumerate(model_of) if number_of == model]
            logs[here] = self.models_[model].log_prob([X[at] for at in here])
        return logs

    # ---------------------------------------------------------------- storage

    def _summary(self) -> str:
        return f"{len(self.classes_)} classes, {len(self.models_)} automata"

    def figures(self) -> dict[str, object]:
        """What is worth telling of training."""
        self.check_fitted()
        ranks = [model.automaton_.k for model in self.models_]
        return {"classes": len(self.classes_), "automata": len(ranks), "most_states": max(ranks)}


POWERS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.35, 0.5, 0.75, 1.0)
RANKS = (25, 50, 100)  # every character has a matrix: more takes hundreds of megabytes
_BASIS = 250
_LEAST = 1e-6  # share of a tag that no rare word has, or that underflows
_ERRORS = 2.0  # standard errors that automata, or a larger rank of them, have to gain


@dataclass(frozen=True, eq=False)
class CharacterAutomata:
    """``automata`` of words by tag, for a tagger with the tags ``names``; the ``power`` of them.

    >>> words = [("aab", 0), ("ab", 0), ("ba", 1), ("baa", 1)] * 10
    >>> tags = CharacterAutomata.learned(["X", "Y"], words, 0.5)
    >>> int(tags.joined(np.array([0.5, 0.5]), "aaab").argmax())
    0
    """

    names: tuple[str, ...]
    automata: ClassAutomata
    power: float

    @classmethod
    def learned(
        cls,
        names: Sequence[str],
        words: Sequence[tuple[str, int]],
        power: float = 1.0,
        rank: int = max(RANKS),
    ) -> CharacterAutomata:
        """From words and the numbers of their tags; a pair that comes twice counts once."""
        pairs = sorted(set(words))
        automata = ClassAutomata(rank, basis=_BASIS).fit(
            [_looked_at(word) for word, _ in pairs], [names[tag] for _, tag in pairs]
        )
        return cls(tuple(names), automata, power)

    @cached_property
    def _columns(self) -> Int64s:
        number = {name: at for at, name in enumerate(self.names)}
        return np.array([number[name] for name in self.automata.classes_], dtype=np.int64)

    def p(self, words: Sequence[str]) -> Float64s:
        """(S, T) P_characters(t | w), of which no share is less than a millionth."""
        shares = np.zeros((len(words), len(self.names)))
        shares[:, self._columns] = self.automata.posteriors([_looked_at(word) for word in words])
        shares = np.maximum(shares, _LEAST)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def joined(self, p: Float64s, word: str) -> Float64s:
        """(T,) the opinion ``p`` on a word, and that of its characters."""
        return np.asarray(_product(p[None], self.p([word]), self.power)[0])

    def chosen(self, words: Sequence[str], tags: Sequence[int], p: Float64s) -> tuple[float, int]:
        """Power and rank for which tags of held-out words are the most probable; power 0 if none.

        ``p`` (S, T) is what the words' shapes say of them.

        Of two ranks the smaller one, and rather none than some, unless the mean gain in nats is
        more than twice its standard error.
        """
        best, power, rank = _nats(tags, p), 0.0, RANKS[0]
        for larger in RANKS:
            of_characters = replace(self, automata=self.automata.truncated(larger)).p(words)
            tried = {
                power_: _nats(tags, _product(p, of_characters, power_)) for power_ in POWERS[1:]
            }
            least = min(tried, key=lambda power_: tried[power_].mean())
            gain = best - tried[least]
            if gain.mean() > _ERRORS * gain.std(ddof=1) / np.sqrt(len(gain)):
                best, power, rank = tried[least], least, larger
        return power, rank


def _nats(tags: Sequence[int], p: Float64s) -> Float64s:
    """(S,) -log of the share of the right tag."""
    right = p[np.arange(len(tags)), tags]
    return np.asarray(-np.log(np.maximum(right, 1e-300)))


def _looked_at(word: str) -> str:
    """The characters that are looked at: a word has no end of them."""
    return word[-LONGEST_SEEN:]


def _product(p: Float64s, of_characters: Float64s, power: float) -> Float64s:
    both = p * of_characters**power
    return np.asarray(both / both.sum(axis=1, keepdims=True))
