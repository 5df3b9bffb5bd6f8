"""Hashes that are the same on every machine and in every run: of texts, and of keys in order.

Compiled loops do the same arithmetic (``features.kernels.hashing``).
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

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
