"""The dependency tree: for each word its head, the relation to it, and the word's tag.

Words are numbered 1..n as in CoNLL files; ``heads[i]`` is the head of word ``i + 1``, 0 of a root.
One pass peels words without dependents left, leaves first: it finds cycles, and the same order
answers depth and projectivity in linear time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class DependencyTree:
    """A dependency tree (several roots are allowed) over a sentence.

    ``forms``      the n words
    ``heads``      int32, (n,): number of the head, 1..n; 0 for a root
    ``relations``  n relation labels, or None
    ``tags``       n part-of-speech tags, or None

    >>> tree = DependencyTree(("the", "dog", "barks"), [2, 3, 0], ("det", "nsubj", "root"))
    >>> tree.roots, tree.arcs
    ((3,), [(2, 1, 'det'), (3, 2, 'nsubj'), (0, 3, 'root')])
    >>> tree.children[3], tree.is_projective()
    ((2,), True)
    >>> DependencyTree(("a", "b"), [2, 1])
    Traceback (most recent call last):
    ...
    ValueError: heads form a cycle: 1 -> 2 -> 1
    """

    forms: tuple[str, ...]
    heads: npt.NDArray[np.int32]
    relations: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None

    def __init__(
        self,
        forms: Sequence[str],
        heads: Sequence[int] | npt.NDArray[np.integer],
        relations: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
    ) -> None:
        n = len(forms)
        for name, column in (("forms", forms), ("relations", relations), ("tags", tags)):
            if isinstance(column, str):
                raise TypeError(f"{name} must be a sequence with one str per word, not one str")
            if column is not None and len(column) != n:
                raise ValueError(f"found {len(column)} {name} for {n} words")
            object.__setattr__(self, name, None if column is None else tuple(column))
        array = np.asarray(heads)
        if array.shape != (n,) or (n and array.dtype.kind not in "iu"):
            raise ValueError(f"expected {n} integer heads, one per word, found {heads!r}")
        wrong = np.flatnonzero((array < 0) | (array > n))
        if len(wrong):
            raise ValueError(
                f"head {array[wrong[0]]} of word {wrong[0] + 1} is out of range: expected 0..{n}"
            )
        array = array.astype(np.int32)
        array.setflags(write=False)
        object.__setattr__(self, "heads", array)
        if n == 0:
            raise ValueError("no words: a dependency tree has at least a root")
        if len(self._leaves_first) < n:
            raise ValueError(f"heads form a cycle: {self._a_cycle()}")

    @cached_property
    def _leaves_first(self) -> list[int]:
        """Word numbers, dependents before heads; words on or above a cycle are missing."""
        heads = [0, *self.heads.tolist()]
        n_waiting = np.bincount(self.heads, minlength=len(heads)).tolist()
        order = [word for word in range(1, len(heads)) if n_waiting[word] == 0]
        for word in order:  # grows while it is walked
            head = heads[word]
            n_waiting[head] -= 1
            if n_waiting[head] == 0 and head:
                order.append(head)
        return order

    def _a_cycle(self) -> str:
        word = min(set(range(1, len(self.forms) + 1)) - set(self._leaves_first))
        path: dict[int, None] = {}  # from a word not peeled every head is one not peeled
        while word not in path:
            path[word] = None
            word = int(self.heads[word - 1])
        words = list(path)
        cycle = words[words.index(word) :]
        shown = cycle if len(cycle) <= 8 else [*cycle[:8], "..."]
        return " -> ".join(map(str, [*shown, word]))

    def __len__(self) -> int:
        """Number of words."""
        return len(self.forms)

    @property
    def roots(self) -> tuple[int, ...]:
        """Numbers of the words whose head is 0."""
        return tuple((np.flatnonzero(self.heads == 0) + 1).tolist())

    @property
    def single_root(self) -> bool:
        """Is exactly one word a root, as CoNLL-U demands?"""
        return int(np.count_nonzero(self.heads == 0)) == 1

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """(n + 1): for 0 and each word its dependents, left to right."""
        children: list[list[int]] = [[] for _ in range(len(self.forms) + 1)]
        for word, head in enumerate(self.heads.tolist(), start=1):
            children[head].append(word)
        return tuple(map(tuple, children))

    @property
    def arcs(self) -> list[tuple[int, int, str | None]]:
        """(head, dependent, relation) for each word in order."""
        relations = self.relations or (None,) * len(self.forms)
        pairs = zip(self.heads.tolist(), relations, strict=True)
        return [(head, word, relation) for word, (head, relation) in enumerate(pairs, start=1)]

    @cached_property
    def depths(self) -> npt.NDArray[np.int32]:
        """(n,): arcs between each word and 0, so 1 for a root."""
        heads = self.heads.tolist()
        depths = [0] * (len(heads) + 1)
        for word in reversed(self._leaves_first):
            depths[word] = depths[heads[word - 1]] + 1
        return np.array(depths[1:], dtype=np.int32)

    def is_projective(self) -> bool:
        """Does every word, with all that depends on it, cover a gapless stretch of the sentence?

        The same as: no word under an arc, head -> dependent, fails to descend from that head.

        >>> DependencyTree(("a", "hearing", "is", "on", "it"), [2, 3, 0, 2, 4]).is_projective()
        False
        """
        heads = [0, *self.heads.tolist()]
        first, last, size = list(range(len(heads))), list(range(len(heads))), [1] * len(heads)
        for word in self._leaves_first:
            if last[word] - first[word] + 1 != size[word]:
                return False
            head = heads[word]
            first[head] = min(first[head], first[word])
            last[head] = max(last[head], last[word])
            size[head] += size[word]
        return True

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DependencyTree):
            return NotImplemented
        names = ("forms", "relations", "tags")
        same = all(getattr(self, name) == getattr(other, name) for name in names)
        return same and np.array_equal(self.heads, other.heads)

    def __hash__(self) -> int:
        return hash((self.forms, self.heads.tobytes(), self.relations, self.tags))
