"""Where sentences end: what decides it, and the odds above which it pays to end one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.language.formats.conllu import ConlluBlock, make_sentence
from eigentext.tagging.segmentation import Segmenter, raw_text
from eigentext.tagging.segmentation.sentence_ends import (
    _AS_GOOD,
    _FOLDS,
    _JUDGED,
    _ODDS,
    _best,
    _hits,
    _stretches,
)


def comma_clauses(words: list[str]) -> ConlluBlock:
    """A sentence of clauses, each a word and a comma."""
    tokens = [token for word in words for token in (word, ",")]
    return make_sentence(tokens, misc=["SpaceAfter=No", "_"] * len(words))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.data())
def test_hits_are_those_of_the_spans(lengths: list[int], data: st.DataObject) -> None:
    ends = np.cumsum(lengths) - 1
    n = int(ends[-1]) + 1
    is_end = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    first = data.draw(st.integers(0, len(lengths) - 1))
    fold = np.arange(first, data.draw(st.integers(first, len(lengths) - 1)) + 1)
    fold = fold[:: data.draw(st.sampled_from([1, 2]))]
    starts = [0, *(ends[:-1] + 1).tolist()]
    gold = {(starts[k], int(ends[k])) for k in fold}
    cuts = np.flatnonzero(is_end).tolist()
    found = set(zip([0, *(cut + 1 for cut in cuts)], cuts, strict=False))
    inside = [cut for cut in cuts for k in fold if starts[k] <= cut <= ends[k]]
    assert _hits(is_end, ends, fold) == (len(gold & found), len(inside))


def test_the_odds_are_even_unless_others_are_better_by_more_than_chance() -> None:
    even = int(np.flatnonzero(_ODDS == 0)[0])
    assert _best(np.full(len(_ODDS), 0.9)) == even
    slightly = np.full(len(_ODDS), 0.9)
    slightly[:3] += 0.9 * _AS_GOOD
    assert _best(slightly) == even
    clearly = np.full(len(_ODDS), 0.9)
    clearly[:6] += 0.1
    assert _best(clearly) == 4  # of those that are as good with their neighbours, the nearest


@pytest.mark.parametrize("ending", ["di", "ti"])
def test_the_ending_of_the_word_before_a_comma_decides(ending: str) -> None:
    """Of two endings one ends sentences; the stems of the text are new."""
    chance = np.random.default_rng(0)
    letters = np.array(list("bcdfghklmnprstvz"))

    def word(end: str) -> str:
        return "".join(chance.choice(letters, 4)) + end

    other = "ti" if ending == "di" else "di"

    def sentences(n: int) -> list[ConlluBlock]:
        return [
            comma_clauses([word(other) for _ in range(chance.integers(0, 3))] + [word(ending)])
            for _ in range(n)
        ]

    segmenter = Segmenter().fit(sentences(120))
    new = sentences(20)
    found = segmenter.segment(raw_text(new))
    assert [len(one.tokens) for one in found] == [len(one.forms) for one in new]


def test_sentences_end_where_it_pays_and_not_where_it_is_likelier_than_not() -> None:
    """Four of ten commas end a sentence, and nothing says which."""
    chance = np.random.default_rng(1)
    clauses = chance.geometric(0.4, 400)
    segmenter = Segmenter().fit([comma_clauses(["ba"] * n) for n in clauses])
    assert segmenter.sentences_.threshold < 0
    again = Segmenter.from_bytes(segmenter.to_bytes())
    assert again.sentences_.threshold == segmenter.sentences_.threshold
    assert len(segmenter.segment("ba, " * 40)) > 10


def test_few_sentences_are_enough() -> None:
    segmenter = Segmenter().fit([comma_clauses(["ba"])] * 3)
    assert segmenter.sentences_.threshold == 0


def test_a_treebank_of_paragraphs_of_one_sentence_teaches_where_sentences_end() -> None:
    words = ["sun", "moon", "star", "sea", "hill", "wind", "rain", "snow"]
    treebank = [
        make_sentence(
            [first.title(), "and", second, "."],
            misc=["_", "_", "SpaceAfter=No", "_"],
            metadata={"newpar": ""},
        )
        for first in words
        for second in words
    ]
    segmenter = Segmenter().fit(treebank)
    found = segmenter.segment("Sun and hill. Wind and sea. Moon and rain.")
    assert [len(one.tokens) for one in found] == [4, 4, 4]
    assert len(segmenter.segment("Sun and hill and sea.")) == 1


def test_a_large_treebank_is_judged_by_parts_of_all_its_quarters() -> None:
    ((others, fold),) = _stretches(_FOLDS * _JUDGED)
    assert len(fold) == _JUDGED
    assert sorted([*others, *fold]) == list(range(_FOLDS * _JUDGED))
    assert {int(k) // _JUDGED for k in fold} == set(range(_FOLDS))
    assert [len(fold) for _, fold in _stretches(10)] == [3, 3, 2, 2]
    assert list(_stretches(3)) == []


def test_a_paragraph_that_ends_inside_a_sentence_changes_nothing_for_good() -> None:
    """A break inside a sentence of the treebank: learned twice, the same text is the same."""
    one = comma_clauses(["ba", "da"])
    broken = make_sentence(
        ["a", ",", "-", "b", "."],
        misc=["SpaceAfter=No", "SpacesAfter=\\n\\n", "_", "SpaceAfter=No", "_"],
    )
    segmenter = Segmenter().fit([one, broken] * 30)
    assert Segmenter().fit([one, broken] * 30).fingerprint() == segmenter.fingerprint()
    assert [len(found.tokens) for found in segmenter.segment("a,\n\n- b.")] == [2, 3]
