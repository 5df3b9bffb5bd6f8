"""CoNLL-X: ten columns like CoNLL-U, but no comments, ranges or empty nodes.

CPOSTAG and POSTAG are UPOS and XPOS; PHEAD and PDEPREL, which CoNLL-U has no columns for, are left
out, and so is, when written, what CoNLL-X lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from eigentext.base.files.opening import OnError, Source
from eigentext.language.formats.blocks import Block, read_items, write_blocks
from eigentext.language.formats.conll import check_sentence
from eigentext.language.formats.conllu import ConlluBlock, conllu_rows

_NEITHER = ["_", "_"]  # the last two columns, which the formats use otherwise


def parse_sentence(text: str) -> ConlluBlock:
    r"""Check one sentence that is at hand as text.

    >>> parse_sentence("1\tHi\t_\tI\tUH\t_\t0\tROOT\t0\tROOT\n").words[0][7:]
    ('ROOT', '_', '_')
    """
    return _of_block(Block("<text>", 1, text))


def read_sentences(source: Source, *, on_error: OnError | None = None) -> Iterator[ConlluBlock]:
    """Stream the sentences of a file; a bad one raises, or goes to ``on_error``."""
    return read_items(source, _of_block, on_error)


def write_sentences(sentences: Iterable[ConlluBlock], path: Source) -> int:
    """Write sentences, an empty line after each; returns how many."""
    return write_blocks(map(text_of, sentences), path)


def text_of(sentence: ConlluBlock) -> str:
    """The lines of a sentence: as they stand, or what CoNLL-X has of them."""
    rows = sentence.rows
    plain = all(row[8:] == _NEITHER for row in rows)
    if plain and len(rows) == len([line for _, line in sentence.numbered_lines if line]):
        return sentence.verbatim
    _, *columns = zip(*rows, strict=True)
    return "\n".join(conllu_rows([*columns[:7], None, None])) + "\n\n"


def _of_block(block: Block) -> ConlluBlock:
    check_sentence(block, extended=False)
    sentence = ConlluBlock(block.text, block.first_line, block.source)
    if all(row[8:] == _NEITHER for row in sentence.rows):
        return sentence
    blank = [None] * len(sentence)
    return sentence.with_columns(deps=blank, misc=blank)
