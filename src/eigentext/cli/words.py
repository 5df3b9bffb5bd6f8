"""``eigentext words``: from text to counts of words in their contexts, and to what they teach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from json import dumps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.base.cores import using_cores
from eigentext.base.files.opening import OnError, check_writable, expand
from eigentext.cli import options, words_eval, words_train
from eigentext.cli.command import Flags, argument, flag, group, with_flags
from eigentext.cli.inputs import GenericText, is_model, kind_of_model
from eigentext.cli.output import remark
from eigentext.cli.verbs import Applying, Training, Workers
from eigentext.cli.words_train import VECTORS, DocumentInput, PathsFile
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from eigentext.counting.counts import Counts


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
        _write_topics(model, corpus, run, text, as_json=format_ == "jsonl")
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


def _write_topics(
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


@dataclass(kw_only=True)
class Counting(Flags):
    """How text is counted."""

    contexts: str | None = flag(
        "r1, lr1, lr2, positions such as -2,-1,+1, or bag5.", show_default="lr2; of tables lr1"
    )
    vocab_size: int | None = flag("Keep the n most frequent words.", min=1)
    min_count: int = flag("Keep words seen at least this often.", 1, min=1)
    vocab_from: str | None = flag("Use the vocabulary of these counts, so that they add.")


@dataclass(kw_only=True)
class CountTables(Flags):
    """Counts that another program made."""

    words: list[str] | None = flag(
        "In place of text: Parquet files or globs with the columns word and count."
    )
    pairs: list[str] | None = flag(
        "The same with left, right, count, and distance (1 unless there)."
    )
    sentences: int | None = flag(
        "Of tables: the number of lines, where pairs of distance 1 do not tell it.", min=1
    )


@with_flags()
def count(
    run: Training,
    corpus: list[str] | None = argument(
        "Text files, .parquet, .jsonl or .wet, globs or URLs; '-' is standard input.  Or "
        "files of counts, which are added."
    ),
    *,
    counting: Counting,
    text: GenericText,
    tables: CountTables,
    workers: Workers,
    memory: options.Memory = "2GB",
) -> None:
    """Count words and their contexts in a corpus of any size, or add counts.

    A run that was killed, or found the disk full, goes on where it stopped when it is started
    again with the same settings: what it has done waits in the folder OUTPUT.work.

    Tables of words and of pairs, such as Spark or DuckDB write, are taken for counts as they are.
    A row of words named <unk> has the tokens of all words that were left out.  Tables that no
    text could have given are refused.  The examples of eigentext's sources make such tables.

    Example:
        $ eigentext words count sample/text.txt -o a.counts --contexts lr1 --vocab-size 200
        $ eigentext words count sample/text.txt -o b.counts --contexts lr1 --vocab-from a.counts
        $ eigentext words count a.counts b.counts -o both.counts
        $ eigentext convert a.counts -o words.parquet --pairs pairs.parquet
        $ eigentext words count --words words.parquet --pairs pairs.parquet -o c.counts
    """
    from eigentext.base.heap import map_large_blocks

    map_large_blocks()
    if bool(corpus) == bool(tables.words):
        raise SettingsError("expected a corpus, or --words and --pairs, and not both")
    if tables.words:
        counting.refuse("is for text, not for tables", but=("--contexts",))
        text.refuse("is for text, not for tables")
        _save(run, *_of_tables(tables, counting.contexts or "lr1", memory))
        return
    tables.refuse("is for tables, in place of a corpus")
    if corpus and is_model(corpus[0]):
        counting.refuse("is for text, not for counts")
        text.refuse("is for text, not for counts")
        _save(run, _sum(corpus, run), corpus)
        return
    _count(corpus or [], run, counting, text, workers, memory)


def _save(run: Training, counts: Counts, sources: list[str]) -> None:
    counts.save(run.output, data=run.about(sources))
    figures = {
        "tokens": counts.n_tokens,
        "sentences": counts.n_sentences,
        "vocabulary": len(counts.words),
        "pairs_stored": counts.n_stored,
    }
    run.tell(figures, results_on_stdout=run.output == "-")


def _of_tables(tables: CountTables, contexts: str, memory: str) -> tuple[Counts, list[str]]:
    from eigentext.counting.counts import Counts

    files = expand(tables.words or []), expand(tables.pairs or [])
    n_sentences = tables.sentences
    counts = Counts.from_tables(*files, contexts=contexts, n_sentences=n_sentences, memory=memory)
    return counts, [*files[0], *files[1]]


def _sum(files: list[str], run: Training) -> Counts:
    from eigentext.counting.counts import Counts

    total = Counts.load(files[0])
    for path in files[1:]:
        total = total + Counts.load(path)
    if len(files) == 1:
        remark("only one file of counts: the sum is a copy of it", quiet=run.quiet)
    return total


def _count(
    corpus: list[str],
    run: Training,
    counting: Counting,
    text: GenericText,
    workers: Workers,
    memory: str,
) -> None:
    import resource

    from eigentext.counting.counting import count as count_corpus
    from eigentext.counting.counts import Counts
    from eigentext.counting.workfolder import clear

    work_dir = _work_folder(run.output)
    source = counting.vocab_from
    vocabulary = None if source is None else Counts.load(source).vocabulary
    with run.reading() as (log, progress), workers.at_work(run.jobs):
        sources = expand(corpus)
        counts = count_corpus(
            sources,
            contexts=counting.contexts or "lr2",
            vocab_size=counting.vocab_size,
            min_count=counting.min_count,
            vocabulary=vocabulary,
            memory=memory,
            work_dir=work_dir,
            keep_work=True,
            jobs=run.jobs,
            progress=progress,
            on_error=log,
            **text.to_count(),
        )
    figures: dict[str, object] = {
        "tokens": counts.n_tokens,
        "sentences": counts.n_sentences,
        "skipped": counts.n_skipped,
        "vocabulary": len(counts.words),
        "pairs_stored": counts.n_stored,
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    counts.save(run.output, data=run.about(sources))
    if work_dir is not None:  # what it held is in the file now
        clear(work_dir)
    figures |= run.clock.figures(tokens=counts.n_tokens)
    run.tell(figures, results_on_stdout=run.output == "-")


def _work_folder(output: str) -> str | None:
    """Where unfinished work waits for the next run; None where a folder cannot be made beside."""
    from pathlib import Path

    from eigentext.base.files.storage import is_url

    target = Path(output)
    if output == "-" or is_url(output) or (target.exists() and not target.is_file()):
        return None
    return f"{output}.work"


app = group(
    count,
    words_train.cluster,
    words_train.embed,
    words_train.train_topics,
    words_train.train_lm,
    apply,
    words_eval.score,
    words_eval.eval_,
    words_eval.inspect,
)
