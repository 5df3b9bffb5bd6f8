"""Compiled counting, looking up and learning for the ranker; arrays and scalars only.

A key is the upper 40 bits of a hash: of a context feature, of a label element's value, or of both
mixed.  Counts lie in one open table; a slot is a key and, in the lower 24 bits, its count.  With
ten million keys one in 100,000 that was never counted is taken for another.  Zero is an empty
slot, and no feature.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_A = np.uint64(0x9E3779B97F4A7C15)
_B = np.uint64(0xBF58476D1CE4E5B9)
_S24 = np.uint64(24)
_S29 = np.uint64(29)
_S32 = np.uint64(32)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_COUNT = np.uint64(0xFFFFFF)


@njit(cache=True, inline="always")
def mix(left, right):
    """One key of two hashes; the order counts."""
    mixed = (left ^ (right * _A + _ONE)) * _B
    mixed ^= mixed >> _S29
    mixed *= _A
    mixed ^= mixed >> _S32
    return mixed | _ONE


@njit(cache=True, inline="always")
def _shift(slots):
    """How far a key goes down to its place: places are in the order of keys."""
    shift = 40
    size = len(slots)
    while size > 1:
        size >>= 1
        shift -= 1
    return np.uint64(shift)


@njit(cache=True)
def add(slots, shift, key, amount):
    """Add to a key's count, which stops at 2^24 - 1; 1 if the key is new."""
    mask = np.uint64(len(slots) - 1)
    place = key >> shift
    while slots[place] != _ZERO:
        if slots[place] >> _S24 == key:
            count = min((slots[place] & _COUNT) + np.uint64(amount), _COUNT)
            slots[place] = (key << _S24) | count
            return 0
        place = (place + _ONE) & mask
    slots[place] = (key << _S24) | min(np.uint64(amount), _COUNT)
    return 1


@njit(cache=True, inline="always")
def _probe(slots, place, slot, key):
    """The count of a key whose first place holds ``slot``."""
    mask = np.uint64(len(slots) - 1)
    while slot != _ZERO:
        if slot >> _S24 == key:
            return np.int64(slot & _COUNT)
        place = (place + _ONE) & mask
        slot = slots[place]
    return 0


@njit(cache=True)
def get(slots, shift, key):
    """A key's count."""
    place = key >> shift
    return _probe(slots, place, slots[place], key)


@njit(cache=True)
def moved(slots, larger):
    """Put every count into a larger table; its first key comes first."""
    shift = _shift(larger)
    for place in range(len(slots)):
        if slots[place] != _ZERO:
            add(larger, shift, slots[place] >> _S24, np.int64(slots[place] & _COUNT))


@njit(cache=True)
def _write(out, place, number):
    """Seven bits a byte, the lowest first; the place after them."""
    while number >= 128:
        out[place] = (number & 127) | 128
        number >>= 7
        place += 1
    out[place] = number
    return place + 1


@njit(cache=True)
def pack(keys, counts, out):
    """Sorted keys as gaps, counts of up to 3 in the same bytes; how many bytes.

    ``out`` takes 10 bytes a key at most.
    """
    place = 0
    before = np.uint64(0)
    for i in range(len(keys)):
        gap = np.int64(keys[i] - before)
        before = keys[i]
        place = _write(out, place, (gap << 2) | min(counts[i], 4) - 1)
        if counts[i] >= 4:
            place = _write(out, place, np.int64(counts[i] - 4))
    return place


@njit(cache=True)
def unpack(packed, slots):
    """What :func:`pack` wrote, as slots; False if it is not all of them and no more."""
    place = 0
    key = np.uint64(0)
    for i in range(len(slots)):
        count = np.int64(0)
        for part in range(2):
            number, shift, more = np.int64(0), 0, True
            while more:
                if place == len(packed) or shift > 49:
                    return False
                number |= np.int64(packed[place] & 127) << shift
                more = packed[place] >= 128
                shift += 7
                place += 1
            if part == 1:
                count += number
                break
            key += np.uint64(number >> 2)
            count = (number & 3) + 1
            if count < 4:
                break
        if key >= np.uint64(1 << 40) or count >= 1 << 24:
            return False
        slots[i] = (key << np.uint64(24)) | np.uint64(count)
    return place == len(packed)


