"""Models that are found by name: where they lie, and what a model's argument stands for.

``eigentext model make english`` and ``eigentext model get`` put a model into one folder of the
user's; from then on ``english`` does wherever the path of a model does.  A file that exists goes
before a name.

The folder is what ``EIGENTEXT_MODELS`` names, or else ``eigentext/models`` where the user's data
lies by the XDG rule (``XDG_DATA_HOME``, or else ``~/.local/share``).
"""

from __future__ import annotations

import os
import re
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from eigentext.base.files.storage import is_url
from eigentext.errors import DataError, SettingsError

if TYPE_CHECKING:
    from eigentext.base.files.storage import Source

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_SUFFIX = ".model"


def models_folder() -> Path:
    """The folder of the models that have names; it need not be there yet."""
    if chosen := os.environ.get("EIGENTEXT_MODELS"):
        return Path(chosen)
    data = os.environ.get("XDG_DATA_HOME", "")
    base = Path(data) if os.path.isabs(data) else Path.home() / ".local" / "share"
    return base / "eigentext" / "models"


def is_name(text: str) -> bool:
    """Whether a model may be called so: letters, digits, ``-`` and ``_``, neither dot nor slash.

    >>> is_name("english-gum"), is_name("english.pipe"), is_name("../english")
    (True, False, False)
    """
    return _NAME.fullmatch(text) is not None


def place_of(name: str) -> Path:
    """The file of the model of this name, whether it is there or not.

    >>> place_of("english").name
    'english.model'
    """
    if not is_name(name):
        raise SettingsError(f"{name!r} is no name: expected letters, digits, - and _")
    return models_folder() / f"{name}{_SUFFIX}"


def installed() -> dict[str, Path]:
    """The files of all models that have names, by name, in order."""
    try:
        files_there = sorted(models_folder().glob(f"*{_SUFFIX}"))
    except OSError:
        return {}
    return {path.stem: path for path in files_there if is_name(path.stem) and path.is_file()}


def located(source: Source) -> str:
    """The path that a model's argument stands for: itself, or the file of an installed name.

    >>> located("memory://models/a.pipe"), located("no/such.pipe")
    ('memory://models/a.pipe', 'no/such.pipe')
    >>> located("klingon")
    Traceback (most recent call last):
    ...
    eigentext.errors.DataError: klingon: no such file, and no model of this name: \
`eigentext model list` shows those that there are
    """
    path = os.fspath(source)
    if path == "-" or is_url(path) or os.path.isfile(path) or not is_name(path):
        return path
    file = place_of(path)
    if file.is_file():
        return str(file)
    if os.path.exists(path):  # a folder, a pipe: who opens it says what is wrong
        return path
    if (files("eigentext") / "recipes" / f"{path}.toml").is_file():
        why = f"not made yet: `eigentext model make {path}` makes it"
    else:
        list_them = "`eigentext model list` shows those that there are"
        why = f"no such file, and no model of this name: {list_them}"
    raise DataError(path, None, why)
