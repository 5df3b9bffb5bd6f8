"""One key for settings and content: what is resumed or found again goes by it.

``repr`` is no such key: scikit-learn and numpy shorten theirs, so that different settings look
the same.  Here every value goes into the sha256 whole, with its type and length before it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from hashlib import _Hash


def fingerprint(*values: Any) -> str:
    """The sha256 of values: numbers, text, arrays, and mappings and sequences of such.

    The order of a mapping does not matter, that of a sequence does.

    >>> fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    True
    >>> fingerprint(["ab", "c"]) == fingerprint(["a", "bc"]), fingerprint(1) == fingerprint("1")
    (False, False)
    """
    digest = hashlib.sha256()
    for value in values:
        _add(digest, value)
    return digest.hexdigest()


def _add(digest: _Hash, value: Any) -> None:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        _begin(digest, "mapping", len(value))
        for key in sorted(value):
            _add(digest, key)
            _add(digest, value[key])
    elif isinstance(value, np.ndarray):
        _begin(digest, f"array {value.dtype.str} {value.shape}", value.nbytes)
        digest.update(np.ascontiguousarray(value).data)
    elif isinstance(value, (str, bytes)):
        content = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
        _begin(digest, type(value).__name__, len(content))
        digest.update(content)
    elif value is None or isinstance(value, (bool, int, float)):
        content = repr(value).encode()
        _begin(digest, type(value).__name__, len(content))
        digest.update(content)
    elif isinstance(value, Iterable):
        items = list(value)
        _begin(digest, "sequence", len(items))
        for item in items:
            _add(digest, item)
    else:
        raise TypeError(f"no fingerprint of {type(value).__name__}: expected text or numbers")


def _begin(digest: _Hash, kind: str, size: int) -> None:
    digest.update(f"{kind} {size}\n".encode())
