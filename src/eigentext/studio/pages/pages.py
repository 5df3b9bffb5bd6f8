"""The pages, each with an address of its own, and what they are made of.

A page is ``static/NAME.html``, found at ``/NAME``; `models.PAGES` names them all and says which
models each can use.  ``/`` leads to the first that has what it needs.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from starlette.responses import FileResponse, RedirectResponse
from starlette.staticfiles import StaticFiles

from eigentext.studio.service.models import PAGES, no_model, pages_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from fastapi import FastAPI

    from eigentext.studio.service.models import ModelFacts


def pages_there(models: Iterable[ModelFacts], *, annotates: bool) -> list[str]:
    """The pages that have what they need with these models, the first one first."""
    there = pages_for(models)
    return [page for page in there if page in _written() and (annotates or page != "annotate")]


def pages_missing(models: Iterable[ModelFacts]) -> dict[str, str]:
    """The pages that have no model, and what to do about it."""
    there = pages_for(models)
    return {page: no_model(kinds) for page, kinds in PAGES.items() if page not in there}


@cache
def _written() -> set[str]:
    """The names of the pages that there are."""
    folder = files("eigentext.studio.pages") / "static"
    return {page for page in PAGES if (folder / f"{page}.html").is_file()}


def add_pages(app: FastAPI, first: Callable[[], str]) -> None:
    """Add the pages and what they load; ``first`` names the one that ``/`` leads to."""
    with as_file(files("eigentext.studio.pages") / "static") as static:
        for page in sorted(_written()):
            _add_page(app, page, static)

        @app.get("/", include_in_schema=False)
        async def front() -> RedirectResponse:
            """Lead to the first page that has its models."""
            return RedirectResponse(f"/{first()}", status_code=307)

        app.mount("/static", StaticFiles(directory=static), name="static")


def _add_page(app: FastAPI, page: str, static: Path) -> None:
    @app.get(f"/{page}", include_in_schema=False, name=f"page {page}")
    async def send() -> FileResponse:
        return FileResponse(static / f"{page}.html")
