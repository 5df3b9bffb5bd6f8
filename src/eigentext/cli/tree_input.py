"""Dependency trees from the files a command was given, CoNLL-U or CoNLL-X."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from eigentext.base.files.opening import OnError, raise_or_tell
from eigentext.errors import DataError

if TYPE_CHECKING:
    from eigentext.language.formats.conll import TenColumnBlock
    from eigentext.language.formats.conllu import ConlluBlock
    from eigentext.language.trees.dependency import DependencyTree

__all__ = ["sentences_of", "training_trees", "trees_of"]


def sentences_of(path: str, on_error: OnError | None = None) -> Iterator[TenColumnBlock]:
    """The sentences of a CoNLL-U or, by its name, CoNLL-X file; one without any is an error."""
    from eigentext.language.formats import conllu, conllx
    from eigentext.language.formats.registry import format_of

    reader = conllx if format_of(path, ("conllx",), "") else conllu
    sentences: Iterable[TenColumnBlock] = reader.read_sentences(path, on_error=on_error)
    empty = True
    for sentence in sentences:
        empty = False
        yield sentence
    if empty:
        raise DataError(path, None, "no sentences in this file")


def trees_of(
    sources: Iterable[str], *, on_error: OnError | None = None
) -> Iterator[tuple[ConlluBlock, DependencyTree]]:
    """Sentences with their trees; one without heads is an error.

    Tags are those of column UPOS, and of XPOS where that is empty.
    """
    from eigentext.base.files.opening import expand
    from eigentext.language.formats import conllu, conllx

    for source in expand(sources):
        for columns in sentences_of(source, on_error):
            sentence = columns
            if isinstance(columns, conllx.ConllxBlock):
                sentence = conllx.to_conllu(columns)
            if not isinstance(sentence, conllu.ConlluBlock) or sentence.heads is None:
                why = "the sentence that begins here has no heads; expected a tree"
                raise_or_tell(DataError(columns.source, columns.first_line, why), on_error)
                continue
            blank = set(sentence.column("upos")) == {"_"}
            yield sentence, conllu.to_dependency_tree(sentence, tags="xpos" if blank else "upos")


def training_trees(sources: list[str], on_error: OnError | None = None) -> list[ConlluBlock]:
    """Sentences with a tree of one root; another is an error of its file, or skipped."""
    from eigentext.dependency.graph.answer import with_heads
    from eigentext.language.formats.conllu import read_sentences

    sentences = []
    for source in sources:
        for sentence in read_sentences(source, on_error=on_error):
            try:
                sentences.append(with_heads(sentence))
            except DataError as error:
                raise_or_tell(error, on_error)
    if not sentences:
        raise DataError(", ".join(sources), None, "no sentences, expected some with heads")
    return sentences
