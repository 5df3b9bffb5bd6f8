"""Models that are ready: taken from a file, a URL or a repository, and put where names are found.

The file is copied whole to a temporary place, its checksum and its content are looked at, and only
then it gets its name: what is there under this name stays until that moment.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from eigentext.base import modelfile
from eigentext.base.files.archives import suffix_of
from eigentext.base.files.opening import atomic_write, open_binary
from eigentext.base.files.storage import driver_errors, filesystem_of, is_url
from eigentext.base.files.writing import scratch_folder
from eigentext.base.progress import Progress
from eigentext.base.registry import KINDS, installed, is_name, models_folder, place_of
from eigentext.datasets.catalogue import open_url
from eigentext.errors import DataError, ModelFileError, SettingsError
from eigentext.recipes.making import card_to_write, make_folder, model_card
from eigentext.recipes.recipe import find_recipe

_BLOCK = 1 << 20
_SHA256 = re.compile("[0-9a-f]{64}")


def get_ready(
    source: str | os.PathLike[str],
    *,
    name: str | None = None,
    sha256: str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Install a model that somebody has made; its place comes back.

    ``source``  a path, an address (http, https, or what fsspec knows, such as ``s3://`` and
                ``hf://owner/repository/file``), or the name of a recipe that tells of a ready file
    ``name``    under which it is found; else that of the file, without what follows a dot
    ``sha256``  that the file must have, as ``sha256sum`` tells it

    >>> from eigentext.tagging.sequence import SequenceTagger
    >>> tagger = SequenceTagger(epochs=1).fit([["a", "dog"]] * 3, [["DET", "NOUN"]] * 3)
    >>> _ = tagger.save("memory://ready/dogs.tagger")
    >>> get_ready("memory://ready/dogs.tagger").name
    'dogs.model'
    >>> import eigentext
    >>> eigentext.load("dogs").tag(["a", "dog"])
    ['DET', 'NOUN']
    >>> remove("dogs")
    """
    where = os.fspath(source)
    if is_name(where) and not os.path.exists(where):
        recipe = find_recipe(where)
        if recipe.ready is None:
            raise SettingsError(
                f"{where} cannot be had ready: `eigentext model make {where}` makes it, and "
                "`eigentext model get ADDRESS` takes a file from elsewhere"
            )
        where, sha256, name = recipe.ready.url, sha256 or recipe.ready.sha256, name or where
    digest = None if sha256 is None else sha256.strip().lower()
    if digest is not None and not _SHA256.fullmatch(digest):
        raise SettingsError(f"a sha256 has 64 digits from 0 to f, not {sha256!r}")
    target = place_of(name or _name_in(where))
    make_folder(target.parent)
    card = card_to_write(target)
    with scratch_folder() as folder:
        packed = folder / f"model{suffix_of(where) or ''}"
        checksum = _fetch(where, packed, progress)
        if digest is not None and checksum != digest:
            why = f"has sha256 {checksum}, expected {digest}: not installed"
            raise DataError(where, None, why)
        whole = folder / "whole"
        with open_binary(packed) as stream, whole.open("wb") as out:
            shutil.copyfileobj(stream, out, _BLOCK)
        header = _checked(where, whole)
        with whole.open("rb") as stream, atomic_write(target) as out:
            shutil.copyfileobj(stream, out, _BLOCK)
        with atomic_write(card) as out:
            out.write(model_card(header, target).encode())
    return target


def _name_in(where: str) -> str:
    """The name that a file has by itself.

    >>> _name_in("https://example.org/models/english.pipe.xz?download=true")
    'english'
    """
    last = re.split(r"[?#]", where)[0].rstrip("/").rpartition("/")[2] if is_url(where) else where
    stem = Path(last).name.partition(".")[0]
    if not is_name(stem):
        raise SettingsError(f"{where} has no name for a model: give one with --name")
    return stem


def _fetch(where: str, target: Path, progress: Progress | None) -> str:
    """Copy the bytes as they are; their sha256."""
    digest, size = hashlib.sha256(), 0
    with ExitStack() as stack:
        with driver_errors(where, "cannot open"):
            stream: IO[bytes] | Any
            if where.startswith(("http://", "https://")):
                stream = stack.enter_context(open_url(where))
            elif is_url(where):
                filesystem, inner = filesystem_of(where)
                stream = stack.enter_context(filesystem.open(inner, "rb"))
            else:
                if os.path.isdir(where):
                    raise DataError(where, None, "a folder, expected a model file")
                stream = stack.enter_context(open(where, "rb"))
        out = stack.enter_context(target.open("wb"))
        while True:
            with driver_errors(where, "cannot read"):
                block = stream.read(_BLOCK)
            if not block:
                return digest.hexdigest()
            digest.update(block)
            out.write(block)
            size += len(block)
            if progress is not None:
                progress(size, 0, "getting")


def _checked(where: str, file: Path) -> modelfile.Header:
    """The header of a whole model of a kind that is known."""
    try:
        header = modelfile.load(file).header
    except ModelFileError as error:
        raise ModelFileError(where, why=error.why) from error
    if header.kind not in KINDS:
        why = f"a model of the kind {header.kind!r}, which is not known"
        raise ModelFileError(where, why=why)
    return header


def remove(name: str) -> None:
    """Remove an installed model and its card."""
    file = place_of(name)
    if name not in installed():
        raise SettingsError(f"no model {name!r} in {models_folder()}")
    try:
        card = card_to_write(file)
        file.unlink()
        card.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(str(file), None, f"cannot be removed: {error.strerror}") from error
