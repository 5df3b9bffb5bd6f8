"""What every model is: settings declared once, learned by ``fit``, kept in one kind of file.

* :class:`Stored` goes to a file and comes back, estimator or not: ``KIND``, ``VERSION`` and the
  fields that it, or the record that its ``CONTENT`` is, declares with
  :mod:`~eigentext.base.records` say what is in the file.
* :class:`Model` is such a thing with settings and ``fit``: an estimator of scikit-learn.  Its
  class is a dataclass over its settings::

      @dataclass(eq=False, repr=False)
      class HMM(Model, HMMSettings): ...

  which gives constructor, ``get_params``, ``set_params``, ``clone``, pickling, ``check`` and the
  header of its file.
* :class:`Estimator` has the manners of scikit-learn, which is not imported for them: ``clone``,
  pipelines, searches and ``check_is_fitted`` ask for methods, not for a class.  Its
  ``NotFittedError`` is one thing that goes by class: ours is a ValueError and an AttributeError,
  as that one is, and ``except`` takes it by either or by its own name.
"""

from __future__ import annotations

import inspect
import sys
import zlib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, wraps
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from eigentext.base import foreign, modelfile, settings
from eigentext.base.fields import Contents
from eigentext.base.files.opening import Source, is_model
from eigentext.base.hashing import fingerprint
from eigentext.base.modelfile import Header
from eigentext.base.records import Record
from eigentext.base.registry import class_of
from eigentext.base.values import Listed, Named, Packed, Part, Text, shown
from eigentext.errors import EigentextError, MissingExtraError, ModelFileError, SettingsError

_CONTAINERS = ("default", "pandas", "polars")


class Stored:
    """Something that a model file holds."""

    KIND: ClassVar[str]
    VERSION: ClassVar[int] = 1
    CONTENT: ClassVar[Any] = None  # its record, or a part; None: the class declares it itself
    SIZED_BY: ClassVar[Named] = Named({})  # settings that say how much there is, checked first

    @classmethod
    @cache
    def _contents(cls) -> Contents:
        """What a file must hold."""
        content = cls.CONTENT or cls
        return Contents(content if isinstance(content, Part) else Record(content), cls.SIZED_BY)

    def _content(self) -> Any:
        """What the file holds has its values from here."""
        return self

    def _pack(self) -> Packed:
        """The parts of a file."""
        return self._packed({})

    def _packed(self, settings: Mapping[str, object]) -> Packed:
        packed = Packed(settings=settings)
        self._contents().parts.pack("", self._content(), packed)
        return packed

    @classmethod
    def _unpacked(cls, packed: Packed) -> Any:
        return cls._contents().parts.unpack("", packed)

    @classmethod
    def _unpack(cls, packed: Packed, **unstored: object) -> Self:
        """The other way; the parts are checked.  ``unstored`` is what :meth:`load` was told."""
        raise NotImplementedError

    def _parts(self, data: Mapping[str, object] | None) -> dict[str, Any]:
        packed = self._pack()
        return {
            "kind": self.KIND,
            "arrays": packed.arrays,
            "strings": packed.strings,
            "facts": packed.facts,
            "settings": packed.settings,
            "format_version": self.VERSION,
            "seed": packed.settings.get("seed"),
            "data": data,
        }

    def save(self, path: Source, *, data: Mapping[str, object] | None = None) -> Header:
        """Write a model file, whole or not at all; ``data`` tells what it was made from."""
        return modelfile.save(path, **self._parts(data))

    def to_bytes(self) -> bytes:
        """The content of the file, for a model inside another."""
        return modelfile.dumps(**self._parts(None))

    @classmethod
    def load(cls, path: Source, **unstored: Any) -> Self:
        """Read what :meth:`save` wrote."""
        file = modelfile.load(path, cls.KIND, {cls.VERSION}, cls._contents())
        return cls._from_file(file, unstored)

    @classmethod
    def from_bytes(cls, raw: bytes, *, name: str = "<model>", **unstored: object) -> Self:
        """Read what :meth:`to_bytes` gave."""
        file = modelfile.loads(raw, cls.KIND, {cls.VERSION}, cls._contents(), name=name)
        return cls._from_file(file, unstored)

    @classmethod
    def _from_file(cls, file: modelfile.ModelFile, unstored: Mapping[str, object]) -> Self:
        header = file.header
        with modelfile.fitting(file.path):
            packed = Packed(file.arrays, file.strings, header.facts, header.settings, file.path)
            return cls._unpack(packed, **unstored)

    def fingerprint(self) -> str:
        """The sha256 of settings and content: the key by which something is resumed.

        Which version of eigentext wrote it is no part of that, nor of a model inside it.
        """
        packed = self._pack()
        arrays = {name: _content_of(array) for name, array in packed.arrays.items()}
        return fingerprint(
            self.KIND, self.VERSION, packed.settings, packed.facts, arrays, packed.strings
        )


