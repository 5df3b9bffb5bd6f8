"""Where a source lives: on a local path, or behind a URL that an fsspec driver serves.

Only what has ``://`` in it loads fsspec.  Storage drivers raise classes of their own, so here is
the one place that turns them into DataErrors.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from eigentext.errors import DataError, EigentextError, MissingExtraError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

Source = str | os.PathLike[str]

# packages whose absence is told by their name
_DRIVERS = {"gs": "gcsfs", "hf": "huggingface_hub", "http": "aiohttp", "https": "aiohttp"}
_DRIVERS |= {"s3": "s3fs"}


def is_url(source: str) -> bool:
    """Whether the source goes through fsspec.

    >>> is_url("s3://bucket/a.txt"), is_url("a.txt")
    (True, False)
    """
    return "://" in source


def filesystem_of(url: str) -> tuple[Any, str]:
    """The fsspec file system behind a URL, and the path inside it.

    >>> filesystem_of("memory://folder/a.txt")[1]
    '/folder/a.txt'
    """
    from fsspec.core import url_to_fs

    try:
        filesystem, path = url_to_fs(url)
    except ImportError as error:
        scheme = url.partition("://")[0]
        if scheme not in _DRIVERS:
            raise
        extra = "hub" if scheme == "hf" else None
        why = MissingExtraError(f"{scheme}:// addresses", modules=[_DRIVERS[scheme]], extra=extra)
        raise why from error
    return filesystem, str(path)


@contextlib.contextmanager
def driver_errors(url: str, doing: str) -> Iterator[None]:
    """Turn whatever a storage driver raises in the block into a DataError about the URL."""
    try:
        yield
    except EigentextError:
        raise
    except FileNotFoundError as error:
        raise DataError(url, None, "no such file") from error
    except Exception as error:
        raise StorageError(url, None, f"{doing}: {type(error).__name__}: {error}") from error


def reason(error: Exception) -> str:
    """What the system says, without the error number and the path.

    >>> reason(OSError(28, "No space left on device"))
    'No space left on device'
    """
    return (isinstance(error, OSError) and error.strerror) or str(error)
