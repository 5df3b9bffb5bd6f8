"""eigentext: the hidden structure of language, learned by linear algebra.

Importing the package is cheap and has no side effects; a name is loaded when it is first used
(PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigentext.errors import (
        DataError,
        EigentextError,
        MissingExtraError,
        ModelFileError,
        RankError,
        SettingsError,
    )

__version__ = "0.1.0"

_HOME_OF = {
    "DataError": "eigentext.errors",
    "EigentextError": "eigentext.errors",
    "MissingExtraError": "eigentext.errors",
    "ModelFileError": "eigentext.errors",
    "RankError": "eigentext.errors",
    "SettingsError": "eigentext.errors",
}

__all__ = [
    "DataError",
    "EigentextError",
    "MissingExtraError",
    "ModelFileError",
    "RankError",
    "SettingsError",
    "__version__",
]


_ROOMS = (
    "base",
    "cli",
    "constituency",
    "corpus",
    "datasets",
    "dependency",
    "drawing",
    "errors",
    "evaluate",
    "formats",
    "integrations",
    "lexical",
    "linalg",
    "reports",
    "sequences",
    "tagging",
    "trees",
    "web",
    "words",
)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"eigentext.{name}")
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'eigentext' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])
