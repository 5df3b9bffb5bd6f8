"""What the tagger looks at: slots of a word, and templates that put slots together.

1. A *slot* is one thing that can be said of a word alone: the word, its shape, its last three
   letters, the first 6 bits of its cluster (``features.shapes``).
2. A *template* names one to three slots at places around the token to be tagged, such as
   ``lower[-1]&lower[0]``.  Its value at a token is one feature, which is on or off.
3. A template may also hold ``tag[-1]`` or ``tag[-1]&tag[-2]``: what was decided for the tokens
   before.  Such features are put together while tagging.
4. Every slot value and template becomes a 64-bit key (:func:`key_of`); the key of a feature is
   mixed from them by the same arithmetic in Python (:func:`mixed`) and in the kernel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from eigentext.base.hashing import mixed, text_key
from eigentext.errors import SettingsError
from eigentext.features.shapes import CLUSTER_BITS, SLOTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "Template",
    "Templates",
    "default_templates",
    "key_of",
    "mixed",
    "parse_template",
]

_PART = re.compile(r"([a-z]+[0-9]*)\[([+-]?[0-9])\]")
MOST_PARTS = 3
REACH = 3  # how far a template may look to either side


def key_of(name: str) -> int:
    """The key of a text, never 0 (0 means that there is none)."""
    return text_key(name) or 1


def template_key(seed: int, keys: Sequence[int]) -> int:
    """The key of a template's value: its seed with the keys of its slots, in order; never 0."""
    return mixed(seed, keys) or 1


@dataclass(frozen=True)
class Template:
    """One template: slots at places, and how many of the tags before the token belong to it."""

    name: str
    parts: tuple[tuple[str, int], ...]
    n_tags: int = 0


def parse_template(name: str) -> Template:
    """Read a template such as ``tag[-1]&lower[0]``.

    >>> parse_template("lower[-1]&case[0]").parts
    (('lower', -1), ('case', 0))
    >>> parse_template("tag[-1]&tag[-2]").n_tags
    2
    """
    parts: list[tuple[str, int]] = []
    tags: list[int] = []
    for text in name.split("&"):
        match = _PART.fullmatch(text)
        if not match or match[1] not in (*SLOTS, "tag"):
            known = ", ".join((*SLOTS, "tag"))
            raise SettingsError(f"template {name!r}: {text!r} is not slot[place]; slots: {known}")
        offset = int(match[2])
        if match[1] == "tag":
            tags.append(offset)
        elif abs(offset) > REACH:
            raise SettingsError(f"template {name!r}: place {offset} is further than {REACH} away")
        else:
            parts.append((match[1], offset))
    if tags not in ([], [-1], [-1, -2]):
        raise SettingsError(f"template {name!r}: tags may be tag[-1] or tag[-1]&tag[-2]")
    if len(parts) > MOST_PARTS:
        raise SettingsError(f"template {name!r} has more than {MOST_PARTS} slots")
    return Template(name, tuple(parts), len(tags))


class Templates:
    """Templates as arrays for the kernels; those without tags come first.

    >>> both = Templates(["tag[-1]", "lower[0]"])
    >>> both.names, both.n_static
    (('lower[0]', 'tag[-1]'), 1)
    """

    def __init__(self, names: Sequence[str]) -> None:
        if isinstance(names, str):
            raise TypeError("templates are a list of names, not one str")
        if len(set(names)) < len(names):
            raise SettingsError("a template is named twice")
        read = [parse_template(name) for name in names]
        self.static = tuple(template for template in read if not template.n_tags)
        self.dynamic = tuple(template for template in read if template.n_tags)
        if not self.static:
            raise SettingsError("no template without tags: expected at least one such as lower[0]")
        self.n_static = len(self.static)

    @cached_property
    def all(self) -> tuple[Template, ...]:
        """Static templates, then those with tags."""
        return self.static + self.dynamic

    @property
    def names(self) -> tuple[str, ...]:
        """The names in that order."""
        return tuple(template.name for template in self.all)

    @cached_property
    def parts(self) -> npt.NDArray[np.int64]:
        """(n, MOST_PARTS, 2): slot and place of each part; slot -1 where there is none."""
        parts = np.full((len(self.all), MOST_PARTS, 2), -1, np.int64)
        for row, template in enumerate(self.all):
            for column, (slot, offset) in enumerate(template.parts):
                parts[row, column] = SLOTS.index(slot), offset
        return parts

    @cached_property
    def seeds(self) -> npt.NDArray[np.uint64]:
        """A key of each template."""
        return np.array([key_of(f"template\t{template.name}") for template in self.all], np.uint64)

    @cached_property
    def n_tags(self) -> npt.NDArray[np.int64]:
        """How many tags each dynamic template holds."""
        return np.array([template.n_tags for template in self.dynamic], np.int64)

    def keys_at(self, words: Sequence[Mapping[str, int]], at: int) -> list[int]:
        """The plain twin of the kernel: keys of all templates at a token, 0 for none.

        ``words`` has the slot keys of each token, with ``REACH`` boundary words on either side.
        """
        keys = []
        for template, seed in zip(self.all, self.seeds.tolist(), strict=True):
            parts = [words[at + REACH + offset].get(slot, 0) for slot, offset in template.parts]
            keys.append(template_key(seed, parts) if all(parts) else 0)
        return keys


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
        for bits in (f"bits{n}" for n in CLUSTER_BITS):
            names += [f"{bits}[{offset}]" for offset in ("-2", "-1", "0", "+1", "+2")]
            names += [f"{bits}[-1]&{bits}[0]", f"{bits}[0]&{bits}[+1]", f"{bits}[0]&case[0]"]
        names += ["tag[-1]&bits20[0]", "tag[-1]&bits6[0]"]
    return tuple(names)
