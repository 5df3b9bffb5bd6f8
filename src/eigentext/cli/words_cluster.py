"""``eigentext words cluster`` and ``words assign``: text or counts to a hierarchy of words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.cli import options, words_lm
from eigentext.cli.command import Given, with_settings
from eigentext.cli.output import Clock, progress_bar, show_figures
from eigentext.errors import SettingsError
from eigentext.words.settings import ClusterSettings

if TYPE_CHECKING:
    from eigentext.words.clusters.model import SpectralClusters

PathsFile = Annotated[
    str | None, typer.Option("--paths", help="Also write bits TAB word TAB count here.")
]


@with_settings(ClusterSettings)
def cluster(
    output: options.ModelOutput,
    corpus: options.CorpusOrCounts = None,
    *,
    counts: options.StoredCounts = None,
    paths: PathsFile = None,
    given: Given,
    memory: options.Memory = "2GB",
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
    """Cluster words into a binary hierarchy, as Brown clustering does, in seconds.

    Every word gets a path of bits; a prefix of it names a coarser cluster.

    Example:

        $ eigentext words cluster sample/text.txt -o text.clusters --paths paths -m 20

        $ eigentext words count sample/text.txt -o text.counts --contexts lr2

        $ eigentext words cluster --counts text.counts -o b.clusters --method brown -m 20
    """
    import time

    from eigentext.base.files.opening import check_writable, expand
    from eigentext.cli.output import skipping
    from eigentext.corpus.counting import count
    from eigentext.corpus.counts import Counts
    from eigentext.words.clusters.model import SpectralClusters

    model = SpectralClusters(**given.settings(ClusterSettings))
    if (counts is None) == (not corpus):
        raise SettingsError("give either a corpus or --counts")
    if counts is not None and model.vocab_size is not None:
        raise SettingsError("--vocab-size is for a corpus: counts have their vocabulary already")
    model.check()
    check_writable(output, paths)
    clock, cpu_began = Clock(), time.process_time()
    seconds: dict[str, float] = {}
    with progress_bar(quiet=quiet) as update, skipping(on_error, quiet=quiet) as log:
        if counts is not None:
            counted, sources = Counts.load(counts), [counts]
        else:
            sources = expand(corpus or [])
            counted = count(
                sources,
                contexts=model.contexts_to_count(),
                vocab_size=model.vocab_size,
                jobs=jobs,
                memory=memory,
                tokeniser=tokeniser if raw else None,
                newlines=newlines.value,
                progress=update,
                on_error=log,
            )
        seconds["input"] = time.process_time() - cpu_began
        model.fit(counted, progress=update)
    cpu_written = time.process_time()
    model.save(output, data=options.about_data(sources, data_name, data_licence))
    if paths is not None:
        model.write_paths(paths)
    if json or not quiet:
        ended = time.process_time()
        seconds |= model.clustering_.seconds | {"output": ended - cpu_written}
        show_figures(
            _figures(model, counted.n_tokens, seconds) | clock.figures(),
            as_json=json,
            results_on_stdout="-" in (output, paths),
        )


def _figures(model: SpectralClusters, n_tokens: int, seconds: dict[str, float]) -> dict[str, Any]:
    from eigentext.words.clusters.hierarchy import prefix_information

    found = model.clustering_
    values = found.singular_values.tolist()
    lengths = [n for n in (2, 4, 6, 8, 10) if 2**n <= 4 * len(found.paths)]
    return {
        "tokens": n_tokens,
        "vocabulary": len(found.words),
        "clusters": len(found.paths),
        "mutual_information": round(found.information, 6),
        "mutual_information_by_pass": [round(value, 6) for value in found.history],
        "mutual_information_by_prefix": {
            str(k): round(v, 4)
            for k, v in prefix_information(found.pairs, found.paths, lengths).items()
        },
        "longest_path": max(map(len, found.paths)),
        "gamma": None if found.gamma is None else round(found.gamma, 3),
        "singular_values": [round(v, 4) for v in (*values[:3], *values[-1:])],
        "cpu_seconds_by_stage": {stage: round(s, 3) for stage, s in seconds.items()},
        "cpu_seconds_without_input_and_output": round(
            sum(s for stage, s in seconds.items() if stage not in ("input", "output")), 3
        ),
    }


def assign(
    model: Annotated[str, typer.Argument(help="A model of `words cluster`.")],
    corpus: options.Sources,
    output: options.ModelOutput,
    paths: PathsFile = None,
    by: Annotated[
        str, typer.Option("--by", help="information (gain of it) or centroid (nearest).")
    ] = "information",
    min_count: Annotated[
        int, typer.Option("--min-count", min=1, help="Put in words seen at least so often.")
    ] = 1,
    jobs: options.Jobs = 1,
    raw: options.Raw = False,
    tokeniser: options.Tokeniser = "generic",
    newlines: options.Newlines = options.NewlinesName.auto,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Put the words of new text into existing clusters, without learning anew.

    Example:

        $ eigentext words cluster sample/text.txt -o a.clusters -m 20 --vocab-size 100

        $ eigentext words assign a.clusters sample/text.txt -o b.clusters --paths paths
    """
    from eigentext.base.files.opening import check_writable, expand
    from eigentext.corpus.counting import count
    from eigentext.words.clusters.model import SpectralClusters

    check_writable(output, paths)
    known = SpectralClusters.load(model)
    sources = expand(corpus)
    with progress_bar(quiet=quiet) as update:
        counts = count(
            sources,
            contexts="r1",
            min_count=min_count,
            jobs=jobs,
            tokeniser=tokeniser if raw else None,
            newlines=newlines.value,
            progress=update,
        )
    more = known.assign(counts, by=by)
    more.save(output, data=options.about_data(sources, None, None))
    if paths is not None:
        more.write_paths(paths)
    if json or not quiet:
        figures = {
            "words_before": len(known.words_),
            "words_put_in": len(more.words_) - len(known.words_),
            "mutual_information": round(more.mutual_information_, 6),
        }
        show_figures(figures, as_json=json, results_on_stdout="-" in (output, paths))


def register(app: typer.Typer) -> None:
    """Add these commands to ``eigentext words``."""
    app.command("cluster")(cluster)
    app.command("assign")(assign)
    words_lm.register(app)
