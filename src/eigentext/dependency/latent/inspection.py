"""What the states of a latent tree model are about: typical words and children; words drawn.

``states_of`` reads p(x | h) and p(child's state | h) off the parameters; a state is called by its
most probable word.  ``sample_words`` draws states from the root down, and what they show.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eigentext.base.types import Float64s
from eigentext.dependency.latent.learn import EDGES
from eigentext.dependency.latent.model import LatentTreeModel
from eigentext.dependency.latent.observations import check_heads


class LatentState(NamedTuple):
    """One state, most typical things first."""

    state: int
    tag: str
    share: float  # of all words of the training trees
    words: list[tuple[str, float]]  # (name, p(name | state)) of the first channel
    # (edge class, typical word of the child's state, p(child's state | state))
    children: list[tuple[str, str, float]]


_CLASSES = {
    "undirected": ("child",),
    "directed": ("left", "right"),
    "adjacent": ("left next", "right next", "left apart", "right apart"),
    "ordered": ("left nearest", "right nearest", "left further", "right further"),
}


def states_of(model: LatentTreeModel, *, top: int = 8) -> Iterator[LatentState]:
    """The states, the most frequent first.

    >>> from eigentext.dependency import LatentTreeModel
    >>> from eigentext.language.trees.dependency import DependencyTree
    >>> tree = DependencyTree(["a", "dog", "barks"], [2, 3, 0], tags=["DET", "NOUN", "VERB"])
    >>> model = LatentTreeModel(3, min_count=1, n_iter=2).fit([tree] * 3)
    >>> {state.tag: state.children[0][:2] for state in states_of(model, top=1)}["VERB"]
    ('left', 'dog|NOUN')
    """
    params = model.params
    names = model.observations_.names[0]
    tags = model.observations_.tags
    share = model.shares_
    learned = model.settings_
    heading = [names[x] for x in params.O.argmax(axis=0).tolist()]
    classes = _CLASSES[learned.edges]
    T = np.asarray(params.T)
    for h in np.argsort(-share, kind="stable"):
        words = [(names[x], float(params.O[x, h])) for x in _first(params.O[:, h], top)]
        flat = T[:, :, h]
        pairs = [divmod(int(at), learned.n_states) for at in _first(flat.ravel(), top)]
        children = [(classes[c], heading[b], float(flat[c, b])) for c, b in pairs]
        tag = tags[model.ranges_.group[h]] if learned.split else ""
        yield LatentState(int(h), tag, float(share[h]), words, children)


def _first(values: Float64s, top: int) -> npt.NDArray[np.intp]:
    order = np.argsort(-values, kind="stable")[:top]
    return order[values[order] > 0]


def sample_words(
    model: LatentTreeModel, heads: Sequence[int], *, seed: int = 0
) -> list[tuple[str, ...]]:
    """Draw what each word of a tree shows: for each channel its name, one tuple per word."""
    from eigentext.dependency.kernels.latent import forest_structure

    model.check_fitted()
    array = check_heads(np.asarray(heads)[None], len(heads))[0]
    n = len(array)
    classes, shown = np.zeros(n, np.int64), np.zeros((3, n), np.int64)
    if not forest_structure(array, np.array([0, n]), EDGES[model.settings_.edges], classes, shown):
        raise ValueError("heads form a cycle")
    rng = np.random.default_rng(seed)
    draws = rng.random(n)
    states: dict[int, int] = {}
    while len(states) < n:
        for word in range(n):
            head = int(array[word]) - 1
            if word in states or (head >= 0 and head not in states):
                continue
            tables = model.tables_
            distribution = tables.pi if head < 0 else tables.T[classes[word], states[head]]
            states[word] = _drawn(distribution, draws[word])
    params = model.params
    channels = list(zip(model.observations_.names, (params.O, *params.more), strict=False))
    return [
        tuple(names[_drawn(table[:, states[word]], rng.random())] for names, table in channels)
        for word in range(n)
    ]


def _drawn(distribution: Float64s, draw: float) -> int:
    """The place where the running sum passes ``draw`` in [0, 1)."""
    total = np.cumsum(distribution)
    return int(np.searchsorted(total, draw * total[-1], side="right").clip(max=len(total) - 1))
