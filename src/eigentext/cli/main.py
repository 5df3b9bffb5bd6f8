"""The ``eigentext`` command: collects the subcommands and owns the exit codes.

Exit codes: 0 done, 1 failed, 2 bad input (usage, data, settings or a model file) or something
that this machine has not (room, memory, a package).  An error is one line on stderr; ``--debug``
anywhere on the line shows the traceback instead.
"""

from __future__ import annotations

import io
import logging
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Collection, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from eigentext.base import later
from eigentext.base.files.outputs import one_command
from eigentext.base.files.storage import reason
from eigentext.cli.flags import Group, quiet_flags
from eigentext.cli.output import printable, remark
from eigentext.errors import EigentextError, MissingExtraError, StorageError, shortened
from eigentext.version import VERSION

_INTERRUPTED = 130
_TERMINATED = 143

# Name -> module below `eigentext`, line of the help page: only what is called is imported, and the
# wings are known by their strings alone.
GROUPS = {
    "words": ("cli.words", "Word counts and word representations."),
    "tag": ("cli.tag", "Tags of tokens: entities and parts of speech."),
    "hmm": ("cli.hmm", "Hidden Markov models: spectral, recovered, EM; latent taggers."),
    "automaton": (
        "lab.automata.cli",
        "Weighted automata of strings, from moments: words, classes of words, pairs.",
    ),
    "const": ("cli.const", "Constituency parsing with latent-variable PCFGs."),
    "dep": ("cli.dep", "Dependency parsing, and what trees hide."),
    "lex": ("cli.lex", "Analyses of words, in and out of context."),
    "pipe": ("cli.pipe", "From raw text to sentences, words, tags, lemmas and trees."),
    "annotate": (
        "studio.cli.annotate",
        "Projects of annotators: texts, decisions, users, backups.",
    ),
    "model": ("cli.model", "Models by name: list, make, get, path, remove."),
    "data": ("cli.data", "Open data sets: list, get, check."),
}
COMMANDS = {
    "convert": (
        "cli.convert",
        "Convert between PTB brackets, CoNLL-U, CoNLL-X and plain tokens.",
    ),
    "demo": (
        "cli.demo",
        "Train every model on the sample data, use it, and write an HTML report.",
    ),
    "info": (
        "cli.info",
        "Print the header of a model file, or the versions of this installation.",
    ),
    "serve": (
        "studio.cli.serve",
        "Serve the JSON API and the pages until interrupted; `studio` has models to begin with.",
    ),
    "studio": (
        "studio.cli.studio",
        "See every model at work in a browser: parse, read, words, sequences, annotate.",
    ),
    "warm": ("cli.warm", "Compile everything now, so that no later command has to."),
}


def _version(wanted: bool) -> None:
    if wanted:
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


def application(called: Collection[str]) -> typer.Typer:
    """The command line; of groups and commands that are not called it has the names only."""
    made = typer.Typer(
        cls=Group,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        help="The hidden structure of language, learned by linear algebra and online learners.",
    )
    for name, (module, line) in GROUPS.items():
        group = _module(module).app if name in called else typer.Typer(help=line)
        made.add_typer(group, name=name)
    for name, (module, line) in COMMANDS.items():
        if name in called:
            made.command(name)(getattr(_module(module), name))
        else:
            made.command(name, help=line)(lambda: None)
    made.callback()(_common)
    quiet_flags(made)
    return made


def _module(name: str) -> Any:
    return import_module(f"eigentext.{name}")


def __getattr__(name: str) -> Any:
    """``app`` is the whole command line, for those who read it and do not run it."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = application({*GROUPS, *COMMANDS})
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
            remark(f"eigentext: {record.getMessage()}")

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


def main() -> None:
    """Entry point of the console script."""
    # ended by `kill`, what is temporary goes as it does with Ctrl-C
    _open_streams()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    warnings.formatwarning = _warning_line
    later.put_off("scipy.stats")
    later.put_off("numpy.f2py")
    if not {"-q", "--quiet"} & set(sys.argv):
        _tell_of_compiling()
    sys.exit(run(sys.argv[1:]))
