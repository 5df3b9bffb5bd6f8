"""All cores, one answer: every training command with one core and with more, on real data.

    python benchmarks/cores.py                       # all commands, 1 and 2 cores
    python benchmarks/cores.py hmm-em const --jobs 1 2 4 8 16
    python benchmarks/cores.py --share               # one core, and what part of it is shared out
    python benchmarks/cores.py hmm-em --tokens 1000000 --json rows.json

A row for each command and number of cores: wall-clock seconds of the whole process, CPU seconds,
how many times faster than one core, and the sha256 of the model, which must be the same in all
rows of a command: a difference makes the script fail.  Compiled code is cached by a first run on a
few sentences that is not counted.

``--share`` runs each command once on one core, in a process that measures the CPU seconds spent
inside ``base.cores.each`` and ``in_turn``, which is the part that threads share.  By Amdahl's law
a share of s makes 1 / (1 - s + s/2) times the speed on two cores; this does not need an idle
machine.  The named stages within the command are measured in the same way.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from _data import KEPT, data, plain_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

TOKENS = 10_000_000


class Command(NamedTuple):
    """A training command.

    ``line``    its arguments: ``{text}`` is of wiki, ``{trees}`` GUM's, ``{conllu}`` EWT's
    ``stages``  functions of the library whose own share is told with ``--share``
    """

    line: str
    stages: tuple[str, ...] = ()


COMMANDS: dict[str, Command] = {
    "hmm-em": Command(
        "hmm train {text} -k 50", ("sequences.hmm.em:baum_welch", "sequences.hmm.em:stepwise_em")
    ),
    "hmm-random": Command(
        "hmm train {text} -k 25 --start random --n-iter 5", ("sequences.hmm.em:baum_welch",)
    ),
    "hmm-operators": Command("hmm train-spectral {text} -k 50"),
    "hmm-tagger": Command(
        "hmm train-tagger {conllu} --column xpos", ("sequences.tagger.model:LatentTagger.fit",)
    ),
    "const": Command(
        "const train {trees}",
        (
            "constituency.learn.moments:fit_moments",
            "constituency.low_rank:low_rank",
            "constituency.brackets:learn_bracket_model",
        ),
    ),
    "const-clustering": Command(
        "const train {trees} --estimator clustering --n-iter 5",
        (
            "constituency.learn.models:cluster_states",
            "constituency.learn.em:run_em",
            "constituency.low_rank:low_rank",
        ),
    ),
    "const-ensemble": Command(
        "const train {trees} --estimator mixed --n-models 4",
        ("constituency.learn.models:_learn", "constituency.low_rank:low_rank"),
    ),
    "const-rerank": Command(
        "const train {trees} --rerank", ("constituency.rerank:learn_reranker",)
    ),
    "dep-latent": Command("dep train-latent {conllu}", ("dependency.latent.learn:run_em",)),
    "dep": Command("dep train {conllu}"),
    "words-cluster": Command("words cluster {text} -m 500"),
    "words-embed": Command("words embed {text}"),
}


def main() -> int:
    """Run what is asked for; 1 when a model depends on the number of cores."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(COMMANDS))
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--tokens", type=int, default=TOKENS, help="of text, from wiki")
    parser.add_argument("--share", action="store_true", help="what part threads share")
    parser.add_argument("--json", type=Path, help="write the rows here too")
    parser.add_argument("--inside", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        return inside(given.inside)
    unknown = set(given.names) - COMMANDS.keys()
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; expected {', '.join(COMMANDS)}")
    rows = []
    for name in given.names or COMMANDS:
        of_one = []
        for row in measured(name, given):
            print(shown(row), flush=True)
            of_one.append(row)
        rows += of_one
        if given.json:
            given.json.write_text(json.dumps(rows, indent=1) + "\n")
    differing = {row["command"] for row in rows if not row.get("same", True)}
    for name in sorted(differing):
        print(f"{name}: the model depends on the number of cores", file=sys.stderr)
    return 1 if differing else 0


def measured(name: str, given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The rows of one command."""
    command = COMMANDS[name]
    line = command.line.format(
        text=first_tokens(given.tokens),
        trees=data() / "constituency" / "gum" / "train.mrg",
        conllu=data() / "dependency" / "ewt" / "train.conllu",
    ).split()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "model")
        if given.share:
            own = [sys.executable, __file__, "--inside", ",".join(command.stages)]
            found = subprocess.run(
                [*own, *line, "--quiet", "-o", str(model)],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
            yield {"command": name, **json.loads(found.stdout.splitlines()[-1])}
            return
        little = command.line.format(
            text=first_tokens(100_000),
            trees=first_lines("constituency/gum/train.mrg"),
            conllu=first_lines("dependency/ewt/train.conllu"),
        ).split()
        timed([*little, "--quiet", "-o", str(model)])
        first: dict[str, Any] = {}
        for jobs in given.jobs:
            row = timed([*line, "--quiet", "-o", str(model), "--jobs", str(jobs)])
            row["sha256"] = hashlib.sha256(model.read_bytes()).hexdigest()
            first = first or row
            row["ratio"] = first["wall"] / row["wall"]
            row["same"] = first["sha256"] == row["sha256"]
            yield {"command": name, "jobs": jobs, **row}


def first_tokens(count: int) -> str:
    """A file with so many tokens of wiki, whole lines."""
    target = KEPT / f"wiki-{count}.txt"
    if not target.exists():
        part, n = target.with_suffix(".part"), 0
        with open(plain_text(), encoding="utf-8") as lines, part.open("w", encoding="utf-8") as to:
            for line in lines:
                to.write(line)
                n += len(line.split())
                if n >= count:
                    break
        part.replace(target)
    return str(target)


def first_lines(name: str) -> str:
    """A file with the first sentences of a treebank."""
    target = KEPT / f"first-{Path(name).name}"
    text = (data() / name).read_text(encoding="utf-8")
    most = 300 if name.endswith(".mrg") else 5_000
    lines = text.split("\n")[:most]
    if name.endswith(".conllu"):  # whole sentences
        lines = lines[: len(lines) - lines[::-1].index("")]
    KEPT.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(target)


def timed(line: list[str]) -> dict[str, Any]:
    """Wall-clock and CPU seconds of a process of its own."""
    begin = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "eigentext.cli", *line])
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(line)}: exit code {process.returncode}")
    return {
        "wall": time.perf_counter() - begin,
        "cpu": used.ru_utime + used.ru_stime,
        "peak_mb": used.ru_maxrss / 1024,
    }


def shown(row: dict[str, Any]) -> str:
    """One line for a row."""
    if "share" in row:
        parts = [f"{row['command']:18} {row['cpu']:8.1f} CPU s, {row['share']:.0%} shared out"]
        parts += [
            f"{name} {stage['cpu']:.1f} s, {stage['share']:.0%}"
            for name, stage in row["stages"].items()
        ]
        return "; ".join(parts)
    return (
        f"{row['command']:18} {row['jobs']:3} cores {row['wall']:8.1f} s  {row['cpu']:8.1f} CPU s "
        f"{row['peak_mb']:7.0f} MB  x {row['ratio']:.2f}  {row['sha256'][:12]}"
        + ("" if row["same"] else "  DIFFERS")
    )


# ------------------------------------------------------------------ in a process that is measured


class Clock:
    """CPU seconds by name; ``inside`` are those of functions that threads would run."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()
        self.shared: Counter[str] = Counter()
        self.inside = 0.0

    def each(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """As ``cores.each`` with one core."""
        return list(self.in_turn(function, items))

    def in_turn(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """As ``cores.in_turn`` with one core."""
        for item in items:
            before, begin = self.inside, time.process_time()
            result = function(item)
            self.inside = before + time.process_time() - begin  # once, however deep
            yield result

    def watch(self, stage: str) -> None:
        """Measure a function, "module:name"."""
        module, _, path = stage.partition(":")
        owner: Any = import_module(f"eigentext.{module}")
        *way, name = path.split(".")
        for part in way:
            owner = getattr(owner, part)
        function = getattr(owner, name)

        @wraps(function)
        def watched(*args: Any, **more: Any) -> Any:
            begin, before = time.process_time(), self.inside
            try:
                return function(*args, **more)
            finally:
                self.spent[path] += time.process_time() - begin
                self.shared[path] += self.inside - before

        setattr(owner, name, watched)
        for other in list(sys.modules.values()):  # and where it was imported by name
            if getattr(other, name, None) is function:
                setattr(other, name, watched)


def inside(arguments: list[str]) -> int:
    """Run a command on one core with a clock inside; the last line printed is JSON."""
    from eigentext.base import cores

    clock = Clock()
    cores.each, cores.in_turn = clock.each, clock.in_turn  # type: ignore[assignment]
    from eigentext.cli.main import app

    stages, *line = arguments
    for stage in filter(None, stages.split(",")):
        clock.watch(stage)
    begin = time.process_time()
    app(line, standalone_mode=False)
    total = time.process_time() - begin
    of_stages = {
        name: {"cpu": cpu, "share": clock.shared[name] / cpu} for name, cpu in clock.spent.items()
    }
    print(json.dumps({"cpu": total, "share": clock.inside / total, "stages": of_stages}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
