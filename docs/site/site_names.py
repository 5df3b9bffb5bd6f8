"""The public names of the package, and the pages of the API reference made from them."""

from __future__ import annotations

import pkgutil
import re
from dataclasses import fields, is_dataclass
from importlib import import_module
from inspect import getsource, isclass, ismodule, isroutine
from typing import TYPE_CHECKING, Any, NamedTuple

from site_docstrings import escaped

import eigentext
from eigentext.base.settings import declared, types_of

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

# what people use first; the other rooms are what these are made of
MODELS = ["words", "tagging", "sequences", "constituency", "dependency", "lexical", "pipeline"]


LONGEST_VALUE = 80  # characters of a constant that is shown


class Name(NamedTuple):
    """A public name of a module, and the module that it is documented under."""

    module: str
    name: str
    value: Any
    home: str

    @property
    def is_here(self) -> bool:
        """Whether the module defines it, rather than passing it on."""
        return self.home == self.module


def modules() -> dict[str, ModuleType]:
    """Every module but those of migrations."""
    found = {"eigentext": eigentext}
    for info in pkgutil.walk_packages(eigentext.__path__, "eigentext."):
        if info.name.endswith("__main__") or ".migrations." in info.name:
            continue
        found[info.name] = import_module(info.name)
    return found


def names_in(module: ModuleType) -> list[str]:
    """What a module says is public in it; else the classes and functions that it defines."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (isclass(value) or isroutine(value))
        and getattr(value, "__module__", None) == module.__name__
    ]


def public_names() -> list[Name]:
    """All of them; a value that is no class or function is at home in the deepest module."""
    found = []
    for name, module in modules().items():
        for public in names_in(module):
            value = getattr(module, public)
            if ismodule(value):
                continue
            home = (
                getattr(value, "__module__", None) if isclass(value) or isroutine(value) else name
            )
            qualified = getattr(value, "__qualname__", public)
            if not (home or "").startswith("eigentext") or qualified != public:
                home = name
            found.append(Name(name, public, value, home or name))
    known = {(one.module, one.name) for one in found}
    return [
        one if (one.home, one.name) in known else one._replace(home=one.module) for one in found
    ]


def room_of(module: str) -> str:
    """The page a module stands on: its room, and the front door's for ``errors``."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] != "errors" else "front-door"


def _heading(text: str, line: str) -> list[str]:
    return [text, line * len(text), ""]


def settings_table(value: Any) -> list[str]:
    """The settings of a model, as declared: name, type, default, meaning."""
    if not (isclass(value) and is_dataclass(value)):
        return []
    if not any("setting" in field.metadata for field in fields(value)):
        return []
    out = [
        "",
        "   .. list-table:: Settings",
        "      :header-rows: 1",
        "      :widths: 18 20 12 50",
        "",
    ]
    for row in [
        ("setting", "type", "default", "what it means"),
        *(
            (f"``{name}``", escaped(kind), f"``{setting.default!r}``", escaped(setting.help))
            for (name, setting), kind in zip(
                declared(value).items(), types_of(value).values(), strict=True
            )
        ),
    ]:
        out += [f"      {'  -' if i else '* -'} {cell}" for i, cell in enumerate(row)]
    return [*out, ""]


def _entry(one: Name) -> list[str]:
    """The directive of one name."""
    path = f"{one.module}.{one.name}"
    if isclass(one.value):
        lines = [f".. autoclass:: {path}", "   :members:", ""]
        return lines + settings_table(one.value)
    if isroutine(one.value):
        return [f".. autofunction:: {path}", ""]
    return _constant(one)


def _constant(one: Name) -> list[str]:
    """A value or an alias of types: what it is, and the comment on the line that defines it."""
    shown = " ".join(repr(one.value).split())
    out = [f".. py:data:: {one.name}", f"   :module: {one.module}"]
    if len(shown) <= LONGEST_VALUE and " at 0x" not in shown and "Path(" not in shown:
        out.append(f"   :value: {shown}")
    source = getsource(import_module(one.module))
    defined = re.search(
        rf"^{one.name}\b[^=\n]*= .*?(?:  # (?P<why>.*))?$", source, flags=re.MULTILINE
    )
    why = (defined and defined["why"]) or ""
    return [*out, "", f"   {escaped(why)}", ""]


def _passed_on(names: list[Name]) -> list[str]:
    """A table of names that are documented elsewhere."""
    out = [".. list-table::", "   :widths: 40 60", ""]
    for one in names:
        first = escaped((one.value.__doc__ or "").strip().split("\n")[0])
        out += [f"   * - :py:obj:`{one.name} <{one.home}.{one.name}>`", f"     - {first}"]
    return [*out, ""]


def pages() -> dict[str, str]:
    """The name and the text of every page."""
    names = public_names()
    known = modules()
    rooms: dict[str, list[str]] = {}
    for module in known:
        rooms.setdefault(room_of(module), []).append(module)
    written = {}
    for room, members in rooms.items():
        title = "eigentext" if room == "front-door" else f"eigentext.{room}"
        out = _heading(title, "=")
        first = {one.home for one in names if one.module == title}  # what the room is known for
        for module in sorted(members, key=lambda module: (module != title, module not in first)):
            here = [one for one in names if one.module == module]
            if module != title:
                out += _heading(module, "-")
            out += [f".. automodule:: {module}", "   :no-members:", ""]
            elsewhere = [one for one in here if not one.is_here]
            if elsewhere:
                out += _passed_on(elsewhere)
            for one in here:
                if one.is_here:
                    out += _entry(one)
        written[room] = "\n".join(out) + "\n"
    written["index"] = _index(rooms)
    return written


def _index(rooms: dict[str, list[str]]) -> str:
    out = _heading("API reference", "=")
    out += [
        "Every public name, from the docstrings of the sources; examples after ``>>>`` are run by",
        "the tests.  ``from eigentext import ...`` has what most people need; a model",
        "has the manners of scikit-learn's estimators; its settings stand in a table below it.",
        "",
    ]
    inner = sorted(set(rooms) - set(MODELS) - {"front-door"})
    for caption, pages_ in (
        ("The front door", ["front-door"]),
        ("Models", list(MODELS)),
        ("What they are made of", inner),
    ):
        out += [".. toctree::", f"   :caption: {caption}", "   :maxdepth: 1", ""]
        out += [f"   {page}" for page in pages_] + [""]
    return "\n".join(out)


def write(folder: Path) -> None:
    """All pages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")
