"""The route of the reading page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.web.answering import add_job
from eigentext.web.schemas_read import ReadAnswer, ReadRequest

if TYPE_CHECKING:
    from fastapi import FastAPI

    from eigentext.web.settings import ServiceSettings
    from eigentext.web.workers import WorkerPool

__all__ = ["add_reading"]


def add_reading(app: FastAPI, limits: ServiceSettings, pool: WorkerPool) -> None:
    """Add the route."""
    add_job(
        app,
        "read",
        (ReadRequest, ReadAnswer),
        (pool, limits),
        "Every word of a text with its readings in context, by a ranker or by a pipeline. At most "
        f"{limits.max_characters:,} characters and {limits.max_ranked_words:,} words.",
    )
