"""``eigentext words``: from text to counts of words in their contexts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from eigentext.cli import options, words_cluster, words_embed, words_report
from eigentext.cli.output import progress_bar, remark, show_figures, skipping
from eigentext.errors import DataError, EigentextError

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
    memory: Annotated[
        str, typer.Option("--memory", help="Spill to disk beyond this: 500MB, 2GB, ...")
    ] = "2GB",
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", help="Address of a Dask scheduler, tcp://...")
    ] = None,
    jobs: options.Jobs = 1,
    raw: options.Raw = False,
    tokeniser: options.Tokeniser = "generic",
    on_error: options.SkipErrors = options.OnError.stop,
    data_name: options.DataName = None,
    data_licence: options.DataLicence = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Count words and their contexts in a corpus of any size.

    A run that was killed goes on where it stopped when it is started again with the same settings.

    Example:

        $ eigentext words count sample/text.txt -o text.counts --contexts lr1 --vocab-size 200
    """
    import resource
    import time

    from eigentext.corpus.counting import count as count_corpus
    from eigentext.corpus.counts import Counts
    from eigentext.corpus.engines import DaskEngine, LocalEngine
    from eigentext.formats.opening import expand

    vocabulary = None if vocab_from is None else Counts.load(vocab_from).vocabulary
    began, cpu_began = time.perf_counter(), _cpu_seconds()
    with (
        _work_folders(output) as (work_dir, raw_folder),
        skipping(on_error, quiet=quiet) as log,
        progress_bar(quiet=quiet) as update,
        LocalEngine(jobs) if scheduler is None else DaskEngine(scheduler) as engine,
    ):
        sources = expand(corpus)
        counts = count_corpus(
            _tokenised(sources, tokeniser, raw_folder, log) if raw else sources,
            contexts=contexts,
            vocab_size=vocab_size,
            min_count=min_count,
            vocabulary=vocabulary,
            memory=memory,
            work_dir=work_dir,
            keep_work=True,
            engine=engine,
            progress=update,
            on_error=log,
        )
        counts.save(output, data=options.about_data(sources, data_name, data_licence))
    seconds = time.perf_counter() - began
    if json or not quiet:
        figures = {
            "tokens": counts.n_tokens,
            "sentences": counts.n_sentences,
            "skipped": counts.n_skipped,
            "vocabulary": len(counts.words),
            "pairs_stored": counts.n_stored,
            "seconds": round(seconds, 3),
            "cpu_seconds": round(_cpu_seconds() - cpu_began, 3),
            "tokens_per_second": round(counts.n_tokens / seconds),
            "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        }
        show_figures(figures, as_json=json, results_on_stdout=output == "-")


@contextmanager
def _work_folders(output: str) -> Iterator[tuple[str | None, str]]:
    """Where unfinished work and tokenised text wait; gone when the result is saved.

    A killed run leaves them to the next one; bad input does not, since it would fail again.
    """
    from shutil import rmtree
    from tempfile import TemporaryDirectory

    from eigentext.corpus import workfolder

    if output == "-":
        with TemporaryDirectory() as folder:
            yield None, folder
        return
    work_dir, raw_folder = f"{output}.work", f"{output}.raw"
    try:
        yield work_dir, raw_folder
    except EigentextError:
        workfolder.clear(work_dir)
        rmtree(raw_folder, ignore_errors=True)
        raise
    workfolder.clear(work_dir)
    rmtree(raw_folder, ignore_errors=True)


def _cpu_seconds() -> float:
    import resource

    spent = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        spent += usage.ru_utime + usage.ru_stime
    return spent


def _tokenised(
    sources: list[str], scheme: str, folder: str, on_error: Callable[[DataError], None] | None
) -> list[str]:
    """Tokenise raw text into files of one sentence a line; those that are there already stay."""
    from hashlib import sha256
    from pathlib import Path

    from eigentext.corpus.raw_text import read_tokenised
    from eigentext.formats.text import write_sentences

    Path(folder).mkdir(parents=True, exist_ok=True)
    targets = []
    for source in sources:
        file = Path(source)
        state = [source, scheme, *(file.stat()[6:9] if file.is_file() else ())]
        target = Path(folder, f"{sha256(repr(state).encode()).hexdigest()[:20]}.txt")
        if not target.exists() or source == "-":
            write_sentences(read_tokenised(source, scheme, on_error=on_error), str(target))
        targets.append(str(target))
    if not any(Path(target).stat().st_size for target in targets):
        raise DataError(sources[0], None, "no tokens, expected text")
    return targets


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
