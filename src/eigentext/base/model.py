"""What every model is: settings declared once, learned by ``fit``, kept in one kind of file.

* :class:`~eigentext.base.stored.Stored` goes to a file and comes back.
* :class:`Model` is such a thing with settings and ``fit``: an estimator of scikit-learn.  Its
  class is a dataclass over its settings::

      @dataclass(eq=False, repr=False)
      class HMM(Model, HMMSettings): ...

  which gives constructor, ``get_params``, ``set_params``, ``clone``, pickling, ``check`` and the
  header of its file.
* :func:`load` opens whatever model is in a file.
"""

from __future__ import annotations

from contextlib import suppress
from functools import wraps
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

import sklearn.exceptions
from sklearn.base import BaseEstimator

from eigentext.base import modelfile, settings
from eigentext.base.registry import KINDS
from eigentext.base.stored import Packed, Stored
from eigentext.errors import EigentextError, ModelFileError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eigentext.base.files.opening import Source

__all__ = ["Model", "NotFittedError", "Packed", "Stored", "from_bytes", "load"]


class NotFittedError(EigentextError, sklearn.exceptions.NotFittedError):  # type: ignore[misc]
    """The model has learned nothing yet."""


class Model(Stored, BaseEstimator):  # type: ignore[misc]
    """An estimator whose settings are declared once; see the module.

    ``fit`` begins with ``self.check()``; what it learns has names that end in ``_``.
    """

    def __init_subclass__(cls, **more: Any) -> None:
        if "fit" in vars(cls):
            cls.fit = _whole_or_nothing(cls.fit)
        super().__init_subclass__(**more)

    def check(self) -> None:
        """Raise SettingsError for a setting that is not what was declared.

        Models that have settings which exclude each other add to this.
        """
        settings.check(self)

    def check_fitted(self) -> None:
        """Raise NotFittedError unless there is something learned."""
        learned = any(name.endswith("_") and not name.startswith("_") for name in vars(self))
        if not learned:
            name = type(self).__name__
            raise NotFittedError(f"this {name} has learned nothing yet: call fit or {name}.load")

    def _pack_learned(self) -> Packed:
        """Arrays, strings and facts of what ``fit`` learned."""
        raise NotImplementedError

    def _restore(self, packed: Packed) -> None:
        """Set what ``fit`` would have learned; the settings are there already."""
        raise NotImplementedError

    def _pack(self) -> Packed:
        self.check_fitted()
        learned = self._pack_learned()
        stored = {
            name: getattr(self, name)
            for name, declaration in settings.declared(self).items()
            if declaration.stored
        }
        return Packed(learned.arrays, learned.strings, learned.facts, stored)

    @classmethod
    def _made_of(cls, file: modelfile.ModelFile, given: Mapping[str, Any]) -> Self:
        """The model in a file; ``given`` are settings that a file does not keep."""
        free = [name for name, one in settings.declared(cls).items() if not one.stored]
        if other := sorted(given.keys() - set(free)):
            wanted = ", ".join(free) or "nothing more"
            raise SettingsError(f"load was given {other[0]!r}, expected {wanted}")
        return super()._made_of(file, given)

    @classmethod
    def _unpack(cls, packed: Packed, **given: Any) -> Self:
        declarations = settings.declared(cls)
        known = {name: value for name, value in packed.settings.items() if name in declarations}
        if more := sorted(packed.settings.keys() - known.keys()):
            raise ModelFileError(packed.path, why=f"the setting {more[0]!r} is not known")
        for name, value in known.items():  # JSON has no tuples
            if isinstance(declarations[name].default, tuple) and isinstance(value, list):
                known[name] = tuple(value)
        model = cls(**{**known, **given})
        model.check()
        model._restore(packed)
        return model

    def _summary(self) -> str:
        """What a fitted model is, in half a line, such as ``5 states, 1,203 symbols``."""
        return ""

    def _picture(self) -> str:
        """A fitted model as SVG, for notebooks; by itself there is none."""
        return ""

    def _repr_html_(self) -> str:
        """The picture with the model's line below it, or what scikit-learn shows."""
        picture = ""
        with suppress(AttributeError):
            self.check_fitted()
            picture = self._picture()
        if not picture:
            return str(super()._repr_html_())
        caption = escape(repr(self))
        return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        made, summary = str(super().__repr__(N_CHAR_MAX)), ""
        with suppress(AttributeError):  # NotFittedError is one; so is what a broken-off fit lacks
            self.check_fitted()
            summary = self._summary()
        return f"<{made}: {summary}>" if summary else made


def _whole_or_nothing(fit: Any) -> Any:
    """A ``fit`` that is broken off leaves a model that has learned nothing, not half of it."""

    @wraps(fit)
    def whole(self: Model, *positional: Any, **named: Any) -> Any:
        try:
            return fit(self, *positional, **named)
        except BaseException:
            for name in [name for name in vars(self) if name.endswith("_") and name[0] != "_"]:
                delattr(self, name)
            raise

    return whole


def load(path: Source, **given: Any) -> Any:
    """The model in a file, whatever its kind; ``given`` goes to the ``load`` of its class."""
    return _class_of(modelfile.read_header(path), str(path)).load(path, **given)


def from_bytes(raw: bytes, *, name: str = "<model>", **given: Any) -> Any:
    """The model in the bytes of a file, whatever its kind."""
    home = _class_of(modelfile.header_of(raw, name=name), name)
    return home.from_bytes(raw, name=name, **given)


def _class_of(header: modelfile.Header, path: str) -> Any:
    known = KINDS.get(header.kind)
    if known is None or not known.home:
        why = f"a model of the kind {header.kind!r}, which is not known"
        raise ModelFileError(path, why=why)
    module, name = known.home.split(":")
    return getattr(import_module(f"eigentext.{module}"), name)
