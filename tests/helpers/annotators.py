"""Simulated annotators: they see a proposal, correct the first wrong thing, and look again."""

from __future__ import annotations

from typing import Any, NamedTuple

from eigentext.language import Doc
from eigentext.studio.tasks.task import numbers_of

MOST = 500  # corrections of one sentence: more means that it goes in circles


class Corrected(NamedTuple):
    """What it took: wrong things in the first proposal, corrections made, the decisions."""

    wrong: int
    corrections: int
    decisions: dict[tuple[int, str], Any]
    analysis: dict[str, Any]


def correct(task, document: Doc, sentence: int, gold: dict[str, Any]) -> Corrected:
    """Correct a sentence until it is as gold; every decision is checked, and held by proposals."""
    decisions: dict[tuple[int, str], Any] = {}
    wrong = None
    while True:
        proposal = task.propose(document, decisions, sentence)
        held = {item.item: item for item in proposal.items}
        for (_, name), value in decisions.items():
            assert name in held, f"{name} is gone"
            assert held[name].decided
            assert held[name].certainty == 1.0
            kept = held[name].value
            if not is_label(value):
                assert not task.differ(kept, value), f"{name}: {kept} for {value}"
        changes = remaining(task, proposal.analysis, gold)
        wrong = len(changes) if wrong is None else wrong
        if not changes:
            return Corrected(wrong, len(decisions), decisions, dict(proposal.analysis))
        item, value = changes[0]
        key = sentence, item
        value = task.check(document, sentence, item, value)
        assert decisions.get(key) != value, f"{item} was decided and is wrong again"
        decisions[key] = value
        assert len(decisions) <= MOST


def remaining(task: Any, analysis: dict[str, Any], gold: dict[str, Any]) -> list[tuple[str, Any]]:
    """The decisions that would turn one analysis into another, in reading order.

    What is there and should not be comes last: it often goes by itself.
    """
    now, right = dict(task.items_of(analysis)), dict(task.items_of(gold))
    changes = {
        item: value
        for item, value in right.items()
        if item not in now or task.differ(now[item], value)
    }
    extra = {item: _removal(task.name, item) for item in now if item not in right}
    return [
        (item, part[item])
        for part in (changes, extra)
        for item in sorted(part, key=_reading_order)
    ]


def _removal(task: str, item: str) -> dict[str, Any]:
    if task == "segmentation":
        return {"cut": "none"} if item[0] == "b" else {"words": []}
    return {"entities": {"type": None}, "constituency": {"forbid": True}}[task]


def _reading_order(item: str) -> tuple[int, int, str]:
    first, *rest = numbers_of(item)
    return first, -rest[0] if rest else 0, item


def is_label(value: Any) -> bool:
    """Spans of constituents have chains of labels: one form is as good as the other."""
    return isinstance(value, dict) and bool({"label", "labels"} & set(value))
