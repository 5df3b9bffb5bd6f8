"""Hashes that are the same on every machine and in every run: of texts, of keys, of content.

Compiled loops do the same arithmetic (``features.kernels.hashing``).  :func:`fingerprint` is the
key of settings and content by which something is resumed or found again.  ``repr`` is no such key:
scikit-learn and numpy shorten theirs, so that different settings look the same; in a fingerprint
every value goes whole, with its type and length before it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hashlib import _Hash

MIXER = 0x9E3779B97F4A7C15  # odd, from the golden ratio: spreads every bit upwards
SPREAD = 0xFF51AFD7ED558CCD
MASK = (1 << 64) - 1


def text_key(text: str) -> int:
    """A 64-bit key of a text; halves of characters are allowed in it.

    >>> text_key("upos\\tNOUN") == text_key("upos\\tNOUN"), text_key("a") == text_key("b")
    (True, False)
    """
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


@lru_cache(maxsize=1 << 16)  # the same shapes, tags and endings come again and again
def key_of(text: str) -> int:
    """The key of a text, never 0 (0 means that there is none)."""
    return text_key(text) or 1


def mixed(seed: int, keys: Iterable[int]) -> int:
    """A 64-bit key of keys in their order.

    >>> mixed(1, [2, 3]) == mixed(1, [3, 2])
    False
    """
    value = seed
    for key in keys:
        value = ((value ^ key) * MIXER) & MASK
        value ^= value >> 29
    return value


def fingerprint(*values: object) -> str:
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


def _add(digest: _Hash, value: object) -> None:
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
