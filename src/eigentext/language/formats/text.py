r"""Pre-tokenised text: one sentence a line, tokens separated by ASCII white space."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence

from eigentext.base.files.opening import OnError, Source, numbered_lines, write_lines
from eigentext.errors import DataError, DataWarning
from eigentext.language.formats.records import documents, kind_of

WHITE_SPACE = " \t\r\v\f"

# the first line of a tree that goes on: "(S", "( (S", "(S (NP (DT the) (NN dog))"
_TREE_BEGINS = re.compile(r"\(\s*(?:\(\s*)?[A-Z][A-Z$=|+*-]*[0-9-]*(?:\s*\(\s*[A-Z].*)?\s*")

# the first line of CoNLL-U: a comment that only it has, or a word with its ten columns
_CONLLU_BEGINS = re.compile(
    r"#\s*(?:newdoc|newpar)(?:\s+id)?\s*(?:=.*)?|#\s*(?:global\.columns|sent_id|text)\s*=.*"
    r"|[0-9]+(?:[-.][0-9]+)?(?:\t[^\t]+){9}\s*"
)

_NOT_IN_TOKENS = re.compile(r"[ \t\r\v\f\n]")
# str.split() also splits at these, so a line that holds one of them takes the slow way
_OTHER_SPACE = re.compile("[\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")


def split_tokens(line: str) -> list[str]:
    r"""The tokens of a line.

    >>> split_tokens("  to be\tor not ")
    ['to', 'be', 'or', 'not']
    >>> split_tokens("10\u00a0000 people")  # the no-break space survives
    ['10\xa0000', 'people']
    """
    if _OTHER_SPACE.search(line) is None:
        return line.split()
    return [token for token in _NOT_IN_TOKENS.split(line) if token]


def check_tokens(path: str, number: int, tokens: Sequence[str]) -> None:
    """Refuse tokens that would not come back from a line of text.

    >>> check_tokens("sentences", 2, ["New York"])
    Traceback (most recent call last):
    eigentext.errors.DataError: sentences:2: token 'New York': expected at least one character \
and no white space
    """
    for token in tokens:
        if not token or _NOT_IN_TOKENS.search(token):
            why = f"token {token[:60]!r}: expected at least one character and no white space"
            raise DataError(path, number, why)


def check_text(path: str, number: int, line: str) -> None:
    """Refuse a first line that is JSON, CoNLL-U or a tree, and warn where a tree may begin.

    >>> check_text("trees.mrg", 1, "(S (NP (NN rain)) (VP (VBZ falls)))")
    Traceback (most recent call last):
    eigentext.errors.DataError: trees.mrg:1: a bracketed tree, expected text: `eigentext convert` \
takes words out of trees
    """
    start = line.lstrip()
    if start.startswith('{"'):
        import json

        try:
            json.loads(start)
        except (ValueError, RecursionError):
            return
        raise DataError(path, number, "a JSON object, expected text: say which --field has it")
    if _CONLLU_BEGINS.fullmatch(line):
        why = "CoNLL-U, expected text: `eigentext convert` takes the words out of trees"
        raise DataError(path, number, why)
    if not start.startswith("("):
        return
    from eigentext.language.formats.ptb import is_tree

    hint = "expected text: `eigentext convert` takes words out of trees"
    if is_tree(start):
        raise DataError(path, number, f"a bracketed tree, {hint}")
    if _TREE_BEGINS.fullmatch(start):
        why = f"{path}:{number}: this looks like the beginning of a tree, {hint}"
        warnings.warn(DataWarning(why), stacklevel=2)


def checked_lines(path: str, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The lines of a text, after a look at the first that is not empty."""
    checked = False
    for number, line in lines:
        if not checked and line.strip():
            checked = True
            check_text(path, number, line)
        yield number, line


def text_lines(
    source: Source,
    field: str | None = None,
    *,
    apart: bool = False,
    on_error: OnError | None = None,
) -> Iterator[tuple[int, str]]:
    r"""The lines of a text file with their numbers, after a look at the first that is not empty.

    In a file of records (``formats.records``) they are those of the texts in ``field``, each with
    the number of its record; ``apart`` puts an empty line behind every text.

    >>> _ = write_lines("memory://doc/two.jsonl", ['{"text": "a\\nb"}', '{"text": "c"}'])
    >>> list(text_lines("memory://doc/two.jsonl"))
    [(1, 'a'), (1, 'b'), (2, 'c')]
    """
    path = os.fspath(source)
    if kind_of(path, field):
        texts = documents(path, field, on_error=on_error)
        return ((number, line) for number, text in texts for line in _lines_of(text, apart))
    return checked_lines(path, numbered_lines(path, on_error=on_error))


def _lines_of(text: str, apart: bool) -> list[str]:
    lines = text.replace("\r\n", "\n").split("\n")
    if len(lines) > 1 and not lines[-1]:  # the text ends in a line end
        lines.pop()
    return [*lines, ""] if apart else lines


def read_sentences(
    source: Source,
    field: str | None = None,
    *,
    drop_empty: bool = False,
    on_error: OnError | None = None,
) -> Iterator[list[str]]:
    """The sentences of a text as lists of tokens, in order; ``field`` see :func:`text_lines`.

    A line without tokens gives an empty list, unless ``drop_empty``.

    >>> _ = write_lines("memory://doc/s.txt", ["the cat sat", "", "it slept"])
    >>> list(read_sentences("memory://doc/s.txt"))
    [['the', 'cat', 'sat'], [], ['it', 'slept']]
    """
    for _, line in text_lines(source, field, on_error=on_error):
        tokens = split_tokens(line)
        if tokens or not drop_empty:
            yield tokens


def write_sentences(sentences: Iterable[Sequence[str]], path: Source) -> int:
    """Write sentences, tokens joined by one space, and give their number.

    >>> write_sentences([["the", "cat"], []], "memory://doc/t.txt")
    2
    >>> list(read_sentences("memory://doc/t.txt"))
    [['the', 'cat'], []]
    """
    return write_lines(path, _joined(sentences, os.fspath(path)))


def _joined(sentences: Iterable[Sequence[str]], path: str) -> Iterator[str]:
    for number, tokens in enumerate(sentences, start=1):
        if isinstance(tokens, str):
            raise TypeError(f"a sentence is a list of tokens, not a string: {tokens[:40]!r}")
        check_tokens(path, number, tokens)
        if number == 1 and tokens and tokens[0].startswith("\ufeff"):
            raise DataError(path, 1, "the text would begin with a byte-order mark")
        yield " ".join(tokens)
