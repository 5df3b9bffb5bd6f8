"""Routes of models of sequences: ``POST /api/sequences/...``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.studio.api.schemas_sequences import (
    SequencesTextAnswer,
    SequencesTextRequest,
    StatesAnswer,
    StatesRequest,
)
from eigentext.studio.service.answering import add_job

if TYPE_CHECKING:
    from fastapi import FastAPI

    from eigentext.studio.service.settings import ServiceSettings
    from eigentext.studio.service.workers import WorkerPool

__all__ = ["add_sequences"]


def add_sequences(app: FastAPI, limits: ServiceSettings, pool: WorkerPool) -> None:
    """Add the routes."""
    add_job(
        app,
        "sequences/states",
        (StatesRequest, StatesAnswer),
        (pool, limits),
        "The states of a model with their words and next states, as `eigentext hmm inspect` gives "
        f"them; at most {limits.max_states:,}, rarer ones are left out.",
    )
    add_job(
        app,
        "sequences/text",
        (SequencesTextRequest, SequencesTextAnswer),
        (pool, limits),
        "A text by states with posteriors and surprisals, as `eigentext hmm score` and `hmm tag` "
        f"give them. At most {limits.max_characters:,} characters and "
        f"{limits.max_sequence_words:,} words.",
    )
