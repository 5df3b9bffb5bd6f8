"""Targets found by workers are those found here, whatever the workers have seen or lost."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest
from scipy.sparse import csr_array

from eigentext.base.engines import LocalEngine, using_cluster
from eigentext.words.clusters import exchange, exchange_workers
from eigentext.words.clusters.exchange import frequency_start, refine


class Forgetful(LocalEngine):
    """Hands on what is shared as it was at first, as it is by now, or as another worker has it."""

    def __init__(self, jobs: int, seed: int) -> None:
        super().__init__(jobs)
        self.random = random.Random(seed)
        self.sent: list[bytes] = []
        self.kept: dict[tuple[int, int], object] = {}
        self.seen: set[str] = set()

    def share(self, value, prepare=None):
        self.sent.append(pickle.dumps(value))
        return Shared(len(self.sent) - 1)

    def map(self, function, tasks):
        for task in tasks:
            yield function(tuple(self._taken(part) for part in task))

    def _taken(self, part):
        if not isinstance(part, Shared):
            return part
        worker = self.random.randrange(self.jobs)
        fate = self.random.choice(["kept", "kept", "kept", "made anew", "from another"])
        other = self.kept.get((self.random.randrange(self.jobs), part))
        if fate == "from another" and other is not None:
            self.kept[worker, part] = pickle.loads(pickle.dumps(other))
        elif fate == "made anew" or (worker, part) not in self.kept:
            self.kept[worker, part] = pickle.loads(self.sent[part])
        self.seen.add(fate)
        return self.kept[worker, part]


class Shared(int):
    """The number of something that was shared."""


@pytest.mark.parametrize("seed", range(6))
def test_workers_that_forget_find_the_same(seed, monkeypatch):
    n, m = 150, 9
    rng = np.random.default_rng(seed)
    pairs = csr_array(rng.poisson(2, (n, n)) * (rng.random((n, n)) < 0.3))
    order = np.argsort(-pairs.sum(axis=1), kind="stable")
    start = frequency_start(order, m)
    monkeypatch.setattr(exchange, "_SHARE", 4)
    monkeypatch.setattr(exchange, "_FEWEST_AT_ONCE", 4)
    monkeypatch.setattr(exchange_workers, "_LEAST_WORK", 40)
    monkeypatch.setattr(exchange_workers, "_NEW_COPY", [1, 4, 1000][seed % 3])
    here = refine(pairs, start, m, order, passes=4, tol=0)
    engine = Forgetful(3, seed)
    with using_cluster(engine):
        there = refine(pairs, start, m, order, passes=4, tol=0)
    assert engine.seen == {"kept", "made anew", "from another"}
    assert there.labels.tolist() == here.labels.tolist()
    assert there.information == here.information
    assert there.moves == here.moves
    assert sum(here.moves) > n  # words move back and forth
