"""What can go wrong, in words a person can act on.

Every exception that eigentext raises on purpose derives from :class:`EigentextError`.  The
command line turns those into one line on stderr and exit code 2; anything else is a fault of ours
(exit 1).
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterable
from importlib import import_module
from typing import Any


def shortened(text: str, most: int = 1000) -> str:
    """The text, or its two ends where it is longer: what a message quotes may be a whole file.

    >>> shortened("a" * 50, most=20)
    'aaaaaaaaaaaa ... aaa'
    """
    if len(text) <= most:
        return text
    end = (most - 5) // 5
    return f"{text[: most - 5 - end]} ... {text[-end:]}"


class EigentextError(Exception):
    """Base of all errors that eigentext raises on purpose; they go whole from process to process.

    >>> import pickle
    >>> str(pickle.loads(pickle.dumps(RankError("Omega", rank=50, got=12))))
    'Omega has numerical rank 12, but rank 50 was asked for'
    """

    def __reduce__(self) -> tuple[Any, ...]:
        # Exception's own way calls the class with `args`, which not all of these classes take
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class DataError(EigentextError):
    """Input that cannot be read: which file, which line, and what was expected there.

    >>> str(DataError("trees.mrg", 3, "unbalanced bracket: expected ')'"))
    "trees.mrg:3: unbalanced bracket: expected ')'"
    >>> str(DataError("trees.mrg", None, "no trees in this file"))
    'trees.mrg: no trees in this file'
    """

    def __init__(self, path: str, line: int | None, why: str) -> None:
        self.path = str(path)
        self.line = line
        self.why = shortened(why)
        super().__init__(self.path, line, self.why)

    def __str__(self) -> str:
        source = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{source}: {self.why}"


class DataWarning(UserWarning):
    """Input that can be read, but hardly is what was meant."""


class StorageError(DataError):
    """A disk or a server that failed: with the same data it may go well another time."""


class ResourceError(EigentextError):
    """What the machine or the cluster did not have: memory, workers."""


class SettingsError(EigentextError):
    """A setting that makes no sense, alone or with this data."""


class RankError(EigentextError):
    """A matrix has fewer useful directions than were asked for.

    >>> str(RankError("Omega", rank=50, got=12))
    'Omega has numerical rank 12, but rank 50 was asked for'
    """

    def __init__(self, symbol: str, *, rank: int, got: int) -> None:
        self.symbol = symbol
        self.rank = rank
        self.got = got
        super().__init__(symbol, rank, got)

    def __str__(self) -> str:
        return f"{self.symbol} has numerical rank {self.got}, but rank {self.rank} was asked for"


class RankWarning(UserWarning):
    """The caller allowed a smaller rank, and a smaller rank is what came out."""


class ModelFileError(EigentextError):
    """A model file of the wrong kind or version, or one that is damaged.

    >>> str(ModelFileError("m.eig", content="kind 'counts'", supported="kind 'lpcfg'"))
    "m.eig: found kind 'counts', but this needs kind 'lpcfg'"
    >>> str(ModelFileError("m.eig", why="the file is truncated"))
    'm.eig: the file is truncated'
    """

    def __init__(
        self, path: str, *, content: str = "", supported: str = "", why: str = ""
    ) -> None:
        self.path = str(path)
        self.content = content
        self.supported = supported
        self.why = why or f"found {content}, but this needs {supported}"
        super().__init__(self.path, content, supported, why)

    def __str__(self) -> str:
        return f"{self.path}: {self.why}"


class MissingExtraError(EigentextError):
    """An optional dependency is not installed; the message says how to get it.

    It names the packages, which are to be had wherever eigentext came from, and the extra that
    brings them with eigentext's sources.

    >>> str(MissingExtraError("plots", extra="plot", modules=["matplotlib"]))
    "plots need matplotlib: pip install matplotlib (in eigentext's sources: pip install '.[plot]')"
    >>> str(MissingExtraError("NLTK trees", modules=["nltk"]))
    'NLTK trees need nltk: pip install nltk'
    """

    def __init__(self, what: str, *, modules: Iterable[str], extra: str | None = None) -> None:
        self.extra = extra
        names = list(modules)
        hint = "" if extra is None else f" (in eigentext's sources: pip install '.[{extra}]')"
        super().__init__(f"{what} need {', '.join(names)}: pip install {' '.join(names)}{hint}")


def import_extra(module: str, what: str, extra: str | None = None) -> Any:
    """A module of an optional package; where that is not installed, a MissingExtraError."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtraError(what, modules=[package], extra=extra) from error
