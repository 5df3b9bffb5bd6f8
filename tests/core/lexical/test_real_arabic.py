"""The whole way on real text: ALMOR candidates, UD PADT, training, ranking, files."""

from __future__ import annotations

import pytest

from eigentext.lexical import LexicalRanker
from eigentext.lexical.crossval import MostFrequent, evaluate_ranker
from eigentext.lexical.documents import read_words_jsonl
from eigentext.lexical.schemes.labels import load_scheme

pytestmark = [pytest.mark.long, pytest.mark.requires("data"), pytest.mark.requires("almor")]


@pytest.fixture(scope="module")
def parts(data):
    documents = read_words_jsonl(data / "lexical/ar-padt/words.jsonl", load_scheme("arabic14"))
    return documents[:16], documents[36:40]


@pytest.fixture(scope="module")
def ranker(parts):
    return LexicalRanker(analyzer="almor", passes=2, bits=18).fit(parts[0])


def test_context_is_far_ahead_of_the_most_frequent_analysis(parts, ranker):
    simple = MostFrequent().fit(parts[0], candidates=ranker.candidates_)
    baseline = evaluate_ranker(simple, parts[1]).scores
    ours = evaluate_ranker(ranker, parts[1]).scores
    assert ours.full.a1 > baseline.full.a1 + 15
    assert ours.full.a1 > 72
    assert ours.coverage > 97
    assert ours.full.a1 < ours.full.a2 <= ours.coverage


def test_files_and_single_sentences_give_the_same_ranking(parts, ranker, tmp_path):
    ranker.save(tmp_path / "padt.model")
    again = LexicalRanker.load(tmp_path / "padt.model")
    assert again.scheme_ == ranker.scheme_
    document = parts[1][0]
    tokens = [word.form for word in document.sentences[0]]
    other = [[word.form for word in sentence] for sentence in document.sentences[1:]]
    whole = next(iter(again.rank_documents([document])))[0]
    alone = ranker.rank(tokens, document=other)
    for one, two in zip(whole, alone, strict=True):
        assert [c.label for c in one.candidates] == [c.label for c in two.candidates]
        assert one.candidates[0].probability == pytest.approx(two.candidates[0].probability)
