"""Split head automata learned from moments (Luque, Quattoni, Balle, Carreras 2012).

The dependents of a head on one side, from the head outwards, are a string of tags.  The strings of
every head tag and side have a weighted automaton, learned from their Hankel block; so has the
string of the roots.  The automata generate tags and tree, without an iteration of EM::

    p(tags, tree) = p(roots) prod_h p(left of h | tag of h) p(right of h | tag of h)

There are no words in it: :class:`~eigentext.dependency.generative.parser.GenerativeParser` has
words, lengths and hidden states of heads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.lab.automata.classes import ClassAutomata

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from eigentext.base.types import Float64s
    from eigentext.dependency.sentence import TaggedSentence

ROOT = "ROOT>"  # the class of the string of roots
_BASIS = 250
_MOST_KNOWN = 1 << 18  # strings whose log p is kept in memory

DependentString = tuple[str, tuple[str, ...]]


def dependents(tags: Sequence[str], heads: Sequence[int]) -> list[DependentString]:
    """Class and string of every head and side: two of each word, and one of the root.

    >>> for side, string in dependents(["DET", "NOUN", "VERB"], [2, 3, 0]):
    ...     print(side, *string)
    ROOT> VERB
    DET<
    DET>
    NOUN< DET
    NOUN>
    VERB< NOUN
    VERB>
    """
    left: list[list[str]] = [[] for _ in range(len(tags) + 1)]
    right: list[list[str]] = [[] for _ in range(len(tags) + 1)]
    for place, (tag, head) in enumerate(zip(tags, heads, strict=True), start=1):
        (right if head < place else left)[head].append(tag)
    strings: list[DependentString] = [(ROOT, tuple(right[0]))]
    for place, tag in enumerate(tags, start=1):
        strings.append((f"{tag}<", tuple(reversed(left[place]))))
        strings.append((f"{tag}>", tuple(right[place])))
    return strings


class HeadAutomata:
    """log p(tags, tree) by automata of dependents; ``model`` are the automata."""

    def __init__(self, model: ClassAutomata) -> None:
        self.model = model
        self._known: dict[DependentString, float] = {}

    @classmethod
    def of(cls, trees: Iterable[tuple[Sequence[str], Any]], **settings: Any) -> HeadAutomata:
        """Learn from tags and heads of sentences; ``settings`` are those of the automata.

        >>> learned = HeadAutomata.of([(["NOUN", "VERB"], [2, 0])] * 50)
        >>> good, bad = learned.log_probs_of(["NOUN", "VERB"], [[2, 0], [0, 1]])
        >>> bool(good > bad)
        True
        """
        strings = [one for tags, heads in trees for one in dependents(tags, list(heads))]
        model = ClassAutomata(**{"basis": _BASIS, "longest": 3, **settings})
        return cls(model.fit([string for _, string in strings], [side for side, _ in strings]))

    @classmethod
    def from_bytes(cls, raw: bytes) -> HeadAutomata:
        """Those whose automata have this model file."""
        return cls(ClassAutomata.from_bytes(raw))

    def log_probs_of(self, tags: Sequence[str], trees: npt.ArrayLike) -> Float64s:
        """(K,) log p(tags, tree) of trees, heads (K, n)."""
        all_strings = [
            dependents(tags, heads) for heads in np.atleast_2d(np.asarray(trees)).tolist()
        ]
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        new = sorted({one for strings in all_strings for one in strings} - self._known.keys())
        if new:
            logs = self.model.log_prob_of([x for _, x in new], [side for side, _ in new])
            self._known.update(zip(new, logs.tolist(), strict=True))
        return np.array([sum(map(self._known.__getitem__, one)) for one in all_strings])

    def log_probs(self, sentence: TaggedSentence, heads: npt.NDArray[Any]) -> Float64s:
        """(K,) of trees over one sentence, by its coarse tags: an expert of the reranker."""
        return self.log_probs_of(sentence.coarse, heads)
