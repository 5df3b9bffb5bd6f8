"""``eigentext words cluster`` and ``words assign``: text or counts to a hierarchy of words."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.cli import options, words_lm
from eigentext.cli.command import Given, with_flags
from eigentext.cli.run import Training, TrainingOnDevice
from eigentext.cli.text_input import GenericText
from eigentext.cli.workers import Workers
from eigentext.errors import SettingsError
from eigentext.words.settings import ClusterSettings

if TYPE_CHECKING:
    from eigentext.words.clusters.model import SpectralClusters

PathsFile = Annotated[
    str | None, options.written("--paths", help="Also write bits TAB word TAB count here.")
]


@with_flags(ClusterSettings)
def cluster(
    run: TrainingOnDevice,
    corpus: options.CorpusOrCounts = None,
    *,
    text: GenericText,
    workers: Workers,
    counts: options.StoredCounts = None,
    paths: PathsFile = None,
    given: Given,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            help="Beyond this, counting goes to disk (2GB by default); clustering that needs "
            "more than was told is refused; 350MB is the least.",
        ),
    ] = None,
) -> None:
    """Cluster words into a binary hierarchy, as Brown clustering does, in seconds.

    Every word gets a path of bits; a prefix of it names a coarser cluster.  Clustering itself
    takes 32 bytes for each different pair of words, some 2GB for a billion words of text.

    Example:

        $ eigentext words cluster sample/text.txt -o text.clusters --paths paths -m 20

        $ eigentext words count sample/text.txt -o text.counts --contexts lr2

        $ eigentext words cluster --counts text.counts -o b.clusters --method brown -m 20
    """
    import time

    from eigentext.base.files.opening import check_writable, expand
    from eigentext.base.heap import map_large_blocks
    from eigentext.counting.counting import count
    from eigentext.counting.counts import Counts
    from eigentext.words.clusters.methods import check_memory
    from eigentext.words.clusters.model import SpectralClusters

    map_large_blocks()
    model = SpectralClusters(**given.settings(ClusterSettings))
    if (counts is None) == (not corpus):
        raise SettingsError("give either a corpus or --counts")
    if counts is not None and model.vocab_size is not None:
        raise SettingsError("--vocab-size is for a corpus: counts have their vocabulary already")
    if counts is not None:
        text.refuse("is for a corpus, not for --counts")
    model.check()
    check_writable(paths)
    if memory is not None:
        check_memory(memory)  # before a long count
    began = time.process_time()
    with run.reading() as (log, progress), workers.at_work(run.jobs):
        if counts is not None:
            counted, sources = Counts.load(counts, mapped=True), [counts]
        else:
            sources = expand(corpus or [])
            counted = count(
                sources,
                contexts=model.contexts_to_count(),
                vocab_size=model.vocab_size,
                jobs=run.jobs,
                memory=memory or "2GB",
                progress=progress,
                on_error=log,
                **text.to_count(),
            )
        seconds = {"input": time.process_time() - began}
        model.fit(counted, memory=memory, progress=progress)
    seconds |= model.clustering_.seconds
    figures = partial(_figures, model, counted.n_tokens, seconds)
    run.save(model, sources, figures, beside=paths)
    if paths is not None:
        model.write_paths(paths)


def _figures(model: SpectralClusters, n_tokens: int, seconds: dict[str, float]) -> dict[str, Any]:
    from eigentext.words.clusters.hierarchy import prefix_information

    clustering = model.clustering_
    values = clustering.singular_values.tolist()
    lengths = [n for n in (2, 4, 6, 8, 10) if 2**n <= 4 * len(clustering.paths)]
    return {
        "tokens": n_tokens,
        "vocabulary": len(clustering.words),
        "clusters": len(clustering.paths),
        "mutual_information": round(clustering.information, 6),
        "mutual_information_by_pass": [round(value, 6) for value in clustering.history],
        "mutual_information_by_prefix": {
            str(k): round(v, 4)
            for k, v in prefix_information(clustering.pairs, clustering.paths, lengths).items()
        },
        "longest_path": max(map(len, clustering.paths)),
        "gamma": None if clustering.gamma is None else round(clustering.gamma, 3),
        "singular_values": [round(v, 4) for v in (*values[:3], *values[-1:])],
        "cpu_seconds_by_stage": {stage: round(s, 3) for stage, s in seconds.items()},
        "cpu_seconds_of_clustering": round(sum(seconds.values()) - seconds["input"], 3),
    }


@with_flags()
def assign(
    model: Annotated[str, typer.Argument(help="A model of `words cluster`.")],
    corpus: options.Texts,
    run: Training,
    text: GenericText,
    workers: Workers,
    paths: PathsFile = None,
    by: Annotated[
        str, typer.Option("--by", help="information (gain of it) or centroid (nearest).")
    ] = "information",
    min_count: Annotated[
        int, typer.Option("--min-count", min=1, help="Put in words seen at least this often.")
    ] = 1,
) -> None:
    """Put the words of new text into existing clusters, without learning anew.

    Example:

        $ eigentext words cluster sample/text.txt -o a.clusters -m 20 --vocab-size 100

        $ eigentext words assign a.clusters sample/text.txt -o b.clusters --paths paths
    """
    from eigentext.base.files.opening import check_writable, expand
    from eigentext.counting.counting import count
    from eigentext.words.clusters.model import SpectralClusters

    check_writable(paths)
    known = SpectralClusters.load(model)
    sources = expand(corpus)
    with run.reading() as (log, progress), workers.at_work(run.jobs):
        counts = count(
            sources,
            contexts="r1",
            min_count=min_count,
            jobs=run.jobs,
            progress=progress,
            on_error=log,
            **text.to_count(),
        )
    more = known.assign(counts, by=by)
    figures = {
        "words_before": len(known.words_),
        "words_put_in": len(more.words_) - len(known.words_),
        "mutual_information": round(more.mutual_information_, 6),
    }
    run.save(more, sources, figures, beside=paths)
    if paths is not None:
        more.write_paths(paths)


def register(app: typer.Typer) -> None:
    """Add these commands to ``eigentext words``."""
    app.command("cluster")(cluster)
    app.command("assign")(assign)
    words_lm.register(app)
