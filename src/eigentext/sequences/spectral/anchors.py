"""Anchor HMM (Stratos, Collins and Hsu 2016): valid parameters without iterations of EM.

The assumption: every state h has an anchor, a word that no other state shows.  Then what stands
beside a word is a mixture of what stands beside the anchors, with the states of the word for
weights::

    v_x = E[context | x] = sum_h p(h | x) v_anchor(h)

Any linear map of the context keeps the equation (:func:`vectors`).

1. :func:`find_anchors`: the symbol furthest from the mean, then again and again the one furthest
   from the plane through those that were found (successive projections), by mass ``n_x^weight``.
2. :func:`simplex_weights`: p(h | x) of every symbol is the nearest point of the anchors' hull.
   ``rounds`` times an anchor becomes the mean of the symbols with a ``share`` in its state.
3. Bayes: ``o(x | h) ~ p(h | x) n_x``.  With O known, pairs of neighbours are linear in the
   :func:`transitions`, and first symbols in pi.

With ``EXACT`` the parameters of an anchor HMM come back from its population moments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eigentext.base.types import Bools, Float64s, Int64s, Sparse
from eigentext.errors import DataError, RankError, SettingsError
from eigentext.features.signatures import Language, signatures
from eigentext.linalg.hull import corners, simplex_weights
from eigentext.linalg.scaling import inverse_sqrt_totals
from eigentext.linalg.svd import truncated_svd
from eigentext.linalg.ties import single_threaded
from eigentext.sequences.hmm.parameters import Parameters, distributions
from eigentext.sequences.observations import Encoded
from eigentext.sequences.spectral.moments import pairs_of


@dataclass(frozen=True)
class AnchorChoices:
    """What text needs beyond the equations (docs/guide/anchor-hmm.md: how they were chosen)."""

    power: float = 0.5  # of the counts of contexts, before they are scaled
    kappa: float = 0.5  # added to totals in the scaling, for each thousand tokens
    prior: float = 20.0  # tokens that what a symbol looks like is worth; 0: its looks say nothing
    weight: float = 1.0  # exponent of a symbol's count in the choice of anchors; 0: the paper's
    share: float = 0.3  # a symbol with this much of one state or more counts for its anchor
    rounds: int = 5  # times that anchors become the mean of the symbols that count for them
    senses: int | None = 1  # most states of a symbol; None: any number
    smoothing: float = 1.0  # tokens added to every row, as in EM


EXACT = AnchorChoices(
    power=1.0, kappa=0.0, prior=0.0, weight=0.0, rounds=0, senses=None, smoothing=0.0
)
"""The equations alone, for data that follow the model."""


@dataclass(frozen=True, eq=False)
class NeighbourCounts:
    """What the estimator is learned from.

    >>> NeighbourCounts.of(Encoded.of([[0, 1], [1]]), 2).beside.toarray().tolist()
    [[0.0, 0.0, 1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 1.0, 0.0, 0.0, 2.0]]
    """

    first: Float64s  # (V,) how often each symbol begins a sequence
    counts: Float64s  # (V,) how often it occurs
    pairs: Sparse  # (V, V) csr: [symbol, next symbol]
    beside: Sparse  # (V, 2 V + 2) csr: the symbol before (or the beginning), behind (or the end)

    @classmethod
    def of(cls, data: Encoded, n_symbols: int) -> NeighbourCounts:
        """Count the neighbours in sequences."""
        data = data.without_empty()
        if not data.n_tokens:
            raise DataError("sequences", None, "no tokens to learn from")
        counts, first, last = (
            np.bincount(ids, minlength=n_symbols).astype(np.float64)
            for ids in (data.ids, data.ids[data.first[:-1]], data.ids[data.first[1:] - 1])
        )
        return cls.from_pairs(first, last, counts, pairs_of(data, n_symbols).astype(np.float64))

    @classmethod
    def from_pairs(
        cls, first: Float64s, last: Float64s, counts: Float64s, pairs: Sparse
    ) -> NeighbourCounts:
        """Of first and last symbols, all symbols, and pairs of neighbours."""
        from scipy.sparse import csr_array, hstack

        ends = [csr_array(end[:, None]) for end in (first, last)]
        beside = hstack([pairs.T, ends[0], pairs, ends[1]], format="csr")
        return cls(first, counts, pairs, beside)

    @property
    def n_symbols(self) -> int:
        """V."""
        return len(self.counts)

    def joined(self, to: Int64s) -> NeighbourCounts:
        """The same where every symbol x is ``to[x]``; what is another's has no counts of its own.

        >>> two = NeighbourCounts.of(Encoded.of([[0, 1], [1]]), 2).joined(np.array([0, 0]))
        >>> two.counts.tolist(), two.pairs.toarray().tolist()
        ([3.0, 0.0], [[1.0, 0.0], [0.0, 0.0]])
        """
        from scipy.sparse import csr_array

        V = self.n_symbols
        join = csr_array((np.ones(V), (to, np.arange(V))), shape=(V, V))
        last = np.asarray(self.beside[:, [2 * V + 1]].toarray()).ravel()
        pairs = csr_array(join @ self.pairs @ join.T)
        return NeighbourCounts.from_pairs(
            join @ self.first, join @ last, join @ self.counts, pairs
        )


@dataclass(frozen=True, eq=False)
class AnchorModel:
    """What was learned."""

    parameters: Parameters
    anchors: Int64s  # (k,) the symbol of each state
    states: Float64s  # (V, k) p(h | x)


def anchor_hmm(
    contexts: NeighbourCounts,
    k: int,
    *,
    names: Sequence[str] = (),
    language: Language = "generic",
    choices: AnchorChoices | None = None,
    seed: int = 0,
) -> AnchorModel:
    """Parameters of k states; ``names`` of the symbols tell what they look like.

    >>> text = Encoded.of([[0, 2, 1, 3, 0, 3], [1, 2, 0, 2, 1, 3]])
    >>> hmm = anchor_hmm(NeighbourCounts.of(text, 4), 2, choices=EXACT).parameters
    >>> sorted(hmm.emission.round(6).tolist()), hmm.transition.round(6).tolist()
    ([[0.0, 0.0, 0.5, 0.5], [0.5, 0.5, 0.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]])
    """
    choices = AnchorChoices() if choices is None else choices
    if isinstance(k, bool) or int(k) != k or k < 1:
        raise SettingsError(f"k {k!r}: expected an integer of at least 1")
    if k > contexts.n_symbols:
        raise RankError("the contexts of symbols", rank=k, got=contexts.n_symbols)
    as_small, apart = np.arange(contexts.n_symbols), np.zeros(contexts.n_symbols, np.bool_)
    if choices.prior and names:
        as_small = small_forms(names, contexts.first, contexts.counts)
        apart = marks(names, language) & (contexts.counts > 0)
        if k == 1 or not (contexts.counts[~apart] > 0).any():
            apart[:] = False
    counted = contexts.joined(as_small)
    with single_threaded():
        kappa = choices.kappa * float(counted.counts.sum()) / 1000
        v = vectors(counted, k, power=choices.power, kappa=kappa, seed=seed)
        if choices.prior and names:
            v = drawn_together(v, counted.counts, names, language, choices.prior)
        free = np.where(apart, 0.0, counted.counts)
        n_apart = int(apart.any())
        try:
            anchors = find_anchors(v, free, k - n_apart, weight=choices.weight)
        except RankError as error:
            raise RankError(error.symbol, rank=k, got=error.got + n_apart) from None
        states = _states(v, free, v[anchors], choices)
        if apart.any():  # the last state
            anchors = np.append(anchors, np.argmax(np.where(apart, contexts.counts, -1.0)))
            states = np.column_stack([np.where(apart[:, None], 0.0, states), apart])
        states = states[as_small]
        joint = states * contexts.counts[:, None]
        unigram = contexts.counts + 0.5
        emission = distributions(
            (joint + choices.smoothing * (unigram / unigram.sum())[:, None]).T
        )
        M, pi = transitions(emission, contexts)
    even = choices.smoothing / k
    return AnchorModel(
        Parameters(
            distributions(pi * contexts.first.sum() + even),
            distributions(M * contexts.pairs.sum() + even),
            emission,
        ),
        anchors,
        states,
    )


# ---------------------------------------------------------------- vectors


def vectors(
    contexts: NeighbourCounts, k: int, *, power: float = 1.0, kappa: float = 0.0, seed: int = 0
) -> Float64s:
    """(V, k) expected context of each symbol, scaled and reduced.

    ``v_x = R' D^(-1/2) c_x / |c_x|`` with c_x the counts of contexts (to the ``power``), D their
    totals and kappa, R the leading right singular vectors of the CCA-scaled counts.
    """
    counts = contexts.beside
    if power != 1:
        counts = counts.copy()
        counts.data = counts.data**power
    rows, columns = (np.asarray(counts.sum(axis=axis), np.float64).ravel() for axis in (1, 0))
    scaled = counts.copy()
    scaled.data = scaled.data * inverse_sqrt_totals(columns, kappa)[scaled.indices]
    whitened = scaled.copy()
    whitened.data = whitened.data * np.repeat(
        inverse_sqrt_totals(rows, kappa), np.diff(scaled.indptr)
    )
    # to the last digit: anchors hang on it, and must not hang on the seed
    svd = truncated_svd(whitened, k, seed=seed, symbol="the contexts of symbols", rank_tol=1e-9)
    reduced = np.asarray(scaled @ svd.Vt.T.astype(np.float64))
    mean = reduced.sum(axis=0) / rows.sum()
    occurs = rows[:, None] > 0  # a symbol that never occurs stands at the mean
    unit = np.sqrt(rows.sum())
    return np.asarray(
        unit * np.where(occurs, reduced / np.where(occurs, rows[:, None], 1.0), mean)
    )


# ---------------------------------------------------------------- anchors and states


def find_anchors(v: Float64s, counts: Float64s, k: int, *, weight: float = 0.0) -> Int64s:
    """(k,) the anchors, in the order in which they are found; ``weight`` of counts in the choice.

    >>> points = np.array([[0.0, 0.0], [4.0, 0.0], [1.0, 1.0], [0.0, 3.0]])
    >>> sorted(find_anchors(points, np.ones(4), 3).tolist())
    [0, 1, 3]
    """
    mass = np.where(counts > 0, np.maximum(counts, 1e-300) ** weight, 0.0)
    anchors = corners(v, k, centre=(counts @ v) / counts.sum(), mass=mass)
    if len(anchors) < k:
        raise RankError("the contexts of symbols", rank=k, got=len(anchors))
    return anchors


def _states(v: Float64s, counts: Float64s, means: Float64s, choices: AnchorChoices) -> Float64s:
    """(V, k) p(h | x)."""
    Q = simplex_weights(v, means)
    for _ in range(choices.rounds):
        share = np.where(choices.share <= Q, Q, 0.0) * counts[:, None]
        mass = share.sum(axis=0)[:, None]
        means = np.where(mass > 0, (share.T @ v) / np.where(mass > 0, mass, 1.0), means)
        Q = simplex_weights(v, means)
    if choices.senses is not None and choices.senses < Q.shape[1]:
        order = np.argsort(-Q, axis=1, kind="stable")[:, choices.senses :]
        np.put_along_axis(Q, order, 0.0, axis=1)
        Q /= Q.sum(axis=1, keepdims=True)
    return Q


# ---------------------------------------------------------------- transitions


def transitions(emission: Float64s, contexts: NeighbourCounts) -> tuple[Float64s, Float64s]:
    """``M = p(h, h')`` (k, k) of neighbours and ``pi`` (k,), given O (k, V).

    ``min |D^(-1/2) (P - O' M O) D^(-1/2)|`` and ``min |D^(-1/2) (f - O' pi)|``, nothing below 0,
    with D the unigram.  By ``D^(-1/2) O' = Q R`` they are problems in k^2 and k dimensions, and
    the first is ``min |R M R' - Q' D^(-1/2) P D^(-1/2) Q|``.

    >>> text = Encoded.of([[0, 2, 1, 3, 0, 3], [1, 2, 0, 2, 1, 3]])
    >>> M, pi = transitions(np.repeat(np.eye(2) / 2, 2, axis=1), NeighbourCounts.of(text, 4))
    >>> M.round(6).tolist(), pi.round(6).tolist()
    ([[0.0, 0.6], [0.4, 0.0]], [1.0, 0.0])
    """
    from scipy.optimize import nnls
    from scipy.sparse import diags_array

    k = len(emission)
    root = inverse_sqrt_totals(contexts.counts / contexts.counts.sum(), 0.0)
    Q, R = np.linalg.qr(root[:, None] * emission.T)
    first = Q.T @ (root * contexts.first) / contexts.first.sum()
    pi = nnls(R, first)[0]
    n_pairs = contexts.pairs.sum()
    if not n_pairs:  # sequences of one symbol say nothing of what follows
        return np.full((k, k), 1 / k**2), distributions(pi)
    scale = diags_array(root)
    P = Q.T @ (scale @ contexts.pairs @ scale @ Q) / n_pairs
    return distributions(_nonnegative(R, P).reshape(1, -1)).reshape(k, k), distributions(pi)


def _nonnegative(R: Float64s, P: Float64s) -> Float64s:
    """The M of ``min |R M R' - P|`` with nothing below 0.

    A convex problem with k^2 numbers and steps of k^3.  It begins at the answer without the bound,
    cut off at 0: where moments are exact that is the answer.  Columns of R are brought to length
    1, so that numbers of rare and frequent states weigh alike.
    """
    from scipy.optimize import minimize

    k = R.shape[1]
    length = np.linalg.norm(R, axis=0)
    length = np.where(length > 0, length, 1.0)  # a state that shows nothing
    unit = R / length
    inverse = np.linalg.pinv(unit)

    def error(flat: Float64s) -> tuple[float, Float64s]:
        rest = unit @ flat.reshape(k, k) @ unit.T - P
        return 0.5 * float(np.vdot(rest, rest)), (unit.T @ rest @ unit).ravel()

    start = np.maximum(inverse @ P @ inverse.T, 0.0).ravel()
    options = {"ftol": 0.0, "gtol": 1e-12, "maxiter": 5000, "maxfun": 10_000}
    solution = minimize(
        error, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * (k * k), options=options
    )
    return np.asarray(solution.x.reshape(k, k) / np.outer(length, length))


_MOSTLY = 0.5  # share of a word's tokens that begin a sentence, for its capital to say nothing
_MARKS = frozenset({"<none-sign>", "<none-dash>", "<none-dash-sign>"})


# ---------------------------------------------------------------- looks


def small_forms(names: Sequence[str], first: Float64s, counts: Float64s) -> Int64s:
    """(V,) the symbol as which each one counts: itself, or the same word in small letters.

    That is for words which begin a sequence in half of their ``counts`` or more (``first``).

    >>> names = ["the", "The", "Rome", "rome", "A"]
    >>> first = np.array([0.0, 5.0, 2.0, 0.0, 9.0])
    >>> small_forms(names, first, np.array([30.0, 6.0, 7.0, 1.0, 9.0])).tolist()
    [0, 0, 2, 3, 4]
    """
    number = {name: at for at, name in enumerate(names)}
    return np.array(
        [
            _small_form(name, number) if first[at] >= _MOSTLY * counts[at] > 0 else at
            for at, name in enumerate(names)
        ],
        np.int64,
    )


def _small_form(name: str, number: dict[str, int]) -> int:
    """The number of a word in small letters, or its own.

    Of the small letters of I and İ those of most languages come first, then those of Turkish.

    >>> _small_form("İçin", {"için": 0, "İçin": 1}), _small_form("Isı", {"ısı": 0, "Isı": 1})
    (0, 0)
    """
    small = name.lower()
    for form in (small, small.replace("\u0307", ""), name.replace("I", "ı").lower()):
        if form in number:
            return number[form]
    return number[name]


def marks(names: Sequence[str], language: Language) -> Bools:
    """(V,) has a symbol neither letters nor digits?  Classes of such rare symbols count, too.

    >>> marks([",", "...", "5%", "a.", "<none-sign>", ""], "generic").tolist()
    [True, True, False, False, True, False]
    """
    return np.array([chain[0] in _MARKS for chain in _chains(names, language)], np.bool_)


def drawn_together(
    v: Float64s, counts: Float64s, names: Sequence[str], language: Language, prior: float
) -> Float64s:
    """Vectors drawn towards those of symbols that look alike.

    With m_s the mean of a signature s and s' the next coarser one::

        v_x <- (n_x v_x + prior m_s(x)) / (n_x + prior)
        m_s  = (sum_x w_x v_x + prior m_s') / (sum_x w_x + prior),  w_x = prior n_x / (n_x + prior)

    so that frequent words, of which many belong to small closed classes, have no large say.
    """
    from scipy.sparse import csr_array

    chains = _chains(names, language)
    ids: dict[str, int] = {}
    coarser: dict[str, str] = {}
    for chain in chains:
        for s, next_ in zip(chain, (*chain[1:], ""), strict=True):
            ids.setdefault(s, len(ids))
            coarser[s] = next_
    at = np.array([ids[s] for chain in chains for s in chain])
    ptr = np.concatenate([[0], np.cumsum([len(chain) for chain in chains])])
    member = csr_array((np.ones(len(at)), at, ptr), shape=(len(chains), len(ids)))
    w = prior * counts / (counts + prior)
    sums, weights = np.asarray(member.T @ (w[:, None] * v)), np.asarray(member.T @ w)
    mean = (w @ v) / w.sum()
    means: dict[str, Float64s] = {"": mean}
    for s in sorted(ids, key=lambda s: (_depth(s, coarser), ids[s])):  # from coarse to fine
        at_s = ids[s]
        means[s] = (sums[at_s] + prior * means[coarser[s]]) / (weights[at_s] + prior)
    looks = np.array([means[chain[0]] for chain in chains])
    n = counts[:, None]
    return np.asarray((n * v + prior * looks) / (n + prior))


def _chains(names: Sequence[str], language: Language) -> list[tuple[str, ...]]:
    """The signatures of each symbol, from fine to coarse; a class is one itself."""
    chains = [signatures(name, language=language) if name else ("<unk>",) for name in names]
    below: dict[str, tuple[str, ...]] = {}
    for chain in chains:
        for at, s in enumerate(chain):
            below.setdefault(s, chain[at:])
    return [below.get(name, chain) for name, chain in zip(names, chains, strict=True)]


def _depth(s: str, coarser: dict[str, str]) -> int:
    depth = 0
    while s:
        s, depth = coarser[s], depth + 1
    return depth
