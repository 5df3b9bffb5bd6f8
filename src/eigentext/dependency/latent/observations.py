"""What a node of a tree shows: words and tags as numbers, and trees as flat arrays.

A channel is one emission of a node's hidden state; ``word+tag`` has two of them, so that
``p(word, tag | h) = p(word | h) p(tag | h)``, while ``word|tag`` has one, of pairs.  A rare word
is represented by its signature, and what is still unknown by ``<unk>``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from eigentext.base.ragged import pointers
from eigentext.base.tokens import checked_tokens, each_of
from eigentext.base.types import Float64s, Int8s, Int32s, Int64s
from eigentext.errors import DataError, SettingsError
from eigentext.features.signatures import LANGUAGES, Language, signatures
from eigentext.features.symbols import UNKNOWN, first_known
from eigentext.language.trees.dependency import DependencyTree

_FEW = 4  # a signature seen less often gives way to a coarser one
CHANNELS = ("word", "tag", "word|tag")


@dataclass(frozen=True)
class Observations:
    """Names of what each channel can show, and how words are looked up.

    >>> tree = DependencyTree(["a", "dog", "barks"], [2, 3, 0], tags=["DET", "NOUN", "VERB"])
    >>> seen = Observations.learn([tree], "word|tag", min_count=1)
    >>> seen.encode(["a", "cat", None], ["DET", "NOUN", None]).tolist()
    [[0, 3, -1]]
    """

    spec: str  # channels joined by ``+``, each ``word``, ``tag`` or ``word|tag``
    # for each channel the names in order of number; the last is ``<unk>``
    names: tuple[tuple[str, ...], ...]
    min_count: int = 2  # rarer words are shown by their signatures
    lower: bool = True  # words are looked up in small letters
    language: Language = "english"
    _known: dict[tuple[int, str], int] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def learn(
        cls,
        trees: Iterable[DependencyTree],
        spec: str = "word|tag",
        *,
        min_count: int = 2,
        lower: bool = True,
        language: Language = "english",
    ) -> Observations:
        """Number what occurs in the trees, the most frequent first."""
        channels = channels_of(spec)
        if min_count < 1:
            raise SettingsError(f"min_count {min_count}: expected at least 1")
        if language not in LANGUAGES:
            raise SettingsError(f"language must be 'english' or 'generic', not {language!r}")
        counts: list[Counter[str]] = [Counter() for _ in channels]
        shapes: list[Counter[str]] = [Counter() for _ in channels]
        pairs: Counter[tuple[str, str]] = Counter()
        for tree in trees:
            if tree.tags is None and any("tag" in name for name in channels):
                raise DataError("trees", None, f"a tree without tags: {spec!r} needs them")
            tags = tree.tags or ("",) * len(tree)
            pairs.update(zip(tree.forms, tags, strict=True))
        if not pairs:
            raise DataError("trees", None, "found no trees: expected at least one")
        for (form, tag), n in pairs.items():
            word = form.lower() if lower else form
            for at, name in enumerate(channels):
                counts[at][_joined(name, word, tag)] += n
        for (form, tag), n in pairs.items():
            word = form.lower() if lower else form
            for at, name in enumerate(channels):
                if "word" not in name:
                    continue
                if (
                    counts[at][_joined(name, word, tag)] < min_count
                ):  # a word seen once or twice speaks for all unseen ones
                    for shape in signatures(form, language=language):
                        shapes[at][_joined(name, shape, tag)] += n
        names = []
        for at, name in enumerate(channels):
            floor = min_count if "word" in name else 1
            values = [(-n, value) for value, n in counts[at].items() if n >= floor]
            values += [
                (-n, value)
                for value, n in shapes[at].items()
                if value != UNKNOWN and (n >= _FEW or value.startswith(UNKNOWN))
            ]
            names.append((*(value for _, value in sorted(values)), UNKNOWN))
        return cls(spec, tuple(names), min_count, lower, language)

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels of the specification."""
        return channels_of(self.spec)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each channel has."""
        return tuple(len(names) for names in self.names)

    @cached_property
    def numbers(self) -> tuple[dict[str, int], ...]:
        """For each channel the number of each name."""
        return tuple({name: at for at, name in enumerate(names)} for names in self.names)

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """The tags of the first channel, sorted; none where it shows words alone."""
        if self.channels[0] == "word":
            return ()
        return tuple(sorted({name.rpartition("|")[2] for name in self.names[0][:-1]}))

    @cached_property
    def tag_of(self) -> Int64s:
        """(n,) for each observation of the first channel the number of its tag, or -1."""
        number = {tag: at for at, tag in enumerate(self.tags)}
        tags = [number.get(name.rpartition("|")[2], -1) for name in self.names[0][:-1]]
        return np.array([*tags, -1], np.int64)

    def encode(self, forms: Sequence[str | None], tags: Sequence[str | None] | None) -> Int32s:
        """(channels, n) numbers; -1 where the form or tag is None."""
        checked_tokens(forms, gaps=True)
        n = len(forms)
        ids = np.full((len(self.names), n), -1, np.int32)
        for channel, name in enumerate(self.channels):
            if "tag" in name and tags is None:
                raise DataError("trees", None, f"a tree without tags: {self.spec!r} needs them")
            for at in range(n):
                tag = tags[at] if tags is not None else ""
                form = forms[at]
                if ("tag" in name and tag is None) or ("word" in name and form is None):
                    continue
                ids[channel, at] = self._number(channel, name, form or "", tag or "")
        return ids

    def _number(self, channel: int, name: str, form: str, tag: str) -> int:
        key = (channel, f"{form}\t{tag}" if name == "word|tag" else tag if name == "tag" else form)
        number = self._known.get(key)
        if number is not None:
            return number
        numbers = self.numbers[channel]
        word = form.lower() if self.lower else form
        symbol = _joined(name, word, tag)
        if symbol not in numbers:
            shapes = () if name == "tag" else signatures(form, language=self.language)
            symbol = first_known((_joined(name, shape, tag) for shape in shapes), numbers)
        number = numbers[symbol]
        if len(self._known) < 200_000:
            self._known[key] = number
        return number


def _joined(name: str, word: str, tag: str) -> str:
    return f"{word}|{tag}" if name == "word|tag" else word if name == "word" else tag


def channels_of(spec: str) -> tuple[str, ...]:
    """The channels that are joined by + in a specification; what is none is a SettingsError."""
    channels = tuple(spec.split("+"))
    if not all(name in CHANNELS for name in channels) or len(set(channels)) < len(channels):
        raise SettingsError(
            f"observations {spec!r}: expected {', '.join(CHANNELS)}, or several joined by +"
        )
    return channels


def each_tree(trees: object) -> Iterator[DependencyTree]:
    """Dependency trees one by one; what is none is a SettingsError."""
    return each_of(DependencyTree, trees, "dependency trees")


def check_heads(heads: npt.ArrayLike, n: int) -> Int32s:
    """(trees, n) heads for one sentence as int32; a cycle or a head out of range is an error.

    >>> check_heads([[0, 1], [2, 0]], 2).tolist()
    [[0, 1], [2, 0]]
    """
    array = np.asarray(heads)
    if array.ndim != 2 or array.shape[1] != n or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(
            f"expected heads of shape (trees, {n}) and integers, found {array.dtype} "
            f"of shape {array.shape}"
        )
    if array.size and (array.min() < 0 or array.max() > n):
        raise ValueError(f"a head is out of range: expected 0..{n}")
    return np.ascontiguousarray(array, np.int32)


@dataclass(frozen=True, eq=False)
class WordForest:
    """Trees end to end."""

    shown: Int32s  # (channels, N) numbers of observations, -1 where missing
    heads: Int32s  # (N,) number of the head within its own sentence, 1.., 0 for a root
    ptr: Int64s  # (trees + 1,) where each tree begins
    weights: Float64s | None = None  # (trees,) how often each tree counts; None: once

    @classmethod
    def of(
        cls,
        trees: Iterable[DependencyTree],
        observations: Observations,
        weights: Float64s | None = None,
    ) -> WordForest:
        """Encode trees."""
        shown, heads = [], []
        for tree in each_tree(trees):
            shown.append(observations.encode(tree.forms, tree.tags))
            heads.append(tree.heads)
        if not shown:
            raise DataError("trees", None, "found no trees: expected at least one")
        ptr = pointers(map(len, heads))
        joined = np.concatenate(heads).astype(np.int32)
        return cls(np.concatenate(shown, axis=1), joined, ptr, weights)

    def __len__(self) -> int:
        """Number of trees."""
        return len(self.ptr) - 1

    @cached_property
    def parents(self) -> Int64s:
        """(N,) place of each node's parent in the flat arrays, -1 for a root."""
        start = np.repeat(self.ptr[:-1], np.diff(self.ptr))
        return np.where(self.heads > 0, start + self.heads - 1, -1)

    @cached_property
    def sides(self) -> Int8s:
        """(N,) 0 for a left child, 1 for a right child, -1 for a root."""
        here = np.arange(len(self.heads))
        side = np.where(self.parents > here, 0, 1).astype(np.int8)
        return np.where(self.parents < 0, -1, side).astype(np.int8)

    @cached_property
    def tree_weights(self) -> Float64s:
        """(trees,) how often each tree counts."""
        return np.ones(len(self)) if self.weights is None else self.weights

    @cached_property
    def node_weights(self) -> Float64s:
        """(N,) how often each node counts: as often as its tree."""
        return np.repeat(self.tree_weights, np.diff(self.ptr))
