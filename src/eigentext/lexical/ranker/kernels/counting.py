"""Compiled counting and looking up: features with values of targets, in and out of a table.

A unit is a value of a target on which the candidates of a word differ (``records``).  Zero is no
feature.
"""

from __future__ import annotations

import numpy as np

from eigentext.base.compiling import njit
from eigentext.features.kernels.hashing import mix_pair
from eigentext.lexical.ranker.kernels.hash_table import add, get, probe, slot_shift

_S24 = np.uint64(24)
_ZERO = np.uint64(0)


@njit
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
                u = start  # a value that came before has its unit already
                while u < units and unit_hash[u] != row_hash[row, t]:
                    u += 1
                if u == units:
                    unit_hash[u] = row_hash[row, t]
                    unit_target[u] = t
                    units += 1
                row_units[row, t] = u
    return units


@njit
def count_features(tokens, atoms, slots):
    """Count features alone over some tokens; the number of new keys."""
    new = 0
    shift = slot_shift(slots)
    for token in tokens:
        for a in range(atoms.shape[1]):
            if atoms[token, a] != _ZERO:
                new += add(slots, shift, atoms[token, a] >> _S24, 1)
    return new


@njit
def count(tokens, atoms, gold, used, feature_counts, least, slots):
    """Count features, elements and pairs over some tokens; the number of new keys.

    ``tokens`` [n] are rows of ``atoms`` [., A] and ``gold`` [., T]; ``used`` [A, T] says which
    pairs are counted, ``feature_counts`` how often features come in all: below ``least`` not at
    all.
    """
    new = 0
    shift, seen_shift = slot_shift(slots), slot_shift(feature_counts)
    for token in tokens:
        for t in range(gold.shape[1]):  # c(u): the value alone
            new += add(slots, shift, gold[token, t] >> _S24, 1)
        for a in range(atoms.shape[1]):
            atom = atoms[token, a]
            if atom == _ZERO or (
                least > 1 and get(feature_counts, seen_shift, atom >> _S24) < least
            ):
                continue
            new += add(slots, shift, atom >> _S24, 1)  # c(a): the feature alone
            for t in range(gold.shape[1]):
                if used[a, t]:
                    new += add(slots, shift, mix_pair(atom, gold[token, t]) >> _S24, 1)  # c(a, u)
    return new


@njit
def look_up(tokens, table, counted, together, alone, base):
    """Counts of units of some tokens with every feature, less their own, into the last three."""
    atoms, unit_first, unit_hash = table.atoms, table.unit_first, table.unit_hash
    slots, less, _ = counted
    take_off = len(less) > 1
    shift, own_shift = slot_shift(slots), slot_shift(less)
    for token in tokens:
        for a in range(atoms.shape[1]):
            atom = atoms[token, a]
            if atom == _ZERO:
                continue
            n_feature = get(slots, shift, atom >> _S24)
            if take_off and n_feature > 0:
                n_feature -= get(less, own_shift, atom >> _S24)
            alone[token, a] = n_feature  # c(a), less the document's own
            if n_feature == 0:
                continue
            for u in range(unit_first[token], unit_first[token + 1]):
                if not table.used[a, table.unit_target[u]]:
                    continue
                key = mix_pair(atom, unit_hash[u]) >> _S24
                times = get(slots, shift, key)
                if take_off and times > 0:
                    times -= get(less, own_shift, key)
                together[u, a] = times  # c(a, u), likewise
        for u in range(unit_first[token], unit_first[token + 1]):
            times = get(slots, shift, unit_hash[u] >> _S24)
            if take_off and times > 0:
                times -= get(less, own_shift, unit_hash[u] >> _S24)
            base[u] = times


