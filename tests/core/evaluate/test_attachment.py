"""Attachment scores: hand-made cases, a plain twin, and the figures of a known parser."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.errors import DataError, SettingsError
from eigentext.evaluate.attachment import evaluate
from eigentext.language.formats import conllu, conllx
from eigentext.language.formats.conllu import ConlluBlock, make_sentence, parse_sentence

if TYPE_CHECKING:
    from pathlib import Path

RELATIONS = ["nsubj", "nsubj:pass", "obj", "det", "punct", "case", "root", "advmod"]
UPOS = ["NOUN", "VERB", "PUNCT", "DET"]


@st.composite
def annotations(draw: st.DrawFn, forms: list[str]) -> ConlluBlock:
    n_words = len(forms)
    order = draw(st.permutations(range(1, n_words + 1)))
    heads = [0] * n_words
    for place, word in enumerate(order[1:], start=1):
        heads[word - 1] = order[draw(st.integers(0, place - 1))]
    column = st.lists(st.sampled_from(RELATIONS), min_size=n_words, max_size=n_words)
    tags = st.lists(st.sampled_from(UPOS), min_size=n_words, max_size=n_words)
    lemmas = st.lists(st.sampled_from(["x", "y", "_"]), min_size=n_words, max_size=n_words)
    return make_sentence(
        forms,
        head=heads,
        deprel=draw(column),
        upos=draw(tags),
        xpos=draw(tags),
        lemma=draw(lemmas),
    )


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[ConlluBlock], list[ConlluBlock]]:
    texts = draw(
        st.lists(
            st.lists(st.sampled_from(["a", "bc", "d"]), min_size=1, max_size=6),
            min_size=1,
            max_size=4,
        )
    )
    return [draw(annotations(t)) for t in texts], [draw(annotations(t)) for t in texts]


@given(pair=pairs())
@settings(max_examples=100, deadline=None)
def test_agrees_with_a_plain_twin(pair: tuple[list[ConlluBlock], list[ConlluBlock]]) -> None:
    gold, system = pair
    result = evaluate(gold, system)
    rows = [
        (g, s)
        for one, other in zip(gold, system, strict=True)
        for g, s in zip(one.rows, other.rows, strict=True)
    ]

    def plain(relation: str) -> str:
        return relation.split(":")[0]

    n_words = len(rows)
    headed = [g[6] == s[6] for g, s in rows]
    labelled = [g[6] == s[6] and plain(g[7]) == plain(s[7]) for g, s in rows]
    assert result.scores["UAS"] == (sum(headed), n_words, n_words)
    assert result.scores["LAS"] == (sum(labelled), n_words, n_words)
    assert result.scores["UPOS"].correct == sum(g[3] == s[3] for g, s in rows)
    assert result.scores["XPOS"].correct == sum(g[4] == s[4] for g, s in rows)
    assert result.scores["Lemmas"].correct == sum(g[2] in ("_", s[2]) for g, s in rows)
    assert result.scores["Words"] == result.scores["Tokens"] == (n_words, n_words, n_words)
    punct = [g[3] == "PUNCT" or plain(g[7]) == "punct" for g, _ in rows]
    kept = [ok for ok, is_punct in zip(labelled, punct, strict=True) if not is_punct]
    assert result.scores["LAS without punct"] == (sum(kept), len(kept), len(kept))
    content = {"nsubj", "obj", "root", "advmod"}
    clas = result.scores["CLAS"]
    assert clas.gold == sum(plain(g[7]) in content for g, _ in rows)
    assert clas.system == sum(plain(s[7]) in content for _, s in rows)
    assert clas.correct == sum(
        ok and plain(g[7]) in content for ok, (g, _) in zip(labelled, rows, strict=True)
    )
    assert sum(count[0] for count in result.sentence_counts) == sum(labelled)
    assert sum(row.las.correct for row in result.by_relation) == sum(labelled)
    assert sum(row.uas.gold for row in result.by_relation) == n_words
    assert sum(row.uas.correct for row in result.by_length) == sum(headed)
    complete = [one for one in result.sentence_counts if one[0] == one[1]]
    assert result.n_complete == len(complete)


@given(pair=pairs())
@settings(max_examples=30, deadline=None)
def test_a_tree_against_itself_is_perfect(
    pair: tuple[list[ConlluBlock], list[ConlluBlock]],
) -> None:
    result = evaluate(pair[0], pair[0])
    for name, score in result.scores.items():
        assert score.correct == score.gold == score.system, name
    assert result.complete_match == 100.0


def rows(text: str) -> ConlluBlock:
    """``id form upos head deprel feats`` in columns of one sentence."""
    lines = []
    for line in text.strip().split("\n"):
        number, form, upos, head, relation, *feats = line.split()
        feature = feats[0] if feats else "_"
        cells = [number, form, "_", upos, "_", feature, head, relation, "_", "_"]
        lines.append("\t".join(cells))
    return parse_sentence("\n".join(lines) + "\n\n")


def test_other_words_are_aligned_by_characters() -> None:
    gold = rows(
        """
        1 New PROPN 2 compound
        2 York PROPN 3 nsubj
        3 wins VERB 0 root
        """
    )
    system = rows(
        """
        1 NewYork PROPN 2 nsubj
        2 wins VERB 0 root
        """
    )
    result = evaluate([gold], [system])
    assert result.scores["Words"] == (1, 3, 2)
    assert result.scores["LAS"] == (1, 3, 2)
    assert result.las == pytest.approx(40.0, rel=1e-12)
    assert result.scores["Sentences"] == (1, 1, 1)


def test_words_of_multiword_tokens_are_aligned_by_form() -> None:
    gold = rows(
        """
        1-2 au _ _ _
        1 à ADP 3 case
        2 le DET 3 det
        3 parc NOUN 0 root
        """
    )
    system = rows(
        """
        1-2 au _ _ _
        1 à ADP 3 case
        2 LE DET 1 det
        3 parc NOUN 0 root
        """
    )
    unsplit = rows(
        """
        1 au ADP 2 case
        2 parc NOUN 0 root
        """
    )
    split = evaluate([gold], [system])
    assert split.scores["Words"] == (3, 3, 3)
    assert split.scores["UAS"] == (2, 3, 3)
    assert split.scores["Tokens"] == (2, 2, 2)
    whole = evaluate([gold], [unsplit])
    assert whole.scores["Words"] == (1, 3, 2)
    assert whole.scores["LAS"] == (1, 3, 2)
    assert whole.scores["Tokens"] == (2, 2, 2)
    assert evaluate([unsplit], [gold]).scores["LAS"] == (1, 2, 3)


def test_the_longest_common_subsequence_decides_inside_a_multiword_token() -> None:
    gold = rows("1-3 abc _ _ _\n1 x X 0 root\n2 y X 1 dep\n3 z X 2 dep")
    system = rows("1-2 abc _ _ _\n1 y X 0 root\n2 Z X 1 dep")
    assert evaluate([gold], [system]).scores["Words"] == (2, 3, 2)
    assert evaluate([gold], [system]).scores["UAS"] == (1, 3, 2)
    assert evaluate([system], [gold]).scores["Words"] == (2, 2, 3)


@st.composite
def segmentations(draw: st.DrawFn, text: str) -> list[ConlluBlock]:
    """The text cut into words and sentences at random, with random trees."""
    found = []
    cuts = draw(st.sets(st.integers(1, len(text) - 1)))
    borders = [0, *sorted(cuts), len(text)]
    forms = [text[a:b] for a, b in pairwise(borders)]
    while forms:
        size = draw(st.integers(1, len(forms)))
        found.append(draw(annotations(forms[:size])))
        forms = forms[size:]
    return found


def spanned(
    sentences: list[ConlluBlock],
) -> dict[tuple[int, int], tuple[tuple[int, int] | None, str]]:
    """For every word's span the span of its head (None for a root) and its plain relation."""
    found = {}
    position = 0
    for sentence in sentences:
        spans = []
        for form in sentence.forms:
            spans.append((position, position + len(form)))
            position += len(form)
        for span, row in zip(spans, sentence.rows, strict=True):
            head = spans[int(row[6]) - 1] if row[6] != "0" else None
            found[span] = (head, row[7].split(":")[0])
    return found


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_other_segmentations_agree_with_a_twin_over_spans(data: st.DataObject) -> None:
    text = "abcdefgh"
    gold, system = data.draw(segmentations(text)), data.draw(segmentations(text))
    result = evaluate(gold, system)
    mine, its = spanned(gold), spanned(system)
    common = mine.keys() & its.keys()
    sizes = (len(mine), len(its))
    headed = [span for span in common if mine[span][0] == its[span][0]]
    labelled = [span for span in common if mine[span] == its[span]]
    assert result.scores["Words"] == (len(common), *sizes)
    assert result.scores["UAS"] == (len(headed), *sizes)
    assert result.scores["LAS"] == (len(labelled), *sizes)


