"""EM over trees whose skeleton is known: expected states of every node, then smoothed counts.

E-step: inside and outside of each tree under the present parameters give the posterior of every
node's state and of every rule's three states.  M-step: ``params.estimate`` on those expected
counts, and a lexicon counted with expected states.  With ``Smoothing.none()`` the M-step is
maximum likelihood, and the likelihood of the trees never falls (up to single precision); with
smoothing it may.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from eigentext.base.cores import each
from eigentext.base.em import EMResult, iterate
from eigentext.base.progress import Progress
from eigentext.base.ragged import pointers
from eigentext.base.types import Float32s, Float64s, Int64s
from eigentext.constituency.chart.decode import Skeleton
from eigentext.constituency.lexicon import Lexicon, WordIndex, build_lexicon, index_words
from eigentext.constituency.params import (
    LatentCounts,
    LatentParams,
    estimate,
    rounded,
    tensor_layout,
)
from eigentext.constituency.settings import LPCFGSettings, Smoothing
from eigentext.constituency.treebank import Treebank
from eigentext.features.smoothing import Evidence, of_signature, smoothed

_LEAST_WORK = 100_000  # numbers of tensors to go through: what a thread is handed at a time
_MOST_BLOCKS = 64
_LEAST_COUNT = 1e-3  # of a rule with states, expected, in the last estimate


def word_scores(lexicon: Lexicon, index: WordIndex) -> Float32s:
    """``Lexicon.emission`` of every preterminal for the states of its own tag, laid end to end."""
    # Each (word, first in its sentence, tag) is scored once, all of them in one stroke.
    from scipy.sparse import csr_array

    x, n_ts, n_base = index, lexicon.n_ts, int(lexicon.base.max()) + 1
    pairs, pair_of = np.unique(x.type_of * len(x.tags) + x.tag_of, return_inverse=True)
    of_type, tag = pairs // len(x.tags), pairs % len(x.tags)
    m = np.diff(lexicon.tag_ptr)[tag]  # states of the pair's tag
    ptr = pointers(m)
    row = np.repeat(np.arange(len(pairs)), m)  # of each score: its pair
    ts = np.arange(len(row)) - ptr[row] + lexicon.tag_ptr[tag][row]
    word, lower = x.type_word[of_type], x.type_lower[of_type]
    shape, base = x.type_shape[of_type], lexicon.base[tag]

    def table(n: Float64s, column: Int64s, start: Int64s, width: int) -> csr_array:
        """Counts by rows, and one empty row at the end that answers for -1."""
        ends = np.append(start, start[-1])
        counts_by_row = csr_array((n.copy(), column.copy(), ends), shape=(len(start), width))
        counts_by_row.sum_duplicates()
        return counts_by_row

    by_word = table(lexicon.word_n, lexicon.word_ts, lexicon.word_ptr, n_ts)
    by_shape = table(lexicon.shape_n, lexicon.shape_ts, lexicon.shape_ptr, n_ts)
    bases = lexicon.ts_base
    word_base = table(lexicon.word_n, bases[lexicon.word_ts], lexicon.word_ptr, n_base)
    shape_base = table(lexicon.shape_n, bases[lexicon.shape_ts], lexicon.shape_ptr, n_base)
    n_words = np.append(lexicon.n_words, 0.0)
    n = n_words[word]
    if lexicon.k_base == 0:
        p = by_word[word[row], ts] / n[row]  # n(w, ts) / n(w)
    else:
        n = n + n_words[lower]
        total = np.asarray(by_shape.sum(axis=1))[shape]
        rare_base = lexicon.by_base(lexicon.p_rare)
        # An unknown signature has no counts of its own: the same formula gives P(ts | rare).
        p_shape = of_signature(by_shape[shape[row], ts], lexicon.p_rare[ts], total[row])
        p_shape_base = of_signature(shape_base[shape, base], rare_base[base], total)
        if lexicon.by_class is not None and x.type_class is not None:
            every = of_signature(shape_base[shape].toarray(), rare_base, total[:, None])
            factor = lexicon.by_class.shares(x.type_class[of_type], every)
            p_shape *= factor[row, base[row]]
            p_shape_base *= factor[np.arange(len(pairs)), base]
        evidence = Evidence(
            cell=row,
            group=row,
            counts=by_word[word[row], ts] + by_word[lower[row], ts],
            n=n,
            n_base=word_base[word, base] + word_base[lower, base],
            p_shape=p_shape,
            p_shape_base=p_shape_base,
            p_text=lexicon.p_ts[ts],
            p_text_base=lexicon.p_base[base],
            given_base=lexicon.ts_given_base[ts],
        )
        p = smoothed(evidence, lexicon.strengths)
    score = (p / lexicon.p_ts[ts] * lexicon.emits[ts]).astype(np.float32)  # p(w | ts) / p(w)
    pair_of = pair_of.reshape(-1)
    lengths = m[pair_of]
    start = np.cumsum(lengths) - lengths
    order = np.arange(int(lengths.sum())) - np.repeat(start - ptr[pair_of], lengths)
    return np.asarray(score[order])


def run_em(
    bank: Treebank,
    params: LatentParams,
    n_iter: int,
    settings: LPCFGSettings,
    *,
    progress: Progress | None = None,
) -> EMResult[LatentParams]:
    """So many iterations from these parameters."""
    # The likelihood is that of trees and words up to the words' constant, as in ``lexicon``.
    last: list[tuple[LatentCounts, Lexicon]] = []

    def step(params: LatentParams) -> tuple[LatentParams, float]:
        counts, words, log_likelihood = expect_states(bank, params)
        lexicon = build_lexicon(bank, params.m, words, settings.smoothing)
        last[:] = [(counts, lexicon)]
        better = estimate(bank, params.m, counts, lexicon, settings.smoothing)
        return better, log_likelihood

    learned = iterate(params, step, n_iter=n_iter, progress=progress)
    if not last:
        return learned
    return replace(learned, params=last_estimate(bank, params.m, *last[0], settings.smoothing))


def last_estimate(
    bank: Treebank, m: Int64s, counts: LatentCounts, lexicon: Lexicon, smoothing: Smoothing
) -> LatentParams:
    """Parameters of few numbers: without expected counts of rules below ``_LEAST_COUNT``."""
    # On a treebank these are 97 of 100 cells, and 2 of 1,000 counts.
    lexicon = replace(lexicon, word_n=rounded(lexicon.word_n), shape_n=rounded(lexicon.shape_n))
    return estimate(bank, m, counts, lexicon, smoothing, least=_LEAST_COUNT)


def expect_states(bank: Treebank, params: LatentParams) -> tuple[LatentCounts, Float64s, float]:
    """The E-step: counts, the states of all preterminals end to end, and the log-likelihood."""
    # The cores in use share out trees, then rules, then trees again: a rule's tensor is added up
    # by one thread, since a table of all tensors for each thread would be large.
    from eigentext.constituency.kernels.trees import (
        TreeSweeps,
        count_rules,
        count_states,
        sweep_trees,
    )

    m, n_states = params.m, int(params.m.sum())
    node_ptr = pointers(m[bank.label])
    mask = np.repeat(bank.token >= 0, m[bank.label])  # states of nodes over words
    n_cells = int(node_ptr[-1])
    sweeps = TreeSweeps(
        node_ptr,
        inside=np.zeros(n_cells, np.float32),
        outside=np.zeros(n_cells, np.float32),
        log_scale=np.zeros(len(bank.label)),
    )
    sweeps.inside[mask] = word_scores(params.lexicon, index_words(bank))
    skeletons = Skeleton(bank.label, bank.rule, bank.left, bank.right)
    likelihood = np.zeros(bank.n_trees)  # log p of each tree
    tensor = np.zeros(len(params.tensor))  # expected counts of rules with states
    of_trees, of_rules = _shared_out(bank, m)

    def sweep(trees: Int64s) -> None:
        grammar = (skeletons, bank.roots, trees, params.tensors, params.root, params.label_ptr)
        sweep_trees(*grammar, sweeps, likelihood)

    def summed(trees: Int64s) -> Float64s:
        """(2, sum m): states, and those of roots."""
        sums = np.zeros((2, n_states))
        count_states(skeletons, bank.roots, trees, params.label_ptr, sweeps, *sums)
        return sums

    each(sweep, of_trees)
    each(lambda nodes: count_rules(nodes, skeletons, params.tensors, sweeps, tensor), of_rules)
    states, roots = sum(each(summed, of_trees), np.zeros((2, n_states)))
    total = float(likelihood[np.isfinite(likelihood)].sum())
    counts = LatentCounts(tensor, states, roots)
    return counts, sweeps.outside[mask].astype(float), total


def _shared_out(bank: Treebank, m: Int64s) -> tuple[list[Int64s], list[Int64s]]:
    """Trees (begin, end) in blocks of about equal work; nodes by their rules, in blocks likewise.

    The work at a node is the size of its rule's tensor.
    """
    size = np.append(m[bank.rules].prod(axis=1), 1)  # rule -1, a word, has next to nothing to do
    work = pointers(size[bank.rule])
    of_tree = work[np.append(bank.roots, len(bank.label))]
    trees = [np.array([begin, end]) for begin, end in pairwise(_cuts(of_tree))]
    nodes = np.flatnonzero(bank.rule >= 0)
    nodes = nodes[np.argsort(bank.rule[nodes], kind="stable")]
    ends = np.searchsorted(bank.rule[nodes], np.arange(len(bank.rules) + 1))
    of_rule = pointers(size[bank.rule[nodes]])[ends]
    rules = [nodes[ends[begin] : ends[end]] for begin, end in pairwise(_cuts(of_rule))]
    return trees, rules


def _cuts(work: Int64s) -> list[int]:
    """Where to cut a list whose items need ``diff(work)`` each, into about equal blocks.

    >>> _cuts(np.array([0, 10, 10, 15, 200_000]))
    [0, 3, 4]
    """
    block = max(_LEAST_WORK, -(-int(work[-1]) // _MOST_BLOCKS))
    first = np.unique((work[1:] - 1) // block, return_index=True)[1]
    return [*first.tolist(), len(work) - 1]


def random_start(bank: Treebank, m: Int64s, settings: LPCFGSettings) -> LatentParams:
    """Parameters near the plain PCFG, jittered: where EM without a spectral start begins."""
    rng = np.random.default_rng(settings.seed)
    size = m[bank.rules].prod(axis=1)  # numbers of each rule's tensor
    of_rule = np.bincount(bank.rule[bank.rule >= 0], minlength=len(bank.rules))
    tensor = np.repeat(of_rule / size, size) * rng.uniform(0.5, 1.5, int(size.sum()))
    label = np.repeat(np.arange(len(m)), m)
    label_ptr = pointers(m)
    of_root = np.bincount(bank.label[bank.roots], minlength=len(m))
    tags = bank.label[bank.token >= 0]
    # Dirichlet(5, ..., 5) over the states of each word: gammas divided by their sum
    weights = rng.gamma(5.0, size=int(m[tags].sum()))
    weights /= np.repeat(np.add.reduceat(weights, np.cumsum(m[tags]) - m[tags]), m[tags])
    # A state is counted as often as its rules and its words, so that they share out to one.
    parent = np.repeat(bank.rules[:, 0], size)
    width = np.repeat(m[bank.rules[:, 1:]].prod(axis=1), size)  # of one state of the parent
    within = np.arange(len(tensor)) - np.repeat(tensor_layout(bank.rules, m)[:-1], size)
    of_tag = np.repeat(label_ptr[tags], m[tags])  # the first state of each word's tag
    within_tag = np.arange(len(weights)) - np.repeat(np.cumsum(m[tags]) - m[tags], m[tags])
    states = np.zeros(len(label))
    states += np.bincount(label_ptr[parent] + within // width, tensor, minlength=len(label))
    states += np.bincount(of_tag + within_tag, weights, minlength=len(label))
    counts = LatentCounts(tensor, states, (of_root / m)[label].astype(float))
    lexicon = build_lexicon(bank, m, weights, settings.smoothing)
    return estimate(bank, m, counts, lexicon, settings.smoothing)
