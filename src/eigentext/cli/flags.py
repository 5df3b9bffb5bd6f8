"""Help pages without ``<bool>``: a flag takes no value, so its row names no type.

Typer writes the type of every option into its row.  Groups and commands of these classes leave it
out for flags; all of ours are made so in one place, :func:`quiet_flags`.
"""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

__all__ = ["Group", "quiet_flags"]


def _without_types(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
    return params


class Command(TyperCommand):
    """A command whose flags show no type."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Options and arguments, ``--help`` too."""
        return _without_types(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands whose flags show no type."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Options and arguments, ``--help`` too."""
        return _without_types(super().get_params(ctx))


def quiet_flags(app: typer.Typer) -> None:
    """Let all commands of an application and of its groups be such."""
    for command in app.registered_commands:
        command.cls = Command
    for group in app.registered_groups:
        group.cls = Group
        if group.typer_instance is not None:
            quiet_flags(group.typer_instance)
