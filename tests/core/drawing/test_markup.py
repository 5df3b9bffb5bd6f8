from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.drawing.svg import elide, escape, is_right_to_left, printable, text_width

any_text = st.text(st.characters(codec=None))  # lone surrogates and control characters, too


@given(any_text)
def test_escaped_text_survives_an_xml_parser(text: str) -> None:
    element = ElementTree.fromstring(f'<a b="{escape(text)}">{escape(text)}</a>')
    shown = printable(text).replace("\r\n", "\n").replace("\r", "\n")  # as XML reads line ends
    assert (element.text or "") == shown
    assert set(element.get("b") or "") <= set(printable(text)) | {" ", "\n"}


@given(any_text)
def test_printable_keeps_the_length_and_what_is_harmless(text: str) -> None:
    shown = printable(text)
    assert len(shown) == len(text)
    assert all(new in (old, "\ufffd") for old, new in zip(text, shown, strict=True))
    shown.encode("utf-8")


@pytest.mark.parametrize("character", ["\u202e", "\u202a", "\u2066", "\u2069"])
def test_direction_overrides_do_not_leave_their_word(character: str) -> None:
    assert printable(f"a{character}b") == "a\ufffdb"


@given(st.text(), st.integers(1, 20))
def test_elide(text: str, longest: int) -> None:
    shown = elide(text, longest)
    assert len(shown) <= longest
    assert shown == text or shown.endswith("…")


@pytest.mark.parametrize(
    ("wide", "narrow"), [("漢", "a"), ("W", "i"), ("가", "é"), ("m", "."), ("ab", "a\u0300\u0301")]
)
def test_width_tells_wide_from_narrow(wide: str, narrow: str) -> None:
    assert text_width(wide) > text_width(narrow)


@given(st.text(), st.text(), st.floats(1, 50))
def test_widths_add_and_scale(first: str, second: str, size: float) -> None:
    whole = text_width(first + second, size)
    assert whole == pytest.approx(size * (text_width(first) + text_width(second)), abs=1e-6)
    assert text_width(first, bold=True) >= text_width(first)


def test_direction_is_that_of_most_words() -> None:
    assert is_right_to_left(["قال", "John", "مرحبا"])
    assert is_right_to_left(["שלום", "!"])
    assert not is_right_to_left(["42", ".", ""])
    assert not is_right_to_left(["he", "said", "שלום"])
    assert is_right_to_left(["(كتاب)"])  # the first letter decides, not the bracket
