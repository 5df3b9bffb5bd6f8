"""CoNLL-X: ten columns like CoNLL-U, but no comments, ranges or empty nodes.

1. ``read_sentences`` streams a file as checked :class:`ConllxBlock` objects, kept verbatim.
2. ``to_conllu`` and ``from_conllu`` go between the two formats.  CPOSTAG and POSTAG are UPOS and
   XPOS.  What the other format has no column for is dropped: PHEAD and PDEPREL on the way to
   CoNLL-U; comments, ranges, empty nodes, DEPS and MISC on the way back.
3. ``write_sentences`` puts the text back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.language.formats import conllu
from eigentext.language.formats.conll import TenColumnBlock, write_sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eigentext.base.files.opening import OnError, Source

__all__ = [
    "ConllxBlock",
    "from_conllu",
    "parse_sentence",
    "read_as_conllu",
    "read_sentences",
    "to_conllu",
    "write_conllu",
    "write_sentences",
]


COLUMNS = (
    "id",
    "form",
    "lemma",
    "cpostag",
    "postag",
    "feats",
    "head",
    "deprel",
    "phead",
    "pdeprel",
)


class ConllxBlock(TenColumnBlock):
    r"""One sentence, verbatim, with views on it.

    >>> rest = "\t_" * 8 + "\n"
    >>> sentence = parse_sentence("1\tBirds" + rest + "2\tsing" + rest)
    >>> sentence.with_columns(head=[2, 0]).heads[0]
    2
    """

    COLUMNS = COLUMNS


parse_sentence = ConllxBlock.parse
read_sentences = ConllxBlock.read


def to_conllu(sentence: ConllxBlock) -> conllu.ConlluBlock:
    """The sentence in CoNLL-U; PHEAD and PDEPREL are dropped.

    >>> birds = from_conllu(conllu.make_sentence(["Birds", "sing"], head=[2, 0]))
    >>> to_conllu(birds).heads
    (2, 0)
    """
    return conllu.ConlluBlock(_shared_lines(sentence), sentence.first_line, sentence.source)


def from_conllu(sentence: conllu.ConlluBlock) -> ConllxBlock:
    """The words of a CoNLL-U sentence; comments, ranges, empty nodes, DEPS, MISC are dropped."""
    return ConllxBlock(_shared_lines(sentence), sentence.first_line, sentence.source)


def read_as_conllu(
    source: Source, *, on_error: OnError | None = None
) -> Iterator[conllu.ConlluBlock]:
    """The sentences of a file, each in CoNLL-U."""
    return map(to_conllu, read_sentences(source, on_error=on_error))


def write_conllu(sentences: Iterable[conllu.ConlluBlock], path: Source) -> int:
    """Write sentences of CoNLL-U in this format; returns how many."""
    return write_sentences(map(from_conllu, sentences), path)


def _shared_lines(sentence: TenColumnBlock) -> str:
    """The eight columns that mean the same in both formats, and ``_`` in the last two."""
    rows = ("\t".join([*row[:8], "_", "_"]) + "\n" for row in sentence.rows)
    return "".join(rows) + "\n"
