"""The text behind a treebank: its tokens stand in it, whatever its rows tell of white space."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.language.formats.conllu import make_sentence, parse_sentence
from eigentext.tagging.segmentation import Segmenter
from eigentext.tagging.segmentation.raw import lay_out, raw_text, surface

FORMS = st.sampled_from(
    ["a", "Bob", "10 000", ".", "我", "e\u0301", "👩\u200d🔬", "שלום", "a\u00ad"]
)
SPACES = {
    "_": " ", "SpaceAfter=No": "", "SpacesAfter=\\s\\s": "  ", "SpacesAfter=\\n": "\n",
    "SpacesAfter=x": " ", "SpaceAfter=Yes": " ", "SpacesAfter=\\t": "\t",
}  # fmt: skip
TOKENS = st.lists(
    st.tuples(FORMS, st.sampled_from(sorted(SPACES)), st.sampled_from([1, 1, 2, 3])),
    min_size=1, max_size=5,
)  # fmt: skip


def conllu(tokens, comments=()) -> str:
    """Rows of tokens, some of which are several words with the lemmas l1, l2, ..."""
    lines, number = [f"# {comment}" for comment in comments], 1
    for form, misc, n_words in tokens:
        if n_words > 1:
            last = number + n_words - 1
            lines.append("\t".join([f"{number}-{last}", form, *"_" * 7, misc]))
        for k in range(n_words):
            word, own = (f"w{k}", "_") if n_words > 1 else (form, misc)
            lines.append("\t".join([str(number), word, f"l{number}", *"_" * 6, own]))
            number += 1
    return "\n".join(lines) + "\n"


@settings(max_examples=60)
@given(st.lists(st.tuples(TOKENS, st.sampled_from([None, "newpar", "newdoc id = 3", "newparty"]),
                          st.booleans()), min_size=1, max_size=4))  # fmt: skip
def test_a_layout_has_every_token_where_it_stands(made) -> None:
    sentences, texts, gaps = [], [], []
    for tokens, comment, with_text in made:
        text = "".join(form + SPACES[misc] for form, misc, _ in tokens)
        last = SPACES[tokens[-1][1]]
        text = text[: len(text) - len(last)]
        comments = [comment] if comment else []
        # white space is what the text has; without one there is a space or none
        text = re.sub(r"\s+", "\u2003 " if with_text else " ", text)
        if with_text:
            comments.append(f"text = {text}")
        if gaps and comment in ("newpar", "newdoc id = 3"):
            gaps[-1] = "\n\n"
        sentences.append(parse_sentence(conllu(tokens, comments)))
        texts.append(text)
        gaps.append(last)
    layout = lay_out(sentences)
    gaps[-1] = "\n"
    assert layout.text == "".join(map("".join, zip(texts, gaps, strict=True)))
    every = [token for tokens, *_ in made for token in tokens]
    forms = [re.sub(r"\s+", " ", layout.text[a:b]) for a, b in layout.spans]
    assert forms == [form for form, *_ in every]
    spans = [(0, 0), *layout.spans]
    assert all(not layout.text[a[1] : b[0]].strip() for a, b in pairwise(spans))
    words = [tuple(f"w{k}" for k in range(n)) if n > 1 else () for _, _, n in every]
    assert layout.words == words
    assert list(map(len, layout.lemmas)) == [n for *_, n in every]
    ends = [sum(len(tokens) for tokens, *_ in made[: k + 1]) for k in range(len(made))]
    assert layout.ends == ends


def test_lemmas_are_those_of_the_words_of_a_token() -> None:
    one = surface(parse_sentence(conllu([("ab", "_", 2), ("c", "_", 1), ("d", "_", 3)])))
    assert one.lemmas == [("l1", "l2"), ("l3",), ("l4", "l5", "l6")]
    assert (one.text, one.after) == ("ab c d", " ")


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("a  b", [(0, 1), (3, 4)]),
        ("ab ", [(0, 1), (1, 2)]),
        ("a c", [(0, 1), (2, 3)]),  # another text: the forms are laid out
        ("a b c", [(0, 1), (2, 3)]),
        ("b a", [(0, 1), (2, 3)]),
        ("", [(0, 1), (2, 3)]),
    ],
)
def test_a_text_is_taken_where_the_forms_are_in_it(text, spans) -> None:
    one = surface(make_sentence(["a", "b"], metadata={"text": text}))
    assert one.spans == spans
    assert [one.text[start:end] for start, end in spans] == ["a", "b"]


@pytest.mark.parametrize("first", ["\ufeffAnn", "\x00", "\u0301a", "\u200d"])
def test_a_treebank_that_begins_with_an_odd_character(first) -> None:
    """A byte order mark is no text, so the token begins behind it."""
    treebank = [make_sentence([first, "ran"]), *[make_sentence(["Bob", "sat"])] * 5]
    segmenter = Segmenter(epochs=2, bits=8).fit(treebank)
    text = raw_text(treebank)
    spans = [token[:2] for one in segmenter.segment(text) for token in one.tokens]
    assert "".join(text[a:b] for a, b in spans) == re.sub(r"\s", "", text).removeprefix("\ufeff")
