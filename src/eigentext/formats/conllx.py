"""CoNLL-X: ten columns like CoNLL-U, but no comments, ranges or empty nodes.

1. ``read_sentences`` streams a file as checked :class:`Sentence` objects, kept verbatim.
2. ``to_conllu`` and ``from_conllu`` go between the two formats.  CPOSTAG and POSTAG are UPOS and
   XPOS.  What the other format has no column for is dropped: PHEAD and PDEPREL on the way to
   CoNLL-U; comments, ranges, empty nodes, DEPS and MISC on the way back.
3. ``write_sentences`` puts the text back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from eigentext.formats import conllu
from eigentext.formats.blocks import Block, read_items, write_blocks
from eigentext.formats.conll import TenColumnSentence, check_sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eigentext.base.files.opening import OnError, Source

__all__ = [
    "Sentence",
    "Token",
    "from_conllu",
    "parse_sentence",
    "read_sentences",
    "to_conllu",
    "write_sentences",
]

COLUMNS = (
    *("id", "form", "lemma", "cpostag", "postag"),
    *("feats", "head", "deprel", "phead", "pdeprel"),
)


class Token(NamedTuple):
    """A word; columns are as in the file, but ``id`` and ``head`` are numbers."""

    id: int
    form: str
    lemma: str
    cpostag: str
    postag: str
    feats: str
    head: int | None
    deprel: str
    phead: str
    pdeprel: str


class Sentence(TenColumnSentence):
    r"""One sentence, verbatim, with views on it.

    >>> rest = "\t_" * 8 + "\n"
    >>> sentence = parse_sentence("1\tBirds" + rest + "2\tsing" + rest)
    >>> sentence.with_columns(head=[2, 0]).tokens[0].head
    2
    """

    COLUMNS = COLUMNS

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The words."""
        found = []
        for number, form, lemma, cpostag, postag, feats, head, deprel, phead, pdeprel in self.rows:
            governor = None if head == "_" else int(head)
            columns = (form, lemma, cpostag, postag, feats, governor, deprel, phead, pdeprel)
            found.append(Token(int(number), *columns))
        return tuple(found)

    def with_columns(
        self,
        *,
        form: Sequence[str] | None = None,
        lemma: Sequence[str | None] | None = None,
        cpostag: Sequence[str | None] | None = None,
        postag: Sequence[str | None] | None = None,
        feats: Sequence[str | None] | None = None,
        head: Sequence[int | None] | None = None,
        deprel: Sequence[str | None] | None = None,
    ) -> Sentence:
        """The same sentence with other values, one per word, in the columns given.

        None is written as ``_``.  Heads must make a tree (ValueError); all other bytes stay.
        """
        new = {"form": form, "lemma": lemma, "cpostag": cpostag, "postag": postag}
        text = self.replaced({**new, "feats": feats, "head": head, "deprel": deprel})
        return Sentence(text, self.first_line, self.source)


def parse_sentence(text: str) -> Sentence:
    """Check one sentence that is at hand as text; faults are DataErrors of the file ``<text>``."""
    return _parse(Block("<text>", 1, text))


def read_sentences(source: Source, *, on_error: OnError | None = None) -> Iterator[Sentence]:
    """Stream the sentences of a file; a bad one raises, or goes to ``on_error``."""
    return read_items(source, _parse, on_error)


def write_sentences(sentences: Iterable[Sentence], path: Source) -> int:
    """Write sentences as they stand, an empty line after each; returns how many."""
    return write_blocks((sentence.verbatim for sentence in sentences), path)


def _parse(block: Block) -> Sentence:
    check_sentence(block, extended=False)
    return Sentence(block.text, block.first_line, block.source)


def to_conllu(sentence: Sentence) -> conllu.Sentence:
    """The sentence in CoNLL-U; PHEAD and PDEPREL are dropped.

    >>> birds = from_conllu(conllu.make_sentence(["Birds", "sing"], head=[2, 0]))
    >>> to_conllu(birds).heads
    (2, 0)
    """
    return conllu.Sentence(_shared_lines(sentence), sentence.first_line, sentence.source)


def from_conllu(sentence: conllu.Sentence) -> Sentence:
    """The words of a CoNLL-U sentence; comments, ranges, empty nodes, DEPS, MISC are dropped."""
    return Sentence(_shared_lines(sentence), sentence.first_line, sentence.source)


def _shared_lines(sentence: TenColumnSentence) -> str:
    """The eight columns that mean the same in both formats, and ``_`` in the last two."""
    rows = ("\t".join([*row[:8], "_", "_"]) + "\n" for row in sentence.rows)
    return "".join(rows) + "\n"
