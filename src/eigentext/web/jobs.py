"""What the workers of the service do: functions of the library, with their models loaded once."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from eigentext.web.decided import DecidedTexts
from eigentext.web.dependency import DependencyService
from eigentext.web.lexical import LexicalService
from eigentext.web.pipes import PipeFacts, Pipes
from eigentext.web.udpipe import process
from eigentext.web.views import converted, tokens_view, tree_views

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel

    from eigentext.web.settings import ServiceSettings
    from eigentext.web.workers import Build

__all__ = ["Facts", "builder"]


class Facts(NamedTuple):
    """What the server has to know about the models of its workers."""

    parses: bool
    language: str | None  # of the readings that are ranked; None: nothing is ranked
    elements: tuple[str, ...]  # of the ranker's labels
    pipes: tuple[PipeFacts, ...] = ()


def builder(settings: ServiceSettings) -> Build:
    """What makes the workers of a service with these models."""
    return partial(
        _build, settings.dep_model, settings.lex_model, settings.lex_analyzer, settings.pipes
    )


def _build(
    dep_model: str | None,
    lex_model: str | None,
    lex_analyzer: str | None,
    pipe_models: tuple[str, ...],
) -> tuple[dict[str, Callable[..., Any]], Facts]:
    dependencies = DependencyService(dep_model)
    lexical = LexicalService(lex_model, lex_analyzer)
    texts = DecidedTexts(lexical)
    pipes = Pipes(pipe_models)
    jobs: dict[str, Callable[..., Any]] = {
        "convert": _written(converted),
        "tokenise": _written(tokens_view),
        "trees": _written(tree_views),
        "dep/parse": _written(dependencies.answer),
        "pipe": _written(pipes.answer),
        "udpipe": partial(process, pipes),
        "lex/rank": _written(lexical.answer),
        "lex/sentences": lexical.sentences,
        "lex/open": texts.open,
        "lex/decide": texts.decide,
        "lex/changes": texts.changes,
        "lex/conllu": lambda *arguments: list(texts.conllu(*arguments)),
    }
    scheme = lexical.ranker.scheme_ if lexical.ready else None
    return jobs, Facts(
        parses=dependencies.parser is not None,
        language=scheme.language if scheme else None,
        elements=tuple(scheme.elements) if scheme else (),
        pipes=tuple(pipes.facts.values()),
    )


def _written(job: Callable[..., BaseModel]) -> Callable[..., bytes]:
    """The same job, its answer in JSON: the server sends it as it is."""
    return lambda *arguments: job(*arguments).model_dump_json().encode()
