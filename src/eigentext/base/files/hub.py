"""Datasets of the Hugging Face hub: the folder of one stands for the files that hold its text.

``hf://datasets/USER/NAME`` is a folder like any other to fsspec.  Here it becomes a list of files:
Parquet where there is some, else JSON Lines, else plain text.  Files of several folders or splits
are never mixed: most often they are other languages, or a test set.
"""

from __future__ import annotations

import posixpath
import re

from eigentext.base.files.archives import bare_name, suffix_of
from eigentext.base.files.storage import driver_errors, filesystem_of
from eigentext.errors import DataError

_SPLIT = re.compile(r"(?:^|[^a-z])(train|validation|valid|val|dev|test|eval)(?:[^a-z]|$)")


def dataset_files(url: str) -> list[str]:
    """The files behind an ``hf://`` address: itself, or those of the dataset's folder."""
    with driver_errors(url, "cannot list"):
        filesystem, path = filesystem_of(url)
        if not filesystem.isdir(path):
            return [url]
        names = sorted(name.lstrip("/") for name in filesystem.find(path))
    chosen = next(filter(None, (list(filter(wanted, names)) for wanted in _WANTED)), [])
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


def _is_parquet(name: str) -> bool:
    return name.endswith(".parquet")


def _is_json_lines(name: str) -> bool:
    bare = bare_name(name)  # a .json that is not packed mostly tells about the others
    return bare.endswith((".jsonl", ".ndjson")) or (
        bare.endswith(".json") and bool(suffix_of(name))
    )


def _is_text(name: str) -> bool:
    return bare_name(name).endswith(".txt")


_WANTED = (_is_parquet, _is_json_lines, _is_text)


def _part(name: str, root: str) -> str:
    """The folder and the split of a file, as a pattern that finds them."""
    folder, file = posixpath.split(name.removeprefix(root).lstrip("/"))
    split = _SPLIT.search(file.lower())
    return posixpath.join(folder, f"*{split[1]}*" if split else "*")
