"""Templates of features: the language in which all models say what they look at.

A template is a text of items, each of which names an attribute of a word (``attributes``) and a
place; the values of its items together are one feature.  A model's :class:`TemplateGrammar` says
how it is written, and what it may name:

    lower[-1]&case[0]          places around the word in question              (taggers)
    h.xpos h+1.xpos d.lower    words by their role, and words beside these     (parser)
    form@0 form@-1             places around the word, too                     (ranker)

The seed of a template is a hash of its text: what a stored model has learned of a template does
not hang on the place that it has among others.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.base.hashing import key_of
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eigentext.base.types import Int64s, UInt64s

    Keys = UInt64s

_WRITTEN = {
    "attribute[offset]": re.compile(r"(?P<attribute>[a-z]+[0-9]*)\[(?P<offset>[+-]?[0-9])\]"),
    "role.attribute": re.compile(r"(?P<role>[a-z])(?P<offset>[+-][0-9])?\.(?P<attribute>\w+)"),
    "attribute@offset": re.compile(r"(?P<attribute>[^@]+)@(?P<offset>[+-]?[0-9]+)"),
}


class TemplateItem(NamedTuple):
    """An attribute of a word, and where it is: so far beside the word with the role."""

    attribute: str
    offset: int = 0
    role: str = ""


class Template(NamedTuple):
    """A template; ``extra`` is a further item that its grammar knows, or nothing."""

    text: str
    items: tuple[TemplateItem, ...]
    extra: str = ""

    @property
    def roles(self) -> frozenset[str]:
        """The roles of its items."""
        return frozenset(item.role for item in self.items)


@dataclass(frozen=True)
class TemplateGrammar:
    """How a model writes its templates.

    >>> grammar = TemplateGrammar("attribute[offset]", ("lower", "case"))
    >>> grammar.parse("lower[-1]&case[0]").items[0]
    TemplateItem(attribute='lower', offset=-1, role='')
    """

    written: str  # one item: ``attribute[offset]``, ``role.attribute`` or ``attribute@offset``
    attributes: tuple[str, ...] = ()  # in the order of their columns; of none: any are good
    roles: str = ""  # their letters
    extras: tuple[str, ...] = ()  # items of another kind
    most: int = 3  # items with one role, or if ``together``, items in all
    together: bool = False
    reach: int | None = None  # the largest offset to either side; None: any
    _parsed: dict[str, Template] = field(default_factory=dict, repr=False, compare=False)

    def parse(self, text: str) -> Template:
        """The items of a template; what is none is a SettingsError."""
        template = self._parsed.get(text)
        if template is None:
            template = self._parsed[text] = self._read(text)
        return template

    def _read(self, text: str) -> Template:
        items: list[TemplateItem] = []
        extra = ""
        for piece in text.split("&" if "[" in self.written else None):
            if piece in self.extras:
                extra = piece
                continue
            match = _WRITTEN[self.written].fullmatch(piece)
            parts = match.groupdict() if match else {}
            offset, role = int(parts.get("offset") or 0), parts.get("role", "")
            item = TemplateItem(parts.get("attribute", ""), offset, role)
            good = not self.attributes or item.attribute in self.attributes
            if not match or not good or item.role not in self.roles:
                names = f"; attributes: {', '.join(self.attributes)}" if self.attributes else ""
                raise SettingsError(f"template {text!r}: {piece!r} is not {self.written}{names}")
            if self.reach is not None and abs(item.offset) > self.reach:
                why = f"offset {item.offset} is further than {self.reach} away"
                raise SettingsError(f"template {text!r}: {why}")
            items.append(item)
        if not items:
            raise SettingsError(f"template {text!r} names no word")
        if max(Counter("" if self.together else item.role for item in items).values()) > self.most:
            of_word = "" if self.together else " of a word"
            raise SettingsError(f"template {text!r} has more than {self.most} items{of_word}")
        return Template(text, tuple(items), extra)

    def places(self, templates: Sequence[Template], role: str = "") -> Int64s:
        """(T, most, 2) column and offset of each item with this role; -1 where there is none."""
        places = np.full((len(templates), self.most, 2), -1, np.int64)
        for row, template in enumerate(templates):
            items = [item for item in template.items if item.role == role]
            for column, item in enumerate(items):
                places[row, column] = self.attributes.index(item.attribute), item.offset
        return places


def seeds_of(prefix: str, templates: Iterable[Template]) -> Keys:
    """(T,) the keys that the features of templates begin with; ``prefix`` tells models apart."""
    return np.array([key_of(f"{prefix}\t{template.text}") for template in templates], np.uint64)


def distinct(names: Sequence[str]) -> Sequence[str]:
    """The names of templates as they are, if none is there twice."""
    if isinstance(names, str):
        raise TypeError("templates are a list of names, not one str")
    if len(set(names)) < len(names):
        raise SettingsError("a template is named twice")
    return names
