"""Words in unusual writing have the readings of the usual one; wrong use is told clearly."""

import pytest

from eigentext.base.model import NotFittedError
from eigentext.errors import SettingsError
from eigentext.lexical import LexDocument, LexicalRanker, LexWord, load_scheme
from eigentext.lexical.analyzers import open_analyzer

USUAL = "كتب"


@pytest.mark.parametrize(
    "word",
    ["كتـــب", "كت\u200dب", "\u200fكتب", "ﻛﺘﺐ", "كتب\u200c", "\u2067كتب\u2069", f"ك{'ـ' * 90}تب"],
)
def test_sample_lexicon_reads_past_what_only_serves_display(word):
    analyzer = open_analyzer("sample")
    assert analyzer.analyse(word) == analyzer.analyse(USUAL)
    assert analyzer.analyse(word)[0].source == "lexicon"


def test_ranker_before_fit():
    with pytest.raises(NotFittedError, match="call fit"):
        LexicalRanker().rank([USUAL])


@pytest.fixture(scope="module")
def ranker():
    label = load_scheme("arabic14").from_mapping({"lemma": USUAL, "pos": "N"})
    return LexicalRanker(passes=1, bits=0).fit([LexDocument("d", [[LexWord(USUAL, label)]])])


@pytest.mark.parametrize("decided", ["x", None, ("a",), ["-"] * 14])
def test_decisions_that_are_no_labels(ranker, decided):
    with pytest.raises(SettingsError, match="tuple of"):
        ranker.rank([USUAL], fixed={0: decided})
