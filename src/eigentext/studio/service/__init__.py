"""The service: HTTP and pages around the same functions that the command line calls.

FastAPI and uvicorn come with the extra ``web`` and are imported when they are first needed.
"""

from __future__ import annotations

from importlib import import_module
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from eigentext.errors import MissingExtraError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from eigentext.studio.service.settings import ServiceSettings

__all__ = ["check_installed", "create_app", "is_loopback", "serve"]


def create_app(settings: ServiceSettings | None = None) -> FastAPI:
    """Make the application; see `eigentext.studio.service.app.create_app`."""
    app: FastAPI = _application().create_app(settings)
    return app


def serve(host: str = "127.0.0.1", port: int = 8000, **options: object) -> None:
    """Serve until interrupted; see `eigentext.studio.service.app.serve`."""
    _application("uvicorn").serve(host, port, **options)


def check_installed() -> None:
    """Say which extra is missing, if one is, before anything else is done."""
    _application("uvicorn")


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine only."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _application(*needed: str) -> Any:
    """The module that needs the extra, with what its use needs besides.

    A missing module of ours is a fault, not a missing extra.
    """
    try:
        for name in needed:
            import_module(name)
        from eigentext.studio.service import app
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("eigentext"):
            raise
        why = MissingExtraError("web pages", extra="web", modules=["fastapi", "uvicorn"])
        raise why from error
    return app
