"""Who does the work of a command: this machine, or the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import typer

from eigentext.base.engines import using_cluster
from eigentext.cli.command import Flags
from eigentext.errors import SettingsError

__all__ = ["Workers"]


@dataclass(kw_only=True)
class Workers(Flags):
    """A command whose work can be done elsewhere, with the same result.

    with run.reading() as (log, progress), workers.at_work(run.jobs):
        ...
    """

    LAST: ClassVar = ("engine", "scheduler")

    engine: Annotated[
        Literal["local", "dask"] | None,
        typer.Option(
            "--engine",
            help="Cores of this machine, or a Dask cluster: that of --scheduler, else one of "
            "--jobs processes here; the result does not depend on it.",
            show_default="local",
        ),
    ] = None
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", help="Address of a Dask scheduler, tcp://...")
    ] = None

    def __post_init__(self) -> None:
        """An address is that of a cluster."""
        if self.engine == "local" and self.scheduler is not None:
            raise SettingsError("--engine local and --scheduler: expected one of them")

    @contextmanager
    def at_work(self, jobs: int) -> Iterator[None]:
        """Join or start the cluster that was asked for; without one nothing is done."""
        if self.engine != "dask" and self.scheduler is None:
            yield
            return
        from eigentext.base.dask_engine import DaskEngine

        here = self.scheduler is None
        with (
            DaskEngine.here(jobs) if here else DaskEngine(self.scheduler) as engine,
            using_cluster(engine),
        ):
            yield
