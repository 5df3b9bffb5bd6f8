"""What a sentence has to say against the weights, the step it asks for, and decoding of many.

Learning: score all arcs (and siblings) with the present weights, decode, compare with the gold
tree (:func:`rival_tree`), and move the weights of the parts in which the two differ
(:func:`move_weights`): by 1 (perceptron), or by as little as makes the gold tree win by the number
of wrong heads, at most ``clip`` (MIRA, one best tree, found with that number added to the scores).
``sums`` collects time times change, so that the mean of the weights with which each sentence was
met is ``weights - sums / time``.
"""

from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import Float64s, Int64s
from eigentext.dependency.kernels.eisner import eisner_kernel
from eigentext.dependency.kernels.features import (
    LinearModel,
    all_arcs,
    arc_scores,
    arc_slots,
    grand_scores,
    grand_slots,
    sentence_of,
    sibling_scores,
    sibling_slots,
)
from eigentext.dependency.kernels.grandparents import grand_kernel, list_governors
from eigentext.dependency.kernels.mst import mst_kernel
from eigentext.dependency.kernels.rearrange import rearrange_kernel
from eigentext.linear.kernels.steps import adagrad, move

MOST_HEADS = 10  # of a word, when pruned
COARSE_HEADS = 10  # and when the coarse model prunes
TINY = 0.01  # a gradient that moves nothing


class Decoder(NamedTuple):
    """How a sentence is decoded."""

    order: int  # 1: arcs; 2: siblings as well, and grandparents if there are templates of them
    projective: bool  # may arcs not cross?
    margin: float  # order 2 leaves out arcs that score so much less than the word's best head
    charges: Float64s  # order 2, crossing: one tree for each of these charges for a crossing arc
    coarse: LinearModel  # order 2: a first-order model that says which arcs are scored at all;
    coarse_margin: float  # not those with so much less than the best head; infinity: all are


class Learner(NamedTuple):
    """How weights are moved."""

    mira: bool  # else perceptron
    clip: float  # longest step of MIRA
    sums: Float64s  # (2^bits,) of time times change


class Rival(NamedTuple):
    """A tree that is to lose against the gold one."""

    loss: int  # its wrong heads; 0: it is the gold tree
    plus: Int64s  # slots of the parts of the gold tree that it has not, with repetitions
    minus: Int64s  # and the other way
    squares: int  # |v|^2 of the difference v of their features


@njit
def prune(arc, gold, margin, keep):
    """Rule out arcs that score ``margin`` less than the best head of their word: -inf in ``arc``.

    Of more than MOST_HEADS the best ones are left, unless the margin is infinite.

    The arcs of the best projective tree stay, so that a tree is left (those of the best tree, if
    none is projective), and those of ``gold`` (n,), if it is not empty.
    """
    n = arc.shape[0] - 1
    heads = np.empty(n, np.int32)
    no_siblings = np.zeros((1, 1, 1))
    if eisner_kernel(arc, no_siblings, False, heads) == -np.inf:  # demands may leave none
        mst_kernel(arc, heads)
    within_margin(arc, margin, MOST_HEADS, keep)
    for d in range(1, n + 1):
        keep[heads[d - 1], d] = True  # so that a tree is left, whatever the margin
        if len(gold):
            keep[gold[d - 1], d] = True
        for h in range(n + 1):
            if not keep[h, d]:
                arc[h, d] = -np.inf


@njit
def within_margin(arc, margin, most, keep):
    """Keep the heads of each word that score at most ``margin`` less than its best."""
    # Of more than ``most`` the best are kept, unless the margin is infinite; of equals the first.
    n = arc.shape[0] - 1
    keep[:] = False
    for d in range(1, n + 1):
        best = -np.inf
        for h in range(n + 1):
            best = max(best, arc[h, d])
        many = 0
        for h in range(n + 1):
            if h != d and arc[h, d] > -np.inf and arc[h, d] >= best - margin:
                keep[h, d] = True
                many += 1
        while many > most and margin < np.inf:  # the worst goes, the last of equals
            worst = -1
            for h in range(n + 1):
                if keep[h, d] and (worst < 0 or arc[h, d] <= arc[worst, d]):
                    worst = h
            keep[worst, d] = False
            many -= 1


@njit
def candidates(sentence, decoder, gold, keep):
    """The arcs that are worth a look: of order 1 all, of order 2 what the coarse model leaves."""
    # The chain in which each word hangs from the one before it stays, so that a projective tree is
    # left, and so do the arcs of ``gold`` (n,), if it is not empty.
    n = len(keep) - 1
    if decoder.order == 1 or decoder.coarse_margin == np.inf:
        keep[:] = all_arcs(n)
        return
    arc = np.empty((n + 1, n + 1))
    arc_scores(sentence, decoder.coarse, all_arcs(n), arc)
    within_margin(arc, decoder.coarse_margin, COARSE_HEADS, keep)
    for d in range(1, n + 1):
        keep[d - 1, d] = True
        if len(gold):
            keep[gold[d - 1], d] = True


