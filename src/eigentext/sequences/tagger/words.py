"""What a word says of its tag: one lexicon for every generative tagger here.

1. Words are counted with their tags.  A word seen rarely also speaks for words never seen: it is
   counted under its looks, from coarse to fine (:func:`looks_of`): all words, its case and marks,
   then its endings of one letter, two letters, ... with its case.
2. P(t | levels) is built up along those levels, each drawn towards the one before with the weight
   of ``k_look`` words:  p <- (c(look, t) + k_look p) / (c(look) + k_look).  P(t | looks) is the
   geometric mean of that and of a log-linear model of the same words (``looks``).
3. P(t | w) = (c(w, t) + k_word P(t | looks)) / (c(w) + k_word).  A capital at the beginning of a
   sentence says little: the counts of the same word in small letters are added.  An unknown word
   that is known in small letters (GREAT) takes those counts, with the weight ``k_lower`` against
   its looks.
4. The score of a tag is P(t | w) / P(t), which is p(w | t) up to p(w).

The bigram, the trigram and the latent tagger share it, so that they differ in one thing: what they
know of sequences.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigentext.sequences.tagger.looks import LONGEST_SEEN, LookModel
from eigentext.tagging.templates import looks

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

__all__ = ["TagScores", "WordTags", "looks_of"]

_CACHE_LIMIT = 50_000
_RARE = 10  # a word seen at most so often speaks for unknown ones


def looks_of(word: str, *, first: bool) -> tuple[str, ...]:
    """The looks of a word from coarse to fine.

    >>> looks_of("Overthinking", first=True)
    ('', 'title1', 'title1+++', 'title1+++g', 'title1+++ng', 'title1+++ing', 'title1+++king')
    """
    seen = looks(word[-LONGEST_SEEN:])
    case = seen["case"] + "1" * first
    shape = case + "+" + seen["kind"]
    endings = [shape + seen[f"suf{n}"] for n in (1, 2, 3, 4) if f"suf{n}" in seen]
    return ("", case, shape, *endings)


class TagScores(NamedTuple):
    """The tags that a word may have, P(t | w), and the scores P(t | w) / P(t)."""

    tags: Ints
    p: Floats
    scores: Floats


@dataclass(frozen=True, eq=False)
class WordTags:
    """Counts of words and looks with tags.

    ``names``      (T,) the tags
    ``words``      known words; row w of the counts: ``word_tag/word_n[word_ptr[w]:word_ptr[w+1]]``
    ``looks``      known looks, counted over rare words; same layout
    ``model``      the log-linear model of rare words; None where they all have one tag
    ``keep``       a tag with less than this share of the best tag's is left out; 0 keeps all
    """

    names: tuple[str, ...]
    words: tuple[str, ...]
    word_ptr: Ints
    word_tag: Ints
    word_n: Floats
    looks: tuple[str, ...]
    look_ptr: Ints
    look_tag: Ints
    look_n: Floats
    model: LookModel | None = None
    k_word: float = 0.2
    k_look: float = 3.0
    k_lower: float = 2.0
    keep: float = 1e-4
    _cache: dict[tuple[str, bool], TagScores] = field(default_factory=dict, repr=False)

    @classmethod
    def count(
        cls,
        names: Sequence[str],
        sentences: Sequence[Sequence[str]],
        tags: Sequence[Sequence[int]],
        **settings: Any,
    ) -> WordTags:
        """From tokenised sentences and the numbers of their tags.

        >>> words = WordTags.count(["A", "B"], [["x", "y"]], [[0, 1]], k_word=0.0)
        >>> words.scores("y", first=False).p.tolist()
        [1.0]
        """
        counts = Counter(word for tokens in sentences for word in tokens)
        words: dict[str, int] = {}
        of_looks: dict[str, int] = {}
        known: list[tuple[int, int, float]] = []
        rare: list[tuple[int, int, float]] = []
        types = Counter(
            (word, tag, at == 0)
            for tokens, row in zip(sentences, tags, strict=True)
            for at, (word, tag) in enumerate(zip(tokens, row, strict=True))
        )
        for (word, tag, first), n in types.items():
            known.append((words.setdefault(word, len(words)), tag, n))
            if counts[word] <= _RARE:
                # A word seen c times tells of unseen words with weight 1 / sqrt(c) an occurrence.
                weight = n / math.sqrt(counts[word])
                rare.extend(
                    (of_looks.setdefault(look, len(of_looks)), tag, weight)
                    for look in looks_of(word, first=first)
                )
        size = len(names)
        few = [key for key in types if counts[key[0]] <= _RARE]
        weights = [types[key] / math.sqrt(counts[key[0]]) for key in few]
        model = LookModel.fit(
            size, [(word, first) for word, _, first in few], [tag for _, tag, _ in few], weights
        )
        return cls(
            tuple(names),
            tuple(words),
            *_rows(known, len(words), size),
            tuple(of_looks),
            *_rows(rare, len(of_looks), size),
            model,
            **settings,
        )

    @cached_property
    def word_number(self) -> dict[str, int]:
        """Word -> row of the counts."""
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def look_number(self) -> dict[str, int]:
        """Looks -> row of the counts."""
        return {look: number for number, look in enumerate(self.looks)}

    @cached_property
    def p_tag(self) -> Floats:
        """(T,) share of each tag in the running text."""
        n = np.bincount(self.word_tag, weights=self.word_n, minlength=len(self.names))
        return np.asarray(n / n.sum())

    @cached_property
    def n_tokens(self) -> float:
        """Length of the running text."""
        return float(self.word_n.sum())

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
        found = self._cache.get(key)
        if found is None:
            if len(self._cache) >= _CACHE_LIMIT:
                self._cache.clear()
            p = self.p_given_word(word, first=first)
            kept = np.flatnonzero((p >= self.keep * p.max()) & (p > 0))
            found = self._cache[key] = TagScores(kept, p[kept], p[kept] / self.p_tag[kept])
        return found

    def score_of(self, word: str, tag: int, *, first: bool) -> float:
        """The score of one tag, also of one that would be left out."""
        found = self.scores(word, first=first)
        at = int(np.searchsorted(found.tags, tag))
        if at < len(found.tags) and found.tags[at] == tag:
            return float(found.scores[at])
        return float(self.p_given_word(word, first=first)[tag] / self.p_tag[tag])

    def _row(self, word: str) -> Floats:
        row = self.word_number.get(word)
        if row is None:
            return np.zeros(len(self.names))
        place = slice(self.word_ptr[row], self.word_ptr[row + 1])
        return np.bincount(
            self.word_tag[place], weights=self.word_n[place], minlength=len(self.names)
        ).astype(float)

    def p_given_levels(self, word: str, *, first: bool) -> Floats:
        """(T,) P(t | levels), along the looks from coarse to fine."""
        p = self.p_tag
        for look in looks_of(word, first=first):
            row = self.look_number.get(look)
            if row is None:
                break
            place = slice(self.look_ptr[row], self.look_ptr[row + 1])
            n = self.look_n[place]
            p = self.k_look * p
            p[self.look_tag[place]] += n
            p /= n.sum() + self.k_look
        return np.asarray(p)

    def p_given_looks(self, word: str, *, first: bool) -> Floats:
        """(T,) P(t | looks)."""
        p = self.p_given_levels(word, first=first)
        if self.model is None:
            return p
        both = np.sqrt(p * self.model.p(word, first=first))
        return np.asarray(both / both.sum())

    def p_given_word(self, word: str, *, first: bool) -> Floats:
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
        return np.asarray((counts + k * self.p_given_looks(word, first=first)) / (n + k))


def _rows(
    entries: Sequence[tuple[int, int, float]], n_rows: int, n_columns: int
) -> tuple[Ints, Ints, Floats]:
    """Sum duplicates and return (ptr, columns, counts) by rows."""
    from scipy.sparse import coo_array

    row, column, n = np.array(entries, dtype=float).reshape(-1, 3).T
    at = (row.astype(np.int64), column.astype(np.int64))
    matrix = coo_array((n, at), shape=(n_rows, n_columns)).tocsr()
    matrix.sum_duplicates()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data
