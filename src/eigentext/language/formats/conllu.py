"""CoNLL-U: dependency trees of Universal Dependencies, read and written to the byte.

A :class:`ConlluBlock` keeps the lines of a sentence verbatim: comments of any form, multiword
ranges ``3-4``, empty nodes ``8.1``, line ends; all else are views, made when asked for.  A parser
answers with ``sentence.with_columns(head=..., deprel=...)``, in which only those columns differ.

Every sentence read has ten columns, ids in order, and either heads that make a tree (one root or
more, no cycle) or ``_`` for all heads; anything else is a DataError with file and line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from eigentext.base.tokens import each_of
from eigentext.language.formats.blocks import (
    Block,
    all_of_file,
    blocks_of,
    content_lines,
    is_file,
    read_items,
    write_blocks,
)
from eigentext.language.formats.conll import HEAD, N_COLUMNS, check_sentence, checked_columns
from eigentext.language.token import Token, Word, plain_text
from eigentext.language.trees.dependency import DependencyTree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eigentext.base.files.opening import OnError, Source
    from eigentext.language.doc import Doc

    Treebank = Source | Doc | Iterable["ConlluBlock | Doc"]


class Range(NamedTuple):
    """One orthographic word that stands for the words ``start`` to ``end``."""

    start: int
    end: int
    form: str
    misc: str


@dataclass(frozen=True)
class ConlluBlock:
    r"""One checked sentence, verbatim, with views on it, made when asked for.

    >>> sentence = make_sentence(["Hi", "there"], upos=["INTJ", "ADV"], metadata={"sent_id": "s1"})
    >>> sentence.words[0].upos, sentence.heads, sentence.metadata
    ('INTJ', None, {'sent_id': 's1'})
    >>> parsed = sentence.with_columns(head=[0, 1], deprel=["root", "advmod"])
    >>> parsed.numbered_lines[2]
    (3, '2\tthere\t_\tADV\t_\t_\t1\tadvmod\t_\t_')
    """

    COLUMNS: ClassVar = Word._fields

    verbatim: str  # as it stood in the file, with line ends and empty lines after it
    first_line: int = field(default=1, compare=False)
    source: str = field(default="<text>", compare=False)

    @classmethod
    def parse(cls, text: str) -> ConlluBlock:
        """Check one sentence that is at hand as text; faults are DataErrors of ``<text>``."""
        return cls._of_block(Block("<text>", 1, text))

    @classmethod
    def parse_all(cls, text: str, *, source: str = "<text>") -> Iterator[ConlluBlock]:
        """The sentences of a text that is at hand; ``source`` is for messages."""
        return map(cls._of_block, blocks_of(text, source))

    @classmethod
    def read(cls, source: Source, *, on_error: OnError | None = None) -> Iterator[ConlluBlock]:
        """Stream the sentences of a file; a bad one raises, or goes to ``on_error``."""
        return read_items(source, cls._of_block, on_error)

    @classmethod
    def _of_block(cls, block: Block) -> ConlluBlock:
        check_sentence(block, extended=True)
        return cls(block.text, block.first_line, block.source)

    @property
    def numbered_lines(self) -> list[tuple[int, str]]:
        """Every line with its number in the file, without line ends and closing empty lines."""
        return list(enumerate(content_lines(self.verbatim), start=self.first_line))

    @property
    def rows(self) -> list[list[str]]:
        """The ten columns of each word; comments, ranges and empty nodes are left out."""
        rows = [line.split("\t") for line in content_lines(self.verbatim)]
        return [row for row in rows if row[0].isdigit()]  # a checked id: the others have - . or #

    @property
    def cells(self) -> list[list[Any]]:
        """As ``rows``, but id and head are numbers, and a head that is not known is None."""
        rows: list[list[Any]] = self.rows
        for row in rows:
            row[0] = int(row[0])
            row[HEAD] = None if row[HEAD] == "_" else int(row[HEAD])
        return rows

    def column(self, name: str) -> tuple[str, ...]:
        """One column over the words, as it stands in the file."""
        index = self.COLUMNS.index(name)
        return tuple(row[index] for row in self.rows)

    @property
    def forms(self) -> tuple[str, ...]:
        """The words."""
        return self.column("form")

    @property
    def heads(self) -> tuple[int, ...] | None:
        """Number of the head of each word, 0 for a root; None when the heads are all ``_``."""
        heads = self.column("head")
        return None if heads[0] == "_" else tuple(map(int, heads))

    def __len__(self) -> int:
        """Number of words."""
        return len(self.rows)

    def with_columns(self, **columns: Sequence[object] | None) -> ConlluBlock:
        """The same sentence with other values, one per word, in the columns given by name.

        None is written as ``_``.  Heads must make a tree (ValueError); all other bytes stay.
        """
        new = checked_columns(self.COLUMNS, columns, len(self))
        lines = self.verbatim.split("\n")
        word = 0
        for index, line in enumerate(lines):
            cells = line.split("\t")
            if not cells[0].isdigit():
                continue
            # the last piece of the split has no line end, so a \r there is part of its cell
            line_end = "\r" if line.endswith("\r") and index < len(lines) - 1 else ""
            cells[-1] = cells[-1].removesuffix(line_end)
            for column, values in new.items():
                cells[column] = values[word]
            lines[index] = "\t".join(cells) + line_end
            word += 1
        return ConlluBlock("\n".join(lines), self.first_line, self.source)

    @property
    def words(self) -> tuple[Word, ...]:
        """The syntactic words; ranges and empty nodes are views of their own."""
        return tuple(map(Word._make, self.cells))

    @property
    def tokens(self) -> tuple[Token, ...]:
        """What stands in the text: multiword tokens, and the words that are in none."""
        units = {unit.start: unit for unit in self.ranges}
        rows = self.rows
        tokens: list[Token] = []
        while (first := tokens[-1].last + 1 if tokens else 1) <= len(rows):
            unit = units.get(first)
            form, misc = (
                (unit.form, unit.misc) if unit else (rows[first - 1][1], rows[first - 1][9])
            )
            tokens.append(Token(form, misc=misc, first=first, last=unit.end if unit else first))
        return tuple(tokens)

    @property
    def ranges(self) -> tuple[Range, ...]:
        """The multiword tokens, such as ``1-2 au`` over the words ``à`` and ``le``."""
        ranges = []
        for row in (line.split("\t") for line in content_lines(self.verbatim)):
            start, dash, end = row[0].partition("-")
            if not dash or row[0][0] == "#":
                continue
            ranges.append(Range(int(start), int(end), row[1], row[9]))
        return tuple(ranges)

    @property
    def empty_nodes(self) -> tuple[tuple[int, str], ...]:
        """The empty nodes, such as ``8.1``: the number of the word before, and the line."""
        lines = (line for line in content_lines(self.verbatim) if line[:1] != "#")
        numbers = ((line.partition("\t")[0], line) for line in lines)
        return tuple(
            (int(number.partition(".")[0]), line) for number, line in numbers if "." in number
        )

    @property
    def comments(self) -> tuple[str, ...]:
        """The comment lines as they stand, ``#`` included."""
        return tuple(line for line in content_lines(self.verbatim) if line[:1] == "#")

    @property
    def metadata(self) -> dict[str, str]:
        """Comments as a dict: ``# key = value``, and where no ``=`` is, first word and the rest.

        >>> parse_sentence("# newdoc id = d7\\n# sent_id s-1\\n1" + "\\t_" * 9).metadata
        {'newdoc id': 'd7', 'sent_id': 's-1'}
        """
        return comments_as_dict(self.comments)

    @property
    def text(self) -> str:
        """The raw text: ``# text = ...``, or else put together from forms and ``SpaceAfter=No``.

        >>> make_sentence(["Hi", "!"], misc=["SpaceAfter=No", "_"]).text
        'Hi!'
        """
        for comment in self.comments:
            key, equals, value = comment[1:].partition("=")
            if equals and key.strip() == "text":
                return value.strip()
        return plain_text(self.tokens).rstrip(" ")


