"""Scores of all arcs, siblings and grandparents of a sentence, and the slots of their weights.

A *slot* is an index into the weight table.  A template makes of each word a *part*, a 64-bit hash
of the attributes that it names (:func:`word_parts`); the feature of an arc is the sum of the parts
of its words, mixed once (``slot_of_sum``).  So a sentence of n words hashes n times for each
template, and the n^2 arcs and n^3 siblings only add.  A feature has 16 weights,
``weights[slot ^ 0..15]``, one cache line (see ``templates``): the one at ``slot ^ side`` for the
direction and the one at ``slot ^ far`` for direction and distance.

``*_scores`` fill the scores of all arcs for the decoders; ``*_slots`` list the slots behind one
arc for the learners.  Both must agree: what a decoder adds up is what a learner moves.
"""

from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import AnyArray, Float32s, Int16s, Int32s, Int64s, UInt64s
from eigentext.features.kernels.hashing import mix, slot_of_sum

BEFORE = np.uint64(0x2545F4914F6CDD1D)  # key of a word before the first
BEHIND = np.uint64(0x27D4EB2F165667C5)  # and of one after the last
NOBODY = np.uint64(0x165667B19E3779F9)  # key of a word that is not there, such as a sibling
COUNTED = np.uint64(0xD6E8FEB86659FD93)  # times a small number: the key of that number
FIRST_FEATURE = 3  # column of ``tags``


class Sentence(NamedTuple):
    """A sentence of n words; row 0 is the root, row i word i."""

    keys: UInt64s  # (n + 1, attributes) uint64: a hash of each attribute's value
    # (n + 1, 7): small numbers of upos and xpos, the kind (1 verb, 2 punctuation, 3 conjunction),
    # and small numbers of case, number, gender and person, 0 for none
    tags: Int32s
    n_tags: int  # both numbers are below it


class Sentences(NamedTuple):
    """Many of them end to end; the rows of sentence k are ``starts[k]`` to ``starts[k + 1]``."""

    starts: Int64s
    keys: UInt64s
    tags: Int32s
    n_tags: int


class LinearModel(NamedTuple):
    """A table of weights and what looks things up in it."""

    templates: tuple[AnyArray, ...]  # a ``FeatureArrays``
    weights: Int16s | Float32s  # (2^bits,) float32 while learned, int16 once rounded
    shift: np.uint64  # 64 - bits
    scale: float  # what 1 in the table is worth: weights are added up first, whole numbers exactly


class Governors(NamedTuple):
    """The heads that each word may have, and the modifiers."""

    counts: Int64s  # (n + 1,) how many heads they are
    heads: Int64s  # (n + 1, n + 1) heads[d, i] is the i-th of them
    number_of: Int64s  # (n + 1, n + 1) number_of[h, d]: that of h among those of d, -1 for none
    many: Int64s  # (n + 1, 2) how many modifiers on the left and on the right
    mods: Int64s  # (n + 1, 2, n + 1) mods[h, side]: which, outward from h


@njit
def sentence_of(sentences, k):
    """The rows of sentence k."""
    first, end = sentences.starts[k], sentences.starts[k + 1]
    return Sentence(sentences.keys[first:end], sentences.tags[first:end], sentences.n_tags)


# ---------------------------------------------------------------- hashing


@njit(inline="always")
def line_score(weights, slot, side, far):
    """What one feature adds: its weight for the direction and that for the distance."""
    return weights[slot ^ side] + weights[slot ^ far]


@njit(inline="always")
def put(out, at, slot, side, far):
    """The two slots of one feature go to ``out[at:]``; the new end."""
    out[at] = slot ^ side
    out[at + 1] = slot ^ far
    return at + 2


@njit
def word_part(keys, i, spec, seeds, t):
    """Hash of the attributes that template t names of word i and its neighbours."""
    x = seeds[t]
    for j in range(spec.shape[1]):
        attribute = spec[t, j, 0]
        if attribute < 0:
            break
        k = i + spec[t, j, 1]
        if k < 0:
            key = BEFORE
        elif k >= len(keys):
            key = BEHIND
        else:
            key = keys[k, attribute]
        x = mix(x, key)
    return x


