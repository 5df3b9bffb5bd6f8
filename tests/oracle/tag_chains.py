"""The chain of the tagger by its equation: features as texts, and every sequence in turn.

A weight belongs to a pair of texts, as does a count; only ``address`` says where the kernels keep
it.  Nothing here is shared between the words of a sentence but the candidates.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from typing import Any, NamedTuple

from eigentext.base.hashing import MASK, MIXER, mixed


def mix(key: int, *parts: int) -> int:
    """A key of keys, never 0."""
    for part in parts:
        key = mixed(key, [part]) or 1
    return key


def address(feature: int, part: int, size: int) -> int:
    """Where the weight of a feature with a part is kept."""
    key = ((feature ^ part) * MIXER) & MASK
    return (key ^ key >> 32) % size


class Chain(NamedTuple):
    """Sentences of words with candidates, as the kernels take them."""

    rows: list[int]
    slots: Any
    lists: Any
    tags: Any
    size: int
    prior: float
    width: float

    def candidates(self, i: int) -> list[int]:
        row = self.rows[i]
        return self.lists.tags[row, : self.lists.n[row]].tolist()

    def features(self, i: int) -> list[int]:
        """Keys of the templates around word i that are filled."""
        found = []
        for parts, seed in zip(self.slots.parts.tolist(), self.slots.seeds.tolist(), strict=True):
            keys = []
            for slot, place in parts:
                if slot >= 0:
                    at = i + place
                    row = 0 if at < 0 else 1 if at >= len(self.rows) else self.rows[at]
                    keys.append(int(self.slots.keys[row, slot]))
            if all(keys):
                found.append(mix(int(seed), *keys))
        return found

    def parts(self, tag: int) -> list[int]:
        return self.tags.parts[self.tags.ptr[tag] : self.tags.ptr[tag + 1]].tolist()

    def word_places(self, i: int, c: int) -> list[int]:
        """Weights of candidate c of word i, but for those that all candidates have."""
        every = self.candidates(i)
        if len(every) == 1:
            return []
        tag, key = every[c], int(self.lists.keys[self.rows[i], c])
        own = [1, int(self.tags.upos[tag]), int(self.tags.keys[tag])]
        found = [address(key, part, self.size) for part in own]
        for part in self.parts(tag):
            if not all(part in self.parts(other) for other in every):
                name = int(self.tags.part_keys[part])
                found += [address(one, name, self.size) for one in self.features(i)]
        return found

    def pair_places(self, a: int, b: int) -> list[int]:
        """Weights of tag b after tag a."""
        upos, keys = self.tags.upos.tolist(), self.tags.keys.tolist()
        both = mix(11, upos[a], upos[b])
        pairs = [(both, 0), (mix(12, keys[a]), keys[b]), (mix(13, keys[a]), upos[b])]
        pairs.append((mix(14, upos[a]), keys[b]))
        for name, (before, value) in enumerate(
            zip(self.tags.values[a].tolist(), self.tags.values[b].tolist(), strict=True)
        ):
            if value:
                same = 0 if not before else 1 if before == value else 2
                pairs.append((mix(both, before), value))
                pairs.append((mix(both, name), mix(15, same)))
        return [address(feature, part, self.size) for feature, part in pairs]

    def word_scores(self, weights: Any, i: int) -> list[float]:
        shares = self.lists.shares[self.rows[i]]
        n = len(self.candidates(i))
        if n == 1:
            return [0.0]
        return [
            self.prior * float(shares[c]) + sum(float(weights[p]) for p in self.word_places(i, c))
            for c in range(n)
        ]

    def kept(self, weights: Any, i: int, gold: int = -1) -> list[int]:
        """Candidates that are near enough to the best one, and the right one."""
        scores = self.word_scores(weights, i)
        best = max(scores)
        return [c for c, s in enumerate(scores) if s >= best - self.width or c == gold]

    def places(self, path: tuple[int, ...], kept: list[list[int]]) -> Counter[int]:
        """How often a sequence has each weight."""
        found: Counter[int] = Counter()
        before, alone = len(self.tags.keys) - 1, True
        for i, c in enumerate(path):
            tag = self.candidates(i)[c]
            found.update(self.word_places(i, c))
            if not (alone and len(kept[i]) == 1):
                found.update(self.pair_places(before, tag))
            before, alone = tag, len(kept[i]) == 1
        return found

    def sequences(
        self, weights: Any, gold: list[int] | None = None
    ) -> list[tuple[tuple[int, ...], float, Counter[int]]]:
        """(candidates, score, counts of weights) of every sequence that is left."""
        given = gold or [-1] * len(self.rows)
        kept = [self.kept(weights, i, right) for i, right in enumerate(given)]
        found = []
        for path in product(*kept):
            own = self.places(path, kept)
            score = sum(float(weights[at]) * n for at, n in own.items())
            for i, c in enumerate(path):
                if len(self.candidates(i)) > 1:
                    score += self.prior * float(self.lists.shares[self.rows[i], c])
            found.append((path, score, own))
        return found

    def shares(self, weights: Any, heat: float) -> list[list[float]]:
        """The probability of each candidate of each word."""
        every = self.sequences(weights)
        top = max(score for _, score, _ in every)
        odds = [(path, math.exp((score - top) / heat)) for path, score, _ in every]
        total = sum(one for _, one in odds)
        return [
            [sum(one for path, one in odds if path[i] == c) / total for c in range(12)]
            for i in range(len(self.rows))
        ]

    def gradient(self, weights: Any, gold: list[int]) -> tuple[dict[int, float], float]:
        """Of the log probability of a sequence, by weight; and that of its words one by one."""
        every = self.sequences(weights, gold)
        top = max(score for _, score, _ in every)
        odds = [math.exp(score - top) for _, score, _ in every]
        total = sum(odds)
        slopes: dict[int, float] = {}
        for (path, _, own), one in zip(every, odds, strict=True):
            for at, n in own.items():
                change = n * ((list(path) == gold) - one / total)
                slopes[at] = slopes.get(at, 0.0) + change
        log = 0.0
        for i, right in enumerate(gold):
            hits = (one for (path, *_), one in zip(every, odds, strict=True) if path[i] == right)
            log += math.log(sum(hits) / total)
        return slopes, log