def write_sentences(sentences: Iterable[ConlluBlock], path: Source) -> int:
    """Write sentences as they stand, an empty line after each; returns how many."""
    return write_blocks((sentence.verbatim for sentence in sentences), path)


parse_sentence = ConlluBlock.parse
parse_sentences = ConlluBlock.parse_all
read_sentences = ConlluBlock.read


def comments_as_dict(comments: Iterable[str]) -> dict[str, str]:
    """Comment lines as a dict, see :attr:`ConlluBlock.metadata`."""
    metadata: dict[str, str] = {}
    for comment in comments:
        key, equals, value = comment[1:].partition("=")
        if equals:
            metadata[key.strip()] = value.strip()
        else:
            key, _, value = comment[1:].strip().partition(" ")
            metadata.setdefault(key, value.strip())  # a bare word never hides a `key = value`
    return metadata


def each_conllu(sentences: object) -> Iterator[ConlluBlock]:
    """Sentences of CoNLL-U one by one: those at hand, of Docs, or of a file by its name.

    >>> next(each_conllu([["a", "dog"]]))
    Traceback (most recent call last):
    ...
    eigentext.errors.SettingsError: expected a list of CoNLL-U sentences, whose item 1 is a list: \
['a', 'dog']
    """
    if is_file(sentences):
        from eigentext.language.formats.registry import format_of, names_of, the_format

        path = os.fspath(sentences)
        name = format_of(path, names_of("words"), "conllu")
        return all_of_file(the_format(name, names_of("words")).reader()(path), path)
    return each_of(ConlluBlock, blocks_of_docs(sentences), "CoNLL-U sentences")