def _content_of(array: np.ndarray) -> Any:
    """The array, or what is in the model whose bytes it holds, as they are or packed by zlib."""
    if array.dtype != "uint8" or array.ndim != 1:
        return array
    raw = array.tobytes()
    if raw.startswith(b"x"):
        with suppress(zlib.error):
            raw = zlib.decompress(raw)
    if not is_model(raw[:64]):
        return array
    file = modelfile.loads(raw)
    header = file.header
    parts = {name: _content_of(inner) for name, inner in file.arrays.items()}
    return [header.kind, header.format_version, header.settings, header.facts, parts, file.strings]


class Estimator:
    """Something with settings, the arguments of its constructor, and ``fit``."""

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """The settings and what each is by default."""
        _, *parameters = inspect.signature(cls.__init__).parameters.values()
        return {parameter.name: parameter.default for parameter in parameters}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name; ``deep``: of estimators in them, too: ``name__setting``."""
        params = {}
        for name in self._defaults():
            params[name] = value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                params |= {f"{name}__{inner}": each for inner, each in value.get_params().items()}
        return params

    def set_params(self, **params: object) -> Self:
        """Set some anew, by the names of :meth:`get_params`."""
        names = self._defaults()
        of_inner: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            outer, nested, inner = name.partition("__")
            if outer not in names:
                raise SettingsError(foreign.no_setting(type(self), outer, names))
            if nested:
                of_inner.setdefault(outer, {})[inner] = value
            else:
                setattr(self, name, value)
        for name, params in of_inner.items():
            getattr(self, name).set_params(**params)
        return self

    def _changed(self) -> dict[str, Any]:
        """The settings that are not what they are by default."""
        return {
            name: getattr(self, name)
            for name, default in self._defaults().items()
            if not is_same(getattr(self, name), default)
        }

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={shown(value)}" for name, value in self._changed().items())
        return f"{type(self).__name__}({settings})"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"

    def __sklearn_is_fitted__(self) -> bool:
        return any(name.endswith("_") and not name.startswith("_") for name in vars(self))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))

    if not TYPE_CHECKING:  # where types are checked, names are known already

        def __new__(cls, *values: object, **settings: object) -> Any:
            """Refuse a setting that is none, before ``__init__`` does without advice."""
            names = cls._defaults() if settings else {}
            for name in settings:
                if name not in names:
                    raise TypeError(foreign.no_setting(cls, name, names))
            return super().__new__(cls)

        def __getattr__(self, name: str) -> Any:
            advice = foreign.no_method(type(self), name)
            if advice:
                raise AttributeError(advice, name=name, obj=self)
            # the usual message; of a property that found nothing learned, its own
            return object.__getattribute__(self, name)


class Transformer(Estimator):
    """An estimator with ``transform``."""

    def fit_transform(self, X: object, y: object = None, **more: object) -> Any:
        """``fit`` to the data, and what ``transform`` makes of them."""
        estimator: Any = self
        return estimator.fit(X, y, **more).transform(X)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags()
        return tags


class TableTransformer(Transformer):
    """One whose answers are tables, with a row a sample and ``get_feature_names_out``."""

    # the name by which scikit-learn asks and clones this
    _sklearn_output_config: dict[str, str]

    def set_output(self, *, transform: str | None = None) -> Self:
        """What ``transform`` gives: an array (``default``), or a frame of pandas or polars."""
        if transform is not None and transform not in _CONTAINERS:
            kinds = ", ".join(map(repr, _CONTAINERS))
            raise SettingsError(f"transform is {shown(transform)}, expected one of {kinds}")
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def _table(self, rows: object) -> Any:
        """The rows in what :meth:`set_output` or the configuration of scikit-learn asks for."""
        chosen = vars(self).get("_sklearn_output_config", {}).get("transform")
        if chosen is None and "sklearn" in sys.modules:
            import sklearn

            chosen = sklearn.get_config()["transform_output"]
        if chosen in (None, "default"):
            return rows
        estimator: Any = self
        names = estimator.get_feature_names_out().tolist()
        try:
            if chosen == "polars":
                import polars

                return polars.DataFrame(rows, schema=names, orient="row")
            import pandas

            return pandas.DataFrame(rows, columns=names)
        except ImportError:
            raise MissingExtraError(f"tables of {chosen}", modules=[chosen]) from None


def is_same(value: object, default: object) -> bool:
    """Whether a setting is what it is by default."""
    return type(value) is type(default) and bool(value == default)


class NotFittedError(EigentextError, ValueError, AttributeError):
    """The model has learned nothing yet.

    ``sklearn.exceptions.NotFittedError`` is another class with the same two bases.
    """


class Model(Stored, Estimator):
    """An estimator whose settings are declared once; see the module.

    ``fit`` begins with ``self.check()``; what it learns has names that end in ``_``.  After it,
    answers are made of these and of settings that are declared ``answering``; what was learned
    with the other settings is asked of :attr:`settings_`, for they may be set anew.
    """

    def __init_subclass__(cls, **more: object) -> None:
        for name, method in list(vars(cls).items()):
            if name == "fit" or name.startswith("fit_"):
                setattr(cls, name, _whole_or_nothing(method))
        super().__init_subclass__(**more)
        cls.__doc__ = settings.documented(cls)

    @property
    def settings_(self) -> Self:
        """The settings that ``fit`` had, as a model that has learned nothing."""
        settings_of_fit: Self = vars(self).get("_settings_of_fit", self)
        return settings_of_fit

    def _remember_settings(self) -> None:
        """What is learned from here on is learned with the settings of now."""
        self._settings_of_fit = type(self)(**settings.values_of(self))

    def check(self) -> None:
        """Raise SettingsError for a setting that is not what was declared.

        Models that have settings which exclude each other add to this.
        """
        settings.check(self)

    def check_fitted(self) -> None:
        """Raise NotFittedError unless there is something learned."""
        if not self.__sklearn_is_fitted__():
            name = type(self).__name__
            raise NotFittedError(f"this {name} has learned nothing yet: call fit or {name}.load")

    def _restore(self, content: Any) -> None:
        """Set what ``fit`` would have learned, as far as it is not there.

        ``content`` is the record that ``CONTENT`` says, or the model itself; settings, and fields
        whose names end in ``_``, are set.
        """
        if hasattr(content, "restore"):
            content.restore(self)

    def _not_kept(self) -> list[str]:
        """Settings that were given and that the file does not give back."""
        return [
            name
            for name, declaration in settings.declared(self).items()
            if not declaration.kept and not is_same(getattr(self, name), declaration.default)
        ]

    def _pack(self) -> Packed:
        self.check_fitted()
        declarations = settings.declared(self)
        values = {
            name: getattr(self if declaration.answering else self.settings_, name)
            for name, declaration in declarations.items()
        }
        whole = {name: value for name, value in values.items() if value is not settings.NOT_KEPT}
        type(self)(**whole).check()  # no file that load would refuse
        packed = self._packed({name: values[name] for name in values if declarations[name].stored})
        if absent := type(self)(**values)._not_kept():
            packed.facts["not_kept"] = absent
        return packed

    @classmethod
    def _from_file(cls, file: modelfile.ModelFile, unstored: Mapping[str, object]) -> Self:
        """The model in a file; ``unstored`` are settings that a file does not keep."""
        free = [
            name for name, declaration in settings.declared(cls).items() if not declaration.stored
        ]
        if other := sorted(unstored.keys() - set(free)):
            free_names = ", ".join(free) or "nothing more"
            raise SettingsError(f"load was given {other[0]!r}, expected {free_names}")
        return super()._from_file(file, unstored)

    @classmethod
    def _unpack(cls, packed: Packed, **unstored: object) -> Self:
        declarations = settings.declared(cls)
        kept = {name: value for name, value in packed.settings.items() if name in declarations}
        if more := sorted(packed.settings.keys() - kept.keys()):
            raise ModelFileError(packed.path, why=f"the setting {more[0]!r} is not known")
        for name, value in kept.items():  # JSON has no tuples
            if isinstance(declarations[name].default, tuple) and isinstance(value, list):
                kept[name] = tuple(value)
        model = cls(**{**kept, **unstored})
        model.check()
        content: Any = model
        if cls.CONTENT is None:
            vars(model).update(Record(cls).fields_of("", packed))
        else:
            content = cls._unpacked(packed)
            vars(model).update((n, v) for n, v in vars(content).items() if n.endswith("_"))
        model._restore(content)
        absent = packed.facts.get("not_kept", [])
        Listed(Text(tuple(declarations))).check("facts.not_kept", absent)
        # what load was given goes before what the file gives back
        for name, value in {**dict.fromkeys(absent, settings.NOT_KEPT), **unstored}.items():
            setattr(model, name, value)
        model._remember_settings()
        return model

    def _summary(self) -> str:
        """What a fitted model is, in half a line, such as ``5 states, 1,203 symbols``."""
        return ""

    def _picture(self) -> str:
        """A fitted model as SVG, for notebooks; by itself there is none."""
        return ""

    def _repr_html_(self) -> str:
        """The model's line, below its picture where it has one."""
        picture = self._picture() if self.__sklearn_is_fitted__() else ""
        if not picture:
            return super()._repr_html_()
        caption = escape(repr(self))
        return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"

    def __repr__(self) -> str:
        text = super().__repr__()
        summary = ""
        with suppress(AttributeError):  # in the middle of `fit` there is a part of what is learned
            summary = self._summary() if self.__sklearn_is_fitted__() else ""
        return f"<{text}: {summary}>" if summary else text


