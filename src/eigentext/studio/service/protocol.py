"""HTTP as uvicorn speaks it, but not with a client that never says what it wants.

uvicorn waits for the headers of a request without an end, so that a few hundred connections that
send half of them hold a server.  Here a connection is closed when its headers are not whole
``seconds`` after it was made, or after the first byte of a further request came; and so is one
whose request goes on when it was answered already.  A client has ``most`` connections; one more is
answered 503 and closed.
"""

from __future__ import annotations

import asyncio
from collections import Counter

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from eigentext.studio.service.middleware import network_of
from eigentext.studio.service.workers import BusyError

_REFUSED = (
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n"
    f"Retry-After: {BusyError.retry_after}\r\n\r\n"
).encode()


def protocol(seconds: float, most: int) -> type[H11Protocol]:
    """The class of connections, for uvicorn's setting ``http``."""
    connections: Counter[str] = Counter()

    class Impatient(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None  # while more of a request is awaited
        _address: str | None = None  # while the connection counts

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            address = network_of((self.client or ("", 0))[0])
            if connections[address] >= most:
                transport.write(_REFUSED)
                transport.close()
                return
            self._address = address
            connections[address] += 1
            self._watch()

        def data_received(self, data: bytes) -> None:
            if self._address is not None:
                super().data_received(data)
                self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            if self._address is not None:
                connections[self._address] -= 1
                if not connections[self._address]:
                    del connections[self._address]
            super().connection_lost(exc)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.conn.our_state is h11.DONE:  # and the client is not: its body goes on
                self._watch()

        def _watch(self) -> None:
            if self.conn.their_state is not h11.IDLE and self.conn.our_state is not h11.DONE:
                self._stop()  # the headers are there
            elif self._deadline is None:
                self._deadline = self.loop.call_later(seconds, self.transport.close)

        def _stop(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return Impatient
