"""Compiled chains over candidates and classifiers of elements; arrays and scalars only.

Rows (candidates) of one word that agree in all but the lemma are one class: what neighbours say of
each other depends on classes alone, so the chain runs over classes and rows come back at the end.
``offset`` [n + 1] tells where the block of class pairs between a word and the one before begins;
blocks of one sentence are kept from its second word on.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from eigentext.features.kernels.hashing import mix_pair

_ZERO = np.uint64(0)


@njit(cache=True)
def transitions(begin, end, class_first, values, pairs, weights, bits, offset, out):
    """Scores of neighbouring classes; ``pairs`` [P, 2] are columns of ``values`` [C, T]."""
    shift = np.uint64(64 - bits)
    place = 0
    for word in range(begin + 1, end):
        for i in range(class_first[word - 1], class_first[word]):
            for j in range(class_first[word], class_first[word + 1]):
                total = 0.0
                for p in range(len(pairs)):
                    total += weights[
                        mix_pair(values[i, pairs[p, 0]], values[j, pairs[p, 1]]) >> shift
                    ]
                out[place] = total
                place += 1


@njit(cache=True)
def _join(left, right, maximum):
    """The sum in logarithms, or the larger."""
    if left < right:
        left, right = right, left
    if maximum or right == -np.inf:
        return left
    return left + np.log1p(np.exp(right - left))


@njit(cache=True)
def chain(
    begin,
    end,
    first,
    class_of,
    class_first,
    row_scores,
    only,
    offset,
    trans,
    maximum,
    class_score,
    alpha,
    beta,
):
    """Forward and backward over one sentence; the score of all paths, or of the best one.

    ``only`` [n] is the one row a word may have, or -1.  ``alpha`` holds a class' own score,
    ``beta`` does not.
    """
    for word in range(begin, end):
        for c in range(class_first[word], class_first[word + 1]):
            class_score[c] = -np.inf
            alpha[c] = -np.inf
            beta[c] = -np.inf
        for row in range(first[word], first[word + 1]):
            if only[word] < 0 or only[word] == row:
                c = class_of[row]
                class_score[c] = _join(class_score[c], row_scores[row], maximum)
    for c in range(class_first[begin], class_first[begin + 1]):
        alpha[c] = class_score[c]
    base = offset[begin + 1]
    for word in range(begin + 1, end):
        place = offset[word] - base
        width = class_first[word + 1] - class_first[word]
        for i in range(class_first[word - 1], class_first[word]):
            for j in range(width):
                there = class_first[word] + j
                if alpha[i] > -np.inf and class_score[there] > -np.inf:
                    alpha[there] = _join(alpha[there], alpha[i] + trans[place + j], maximum)
            place += width
        for j in range(class_first[word], class_first[word + 1]):
            alpha[j] += class_score[j]
    for c in range(class_first[end - 1], class_first[end]):
        beta[c] = 0.0
    for word in range(end - 1, begin, -1):
        place = offset[word] - base
        width = class_first[word + 1] - class_first[word]
        for i in range(class_first[word - 1], class_first[word]):
            for j in range(width):
                there = class_first[word] + j
                if class_score[there] > -np.inf:
                    more = trans[place + j] + class_score[there] + beta[there]
                    beta[i] = _join(beta[i], more, maximum)
            place += width
    total = -np.inf
    for c in range(class_first[end - 1], class_first[end]):
        total = _join(total, alpha[c], maximum)
    return total


@njit(cache=True)
def row_beliefs(begin, end, first, class_of, row_scores, only, class_score, alpha, beta, out):
    """For each row: the joined score of all paths through it (log marginal plus the total)."""
    for word in range(begin, end):
        for row in range(first[word], first[word + 1]):
            c = class_of[row]
            if (only[word] < 0 or only[word] == row) and class_score[c] > -np.inf:
                out[row] = row_scores[row] - class_score[c] + alpha[c] + beta[c]
            else:
                out[row] = -np.inf


@njit(cache=True)
def expectations(
    begin, end, class_first, offset, trans, class_score, alpha, beta, total, sign, pair_gradient
):
    """Add the shares of neighbouring classes, times ``sign``."""
    base = offset[begin + 1]
    for word in range(begin + 1, end):
        place = offset[word] - base
        for i in range(class_first[word - 1], class_first[word]):
            for j in range(class_first[word], class_first[word + 1]):
                if alpha[i] > -np.inf and class_score[j] > -np.inf:
                    log_share = alpha[i] + trans[place] + class_score[j] + beta[j] - total
                    pair_gradient[place] += sign * np.exp(log_share)
                place += 1


@njit(cache=True)
def best_path(
    begin,
    end,
    first,
    class_of,
    class_first,
    row_scores,
    only,
    offset,
    trans,
    class_score,
    alpha,
    sign,
    rows,
    row_gradient,
    pair_gradient,
):
    """The best row of every word into ``rows``, added to the gradients times ``sign``."""
    base = offset[begin + 1]
    chosen = class_first[end - 1] + np.argmax(alpha[class_first[end - 1] : class_first[end]])
    for word in range(end - 1, begin - 1, -1):
        for row in range(first[word], first[word + 1]):
            allowed = only[word] < 0 or only[word] == row
            if allowed and class_of[row] == chosen and row_scores[row] == class_score[chosen]:
                rows[word] = row
                row_gradient[row] += sign
                break
        if word > begin:
            width = class_first[word + 1] - class_first[word]
            best, best_place = class_first[word - 1], -1
            top = -np.inf
            for i in range(class_first[word - 1], class_first[word]):
                place = offset[word] - base + (i - class_first[word - 1]) * width
                place += chosen - class_first[word]
                if best_place < 0 or alpha[i] + trans[place] > top:
                    top, best, best_place = alpha[i] + trans[place], i, place
            pair_gradient[best_place] += sign
            chosen = best


@njit(cache=True)
def gather(
    begin,
    end,
    first,
    row_units,
    numeric,
    unit_first,
    unit_hash,
    unit_target,
    atoms,
    used,
    bits,
    class_first,
    values,
    pairs,
    pair_bits,
    offset,
    row_gradient,
    pair_gradient,
    delta,
    marked,
    touched,
    numeric_delta,
):
    """The gradient of every weight, from those of rows and class pairs; how many are not zero.

    Weights of pairs lie after the first 2^bits.  ``touched`` lists where ``delta`` was changed.
    """
    shift = np.uint64(64 - bits)
    pair_shift = np.uint64(64 - pair_bits)
    pair_base = np.int64(1) << bits
    n_touched = 0
    unit_gradient = np.zeros(4096, np.float64)
    for word in range(begin, end):
        start, stop = unit_first[word], unit_first[word + 1]
        if stop - start > len(unit_gradient):
            unit_gradient = np.zeros(2 * (stop - start), np.float64)
        unit_gradient[: stop - start] = 0.0
        for row in range(first[word], first[word + 1]):
            g = row_gradient[row]
            if g != 0.0:
                for t in range(row_units.shape[1]):
                    if row_units[row, t] >= 0:
                        unit_gradient[row_units[row, t] - start] += g
                for k in range(numeric.shape[1]):
                    numeric_delta[k] += g * numeric[row, k]
        for u in range(start, stop):
            g = unit_gradient[u - start]
            if abs(g) > 1e-6:
                for a in range(atoms.shape[1]):
                    if atoms[word, a] != _ZERO and used[a, unit_target[u]]:
                        place = np.int64(mix_pair(atoms[word, a], unit_hash[u]) >> shift)
                        delta[place] += g
                        if not marked[place]:
                            marked[place] = True
                            touched[n_touched] = place
                            n_touched += 1
    for word in range(begin + 1, end):
        entry = offset[word] - offset[begin + 1]
        for i in range(class_first[word - 1], class_first[word]):
            for j in range(class_first[word], class_first[word + 1]):
                g = pair_gradient[entry]
                entry += 1
                if abs(g) > 1e-6:
                    for p in range(len(pairs)):
                        key = mix_pair(values[i, pairs[p, 0]], values[j, pairs[p, 1]])
                        place = pair_base + np.int64(key >> pair_shift)
                        delta[place] += g
                        if not marked[place]:
                            marked[place] = True
                            touched[n_touched] = place
                            n_touched += 1
    return n_touched


@njit(cache=True)
def unit_scores(words, atoms, unit_first, unit_hash, unit_target, used, weights, bits, out):
    """The summed weight of every unit of some words."""
    shift = np.uint64(64 - bits)
    for word in words:
        for u in range(unit_first[word], unit_first[word + 1]):
            total = 0.0
            for a in range(atoms.shape[1]):
                if atoms[word, a] != _ZERO and used[a, unit_target[u]]:
                    total += weights[mix_pair(atoms[word, a], unit_hash[u]) >> shift]
            out[u] = total


@njit(cache=True)
def learn_elements(
    order,
    gold_row,
    row_units,
    atoms,
    unit_first,
    unit_hash,
    unit_target,
    used,
    weights,
    sums,
    bits,
    rate,
    scores,
):
    """AdaGrad for one softmax per element over the values that a word's candidates offer."""
    shift = np.uint64(64 - bits)
    one = np.zeros(1, np.int64)
    for word in order:
        one[0] = word
        unit_scores(one, atoms, unit_first, unit_hash, unit_target, used, weights, bits, scores)
        start = unit_first[word]
        while start < unit_first[word + 1]:
            stop = start
            top = scores[start]
            while stop < unit_first[word + 1] and unit_target[stop] == unit_target[start]:
                top = max(top, scores[stop])
                stop += 1
            total = 0.0
            for u in range(start, stop):
                total += np.exp(scores[u] - top)
            for u in range(start, stop):
                g = np.exp(scores[u] - top) / total
                if row_units[gold_row[word], unit_target[u]] == u:
                    g -= 1.0
                if abs(g) > 1e-4:
                    for a in range(atoms.shape[1]):
                        if atoms[word, a] != _ZERO and used[a, unit_target[u]]:
                            place = mix_pair(atoms[word, a], unit_hash[u]) >> shift
                            sums[place] += g * g
                            weights[place] -= rate * g / np.sqrt(sums[place])
            start = stop
