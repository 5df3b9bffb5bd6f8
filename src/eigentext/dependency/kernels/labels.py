"""Relations of the arcs of a tree: from the root down, children from left to right.

A template's items are hashed in turn into a slot; the weights of all relations for it are the
``n_labels`` numbers from there on.  Items name a word by its role to the arc h -> d: h, d, the
head's head g, the children of h next to d on its left and right a and b, the first and last child
of d i and j, every child of d c, every other child of h s.  Attribute ``n_attributes`` is the
relation that the word got already, attribute ``n_attributes + 1`` the distance.
"""

from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import Float32s, Float64s, Int16s, Int32s, Int64s, UInt64s
from eigentext.dependency.kernels.features import BEFORE, BEHIND, COUNTED, NOBODY, distance_offset
from eigentext.features.kernels.hashing import mix, slot_of

EACH_CHILD, EACH_SIBLING = 7, 8
NEVER = 1 << 30  # no sum of weights is as large
SURE = 4000  # the largest margin that is told: a single relation has no next best
FIRST, LAST, NEXT, PREVIOUS, ORDER = range(5)  # columns of ``family``


class Trees(NamedTuple):
    """Sentences with trees, end to end."""

    starts: Int64s  # rows starts[k] to starts[k + 1] are sentence k
    keys: UInt64s  # (rows, attributes), the root of a sentence in its first row
    heads: Int32s  # (rows,)


class LabelledTree(NamedTuple):
    """One tree while it gets its relations."""

    keys: UInt64s  # (n + 1, attributes)
    heads: Int32s  # (n,)
    labels: Int32s  # (n,) numbers of the relations given so far, -1 for none
    kin: Int64s  # (n + 1, 5) what :func:`family` says


class LabelWeights(NamedTuple):
    """A linear classifier of relations over shared features."""

    spec: Int64s  # (T, items, 3) role, attribute and offset of the templates
    seeds: UInt64s  # (T,)
    weights: Int16s | Float32s  # (2^bits + n_labels,): those of slot p are weights[p + label]
    shift: np.uint64  # 64 - bits
    n_labels: int
    root_label: int  # the relation of the root's word and of no other; -1: it varies


class LabelLearner(NamedTuple):
    """How weights are moved."""

    margin: float  # to win by
    clip: float  # longest step
    sums: Float64s  # of time times change


@njit
def family(heads):
    """(n + 1, 5): first child, last child, next and previous child of the same head; the order."""
    # The last column lists the words from the root down: heads before dependents.
    n = len(heads)
    kin = np.full((n + 1, 5), -1, np.int64)
    for d in range(1, n + 1):
        h = heads[d - 1]
        if kin[h, FIRST] < 0:
            kin[h, FIRST] = d
        else:
            kin[d, PREVIOUS] = kin[h, LAST]
            kin[kin[h, LAST], NEXT] = d
        kin[h, LAST] = d
    # breadth first: the column is the queue itself
    done = 0
    kin[0, ORDER] = 0
    ready = 1
    while done < ready:
        child = kin[kin[done, ORDER], FIRST]
        while child > 0:
            kin[ready, ORDER] = child
            ready += 1
            child = kin[child, NEXT]
        done += 1
    return kin


@njit(inline="always")
def item_key(tree, row, attribute, offset, h, d):
    """Key of one item; a row of -1 is a word that is not there."""
    n_attributes = tree.keys.shape[1]
    if attribute == n_attributes + 1:
        return COUNTED * np.uint64(distance_offset(h, d))
    if row < 0:
        return NOBODY
    if attribute == n_attributes:
        return COUNTED * np.uint64(tree.labels[row - 1] + 2) if row > 0 else BEFORE
    row += offset
    if row < 0:
        return BEFORE
    if row >= len(tree.keys):
        return BEHIND
    return tree.keys[row, attribute]