@njit(cache=True)
def factored(row_hash, row_units, unit_hash, unit_target):
    """Units of one word: values of targets on which its rows differ; the number of them.

    ``row_units`` [R, T] is filled with the units of rows or -1, ``unit_hash`` and ``unit_target``
    [R * T] with the units in order of targets, then of rows.
    """
    units = 0
    for t in range(row_hash.shape[1]):
        differ = False
        for row in range(1, len(row_hash)):
            if row_hash[row, t] != row_hash[0, t]:
                differ = True
                break
        start = units
        for row in range(len(row_hash)):
            row_units[row, t] = -1
            if differ:
                u = start
                while u < units and unit_hash[u] != row_hash[row, t]:
                    u += 1
                if u == units:
                    unit_hash[u] = row_hash[row, t]
                    unit_target[u] = t
                    units += 1
                row_units[row, t] = u
    return units


@njit(cache=True)
def count_features(tokens, atoms, slots):
    """Count features alone over some tokens; the number of new keys."""
    new = 0
    shift = _shift(slots)
    for token in tokens:
        for a in range(atoms.shape[1]):
            if atoms[token, a] != _ZERO:
                new += add(slots, shift, atoms[token, a] >> _S24, 1)
    return new


@njit(cache=True)
def count(tokens, atoms, gold, used, seen, least, slots):
    """Count features, elements and pairs over some tokens; the number of new keys.

    ``tokens`` [n] are rows of ``atoms`` [., A] and ``gold`` [., T]; ``used`` [A, T] says which
    pairs are counted, ``seen`` how often features come in all: those below ``least`` are not.
    """
    new = 0
    shift, seen_shift = _shift(slots), _shift(seen)
    for token in tokens:
        for t in range(gold.shape[1]):
            new += add(slots, shift, gold[token, t] >> _S24, 1)
        for a in range(atoms.shape[1]):
            atom = atoms[token, a]
            if atom == _ZERO or (least > 1 and get(seen, seen_shift, atom >> _S24) < least):
                continue
            new += add(slots, shift, atom >> _S24, 1)
            for t in range(gold.shape[1]):
                if used[a, t]:
                    new += add(slots, shift, mix(atom, gold[token, t]) >> _S24, 1)
    return new


@njit(cache=True)
def look_up(
    tokens, atoms, unit_first, unit_hash, unit_target, used, slots, own, together, alone, base
):
    """Counts of every unit of some tokens with every feature, less those of ``own``.

    ``together`` [U, A], ``alone`` [n, A] and ``base`` [U] are filled.
    """
    take_off = len(own) > 1
    shift, own_shift = _shift(slots), _shift(own)
    for token in tokens:
        for a in range(atoms.shape[1]):
            atom = atoms[token, a]
            if atom == _ZERO:
                continue
            seen = get(slots, shift, atom >> _S24)
            if take_off and seen > 0:
                seen -= get(own, own_shift, atom >> _S24)
            alone[token, a] = seen
            if seen == 0:
                continue
            for u in range(unit_first[token], unit_first[token + 1]):
                if not used[a, unit_target[u]]:
                    continue
                key = mix(atom, unit_hash[u]) >> _S24
                found = get(slots, shift, key)
                if take_off and found > 0:
                    found -= get(own, own_shift, key)
                together[u, a] = found
        for u in range(unit_first[token], unit_first[token + 1]):
            found = get(slots, shift, unit_hash[u] >> _S24)
            if take_off and found > 0:
                found -= get(own, own_shift, unit_hash[u] >> _S24)
            base[u] = found


