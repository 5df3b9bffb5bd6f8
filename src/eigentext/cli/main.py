"""The ``eigentext`` command: collects the subcommands and owns the exit codes.

Exit codes: 0 done, 1 failed, 2 bad input (usage, data, settings or a model file) or something
that this machine has not (room, memory, a package).  An error is one line on stderr; ``--debug``
anywhere on the line shows the traceback instead.
"""

from __future__ import annotations

import gc
import io
import logging
import os
import signal
import sys
import tomllib
import traceback
import warnings
from collections.abc import Collection, Iterable, Sequence
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from eigentext.base import ahead
from eigentext.base.files.storage import reason
from eigentext.base.files.writing import one_command
from eigentext.cli.command import Command, Group
from eigentext.cli.output import printable, remark
from eigentext.errors import EigentextError, MissingExtraError, StorageError, shortened
from eigentext.version import VERSION

_INTERRUPTED = 130
_TERMINATED = 143

# Name -> module of this package, line of the help page: only what is called is imported.
_CORE = {
    "words": ("words:app", "Word counts and word representations."),
    "tag": ("tag:app", "Tags of tokens: entities and parts of speech."),
    "hmm": ("hmm:app", "Hidden Markov models: EM, spectral, blocked; latent taggers."),
    "const": ("const:app", "Constituency parsing with latent-variable PCFGs."),
    "dep": ("dep:app", "Dependency parsing, and what trees hide."),
    "lex": ("lex:app", "Analyses of words, in and out of context."),
    "pipe": ("pipe:app", "From raw text to sentences, words, tags, lemmas and trees."),
    "model": ("model:app", "Models by name: list, make, get, remove."),
    "data": ("data:app", "Open data sets: list, get."),
    "convert": (
        "convert:convert",
        "Convert between formats of text and trees, draw trees, open counts.",
    ),
    "demo": (
        "data:demo",
        "Train every model on the sample data, use it, and write an HTML report.",
    ),
    "info": (
        "info:info",
        "Print the header of a model file, or the versions of this installation.",
    ),
    "warm": ("info:warm", "Compile everything now, so that no later command has to."),
}
CORE = {name: (f"eigentext.cli.{home}", line) for name, (home, line) in _CORE.items()}
ENTRY_POINTS = "eigentext.commands"  # where a wing names its own: a mapping such as CORE


def commands() -> dict[str, tuple[str, str]]:
    """The groups and commands of the core, and behind them those of the installed wings."""
    wings = (entry.load() for entry in _entry_points())
    return CORE | {name: home for wing in wings for name, home in wing.items()}


def _entry_points() -> Iterable[EntryPoint]:
    """Those of pyproject.toml where the source tree is run; else what is installed."""
    project = Path(__file__).parents[3] / "pyproject.toml"
    if not project.is_file():
        return entry_points(group=ENTRY_POINTS)
    named = tomllib.loads(project.read_text("utf-8"))["project"]["entry-points"][ENTRY_POINTS]
    return [EntryPoint(name, value, ENTRY_POINTS) for name, value in named.items()]


def _version(show: bool) -> None:
    if show:
        print(f"eigentext {VERSION}")
        raise typer.Exit


def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks (may stand anywhere on the line).")
    ] = False,
) -> None:
    """The hidden structure of language, learned by linear algebra and online learners."""


def application(called: Collection[str] | None = None) -> typer.Typer:
    """The command line; of what is not ``called`` it has the names only (None: it has all)."""
    app = typer.Typer(
        cls=Group,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        help="The hidden structure of language, learned by linear algebra and online learners.",
    )
    homes = CORE if called and CORE.keys() >= set(called) else commands()
    for name, (home, line) in homes.items():
        module, attribute = home.split(":")
        called_for = called is None or name in called
        command = getattr(import_module(module), attribute) if called_for else None
        if attribute == "app":
            app.add_typer(command or typer.Typer(), name=name, help=line)
        else:
            app.command(name, cls=Command, help=None if called_for else line)(command or _nothing)
    app.callback()(_common)
    return app


def _nothing() -> None:
    """In the place of a command that is not called."""


