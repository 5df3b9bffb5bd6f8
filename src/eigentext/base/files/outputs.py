"""The outputs of one command, which must be none of its inputs: nobody's only copy is lost.

1. :func:`one_command` begins a list of outputs; outside of it nothing is refused, so that in
   Python a file may be read and written as one likes;
2. :func:`will_write` puts an output on the list, before any work is done;
3. whoever opens an input calls :func:`check_input`: an output is refused, whatever it is called,
   through links and hard links;
4. what was written is an input like others: :func:`was_written`.
"""

from __future__ import annotations

import contextlib
import os
import stat
from contextvars import ContextVar
from typing import TYPE_CHECKING

from eigentext.base.files.storage import is_url
from eigentext.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eigentext.base.files.storage import Source

_LOCAL = ("file://", "local://", "sqlite:///")
_Identity = tuple[int, int] | str

_outputs: ContextVar[dict[_Identity, str] | None] = ContextVar("_outputs", default=None)


@contextlib.contextmanager
def one_command() -> Iterator[None]:
    """What is written in the block must not be read in it before.

    >>> with one_command():
    ...     will_write("memory://doc/a.txt")
    ...     check_input("memory://doc/a.txt")
    Traceback (most recent call last):
    eigentext.errors.DataError: memory://doc/a.txt: an input of this command and its output too, \
expected another file to write to
    """
    token = _outputs.set({})
    try:
        yield
    finally:
        _outputs.reset(token)


def will_write(path: Source) -> None:
    """An output, refused where another one is the same file."""
    outputs = _outputs.get()
    shown = os.fspath(path)
    if outputs is None or (identity := _identity(shown)) is None:
        return
    if identity in outputs:
        why = "two outputs of this command are this file, expected one each"
        raise DataError(shown, None, why)
    outputs[identity] = _real(shown)


def check_input(source: Source | int) -> None:
    """Refuse an input, a path or what is open, that this command is to write over."""
    outputs = _outputs.get()
    if outputs and (identity := _identity(source)) in outputs:
        why = "an input of this command and its output too, expected another file to write to"
        shown = outputs[identity] if isinstance(source, int) else str(source)
        raise DataError(shown, None, why)


def was_written(path: Source) -> None:
    """The file is new: the old one's number may be that of any other file from now on."""
    if outputs := _outputs.get():
        real = _real(os.fspath(path))
        for identity in [key for key, output in outputs.items() if output == real]:
            del outputs[identity]


def _real(path: str) -> str:
    for scheme in _LOCAL:
        path = path.removeprefix(scheme)
    return path if is_url(path) else os.path.realpath(path)


def _identity(source: Source | int) -> _Identity | None:
    """What two names of one file have in common; nothing for pipes, devices and ``-``."""
    where = source if isinstance(source, int) else _real(os.fspath(source))
    if source == "-" or (isinstance(where, str) and is_url(where)):
        return None if source == "-" else str(where)
    try:
        about = os.stat(where)
    except FileNotFoundError:
        return str(where)
    except (OSError, ValueError):
        return None  # who opens it says what is wrong
    return (about.st_dev, about.st_ino) if stat.S_ISREG(about.st_mode) else None