def test_sentences_cut_elsewhere() -> None:
    both = rows("1 a X 0 root\n2 b X 1 dep\n3 c X 2 dep")
    first, second = rows("1 a X 0 root\n2 b X 1 dep"), rows("1 c X 0 root")
    result = evaluate([both], [first, second])
    assert result.scores["Sentences"] == (0, 1, 2)
    assert result.scores["Words"] == (3, 3, 3)
    assert result.scores["UAS"] == (2, 3, 3)


def test_function_words_and_features_count_in_mlas() -> None:
    gold = rows("1 the DET 2 det\n2 dogs NOUN 3 nsubj Number=Plur\n3 bark VERB 0 root")
    other_det = rows("1 the PRON 2 det\n2 dogs NOUN 3 nsubj Number=Plur\n3 bark VERB 0 root")
    other_feat = rows("1 the DET 2 det\n2 dogs NOUN 3 nsubj Number=Sing\n3 bark VERB 0 root")
    local_feat = rows(
        "1 the DET 2 det\n2 dogs NOUN 3 nsubj Foo=Bar|Number=Plur\n3 bark VERB 0 root"
    )
    lost_det = rows("1 the DET 3 det\n2 dogs NOUN 3 nsubj Number=Plur\n3 bark VERB 0 root")
    assert evaluate([gold], [gold]).scores["MLAS"] == (2, 2, 2)
    assert evaluate([gold], [other_det]).scores["MLAS"] == (1, 2, 2)
    assert evaluate([gold], [other_feat]).scores["MLAS"] == (1, 2, 2)
    assert evaluate([gold], [local_feat]).scores["MLAS"] == (2, 2, 2)
    assert evaluate([gold], [lost_det]).scores["MLAS"] == (0, 2, 2)
    assert evaluate([gold], [lost_det]).scores["CLAS"] == (2, 2, 2)


