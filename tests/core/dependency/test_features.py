"""Scores of arcs and siblings against a plain twin that follows the templates' words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.base import hashing
from eigentext.dependency.graph import templates as T
from eigentext.dependency.graph.encode import TokenEncoder
from eigentext.dependency.graph.training import ArcModel, ArcSettings
from eigentext.dependency.kernels import features as kernels
from eigentext.dependency.sentence import TaggedSentence
from eigentext.errors import SettingsError
from eigentext.features.attributes import PARSING

UPOS = ["NOUN", "VERB", "PUNCT", "CCONJ", "ADJ"]
XPOS = ["NN", "NNS", "VB", ",", "CC", "JJ"]
BITS, SCALE = 12, 0.25
AFTER, NOBODY = int(kernels.COUNTED), int(kernels.NOBODY)
BEYOND = int(kernels.BEFORE), int(kernels.BEHIND)


def sentences(most: int = 7):
    word = st.tuples(
        st.sampled_from(["cats", "run", ",", "and", "Big", "R2D2"]),
        st.sampled_from(UPOS),
        st.sampled_from([*XPOS, "_"]),
        st.sampled_from(["_", "Case=Nom|Number=Sing", "Number=Plur|VerbForm=Fin", "Case=Acc"]),
        st.sampled_from(["_", "cat", "run"]),
    )
    return st.lists(word, min_size=1, max_size=most).map(
        lambda rows: TaggedSentence(*map(tuple, zip(*rows, strict=True)))
    )


def encoder() -> TokenEncoder:
    clusters = {"cats": "0110101", "run": "100", "big": "0111"}
    return TokenEncoder(clusters=clusters, upos=UPOS, xpos=[*UPOS, *XPOS])


def model_of(arcs, siblings=(), seed=0) -> ArcModel:
    weights = np.random.default_rng(seed).integers(-8, 9, 1 << BITS).astype(np.int16)
    chosen = ArcSettings(order=2 if siblings else 1, bits=BITS)
    n_tags = encoder().n_tags
    return ArcModel(chosen, tuple(arcs), tuple(siblings), n_tags, weights, scale=SCALE)


def slot_of(parts: list[int], bits: int) -> int:
    """Where the 16 weights of a feature are centred: parts added, mixed once."""
    total = sum(parts) & hashing.MASK
    total ^= total >> 31
    return ((total * hashing.MIXER) & hashing.MASK) >> (64 - bits)


class Twin:
    """What the templates say, word by word, with Python's own numbers."""

    def __init__(self, columns: TaggedSentence, model: ArcModel) -> None:
        batch = encoder().batch([columns])
        self.keys, self.tags = batch.keys.tolist(), batch.tags.tolist()
        self.n, self.weights = len(columns.forms), model.weights
        self.model = model

    def key(self, row: int, slot: int) -> int:
        if row < 0:
            return BEYOND[0]
        return BEYOND[1] if row > self.n else self.keys[row][slot]

    def part(self, role: str, name: str, row: int | None) -> int:
        seed = hashing.text_key(f"{role}\t{name}")
        if row is None:
            return hashing.mixed(seed, [NOBODY])
        items = [item for item in T.GRAMMAR.parse(name).items if item.role == role]
        column = PARSING.column
        keys = [self.key(row + item.offset, column[item.attribute]) for item in items]
        return hashing.mixed(seed, keys)

    def counted(self, number: int) -> int:
        return (AFTER * (1 + number)) % 2**64

    def kinds(self, a: int, b: int) -> int:
        found = [self.tags[k][2] for k in range(min(a, b) + 1, max(a, b))]
        verbs, marks, joins = (found.count(kind) for kind in (1, 2, 3))
        return self.counted(min(verbs, 2) + 3 * min(marks, 2) + 9 * min(joins, 1))

    def agreement(self, h: int, d: int) -> int:
        digits = [
            0 if not mine or not its else 1 if mine == its else 2
            for mine, its in zip(self.tags[h][3:], self.tags[d][3:], strict=True)
        ]
        return self.counted(int("".join(map(str, digits)), 3))

    def far(self, a: int, b: int) -> int:
        bins = [1, 2, 3, 4, 6, 10]
        return (9 if b > a else 2) + sum(abs(a - b) > limit for limit in bins)

    def line(self, parts: list[int], side: int, far: int) -> float:
        slot = slot_of(parts, BITS)
        return SCALE * (float(self.weights[slot ^ side]) + float(self.weights[slot ^ far]))

    def arc(self, h: int, d: int) -> float:
        side, far = int(d > h), self.far(h, d)
        between = range(min(h, d) + 1, max(h, d))
        total = 0.0
        for name in self.model.arc_names:
            _, _, extra = template = T.GRAMMAR.parse(name)
            rows = {"h": h, "d": d}
            parts = [self.part(role, name, rows[role]) for role in template.roles]
            more = [0]
            if extra == "~kinds":
                more = [self.kinds(h, d)]
            elif extra == "~rivals":
                same = [sum(self.tags[k][0] == self.tags[w][0] for k in between) for w in (h, d)]
                more = [self.counted(min(same[0], 2) + 3 * min(same[1], 2))]
            elif extra == "~agree":
                more = [self.agreement(h, d)]
            elif extra:
                more = sorted({self.keys[k][PARSING.column[extra[1:]]] for k in between})
            total += sum(self.line([*parts, one], side, far) for one in more)
        return total

    def sibling(self, h: int, s: int, d: int) -> float:
        total = 0.0
        for name in self.model.sib_names:
            _, _, extra = template = T.GRAMMAR.parse(name)
            rows = {"h": h, "s": None if s == h else s, "d": d}
            parts = [self.part(role, name, rows[role]) for role in template.roles]
            parts.append(self.kinds(s, d) if extra else 0)
            total += self.line(parts, int(d > h), self.far(s, d))
        return total