@njit
def best_tree(sentence, model, decoder, arc, gold, heads):
    """Heads of the best tree under ``arc`` (already filled) and, for order 2, the siblings."""
    # Order 2 with arcs that may cross rearranges the best projective tree, once for each of the
    # ``charges`` for a crossing arc (infinity: not at all); ``heads`` has a row for each of them.
    if decoder.order == 1:
        if decoder.projective:
            eisner_kernel(arc, np.zeros((1, 1, 1)), False, heads[0])
        else:
            mst_kernel(arc, heads[0])
        return
    n = arc.shape[0] - 1
    keep = arc > -np.inf
    if decoder.margin < np.inf:
        prune(arc, gold, decoder.margin, keep)
    governors = list_governors(keep)
    grand = np.zeros((0, n + 1, n + 1))  # no rows: no scores of grandparents
    if model.templates.grand_seeds.shape[1]:
        sib = np.empty((n + 1, n + 1, n + 1))  # only the cells of arcs kept are filled, and read
        sibling_scores(sentence, model, governors, sib)
        grand = grand_scores(sentence, model, governors)
        grand_kernel(arc, sib, grand, governors, heads[0])
    else:
        sib = np.zeros((n + 1, n + 1, n + 1))
        sibling_scores(sentence, model, governors, sib)
        eisner_kernel(arc, sib, True, heads[0])
    if not decoder.projective:
        charges = decoder.charges
        for k in range(len(charges) - 1, -1, -1):  # the first row is the start of all: last
            heads[k] = heads[0]
            if charges[k] < np.inf:
                rearrange_kernel(arc, sib, grand, governors.number_of, charges[k], heads[k])


@njit
def inner_sibling(heads, d):
    """The modifier of d's head that comes before d, outward; the head itself for none."""
    h = heads[d - 1]
    step = -1 if d > h else 1
    s = d + step
    while s != h:
        if heads[s - 1] == h:
            return s
        s += step
    return h


@njit
def most_slots(sentence, templates):
    """Room that the parts of one tree may need."""
    n = len(sentence.keys) - 1
    between = templates.pair_bounds[6] - templates.pair_bounds[4]
    per_word = len(templates.head_spec) + len(templates.mod_spec) + templates.pair_bounds[4]
    per_word += between * min(n, sentence.n_tags)
    per_word += templates.sib_bounds[4] + templates.grand_seeds.shape[1]
    return 2 * n * per_word


@njit
def differing_slots(sentence, model, order, mine, other):
    """Slots of the parts of tree ``mine`` that ``other`` has not; one that is there twice, twice.

    A part is an arc (h, d), a pair of siblings (h, s, d) or a grandparent (g, h, d).
    """
    out = np.empty(most_slots(sentence, model.templates), np.int64)
    end = np.int64(0)  # a plain 0 is a type of its own to numba, and compiles callees once more
    for d in range(1, len(mine) + 1):
        h = np.int64(mine[d - 1])
        if h != other[d - 1]:
            end = arc_slots(sentence, model, h, d, out, end)
        if order == 2:
            s = inner_sibling(mine, d)
            if h != other[d - 1] or s != inner_sibling(other, d):
                end = sibling_slots(sentence, model, h, s, d, out, end)
            if h > 0:
                g = np.int64(mine[h - 1])
                if h != other[d - 1] or g != other[h - 1]:
                    end = grand_slots(sentence, model, g, h, d, out, end)
    return out[:end]


@njit
def squared_length(plus, minus):
    """|v|^2 of v = f(gold) - f(found): the counts of slots in ``plus`` less those in ``minus``."""
    # A slot may be listed several times: counts are made in a table of their own (open addressing,
    # half empty), which is small, other than the weights.
    size = 16
    while size < 2 * (len(plus) + len(minus)):
        size *= 2
    slots = np.full(size, -1, np.int64)
    counts = np.zeros(size, np.int64)
    for sign in (1, -1):
        listed = plus if sign == 1 else minus
        for i in range(len(listed)):
            at = listed[i] & (size - 1)  # slots are hashes already
            while slots[at] >= 0 and slots[at] != listed[i]:
                at = (at + 1) & (size - 1)
            slots[at] = listed[i]
            counts[at] += sign
    total = 0
    for at in range(size):
        total += counts[at] * counts[at]
    return total


