"""Words of which something is decided: their candidates are those that agree with it.

1. A decided word gets a row of its own, with the candidates of its form that agree with what was
   decided; where none does, with the tags of the tag set that do, the most frequent first.
2. Where no tag agrees with all of it, what is least telling is left out: FEATS, then XPOS.
3. The chain then runs as ever: the other words are tagged given these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from eigentext.language.formats.conllu import parse_pairs
from eigentext.tagging.morphology.words import KNOWN_KEYS, MOST_CANDIDATES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eigentext.base.types import Int64s
    from eigentext.tagging.morphology.kernels.words import Lists
    from eigentext.tagging.morphology.lemmas import Lemmatiser
    from eigentext.tagging.morphology.levels import Keys
    from eigentext.tagging.morphology.tags import TagSet
    from eigentext.tagging.morphology.words import Lexicon, WordTable

COLUMNS = ("upos", "xpos", "feats")
_LEFT_OUT = ((), ("feats",), ("xpos",), ("feats", "xpos"))


class Decided(NamedTuple):
    """A table with a row more for each decided word; ``followed``: which of them a tag fits."""

    keys: Keys
    lists: Lists
    rows: Int64s
    followed: dict[int, bool]


def restricted(
    table: WordTable,
    tags: TagSet,
    lexicon: Lexicon,
    lemmatiser: Lemmatiser,
    forms: Sequence[str],
    rows: Int64s,
    decided: Mapping[int, Mapping[str, str]],
) -> Decided:
    """The table in which word i of ``rows`` may only be what ``decided[i]`` says.

    ``decided`` has any of :data:`COLUMNS` for some words.  A word that no tag fits stays open.
    """
    if table.lists.tags.shape[0] == 0 or not decided:
        return Decided(table.keys, table.lists, rows, {})
    frequent = np.argsort(-np.bincount(lexicon.tags, lexicon.counts, len(tags)), kind="stable")
    keys = np.concatenate([table.keys, table.keys[rows[list(decided)]]])
    lists = type(table.lists)(
        *(np.concatenate([part, part[rows[list(decided)]]]) for part in table.lists)
    )
    new_rows, followed = rows.copy(), {}
    for at, (word, values) in enumerate(decided.items(), start=len(table.keys)):
        old = int(rows[word])
        own = lists.tags[old, : lists.n[old]].tolist()
        chosen, whole = _agreeing(tags, values, own, frequent.tolist())
        followed[word] = whole
        if not chosen:
            continue
        new_rows[word] = at
        known = {tag: c for c, tag in enumerate(own)}
        lists.n[at] = len(chosen)
        for c, tag in enumerate(chosen):
            lists.tags[at, c] = tag
            if tag in known:
                lists.shares[at, c] = table.lists.shares[old, known[tag]]
                lists.keys[at, c] = table.lists.keys[old, known[tag]]
            else:
                _, flags = lemmatiser.chosen([forms[word]], np.zeros(1, np.int64), np.array([tag]))
                lists.shares[at, c] = 0.0
                lists.keys[at, c] = KNOWN_KEYS[int(flags[0])]
    return Decided(keys, lists, new_rows, followed)


def _agreeing(
    tags: TagSet, values: Mapping[str, str], own: Sequence[int], frequent: Sequence[int]
) -> tuple[list[int], bool]:
    """Tags that agree, and whether with all that was decided."""
    for left_out in _LEFT_OUT:
        wanted = {name: value for name, value in values.items() if name not in left_out}
        if "xpos" in wanted and set(tags.columns[1]) == {"_"}:
            del wanted["xpos"]  # it is no part of tags here, but told by the form
        if not wanted and left_out:
            return [], False
        for among in (own, frequent):
            chosen = [tag for tag in among if _agrees(tags.triples[tag], wanted)]
            if chosen:
                return chosen[:MOST_CANDIDATES], not left_out
    return [], False


def _agrees(triple: tuple[str, str, str], wanted: Mapping[str, str]) -> bool:
    found = dict(zip(COLUMNS, triple, strict=True))
    return all(
        parse_pairs(found[name]) == parse_pairs(value) if name == "feats" else found[name] == value
        for name, value in wanted.items()
    )
