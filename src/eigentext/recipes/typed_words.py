"""A treebank of vocalised words as people type them, for data that keeps the two apart.

The treebank has the words of syntax with their vowel signs, ``words.jsonl`` (see `lexical`) the
words as they are typed and, in ``vocalised``, the treebank's words that each of them stands for,
with ``+`` between them.  Here they are put together:

1. a typed word that stands for one word gives it its form;
2. one that stands for several becomes a multiword token over them, whose forms lose their marks
   (``للحظر`` is ``ل`` and ``الحظر``);
3. such data does not say where blanks are: there is none before closing punctuation and behind
   opening one, as one types.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from unicodedata import category

from eigentext.base.files.opening import numbered_lines
from eigentext.errors import DataError
from eigentext.language.formats.conllu import ConlluBlock, conllu_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CLOSING = frozenset(".,;:?!…،؛؟۔")
_NO_SPACE = "SpaceAfter=No"


def as_typed(sentences: Iterable[ConlluBlock], words: str) -> Iterator[ConlluBlock]:
    """The sentences with the forms of the file ``words``, which has them in the same order.

    The file may have other sentences before, between and behind them.
    """
    typed_lines = _read(words)
    for sentence in sentences:
        forms = list(sentence.forms)
        for typed in typed_lines:
            if (units := _units(typed, forms)) is not None:
                yield _typed(sentence, units)
                break
        else:
            why = f"has no typed words for the sentence at line {sentence.first_line} of "
            raise DataError(words, None, f"{why}{sentence.source}")


def _read(path: str) -> Iterator[list[tuple[str, str]]]:
    """Line by line, the words as typed and as the treebank has them."""
    for number, line in numbered_lines(path):
        try:
            record: Any = json.loads(line)
            yield [(word["form"], word["vocalised"]) for word in record["words"]]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            why = f"expected words with form and vocalised: {error}"
            raise DataError(path, number, why) from error


def _units(typed: list[tuple[str, str]], forms: list[str]) -> list[tuple[str, int]] | None:
    """For each typed word its form and the number of words it stands for; None: other words."""
    units, at = [], 0
    for form, vocalised in typed:
        if vocalised == (forms[at] if at < len(forms) else None):
            pieces = [vocalised]
        else:
            pieces = vocalised.split("+")
        if forms[at : at + len(pieces)] != pieces:
            return None
        # a mark that stands alone is typed as it is
        units.append((form or "".join(pieces), len(pieces)))
        at += len(pieces)
    return units if at == len(forms) else None


def _typed(sentence: ConlluBlock, units: list[tuple[str, int]]) -> ConlluBlock:
    rows = sentence.rows
    multiword = []
    at = 0
    for number, (form, size) in enumerate(units):
        after = units[number + 1][0] if number + 1 < len(units) else ""
        misc = _NO_SPACE if _joined(form, after) else "_"
        if size > 1:
            multiword.append((at + 1, at + size, form, misc))
        for row in rows[at : at + size]:
            row[1] = form if size == 1 else _without_marks(row[1])
            row[9] = misc if size == 1 else "_"
        at += size
    _, *columns = zip(*rows, strict=True)
    lines = [*sentence.comments, *conllu_rows(columns, multiword)]
    return ConlluBlock("\n".join(lines) + "\n\n")


def _joined(form: str, after: str) -> bool:
    """Whether no blank stands between two typed words.

    >>> _joined("(", "a"), _joined("a", ")"), _joined("a", "،"), _joined("a", "b")
    (True, True, True, False)
    """
    opens = len(form) == 1 and category(form) in ("Ps", "Pi")
    closes = len(after) == 1 and (category(after) in ("Pe", "Pf") or after in _CLOSING)
    return opens or closes


def _without_marks(form: str) -> str:
    """The letters of a form.

    >>> _without_marks("اَلحَظرِ")
    'الحظر'
    """
    return "".join(letter for letter in form if category(letter) != "Mn") or form