@njit
def mira_step(rival, weights, clip):
    """The least step after which the gold tree wins by the loss, at most ``clip``; 0: it does."""
    # With v = f(gold) - f(found):
    #     step = min(clip, (loss - w.v) / v.v)
    ahead = 0.0  # w.v
    for i in range(len(rival.plus)):
        ahead += weights[rival.plus[i]]
    for i in range(len(rival.minus)):
        ahead -= weights[rival.minus[i]]
    if rival.squares == 0 or ahead >= rival.loss:
        return 0.0
    return min(clip, (rival.loss - ahead) / rival.squares)


@njit(nogil=True)
def rival_tree(k, sentences, gold, model, decoder, mira):
    """The tree of sentence k that the weights of now prefer to the gold one: a :class:`Rival`."""
    # ``gold`` (rows,) has the right heads, in the rows of ``sentences``.  Nothing is changed, so
    # that several threads may ask at once.
    sentence = sentence_of(sentences, k)
    n = len(sentence.keys) - 1
    target = gold[sentences.starts[k] + 1 : sentences.starts[k + 1]]
    keep = np.empty((n + 1, n + 1), np.bool_)
    candidates(sentence, decoder, target, keep)
    arc = np.empty((n + 1, n + 1))
    arc_scores(sentence, model, keep, arc)
    if mira:  # a wrong head is worth 1 more: the tree to beat is the most dangerous
        for h in range(n + 1):
            for d in range(1, n + 1):
                if target[d - 1] != h:
                    arc[h, d] += 1.0
    trees = np.empty((1, n), np.int32)
    best_tree(sentence, model, decoder, arc, target, trees)
    heads = trees[0]
    loss = 0
    for d in range(n):
        loss += heads[d] != target[d]
    # parts that both trees have cancel out
    plus = differing_slots(sentence, model, decoder.order, target, heads)
    minus = differing_slots(sentence, model, decoder.order, heads, target)
    return Rival(loss, plus, minus, squared_length(plus, minus))


@njit(nogil=True)
def move_weights(rival, weights, learner, time):
    """Move the weights from the rival towards the gold tree, at this time."""
    # MIRA's step is against the weights as they are by now: what another sentence mended since the
    # rival was found is not mended twice.
    step = mira_step(rival, weights, learner.clip) if learner.mira else 1.0
    if rival.loss == 0 or step == 0.0:
        return
    # sums: what an update is worth in the mean depends on when it came
    move(weights, learner.sums, rival.plus, step, time)
    move(weights, learner.sums, rival.minus, -step, time)


@njit(nogil=True)
def decode_all(sentences, model, decoder, heads):
    """Heads of all sentences, in the columns of their words; a row for each of the charges."""
    for k in range(len(sentences.starts) - 1):
        sentence = sentence_of(sentences, k)
        n = len(sentence.keys) - 1
        keep = np.empty((n + 1, n + 1), np.bool_)
        trees = np.empty((len(decoder.charges), n), np.int32)
        candidates(sentence, decoder, trees[0, :0], keep)
        arc = np.empty((n + 1, n + 1))
        arc_scores(sentence, model, keep, arc)
        best_tree(sentence, model, decoder, arc, trees[0, :0], trees)
        heads[:, sentences.starts[k] + 1 : sentences.starts[k + 1]] = trees


@njit(nogil=True)
def coarse_pass(chosen, sentences, gold, model, rate, squares):
    """One pass of a model that gives each word a distribution over all heads, p(h | d)."""
    # Every gradient g = [h is right] - p(h | d) that is not tiny moves the weights of its arc by
    # rate g / sqrt(sum of all g^2 so far), ``squares`` (2^bits,), which begin above 0.
    weights = model.weights
    for k in chosen:
        sentence = sentence_of(sentences, k)
        n = len(sentence.keys) - 1
        target = gold[sentences.starts[k] + 1 : sentences.starts[k + 1]]
        arc = np.empty((n + 1, n + 1))
        arc_scores(sentence, model, all_arcs(n), arc)
        slots = np.empty(most_slots(sentence, model.templates) // n, np.int64)
        for d in range(1, n + 1):
            top = arc[:, d].max()
            total = 0.0
            for h in range(n + 1):
                total += np.exp(arc[h, d] - top)
            for h in range(n + 1):
                slope = -np.exp(arc[h, d] - top) / total  # -p(h | d)
                if h == target[d - 1]:
                    slope += 1.0
                if abs(slope) < TINY:
                    continue
                end = arc_slots(sentence, model, h, d, slots, np.int64(0))
                for i in range(end):
                    adagrad(weights, squares, slots[i], slope, rate)
