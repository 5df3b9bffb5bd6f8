"""From words to feature numbers.

A template names one to three attributes (``features.attributes.TAGGING``) of words around the
token to be tagged, such as ``lower[-1]&lower[0]``: its value at a token is one feature, on or
off.  It may also hold ``tag[-1]`` or ``tag[-1]&tag[-2]``, what was decided for the tokens before;
such features are put together while tagging.  Each word type is looked at once
(:class:`WordRows`); keys that training saw often enough have a number (:class:`KeyNumbers`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from eigentext.base.hashing import key_of
from eigentext.base.types import Int32s, Int64s, UInt64s
from eigentext.errors import SettingsError
from eigentext.features.attributes import TAGGED_BITS, TAGGING, KeyedWord
from eigentext.features.symbols import looked_up
from eigentext.features.templates import Template, TemplateGrammar, distinct, seeds_of

REACH = 3  # how far a template may look to either side
_GRAMMAR = TemplateGrammar("attribute[offset]", (*TAGGING.names, "tag"), most=5, reach=REACH)
MOST_PARTS = 3


def parse_template(name: str) -> tuple[Template, int]:
    """Read a template such as ``tag[-1]&lower[0]``: what it asks of words, and how many tags.

    >>> parse_template("tag[-1]&tag[-2]&lower[0]")[0].items
    (TemplateItem(attribute='lower', offset=0, role=''),)
    >>> parse_template("tag[-1]&tag[-2]")[1]
    2
    """
    template = _GRAMMAR.parse(name)
    tags = [item.offset for item in template.items if item.attribute == "tag"]
    if tags not in ([], [-1], [-1, -2]):
        raise SettingsError(f"template {name!r}: tags may be tag[-1] or tag[-1]&tag[-2]")
    items = tuple(item for item in template.items if item.attribute != "tag")
    if len(items) > MOST_PARTS:
        raise SettingsError(f"template {name!r} has more than {MOST_PARTS} attributes")
    return template._replace(items=items), len(tags)


class TagTemplates:
    """Templates as arrays for the kernels; those without tags come first.

    >>> both = TagTemplates(["tag[-1]", "lower[0]"])
    >>> both.names, both.n_static
    (('lower[0]', 'tag[-1]'), 1)
    """

    def __init__(self, names: Sequence[str]) -> None:
        read = sorted(map(parse_template, distinct(names)), key=lambda pair: pair[1] > 0)
        self.all = tuple(template for template, _ in read)
        tags = [n_tags for _, n_tags in read if n_tags]
        self.n_tags = np.array(tags, np.int64)  # of each template with tags
        self.n_static = len(read) - len(tags)
        if not self.n_static:
            raise SettingsError("no template without tags: expected at least one such as lower[0]")

    @property
    def names(self) -> tuple[str, ...]:
        """The names in that order."""
        return tuple(template.text for template in self.all)

    @cached_property
    def parts(self) -> Int64s:
        """(n, MOST_PARTS, 2): attribute and place of each part; -1 where there is none."""
        return np.ascontiguousarray(_GRAMMAR.places(self.all)[:, :MOST_PARTS])

    @cached_property
    def seeds(self) -> UInt64s:
        """A key of each template."""
        return seeds_of("template", self.all)


def default_templates(*, clusters: bool) -> tuple[str, ...]:
    """The templates used unless others are given; ``clusters`` adds those with bits."""
    names = ["word[0]", "lower[0]", "shape[0]", "form[0]", "case[0]", "kind[0]"]
    names += [f"{end}{n}[0]" for end in ("pre", "suf") for n in (1, 2, 3, 4)]
    for offset in ("-1", "+1"):
        names += [
            f"{slot}[{offset}]" for slot in ("word", "lower", "form", "suf3", "pre3", "kind")
        ]
    for offset in ("-2", "+2"):
        names += [f"{slot}[{offset}]" for slot in ("lower", "form")]
    names += ["lower[-1]&lower[0]", "lower[0]&lower[+1]", "lower[-2]&lower[-1]"]
    names += ["lower[-1]&lower[+1]", "lower[+1]&lower[+2]"]
    names += ["case[-1]&case[0]", "case[0]&case[+1]", "case[-1]&case[0]&case[+1]"]
    names += ["lower[-1]&case[0]", "case[0]&lower[+1]", "suf3[0]&case[0]", "form[0]&lower[-1]"]
    names += ["tag[-1]", "tag[-1]&tag[-2]", "tag[-1]&lower[0]", "tag[-1]&lower[-1]"]
    names += ["tag[-1]&lower[+1]", "tag[-1]&form[0]", "tag[-1]&suf3[0]", "tag[-1]&tag[-2]&case[0]"]
    if clusters:
        for bits in TAGGED_BITS:
            names += [f"{bits}[{offset}]" for offset in ("-2", "-1", "0", "+1", "+2")]
            names += [f"{bits}[-1]&{bits}[0]", f"{bits}[0]&{bits}[+1]", f"{bits}[0]&case[0]"]
        names += ["tag[-1]&bits20[0]", "tag[-1]&bits6[0]"]
    return tuple(names)


_MOST_TYPES = 1 << 19  # then the table starts anew: memory stays flat on endless input
_BEFORE, _AFTER = "\n<", "\n>"  # no token holds a line end
_OF_BOUNDARIES = ("word", "lower", "form", "case", "kind", "bits4", "bits20")


def attribute_keys(word: str, bits: str | None) -> dict[str, int]:
    """Keys of the attributes of a word; boundaries have a few of them only."""
    if word in (_BEFORE, _AFTER):
        texts = dict.fromkeys(_OF_BOUNDARIES, word)
    else:
        texts = TAGGING.texts(KeyedWord(word, bits=bits))
    return {name: key_of(f"{name}\t{text}") for name, text in texts.items()}


@lru_cache(maxsize=1 << 16)  # many taggers learn from the same words: folds, columns
def _row_of_keys(word: str, bits: str | None) -> UInt64s:
    """(attributes,): the keys, 0 for none."""
    keys = attribute_keys(word, bits)
    return np.array([keys.get(name, 0) for name in TAGGING.names], np.uint64)


@dataclass(frozen=True)
class TagBatch:
    """Sentences as arrays: word ids, where each begins, and the row of each token's vector."""

    types: Int64s
    starts: Int64s
    vector_of: Int32s

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return len(self.types)


