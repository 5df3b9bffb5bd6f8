"""What was computed lately, within a stated size: long-running services must not grow.

:class:`Remembered` is a dictionary of two halves.  What is put in or asked for goes to the young
half; when that is full it becomes the old one, and the old one is forgotten.  So everything that
was used lately is there, nothing stays for ever, and no order has to be kept up.
:class:`Remembering` is a function with such a memory.  Neither takes its contents into a pickle:
they are computed again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Remembered(Generic[K, V]):
    """The latest values by key; together they cost at most ``most``, one each unless told.

    A single value that costs more than half of that is kept alone.

    >>> known = Remembered(4)
    >>> for n in range(6):
    ...     _ = known.put(n, str(n))
    >>> known.get(0), known.get(5), len(known) <= 4
    (None, '5', True)
    """

    def __init__(self, most: int, cost: Callable[[V], int] | None = None) -> None:
        self.most = most
        self._cost = cost
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}
        self._spent = 0

    def __len__(self) -> int:
        return len(self._young.keys() | self._old.keys())

    def get(self, key: K) -> V | None:
        """The value, if it is remembered."""
        value = self._young.get(key)
        if value is None:
            value = self._old.get(key)
            if value is not None:
                self.put(key, value)
        return value

    def put(self, key: K, value: V) -> V:
        """Remember the value, and give it back."""
        cost = 1 if self._cost is None else self._cost(value)
        if self._spent + cost > self.most // 2:
            self._old, self._young, self._spent = self._young, {}, 0
        self._spent += cost
        self._young[key] = value
        return value

    def get_or(self, key: K, make: Callable[[], V]) -> V:
        """The value that is remembered, or else a new one."""
        value = self.get(key)
        return self.put(key, make()) if value is None else value

    def __getstate__(self) -> dict[str, Any]:
        return {"most": self.most, "_cost": self._cost}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.clear()


class Remembering(Generic[K, V]):
    """A function of one argument that remembers its latest answers.

    >>> known = Remembering(len, 2)
    >>> known("abc"), len(known.answers)
    (3, 1)
    """

    def __init__(
        self, function: Callable[[K], V], most: int, cost: Callable[[V], int] | None = None
    ) -> None:
        self.function = function
        self.answers: Remembered[K, V] = Remembered(most, cost)

    def __call__(self, key: K) -> V:
        """The answer, remembered or new."""
        return self.answers.get_or(key, lambda: self.function(key))
