"""What every model is: settings declared once, learned by ``fit``, kept in one kind of file.

* :class:`Stored` goes to a file and comes back; a subclass says what is in the file by ``KIND``,
  ``VERSION`` and ``SPEC``, and turns itself into :class:`Packed` parts and back.
* :class:`Model` is such a thing with settings and ``fit``: an estimator of scikit-learn.  Its
  class is a dataclass over its settings::

      @dataclass(eq=False, repr=False)
      class HMM(Model, HMMSettings): ...

  which gives constructor, ``get_params``, ``set_params``, ``clone``, pickling, ``check`` and the
  header of its file.
* :func:`load` opens whatever model is in a file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self

import sklearn.exceptions
from sklearn.base import BaseEstimator

from eigentext.base import modelfile, settings
from eigentext.base.fingerprint import fingerprint
from eigentext.base.registry import KINDS
from eigentext.errors import EigentextError, ModelFileError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from eigentext.base.fields import Spec
    from eigentext.base.files.opening import Source
    from eigentext.base.modelfile import Header

__all__ = ["Model", "NotFittedError", "Packed", "Stored", "load"]


class NotFittedError(EigentextError, sklearn.exceptions.NotFittedError):  # type: ignore[misc]
    """The model has learned nothing yet."""


@dataclass(frozen=True)
class Packed:
    """The parts of a model file.

    ``arrays``    by name
    ``strings``   lists of strings by name
    ``facts``     what was learned that is neither: JSON by name
    ``settings``  what the model was made with; of a :class:`Model` these come by themselves
    ``path``      where the parts were read, for messages
    """

    arrays: Mapping[str, np.ndarray]
    strings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    path: str = "<model>"


class Stored:
    """Something that a model file holds."""

    KIND: ClassVar[str]
    VERSION: ClassVar[int] = 1
    SPEC: ClassVar[Spec]

    def _pack(self) -> Packed:
        """Everything that its answers depend on."""
        raise NotImplementedError

    @classmethod
    def _unpack(cls, packed: Packed, **given: Any) -> Self:
        """The other way; the parts fit ``SPEC``.  ``given`` is what :meth:`load` was told."""
        raise NotImplementedError

    def _parts(self, data: Mapping[str, Any] | None) -> dict[str, Any]:
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

    def save(self, path: Source, *, data: Mapping[str, Any] | None = None) -> Header:
        """Write a model file, whole or not at all; ``data`` tells what it was made from."""
        return modelfile.save(path, **self._parts(data))

    def to_bytes(self) -> bytes:
        """The content of the file, for a model inside another."""
        return modelfile.dumps(**self._parts(None))

    @classmethod
    def load(cls, path: Source, **given: Any) -> Self:
        """Read what :meth:`save` wrote."""
        return cls._made_of(modelfile.load(path, cls.KIND, {cls.VERSION}, cls.SPEC), given)

    @classmethod
    def from_bytes(cls, raw: bytes, *, name: str = "<model>", **given: Any) -> Self:
        """Read what :meth:`to_bytes` gave."""
        file = modelfile.loads(raw, cls.KIND, {cls.VERSION}, cls.SPEC, name=name)
        return cls._made_of(file, given)

    @classmethod
    def _made_of(cls, file: modelfile.ModelFile, given: Mapping[str, Any]) -> Self:
        header = file.header
        with file.fitting():
            packed = Packed(file.arrays, file.strings, header.facts, header.settings, file.path)
            return cls._unpack(packed, **given)

    def fingerprint(self) -> str:
        """The sha256 of settings and content: the key by which something is resumed."""
        packed = self._pack()
        return fingerprint(
            self.KIND, self.VERSION, packed.settings, packed.facts, packed.arrays, packed.strings
        )


class Model(Stored, BaseEstimator):  # type: ignore[misc]
    """An estimator whose settings are declared once; see the module.

    ``fit`` begins with ``self.check()``; what it learns has names that end in ``_``.
    """

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

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        made = str(super().__repr__(N_CHAR_MAX))
        try:
            self.check_fitted()
        except NotFittedError:
            return made
        summary = self._summary()
        return f"<{made}: {summary}>" if summary else made


def load(path: Source, **given: Any) -> Any:
    """The model in a file, whatever its kind; ``given`` goes to the ``load`` of its class."""
    kind = modelfile.read_header(path).kind
    known = KINDS.get(kind)
    if known is None or not known.home:
        raise ModelFileError(str(path), why=f"a model of the kind {kind!r}, which is not known")
    module, name = known.home.split(":")
    return getattr(import_module(f"eigentext.{module}"), name).load(path, **given)
