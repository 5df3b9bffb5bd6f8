"""What the stages look at: characters in numbers, graphemes, addresses, and decided places."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.tagging.segmentation.characters import (
    CLASSES,
    addresses,
    code_points,
    decided_places,
    glued,
    squeezed,
)
from eigentext.tagging.segmentation.kernels.boundaries import CUT, GLUED, JOINED
from oracle import squeezing

SIGNS = [
    *"abZ.7 \t\n\r\x0b\x0c\x85é٣شא我あカ한ก─👩🏽❤🇪🇺🇭\x00\x01İßǅ",
    "\r\n",
    "\n\n",
    "\u2028",
    "\u2029",
]
SIGNS += ["\u0301", "\u200d", "\u200c", "\ufe0f", "\ufeff", "\u3000", "\xa0", "\ud800", "\x1c"]
SIGNS += ["\u1100", "\u1161", "\u11a8", "가", "각", "\U000e0067", "ｱ", "々", "\u0e31"]
TEXTS = st.lists(st.sampled_from(SIGNS), max_size=25).map("".join)


@settings(max_examples=400)
@given(TEXTS, st.booleans(), st.booleans())
def test_a_squeezed_text_is_that_of_its_definition(text, paragraphs, line_breaks) -> None:
    found = squeezed(text, paragraphs=paragraphs, line_breaks=line_breaks)
    chars = [chr(code) for code in found.chars]
    columns = zip(chars, found.classes.tolist(), found.glue.astype(bool), found.at, strict=True)
    expected = squeezing.squeezed(text, paragraphs=paragraphs, line_breaks=line_breaks)
    assert list(columns) == expected


@pytest.mark.parametrize(
    ("chars", "name"),
    [
        ("Aǅ", "Lu"), ("aß", "Ll"), ("אشª", "Lo"), ("我々〇豈𠀀㐀䶿", "Han"), ("あん", "Hiragana"),
        ("カーｱㇰ", "Katakana"), ("한ㅏ가"[0::2] + "\u1100", "Hangul"), ("กລကខ", "South-East"),
        ("7٣३", "Nd"), ("½²Ⅷ", "No"), ("\u0301\u0903\u20dd", "Mn"), ("([「", "Ps"), (")]」", "Pe"),
        ("«“", "Pi"), ("»”", "Pf"), ("-–—", "Pd"), ("_", "Pc"), (".!。؟", "Po"), ("$€", "Sc"),
        ("+=", "Sm"), ("^`", "Sk"), ("©😀", "So"), ("\u200d\xad", "Cf"), ("\x00\x01\x7f", "Cc"),
        (" \t\xa0\u3000\x1c", "space"),
    ],
)  # fmt: skip
def test_classes_of_characters(chars, name) -> None:
    for char in chars:
        found = squeezed(f"a{char}a").classes[squeezing.REACH + 1]
        assert found == CLASSES[name], hex(ord(char))


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("e\u0301a", "e a"), ("👩🏽👩", "👩 👩"), ("👩\u200d🔬", "👩"), ("👩\u200da", "👩 a"),
        ("🇪🇺🇭🇺🇪", "🇪 🇭 🇪"), ("a🇪🇺", "a 🇪"), ("각\u11a8가\u11a8", "각 가"), ("가각", "가 각"),
        ("각\u1161", "각 \u1161"), ("\u1100\u1100\u1161\u11a8", "\u1100"),
        ("\u11a8\u1161", "\u11a8 \u1161"),
        ("🏴\U000e0067\U000e007fx", "🏴 x"), ("a\u200cb", "a b"), ("ｶ\uff9eｶ", "ｶ ｶ"),
        ("🇪\u0301🇺", "🇪 🇺"),
    ],
)  # fmt: skip
def test_graphemes_begin_where_they_do(text, begins) -> None:
    found = squeezed(text)
    inside = slice(squeezing.REACH, -squeezing.REACH)
    pairs = zip(text, found.glue[inside].tolist(), strict=True)
    assert " ".join(char for char, glue in pairs if not glue) == begins


@settings(max_examples=60)
@given(st.text(max_size=20) | TEXTS)
def test_code_points_are_those_of_the_characters(text) -> None:
    assert code_points(text).tolist() == list(map(ord, text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("http://a.org/x?y=1#z, or", ["http://a.org/x?y=1#z"]),
        ("(https://a.org)", ["https://a.org"]),
        ("HTTP://A.ORG!", ["HTTP://A.ORG"]),
        ("ftp://a/b… ok", ["ftp://a/b"]),
        ("xhttp://a.org", []),
        ("WWW.a.org。", ["WWW.a.org"]),
        ("awww.b.org", []),
        ("a.b+c@d-e.org.", ["a.b+c@d-e.org"]),
        ("a@b", []),
        ("a@b.c_d x@y.z", ["a@b.c_d", "x@y.z"]),
        ("@you and a@", []),
        ("«www.a.org»", ["www.a.org"]),
        ("www.\n", []),
    ],
)
def test_addresses(text, found) -> None:
    assert [text[start:end] for start, end in addresses(text)] == found


@settings(max_examples=150)
@given(TEXTS, st.data())
def test_no_token_begins_inside_of_spans(text, data) -> None:
    """Whatever else was glued stays so; white space and the ends of spans change nothing."""
    plain = squeezed(text)
    letters = [at for at, char in enumerate(text) if not char.isspace()]
    first = data.draw(st.sampled_from(letters)) if letters else 0
    last = first
    while last < len(text) and not text[last].isspace():
        last += 1
    if not letters or (first == 0 and text[0] == "\ufeff"):
        assert glued(plain, []) is plain
        return
    found = glued(plain, [(first, last)])
    for k, (char_class, at) in enumerate(zip(plain.classes, plain.at, strict=True)):
        if char_class > 2 and at > 0:  # at the beginning of the text a token begins anyway
            assert found.glue[k] == (GLUED if first < at < last else plain.glue[k])


@settings(max_examples=200)
@given(TEXTS, st.data())
def test_decided_places_are_where_their_characters_are(text, data) -> None:
    offsets = st.integers(0, max(len(text) - 1, 0))
    cuts = data.draw(st.dictionaries(offsets, st.sampled_from(["sentence", "word", "none"])))
    plain = squeezed(text)
    found, at, lost = decided_places(plain, cuts)
    of_offset = {
        int(offset): place
        for place, (offset, kind) in enumerate(zip(plain.at, plain.classes, strict=True))
        if kind > 2
    }
    assert at == {offset: of_offset[offset] for offset in cuts if offset in of_offset}
    over_a_paragraph = {
        offset for offset, cut in cuts.items()
        if cut == "none" and offset in of_offset and plain.classes[of_offset[offset] - 1] == 1
    }  # fmt: skip
    assert set(lost) == (set(cuts) - set(of_offset)) | over_a_paragraph
    expected = plain.glue.copy()
    for offset, place in at.items():
        expected[place] = JOINED if cuts[offset] == "none" else CUT
    assert np.array_equal(found.glue, expected)
    assert all(np.array_equal(a, b) for a, b in zip(found[:2], plain[:2], strict=True))
