"""Relations: features of an arc against a plain twin, updates by hand, learning."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.base import hashing
from eigentext.dependency.graph.encode import TokenEncoder
from eigentext.dependency.graph.labels import (
    LabelSettings,
    compiled_labels,
    label_templates,
    train_labels,
)
from eigentext.dependency.kernels import features as kernels
from eigentext.dependency.kernels.labels import (
    ORDER,
    LabelLearner,
    LabelledTree,
    LabelWeights,
    Trees,
    family,
    label_pass,
    label_slots,
)
from eigentext.dependency.sentence import TaggedSentence
from eigentext.errors import SettingsError
from eigentext.features.attributes import PARSING

UPOS = ("DET", "NOUN", "VERB", "ADJ")
BITS = 14
AFTER, NOBODY = int(kernels.COUNTED), int(kernels.NOBODY)
BEYOND = int(kernels.BEFORE), int(kernels.BEHIND)


@st.composite
def trees(draw):
    """A sentence, a tree over it (heads drawn so that no cycle comes), relations so far."""
    n = draw(st.integers(1, 7))
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for done, word in enumerate(order[1:], start=1):
        heads[word - 1] = draw(st.sampled_from(order[:done]))
    forms = draw(st.lists(st.sampled_from(["a", "b", "Cc"]), min_size=n, max_size=n))
    tags = draw(st.lists(st.sampled_from(UPOS), min_size=n, max_size=n))
    labels = draw(st.lists(st.integers(-1, 5), min_size=n, max_size=n))
    columns = TaggedSentence.of(forms, upos=tags, xpos=tags)
    return columns, heads, labels


def twin(keys, heads, labels, d, names):
    """Slots of the arc to d, as the templates say."""
    n, h = len(heads), heads[d - 1]
    children = {w: [c for c in range(1, n + 1) if heads[c - 1] == w] for w in range(n + 1)}
    mine, brothers = children[d], children[h]
    at = brothers.index(d)
    rows = {
        "h": h,
        "d": d,
        "g": heads[h - 1] if h else None,
        "a": brothers[at - 1] if at else None,
        "b": brothers[at + 1] if at + 1 < len(brothers) else None,
        "i": mine[0] if mine else None,
        "j": mine[-1] if mine else None,
    }
    found = []
    for name in names:
        items = [item.split(".") for item in name.split()]
        groups = [None]
        if any(role[0] == "c" for role, _ in items):
            groups = mine
        elif any(role[0] == "s" for role, _ in items):
            groups = [word for word in brothers if word != d]
        for each in groups:
            plain = [item for item in items if item[0][0] not in "cs"]
            chosen = plain + [item for item in items if item[0][0] in "cs"]
            hashed = []
            for role, slot in chosen:
                row = each if role[0] in "cs" else rows[role[0]]
                if slot == "far":
                    bins = sum(abs(h - d) > limit for limit in (1, 2, 3, 4, 6, 10))
                    hashed.append(AFTER * ((9 if d > h else 2) + bins) % 2**64)
                elif row is None:
                    hashed.append(NOBODY)
                elif slot == "label":
                    told = AFTER * (labels[row - 1] + 2) % 2**64 if row else BEYOND[0]
                    hashed.append(told)
                else:
                    row += int(role[1:] or 0)
                    inside = 0 <= row <= n
                    column = PARSING.column[slot]
                    hashed.append(int(keys[row][column]) if inside else BEYOND[int(row > n)])
            seed = (hashing.text_key(f"label\t{name}") + int(d > h)) % 2**64
            found.append((hashing.mixed(seed, hashed) * hashing.MIXER % 2**64) >> (64 - BITS))
    return found


def weights_of(names, root_label=-1):
    """A classifier of three relations that knows nothing yet."""
    weights = np.zeros((1 << BITS) + 3, np.float32)
    return LabelWeights(
        *compiled_labels(tuple(names)), weights, np.uint64(64 - BITS), 3, root_label
    )


@settings(max_examples=60, deadline=None)
@given(trees())
def test_slots_follow_the_templates(drawn):
    columns, heads, labels = drawn
    names = label_templates()
    model = weights_of(names)
    keys = TokenEncoder(upos=UPOS, xpos=UPOS).batch([columns]).keys
    own = np.array(heads, np.int32)
    tree = LabelledTree(keys, own, np.array(labels, np.int32), family(own))
    out = np.empty(5_000, np.int64)
    for d in range(1, len(heads) + 1):
        many = label_slots(tree, model, d, out)
        assert out[:many].tolist() == twin(keys, heads, labels, d, names)


@settings(max_examples=60, deadline=None)
@given(trees())
def test_words_come_from_the_root_down(drawn):
    _, heads, _ = drawn
    order = family(np.array(heads, np.int32))[:, ORDER].tolist()
    assert sorted(order) == list(range(len(heads) + 1))
    assert all(order.index(h) < order.index(d) for d, h in enumerate(heads, start=1))


def batch_of(n_trees=1, labels=(0, 1, 2)):
    one = TaggedSentence.of(("a", "dog", "barks"), upos=UPOS[:3], xpos=UPOS[:3])
    encoder = TokenEncoder(upos=UPOS, xpos=UPOS)
    return encoder.batch([one] * n_trees, [[2, 3, 0]] * n_trees, [list(labels)] * n_trees)


@pytest.mark.parametrize("clip", [100.0, 1e-3])
def test_one_update_by_hand(clip):
    batch = batch_of()
    model = weights_of(["d.upos", "h.upos d.upos"], root_label=2)
    weights, sums = model.weights, np.zeros(len(model.weights))
    trees, learner = Trees(batch.starts, batch.keys, batch.heads), LabelLearner(1.0, clip, sums)
    wrong = np.zeros(1, np.int64)
    time = label_pass(np.array([0]), trees, batch.labels, model, learner, 4, wrong)
    assert time == 6  # the root's word is not asked for
    # first dog (1: the first of equals, 0, is wrong), then a (0)
    step = min(clip, 1.0 / 4)
    values, counts = np.unique(np.round(weights[weights != 0], 6), return_counts=True)
    assert np.allclose(values, [-step, step])
    assert counts.tolist() == [4, 4]
    times = np.unique(np.round(sums[sums != 0] / weights[sums != 0]))
    assert times.tolist() == [5.0, 6.0]
    assert wrong[0] == 1


def test_relations_are_learned_and_the_root_is_kept_apart():
    batch = batch_of(3)
    names = ("det", "nsubj", "root")
    model = train_labels(batch, names, label_templates(), LabelSettings(bits=BITS))
    assert model.root == 2
    found = model.label(batch, batch.heads)
    assert np.array_equal(found, batch.labels)
    # every other tree has one root as well, and no other word gets its relation
    other = batch.heads.copy()
    other[1:4] = [0, 1, 1]
    found = model.label(batch, other)
    assert found[1] == 2
    assert 2 not in found[2:4]


def test_relations_of_the_root_may_vary():
    batch = batch_of(2, labels=(0, 1, 2))
    batch.labels[-1] = 0  # the second sentence: its root's word is a det
    model = train_labels(
        batch, ("det", "nsubj", "root"), label_templates(), LabelSettings(bits=14)
    )
    assert model.root == -1
    assert (model.label(batch, batch.heads)[batch.heads >= 0] >= 0).all()


def test_a_single_relation_needs_no_learning():
    batch = batch_of(2, labels=(0, 0, 0))
    model = train_labels(batch, ("_",), label_templates(), LabelSettings(bits=BITS))
    assert not model.weights.any()
    assert set(model.label(batch, batch.heads).tolist()) == {-1, 0}


@pytest.mark.parametrize("bad", [{"epochs": 0}, {"margin": -1.0}, {"clip": 0.0}, {"bits": 5}])
def test_bad_settings(bad):
    with pytest.raises(SettingsError):
        LabelSettings(**bad)


@pytest.mark.parametrize("bad", ["h.colour", "x.upos", "", "h.upos " * 9])
def test_bad_templates(bad):
    with pytest.raises(SettingsError):
        compiled_labels((bad,))