def _whole_or_nothing(fit: Any) -> Any:
    """A ``fit`` that remembers its settings; broken off, it leaves nothing that was learned."""

    @wraps(fit)
    def whole(self: Model, *positional: Any, **named: Any) -> Any:
        self._remember_settings()
        try:
            return fit(self, *positional, **named)
        except BaseException:
            self.__dict__.pop("_settings_of_fit", None)
            for name in [name for name in vars(self) if name.endswith("_") and name[0] != "_"]:
                delattr(self, name)
            raise

    return whole


def load(path: Source, **unstored: Any) -> Any:
    """The model in a file, or of a name, whatever its kind.

    ``path`` is a path, a URL, or the name of a model that ``eigentext model make`` or
    ``eigentext model get`` has installed; a file goes before a name.  ``unstored`` goes to the
    ``load`` of the model's class.
    """
    return _class_of(modelfile.read_header(path), str(path)).load(path, **unstored)


def from_bytes(raw: bytes, *, name: str = "<model>", **unstored: object) -> Any:
    """The model in the bytes of a file, whatever its kind."""
    home = _class_of(modelfile.header_of(raw, name=name), name)
    return home.from_bytes(raw, name=name, **unstored)


def _class_of(header: modelfile.Header, path: str) -> Any:
    home = class_of(header.kind)
    if home is None:
        why = f"a model of the kind {header.kind!r}, which is not known"
        raise ModelFileError(path, why=why)
    return home
