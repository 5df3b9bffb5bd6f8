"""Scores of all arcs and siblings of a sentence, and the places of the weights behind one of them.

``keys`` (rows, slots) has a row for the root and each word of every sentence; ``first`` is the row
of this sentence's root and ``n`` its number of words.  ``tags`` (rows, 3) holds small numbers of
upos, xpos and of the kind (1 verb, 2 punctuation, 3 conjunction).  A feature's place is the sum of
its parts, mixed; its weights are ``weights[place ^ 0..15]``, one cache line (see ``templates``).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from eigentext.base import hashing

MIXER = np.uint64(hashing.MIXER)
BEFORE = np.uint64(0x2545F4914F6CDD1D)
BEHIND = np.uint64(0x27D4EB2F165667C5)
NOBODY = np.uint64(0x165667B19E3779F9)
COUNTED = np.uint64(0xD6E8FEB86659FD93)
S29, S31 = np.uint64(29), np.uint64(31)


@njit(cache=True, inline="always")
def mix(total, shift):
    """The place of a sum of parts."""
    total ^= total >> S31
    return np.int64((total * MIXER) >> shift)


@njit(cache=True)
def word_parts(keys, first, n, spec, seeds):
    """(n + 1, T): for the root and each word the hashed items of every template."""
    n_templates = spec.shape[0]
    found = np.empty((n + 1, n_templates), np.uint64)
    for i in range(n + 1):
        for t in range(n_templates):
            x = seeds[t]
            for j in range(spec.shape[1]):
                slot = spec[t, j, 0]
                if slot < 0:
                    break
                k = i + spec[t, j, 1]
                if k < 0:
                    key = BEFORE
                elif k > n:
                    key = BEHIND
                else:
                    key = keys[first + k, slot]
                x = (x ^ key) * MIXER
                x ^= x >> S29
            found[i, t] = x
    return found


@njit(cache=True, inline="always")
def distance_place(a, b):
    """Which of the 16 weights tells direction and distance: 2..15."""
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


@njit(cache=True)
def lines_of(keys, first, n, spec, seeds, weights, shift):
    """(n + 1, 16): sums of the weights of one word's own templates."""
    parts = word_parts(keys, first, n, spec, seeds)
    found = np.zeros((n + 1, 16))
    for i in range(n + 1):
        for t in range(parts.shape[1]):
            place = mix(parts[i, t], shift)
            for k in range(16):
                found[i, k] += weights[place ^ k]
    return found


@njit(cache=True)
def kinds_before(tags, first, n):
    """(n + 2, 3): how many verbs, marks, conjunctions stand before each row."""
    found = np.zeros((n + 2, 3), np.int64)
    for i in range(n + 1):
        for k in range(3):
            found[i + 1, k] = found[i, k]
        kind = tags[first + i, 2]
        if kind > 0:
            found[i + 1, kind - 1] += 1
    return found


@njit(cache=True, inline="always")
def kinds_key(before, a, b):
    """Key of how many of each kind lie between two rows."""
    if a > b:
        a, b = b, a
    verbs = min(before[b, 0] - before[a + 1, 0], 2)
    marks = min(before[b, 1] - before[a + 1, 1], 2)
    joins = min(before[b, 2] - before[a + 1, 2], 1)
    return COUNTED * np.uint64(1 + verbs + 3 * marks + 9 * joins)


@njit(cache=True, inline="always")
def rivals_key(n_head, n_mod):
    """Key of how many words in between have the head's tag, and the modifier's."""
    return COUNTED * np.uint64(1 + min(n_head, 2) + 3 * min(n_mod, 2))


