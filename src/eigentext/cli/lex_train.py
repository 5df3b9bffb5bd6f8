"""``eigentext lex train``: from labelled documents to a ranker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.command import Given, with_settings
from eigentext.cli.output import Clock, progress_bar, show_figures, skipped_count, skipping
from eigentext.lexical.settings import RankerSettings

if TYPE_CHECKING:
    from eigentext.base.files.opening import SkipLog
    from eigentext.lexical.documents import Document
    from eigentext.lexical.schemes.labels import LabelScheme

DocumentsBy = Annotated[
    str,
    typer.Option(
        "--documents", help="What a document of a treebank is: auto, newdoc, source, sentence."
    ),
]


@with_settings(RankerSettings)
def train(
    sources: options.Sources,
    output: options.ModelOutput,
    given: Given,
    documents: DocumentsBy = "auto",
    on_error: options.SkipErrors = options.OnError.stop,
    data_name: options.DataName = None,
    data_licence: options.DataLicence = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Learn to rank the analyses of words in context.

    Documents are .jsonl files of labelled words or .conllu treebanks.  The model names its
    analyzer but does not hold it.

    Example:

        $ eigentext lex train sample/arabic.jsonl -o arabic.ranker --bits 16

        $ eigentext lex rank arabic.ranker sample/arabic.txt --format vocalised
    """
    from eigentext.base.files.opening import check_writable
    from eigentext.lexical.ranker.model import LexicalRanker
    from eigentext.lexical.schemes.labels import load_scheme

    check_writable(output)
    clock = Clock()
    ranker = LexicalRanker(**given.settings(RankerSettings))
    ranker.check()
    with (
        skipping(on_error, quiet=quiet) as log,
        progress_bar(quiet=quiet, unit="steps") as update,
    ):
        read = read_labelled(sources, load_scheme(ranker.scheme), documents, log)
        ranker.fit(read, progress=update)
    ranker.save(output, data=options.about_data(sources, data_name, data_licence))
    if json or not quiet:
        figures: dict[str, Any] = {
            "documents": len(read),
            "words": sum(len(line) for d in read for line in d.sentences),
            "forms": len(ranker.seen_),
            "pairs": sum(stage.counts.filled for stage in ranker.stages_),
            "temperature": round(ranker.temperature_, 3),
            "skipped": skipped_count(log),
            **clock.figures(),
        }
        show_figures(figures, as_json=json, results_on_stdout=output == "-")


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
