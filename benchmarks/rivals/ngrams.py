"""Character n-grams, Witten-Bell and Kneser-Ney, and the suffix guesser of Brants 2000."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

BEGIN, END = "<s>", "</s>"
_DISCOUNT = 0.75


class NGrams:
    """p(x | the ``order - 1`` symbols before), interpolated down to the even distribution.

    ``kneser``: lower orders count different symbols before (Kneser and Ney 1995), with one
    discount; else Witten and Bell's weights.
    """

    def __init__(self, order: int, *, kneser: bool) -> None:
        self.order, self.kneser = order, kneser

    def fit(self, strings: Sequence[Sequence[str]]) -> NGrams:
        """Count."""
        full: Counter[tuple[str, ...]] = Counter()
        for string in strings:
            marked = (BEGIN,) * (self.order - 1) + tuple(string) + (END,)
            for at in range(self.order - 1, len(marked)):
                full[marked[at - self.order + 1 : at + 1]] += 1
        self.n_symbols = len({gram[-1] for gram in full}) + 1
        self.tables: list[dict[tuple[str, ...], Counter[str]]] = []
        grams = full
        for _ in range(self.order):
            table: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
            for gram, n in grams.items():
                table[gram[:-1]][gram[-1]] += n
            self.tables.append(dict(table))
            shorter: Counter[tuple[str, ...]] = Counter()
            for gram, n in grams.items():
                shorter[gram[1:]] += 1 if self.kneser else n
            grams = shorter
        return self

    def share(self, before: tuple[str, ...], symbol: str) -> float:
        """p(symbol | before)."""
        p = 1 / self.n_symbols
        for level in range(self.order - 1, -1, -1):
            context = before[level:]
            table = self.tables[level].get(context)
            if table is None:
                continue
            n, kinds = sum(table.values()), len(table)
            if self.kneser:
                p = (max(table[symbol] - _DISCOUNT, 0) + _DISCOUNT * kinds * p) / n
            else:
                p = (table[symbol] + kinds * p) / (n + kinds)
        return p

    def surprisals(self, strings: Sequence[Sequence[str]]) -> np.ndarray:
        """-log p of every symbol and end."""
        nats: list[float] = []
        for string in strings:
            marked = (BEGIN,) * (self.order - 1) + tuple(string) + (END,)
            nats += [
                -np.log(self.share(marked[at - self.order + 1 : at], marked[at]))
                for at in range(self.order - 1, len(marked))
            ]
        return np.array(nats)


def best_order(strings: Sequence[Sequence[str]], *, kneser: bool, orders: Sequence[int]) -> int:
    """The order that is best for every tenth string, learned from the others."""
    kept = [one for at, one in enumerate(strings) if at % 10]
    rest = strings[::10]
    means = {n: float(NGrams(n, kneser=kneser).fit(kept).surprisals(rest).mean()) for n in orders}
    return min(means, key=means.__getitem__)


class SuffixGuesser:
    """p(tag | the last letters and the case of the first), smoothed as Brants 2000 does."""

    longest = 10

    def fit(self, words: Sequence[str], tags: Sequence[str]) -> SuffixGuesser:
        """Count."""
        self.tags = sorted(set(tags))
        number = {tag: at for at, tag in enumerate(self.tags)}
        self.counts: dict[tuple[str, bool], np.ndarray] = {}
        for word, tag in zip(words, tags, strict=True):
            for n in range(min(self.longest, len(word)) + 1):
                key = (word[len(word) - n :], word[:1].isupper())
                self.counts.setdefault(key, np.zeros(len(self.tags)))[number[tag]] += 1
        prior = np.bincount([number[tag] for tag in tags], minlength=len(self.tags))
        self.prior = prior / prior.sum()
        self.theta = float(self.prior.std(ddof=1))
        return self

    def shares(self, word: str) -> np.ndarray:
        """p(tag | word)."""
        p = self.prior
        for n in range(min(self.longest, len(word)) + 1):
            counts = self.counts.get((word[len(word) - n :], word[:1].isupper()))
            if counts is None:
                break
            p = (counts / counts.sum() + self.theta * p) / (1 + self.theta)
        return p