def test_bad_input() -> None:
    gold, other = rows("1 ab X 0 root"), rows("1 ac X 0 root")
    with pytest.raises(DataError, match=r"found 'c' where the gold text has 'b'"):
        evaluate([gold], [other])
    with pytest.raises(DataError, match="no heads"):
        evaluate([gold], [make_sentence(["ab"])])
    with pytest.raises(SettingsError, match="length_width"):
        evaluate([gold], [gold], length_width=0)
    assert evaluate([], []).las == 0.0


@pytest.mark.requires("data")
def test_maltparser(data: Path) -> None:
    """The test sets are in test_attachment_tables.py."""
    gold = conllu.read_sentences(data / "dependency" / "ewt" / "dev.conllu")
    system = conllx.read_sentences(data / "peers" / "maltparser-ewt-dev.conllx")
    result = evaluate(gold, system)
    assert (round(result.uas, 2), round(result.las, 2)) == (85.95, 83.30)


@pytest.mark.requires("data")
def test_alignment_of_real_text_that_was_cut_at_spaces(data: Path) -> None:
    """Recut a treebank: the words that survive are exactly those between white space."""
    gold = list(conllu.read_sentences(data / "dependency" / "gum" / "dev.conllu"))[:300]
    system = []
    for sentence in gold:
        forms = sentence.text.split()
        system.append(
            make_sentence(forms, head=list(range(len(forms))), deprel=["dep"] * len(forms))
        )
    result = evaluate(gold, system)
    survivors = sum(
        len(sentence.text.split())
        - sum(1 for form in sentence.text.split() if form not in sentence.forms)
        for sentence in gold
    )
    words = result.scores["Words"]
    assert result.scores["Sentences"].f1 == 100.0
    assert 0.95 * survivors < words.correct <= survivors