@njit
def label_slots(tree, model, d, out):
    """Slots of the templates of the arc to d; how many."""
    heads, kin, spec = tree.heads, tree.kin, model.spec
    h = heads[d - 1]
    rows = np.empty(9, np.int64)  # the word in each role, in the order of ``ROLES``
    rows[0], rows[1] = h, d
    rows[2] = heads[h - 1] if h > 0 else -1
    rows[3], rows[4] = kin[d, PREVIOUS], kin[d, NEXT]
    rows[5], rows[6] = kin[d, FIRST], kin[d, LAST]
    side = np.uint64(1 if d > h else 0)
    n_slots = 0
    for t in range(spec.shape[0]):
        # items hash in the order of the template; those of "every" word are left for later
        x = model.seeds[t] + side
        each = 0
        for j in range(spec.shape[1]):
            attribute = spec[t, j, 1]
            if attribute < 0:
                break
            role = spec[t, j, 0]
            if role >= EACH_CHILD:
                each = role
                continue
            key = item_key(tree, rows[role], attribute, spec[t, j, 2], h, d)
            x = mix(x, key)
        if each == 0:
            out[n_slots] = slot_of(x, model.shift)
            n_slots += 1
            continue
        # the template fires for every child of d, or every other child of h: the items of that
        # word are hashed behind those that all of them share
        word = kin[d, FIRST] if each == EACH_CHILD else kin[h, FIRST]
        while word > 0:
            if word != d:
                y = x
                for j in range(spec.shape[1]):
                    attribute = spec[t, j, 1]
                    if attribute < 0:
                        break
                    if spec[t, j, 0] == each:
                        key = item_key(tree, word, attribute, spec[t, j, 2], h, d)
                        y = mix(y, key)
                out[n_slots] = slot_of(y, model.shift)
                n_slots += 1
            word = kin[word, NEXT]
    return n_slots


@njit
def score_labels(slots, n_slots, model, scores):
    """Sums of the weights of each relation; the root's is out of the question for other words."""
    weights = model.weights
    scores[:] = 0.0
    for i in range(n_slots):
        p = slots[i]
        for k in range(len(scores)):
            scores[k] += weights[p + k]
    if model.root_label >= 0:
        scores[model.root_label] = -NEVER


@njit(nogil=True)
def label_all(trees, model, labels):
    """Relations of all sentences; the root's word gets ``root_label`` if that is not -1, and no
    other word does.

    Greedy, O(n T n_labels): a word's relation is chosen once, when those of its head and of the
    siblings on its left are known, since the templates look at them.
    """
    scores = np.empty(model.n_labels, np.int32)
    for k in range(len(trees.starts) - 1):
        first, end = trees.starts[k], trees.starts[k + 1]
        mine = labels[first + 1 : end]
        mine[:] = -1
        heads = trees.heads[first + 1 : end]
        tree = LabelledTree(trees.keys[first:end], heads, mine, family(heads))
        slots = np.empty(len(model.spec) * (end - first), np.int64)
        for i in range(1, end - first):
            d = tree.kin[i, ORDER]
            if heads[d - 1] == 0 and model.root_label >= 0:
                mine[d - 1] = model.root_label
                continue
            n_slots = label_slots(tree, model, d, slots)
            score_labels(slots, n_slots, model, scores)
            mine[d - 1] = np.argmax(scores)


@njit
def keep_demands(h, d, demands, scores):
    """Put relations out of the question that the arc h -> d must not have."""
    # ``demands`` (m, 4): head, dependent, relation, and 1 if the arc must have it, 0 if it must
    # not.
    for row in range(len(demands)):
        if demands[row, 0] == h and demands[row, 1] == d:
            number = demands[row, 2]
            if demands[row, 3] == 0:
                scores[number] = -NEVER
                continue
            score = scores[number]
            scores[:] = -NEVER
            scores[number] = score


