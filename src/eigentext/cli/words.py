"""``eigentext words``: from text to counts of words in their contexts."""

from __future__ import annotations

from typing import Annotated

import typer

from eigentext.cli import options, words_cluster, words_embed, words_report
from eigentext.cli.output import Clock, progress_bar, remark, show_figures, skipping

app = typer.Typer(no_args_is_help=True, help="Word counts and word representations.")
words_embed.register(app)
words_cluster.register(app)
words_report.register(app)


@app.command("count")
def count(
    corpus: options.Sources,
    output: options.ModelOutput,
    contexts: Annotated[
        str,
        typer.Option("--contexts", help="r1, lr1, lr2, positions such as -2,-1,+1, or bag5."),
    ] = "lr2",
    vocab_size: Annotated[
        int | None, typer.Option("--vocab-size", min=1, help="Keep the n most frequent words.")
    ] = None,
    min_count: Annotated[
        int, typer.Option("--min-count", min=1, help="Keep words seen at least so often.")
    ] = 1,
    vocab_from: Annotated[
        str | None,
        typer.Option("--vocab-from", help="Use the vocabulary of these counts, so that they add."),
    ] = None,
    memory: options.Memory = "2GB",
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", help="Address of a Dask scheduler, tcp://...")
    ] = None,
    jobs: options.Jobs = 1,
    raw: options.Raw = False,
    tokeniser: options.Tokeniser = "generic",
    newlines: options.Newlines = options.NewlinesName.auto,
    on_error: options.SkipErrors = options.OnError.stop,
    data_name: options.DataName = None,
    data_licence: options.DataLicence = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Count words and their contexts in a corpus of any size.

    A run that was killed, or found the disk full, goes on where it stopped when it is started
    again with the same settings: what it has done waits in the folder OUTPUT.work.

    Example:

        $ eigentext words count sample/text.txt -o text.counts --contexts lr1 --vocab-size 200
    """
    import resource

    from eigentext.base.files.opening import check_writable, expand
    from eigentext.corpus.counting import count as count_corpus
    from eigentext.corpus.counts import Counts
    from eigentext.corpus.engines import DaskEngine, LocalEngine
    from eigentext.corpus.workfolder import clear

    check_writable(output)
    work_dir = _work_folder(output)
    vocabulary = None if vocab_from is None else Counts.load(vocab_from).vocabulary
    clock = Clock()
    with (
        skipping(on_error, quiet=quiet) as log,
        progress_bar(quiet=quiet) as update,
        LocalEngine(jobs) if scheduler is None else DaskEngine(scheduler) as engine,
    ):
        sources = expand(corpus)
        counts = count_corpus(
            sources,
            contexts=contexts,
            vocab_size=vocab_size,
            min_count=min_count,
            vocabulary=vocabulary,
            memory=memory,
            tokeniser=tokeniser if raw else None,
            newlines=newlines.value,
            work_dir=work_dir,
            keep_work=True,
            engine=engine,
            progress=update,
            on_error=log,
        )
        counts.save(output, data=options.about_data(sources, data_name, data_licence))
    if work_dir is not None:
        clear(work_dir)
    if json or not quiet:
        figures = {
            "tokens": counts.n_tokens,
            "sentences": counts.n_sentences,
            "skipped": counts.n_skipped,
            "vocabulary": len(counts.words),
            "pairs_stored": counts.n_stored,
            **clock.figures(tokens=counts.n_tokens),
            "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        }
        show_figures(figures, as_json=json, results_on_stdout=output == "-")


def _work_folder(output: str) -> str | None:
    """Where unfinished work waits for the next run; None where a folder cannot be made beside."""
    from pathlib import Path

    from eigentext.base.files.storage import is_url

    target = Path(output)
    if output == "-" or is_url(output) or (target.exists() and not target.is_file()):
        return None
    return f"{output}.work"


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
    from eigentext.corpus.counts import Counts

    total = Counts.load(counts[0])
    for path in counts[1:]:
        total = total + Counts.load(path)
    if len(counts) == 1:
        remark("only one file of counts: the sum is a copy of it", quiet=quiet)
    total.save(output)
    if json or not quiet:
        figures = {"tokens": total.n_tokens, "vocabulary": len(total.words)}
        show_figures(figures, as_json=json, results_on_stdout=output == "-")


@app.command("inspect")
def inspect(
    counts: Annotated[str, typer.Argument(help="A file of counts.")],
    top: Annotated[int, typer.Option("--top", min=0, help="So many of the most frequent.")] = 20,
    format_: options.Format = options.ResultFormat.native,
) -> None:
    """List the most frequent words of a file of counts.

    Example:

        $ eigentext words count sample/text.txt -o text.counts

        $ eigentext words inspect text.counts --top 5
    """
    from json import dumps

    from eigentext.corpus.counts import Counts

    found = Counts.load(counts)
    for word, n in list(zip(found.words, found.unigrams.tolist(), strict=True))[:top]:
        as_json = format_ is options.ResultFormat.jsonl
        print(dumps({"word": word, "count": n}, ensure_ascii=False) if as_json else f"{n}\t{word}")
