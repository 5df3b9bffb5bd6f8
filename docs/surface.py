"""What users can name: commands and flags, routes, Python names, models, file formats.

    python docs/surface.py > docs/surface.json              # write it down
    python docs/surface.py --against docs/surface.json      # exit code 1, and what has changed

A change of this list is a change that users see, which belongs into CHANGELOG.md.
"""

from __future__ import annotations

import argparse
import inspect
import json
import pkgutil
import sys
import tomllib
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[1]
# The endings of files that some reader knows, and xyz for any other.
ENDINGS = (
    "bio brackets conll conllu conllx iob json jsonl mrg ndjson parquet prd ptb tok txt warc wat "
    "wet xyz"
).split()


def commands() -> dict[str, dict[str, str]]:
    """The arguments and flags of every command: type, bounds and default."""
    import typer

    from eigentext.cli.main import app

    def walk(command: Any, name: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
        if hasattr(command, "commands"):
            for word, below in command.commands.items():
                yield from walk(below, (*name, word))
        else:
            yield " ".join(name), command

    whole = typer.main.get_command(app)
    return {"eigentext": _flags(whole)} | {
        f"eigentext {name}": _flags(command) for name, command in walk(whole)
    }


def _flags(command: Any) -> dict[str, str]:
    """``{"--n-states, -k": "int 1.. = 10"}``."""
    types = get_type_hints(command.callback)
    flags = {}
    for param in command.params:
        name = ", ".join((*param.opts, *param.secondary_opts))
        parts = [_type(types[param.name])]
        if (param.min, param.max) != (None, None):
            parts.append(
                "..".join("" if end is None else str(end) for end in (param.min, param.max))
            )
        default = param.show_default if isinstance(param.show_default, str) else param.default
        if param.required:
            parts.append("required")
        elif default is not None:
            parts.append(f"= {default}")
        flags[name] = " ".join(parts)
    return flags


def _type(annotation: Any) -> str:
    """As it is written, without None: a flag that is not there needs no type."""
    text = inspect.formatannotation(annotation).replace("typing.", "")
    return text.removesuffix(" | None").removeprefix("Optional[").replace("']]", "']")


def routes() -> dict[str, list[str]]:
    """Every route with its methods: what it takes and answers, or ``not in the schema``."""
    from eigentext.studio.service.app import create_app

    app = create_app()
    schema = app.openapi()
    operations = {}
    for route in app.routes:
        path = route.path  # type: ignore[attr-defined]
        for method in sorted((getattr(route, "methods", None) or {"GET"}) - {"HEAD"}):
            operation = schema["paths"].get(path, {}).get(method.lower())
            operations[f"{method} {path}"] = (
                _takes(operation) if operation else ["not in the schema"]
            )
    return operations


def _takes(operation: dict[str, Any]) -> list[str]:
    parts = [
        f"{parameter['name']} in {parameter['in']}: {_schema(parameter['schema'])}"
        + (" required" if parameter.get("required") else "")
        for parameter in operation.get("parameters", ())
    ]
    for kind, body in operation.get("requestBody", {}).get("content", {}).items():
        parts.append(f"body, {kind}: {_schema(body.get('schema', {}))}")
    for status, answer in operation["responses"].items():
        for kind, body in answer.get("content", {}).items():
            if status.startswith("2"):  # errors are the same everywhere
                parts.append(f"{status}, {kind}: {_schema(body.get('schema', {}))}")
    return sorted(parts)


def _schema(schema: dict[str, Any]) -> str:
    """A type of the schema in a line, with its bounds and default."""
    if "$ref" in schema:
        text = schema["$ref"].rpartition("/")[2]
    elif "anyOf" in schema:
        text = " | ".join(map(_schema, schema["anyOf"]))
    elif schema.get("type") == "array":
        text = f"[{_schema(schema.get('items', {}))}]"
    else:
        text = " | ".join(map(str, schema.get("enum", ()))) or str(schema.get("type", "any"))
    beside = {"$ref", "anyOf", "type", "items", "enum", "title", "description", "default"}
    rest = {
        key: schema[key] for key in sorted(schema.keys() - beside - {"examples", "properties"})
    }
    text += f" {json.dumps(rest, sort_keys=True, ensure_ascii=False)}" if rest else ""
    return text + (f" = {schema['default']}" if "default" in schema else "")


def bodies() -> dict[str, dict[str, str]]:
    """The fields of every body that the schema names."""
    from eigentext.studio.service.app import create_app

    return {
        name: {
            field: _schema(kind) + (" required" if field in schema.get("required", ()) else "")
            for field, kind in schema.get("properties", {}).items()
        }
        for name, schema in create_app().openapi()["components"]["schemas"].items()
    }


def names() -> dict[str, list[str]]:
    """The public names of the packages, by package."""
    import eigentext

    packages = ["eigentext"] + [
        module.name
        for module in pkgutil.walk_packages(eigentext.__path__, "eigentext.")
        if module.ispkg
    ]
    public = {name: sorted(getattr(import_module(name), "__all__", ())) for name in packages}
    return {name: listed for name, listed in public.items() if listed}


def kinds() -> dict[str, dict[str, Any]]:
    """The kinds of model files: command, class, and settings with their defaults."""
    from eigentext.base.registry import KINDS, class_of

    def settings(kind: str) -> dict[str, str]:
        every = getattr(class_of(kind), "__dataclass_fields__", {})
        declared = {
            name: field.metadata["setting"]
            for name, field in every.items()
            if "setting" in field.metadata
        }
        return {
            name: f"{_value(each.value)} = {each.default!r}" for name, each in declared.items()
        }

    return {
        kind: {"what": entry.what, "command": entry.command, "settings": settings(kind)}
        for kind, entry in KINDS.items()
    }


def _value(value: Any) -> str:
    """The declared type of a setting, with the bounds that it has."""
    if not is_dataclass(value):
        return repr(value)
    bounds = [
        f"{field.name}={_value(getattr(value, field.name))}"
        for field in fields(value)
        if getattr(value, field.name) != field.default
    ]
    return f"{type(value).__name__}({', '.join(bounds)})"


def formats() -> dict[str, dict[str, str]]:
    """What readers take a file for by its ending, packed or not."""
    from eigentext.errors import SettingsError
    from eigentext.language.formats import records, registry
    from eigentext.studio.store import files
    from eigentext.tagging.sequence import reading

    def format_by(of: Callable[[str], str], ending: str) -> str:
        try:
            return of(f"x.{ending}")
        except SettingsError:
            return ""

    readers: dict[str, Callable[[str], str]] = {
        "annotate import": files.kind_of,
        "convert": lambda name: registry.format_of(name, registry.CONVERTIBLE),
        "records": records.kind_of,
        "tags": reading.format_of,
    }
    return {
        name: {f".{ending}": format_by(of, ending) for ending in ENDINGS if format_by(of, ending)}
        for name, of in readers.items()
    }


def surface() -> dict[str, Any]:
    """The whole list."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return {
        "commands": commands(),
        "entry points": {"console_scripts": project["scripts"], **project["entry-points"]},
        "extras": project["optional-dependencies"],
        "file endings": formats(),
        "models": kinds(),
        "names": names(),
        "routes": routes(),
        "schemas": bodies(),
    }


def text_of(tree: Any) -> str:
    """The list as JSON, always the same text for the same list."""
    return json.dumps(tree, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _leaves(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(tree, dict):
        for key, below in tree.items():
            yield f"{path} > {key}".removeprefix(" > "), ""
            yield from _leaves(below, f"{path} > {key}".removeprefix(" > "))
    elif isinstance(tree, list):
        for item in tree:
            yield f"{path} > {item}", ""
    else:
        yield path, str(tree)


def differences(before: Any, after: Any) -> list[str]:
    """Lines with - for what is gone, + for what is new, and ~ for what is different."""
    old, new = dict(_leaves(before)), dict(_leaves(after))
    lines = []
    for path in sorted({*old, *new}):
        above = path.rpartition(" > ")[0]
        if path not in new:
            lines += [f"- {path}  {old[path]}".rstrip()] if above in new or not above else []
        elif path not in old:
            lines += [f"+ {path}  {new[path]}".rstrip()] if above in old or not above else []
        elif old[path] != new[path]:
            lines.append(f"~ {path}: {old[path]} -> {new[path]}")
    return lines


def main() -> int:
    """Print the list, or what differs from a stored one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, help="a list to compare with")
    options = parser.parse_args()
    text = text_of(surface())
    if options.against is None:
        print(text, end="")
        return 0
    changes = differences(json.loads(options.against.read_text("utf-8")), json.loads(text))
    print(*changes, sep="\n", end="\n" if changes else "")
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main())
