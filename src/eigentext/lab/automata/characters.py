"""What all characters of a word say of its tag: automata of rare words, and Bayes.

1. Each tag has a weighted automaton of the rare words that it has (:class:`ClassAutomata`)::

       P_characters(t | w) = p(t) p(w | t) / sum over tags u of p(u) p(w | u)

2. That is a further opinion on an unknown word, beside its shape, with a power::

       P(t | w) ~ P(t | shape) P_characters(t | w)^power

   A product over all characters of a word is too sure of itself, so the power is a small one.
   Power and rank are those for which held-out words have the most probable tags; 0 does without.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from eigentext.sequences.tagger.shapes import LONGEST_SEEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.types import Float64s, Int64s
    from eigentext.lab.automata.classes import ClassAutomata

POWERS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.35, 0.5, 0.75, 1.0)
RANKS = (25, 50, 100)  # every character has a matrix: more takes hundreds of megabytes
_BASIS = 250
_LEAST = 1e-6  # share of a tag that no rare word has, or that underflows
_ERRORS = 2.0  # standard errors that automata, or a larger rank of them, have to gain


@dataclass(frozen=True, eq=False)
class CharacterTags:
    """``automata`` of words by tag, for a tagger with the tags ``names``; the ``power`` of them.

    >>> words = [("aab", 0), ("ab", 0), ("ba", 1), ("baa", 1)] * 10
    >>> tags = CharacterTags.learned(["X", "Y"], words, 0.5)
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
    ) -> CharacterTags:
        """From words and the numbers of their tags; a pair that comes twice counts once."""
        from eigentext.lab.automata.classes import ClassAutomata

        pairs = sorted(set(words))
        automata = ClassAutomata(rank, basis=_BASIS).fit(
            [_seen(word) for word, _ in pairs], [names[tag] for _, tag in pairs]
        )
        return cls(tuple(names), automata, power)

    @cached_property
    def _columns(self) -> Int64s:
        number = {name: at for at, name in enumerate(self.names)}
        return np.array([number[name] for name in self.automata.classes_], dtype=np.int64)

    def p(self, words: Sequence[str]) -> Float64s:
        """(S, T) P_characters(t | w), of which no share is less than a millionth."""
        shares = np.zeros((len(words), len(self.names)))
        shares[:, self._columns] = self.automata.posteriors([_seen(word) for word in words])
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
            own = replace(self, automata=self.automata.truncated(larger)).p(words)
            tried = {one: _nats(tags, _product(p, own, one)) for one in POWERS[1:]}
            least = min(tried, key=lambda one: tried[one].mean())
            gain = best - tried[least]
            if gain.mean() > _ERRORS * gain.std(ddof=1) / np.sqrt(len(gain)):
                best, power, rank = tried[least], least, larger
        return power, rank


def _nats(tags: Sequence[int], p: Float64s) -> Float64s:
    """(S,) -log of the share of the right tag."""
    right = p[np.arange(len(tags)), tags]
    return np.asarray(-np.log(np.maximum(right, 1e-300)))


def _seen(word: str) -> str:
    """The characters that are looked at: a word has no end of them."""
    return word[-LONGEST_SEEN:]


def _product(p: Float64s, own: Float64s, power: float) -> Float64s:
    both = p * own**power
    return np.asarray(both / both.sum(axis=1, keepdims=True))
