"""Segmentation compiled ahead of time, by Cython and by C++, beside numba: what each costs.

    python benchmarks/ahead_of_time.py                        # what can be built here
    python benchmarks/ahead_of_time.py --ways cython --treebank dependency/gum --rounds 5
    python benchmarks/ahead_of_time.py --tools /venv/bin/python  # which has cython and nanobind

`benchmarks/rivals/ahead` holds the kernels of segmentation twice more: in Cython's pure Python
mode and in C++ with nanobind.  They are built in a folder of their own, and take the place of the
compiled loops in processes that never import numba.  Models and answers must be the same to the
last bit: a difference ends the script.  The decision is docs/decisions/0008.

*Build* is what a compiler takes, once for each wheel; of numba what a first run compiles, on every
machine.  *Start* is a process that loads the model and cuts one sentence, everything compiled.
CPU seconds, the best of some rounds in which the ways take turns; the machine may be busy.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from functools import partial, wraps
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

AHEAD = Path(__file__).parent / "rivals" / "ahead"
SOURCES = {"cython": "segmentation_cython.py", "nanobind": "segmentation_nanobind.cpp"}
PACKAGE = "eigentext.tagging.segmentation.kernels"
# what is called from outside of the kernels, and by which name the twins have it
ENTRIES = {
    "squeeze": {"squeeze": "squeeze"},
    "tables": {"fill": "fill"},
    "boundaries": {
        "chunks_of": "chunks_of",
        "longest_known": "longest_known",
        "token_keys": "token_keys",
        "train": "boundaries_train",
        "answer": "boundaries_answer",
    },
    "sentence_ends": {
        "habits_of": "habits_of",
        "describe": "describe",
        "train": "sentence_ends_train",
        "answer": "sentence_ends_answer",
    },
    "multiword": {"with_sides": "with_sides", "train": "multiword_train", "choose": "choose"},
}
# fused products and sums would be rounded once where numba rounds twice
FLAGS = ("-shared", "-fPIC", "-O3", "-DNDEBUG", "-ffp-contract=off", "-fvisibility=hidden", "-s")


# ---------------------------------------------------------------- building


def build(way: str, tools: str, folder: Path) -> None:
    """The extension module in ``folder``, by the compilers of this machine."""
    source = AHEAD / SOURCES[way]
    target = folder / (source.stem + str(sysconfig.get_config_var("EXT_SUFFIX")))
    include = [f"-I{sysconfig.get_paths()['include']}"]
    if way == "cython":
        made = folder / "segmentation_cython.c"
        run(tools, "-m", "cython", "-3", str(source), "-o", str(made))
        run(os.environ.get("CC", "gcc"), *FLAGS, *include, str(made), "-o", str(target))
    else:
        home = Path(run(tools, "-m", "nanobind", "--include_dir").strip()).parent
        include += [f"-I{home / 'include'}", f"-I{home / 'ext' / 'robin_map' / 'include'}"]
        sources = [str(home / "src" / "nb_combined.cpp"), str(source)]
        more = ("-std=c++17", "-fno-strict-aliasing")
        run(os.environ.get("CXX", "g++"), *FLAGS, *more, *include, *sources, "-o", str(target))


def run(*command: str) -> str:
    """What a command prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stderr}")
    return done.stdout


# ---------------------------------------------------------------- in a process of its own


def replace(way: str, folder: Path) -> None:
    """Put the loops of an extension module where those of numba would be."""
    stub: Any = ModuleType("eigentext.base.compiling")
    stub.njit = lambda function=None, **_: function or (lambda later: later)
    sys.modules[stub.__name__] = stub
    sys.path.insert(0, str(folder))
    twin = import_module(Path(SOURCES[way]).stem)
    for module, names in ENTRIES.items():
        kernel = import_module(f"{PACKAGE}.{module}")
        for name, its_name in names.items():
            setattr(kernel, name, getattr(twin, its_name))
    ends: Any = import_module(f"{PACKAGE}.sentence_ends")
    describe, answer = ends.describe, ends.answer
    ends.describe = lambda *arguments: ends.Tokens(*describe(*arguments))
    ends.answer = lambda *arguments: answer(*arguments).view(bool)