@njit(cache=True)
def ratios(
    tokens,
    atoms,
    unit_first,
    unit_hash,
    unit_target,
    used,
    slots,
    own,
    n_words,
    strength,
    logs,
    z,
    bucket,
    start,
    base,
):
    """:func:`look_up` and the smoothed log ratios of its counts at once.

    ``z`` [U, .] and ``bucket`` [n, .] are filled from column ``start`` on, and ``base`` [U];
    ``logs`` holds the logarithms of (k + strength).  A value never seen is in no pair.  The first
    places of a feature's keys are all read before any is looked at: the processor then waits for
    memory once and not for each key.
    """
    take_off = len(own) > 1
    shift, own_shift = _shift(slots), _shift(own)
    n_atoms = atoms.shape[1]
    rare = np.zeros(256, np.float32)
    keys = np.zeros(256, np.uint64)
    first_slots = np.zeros(256, np.uint64)
    alone = np.zeros(n_atoms, np.uint64)
    for token in tokens:
        begin, end = unit_first[token], unit_first[token + 1]
        if begin == end:
            continue
        if end - begin > len(keys):
            rare = np.zeros(2 * (end - begin), np.float32)
            keys = np.zeros(len(rare), np.uint64)
            first_slots = np.zeros(len(rare), np.uint64)
        for a in range(n_atoms):
            alone[a] = slots[atoms[token, a] >> _S24 >> shift]
        for u in range(begin, end):
            first_slots[u - begin] = slots[unit_hash[u] >> _S24 >> shift]
        for u in range(begin, end):
            key = unit_hash[u] >> _S24
            found = _probe(slots, key >> shift, first_slots[u - begin], key)
            if take_off and found > 0:
                found -= get(own, own_shift, key)
            base[u] = found
            rare[u - begin] = (n_words + np.float32(1.0)) / (found + np.float32(0.5))
        for a in range(n_atoms):
            atom = atoms[token, a]
            seen = 0
            if atom != _ZERO:
                key = atom >> _S24
                seen = _probe(slots, key >> shift, alone[a], key)
                if take_off and seen > 0:
                    seen -= get(own, own_shift, key)
            bucket[token, start + a] = (seen >= 2) + (seen >= 4) + (seen >= 16)
            if seen == 0:
                for u in range(begin, end):
                    z[u, start + a] = 0.0
                continue
            below = logs[seen] if seen < len(logs) else np.float32(np.log(seen + strength))
            for u in range(begin, end):
                if base[u] > 0 and used[a, unit_target[u]]:
                    key = mix(atom, unit_hash[u]) >> _S24
                    keys[u - begin] = key
                    first_slots[u - begin] = slots[key >> shift]
            for u in range(begin, end):
                found = 0
                if base[u] > 0 and used[a, unit_target[u]]:
                    key = keys[u - begin]
                    found = _probe(slots, key >> shift, first_slots[u - begin], key)
                    if take_off and found > 0:
                        found -= get(own, own_shift, key)
                above = logs[0]
                if found > 0:
                    above = np.log(np.float32(found) * rare[u - begin] + strength)
                z[u, start + a] = above - below


@njit(cache=True)
def document_overlap(unit_row, unit_doc, first, docs, counts, similarity, out):
    """For each unit: its counts over documents, weighted by how alike they are to its own."""
    for u in range(len(unit_row)):
        row = unit_row[u]
        total = 0.0
        if row >= 0:
            for k in range(first[row], first[row + 1]):
                total += counts[k] * similarity[unit_doc[u], docs[k]]
        out[u] = total
    return out


