"""How ``--memory`` is shared out while vectors are made.

1. The matrix is made tile by tile: a tile for each thread, what is turned, and finished tiles.
2. The decomposition: tiles, the basis, the blocks that are multiplied, and in the end the vectors
   of the shorter side.
3. Its end: tiles, and the vectors of both sides.
4. The vectors are written.

What must be in memory at any of these is the least; a bound below it is refused.  Of the rest
tiles have what they need first, since each step reads all of them twice, then the basis; what does
not fit is on disk.  Nothing here changes a digit of the vectors.
"""

from __future__ import annotations

from dataclasses import dataclass

from eigentext.counting.memory import parse_memory
from eigentext.errors import SettingsError
from eigentext.linalg.matrices import BLOCK_COLUMNS
from eigentext.linalg.svd import basis_bytes, krylov_block

_LIBRARIES = 330_000_000  # resident size of Python with all that is loaded by the end
_WORD_BYTES = 300  # a word: its string, its bytes, its places in tables
_ENTRY_BYTES = 16  # an entry of a tile, by row and by column
_MAKING_BYTES = 60  # an entry of a tile while it is made
_STEP_BLOCKS = 6  # that a step of the decomposition has at once


@dataclass(frozen=True)
class Room:
    """Bytes for finished ``tiles`` and for what is ``turned``; how many threads (``cores``) make
    tiles; whether the ``basis_on_disk`` is.
    """

    tiles: int
    turned: int
    cores: int
    basis_on_disk: bool

    @classmethod
    def share_out(
        cls,
        memory: str | int,
        shape: tuple[int, int],
        rank: int,
        *,
        entries: int,
        tile_entries: int,
        held: int = 0,
        cores: int = 1,
    ) -> Room:
        """For a matrix with at most so many entries, of which a tile has ``tile_entries``.

        ``held`` is what the counts have of memory.

        >>> sizes = {"entries": 100_000_000, "tile_entries": 2_000_000}
        >>> Room.share_out("8GB", (200_000, 200_000), 200, **sizes).basis_on_disk
        False
        >>> Room.share_out("2GB", (200_000, 200_000), 200, **sizes).basis_on_disk
        True
        """
        bound = parse_memory(memory)
        tall, number = max(shape), 4  # bytes of a float32
        tile_entries = min(tile_entries, entries)
        tile = _ENTRY_BYTES * tile_entries
        making = _MAKING_BYTES * tile_entries
        steps = number * (_STEP_BLOCKS * krylov_block(rank) * tall + rank * min(shape)) + tile
        end = number * (rank * sum(shape) + 2 * BLOCK_COLUMNS * tall) + tile
        written = 2 * number * rank * shape[0]
        words = _WORD_BYTES * tall + held
        least = words + max(making, steps, end, written)
        # the libraries of a small bound are beyond it, as they are for counting
        work = max(bound - _LIBRARIES, bound // 8)
        if work < least:
            needed = min(least + _LIBRARIES, 8 * least)
            raise SettingsError(
                f"memory {memory} is too small for {shape[0]:,} vectors of {rank} dimensions: "
                f"{-(-needed // 10**7) * 10:,}MB is the least, or fewer words or dimensions"
            )
        cores = max(1, min(cores, (work - words) // max(making, 1)))
        free = work - words - making * cores
        spare = work - words - max(steps, end)
        basis = basis_bytes(shape, rank)
        on_disk = spare < _ENTRY_BYTES * entries + basis
        tiles = min(spare - (0 if on_disk else basis), 2 * free // 3)
        return cls(max(tiles, 0), max(free, 0) // 4, cores, on_disk)
