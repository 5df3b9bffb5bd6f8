"""What goes into the parser and what comes out: sentences checked, trees with their scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eigentext.base.tokens import checked_words
from eigentext.dependency.graph.encode import Columns
from eigentext.errors import DataError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.formats.conllu import Sentence
    from eigentext.trees.dependency import DependencyTree

__all__ = ["Parse", "checked_sentence", "columns_of", "given_columns", "tags_of", "with_heads"]


@dataclass(frozen=True)
class Parse:
    """One tree of a sentence, its score, and whether the search for it was approximate."""

    tree: DependencyTree
    score: float
    approximate: bool = False

    def _repr_svg_(self) -> str:
        """The arcs as a notebook shows them."""
        from eigentext.drawing.arcs import arcs_svg

        tree = self.tree
        return arcs_svg(tree.forms, tree.heads.tolist(), tree.relations, tags=tree.tags)


def columns_of(sentence: Sentence) -> Columns:
    """The columns that the parser looks at, in one walk over the lines."""
    rows = sentence.rows
    return Columns(*(tuple(row[place] for row in rows) for place in (1, 3, 4, 5)))


def tags_of(columns: Columns) -> tuple[str, ...]:
    """The tags of a tree: those of upos, or of xpos for a treebank that has no others.

    >>> tags_of(given_columns(["Birds", "sing"], xpos=["NNS", "VBP"]))
    ('NNS', 'VBP')
    """
    return tuple(columns.xpos if set(columns.upos) <= {"_"} else columns.upos)


def with_heads(sentence: Sentence) -> Sentence:
    """The sentence itself, if it has a tree with one root."""
    if isinstance(sentence, (str, bytes)):
        raise TypeError("sentences come from formats.conllu.read_sentences, not as str")
    heads = sentence.heads
    if heads is None:
        why = "the sentence that begins here has no heads; expected a tree"
        raise DataError(sentence.source, sentence.first_line, why)
    if heads.count(0) > 1:
        first, second = [word for word, head in enumerate(heads, start=1) if head == 0][:2]
        why = (
            f"the sentence that begins here has {heads.count(0)} roots, words {first} and "
            f"{second} among them; expected a tree with one root"
        )
        raise DataError(sentence.source, sentence.first_line, why)
    return sentence


def checked_sentence(tokens: Sequence[str]) -> list[str]:
    """The tokens of a sentence that can be parsed: one at least, and none without content."""
    words = checked_words(tokens)
    if not words:
        raise SettingsError("no tokens: a sentence has at least one")
    return words


def given_columns(
    tokens: Sequence[str],
    upos: Sequence[str] | None = None,
    xpos: Sequence[str] | None = None,
    feats: Sequence[str] | None = None,
) -> Columns:
    """Columns from tokens and what is known of them; an empty cell, or no column, is ``_``.

    >>> given_columns(["Birds", "sing"], ["NOUN", ""]).upos
    ('NOUN', '_')
    """
    words = checked_sentence(tokens)
    found = []
    for name, column in (("upos", upos), ("xpos", xpos), ("feats", feats)):
        if isinstance(column, str):
            raise TypeError(f"{name} is a sequence with one str per token, not one str")
        if column is not None and len(column) != len(words):
            raise ValueError(f"found {len(column)} {name} for {len(words)} tokens")
        cells = ("_",) * len(words) if column is None else column
        found.append(tuple(cell or "_" for cell in cells))
    return Columns(tuple(words), *found)
