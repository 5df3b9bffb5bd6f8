"""The parts of a model file, and what a declaration of one can do: check, pack and unpack.

A :class:`Part` is declared once, by :func:`~eigentext.base.records.stored`, and says what the file
must hold, how a value gets there and how it comes back.  The parts of one value are in ``fields``
(arrays, strings) and ``values`` (what JSON holds), those made of others in ``records``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np


@dataclass(frozen=True)
class Packed:
    """The content of a model file.

    ``arrays``    by name
    ``strings``   lists of strings by name
    ``facts``     what was learned that is neither: JSON by name
    ``settings``  what the model was made with; of a :class:`Model` these come by themselves
    ``path``      where the parts were read, for messages
    """

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    strings: dict[str, Sequence[str]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    path: str = "<model>"

    @property
    def values(self) -> dict[str, Any]:
        """Settings and facts: what is in the header."""
        return {**self.settings, **self.facts}


class Part:
    """Something that a model file holds.

    ``optional``  a file may be without it
    ``nameless``  its parts have names of their own, to which that of the field does not matter
    """

    optional: bool = False
    nameless: bool = False

    def leaves(self, name: str, values: Mapping[str, Any] | None) -> Iterator[tuple[str, Part]]:
        """What is stored under which name in a file with these settings and facts.

        Where these are None, whatever depends on them is left out.
        """
        yield name, self

    def pack(self, name: str, value: Any, packed: Packed) -> None:
        """Put the value, which is not None, among the parts of a file."""
        raise NotImplementedError

    def is_in(self, name: str, packed: Packed) -> bool:
        """Does the file hold it?  Asked of leaves alone."""
        raise NotImplementedError

    def unpack(self, name: str, packed: Packed) -> Any:
        """The value that :meth:`pack` put there; None where there is none."""
        raise NotImplementedError