@njit(cache=True)
def arc_scores(keys, tags, n_tags, first, n, feats, weights, shift, arc):
    """Fill ``arc[h, d]``; the diagonal and column 0 are -inf."""
    heads = word_parts(keys, first, n, feats.pair_spec[0], feats.pair_seeds[0])
    mods = word_parts(keys, first, n, feats.pair_spec[1], feats.pair_seeds[1])
    head_lines = lines_of(keys, first, n, feats.head_spec, feats.head_seeds, weights, shift)
    mod_lines = lines_of(keys, first, n, feats.mod_spec, feats.mod_seeds, weights, shift)
    before = kinds_before(tags, first, n)
    bounds = feats.pair_bounds
    counts = np.empty(n_tags, np.int64)
    seen = np.empty((2, n_tags), np.int64)  # stamp of the walk in which a tag was met
    met = np.empty((2, n_tags), np.uint64)  # keys of the different tags met on this walk
    seen[:] = -1
    arc[:] = -np.inf
    for h in range(n + 1):
        for side in range(2):
            if h == 0 and side == 0:
                continue
            step = 1 if side else -1
            counts[:] = 0
            n_met = np.zeros(2, np.int64)
            stamp = 2 * h + side
            d = h + step
            while 1 <= d <= n:
                far = distance_place(h, d)
                total = head_lines[h, side] + head_lines[h, far]
                total += mod_lines[d, side] + mod_lines[d, far]
                for t in range(bounds[1]):
                    place = mix(heads[h, t] + mods[d, t], shift)
                    total += weights[place ^ side] + weights[place ^ far]
                extra = kinds_key(before, h, d)
                for t in range(bounds[1], bounds[2]):
                    place = mix(heads[h, t] + mods[d, t] + extra, shift)
                    total += weights[place ^ side] + weights[place ^ far]
                extra = rivals_key(counts[tags[first + h, 0]], counts[tags[first + d, 0]])
                for t in range(bounds[2], bounds[3]):
                    place = mix(heads[h, t] + mods[d, t] + extra, shift)
                    total += weights[place ^ side] + weights[place ^ far]
                for kind in range(2):
                    for t in range(bounds[3 + kind], bounds[4 + kind]):
                        both = heads[h, t] + mods[d, t]
                        for k in range(n_met[kind]):
                            place = mix(both + met[kind, k], shift)
                            total += weights[place ^ side] + weights[place ^ far]
                arc[h, d] = total
                for kind in range(2):
                    tag = tags[first + d, kind]
                    if seen[kind, tag] != stamp:
                        seen[kind, tag] = stamp
                        met[kind, n_met[kind]] = keys[first + d, kind]
                        n_met[kind] += 1
                counts[tags[first + d, 0]] += 1
                d += step


@njit(cache=True)
def arc_places(keys, tags, n_tags, first, n, feats, shift, h, d, out, at):
    """Append the places of the weights of arc h -> d to ``out`` from ``at``; the new end."""
    side = 1 if d > h else 0
    far = distance_place(h, d)
    bounds = feats.pair_bounds
    before = kinds_before(tags, first, n)
    low, high = min(h, d) + 1, max(h, d)
    n_head = 0
    n_mod = 0
    for k in range(low, high):
        n_head += tags[first + k, 0] == tags[first + h, 0]
        n_mod += tags[first + k, 0] == tags[first + d, 0]
    for alone in range(2):
        w = d if alone else h
        spec = feats.mod_spec if alone else feats.head_spec
        seeds = feats.mod_seeds if alone else feats.head_seeds
        parts = one_word(keys, first, n, spec, seeds, w)
        for t in range(len(parts)):
            place = mix(parts[t], shift)
            out[at] = place ^ side
            out[at + 1] = place ^ far
            at += 2
    heads = one_word(keys, first, n, feats.pair_spec[0], feats.pair_seeds[0], h)
    mods = one_word(keys, first, n, feats.pair_spec[1], feats.pair_seeds[1], d)
    seen = np.zeros(n_tags, np.bool_)
    for t in range(bounds[5]):
        both = heads[t] + mods[t]
        if t >= bounds[3]:
            kind = 0 if t < bounds[4] else 1
            seen[:] = False
            for k in range(low, high):
                tag = tags[first + k, kind]
                if not seen[tag]:
                    seen[tag] = True
                    place = mix(both + keys[first + k, kind], shift)
                    out[at] = place ^ side
                    out[at + 1] = place ^ far
                    at += 2
            continue
        if t >= bounds[2]:
            both += rivals_key(n_head, n_mod)
        elif t >= bounds[1]:
            both += kinds_key(before, h, d)
        place = mix(both, shift)
        out[at] = place ^ side
        out[at + 1] = place ^ far
        at += 2
    return at


@njit(cache=True)
def one_word(keys, first, n, spec, seeds, i):
    """(T,): the parts of one row alone."""
    found = np.empty(spec.shape[0], np.uint64)
    for t in range(spec.shape[0]):
        x = seeds[t]
        for j in range(spec.shape[1]):
            slot = spec[t, j, 0]
            if slot < 0:
                break
            k = i + spec[t, j, 1]
            if k < 0:
                key = BEFORE
            elif k > n:
                key = BEHIND
            else:
                key = keys[first + k, slot]
            x = (x ^ key) * MIXER
            x ^= x >> S29
        found[t] = x
    return found


@njit(cache=True)
def nobody_parts(seeds):
    """(T,): the sibling's parts where there is none."""
    found = np.empty(len(seeds), np.uint64)
    for t in range(len(seeds)):
        x = (seeds[t] ^ NOBODY) * MIXER
        found[t] = x ^ (x >> S29)
    return found


