"""Sample models that are not there yet: trained while the service works, and served as they come.

The flow: the files of the settings -> processes that make them (`recipes.samples`) and use each
once, so that its kernels are compiled -> the workers of the service load it -> pages have it.  The
server waits for none of it, and what is being made ends with it.
"""

from __future__ import annotations

import logging
import os
import threading
from concurrent.futures import as_completed
from contextlib import suppress
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigentext.base.cores import available_cores
from eigentext.base.registry import KINDS as FILES
from eigentext.recipes.samples import SAMPLES, make_samples
from eigentext.studio.api.schemas import TrainingView
from eigentext.studio.service.models import KIND_OF, ModelFacts, Served, distinct, survey
from eigentext.studio.service.settings import ServiceSettings
from eigentext.studio.service.workers import WorkerPool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eigentext.studio.service.workers import Build, Tell

_TOTAL = sum(map(len, SAMPLES.values()))
_BEHIND = 5  # steps of priority: requests come before it
_log = logging.getLogger(__name__)


def expected(settings: ServiceSettings) -> tuple[ModelFacts, ...]:
    """What is known of the sample models of these settings before they are there."""
    kinds = {name: kind for names in SAMPLES.values() for name, kind in names.items()}
    return distinct(
        ModelFacts(
            name=file.name.partition(".")[0],
            kind=KIND_OF[kinds[file.name]],
            of=kinds[file.name],
            what=FILES[kinds[file.name]].what,
            # a pipeline of the sample has all stages that pages ask for
            can=("parser", "morphology") if file.suffix == ".pipe" else (),
            source=str(file),
        )
        for file in map(Path, settings.samples)
    )


class SampleTraining:
    """The making of the sample models that are not there, in the background."""

    def __init__(
        self,
        settings: ServiceSettings,
        pool: WorkerPool,
        say: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.coming = expected(settings)
        self._failed: dict[str, str] = {}
        self._pool, self._say = pool, say
        self._thread: threading.Thread | None = None
        self._makers = WorkerPool(
            MAKERS,
            size=min(2, available_cores()),
            waiting=len(SAMPLES),
            patience=inf,
            seconds=settings.retrain_seconds,
        )

    @property
    def progress(self) -> TrainingView:
        """How far it is."""
        names = [_file(facts).name for facts in self.coming]
        done = _TOTAL - len(names) - len(self._failed)
        return TrainingView(done=done, total=_TOTAL, names=names, failed=self._failed)

    def begin(self) -> None:
        """Begin, if there is anything to make and it was not begun."""
        if self.coming and self._thread is None:
            self._thread = threading.Thread(target=self._train, daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop what is being made."""
        self._makers.close()

    def _train(self) -> None:
        self._say(f"training sample models, once; they are kept in {_file(self.coming[0]).parent}")
        lists = ([x for x in self.coming if _file(x).name in names] for names in SAMPLES.values())
        groups = list(filter(None, lists))
        try:
            self._pool.start()  # first what answers requests
        except Exception:  # the service tells it, and ends
            return
        try:
            self._makers.start()
            doing = {self._makers.submit("make", group): group for group in groups}
        except Exception as error:  # whatever it is, nothing is made
            for group in groups:
                self._ended(group, error)
        else:
            for future in as_completed(doing):
                self._ended(doing[future], future.exception())
        self._makers.close()

    def _ended(self, group: Sequence[ModelFacts], error: BaseException | None) -> None:
        """The models of a group are there, or it is known why not."""
        names = [_file(facts).name for facts in group]
        try:
            if error is not None:
                raise error
            come = survey(ServiceSettings(models=tuple(each.source for each in group)))
            named = [replace(x, name=each.name) for x, each in zip(come, group, strict=True)]
            self._pool.teach("models/come", named).result()
        except Exception as caught:
            if self._makers.closed or self._pool.closed:
                return
            _log.error("eigentext: %s: could not be trained: %s", ", ".join(names), caught)
            # where it lies is nobody's business; of a traceback the last line says what it was
            last = (str(caught).splitlines() or [type(caught).__name__])[-1]
            folder = str(_file(group[0]).parent)
            why = last.replace(f"{folder}{os.sep}", "").replace(folder, "the cache folder")
            with suppress(Exception):
                sentence = f"the sample model {names[0]} could not be trained: {why}"
                self._pool.teach("models/come", group, sentence).result()
            self._failed.update(dict.fromkeys(names, why))
        self.coming = tuple(each for each in self.coming if each not in group)
        if names[0] not in self._failed:
            self._say(f"{self.progress.done} of {_TOTAL}: {', '.join(names)}")


def _file(facts: ModelFacts) -> Path:
    return Path(facts.source)


def _makers(_: Tell) -> tuple[dict[str, Callable[..., Any]], None]:
    """What a process that trains sample models does, behind everything else."""
    with suppress(OSError):
        os.nice(_BEHIND)
    return {"make": _made}, None


def _made(group: Sequence[ModelFacts]) -> None:
    make_samples(list(map(_file, group)))
    for facts in group:
        Served((facts,))


MAKERS: Build = _makers
