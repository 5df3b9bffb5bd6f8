"""Modules that are imported in name only, and read when somebody first asks for what is in them.

scikit-learn imports ``scipy.stats`` for a few functions that nothing here calls; reading it, and
what it imports in turn, takes half a second and 35 MB.  The command line, whose process is ours
alone, puts that off; in other people's programs modules stay what they are.
"""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["put_off"]

_reading = RLock()


class _Later(ModuleType):
    """A module that is read when an attribute is missing."""

    def __getattr__(self, name: str) -> Any:
        _read(self)
        return getattr(self, name)

    def __dir__(self) -> list[str]:
        _read(self)
        return dir(self)


class _LaterLoader(Loader):
    """Makes the module, and leaves reading it to :func:`_read`."""

    def __init__(self, real: Loader) -> None:
        self.real = real

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As usual."""
        return self.real.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Not yet."""
        _become(module, _Later)


class _LaterFinder(MetaPathFinder):
    """Finds one module for :class:`_LaterLoader`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _LaterLoader(spec.loader)
        return spec


def _read(module: ModuleType) -> None:
    with _reading:  # another thread may be at it, or just done
        if type(module) is not _Later:
            return
        loader: Any = module.__loader__
        _become(module, ModuleType)  # what it asks of itself while it is read is no new call
        try:
            loader.real.exec_module(module)
        except BaseException:
            _become(module, _Later)
            raise


def _become(module: ModuleType, kind: type[ModuleType]) -> None:
    object.__setattr__(module, "__class__", kind)


def put_off(name: str) -> None:
    """From now on ``import name`` costs nothing until the module is used.

    One that is imported already is left alone.

    >>> put_off("sys")
    """
    if name not in sys.modules:
        sys.meta_path.insert(0, _LaterFinder(name))
