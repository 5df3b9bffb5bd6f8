"""What a word says of its tag: one lexicon for every generative tagger here.

1. Words are counted with their tags.  A word seen rarely also speaks for words never seen: it is
   counted under its shapes, from coarse to fine (:func:`shapes_of`): all words, case and marks,
   then its endings of one letter, two letters, ... with its case.
2. P(t | levels) is built up along those levels, each drawn towards the one before with the weight
   of ``k_shape`` words:  p <- (c(shape, t) + k_shape p) / (c(shape) + k_shape).  P(t | shape) is
   the geometric mean of that and of a log-linear model of the same words (:class:`ShapeModel`).
   Automata of characters (``characters``), if there are any, have their say on words never seen.
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
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from eigentext.base.ragged import pointers
from eigentext.base.registry import part
from eigentext.base.remembering import Remembered
from eigentext.base.types import Float32s, Float64s, Int64s
from eigentext.features.attributes import TAGGING, KeyedWord
from eigentext.sequences.settings import Characters

# how often each (word, number of its tag, begins a sentence?) comes
Types = Mapping[tuple[str, int, bool], int]


LONGEST_SEEN = 40  # characters at the end of a word that are looked at
_PRIOR = 0.5  # variance of a weight, in units of one occurrence
_ITERATIONS = 60
_LEAST = -14.0  # log weight of a tag that no rare word has
_SHAPE = 12  # characters of a shape


def features_of(word: str, *, first: bool) -> list[str]:
    """Names of what there is to see: case, marks, shape, beginnings, endings, length; each once.

    >>> features_of("Re-run", first=True)[:4]
    ['case=title', 'kind=++dash', 'form=Xx-x', 'shape=Xx-xxx']
    """
    attributes = TAGGING.texts(KeyedWord(word[-LONGEST_SEEN:]))
    case = attributes["case"]
    names = [f"case={case}", f"kind={attributes['kind']}"]
    names += [f"form={attributes['form'][:_SHAPE]}", f"shape={attributes['shape'][:_SHAPE]}"]
    names += [f"{slot}={attributes[slot]}" for slot in _ENDS if slot in attributes]
    names += [f"end={attributes.get('suf2', '')}/{case}", f"lower={attributes['lower']}"]
    names.append(f"length={min(len(word), 8)}")
    if "-" in attributes["lower"]:
        names.append(f"last={attributes['lower'].rpartition('-')[2]}")
    if first:
        names += ["first", f"first={case}"]
    return names


_ENDS = ("suf1", "suf2", "suf3", "suf4", "pre1", "pre2", "pre3")


@dataclass(frozen=True, eq=False)
class ShapeModel:
    """A log-linear model over rare words, which are what unknown words are like.

    p(t | shape) ~ exp(b_t + sum_f W[f, t]), with a Gaussian prior on W.
    """

    features: tuple[str, ...]
    weights: Float32s  # (F + 1, T) W, the last row are the b_t

    @classmethod
    def fit(
        cls,
        n_tags: int,
        words: Sequence[tuple[str, bool]],
        tags: Sequence[int],
        weights: Sequence[float],
    ) -> ShapeModel | None:
        """From (word, begins a sentence), its tag and its weight; None if all have one tag."""
        if len(set(tags)) < 2:
            return None
        from scipy.sparse import csr_array
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        from eigentext.linalg.ties import single_threaded

        rows = [features_of(word, first=first) for word, first in words]
        counts = Counter(name for row in rows for name in row)
        number: dict[str, int] = {}
        kept = [
            [number.setdefault(name, len(number)) for name in row if counts[name] > 1]
            for row in rows
        ]
        ptr = pointers(map(len, kept))
        columns = np.array([at for row in kept for at in row], dtype=np.int64)
        shape = (len(rows), max(len(number), 1))
        X = csr_array((np.ones(len(columns)), columns, ptr), shape=shape)
        with single_threaded(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # near enough is good enough
            model = LogisticRegression(C=_PRIOR, max_iter=_ITERATIONS, tol=1e-3)
            model.fit(X, np.asarray(tags), sample_weight=np.asarray(weights))
        coefficients = np.zeros((len(number) + 1, n_tags), np.float32)
        coefficients[-1] = _LEAST
        classes = model.classes_
        if len(classes) == 2:  # one column for the two: the other one is zero
            coefficients[-1, classes[0]] = 0.0
            classes = classes[1:]
        coefficients[:-1, classes] = model.coef_.T[: len(number)]
        coefficients[-1, classes] = model.intercept_
        return cls(tuple(number), coefficients)

    @cached_property
    def _number(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.features)}

    def p(self, word: str, *, first: bool) -> Float64s:
        """(T,) P(t | shape).

        >>> words = [("runs", False), ("cats", False), ("hits", False), ("bats", False)]
        >>> model = ShapeModel.fit(2, words, [0, 1, 0, 1], [1.0] * 4)
        >>> model.p("mats", first=False).round(1).tolist()
        [0.4, 0.6]
        """
        number = self._number
        rows = [number[name] for name in features_of(word, first=first) if name in number]
        scores = self.weights[[*rows, -1]].sum(axis=0, dtype=np.float64)
        p = np.exp(scores - scores.max())
        return np.asarray(p / p.sum())


_MOST_WORDS = 50_000  # whose scores are remembered
_RARE = 10  # a word seen at most so often speaks for unknown ones
_EVERY = 5  # of the words seen once, one in so many is held out
_FEWEST = 20  # words held out: what fewer of them say is chance


def shapes_of(word: str, *, first: bool) -> tuple[str, ...]:
    """The shapes of a word from coarse to fine.

    >>> shapes_of("Overthinking", first=True)
    ('', 'title1', 'title1+++', 'title1+++g', 'title1+++ng', 'title1+++ing', 'title1+++king')
    """
    attributes = TAGGING.texts(KeyedWord(word[-LONGEST_SEEN:]))
    case = attributes["case"] + "1" * first
    marks = case + "+" + attributes["kind"]
    endings = [marks + attributes[f"suf{n}"] for n in (1, 2, 3, 4) if f"suf{n}" in attributes]
    return ("", case, marks, *endings)


class TagScores(NamedTuple):
    """The tags that a word may have, P(t | w), and the scores P(t | w) / P(t)."""

    tags: Int64s
    p: Float64s
    scores: Float64s


class CharacterModel(Protocol):
    """What the laboratory's automata of characters say of unknown words."""

    automata: Any
    power: float

    def joined(self, p: Float64s, word: str) -> Float64s:
        """(T,) the opinion ``p`` on a word, and that of its characters."""


