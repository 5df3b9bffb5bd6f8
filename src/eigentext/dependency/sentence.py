"""One view of a sentence for all models of the room: its words, and what is known of them.

Whoever asks a parser gives a list of words, with columns of tags as keywords if there are any, or
a :class:`TaggedSentence`.  :meth:`TaggedSentence.of` makes one of all these, and checks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypedDict

from eigentext.base.tokens import checked_words
from eigentext.errors import SettingsError
from eigentext.language.formats.conllu import ConlluBlock

_OTHER = "OtherUPOS="
_CONLLU = (1, 3, 4, 5, 2)  # where form, upos, xpos, feats and lemma are in a line


def with_other_upos(misc: str, other: str) -> str:
    """A cell of MISC with the second-best upos in it.

    >>> with_other_upos("SpaceAfter=No", "1:VERB"), with_other_upos("_", "_")
    ('SpaceAfter=No|OtherUPOS=1:VERB', '_')
    """
    items = [item for item in misc.split("|") if item != "_" and not item.startswith(_OTHER)]
    items += [_OTHER + other] if other != "_" else []
    return "|".join(items) or "_"


def _other_upos(misc: str) -> str:
    if _OTHER not in misc:
        return "_"
    items = (item for item in misc.split("|") if item.startswith(_OTHER))
    return next(items, _OTHER).removeprefix(_OTHER) or "_"


class TagColumns(TypedDict, total=False):
    """What may be known of the words beside their forms, one str for each word."""

    upos: Sequence[str] | None
    xpos: Sequence[str] | None
    feats: Sequence[str] | None
    lemmas: Sequence[str] | None


class TaggedSentence(NamedTuple):
    """The words of a sentence and their columns; one that is not known is all ``_``.

    ``others``  the second-best upos of each word by its tagger and how near it comes, ``1:VERB``,
                1 for the nearest; ``_`` or nothing at all where a tag is sure.  In CoNLL-U it
                stands in MISC, ``OtherUPOS=1:VERB``
    """

    forms: Sequence[str]
    upos: Sequence[str]
    xpos: Sequence[str]
    feats: Sequence[str]
    lemmas: Sequence[str]
    others: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        sentence: Sequence[str] | TaggedSentence,
        *,
        upos: Sequence[str] | None = None,
        xpos: Sequence[str] | None = None,
        feats: Sequence[str] | None = None,
        lemmas: Sequence[str] | None = None,
    ) -> TaggedSentence:
        """From words and what is known of them; an empty cell, or no column, is ``_``.

        >>> TaggedSentence.of(["Birds", "sing"], upos=["NOUN", ""]).upos
        ('NOUN', '_')
        """
        columns = {"upos": upos, "xpos": xpos, "feats": feats, "lemmas": lemmas}
        if isinstance(sentence, cls):
            if any(column is not None for column in columns.values()):
                raise TypeError("a TaggedSentence has its tags: give none beside it")
            return sentence
        words = checked_words(sentence)
        if not words:
            raise SettingsError("no tokens: a sentence has at least one")
        checked = []
        for name, column in columns.items():
            if isinstance(column, str):
                raise TypeError(f"{name} is a sequence with one str per token, not one str")
            if column is not None and len(column) != len(words):
                raise ValueError(f"found {len(column)} {name} for {len(words)} tokens")
            cells = ("_",) * len(words) if column is None else column
            checked.append(tuple(cell or "_" for cell in cells))
        return cls(tuple(words), *checked)

    @classmethod
    def from_conllu(cls, sentence: ConlluBlock) -> TaggedSentence:
        """The columns of a CoNLL-U sentence, in one walk over its lines."""
        rows = sentence.rows
        columns = [tuple(row[column] for row in rows) for column in _CONLLU]
        others = tuple(_other_upos(row[9]) for row in rows)
        return cls(*columns)._replace(others=others if set(others) != {"_"} else ())

    @property
    def coarse(self) -> Sequence[str]:
        """UPOS where there are any, else XPOS.

        >>> TaggedSentence.of(["Birds", "sing"], xpos=["NNS", "VBP"]).coarse
        ('NNS', 'VBP')
        """
        return self.xpos if set(self.upos) <= {"_"} else self.upos

    @property
    def fine(self) -> Sequence[str]:
        """XPOS where there are any, else UPOS."""
        return self.upos if set(self.xpos) <= {"_"} else self.xpos

    def part(self, begin: int, end: int) -> TaggedSentence:
        """The words from ``begin`` to ``end``, counted from 0."""
        return TaggedSentence(*(column[begin:end] for column in self))