def blocks_of_docs(sentences: object) -> object:
    """The same with the sentences of Docs in their place."""
    from eigentext.language.doc import Doc

    if isinstance(sentences, Doc):
        sentences = [sentences]
    if not isinstance(sentences, Iterable) or isinstance(sentences, (str, ConlluBlock)):
        return sentences
    parsed = (
        parse_sentences(item.to_conllu(), source=item.id or "<doc>")
        if isinstance(item, Doc)
        else (item,)
        for item in sentences
    )
    return chain.from_iterable(parsed)


def make_sentence(
    forms: Sequence[str],
    *,
    metadata: Mapping[str, str] | None = None,
    **columns: Sequence[str | int | None] | None,
) -> ConlluBlock:
    """A sentence from its words and what else is known of them; the other columns are ``_``.

    ``columns`` are some of lemma, upos, xpos, feats, head, deprel, deps and misc.

    >>> make_sentence(["Birds", "sing"], head=[2, 0]).heads
    (2, 0)
    """
    if isinstance(forms, str):
        raise TypeError("forms must be a sequence of words, not one str; did you mean [...]?")
    if not forms:
        raise ValueError("a sentence has at least one word")
    cells = checked_columns(Word._fields, {"form": forms, **columns}, len(forms))
    lines = conllu_rows([cells.get(at) for at in range(1, N_COLUMNS)])
    comments = ""
    for key, value in (metadata or {}).items():
        if "\n" in key or "\n" in value:
            raise ValueError(f"metadata {key!r} has a line end in it")
        comments += f"# {key} = {value}\n" if value else f"# {key}\n"
    return ConlluBlock(comments + "\n".join(lines) + "\n\n")


_numbers = [str(number) for number in range(512)]  # "7" of 7: faster than str()


