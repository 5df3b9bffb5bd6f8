"""Workers for tests: jobs that last until a file says so, and jobs that go wrong in every way."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eigentext.errors import DataError
from eigentext.studio.service.jobs import ServiceFacts
from eigentext.studio.service.models import Loading, ModelFacts
from eigentext.studio.service.views import tokens_view

MODELS = (
    ModelFacts("some", "dep", "graph-parser", "a dependency parser"),
    ModelFacts("other", "lex", "lexical", "a ranker of analyses", language="ar"),
)


def build(
    folder: str, tell: Callable[[Any], object]
) -> tuple[dict[str, Callable[..., Any]], ServiceFacts]:
    """Jobs that look into the folder; with a file ``broken`` in it there are none.

    With a file ``slow`` they come when that is gone.
    """
    while Path(folder, "slow").exists():
        tell(Loading(1, 3, "some"))
        time.sleep(0.01)
    if Path(folder, "broken").exists():
        raise DataError("some.model", 3, "is broken")

    def hold(name: str) -> str:
        Path(folder, f"began-{name}").touch()
        while not Path(folder, f"end-{name}").exists():
            time.sleep(0.01)
        return f"{name} held"

    learned: list[str] = []
    jobs = {
        "learn": lambda one: learned.append(one) or learned,  # type: ignore[func-returns-value]
        "learned": lambda: learned,
        "echo": lambda one: one,
        "pid": os.getpid,
        "tell": lambda *all_: [tell(one) for one in all_] and "told",
        "hold": hold,
        "refuse": refuse,
        "fault": lambda: 1 // 0,
        "odd": lambda: lambda: None,
        "die": lambda: os._exit(7),
        # as the service knows them
        "tokenise": lambda *given: tokens_view(*given).model_dump_json().encode(),
        "parse": lambda request, _: f'{{"held": "{hold(request.text)}"}}'.encode(),
        "trees": lambda *_: 1 // 0,
    }
    return jobs, ServiceFacts(MODELS)


def refuse() -> None:
    raise DataError("input", 2, "no")
