"""Hashes, tables of known strings, and the weights of a linear model behind hashed features."""

from __future__ import annotations

from math import exp

import numpy as np

from eigentext.base.compiling import njit
from eigentext.features.kernels.hashing import mix
from eigentext.linear.kernels.steps import adagrad

SEED = np.uint64(0x51A7)  # of the hash of a string


@njit
def string_key(chars, start, end):
    """The hash of chars[start:end], the same as one extended letter by letter with ``mix``."""
    key = SEED
    for i in range(start, end):
        key = mix(key, chars[i])
    return key


@njit(inline="always")
def short(key):
    """A key as a table keeps it: 32 bits, never 0."""
    half = np.uint32(key >> np.uint64(32))
    return half if half != 0 else np.uint32(1)


@njit
def fill(keys, values, table_keys, table_values):
    """Put distinct 32-bit keys into an empty table (a power of two, at most half full)."""
    mask = np.uint32(len(table_keys) - 1)  # its size is a power of two
    for n in range(len(keys)):
        at = (keys[n] * np.uint32(0x9E3779B1)) & mask
        while table_keys[at] != 0:
            at = (at + np.uint32(1)) & mask
        table_keys[at] = keys[n]
        table_values[at] = values[n]


@njit
def value_of(key, table_keys, table_values):
    """The value of a 64-bit key, 0 for one that is not there."""
    half = short(key)
    mask = np.uint32(len(table_keys) - 1)
    at = (half * np.uint32(0x9E3779B1)) & mask
    while table_keys[at] != 0:
        if table_keys[at] == half:
            return table_values[at]
        at = (at + np.uint32(1)) & mask
    return 0


@njit
def bucket(count):
    """0, 1-2, 3-6, 7-14, ..., from 63 on: how often, roughly."""
    step = 0
    while count > 0:
        count = (count - 1) >> 1 if count > 1 else 0
        step += 1
    return min(step, 7)


@njit
def total(weights, keys, n, shift):
    """The sum of the weights of n features."""
    score = 0.0
    for f in range(n):
        score += weights[keys[f] >> shift]
    return score


@njit
def step(weights, squares, keys, n, shift, score, gold, rate):
    """One step of AdaGrad on the logistic loss; the loss before it."""
    chance = 1.0 / (1.0 + exp(-min(max(score, -30.0), 30.0)))  # p of the logistic model
    slope = chance - gold
    if abs(slope) < 0.005:  # sure enough: nothing to learn
        return 0.0
    for f in range(n):
        adagrad(weights, squares, keys[f] >> shift, -slope, rate)
    return -np.log(chance if gold else 1.0 - chance)