@njit
def word_parts(keys, spec, seeds):
    """(n + 1, T): for the root and each word its part in every template."""
    parts = np.empty((len(keys), len(spec)), np.uint64)
    for i in range(len(keys)):
        for t in range(len(spec)):
            parts[i, t] = word_part(keys, i, spec, seeds, t)
    return parts


@njit
def one_word_parts(keys, i, spec, seeds):
    """(T,): the parts of one word alone."""
    parts = np.empty(len(spec), np.uint64)
    for t in range(len(spec)):
        parts[t] = word_part(keys, i, spec, seeds, t)
    return parts


@njit
def nobody_parts(seeds):
    """(T,): the sibling's parts where there is none."""
    parts = np.empty(len(seeds), np.uint64)
    for t in range(len(seeds)):
        parts[t] = mix(seeds[t], NOBODY)
    return parts


# ---------------------------------------------------------------- what lies between two words


@njit(inline="always")
def distance_offset(a, b):
    """Which of the 16 weights tells direction and distance: 2..8 leftward, 9..15 rightward."""
    if b > a:
        away = b - a
        start = 9
    else:
        away = a - b
        start = 2
    if away <= 4:
        return start + away - 1
    if away <= 6:
        return start + 4
    if away <= 10:
        return start + 5
    return start + 6


@njit
def kinds_before(tags):
    """(n + 2, 3): how many verbs, marks, conjunctions stand before each row."""
    before = np.zeros((len(tags) + 1, 3), np.int64)
    for i in range(len(tags)):
        for k in range(3):
            before[i + 1, k] = before[i, k]
        kind = tags[i, 2]
        if kind > 0:
            before[i + 1, kind - 1] += 1
    return before


@njit(inline="always")
def kinds_key(before, a, b):
    """Key of how many of each kind lie between two rows."""
    if a > b:
        a, b = b, a
    verbs = min(before[b, 0] - before[a + 1, 0], 2)
    marks = min(before[b, 1] - before[a + 1, 1], 2)
    joins = min(before[b, 2] - before[a + 1, 2], 1)
    return COUNTED * np.uint64(1 + verbs + 3 * marks + 9 * joins)


@njit(inline="always")
def rivals_key(n_head, n_mod):
    """Key of how many words in between have the head's tag, and the modifier's."""
    return COUNTED * np.uint64(1 + min(n_head, 2) + 3 * min(n_mod, 2))


@njit(inline="always")
def agree_key(tags, h, d):
    """Key of where two words agree: in each of the features one has not, both same, or not."""
    code = 0
    for k in range(FIRST_FEATURE, tags.shape[1]):
        code *= 3
        if tags[h, k] > 0 and tags[d, k] > 0:
            code += 1 if tags[h, k] == tags[d, k] else 2
    return COUNTED * np.uint64(1 + code)


# ---------------------------------------------------------------- arcs


@njit
def summed_lines(keys, spec, seeds, weights, shift):
    """(n + 1, 16): the lines of weights of templates that name one word alone, added up."""
    lines = np.zeros((len(keys), 16))
    for i in range(len(keys)):
        for t in range(len(spec)):
            slot = slot_of_sum(word_part(keys, i, spec, seeds, t), shift)
            for k in range(16):
                lines[i, k] += weights[slot ^ k]
    return lines