@njit(cache=True)
def sibling_scores(keys, tags, first, n, feats, weights, shift, keep, sib):
    """Fill ``sib[h, s, d]`` for d on one side of h and s between them, or s == h for none.

    Triples with an arc that ``keep[h, d]`` (or ``keep[h, s]``) rules out are left as they are.
    """
    spec, seeds, bounds = feats.sib_spec, feats.sib_seeds, feats.sib_bounds
    heads = word_parts(keys, first, n, spec[0], seeds[0])
    sibs = word_parts(keys, first, n, spec[1], seeds[1])
    mods = word_parts(keys, first, n, spec[2], seeds[2])
    nobody = nobody_parts(seeds[1])
    before = kinds_before(tags, first, n)
    n_pair = bounds[2]
    pairs = np.full((n + 1, n + 1), np.nan)  # of sibling and modifier alone, made when needed
    for h in range(n + 1):
        for d in range(1, n + 1):
            if d == h or not keep[h, d]:
                continue
            side = 1 if d > h else 0
            step = 1 if side else -1
            s = h
            while s != d:
                if s != h and (not keep[h, s] or h == 0):
                    s += step
                    continue
                far = distance_place(s, d)
                extra = kinds_key(before, s, d)
                total = 0.0
                if s == h or np.isnan(pairs[s, d]):
                    for t in range(n_pair):
                        both = (nobody[t] if s == h else sibs[s, t]) + mods[d, t]
                        if t >= bounds[1]:
                            both += extra
                        place = mix(both, shift)
                        total += weights[place ^ side] + weights[place ^ far]
                    if s != h:
                        pairs[s, d] = total
                else:
                    total = pairs[s, d]
                for t in range(n_pair, bounds[4]):
                    all_three = heads[h, t] + mods[d, t]
                    all_three += nobody[t] if s == h else sibs[s, t]
                    if t >= bounds[3]:
                        all_three += extra
                    place = mix(all_three, shift)
                    total += weights[place ^ side] + weights[place ^ far]
                sib[h, s, d] = total
                s += step


@njit(cache=True)
def sibling_places(keys, tags, first, n, feats, shift, h, s, d, out, at):
    """Append the places of the weights of d after s below h; s == h for none; the new end."""
    spec, seeds, bounds = feats.sib_spec, feats.sib_seeds, feats.sib_bounds
    heads = one_word(keys, first, n, spec[0], seeds[0], h)
    mods = one_word(keys, first, n, spec[2], seeds[2], d)
    sibs = nobody_parts(seeds[1]) if s == h else one_word(keys, first, n, spec[1], seeds[1], s)
    before = kinds_before(tags, first, n)
    side = 1 if d > h else 0
    far = distance_place(s, d)
    extra = kinds_key(before, s, d)
    for t in range(bounds[4]):
        total = sibs[t] + mods[t]
        if t >= bounds[2]:
            total += heads[t]
        if bounds[1] <= t < bounds[2] or t >= bounds[3]:
            total += extra
        place = mix(total, shift)
        out[at] = place ^ side
        out[at + 1] = place ^ far
        at += 2
    return at


@njit(cache=True, inline="always")
def grand_place(g, h, d):
    """Which of the 16 weights tells on which sides the head's head and the modifier are."""
    outside = 0 if min(h, d) < g < max(h, d) else 1
    return 2 + (4 if d > h else 0) + (2 if h > g else 0) + outside


@njit(cache=True)
def grand_scores(keys, first, n, feats, weights, shift, governors, counts, keep, grand):
    """Fill ``grand[i, h, d]`` where g = ``governors[h, i]`` is a head that h may have."""
    spec, seeds = feats.grand_spec, feats.grand_seeds
    tops = word_parts(keys, first, n, spec[0], seeds[0])
    heads = word_parts(keys, first, n, spec[1], seeds[1])
    mods = word_parts(keys, first, n, spec[2], seeds[2])
    for h in range(1, n + 1):
        for i in range(counts[h]):
            g = governors[h, i]
            for d in range(1, n + 1):
                if d in (h, g) or not keep[h, d]:
                    continue
                side = 1 if d > h else 0
                place_of = grand_place(g, h, d)
                total = 0.0
                for t in range(spec.shape[1]):
                    place = mix(tops[g, t] + heads[h, t] + mods[d, t], shift)
                    total += weights[place ^ side] + weights[place ^ place_of]
                grand[i, h, d] = total


@njit(cache=True)
def grand_places(keys, first, n, feats, shift, g, h, d, out, at):
    """Append the places of the weights of g over h over d; the new end."""
    spec, seeds = feats.grand_spec, feats.grand_seeds
    tops = one_word(keys, first, n, spec[0], seeds[0], g)
    heads = one_word(keys, first, n, spec[1], seeds[1], h)
    mods = one_word(keys, first, n, spec[2], seeds[2], d)
    side = 1 if d > h else 0
    place_of = grand_place(g, h, d)
    for t in range(spec.shape[1]):
        place = mix(tops[t] + heads[t] + mods[t], shift)
        out[at] = place ^ side
        out[at + 1] = place ^ place_of
        at += 2
    return at
