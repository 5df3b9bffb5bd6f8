"""Raw text to sentences and tokens: offsets for any text, and treebanks of several scripts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext import load
from eigentext.errors import DataError, SettingsError
from eigentext.language.formats.conll import controls_as_blanks
from eigentext.language.formats.conllu import ConlluBlock, parse_sentence
from eigentext.tagging.segmentation import SegmentedSentence, Segmenter, raw_text


def sentence(marked: str, *comments: str) -> ConlluBlock:
    """A sentence: ``_`` behind a token: no space follows; ``a=b+c``: its words; ``~``: a space."""
    rows, number = "".join(f"# {comment}\n" for comment in comments), 1
    for piece in marked.split():
        misc = "SpaceAfter=No" if piece.endswith("_") else "_"
        form, _, words = piece.removesuffix("_").replace("~", " ").partition("=")
        parts = words.split("+") if words else [form]
        if words:
            rows += "\t".join([f"{number}-{number + len(parts) - 1}", form, *"_" * 7, misc]) + "\n"
        for part in parts:
            of_range = "_" if words else misc
            rows += "\t".join([str(number), part, *"_" * 7, of_range]) + "\n"
            number += 1
    return parse_sentence(rows)


@pytest.fixture(scope="module")
def english() -> Segmenter:
    names = ["Ann", "Bob", "Eve", "Tom"]
    verbs = ["ran", "sang", "slept", "left"]
    made = [sentence(f"{name} {verb}_ .") for name in names for verb in verbs]
    made += [sentence(f"Dr. {name} can't=ca+n't {verb}_ !") for name in names for verb in verbs]
    made += [sentence(f"{name} has 1{n}~000 dogs_ .", "newpar") for n, name in enumerate(names)]
    return Segmenter().fit(made * 2)


def shown(text: str, sentences: list[SegmentedSentence]) -> list[list[str]]:
    return [[text[t.start : t.end] for t in one.tokens] for one in sentences]


def test_sentences_tokens_words_and_paragraphs(english: Segmenter) -> None:
    text = "Dr. Bob ran. Eve can't sing!\n\n Tom has 12 000 dogs.\n"
    found = english.segment(text)
    assert shown(text, found) == [
        ["Dr.", "Bob", "ran", "."],
        ["Eve", "can't", "sing", "!"],
        ["Tom", "has", "12 000", "dogs", "."],
    ]
    assert [one.new_paragraph for one in found] == [True, False, True]
    assert found[1].tokens[1].words == ("ca", "n't")
    assert {t.words for one in found for t in one.tokens} == {(), ("ca", "n't")}
    assert english.words_of(["Eve", "can't", "run"]) == [(), ("ca", "n't"), ()]


def test_one_sentence_stays_one(english: Segmenter) -> None:
    text = "Bob ran. Eve sang.\n\nTom left."
    found = english.segment_sentence(text)
    assert shown(text, [found]) == ["Bob ran . Eve sang . Tom left .".split()]
    assert english.segment_sentence(" ") == ((), True)


def test_a_file_answers_the_same_and_training_is_the_same_each_time(english, tmp_path) -> None:
    text = "Dr. Bob can't run. 12 000 dogs slept! Eve left"
    english.save(tmp_path / "s")
    assert load(tmp_path / "s").segment(text) == english.segment(text)
    again = [sentence("Ann ran_ ."), sentence("Bob can't=ca+n't sing_ !")]
    assert Segmenter().fit(again).to_bytes() == Segmenter().fit(again).to_bytes()


@pytest.mark.parametrize(
    ("treebank", "text", "expected"),
    [
        (
            ["我_ 爱_ 你_ 。_", "你_ 吃_ 饭_ 。_", "我_ 吃_ 饭_ 。_"],
            "你爱我。我吃饭。",
            "你 爱 我 。|我 吃 饭 。",
        ),
        (
            ["كتب الولد_ .", "نام الولد_ .", "وكتب=و+كتب علي_ ؟"],
            "نام علي؟ كتب الولد.",
            "نام علي ؟|كتب الولد .",
        ),
        (
            ["học~sinh ngủ .", "nhà ngủ .", "học~sinh ăn cơm ."],
            "nhà ăn cơm . học sinh ngủ .",
            "nhà ăn cơm .|học~sinh ngủ .",
        ),
    ],
)
def test_other_scripts(treebank: list[str], text: str, expected: str) -> None:
    segmenter = Segmenter().fit([sentence(one) for one in treebank] * 6)
    found = [
        [piece.replace(" ", "~") for piece in one] for one in shown(text, segmenter.segment(text))
    ]
    assert "|".join(map(" ".join, found)) == expected


# ---------------------------------------------------------------- any text

_SIGNS = [*"ab.A1 \t\n\r é٣شא我👩🏽🇪🇺\x00", "\n\n", "\r\n\r\n", "\u0301", "\u200d", "\u2029"]
_SIGNS += ["\ufeff", "\u3000", "\u1100", "\u1161", "\u11a8", "\ud800"]
SIGNS = st.lists(st.sampled_from(_SIGNS)).map("".join)
ANY = st.one_of(st.text(), SIGNS)


@settings(max_examples=300, deadline=None)
@given(text=ANY)
def test_every_character_is_in_one_token(english: Segmenter, text: str) -> None:
    found = english.segment(text)
    last = 0
    for one in found:
        assert one.tokens
        for token in one.tokens:
            assert last <= token.start < token.end
            gap = text[last : token.start]
            gap = controls_as_blanks(gap)  # which count as white space
            assert not gap.removeprefix("\ufeff" if last == 0 else "").strip()
            piece = text[token.start : token.end]
            assert not controls_as_blanks(piece[0]).isspace()
            assert not controls_as_blanks(piece[-1]).isspace()
            last = token.end
    assert not controls_as_blanks(text[last:]).strip() or text == "\ufeff"
    assert [one.new_paragraph for one in found[:1]] == [True][: len(found)]
    whole = english.segment_sentence(text).tokens
    assert [t for t in whole if t.start < 0] == []


@settings(max_examples=150, deadline=None)
@given(first=ANY, second=ANY)
def test_paragraphs_do_not_look_at_each_other(english: Segmenter, first: str, second: str) -> None:
    second = second.removeprefix("\ufeff").lstrip()
    joined = first + "\n\n" + second
    shift = len(first) + 2
    apart = [t[:2] for one in english.segment(first) for t in one.tokens]
    apart += [
        (t.start + shift, t.end + shift) for one in english.segment(second) for t in one.tokens
    ]
    found = english.segment(joined)
    if first != "\ufeff":
        assert [t[:2] for one in found for t in one.tokens] == apart


@pytest.mark.parametrize(
    "grapheme", ["e\u0301", "👩🏽", "👩\u200d🔬", "🇪🇺", "\u1100\u1161\u11a8", "❤\ufe0f"]
)
def test_a_grapheme_is_never_cut(english: Segmenter, grapheme: str) -> None:
    for text in (grapheme * 3, f"a{grapheme}.", f".{grapheme}!", f"1{grapheme}{grapheme}a"):
        cuts = {t.start for one in english.segment(text) for t in one.tokens}
        inside = {
            at + step
            for at in range(len(text))
            if text.startswith(grapheme, at)
            and (grapheme != "🇪🇺" or (at - text.index("🇪")) % 2 == 0)
            for step in range(1, len(grapheme))
        }
        assert not cuts & inside


def test_a_long_chunk_takes_no_long_time(english: Segmenter) -> None:
    text = "ab.c" * 50_000
    assert sum(len(one.tokens) for one in english.segment(text)) > 0


def test_what_is_no_text_and_what_is_no_treebank() -> None:
    with pytest.raises(DataError, match="no tokens"):
        Segmenter().fit([])
    with pytest.raises(SettingsError, match="CoNLL-U sentences"):
        Segmenter().fit([["a", "b"]])
    with pytest.raises(SettingsError, match="a text is a string, not list"):
        Segmenter().fit([sentence("a b")]).segment(["a"])


# ---------------------------------------------------------------- raw text


def test_the_raw_text_of_a_treebank() -> None:
    assert raw_text([]) == ""
    first = sentence("Hi_ ! a=b+c", "text = Hi!  a")
    assert raw_text([first]) == "Hi!  a\n"
    no_text = sentence("x y_", "newdoc id = 7")
    assert raw_text([no_text, sentence("z"), no_text, sentence("z", "newpar")]) == (
        "x yz\n\nx y\n\nz\n"
    )
    other = sentence("x y_ z", "text = something else")  # the forms are right
    assert raw_text([other]) == "x yz\n"
    spaces = parse_sentence("1\ta" + "\t_" * 7 + "\tSpacesAfter=\\s\\n\n")
    assert raw_text([spaces, spaces]) == "a \na\n"
    in_word = sentence("10~000 x", "text = 10\u00a0000 x")
    assert raw_text([in_word]) == "10\u00a0000 x\n"


def test_addresses_are_one_token(english: Segmenter) -> None:
    """Also where the treebank has none; marks behind an address are not of it."""
    text = "Ann sang www.example.org/a,b. Write to bob@mail.example! See http://x.example?"
    assert [one[-3:] for one in shown(text, english.segment(text))] == [
        ["sang", "www.example.org/a,b", "."],
        ["to", "bob@mail.example", "!"],
        ["See", "http://x.example", "?"],
    ]


def test_addresses_that_the_treebank_splits_are_split() -> None:
    hosts = ["a", "bb", "ccc", "dd", "e", "ff"]
    treebank = [sentence(f"See www_ ._ {host}_ ._ org_ .") for host in hosts] * 4
    segmenter = Segmenter().fit(treebank)
    text = "See www.gg.org."
    assert shown(text, segmenter.segment(text)) == [["See", "www", ".", "gg", ".", "org", "."]]


def test_a_stem_that_is_a_lemma_is_split_off() -> None:
    stems = ["ev", "masa", "kutu", "bahçe", "kapı", "duvar", "çatı", "oda", "yol", "köprü"]
    others = ["b", "d", "g", "k", "m", "p", "r", "s", "t", "z"]
    treebank = []
    for stem, other in zip(stems, others, strict=True):
        # seen as a lemma of a longer form only, split off -li; other words in -li are whole
        treebank.append(sentence(f"{stem}ler geldi").with_columns(lemma=[stem, "gel"]))
        treebank.append(
            sentence(f"{stem}li={stem}+li geldi").with_columns(lemma=[stem, "li", "gel"])
        )
        word = f"{other}elli"
        treebank.append(sentence(f"{word} geldi").with_columns(lemma=[word, "gel"]))
    known = sentence("pencereler nelli geldi").with_columns(lemma=["pencere", "nelli", "gel"])
    segmenter = Segmenter().fit([*treebank, known] * 3)
    assert segmenter.words_of(["pencereli", "velli"]) == [("pencere", "li"), ()]
