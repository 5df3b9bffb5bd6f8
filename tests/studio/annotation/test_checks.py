"""Checks of UD while annotating: our own, and udtools'."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path

import pytest

from eigentext.language import Doc
from eigentext.language.formats.conllu import read_sentences
from eigentext.studio.tasks.checks import check_sentence, has_udtools

needs_udtools = pytest.mark.skipif(not has_udtools(), reason="udtools is not installed")


def sentence_of(*forms):
    return Doc.from_tokens([forms]).sentences[0]


DOGS = sentence_of("Dogs", "bark", "loudly").with_columns(
    upos=["NOUN", "VERB", "ADV"], lemmas=["dog", "bark", "loudly"]
)


def told(sentence, analysis, **more):
    return [(f.level, f.words, f.rule) for f in check_sentence(sentence, analysis, **more)]


def test_a_good_tree_has_nothing_to_be_told():
    tree = {"head": [2, 0, 2], "deprel": ["nsubj", "root", "advmod"]}
    assert told(DOGS, tree, udtools=False) == []


@pytest.mark.parametrize(
    ("analysis", "expected"),
    [
        ({"head": [0, 0, 2], "deprel": ["root", "root", "dep"]}, ("error", (0, 1), "tree")),
        ({"head": [2, 1, 0], "deprel": ["dep", "dep", "root"]}, ("error", (0, 1), "tree")),
        ({"head": [2, 3, 1], "deprel": ["dep"] * 3}, ("error", (0, 1, 2), "tree")),
        ({"head": [2, 3, 1], "deprel": ["dep"] * 3}, ("error", (), "tree")),
        ({"head": [2, 0, 2], "deprel": ["subj", "root", "dep"]}, ("error", (0,), "deprel")),
        ({"head": [2, 0, 2], "deprel": ["dep", "dep", "dep"]}, ("error", (1,), "root")),
        ({"head": [2, 0, 2], "deprel": ["root", "root", "dep"]}, ("error", (0,), "root")),
        ({"upos": ["NOUN", "VB", "ADV"]}, ("error", (1,), "upos")),
    ],
)
def test_what_is_wrong_is_told_with_its_words(analysis, expected):
    assert expected in told(DOGS, analysis, udtools=False)


def test_arcs_that_cross_are_a_hint():
    words = sentence_of(*"abcd")
    tree = {"head": [3, 4, 0, 3], "deprel": ["dep", "dep", "root", "dep"]}
    assert ("hint", (0, 1), "crossing") in told(words, tree, udtools=False)


def test_half_finished_sentences_are_checked_for_what_is_there():
    assert told(DOGS, {"head": [2, None, None], "deprel": ["nsubj", "_", "_"]}) == []
    assert ("error", (0, 1), "tree") in told(DOGS, {"head": [2, 1, None]})
    assert told(DOGS, {}) == []


@needs_udtools
def test_the_official_validator_speaks_of_words():
    tree = {"head": [2, 0, 2], "deprel": ["nsubj", "root", "punct"]}
    findings = [f for f in check_sentence(DOGS, tree, language="en") if f.source == "udtools"]
    assert any(f.words == (2,) and "punct" in f.message for f in findings)
    assert all("\n" not in f.message for f in findings)


@needs_udtools
def test_an_unknown_language_is_checked_as_any():
    tree = {"head": [2, 0, 2], "deprel": ["nsubj", "root", "advmod"]}
    assert told(DOGS, tree, language="xx-nowhere") == []


@needs_udtools
def test_odd_text_stops_nobody():
    for forms in (["<script>"], ["\u202e", "😀" * 20], ["a b", "c"]):
        words = sentence_of(*forms)
        tree = {
            "head": [0] + [1] * (len(forms) - 1),
            "deprel": ["root"] + ["dep"] * (len(forms) - 1),
        }
        check_sentence(words, tree, language="en")


@needs_udtools
@pytest.mark.requires("data")
def test_words_are_the_right_ones_in_real_treebanks():
    root = Path(os.environ["EIGENTEXT_DATA"], "dependency")
    n = 0
    for folder, language in (("ewt", "en"), ("fr-sequoia", "fr"), ("tr-imst", "tr")):
        some = itertools.islice(read_sentences(root / folder / "dev.conllu"), 100)
        for sentence in Doc.from_conllu(some).sentences:
            for finding in check_sentence(sentence, {}, language=language):
                match = re.search(r"(?:word|verb) '([^']+)'", finding.message)
                if match and finding.source == "udtools":
                    n += 1
                    assert sentence.forms[finding.words[0]] == match[1]
    assert n > 20
