"""What a word says of its tag: one lexicon for every generative tagger here.

1. Words are counted with their tags.  A word seen rarely also speaks for words never seen: it is
   counted under its shapes, from coarse to fine (:func:`shapes_of`): all words, case and marks,
   then its endings of one letter, two letters, ... with its case.
2. P(t | levels) is built up along those levels, each drawn towards the one before with the weight
   of ``k_shape`` words:  p <- (c(shape, t) + k_shape p) / (c(shape) + k_shape).  P(t | shape) is
   the geometric mean of that and of a log-linear model of the same words (``shapes``).
   Automata of characters (``characters``), if asked for, have their say on words never seen.
3. P(t | w) = (c(w, t) + k_word P(t | shape)) / (c(w) + k_word).  A capital at the beginning of a
   sentence says little: the counts of the same word in small letters are added.  An unknown word
   that is known in small letters (GREAT) takes those counts, with the weight ``k_lower`` against
   its shape.
4. The score of a tag is P(t | w) / P(t), which is p(w | t) up to p(w).

The bigram, the trigram and the latent tagger share it, so that they differ in one thing: what they
know of sequences.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from eigentext.base.registry import part
from eigentext.base.remembering import Remembered
from eigentext.features.attributes import TAGGING, Word
from eigentext.sequences.tagger.shapes import LONGEST_SEEN, ShapeModel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eigentext.base.types import Float64s, Int64s
    from eigentext.sequences.settings import Characters

    # how often each (word, number of its tag, begins a sentence?) comes
    Types = Mapping[tuple[str, int, bool], int]

_MOST_WORDS = 50_000  # whose scores are remembered
_RARE = 10  # a word seen at most so often speaks for unknown ones
_EVERY = 5  # of the words seen once, one in so many is held out
_FEWEST = 20  # words held out: what fewer of them say is chance


def shapes_of(word: str, *, first: bool) -> tuple[str, ...]:
    """The shapes of a word from coarse to fine.

    >>> shapes_of("Overthinking", first=True)
    ('', 'title1', 'title1+++', 'title1+++g', 'title1+++ng', 'title1+++ing', 'title1+++king')
    """
    attributes = TAGGING.texts(Word(word[-LONGEST_SEEN:]))
    case = attributes["case"] + "1" * first
    marks = case + "+" + attributes["kind"]
    endings = [marks + attributes[f"suf{n}"] for n in (1, 2, 3, 4) if f"suf{n}" in attributes]
    return ("", case, marks, *endings)


class TagScores(NamedTuple):
    """The tags that a word may have, P(t | w), and the scores P(t | w) / P(t)."""

    tags: Int64s
    p: Float64s
    scores: Float64s


class CharacterTags(Protocol):
    """What the laboratory's automata of characters say of unknown words."""

    automata: Any
    power: float

    def joined(self, p: Float64s, word: str) -> Float64s:
        """(T,) the opinion ``p`` on a word, and that of its characters."""


