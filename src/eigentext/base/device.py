"""Where the large products of a fit are made: on the processor, or on a graphics card.

:func:`using_device` says so for all that runs inside it, as
:func:`~eigentext.base.cores.using_cores` does for the number of cores.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Literal, get_args

from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator

Device = Literal["cpu", "cuda", "auto"]
DEVICES: tuple[Device, ...] = get_args(Device)

_device: ContextVar[str] = ContextVar("device", default="cpu")


def device_in_use() -> str:
    """``cpu`` unless told: ``cuda`` is a graphics card, ``auto`` the card where there is one.

    >>> device_in_use()
    'cpu'
    """
    return _device.get()


@contextmanager
def using_device(device: str) -> Iterator[None]:
    """Let the work inside use this device.

    >>> with using_device("auto"):
    ...     device_in_use()
    'auto'
    """
    if device not in DEVICES:
        raise SettingsError(f"device is {device!r}, expected cpu, cuda or auto")
    held = _device.set(device)
    try:
        yield
    finally:
        _device.reset(held)
