"""The route of the page Parse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.studio.api.schemas_parse import ParseAnswer, ParseRequest
from eigentext.studio.service.answering import add_job

if TYPE_CHECKING:
    from fastapi import FastAPI

    from eigentext.studio.service.settings import ServiceSettings
    from eigentext.studio.service.workers import WorkerPool

__all__ = ["add_parse"]


def add_parse(app: FastAPI, limits: ServiceSettings, pool: WorkerPool) -> None:
    """Add the route."""
    add_job(
        app,
        "parse",
        (ParseRequest, ParseAnswer),
        (pool, limits),
        "Parse raw text or tokens to constituent and dependency trees, with posteriors, lists of "
        "the best and what trees must and must not have; answers are those of `eigentext const "
        "parse`, `eigentext dep parse` and `eigentext pipe run`. At most "
        f"{limits.max_characters:,} characters, {limits.max_trees:,} sentences, each of at most "
        f"{limits.max_words:,} words, and {limits.max_tree_words:,} words times `kbest`.",
    )
