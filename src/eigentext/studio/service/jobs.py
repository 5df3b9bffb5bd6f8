"""What the workers of the service do: functions of the library, with their models loaded once."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from eigentext.studio.service.models import ModelFacts, Served
from eigentext.studio.service.samples import expected

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydantic import BaseModel

    from eigentext.studio.service.settings import ServiceSettings
    from eigentext.studio.service.workers import Build, Tell


class ServiceFacts(NamedTuple):
    """What the server has to know about the models of its workers."""

    models: tuple[ModelFacts, ...] = ()

    def of(self, kind: str) -> list[ModelFacts]:
        """The models of one kind; the first is the default."""
        return [facts for facts in self.models if facts.kind == kind]


def builder(settings: ServiceSettings, facts: ServiceFacts) -> Build:
    """What makes the workers of a service with these models."""
    return partial(_build, facts.models, settings.lex_analyzer, expected(settings))


def _build(
    models: tuple[ModelFacts, ...],
    analyzer: str | None,
    coming: tuple[ModelFacts, ...],
    tell: Tell,
) -> tuple[dict[str, Callable[..., Any]], ServiceFacts]:
    served = Served(models, analyzer=analyzer, coming=coming, tell=tell)

    def come(more: Sequence[ModelFacts], why_not: str = "") -> ServiceFacts:
        for facts in more:
            served.add(facts, why_not)
        jobs.update(_jobs(served))
        return ServiceFacts(served.facts)

    jobs: dict[str, Callable[..., Any]] = {"models/come": come, **_jobs(served)}
    return jobs, ServiceFacts(served.facts)


def _jobs(served: Served) -> dict[str, Callable[..., Any]]:
    # here, in the worker: the server needs none of it, and listens the sooner
    from eigentext.studio.api.inception import Recommenders
    from eigentext.studio.api.lexical import Rankers
    from eigentext.studio.api.parse import ParseService
    from eigentext.studio.api.pipes import Pipes
    from eigentext.studio.api.proposing import Proposers
    from eigentext.studio.api.reading import ReadingService
    from eigentext.studio.api.sequences import SequencesService
    from eigentext.studio.api.udpipe import process
    from eigentext.studio.api.words import WordsService
    from eigentext.studio.service.views import converted, tokens_view, tree_views

    rankers = Rankers(served)
    pipes = Pipes(served)
    recommenders = Recommenders(served)
    jobs: dict[str, Callable[..., Any]] = {
        "convert": _written(converted),
        "tokenise": _written(tokens_view),
        "trees": _written(tree_views),
        "parse": _written(ParseService(served).answer),
        "pipe": _written(pipes.answer),
        "udpipe": partial(process, pipes),
        "read": _written(ReadingService(served, rankers, pipes).answer),
        "lex/rank": _written(rankers.answer),
        **Proposers(served).jobs,
        "inception/predict": recommenders.predict,
        "inception/train": recommenders.train,
    }
    for service in (WordsService(served), SequencesService(served)):
        jobs |= {name: _written(job) for name, job in service.jobs.items()}
    return jobs


def _written(job: Callable[..., BaseModel]) -> Callable[..., bytes]:
    """The same job, its answer in JSON: the server sends it as it is."""
    return lambda *arguments: job(*arguments).model_dump_json(by_alias=True).encode()
