"""From the posteriors of one or several models to tags, k-best sequences and confidence.

1. Each model's posteriors of neighbouring tags make a Markov chain over tags,
   q(t) = q(t1) prod_i q(t_i+1 | t_i): the chain nearest to p(tags | words) with states summed out.
   With one state a tag it is p(tags | words) itself.  Negative posteriors (moments) count as none.
2. Several models: the geometric mean of their chains, which is a chain again.
3. ``posterior`` takes the tag with the highest share at each token, ``product`` the sequence with
   the highest share (the max-rule-product of parsing); k-best lists are exact for the chain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.types import Float64s, Int64s
    from eigentext.sequences.tagger.chain import Candidates, Posteriors

_NONE = 1e-12  # the least share of a pair: no model has a veto


class TagChain(NamedTuple):
    """Start weights of candidates and weights of pairs, see ``kernels.tag_chain``."""

    candidates: Candidates
    start: Float64s
    pairs: Float64s

    @classmethod
    def of(cls, candidates: Candidates, models: Sequence[Posteriors]) -> TagChain:
        """The geometric mean of the models' chains."""
        ptr = candidates.ptr
        first = int(ptr[1])
        log_start, log_pairs = np.zeros(first), np.zeros(int(candidates.pair_ptr[-1]))
        width = np.diff(ptr)
        # rows: one for each candidate but the last token's, as long as the next token is wide
        length = np.repeat(width[1:], width[:-1])
        row_at = np.cumsum(length) - length
        for model in models:
            pairs = np.maximum(model.pairs, _NONE)
            if len(length):
                of_row = np.add.reduceat(pairs, row_at)
                log_pairs += np.log(pairs / np.repeat(of_row, length))
                log_start += np.log(of_row[:first])
            else:
                log_start += np.log(np.maximum(model.single, _NONE))
        n = len(models)
        return cls(candidates, np.exp(log_start / n), np.exp(log_pairs / n))

    @classmethod
    def of_words(cls, candidates: Candidates, p: Float64s) -> TagChain:
        """What is left when no model gives any weight: the words' own tags, P(t | w)."""
        width = np.diff(candidates.ptr)
        rows = [
            np.tile(p[a:b], n)
            for a, b, n in zip(
                candidates.ptr[1:-1].tolist(),
                candidates.ptr[2:].tolist(),
                width[:-1].tolist(),
                strict=True,
            )
        ]
        return cls(candidates, p[: candidates.ptr[1]], np.concatenate([*rows, np.empty(0)]))

    def marginals(self) -> tuple[Float64s, float]:
        """The share of each candidate, and the log of the sum over all sequences."""
        from eigentext.sequences.kernels.tag_chain import chain_marginals

        single = np.zeros(len(self.candidates.tags))
        c = self.candidates
        total = chain_marginals(c.ptr, self.start, c.pair_ptr, self.pairs, single)
        return single, float(total)

    def kbest(self, n: int) -> tuple[Int64s, Float64s]:
        """(k, tokens) tags of the k <= n best sequences, and the logs of their weights."""
        from eigentext.sequences.kernels.tag_chain import chain_kbest

        c = self.candidates
        paths = np.zeros((n, len(c.ptr) - 1), dtype=np.int64)
        scores = np.zeros(n)
        k = chain_kbest(c.ptr, self.start, c.pair_ptr, self.pairs, paths, scores)
        return c.tags[paths[:k]], scores[:k]
