"""A tagger in a file, over cores, in odd text, and on real treebanks."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.base.cores import using_cores
from eigentext.errors import ModelFileError, SettingsError
from eigentext.language.formats.conllu import make_sentence, read_sentences
from eigentext.tagging.morphology import MorphTagger, jackknifed, learn
from eigentext.tagging.morphology.learn import _EVERY, _HEATS, ByteWeights, gold_candidates, shares
from eigentext.tagging.settings import MorphTaggerSettings
from helpers.changed_files import changed
from helpers.sample_pipeline import treebank

WORDS = [
    "Anna",
    "sleeps",
    "zebras",
    "running",
    "10",
    "",
    ".",
    "\x00",
    "👩\u200d🔬",
    "שלום",
    "e\u0301",
    "我们",
    "\u200f",
]


def numbered(n: int):
    """Sentences whose XPOS is more than words tell of, with roles by place."""
    return [one.with_columns(xpos=[f"{k}{n % 7}" for k in range(len(one.forms))])
            for n, one in enumerate(treebank()[:n])]  # fmt: skip


@pytest.fixture(scope="module", params=["plain", "clusters", "xpos"])
def tagger(request) -> MorphTagger:
    if request.param == "xpos":
        return MorphTagger(bits=12, epochs=2).fit(numbered(60))
    tables = {}
    if request.param == "clusters":
        tables = {"clusters": {"Anna": "0110", "sleeps": "10"}, "vectors": None}
    return MorphTagger(bits=12, epochs=2, **tables).fit(treebank()[:60])


def test_a_file_keeps_all_that_was_learned(tagger) -> None:
    again = MorphTagger.from_bytes(tagger.to_bytes())
    assert again.to_bytes() == tagger.to_bytes()
    assert again.tag_set_.triples == tagger.tag_set_.triples
    for name in ("forms", "entry", "form_counts", "lower_counts"):
        assert getattr(again.lexicon_, name) == getattr(tagger.lexicon_, name)
    assert again.lemmatiser_.rules == tagger.lemmatiser_.rules
    assert again.lemmatiser_.rule_of == tagger.lemmatiser_.rule_of
    assert (again.heat_, again.coverage_) == (tagger.heat_, tagger.coverage_)
    assert (again.clusters_, again.near_) == (tagger.clusters_, tagger.near_)
    for ours, theirs in (
        (again.weights_, tagger.weights_),
        (again.lemmatiser_.weights, tagger.lemmatiser_.weights),
    ):
        assert np.array_equal(ours.table, theirs.table)
        assert ours.scale == theirs.scale
    if tagger.other_xpos_ is None:
        assert again.other_xpos_ is None
    else:
        pairs = [(form, tag) for form in ["Anna", "new"] for tag in range(len(tagger.tag_set_))]
        assert again.other_xpos_.of(*zip(*pairs, strict=True)) == tagger.other_xpos_.of(
            *zip(*pairs, strict=True)
        )
    assert again.tag([WORDS]) == tagger.tag([WORDS])
    assert again.nbest(WORDS) == tagger.nbest(WORDS)


@settings(max_examples=40)
@given(st.lists(st.lists(st.sampled_from(WORDS) | st.text(max_size=4), max_size=6), max_size=4))
def test_any_words_have_an_answer_each_and_sentences_do_not_look_at_each_other(tagger, text):
    text = [[word.strip() or "." for word in words] for words in text]
    answers = tagger.tag(text)
    assert [list(map(len, one)) for one in answers] == [[len(words)] * 5 for words in text]
    assert [tagger.tag([words])[0] for words in text] == answers
    for words, one in zip(text, answers, strict=True):
        assert all(lemma or not word for word, lemma in zip(words, one.lemmas, strict=True))
        readings = tagger.nbest(words, 3)
        assert [r[0].upos for r in readings] == list(one.upos) or len(words) > 1
        for word in readings:
            chances = [reading.probability for reading in word]
            assert all(a >= b for a, b in pairwise(chances))
            assert 0 < sum(chances) <= 1 + 1e-9


def test_training_and_answers_are_the_same_for_any_cores() -> None:
    chosen = MorphTaggerSettings(bits=12, epochs=2)
    text = treebank()[:40]
    with using_cores(2):
        two = jackknifed(text, chosen, ways=4)
        model = MorphTagger(bits=12, epochs=2).fit(text).to_bytes()
    with using_cores(1):
        assert jackknifed(text, chosen, ways=4) == two
        assert MorphTagger(bits=12, epochs=2).fit(text).to_bytes() == model
        assert MorphTagger(bits=12, epochs=2, seed=1).fit(text).to_bytes() != model
    steps: list[tuple] = []
    jackknifed(text, chosen, ways=4, progress=lambda *step: steps.append(step))
    assert steps == [(way, 4, "tagging out of sample") for way in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("part", "value", "why"),
    [
        ("upos", [], r"has length \d+, expected 0"),
        ("forms", [], "expected 0|has length"),
        ("upos", ["X"] * 99, "not in order|shorter|longer"),
        ("rule_case", ["odd"], "hold others than lower, keep, title"),
    ],
)
def test_parts_that_do_not_hold_together(tagger, part, value, why) -> None:
    packed = tagger._pack()
    if part == "upos" and value:
        value = list(packed.strings["upos"])[::-1]
    if part == "rule_case":
        value = value * len(packed.strings[part])
    with pytest.raises(ModelFileError, match=why):
        MorphTagger.from_bytes(changed(tagger, strings={part: value}))
    starts = np.array(packed.arrays["starts"])
    starts[1] = starts[0]
    with pytest.raises(ModelFileError, match="a form without a tag"):
        MorphTagger.from_bytes(changed(tagger, arrays={"starts": starts}))


def test_an_analyzer_that_is_not_there_is_told(tagger) -> None:
    raw = changed(tagger, facts={"analyzer": "almor:/nowhere/at/all"})
    with pytest.raises(ModelFileError, match="learned with the analyzer 'almor:/nowhere"):
        MorphTagger.from_bytes(raw)


# ---------------------------------------------------------------- learning


def table_and_gold(n: int):
    """A prepared tagger and the rows of a treebank that it is to learn."""
    tagger = MorphTagger(bits=12, epochs=2).fit(treebank()[:n])
    text = treebank()[:n]
    forms = [form for one in text for form in one.forms]
    columns = [[v for one in text for v in one.column(name)] for name in ("upos", "xpos", "feats")]
    triples = list(zip(*columns, strict=True))
    if tagger.other_xpos_ is not None:
        triples = [(upos, "_", feats) for upos, _, feats in triples]
    tags = np.array([tagger.tag_set_.number[triple] for triple in triples])
    table = tagger._prepare()
    rows = table.training_rows(forms, tags)
    starts = np.concatenate([[0], np.cumsum([len(one.forms) for one in text])])
    return tagger, table, rows, tags, starts


def test_gold_candidates_are_where_the_tags_stand() -> None:
    tagger, table, rows, tags, _ = table_and_gold(40)
    gold = gold_candidates(table, rows, tags)
    for row, tag, at in zip(rows.tolist(), tags.tolist(), gold.tolist(), strict=True):
        own = table.lists.tags[row, : table.lists.n[row]].tolist()
        assert at == (own.index(tag) if tag in own else -1)
    assert -1 in gold
    assert len(set(gold.tolist())) > 3
    counts = tagger.lexicon_.form_counts
    forms = [form for one in treebank()[:40] for form in one.forms]
    alone = np.array([counts[form] == 1 for form in forms])
    assert tagger.coverage_ == (
        pytest.approx(np.mean(gold[~alone] >= 0)),
        pytest.approx(np.mean(gold[alone] >= 0)),
    )


def test_the_heat_is_the_one_under_which_the_gold_tags_are_most_probable() -> None:
    tagger, table, rows, numbers, starts = table_and_gold(60)
    gold = gold_candidates(table, rows, numbers)
    left = np.array([3, 11, 40])
    weights = ByteWeights.rounded(np.random.default_rng(0).normal(0, 1, 1 << 12))
    text, tags = learn.ChainText(table, rows, starts), tagger.tag_set_
    found = learn._fitted_heat(*text.part(left), tags, gold, weights)
    scores = []
    for heat in _HEATS:
        total = 0.0
        every = shares(text, tags, weights, heat)
        for k in left.tolist():
            for i in range(starts[k], starts[k + 1]):
                total += np.log(max(every[i, gold[i]], 1e-12)) if gold[i] >= 0 else 0.0
        scores.append(total)
    assert found == _HEATS[int(np.argmax(scores))]
    assert _HEATS[0] == 0.5
    assert _HEATS[-1] == 8.0


def test_weights_are_the_mean_of_all_passes_but_the_first(monkeypatch) -> None:
    """Four times a pass; sentences that the heat is fitted on are learned from in the last."""
    from eigentext.tagging.morphology.kernels import training

    tagger, table, rows, tags, starts = table_and_gold(60)
    calls: list[list[int]] = []

    def count(order, text, gold, chain, squares, rate) -> None:
        calls.append(order.tolist())
        chain.weights.table[3] = len(calls)
        assert (chain.width, rate) == (6.0, 0.04)

    monkeypatch.setattr(training, "train", count)
    monkeypatch.setattr(learn, "_fitted_heat", lambda left, *_: float(len(left.starts) - 1))
    settings_of = MorphTaggerSettings(bits=12, epochs=3)
    gold = gold_candidates(table, rows, tags)
    text = learn.ChainText(table, rows, starts)
    weights, heat = learn.trained(text, tagger.tag_set_, gold, settings_of)
    assert len(calls) == 12
    assert weights.table[3] * weights.scale == pytest.approx(np.mean(range(5, 13)), rel=1e-2)
    assert heat == 3
    passes = [sorted(n for part in calls[k : k + 4] for n in part) for k in (0, 4, 8)]
    left = list(range(_EVERY - 1, 60, _EVERY))
    assert passes[2] == list(range(60))
    assert passes[0] == passes[1] == [k for k in range(60) if k not in left]
    assert calls[0] != calls[4][: len(calls[0])]


# ---------------------------------------------------------------- answers


def test_the_other_part_of_speech_is_told_by_how_near_it_is(tagger) -> None:
    """1 up to 0.7 of the best, 2 up to 0.9, 3 beyond; none below 0.02 of its own."""
    chances = np.array(
        [[0.5, 0.4], [0.7, 0.3], [0.71, 0.02], [0.9, 0.1], [0.95, 0.03], [0.98, 0.019]]
    )
    found = learn.ChainTags(np.zeros(6, np.int64), np.zeros(6, np.int64), chances)
    upos = tagger.tag_set_.columns[0][0]
    expected = [f"{near}:{upos}" for near in (1, 1, 2, 2, 3)]
    assert tagger._others(found) == [*expected, "_"]


def test_readings_add_up_to_the_best_part_of_speech() -> None:
    """Second-best parts of speech and readings are two views of the same probabilities."""
    tagger = MorphTagger(bits=12, epochs=2).fit(treebank()[:60])
    words = ["Anna", "saw", "the", "running", "zebras", "."]
    forms, text = tagger._read([words])
    rows = text.rows
    found, every = learn.tagged(text, *tagger._learned), learn.shares(text, *tagger._learned)
    for i in range(len(forms)):
        names = tagger._words.lists.tags[rows[i]]
        of_upos: dict[str, float] = {}
        for tag, share in zip(names.tolist(), every[i].tolist(), strict=True):
            upos = tagger.tag_set_.triples[tag][0]
            of_upos[upos] = of_upos.get(upos, 0.0) + share
        own = of_upos.pop(tagger.tag_set_.triples[found.best[i]][0])
        second = max(of_upos.values(), default=0.0)
        assert found.chances[i] == pytest.approx([own, second], abs=1e-6)


@pytest.mark.parametrize(
    ("decided", "followed"),
    [
        ({0: {"lemma": "x"}}, {}),
        ({0: {"upos": "NOUN"}, 1: {"lemma": "y", "upos": "VERB"}}, {0: True, 1: True}),
        ({1: {"upos": "NOUN", "feats": "Odd=Yes"}}, {1: False}),
        ({0: {"xpos": "ODD"}}, None),
    ],
)
def test_decided_columns_come_back_as_they_are(decided, followed) -> None:
    tagger = MorphTagger(bits=12, epochs=2).fit(treebank()[:60])
    found = tagger.tag_decided(["Anna", "sleeps"], decided)
    for word, values in decided.items():
        for name, value in values.items():
            column = getattr(found.best, "lemmas" if name == "lemma" else name)
            assert column[word] == value
    if followed is not None:
        assert found.followed == followed
    for word, values in decided.items():
        if found.followed.get(word) and "upos" in values:
            assert {reading.upos for reading in found.readings[word]} == {values["upos"]}
    again = tagger.tag(treebank_forms := [["Anna", "sleeps"]])
    assert again == MorphTagger.from_bytes(tagger.to_bytes()).tag(treebank_forms)
    with pytest.raises(SettingsError, match="k is 0"):
        tagger.tag_decided(["a"], {}, 0)


# ---------------------------------------------------------------- real text


def right(name, data, *, n: int, bits: int, epochs: int) -> list[float]:
    """Shares of upos, feats and lemmas of the development part that are right, in percent."""
    folder = data / "dependency" / name
    train, dev = (list(read_sentences(folder / f"{part}.conllu")) for part in ("train", "dev"))
    tagger = MorphTagger(epochs=epochs, bits=bits).fit(train[:n])
    answers = tagger.tag([one.forms for one in dev])
    counted = []
    for column, key in (("upos", "upos"), ("feats", "feats"), ("lemmas", "lemma")):
        pairs = [
            a == b
            for one, answer in zip(dev, answers, strict=True)
            for a, b in zip(one.column(key), getattr(answer, column), strict=True)
        ]
        counted.append(100 * float(np.mean(pairs)))
    return counted


@pytest.mark.requires("data")
@pytest.mark.parametrize(
    ("name", "least"), [("fr-partut", (94, 88, 92)), ("tr-imst", (80, 73, 80))]
)
def test_little_of_a_treebank_is_enough_to_tag(data, name, least) -> None:
    found = right(name, data, n=600, bits=16, epochs=2)
    assert all(a > b for a, b in zip(found, least, strict=True)), found


@pytest.mark.requires("data")
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "least"), [("pt-bosque", (95, 94, 95)), ("en-lines", (93, 93, 95))]
)
def test_treebanks_are_tagged(data, name, least) -> None:
    found = right(name, data, n=5000, bits=20, epochs=3)
    assert all(a > b for a, b in zip(found, least, strict=True)), found


def test_a_form_that_was_seen_once_is_trained_as_unknown() -> None:
    text = [make_sentence(["aa", "bb"], upos=["X", "Y"])] * 2 + [make_sentence(["cc"], upos=["X"])]
    tagger = MorphTagger(bits=10, epochs=1).fit(text)
    table = tagger._prepare()
    tags = np.array([tagger.tag_set_.number[u, "_", "_"] for u in ("X", "X")])
    rows = table.training_rows(["aa", "cc"], tags)
    first = [table.lists.shares[row, 0] for row in rows]
    assert first[0] > first[1]  # of `cc` only its case says something
