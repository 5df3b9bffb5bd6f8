"""``eigentext hmm train``: a hidden Markov model from text."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from eigentext.cli import options
from eigentext.cli.output import progress_bar, show_figures, skipped_count, skipping
from eigentext.cli.text_input import sentences

if TYPE_CHECKING:
    from eigentext.sequences.hmm import HMM
    from eigentext.sequences.spectral import SpectralHMM


class EstimatorName(StrEnum):
    """How the model is learned."""

    hkz = "hkz"
    fru = "fru"
    cca = "cca"
    recovered = "recovered"
    em = "em"


class StartName(StrEnum):
    """What EM begins with."""

    random = "random"
    spectral = "spectral"
    recovered = "recovered"


class PrecisionName(StrEnum):
    """Numbers of the passes of EM."""

    double = "double"
    single = "single"


def train(
    files: options.Sources,
    output: options.ModelOutput,
    estimator: Annotated[
        EstimatorName,
        typer.Option(
            "--estimator",
            "-e",
            help="Operators (hkz, fru, cca), or valid parameters: recovered from moments, or EM.",
        ),
    ] = EstimatorName.em,
    states: Annotated[int, typer.Option("--states", "-k", min=1, help="Hidden states.")] = 10,
    start: Annotated[
        StartName, typer.Option("--start", help="What EM begins with.")
    ] = StartName.spectral,
    starts: Annotated[
        int, typer.Option("--starts", min=1, help="Random starts of EM; the best is kept.")
    ] = 1,
    iterations: Annotated[int, typer.Option("--iterations", "-n", min=0, help="Of EM.")] = 10,
    smoothing: Annotated[
        float, typer.Option("--smoothing", help="Tokens added to every row of a table in EM.")
    ] = 10.0,
    precision: Annotated[
        PrecisionName, typer.Option("--precision", help="single is faster.")
    ] = PrecisionName.double,
    unigram_weight: Annotated[
        float,
        typer.Option("--unigram-weight", help="Of the unigram beside operators, from 0 to 1."),
    ] = 0.2,
    vocab_size: Annotated[
        int, typer.Option("--vocab-size", min=1, help="So many words; others go to classes.")
    ] = 10_000,
    min_count: Annotated[
        int, typer.Option("--min-count", min=1, help="Rarer words go to classes by their looks.")
    ] = 2,
    raw: options.Raw = False,
    tokeniser: options.Tokeniser = "ptb",
    on_error: options.SkipErrors = options.OnError.stop,
    seed: options.Seed = 0,
    data_name: options.DataName = None,
    data_licence: options.DataLicence = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Learn a hidden Markov model of text, one tokenised sentence a line.

    EM gives valid parameters; operators need no iteration but may be negative, which `hmm eval`
    counts.  Empty lines are passed over.

    Example:

        $ eigentext hmm train sample/text.txt -o text.hmm --states 5

        $ eigentext hmm train sample/text.txt -o cca.hmm --estimator cca --states 5

        $ eigentext hmm train sample/text.txt -o em.hmm --start random --starts 3 --states 5
    """
    import time

    from eigentext.errors import SettingsError
    from eigentext.formats.opening import check_writable

    check_writable(output)
    if starts > 1 and (estimator is not EstimatorName.em or start is not StartName.random):
        raise SettingsError("--starts is for --estimator em --start random")
    with skipping(on_error, quiet=quiet) as log:
        bank = list(sentences(files, raw=raw, tokeniser=tokeniser, on_error=log))
    if not any(bank):
        from eigentext.errors import DataError

        raise DataError(files[0], None, "no tokens, expected text")
    began = time.process_time()
    common: dict[str, Any] = {"vocab_size": vocab_size, "min_count": min_count, "seed": seed}
    model: HMM | SpectralHMM
    figures: dict[str, Any] = {}
    if estimator in (EstimatorName.em, EstimatorName.recovered):
        from eigentext.sequences import HMM

        n = iterations if estimator is EstimatorName.em else 0
        model = HMM(
            states, start=start.value if estimator is EstimatorName.em else "recovered",
            starts=starts, iterations=n, smoothing=smoothing, precision=precision.value, **common,
        )  # fmt: skip
        with progress_bar(quiet=quiet, unit="iterations") as update:
            model.fit(bank, progress=lambda done, _: update(done, starts * n, "EM"))
        figures["log_likelihood_per_token"] = model.spread_["best"]
        if starts > 1:
            figures["spread_of_starts"] = [round(one.final, 4) for one in model.starts_]
        model.save(output, data=options.about_data(files, data_name, data_licence))
    else:
        from eigentext.sequences import SpectralHMM

        model = SpectralHMM(
            states, estimator=cast(Any, estimator.value), unigram_weight=unigram_weight, **common
        )  # fmt: skip
        model.fit(bank).save(output)
    figures = {
        "estimator": estimator.value, "states": states, "symbols": len(model.symbols_),
        "sentences": sum(map(bool, bank)), "tokens": sum(map(len, bank)), **figures,
        "seconds": round(time.process_time() - began, 3), "skipped": skipped_count(log),
    }  # fmt: skip
    if not quiet or json:
        show_figures(figures, as_json=json, results_on_stdout=output == "-")
