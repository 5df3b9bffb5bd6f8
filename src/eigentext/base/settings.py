"""Settings of a model, declared once: default, type with bounds, and help, in one place.

1. The settings of a model are a ``@dataclass`` whose fields are made by :func:`setting`; the
   dataclass writes the constructor.  They stand in a module of their own (``settings.py`` of each
   room), which needs nothing heavy, so that a help page is shown at once.
2. :func:`check` compares values with their declaration, and says what is wrong in one wording.
3. :func:`declared` lists them: the model file keeps their values, and the command line makes a
   flag of each (``cli/command.py``).

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

from dataclasses import dataclass, field, fields
from typing import Any

from eigentext.base.values import Anything, Value
from eigentext.errors import SettingsError

__all__ = ["Setting", "check", "declared", "setting", "values_of"]


@dataclass(frozen=True)
class Setting:
    """What is declared of a setting besides its name.

    ``default``  what it is unless told
    ``value``    its type and bounds; a default of None makes None a value too
    ``help``     what it means, in a line or two
    ``flag``     whether the command has a flag for it; ``path``: one that takes the name of a file
    ``short``    a one-letter flag, such as ``-k``
    ``off``      the flag that switches it off, where ``--no-NAME`` would read badly
    ``stored``   whether a model file keeps it in its header
    """

    default: Any
    value: Value
    help: str
    flag: bool
    path: bool
    short: str | None
    off: str | None
    stored: bool


def setting(
    default: Any,
    value: Value,
    help: str,  # noqa: A002  the word of every command line library
    *,
    flag: bool | None = None,
    path: bool = False,
    short: str | None = None,
    off: str | None = None,
    stored: bool | None = None,
    positional: bool = False,
) -> Any:
    """A dataclass field that knows its type, bounds and help.

    What is :class:`Anything` has neither flag nor place in the file's header, unless told.
    ``positional`` settings may be given without their name, and come first.
    """
    plain = not isinstance(value, Anything)
    declaration = Setting(
        default=default,
        value=value,
        help=help,
        flag=(plain or path) if flag is None else flag,
        path=path,
        short=short,
        off=off,
        stored=plain if stored is None else stored,
    )
    return field(default=default, kw_only=not positional, metadata={"setting": declaration})


def declared(settings: Any) -> dict[str, Setting]:
    """The settings of a model or its class, in the order of their declaration."""
    return {one.name: one.metadata["setting"] for one in fields(settings)}


def values_of(settings: Any) -> dict[str, Any]:
    """Name and value of each."""
    return {name: getattr(settings, name) for name in declared(settings)}


def check(settings: Any) -> None:
    """Raise SettingsError for the first whose value is not what was declared."""
    for name, declaration in declared(settings).items():
        value = getattr(settings, name)
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
