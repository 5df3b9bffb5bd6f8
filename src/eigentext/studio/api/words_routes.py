"""Routes of models of words: ``POST /api/words/...``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.studio.api.schemas_words import (
    FindAnswer,
    FindRequest,
    LookAnswer,
    LookRequest,
    MapAnswer,
    MapRequest,
    NeighboursAnswer,
    NeighboursRequest,
    TreeAnswer,
    TreeRequest,
    WordsCompareAnswer,
    WordsCompareRequest,
)
from eigentext.studio.service.answering import add_job

if TYPE_CHECKING:
    from fastapi import FastAPI
    from pydantic import BaseModel

    from eigentext.studio.service.settings import ServiceSettings
    from eigentext.studio.service.workers import WorkerPool

__all__ = ["add_words"]


def add_words(app: FastAPI, limits: ServiceSettings, pool: WorkerPool) -> None:
    """Add the routes."""
    most = f"at most {limits.max_neighbours:,}"
    about = {
        "find": "Words with a text in them, the frequent first.",
        "look": "What a model knows of a word: rank, count, and the path and members of its "
        "cluster. An unknown word is answered with known ones that are written like it.",
        "tree": "A prefix of the cluster hierarchy, its frequent words, and what is below it.",
        "neighbours": "The words nearest to a word by cosine, and analogies a:b::c, as "
        f"`eigentext words neighbours` gives them; {most} each.",
        "map": "Frequent words on the two main directions of their vectors, as `eigentext words "
        f"report` draws them; at most {limits.max_map_words:,}, more are left out.",
        "compare": "The neighbours of a word in two models, and the frequent words whose "
        f"neighbours differ most; {most} neighbours.",
    }
    shapes: dict[str, tuple[type[BaseModel], type[BaseModel]]] = {
        "find": (FindRequest, FindAnswer),
        "look": (LookRequest, LookAnswer),
        "tree": (TreeRequest, TreeAnswer),
        "neighbours": (NeighboursRequest, NeighboursAnswer),
        "map": (MapRequest, MapAnswer),
        "compare": (WordsCompareRequest, WordsCompareAnswer),
    }
    for name, shape in shapes.items():
        add_job(app, f"words/{name}", shape, (pool, limits), about[name])
