"""Tags, lexicon, levels and the table of words, against plain counting."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.base.hashing import key_of, mixed
from eigentext.features.attributes import MORPHOLOGY
from eigentext.lexical.analysis import Analysis
from eigentext.tagging.morphology import words as words_module
from eigentext.tagging.morphology.kernels.words import class_keys
from eigentext.tagging.morphology.learn import ByteWeights
from eigentext.tagging.morphology.lemmas import Lemmatiser
from eigentext.tagging.morphology.levels import Levels
from eigentext.tagging.morphology.tags import MorphTagSet, OtherXpos, joins_xpos, tells_xpos
from eigentext.tagging.morphology.words import (
    KNOWN_KEYS,
    FormLexicon,
    MorphTable,
    _agreeing,
    analysis_of,
)
from helpers.partitions import check_partitions
from oracle.tag_chains import mix

TRIPLES = [("ADJ", "_", "_"), ("NOUN", "NN", "Number=Sing"),
           ("NOUN", "NN", "Case=Nom|Number=Plur"), ("VERB", "VERB", "Number=Plur")]  # fmt: skip
FORMS = st.sampled_from(
    ["cat", "Cat", "cats", "CATS", "hats", "a", "A", "10", "20s", "ß", "cafe\u0301"]
)
PAIRS = st.lists(st.tuples(FORMS, st.integers(0, 3)), min_size=1, max_size=25)


def table_of(pairs, **options) -> MorphTable:
    tags = MorphTagSet(TRIPLES)
    lexicon = FormLexicon.counted(Counter(pairs))
    counts = {(form, tag, form.lower()): n for (form, tag), n in Counter(pairs).items()}
    given_tables = options.pop("clusters", {}), options.pop("near", {})
    lemmatiser = Lemmatiser.learned(lexicon, tags, counts)
    return MorphTable(lexicon, tags, *given_tables, lemmatiser, **options)


@settings(max_examples=80)
@given(PAIRS)
def test_a_lexicon_counts_forms_with_their_tags(pairs) -> None:
    lexicon = FormLexicon.counted(Counter(pairs))
    counts = Counter(pairs)
    assert list(lexicon.entry) == sorted(counts)
    assert lexicon.counts.tolist() == [counts[pair] for pair in lexicon.entry]
    assert list(lexicon.entry.values()) == list(range(len(counts)))
    assert lexicon.form_counts == Counter(form for form, _ in pairs)
    smalls = ("".join("0" if c.isdigit() else c for c in form.lower()) for form, _ in pairs)
    assert lexicon.lower_counts == Counter(smalls)


@settings(max_examples=60)
@given(PAIRS)
def test_training_rows_are_those_of_a_treebank_without_the_word(pairs) -> None:
    """A word that is held out has the candidates that it would have if it had not been there."""
    form, tag = pairs[0]
    without = list(pairs)
    without.remove((form, tag))
    if not without:
        return
    table = table_of(pairs)
    rows = table.training_rows([one for one, _ in pairs], np.array([t for _, t in pairs]))
    assert [rows[k] == rows[0] for k in range(len(pairs))] == [one == pairs[0] for one in pairs]
    other = table_of(without)
    row = int(other.rows([form])[0])
    if form not in other._lexicon.form_counts and form != "cafe\u0301":
        assert other.keys[row, 0] == 0  # unknown words are not told by their form
    n = table.lists.n[rows[0]]
    assert n == other.lists.n[row]
    assert table.lists.tags[rows[0], :n].tolist() == other.lists.tags[row, :n].tolist()
    assert table.lists.shares[rows[0], :n] == pytest.approx(other.lists.shares[row, :n], abs=1e-5)


def test_a_table_grows_and_starts_anew(monkeypatch) -> None:
    pairs = [("cat", 1), ("cats", 2), ("runs", 3), ("red", 0)]
    table, plain = table_of(pairs), table_of(pairs)
    many = [f"w{n}s" for n in range(1100)]
    rows = table.rows(["cats", *many, "cats"])
    assert rows.tolist() == [2, *range(3, 1103), 2]  # 0 and 1 stand around sentences
    assert len(table.keys) == 2048 == len(table.lists.n)
    alone = int(plain.rows(["w7s"])[0])
    for ours, theirs in zip((table.keys, *table.lists), (plain.keys, *plain.lists), strict=True):
        assert np.array_equal(ours[rows[8]], theirs[alone])
    assert table.keys[0, 0] == key_of("\n<") != table.keys[1, 0] == key_of("\n>")
    monkeypatch.setattr(words_module, "_MOST_WORDS", 1000)
    assert table.rows(["w7s", "new"]).tolist() == [2, 3]
    assert np.array_equal(table.keys[2], plain.keys[alone])


class _Analyzer:
    name = "toy"

    def normalise(self, word):
        return word

    def analyse(self, word):
        tags = {"runs": "NV", "ran": "VN", "oo": ""}.get(word, "?")
        sources = ["backoff" if tag == "?" else "lexicon" for tag in tags]
        return [
            Analysis.whole(word, tag, source=source)
            for tag, source in zip(tags, sources, strict=True)
        ]


def test_slots_of_words() -> None:
    pairs = [("Cat", 1), ("cat", 1), ("dogs", 2), ("dogs", 2), ("Red", 0)]
    near = {"cat": "1" * 20}
    table = table_of(pairs, clusters={"Dogs": "0110" * 5}, near=near, analyzer=_Analyzer())
    forms = ["Cat", "cat", "dogs", "Dogs", "red", "runs", "ran", "oo", "x-1", "1-x", "#x", "Dogs7"]
    keys = {f: table.keys[row] for f, row in zip(forms, table.rows(forms), strict=True)}
    columns = MORPHOLOGY.column.items()
    slot = {name: {f: int(keys[f][at]) for f in forms} for name, at in columns}
    filled = {name: [f for f in forms if slot[name][f]] for name in MORPHOLOGY.names}
    assert filled["word"] == ["dogs"]  # seen twice
    assert filled["lower"] == ["Cat", "cat", "dogs", "Dogs"]
    assert slot["lower"]["Cat"] == slot["lower"]["cat"] != slot["lower"]["dogs"]
    assert filled["analysis"] == ["runs", "ran"]
    assert slot["analysis"]["runs"] == slot["analysis"]["ran"] == analysis_of(_Analyzer(), "ran")
    assert filled["shape"] == filled["kind"] == filled["best"] == filled["upos"] == forms
    assert slot["shape"]["Cat"] == slot["shape"]["Dogs"] == key_of("shape\tXx")
    assert slot["kind"]["#x"] == key_of("kind\t#") != slot["kind"]["x-1"]
    assert slot["ending2"]["Cat"] == mix(1, ord("t"), ord("a"))
    assert slot["ending4"]["Cat"] == mix(1, *map(ord, "tac"), 1)
    assert slot["beginning3"]["Dogs"] == mix(2, *map(ord, "dog"))
    assert slot["beginning4"]["cat"] == slot["ending5"]["cat"] == 0
    for n, bits in zip((4, 6, 9, 20), ("0110", "011001", "011001100", "0110" * 5), strict=True):
        assert (
            slot[f"cluster{n}"]["Dogs"] == key_of(f"bits\t{bits}") == slot[f"cluster{n}"]["dogs"]
        )
        assert filled[f"cluster{n}"] == ["dogs", "Dogs"]
        assert filled[f"near{n}"] == ["Cat", "cat"]


def test_known_lemmas_are_told_of_candidates() -> None:
    table = table_of([("cat", 1), ("cat", 2), ("dog", 1), ("red", 0)])
    row = int(table.rows(["Cat"])[0])
    tags = table.lists.tags[row, : table.lists.n[row]].tolist()
    keys = table.lists.keys[row, : len(tags)].tolist()
    of_tag = dict(zip(tags, keys, strict=True))
    assert of_tag[1] == of_tag[2] == KNOWN_KEYS[2]
    assert of_tag[0] == KNOWN_KEYS[1]
    assert len(set(KNOWN_KEYS)) == 3


@settings(max_examples=60)
@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.floats(-6, 0)), min_size=1, max_size=4,
                         unique_by=lambda one: one[0]), min_size=1, max_size=6))  # fmt: skip
def test_classes_of_ambiguity_are_sets_of_parts_of_speech(made) -> None:
    arrays = MorphTagSet(TRIPLES).arrays
    table = table_of([("a", 0)])
    lists = type(table.lists)(
        np.array(list(map(len, made))), np.zeros((len(made), 4), np.int32),
        np.zeros((len(made), 4), np.float32), np.zeros((len(made), 4), np.uint64),
    )  # fmt: skip
    for row, candidates in enumerate(made):
        for c, (tag, share) in enumerate(sorted(candidates, key=lambda one: -one[1])):
            lists.tags[row, c], lists.shares[row, c] = tag, share
    out = [np.zeros(len(made), np.uint64) for _ in range(3)]
    class_keys(lists, arrays.upos, arrays.keys, -3.0, *out)
    found = {"ambiguity": [], "best": [], "upos": []}
    for row, candidates in enumerate(made):
        best = lists.tags[row, 0]
        near = [
            TRIPLES[lists.tags[row, c]][0]
            for c in range(len(candidates))
            if lists.shares[row, c] >= np.float32(lists.shares[row, 0]) - 3.0
        ]
        found["ambiguity"].append((int(out[0][row]), frozenset(near)))
        found["best"].append((int(out[1][row]), int(best)))
        found["upos"].append((int(out[2][row]), TRIPLES[best][0]))
        total = sum(int(arrays.upos[[t[0] for t in TRIPLES].index(u)]) for u in set(near))
        assert int(out[0][row]) == (mixed(total % 2**64, [3]) or 1)
    check_partitions(found)


@settings(max_examples=80)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), min_size=1))
def test_levels_count_by_key_and_tag(rows) -> None:
    keys = np.array([[a, 10 * b] for a, b, _ in rows], np.uint64)
    tags = np.array([t for *_, t in rows])
    weights = np.stack([np.ones(len(rows)), np.arange(len(rows))], axis=1)
    levels = Levels.counted(keys, tags, weights, 3)
    expected: dict[tuple[int, int], float] = {}
    for row, (a, b, t) in enumerate(rows):
        for key, weight in ((a, 1.0), (10 * b, float(row))):
            if key:
                expected[key, t] = expected.get((key, t), 0.0) + weight
    found = {}
    for v, key in enumerate(levels.keys.tolist()):
        for e in range(levels.ptr[v], levels.ptr[v + 1]):
            found[key, int(levels.tags[e])] = float(levels.counts[e])
    assert found == expected
    asked = np.array([[0, 1, 2, 3, 10, 20, 99]], np.uint64)
    nodes = levels.nodes(asked)[0].tolist()
    present = levels.keys.tolist()
    assert nodes == [present.index(k) if k in present else -1 for k in asked[0].tolist()]


def test_without_counts_all_tags_are_alike() -> None:
    levels = Levels.counted(np.zeros((1, 2), np.uint64), np.array([0]), np.ones((1, 2)), 3)
    lists = levels.lists(np.array([[5, 6]], np.uint64), 2, least=0.1)
    assert (lists.n.tolist(), lists.tags.tolist()) == ([2], [[0, 1]])
    assert lists.shares[0] == pytest.approx(np.log([1 / 3, 1 / 3]))


# ---------------------------------------------------------------- tags


def test_tags_are_made_of_parts() -> None:
    tags = MorphTagSet([*TRIPLES, TRIPLES[0]])
    arrays = tags.arrays
    assert tags.triples == tuple(sorted(TRIPLES))
    assert [tags.number[triple] for triple in tags.triples] == [0, 1, 2, 3]
    parts = [arrays.parts[a:b].tolist() for a, b in zip(arrays.ptr, arrays.ptr[1:], strict=False)]
    assert list(map(len, parts)) == [2, 5, 4, 3]  # XPOS that is UPOS is no part of its own
    assert set(parts[1]) & set(parts[2]) == {parts[1][0], parts[1][2]}
    assert set(parts[2]) & set(parts[3]) == set()  # a feature is one of a part of speech
    every = {part for own in parts for part in own}
    assert len(set(arrays.part_keys.tolist())) == len(arrays.part_keys) == len(every)
    assert arrays.values.shape == (5, 2)
    assert not arrays.values[0].any()
    assert not arrays.values[4].any()
    assert arrays.values[1, 1] == arrays.values[3, 1] != arrays.values[2, 1] != 0
    assert arrays.upos[1] == arrays.upos[2] != arrays.upos[3]
    assert len(set(arrays.keys.tolist())) == 5


@settings(max_examples=100)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("XYZ")), max_size=15))
def test_words_tell_their_xpos_where_the_others_of_them_do(pairs) -> None:
    """A word is held out in turn: told is it where the others have its XPOS most often."""
    told = seen = 0
    for k, (word, xpos) in enumerate(pairs):
        others = Counter(x for n, (w, x) in enumerate(pairs) if w == word and n != k)
        if others:
            seen += 1
            rest = [count for x, count in others.items() if x != xpos]
            told += others[xpos] > max(rest, default=0)
    # of words with several XPOS those of the most frequent one can be told at all
    counts = Counter(pairs)
    assert tells_xpos(counts) == (seen > 0 and told >= 0.8 * seen)


def test_xpos_is_joined_up_to_twice_as_many_tags() -> None:
    def triples(n: int) -> list[tuple[str, str, str]]:
        return [("N", f"x{k % n}", "_") for k in range(12)]

    forms = [f"w{k}" for k in range(12)]
    assert [joins_xpos(forms, triples(n)) for n in (1, 2, 3)] == [True, True, False]


@settings(max_examples=80)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 1), st.sampled_from("XYZ")),
                min_size=1, max_size=12))  # fmt: skip
def test_other_xpos_is_the_most_frequent_of_form_and_tag(items) -> None:
    counts = Counter(items)
    entry = {pair: n for n, pair in enumerate(sorted({(f, t) for f, t, _ in items}))}
    other = OtherXpos.learned(entry, 2, counts)
    by_tag = {t: Counter(x for _, tag, x in items if tag == t) for t in (0, 1)}
    by_word = {(f, t): Counter(x for g, u, x in items if (g, u) == (f, t)) for f, t in entry}
    words = Counter(((f, t), x) for f, t, x in items)

    def most(found: Counter[str]) -> str:
        return min(found, key=lambda x: (-found[x], x))

    for (form, tag), found in by_word.items():
        expected = most(found) if tells_xpos(words) else "_"
        assert other.of([form], [tag]) == [expected]
        expected = most(by_tag[tag]) if tells_xpos(words) else "_"
        assert other.of(["new"], [tag]) == [expected]


# ---------------------------------------------------------------- bytes, decided words


@settings(max_examples=80)
@given(st.lists(st.floats(-9, 9, width=32), min_size=1, max_size=30))
def test_weights_as_bytes_are_the_nearest_ones(weights) -> None:
    """Of so few weights none is cut, so every one is within half a step."""
    table, scale = ByteWeights.rounded(np.array(weights))
    largest = max(map(abs, weights))
    assert scale == pytest.approx(largest / 127 if largest else 1 / 127, abs=1e-30)
    assert table * scale == pytest.approx(np.array(weights), abs=max(scale * 0.5001, 1e-30))


def test_the_few_largest_weights_are_cut() -> None:
    weights = np.full(400_001, 0.5)
    weights[0], weights[1], weights[5] = 100.0, -100.0, 0.0
    table, scale = ByteWeights.rounded(weights)
    assert scale * 127 == pytest.approx(0.5)
    assert table[[0, 1, 2, 5]].tolist() == [127, -127, 127, 0]


VALUES = {"upos": ["NOUN", "VERB", "X"], "xpos": ["NN", "VB"],
          "feats": ["_", "Number=Sing", "Number=Plur|Case=Nom"]}  # fmt: skip


@settings(max_examples=150)
@given(st.fixed_dictionaries({}, optional={k: st.sampled_from(v) for k, v in VALUES.items()}),
       st.permutations(range(4)), st.integers(0, 4), st.booleans())  # fmt: skip
def test_tags_that_agree_with_what_was_decided(values, frequent, n_own, no_xpos) -> None:
    triples = [(u, "_" if no_xpos else x, f) for u, x, f in TRIPLES]
    tags = MorphTagSet(triples)
    own = sorted(frequent[:n_own])

    def agrees(tag: int, names: set[str]) -> bool:
        upos, xpos, feats = tags.triples[tag]
        found = {"upos": upos, "xpos": xpos, "feats": set(feats.split("|"))}
        wanted = {**values, "feats": set(values.get("feats", "_").split("|"))}
        return all(found[name] == wanted[name] for name in names)

    expected: tuple[list[int], bool] = [], False
    for left_out in (set(), {"feats"}, {"xpos"}, {"feats", "xpos"}):
        names = set(values) - left_out - ({"xpos"} if no_xpos else set())
        if left_out and not names:
            break
        chosen = [t for t in own if agrees(t, names)] or [t for t in frequent if agrees(t, names)]
        if chosen:
            expected = chosen, not left_out
            break
    assert _agreeing(tags, values, own, frequent) == expected
