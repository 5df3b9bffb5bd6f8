"""What can be asked of any model of words: a word, its neighbours, a second model beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from eigentext.drawing.words_tree import ClusterTree
from eigentext.errors import SettingsError
from eigentext.words.embeddings.vectors import WordSpace, near_spellings, not_known

Near = list[tuple[str, float | None]]


@dataclass(frozen=True)
class WordFacts:
    """What a model knows of a word."""

    word: str
    rank: int  # 1 for the most frequent word
    count: int | None  # None where counts are not known
    path: str | None  # the bits of its cluster, None without clusters
    members: list[tuple[str, int]]  # the most frequent words of that cluster
    n_members: int


class WordBrowser:
    """A model of words, ready for many questions: words by decreasing frequency, counts and a tree
    of clusters (``SpectralClusters``, ``ClassBigram``), or vectors (``CCAEmbedding``, ``LRMVL``).

    >>> from eigentext.words import CCAEmbedding, SpectralClusters
    >>> text = [s.split() for s in ["a cat ran", "a dog ran", "the cat sat", "the dog sat"]] * 3
    >>> clusters = WordBrowser.of(SpectralClusters(n_clusters=3).fit(text))
    >>> clusters.look("cat").count, clusters.neighbours("cat", 1)
    (6, [('dog', None)])
    >>> vectors = WordBrowser.of(CCAEmbedding(2).fit(text))
    >>> vectors.neighbours("cat", 1)[0][0], vectors.find("D")
    ('dog', ['dog'])
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        counts: Sequence[int] | None = None,
        tree: ClusterTree | None = None,
        space: WordSpace | None = None,
    ) -> None:
        self.words = tuple(words)
        self.counts = counts
        self.tree = tree
        self.space = space
        self.rank_of = {word: rank for rank, word in enumerate(self.words)}

    @classmethod
    def of(cls, model: Any) -> WordBrowser:
        """Of a fitted model of words, whichever it is."""
        if hasattr(model, "embeddings_"):
            held = model.embeddings_
            return cls(held.words, space=WordSpace(held.words, held.vectors))
        if hasattr(model, "word_model_"):  # classes, which are bits where clusters gave them
            from eigentext.drawing.words_tree import tree_of_paths
            from eigentext.language.formats.brown_paths import PathEntry

            n = np.asarray(model.pairs_.sum(axis=0)).ravel().astype(np.int64).tolist()
            classes = [model.names_[c] for c in model.class_of_.tolist()]
            entries = [
                PathEntry(bits, word, count)
                for bits, word, count in zip(classes, model.words_, n, strict=True)
                if set(bits) <= {"0", "1"}
            ]
            if not entries:
                raise SettingsError("the classes of this model are no bits: there is no tree")
            tree = tree_of_paths(entries)
        elif hasattr(model, "cluster_paths_"):
            tree = model.tree()
        else:
            raise SettingsError(f"{type(model).__name__} is no model of words")
        pairs = [
            pair
            for words, counts in zip(tree.words, tree.counts, strict=True)
            for pair in zip(words, counts, strict=True)
        ]
        pairs.sort(key=lambda pair: (-pair[1], pair[0]))
        return cls([w for w, _ in pairs], counts=[n for _, n in pairs], tree=tree)

    @cached_property
    def cluster_of(self) -> dict[str, int]:
        """The number of each word's cluster in the tree; empty without one."""
        clusters = () if self.tree is None else self.tree.words
        return {word: c for c, words in enumerate(clusters) for word in words}

    @cached_property
    def _lower(self) -> list[str]:
        return [word.lower() for word in self.words]

    @cached_property
    def _by_lower(self) -> dict[str, list[str]]:
        """Words by what they are in small letters."""
        by_lower: dict[str, list[str]] = {}
        for word, lower in zip(self.words, self._lower, strict=True):
            by_lower.setdefault(lower, []).append(word)
        return by_lower

    def look(self, word: str, top: int = 50) -> WordFacts:
        """What is known of a word; a SettingsError names words that are written like it."""
        rank = self._rank(word)
        path, members, n_members = None, [], 0
        if self.tree is not None:
            c = self.cluster_of[word]
            path, n_members = self.tree.bits[c], len(self.tree.words[c])
            members = list(zip(self.tree.words[c][:top], self.tree.counts[c], strict=False))
        count = None if self.counts is None else int(self.counts[rank])
        return WordFacts(word, rank + 1, count, path, members, n_members)

    def near_spellings(self, word: str) -> list[str]:
        """Words of the model that are written much like this one."""
        return near_spellings(word, self.words)

    def find(self, text: str, n: int = 12) -> list[str]:
        """Words with this text in them: the word itself, those that begin so, then all others.

        Letters are compared without their case; of equals the more frequent word is first.
        """
        small = text.lower()
        matches = [text] if text in self.rank_of else []
        matches += [word for word in self._by_lower.get(small, ()) if word != text]
        inside: list[str] = []
        for word, lower in zip(self.words, self._lower, strict=True):
            if len(matches) >= n:
                break
            if lower.startswith(small):
                if lower != small:
                    matches.append(word)
            elif len(inside) < n and small in lower:
                inside.append(word)
        return [*matches, *inside][:n]

    def neighbours(self, word: str, k: int = 10) -> Near:
        """The k nearest words with their cosines; without vectors, words of the same cluster."""
        if self.space is not None:
            return list(self.space.nearest([word], k)[0])
        self._rank(word)
        members = () if self.tree is None else self.tree.words[self.cluster_of[word]]
        near: Near = [(other, None) for other in members[: k + 1] if other != word]
        return near[:k]

    def nearest_among(self, words: Sequence[str], k: int) -> list[list[str]]:
        """For each of these words the k nearest among them."""
        if self.space is not None:
            rows = [self.space.row_of[word] for word in words]
            space = WordSpace(words, self.space.unit[rows])
            return [[other for other, _ in near] for near in space.nearest(words, k)]
        together: dict[int, list[str]] = {}
        for word in words:
            together.setdefault(self.cluster_of[word], []).append(word)
        return [
            [other for other in together[self.cluster_of[word]][: k + 1] if other != word][:k]
            for word in words
        ]

    def _rank(self, word: str) -> int:
        if word not in self.rank_of:
            raise SettingsError(not_known(word, self.near_spellings(word)))
        return self.rank_of[word]


