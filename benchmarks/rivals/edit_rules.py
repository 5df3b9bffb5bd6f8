"""Rules of prefixes and suffixes, in the manner of the baseline of Cotterell et al. 2017.

Source and target are cut at their longest common piece: ``front piece back``, ``front' piece
back'``.  Rules of a context (a tag with features) say what becomes of the end, with any number of
letters of the piece before it, and what becomes of the beginning.  A new source takes the rule
with the longest end that it has, of these the most frequent, and then the beginning likewise.
A source whose context was never seen takes the rules of all contexts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    Rules = dict[str, Counter[tuple[str, str]]]


class EditRules:
    """What becomes of ends and beginnings, by context."""

    def fit(
        self, contexts: Sequence[str], sources: Sequence[str], targets: Sequence[str]
    ) -> EditRules:
        """Count rules."""
        self.ends: Rules = defaultdict(Counter)
        self.beginnings: Rules = defaultdict(Counter)
        for context, source, target in zip(contexts, sources, targets, strict=True):
            found = SequenceMatcher(None, source, target, autojunk=False).find_longest_match()
            a, b, n = found
            piece = source[a : a + n]
            for where in ("", context):
                for at in range(n + 1):
                    end = piece[n - at :] + source[a + n :], piece[n - at :] + target[b + n :]
                    self.ends[where][end] += 1
                    self.beginnings[where][source[:a] + piece[:at], target[:b] + piece[:at]] += 1
        self._of = {
            kind: {context: _best(rules) for context, rules in table.items()}
            for kind, table in (("end", self.ends), ("beginning", self.beginnings))
        }
        return self

    def predict(self, contexts: Sequence[str], sources: Sequence[str]) -> list[str]:
        """The target of each source."""
        return [
            self._one(context, source) for context, source in zip(contexts, sources, strict=True)
        ]

    def _one(self, context: str, source: str) -> str:
        where = context if context in self.ends else ""
        ends, beginnings = self._of["end"][where], self._of["beginning"][where]
        for at in range(len(source) + 1):
            if source[at:] in ends:
                source = source[:at] + ends[source[at:]]
                break
        for at in range(len(source), -1, -1):
            if source[:at] in beginnings:
                return beginnings[source[:at]] + source[at:]
        return source


def _best(rules: Counter[tuple[str, str]]) -> dict[str, str]:
    """The most frequent new piece of each old one."""
    best: dict[str, tuple[int, str]] = {}
    for (old, new), n in sorted(rules.items()):
        if old not in best or n > best[old][0]:
            best[old] = n, new
    return {old: new for old, (_, new) in best.items()}
