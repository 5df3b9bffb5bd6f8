"""What goes to a model file and comes back, estimator or not.

A subclass of :class:`Stored` says what is in the file by ``KIND``, ``VERSION`` and the fields that
it, or the record that its ``CONTENT`` is, declares with :mod:`~eigentext.base.records`.  Nothing
here needs scikit-learn, which takes most of a second to import: counting words does without it.
"""

from __future__ import annotations

import contextlib
import zlib
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

from eigentext.base import modelfile
from eigentext.base.fields import Contents
from eigentext.base.files.opening import is_model
from eigentext.base.fingerprint import fingerprint
from eigentext.base.parts import Packed, Part
from eigentext.base.records import Record
from eigentext.base.values import Named

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from eigentext.base.files.opening import Source
    from eigentext.base.modelfile import Header

__all__ = ["Packed", "Stored"]


class Stored:
    """Something that a model file holds.

    ``CONTENT``   the record of what is in the file, or a part; None: the class declares it itself
    ``SIZED_BY``  settings that say how much there is, checked before the rest
    """

    KIND: ClassVar[str]
    VERSION: ClassVar[int] = 1
    CONTENT: ClassVar[Any] = None
    SIZED_BY: ClassVar[Named] = Named({})

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

    def _packed(self, settings: Mapping[str, Any]) -> Packed:
        packed = Packed(settings=settings)
        self._contents().parts.pack("", self._content(), packed)
        return packed

    @classmethod
    def _unpacked(cls, packed: Packed) -> Any:
        return cls._contents().parts.unpack("", packed)

    @classmethod
    def _unpack(cls, packed: Packed, **unstored: Any) -> Self:
        """The other way; the parts are checked.  ``unstored`` is what :meth:`load` was told."""
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
    def load(cls, path: Source, **unstored: Any) -> Self:
        """Read what :meth:`save` wrote."""
        file = modelfile.load(path, cls.KIND, {cls.VERSION}, cls._contents())
        return cls._from_file(file, unstored)

    @classmethod
    def from_bytes(cls, raw: bytes, *, name: str = "<model>", **unstored: Any) -> Self:
        """Read what :meth:`to_bytes` gave."""
        file = modelfile.loads(raw, cls.KIND, {cls.VERSION}, cls._contents(), name=name)
        return cls._from_file(file, unstored)

    @classmethod
    def _from_file(cls, file: modelfile.ModelFile, unstored: Mapping[str, Any]) -> Self:
        header = file.header
        with file.fitting():
            packed = Packed(file.arrays, file.strings, header.facts, header.settings, file.path)
            return cls._unpack(packed, **unstored)

    def fingerprint(self) -> str:
        """The sha256 of settings and content: the key by which something is resumed.

        Which version of eigentext wrote it is no part of that, nor of a model inside it.
        """
        packed = self._pack()
        arrays = {name: _content(array) for name, array in packed.arrays.items()}
        return fingerprint(
            self.KIND, self.VERSION, packed.settings, packed.facts, arrays, packed.strings
        )


def _content(array: np.ndarray) -> Any:
    """The array, or what is in the model whose bytes it holds, as they are or packed by zlib."""
    if array.dtype != "uint8" or array.ndim != 1:
        return array
    raw = array.tobytes()
    if raw.startswith(b"x"):
        with contextlib.suppress(zlib.error):
            raw = zlib.decompress(raw)
    if not is_model(raw[:64]):
        return array
    file = modelfile.loads(raw)
    header = file.header
    arrays = {name: _content(inner) for name, inner in file.arrays.items()}
    return [
        header.kind,
        header.format_version,
        header.settings,
        header.facts,
        arrays,
        file.strings,
    ]