@settings(max_examples=25, deadline=None)
@given(sentences())
def test_arc_scores_follow_the_templates(columns):
    model = model_of(T.arc_templates(clusters=True))
    arc, sib = model.scores(encoder().batch([columns]), 0)
    twin = Twin(columns, model)
    assert sib is None
    for h in range(twin.n + 1):
        for d in range(twin.n + 1):
            if d in (0, h):
                assert arc[h, d] == -np.inf
            else:
                assert arc[h, d] == pytest.approx(twin.arc(h, d), abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(sentences(6))
def test_sibling_scores_follow_the_templates(columns):
    model = model_of(T.arc_templates(), T.sibling_templates(clusters=True))
    arc, sib = model.scores(encoder().batch([columns]), 0, pruned=False)
    twin = Twin(columns, model)
    for h in range(twin.n + 1):
        for d in range(1, twin.n + 1):
            if d == h:
                continue
            assert arc[h, d] == pytest.approx(twin.arc(h, d), abs=1e-6)
            inner = range(h + 1, d) if d > h else range(d + 1, h)
            for s in [h, *(inner if h else ())]:
                assert sib[h, s, d] == pytest.approx(twin.sibling(h, s, d), abs=1e-6)


@settings(max_examples=20, deadline=None)
@given(sentences(6), st.data())
def test_slots_are_those_of_the_scores(columns, data):
    from eigentext.dependency.kernels.features import arc_slots, sibling_slots

    model = model_of(T.arc_templates(), T.sibling_templates())
    batch = encoder().batch([columns])
    n = len(columns.forms)
    arc, sib = model.scores(batch, 0, pruned=False)
    d = data.draw(st.integers(1, n))
    h = data.draw(st.integers(0, n).filter(lambda word: word != d))
    inner = range(min(h, d) + 1, max(h, d)) if h else []
    s = data.draw(st.sampled_from([h, *inner]))
    out = np.zeros(10_000, np.int64)
    sentence, linear = model.sentence(batch, 0), model.linear()
    many = arc_slots(sentence, linear, h, d, out, 0)
    assert SCALE * model.weights[out[:many]].sum() == pytest.approx(arc[h, d])
    many = sibling_slots(sentence, linear, h, s, d, out, 0)
    assert SCALE * model.weights[out[:many]].sum() == pytest.approx(sib[h, s, d])


@settings(max_examples=15, deadline=None)
@given(sentences(5))
def test_grandparents_follow_the_templates(columns):
    from eigentext.dependency.kernels.features import all_arcs, grand_scores, grand_slots
    from eigentext.dependency.kernels.grandparents import list_governors

    names = T.grandparent_templates(clusters=True)
    weights = model_of(T.arc_templates()).weights
    chosen = ArcSettings(order=2, grandparents=True, bits=BITS)
    model = ArcModel(chosen, T.arc_templates(), (), encoder().n_tags, weights, names, SCALE)
    twin = Twin(columns, model)
    n, sentence, linear = twin.n, model.sentence(encoder().batch([columns]), 0), model.linear()
    governors = list_governors(all_arcs(n))
    grand = grand_scores(sentence, linear, governors)
    out = np.zeros(1000, np.int64)
    for g, h, d in np.ndindex(n + 1, n + 1, n + 1):
        if h == 0 or d == 0 or len({g, h, d}) < 3:
            continue
        outside = not min(h, d) < g < max(h, d)
        far = 2 + 4 * (d > h) + 2 * (h > g) + outside
        told = 0.0
        for name in names:
            rows = {"g": g, "h": h, "d": d}
            parts = [twin.part(role, name, row) for role, row in rows.items()]
            told += twin.line(parts, int(d > h), far)
        assert grand[governors.number_of[g, h], h, d] == pytest.approx(told, abs=1e-6)
        many = grand_slots(sentence, linear, g, h, d, out, 0)
        assert SCALE * weights[out[:many]].sum() == pytest.approx(told, abs=1e-6)


def test_sentences_of_a_batch_do_not_see_each_other():
    one = TaggedSentence.of(("a", "b"), upos=("NOUN", "VERB"), xpos=("NN", "VB"))
    two = TaggedSentence.of(("c",), upos=("ADJ",), xpos=("JJ",))
    model = model_of(T.arc_templates(), T.sibling_templates())
    alone = model.scores(encoder().batch([one]), 0)
    among = model.scores(encoder().batch([two, one, two]), 1)
    for mine, its in zip(alone, among, strict=True):
        assert np.array_equal(mine, its)


def test_unknown_words_share_a_key_but_keep_their_endings():
    known = TokenEncoder(vocabulary=frozenset({"cat"}))
    cat, dog, fog = known.batch(
        [TaggedSentence.of((form,), upos=("NOUN",)) for form in ("Cat", "dog", "fog")]
    ).keys[[1, 3, 5]]
    lower, form, end = (PARSING.column[name] for name in ("lower", "form", "end"))
    assert dog[lower] == fog[lower] != cat[lower]
    assert dog[form] == fog[form] != cat[form]
    assert len({cat[end], dog[end], fog[end]}) == 3
    end2, begin3 = (PARSING.column[name] for name in ("end2", "begin3"))
    assert dog[end2] == fog[end2] != cat[end2]
    assert dog[begin3] != fog[begin3]


def test_an_encoder_that_forgets_gives_the_same_numbers(monkeypatch):
    monkeypatch.setattr("eigentext.dependency.graph.encode._MOST_REMEMBERED", 1)
    columns = TaggedSentence.of(("a", "b"), upos=("NOUN", "VERB"), xpos=("NN", "VB"))
    mine = encoder()
    first = mine.batch([columns])
    again = mine.batch([columns, columns])
    assert np.array_equal(first.keys, again.keys[:3])
    assert np.array_equal(first.tags, again.tags[3:])


@pytest.mark.parametrize(
    ("arcs", "siblings", "why"),
    [
        (["h.upos", "h.upos"], [], "twice"),
        (["h.colour"], [], "not role.attribute"),
        (["x.upos d.upos"], [], "not role.attribute"),
        (["h.upos s.upos d.upos"], [], "no sibling"),
        (["h.upos ~upos"], [], "needs both"),
        (["~upos"], [], "names no word"),
        (["h.upos"], ["h.upos d.upos"], "expected s and d"),
        (["h.upos"], ["s.upos d.upos ~rivals"], "expected s and d"),
        (["h.upos " * 7], [], "more than 6"),
    ],
)
def test_bad_templates(arcs, siblings, why):
    with pytest.raises(SettingsError, match=why):
        T.compiled(arcs, siblings)


def test_one_str_is_not_a_list_of_templates():
    with pytest.raises(TypeError):
        T.compiled("h.upos")
