"""What a model file must bring back: above all the scheme, whose rules depend on their order."""

from __future__ import annotations

import pytest

from eigentext.lexical import LexicalRanker
from eigentext.lexical.analysis import Analysis
from eigentext.lexical.documents import LexDocument, LexWord
from eigentext.lexical.schemes.labels import load_scheme, scheme_names

TAGS = ("adj", "adj_comp", "noun", "noun_prop", "verb", "prep", "part_neg", "pron_dem", "foreign")


@pytest.mark.parametrize("name", scheme_names())
def test_a_loaded_ranker_projects_as_the_saved_one(name, tmp_path):
    scheme = load_scheme(name)
    label = ("x", *(scheme.missing for _ in scheme.elements[1:]))
    documents = [
        LexDocument(str(i), [[LexWord("كتب", label), LexWord("من", label)]]) for i in range(3)
    ]
    ranker = LexicalRanker(analyzer="sample", scheme=scheme, passes=1, bits=0).fit(documents)
    ranker.save(tmp_path / "a.model")
    again = LexicalRanker.load(tmp_path / "a.model")
    assert again.scheme_ == scheme
    for tag in TAGS:
        reading = Analysis.whole("x", tag, {"pos": tag}, source="analyzer")
        assert again.scheme_.project(reading) == scheme.project(reading)
