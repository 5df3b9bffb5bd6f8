"""Rules from forms to lemmas, and which of them is taken for a word that was not seen."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eigentext.tagging.morphology.lemmas import LemmaRule, Lemmatiser, rule_between
from eigentext.tagging.morphology.tags import MorphTagSet
from eigentext.tagging.morphology.words import FormLexicon

words = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1, max_size=12)
near = st.text("aAbBßİıé", min_size=1, max_size=8)


@given(st.one_of(st.tuples(words, words), st.tuples(near, near)))
def test_a_rule_makes_the_lemma_that_it_was_found_with(pair) -> None:
    form, lemma = pair
    assert rule_between(form, lemma).apply(form) == lemma


def test_forms_in_any_case_share_a_rule() -> None:
    assert (
        rule_between("cats", "cat") == rule_between("Cats", "cat") == rule_between("CATS", "cat")
    )
    assert rule_between("Rome", "Rome").case == "keep"


def _learned(items):
    tags = MorphTagSet({(upos, "_", feats) for _, upos, feats, _ in items})
    counts = Counter(
        (form, tags.number[upos, "_", feats], lemma) for form, upos, feats, lemma in items
    )
    lexicon = FormLexicon.counted(
        Counter({(form, tag): n for (form, tag, _), n in counts.items()})
    )
    return tags, Lemmatiser.learned(lexicon, tags, counts)


_VERBS = [
    (f"{stem}{end}", "VERB", f"Tense={end}", stem)
    for stem in ("walk", "talk", "jump", "paint", "ask")
    for end in ("ed", "ing", "s")
]
_NOUNS = [(f"{stem}s", "NOUN", "Number=Plur", stem) for stem in ("boat", "goat", "cloud", "tree")]


def test_a_new_form_takes_the_rule_of_its_tag() -> None:
    tags, lemmatiser = _learned(_VERBS + _NOUNS)
    verb, noun = tags.number["VERB", "_", "Tense=ing"], tags.number["NOUN", "_", "Number=Plur"]
    assert lemmatiser.lemmas(["Shouting", "clocks", "walking"], [verb, noun, verb]) == [
        "shout",
        "clock",
        "walk",
    ]


def test_a_known_lemma_is_preferred() -> None:
    items = [("red", "ADJ", "_", "red"), ("redder", "ADJ", "Degree=Cmp", "red")]
    # half of the words in -er lose it, half lose -r; only the lemma tells which
    items += [
        (f"{stem}er", "ADJ", "Degree=Cmp", stem) for stem in ("tall", "slow", "weak", "kind")
    ]
    items += [(f"{stem}r", "ADJ", "Degree=Cmp", stem) for stem in ("pale", "nice", "late", "wide")]
    items += [
        (stem, "ADJ", "_", stem)
        for stem in ("tall", "slow", "pale", "nice", "late", "weak", "kind", "wide", "fine")
    ]
    tags, lemmatiser = _learned(items)
    tag = tags.number["ADJ", "_", "Degree=Cmp"]
    assert lemmatiser.lemmas(["finer"], [tag]) == ["fine"]
    best, known = lemmatiser.chosen(["finer"], np.array([0]), np.array([tag]))
    assert known.tolist() == [2]
    assert lemmatiser.rules[best[0]] == LemmaRule("lower", "", "", "r", "")


def test_the_lemma_of_a_word_that_is_held_out_is_not_known() -> None:
    tags, lemmatiser = _learned([*_VERBS, ("boats", "NOUN", "Number=Plur", "boat")])
    tag = tags.number["NOUN", "_", "Number=Plur"]
    given = ["boats"], np.array([0]), np.array([tag])
    entry = lemmatiser._lexicon.entry["boats", tag]
    assert lemmatiser.chosen(*given)[1].tolist() == [2]
    assert lemmatiser.chosen(*given, np.array([entry]))[1].tolist() == [0]


def test_a_word_that_no_rule_fits_is_its_own_lemma() -> None:
    tags, lemmatiser = _learned([("went", "VERB", "_", "go")])
    assert lemmatiser.lemmas(["𝄞"], [tags.number["VERB", "_", "_"]]) == ["𝄞"]
