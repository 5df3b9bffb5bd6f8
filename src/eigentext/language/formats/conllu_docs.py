r"""Docs as CoNLL-U, written from their columns.

White space goes by the conventions of UDPipe, so that the text can be put together again:
``SpaceAfter=No`` where none follows; ``SpacesAfter=`` where it is anything but one blank, with
``\s \t \r \n \p \\`` for blank, TAB, CR, LF, ``|`` and ``\``, and ``\u00A0`` and the like for
any other; ``SpacesBefore=`` before the first token of a text, and ``SpacesInToken=`` where white
space inside a token is not single blanks.
The last token of a text says ``SpacesAfter=`` if any space follows, and nothing if none does:
a new document may come after it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from eigentext.language.formats import conllu
from eigentext.language.formats.conll import controls_as_blanks, has_controls, single_blanks
from eigentext.language.formats.conllu import conllu_rows, escape_spaces, unescape_spaces
from eigentext.language.sentence import COLUMNS, Columns, Sentence
from eigentext.language.token import Token, Word, plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eigentext.language.doc import Doc

_NO_SPACE = "SpaceAfter=No"


@lru_cache(4096)
def space_after(gap: str, *, last: bool = False) -> str:
    r"""What MISC says of the white space after a token; ``last``: nothing more follows it.

    >>> space_after(" "), space_after(""), space_after("\n\n"), space_after("", last=True)
    ('_', 'SpaceAfter=No', 'SpacesAfter=\\n\\n', '_')
    """
    if last:
        return f"SpacesAfter={escape_spaces(gap)}" if gap else "_"
    if gap == " ":
        return "_"
    return f"SpacesAfter={escape_spaces(gap)}" if gap else _NO_SPACE


def both(first: str, second: str) -> str:
    """Two cells of MISC as one.

    >>> both("_", "A=1"), both("A=1", "B=2")
    ('A=1', 'A=1|B=2')
    """
    if second == "_":
        return first
    return second if first == "_" else f"{first}|{second}"


def one_blank(form: str, misc: str) -> tuple[str, str]:
    r"""FORM with single blanks inside, and MISC that tells what was typed where that differs.

    >>> one_blank("10 \x00000", "_")
    ('10 000', 'SpacesInToken=10\\s\\u0000000')
    """
    if form.isprintable() and " " not in form:  # as nearly all are
        return form, misc
    single = single_blanks(form)
    if single != form and "SpacesInToken=" not in misc:
        misc = both(misc, f"SpacesInToken={escape_spaces(form)}")
    return single, misc


def _without_range(misc: str) -> str:
    """Without the place that an input gave."""
    if "TokenRange=" not in misc:
        return misc
    return "|".join(i for i in misc.split("|") if not i.startswith("TokenRange=")) or "_"


def word_miscs(
    sentence: Sentence, *, start: int | None = None, probabilities: bool = False
) -> list[str]:
    """The MISC of each word: that of its token, unless it is one of several, and its own."""
    miscs = [
        misc
        for _, _, _, misc, first, last in sentence.tokens
        for misc in ((misc,) if first == last else ("_",) * (last - first + 1))
    ]
    if start is not None:
        where = ["_"] * len(miscs)
        for _, begin, end, _, first, last in sentence.tokens:
            if first == last:
                where[first - 1] = f"TokenRange={start + begin}:{start + end}"
        miscs = list(map(both, map(_without_range, miscs), where))
    if sentence.columns.misc is not None:
        miscs = list(map(both, sentence.columns.misc, miscs))
    for column in _IN_MISC:
        values = column.of(sentence)
        if values is not None and (not column.when or probabilities):
            miscs = list(map(both, map(column.conllu.format, values), miscs))
    return miscs


# the last goes in first: each stands before those that are there
_IN_MISC = [column for column in reversed(COLUMNS) if "=" in column.conllu]


def _block(sentence: Sentence, start: int | None, probabilities: bool) -> str:
    """The lines of a sentence without its comments, with the empty line after it."""
    columns = sentence.columns
    heads = None if columns.heads is None else list(map(str, columns.heads))
    cells: list[Sequence[str] | None] = [columns.forms, columns.lemmas, columns.upos]
    cells += [columns.xpos, columns.feats, heads, columns.deprels, columns.deps]
    cells.append(word_miscs(sentence, start=start, probabilities=probabilities))
    units = []
    if len(sentence.tokens) != len(columns.forms):
        for form, begin, end, misc, first, last in sentence.tokens:
            if first < last:
                if start is not None:
                    misc = both(_without_range(misc), f"TokenRange={start + begin}:{start + end}")
                units.append((first, last, form, misc))
    return "\n".join(conllu_rows(cells, units, sentence.empty_nodes)) + "\n\n"


def _is(comment: str, name: str) -> bool:
    """Is it ``# name = ...``, or ``# name`` alone?"""
    key = comment[1:].partition("=")[0].strip()
    return key == name or key.startswith(name + " ")


