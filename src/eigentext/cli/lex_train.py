"""``eigentext lex train``: from labelled documents to a ranker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eigentext.cli import options
from eigentext.cli.command import Given, with_flags
from eigentext.cli.run import Training
from eigentext.lexical.settings import RankerSettings

if TYPE_CHECKING:
    from eigentext.base.files.opening import SkipLog
    from eigentext.lexical.documents import Document
    from eigentext.lexical.schemes.labels import LabelScheme

DocumentsBy = Annotated[
    Literal["auto", "newdoc", "source", "sentence"],
    typer.Option("--documents", help="What a document of a treebank is."),
]


@with_flags(RankerSettings)
def train(
    sources: options.Labelled, run: Training, given: Given, documents: DocumentsBy = "auto"
) -> None:
    """Learn to rank the analyses of words in context.

    Documents are .jsonl files of labelled words or .conllu treebanks.  The model names its
    analyzer but does not hold it.

    Example:

        $ eigentext lex train sample/arabic.jsonl -o arabic.ranker --bits 16

        $ eigentext lex rank arabic.ranker sample/arabic.txt --format vocalised
    """
    from eigentext.lexical.ranker.model import LexicalRanker
    from eigentext.lexical.schemes.labels import load_scheme

    ranker = LexicalRanker(**given.settings(RankerSettings))
    ranker.check()
    with run.reading("steps") as (log, progress):
        read = read_labelled(sources, load_scheme(ranker.scheme), documents, log)
        ranker.fit(read, progress=progress)
    figures = {
        "documents": len(read),
        "words": sum(len(line) for d in read for line in d.sentences),
        "forms": len(ranker.seen_),
        "pairs": sum(stage.counts.filled for stage in ranker.stages_),
        "temperature": round(ranker.temperature_, 3),
    }
    run.save(ranker, sources, figures)


def read_labelled(
    sources: list[str], scheme: LabelScheme, documents: str, log: SkipLog | None
) -> list[Document]:
    """The documents of the files; none at all is an error."""
    from eigentext.base.files.opening import expand
    from eigentext.errors import DataError
    from eigentext.lexical.reading import read_documents

    read = read_documents(expand(sources), scheme, documents=documents, on_error=log)
    if not any(word.label for document in read for word in document.words()):
        raise DataError(", ".join(sources), None, "no labelled words, expected some")
    return read
