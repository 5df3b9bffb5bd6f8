"""From a word to scores of (tag, state): counts, signatures and base tags, in that order of trust.

With ts = (tag, state), B = the base tag (the last label of a collapsed chain such as NP>NN):

1. P(ts | w) is that of ``features.smoothing``: a word seen only as NN may still be the NP>NN of a
   bare noun phrase, and the states of a few occurrences say little about the next one.
2. The score is emits(ts) P(ts | w) / P(ts), which is p(w | ts) up to the words' constant p(w);
   ``emits`` is the share of the label and state that stands over a word, 1 for a proper tag.

p(w) is the share of the word in the training text; all unknown words together are one symbol that
counts as seen once: p(w) = c(w) / (N + 1), and 1 / (N + 1) for a word never seen.

3. An unknown word of punctuation marks has only tags that such words have in training: its
   P(ts | sig) is that of all of them with its signature, where other words have that of rare ones.

With k_sig = k_base = 0 the score of a known word is the relative frequency, exactly.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from eigentext.base.ragged import pointers
from eigentext.base.remembering import Remembered
from eigentext.base.types import Bools, Float32s, Float64s, Int64s, Numbers
from eigentext.constituency.class_counts import ClassCounts
from eigentext.constituency.forms import spellings
from eigentext.constituency.settings import Smoothing
from eigentext.constituency.transform import user_labels
from eigentext.constituency.treebank import Treebank
from eigentext.features.signatures import Language, signatures
from eigentext.features.smoothing import Evidence, Strengths, of_signature, smoothed
from eigentext.features.word_classes import WordClasses

_MOST_SHAPES = 1_000  # of the latest signatures, which many words share
_MOST_EMISSIONS = 50_000  # of the latest words
_USUAL = Smoothing()
_RARE = 5  # a word seen no more often speaks for its signature
_KEEP = 1e-5  # a tag with less than this share of the best tag's is left out


class Emission(NamedTuple):
    """What a word may be: places in ``Lexicon.tags``, P(tag | w) / P(tag), and a score per ts."""

    tags: Int64s
    scores: Float64s
    states: Float32s


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Counts of words and signatures with (tag, state) pairs."""

    tags: Int64s  # (T,) nonterminal number of each tag
    tag_ptr: Int64s  # (T + 1,) its states in ts order
    base: Int64s  # (T,) number of the tag's base tag
    # known words; row w of the counts: ``word_ts/word_n[word_ptr[w]:word_ptr[w+1]]``
    words: tuple[str, ...]
    word_ptr: Int64s
    word_ts: Int64s
    word_n: Float64s
    shapes: tuple[str, ...]  # known signatures, counted over rare words; same layout
    shape_ptr: Int64s
    shape_ts: Int64s
    shape_n: Float64s
    emits: Float64s  # (n_ts,) share of the label with that state that stands over a word
    language: Language
    k_sig: float = 2.0
    k_base: float = 1.0
    k_state: float = 4.0
    trust: float = 50.0
    by_class: ClassCounts | None = None
    _emissions: Remembered[tuple[str, bool, bool], Emission] = field(
        default_factory=lambda: Remembered(_MOST_EMISSIONS), init=False, repr=False
    )
    _shape_of: Remembered[tuple[str, bool], str] = field(
        default_factory=lambda: Remembered(_MOST_SHAPES), init=False, repr=False
    )
    _of_shapes: Remembered[str, Float64s] = field(
        default_factory=lambda: Remembered(_MOST_SHAPES), init=False, repr=False
    )

    # -- what follows from the counts -------------------------------------------------------------

    @property
    def tag_level(self) -> Lexicon:
        """The lexicon that counts; that of moments stands on one."""
        return self

    @property
    def n_ts(self) -> int:
        """Number of (tag, state) pairs."""
        return int(self.tag_ptr[-1])

    @cached_property
    def word_number(self) -> dict[str, int]:
        """Word -> row of the counts."""
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def shape_number(self) -> dict[str, int]:
        """Signature -> row of the counts."""
        return {shape: number for number, shape in enumerate(self.shapes)}

    @cached_property
    def n_words(self) -> Float64s:
        """(words,) how often each word was seen."""
        total = np.concatenate([[0.0], np.cumsum(self.word_n)])
        n = np.diff(total[self.word_ptr])
        whole = np.rint(n)  # expected states of a treebank's words sum to whole numbers
        return np.asarray(np.where(np.abs(n - whole) < 1e-3, whole, n))

    @cached_property
    def n_tokens(self) -> float:
        """How many words the training text had."""
        return float(self.n_words.sum())

    @cached_property
    def ts_tag(self) -> Int64s:
        """(n_ts,) the tag of each pair."""
        return np.repeat(np.arange(len(self.tags)), np.diff(self.tag_ptr))

    @cached_property
    def ts_base(self) -> Int64s:
        """(n_ts,) the base tag of each pair."""
        return self.base[self.ts_tag]

    @cached_property
    def p_ts(self) -> Float64s:
        """(n_ts,) P(ts), share of the running text."""
        count = np.maximum(_sums(self.word_ts, self.word_n, self.n_ts), 1e-10)
        return np.asarray(count / count.sum())

    @cached_property
    def p_rare(self) -> Float64s:
        """(n_ts,) P(ts) among rare words."""
        rare = _sums(self.shape_ts, self.shape_n, self.n_ts) + 1e-6 * self.p_ts
        return np.asarray(rare / rare.sum())

    @cached_property
    def p_tag(self) -> Float64s:
        """(T,) P(tag)."""
        return _sums(self.ts_tag, self.p_ts, len(self.tags))

    @cached_property
    def ts_given_base(self) -> Float64s:
        """(n_ts,) P(ts | B)."""
        return np.asarray(self.p_ts / np.bincount(self.ts_base, weights=self.p_ts)[self.ts_base])

    # -- words ------------------------------------------------------------------------------------

    def knows(self, word: str) -> bool:
        """Was the word seen in training?"""
        return word in self.word_number

    def seen(self, word: str) -> float:
        """How often the word was in the training text."""
        number = self.word_number.get(word)
        return 0.0 if number is None else float(self.n_words[number])

    def log_p_word(self, word: str) -> float:
        """log p(w); all unknown words are one symbol that counts as seen once."""
        number = self.word_number.get(word)
        count = 1.0 if number is None else float(self.n_words[number])
        return math.log(count / (self.n_tokens + 1.0))

    def emission(self, word: str, *, first: bool, folded: bool = False) -> Emission:
        """Scores of the tags and states that this word may have.

        ``first``   it begins the sentence, so a capital says little
        ``folded``  all words of the sentence have capitals, so they say nothing
        """
        key = (word, first, folded)
        return self._emissions.get_or(key, lambda: self._scored(self._p_given_word(*key)))

    def emission_as(
        self, word: str, admitted: Int64s, *, first: bool, folded: bool = False
    ) -> Emission:
        """The same when the word is known to have one of these tags (places in ``tags``)."""
        # A word that never had such a tag may be any state of it.
        may = np.zeros(len(self.tags), bool)
        may[admitted] = True
        p = np.where(may[self.ts_tag], self._p_given_word(word, first, folded), 0.0)
        if not p.sum() > 0:
            p = np.where(may[self.ts_tag], self.p_ts, 0.0)
        return self._scored(p / p.sum())

    def other_forms(self, word: str, first: bool, folded: bool) -> list[str]:
        """Other spellings of the word that training knows, where its capitals say little."""
        if not (folded or (first and word[:1].isupper())):
            return []
        forms = spellings(word, folded=True) if folded else [word, word.lower()]
        return [form for form in forms[1:] if form != word and self.knows(form)]

    def shape(self, word: str, first: bool, folded: bool) -> str:
        """The word's signature; where capitals say nothing, that of the word written small."""
        text, first = (word.lower(), False) if folded else (word, first)
        return self._shape_of.get_or(
            (text, first), lambda: signatures(text, first=first, language=self.language)[0]
        )

    def _counts(self, *forms: str) -> tuple[Float64s, float]:
        """(n_ts,) how often these words were seen with each (tag, state), and in all."""
        counts, n = np.zeros(self.n_ts), 0.0
        for row in (self.word_number[form] for form in forms if form in self.word_number):
            span = slice(self.word_ptr[row], self.word_ptr[row + 1])
            counts[self.word_ts[span]] += self.word_n[span]
            n += float(self.n_words[row])
        return counts, n

    def of_shape(self, shape: str) -> Float64s:
        """(n_ts,) P(ts | signature) among rare words; not to be written into."""
        return self._of_shapes.get_or(shape, lambda: self._of_shape(shape))

    def _of_shape(self, shape: str) -> Float64s:
        counts, total = np.zeros(self.n_ts), 0.0
        row = self.shape_number.get(shape)
        if row is not None:
            span = slice(self.shape_ptr[row], self.shape_ptr[row + 1])
            counts[self.shape_ts[span]] = self.shape_n[span]
            total = float(self.shape_n[span].sum())
        return of_signature(counts, self.p_rare, total)

    @cached_property
    def _of_punctuation(self) -> dict[str, Float64s]:
        """(n_ts,) counts of all words of punctuation marks by signature, and of all under ""."""
        counts: dict[str, Float64s] = {}
        for row in [row for row, word in enumerate(self.words) if _only_punctuation(word)]:
            span = slice(self.word_ptr[row], self.word_ptr[row + 1])
            shape = signatures(self.words[row], language=self.language)[0]
            for key in (shape, ""):
                # as often as such a word tells of unseen ones, see build_lexicon
                share = self.word_n[span] / np.sqrt(self.n_words[row])
                counts.setdefault(key, np.zeros(self.n_ts))[self.word_ts[span]] += share
        return counts

    def _of_marks(self, shape: str) -> Float64s:
        """P(ts | signature) by punctuation alone, frequent or not, if training has any."""
        counts_of = self._of_punctuation
        if not counts_of:
            return self.of_shape(shape)
        counts = counts_of.get(shape, np.zeros(self.n_ts))
        return of_signature(counts, counts_of[""] / counts_of[""].sum(), float(counts.sum()))

    @property
    def strengths(self) -> Strengths:
        """Weights of the steps of ``features.smoothing``."""
        return Strengths(self.k_sig, self.k_base, self.k_state, self.trust)

    @cached_property
    def p_base(self) -> Float64s:
        """(bases,) P(B)."""
        return self.by_base(self.p_ts)

    def base_counts(self, word: str, *, first: bool, folded: bool) -> tuple[float, Float64s]:
        """How often the word was seen, and (bases,) how often with each base tag."""
        counts, n = self._counts(word, *self.other_forms(word, first, folded))
        return n, self.by_base(counts)

    def by_base(self, values: Float64s) -> Float64s:
        """(bases,) sums of the values of (tag, state) pairs."""
        return _sums(self.ts_base, values, int(self.base.max()) + 1)

    def _p_given_word(self, word: str, first: bool, folded: bool) -> Float64s:
        """(n_ts,) P(ts | w)."""
        counts, n = self._counts(word)
        if n and self.k_base == 0:
            return counts / n
        counts, n = self._counts(word, *self.other_forms(word, first, folded))
        shape = self.shape(word, first, folded)
        unknown_marks = not n and _only_punctuation(word)
        p_shape = self._of_marks(shape) if unknown_marks else self.of_shape(shape)
        p_shape_base = self.by_base(p_shape)
        if self.by_class is not None:
            factor = self.by_class.shares(self.by_class.classes.of_all([word]), p_shape_base)[0]
            p_shape, p_shape_base = p_shape * factor[self.ts_base], p_shape_base * factor
        evidence = Evidence(
            cell=self.ts_base,
            group=self.ts_tag,
            counts=counts,
            n=np.full(len(p_shape_base), n),
            n_base=self.by_base(counts),
            p_shape=p_shape,
            p_shape_base=p_shape_base,
            p_text=self.p_ts,
            p_text_base=self.p_base,
            given_base=self.ts_given_base,
        )
        return smoothed(evidence, self.strengths)

    def _scored(self, p: Float64s) -> Emission:
        p_tag = np.bincount(self.ts_tag, weights=p)
        tags = np.flatnonzero(p_tag > _KEEP * p_tag.max())
        return Emission(
            tags, p_tag[tags] / self.p_tag[tags], (p / self.p_ts * self.emits).astype(np.float32)
        )