@dataclass(frozen=True, eq=False)
class WordTags:
    """Counts of words and shapes with tags."""

    names: tuple[str, ...]  # (T,) the tags
    words: tuple[str, ...]
    word_ptr: Int64s  # row w of the counts: ``word_tag/word_n[word_ptr[w] : word_ptr[w + 1]]``
    word_tag: Int64s
    word_n: Float64s
    shapes: tuple[str, ...]  # known shapes, counted over rare words; same layout
    shape_ptr: Int64s
    shape_tag: Int64s
    shape_n: Float64s
    model: ShapeModel | None = None  # of rare words; None where they all have one tag
    characters: CharacterModel | None = None  # of unknown words; None: not asked
    k_word: float = 0.2
    k_shape: float = 3.0
    k_lower: float = 2.0
    keep: float = 1e-4  # a tag with less than this share of the best tag's is left out
    _scores: Remembered[tuple[str, bool], TagScores] = field(
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
        **settings: object,
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
        word_entries: list[tuple[int, int, float]] = []
        shape_entries: list[tuple[int, int, float]] = []
        for (word, tag, first), n in types.items():
            word_entries.append((words.setdefault(word, len(words)), tag, n))
            if counts[word] <= _RARE:
                # A word seen c times tells of unseen words with weight 1 / sqrt(c) an occurrence.
                weight = n / math.sqrt(counts[word])
                shape_entries.extend(
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
            *_rows(word_entries, len(words), size),
            tuple(of_shapes),
            *_rows(shape_entries, len(of_shapes), size),
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
        scores = self._scores.get(key)
        if scores is None:
            p = self.p_given_word(word, first=first)
            kept = np.flatnonzero((p >= self.keep * p.max()) & (p > 0))
            scores = TagScores(kept, p[kept], p[kept] / self.p_tag[kept])
            self._scores.put(key, scores)
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

    def p_given_shape(self, word: str, *, first: bool) -> Float64s:
        """(T,) P(t | shape): along the shapes from coarse to fine, and by the model."""
        p = self.p_tag
        for shape in shapes_of(word, first=first):
            row = self.shape_number.get(shape)
            if row is None:
                break
            columns = slice(self.shape_ptr[row], self.shape_ptr[row + 1])
            n = self.shape_n[columns]
            p = self.k_shape * p  # the coarser level, as so many words
            p[self.shape_tag[columns]] += n
            p /= n.sum() + self.k_shape
        if self.model is None:
            return np.asarray(p)
        both = np.sqrt(p * self.model.p(word, first=first))  # geometric mean
        return np.asarray(both / both.sum())

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
        p = self.p_given_shape(word, first=first)
        if self.characters is not None and not self.knows(word):
            p = self.characters.joined(p, word)
        return np.asarray((counts + k * p) / (n + k))


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
    names: Sequence[str], types: Types, settings: Mapping[str, object]
) -> CharacterModel | None:
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
    automata: CharacterModel = learned(names, pairs, power, rank)
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
