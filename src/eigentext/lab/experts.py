"""Experts of the dependency reranker that answer the papers: what they say of the trees of a list.

:class:`HeadAutomata` are split head automata learned from moments (Luque, Quattoni, Balle,
Carreras 2012).  The dependents of a head on one side, from the head outwards, are a string of
tags.  The strings of every head tag and side have a weighted automaton, learned from their Hankel
block; so has the string of the roots.  They generate tags and tree, without an iteration of EM::

    p(tags, tree) = p(roots) prod_h p(left of h | tag of h) p(right of h | tag of h)

There are no words in it: :class:`~eigentext.dependency.generative.parser.GenerativeParser` has
words, lengths and hidden states of heads.

The baselines of the latent tree are hidden Markov models of chains of words.  A chain is a tree in
which every word has one child, so both are a
:class:`~eigentext.dependency.latent.model.LatentTreeModel` with one transition matrix:

- ``PathHMM``: every path from the root to a leaf is a sequence; a tree's score is the sum of log p
  over its paths, so words near the root count once for each leaf below them.  Dhillon et al.
  (2012), section 3, say why that is no distribution over trees.
- ``SurfaceHMM``: the sentence itself is the sequence; all trees of a list get the same score.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from eigentext.base.types import Float64s
from eigentext.dependency.latent.model import LatentTreeModel
from eigentext.dependency.latent.observations import Observations, WordForest
from eigentext.dependency.sentence import TaggedSentence
from eigentext.errors import RankError
from eigentext.lab.automata.classes import ClassAutomata
from eigentext.language.trees.dependency import DependencyTree

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
    for word, (tag, head) in enumerate(zip(tags, heads, strict=True), start=1):
        (right if head < word else left)[head].append(tag)
    strings: list[DependentString] = [(ROOT, tuple(right[0]))]
    for word, tag in enumerate(tags, start=1):
        strings.append((f"{tag}<", tuple(reversed(left[word]))))
        strings.append((f"{tag}>", tuple(right[word])))
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
        strings = [string for tags, heads in trees for string in dependents(tags, list(heads))]
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
        new = sorted({x for strings in all_strings for x in strings} - self._known.keys())
        if new:
            logs = self.model.log_prob_of([x for _, x in new], [side for side, _ in new])
            self._known.update(zip(new, logs.tolist(), strict=True))
        return np.array([sum(map(self._known.__getitem__, x)) for x in all_strings])

    def log_probs(self, sentence: TaggedSentence, heads: npt.NDArray[Any]) -> Float64s:
        """(K,) of trees over one sentence, by its coarse tags: an expert of the reranker."""
        return self.log_probs_of(sentence.coarse, heads)


_MOST_PATHS = 60_000  # training paths; more do not change the tables much


def root_paths(heads: Sequence[int]) -> list[list[int]]:
    """The word numbers on the way from the root to each leaf.

    >>> root_paths([2, 0, 2, 3])
    [[2, 1], [2, 3, 4]]
    """
    inner = set(heads)
    paths = []
    for leaf in range(1, len(heads) + 1):
        if leaf not in inner:
            path = [leaf]
            while heads[path[-1] - 1]:
                path.append(heads[path[-1] - 1])
            paths.append(path[::-1])
    return paths


class _ChainModel:
    """A latent tree model of chains."""

    def __init__(self, n_states: int = 20, *, n_iter: int = 5, seed: int = 0) -> None:
        self.n_states, self.n_iter, self.seed = n_states, n_iter, seed

    def _fit(self, chains: Iterable[tuple[list[str], list[str]]]) -> None:
        trees = [
            DependencyTree(forms, list(range(len(forms))), tags=tags) for forms, tags in chains
        ]
        # no more states than different words
        words = WordForest.of(trees, Observations.learn(trees)).shown[0]
        n_states = min(self.n_states, len(np.unique(words)))
        while True:
            model = LatentTreeModel(
                n_states, split=False, edges="undirected", seed=self.seed, n_iter=self.n_iter
            )
            try:
                self.model = model.fit(trees)
                return
            except RankError as error:  # small data show fewer directions than words
                n_states = max(1, error.got)

    def to_bytes(self) -> bytes:
        """The model file of the latent tree model."""
        return self.model.to_bytes()

    @classmethod
    def from_bytes(cls, raw: bytes) -> Self:
        """What :meth:`to_bytes` wrote."""
        model = cls()
        model.model = LatentTreeModel.from_bytes(raw)
        return model


class PathHMM(_ChainModel):
    """log p summed over root-to-leaf paths."""

    def fit(self, trees: Sequence[DependencyTree]) -> PathHMM:
        """Learn from the paths of trees with tags."""
        chains: list[tuple[list[str], list[str]]] = []
        n_paths = sum(len(set(range(1, len(t) + 1)) - set(t.heads.tolist())) for t in trees)
        every = max(1, -(-n_paths // _MOST_PATHS))
        for number, tree in enumerate(trees):
            if number % every:
                continue
            tags = tree.tags or ("",) * len(tree)
            chains.extend(
                ([tree.forms[i - 1] for i in path], [tags[i - 1] for i in path])
                for path in root_paths(tree.heads.tolist())
            )
        self._fit(chains)
        return self

    def log_probs(
        self, forms: Sequence[str], tags: Sequence[str], heads: npt.NDArray[np.integer]
    ) -> Float64s:
        """(K,) for heads (K, n): the forward algorithm, shared by paths with the same start."""
        tables = self.model.tables_
        pi, T = tables.pi, tables.T[0]  # of the first state; [from, to]
        emit = tables.rows[self.model.observations_.encode(forms, tags)[0]]  # p(word | state)
        K, n = heads.shape
        forward = np.zeros((K, n, len(pi)))
        logs = np.zeros((K, n))
        above = heads.astype(np.int64) - 1
        tree, word = np.nonzero(above < 0)
        forward[tree, word] = pi * emit[word]
        done = above < 0
        leaf = np.ones((K, n), bool)
        np.put_along_axis(leaf, np.maximum(above, 0), False, axis=1)
        only_root = ~(above == 0).any(1)  # word 1 was marked for roots: is it a leaf after all?
        leaf[only_root, 0] = True
        while len(tree):
            size = forward[tree, word].sum(1)
            forward[tree, word] /= size[:, None]
            logs[tree, word] += np.log(size)
            ready = ~done & np.take_along_axis(done, np.maximum(above, 0), axis=1)
            tree, word = np.nonzero(ready)
            head = above[tree, word]
            forward[tree, word] = (forward[tree, head] @ T) * emit[word]
            logs[tree, word] = logs[tree, head]
            done |= ready
        return np.asarray((logs * leaf).sum(1))


class SurfaceHMM(_ChainModel):
    """log p of the words in their order, whatever the tree."""

    def fit(self, trees: Sequence[DependencyTree]) -> SurfaceHMM:
        """Learn from sentences with tags."""
        self._fit((list(t.forms), list(t.tags or ("",) * len(t))) for t in trees)
        return self

    def log_probs(
        self, forms: Sequence[str], tags: Sequence[str], heads: npt.NDArray[np.integer]
    ) -> Float64s:
        """(K,) the same number K times."""
        chain = np.arange(len(forms))[None]
        return np.repeat(self.model.log_probs(forms, tags, chain), len(heads))
