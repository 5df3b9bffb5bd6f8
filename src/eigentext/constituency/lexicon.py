"""From a word to scores of (tag, state): counts, signatures and base tags, in that order of trust.

With ts = (tag, state), B = the base tag (the last label of a collapsed chain such as NP>NN):

1. P(B | sig) from rare words with the same signature, smoothed towards all rare words.
2. P(B | w) = (c(w, B) + k_sig P(B | sig)) / (c(w) + k_sig); a frequent word trusts its counts alone.
3. P(ts | w) = (c(w, ts) + k_base P(B | w) P(ts | B)) / (c(w) + k_base): a word seen only as NN may
   still be the NP>NN of a bare noun phrase.
4. The score is P(ts | w) / P(ts), which is p(w | ts) up to the constant p(w).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.trees.signatures import signature
from eigentext.trees.unary import split_chain

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from eigentext.constituency.treebank import Treebank

    Ints = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

__all__ = ["Emission", "Lexicon", "build_lexicon"]

_CACHE_LIMIT = 50_000


class Emission(NamedTuple):
    """What a word may be: places in ``Lexicon.tags``, a score for each, and a score per ts."""

    tags: Ints
    scores: Floats
    states: npt.NDArray[np.float32]


@dataclass(frozen=True)
class Lexicon:
    """Counts of words and signatures with (tag, state) pairs.

    ``tags``       (T,) nonterminal number of each tag; ``tag_ptr`` (T + 1,) its states in ts order
    ``words``      known words; row w of the counts is ``word_ts/word_n[word_ptr[w]:word_ptr[w+1]]``
    ``shapes``     known signatures, counted over rare words; same layout
    """

    tags: Ints
    tag_ptr: Ints
    base: Ints
    words: tuple[str, ...]
    word_ptr: Ints
    word_ts: Ints
    word_n: Floats
    shapes: tuple[str, ...]
    shape_ptr: Ints
    shape_ts: Ints
    shape_n: Floats
    language: str
    k_sig: float = 2.0
    k_base: float = 1.0
    trust: float = 50.0
    _cache: dict[tuple[str, bool], Emission] = field(
        default_factory=dict, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        n_ts = int(self.tag_ptr[-1])
        ts_tag = np.repeat(np.arange(len(self.tags)), np.diff(self.tag_ptr))
        derived = {
            "_word_id": {word: i for i, word in enumerate(self.words)},
            "_shape_id": {shape: i for i, shape in enumerate(self.shapes)},
            "_ts_tag": ts_tag,
            "_ts_base": self.base[ts_tag],
            "_n_base": int(self.base.max()) + 1,
            "_p_ts": np.bincount(self.word_ts, weights=self.word_n, minlength=n_ts),
        }
        p_ts = np.maximum(derived["_p_ts"], 1e-10)
        derived["_p_ts"] = p_ts / p_ts.sum()
        rare = np.bincount(self.shape_ts, weights=self.shape_n, minlength=n_ts) + 1e-6 * p_ts
        derived["_rare"] = rare / rare.sum()
        derived["_p_tag"] = np.bincount(ts_tag, weights=derived["_p_ts"])
        p_base = np.bincount(derived["_ts_base"], weights=derived["_p_ts"])
        derived["_ts_given_base"] = derived["_p_ts"] / p_base[derived["_ts_base"]]
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def knows(self, word: str) -> bool:
        """Was the word seen in training?"""
        return word in self._word_id  # type: ignore[attr-defined]

    def emission(self, word: str, *, first: bool) -> Emission:
        """Scores of the tags and states that this word may have."""
        key = (word, first)
        found = self._cache.get(key)
        if found is None:
            if len(self._cache) >= _CACHE_LIMIT:
                self._cache.clear()
            found = self._cache[key] = self._compute(word, first)
        return found

    def _row(self, word: str) -> tuple[Floats, float]:
        counts = np.zeros(int(self.tag_ptr[-1]))
        row = self._word_id.get(word)  # type: ignore[attr-defined]
        if row is None:
            return counts, 0.0
        place = slice(self.word_ptr[row], self.word_ptr[row + 1])
        counts[self.word_ts[place]] = self.word_n[place]
        return counts, float(self.word_n[place].sum())

    def _compute(self, word: str, first: bool) -> Emission:
        ts_base, n_base = self._ts_base, self._n_base  # type: ignore[attr-defined]

        def by_base(values: Floats) -> Floats:
            return np.bincount(ts_base, weights=values, minlength=n_base)

        counts, n = self._row(word)
        if first and word[:1].isupper() and self.knows(word.lower()):
            lowered, n_lowered = self._row(word.lower())
            counts, n = counts + lowered, n + n_lowered
        of_shape = self._rare.copy()  # type: ignore[attr-defined]
        shape = self._shape_id.get(  # type: ignore[attr-defined]
            signature(word, first=first, language=self.language)
        )
        if shape is not None:
            place = slice(self.shape_ptr[shape], self.shape_ptr[shape + 1])
            of_shape *= 2.0
            of_shape[self.shape_ts[place]] += self.shape_n[place]
            of_shape /= of_shape.sum()
        if n < self.trust:
            p_base = (by_base(counts) + self.k_sig * by_base(of_shape)) / (n + self.k_sig)
        else:
            p_base = by_base(counts) / n
        within = of_shape + 0.1 * self._p_ts  # type: ignore[attr-defined]
        within /= np.maximum(by_base(within), 1e-30)[ts_base]
        weight = min(1.0, n / 10)  # a word seen often no longer behaves like its signature
        within = (1 - weight) * within + weight * self._ts_given_base  # type: ignore[attr-defined]
        p = (counts + self.k_base * p_base[ts_base] * within) / (n + self.k_base)
        p_tag = np.bincount(self._ts_tag, weights=p)  # type: ignore[attr-defined]
        kept = np.flatnonzero(p_tag > 1e-5 * p_tag.max())
        return Emission(
            kept,
            p_tag[kept] / self._p_tag[kept],  # type: ignore[attr-defined]
            (p / self._p_ts).astype(np.float32),  # type: ignore[attr-defined]
        )


def build_lexicon(
    bank: Treebank, n_states: Ints, ts_of_node: Ints | None, weights: Floats | None,
    *, language: str, rare: int = 5,
) -> Lexicon:  # fmt: skip
    """Count (word, tag, state); states from ``ts_of_node`` (hard) or ``weights`` (expected).

    ``ts_of_node``  (P,) state of each preterminal node, in node order; or None
    ``weights``     flat expected states of the preterminals, m of its tag each, in node order
    """
    nodes = np.flatnonzero(bank.token >= 0)
    tags = np.unique(bank.label[nodes])
    place = np.full(len(bank.labels), -1)
    place[tags] = np.arange(len(tags))
    tag_ptr = np.concatenate([[0], np.cumsum(n_states[tags])])
    tag_of = place[bank.label[nodes]]
    token = bank.token[nodes]
    texts = [bank.words[i] for i in token.tolist()]
    firsts = bank.first_in_sentence[token].tolist()
    counts = Counter(texts)
    word_id: dict[str, int] = {}
    shape_id: dict[str, int] = {}
    word_of = np.array([word_id.setdefault(text, len(word_id)) for text in texts])
    shape_of = np.full(len(texts), -1)
    for i, (text, is_first) in enumerate(zip(texts, firsts, strict=True)):
        if counts[text] <= rare:
            shape = signature(text, first=is_first, language=language)
            shape_of[i] = shape_id.setdefault(shape, len(shape_id))
    often = np.array([counts[text] for text in texts])
    if weights is None:
        assert ts_of_node is not None
        row = np.arange(len(nodes))
        ts, n = tag_ptr[tag_of] + ts_of_node, np.ones(len(nodes))
    else:
        m = np.diff(tag_ptr)[tag_of]
        row = np.repeat(np.arange(len(nodes)), m)
        within = np.arange(len(row)) - np.repeat(np.cumsum(m) - m, m)
        ts, n = tag_ptr[tag_of][row] + within, weights
    words = _rows(word_of[row], ts, n, len(word_id))
    is_rare = shape_of[row] >= 0
    # A word seen c times tells of unseen words with weight 1 / sqrt(c) an occurrence.
    rare_n = n[is_rare] / np.sqrt(often[row][is_rare])
    shapes = _rows(shape_of[row][is_rare], ts[is_rare], rare_n, len(shape_id))
    bases: dict[str, int] = {}
    base = np.array([bases.setdefault(_base_tag(bank.labels[t]), len(bases)) for t in tags])
    return Lexicon(
        tags, tag_ptr, base, tuple(word_id), *words, tuple(shape_id), *shapes, language=language
    )


def _base_tag(label: str) -> str:
    return split_chain(label)[-1]


def _rows(row: Ints, column: Ints, n: Floats, n_rows: int) -> tuple[Ints, Ints, Floats]:
    """Sum duplicates and return (ptr, columns, counts) by rows."""
    from scipy.sparse import coo_array

    width = int(column.max()) + 1 if len(column) else 1
    matrix = coo_array((n, (row, column)), shape=(n_rows, width)).tocsr()
    matrix.sum_duplicates()
    return (
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int64),
        matrix.data.astype(np.float64),
    )