@dataclass(frozen=True, eq=False)
class WordTags:
    """Counts of words and shapes with tags.

    ``names``      (T,) the tags
    ``words``      known words; row w of the counts: ``word_tag/word_n[word_ptr[w]:word_ptr[w+1]]``
    ``shapes``     known shapes, counted over rare words; same layout
    ``model``      the log-linear model of rare words; None where they all have one tag
    ``characters`` automata of rare words, asked about unknown ones; None: they are not asked
    ``keep``       a tag with less than this share of the best tag's is left out; 0 keeps all
    """

    names: tuple[str, ...]
    words: tuple[str, ...]
    word_ptr: Int64s
    word_tag: Int64s
    word_n: Float64s
    shapes: tuple[str, ...]
    shape_ptr: Int64s
    shape_tag: Int64s
    shape_n: Float64s
    model: ShapeModel | None = None
    characters: CharacterTags | None = None
    k_word: float = 0.2
    k_shape: float = 3.0
    k_lower: float = 2.0
    keep: float = 1e-4
    _known: Remembered[tuple[str, bool], TagScores] = field(
        default_factory=lambda: Remembered(_MOST_WORDS), init=False, repr=False
    )

    @classmethod
    def count(
        cls,
        names: Sequence[str],
        sentences: Sequence[Sequence[str]],
        tags: Sequence[Sequence[int]],
        *,
        characters: Characters = "none",
        **settings: Any,
    ) -> WordTags:
        """From tokenised sentences and the numbers of their tags.

        ``characters``  automata: ask them about unknown words, where held-out words gain by it

        >>> words = WordTags.count(["A", "B"], [["x", "y"]], [[0, 1]], k_word=0.0)
        >>> words.scores("y", first=False).p.tolist()
        [1.0]
        """
        types = Counter(
            (word, tag, at == 0)
            for tokens, row in zip(sentences, tags, strict=True)
            for at, (word, tag) in enumerate(zip(tokens, row, strict=True))
        )
        words = cls.of_types(names, types, **settings)
        if characters == "none":
            return words
        return replace(words, characters=_characters(names, types, settings))

    @classmethod
    def of_types(cls, names: Sequence[str], types: Types, **settings: Any) -> WordTags:
        """From how often each (word, number of its tag, begins a sentence?) comes."""
        counts = _often(types)
        words: dict[str, int] = {}
        of_shapes: dict[str, int] = {}
        known: list[tuple[int, int, float]] = []
        rare: list[tuple[int, int, float]] = []
        for (word, tag, first), n in types.items():
            known.append((words.setdefault(word, len(words)), tag, n))
            if counts[word] <= _RARE:
                # A word seen c times tells of unseen words with weight 1 / sqrt(c) an occurrence.
                weight = n / math.sqrt(counts[word])
                rare.extend(
                    (of_shapes.setdefault(shape, len(of_shapes)), tag, weight)
                    for shape in shapes_of(word, first=first)
                )
        size = len(names)
        few = _rare_types(types)
        weights = [types[key] / math.sqrt(counts[key[0]]) for key in few]
        model = ShapeModel.fit(
            size, [(word, first) for word, _, first in few], [tag for _, tag, _ in few], weights
        )
        return cls(
            tuple(names),
            tuple(words),
            *_rows(known, len(words), size),
            tuple(of_shapes),
            *_rows(rare, len(of_shapes), size),
            model,
            **settings,
        )

    @cached_property
    def word_number(self) -> dict[str, int]:
        """Word -> row of the counts."""
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def shape_number(self) -> dict[str, int]:
        """Shape -> row of the counts."""
        return {shape: number for number, shape in enumerate(self.shapes)}

    @cached_property
    def p_tag(self) -> Float64s:
        """(T,) share of each tag in the running text."""
        n = np.bincount(self.word_tag, weights=self.word_n, minlength=len(self.names))
        return np.asarray(n / n.sum())

    @cached_property
    def n_tokens(self) -> float:
        """Length of the running text."""
        return float(self.word_n.sum())

    @property
    def word_counts(self) -> dict[str, float]:
        """How often each word was seen."""
        totals = np.diff(np.concatenate([[0.0], np.cumsum(self.word_n)])[self.word_ptr])
        return dict(zip(self.words, totals.tolist(), strict=True))

    def knows(self, word: str) -> bool:
        """Was the word seen in training?"""
        return word in self.word_number

    def log_p_word(self, word: str) -> float:
        """log p(w); all unknown words are one symbol that counts as seen once."""
        row = self.word_number.get(word)
        n = 1.0 if row is None else self.word_n[self.word_ptr[row] : self.word_ptr[row + 1]].sum()
        return math.log(n / (self.n_tokens + 1.0))

    def scores(self, word: str, *, first: bool) -> TagScores:
        """Tags that this word may have, in rising order, and how well they fit."""
        key = (word, first)
        scores = self._known.get(key)
        if scores is None:
            p = self.p_given_word(word, first=first)
            kept = np.flatnonzero((p >= self.keep * p.max()) & (p > 0))
            scores = TagScores(kept, p[kept], p[kept] / self.p_tag[kept])
            self._known.put(key, scores)
        return scores

    def score_of(self, word: str, tag: int, *, first: bool) -> float:
        """The score of one tag, also of one that would be left out."""
        candidates = self.scores(word, first=first)
        at = int(np.searchsorted(candidates.tags, tag))
        if at < len(candidates.tags) and candidates.tags[at] == tag:
            return float(candidates.scores[at])
        return float(self.p_given_word(word, first=first)[tag] / self.p_tag[tag])

    def _row(self, word: str) -> Float64s:
        row = self.word_number.get(word)
        if row is None:
            return np.zeros(len(self.names))
        columns = slice(self.word_ptr[row], self.word_ptr[row + 1])
        return np.bincount(
            self.word_tag[columns], weights=self.word_n[columns], minlength=len(self.names)
        ).astype(float)

    def p_given_levels(self, word: str, *, first: bool) -> Float64s:
        """(T,) P(t | levels), along the shapes from coarse to fine."""
        p = self.p_tag
        for shape in shapes_of(word, first=first):
            row = self.shape_number.get(shape)
            if row is None:
                break
            columns = slice(self.shape_ptr[row], self.shape_ptr[row + 1])
            n = self.shape_n[columns]
            p = self.k_shape * p
            p[self.shape_tag[columns]] += n
            p /= n.sum() + self.k_shape
        return np.asarray(p)

    def p_given_shape(self, word: str, *, first: bool) -> Float64s:
        """(T,) P(t | shape)."""
        p = self.p_given_levels(word, first=first)
        if self.model is None:
            return p
        both = np.sqrt(p * self.model.p(word, first=first))
        return np.asarray(both / both.sum())

    def p_given_unknown(self, word: str, *, first: bool) -> Float64s:
        """(T,) P(t | w) of a word never seen: of its shape, and of its characters if asked for."""
        p = self.p_given_shape(word, first=first)
        return p if self.characters is None else self.characters.joined(p, word)

    def p_given_word(self, word: str, *, first: bool) -> Float64s:
        """(T,) P(t | w)."""
        counts = self._row(word)
        lower = word.lower()
        if not counts.any() and lower != word:
            below, k = self._row(lower), self.k_lower
            counts = below
        else:
            k = self.k_word
            if first and word[:1].isupper() and lower != word:
                counts = counts + self._row(lower)
        n = counts.sum()
        if n and not k:
            return np.asarray(counts / n)
        p_of = self.p_given_shape if self.knows(word) else self.p_given_unknown
        return np.asarray((counts + k * p_of(word, first=first)) / (n + k))


