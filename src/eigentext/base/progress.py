"""Who waits is told how far it is."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Progress"]


class Progress(Protocol):
    """Called as ``progress(done, total, stage)``; a total of 0 is unknown."""

    def __call__(self, done: int, total: int, stage: str, /) -> None:
        """``done`` of ``total`` steps of this stage are done."""
