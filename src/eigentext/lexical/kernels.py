"""Compiled counting, looking up and learning for the ranker; arrays and scalars only.

A key is a mix of the hash of a context feature and the hash of a label element's value; counts lie
in one open table of keys.  Zero is no key and no feature.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_A = np.uint64(0x9E3779B97F4A7C15)
_B = np.uint64(0xBF58476D1CE4E5B9)
_S29 = np.uint64(29)
_S32 = np.uint64(32)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)


@njit(cache=True, inline="always")
def mix(left, right):
    """One key of two hashes; the order counts."""
    mixed = (left ^ (right * _A + _ONE)) * _B
    mixed ^= mixed >> _S29
    mixed *= _A
    mixed ^= mixed >> _S32
    return mixed | _ONE


@njit(cache=True)
def add(keys, values, key, amount):
    """Add to a key's count; 1 if the key is new."""
    mask = np.uint64(len(keys) - 1)
    place = (key >> _S29) & mask
    while keys[place] != _ZERO:
        if keys[place] == key:
            values[place] += amount
            return 0
        place = (place + _ONE) & mask
    keys[place] = key
    values[place] = amount
    return 1


@njit(cache=True)
def get(keys, values, key):
    """A key's count."""
    mask = np.uint64(len(keys) - 1)
    place = (key >> _S29) & mask
    while keys[place] != _ZERO:
        if keys[place] == key:
            return values[place]
        place = (place + _ONE) & mask
    return 0


@njit(cache=True)
def moved(keys, values, new_keys, new_values):
    """Put every count into a larger table."""
    for place in range(len(keys)):
        if keys[place] != _ZERO:
            add(new_keys, new_values, keys[place], values[place])


@njit(cache=True)
def count(tokens, atoms, gold, used, keys, values):
    """Count features, elements and pairs over some tokens; the number of new keys.

    ``tokens`` [n] are rows of ``atoms`` [., A] and ``gold`` [., T]; ``used`` [A, T] says which
    pairs are counted.
    """
    new = 0
    for token in tokens:
        for t in range(gold.shape[1]):
            new += add(keys, values, gold[token, t], 1)
        for a in range(atoms.shape[1]):
            atom = atoms[token, a]
            if atom == _ZERO:
                continue
            new += add(keys, values, atom, 1)
            for t in range(gold.shape[1]):
                if used[a, t]:
                    new += add(keys, values, mix(atom, gold[token, t]), 1)
    return new


@njit(cache=True)
def look_up(
    tokens, atoms, unit_first, unit_hash, unit_target, used, keys, values, own_keys, own_values,
    together, alone, base,
):  # fmt: skip
    """Counts of every unit of some tokens with every feature, less those of ``own``.

    ``together`` [U, A], ``alone`` [n, A] and ``base`` [U] are filled.
    """
    take_off = len(own_keys) > 1
    for token in tokens:
        for a in range(atoms.shape[1]):
            atom = atoms[token, a]
            if atom == _ZERO:
                continue
            seen = get(keys, values, atom)
            if take_off and seen > 0:
                seen -= get(own_keys, own_values, atom)
            alone[token, a] = seen
            if seen == 0:
                continue
            for u in range(unit_first[token], unit_first[token + 1]):
                if not used[a, unit_target[u]]:
                    continue
                key = mix(atom, unit_hash[u])
                found = get(keys, values, key)
                if take_off and found > 0:
                    found -= get(own_keys, own_values, key)
                together[u, a] = found
        for u in range(unit_first[token], unit_first[token + 1]):
            found = get(keys, values, unit_hash[u])
            if take_off and found > 0:
                found -= get(own_keys, own_values, unit_hash[u])
            base[u] = found


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
    tokens, atoms, unit_first, unit_hash, unit_target, used, first, row_units, numeric, z, bucket,
    dense, numeric_weights, sparse, bits, out,
):  # fmt: skip
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
            for a in range(z.shape[1]):
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
    order, gold_row, atoms, unit_first, unit_hash, unit_target, used, first, row_units, numeric,
    z, bucket, dense, dense_sum, numeric_weights, numeric_sum, sparse, sparse_sum, bits, rate,
    sparse_rate, decay, scores,
):  # fmt: skip
    """One pass of AdaGrad over tokens for the conditional softmax; the mean log loss."""
    shift = np.uint64(64 - bits)
    unit_gradient = np.zeros(4096, np.float64)
    one = np.zeros(1, np.int64)
    loss = 0.0
    for token in order:
        begin, stop = first[token], first[token + 1]
        one[0] = token
        score(
            one, atoms, unit_first, unit_hash, unit_target, used, first, row_units, numeric, z,
            bucket, dense, numeric_weights, sparse, bits, scores,
        )  # fmt: skip
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
            for a in range(z.shape[1]):
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
