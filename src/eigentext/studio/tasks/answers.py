"""What a layer says of its sentences, in the shapes that measures compare.

:func:`newest` brings decision rows to what holds; `Task.compared` and `Task.answers` bring that to
values by word, arcs by word, spans and trees.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from eigentext.evaluate.agreement import Arc
    from eigentext.language.trees.constituent import Tree
    from eigentext.studio.store.records import Decision


@dataclass
class Answers:
    """What one layer says of one document.

    ``values``  by name (``label``, ``upos``, ...) and (sentence, word)
    ``arcs``    by sentence: (head, relation) of each word, None where nothing was decided
    ``spans``   by name (``entities``, ``tokens``, ``sentences``) and finished sentence
    ``trees``   by finished sentence
    """

    values: dict[str, dict[tuple[int, int], Hashable]] = field(default_factory=dict)
    arcs: dict[int, list[Arc]] = field(default_factory=dict)
    spans: dict[str, dict[int, list[tuple[Any, ...]]]] = field(default_factory=dict)
    trees: dict[int, Tree] = field(default_factory=dict)


def newest(rows: Iterable[Decision]) -> dict[tuple[int, str], Decision]:
    """The newest decision of each item, of those that were not undone; rows in their order.

    None as a value takes an item back: it is as if it were not there.
    """
    latest: dict[tuple[int, str], Decision] = {}
    for row in rows:
        if row.undone is None:
            latest[row.sentence, row.item] = row
    return {place: row for place, row in latest.items() if row.value is not None}
