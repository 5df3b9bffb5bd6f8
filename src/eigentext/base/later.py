"""Modules that are imported in name only, and read when somebody first asks for what is in them.

scikit-learn imports ``scipy.stats`` for a few functions that nothing here calls; reading it, and
what it imports in turn, takes half a second and 35 MB.  The command line, whose process is ours
alone, puts that off; in other people's programs modules stay what they are.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType
from typing import Any

__all__ = ["import_later", "put_off", "unread"]

_reading = RLock()
_names: list[str] = []


class _Later(ModuleType):
    """A module that is read when an attribute is missing."""

    def __getattr__(self, name: str) -> Any:
        _read(self)
        return getattr(self, name)

    def __dir__(self) -> list[str]:
        _read(self)
        return dir(self)


def _read(module: ModuleType) -> None:
    with _reading:  # another thread may be at it, or just done
        if type(module) is not _Later:
            return
        loader: Any = module.__loader__
        _become(module, ModuleType)  # what it asks of itself while it is read is no new call
        try:
            loader.exec_module(module)
        except BaseException:
            _become(module, _Later)
            raise


def _become(module: ModuleType, kind: type[ModuleType]) -> None:
    object.__setattr__(module, "__class__", kind)


def import_later(name: str) -> None:
    """From now on ``import name`` costs nothing until the module is used.

    One that is imported already, or that is not there, is left alone.

    >>> import_later("sys")
    """
    if name in sys.modules:
        return
    try:
        spec = find_spec(name)
    except ImportError:
        return
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    _become(module, _Later)
    sys.modules[name] = module


def put_off(name: str) -> None:
    """Say that this module is not to be read by models; nothing is imported yet."""
    _names.append(name)


def unread() -> None:
    """Import in name only what was put off; called before models import scikit-learn."""
    for name in _names:
        import_later(name)