@dataclass(frozen=True, eq=False)
class WordIndex:
    """The preterminals of a treebank in numbers: what is the same for every lexicon.

    A type is a word together with whether it begins a sentence.
    """

    tags: Int64s  # tags, base: (T,) labels that stand over words, and numbers of their base tags
    base: Int64s
    # tag_of, type_of: (P,) place in ``tags`` and type of each preterminal, in node order
    tag_of: Int64s
    type_of: Int64s
    words: tuple[str, ...]
    shapes: tuple[str, ...]
    type_word: Int64s  # (K,) place in ``words``
    type_lower: Int64s  # that of its lower case or -1
    type_shape: Int64s  # (K,) place of its signature in ``shapes`` or -1
    type_rare: Bools  # (K,) is the word rare enough to speak for its signature?
    classes: WordClasses | None = None
    type_class: Int64s | None = None  # (K, ways)


def index_words(bank: Treebank) -> WordIndex:
    """Number the words of a treebank, once."""
    return bank.once(("words", id(bank.classes)), lambda: _index_words(bank))


def _index_words(bank: Treebank) -> WordIndex:
    nodes = np.flatnonzero(bank.token >= 0)
    tags = np.unique(bank.label[nodes])
    token = bank.token[nodes]
    texts = [bank.words[i] for i in token.tolist()]
    counts = Counter(texts)
    words: dict[str, int] = {}
    types: dict[tuple[str, bool], int] = {}
    type_of = [
        types.setdefault(key, len(types))
        for key in zip(texts, bank.first_in_sentence[token].tolist(), strict=True)
    ]
    type_word = [words.setdefault(text, len(words)) for text, _ in types]
    type_lower = [
        words.get(text.lower(), -1) if first and text[:1].isupper() else -1
        for text, first in types
    ]
    finest = [signatures(text, first=first, language=bank.language)[0] for text, first in types]
    type_rare = [counts[text] <= _RARE for text, _ in types]
    shapes: dict[str, int] = {}
    for shape, is_rare in zip(finest, type_rare, strict=True):
        if is_rare:
            shapes.setdefault(shape, len(shapes))
    bases: dict[str, int] = {}
    base = [bases.setdefault(user_labels(bank.labels[t])[-1], len(bases)) for t in tags.tolist()]
    return WordIndex(
        tags=tags,
        base=np.array(base),
        tag_of=np.searchsorted(tags, bank.label[nodes]),
        type_of=np.array(type_of),
        words=tuple(words),
        shapes=tuple(shapes),
        type_word=np.array(type_word),
        type_lower=np.array(type_lower),
        type_shape=np.array([shapes.get(shape, -1) for shape in finest]),
        type_rare=np.array(type_rare),
        classes=bank.classes,
        type_class=bank.classes.of_all(text for text, _ in types) if bank.classes else None,
    )


