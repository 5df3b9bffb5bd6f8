"""Flags of a command, made from records: the settings of models, and what commands share.

A command declares the settings it takes by ``@with_flags(HMMSettings, ...)`` and a parameter
``settings: SettingFlags``.  In its place stands a flag for every setting of every class:

* its name is the setting's, with dashes; its help, bounds and panel are the declaration's;
* unless told it is left out, so that the default is the model's own, whatever the class;
* a flag that the model in question does not have is refused, not passed over.

A parameter whose type is a record of :class:`Flags` stands for the flags of that record's fields.

Typer writes the type of every option into its row, ``<bool>`` too; :class:`Command` and
:class:`Group` leave it out.

>>> from eigentext.base.settings import setting
>>> from eigentext.base.values import Flag, Whole
>>> from dataclasses import dataclass
>>> @dataclass
... class ExampleSettings:
...     n_states: int = setting(10, Whole(1), "Hidden states.", short="-k")
...     labels: bool = setting(True, Flag(), "Learn labels too.")
>>> @with_flags(ExampleSettings)
... def train(file: str, settings: SettingFlags) -> None:
...     print(settings.of(ExampleSettings))
>>> list(inspect.signature(train).parameters)
['file', 'n_states', 'labels']
>>> train("x", n_states=None, labels=False)
{'labels': False}
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, field, fields
from typing import Annotated, Any, ClassVar, Literal, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from eigentext.base.files.writing import will_write
from eigentext.base.settings import Setting, declared
from eigentext.base.values import Auto, Flag, Listed, Real, Text, Value, Whole
from eigentext.errors import SettingsError

TUNING, EXPERT = "Tuning", "Expert"  # panels of a help page, behind that of what is usual


def flag(
    text: str, default: object = None, *names: str, written: bool = False, **how: object
) -> Any:
    """A flag of a command or of a record: named after its parameter, unless told otherwise.

    ``names`` are a letter (``-o``), another name or both names of a switch; ``how`` is what typer
    takes.  A flag that names a file to be ``written`` must not name an input too.
    """
    if written:
        how["callback"] = noted
    return field(default=default, metadata={"names": names, "how": {"help": text, **how}})


def argument(text: str, default: object = None, **how: object) -> Any:
    """An argument that may be left out."""
    return field(default=default, metadata={"how": {"help": text, **how}})


def noted(path: str | None) -> str | None:
    """Note that this file is written."""
    if path is not None:
        will_write(path)
    return path


def _option(name: str, hint: object, declaration: Field[Any]) -> inspect.Parameter:
    """The parameter of what :func:`flag` or :func:`argument` declares, or its annotation alone."""
    kind, default = inspect.Parameter.KEYWORD_ONLY, declaration.default
    if not declaration.metadata:
        default = inspect.Parameter.empty if default is MISSING else default
        return inspect.Parameter(name, kind, default=default, annotation=hint)
    how = declaration.metadata["how"]
    names = declaration.metadata.get("names")
    if names is None:
        option = typer.Argument(**how)
    else:
        long = [] if any(other.startswith("--") for other in names) else [flag_of(name)]
        option = typer.Option(*long, *names, **how)
    return inspect.Parameter(name, kind, default=default, annotation=Annotated[hint, option])


class Flags:
    """A dataclass whose fields are flags, annotated as the parameters of a command are.

    Those named in ``LAST`` come behind all others on a help page.
    """

    LAST: ClassVar[tuple[str, ...]] = ()

    def changed(self) -> list[str]:
        """The flags that were given something else than their default."""
        return [
            flag_of(each.name)
            for each in fields(self)  # type: ignore[arg-type]
            if getattr(self, each.name) != each.default
        ]

    def refuse(self, why: str, *, but: tuple[str, ...] = ()) -> None:
        """An error that names the first flag that was given and means nothing here.

        Those in ``but`` do mean something.
        """
        for flag in self.changed():
            if flag not in but:
                raise SettingsError(f"{flag} {why}")


class SettingFlags:
    """The settings for which there were flags on the command line."""

    def __init__(self, values: Mapping[str, object], classes: tuple[type, ...]) -> None:
        self.values = {name: value for name, value in values.items() if value is not None}
        self.classes = classes

    def of(self, cls: type, **fixed: object) -> dict[str, Any]:
        """Keyword arguments of a model with these settings; ``fixed`` are the command's own.

        A flag on the command line that ``cls`` does not have is a SettingsError.
        """
        for name in sorted(self.values.keys() - flagged(cls).keys()):
            owners = " and ".join(
                _title(owner) for owner in self.classes if name in flagged(owner)
            )
            raise SettingsError(f"{flag_of(name)} is for {owners}, not for {_title(cls)}")
        return {**self.values, **fixed}


def _title(cls: type) -> str:
    """What the settings are for: the first line of the docstring says it after ``Settings of``."""
    first = (cls.__doc__ or cls.__name__).splitlines()[0]
    return first.removeprefix("Settings of ").rstrip(".")


def flag_of(name: str) -> str:
    """The flag of a setting.

    >>> flag_of("n_states")
    '--n-states'
    """
    return "--" + name.rstrip("_").replace("_", "-")


def flagged(cls: type) -> dict[str, Setting]:
    """The settings that have flags."""
    return {name: declaration for name, declaration in declared(cls).items() if declaration.flag}


def with_flags(
    *classes: type, show_defaults: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Put flags in the place of ``settings`` (those of these settings) and of every record.

    Without ``show_defaults`` the help page shows none of the settings': a model has its own.
    """
    settings: dict[str, dict[type, Setting]] = {}
    for cls in classes:
        for name, declaration in flagged(cls).items():
            settings.setdefault(name, {})[cls] = declaration

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        records: dict[str, list[inspect.Parameter]] = {}  # by the command's own parameter
        defaults: dict[str, Any] = {}  # of flags that the command declares itself
        parameters = []
        last: list[inspect.Parameter] = []
        for parameter in inspect.signature(command).parameters.values():
            hint = hints[parameter.name]
            if hint is SettingFlags:
                parameters += [
                    _parameter(
                        name, same, alone=len(same) == 1 < len(classes), show_default=show_defaults
                    )
                    for name, same in settings.items()
                ]
            elif isinstance(hint, type) and issubclass(hint, Flags):
                records[parameter.name] = _fields(hint)
                for flag in records[parameter.name]:
                    (last if flag.name in hint.LAST else parameters).append(flag)
            elif isinstance(parameter.default, Field):
                parameters.append(_option(parameter.name, hint, parameter.default))
                defaults[parameter.name] = parameter.default.default
            else:
                parameters.append(parameter.replace(annotation=hint))
        # those without a default first, as Python wants it; the order of help pages is kept
        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters + last]

        @functools.wraps(command)
        def call(*positional: object, **arguments: object) -> None:
            bound = (
                defaults | dict(zip(signature.parameters, positional, strict=False)) | arguments
            )
            values = {
                name: _plain(bound.pop(name, None), _widest(same))
                for name, same in settings.items()
            }
            for name, flags in records.items():
                bound[name] = hints[name](
                    **{flag.name: bound.pop(flag.name) for flag in flags if flag.name in bound}
                )
            if hints.get("settings") is SettingFlags:  # a command may have a flag of that name
                bound["settings"] = SettingFlags(values, classes)
            command(**bound)

        signature = inspect.Signature(parameters, return_annotation=None)
        call.__signature__ = signature  # type: ignore[attr-defined]
        call.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": None}
        return call

    return decorate