def measured(spent: Counter[str]) -> None:
    """Count the CPU seconds inside of the loops, by the name of the loop."""

    def timed(label: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(kernel)
        def call(*arguments: Any) -> Any:
            before = time.process_time()
            answer = kernel(*arguments)
            spent[label] += time.process_time() - before
            return answer

        return call

    for module, names in ENTRIES.items():
        kernels = import_module(f"{PACKAGE}.{module}")
        for name in names:
            setattr(kernels, name, timed(f"{module}.{name}", getattr(kernels, name)))


def child(way: str, task: str, folder: Path, treebank: str) -> dict[str, Any]:
    """Learn and answer (``work``), or only load a model and answer (``start``)."""
    if way != "numba":
        replace(way, folder)
    from eigentext.tagging.segmentation.model import Segmenter

    if task == "start":
        answer = Segmenter.load(folder / "model").segment("A farmer sold the old house. He left.")
        usage = resource.getrusage(resource.RUSAGE_SELF)
        started = usage.ru_utime + usage.ru_stime
        return {"cpu": started, "memory": usage.ru_maxrss / 1024, "answers": digest(answer)}
    from eigentext.language.formats.conllu import each_conllu
    from eigentext.tagging.segmentation.raw import raw_text

    sentences = list(each_conllu(treebank))
    text = raw_text(sentences)
    spent: Counter[str] = Counter()
    if task == "work":
        measured(spent)
    result: dict[str, Any] = {}
    for _ in range(1 + (task == "work")):  # the first time numba loads or compiles its code
        segmenter = timed_part(result, "train", spent, partial(Segmenter().fit, sentences))
        segmenter.save(folder / "model")
        segmenter = Segmenter.load(folder / "model")
        segmented = timed_part(result, "apply", spent, partial(segmenter.segment, text))
    half = segmenter.segment_decided(text[:20_000], {40: "sentence", 90: "none", 200: "word"})
    result["same"] = {
        "model": hashlib.sha256((folder / "model").read_bytes()).hexdigest(),
        "answers": digest(segmented),
        "odds": digest(half),
    }
    result["numba"] = "numba" in sys.modules
    return result


def timed_part(
    result: dict[str, Any], name: str, spent: Counter[str], part: Callable[[], Any]
) -> Any:
    """Do a part of the work; of several times the last one counts."""
    spent.clear()
    began = time.process_time()
    answer = part()
    result[name] = time.process_time() - began
    result[f"{name} loops"] = spent.total()
    return answer


def digest(answer: object) -> str:
    """Of what an answer looks like, every digit of its numbers."""
    return hashlib.sha256(repr(answer).encode()).hexdigest()


# ---------------------------------------------------------------- the table


def asked(way: str, task: str, folder: Path, treebank: str) -> dict[str, Any]:
    """What :func:`child` says, in a process of its own."""
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(folder / "numba"),
        "AHEAD_OF_TIME": f"{way} {task}",
    }
    done = subprocess.run(
        [sys.executable, __file__, "--folder", str(folder), "--treebank", treebank],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{way}, {task}:\n{done.stderr}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def children_seconds() -> float:
    """CPU seconds of all processes that this one has waited for."""
    times = os.times()
    return times.children_user + times.children_system


def prepared(way: str, given: SimpleNamespace, folder: Path) -> float | None:
    """CPU seconds until ``way`` can run at full speed; None where it cannot be built here."""
    folder.mkdir()
    before = children_seconds()
    if way == "numba":
        asked(way, "first", folder, given.treebank)
        cold = children_seconds() - before
        asked(way, "first", folder, given.treebank)
        return 2 * cold - (children_seconds() - before)  # what the second run needed no more
    try:
        build(way, given.tools, folder)
    except (OSError, RuntimeError) as error:
        print(f"{way} cannot be built here: {error}", file=sys.stderr)
        return None
    return children_seconds() - before


def size_of(way: str, folder: Path) -> float:
    """Megabytes of machine code on disk."""
    files = (folder / "numba").rglob("*.nb*") if way == "numba" else folder.glob("*.so")
    return sum(file.stat().st_size for file in files) / 1e6


def lines_of(way: str) -> int:
    """Lines of source that are neither blank nor a comment."""
    home = import_module(PACKAGE).__path__[0] if way == "numba" else AHEAD
    files = (
        [Path(home, f"{name}.py") for name in ENTRIES]
        if way == "numba"
        else [AHEAD / SOURCES[way]]
    )
    lines = [line.strip() for file in files for line in file.read_text("utf-8").splitlines()]
    return sum(bool(line) and not line.startswith(("#", "//")) for line in lines)


def compare(given: SimpleNamespace, work: Path) -> None:
    """Print the table."""
    costs = {way: prepared(way, given, work / way) for way in given.ways}
    ways = [way for way in given.ways if costs[way] is not None]
    best: dict[str, dict[str, float]] = {way: {} for way in ways}
    same: dict[str, str] = {}

    def keep(way: str, figures: dict[str, Any]) -> None:
        for name, value in figures.items():
            if name in ("same", "answers"):
                if same.setdefault(name, json.dumps(value)) != json.dumps(value):
                    raise SystemExit(f"{way} gives other {name} than {ways[0]}: {value}")
            else:
                best[way][name] = min(best[way].get(name, value), value)

    for _ in range(given.rounds):
        for way in ways:
            keep(way, asked(way, "work", work / way, given.treebank))
        for way in ways * 2:
            keep(way, asked(way, "start", work / way, given.treebank))
    assert not any(best[way]["numba"] for way in ways if way != "numba")
    columns = (
        "| way | lines | build, CPU s | MB | train, CPU s | its loops | apply, CPU s | its loops "
        "| start, CPU s | memory, MB |"
    )
    print(columns, "|---" * 10 + "|", sep="\n")
    for way in ways:
        figures = best[way]
        speed = " | ".join(
            f"{figures[name]:.3f}" for name in ("train", "train loops", "apply", "apply loops")
        )
        print(
            f"| {way} | {lines_of(way)} | {costs[way]:.1f} | {size_of(way, work / way):.2f} "
            f"| {speed} | {figures['cpu']:.2f} | {figures['memory']:.0f} |"
        )
    print(f"\nModels, answers and odds are the same in all rows ({' '.join(ways)}).")


def main() -> None:
    """Read the options; a process of :func:`asked` does only its part."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--ways", nargs="+", choices=("numba", *SOURCES))
    parser.add_argument("--treebank", default="dependency/fr-sequoia", help="below EIGENTEXT_DATA")
    parser.add_argument("--rounds", type=int, default=5, help="of which the best is taken")
    parser.add_argument("--tools", default=sys.executable, help="the Python with the compilers")
    parser.add_argument("--folder", type=Path, help="where to build, and leave what was built")
    given = SimpleNamespace(**vars(parser.parse_args()))
    if part := os.environ.get("AHEAD_OF_TIME"):
        print(json.dumps(child(*part.split(), given.folder, given.treebank)))
        return
    from _data import data

    given.ways = given.ways or ["numba", *SOURCES]
    given.treebank = str(data() / given.treebank / "train.conllu")
    if given.folder:
        given.folder.mkdir(parents=True)
        compare(given, given.folder)
        return
    with tempfile.TemporaryDirectory(prefix="eigentext-") as name:
        compare(given, Path(name))


if __name__ == "__main__":
    main()
