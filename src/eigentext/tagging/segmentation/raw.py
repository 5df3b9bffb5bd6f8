r"""The raw text behind a treebank: what a writer typed before anybody cut it into words.

Between two sentences is a space, or nothing after ``SpaceAfter=No``, or what ``SpacesAfter`` says;
a blank line at ``newpar``, ``newdoc``.

>>> from eigentext.language.formats.conllu import make_sentence
>>> no_space = ["SpaceAfter=No", "_"]
>>> first = make_sentence(["Hi", "!"], misc=no_space)
>>> second = make_sentence(["Go", "."], misc=no_space, metadata={"newpar": ""})
>>> raw_text([first, first, second])
'Hi! Hi!\n\nGo.\n'
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from eigentext.language.formats.conll import controls_as_blanks
from eigentext.language.formats.conllu import each_conllu, parse_pairs, unescape_spaces

if TYPE_CHECKING:
    from collections.abc import Iterable

    from eigentext.language.formats.conllu import ConlluBlock, Treebank

_SPACES = re.compile(r"\s+")


class Layout(NamedTuple):
    """A text with its gold answer."""

    text: str
    spans: list[tuple[int, int]]  # (start, end) of each token in the text
    words: list[tuple[str, ...]]  # of each token its syntactic words, none of an ordinary token
    lemmas: list[tuple[str, ...]]  # of the token's words; of an ordinary token its own
    ends: list[int]  # for each sentence the number of tokens up to its end
    after: str = ""  # the white space behind a sentence


def surface(sentence: ConlluBlock) -> Layout:
    """The tokens of a sentence in its text; the text is made of the forms where they differ."""
    rows = sentence.rows
    tokens = sentence.tokens
    forms = [token.form for token in tokens]
    miscs = [token.misc for token in tokens]
    words_of = [rows[token.first - 1 : token.last] for token in tokens]
    words = [tuple(row[1] for row in part) if len(part) > 1 else () for part in words_of]
    lemmas = [tuple(row[2] for row in part) for part in words_of]
    text = sentence.text
    spans = _spans_of(text, forms)
    if spans is None:
        gaps = [_space(misc) for misc in miscs]
        text, spans = "", []
        for form, gap in zip(forms, gaps, strict=True):
            spans.append((len(text), len(text) + len(form)))
            text += form + gap
        text = text[: spans[-1][1]]
    return Layout(text[: spans[-1][1]], spans, words, lemmas, [len(spans)], _space(miscs[-1]))


def _spans_of(text: str, forms: list[str]) -> list[tuple[int, int]] | None:
    """Where the forms stand in the text, one after the other with white space between them."""
    spans = []
    at = 0
    for form in forms:
        while at < len(text) and text[at].isspace():
            at += 1
        end = at + len(form)
        if text[at:end] != form:
            pieces = map(re.escape, form.split())
            matched = re.compile(r"\s+".join(pieces)).match(text, at)
            if matched is None:
                return None
            end = matched.end()
        if end == at:
            return None
        spans.append((at, end))
        at = end
    return spans if not text[at:].strip() else None


def _space(misc: str) -> str:
    """The white space behind a token, by its MISC."""
    pairs = parse_pairs(misc)
    if (spaces := pairs.get("SpacesAfter")) is not None:
        spaces = controls_as_blanks(unescape_spaces(spaces))
        if not spaces.strip():
            return spaces
    return "" if pairs.get("SpaceAfter") == "No" else " "


def lay_out(sentences: Treebank) -> Layout:
    """All sentences in one text."""
    pieces: list[str] = []
    spans: list[tuple[int, int]] = []
    words: list[tuple[str, ...]] = []
    lemmas: list[tuple[str, ...]] = []
    ends: list[int] = []
    length = 0
    gap = ""
    for sentence in each_conllu(sentences):
        shown = surface(sentence)
        starts_paragraph = any(
            _SPACES.split(comment[1:].strip(), maxsplit=1)[0] in ("newpar", "newdoc")
            for comment in sentence.comments
        )
        if pieces:
            gap = "\n\n" if starts_paragraph else gap
            pieces.append(gap)
            length += len(gap)
        spans += [(start + length, end + length) for start, end in shown.spans]
        words += shown.words
        lemmas += shown.lemmas
        ends.append(len(spans))
        pieces.append(shown.text)
        length += len(shown.text)
        gap = shown.after
    if pieces:
        pieces.append("\n")
    return Layout("".join(pieces), spans, words, lemmas, ends)


def raw_text(sentences: Iterable[ConlluBlock]) -> str:
    """The text that the sentences were cut from, as far as the treebank tells."""
    return lay_out(sentences).text
