"""Attributes of words by name: the one place that says what a model can look at.

Each model has a table of its own, in which every attribute has a column; templates (``templates``)
name attributes, never columns.  The key of a value is a hash of name and text, so a stored model
hangs on both, but not on the order of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from eigentext.base.hashing import key_of
from eigentext.features.signatures import case_of, kind_of, lowered, outline

UNKNOWN = "\t<unknown>"  # no form has a TAB in it


@dataclass(eq=False)
class KeyedWord:
    """A word and what is known of it; ``_`` for a column that says nothing."""

    form: str
    upos: str = "_"
    xpos: str = "_"
    feats: str = "_"
    lemma: str = "_"
    other: str = "_"  # the upos that its tagger had second, and how near it came: ``1:VERB``
    bits: str | None = None  # of its cluster
    near: str | None = None  # of its vector in a hierarchy
    frequent: bool = True  # was it there often enough in training to stand for itself?
    norm: str = ""  # as an analyzer matches it

    @cached_property
    def lower(self) -> str:
        """Lower case, every digit a 0."""
        return lowered(self.form)

    @cached_property
    def pairs(self) -> list[str]:
        """The features, ``Case=Nom`` and so on."""
        return [] if self.feats == "_" else self.feats.split("|")


class Attribute(NamedTuple):
    """One thing that can be said of a word."""

    name: str
    of: Callable[[KeyedWord], str | None] | None = None  # its text; None: a model fills the column
    in_keys: str = ""  # the name in keys, where several attributes share their keys

    def key(self, word: KeyedWord) -> int:
        """The key of its text, 0 for none."""
        text = None if self.of is None else self.of(word)
        return 0 if text is None else key_of(f"{self.in_keys or self.name}\t{text}")


class Attributes:
    """The attributes of a model.

    >>> both = Attributes(Attribute("lower", lambda w: w.lower), Attribute("tag"))
    >>> both.column["tag"], both.texts(KeyedWord("Cat"))
    (1, {'lower': 'cat'})
    """

    def __init__(self, *attributes: Attribute) -> None:
        self._attributes = attributes
        self.names = tuple(attribute.name for attribute in attributes)
        self.column = {name: column for column, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self._attributes)

    def texts(self, word: KeyedWord) -> dict[str, str]:
        """The text of each attribute that the word has."""
        texts = ((attribute.name, attribute.of and attribute.of(word)) for attribute in self)
        return {name: text for name, text in texts if text is not None}

    def keys(self, word: KeyedWord) -> list[int]:
        """The key of each attribute, 0 for none."""
        return [attribute.key(word) for attribute in self]


def _edge(cut: slice, longer_than: int) -> Callable[[KeyedWord], str | None]:
    """A beginning or ending of words that are longer, in lower case."""
    return lambda w: w.lower[cut] if len(w.lower) > longer_than else None


def _letters(cut: slice) -> Callable[[KeyedWord], str]:
    return lambda w: w.form[cut]


def _bits(
    names: Sequence[str],
    column: Literal["bits", "near"],
    depths: Sequence[int | None],
    *,
    without: str | None = None,
    in_keys: str = "",
) -> Iterator[Attribute]:
    """So many bits of a word; ``without``: what a word says that has none."""
    for name, n in zip(names, depths, strict=True):

        def of(word: KeyedWord, n: int | None = n) -> str | None:
            bits: str | None = getattr(word, column)
            return without if bits is None else bits[:n]

        yield Attribute(name, of, in_keys)


TAGGED_BITS = ("bits4", "bits6", "bits10", "bits20")
TAGGING = Attributes(
    Attribute("word", of=lambda w: w.form),
    Attribute("lower", of=lambda w: w.lower),
    Attribute("shape", of=lambda w: outline(w.form, 3)),
    Attribute("form", of=lambda w: outline(w.form)),
    Attribute("case", of=lambda w: case_of(w.form)),
    Attribute("kind", of=lambda w: kind_of(w.form)),
    *(Attribute(f"pre{n}", _edge(slice(n), n)) for n in (1, 2, 3, 4)),
    *(Attribute(f"suf{n}", _edge(slice(-n, None), n)) for n in (1, 2, 3, 4)),
    *_bits(TAGGED_BITS, "bits", (4, 6, 10, 20)),
)

N_ENDINGS, N_BEGINNINGS = 6, 4
_DEPTHS = (4, 6, 9, 20)
CLUSTER_BITS = tuple(f"cluster{n}" for n in _DEPTHS), tuple(f"near{n}" for n in _DEPTHS)
MORPHOLOGY = Attributes(
    Attribute("word"),
    Attribute("lower"),
    Attribute("shape", of=lambda w: outline(w.form)),
    Attribute("kind", of=lambda w: w.form and kind_of(w.form)),
    Attribute("analysis"),
    *(Attribute(f"ending{n}") for n in range(1, N_ENDINGS + 1)),
    *(Attribute(f"beginning{n}") for n in range(1, N_BEGINNINGS + 1)),
    Attribute("ambiguity"),
    Attribute("best"),
    Attribute("upos"),
    *_bits(CLUSTER_BITS[0], "bits", _DEPTHS, in_keys="bits"),
    *_bits(CLUSTER_BITS[1], "near", _DEPTHS, in_keys="bits"),
)

_MORPH = ("Case", "VerbForm")
AFFIXES = ("end2", "end4", "begin3")  # of the parser, beside ``end``, the last three letters
PARSED_BITS = ("bits4", "bits6", "bits"), ("near4", "near6", "near")
PARSING = Attributes(
    # upos and xpos come first: the kernels take the tags in between from columns 0 and 1
    Attribute("upos", of=lambda w: w.upos),
    Attribute("xpos", of=lambda w: w.xpos),
    Attribute("lower", of=lambda w: w.lower if w.frequent else UNKNOWN),
    Attribute("form", of=lambda w: w.form if w.frequent else UNKNOWN),
    Attribute("feats", of=lambda w: w.feats),
    Attribute("morph", of=lambda w: "|".join(x for x in w.pairs if x.split("=")[0] in _MORPH)),
    Attribute("end", of=lambda w: w.lower[-3:]),
    *_bits(PARSED_BITS[0], "bits", (4, 6, None), without="none"),
    *_bits(PARSED_BITS[1], "near", (4, 6, None), without="none"),
    # without lemmas templates say what those of forms say
    Attribute("lemma", of=lambda w: w.lower if w.lemma == "_" else w.lemma),
    Attribute("end2", of=lambda w: w.lower[-2:]),
    Attribute("end4", of=lambda w: w.lower[-4:]),
    Attribute("begin3", of=lambda w: w.lower[:3]),
    Attribute("other", of=lambda w: w.other.rpartition(":")[2]),
    Attribute("either", of=lambda w: w.upos if w.other == "_" else f"{w.upos} {w.other}"),
)

RANKING = Attributes(
    Attribute("form", of=lambda w: w.form),
    Attribute("norm", of=lambda w: w.norm),
    Attribute("first", _letters(slice(1))),
    Attribute("last", _letters(slice(-1, None))),
    *(Attribute(f"start{n}", _letters(slice(n))) for n in (2, 3)),
    *(Attribute(f"end{n}", _letters(slice(-n, None))) for n in (1, 2, 3, 4, 5)),
    *_bits(("cluster", "cluster6", "cluster3"), "bits", (None, 6, 3)),
)
