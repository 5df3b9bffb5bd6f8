"""Every format of files with words in them, in one table.

``--from`` and ``--to`` of the command line, the readers and the endings that they go by come from
``FORMATS``: a new format is its own file, and a row here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from importlib import import_module
from typing import Any, NamedTuple

from eigentext.base.files.archives import bare_name
from eigentext.errors import SettingsError


class Format(NamedTuple):
    """A format of files; ``read`` and ``write``: module and function."""

    name: str
    endings: tuple[str, ...]
    holds: str  # trees, words, tags, tokens, text, records of text, or documents
    read: str = ""
    write: str = ""

    def reader(self) -> Callable[..., Iterator[Any]]:
        """The function that reads."""
        read: Callable[..., Iterator[Any]] = _function(self.read)
        return read

    def writer(self) -> Callable[[Any, str], int]:
        """The function that writes; it returns how many items it wrote."""
        write: Callable[[Any, str], int] = _function(self.write)
        return write


# An ending that two formats have is the first one's, unless the reader takes the second alone.
FORMATS = (
    Format(
        "ptb", (".mrg", ".ptb", ".prd", ".brackets"), "trees", "ptb.read_trees", "ptb.write_trees"
    ),
    Format("conllu", (".conllu",), "words", "conllu.read_sentences", "conllu.write_sentences"),
    Format(
        "conllx", (".conllx", ".conll"), "words", "conllx.read_sentences", "conllx.write_sentences"
    ),
    Format("columns", (".bio", ".iob"), "tags", "columns.read_columns", "columns.write_columns"),
    Format("text", (".txt",), "text"),
    Format("tokens", (".tok", ".txt"), "tokens", "text.read_sentences", "text.write_sentences"),
    Format("jsonl", (".jsonl", ".ndjson", ".json"), "records", "records.documents"),
    Format("parquet", (".parquet",), "records", "records.documents"),
    Format("warc", (".warc", ".wet", ".wat"), "records", "records.documents"),
    Format("docbin", (".spacy",), "documents"),
)


def _function(name: str) -> Any:
    module, _, function = name.partition(".")
    return getattr(import_module(f"eigentext.language.formats.{module}"), function)


def names_of(*kinds: str) -> tuple[str, ...]:
    """The formats that hold such items.

    >>> names_of("trees", "words")
    ('ptb', 'conllu', 'conllx')
    """
    return tuple(each.name for each in FORMATS if each.holds in kinds)


CONVERTIBLE = names_of("trees", "words", "tokens")  # one into the other


def the_format(name: str, among: Collection[str]) -> Format:
    """The format of a name; one that is not among these is a SettingsError."""
    if name not in among:
        raise SettingsError(f"unknown format {name!r}; known: {', '.join(among)}")
    return next(each for each in FORMATS if each.name == name)


def format_of(path: str, among: Collection[str], default: str | None = None) -> str:
    """Which of these formats a file has by its name, packed or not; else the default.

    >>> format_of("trees/train.mrg.xz", ["conllu", "ptb"]), format_of("a.txt", ["ptb"], "columns")
    ('ptb', 'columns')
    """
    name = bare_name(path)
    for each in FORMATS:
        if each.name in among and name.endswith(each.endings):
            return each.name
    if default is None:
        names = ", ".join(among)
        raise SettingsError(f"cannot tell the format of {path!r} by its name: say which ({names})")
    return default