class WordRows:
    """Words met so far: keys of attributes and vector of each.

    ``clusters`` maps words to bit strings.  A word that is not there is looked for in small
    letters, then with a capital; failing that it has no cluster.  Vectors are found likewise.
    """

    def __init__(
        self,
        clusters: Mapping[str, str] | None = None,
        vector_rows: Mapping[str, int] | None = None,
    ) -> None:
        self._clusters = clusters or {}
        self._vector_rows = vector_rows or {}
        self._start()

    def _start(self) -> None:
        self._ids: dict[str, int] = {}
        self.keys = np.zeros((1024, len(TAGGING)), np.uint64)
        self._vectors = np.full(1024, -1, np.int32)
        for word in (_BEFORE, _AFTER):
            self._add(word)

    def cluster_of(self, word: str) -> str | None:
        """The bits of a word, or None."""
        return looked_up(self._clusters, word)

    def _add(self, word: str) -> int:
        number = len(self._ids)
        if number == len(self.keys):
            self.keys = np.concatenate([self.keys, np.zeros_like(self.keys)])
            self._vectors = np.concatenate([self._vectors, np.full_like(self._vectors, -1)])
        self.keys[number] = _row_of_keys(word, self.cluster_of(word))
        row = looked_up(self._vector_rows, word)
        self._vectors[number] = -1 if row is None else row
        self._ids[word] = number
        return number

    def batch(self, sentences: Sequence[Sequence[str]]) -> TagBatch:
        """The sentences as arrays; new words are added to the table."""
        if len(self._ids) > _MOST_TYPES:
            self._start()
        ids = self._ids
        types = [
            number if (number := ids.get(word)) is not None else self._add(word)
            for tokens in sentences
            for word in tokens
        ]
        starts = np.zeros(len(sentences) + 1, np.int64)
        np.cumsum([len(tokens) for tokens in sentences], out=starts[1:])
        array = np.array(types, np.int64)
        return TagBatch(array, starts, self._vectors[array])

    def feature_keys(self, batch: TagBatch, templates: TagTemplates) -> UInt64s:
        """(tokens, templates): the keys that the kernel forms."""
        from eigentext.features.kernels.templates import WordFeatures, feature_keys

        out = np.empty((batch.n_tokens, len(templates.all)), np.uint64)
        features = WordFeatures(self.keys, templates.parts, templates.seeds)
        feature_keys(batch.types, batch.starts, features, out)
        return out


@dataclass(frozen=True)
class KeyNumbers:
    """Numbers of keys, by an open-addressing table that the kernel reads.

    >>> table = KeyNumbers(np.array([7, 9], np.uint64))
    >>> table.numbers(np.array([[9, 8, 0]], np.uint64)).tolist()
    [[1, -1, -1]]
    """

    keys: UInt64s
    _slots: list[npt.NDArray[Any]] = field(default_factory=list, repr=False, compare=False)

    def _table(self) -> list[npt.NDArray[Any]]:
        if not self._slots:
            from eigentext.tagging.sequence.kernels.perceptron import fill_table

            size = 1 << max(4, (2 * len(self.keys)).bit_length())
            if size > 1 << 31:
                raise SettingsError(f"{len(self.keys)} features are too many; raise min_count")
            self._slots.extend([np.zeros(size, np.uint64), np.zeros(size, np.int32)])
            fill_table(self.keys, self._slots[0], self._slots[1])
        return self._slots

    def numbers(self, keys: UInt64s) -> Int32s:
        """The number of each key of a two-dimensional array, -1 where it has none."""
        from eigentext.tagging.sequence.kernels.perceptron import look_up

        out = np.empty(keys.shape, np.int32)
        table_keys, table_values = self._table()
        look_up(keys, table_keys, table_values, out)
        return out

    @classmethod
    def counted(cls, keys: UInt64s, min_count: int) -> KeyNumbers:
        """The keys that occur so often, in the order of their values."""
        distinct, counts = np.unique(keys, return_counts=True)
        return cls(distinct[(counts >= min_count) & (distinct != 0)])
