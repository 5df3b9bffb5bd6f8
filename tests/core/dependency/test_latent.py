"""The latent tree model with valid parameters, against enumeration of all states."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.base.cores import using_cores
from eigentext.dependency import LatentTreeModel
from eigentext.dependency.latent import learn
from eigentext.dependency.latent.learn import LatentSmoothing
from eigentext.dependency.latent.observations import WordForest
from eigentext.errors import ModelFileError
from eigentext.language.trees.dependency import DependencyTree
from oracle.latent_models import TAGS, WORDS, fitted, random_heads, random_trees

EDGES = ("undirected", "directed", "adjacent", "ordered")


# ------------------------------------------------------------ an oracle that knows no kernel


def edge_class(model, heads, i):
    """The class of the edge above word i, told from its definition."""
    h = heads[i] - 1
    if model.edges == "undirected":
        return 0
    found = int(i > h)
    if model.edges == "adjacent" and abs(i - h) > 1:
        found += 2
    if model.edges == "ordered":
        between = range(min(i, h) + 1, max(i, h))
        found += 2 * any(heads[j] == h + 1 for j in between)
    return found


def structure_class(kind, heads, i):
    """What word i shows of the tree, told from its definition."""
    if kind == "valence":
        left = sum(heads[j] == i + 1 for j in range(i))
        right = sum(heads[j] == i + 1 for j in range(i + 1, len(heads)))
        return 4 * min(left, 3) + min(right, 3)
    if kind == "distance":
        if heads[i] == 0:
            return 0
        far = abs(heads[i] - 1 - i)
        bucket = 1 + sum(far > edge for edge in (1, 2, 4, 8))
        return bucket + (5 if heads[i] - 1 > i else 0)
    below, size = [i], 0
    while below:
        size += 1
        word = below.pop()
        below += [j for j in range(len(heads)) if heads[j] == word + 1]
    return sum(size > edge for edge in (1, 2, 3, 5, 9, 19))


def joint(model, tree):
    """p(states, words) for all states: an array of n axes of k."""
    params = model.params
    tables = [params.O, *params.more]
    seen = model.observations_.encode(tree.forms, tree.tags)
    n, k, heads = len(tree), model.n_states, tree.heads
    found = np.zeros((k,) * n)
    for h in product(range(k), repeat=n):
        p = 1.0
        for i in range(n):
            if heads[i] == 0:
                p *= params.pi[h[i]]
            else:
                p *= params.T[edge_class(model, heads, i), h[i], h[heads[i] - 1]]
            for channel, x in enumerate(seen[:, i]):
                p *= tables[channel][x, h[i]] if x >= 0 else 1.0
            for at, kind in enumerate(learn.kinds_of_structure(model.structure)):
                table = tables[len(seen) + at]
                p *= table[structure_class(kind, heads, i), h[i]]
        found[h] = p
    return found


SETTINGS = [
    {"edges": edges, "split": split, "structure": structure}
    for edges, split, structure in product(EDGES, (True, False), ("", "valence+distance+size"))
] + [
    {"structure": "distance"},
    {"structure": "size+valence", "observations": "tag+word", "n_states": 3},
    {"observations": "word+tag", "split": False},
    {"observations": "word", "split": False, "n_states": 3},
    {"observations": "tag", "n_states": 3},
    {"observations": "tag+word", "n_states": 3},
]


@pytest.mark.parametrize("how", SETTINGS, ids=str)
def test_log_prob_posteriors_and_counts_equal_enumeration(how):
    model = fitted(**{"n_states": 4, **how})
    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 4, 5):
        heads = random_heads(rng, n)
        forms = [*rng.choice([*WORDS, "unseen"], size=n)]
        tree = DependencyTree(forms, heads, tags=[*rng.choice(TAGS, size=n)])
        table = joint(model, tree)
        total = table.sum()
        np.testing.assert_allclose(model.log_prob(tree), np.log(total), rtol=1e-12)
        posteriors = model.posteriors(tree)
        for i in range(n):
            others = tuple(j for j in range(n) if j != i)
            np.testing.assert_allclose(
                posteriors[i], table.sum(axis=others) / total, rtol=1e-9, atol=1e-12
            )
        encoded = model._encode(WordForest.of([tree], model.observations_))
        value, counts = learn.expected_counts(encoded, model.tables_)
        np.testing.assert_allclose(value, np.log(total), rtol=1e-12)
        expected = np.zeros_like(counts.T)
        pi = np.zeros(model.n_states)
        rows = np.zeros_like(counts.rows)
        for h in product(range(model.n_states), repeat=n):
            p = table[h] / total
            for i in range(n):
                if heads[i]:
                    expected[edge_class(model, heads, i), h[heads[i] - 1], h[i]] += p
                else:
                    pi[h[i]] += p
                for x in encoded.ids[:, i]:
                    rows[x, h[i]] += p
        np.testing.assert_allclose(counts.T, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(counts.pi, pi, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(counts.rows, rows, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("how", SETTINGS, ids=str)
def test_parameters_are_distributions(how):
    model = fitted(**how)
    params = model.params
    tables = [params.pi, params.T_left, params.T_right, params.O, *params.more, *params.T]
    for table in tables:
        assert (table >= 0).all()
        np.testing.assert_allclose(table.sum(axis=0), 1.0, rtol=1e-9)


@pytest.mark.parametrize("start", ["spectral", "random"])
@pytest.mark.parametrize("split", [True, False])
def test_em_never_lowers_the_likelihood(split, start):
    none = LatentSmoothing(0.0, 0.0, 0.0, 0.0)
    how = {"smoothing": none, "n_iter": 25, "split": split, "start": start, "structure": "valence"}
    values = np.array(fitted(**how).log_likelihoods_)
    assert (np.diff(values) > -1e-7).all()
    assert values[-1] - values[0] > 5


def test_em_with_pseudo_counts_never_lowers_the_penalised_likelihood():
    """log p + sum of pseudo-counts times log parameter."""
    model = fitted(n_iter=0)
    trees = random_trees(0)
    forest = WordForest.of(trees, model.observations_)
    encoded = model._encode(forest)
    rng = np.random.default_rng(0)
    start = learn.counts_of_states(encoded, rng.integers(encoded.lo, encoded.hi), model.n_states)
    prior = learn.spread_of(start, encoded.starts, model.ranges_)
    smoothing = LatentSmoothing(3.0, 4.0, 2.0, 1.0)
    tables = learn.estimate(start, encoded, prior, smoothing)
    values = []
    for _ in range(20):
        value, counts = learn.expected_counts(encoded, tables)
        for strength, p, q in (
            (smoothing.emission, tables.rows, prior.rows),
            (smoothing.transition, tables.T, prior.T),
            (smoothing.root, tables.pi, prior.pi),
        ):
            value += strength * (q[q > 0] * np.log(p[q > 0])).sum()
        values.append(value)
        tables = learn.estimate(counts, encoded, prior, smoothing)
    assert (np.diff(values) > -1e-7).all()
    assert values[-1] > values[0] + 1


@cache
def ordered_by_valence_and_size():
    return fitted(edges="ordered", structure="valence+size")


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 12), roots=st.integers(1, 3))
def test_many_trees_at_once_equal_one_by_one(seed, n, roots):
    model = ordered_by_valence_and_size()
    rng = np.random.default_rng(seed)
    forms, tags = [*rng.choice(WORDS, size=n)], [*rng.choice(TAGS, size=n)]
    heads = np.stack([random_heads(rng, n, roots=min(roots, n)) for _ in range(6)])
    together = model.log_probs(forms, tags, heads)
    alone = [model.log_prob(DependencyTree(forms, one, tags=tags)) for one in heads]
    np.testing.assert_array_equal(together, alone)
    assert (together < 0).all()


def test_words_and_tags_that_are_missing_are_summed_out():
    model = fitted(observations="word+tag", split=False, n_states=3)
    forms, heads = ["ant", "bee", "cow"], [[2, 0, 2]]
    total = [
        np.exp(model.log_probs(forms, [tag, "B", "C"], heads)[0])
        for tag in model.observations_.names[1]
    ]
    missing = model.log_probs(forms, [None, "B", "C"], heads)[0]
    np.testing.assert_allclose(np.exp(missing), sum(total), rtol=1e-9)


def test_probabilities_of_all_words_sum_to_one():
    model = fitted(n_states=3)
    names = model.observations_.names[0]
    heads, total = np.array([[2, 0]]), 0.0
    for a, b in product(range(len(names)), repeat=2):
        seen = np.array([[a, b]])
        lo, hi = model.ranges_.lo[seen[0]], model.ranges_.hi[seen[0]]
        from eigentext.dependency.kernels.latent import LatentWords, TreeShape, tree_log_probs

        logs = np.zeros(1)
        words, shape = LatentWords(seen, lo, hi), TreeShape(1, np.full(3, -1))
        tree_log_probs(words, heads.astype(np.int32), shape, model.tables_, logs)
        total += np.exp(logs[0])
    np.testing.assert_allclose(total, 1.0, rtol=1e-9)


def test_same_trees_same_model(tmp_path):
    first, second = fitted(), fitted()
    np.testing.assert_array_equal(first.tables_.T, second.tables_.T)
    first.save(tmp_path / "a.eig")
    second.save(tmp_path / "b.eig")
    assert (tmp_path / "a.eig").read_bytes() == (tmp_path / "b.eig").read_bytes()


@pytest.mark.parametrize("how", SETTINGS[::3], ids=str)
def test_a_saved_model_scores_alike(how, tmp_path):
    model = fitted(**how)
    model.save(tmp_path / "m.eig", data={"name": "random"})
    again = LatentTreeModel.load(tmp_path / "m.eig")
    for tree in random_trees(9, 20):
        assert again.log_prob(tree) == model.log_prob(tree)
    assert again.log_likelihoods_ == model.log_likelihoods_
    (tmp_path / "bad.eig").write_bytes(b"no model")
    with pytest.raises(ModelFileError):
        LatentTreeModel.load(tmp_path / "bad.eig")


def test_an_ensemble_is_the_mean_of_its_members(tmp_path):
    several = fitted(n_models=3, seed=5)
    alone = [fitted(seed=5 + member) for member in range(3)]
    several.save(tmp_path / "m.eig")
    again = LatentTreeModel.load(tmp_path / "m.eig")
    for tree in random_trees(2, 10):
        mean = np.mean([model.log_prob(tree) for model in alone])
        assert several.log_prob(tree) == pytest.approx(mean, rel=1e-12)
        assert again.log_prob(tree) == several.log_prob(tree)
    done = []
    LatentTreeModel(6, min_count=1, n_iter=2, n_models=2).fit(
        random_trees(0), progress=lambda *told: done.append(told)
    )
    assert done == [(at, 4, "EM") for at in (1, 2, 3, 4)]


def test_sampled_words_have_the_models_probabilities():
    model = fitted(n_states=3, observations="word+tag", split=False)
    heads = [2, 0]
    n = 4000
    found = [model.sample(heads, seed=seed) for seed in range(n)]
    words, tags = model.observations_.names
    assert found[0] == model.sample(heads, seed=0)
    params = model.params
    pairs = np.einsum("xa,ab,yb,b->xy", params.O, params.T_left, params.more[0], params.pi)
    counted = np.zeros_like(pairs)
    for (word, _), (_, tag) in found:
        counted[words.index(word), tags.index(tag)] += 1
    error = np.abs(counted / n - pairs)
    assert error.max() < 5 * np.sqrt(pairs.max() / n)


@pytest.mark.parametrize("seed", range(4))
def test_states_of_vectors_that_are_alike_do_not_depend_on_rounding(seed):
    rng = np.random.default_rng(seed)
    jitter = 1e-15 * rng.standard_normal((6, 2))
    totals = np.array([5.0, 9.0, 1.0, 7.0, 2.0, 3.0])
    same = np.full((6, 2), 0.5) + jitter
    # all alike: dealt out by frequency, no state without observations
    assert learn._by_vectors(same, totals, 2, 0).tolist() == [0, 0, 1, 0, 1, 1]
    two = np.eye(2)[[0, 1, 0, 1, 0, 1]] + jitter
    found = learn._by_vectors(two, totals, 2, 0)
    assert found[0] != found[1]
    assert found.tolist() == found[:2].tolist() * 3
    # two kinds, three states: the more frequent of a kind stay together
    assert learn._by_vectors(two, totals, 3, 0).tolist() == [0, 1, 1, 2, 0, 2]


@pytest.mark.parametrize("split", [True, False])
def test_the_same_bytes_with_any_number_of_cores(split, monkeypatch):
    monkeypatch.setattr(learn, "_WORDS_OF_A_BLOCK", 17)
    found = []
    for cores in (1, 2, 3):
        with using_cores(cores):
            model = fitted(n_iter=3, split=split)
        found.append([table.tobytes() for table in model.tables_] + model.log_likelihoods_)
    assert found[0] == found[1] == found[2]


def test_blocks_of_trees_add_up_to_the_whole(monkeypatch):
    model = fitted(n_iter=0, structure="valence")
    encoded = model._encode(WordForest.of(random_trees(0), model.observations_))
    assert len(learn._blocks(encoded)) == 1
    value, whole = learn.expected_counts(encoded, model.tables_)
    monkeypatch.setattr(learn, "_WORDS_OF_A_BLOCK", 17)
    spare = []
    assert len(learn._blocks(encoded)) > 3
    for _ in range(2):  # the second time in tables that were used before
        in_parts, parts = learn.expected_counts(encoded, model.tables_, spare)
        assert in_parts == pytest.approx(value, rel=1e-12)
        for one, other in zip(parts, whole, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    assert spare
    assert not any(table.any() for table in spare)


def test_tables_are_filled_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    counts, prior = rng.random((2, 23, 4))
    counts[:, 1] = prior[:, 1] = 0.0  # a state that nothing is known of
    out = np.empty_like(counts)
    for rows in (512, 5):
        monkeypatch.setattr(learn, "_ROWS_OF_A_BLOCK", rows)
        learn._fill_columns(counts, prior, 3.0, out)
        np.testing.assert_allclose(out, learn._columns_to_one(counts + 3.0 * prior), rtol=1e-12)
