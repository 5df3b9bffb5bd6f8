"""The ``eigentext`` command: collects the subcommands and owns the exit codes.

Exit codes: 0 done, 1 failed, 2 bad input (usage, data, settings or a model file).  An error is one
line on stderr; ``--debug`` anywhere on the line shows the traceback instead.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from eigentext import __version__
from eigentext.base import later
from eigentext.cli import (
    annotate,
    automaton,
    const,
    convert,
    data,
    demo,
    dep,
    hmm,
    info,
    lex,
    model,
    pipe,
    serve,
    studio,
    tag,
    warm,
    words,
)
from eigentext.cli.flags import Group, quiet_flags
from eigentext.cli.output import printable, remark
from eigentext.errors import EigentextError, MissingExtraError, shortened

_INTERRUPTED = 130
_TERMINATED = 143

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="The hidden structure of language, learned by linear algebra.",
)
app.add_typer(words.app, name="words")
app.add_typer(tag.app, name="tag")
app.add_typer(hmm.app, name="hmm")
app.add_typer(automaton.app, name="automaton")
app.add_typer(const.app, name="const")
app.add_typer(dep.app, name="dep")
app.add_typer(lex.app, name="lex")
app.add_typer(pipe.app, name="pipe")
app.add_typer(annotate.app, name="annotate")
app.add_typer(model.app, name="model")
app.add_typer(data.app, name="data")
app.command("convert")(convert.convert)
app.command("demo")(demo.demo)
app.command("info")(info.info)
app.command("serve")(serve.serve)
app.command("studio")(studio.studio)
app.command("warm")(warm.warm)
quiet_flags(app)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"eigentext {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks (may stand anywhere on the line).")
    ] = False,
) -> None:
    """The hidden structure of language, learned by linear algebra."""


def _show_colons_as_they_are() -> None:
    """Help pages are rich markup, in which ``a:b::c`` would hold an emoji: there are none here."""
    from rich import markup

    if markup.render.__module__ != __name__:
        rich_render = markup.render

        def render(text: str, *arguments: Any, **options: Any) -> Any:
            return rich_render(text, *arguments, **(options | {"emoji": False}))

        markup.render = render  # type: ignore[assignment]


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    _show_colons_as_they_are()
    line = list(arguments)
    flags = line[: line.index("--")] if "--" in line else line
    debug = "--debug" in flags
    if debug:
        line.remove("--debug")
    try:
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


def _explain(error: Exception) -> int:
    """Say in one line what went wrong; return the exit code."""
    if isinstance(error, EigentextError):
        remark(f"eigentext: {error}")
        return 1 if isinstance(error, MissingExtraError) else 2
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


def main() -> None:
    """Entry point of the console script."""
    # ended by `kill`, what is temporary goes as it does with Ctrl-C
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    warnings.formatwarning = _warning_line
    later.put_off("scipy.stats")
    if not {"-q", "--quiet"} & set(sys.argv):
        _tell_of_compiling()
    sys.exit(run(sys.argv[1:]))
