"""The second-best upos of a tagger: from MISC and from taggers into features, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.dependency import DependencyParser
from eigentext.dependency.graph.encode import TokenEncoder
from eigentext.dependency.graph.tags import OwnTags, jackknifed, with_tags
from eigentext.dependency.sentence import TaggedSentence, with_other_upos
from eigentext.features.attributes import PARSING
from eigentext.language.formats.conllu import make_sentence

items = st.text(st.characters(blacklist_characters="|\t\n\r", codec="utf-8"), min_size=1)


def _doubtful(right: str):
    """`x` hangs from its neighbour by what it is, which only the second-best upos tells."""
    noun = right == "1:NOUN"
    return make_sentence(
        ["a", "x", "b"],
        upos=["A", "X", "B"],
        head=[3, 1 if noun else 3, 0],
        deprel=["dep", "n" if noun else "v", "root"],
        misc=["_", f"OtherUPOS={right}", "_"],
    )


TREES = [_doubtful("1:NOUN"), _doubtful("1:VERB")] * 6


@given(st.lists(items, max_size=3), st.sampled_from(["_", "1:VERB", "3:X:Y"]))
def test_misc_keeps_what_else_it_has(cells, other) -> None:
    kept = [cell for cell in cells if cell != "_" and not cell.startswith("OtherUPOS=")]
    found = with_other_upos("|".join(cells) or "_", other)
    assert found.split("|") == ([*kept, f"OtherUPOS={other}"] if other != "_" else kept or ["_"])
    assert with_other_upos(found, "_") == ("|".join(kept) or "_")


def test_a_sentence_has_them_from_misc_and_keeps_them_in_parts() -> None:
    sentence = TaggedSentence.from_conllu(TREES[0])
    assert sentence.others == ("_", "1:NOUN", "_")
    assert sentence.part(1, 3).others == ("1:NOUN", "_")
    bare = TaggedSentence.from_conllu(make_sentence(["a"], misc=["SpaceAfter=No"]))
    assert bare.others == () == bare.part(0, 1).others
    # an item of MISC of which it is only a part, and one without a value, say nothing
    for misc in ("NotOtherUPOS=1:X", "OtherUPOS="):
        assert TaggedSentence.from_conllu(make_sentence(["a"], misc=[misc])).others == ()


def test_attributes() -> None:
    for other, expected in (("1:VERB", ("VERB", "X 1:VERB")), ("_", ("_", "X"))):
        named = PARSING.texts(TokenEncoder().word("x", "X", "_", "_", "_", other))
        assert (named["other"], named["either"]) == expected


@pytest.mark.parametrize("order", [1, 2])
def test_trees_follow_them(order) -> None:
    parser = DependencyParser(order=order, epochs=5, bits=14).fit(TREES)
    again = DependencyParser.from_bytes(parser.to_bytes())
    for model in (parser, again):
        for tree, answer in zip(TREES[:2], model.predict(TREES[:2]), strict=True):
            assert answer.heads == tree.heads
            assert answer.column("deprel") == tree.column("deprel")


def test_without_them_there_are_no_templates_of_them() -> None:
    bare = [tree.with_columns(misc=["_"] * len(tree)) for tree in TREES]
    for trees, expected in ((TREES, True), (bare, False)):
        parser = DependencyParser(order=1, epochs=1, bits=14).fit(trees)
        assert parser.relations_ is not None
        for names in (parser.arcs_.arc_names, parser.relations_.names):
            assert any(".other" in name or ".either" in name for name in names) == expected


def test_own_tags_come_with_them() -> None:
    tags = ("VERB", "VERB", "NOUN") * 8
    text = [make_sentence(["dog", "hide"], upos=["NOUN", t], feats=["A=1", "_"]) for t in tags]
    tagged = OwnTags().fit(text).tag([["dog", "hide"]])[0]
    assert tagged.others[0] == "_" != tagged.others[1]
    assert tagged.feats == ("A=1", "_")
    for sentence, known in zip(text, jackknifed(text, ways=2), strict=True):
        back = TaggedSentence.from_conllu(with_tags(sentence, known))
        assert back == known


def test_a_treebank_without_tags_has_no_tagger() -> None:
    text = [make_sentence(["a", "b"], head=[2, 0], deprel=["x", "root"])] * 4
    own = OwnTags().fit(text)
    assert own.morphology is None
    assert own.tag([["a"]])[0] == TaggedSentence.of(["a"])
    assert jackknifed(text)[0] == TaggedSentence.of(["a", "b"])


def test_xpos_alone_is_what_the_tagger_learns() -> None:
    """Words say nothing of the tag, their neighbours do: the tagger must have tags to look at."""
    text = [
        make_sentence(["a", "x", "y"], xpos=["A", "P", "Q"], head=[0, 1, 1]),
        make_sentence(["b", "x", "y"], xpos=["B", "Q", "P"], head=[0, 1, 1]),
    ] * 10
    own = OwnTags().fit(text)
    for tagger in (own, OwnTags.of(own.by_name())):
        for forms, xpos in (
            (("a", "x", "y"), ("A", "P", "Q")),
            (("b", "x", "y"), ("B", "Q", "P")),
        ):
            tagged = tagger.tag([forms])[0]
            assert (tagged.upos, tagged.xpos) == (("_", "_", "_"), xpos)
    assert jackknifed(text, ways=2)[0][:3] == TaggedSentence.from_conllu(text[0])[:3]
    parser = DependencyParser(tags="own", order=1, epochs=1, bits=12).fit(text)
    again = DependencyParser.from_bytes(parser.to_bytes())
    assert again.predict([make_sentence(["a", "x"])])[0].column("xpos") == ("A", "P")
