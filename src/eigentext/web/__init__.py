"""The service: HTTP and pages around the same functions that the command line calls.

FastAPI and uvicorn come with the extra ``web`` and are imported when they are first needed.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from eigentext.errors import MissingExtraError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from eigentext.web.settings import ServiceSettings

__all__ = ["create_app", "is_loopback", "serve"]


def create_app(settings: ServiceSettings | None = None) -> FastAPI:
    """Make the application; see `eigentext.web.app.create_app`."""
    try:
        from eigentext.web import app
    except ModuleNotFoundError as error:
        raise _without_extra(error) from error
    return app.create_app(settings)


def serve(
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    settings: ServiceSettings | None = None,
    log_level: str = "info",
) -> None:
    """Serve until interrupted; see `eigentext.web.app.serve`."""
    try:
        import uvicorn  # noqa: F401

        from eigentext.web import app
    except ModuleNotFoundError as error:
        raise _without_extra(error) from error
    app.serve(host, port, settings=settings, log_level=log_level)


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine only."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _without_extra(error: ModuleNotFoundError) -> Exception:
    """The error to raise: a missing module of ours is a fault, not a missing extra."""
    if (error.name or "").startswith("eigentext"):
        return error
    return MissingExtraError("web pages", extra="web", modules=["fastapi", "uvicorn"])