@njit
def arc_scores(sentence, model, keep, arc):
    """Fill ``arc[h, d]``, the score of head h for word d, where ``keep[h, d]``; else it is -inf.

    The diagonal and column 0 are never kept.  O(a T) time for a arcs and T templates of pairs,
    and for ~upos and ~xpos as many more as there are different tags in between.
    """
    keys, tags = sentence.keys, sentence.tags
    templates, weights, shift = model.templates, model.weights, model.shift
    n = len(keys) - 1
    heads = word_parts(keys, templates.pair_spec[0], templates.pair_seeds[0])
    mods = word_parts(keys, templates.pair_spec[1], templates.pair_seeds[1])
    head_lines = summed_lines(keys, templates.head_spec, templates.head_seeds, weights, shift)
    mod_lines = summed_lines(keys, templates.mod_spec, templates.mod_seeds, weights, shift)
    before = kinds_before(tags)
    bounds = templates.pair_bounds
    counts = np.empty(sentence.n_tags, np.int64)  # of each upos between h and d
    stamps = np.empty((2, sentence.n_tags), np.int64)  # stamp of the walk in which a tag was met
    met = np.empty((2, sentence.n_tags), np.uint64)  # keys of the different tags met on this walk
    stamps[:] = -1
    arc[:] = -np.inf
    n_met = np.zeros(2, np.int64)
    zero = weights[0] * 0  # a whole number, or a float64
    # From each head we walk outwards, to the left and to the right: what lies between h and d is
    # what the walk has passed, so tags in between are collected once per walk, not once per arc.
    for h in range(n + 1):
        for side in range(2):
            if h == 0 and side == 0:
                continue
            step = 1 if side else -1
            last = n if side else 1
            while last != h and not keep[h, last]:  # beyond it there is nothing to score
                last -= step
            counts[:] = 0
            n_met[:] = 0
            stamp = 2 * h + side
            d = h
            while d != last:
                d += step
                if keep[h, d]:
                    far = distance_offset(h, d)
                    total = zero
                    for t in range(bounds[1]):  # plain pairs
                        slot = slot_of_sum(heads[h, t] + mods[d, t], shift)
                        total += line_score(weights, slot, side, far)
                    extra = kinds_key(before, h, d)
                    for t in range(bounds[1], bounds[2]):  # ~kinds
                        slot = slot_of_sum(heads[h, t] + mods[d, t] + extra, shift)
                        total += line_score(weights, slot, side, far)
                    extra = rivals_key(counts[tags[h, 0]], counts[tags[d, 0]])
                    for t in range(bounds[2], bounds[3]):  # ~rivals
                        slot = slot_of_sum(heads[h, t] + mods[d, t] + extra, shift)
                        total += line_score(weights, slot, side, far)
                    extra = agree_key(tags, h, d)
                    for t in range(bounds[3], bounds[4]):  # ~agree
                        slot = slot_of_sum(heads[h, t] + mods[d, t] + extra, shift)
                        total += line_score(weights, slot, side, far)
                    for kind in range(2):  # ~upos, ~xpos: once for each different tag in between
                        for t in range(bounds[4 + kind], bounds[5 + kind]):
                            both = heads[h, t] + mods[d, t]
                            for k in range(n_met[kind]):
                                slot = slot_of_sum(both + met[kind, k], shift)
                                total += line_score(weights, slot, side, far)
                    alone = head_lines[h, side] + head_lines[h, far]
                    alone += mod_lines[d, side] + mod_lines[d, far]
                    arc[h, d] = (total + alone) * model.scale
                # from here on d itself is one of those in between
                for kind in range(2):
                    tag = tags[d, kind]
                    if stamps[kind, tag] != stamp:
                        stamps[kind, tag] = stamp
                        met[kind, n_met[kind]] = keys[d, kind]
                        n_met[kind] += 1
                counts[tags[d, 0]] += 1


@njit
def all_arcs(n):
    """(n + 1, n + 1): every head for every word, but not the word itself."""
    keep = np.ones((n + 1, n + 1), np.bool_)
    keep[:, 0] = False
    for i in range(1, n + 1):
        keep[i, i] = False
    return keep


