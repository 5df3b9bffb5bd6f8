"""How much memory counting may use, and what that means for each of its buffers.

What the interpreter and the libraries take is set aside; the rest goes to the word tables, the
ids, the pairs in flight and the finished runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from eigentext.errors import SettingsError

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {f"{unit}I": 1024**i for i, unit in enumerate("KMGT", start=1)}

LIBRARIES = 240_000_000  # resident size of Python with numpy, scipy, numba and scikit-learn
READER = 16_000_000  # of each worker: blocks of text, and the dictionary of a decompressor
LEAST = 32_000_000
TYPE_BYTES = 140  # one word in a table that has just grown: slots, offset, count, line, bytes
IN_FLIGHT_BYTES = 28  # one pair while it is counted: ids, bucket, sum, and its entry of the result


def parse_memory(setting: str | int) -> int:
    """Bytes of a setting such as ``"2GB"``, ``"500 MB"``, ``"1.5GiB"`` or a number of bytes.

    >>> parse_memory("2GB"), parse_memory("1.5 GiB"), parse_memory(50_000_000)
    (2000000000, 1610612736, 50000000)
    """
    text = str(setting).strip()
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?", text.upper(), flags=re.ASCII)
    if match is None or match[2] not in _UNITS:
        raise SettingsError(f"memory {text!r}: expected a size such as 2GB, 500MB or 1.5GiB")
    size = int(float(match[1]) * _UNITS[match[2]])
    if size < LEAST:
        raise SettingsError(f"memory {text!r} is too small: counting needs at least 32MB")
    return size


@dataclass(frozen=True)
class Budget:
    """Limits of the buffers; the counts do not depend on them, only speed and memory do."""

    shard_bytes: int = 1 << 26  # largest range of a file
    block_bytes: int = 1 << 20  # text read at once
    segment_types: int = 1 << 21  # a segment (a word table and its ids) with more is closed
    segment_tokens: int = 1 << 25  # likewise
    segment_bytes: int = 1 << 26  # of its words, likewise
    kept_bytes: int = 1 << 28  # closed segments kept in memory; the others go to disk
    table_bytes: int = 1 << 29  # the table in which vocabularies are merged
    batch_pairs: int = 1 << 25  # pairs counted at once
    run_bytes: int = 1 << 29  # finished pair counts in memory; beyond that they are spilled

    @classmethod
    def share_out(cls, memory: str | int, jobs: int) -> Budget:
        """The limits that keep ``jobs`` workers in one process near the memory setting.

        >>> Budget.share_out("2GB", jobs=2).batch_pairs > 10_000_000
        True
        """
        size = parse_memory(memory)
        work = max(size - LIBRARIES - READER * jobs, size // 8)
        fifth = work // 5  # one of them is for runs that wait, and for the sum while it is made
        block = max(1 << 16, min(1 << 20, fifth // (8 * jobs)))  # a block has 5 times its size
        pairs = min(2 * fifth // IN_FLIGHT_BYTES, 2**30)  # sums in flight are int32
        return cls(
            block_bytes=block,
            segment_types=max(1000, fifth // jobs // TYPE_BYTES),
            segment_tokens=max(1000, min(fifth // jobs // 4, pairs)),
            segment_bytes=max(1 << 16, fifth // jobs // 4),
            kept_bytes=fifth,
            table_bytes=2 * fifth,
            batch_pairs=pairs,
            run_bytes=fifth,
        )
