"""Models that learn from decisions: made in a process of their own, while annotators go on.

The flow: the finished sentences of a project -> a worker that makes the next model, and compares
it with the present one on sentences that neither learned from -> a file, and a row in the store;
it takes over only if it is not worse.  A server that ends takes the making with it, and nothing
else: the file is there only when it is whole.
"""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from eigentext.errors import EigentextError
from eigentext.studio.api import schemas_annotate as wire
from eigentext.studio.service.answering import in_words
from eigentext.studio.service.workers import WorkerFault, WorkerPool
from eigentext.studio.tasks import task_class
from eigentext.studio.tasks.learning import gather, learn, models_folder, note, verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from eigentext.base.types import Json
    from eigentext.studio.api.annotate import AnnotateService
    from eigentext.studio.service.identity import Identity
    from eigentext.studio.service.models import ModelFacts
    from eigentext.studio.service.workers import Tell
    from eigentext.studio.store.records import Project
    from eigentext.studio.tasks.learning import Lesson

_TELL_EVERY = 0.2  # seconds
_log = logging.getLogger(__name__)


class Retraining:
    """The making of models for the projects of a store, one at a time."""

    def __init__(self, service: AnnotateService) -> None:
        self._service = service
        self._pool: WorkerPool | None = None
        self._states: dict[int, wire.RetrainAnswer] = {}
        self._doing: set[asyncio.Task[None]] = set()

    def close(self) -> None:
        """Stop what is being made."""
        if self._pool is not None:
            self._pool.close()

    async def told(self, project: int) -> wire.RetrainAnswer:
        """How far the making for a project is."""
        return self._states.get(project, wire.RetrainAnswer(state="never"))

    async def begin(
        self, project: Project, layer: str, models: Sequence[ModelFacts], identity: Identity
    ) -> wire.RetrainAnswer:
        """Begin, unless it is under way already."""
        now = await self.told(project.id)
        if now.state == "running":
            return now
        service = self._service
        folder = models_folder(service.store, service.settings.annotation_models)
        before = self._states.get(project.id)
        now = wire.RetrainAnswer(state="running", doing="learning")
        self._states[project.id] = now  # at once: a second click begins no second making
        model = source_of(project, models)
        try:
            lesson = await service.call(
                gather, service.store, project.id, layers=layer, model=model
            )
        except BaseException:
            self._states.pop(project.id)
            if before is not None:
                self._states[project.id] = before
            raise
        task = asyncio.create_task(self._make(project, lesson, folder, identity))
        self._doing.add(task)
        task.add_done_callback(self._doing.discard)
        return now

    async def _make(
        self, project: Project, lesson: Lesson, folder: Path, identity: Identity
    ) -> None:
        service = self._service
        try:
            if self._pool is None:
                seconds = service.settings.retrain_seconds
                self._pool = WorkerPool(
                    _build, size=1, waiting=16, patience=seconds, seconds=seconds
                )

            def tell(progress: tuple[int, int, str]) -> None:
                done, total, doing = progress
                now = wire.RetrainAnswer(state="running", done=done, total=total, doing=doing)
                self._states[project.id] = now

            report = await self._pool.run("learn", lesson, folder, tell=tell)
            made_model = await service.call(note, service.store, lesson, report, by=identity.id)
            view: wire.MadeModelView = await service.made_view(made_model)
            report_shown = {**view.scores, "said": verdict(report, made_model)}
            done = wire.RetrainAnswer(state="finished", report=report_shown, model=view)
        except (EigentextError, WorkerFault, OSError) as error:
            why = in_words(error) if isinstance(error, EigentextError) else ""
            if not why:
                _log.error("learning from decisions failed: %s", error)
                why = "a fault of the service; its log tells more"
            done = wire.RetrainAnswer(state="failed", why=why)
        self._states[project.id] = done


def source_of(project: Project, models: Sequence[ModelFacts]) -> str:
    """The file of the model that is served for the project; empty: none."""
    fitting = (
        model for kind in task_class(project.task).SERVED for model in models if model.kind == kind
    )
    return next((model.source for model in fitting if model.name == project.model), "")


def _build(tell: Tell) -> tuple[dict[str, Callable[..., Any]], None]:
    return {"learn": partial(_learn, tell)}, None


def _learn(tell: Tell, lesson: Lesson, folder: Path) -> Json:
    """In the worker: learn, and tell how far that is, a few times a second at most."""
    last = (-1.0, -1)

    def progress(done: int, total: int, stage: str, /) -> None:
        nonlocal last
        now = time.monotonic()
        if done != last[1] or now >= last[0] + _TELL_EVERY:
            last = now, done
            tell((done, total, stage))

    return learn(lesson, folder, progress=progress)
