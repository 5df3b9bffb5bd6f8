"""Which rule makes the lemma of a word: arrays and scalars only, nothing is checked.

A rule cuts an ending off (and seldom a beginning), so the rules that fit a word with a tag are
those that were seen to cut off one of its endings under that tag, or under its part of speech.
With f the features of word and tag (endings, beginnings, case), and d what is known of the lemma
that the rule makes (seen with this part of speech, with another one, never):

    score(rule) = sum_f w[f, rule] + sum_d w[d]
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eigentext.base.compiling import njit
from eigentext.base.types import Float64s, Int64s, UInt32s, UInt64s
from eigentext.features.kernels.hashing import mix_some, place_of_pair
from eigentext.linear.kernels.steps import adagrad

_ONE = np.uint64(1)
_SMALL = 0.01  # a gradient below this is left out
MOST_RULES = 32  # that are tried for a word with a tag
FEW_RULES = 3


class Words(NamedTuple):
    """Words in the cases of rules."""

    codes: UInt32s  # word i in case c: codes[starts[c, i] : starts[c, i] + n[c, i]]
    starts: Int64s
    n: Int64s  # (cases, words) lengths
    endings: UInt64s  # (words, longest) keys of the last 1, 2, ... characters, 0 for none
    features: UInt64s  # (words, F) keys, 0 for none


class Rules(NamedTuple):
    """Rules as cases and pieces: front, new front, back, new back."""

    case: Int64s  # (R,)
    at: Int64s  # (R, 5) piece p of rule r: codes[at[r, p] : at[r, p + 1]]
    codes: UInt32s
    keys: UInt64s  # (R,)


class Rows(NamedTuple):
    """Words with tags."""

    word: Int64s  # (rows,) number of the word
    tag: UInt64s  # key of the tag
    upos: UInt64s  # key of its part of speech
    held: UInt64s  # key of a lemma that is held out, 0 for none
    held_upos: UInt64s  # key of that lemma's part of speech


class Room(NamedTuple):
    """What is known of one word with a tag; to work in."""

    numbers: Int64s  # of rules
    lemmas: UInt64s  # the key of what each makes
    evidence: Int64s  # 2: a lemma seen with this part of speech, 1: with another, 0: never
    scores: Float64s  # of the rules
    features: UInt64s  # keys
    places: UInt64s  # weights


class Index(NamedTuple):
    """Rules by what they cut off and under which tag: those of node v, the most frequent first."""

    keys: UInt64s  # (nodes,) sorted
    ptr: Int64s  # node v has rules[ptr[v] : ptr[v + 1]]
    rules: Int64s
    lemmas: UInt64s  # (L,) sorted keys of lemmas with their part of speech, and of lemmas alone
    lemma_counts: Int64s  # (L,) how many forms with tags have them


@njit
def find(keys, key):
    """Where a key stands among sorted ones, -1 for nowhere."""
    at = np.searchsorted(keys, key)
    return at if at < len(keys) and keys[at] == key else -1


@njit
def lemma_key(words, w, rules, r):
    """The key of the lemma that rule r makes of word w; 0 where it does not fit or makes none."""
    case = rules.case[r]
    first, n = words.starts[case, w], words.n[case, w]
    at = rules.at[r]
    front, back = at[1] - at[0], at[3] - at[2]  # how many letters go at either end
    if front + back > n or n - front - back + at[2] - at[1] + at[4] - at[3] == 0:
        return np.uint64(0)
    for k in range(front):  # the form must begin and end as the rule asks
        if words.codes[first + k] != rules.codes[at[0] + k]:
            return np.uint64(0)
    for k in range(back):
        if words.codes[first + n - back + k] != rules.codes[at[2] + k]:
            return np.uint64(0)
    key = _ONE
    for k in range(at[1], at[2]):  # key of: new front, the middle of the form, new back
        key = mix_some(key, np.uint64(rules.codes[k]))
    for k in range(first + front, first + n - back):
        key = mix_some(key, np.uint64(words.codes[k]))
    for k in range(at[3], at[4]):
        key = mix_some(key, np.uint64(rules.codes[k]))
    return key


@njit
def lemma_keys(words, which, rules, numbers, out):
    """Keys (rows,) of what rules make of words."""
    for i in range(len(which)):
        out[i] = lemma_key(words, which[i], rules, numbers[i])


@njit
def fitting_rules(w, tag_key, upos_key, words, rules, index, held_lemma, held_upos, room):
    """Fill ``room`` with the rules that may make the lemma of word w; returns how many.

    Rules of the part of speech are looked for where the tag has few.  The lemma ``held_lemma``, 0
    for none, of the part of speech ``held_upos``, is held out once.
    """
    numbers, lemmas, evidence = room.numbers, room.lemmas, room.evidence
    most = len(numbers)
    n = 0
    for level in range(2):
        key = tag_key if level == 0 else upos_key  # rules of the tag first, then of its upos
        for k in range(words.endings.shape[1] + 1):
            if k > 0 and words.endings[w, k - 1] == 0:
                break
            # rules that cut off just this ending
            v = find(index.keys, mix_some(key, words.endings[w, k - 1] if k > 0 else _ONE))
            if v < 0:
                continue
            for e in range(index.ptr[v], index.ptr[v + 1]):
                r = index.rules[e]
                listed = n == most
                for c in range(n):
                    listed = listed or numbers[c] == r
                if listed:
                    continue
                lemma = lemma_key(words, w, rules, r)
                if lemma == 0:
                    continue
                numbers[n] = r
                lemmas[n] = lemma
                held = 1 if lemma == held_lemma else 0
                # is the lemma one of this upos?
                at = find(index.lemmas, mix_some(lemma, upos_key))
                evidence[n] = 0
                if at >= 0 and index.lemma_counts[at] > (held if upos_key == held_upos else 0):
                    evidence[n] = 2
                else:
                    at = find(index.lemmas, lemma)  # or one of any upos?
                    if at >= 0 and index.lemma_counts[at] > held:
                        evidence[n] = 1
                n += 1
        if n >= FEW_RULES:
            break
    return n


@njit
def features_of(w, tag_key, upos_key, words, out):
    """Keys of what the rule is chosen by; returns how many."""
    out[0] = mix_some(np.uint64(21), _ONE)
    out[1] = mix_some(np.uint64(22), upos_key)
    out[2] = mix_some(np.uint64(23), tag_key)
    n = 3
    for f in range(words.features.shape[1]):
        key = words.features[w, f]
        if key != 0:
            out[n] = mix_some(key, np.uint64(24))
            out[n + 1] = mix_some(key, upos_key)
            n += 2
    return n


@njit
def known_places(rule, evidence, upos_key, rules, mask, out):
    """Weights of what is known of the lemma."""
    key = mix_some(np.uint64(25), np.uint64(evidence + 1))
    back = np.uint64(rules.at[rule, 3] - rules.at[rule, 2] + 1)
    out[0] = place_of_pair(key, _ONE, mask)
    out[1] = place_of_pair(key, upos_key, mask)
    out[2] = place_of_pair(mix_some(key, upos_key), back, mask)
    out[3] = place_of_pair(key, rules.keys[rule], mask)


@njit
def score_rules(n, n_features, upos_key, rules, table, scale, room):
    """Fill ``room.scores`` of the n rules found."""
    mask = np.uint64(len(table) - 1)
    for c in range(n):
        total = 0.0
        key = rules.keys[room.numbers[c]]
        for f in range(n_features):
            total += table[place_of_pair(room.features[f], key, mask)]  # sum_f w[f, rule]
        known_places(room.numbers[c], room.evidence[c], upos_key, rules, mask, room.places)
        for k in range(len(room.places)):
            total += table[room.places[k]]  # sum_d w[d]
        room.scores[c] = total * scale


@njit
def room_for(words):
    """Arrays to work in."""
    return Room(
        np.empty(MOST_RULES, np.int64),
        np.empty(MOST_RULES, np.uint64),
        np.empty(MOST_RULES, np.int64),
        np.empty(MOST_RULES),
        np.empty(3 + 2 * words.features.shape[1], np.uint64),
        np.empty(4, np.uint64),
    )


@njit
def choose_rules(rows, words, rules, index, table, scale, best, flags):
    """The best rule (rows,), -1 for none, of each word with a tag, and what is known of it."""
    room = room_for(words)
    for i in range(len(rows.word)):
        w, tag, upos = rows.word[i], rows.tag[i], rows.upos[i]
        n = fitting_rules(w, tag, upos, words, rules, index, rows.held[i], rows.held_upos[i], room)
        best[i], flags[i] = -1, 0
        if n == 0:
            continue
        n_features = features_of(w, tag, upos, words, room.features)
        score_rules(n, n_features, upos, rules, table, scale, room)
        top = 0
        for c in range(1, n):
            if room.scores[c] > room.scores[top]:
                top = c
        best[i], flags[i] = room.numbers[top], room.evidence[top]


@njit
def train_rules(order, rows, words, rules, index, table, squares, rate):
    """One pass over ``order``; ``rows.held`` are the keys of the right lemmas, held out."""
    room = room_for(words)
    scores, lemmas = room.scores, room.lemmas
    mask = np.uint64(len(table) - 1)
    shares = np.empty(MOST_RULES)
    for position in range(len(order)):
        i = order[position]
        w, tag, upos, gold = rows.word[i], rows.tag[i], rows.upos[i], rows.held[i]
        n = fitting_rules(w, tag, upos, words, rules, index, gold, upos, room)
        n_features = features_of(w, tag, upos, words, room.features)
        score_rules(n, n_features, upos, rules, table, 1.0, room)
        top = -np.inf
        for c in range(n):
            top = max(top, scores[c])
        total, right = 0.0, 0.0
        for c in range(n):
            shares[c] = math.exp(scores[c] - top)  # softmax over the rules that fit
            total += shares[c]
            if lemmas[c] == gold:
                right += shares[c]
        if right == 0.0 or right > (1.0 - _SMALL) * total:
            continue
        # d/dw = sum over rules of ([right] share / right - share) times its features
        for c in range(n):
            change = -shares[c] / total
            if lemmas[c] == gold:
                change += shares[c] / right
            if abs(change) < _SMALL:
                continue
            key = rules.keys[room.numbers[c]]
            for f in range(n_features):
                adagrad(table, squares, place_of_pair(room.features[f], key, mask), change, rate)
            known_places(room.numbers[c], room.evidence[c], upos, rules, mask, room.places)
            for k in range(len(room.places)):
                adagrad(table, squares, room.places[k], change, rate)