class NeighbourComparison(NamedTuple):
    """The neighbours of a word in two models, those in both, their share of the longer list."""

    word: str
    first: Near
    second: Near
    both: list[str]
    overlap: float
    missing: list[str]  # neighbours in one model that the other has no word for


class MovedWord(NamedTuple):
    """A word, the overlap of its neighbours, and those that one model alone has."""

    word: str
    overlap: float
    first: list[str]
    second: list[str]


def compared(
    first: WordBrowser, second: WordBrowser, word: str, k: int = 10
) -> NeighbourComparison:
    """The neighbours of a word that both models know, side by side.

    >>> first = WordBrowser(["a", "b", "c"], space=WordSpace("abc", np.eye(3)[[0, 0, 1]]))
    >>> second = WordBrowser(["a", "b", "c"], space=WordSpace("abc", np.eye(3)[[0, 1, 0]]))
    >>> compared(first, second, "a", 1).overlap, compared(first, second, "a", 2).overlap
    (0.0, 1.0)
    """
    near, far = first.neighbours(word, k), second.neighbours(word, k)
    names = [[name for name, _ in list_] for list_ in (near, far)]
    both = [name for name in names[0] if name in set(names[1])]
    missing = [name for name in names[0] if name not in second.rank_of]
    missing += [name for name in names[1] if name not in first.rank_of]
    return NeighbourComparison(word, near, far, both, _overlap(*names), missing)


def moved_words(
    first: WordBrowser, second: WordBrowser, *, n_words: int = 2000, k: int = 10, top: int = 50
) -> tuple[list[MovedWord], float, int]:
    """Words whose k nearest words differ most in two models, the least overlap first.

    Looked at are the ``n_words`` most frequent words of the first model that both know, and their
    neighbours among these alone; with the mean overlap and the number of words looked at.

    >>> first = WordBrowser(["a", "b", "c"], space=WordSpace("abc", np.eye(3)[[0, 0, 1]]))
    >>> second = WordBrowser(["a", "b", "c"], space=WordSpace("abc", np.eye(3)[[0, 1, 0]]))
    >>> moved_words(first, second, k=1)[0][0]
    MovedWord(word='a', overlap=0.0, first=['b'], second=['c'])
    """
    shared = [word for word in first.words if word in second.rank_of][:n_words]
    if not shared:
        raise SettingsError("the two models have no word in common: are they of one language?")
    near = zip(
        shared, first.nearest_among(shared, k), second.nearest_among(shared, k), strict=True
    )
    moved = [
        MovedWord(
            word,
            _overlap(ours, theirs),
            [name for name in ours if name not in set(theirs)],
            [name for name in theirs if name not in set(ours)],
        )
        for word, ours, theirs in near
    ]
    mean = sum(each.overlap for each in moved) / len(moved)
    moved.sort(key=lambda each: each.overlap)  # stable: of equals the more frequent is first
    return moved[:top], mean, len(shared)


def _overlap(first: Sequence[str], second: Sequence[str]) -> float:
    """Of the longer list; two empty lists are the same."""
    longer = max(len(first), len(second))
    return len(set(first) & set(second)) / longer if longer else 1.0
