"""Kernels are compiled by all cores, and before they are called.

``kernels.jsonl`` has a line for every kernel and list of types that the commands call::

    ["eigentext.linalg.kernels:scaled", ["float64 1C", "int64"], ["const train", "words embed"]]

callees before callers (``.ci/kernel_manifest.py`` makes it, a test keeps it true).  The first
kernel that a command finds nowhere starts a process for each core (:func:`start`).  They go down
the lines of that command, each taking the first that nobody is at: a kernel is locked while it is
compiled, so that the command, its helpers and other commands wait for one another's work instead
of doing it again.  ``eigentext warm`` does all lines.
"""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import threading
import time
from contextlib import suppress
from importlib import import_module
from itertools import takewhile
from multiprocessing import parent_process
from pathlib import Path
from typing import Any, NamedTuple

from eigentext.base.cores import available_cores
from eigentext.errors import EigentextError

MANIFEST = Path(__file__).with_name("kernels.jsonl")
_log = logging.getLogger("eigentext.compiling")
_SCALARS = {"bool": "boolean"}  # numba's name of a type, where `types` has another


class Line(NamedTuple):
    """A line of the manifest."""

    kernel: str  # module:name
    types: list[Any]  # as `spec_of` has them
    commands: list[str]

    def signature(self) -> tuple[Any, tuple[Any, ...]]:
        """The kernel, and the types that it is to be compiled for."""
        module, _, name = self.kernel.partition(":")
        return getattr(import_module(module), name), tuple(map(type_of, self.types))


def lines_of(command: str) -> list[Line]:
    """The lines of a command, "pipe train"; all of them for ""."""
    with MANIFEST.open(encoding="utf-8") as file:
        lines = [Line(*json.loads(line)) for line in file]
    return [line for line in lines if not command or command in line.commands]


def spec_of(kind: Any) -> Any:
    """A numba type as JSON: ``"float64 2C"``, a list for a tuple, a dictionary for its class.

    >>> from numba import types
    >>> spec_of(types.Tuple((types.float64[:, ::1], types.int64)))
    ['float64 2C', 'int64']
    """
    types: Any = import_module("numba.core.types")
    if isinstance(kind, types.Array):
        return f"{kind.dtype} {kind.ndim}{kind.layout}{'' if kind.mutable else 'r'}"
    if isinstance(kind, types.BaseNamedTuple):
        home = kind.instance_class
        return {f"{home.__module__}:{home.__qualname__}": [spec_of(item) for item in kind]}
    if isinstance(kind, types.BaseTuple):
        return [spec_of(item) for item in kind]
    scalars = types.Number | types.Boolean | types.UnicodeType | types.NoneType
    if isinstance(kind, types.Literal) or not isinstance(kind, scalars):
        raise ValueError(f"a type that the manifest does not know: {kind}")
    return str(kind)


def type_of(spec: Any) -> Any:
    """The numba type of which :func:`spec_of` makes this."""
    types: Any = import_module("numba.core.types")
    if isinstance(spec, list):
        return types.BaseTuple.from_types(tuple(map(type_of, spec)))
    if isinstance(spec, dict):
        ((home, fields),) = spec.items()
        module, _, name = home.partition(":")
        named = getattr(import_module(module), name)
        return types.BaseTuple.from_types(tuple(map(type_of, fields)), named)
    name, _, shape = spec.partition(" ")
    scalar = getattr(types, _SCALARS.get(name, name))
    return types.Array(scalar, int(shape[0]), shape[1], readonly="r" in shape) if shape else scalar


command = ""  # of this process, "pipe train"; a program that imports the package has none
_helpers: list[Helpers] = []


def command_of(words: list[str]) -> str:
    """The command of a line.

    >>> command_of(["pipe", "train", "a.conllu", "-o", "a.pipe"])
    'pipe train'
    """
    return " ".join(takewhile(re.compile("[a-z][a-z-]*").fullmatch, words[:2]))


def start() -> bool:
    """Have the command's kernels compiled by a process for each core; whether they are at it."""
    cores = available_cores()
    # of workers there is one for each core; without locks all would compile the same
    if not command or parent_process() or cores == 1 or os.name == "nt":
        return False
    if not _helpers and len(lines_of(command)) > cores:
        _helpers.append(Helpers(command, cores))
    return bool(_helpers)


def look() -> None:
    """Show how far the helpers are, if there are any."""
    for helpers in _helpers:
        helpers.look()


class Helpers:
    """Processes that compile the lines of a command.

    They end with the process that started them, whose end of their standard input closes then.
    No thread listens to them: beside a thread no process could be forked.
    """

    def __init__(self, command: str, jobs: int) -> None:
        self._total, self._done = len(lines_of(command)), set[bytes]()
        line, pipe = [sys.executable, "-m", __name__, command], subprocess.PIPE
        self._processes = [
            subprocess.Popen(line, stdin=pipe, stdout=pipe, stderr=pipe)  # noqa: S603  (ourselves)
            for _ in range(1 if os.name == "nt" else jobs)
        ]
        for process in self._processes if os.name != "nt" else ():
            os.set_blocking(process.stdout.fileno(), False)  # type: ignore[union-attr]
        self._show()

    def look(self) -> None:
        """Hear which lines are done: each helper says so of all, one after the other."""
        before = len(self._done)
        for process in self._processes:
            if os.name == "nt" and process.poll() is None:
                return  # a pipe there is read to its end, or waited for
            text = process.stdout.read()  # type: ignore[union-attr]
            self._done.update((text or b"").split())
        if len(self._done) > before:
            self._show()

    def wait(self) -> None:
        """Until all is compiled."""
        while any(process.poll() is None for process in self._processes):
            time.sleep(0.1)
            self.look()
        self.look()
        errors = [process.communicate()[1].decode().strip() for process in self._processes]
        if any(process.returncode for process in self._processes):
            raise EigentextError(f"compiling failed: {max(errors, key=len)[-500:]}")

    def _show(self) -> None:
        progress = len(self._done), self._total
        how = "compiling %d of %d, once for this machine"
        _log.info(how, *progress, extra={"progress": progress})


def help_compiling(command: str) -> None:
    """What a helper does: first what nobody is at, then wait for what others are at."""

    def end_with_parent() -> None:
        os.read(0, 1)  # not sys.stdin: its lock would be held at the end of the interpreter
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    with suppress(AttributeError, OSError):
        os.nice(5)  # the command itself goes first
    lines = list(enumerate(lines_of(command)))
    for wait in (False, True):
        left = []
        for number, line in lines:
            kernel, types = line.signature()
            cache, context = kernel._cache, kernel.targetctx
            if not (there := cache.is_there(types, context)):
                if wait or cache.lock(types).take(wait=0):
                    kernel.compile(types)
                    there = True
                else:
                    left.append((number, line))
            if there:
                print(f"{number}\n", end="", flush=True)
        lines = left


if __name__ == "__main__":
    help_compiling(sys.argv[1])