def _fields(record: type) -> list[inspect.Parameter]:
    """The parameters that stand for a record; what it adds itself comes first on a help page.

    What it only declares anew, with another default, stays where it was.
    """
    hints = get_type_hints(record, include_extras=True)
    flags = {field.name: field for field in fields(record) if field.init}
    home = {name: cls for cls in record.__mro__ for name in inspect.get_annotations(cls)}
    own_first = [
        name
        for cls in record.__mro__
        for name in inspect.get_annotations(cls)
        if home[name] is cls
    ]
    return [_option(name, hints[name], flags[name]) for name in own_first if name in flags]


def _parameter(
    name: str, same: Mapping[type, Setting], *, alone: bool, show_default: bool
) -> inspect.Parameter:
    """The parameter of one flag; ``same`` are the settings of that name in all classes.

    ``alone``: of several models only one has it; the help page shows such flags model by model.
    """
    first, *_ = same.values()
    python_type, options = _typed(_widest(same))
    names = [flag_of(name)]
    if isinstance(_inner(first.value), Flag):
        names = [f"{names[0]}/{first.off or '--no-' + names[0][2:]}"]
    if first.short:
        names.append(first.short)
    help_, *others = dict.fromkeys(each.help for each in same.values())
    for other in others:
        owners = " and ".join(_title(cls) for cls, each in same.items() if each.help == other)
        help_ += f"  For {owners}: {other}"
    # what of several models only one has is shown model by model, the rest by its panel
    panels = {each.panel for each in same.values()}
    panel = None if "usual" in panels else TUNING if "tuning" in panels else EXPERT
    if alone:
        panel = f"For {_title(next(iter(same)))}"
    defaults = list(dict.fromkeys(filter(None, (_shown(each.default) for each in same.values()))))
    option = typer.Option(
        *names,
        help=help_,
        show_default=(show_default and " or ".join(defaults)) or False,
        rich_help_panel=panel,
        **options,
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[python_type | None, option],
    )