def _often(types: Types) -> Counter[str]:
    """How often each word comes."""
    counts: Counter[str] = Counter()
    for (word, _, _), n in types.items():
        counts[word] += n
    return counts


def _rare_types(types: Types) -> list[tuple[str, int, bool]]:
    """Those of rare words, in order."""
    counts = _often(types)
    return [key for key in types if counts[key[0]] <= _RARE]


def _characters(
    names: Sequence[str], types: Types, settings: Mapping[str, Any]
) -> CharacterTags | None:
    """Automata of the rare words, of the power and rank that are best for words held out.

    A fifth of the words that come once are taken out of all counts: nothing is more like a word
    that never came.  ``settings`` are those of the tagger's own :class:`WordTags`.
    """
    counts = _often(types)
    once = sorted(key for key in types if counts[key[0]] == 1)
    held = once[::_EVERY]
    without = {word for word, *_ in held}
    kept = {key: n for key, n in types.items() if key[0] not in without}
    if len(held) < _FEWEST or not kept:
        return None
    rest = WordTags.of_types(names, kept, **settings)
    p = np.array([rest.p_given_shape(word, first=first) for word, _, first in held])
    learned = part("automata of characters").learned
    power, rank = learned(names, [key[:2] for key in _rare_types(kept)]).chosen(
        [word for word, *_ in held], [tag for _, tag, _ in held], p
    )
    if not power:
        return None
    pairs = [key[:2] for key in _rare_types(types)]
    automata: CharacterTags = learned(names, pairs, power, rank)
    return automata


def _rows(
    entries: Sequence[tuple[int, int, float]], n_rows: int, n_columns: int
) -> tuple[Int64s, Int64s, Float64s]:
    """Sum duplicates and return (ptr, columns, counts) by rows."""
    from scipy.sparse import coo_array

    row, column, n = np.array(entries, dtype=float).reshape(-1, 3).T
    at = (row.astype(np.int64), column.astype(np.int64))
    matrix = coo_array((n, at), shape=(n_rows, n_columns)).tocsr()
    matrix.sum_duplicates()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data
