"""What the tagger looks at: slots of a word, and templates that put slots together.

1. A *slot* is one thing that can be said of a word alone: the word, its shape, its last three
   letters, the first 6 bits of its cluster.  :func:`looks` gives them all.
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

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "CLUSTER_BITS",
    "SLOTS",
    "Template",
    "Templates",
    "default_templates",
    "key_of",
    "looks",
    "mixed",
    "parse_template",
]

CLUSTER_BITS = (4, 6, 10, 20)
_CLUSTER_SLOTS = tuple(f"bits{n}" for n in CLUSTER_BITS)
SLOTS = (
    "word",
    "lower",
    "shape",
    "form",
    "case",
    "kind",
    "pre1",
    "pre2",
    "pre3",
    "pre4",
    "suf1",
    "suf2",
    "suf3",
    "suf4",
    *_CLUSTER_SLOTS,
)

_PART = re.compile(r"([a-z]+[0-9]*)\[([+-]?[0-9])\]")
MOST_PARTS = 3
REACH = 3  # how far a template may look to either side
_URL = re.compile(r"(?:https?://|www\.)\S+|\S+\.(?:com|org|net)\b\S*")


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
        found = _PART.fullmatch(text)
        if not found or found[1] not in (*SLOTS, "tag"):
            known = ", ".join((*SLOTS, "tag"))
            raise SettingsError(f"template {name!r}: {text!r} is not slot[place]; slots: {known}")
        place = int(found[2])
        if found[1] == "tag":
            tags.append(place)
        elif abs(place) > REACH:
            raise SettingsError(f"template {name!r}: place {place} is further than {REACH} away")
        else:
            parts.append((found[1], place))
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
        self.static = tuple(one for one in read if not one.n_tags)
        self.dynamic = tuple(one for one in read if one.n_tags)
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
        return tuple(one.name for one in self.all)

    @cached_property
    def parts(self) -> npt.NDArray[np.int64]:
        """(n, MOST_PARTS, 2): slot and place of each part; slot -1 where there is none."""
        found = np.full((len(self.all), MOST_PARTS, 2), -1, np.int64)
        for row, one in enumerate(self.all):
            for column, (slot, place) in enumerate(one.parts):
                found[row, column] = SLOTS.index(slot), place
        return found

    @cached_property
    def seeds(self) -> npt.NDArray[np.uint64]:
        """A key of each template."""
        return np.array([key_of(f"template\t{one.name}") for one in self.all], np.uint64)

    @cached_property
    def n_tags(self) -> npt.NDArray[np.int64]:
        """How many tags each dynamic template holds."""
        return np.array([one.n_tags for one in self.dynamic], np.int64)

    def keys_at(self, words: Sequence[Mapping[str, int]], at: int) -> list[int]:
        """The plain twin of the kernel: keys of all templates at a token, 0 for none.

        ``words`` has the slot keys of each token, with ``REACH`` boundary words on either side.
        """
        found = []
        for one, seed in zip(self.all, self.seeds.tolist(), strict=True):
            keys = [words[at + REACH + place].get(slot, 0) for slot, place in one.parts]
            found.append(template_key(seed, keys) if all(keys) else 0)
        return found


def default_templates(*, clusters: bool) -> tuple[str, ...]:
    """The templates used unless others are given; ``clusters`` adds those with bits."""
    names = ["word[0]", "lower[0]", "shape[0]", "form[0]", "case[0]", "kind[0]"]
    names += [f"{end}{n}[0]" for end in ("pre", "suf") for n in (1, 2, 3, 4)]
    for place in ("-1", "+1"):
        names += [f"{slot}[{place}]" for slot in ("word", "lower", "form", "suf3", "pre3", "kind")]
    for place in ("-2", "+2"):
        names += [f"{slot}[{place}]" for slot in ("lower", "form")]
    names += ["lower[-1]&lower[0]", "lower[0]&lower[+1]", "lower[-2]&lower[-1]"]
    names += ["lower[-1]&lower[+1]", "lower[+1]&lower[+2]"]
    names += ["case[-1]&case[0]", "case[0]&case[+1]", "case[-1]&case[0]&case[+1]"]
    names += ["lower[-1]&case[0]", "case[0]&lower[+1]", "suf3[0]&case[0]", "form[0]&lower[-1]"]
    names += ["tag[-1]", "tag[-1]&tag[-2]", "tag[-1]&lower[0]", "tag[-1]&lower[-1]"]
    names += ["tag[-1]&lower[+1]", "tag[-1]&form[0]", "tag[-1]&suf3[0]", "tag[-1]&tag[-2]&case[0]"]
    if clusters:
        for bits in _CLUSTER_SLOTS:
            names += [f"{bits}[{place}]" for place in ("-2", "-1", "0", "+1", "+2")]
            names += [f"{bits}[-1]&{bits}[0]", f"{bits}[0]&{bits}[+1]", f"{bits}[0]&case[0]"]
        names += ["tag[-1]&bits20[0]", "tag[-1]&bits6[0]"]
    return tuple(names)


# ---------------------------------------------------------------- slots of a word


def _class_of(character: str) -> str:
    if character.isupper() or character.istitle():
        return "X"
    if character.islower():
        return "x"
    if character.isdigit():
        return "d"
    return "c" if character.isalpha() else character


def _case_of(word: str) -> str:
    letters = [character for character in word if character.isalpha()]
    n_upper = sum(character.isupper() or character.istitle() for character in letters)
    if not letters:
        return "digits" if any(map(str.isdigit, word)) else "sign"
    if not n_upper:
        return "lower"
    if n_upper == len(letters):
        return "upper" if n_upper > 1 else "single"
    return "title" if n_upper == 1 and _class_of(word[0]) == "X" else "mixed"


def _kind_of(word: str) -> str:
    if word[0] in "@#" and len(word) > 1:
        return word[0]
    if _URL.fullmatch(word):
        return "url"
    marks = ("digit" * any(map(str.isdigit, word)), "dash" * ("-" in word[1:-1]))
    return "+".join(("dot" * ("." in word[:-1]), *marks))


def _runs(classes: str, most: int) -> str:
    """Runs of the same class cut to so many characters."""
    return re.sub(rf"(.)\1{{{most},}}", lambda run: run[1] * most, classes, flags=re.DOTALL)


def looks(word: str, bits: str | None = None) -> dict[str, str]:
    """Every slot of a word; ``bits`` is the path of its cluster, None for a word without one.

    >>> found = looks("McCarthy-2", "0110100")
    >>> found["shape"], found["form"], found["case"], found["suf3"], found["bits6"]
    ('XxXxxx-d', 'XxXx-d', 'mixed', 'y-0', '011010')
    """
    classes = "".join(map(_class_of, word))
    lower = "".join("0" if character.isdigit() else character for character in word.lower())
    found = {
        "word": word,
        "lower": lower,
        "shape": _runs(classes, 3),
        "form": _runs(classes, 1),
        "case": _case_of(word),
        "kind": _kind_of(word),
    }
    for n in (1, 2, 3, 4):
        if len(lower) > n:
            found[f"pre{n}"], found[f"suf{n}"] = lower[:n], lower[-n:]
    if bits is not None:
        for n in CLUSTER_BITS:
            found[f"bits{n}"] = bits[:n]
    return found