def _widest(same: Mapping[type, Setting]) -> Value:
    """What some of the models take: each of them checks its own bounds and choices."""
    first, *others = (setting.value for setting in same.values())
    for other in others:
        if isinstance(first, Text) and isinstance(other, Text) and first.choices:
            choices = dict.fromkeys([*first.choices, *other.choices])
            first = Text(tuple(choices) if other.choices else ())
        elif isinstance(first, (Whole, Real)) and isinstance(other, (Whole, Real)):
            kind: Any = Real if Real in (type(first), type(other)) else Whole
            first = kind(min(first.low, other.low), max(first.high, other.high))
    return first


def _inner(value: Value) -> Value:
    return value.other if isinstance(value, Auto) else value


def _typed(value: Value) -> tuple[Any, dict[str, Any]]:
    """The type that typer reads, and the bounds that it shows and checks."""
    if isinstance(value, Whole):
        return int, _bounds(value, Whole())
    if isinstance(value, Real):
        # typer's bounds are closed; the model checks open ones
        return float, {} if value.open else _bounds(value, Real())
    if isinstance(value, Text) and value.choices:
        return Literal[value.choices], {}
    if isinstance(_inner(value), Flag):
        return bool, {}
    if isinstance(value, Auto):
        return str, {"metavar": "NUMBER|auto"}
    if isinstance(value, Listed):
        return list[str], {}
    return str, {}


def _bounds(value: Any, free: Any) -> dict[str, Any]:
    """The bounds that the free type does not have."""
    ends = {"min": value.low, "max": value.high}
    return {name: end for name, end in ends.items() if end not in (free.low, free.high)}


def _plain(value: object, declared_as: Value) -> Any:
    """What the model is given: a number where one may be auto, a tuple for a list."""
    if isinstance(declared_as, Auto) and isinstance(value, str) and value != "auto":
        for kind in (int, float):
            try:
                return kind(value)
            except ValueError:
                continue
    if isinstance(value, list):
        return _listed(value, declared_as) if value else None
    return value


def _listed(values: list[str], declared_as: Value) -> tuple[Any, ...]:
    """Numbers, and names of which there is a choice, may be joined by commas; ``none`` is an empty
    list."""
    item = declared_as.item if isinstance(declared_as, Listed) else None
    number = {Whole: int, Real: float}.get(type(item))
    if number is None and not (isinstance(item, Text) and item.choices):
        return tuple(values)
    names = [name.strip() for value in values for name in value.split(",")]
    if names == ["none"]:
        return ()
    return tuple(names) if number is None else tuple(_number(name, number) for name in names)


def _number(text: str, kind: type[int] | type[float]) -> Any:
    """A number, or the text itself, of which the model says what it expected."""
    try:
        return kind(text)
    except ValueError:
        return text


def _shown(default: object) -> str:
    """A default as a help page shows it; none at all where the help says what happens."""
    if default is None:
        return ""
    if isinstance(default, bool):
        return "yes" if default else "no"
    if isinstance(default, (tuple, list)):
        return ",".join(map(str, default))
    return str(default)


def _without_types(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
    return params


class Command(TyperCommand):
    """A command whose flags show no type, and whose examples are a line each."""

    def __init__(self, *positional: Any, **named: Any) -> None:
        super().__init__(*positional, **named)
        self.help = re.sub(r"\n( *[$#] )", r"\n\n\1", self.help or "")  # help pages join lines

    def get_params(self, ctx: Any) -> list[Any]:
        """Options and arguments, ``--help`` too."""
        return _without_types(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands whose flags show no type."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Options and arguments, ``--help`` too."""
        return _without_types(super().get_params(ctx))


def group(*commands: Callable[..., None]) -> typer.Typer:
    """A group of commands, by the names of their functions: ``train_lm`` is ``train-lm``."""
    app = typer.Typer(cls=Group, no_args_is_help=True)
    for command in commands:
        app.command(command.__name__.rstrip("_").replace("_", "-"), cls=Command)(command)
    return app
