"""Simulated annotators: they see a proposal, correct the first wrong thing, and look again."""

from __future__ import annotations

from typing import Any, NamedTuple

from eigentext.language import Doc

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
        changes = task.corrections(proposal.analysis, gold)
        wrong = len(changes) if wrong is None else wrong
        if not changes:
            return Corrected(wrong, len(decisions), decisions, dict(proposal.analysis))
        item, value = changes[0]
        key = sentence, item
        value = task.check(document, sentence, item, value)
        assert decisions.get(key) != value, f"{item} was decided and is wrong again"
        decisions[key] = value
        assert len(decisions) <= MOST


def is_label(value: Any) -> bool:
    """Spans of constituents have chains of labels: one form is as good as the other."""
    return isinstance(value, dict) and bool({"label", "labels"} & set(value))
