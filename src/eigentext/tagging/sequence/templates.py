"""What the tagger looks at: templates over attributes of the words around a token.

1. A template names one to three attributes (``features.attributes.TAGGING``) of words at places
   around the token to be tagged, such as ``lower[-1]&lower[0]``.  Its value at a token is one
   feature, which is on or off.
2. It may also hold ``tag[-1]`` or ``tag[-1]&tag[-2]``: what was decided for the tokens before.
   Such features are put together while tagging.
3. The key of a feature is mixed from those of its parts (``features.kernels.templates``).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from eigentext.errors import SettingsError
from eigentext.features.attributes import TAGGED_BITS, TAGGING
from eigentext.features.templates import Grammar, Template, distinct, seeds_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.types import Int64s, UInt64s

REACH = 3  # how far a template may look to either side
_GRAMMAR = Grammar("attribute[offset]", (*TAGGING.names, "tag"), most=5, reach=REACH)
MOST_PARTS = 3


def parse_template(name: str) -> tuple[Template, int]:
    """Read a template such as ``tag[-1]&lower[0]``: what it asks of words, and how many tags.

    >>> parse_template("tag[-1]&tag[-2]&lower[0]")[0].items
    (Item(attribute='lower', offset=0, role=''),)
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


class Templates:
    """Templates as arrays for the kernels; those without tags come first.

    >>> both = Templates(["tag[-1]", "lower[0]"])
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
