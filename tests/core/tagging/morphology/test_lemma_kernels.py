"""Which rule makes a lemma: those that fit, what is known of lemmas, the choice, by counting."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.base.hashing import key_of
from eigentext.features.signatures import case_of, lowered
from eigentext.tagging.morphology.kernels import lemmas as kernel
from eigentext.tagging.morphology.learn import ByteWeights
from eigentext.tagging.morphology.lemmas import (
    CASES,
    EPOCHS,
    LEMMA_BITS,
    LemmaRule,
    Lemmatiser,
    rule_between,
)
from eigentext.tagging.morphology.levels import Edges
from eigentext.tagging.morphology.tags import MorphTagSet
from eigentext.tagging.morphology.words import FormLexicon
from oracle.tag_chains import address, mix

ITEMS = [
    *((f"{a}{b}{end}", "VERB", tense, f"{a}{b}") for a in ("wal", "tal", "bak") for b in ("k", "e")
      for end, tense in (("ed", "Past"), ("s", "Pres"), ("", "_"))),
    *((f"{a}ies", "NOUN", "Plur", f"{a}y") for a in ("cit", "fl", "bod")),
    *((f"{a}s", "NOUN", "Plur", a) for a in ("cat", "dog", "walk", "Rome")),
    ("walk", "NOUN", "Sing", "walk"), ("Paris", "PROPN", "Sing", "Paris"),
    ("NATO", "PROPN", "Sing", "NATO"),
    ("gebaut", "VERB", "Part", "bauen"), ("gesagt", "VERB", "Part", "sagen"),
    ("unwise", "ADJ", "_", "wise"),
    ("10s", "NOUN", "Plur", "10"), ("went", "VERB", "Past", "go"), ("s", "PART", "_", "'s"),
    ("dogs", "VERB", "Pres", "dog"),
]  # fmt: skip
FORMS = [
    "walks",
    "Talked",
    "BODIES",
    "sies",
    "gebakt",
    "s",
    "ies",
    "20s",
    "İs",
    "",
    "xyz",
    "walkes",
    "romes",
]


def learned(items):
    tags = MorphTagSet({(upos, "_", feats) for _, upos, feats, _ in items})
    counts = Counter((f, tags.number[u, "_", x], lemma) for f, u, x, lemma in items)
    pairs: Counter[tuple[str, int]] = Counter()
    for (form, tag, _), n in counts.items():
        pairs[form, tag] += n
    lexicon = FormLexicon.counted(pairs)
    return tags, lexicon, Lemmatiser.learned(lexicon, tags, counts)


@pytest.fixture(scope="module")
def model():
    return learned(ITEMS)


def letters_key(lemma: str) -> int:
    return mix(1, *map(ord, lemma))


def cased(form: str, case: str) -> str:
    return {"lower": form.lower(), "keep": form}.get(case, form[:1].upper() + form[1:].lower())


NO_WEIGHTS = ByteWeights(np.zeros(1 << LEMMA_BITS, np.int8), 1.0)
WORDS = st.text(st.sampled_from("abBIİß0"), max_size=6)
PIECES = st.text(st.sampled_from("ab0"), max_size=2)


@settings(max_examples=120)
@given(WORDS, st.tuples(st.sampled_from(CASES), PIECES, PIECES, PIECES, PIECES))
def test_the_key_of_what_a_rule_makes_is_that_of_its_letters(form, parts) -> None:
    rule = LemmaRule(*parts)
    text = cased(form, rule.case)
    start, end = len(rule.front), len(text) - len(rule.back)
    fits = start <= end and text.startswith(rule.front) and text.endswith(rule.back)
    lemma = rule.new_front + text[start:end] + rule.new_back if fits else ""
    assert rule.apply(form) == (lemma or None)
    tags = MorphTagSet([("X", "_", "_")])
    lexicon = FormLexicon.counted({("a", 0): 1})
    other = LemmaRule("keep", "a", "b", "", "")
    made = Lemmatiser(lexicon, tags, [other, rule], [1], NO_WEIGHTS)
    found = made._lemma_keys(made._words(["b", form]), np.array([1, 0]), np.array([1, 0]))
    assert found[0] == (letters_key(lemma) if lemma else 0)
    assert found[1] == 0


@settings(max_examples=150)
@given(st.text("abAB", min_size=1, max_size=5), st.text("abAB", min_size=1, max_size=5))
def test_the_rule_between_keeps_a_longest_piece_in_one_of_the_cases(form, lemma) -> None:
    rule = rule_between(form, lemma)
    assert rule.apply(form) == lemma

    def longest(text: str) -> int:
        pieces = (text[a:b] for a in range(len(text)) for b in range(a + 1, len(text) + 1))
        return max((len(piece) for piece in pieces if piece in lemma), default=0)

    spelt = [
        len(text) + len(lemma) - 2 * longest(text) for text in {cased(form, c) for c in CASES}
    ]
    assert sum(map(len, rule[1:])) == min(spelt)


# ---------------------------------------------------------------- rules that fit


class Twin:
    """Rules of a lemmatiser and what is known of them, by counting."""

    def __init__(self, tags, lexicon, lemmatiser) -> None:
        self.tags, self.lemmatiser = tags, lemmatiser
        self.nodes: dict[tuple[object, str], Counter[int]] = defaultdict(Counter)
        self.with_upos: Counter[tuple[str, str]] = Counter()
        self.alone: Counter[str] = Counter()
        for (form, tag), number in zip(lexicon.entry, lemmatiser.rule_of, strict=True):
            rule, upos = lemmatiser.rules[number], tags.triples[tag][0]
            lemma = rule.apply(form)
            self.with_upos[lemma, upos] += 1
            self.alone[lemma] += 1
            if len(lowered(rule.back)) <= 8:
                for name in (tag, upos):
                    self.nodes[name, lowered(rule.back)][number] += 1

    def rules(self, form: str, tag: int, held: tuple[str, str] = ("", "")) -> dict[int, int]:
        """Rules that may make the lemma, in order, each with what is known of the lemma."""
        upos = self.tags.triples[tag][0]
        found: dict[int, int] = {}
        small = lowered(form)
        for name in (tag, upos):
            for k in range(min(len(small), 8) + 1):
                here = self.nodes.get((name, small[len(small) - k :]), {})
                best = sorted(here, key=lambda n: (-here[n], n))[:8]
                for number in best:
                    lemma = self.lemmatiser.rules[number].apply(form)
                    if lemma is not None and len(found) < 32:
                        found.setdefault(number, self.known(lemma, upos, held))
            if len(found) >= 3:
                break
        return found

    def known(self, lemma: str, upos: str, held: tuple[str, str]) -> int:
        out = lemma == held[0]
        if self.with_upos[lemma, upos] > (out and held[1] == upos):
            return 2
        return int(self.alone[lemma] > out)

    def places(self, form: str, tag: int, number: int, known: int) -> list[int]:
        """Weights of a rule for a word."""
        rule = self.lemmatiser.rules[number]
        arrays = self.tags.arrays
        upos, key = int(arrays.upos[tag]), key_of("\t".join(("rule", *rule)))
        edges = Edges.of([lowered(form)])
        own = [*edges.endings[0, :6].tolist(), *edges.beginnings[0, :2].tolist()]
        own.append(key_of(f"case\t{case_of(form)}"))
        features = [mix(21, 1), mix(22, upos), mix(23, int(arrays.keys[tag]))]
        for one in own:
            features += [mix(one, 24), mix(one, upos)] if one else []
        size = 1 << 18
        found = [address(feature, key, size) for feature in features]
        flag = mix(25, known + 1)
        found += [address(flag, 1, size), address(flag, upos, size), address(flag, key, size)]
        return [*found, address(mix(flag, upos), len(rule.back) + 1, size)]


CASES_OF = [
    (form, tag) for form in [*FORMS, *(item[0] for item in ITEMS[::3])] for tag in range(9)
]


def test_the_rule_of_a_word_is_the_best_of_those_that_fit(model) -> None:
    """Also which are tried, and in what order: the first of equals is taken."""
    tags, _, lemmatiser = model
    twin = Twin(*model)
    table = lemmatiser.weights.table.astype(int)
    forms = [form for form, _ in CASES_OF]
    of_tag = np.array([tag for _, tag in CASES_OF])
    best, flags = lemmatiser.chosen(forms, np.arange(len(forms)), of_tag)
    tried = set()
    for n, (form, tag) in enumerate(CASES_OF):
        found = twin.rules(form, tag)
        scores = {r: sum(table[twin.places(form, tag, r, k)]) for r, k in found.items()}
        top = max(scores, key=scores.__getitem__) if scores else -1
        assert (best[n], flags[n]) == (top, found.get(top, 0)), (form, tags.triples[tag])
        tried.add(len(found))
    assert {0, 1, 2, 3, 4} <= tried


def test_a_lemma_that_is_held_out_counts_one_less(model) -> None:
    tags, lexicon, lemmatiser = model
    twin = Twin(*model)
    entries = list(lexicon.entry)
    forms = [form for form, _ in entries]
    own = np.arange(len(entries))
    of_tag = np.array([tag for _, tag in entries])
    best, flags = lemmatiser.chosen(forms, own, of_tag, own)
    levels = set()
    for n, (form, tag) in enumerate(entries):
        lemma = lemmatiser.rules[lemmatiser.rule_of[n]].apply(form)
        found = twin.rules(form, tag, (lemma, tags.triples[tag][0]))
        assert flags[n] == found[best[n]]
        levels.add(int(flags[n]))
    assert levels == {0, 1, 2}


@settings(max_examples=30)
@given(st.integers(0, 999))
def test_steps_go_up_the_gradient_of_the_rules_that_make_the_lemma(model, seed) -> None:
    """Each row in turn, with the lemma held out; several rules may make the same lemma."""
    tags, lexicon, lemmatiser = model
    twin = Twin(*model)
    entries = list(lexicon.entry)
    order = np.random.default_rng(seed).permutation(len(entries))[:6]
    w, q = Counter(), defaultdict(lambda: 1.0)
    for n in order.tolist():
        form, tag = entries[n]
        lemma = lemmatiser.rules[lemmatiser.rule_of[n]].apply(form)
        found = twin.rules(form, tag, (lemma, tags.triples[tag][0]))
        scores = {r: sum(w[at] for at in twin.places(form, tag, r, k)) for r, k in found.items()}
        odds = {r: math.exp(score) for r, score in scores.items()}
        right = {r: lemmatiser.rules[r].apply(form) == lemma for r in found}
        total, good = sum(odds.values()), sum(odds[r] for r in found if right[r])
        if good == 0 or good > 0.99 * total:
            continue
        for r, known in found.items():
            change = right[r] * odds[r] / good - odds[r] / total
            if abs(change) >= 0.01:
                for at in twin.places(form, tag, r, known):
                    q[at] += change**2
                    w[at] += 0.2 * change / math.sqrt(q[at])
    table, squares = np.zeros(1 << 18, np.float32), np.ones(1 << 18, np.float32)
    arrays, of_tag = tags.arrays, lexicon.tags.astype(np.int64)
    rows = kernel.Rows(lemmatiser._entry_forms, arrays.keys[of_tag], arrays.upos[of_tag],
                       lemmatiser._gold, lemmatiser._upos)  # fmt: skip
    given_rules = lemmatiser._entries, lemmatiser._rules, lemmatiser._known
    kernel.train_rules(order, rows, *given_rules, table, squares, 0.2)
    moved = {at: table[at] for at in np.flatnonzero(table).tolist()}
    assert moved == pytest.approx({at: value for at, value in w.items() if value}, abs=1e-4)


def test_weights_are_the_mean_of_all_passes_but_the_first(model, monkeypatch) -> None:
    tags, lexicon, lemmatiser = model
    passes = iter(range(1, EPOCHS + 1))

    def fill(order, rows, words, rules, index, table, squares, rate) -> None:
        assert sorted(order.tolist()) == list(range(len(lexicon.tags)))
        table[7] = next(passes)

    monkeypatch.setattr(kernel, "train_rules", fill)
    again = Lemmatiser(lexicon, tags, lemmatiser.rules, lemmatiser.rule_of)
    mean = sum(range(2, EPOCHS + 1)) / (EPOCHS - 1)
    assert again.weights.table[7] * again.weights.scale == pytest.approx(mean)


# ---------------------------------------------------------------- answers


def test_seen_words_have_the_lemma_that_they_had(model) -> None:
    tags, _, lemmatiser = model
    pairs = [(form, tags.number[u, "_", x]) for form, u, x, _ in ITEMS]
    assert lemmatiser.lemmas(*zip(*pairs, strict=True)) == [item[3] for item in ITEMS]
    assert lemmatiser.lemmas([], []) == []


def test_the_most_frequent_lemma_is_learned_and_of_equals_the_first() -> None:
    items = [("saw", "V", "_", "see")] * 2 + [("saw", "V", "_", "saw")] * 3
    items += [("lay", "V", "_", "lie"), ("lay", "V", "_", "lay")]
    _tags, _, lemmatiser = learned(items)
    assert lemmatiser.lemmas(["saw", "lay"], [0, 0]) == ["saw", "lay"]


def test_answers_are_the_same_at_once_or_one_by_one(model) -> None:
    *_, lemmatiser = model
    forms, tags = zip(*CASES_OF, strict=True)
    at_once = lemmatiser.lemmas(forms, tags)
    fresh = learned(ITEMS)[2]
    one_by_one = [fresh.lemmas([f], [t])[0] for f, t in reversed(CASES_OF)][::-1]
    assert at_once == one_by_one == lemmatiser.lemmas(forms, tags)
    assert all(lemma or not form for lemma, form in zip(at_once, forms, strict=True))
