"""Who waits is told how far it is."""

from __future__ import annotations

from threading import Lock
from typing import Protocol


class Progress(Protocol):
    """Called as ``progress(done, total, stage)``; a total of 0 is unknown.

    It may be called from several threads, but never by two at once: a training that has stages
    side by side gives them :func:`one_at_a_time`.
    """

    def __call__(self, done: int, total: int, stage: str, /) -> None:
        """``done`` of ``total`` steps of this stage are done."""


def one_at_a_time(progress: Progress | None) -> Progress | None:
    """The same, for threads that do not know of each other: each waits for its turn.

    >>> one_at_a_time(print)(1, 2, "arcs")
    1 2 arcs
    """
    if progress is None:
        return None
    turn = Lock()

    def tell(done: int, total: int, stage: str, /) -> None:
        with turn:
            progress(done, total, stage)

    return tell
