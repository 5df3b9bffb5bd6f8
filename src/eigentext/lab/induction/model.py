"""``Bracketer``: tagged sentences in, brackets out, without a tree to learn from.

Covariances of vectors of words given the tags become distances of words (``distances``); a
sentence has the shortest binary tree for the distances of its tags (``evolution``).  Only the
tags of a sentence decide its tree; its words do in learning.
"""

from __future__ import annotations

import itertools
import unicodedata
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from eigentext.base.fields import Ints, Pointers, Reals, Strings
from eigentext.base.model import Model
from eigentext.base.progress import Progress
from eigentext.base.ragged import pointers
from eigentext.base.records import As, Group, learned
from eigentext.base.tokens import checked_tagged
from eigentext.base.types import Float32s, Float64s, Int64s
from eigentext.base.values import Real
from eigentext.constituency.answer import pieces
from eigentext.constituency.settings import InductionSettings
from eigentext.counting.vocabulary import UNKNOWN
from eigentext.errors import DataError, RankWarning, SettingsError
from eigentext.lab.induction.distances import (
    N_LEVELS,
    TagContexts,
    VectorText,
    brackets,
    chosen_strength,
    learn_contexts,
    tree_distances,
)
from eigentext.language.formats.ptb import each_tree
from eigentext.language.trees.constituent import Tree
from eigentext.linalg.ties import single_threaded

_MOST_TAGS = 900  # with more, the six tags of a context are no 64-bit number
_BRACKETS = frozenset(("-LRB-", "-RRB-", "-LSB-", "-RSB-", "-LCB-", "-RCB-"))


def _flat(contexts: TagContexts) -> SimpleNamespace:
    return SimpleNamespace(
        level=pointers(map(len, contexts.keys)),
        keys=np.concatenate(contexts.keys),
        cross=np.concatenate(contexts.cross),
        own=contexts.of_tag,
    )


def _by_level(flat: SimpleNamespace) -> TagContexts:
    if flat.level[1] != 1 or flat.keys[0] != 0:
        raise ValueError("array 'keys' does not begin with the context of any pair")
    cuts = flat.level[1:-1]
    keys = tuple(np.split(flat.keys, cuts))
    if any(bool(np.any(np.diff(of_level) <= 0)) for of_level in keys):
        raise ValueError("array 'keys' does not rise")
    return TagContexts(keys, tuple(np.split(flat.cross, cuts)), flat.own)


def is_punctuation(word: str) -> bool:
    """Is every character of it punctuation by Unicode, or is it a bracket's name?

    >>> [is_punctuation(word) for word in (",", "...", "-LRB-", "$", "o'clock")]
    [True, True, True, False, False]
    """
    return word in _BRACKETS or all(unicodedata.category(char)[0] == "P" for char in word)


