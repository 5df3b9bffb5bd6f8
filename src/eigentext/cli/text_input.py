"""Sentences from the files a command was given, tokenised or raw."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from eigentext.errors import DataError

if TYPE_CHECKING:
    from eigentext.corpus.raw_text import TypedToken


def sentences(
    files: list[str],
    *,
    raw: bool,
    tokeniser: str,
    newlines: str = "auto",
    on_error: Callable[[DataError], None] | None = None,
) -> Iterator[list[str]]:
    """Token lists in the order of the files; an empty line of tokenised text is an empty list.

    Of a file named .conllu, compressed or not, the words of its sentences.
    """
    from eigentext.base.files.opening import expand
    from eigentext.corpus.raw_text import read_tokenised
    from eigentext.formats.text import read_sentences
    from eigentext.tagging.reading import format_of, read_items

    for source in expand(files):
        if raw:
            yield from read_tokenised(source, tokeniser, newlines=newlines, on_error=on_error)
        elif source != "-" and format_of(source) == "conllu":
            yield from (list(item.tokens) for item in read_items(source, on_error=on_error))
        else:
            yield from read_sentences(source, on_error=on_error)


def typed_sentences(
    files: list[str],
    *,
    raw: bool,
    tokeniser: str,
    newlines: str = "auto",
    on_error: Callable[[DataError], None] | None = None,
) -> Iterator[list[TypedToken]]:
    """The same with each token as it was typed, for commands that write tokens out."""
    from eigentext.base.files.opening import expand
    from eigentext.corpus.raw_text import TypedToken, read_typed

    if raw:
        for source in expand(files):
            yield from read_typed(source, tokeniser, newlines=newlines, on_error=on_error)
        return
    for tokens in sentences(files, raw=False, tokeniser=tokeniser, on_error=on_error):
        yield [TypedToken(token, token) for token in tokens]
