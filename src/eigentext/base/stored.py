"""What goes to a model file and comes back, estimator or not.

A subclass of :class:`Stored` says what is in the file by ``KIND``, ``VERSION`` and ``SPEC``, and
turns itself into :class:`Packed` parts and back.  Nothing here needs scikit-learn, which takes
most of a second to import: counting words does without it.
"""

from __future__ import annotations

import contextlib
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

from eigentext.base import modelfile
from eigentext.base.files.opening import is_model
from eigentext.base.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from scipy.sparse import csr_array

    from eigentext.base.fields import Spec
    from eigentext.base.files.opening import Source
    from eigentext.base.modelfile import Header

__all__ = ["Packed", "Stored"]


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

    def csr(self, name: str) -> csr_array:
        """The sparse matrix that ``pack_csr`` stored under this name."""
        return modelfile.unpack_csr(name, self.arrays, path=self.path)


class Stored:
    """Something that a model file holds."""

    KIND: ClassVar[str]
    VERSION: ClassVar[int] = 1
    SPEC: ClassVar[Spec]

    def _pack(self) -> Packed:
        """Everything that its answers depend on."""
        raise NotImplementedError

    @classmethod
    def _unpack(cls, packed: Packed, **unstored: Any) -> Self:
        """The other way; the parts fit ``SPEC``.  ``unstored`` is what :meth:`load` was told."""
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
        return cls._from_file(modelfile.load(path, cls.KIND, {cls.VERSION}, cls.SPEC), unstored)

    @classmethod
    def from_bytes(cls, raw: bytes, *, name: str = "<model>", **unstored: Any) -> Self:
        """Read what :meth:`to_bytes` gave."""
        file = modelfile.loads(raw, cls.KIND, {cls.VERSION}, cls.SPEC, name=name)
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
