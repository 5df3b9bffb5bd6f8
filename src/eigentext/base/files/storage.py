"""Where a source lives: on a local path, or behind a URL that an fsspec driver serves.

Only what has ``://`` in it loads fsspec.  Storage drivers raise classes of their own, so here is
the one place that turns them into DataErrors.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import re
from collections.abc import Iterator
from typing import Any

from eigentext.base.files.archives import bare_name, suffix_of
from eigentext.errors import DataError, EigentextError, MissingExtraError, StorageError

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


_SPLIT = re.compile(r"(?:^|[^a-z])(train|validation|valid|val|dev|test|eval)(?:[^a-z]|$)")


def dataset_files(url: str) -> list[str]:
    """The files behind an ``hf://`` address: itself, or those of the folder of a dataset.

    ``hf://datasets/USER/NAME`` is a folder like any other to fsspec.  Here it becomes a list of
    files: Parquet where there is some, else JSON Lines, else plain text.  Files of several folders
    or splits are never mixed: most often they are other languages, or a test set.
    """
    with driver_errors(url, "cannot list"):
        filesystem, path = filesystem_of(url)
        if not filesystem.isdir(path):
            return [url]
        names = sorted(name.lstrip("/") for name in filesystem.find(path))
    chosen = next(filter(None, (list(filter(has_text, names)) for has_text in _TEXTS)), [])
    if not chosen:
        dataset = "/".join(url.partition("@")[0].split("/")[:5])
        where = f"{dataset}@refs/convert/parquet"  # the hub converts many by itself
        why = f"no .parquet, .jsonl or .txt files here; the hub may have some at {where}"
        raise DataError(url, None, why)
    kinds = sorted({_part(name, path.lstrip("/")) for name in chosen})
    if len(kinds) > 1:
        shown = ", ".join(kinds[:8]) + (", ..." if len(kinds) > 8 else "")
        why = f"files of several folders or splits, expected those of one: {shown}"
        raise DataError(url, None, why)
    return [f"hf://{name}" for name in chosen]


def _is_json_lines(name: str) -> bool:
    bare = bare_name(name)  # a .json that is not packed mostly tells about the others
    return bare.endswith((".jsonl", ".ndjson")) or (
        bare.endswith(".json") and bool(suffix_of(name))
    )


#: The kinds of files with text, the best first
_TEXTS = (
    lambda name: name.endswith(".parquet"),
    _is_json_lines,
    lambda name: bare_name(name).endswith(".txt"),
)


def _part(name: str, root: str) -> str:
    """The folder and the split of a file, as a pattern that finds them."""
    folder, file = posixpath.split(name.removeprefix(root).lstrip("/"))
    split = _SPLIT.search(file.lower())
    return posixpath.join(folder, f"*{split[1]}*" if split else "*")
