"""What the states of a latent tree model are about: typical words, parents and children.

``states_of`` reads p(x | h) and p(child's state | h) off the parameters; a state is called by its
most probable word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from eigentext.dependency.latent import LatentTreeModel

__all__ = ["LatentState", "states_of"]


class LatentState(NamedTuple):
    """One state, most typical things first.

    ``share``     of all words of the training trees
    ``words``     (name, p(name | state)) of the first channel
    ``children``  (edge class, typical word of the child's state, p(child's state | state))
    """

    state: int
    tag: str
    share: float
    words: list[tuple[str, float]]
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
    >>> from eigentext.trees.dependency import DependencyTree
    >>> tree = DependencyTree(["a", "dog", "barks"], [2, 3, 0], tags=["DET", "NOUN", "VERB"])
    >>> model = LatentTreeModel(3, min_count=1, iterations=2).fit([tree] * 3)
    >>> for state in states_of(model, top=1):
    ...     print(state.tag, state.words[0][0], state.children[0][:2])
    DET a|DET ('left', 'a|DET')
    NOUN dog|NOUN ('left', 'a|DET')
    VERB barks|VERB ('left', 'dog|NOUN')
    """
    params = model.params
    names = model.observations_.names[0]
    tags = model.observations_.tags
    share = model.shares_
    heading = [names[int(params.O[:, h].argmax())] for h in range(model.k)]
    classes = _CLASSES[model.edges]
    T = np.asarray(params.T)
    for h in np.argsort(-share, kind="stable"):
        words = [(names[x], float(params.O[x, h])) for x in _first(params.O[:, h], top)]
        flat = T[:, :, h]
        pairs = [divmod(int(at), model.k) for at in _first(flat.ravel(), top)]
        children = [(classes[c], heading[b], float(flat[c, b])) for c, b in pairs]
        tag = tags[model.ranges_.group[h]] if model.split else ""
        yield LatentState(int(h), tag, float(share[h]), words, children)


def _first(values: npt.NDArray[np.float64], top: int) -> npt.NDArray[np.intp]:
    found = np.argsort(-values, kind="stable")[:top]
    return found[values[found] > 0]
