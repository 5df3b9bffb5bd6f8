"""What happens to every request before and after the application sees it.

On the way in, `HostNames` refuses names that the service does not answer to, and `BodyLimit` reads
the body and stops at the limits of length, time and bytes in flight; on the way out,
`SecurityHeaders` tells the browser to run and load nothing that this service did not send.
"""

from __future__ import annotations

import asyncio
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse

from eigentext.studio.service.workers import BusyError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from eigentext.studio.service.limits import InFlight, RequestBytes

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-cache",
}


def fault(
    status: int,
    why: str,
    *,
    path: str = "request",
    line: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """An error in the one shape that all errors of the service have."""
    content = {"error": {"path": path, "line": line, "why": why}}
    return JSONResponse(content, status_code=status, headers=headers)


def client_of(scope: Scope) -> str:
    """The address that a request comes from; of version 6 its network, which is one client's.

    >>> client_of({"client": ("2001:db8::1:2", 80)}), client_of({"client": ("::1", 80)})
    ('2001:db8::/64', '::1')
    """
    return network_of((scope.get("client") or ("", 0))[0])


def network_of(address: str) -> str:
    """See `client_of`."""
    try:
        parsed = ip_address(address)
    except ValueError:  # no address, as in tests
        return address
    if not isinstance(parsed, IPv6Address) or parsed.is_loopback:
        return address
    return str(parsed.ipv4_mapped or IPv6Network((int(parsed), 64), strict=False))


class SecurityHeaders:
    """Adds the security headers to every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)


class HostNames:
    """Answers 400 when the request is for a host name that is not among those allowed.

    ``*`` allows any name, ``*.example.org`` any name below that.
    """

    def __init__(self, app: ASGIApp, allowed_hosts: Sequence[str]) -> None:
        self.app = app
        self.allowed_hosts = [name.lower() for name in allowed_hosts]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and not self._allows(Headers(scope=scope).get("host", "")):
            why = (
                "the service does not answer to this host name; use one of its own, or start it "
                "with `eigentext serve --allow-host NAME`"
            )
            await fault(400, why)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _allows(self, host: str) -> bool:
        name, colon, port = host.lower().rpartition(":")
        if not colon or not port.isdecimal():  # without a port; the address [::1] has colons, too
            name = host.lower()
        return any(
            pattern in ("*", name) or (pattern.startswith("*.") and name.endswith(pattern[1:]))
            for pattern in self.allowed_hosts
        )


class BodyLimit:
    """Answers 413 to a body that is too long, whatever its header claims, 408 to one too slow.

    And 503 when too much of others is held already; what is held counts until the answer is sent.
    """

    def __init__(
        self,
        app: ASGIApp,
        max_bytes: int,
        seconds: float,
        flight: InFlight,
        larger: Mapping[str, int] | None = None,  # paths that take more, and how much
        streamed: str | None = None,  # where paths begin that read the body by themselves
    ) -> None:
        self.app = app
        self.streamed = streamed
        self.max_bytes = max_bytes
        self.larger = larger or {}
        self.seconds = seconds
        self.flight = flight

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        path = scope.get("path", "")
        if scope["type"] != "http" or (self.streamed and path.startswith(self.streamed)):
            await self.app(scope, receive, send)
            return
        with self.flight.request(client_of(scope)) as held:
            await self._serve(scope, receive, send, held)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, held: RequestBytes) -> None:
        most = self.larger.get(scope.get("path", ""), self.max_bytes)
        try:
            async with asyncio.timeout(self.seconds):
                body = await self._read(receive, most, held)
        except BusyError as error:
            headers = {"Connection": "close", "Retry-After": str(error.retry_after)}
            await fault(503, str(error), headers=headers)(scope, receive, send)
            return
        except TimeoutError:
            why = f"the whole request was not there after {self.seconds:g} seconds"
            await fault(408, why, headers={"Connection": "close"})(scope, receive, send)
            return
        if body is None:  # the client has gone
            return
        if len(body) > most:
            why = f"the request is longer than {most:,} bytes, the most that is read"
            await fault(413, why, headers={"Connection": "close"})(scope, receive, send)
            return
        whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return whole.pop() if whole else await receive()

        await self.app(scope, replay, send)

    async def _read(self, receive: Receive, most: int, held: RequestBytes) -> bytes | None:
        """The body, or as much of it as shows that it is too long; None if the client leaves."""
        body = bytearray()
        more = True
        while more and len(body) <= most:
            message = await receive()
            if message["type"] != "http.request":
                return None
            held.hold(len(body) + len(message.get("body", b"")))
            body += message.get("body", b"")
            more = message.get("more_body", False)
        return bytes(body)
