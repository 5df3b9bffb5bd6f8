"""A text tokenised in memory is the text tokenised from its file."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from eigentext.base.files.opening import atomic_write
from eigentext.counting.raw_text import read_tokenised, tokenise_document

TEXTS = st.text(st.sampled_from("ab. \t\n\r\ufeff\u200fكَ1؟!ـ\u2028"), max_size=40)


@settings(max_examples=150)
@given(TEXTS, st.sampled_from(["arabic", "generic"]))
@example("\ufeffكتب.\r\n\r\nقرأ\r.", "arabic")
@example("\n\n a\n \nb", "generic")
def test_a_text_and_its_file_agree(text: str, scheme: str) -> None:
    with atomic_write("memory://raw-text-test.txt") as out:
        out.write(text.encode())
    found = tokenise_document(text, scheme)
    read = list(read_tokenised("memory://raw-text-test.txt", scheme))
    assert [[token.form for token in tokens] for tokens in found] == read
    end = 0
    for token in (token for tokens in found for token in tokens):
        assert end <= token.start < token.end <= len(text)
        typed = text[token.start : token.end]
        assert set(token.form) <= set(typed)
        end = token.end


def test_a_paragraph_without_end_is_cut_where_the_file_is() -> None:
    text = "a b\n" * 4001
    with atomic_write("memory://raw-text-long.txt") as out:
        out.write(text.encode())
    found = tokenise_document(text)
    assert [[t.form for t in s] for s in found] == list(
        read_tokenised("memory://raw-text-long.txt")
    )
    assert all(text[t.start : t.end] == t.form for s in found for t in s)
