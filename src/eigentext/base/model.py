"""What every model is: settings declared once, learned by ``fit``, kept in one kind of file.

* :class:`~eigentext.base.stored.Stored` goes to a file and comes back.
* :class:`Model` is such a thing with settings and ``fit``: an estimator of scikit-learn.  Its
  class is a dataclass over its settings::

      @dataclass(eq=False, repr=False)
      class HMM(Model, HMMSettings): ...

  which gives constructor, ``get_params``, ``set_params``, ``clone``, pickling, ``check`` and the
  header of its file.
* :func:`load` opens whatever model is in a file, or has a name (:mod:`eigentext.base.named`).
"""

from __future__ import annotations

from contextlib import suppress
from functools import wraps
from html import escape
from typing import TYPE_CHECKING, Any, Self

from eigentext.base import modelfile, settings
from eigentext.base.estimator import Estimator, is_same
from eigentext.base.parts import Packed
from eigentext.base.records import Record
from eigentext.base.registry import class_of
from eigentext.base.stored import Stored
from eigentext.base.values import Listed, Text
from eigentext.errors import EigentextError, ModelFileError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eigentext.base.files.opening import Source

__all__ = ["Model", "NotFittedError", "Packed", "Stored", "from_bytes", "load"]


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

    def __init_subclass__(cls, **more: Any) -> None:
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
        known = {name: value for name, value in values.items() if value is not settings.NOT_KEPT}
        type(self)(**known).check()  # no file that load would refuse
        packed = self._packed({name: values[name] for name in values if declarations[name].stored})
        if absent := type(self)(**values)._not_kept():
            packed.facts["not_kept"] = absent
        return packed

    @classmethod
    def _from_file(cls, file: modelfile.ModelFile, unstored: Mapping[str, Any]) -> Self:
        """The model in a file; ``unstored`` are settings that a file does not keep."""
        free = [
            name for name, declaration in settings.declared(cls).items() if not declaration.stored
        ]
        if other := sorted(unstored.keys() - set(free)):
            wanted = ", ".join(free) or "nothing more"
            raise SettingsError(f"load was given {other[0]!r}, expected {wanted}")
        return super()._from_file(file, unstored)

    @classmethod
    def _unpack(cls, packed: Packed, **unstored: Any) -> Self:
        declarations = settings.declared(cls)
        known = {name: value for name, value in packed.settings.items() if name in declarations}
        if more := sorted(packed.settings.keys() - known.keys()):
            raise ModelFileError(packed.path, why=f"the setting {more[0]!r} is not known")
        for name, value in known.items():  # JSON has no tuples
            if isinstance(declarations[name].default, tuple) and isinstance(value, list):
                known[name] = tuple(value)
        model = cls(**{**known, **unstored})
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


def from_bytes(raw: bytes, *, name: str = "<model>", **unstored: Any) -> Any:
    """The model in the bytes of a file, whatever its kind."""
    home = _class_of(modelfile.header_of(raw, name=name), name)
    return home.from_bytes(raw, name=name, **unstored)


def _class_of(header: modelfile.Header, path: str) -> Any:
    home = class_of(header.kind)
    if home is None:
        why = f"a model of the kind {header.kind!r}, which is not known"
        raise ModelFileError(path, why=why)
    return home
