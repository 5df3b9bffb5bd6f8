"""Words in unusual writing have the readings of the usual one; wrong use is told clearly."""

import pytest

from eigentext.errors import SettingsError
from eigentext.lexical import LexicalRanker
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
    with pytest.raises(SettingsError, match="not fitted"):
        LexicalRanker().rank([USUAL])


@pytest.mark.parametrize("decided", ["x", None, ("a",), ["-"] * 14])
def test_decisions_that_are_no_labels(decided):
    with pytest.raises(SettingsError, match="tuple of"):
        LexicalRanker().rank([USUAL], fixed={0: decided})
