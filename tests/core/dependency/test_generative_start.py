"""States of the generative parser from dependents on the left and on the right of a head."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from eigentext.dependency import GenerativeParser
from eigentext.dependency.generative.learn import VIEWS, Corpus, cluster_states
from eigentext.features.spectrum import FeatureRows, scaled_rows
from eigentext.language.formats.conllu import make_sentence

VERB, NOUN, ADV, DET = range(4)
String = tuple[int, ...]

# how often a head of each kind has a string of dependents on either side, in eighths: the counts
# of all pairs of strings are then whole, and moments of such a corpus are those of the process
LEFT: list[dict[String, int]] = [
    {(NOUN,): 5, (NOUN, ADV): 2, (): 1},
    {(): 4, (ADV,): 2, (NOUN,): 2},
]
RIGHT: list[dict[String, int]] = [
    {(): 4, (NOUN,): 3, (NOUN, DET, ADV): 1},
    {(DET,): 4, (DET, NOUN): 3, (): 1},
]
APART_LEFT: list[dict[String, int]] = [{(NOUN,): 1, (NOUN, ADV): 1}, {(): 1, (ADV,): 1}]
APART_RIGHT: list[dict[String, int]] = [{(): 1, (NOUN,): 1}, {(DET,): 1, (DET, NOUN): 1}]


def _heads_of_two_kinds(
    left: list[dict[String, int]], right: list[dict[String, int]]
) -> tuple[Corpus, list[int]]:
    """A corpus of flat trees, a verb each with its dependents, and the kind of each verb."""
    tags: list[int] = []
    heads: list[int] = []
    ptr, kinds = [0], []
    for kind in (0, 1):
        for (before, a), (after, b) in product(left[kind].items(), right[kind].items()):
            for _ in range(a * b):
                n = len(before) + len(after) + 1
                tags += [*reversed(before), VERB, *after]
                heads += [0 if at == len(before) else len(before) + 1 for at in range(n)]
                ptr.append(len(tags))
                kinds.append(kind)
    tag = np.array(tags)
    one = np.ones(4, np.int64)
    zeros = np.zeros(len(tag), np.int64)
    return Corpus(np.array(ptr), tag, tag, np.array(heads), zeros, np.arange(4), one), kinds


def _dense(rows: FeatureRows) -> np.ndarray:
    full = np.zeros((len(rows.columns), rows.width))
    np.put_along_axis(full, rows.columns, rows.values, axis=1)
    return full


def test_moments_have_the_rank_of_the_kinds_and_tell_them() -> None:
    """E[left right'] of two kinds has rank 2, and E[right | left] says p(kind | left)."""
    corpus, kinds = _heads_of_two_kinds(LEFT, RIGHT)
    verbs = corpus.tag == VERB
    left, right = (_dense(scaled_rows(x[verbs], 0.0)) for x in VIEWS["automata"](corpus))
    _, s, Vt = np.linalg.svd(left.T @ right / len(left))
    assert s[1] > 0.05 * s[0]
    assert s[2] < 1e-6 * s[0]
    strings = np.unique(left, axis=0, return_inverse=True)[1].ravel()
    share = np.bincount(strings, kinds) / np.bincount(strings)
    places = np.zeros((len(share), 2))
    np.add.at(places, strings, right @ Vt[:2].T)
    places /= np.bincount(strings)[:, None]
    # four strings in two dimensions: p(kind | string) is linear in the place, or it is not
    weights = np.linalg.lstsq(places, share, rcond=None)[0]
    np.testing.assert_allclose(places @ weights, share, atol=1e-5)
    assert len(share) == 4
    # what is below a verb against what is above does not tell: nothing is above these
    below, above = (_dense(scaled_rows(x[verbs], 0.0)) for x in VIEWS["spectral"](corpus))
    assert np.linalg.svd(below.T @ above)[1][1] < 1e-3 * len(left)


def test_kinds_that_no_string_has_in_common_come_back() -> None:
    corpus, kinds = _heads_of_two_kinds(APART_LEFT, APART_RIGHT)
    state, m = cluster_states(corpus, 2, per_state=1, start="automata")
    own = state[corpus.tag == VERB]
    assert m[VERB] == 2
    assert {(a, b) for a, b in zip(own.tolist(), kinds, strict=True)} in (
        {(0, 0), (1, 1)},
        {(0, 1), (1, 0)},
    )


TREES = [
    make_sentence(["the", "dog", "barks"], upos=["DET", "NOUN", "VERB"], head=[2, 3, 0]),
    make_sentence(["dogs", "see", "cats"], upos=["NOUN", "VERB", "NOUN"], head=[2, 0, 2]),
    make_sentence(["it", "rains"], upos=["PRON", "VERB"], head=[2, 0]),
] * 5


@pytest.mark.parametrize("n_states", [1, 2])
def test_the_start_matters_with_several_states_alone(n_states: int) -> None:
    settings = {"n_states": n_states, "min_count": 1, "per_state": 2, "n_iter": 0}
    one, other = (GenerativeParser(start=start, **settings).fit(TREES) for start in VIEWS)
    same = np.array_equal(one.params_.E, other.params_.E)
    assert same == (n_states == 1)
    if n_states == 1:
        for name in ("T", "go", "root"):
            a, b = getattr(one.params_, name), getattr(other.params_, name)
            np.testing.assert_array_equal(a, b)
    back = GenerativeParser.from_bytes(other.to_bytes())
    assert back.start == "automata"
    np.testing.assert_array_equal(back.params_.E, other.params_.E)
