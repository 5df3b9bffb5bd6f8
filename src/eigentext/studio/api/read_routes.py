"""The route of the reading page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.studio.api.schemas_read import ReadAnswer, ReadRequest
from eigentext.studio.service.answering import add_job

if TYPE_CHECKING:
    from fastapi import FastAPI

    from eigentext.studio.service.settings import ServiceSettings
    from eigentext.studio.service.workers import WorkerPool

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
