"""Settings of a model, declared once: default, type with bounds, and help, in one place.

1. The settings of a model are a ``@dataclass`` whose fields are made by :func:`setting`; the
   dataclass writes the constructor.  They stand in a module of their own (``settings.py`` of each
   room), which needs nothing heavy, so that a help page is shown at once.
2. The model file keeps their values, and the command line makes a flag of each
   (``cli/command.py``).

>>> from dataclasses import dataclass
>>> from eigentext.base.values import Text, Whole
>>> @dataclass
... class ExampleSettings:
...     n_states: int = setting(10, Whole(1), "hidden states")
...     start: str = setting("random", Text(("random", "spectral")), "what EM begins with")
>>> check(ExampleSettings(n_states=0))
Traceback (most recent call last):
...
eigentext.errors.SettingsError: n_states is 0, expected a whole number of at least 1
>>> check(ExampleSettings(start="luck"))
Traceback (most recent call last):
...
eigentext.errors.SettingsError: start is 'luck', expected 'random' or 'spectral'
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from enum import Enum
from functools import partial
from inspect import cleandoc
from textwrap import wrap
from typing import Any, Literal

from eigentext.base.values import Anything, Value, shown
from eigentext.errors import SettingsError


class _Absent(Enum):
    """What a setting is whose value is not known; one object in every process."""

    NOT_KEPT = "not kept in the file"

    def __repr__(self) -> str:
        return f"<{self.value}>"


_FLAG = re.compile(r"(?<!\S)--([a-z][a-z-]*[a-z])")

NOT_KEPT = _Absent.NOT_KEPT  # of a model from a file: it was given, and the file does not hold it


@dataclass(frozen=True)
class Setting:
    """What is declared of a setting besides its name."""

    default: Any
    value: Value  # its type and bounds; a default of None makes None a value too
    help: str  # what it means, in a line or two
    flag: bool  # does the command have a flag for it?
    path: bool  # one that takes the name of a file
    short: str | None  # a one-letter flag, such as ``-k``
    off: str | None  # the flag that switches it off, where ``--no-NAME`` would read badly
    stored: bool  # does a model file keep it in its header?
    kept: bool  # does a model file give it back, by its header or by its content?
    answering: bool  # are answers made with it?  It may be set anew after ``fit``
    panel: str  # where a help page shows its flag: ``usual``, ``tuning`` or ``expert``


def setting(
    default: object,
    value: Value,
    help: str,  # noqa: A002  the word of every command line library
    *,
    flag: bool | None = None,
    path: bool = False,
    short: str | None = None,
    off: str | None = None,
    stored: bool | None = None,
    kept: bool = False,
    answering: bool = False,
    positional: bool = False,
    panel: Literal["usual", "tuning", "expert"] = "tuning",
) -> Any:
    """A dataclass field that knows its type, bounds and help.

    What is :class:`Anything` has neither flag nor place in the file's header, unless told.
    ``positional`` settings may be given without their name, and come first.
    """
    plain = not isinstance(value, Anything)
    stored = plain if stored is None else stored
    declaration = Setting(
        default=default,
        value=value,
        help=help,
        flag=(plain or path) if flag is None else flag,
        path=path,
        short=short,
        off=off,
        stored=stored,
        kept=stored or kept,
        answering=answering,
        panel=panel,
    )
    return field(default=default, kw_only=not positional, metadata={"setting": declaration})


usual = partial(setting, panel="usual")  # what a help page shows first
expert = partial(setting, panel="expert")  # and last


def declared(settings: Any) -> dict[str, Setting]:
    """The settings of a model or its class, in the order of their declaration."""
    declarations = ((field.name, field.metadata.get("setting")) for field in fields(settings))
    return {name: declaration for name, declaration in declarations if declaration is not None}


def types_of(settings: Any) -> dict[str, str]:
    """The type of each in words, with its bounds or choices, as numpydoc has it."""
    types = {}
    for each in fields(settings):
        if "setting" not in each.metadata:  # what the model learns
            continue
        value: Value = each.metadata["setting"].value
        types[each.name] = text = str(value) or str(each.type)
        if (value.optional or each.default is None) and "None" not in text:
            types[each.name] += " or None"
    return types


def documented(settings: type) -> str:
    """The docstring of a class, with a section that explains its settings.

    >>> from eigentext.base.values import Whole
    >>> @dataclass
    ... class ExampleSettings:
    ...     'An example.'
    ...     n_states: int = setting(10, Whole(1), "Hidden states.")
    >>> print(documented(ExampleSettings))
    An example.
    <BLANKLINE>
    Parameters
    ----------
    n_states : int of at least 1, default=10
        Hidden states.
    """
    lines = [cleandoc(settings.__doc__ or ""), "", "Parameters", "----------"]
    types = types_of(settings)
    for name, declaration in declared(settings).items():
        lines.append(f"{name} : {types[name]}, default={shown(declaration.default)}")
        # the command line has these texts, too, and calls a setting by its flag
        text = _FLAG.sub(lambda flag: flag[1].replace("-", "_"), declaration.help)
        help_lines = wrap(text, 84, break_on_hyphens=False, break_long_words=False)
        lines += [f"    {line}" for line in help_lines]
    return "\n".join(lines)


def values_of(settings: object) -> dict[str, Any]:
    """Name and value of each."""
    return {name: getattr(settings, name) for name in declared(settings)}


def check(settings: object) -> None:
    """Raise SettingsError for the first whose value is not what was declared."""
    for name, declaration in declared(settings).items():
        value = getattr(settings, name)
        if value is NOT_KEPT:
            raise SettingsError(
                f"{name} was given to the model of this file, which does not keep it: give it "
                f"again, or set {name} to {declaration.default!r} to go without"
            )
        if value is None and (declaration.default is None or declaration.value.optional):
            continue
        try:
            # numbers of numpy are numbers, and a tuple is as good as a list
            declaration.value.check(name, _plain(value))
        except ValueError as error:
            raise SettingsError(str(error)) from None


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        return value.item()
    return value
