"""Learning: each update by hand, margins, a toy grammar learned whole, the same for a seed."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from itertools import product

import numpy as np
import pytest

from eigentext.base.cores import using_cores
from eigentext.base.folds import held_out
from eigentext.dependency.decoding.decoders import eisner
from eigentext.dependency.graph.encode import ArcBatch, TokenEncoder
from eigentext.dependency.graph.templates import (
    arc_templates,
    coarse_templates,
    compiled,
    sibling_templates,
)
from eigentext.dependency.graph.training import (
    LOCK_STEP,
    NO_COARSE,
    ArcModel,
    ArcSettings,
    train_arcs,
    train_coarse,
)
from eigentext.dependency.kernels.features import LinearModel, Sentence, Sentences, arc_slots
from eigentext.dependency.kernels.grandparents import grand_kernel, list_governors
from eigentext.dependency.kernels.train import (
    Decoder,
    Learner,
    candidates,
    coarse_pass,
    differing_slots,
    inner_sibling,
    move_weights,
    prune,
    rival_tree,
)
from eigentext.dependency.sentence import TaggedSentence
from eigentext.errors import SettingsError
from eigentext.language.trees.dependency import DependencyTree

UPOS = ("DET", "NOUN", "VERB", "ADJ")
BITS = 14


def columns(text: str) -> TaggedSentence:
    pairs = [item.split("/") for item in text.split()]
    forms, tags = (tuple(column) for column in zip(*pairs, strict=True))
    return TaggedSentence.of(forms, upos=tags, xpos=tags)


def encoder() -> TokenEncoder:
    return TokenEncoder(upos=UPOS, xpos=UPOS)


def batch_of(*trees: tuple[str, list[int]]) -> ArcBatch:
    return encoder().batch([columns(text) for text, _ in trees], [heads for _, heads in trees])


TOY = [
    ("the/DET dog/NOUN barks/VERB", [2, 3, 0]),
    ("dogs/NOUN see/VERB a/DET big/ADJ cat/NOUN", [2, 0, 5, 5, 2]),
    ("see/VERB the/DET cat/NOUN", [0, 3, 1]),
    ("big/ADJ dogs/NOUN bark/VERB", [2, 3, 0]),
    ("sleep/VERB", [0]),
]


def one_step(batch, feats, weights, *, order, mira, clip=1.0, projective=True):
    """Weights after a single sentence, and what was added to the sums."""
    new, sums = weights.copy(), np.zeros(len(weights))
    rival = rival_tree(
        0,
        Sentences(batch.starts, batch.keys, batch.tags, encoder().n_tags),
        batch.heads,
        LinearModel(feats, new, np.uint64(64 - BITS), 1.0),
        Decoder(order, projective, np.inf, np.zeros(1), NO_COARSE.linear(), np.inf),
        mira,
    )
    assert np.array_equal(new, weights)
    move_weights(rival, new, Learner(mira, clip, sums), 7)
    return new, sums


def slots_of(batch, feats, order, mine, other):
    """How often each weight is used by the parts of one tree that the other has not."""
    rows = len(mine) + 1
    slots = differing_slots(
        Sentence(batch.keys[:rows], batch.tags[:rows], encoder().n_tags),
        LinearModel(feats, np.zeros(1, np.float32), np.uint64(64 - BITS), 1.0),
        order,
        np.array(mine, np.int32),
        np.array(other, np.int32),
    )
    return np.bincount(slots, minlength=1 << BITS)


@pytest.fixture(params=[1, 2], name="order")
def orders(request) -> int:
    return request.param


def features(order: int):
    return compiled(arc_templates(), sibling_templates() if order == 2 else ())


def test_perceptron_adds_the_gold_tree_and_takes_away_the_best(order):
    batch, feats = batch_of(TOY[0]), features(order)
    start = np.random.default_rng(1).normal(size=1 << BITS).astype(np.float32)
    sib = sibling_templates() if order == 2 else ()
    model = ArcModel(
        ArcSettings(order=order, bits=BITS), arc_templates(), sib, encoder().n_tags, start
    )
    best = model.decode(batch)[1:]
    gold = batch.heads[1:]
    assert not np.array_equal(best, gold)
    new, sums = one_step(batch, feats, start, order=order, mira=False)
    moved = slots_of(batch, feats, order, gold, best) - slots_of(batch, feats, order, best, gold)
    assert np.allclose(new - start, moved, atol=1e-5)
    assert np.allclose(sums, 7.0 * moved)


def test_parts_that_differ_by_hand():
    feats = compiled(["h.upos d.upos"], ["s.upos d.upos"])
    batch = batch_of(("see/VERB the/DET cat/NOUN", [0, 3, 1]))
    # arcs 1-2 and 1-3 against 3-2 and 1-3: one arc differs, and with it the sibling of 3
    first, second = [0, 1, 1], [0, 3, 1]
    assert slots_of(batch, feats, 1, first, second).sum() == 2
    assert slots_of(batch, feats, 2, first, second).sum() == 2 + 2 + 2
    assert slots_of(batch, feats, 2, first, first).sum() == 0


def test_inner_siblings():
    heads = np.array([3, 3, 0, 3, 4, 3], np.int32)
    assert [inner_sibling(heads, d) for d in range(1, 7)] == [2, 3, 0, 3, 4, 4]


def score_of(model: ArcModel, batch: ArcBatch, heads) -> float:
    arc, sib = model.scores(batch, 0)
    told = np.array(heads, np.int32)
    total = sum(arc[h, d] for d, h in enumerate(heads, start=1))
    if sib is not None:
        total += sum(sib[h, inner_sibling(told, d), d] for d, h in enumerate(heads, start=1))
    return float(total)


def test_mira_moves_no_further_than_the_margin_asks(order):
    batch, feats = batch_of(TOY[1]), features(order)
    sib = sibling_templates() if order == 2 else ()
    gold = batch.heads[1:].tolist()

    def model(weights) -> ArcModel:
        chosen = ArcSettings(order=order, bits=BITS)
        return ArcModel(chosen, arc_templates(), sib, encoder().n_tags, weights)

    weights = (np.random.default_rng(2).normal(size=1 << BITS) * 0.1).astype(np.float32)
    # the tree to beat: the best one when every wrong head counts 1 more
    arc, pairs = model(weights).scores(batch, 0)
    for d, h in enumerate(gold, start=1):
        arc[:, d] += 1.0
        arc[h, d] -= 1.0
    heads = (eisner(arc) if pairs is None else eisner(arc, pairs))[0].tolist()
    loss = sum(a != b for a, b in zip(heads, gold, strict=True))
    apart = slots_of(batch, feats, order, gold, heads) - slots_of(batch, feats, order, heads, gold)
    ahead = float(weights.astype(np.float64) @ apart)
    step = (loss - ahead) / float(apart @ apart)
    assert step > 0
    new, sums = one_step(batch, feats, weights, order=order, mira=True, clip=100.0)
    assert np.allclose(new - weights, step * apart, atol=1e-5)
    assert np.allclose(sums, 7 * step * apart, atol=1e-5)
    margin = score_of(model(new), batch, gold) - score_of(model(new), batch, heads)
    assert margin == pytest.approx(loss, abs=1e-3)
    short, _ = one_step(batch, feats, weights, order=order, mira=True, clip=step / 4)
    assert np.allclose(short - weights, step / 4 * apart, atol=1e-5)


def test_pruning_keeps_good_arcs_the_gold_tree_and_a_tree():
    rng = np.random.default_rng(5)
    for n in (1, 2, 7):
        arc = rng.normal(size=(n + 1, n + 1)) * 3
        np.fill_diagonal(arc, -np.inf)
        arc[:, 0] = -np.inf
        gold = np.array([0, *range(1, n)], np.int32)  # a chain
        new, keep = arc.copy(), np.empty((n + 1, n + 1), np.bool_)
        prune(new, gold, 1.0, keep)
        best = eisner(arc)[0]
        for d in range(1, n + 1):
            for h in range(n + 1):
                told = arc[h, d] >= arc[:, d].max() - 1.0 or h in (gold[d - 1], best[d - 1])
                assert keep[h, d] == told
                assert new[h, d] == (arc[h, d] if told else -np.inf)


def test_a_wide_margin_prunes_nothing():
    batch = batch_of(*TOY)
    trained = train_arcs(
        batch,
        arc_templates(),
        sibling_templates(),
        encoder().n_tags,
        ArcSettings(order=2, epochs=3, bits=BITS),
    )
    for number in range(len(TOY)):
        plain = trained.scores(batch, number, pruned=False)
        wide = ArcModel(
            ArcSettings(order=2, bits=BITS, margin=1e9),
            trained.arc_names,
            trained.sib_names,
            trained.n_tags,
            trained.weights,
            scale=trained.scale,
        ).scores(batch, number)
        for mine, its in zip(plain, wide, strict=True):
            assert np.array_equal(mine, its)


def test_what_the_coarse_model_rules_out_is_not_scored():
    batch = batch_of(*TOY)
    chosen = ArcSettings(order=2, epochs=3, bits=BITS, coarse_margin=0.5)
    coarse = train_coarse(batch, encoder().n_tags, chosen)
    names = arc_templates(), sibling_templates(), encoder().n_tags, chosen
    trained = train_arcs(batch, *names, coarse=coarse)
    assert np.array_equal(trained.coarse.weights, train_arcs(batch, *names).coarse.weights)
    ruled_out = 0
    for number, (_, gold) in enumerate(TOY):
        arc = trained.scores(batch, number)[0]
        whole = trained.scores(batch, number, pruned=False)[0]
        first = coarse.scores(batch, number)[0]
        best = first.max(axis=0)
        for h, d in np.ndindex(arc.shape):
            if d in (0, h):
                continue
            told = first[h, d] >= best[d] - 0.5 or h == d - 1
            assert arc[h, d] == (whole[h, d] if told else -np.inf)
            ruled_out += not told
        keep = np.empty(arc.shape, np.bool_)
        candidates(trained.sentence(batch, number), trained.decoder([0.0]), np.int32(gold), keep)
        assert all(keep[h, d] for d, h in enumerate(gold, start=1))
    assert ruled_out


def test_the_coarse_model_gives_each_word_a_distribution_over_heads():
    batch = batch_of(TOY[1])
    sentences = Sentences(batch.starts, batch.keys, batch.tags, encoder().n_tags)
    feats = compiled(coarse_templates())
    weights, squares = np.zeros(1 << BITS, np.float32), np.full(1 << BITS, 0.5)
    model = LinearModel(feats, weights, np.uint64(64 - BITS), 1.0)
    coarse_pass(np.array([0]), sentences, batch.heads, model, 0.1, squares)
    # all heads of a word begin with the same probability: 1/n each, since it is not its own
    n, sentence = len(batch.keys) - 1, Sentence(batch.keys, batch.tags, encoder().n_tags)
    slots, told, sums = np.empty(1000, np.int64), np.zeros(1 << BITS), np.full(1 << BITS, 0.5)
    for d in range(1, n + 1):
        for h in range(n + 1):
            if h != d:
                slope = float(h == batch.heads[d]) - 1 / n
                for slot in slots[: arc_slots(sentence, model, h, d, slots, 0)]:
                    sums[slot] += slope**2
                    told[slot] += 0.1 * slope / np.sqrt(sums[slot])
    assert np.allclose(weights, told, atol=1e-5)
    assert np.allclose(squares, sums, atol=1e-5)


def projective_trees(n: int) -> list[np.ndarray]:
    found = []
    for heads in product(range(n + 1), repeat=n):
        if heads.count(0) == 1 and all(h != d for d, h in enumerate(heads, start=1)):
            with suppress(ValueError):  # a cycle
                if DependencyTree([""] * n, heads).is_projective():
                    found.append(np.array(heads, np.int32))
    return found


def total_of(arc, sib, full, keep, tree) -> float:
    """The score of a tree; -inf with an arc that is not kept."""
    found = 0.0
    for d, h in enumerate(tree, start=1):
        if not keep[h, d]:
            return -np.inf
        found += arc[h, d] + sib[h, inner_sibling(tree, d), d]
        found += full[tree[h - 1], h, d] if h else 0.0
    return found


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_grandparents_and_siblings_against_all_trees(share):
    rng = np.random.default_rng(int(share * 10))
    for n in (1, 2, 3, 4, 5, 5):
        arc, sib, full = (rng.normal(size=(n + 1,) * k) for k in (2, 3, 3))
        trees = projective_trees(n)
        keep = rng.random((n + 1, n + 1)) < share
        for d, h in enumerate(trees[rng.integers(len(trees))], start=1):
            keep[h, d] = True
        keep[:, 0] = False
        np.fill_diagonal(keep, False)
        governors = list_governors(keep)
        grand = np.zeros((governors.counts.max(), n + 1, n + 1))
        for h in range(1, n + 1):
            for i in range(governors.counts[h]):
                grand[i, h] = full[governors.heads[h, i], h]

        total = partial(total_of, arc, sib, full, keep)
        heads = np.empty(n, np.int32)
        score = grand_kernel(arc, sib, grand, governors, heads)
        assert score == pytest.approx(max(map(total, trees)), abs=1e-9)
        assert total(heads) == pytest.approx(score, abs=1e-9)


@pytest.mark.parametrize("learner", ["mira", "perceptron"])
@pytest.mark.parametrize("projective", [True, False])
def test_a_toy_grammar_is_learned_whole(order, learner, projective):
    batch = batch_of(*TOY)
    chosen = ArcSettings(
        order=order, learner=learner, projective=projective, epochs=10, bits=BITS, clip=0.1
    )
    sib = sibling_templates() if order == 2 else ()
    model = train_arcs(batch, arc_templates(), sib, encoder().n_tags, chosen)
    assert np.array_equal(model.decode(batch), batch.heads)
    new = batch_of(("a/DET bird/NOUN sings/VERB", [2, 3, 0]))
    assert np.array_equal(model.decode(new), new.heads)


def test_crossing_arcs_are_learned_where_they_may_cross():
    crossing = ("a/DET dog/NOUN came/VERB big/ADJ", [2, 3, 0, 2])
    batch = batch_of(crossing, TOY[0], TOY[2])
    for projective in (True, False):
        chosen = ArcSettings(projective=projective, epochs=12, bits=BITS, clip=0.1)
        model = train_arcs(batch, arc_templates(), (), encoder().n_tags, chosen)
        assert np.array_equal(model.decode(batch), batch.heads) == (not projective)


def test_the_mean_is_that_of_all_steps():
    batch = batch_of(*TOY)
    chosen = ArcSettings(learner="perceptron", epochs=2, bits=BITS)
    model = train_arcs(batch, arc_templates(), (), encoder().n_tags, chosen)
    weights, total = np.zeros(1 << BITS, np.float32), np.zeros(1 << BITS)
    feats = features(1)
    for epoch in range(2):
        order = np.random.default_rng([0, epoch]).permutation(len(TOY))
        for at in range(0, len(TOY), LOCK_STEP):
            frozen = weights  # what all of these are held against, the longest first
            for number in sorted(order[at : at + LOCK_STEP], key=lambda k: -len(TOY[k][1])):
                new, _ = one_step(batch_of(TOY[number]), feats, frozen, order=1, mira=False)
                weights = weights + (new - frozen)
                total += weights
    # the mean of the weights with which each sentence was parsed, so without the last step
    steps = 2 * len(TOY)
    mean = (total - weights) / steps
    assert np.allclose(model.weights * model.scale, mean, atol=model.scale / 2 + 1e-5)
    assert model.scale < np.abs(mean).max() / 100


def test_what_another_sentence_mended_is_not_mended_twice(order):
    """The step is against the weights as they are by then, not as they were looked at."""
    batch, feats = batch_of(TOY[1], TOY[1]), features(order)
    weights = np.random.default_rng(1).normal(size=1 << BITS).astype(np.float32)
    learner = Learner(True, np.inf, np.zeros(1 << BITS))
    decoder = Decoder(order, True, np.inf, np.zeros(1), NO_COARSE.linear(), np.inf)
    sentences = Sentences(batch.starts, batch.keys, batch.tags, encoder().n_tags)
    model = LinearModel(feats, weights, np.uint64(64 - BITS), 1.0)
    first, second = (rival_tree(k, sentences, batch.heads, model, decoder, True) for k in range(2))
    before = weights.copy()
    move_weights(first, weights, learner, 1)
    once = weights.copy()
    assert not np.array_equal(once, before)
    move_weights(second, weights, learner, 2)
    assert np.allclose(weights, once, atol=1e-5)


@pytest.mark.parametrize("learner", ["mira", "perceptron"])
def test_the_number_of_cores_changes_nothing(order, learner):
    batch = batch_of(*(TOY[k % len(TOY)] for k in range(23)))
    chosen = ArcSettings(order=order, learner=learner, epochs=2, bits=BITS)
    siblings = sibling_templates() if order == 2 else ()

    def weights(cores: int):
        with using_cores(cores):
            model = train_arcs(batch, arc_templates(), siblings, encoder().n_tags, chosen)
        return model.weights

    assert np.any(weights(1))
    for cores in (2, 3):
        assert np.array_equal(weights(1), weights(cores))


def test_the_same_seed_gives_the_same_weights():
    batch = batch_of(*TOY)

    def weights(seed: int, progress=None):
        chosen = ArcSettings(epochs=2, bits=BITS, seed=seed)
        return train_arcs(
            batch, arc_templates(), (), encoder().n_tags, chosen, progress=progress
        ).weights

    assert np.array_equal(weights(1), weights(1))
    assert np.array_equal(weights(1), weights(1, progress=lambda *_: None))
    assert not np.array_equal(weights(1), weights(2))


def test_sentences_of_a_batch_may_be_left_out():
    batch = batch_of(*TOY)
    common = (arc_templates(), (), encoder().n_tags, ArcSettings(epochs=1, bits=BITS))
    for others, _ in held_out(len(TOY), 2):
        alone = train_arcs(batch_of(*(TOY[k] for k in others)), *common)
        assert np.array_equal(train_arcs(batch, *common, sentences=others).weights, alone.weights)


@pytest.mark.parametrize(
    "bad",
    [
        {"order": 3},
        {"grandparents": True},
        {"learner": "magic"},
        {"epochs": 0},
        {"clip": 0.0},
        {"bits": 40},
        {"seed": -1},
    ],
)
def test_bad_settings(bad):
    with pytest.raises(SettingsError):
        ArcSettings(**bad)
