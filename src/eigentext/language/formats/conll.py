"""Lines of ten TAB-separated columns: what CoNLL-U and CoNLL-X ask of them, and of their cells."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NoReturn

from eigentext.errors import DataError
from eigentext.language.formats.blocks import Block, content_lines, shown

# what no cell may have: control characters, and halves of surrogate pairs, which UTF-8 has not
_IN_NO_CELL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
# those of them that are not white space anyway
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")
_STAND_IN = "\ufffd"  # for a form of which nothing would be left

N_COLUMNS = 10
FORM, HEAD, LAST = 1, 6, N_COLUMNS - 1  # places of columns

# "7" -> 7 for the numbers met so far.  A look-up is faster than int() and, unlike int(), takes
# neither "07" nor "+7" nor digits of other scripts.
_numbers: dict[str, int] = {}


def _know_numbers(up_to: int) -> None:
    for number in range(len(_numbers), up_to + 1):
        _numbers[str(number)] = number


_know_numbers(255)


def has_controls(cell: str) -> bool:
    """Whether there is a control character in a cell, or half a surrogate pair."""
    return _IN_NO_CELL.search(cell) is not None


def controls_as_blanks(text: str) -> str:
    r"""The text with a blank for each control character that is not white space anyway.

    >>> controls_as_blanks("a\x00\x1bb\n")
    'a  b\n'
    """
    return _CONTROLS.sub(" ", text)


def single_blanks(text: str) -> str:
    r"""FORM or LEMMA of what was typed: white space is single blanks; of nothing else, U+FFFD.

    >>> single_blanks("10\u00a0\x00000\x07"), single_blanks("\x00")
    ('10 000', '\ufffd')
    """
    return " ".join(controls_as_blanks(text).split()) or _STAND_IN


def checked_columns(
    names: Sequence[str], columns: Mapping[str, Sequence[object] | None], n_words: int
) -> dict[int, list[str]]:
    """Place of the column -> one cell per word, fit to be written."""
    checked: dict[int, list[str]] = {}
    for name, values in columns.items():
        if values is None:
            continue
        if isinstance(values, str):
            raise TypeError(f"{name} must be a sequence with one value per word, not one str")
        if len(values) != n_words:
            raise ValueError(f"found {len(values)} values of {name} for {n_words} words")
        if name not in names[FORM:]:
            raise TypeError(f"no column {name!r} to be given; expected {', '.join(names[FORM:])}")
        column = list(names).index(name)
        if column == FORM:
            cells = list(map(str, values))
        else:  # what is not known is `_`
            cells = [str(value) if value is not None and value != "" else "_" for value in values]
        for number, cell in enumerate(cells, start=1):
            no_form = column == FORM and not cell.strip(" ")
            if has_controls(cell):
                cells[number - 1] = single_blanks(cell)
            if no_form or "\t" in cell or "\n" in cell or (column == LAST and cell[-1] == "\r"):
                raise ValueError(
                    f"{name} of word {number} is {shown(cell)}; "
                    "expected some characters, none of them a TAB or a line end"
                )
        if column == HEAD:
            fault = _head_fault(cells)
            if fault:
                raise ValueError(f"word {fault[0] + 1}: {fault[1]}")
        checked[column] = cells
    return checked


# -- the check that every sentence passes on its way in ------------------------------------------


def check_sentence(block: Block, *, extended: bool) -> None:
    """DataError unless the block has ten-column lines; ``extended``: comments, 3-4 and 8.1."""
    heads: list[str] = []
    lines_of_words: list[int] = []
    extras = _Extras()
    n_words = 0
    lines = content_lines(block.text)
    start = next((index for index, line in enumerate(lines) if line), 0)  # of the file: may be > 0
    for number, line in enumerate(lines[start:], start=block.first_line + start):
        if line[:1] == "#" and extended:
            continue
        cells = line.split("\t")
        if len(cells) != N_COLUMNS:
            _refuse(block, number, _wrong_columns(line, len(cells)))
        if not cells[FORM].strip(" "):
            _refuse(block, number, f"found no form in column 2; expected the word {cells[0]}")
        if _numbers.get(cells[0]) == n_words + 1:
            n_words += 1
            if n_words + 1 == len(_numbers):
                _know_numbers(2 * n_words)
            heads.append(cells[HEAD])
            lines_of_words.append(number)
            continue
        if not extended:
            _refuse(block, number, f"found id {shown(cells[0])}; expected {n_words + 1}")
        why = extras.fault(cells[0], n_words, number)
        if why:
            _refuse(block, number, why)
    if not n_words:
        _refuse(block, block.first_line, "found no words; expected a line with id 1")
    if extras.covered > n_words:
        why = f"found a range up to {extras.covered}; expected at most {n_words}, the last word"
        _refuse(block, extras.range_line, why)
    fault = _head_fault(heads)
    if fault:
        _refuse(block, lines_of_words[fault[0]], fault[1])


class _Extras:
    """Follows the ranges and empty nodes of one sentence."""

    def __init__(self) -> None:
        self.covered = 0  # last word of the latest range, which stands on `range_line`
        self.range_line = 0
        self.empty_after, self.n_empty = -1, 0  # empty nodes so far after word `empty_after`

    def fault(self, identifier: str, n_words: int, line: int) -> str | None:
        """What is wrong with a range or empty node that follows word ``n_words``."""
        start, dash, end = identifier.partition("-")
        if dash and _is_number(start) and _is_number(end):
            if int(start) != n_words + 1 or int(end) < int(start) or n_words < self.covered:
                return (
                    f"found range {identifier}; expected one that begins with the next word, "
                    f"{n_words + 1}, ends there or later and overlaps no other range"
                )
            self.covered, self.range_line = int(end), line
            return None
        word, dot, count = identifier.partition(".")
        if dot and _is_number(word) and _is_number(count):
            self.n_empty = self.n_empty + 1 if self.empty_after == n_words else 1
            self.empty_after = n_words
            if int(word) == n_words and int(count) == self.n_empty:
                return None
            return f"found empty node {identifier}; expected {n_words}.{self.n_empty}"
        return (
            f"found id {shown(identifier)}; expected {n_words + 1}, a range such as "
            f"{n_words + 1}-{n_words + 2} or an empty node such as {n_words}.1"
        )


def _is_number(text: str) -> bool:
    canonical = text.isascii() and text.isdigit() and (text == "0" or text[0] != "0")
    return canonical and len(text) < 10


def _head_fault(heads: Sequence[str]) -> tuple[int, str] | None:
    """(index of a word, what is wrong with its head), or None when all is well."""
    n_words = len(heads)
    all_or_none = "expected heads for all words or '_' for all"
    if heads[0] == "_":
        for word, head in enumerate(heads):
            if head != "_":
                return word, f"found head {shown(head)} after a word with head '_'; {all_or_none}"
        return None
    _know_numbers(n_words)
    numbers = [_numbers.get(head, -1) for head in heads]
    if min(numbers) < 0 or max(numbers) > n_words:
        word = next(k for k, head in enumerate(numbers) if not 0 <= head <= n_words)
        if heads[word] == "_" and word:
            return word, f"found head '_' after a word with a head; {all_or_none}"
        return word, f"found head {shown(heads[word])}; expected a number from 0 to {n_words}"
    if 0 not in numbers:
        return 0, "found no word whose head is 0; expected at least one root"
    # Walk up from each word to a word seen before.  If that was in this very walk: a cycle.
    seen_from = [0] * (n_words + 1)
    seen_from[0] = -1
    for start in range(1, n_words + 1):
        word = start
        while not seen_from[word]:
            seen_from[word] = start
            word = numbers[word - 1]
        if seen_from[word] == start:
            return word - 1, f"found the cycle {_cycle(numbers, word)}; expected a tree"
    return None


def _cycle(heads: Sequence[int], start: int) -> str:
    path = [start]
    while len(path) < 10 and heads[path[-1] - 1] != start:
        path.append(heads[path[-1] - 1])
    end = str(start) if heads[path[-1] - 1] == start else "..."
    return " -> ".join([*map(str, path), end])


def _wrong_columns(line: str, n_found: int) -> str:
    if not line.strip():
        blank = "a line of white space" if line else "an empty line inside the sentence"
        return f"found {blank}; expected 10 columns, separated by TAB"
    columns = "1 column" if n_found == 1 else f"{n_found} columns"
    return f"found {columns} in {shown(line)}; expected 10, separated by TAB"


def _refuse(block: Block, line: int, why: str) -> NoReturn:
    raise DataError(block.source, line, why)
