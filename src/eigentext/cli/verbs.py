"""What the verbs share: a run of `train`, of `apply`, of any other, and who does the work.

@with_flags(HMMSettings)
def train(files: options.Sources, settings: SettingFlags, run: Training) -> None:
    with run.reading("iterations") as (log, progress):   # --on-error, --quiet
        ...
    run.save(model, files, {"tokens": n})                # --output, --data-*, --quiet, --json
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Literal

from eigentext.base.cores import using_cores, using_device
from eigentext.base.engines import using_cluster
from eigentext.base.files.opening import SkipLog, check_writable
from eigentext.base.files.writing import write_lines
from eigentext.base.progress import Progress
from eigentext.cli import options
from eigentext.cli.command import EXPERT, Flags, flag
from eigentext.cli.inputs import is_model
from eigentext.cli.output import Clock, progress_bar, remark, show_figures
from eigentext.errors import DataError, SettingsError
from eigentext.features.symbols import KnownWords, Share, remark_on


def of_files(error: DataError, sources: list[str], *inputs: str) -> DataError:
    """The error with the files in it, if it is of ``inputs``: a model knows no files.

    >>> str(of_files(DataError("strings", None, "none"), ["a.txt", "b.txt"], "strings"))
    'a.txt and 1 more: none'
    """
    if error.path not in inputs or not sources:
        return error
    more = f" and {len(sources) - 1} more" if len(sources) > 1 else ""
    return DataError(sources[0] + more, None, error.why)


@dataclass(kw_only=True)
class Run(Flags):
    """A command that reads files and tells figures."""

    LAST: ClassVar = ("device", "jobs", "data_name", "data_licence", "on_error", "quiet", "json")

    on_error: options.OnError = "stop"
    quiet: options.Quiet = False
    json: options.Json = False
    clock: Clock = field(init=False, default_factory=Clock)
    skipped: int = field(init=False, default=0)

    @contextmanager
    def reading(self, unit: str = "bytes") -> Iterator[tuple[SkipLog | None, Progress]]:
        """What readers take as ``on_error``, and progress; says at the end what was skipped."""
        log = SkipLog() if self.on_error == "skip" else None
        with (
            using_cores(getattr(self, "jobs", 1)),  # of Training
            using_device(getattr(self, "device", "cpu")),  # of TrainingOnDevice
            progress_bar(quiet=self.quiet, unit=unit) as progress,
        ):
            yield log, progress
        if log is not None and log.count:
            self.skipped = log.count
            self.remark(f"skipped {log.count} item(s) that could not be read:")
            for message in log.messages:
                self.remark(f"  {message}")

    def remark(self, text: str) -> None:
        """One line to the person at the terminal."""
        remark(text, quiet=self.quiet)

    def remark_on_unknown(self, share: Share, words: KnownWords | None) -> None:
        """A warning where most words of a text are unknown to the model."""
        if words is not None and (warning := remark_on(share, words.expected)):
            self.remark(f"eigentext: {warning}")

    @property
    def tells(self) -> bool:
        """Does anybody want to see figures?"""
        return self.json or not self.quiet

    def tell(self, figures: Mapping[str, Any], *, results_on_stdout: bool = False) -> None:
        """Figures of this run, unless it is to be quiet; on stderr where stdout has results."""
        if self.tells:
            show_figures(figures, as_json=self.json, results_on_stdout=results_on_stdout)


@dataclass(kw_only=True)
class Training(Run):
    """A command that writes a model."""

    output: options.ModelOutput
    jobs: options.Jobs = 1
    data_name: options.DataName = None
    data_licence: options.DataLicence = None

    def __post_init__(self) -> None:
        """A model that cannot be written is an error before it has been learned."""
        check_writable(self.output)

    def about(self, sources: list[str]) -> dict[str, object]:
        """What a model's header says of the data it was made from."""
        return {"name": self.data_name, "licence": self.data_licence, "files": sources}

    def save(
        self,
        model: Any,
        sources: list[str],
        figures: Mapping[str, Any] | Callable[[], Mapping[str, Any]],
        *,
        beside: str | None = None,
        **more: str | None,
    ) -> None:
        """Write the model, and tell how it was made; what was skipped and the seconds come last.

        ``figures`` that are work to make are a function: it is called when the model is safe, and
        only if somebody wants to see them.  ``beside`` is another file that the command writes,
        after the model, which must not be lost with it; where either is stdout, figures are not.
        ``more`` is what else the header says of the data, where it is anything: its ``language``,
        or how files are to be ``read_as``, where the same file can be read in two ways.
        """
        stated = {name: value for name, value in more.items() if value}
        model.save(self.output, data=self.about(sources) | stated)
        if self.tells:
            facts = figures() if callable(figures) else figures
            facts = {**facts, "skipped": self.skipped, **self.clock.figures()}
            self.tell(facts, results_on_stdout="-" in (self.output, beside))