@dataclass(eq=False, repr=False)
class Bracketer(Model, InductionSettings):
    """Brackets from tagged text alone (Parikh, Cohen and Xing 2014).

    After ``fit``: ``tags_``, ``contexts_`` (what is known of pairs of tags) and ``smoothing_``.

    >>> words = [["the", "dog", "saw", "a", "cat"], ["a", "man", "saw", "the", "dog"]] * 20
    >>> tags = [["DT", "NN", "VBD", "DT", "NN"]] * 40
    >>> bracketer = Bracketer(root="first").fit(words, tags)
    >>> len(bracketer.bracket(["a", "bird", "sang"], ["DT", "NN", "VBD"]).constituents())
    3
    """

    KIND = "bracketer"
    tags_: tuple[str, ...] = learned(Strings("tags", distinct=True))
    contexts_: TagContexts = learned(
        As(
            Group(
                level=Pointers(N_LEVELS, "contexts"),
                keys=Ints(("contexts",), low=0),
                cross=Reals(("contexts",), low=-1e6, high=1e6),
                own=Reals(("tags+1",), low=-1e6, high=1e6),
            ),
            _flat,
            _by_level,
        )
    )
    smoothing_: float = learned(Real(0))

    # ---------------------------------------------------------------- learning

    def fit(
        self, X: object, y: object, *, vectors: object = None, progress: Progress | None = None
    ) -> Bracketer:
        """Learn from sentences X and their tags y.

        ``vectors`` is a mapping from words to vectors, or a word2vec file; without, vectors are
        made from X.  A word is looked up as it is written, then in small letters; a word without
        a vector says nothing.
        """
        self.check()
        sentences, tags = checked_tagged(X, y)
        kept = [self._kept(tokens) for tokens in sentences]
        words = [[tokens[i] for i in at] for tokens, at in zip(sentences, kept, strict=True)]
        if not any(len(row) > 1 for row in words):
            raise SettingsError("no sentence of two words or more to learn from")
        rows = [[its[i] for i in at] for its, at in zip(tags, kept, strict=True)]
        self.tags_ = tuple(sorted({tag for row in rows for tag in row}))
        if len(self.tags_) > _MOST_TAGS:
            raise SettingsError(
                f"{len(self.tags_)} different tags, expected at most {_MOST_TAGS}: take a coarser "
                "column of tags"
            )
        self._number_tags()
        tag = np.array([self._tag_ids[name] for row in rows for name in row], np.int64)
        text = VectorText(
            pointers(map(len, rows)), tag, self._centred(words, tag, vectors, progress)
        )
        strength = self.smoothing
        if strength is None:
            strength = chosen_strength(text, len(self.tags_))
        self.smoothing_ = float(strength)
        m = min(self.rank, text.vectors.shape[1])
        self.contexts_ = learn_contexts(text, len(self.tags_), m, self.smoothing_)
        return self

    def _centred(
        self, words: list[list[str]], tag: Int64s, vectors: Any, progress: Progress | None
    ) -> Float64s:
        """(N, d) vectors of all words less the mean of their tag; 0 for a word without one."""
        from eigentext.features.word_classes import vectors_of

        small = [[word.lower() for word in row] for row in words]
        if vectors is None:
            words = small
            names, matrix = self._own_vectors(words, progress)
        else:
            names, matrix = vectors_of(vectors, 1.0)
        row_of = {name: row for row, name in enumerate(names)}
        missing = row_of.get(UNKNOWN, -1) if vectors is None else -1
        pairs = zip(itertools.chain(*words), itertools.chain(*small), strict=True)
        at = np.array([row_of.get(word, row_of.get(low, missing)) for word, low in pairs])
        has = at >= 0
        if not has.any():
            raise SettingsError("no word of the text has a vector: expected vectors of its words")
        X = np.where(has[:, None], matrix[at], 0.0).astype(np.float64)
        means = np.zeros((len(self.tags_), X.shape[1]))
        np.add.at(means, tag[has], X[has])
        means /= np.maximum(np.bincount(tag[has], minlength=len(means)), 1)[:, None]
        X = (X - means[tag]) * has[:, None]
        if X.shape[1] <= self.n_components:
            return X
        with single_threaded():  # the directions in which the words of a tag differ most
            _, turn = np.linalg.eigh(X.T @ X)
            return np.asarray(X @ turn[:, -self.n_components :])

    def _own_vectors(
        self, words: list[list[str]], progress: Progress | None
    ) -> tuple[Sequence[str], Float32s]:
        from eigentext.counting.counting import count_sentences
        from eigentext.words.embeddings.cca import cca_embeddings
        from eigentext.words.settings import CCASettings

        settings = CCASettings(self.n_components, contexts="lr2")
        counts = count_sentences(words, contexts="lr2", min_count=self.min_count)
        with warnings.catch_warnings():  # a small text has fewer dimensions
            warnings.simplefilter("ignore", RankWarning)
            embedding = cca_embeddings(counts, settings, on_rank="warn", progress=progress)
        return embedding.words, embedding.vectors

    def _kept(self, tokens: Sequence[str]) -> list[int]:
        """Places of the words that are no punctuation."""
        if self.settings_.punctuation:
            return list(range(len(tokens)))
        return [i for i, token in enumerate(tokens) if not is_punctuation(token)]

    def _number_tags(self) -> None:
        self._tag_ids = {tag: number for number, tag in enumerate(self.tags_)}

    # ---------------------------------------------------------------- answers

    def distances(self, tags: Sequence[str]) -> Float64s:
        """(n, n) distances of the words of a sentence with these tags."""
        self.check_fitted()
        unseen = len(self.tags_)
        numbers = np.array([self._tag_ids.get(tag, unseen) for tag in tags], np.int64)
        return tree_distances(self.contexts_, numbers)

    def bracket(self, tokens: Sequence[str], tags: Sequence[str]) -> Tree:
        """The tree of a sentence: every bracket is X, with TOP above all of them."""
        self.check_fitted()
        ((tokens, tags),) = zip(*checked_tagged([tokens], [tags]), strict=True)
        if not tokens:
            raise SettingsError("a sentence without tokens has no tree")
        n = len(tokens)
        stretches = pieces(tokens, self.longest) if n > self.longest else [(0, n)]
        spans = {(0, n)}
        for start, end in stretches:
            at = [start + i for i in self._kept(tokens[start:end])]
            spans |= {
                (at[i], at[j - 1] + 1)
                for i, j in self._spans([tags[word] for word in at])
                if j - i < len(at) or len(stretches) > 1
            }
        return _tree(tokens, tags, spans)

    def _spans(self, tags: Sequence[str]) -> list[tuple[int, int]]:
        if len(tags) < 2:
            return []
        return brackets(self.distances(tags), self._cut(tags)).spans

    def _cut(self, tags: Sequence[str]) -> int | None:
        if self.root == "middle":
            return None
        if self.root == "verb":
            for word, tag in enumerate(tags):
                if word and tag.startswith(tuple(self.verbs)):
                    return word
        return 1

    def score(self, trees: Iterable[Tree], y: None = None) -> float:
        """Unlabelled F1, from 0 to 1, on gold trees with their tags, without punctuation."""
        from eigentext.evaluate.brackets import unlabelled_f1

        self.check_fitted()
        gold = list(each_tree(trees))
        if not gold:
            raise DataError("<trees>", None, "no trees to score")
        predicted = [self.bracket(tree.words, tree.tags) for tree in gold]
        return unlabelled_f1(gold, predicted, leave_out=is_punctuation)

    # ---------------------------------------------------------------- storage

    def _restore(self, content: Bracketer) -> None:
        self._number_tags()

    def _summary(self) -> str:
        n = sum(map(len, self.contexts_.keys))
        return f"{len(self.tags_)} tags, {n:,} contexts"


def _tree(tokens: Sequence[str], tags: Sequence[str], spans: set[tuple[int, int]]) -> Tree:
    """The tree with these spans, which nest, as brackets X under TOP."""
    opened: dict[int, list[int]] = {}
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        opened.setdefault(start, []).append(end)
    labels, sizes = ["TOP"], [0]
    stack: list[tuple[int, int]] = []  # (end, node)
    for word, (token, tag) in enumerate(zip(tokens, tags, strict=True)):
        for end in opened.get(word, ()):
            stack.append((end, len(labels)))
            labels.append("X")
            sizes.append(0)
        labels += [tag, token]
        sizes += [2, 1]
        while stack and stack[-1][0] == word + 1:
            _, node = stack.pop()
            sizes[node] = len(labels) - node
    sizes[0] = len(labels)
    return Tree.unchecked(labels, sizes)
