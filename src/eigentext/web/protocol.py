"""HTTP as uvicorn speaks it, but not with a client that never says what it wants.

uvicorn waits for the headers of a request without an end, so that a few hundred connections that
send half of them hold a server.  Here a connection is closed when its headers are not whole
``seconds`` after it was made, or after the first byte of a further request came.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

__all__ = ["protocol"]


def protocol(seconds: float) -> type[H11Protocol]:
    """The class of connections, for uvicorn's setting ``http``."""

    class Impatient(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None  # while headers are awaited

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def _watch(self) -> None:
            if self.conn.their_state is not h11.IDLE:  # the headers are there
                self._stop()
            elif self._deadline is None:
                self._deadline = self.loop.call_later(seconds, self.transport.close)

        def _stop(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return Impatient