@njit(cache=True)
def score(
    tokens,
    atoms,
    unit_first,
    unit_hash,
    unit_target,
    used,
    first,
    row_units,
    numeric,
    z,
    bucket,
    dense,
    numeric_weights,
    sparse,
    bits,
    out,
):
    """Scores of all candidates of some tokens."""
    shift = np.uint64(64 - bits)
    unit_score = np.zeros(4096, np.float64)
    for token in tokens:
        start, end = unit_first[token], unit_first[token + 1]
        if end - start > len(unit_score):
            unit_score = np.zeros(2 * (end - start), np.float64)
        for u in range(start, end):
            t = unit_target[u]
            total = 0.0
            for a in range(dense.shape[1]):
                total += dense[bucket[token, a], a, t] * z[u, a]
            if bits:
                for a in range(atoms.shape[1]):
                    if atoms[token, a] != _ZERO and used[a, t]:
                        total += sparse[mix(atoms[token, a], unit_hash[u]) >> shift]
            unit_score[u - start] = total
        for row in range(first[token], first[token + 1]):
            total = 0.0
            for k in range(numeric.shape[1]):
                total += numeric_weights[k] * numeric[row, k]
            for t in range(row_units.shape[1]):
                u = row_units[row, t]
                if u >= 0:
                    total += unit_score[u - start]
            out[row] = total


@njit(cache=True)
def learn(
    order,
    gold_row,
    atoms,
    unit_first,
    unit_hash,
    unit_target,
    used,
    first,
    row_units,
    numeric,
    z,
    bucket,
    dense,
    dense_sum,
    numeric_weights,
    numeric_sum,
    sparse,
    sparse_sum,
    bits,
    rate,
    sparse_rate,
    decay,
    scores,
):
    """One pass of AdaGrad over tokens for the conditional softmax; the mean log loss."""
    shift = np.uint64(64 - bits)
    unit_gradient = np.zeros(4096, np.float64)
    one = np.zeros(1, np.int64)
    loss = 0.0
    for token in order:
        begin, stop = first[token], first[token + 1]
        one[0] = token
        score(
            one,
            atoms,
            unit_first,
            unit_hash,
            unit_target,
            used,
            first,
            row_units,
            numeric,
            z,
            bucket,
            dense,
            numeric_weights,
            sparse,
            bits,
            scores,
        )
        top = scores[begin]
        for row in range(begin + 1, stop):
            top = max(top, scores[row])
        total = 0.0
        for row in range(begin, stop):
            total += np.exp(scores[row] - top)
        start, end = unit_first[token], unit_first[token + 1]
        if end - start > len(unit_gradient):
            unit_gradient = np.zeros(2 * (end - start), np.float64)
        unit_gradient[: end - start] = 0.0
        for row in range(begin, stop):
            share = np.exp(scores[row] - top) / total
            if row == gold_row[token]:
                loss -= np.log(max(share, 1e-300))
                share -= 1.0
            for t in range(row_units.shape[1]):
                u = row_units[row, t]
                if u >= 0:
                    unit_gradient[u - start] += share
            for k in range(numeric.shape[1]):
                g = share * numeric[row, k]
                if g != 0.0:
                    numeric_sum[k] += g * g
                    numeric_weights[k] -= rate * g / np.sqrt(numeric_sum[k])
        for u in range(start, end):
            g = unit_gradient[u - start]
            if abs(g) < 1e-4:
                continue
            t = unit_target[u]
            for a in range(dense.shape[1]):
                if z[u, a] != 0.0:
                    b = bucket[token, a]
                    d = g * z[u, a] + decay * dense[b, a, t]
                    dense_sum[b, a, t] += d * d
                    dense[b, a, t] -= rate * d / np.sqrt(dense_sum[b, a, t])
            if bits:
                for a in range(atoms.shape[1]):
                    if atoms[token, a] != _ZERO and used[a, t]:
                        place = mix(atoms[token, a], unit_hash[u]) >> shift
                        d = g + decay * sparse[place]
                        sparse_sum[place] += d * d
                        sparse[place] -= sparse_rate * d / np.sqrt(sparse_sum[place])
    return loss / max(len(order), 1)