def conllu_parts(
    doc: Doc, *, newdoc: bool = True, offsets: bool = False, probabilities: bool = False
) -> list[str]:
    """CoNLL-U with the numbers of sentences left out: they belong between the parts."""
    parts: list[str] = []
    held: list[str] = []  # of the part that is under way
    start = doc.start if offsets else None
    # a comment is one line, whatever a file is called
    name = " ".join(controls_as_blanks(doc.id or "").split())
    for at, sentence in enumerate(doc.sentences):
        comments = sentence.comments
        begins = newdoc and at == 0
        if comments is None:
            if begins:
                held.append(f"# newdoc id = {name}\n" if name else "# newdoc\n")
            if sentence.new_paragraph:
                held.append("# newpar\n")
            named, has_text = sentence.sent_id is not None, False
            if named:
                held.append(f"# sent_id = {sentence.sent_id}\n")
        else:
            if begins and name and not any(_is(comment, "newdoc") for comment in comments):
                held.append(f"# newdoc id = {name}\n")
            held.extend(f"{comment}\n" for comment in comments)
            named = any(_is(comment, "sent_id") for comment in comments)
            has_text = any(_is(comment, "text") for comment in comments)
        if not named:
            held.append("# sent_id = ")
            parts.append("".join(held))
            held = ["\n"]
        if not has_text:
            held.append(f"# text = {plain_text(sentence.tokens)}\n")
        if sentence.brackets is not None:
            held.append(f"# constituency = {sentence.brackets}\n")
        held.append(_block(sentence, start, probabilities))
    return [*parts, "".join(held)]


def numbered(parts: Iterable[str], first: int) -> str:
    """The parts with numbers from ``first`` between them.

    >>> numbered(["a", "b", "c"], 7)
    'a7b8c'
    """
    pieces: list[str] = []
    for number, part in enumerate(parts, start=first - 1):
        if pieces:
            pieces.append(str(number))
        pieces.append(part)
    return "".join(pieces)


def sentences_of_conllu(
    source: str | Iterable[conllu.ConlluBlock],
) -> tuple[str, tuple[Sentence, ...]]:
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
        sentence_of_doc, at = _sentence(sentence, pieces, at, last=final, before_paragraph=begins)
        sentences.append(sentence_of_doc)
    return "".join(pieces), tuple(sentences)


def without_controls(sentence: conllu.ConlluBlock) -> conllu.ConlluBlock:
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
    sentence: conllu.ConlluBlock, pieces: list[str], at: int, *, last: bool, before_paragraph: bool
) -> tuple[Sentence, int]:
    """A sentence whose first token stands at ``at`` or later; its text goes to ``pieces``."""
    rows = sentence.rows
    tokens: list[Token] = []
    for token in sentence.tokens:
        spaces = conllu.parse_pairs(token.misc)
        typed = token.form
        if "SpacesInToken" in spaces:
            typed = unescape_spaces(spaces["SpacesInToken"])
        before = unescape_spaces(spaces.get("SpacesBefore", ""))
        final = token.last == len(rows)
        gap = _gap(spaces, last=last and final, before_paragraph=before_paragraph and final)
        begin = at + len(before)
        tokens.append(token._replace(start=begin, end=begin + len(typed)))
        pieces += (before, typed, gap)
        at = begin + len(typed) + len(gap)
    inside = ["_"] * len(rows)  # what words of multiword tokens have in MISC
    for unit in sentence.ranges:
        inside[unit.start - 1 : unit.end] = (row[9] for row in rows[unit.start - 1 : unit.end])
    columns = {name: tuple(row[at] for row in rows) for name, at in _READ}
    laid_out = Sentence(
        tokens,
        Columns(
            sentence.forms,
            **{name: None if set(cells) == {"_"} else cells for name, cells in columns.items()},
            heads=sentence.heads,
            misc=inside if set(inside) != {"_"} else None,
        ),
        new_paragraph=any(_begins_paragraph(comment) for comment in sentence.comments),
        sent_id=sentence.metadata.get("sent_id"),
        comments=sentence.comments,
        empty_nodes=sentence.empty_nodes,
    )
    return laid_out, at


# fields of Columns that are read as they stand, and their places in a line
_READ = [
    (column.name, Word._fields.index(column.conllu))
    for column in COLUMNS
    if column.conllu in Word._fields and column.name not in ("forms", "heads", "misc")
]


def _gap(spaces: dict[str, str], *, last: bool, before_paragraph: bool) -> str:
    if "SpacesAfter" in spaces:
        return unescape_spaces(spaces["SpacesAfter"])
    if last:
        return ""
    if before_paragraph:
        return "\n\n"
    return "" if spaces.get("SpaceAfter") == "No" else " "
