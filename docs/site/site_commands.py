"""The command line reference: a page for each group of commands, from the commands themselves."""

from __future__ import annotations

from inspect import cleandoc
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import typer
from site_docstrings import as_restructured_text, escaped

from eigentext.cli.main import app

if TYPE_CHECKING:
    from pathlib import Path

GENERAL = "general"  # the page of commands that stand in no group


def groups() -> dict[str, dict[str, Any]]:
    """Each group with its commands by their whole names, such as ``words train-lm``."""
    found: dict[str, dict[str, Any]] = {GENERAL: {}}
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        if hasattr(command, "commands"):
            found[name] = _commands(name, command)
        else:
            found[GENERAL][name] = command
    return found


def _commands(prefix: str, group: Any) -> dict[str, Any]:
    found = {}
    for name, command in group.commands.items():
        whole = f"{prefix} {name}"
        found.update(
            _commands(whole, command) if hasattr(command, "commands") else {whole: command}
        )
    return found


def _plain(text: str) -> str:
    """A help text on one line, its code as code."""
    return escaped(" ".join(text.replace("`", "``").split()))


def _default(param: Any) -> str:
    """What is used unless told: as the help page shows it."""
    if param.required:
        return "required"
    if isinstance(param.show_default, str):
        return f"``{param.show_default}``"
    value = param.default
    if isinstance(value, bool) and param.secondary_opts:
        return f"``{(param.opts if value else param.secondary_opts)[0]}``"
    if not param.show_default or value is None or value in ("", ()) or isinstance(value, bool):
        return ""
    return f"``{value}``"


def _choices(kind: Any) -> list[str]:
    """The words that an option takes, if it takes some words only."""
    if get_origin(kind) is Literal:
        return [str(choice) for choice in get_args(kind)]
    return [choice for part in get_args(kind) for choice in _choices(part)]


def _row(param: Any, kind: Any) -> list[str]:
    both = [*param.opts, *param.secondary_opts]
    shown = ", ".join(f"``{option}``" for option in both)
    if not param.opts[0].startswith("-"):
        shown = f"``{(param.metavar or param.name).upper()}``"
    meaning = _plain(param.help or "")
    choices = _choices(kind)
    if choices:
        meaning += " (" + ", ".join(f"``{choice}``" for choice in choices) + ")"
    return [f"   * - {shown}", f"     - {_default(param)}", f"     - {meaning}"]


def _help(text: str) -> list[str]:
    """The text of the help page: examples become one block."""
    prose, _, examples = cleandoc(text).partition("Example")
    out = as_restructured_text(prose.strip().split("\n"))
    lines = [line.strip() for line in examples.split("\n")[1:] if line.strip()]
    if lines:
        out += [
            ".. code-block:: bash",
            "",
            *(f"   {line.removeprefix('$ ')}" for line in lines),
            "",
        ]
    return out


def _command_section(name: str, command: Any, line: str) -> list[str]:
    title = f"eigentext {name}"
    out = [f".. _command-{name.replace(' ', '-')}:", "", title, line * len(title), ""]
    out += _help(command.help or "")
    params = [param for param in command.params if not getattr(param, "hidden", False)]
    params.sort(key=lambda param: param.opts[0].startswith("-"))
    if params:
        out += [".. list-table::", "   :header-rows: 1", "   :widths: 30 15 55", ""]
        out += ["   * - argument or option", "     - default", "     - what it means"]
        kinds = get_type_hints(command.callback)
        for param in params:
            out += _row(param, kinds.get(param.name))
        out.append("")
    return out


def pages() -> dict[str, str]:
    """The name and the text of every page."""
    written = {}
    index = ["Command line reference", "=" * 22, ""]
    index += [
        "``eigentext COMMAND --help`` shows the same on the terminal.  Most examples run on the",
        "sample: ``eigentext data get sample -o .``.  Exit codes: 0 done, 1 failed, 2 bad input.",
        "``--debug`` anywhere on the line shows where an error comes from.",
        "",
    ]
    for group, commands in groups().items():
        title = "Other commands" if group == GENERAL else f"eigentext {group}"
        out = [title, "=" * len(title), ""]
        index += [title, "-" * len(title), "", ".. list-table::", "   :widths: 35 65", ""]
        for name, command in commands.items():
            first = cleandoc(command.help or "").split("\n\n")[0]
            label = f"command-{name.replace(' ', '-')}"
            index += [f"   * - :ref:`eigentext {name} <{label}>`", f"     - {_plain(first)}"]
            out += _command_section(name, command, "-")
        index.append("")
        written[group] = "\n".join(out) + "\n"
    index += [".. toctree::", "   :hidden:", "", *(f"   {group}" for group in groups()), ""]
    written["index"] = "\n".join(index)
    return written


def write(folder: Path) -> None:
    """All pages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")