def build_lexicon(
    bank: Treebank, n_states: Int64s, words: Numbers, smoothing: Smoothing = _USUAL
) -> Lexicon:
    """Count (word, tag, state).

    ``words``  of the preterminals in node order: (P,) the state of each, whole numbers; or their
               expected states end to end, m of its tag each
    """
    x = index_words(bank)
    tag_ptr = pointers(n_states[x.tags])
    if np.issubdtype(words.dtype, np.floating):
        type_of, tag, ts, n = _expected(x, tag_ptr, words)
    else:
        type_of, tag = x.type_of, x.tag_of
        ts, n = tag_ptr[tag] + words, np.ones(len(tag))
    word = x.type_word[type_of]
    rare_ones = x.type_rare[type_of]
    # A word seen c times tells of unseen words with weight 1 / sqrt(c) an occurrence.
    times = np.bincount(x.type_word[x.type_of])
    rare_n = n[rare_ones] / np.sqrt(times[word[rare_ones]])
    shape = x.type_shape[type_of[rare_ones]]
    n_ts = int(tag_ptr[-1])
    by_class = None
    if x.classes is not None and x.type_class is not None:
        weight, base = n / np.sqrt(times[word]), x.base[tag]
        of_word, n_base = x.type_class[type_of], int(x.base.max()) + 1
        by_class = ClassCounts.count(x.classes, of_word, base, weight, n_base)
    return Lexicon(
        x.tags,
        tag_ptr,
        x.base,
        x.words,
        *_rows(word, ts, n, len(x.words), n_ts),
        x.shapes,
        *_rows(shape, ts[rare_ones], rare_n, len(x.shapes), n_ts),
        np.ones(n_ts),
        language=bank.language,
        k_sig=smoothing.k_sig,
        k_base=smoothing.k_base,
        k_state=smoothing.k_state,
        by_class=by_class,
    )


