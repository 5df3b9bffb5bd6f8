"""``eigentext info`` and ``warm``: what is in a file or is installed, and compiling beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from eigentext.base.ahead import Helpers
from eigentext.base.cores import available_cores
from eigentext.base.registry import KINDS, class_of
from eigentext.cli import options
from eigentext.cli.command import argument, with_flags
from eigentext.cli.output import readable, show_figures, show_table
from eigentext.errors import shortened

if TYPE_CHECKING:
    from eigentext.base.modelfile import Header

_LONGEST = 120  # characters of a value


@with_flags()
def info(
    file: str | None = argument("A model or its name; without it: this installation."),
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
    from eigentext.base.registry import located

    header = read_header(file)
    if json:
        show_figures({"file": located(file), **asdict(header)}, as_json=True)
    else:
        show_figures({"file": located(file)}, as_json=False)
        _show(header)
    load(file)  # reads it all: a cut or a flipped bit is an error, after the header has been shown


def _show(header: Header) -> None:
    """The header as tables, with what each setting means."""
    plain = asdict(header)
    tables = {name: plain.pop(name) for name in ("data", "settings", "facts", "arrays")}
    entry = KINDS.get(header.kind)
    what = {} if entry is None else {"what": f"{entry.what}, by eigentext {entry.command}"}
    show_figures({"kind": plain.pop("kind"), **what, **plain}, as_json=False)
    helps = _helps(header.kind)
    columns = {
        name: [{"name": key, "value": value} for key, value in _flat(tables[name])]
        for name in ("data", "settings", "facts")
    }
    for row in columns["settings"] if helps else ():
        row["what it is"] = helps.get(row["name"].partition(".")[0], "")
    columns["arrays"] = [
        {"name": name, "type": dtype, "shape": " x ".join(f"{size:,}" for size in shape)}
        for name, (dtype, shape) in tables["arrays"].items()
    ]
    for name, rows in columns.items():
        if rows:
            show_table(name.capitalize(), rows)


def _flat(values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Names and values as text, those within others as ``outer.inner``.

    >>> list(_flat({"beam": 1e-4, "arcs": {"bits": 16}, "experts": ["latent", "valence"]}))
    [('beam', '0.0001'), ('arcs.bits', '16'), ('experts', 'latent, valence')]
    """
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from ((f"{name}.{inner}", text) for inner, text in _flat(value))
        elif isinstance(value, (dict, list)):
            yield name, shortened(", ".join(map(_exact, value)), _LONGEST) or "none"
        else:
            yield name, shortened(_exact(value), _LONGEST)


def _exact(value: object) -> str:
    """A value as it can be given again: numbers are not rounded.

    >>> _exact(0.0123456), _exact(True)
    ('0.0123456', 'True')
    """
    return repr(value) if isinstance(value, float) else readable(value)


def _helps(kind: str) -> dict[str, str]:
    """What each setting of a kind of model means; nothing for a kind that is no estimator."""
    from dataclasses import is_dataclass

    from eigentext.base.settings import declared

    home = class_of(kind)
    settings = declared(home) if is_dataclass(home) else {}
    return {name: declaration.help for name, declaration in settings.items()}


def _installation() -> dict[str, str]:
    import platform
    from importlib.metadata import PackageNotFoundError, version

    versions = {"eigentext": version("eigentext"), "python": platform.python_version()}
    for package in ("numpy", "scipy", "scikit-learn", "numba", "safetensors"):
        versions[package] = version(package)
    extras = (
        "web fastapi, cluster distributed, plot matplotlib, hub huggingface_hub, "
        "arabic pyaramorph, polish morfeusz2, spacy spacy, postgres psycopg"
    )
    for extra, package in map(str.split, extras.split(",")):
        try:
            versions[f"extra {extra}"] = f"{package} {version(package)}"
        except PackageNotFoundError:
            versions[f"extra {extra}"] = "not installed"
    return versions


def warm(jobs: options.Jobs = 0, quiet: options.Quiet = False) -> None:
    """Compile everything now, so that no later command has to.

    The fast parts of this program are compiled on the machine that runs them, when they are first
    needed, and kept.  This does all of it at once: after an installation, in an image, before a
    class.  A second time there is nothing to do, and a package that brings compiled parts for your
    processor has nothing to compile.

    Example:
        $ eigentext warm
    """
    Helpers("", jobs or available_cores()).wait()