@dataclass(kw_only=True)
class TrainingOnDevice(Training):
    """A command that writes a model and can make its large products on a graphics card."""

    device: options.Device = "cpu"

    def __post_init__(self) -> None:
        """A card that is not there is an error before anything is read."""
        from eigentext.linalg.backend import backend_for

        super().__post_init__()
        backend_for(self.device)


@dataclass(kw_only=True)
class Applying(Run):
    """A command that writes an answer for everything it reads."""

    output: options.Output = "-"

    def write(self, answers: Iterable[str], *, blocks: bool = False) -> None:
        """The answers, lines or ``blocks`` of them; the file is there when all of them are."""
        from eigentext.language.formats.blocks import write_blocks

        if blocks:
            write_blocks(answers, self.output)
        else:
            write_lines(self.output, answers)

    def write_scores(
        self, name: str, scores: Iterable[tuple[float, int]], format_: str
    ) -> dict[str, Any]:
        """A line for each tree with its score; figures of all of them.

        ``scores`` has each tree's score and number of words.  A score of -inf is null in JSON, is
        counted, and left out of the total.
        """
        figures = {"trees": 0, "words": 0, name: 0.0, "impossible": 0}

        def lines() -> Iterator[str]:
            for score, n_words in scores:
                possible = score > float("-inf")
                figures["trees"] += 1
                if possible:
                    figures["words"] += n_words
                    figures[name] += score
                else:
                    figures["impossible"] += 1
                record = {name: score if possible else None, "words": n_words}
                yield json.dumps(record) if format_ == "jsonl" else f"{score:.6f}"

        self.write(lines())
        return figures

    def tell(self, figures: Mapping[str, Any], *, results_on_stdout: bool = False) -> None:
        """Figures of this run; on stderr where the answers are on stdout."""
        super().tell(figures, results_on_stdout=results_on_stdout or self.output == "-")


@dataclass(kw_only=True)
class Workers(Flags):
    """A command whose work can be done elsewhere, with the same result.

    with run.reading() as (log, progress), workers.at_work(run.jobs):
        ...
    """

    LAST: ClassVar = ("engine", "scheduler")

    engine: Literal["local", "dask"] | None = flag(
        "Cores of this machine, or a Dask cluster: that of --scheduler, else one of "
        "--jobs processes here; the result does not depend on it.",
        show_default="local",
        rich_help_panel=EXPERT,
    )
    scheduler: str | None = flag("Address of a Dask scheduler, tcp://...", rich_help_panel=EXPERT)

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
        from eigentext.base.engines import DaskEngine

        here = self.scheduler is None
        with (
            DaskEngine.here(jobs) if here else DaskEngine(self.scheduler) as engine,
            using_cluster(engine),
        ):
            yield


@contextmanager
def answers_of(
    model: str, gold: str, apply: Callable[..., None], **choices: object
) -> Iterator[tuple[str, str]]:
    """The file that is compared with gold, and its name: ``model`` itself if it holds answers.

    Else that of what ``apply``, the group's own command, makes of gold with these choices.
    """
    if not is_model(model):
        yield model, model
        return
    with TemporaryDirectory(prefix="eigentext-") as folder:
        # the formats of gold and of answers are told by one name
        answers = os.path.join(folder, os.path.basename(gold).removesuffix(".gz") or "gold")
        apply(model=model, files=[gold], output=answers, quiet=True, **choices)
        yield answers, f"{model} ({gold})"
