"""CoNLL-U as sentences of a Doc: the text is put together from forms and MISC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.language.formats import conllu
from eigentext.language.formats.conll import has_controls, single_blanks
from eigentext.pipeline.doc import Columns, DocSentence, DocToken
from eigentext.pipeline.writing import one_blank

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["sentences_of_conllu", "without_controls"]


def sentences_of_conllu(
    source: str | Iterable[conllu.Sentence],
) -> tuple[str, tuple[DocSentence, ...]]:
    """The text, and its sentences with all their columns."""
    parsed = list(
        conllu.parse_sentences(source) if isinstance(source, str) else conllu.each_conllu(source)
    )
    pieces: list[str] = []
    at = 0
    sentences = []
    for number, sentence in enumerate(map(without_controls, parsed), start=1):
        final = number == len(parsed)
        begins = not final and any(
            _begins_paragraph(comment) for comment in parsed[number].comments
        )
        made, at = _sentence(sentence, pieces, at, last=final, before_paragraph=begins)
        sentences.append(made)
    return "".join(pieces), tuple(sentences)


def without_controls(sentence: conllu.Sentence) -> conllu.Sentence:
    """The sentence with blanks for control characters; MISC tells of those that a token had."""
    if not has_controls(sentence.verbatim):
        return sentence
    lines = []
    for line in sentence.verbatim.split("\n"):
        cells = line.split("\t")
        if not has_controls(line):
            pass
        elif line.startswith("#"):
            line = single_blanks(line)
        else:
            cells[1], cells[9] = one_blank(cells[1], cells[9])
            line = "\t".join(single_blanks(c) if has_controls(c) else c for c in cells)
        lines.append(line)
    return conllu.parse_sentence("\n".join(lines))


def _begins_paragraph(comment: str) -> bool:
    word = comment[1:].split("=")[0].split()
    return bool(word) and word[0] in ("newpar", "newdoc")


def _sentence(
    sentence: conllu.Sentence, pieces: list[str], at: int, *, last: bool, before_paragraph: bool
) -> tuple[DocSentence, int]:
    """A sentence whose first token stands at ``at`` or later; its text goes to ``pieces``."""
    rows = sentence.rows
    ranges = {unit.start: unit for unit in sentence.ranges}
    tokens: list[DocToken] = []
    inside: list[str] | None = None  # what words of multiword tokens have in MISC
    number = 1
    while number <= len(rows):
        unit = ranges.get(number)
        row = rows[number - 1]
        end_word, form, misc = (
            (number, row[1], row[9]) if unit is None else (unit.end, unit.form, unit.misc)
        )
        spaces = _spaces(misc)
        if unit is not None:
            inside = inside or ["_"] * len(rows)
            inside[number - 1 : end_word] = (row[9] for row in rows[number - 1 : end_word])
        typed = (
            conllu.unescape_spaces(spaces["SpacesInToken"]) if "SpacesInToken" in spaces else form
        )
        before = conllu.unescape_spaces(spaces.get("SpacesBefore", ""))
        final = end_word == len(rows)
        gap = _gap(spaces, last=last and final, before_paragraph=before_paragraph and final)
        begin = at + len(before)
        tokens.append(DocToken(begin, begin + len(typed), form, misc, number, end_word))
        pieces += (before, typed, gap)
        at = begin + len(typed) + len(gap)
        number = end_word + 1
    made = DocSentence(
        tokens,
        Columns(
            sentence.forms,
            lemmas=_column(rows, 2),
            upos=_column(rows, 3),
            xpos=_column(rows, 4),
            feats=_column(rows, 5),
            heads=sentence.heads,
            deprels=_column(rows, 7),
            deps=_column(rows, 8),
            misc=inside if inside and set(inside) != {"_"} else None,
        ),
        new_paragraph=any(_begins_paragraph(comment) for comment in sentence.comments),
        sent_id=sentence.metadata.get("sent_id"),
        comments=sentence.comments,
        empty_nodes=tuple(_empty_nodes(sentence)),
    )
    return made, at


def _column(rows: list[list[str]], place: int) -> tuple[str, ...] | None:
    cells = tuple(row[place] for row in rows)
    return None if set(cells) == {"_"} else cells


def _empty_nodes(sentence: conllu.Sentence) -> Iterator[tuple[int, str]]:
    for _, line in sentence.numbered_lines:
        identifier = line.partition("\t")[0]
        if "." in identifier and not line.startswith("#"):
            yield int(identifier.partition(".")[0]), line


def _spaces(misc: str) -> dict[str, str]:
    """What MISC says of white space."""
    if "Space" not in misc:
        return {}
    pairs = (item.partition("=") for item in misc.split("|"))
    return {name: value for name, _, value in pairs if name.startswith("Space")}


def _gap(spaces: dict[str, str], *, last: bool, before_paragraph: bool) -> str:
    if "SpacesAfter" in spaces:
        return conllu.unescape_spaces(spaces["SpacesAfter"])
    if last:
        return ""
    if before_paragraph:
        return "\n\n"
    return "" if spaces.get("SpaceAfter") == "No" else " "