@njit(nogil=True)
def label_list(keys, heads, model, fixed, demands, labels, margins):
    """Relations of the trees (K, n) of one sentence, and by how much each beats the next best."""
    # ``demands`` are those of :func:`keep_demands`, which hold unless relations are ``fixed``.
    # The same relations as :func:`label_all` gives tree by tree; or those that are in ``labels``
    # already, if they are ``fixed``.  Most arcs stand in many trees of
    # a list with all that the templates look at: the words, the children of h and of d, and the
    # relations given so far to h, to its head and to the children of h.  A hash of these finds the
    # arcs that were labelled already.
    n_trees, n = heads.shape
    scores = np.empty(model.n_labels, np.int32)
    slots = np.empty(len(model.spec) * (n + 1), np.int64)
    size = 16
    while size < 2 * n_trees * n:
        size *= 2
    contexts = np.zeros(size, np.uint64)  # 0: an empty place
    answers = np.empty((size, 2), np.int32)  # relation and margin
    children = np.empty(n + 1, np.uint64)  # hash of the children of each word
    relations = np.empty(n + 1, np.uint64)  # hash of the relations of those that have one
    for k in range(n_trees):
        mine = np.full(n, -1, np.int32)
        tree = LabelledTree(keys, heads[k], mine, family(heads[k]))
        children[:] = COUNTED
        relations[:] = COUNTED
        for d in range(1, n + 1):
            h = heads[k, d - 1]
            children[h] = mix(children[h], np.uint64(d))
        for i in range(1, n + 1):
            d = tree.kin[i, ORDER]
            h = heads[k, d - 1]
            if h == 0 and model.root_label >= 0:
                mine[d - 1] = labels[k, d - 1] if fixed else model.root_label
                margins[k, d - 1] = 0 if mine[d - 1] == model.root_label else -SURE
                continue
            mine_is = labels[k, d - 1] if fixed else -1
            above = heads[k, h - 1] if h > 0 else -1
            of_head = mine[h - 1] if h > 0 else -1
            of_above = mine[above - 1] if above > 0 else -1
            x = mix(mix(children[h], relations[h]), np.uint64(d))
            x = mix(mix(x, np.uint64(h)), np.uint64(above + 1))
            x = mix(mix(x, np.uint64(of_head + 1)), np.uint64(of_above + 1))
            x = mix(mix(x, children[d]), np.uint64(mine_is + 1)) | np.uint64(1)
            at = np.int64(x >> np.uint64(33)) & (size - 1)
            while contexts[at] != 0 and contexts[at] != x:
                at = (at + 1) & (size - 1)
            if contexts[at] == 0:
                n_slots = label_slots(tree, model, d, slots)
                score_labels(slots, n_slots, model, scores)
                if not fixed:
                    keep_demands(h, d, demands, scores)
                best = mine_is if fixed else np.argmax(scores)
                contexts[at] = x
                answers[at, 0] = best
                answers[at, 1] = -SURE
                if best >= 0:  # training saw the relation
                    won = scores[best]
                    scores[best] = -NEVER
                    answers[at, 1] = max(min(won - scores.max(), SURE), -SURE)
            mine[d - 1] = answers[at, 0]
            margins[k, d - 1] = answers[at, 1]
            relations[h] = mix(relations[h], np.uint64(answers[at, 0] + 1))
        labels[k] = mine


@njit(nogil=True)
def label_pass(chosen, trees, gold, model, learner, time, wrong):
    """One pass of training on gold trees: each relation must win by ``margin``; the new time."""
    # ``chosen`` are numbers of sentences, ``gold`` (rows,) the right relations, ``time`` the words
    # seen before, ``wrong`` (1,) counts wrong relations.  Templates see the relations that the
    # classifier chose itself, as they will when it labels new trees.
    weights, sums = model.weights, learner.sums
    scores = np.empty(model.n_labels, np.float32)
    for k in chosen:
        first, end = trees.starts[k], trees.starts[k + 1]
        mine = np.full(end - first - 1, -1, np.int32)
        heads = trees.heads[first + 1 : end]
        tree = LabelledTree(trees.keys[first:end], heads, mine, family(heads))
        slots = np.empty(len(model.spec) * (end - first), np.int64)
        for i in range(1, end - first):
            d = tree.kin[i, ORDER]
            right = gold[first + d]
            if heads[d - 1] == 0 and model.root_label >= 0:  # no question, so nothing to learn
                mine[d - 1] = model.root_label
                continue
            time += 1
            n_slots = label_slots(tree, model, d, slots)
            score_labels(slots, n_slots, model, scores)
            mine[d - 1] = np.argmax(scores)
            wrong[0] += mine[d - 1] != right
            # the best of the other relations
            won = scores[right]
            scores[right] = -NEVER
            rival = np.argmax(scores)
            missing = learner.margin - (won - scores[rival])
            if missing <= 0.0:
                continue
            # the least step that closes the gap: it moves 2 weights for each slot
            step = min(learner.clip, missing / (2.0 * n_slots))
            for j in range(n_slots):
                weights[slots[j] + right] += step
                sums[slots[j] + right] += step * time
                weights[slots[j] + rival] -= step
                sums[slots[j] + rival] -= step * time
    return time