@njit
def arc_slots(sentence, model, h, d, out, at):
    """Append the slots of the weights of arc h -> d to ``out`` from ``at``; the new end."""
    keys, tags, templates, shift = sentence.keys, sentence.tags, model.templates, model.shift
    side = 1 if d > h else 0
    far = distance_offset(h, d)
    bounds = templates.pair_bounds
    before = kinds_before(tags)
    low, high = min(h, d) + 1, max(h, d)
    n_head = 0
    n_mod = 0
    for k in range(low, high):
        n_head += tags[k, 0] == tags[h, 0]
        n_mod += tags[k, 0] == tags[d, 0]
    for part in one_word_parts(keys, h, templates.head_spec, templates.head_seeds):
        at = put(out, at, slot_of_sum(part, shift), side, far)
    for part in one_word_parts(keys, d, templates.mod_spec, templates.mod_seeds):
        at = put(out, at, slot_of_sum(part, shift), side, far)
    heads = one_word_parts(keys, h, templates.pair_spec[0], templates.pair_seeds[0])
    mods = one_word_parts(keys, d, templates.pair_spec[1], templates.pair_seeds[1])
    is_met = np.zeros(sentence.n_tags, np.bool_)
    for t in range(bounds[6]):
        both = heads[t] + mods[t]
        if t >= bounds[4]:  # ~upos, ~xpos
            kind = 0 if t < bounds[5] else 1
            is_met[:] = False
            for k in range(low, high):
                tag = tags[k, kind]
                if not is_met[tag]:
                    is_met[tag] = True
                    at = put(out, at, slot_of_sum(both + keys[k, kind], shift), side, far)
            continue
        if t >= bounds[3]:
            both += agree_key(tags, h, d)
        elif t >= bounds[2]:
            both += rivals_key(n_head, n_mod)
        elif t >= bounds[1]:
            both += kinds_key(before, h, d)
        at = put(out, at, slot_of_sum(both, shift), side, far)
    return at


# ---------------------------------------------------------------- siblings


@njit
def sibling_scores(sentence, model, governors, sib):
    """Fill ``sib[h, s, d]`` for d on one side of h and s between them, or s == h for none."""
    # Triples with an arc that ``governors`` has not are left as they are, so the time is that of
    # the arcs kept: n k^2 for k heads a word, not n^3.
    templates, weights, shift = model.templates, model.weights, model.shift
    spec, seeds, bounds = templates.sib_spec, templates.sib_seeds, templates.sib_bounds
    n = len(sentence.keys) - 1
    heads = word_parts(sentence.keys, spec[0], seeds[0])
    sibs = word_parts(sentence.keys, spec[1], seeds[1])
    mods = word_parts(sentence.keys, spec[2], seeds[2])
    nobody = nobody_parts(seeds[1])
    before = kinds_before(sentence.tags)
    n_pair = bounds[2]  # the templates before it do not look at the head:
    zero = weights[0] * 0  # a whole number, or a float64
    pairs = np.empty((n + 1, n + 1), (weights[:1] * 0).dtype)  # [s, d]: their sums,
    is_summed = np.zeros((n + 1, n + 1), np.bool_)  # made when first needed
    for h in range(n + 1):
        for side in range(2):
            for j in range(governors.many[h, side]):
                d = governors.mods[h, side, j]
                for i in range(-1, j if h > 0 else 0):  # the root has one modifier only
                    s = h if i < 0 else governors.mods[h, side, i]
                    far = distance_offset(s, d)
                    extra = kinds_key(before, s, d)
                    total = zero
                    if s == h or not is_summed[s, d]:
                        for t in range(n_pair):
                            both = (nobody[t] if s == h else sibs[s, t]) + mods[d, t]
                            if t >= bounds[1]:
                                both += extra
                            total += line_score(weights, slot_of_sum(both, shift), side, far)
                        if s != h:
                            pairs[s, d] = total
                            is_summed[s, d] = True
                    else:
                        total = pairs[s, d]
                    for t in range(n_pair, bounds[4]):
                        all_three = heads[h, t] + mods[d, t]
                        all_three += nobody[t] if s == h else sibs[s, t]
                        if t >= bounds[3]:
                            all_three += extra
                        total += line_score(weights, slot_of_sum(all_three, shift), side, far)
                    sib[h, s, d] = total * model.scale


