"""The route of readings: ``/api/lex/rank``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.studio.api.schemas_lexical import LexicalRequest, RankAnswer
from eigentext.studio.service.answering import add_job

if TYPE_CHECKING:
    from fastapi import FastAPI

    from eigentext.studio.service.settings import ServiceSettings
    from eigentext.studio.service.workers import WorkerPool

__all__ = ["add_lexical"]


def add_lexical(app: FastAPI, limits: ServiceSettings, pool: WorkerPool) -> None:
    """Add the route."""
    words = f"At most {limits.max_characters:,} characters and {limits.max_ranked_words:,} words."
    add_job(
        app,
        "lex/rank",
        (LexicalRequest, RankAnswer),
        (pool, limits),
        f"Rank every reading of every word, exactly as `eigentext lex rank` does. {words}",
    )