def conllu_rows(
    columns: Sequence[Sequence[str] | None],
    units: Iterable[tuple[int, int, str, str]] = (),
    empty_nodes: Iterable[tuple[int, str]] = (),
) -> list[str]:
    """The lines of a sentence, without comments.

    ``columns``      FORM to MISC of its words; None: ``_`` throughout
    ``units``        first word, last word, FORM and MISC of each multiword token
    ``empty_nodes``  (number of the word before, line) of each

    >>> columns = [["de", "le"], *[None] * 8]
    >>> [line[:6] for line in conllu_rows(columns, [(1, 2, "du", "_")])]
    ['1-2\\tdu', '1\\tde\\t_', '2\\tle\\t_']
    """
    n_words = len(columns[0] or ()) if columns else 0
    if n_words >= len(_numbers):
        _numbers.extend(map(str, range(len(_numbers), 2 * n_words)))
    blank = repeat("_")  # which has no end: the first column, the numbers, says where to stop
    cells = (blank if column is None else column for column in columns)
    lines = list(map("\t".join, zip(_numbers[1 : n_words + 1], *cells, strict=False)))
    before: dict[int, list[str]] = {}  # the number of a word -> the lines before its own
    for after, line in empty_nodes:
        before.setdefault(after + 1, []).append(line)
    for first, last, form, misc in units:
        line = "\t".join((f"{first}-{last}", form, *"_" * 7, misc))
        before.setdefault(first, []).append(line)
    for number in sorted(before, reverse=True):
        lines[number - 1 : number - 1] = before[number]
    return lines


def parse_pairs(cell: str) -> dict[str, str]:
    """FEATS and MISC as a dict; an item without ``=`` gets the empty string.

    >>> parse_pairs("Case=Nom|Number=Sing|Typo"), parse_pairs("_")
    ({'Case': 'Nom', 'Number': 'Sing', 'Typo': ''}, {})
    """
    if cell in ("_", ""):
        return {}
    pairs = (item.partition("=") for item in cell.split("|"))
    return {name: value for name, _, value in pairs}


# white space in MISC, as UDPipe writes it; any other, and control characters, by number: \\u00A0
_ESCAPES = {" ": "\\s", "\t": "\\t", "\r": "\\r", "\n": "\\n", "|": "\\p", "\\": "\\\\"}
_UNESCAPES = {written[1]: plain for plain, written in _ESCAPES.items()}
_TO_ESCAPE = re.compile(r"[\s|\\\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_ESCAPED = re.compile(r"\\(?:([strnp\\])|u([0-9A-F]{4}))")


def escape_spaces(text: str) -> str:
    r"""Text as the attributes of MISC have it that tell of white space, such as ``SpacesAfter``.

    >>> print(escape_spaces(" \n|\u00a0"))
    \s\n\p\u00A0
    """
    return _TO_ESCAPE.sub(lambda m: _ESCAPES.get(m[0]) or f"\\u{ord(m[0]):04X}", text)


def unescape_spaces(written: str) -> str:
    r"""The other way; a backslash before anything else stands for itself.

    >>> unescape_spaces(r"\s\n\p\u00A0\x")
    ' \n|\xa0\\x'
    """
    return _ESCAPED.sub(lambda m: _UNESCAPES[m[1]] if m[1] else chr(int(m[2], 16)), written)


def to_dependency_tree(sentence: ConlluBlock, *, tags: str = "upos") -> DependencyTree:
    """The tree of a sentence whose heads are given; ``tags`` names the column of the tags.

    >>> to_dependency_tree(make_sentence(["Birds", "sing"], head=[2, 0])).roots
    (2,)
    """
    heads = sentence.heads
    if heads is None:
        raise ValueError("this sentence has no heads: column 7 is '_' throughout")
    return DependencyTree(sentence.forms, heads, sentence.column("deprel"), sentence.column(tags))


def from_dependency_tree(tree: DependencyTree, *, tags: str = "upos") -> ConlluBlock:
    """A new sentence with the tree's words, heads, relations and, in column ``tags``, its tags."""
    if tags not in ("upos", "xpos"):
        raise ValueError(f"tags go to 'upos' or 'xpos', not to {tags!r}")
    return make_sentence(
        tree.forms,
        head=tree.heads.tolist(),
        deprel=tree.relations,
        upos=tree.tags if tags == "upos" else None,
        xpos=tree.tags if tags == "xpos" else None,
    )