def __getattr__(name: str) -> Any:
    """``app`` is the whole command line, for those who read it and do not run it."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = application()
    return globals()[name]


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    line = list(arguments)
    flags = line[: line.index("--")] if "--" in line else line
    debug = "--debug" in flags
    if debug:
        line.remove("--debug")
    try:
        called = next((word for word in line if not word.startswith("-")), "")
        app = application({called})
        with one_command():
            code = app(args=line, prog_name="eigentext", standalone_mode=False)
        sys.stdout.flush()
        if code == _INTERRUPTED:  # typer may turn the interrupt into its exit code
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except (BrokenPipeError, SystemExit) as error:
        # click turns the one into the other
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            raise
        # The reader (head, less) went away: not an error, but Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, typer.Abort):
        print("eigentext: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except Exception as error:
        if debug:
            traceback.print_exc()
        return _explain(error)


# what optional packages are called where they are imported: the package, the extra
_OPTIONAL = {
    "alembic": ("alembic", "web"),
    "argon2": ("argon2-cffi", "web"),
    "cassis": ("dkpro-cassis", "inception"),
    "fastapi": ("fastapi", "web"),
    "psycopg": ("psycopg[binary]", "postgres"),
    "sqlalchemy": ("sqlalchemy", "web"),
    "udtools": ("udtools", "ud"),
    "uvicorn": ("uvicorn", "web"),
}


def _explain(error: Exception) -> int:
    """Say in one line what went wrong; return the exit code."""
    module = ((isinstance(error, ModuleNotFoundError) and error.name) or "eigentext").split(".")[0]
    if module != "eigentext":  # found missing deeper than where a feature looks for its packages
        package, extra = _OPTIONAL.get(module, (module, None))
        error = MissingExtraError("some parts of this command", extra=extra, modules=[package])
    if isinstance(error, EigentextError):
        remark(f"eigentext: {error}")
        return 2
    if isinstance(error, MemoryError):
        # numpy says how much was asked for, others nothing
        why = f"{error}; " if str(error) else ""
        remark(f"eigentext: out of memory: {why}expected a machine with more, or less data")
        return 2
    from concurrent.futures.process import BrokenProcessPool

    if isinstance(error, BrokenProcessPool):
        remark("eigentext: a worker process was killed, perhaps for want of memory: fewer --jobs")
        return 2
    # Usage errors are click's, whose classes are not part of typer's public names.
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):
        message = " ".join(error.format_message().split())
        if message:  # none when a group without a command has shown its help
            remark(f"eigentext: {message}")
        return int(error.exit_code)
    said = shortened(str(error))
    remark(f"eigentext: internal error: {type(error).__name__}: {said} (--debug shows where)")
    return 1


def _warning_line(message: Warning | str, *_: object, **__: object) -> str:
    """A warning is one line, as an error is."""
    return printable(f"eigentext: warning: {message}") + "\n"


def _tell_of_compiling() -> None:
    """Kernels say once that they are compiled: seconds of silence look like a fault."""

    class Remarks(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            text = f"eigentext: {record.getMessage()}"
            done, total = getattr(record, "progress", (0, 0))
            if total and sys.stderr.isatty():  # a line that counts
                print(f"\r{text}", end="\n" if done == total else "", file=sys.stderr, flush=True)
            elif not done:
                remark(text)

    log = logging.getLogger("eigentext.compiling")
    log.addHandler(Remarks())
    log.setLevel(logging.INFO)
    log.propagate = False


class _Output(io.FileIO):
    """Standard output, whose failures say so; after one it takes all, or Python would complain."""

    failed = False

    def write(self, data: Any) -> int:
        if self.failed:
            return len(data)
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            self.failed = True
            why = f"cannot write: {reason(error)}"
            raise StorageError("standard output", None, why) from error


def _open_streams() -> None:
    """Guard standard output; a closed one fails when something is printed, not before."""
    # opened for reading it takes nothing, and keeps its number from a file that is opened later
    number = os.open(os.devnull, os.O_RDONLY) if sys.stdout is None else sys.stdout.fileno()
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Output(number, "w", closefd=False)),
        encoding=getattr(sys.stdout, "encoding", "utf-8"),
        errors=getattr(sys.stdout, "errors", "strict"),
        line_buffering=bool(
            getattr(sys.stdout, "line_buffering", False)
            or getattr(sys.stdout, "write_through", False)
        ),
    )
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def exit_on_sigterm() -> None:
    """Let ``kill`` end the process as Ctrl-C does, so that what is temporary is removed.

    An exception disappears where nothing can raise: in an import (the locks of modules, the start
    of a C module) and in a callback (a finaliser, what LLVM calls).  There it is raised later.
    """

    def again() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.05)

    def leave(_: int, frame: FrameType | None) -> None:
        while frame and frame.f_code.co_filename != "<frozen importlib._bootstrap>":
            frame = frame.f_back
        again() if frame else sys.exit(_TERMINATED)

    def lost(error: sys.UnraisableHookArgs) -> None:
        again() if isinstance(error.exc_value, SystemExit) else sys.__unraisablehook__(error)

    sys.unraisablehook = lost
    for number in (signal.SIGTERM, getattr(signal, "SIGALRM", signal.SIGTERM)):
        signal.signal(number, leave)


def main() -> None:
    """Entry point of the console script."""
    gc.set_threshold(50_000)  # what is imported stays; to look through it costs a tenth of a start
    _open_streams()
    exit_on_sigterm()
    warnings.formatwarning = _warning_line
    ahead.command = ahead.command_of(sys.argv[1:])
    if not {"-q", "--quiet"} & set(sys.argv):
        _tell_of_compiling()
    sys.exit(run(sys.argv[1:]))
