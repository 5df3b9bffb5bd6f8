"""Tests wait for states, not for times."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def until(holds: Callable[[], object]) -> None:
    """Wait for a state; a busy machine is slow, not wrong."""
    for _ in range(12_000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("the state never came")