def _expected(
    x: WordIndex, tag_ptr: Int64s, weights: Float64s
) -> tuple[Int64s, Int64s, Int64s, Float64s]:
    """Of every (type, tag) of the treebank and every state: type, tag, ts and expected count."""
    # There are several times as many words as such pairs, so they are added up first.
    pairs, pair_of = np.unique(x.type_of * len(x.tags) + x.tag_of, return_inverse=True)
    m = np.diff(tag_ptr)
    of_type, of_tag = pairs // len(x.tags), pairs % len(x.tags)
    ptr = pointers(m[of_tag])
    # weights[i] is of the preterminal row[i], and its cell is that of the same state of its pair
    lengths = m[x.tag_of]
    shift = ptr[pair_of.reshape(-1)] - (np.cumsum(lengths) - lengths)
    cell = np.repeat(shift, lengths)
    cell += np.arange(len(cell))
    n = _sums(cell, weights, int(ptr[-1]))
    pair = np.repeat(np.arange(len(pairs)), m[of_tag])
    ts = np.arange(len(pair)) + (tag_ptr[of_tag] - ptr[:-1])[pair]
    return of_type[pair], of_tag[pair], ts, n


def _only_punctuation(word: str) -> bool:
    return not word.isalnum() and all(unicodedata.category(mark)[0] == "P" for mark in word)


def _sums(number: Int64s, values: Float64s, length: int) -> Float64s:
    """(length,) sum of the values with each number."""
    return np.asarray(np.bincount(number, weights=values, minlength=length), dtype=float)


def _rows(
    row: Int64s, column: Int64s, n: Float64s, n_rows: int, n_columns: int
) -> tuple[Int64s, Int64s, Float64s]:
    """Sum duplicates and return (ptr, columns, counts) by rows."""
    from scipy.sparse import coo_array

    matrix = coo_array((n, (row, column)), shape=(n_rows, n_columns)).tocsr()
    matrix.sum_duplicates()
    ptr, columns = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    return ptr, columns, matrix.data.astype(np.float64)
