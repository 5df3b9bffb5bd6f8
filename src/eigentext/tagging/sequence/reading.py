"""Tagged and untagged sentences from files, and tags put back into them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from eigentext.base.files.opening import OnError, raise_or_tell
from eigentext.errors import DataError, SettingsError
from eigentext.language.doc import Doc
from eigentext.language.formats import columns, conllu, registry, text
from eigentext.language.formats.blocks import is_file
from eigentext.tagging.sequence.schemes import looks_like_entities, repaired

FORMATS = ("columns", "conllu", "tokens")
_RECORDS = registry.names_of("records")


@dataclass(frozen=True)
class TagItem:
    """A sentence of a file; ``with_tags`` gives its text with these tags in their place."""

    tokens: Sequence[str]
    tags: Sequence[str] | None
    lines: Sequence[int]
    source: str
    with_tags: Callable[[Sequence[str]], str]


def format_of(source: str, name: str = "auto") -> str:
    """The format of a file by its name: ``.conllu``, tokens (``.txt``, records), else columns.

    >>> format_of("a.conllu.xz"), format_of("train.bio"), format_of("text.txt")
    ('conllu', 'columns', 'tokens')
    >>> format_of("text.parquet")
    'tokens'
    """
    if name != "auto":
        if name not in FORMATS:
            raise SettingsError(f"format is auto, {', '.join(FORMATS)}, not {name!r}")
        return name
    name = registry.format_of(source, (*FORMATS, *_RECORDS), "columns")
    return "tokens" if name in _RECORDS else name


def read_items(
    source: str,
    *,
    file_format: str = "auto",
    column: str = "upos",
    on_error: OnError | None = None,
) -> Iterator[TagItem]:
    """The sentences of a file; ``column`` is where CoNLL-U keeps the tags: upos or xpos."""
    if column not in ("upos", "xpos"):
        raise SettingsError(f"column is upos or xpos, not {column!r}")
    kind = format_of(source, file_format)
    if kind == "conllu":
        for parsed in conllu.read_sentences(source, on_error=on_error):
            yield _from_conllu(parsed, column)
    elif kind == "tokens":
        for number, tokens in enumerate(text.read_sentences(source, on_error=on_error), 1):
            yield bare_item(tokens, number, source)
    else:
        for sentence in columns.read_columns(source, on_error=on_error):
            lines = range(sentence.line, sentence.line + len(sentence))
            yield TagItem(sentence.tokens, sentence.tags, lines, source, sentence.with_tags)


def bare_item(tokens: Sequence[str], number: int, source: str) -> TagItem:
    """A sentence of bare tokens, from line ``number``; its tags are written beside them."""

    def with_tags(tags: Sequence[str]) -> str:
        pairs = zip(tokens, tags, strict=True)
        return "".join(f"{token}\t{tag}\n" for token, tag in pairs) + "\n"

    return TagItem(tokens, None, [number] * len(tokens), source, with_tags)


def _from_conllu(sentence: conllu.ConlluBlock, column: str) -> TagItem:
    def with_tags(tags: Sequence[str]) -> str:
        return sentence.with_columns(**{column: tags}).verbatim

    lines = [n for n, line in sentence.numbered_lines if line.split("\t", 1)[0].isdigit()]
    return TagItem(sentence.forms, sentence.column(column), lines, sentence.source, with_tags)


def read_tagged(
    sources: Iterable[str],
    *,
    file_format: str = "auto",
    column: str = "upos",
    scheme: str = "auto",
    repair: bool = False,
    on_error: OnError | None = None,
) -> tuple[list[Sequence[str]], list[Sequence[str]], str]:
    """Tokens and tags of all sentences, and the scheme of the tags: bio2 or plain."""
    items: list[TagItem] = []
    names = list(sources)
    for source in names:
        before = len(items)
        items.extend(read_items(source, file_format=file_format, column=column, on_error=on_error))
        if len(items) == before:
            raise DataError(source, None, "no sentences in this file")
        if items[before].tags is None:
            raise DataError(source, None, "text without tags, expected columns or CoNLL-U")
    if scheme == "auto":
        is_entities = looks_like_entities(tag for item in items for tag in item.tags or ())
        scheme = "bio2" if is_entities else "plain"
    good: list[tuple[Sequence[str], Sequence[str]]] = []
    for item in items:
        tags = list(item.tags or ())
        fault = _fault(tags, scheme, is_conllu=format_of(item.source, file_format) == "conllu")
        if fault and repair and scheme == "bio2":
            tags, fault = repaired(tags), None
        if fault is None:
            good.append((item.tokens, tags))
            continue
        raise_or_tell(DataError(item.source, item.lines[fault[0]], fault[1]), on_error)
    if not good:
        raise DataError(names[0], None, "no sentence with good tags")
    return [tokens for tokens, _ in good], [tags for _, tags in good], scheme


def _fault(tags: Sequence[str], scheme: str, *, is_conllu: bool) -> tuple[int, str] | None:
    if scheme == "bio2":
        return columns.find_tag_fault(tags, "bio2")
    if is_conllu and "_" in tags:
        return list(tags).index("_"), "found no tag ('_'); expected one for training"
    return None


def tagged_of(source: object) -> tuple[list[list[str]], list[list[str]]]:
    """Tokens and tags of a file, or of a Doc: its entities where it has some, else UPOS, XPOS."""
    if is_file(source):
        tokens, tags, _ = read_tagged([os.fspath(source)], scheme="plain")
        return [list(row) for row in tokens], [list(row) for row in tags]
    if not isinstance(source, Doc):
        raise SettingsError("expected tags for the sentences, or a file or a Doc that has both")
    columns = [sentence.columns for sentence in source.sentences]
    for name in ("entities", "upos", "xpos"):
        rows = [getattr(each, name) for each in columns]
        if columns and None not in rows:
            return [list(each.forms) for each in columns], list(map(list, rows))
    raise DataError(source.id or "<doc>", None, "no entities, UPOS or XPOS to learn from")
