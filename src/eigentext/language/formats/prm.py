"""EVALB parameter files (``.prm``): which labels a parse score leaves out and which it equates.

``EvalbSettings()`` is EVALB without a file: what nearly every published figure was computed with,
the rules of COLLINS.prm.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eigentext.base.files.opening import numbered_lines, raise_or_tell
from eigentext.errors import DataError, SettingsError

if TYPE_CHECKING:
    from eigentext.base.files.opening import OnError, Source
    from eigentext.base.types import Json

_SPACE = " \t\r\v\f"
_NAME = re.compile(rf"[^{_SPACE}\n]+")
_NUMBERS = {
    "DEBUG": "debug",
    "MAX_ERROR": "max_error",
    "CUTOFF_LEN": "cutoff_len",
    "LABELED": "labeled",
    "DISC_ONLY": "disc_only",
}
_LABELS = {
    "DELETE_LABEL": "delete_labels",
    "DELETE_LABEL_FOR_LENGTH": "delete_labels_for_length",
    "QUOTE_LABEL": "quote_labels",
}
_PAIRS = {"EQ_LABEL": "equal_labels", "EQ_WORD": "equal_words"}
_YES_NO = ("labeled", "disc_only")


@dataclass(frozen=True)
class EvalbSettings:
    """The rules of an EVALB run; the defaults are those of COLLINS.prm.

    >>> EvalbSettings().delete_labels
    ('TOP', '-NONE-', ',', ':', '``', "''", '.')
    >>> EvalbSettings.collins() == EvalbSettings()
    True
    """

    debug: int = 0  # how much EVALB prints; no effect here
    max_error: int = 10  # bad sentences after which EVALB stops
    cutoff_len: int = 40  # length of the second table (len<=40)
    labeled: bool = True  # compare labels, not brackets alone
    disc_only: bool = False  # discontinuous constituents only
    # left out; a tag goes with its word
    delete_labels: tuple[str, ...] = ("TOP", "-NONE-", ",", ":", "``", "''", ".")
    delete_labels_for_length: tuple[str, ...] = ("-NONE-",)  # tags that do not count as length
    quote_labels: tuple[str, ...] = ()  # tags of quotes that may be mistagged
    equal_labels: tuple[tuple[str, str], ...] = (("ADVP", "PRT"),)  # that count as the same
    equal_words: tuple[tuple[str, str], ...] = ()  # that count as the same

    def __post_init__(self) -> None:
        for field in (*_LABELS.values(), *_PAIRS.values()):
            value = getattr(self, field)
            if isinstance(value, str):
                raise TypeError(f"{field} must be a list, not one string: {[value]!r}")
            items = tuple(v if isinstance(v, str) else tuple(v) for v in value)
            object.__setattr__(self, field, items)
            for item in items:
                names = (item,) if isinstance(item, str) else item
                pair = field in _PAIRS.values()
                if len(names) != 1 + pair or not all(map(_NAME.fullmatch, names)):
                    what = "a pair of names" if pair else "a name"
                    raise SettingsError(f"{field}: {item!r}, expected {what} without white space")
        for field in ("debug", "max_error", "cutoff_len"):
            if getattr(self, field) < 0:
                raise SettingsError(f"{field} is {getattr(self, field)}, expected 0 or more")

    @classmethod
    def collins(cls) -> EvalbSettings:
        """The rules of COLLINS.prm: no TOP, traces or punctuation; ADVP and PRT are the same."""
        return cls()

    @classmethod
    def bare(cls) -> EvalbSettings:
        """EVALB without a parameter file: nothing is left out, nothing is equated.

        >>> EvalbSettings.bare().delete_labels
        ()
        """
        return cls(delete_labels=(), delete_labels_for_length=(), equal_labels=())


def read_prm(source: Source, *, on_error: OnError | None = None) -> EvalbSettings:
    """The settings in a parameter file.

    >>> from eigentext.base.files.writing import write_lines
    >>> _ = write_lines("memory://doc/a.prm", ["# only this", "DELETE_LABEL TOP", "LABELED 0"])
    >>> settings = read_prm("memory://doc/a.prm")
    >>> settings.delete_labels, settings.labeled, settings.cutoff_len
    (('TOP',), False, 40)
    """
    path = os.fspath(source)
    lists: dict[str, list[Any]] = {field: [] for field in (*_LABELS.values(), *_PAIRS.values())}
    numbers: Json = {}
    for number, line in numbered_lines(path, on_error=on_error):
        parts = [part for part in re.split(f"[{_SPACE}]+", line) if part]
        if not parts or parts[0].startswith("#"):
            continue
        why = _take(parts[0], parts[1:], lists, numbers)
        if why:
            raise_or_tell(DataError(path, number, why), on_error)
    fields: Json = {**lists, **numbers}
    return EvalbSettings(**fields)


def _take(key: str, values: list[str], lists: dict[str, list[Any]], numbers: Json) -> str:
    """Put one line where it belongs; what is wrong with it, or nothing."""
    shown = f"{key} {' '.join(values)[:60]!r}"
    if key in _NUMBERS:
        field = _NUMBERS[key]
        yes_no = field in _YES_NO
        if len(values) != 1 or not re.fullmatch("[01]" if yes_no else "[0-9]{1,9}", values[0]):
            return f"{shown}, expected {'0 or 1' if yes_no else 'a whole number, 0 or more'}"
        if field in numbers:
            return f"{shown}, but {key} was given before"
        numbers[field] = bool(int(values[0])) if yes_no else int(values[0])
    elif key in _LABELS:
        if len(values) != 1:
            return f"{shown}, expected one label"
        lists[_LABELS[key]].append(values[0])
    elif key in _PAIRS:
        if len(values) != 2:
            return f"{shown}, expected two values"
        lists[_PAIRS[key]].append((values[0], values[1]))
    else:
        keys = ", ".join([*_NUMBERS, *_LABELS, *_PAIRS])
        return f"unknown key {key[:60]!r}, expected one of {keys}"
    return ""
