"""Small random trees, and latent tree models learned from them."""

from __future__ import annotations

import numpy as np

from eigentext.dependency import LatentTreeModel
from eigentext.language.trees.dependency import DependencyTree

WORDS = ("ant", "bee", "cow", "dog", "elk", "fox")
TAGS = ("A", "B", "C")


def random_heads(rng, n, *, roots=1):
    order = rng.permutation(n)
    heads = np.zeros(n, int)
    for at in range(roots, n):
        heads[order[at]] = order[rng.integers(at)] + 1
    return heads


def random_trees(seed, n_trees=60, longest=8):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n_trees):
        n = int(rng.integers(1, longest + 1))
        heads = random_heads(rng, n)
        # a child's word depends on its parent's, so that there is something to learn
        words = [int(x) for x in rng.integers(6, size=n)]
        for i, head in enumerate(heads):
            if head and rng.random() < 0.7:
                words[i] = (words[head - 1] + (1 if head > i + 1 else 2)) % 6
        forms = [WORDS[w] for w in words]
        found.append(DependencyTree(forms, heads, tags=[TAGS[w % 3] for w in words]))
    return found


def fitted(trees=0, **how):
    how = {"n_states": 6, "min_count": 1, "n_iter": 3, **how}
    return LatentTreeModel(**how).fit(random_trees(trees))
