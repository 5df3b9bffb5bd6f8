"""Brown clustering (figure 1 of Stratos et al.): greedy merges that cost least likelihood.

Words come in by frequency; m + 1 clusters are active at most; the pair whose union takes least
from the likelihood is merged.  The m clusters that are left are merged down to one: the tree.

Only pairs of words that are in are counted, and n(c) are the tokens of cluster c in the whole
text, as p1 and p2 are in figure 7.  All losses are kept up to date by O(1) work per pair, as
there; pairs that a merge leaves as they were (both clusters never beside the smaller part) are
skipped, which makes a merge O(m times neighbouring clusters) where figure 7 is O(m^2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.errors import SettingsError

if TYPE_CHECKING:
    import numpy.typing as npt

    from eigentext.base.types import Float64s, Int64s


@dataclass(frozen=True)
class BrownResult:
    """``labels`` (n,) clusters, numbered by their most frequent word; ``merges`` (m - 1, 2) the
    clusters joined on the way to the root, the union keeping the first one's number."""

    labels: Int64s
    merges: Int64s
    losses: Float64s


def brown(
    pairs: Any, tokens: npt.NDArray[Any], n_clusters: int, order: npt.NDArray[np.intp]
) -> BrownResult:
    """Cluster words by their (n, n) CSR pair counts and token counts, in the given order.

    >>> from scipy.sparse import csr_array
    >>> pairs = csr_array(np.array([[0, 0, 4, 3], [0, 0, 5, 2], [3, 3, 0, 0], [2, 2, 0, 0]]))
    >>> brown(pairs, np.array([7, 7, 9, 5]), 2, np.arange(4)).labels.tolist()
    [0, 0, 1, 1]
    """
    from eigentext.words.clusters.exchange import NeighbourLists
    from eigentext.words.kernels import brown as kernels

    n_words = pairs.shape[0]
    if not 1 <= n_clusters <= n_words:
        raise SettingsError(f"{n_clusters} clusters of {n_words} words: expected 1 to {n_words}")
    slot_of = np.full(n_words, -1, dtype=np.int64)
    merges = np.zeros((n_clusters - 1, 2), dtype=np.int64)
    losses = np.zeros(n_clusters - 1)
    kernels.brown(
        np.asarray(order, dtype=np.int64),
        n_clusters,
        np.maximum(tokens, 1).astype(np.float64),
        NeighbourLists.of(pairs),
        slot_of,
        merges,
        losses,
    )
    slots, first = np.unique(slot_of[order], return_index=True)
    number = np.zeros(n_clusters + 1, dtype=np.int64)
    number[slots[np.argsort(first, kind="stable")]] = np.arange(n_clusters)
    return BrownResult(number[slot_of], number[merges], losses)
