"""``eigentext words``: from text to counts of words in their contexts."""

from __future__ import annotations

from typing import Annotated

import typer

from eigentext.cli import options, words_cluster, words_embed, words_report, words_topics
from eigentext.cli.command import with_flags
from eigentext.cli.output import remark, show_figures
from eigentext.cli.run import Training
from eigentext.cli.text_input import GenericText
from eigentext.cli.workers import Workers

app = typer.Typer(no_args_is_help=True, help="Word counts and word representations.")
words_embed.register(app)
words_cluster.register(app)
words_report.register(app)
words_topics.register(app)


@app.command("count")
@with_flags()
def count(
    corpus: options.Texts,
    run: Training,
    text: GenericText,
    workers: Workers,
    contexts: Annotated[
        str,
        typer.Option("--contexts", help="r1, lr1, lr2, positions such as -2,-1,+1, or bag5."),
    ] = "lr2",
    vocab_size: Annotated[
        int | None, typer.Option("--vocab-size", min=1, help="Keep the n most frequent words.")
    ] = None,
    min_count: Annotated[
        int, typer.Option("--min-count", min=1, help="Keep words seen at least this often.")
    ] = 1,
    vocab_from: Annotated[
        str | None,
        typer.Option("--vocab-from", help="Use the vocabulary of these counts, so that they add."),
    ] = None,
    memory: options.Memory = "2GB",
) -> None:
    """Count words and their contexts in a corpus of any size.

    A run that was killed, or found the disk full, goes on where it stopped when it is started
    again with the same settings: what it has done waits in the folder OUTPUT.work.

    Example:

        $ eigentext words count sample/text.txt -o text.counts --contexts lr1 --vocab-size 200
    """
    import resource

    from eigentext.base.files.opening import expand
    from eigentext.base.heap import map_large_blocks
    from eigentext.counting.counting import count as count_corpus
    from eigentext.counting.counts import Counts
    from eigentext.counting.workfolder import clear

    map_large_blocks()
    work_dir = _work_folder(run.output)
    vocabulary = None if vocab_from is None else Counts.load(vocab_from).vocabulary
    with run.reading() as (log, progress), workers.at_work(run.jobs):
        sources = expand(corpus)
        counts = count_corpus(
            sources,
            contexts=contexts,
            vocab_size=vocab_size,
            min_count=min_count,
            vocabulary=vocabulary,
            memory=memory,
            work_dir=work_dir,
            keep_work=True,
            jobs=run.jobs,
            progress=progress,
            on_error=log,
            **text.to_count(),
        )
    figures: dict[str, float] = {
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


@app.command("from-tables")
def from_tables(
    words: Annotated[
        list[str],
        typer.Option(
            "--words",
            help="Parquet files or globs with the columns word and count.",
            show_default=False,
        ),
    ],
    output: options.ModelOutput,
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            "--pairs",
            help="The same with left, right, count, and distance (1 unless there).",
            show_default=False,
        ),
    ] = None,
    contexts: Annotated[
        str, typer.Option("--contexts", help="What the pairs are, as for `words count`.")
    ] = "lr1",
    sentences: Annotated[
        int | None,
        typer.Option(
            "--sentences",
            min=1,
            help="The number of lines, where pairs of distance 1 do not tell it.",
            show_default=False,
        ),
    ] = None,
    memory: options.Memory = "2GB",
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Make a file of counts from tables of words and of pairs, such as Spark or DuckDB write.

    A row of words named <unk> has the tokens of all words that were left out.  Tables that no
    text could have given are refused.  The examples of eigentext's sources make such tables.

    Example:

        $ eigentext words count sample/text.txt -o a.counts --contexts lr1

        $ eigentext words to-tables a.counts --words words.parquet --pairs pairs.parquet

        $ eigentext words from-tables --words words.parquet --pairs pairs.parquet -o b.counts
    """
    from eigentext.base.files.opening import check_writable, expand
    from eigentext.base.heap import map_large_blocks
    from eigentext.counting.counts import Counts

    map_large_blocks()
    check_writable(output)
    files = expand(words), expand(pairs or [])
    counts = Counts.from_tables(*files, contexts=contexts, n_sentences=sentences, memory=memory)
    counts.save(output, data={"files": [*files[0], *files[1]]})
    if json or not quiet:
        figures = {
            "tokens": counts.n_tokens,
            "sentences": counts.n_sentences,
            "vocabulary": len(counts.words),
            "pairs_stored": counts.n_stored,
        }
        show_figures(figures, as_json=json, results_on_stdout=output == "-")


@app.command("to-tables")
def to_tables(
    counts: Annotated[str, typer.Argument(help="A file of counts.")],
    words: Annotated[
        str,
        options.written("--words", help="Where to write words and counts.", show_default=False),
    ],
    pairs: Annotated[
        str | None,
        options.written("--pairs", help="Where to write left, right, distance and count."),
    ] = None,
) -> None:
    """Write counts as tables (Parquet), for a database or another program.

    Example:

        $ eigentext words count sample/text.txt -o text.counts

        $ eigentext words to-tables text.counts --words words.parquet --pairs pairs.parquet
    """
    from eigentext.base.files.opening import check_writable
    from eigentext.counting.counts import Counts

    check_writable(words, pairs)
    Counts.load(counts).to_tables(words, pairs)


@app.command("add")
def add(
    counts: Annotated[list[str], typer.Argument(help="Two or more files of counts.")],
    output: options.ModelOutput,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Add counts of several corpora, or of the shards of one.

    Example:

        $ eigentext words count sample/text.txt -o a.counts --contexts lr1

        $ eigentext words count sample/text.txt -o b.counts --contexts lr1 --vocab-from a.counts

        $ eigentext words add a.counts b.counts -o both.counts
    """
    from eigentext.base.files.opening import check_writable
    from eigentext.counting.counts import Counts

    check_writable(output)
    total = Counts.load(counts[0])
    for path in counts[1:]:
        total = total + Counts.load(path)
    if len(counts) == 1:
        remark("only one file of counts: the sum is a copy of it", quiet=quiet)
    total.save(output, data={"files": counts})
    if json or not quiet:
        figures = {"tokens": total.n_tokens, "vocabulary": len(total.words)}
        show_figures(figures, as_json=json, results_on_stdout=output == "-")


@app.command("inspect")
def inspect(
    counts: Annotated[str, typer.Argument(help="A file of counts.")],
    top: Annotated[
        int, typer.Option("--top", min=0, help="How many of the most frequent words.")
    ] = 20,
    format_: options.Format = "native",
) -> None:
    """List the most frequent words of a file of counts.

    Example:

        $ eigentext words count sample/text.txt -o text.counts

        $ eigentext words inspect text.counts --top 5
    """
    from json import dumps

    from eigentext.counting.counts import Counts

    held = Counts.load(counts)
    for word, n in list(zip(held.words, held.unigrams.tolist(), strict=True))[:top]:
        record = {"word": word, "count": n}
        print(dumps(record, ensure_ascii=False) if format_ == "jsonl" else f"{n}\t{word}")