@njit
def ratios(tokens, table, counted, strength, logs, columns, start, base):
    """:func:`look_up` and the smoothed log ratios of its counts at once.

    With c(a, u), c(a) and c(u) the counts of the pair, of feature a and of unit u among N words,

        z[u, a] = log (c(a, u) / p(u) + k) / (c(a) + k),   p(u) = (c(u) + 1/2) / (N + 1),

    k being ``strength``; 0 where the feature was never seen.  ``bucket`` says how often it was:
    0 to 1, 2 to 3, 4 to 15 times, or more.  Both are filled from column ``start`` on, and
    ``base`` [U] with c(u); ``logs`` holds the logarithms of small (c + k).

    A token costs (units x features) look-ups.  The first slots of a feature's keys are all read
    before any is looked at: the processor then waits for memory once and not for each key.
    """
    atoms, unit_first, unit_hash = table.atoms, table.unit_first, table.unit_hash
    z, bucket = columns.z, columns.bucket
    slots, less, n_words = counted
    take_off = len(less) > 1
    shift, own_shift = slot_shift(slots), slot_shift(less)
    n_atoms = atoms.shape[1]
    rare = np.zeros(256, np.float32)  # 1 / p(u)
    keys = np.zeros(256, np.uint64)
    first_entries = np.zeros(256, np.uint64)
    alone = np.zeros(n_atoms, np.uint64)  # first entries of the features themselves
    for token in tokens:
        begin, end = unit_first[token], unit_first[token + 1]
        if begin == end:
            continue
        if end - begin > len(keys):
            rare = np.zeros(2 * (end - begin), np.float32)
            keys = np.zeros(len(rare), np.uint64)
            first_entries = np.zeros(len(rare), np.uint64)
        for a in range(n_atoms):
            alone[a] = slots[atoms[token, a] >> _S24 >> shift]
        for u in range(begin, end):
            first_entries[u - begin] = slots[unit_hash[u] >> _S24 >> shift]
        for u in range(begin, end):
            key = unit_hash[u] >> _S24
            times = probe(slots, key >> shift, first_entries[u - begin], key)
            if take_off and times > 0:
                times -= get(less, own_shift, key)
            base[u] = times
            # 1 / p(u), so that c(a, u) / p(u) is a product
            rare[u - begin] = (n_words + np.float32(1.0)) / (times + np.float32(0.5))
        for a in range(n_atoms):
            atom = atoms[token, a]
            n_feature = 0
            if atom != _ZERO:
                key = atom >> _S24
                n_feature = probe(slots, key >> shift, alone[a], key)
                if take_off and n_feature > 0:
                    n_feature -= get(less, own_shift, key)
            bucket[token, start + a] = (n_feature >= 2) + (n_feature >= 4) + (n_feature >= 16)
            if n_feature == 0:
                for u in range(begin, end):
                    z[u, start + a] = 0.0
                continue
            # z = above - below, the logarithms of numerator and denominator
            below = (
                logs[n_feature]
                if n_feature < len(logs)
                else np.float32(np.log(n_feature + strength))
            )
            for u in range(begin, end):
                if base[u] > 0 and table.used[a, table.unit_target[u]]:
                    key = mix_pair(atom, unit_hash[u]) >> _S24
                    keys[u - begin] = key
                    first_entries[u - begin] = slots[key >> shift]
            for u in range(begin, end):
                times = 0
                if base[u] > 0 and table.used[a, table.unit_target[u]]:
                    key = keys[u - begin]
                    times = probe(slots, key >> shift, first_entries[u - begin], key)
                    if take_off and times > 0:
                        times -= get(less, own_shift, key)
                above = logs[0]
                if times > 0:
                    above = np.log(np.float32(times) * rare[u - begin] + strength)
                z[u, start + a] = above - below


@njit
def document_overlap(unit_row, unit_doc, first, docs, counts, similarity, out):
    """For each unit: its counts over documents, weighted by how alike they are to its own."""
    for u in range(len(unit_row)):
        row = unit_row[u]
        total = 0.0
        if row >= 0:
            for k in range(first[row], first[row + 1]):
                total += counts[k] * similarity[unit_doc[u], docs[k]]  # s(d, d') n_d'(u)
        out[u] = total
    return out
