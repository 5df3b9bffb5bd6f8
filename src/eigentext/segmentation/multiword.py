"""Third stage: the words of multiword tokens."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MultiwordStage"]


@dataclass
class MultiwordStage:
    """What was learned of multiword tokens: the words of each form."""

    table: dict[str, tuple[str, ...]]

    @classmethod
    def learn(cls, forms: Sequence[str], words: Sequence[tuple[str, ...]]) -> MultiwordStage:
        """Learn from tokens and their words, none for an ordinary token."""
        counts: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        split = {form for form, parts in zip(forms, words, strict=True) if parts}
        for form, parts in zip(forms, words, strict=True):
            if form in split:
                counts[form][parts] += 1
        table = {
            form: min(count, key=lambda parts: (-count[parts], parts))
            for form, count in sorted(counts.items())
        }
        return cls({form: parts for form, parts in table.items() if parts})

    def answer(self, forms: Sequence[str]) -> list[tuple[str, ...]]:
        """The words of each token, none of an ordinary token."""
        return [self.table.get(form, ()) for form in forms]
