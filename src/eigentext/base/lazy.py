"""Packages whose names are loaded when they are first used (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy(
    package: str, homes: Mapping[str, str], modules: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    ``homes`` gives for each module below the package the names that the package takes from it,
    with spaces between them; ``modules`` are modules that are attributes themselves.  For type
    checkers the package imports the same names in a ``TYPE_CHECKING`` block, as ``name as name``.

    >>> getattr_, dir_, all_ = lazy("eigentext.linalg", {"svd": "SVDResult"}, modules="ties")
    >>> getattr_("SVDResult").__module__, getattr_("ties").__name__, dir_(), all_
    ('eigentext.linalg.svd', 'eigentext.linalg.ties', ['SVDResult', 'ties'], ['SVDResult'])
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}
    public, submodules = sorted(home_of), set(modules.split())

    def __getattr__(name: str) -> Any:
        if name in home_of:
            return getattr(import_module(f"{package}.{home_of[name]}"), name)
        if name in submodules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return __getattr__, lambda: sorted({*public, *submodules}), public
