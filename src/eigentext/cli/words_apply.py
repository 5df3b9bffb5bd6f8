"""``eigentext words apply``: clusters, topics or vectors for the words of a text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from json import dumps
from typing import Annotated, Any

import typer

from eigentext.base.cores import using_cores
from eigentext.base.files.opening import OnError, check_writable, expand
from eigentext.cli import options
from eigentext.cli.command import Flags, flag, with_flags
from eigentext.cli.inputs import is_model, kind_of_model
from eigentext.cli.verbs import Applying, Workers
from eigentext.cli.words_train import DocumentInput, PathsFile
from eigentext.errors import SettingsError

VECTORS = ("embeddings", "lrmvl", "multiview")  # kinds of models of vectors


@dataclass(kw_only=True)
class ClusterFlags(Flags):
    """What means something of clusters alone."""

    paths: PathsFile = None
    by: str = flag("information (gain of it) or centroid (nearest).", "information")
    min_count: int = flag("Put in words seen at least this often.", 1, min=1)
    data_name: options.DataName = None
    data_licence: options.DataLicence = None


@with_flags()
def apply(
    model: Annotated[
        str, typer.Argument(help="A model of clusters, topics or vectors, or a word2vec file.")
    ],
    corpus: options.Texts,
    run: Applying,
    text: DocumentInput,
    clusters: ClusterFlags,
    workers: Workers,
    format_: options.Format = "native",
    jobs: options.Jobs = 1,
) -> None:
    """Put new words into clusters, or print the topics of documents, or the vectors of words.

    Clusters: the words of the text are put into those that there are, without learning anew; the
    output is a model.  Topics: their proportions in each document, a line for each.  Vectors: one
    for each word of the text in word2vec's format, of unknown words too where the model has the
    view characters; words without one are left out.  Taggers take the file as --vectors.

    Example:
        $ eigentext words cluster sample/text.txt -o a.clusters -m 20 --vocab-size 100
        $ eigentext words apply a.clusters sample/text.txt -o b.clusters --paths paths
        $ eigentext words train-topics sample/text.txt -o text.topics -k 2 --documents 4
        $ eigentext words apply text.topics sample/text.txt --documents 4
        $ eigentext words embed sample/text.txt -o a.vec --views left,characters --n-components 10
        $ eigentext words apply a.vec sample/text.txt -o vectors.txt
    """
    check_writable(run.output, clusters.paths)
    kind = kind_of_model(model, "clusters", "topics", *VECTORS) if is_model(model) else "word2vec"
    if kind != "clusters":
        clusters.refuse("is for clusters")
        workers.refuse("is for clusters")
    if kind != "topics" and (text.documents != "line" or format_ != "native"):
        flag = "--format" if format_ != "native" else "--documents"
        raise SettingsError(f"{flag} is for topics")
    if kind == "clusters":
        _put_into_clusters(model, corpus, run, text, clusters, workers, jobs)
    elif kind == "topics":
        _topics_of(model, corpus, run, text, as_json=format_ == "jsonl")
    else:
        _vectors_of(model, corpus, run, text)


def _put_into_clusters(
    model: str,
    corpus: list[str],
    run: Applying,
    text: DocumentInput,
    flags: ClusterFlags,
    workers: Workers,
    jobs: int,
) -> None:
    from eigentext.counting.counting import count
    from eigentext.words.clusters.model import SpectralClusters

    before = SpectralClusters.load(model)
    sources = expand(corpus)
    with run.reading() as (log, progress), workers.at_work(jobs), using_cores(jobs):
        counts = count(
            sources,
            contexts="r1",
            min_count=flags.min_count,
            jobs=jobs,
            progress=progress,
            on_error=log,
            **text.to_count(),
        )
    more = before.assign(counts, by=flags.by)
    figures = {
        "words_before": len(before.words_),
        "words_put_in": len(more.words_) - len(before.words_),
        "mutual_information": round(more.mutual_information_, 6),
        "skipped": run.skipped,
        **run.clock.figures(),
    }
    about = {"name": flags.data_name, "licence": flags.data_licence, "files": sources}
    more.save(run.output, data=about)
    if flags.paths is not None:
        more.write_paths(flags.paths)
    run.tell(figures, results_on_stdout=flags.paths == "-")


def _topics_of(
    model: str, corpus: list[str], run: Applying, text: DocumentInput, *, as_json: bool
) -> None:

    from eigentext.words.topics.model import TopicModel

    topics = TopicModel.load(model)
    n_documents = 0

    def lines(log: OnError | None) -> Iterator[str]:
        nonlocal n_documents
        documents = text.texts(corpus, log)
        while some := list(islice(documents, 10_000)):
            n_documents += len(some)
            for row in topics.transform(some):
                shares: list[Any] = [round(value, 4) for value in row.tolist()]
                if as_json:
                    yield dumps({"topic": int(row.argmax()), "proportions": shares})
                else:
                    yield "\t".join(f"{value:.4f}" for value in shares)

    with run.reading() as (log, _):
        run.write(lines(log))
    run.tell({"documents": n_documents, "topics": len(topics.weights_), "skipped": run.skipped})


def _vectors_of(model: str, corpus: list[str], run: Applying, text: DocumentInput) -> None:
    from eigentext.language.formats.word2vec import write_vectors
    from eigentext.words.embeddings.vectors import load_space

    with run.reading() as (log, _):
        sentences = text.sentences(corpus, log)
        words = dict.fromkeys(word for tokens in sentences for word in tokens)
    if not words:
        raise SettingsError("no words in this text, expected some")
    space = load_space(model).with_words(words)
    in_space = [word for word in words if word in space.row_of]
    if not in_space:
        raise SettingsError("none of these words has a vector in this model")
    rows = [space.row_of[word] for word in in_space]
    write_vectors(in_space, space.unit[rows], run.output, binary=run.output.endswith(".bin"))