@njit
def sibling_slots(sentence, model, h, s, d, out, at):
    """Append the slots of the weights of d after s below h; s == h for none; the new end."""
    keys, templates = sentence.keys, model.templates
    spec, seeds, bounds = templates.sib_spec, templates.sib_seeds, templates.sib_bounds
    heads = one_word_parts(keys, h, spec[0], seeds[0])
    mods = one_word_parts(keys, d, spec[2], seeds[2])
    sibs = nobody_parts(seeds[1]) if s == h else one_word_parts(keys, s, spec[1], seeds[1])
    side = 1 if d > h else 0
    far = distance_offset(s, d)
    extra = kinds_key(kinds_before(sentence.tags), s, d)
    for t in range(bounds[4]):
        total = sibs[t] + mods[t]
        if t >= bounds[2]:
            total += heads[t]
        if bounds[1] <= t < bounds[2] or t >= bounds[3]:
            total += extra
        at = put(out, at, slot_of_sum(total, model.shift), side, far)
    return at


# ---------------------------------------------------------------- grandparents


@njit(inline="always")
def grand_offset(g, h, d):
    """Which of the 16 weights tells on which sides the head's head and the modifier are."""
    outside = 0 if min(h, d) < g < max(h, d) else 1
    return 2 + (4 if d > h else 0) + (2 if h > g else 0) + outside


@njit
def grand_scores(sentence, model, governors):
    """grand[i, h, d]: word d below h, when h hangs from its i-th governor g; 0 where none may."""
    # The first axis is as long as the longest list of governors (at most 10 when pruned), so
    # memory is that of the arcs kept times n, not n^3.
    spec, seeds = model.templates.grand_spec, model.templates.grand_seeds
    weights, shift = model.weights, model.shift
    n = len(sentence.keys) - 1
    tops = word_parts(sentence.keys, spec[0], seeds[0])
    heads = word_parts(sentence.keys, spec[1], seeds[1])
    mods = word_parts(sentence.keys, spec[2], seeds[2])
    grand = np.zeros((governors.counts.max(), n + 1, n + 1))
    zero = weights[0] * 0  # a whole number, or a float64
    for h in range(1, n + 1):
        for side in range(2):
            for j in range(governors.many[h, side]):
                d = governors.mods[h, side, j]
                for i in range(governors.counts[h]):
                    g = governors.heads[h, i]
                    if g == d:
                        continue
                    offset = grand_offset(g, h, d)
                    total = zero
                    for t in range(spec.shape[1]):
                        slot = slot_of_sum(tops[g, t] + heads[h, t] + mods[d, t], shift)
                        total += line_score(weights, slot, side, offset)
                    grand[i, h, d] = total * model.scale
    return grand


@njit
def grand_slots(sentence, model, g, h, d, out, at):
    """Append the slots of the weights of g over h over d; the new end."""
    keys = sentence.keys
    spec, seeds = model.templates.grand_spec, model.templates.grand_seeds
    tops = one_word_parts(keys, g, spec[0], seeds[0])
    heads = one_word_parts(keys, h, spec[1], seeds[1])
    mods = one_word_parts(keys, d, spec[2], seeds[2])
    side = 1 if d > h else 0
    offset = grand_offset(g, h, d)
    for t in range(spec.shape[1]):
        at = put(out, at, slot_of_sum(tops[t] + heads[t] + mods[t], model.shift), side, offset)
    return at


@njit
def grand_totals(sentence, model, heads, totals):
    """What grandparents add to the scores of the trees ``heads`` (K, n)."""
    # The same g over h over d stands in many trees: the last g of each h and d is remembered.
    n = heads.shape[1]
    n_templates = model.templates.grand_spec.shape[1]
    slots = np.empty(2 * max(n_templates, 1), np.int64)
    last = np.full((n + 1, n + 1), -1, np.int64)
    value = np.empty((n + 1, n + 1))
    for k in range(len(heads)):
        total = 0.0
        for d in range(1, n + 1):
            h = heads[k, d - 1]
            if h == 0:
                continue
            g = heads[k, h - 1]
            if last[h, d] != g:
                end = grand_slots(sentence, model, g, h, d, slots, np.int64(0))
                last[h, d] = g
                value[h, d] = 0.0
                for at in range(end):
                    value[h, d] += model.weights[slots[at]]
            total += value[h, d]
        totals[k] = total * model.scale
