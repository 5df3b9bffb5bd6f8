"""``eigentext hmm train``: a hidden Markov model of text, or a latent tagger of tagged text."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.output import Clock, progress_bar, show_figures, skipped_count, skipping
from eigentext.cli.tag import Column, ColumnName, From, InputFormat
from eigentext.cli.text_input import sentences

if TYPE_CHECKING:
    from eigentext.sequences.hmm import HMM
    from eigentext.sequences.spectral import SpectralHMM

_OPERATORS = ("hkz", "fru", "cca")
_OF_TEXT = (*_OPERATORS, "recovered", "em")
_OF_TAGS = ("clustering", "moments", "em", "mixed")
# options that only some models have, by what `_kind` says of the model
_ONLY_FOR = {
    "start": ("em",),
    "starts": ("em",),
    "smoothing": ("em",),
    "precision": ("em",),
    "iterations": ("em", "tagged"),
    "unigram_weight": ("operators",),
    "vocab_size": ("em", "recovered", "operators"),
    "min_count": ("em", "recovered", "operators"),
    "raw": ("em", "recovered", "operators"),
    "tokeniser": ("em", "recovered", "operators"),
    "newlines": ("em", "recovered", "operators"),
    "language": ("em", "recovered", "tagged"),
    "models": ("tagged",),
    "from_": ("tagged",),
    "column": ("tagged",),
}


class EstimatorName(StrEnum):
    """How the model is learned."""

    hkz = "hkz"
    fru = "fru"
    cca = "cca"
    recovered = "recovered"
    em = "em"
    clustering = "clustering"
    moments = "moments"
    mixed = "mixed"


class StartName(StrEnum):
    """What EM begins with."""

    random = "random"
    spectral = "spectral"
    recovered = "recovered"


class PrecisionName(StrEnum):
    """Numbers of the passes of EM."""

    double = "double"
    single = "single"


class LanguageName(StrEnum):
    """Whose endings unknown words are classed by."""

    english = "english"
    generic = "generic"


def train(
    context: typer.Context,
    files: options.Sources,
    output: options.ModelOutput,
    estimator: Annotated[
        EstimatorName | None,
        typer.Option(
            "--estimator",
            "-e",
            help="Of text: operators (hkz, fru, cca) or valid parameters (recovered from moments, "
            "or em, the default).  With --tagged: clustering (default), moments, em, or mixed, "
            "which has several models.",
        ),
    ] = None,
    states: Annotated[
        int | None,
        typer.Option("--states", "-k", min=1, help="Hidden states (10), of each tag (16)."),
    ] = None,
    start: Annotated[
        StartName, typer.Option("--start", help="What EM begins with.")
    ] = StartName.spectral,
    starts: Annotated[
        int, typer.Option("--starts", min=1, help="Random starts of EM; the best is kept.")
    ] = 1,
    iterations: Annotated[
        int | None, typer.Option("--iterations", "-n", min=0, help="Of EM (10 for text).")
    ] = None,
    smoothing: Annotated[
        float, typer.Option("--smoothing", help="Tokens added to every row of a table in EM.")
    ] = 1.0,
    precision: Annotated[
        PrecisionName, typer.Option("--precision", help="Numbers in EM; single is faster.")
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
    tagged: Annotated[
        bool, typer.Option("--tagged", help="Input has tags: learn a latent tagger.")
    ] = False,
    models: Annotated[
        int, typer.Option("--models", min=1, help="With --tagged: so many, multiplied.")
    ] = 1,
    language: Annotated[
        LanguageName | None,
        typer.Option("--language", help="Of the looks of rare words."),
    ] = None,
    from_: From = InputFormat.auto,
    column: Column = ColumnName.upos,
    raw: options.Raw = False,
    tokeniser: options.Tokeniser = "ptb",
    newlines: options.Newlines = options.NewlinesName.auto,
    on_error: options.SkipErrors = options.OnError.stop,
    seed: options.Seed = 0,
    data_name: options.DataName = None,
    data_licence: options.DataLicence = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Learn a hidden Markov model of text (one tokenised sentence a line), or a latent tagger.

    EM gives valid parameters; operators need no iteration but may be negative, which `hmm eval`
    counts.  Empty lines are passed over.  With --tagged the input is columns (token first, tag
    last) or CoNLL-U, and `hmm tag` uses the model.

    Example:

        $ eigentext hmm train sample/text.txt -o text.hmm --states 5

        $ eigentext hmm train sample/text.txt -o cca.hmm --estimator cca --states 5

        $ eigentext hmm train sample/text.txt -o em.hmm --start random --starts 3 --states 5

        $ eigentext hmm train sample/entities.bio -o latent.model --tagged --states 4
    """
    from eigentext.base.files.opening import check_writable
    from eigentext.errors import RankError, SettingsError

    check_writable(output)
    known = _OF_TAGS if tagged else _OF_TEXT
    how = estimator.value if estimator else "clustering" if tagged else "em"
    if how not in known:
        kind = "tagged text" if tagged else "text without tags"
        raise SettingsError(f"--estimator {how}: of {kind} expected {', '.join(known)}")
    _refuse_idle(context, "tagged" if tagged else "operators" if how in _OPERATORS else how)
    if starts > 1 and start is not StartName.random:
        raise SettingsError("--starts is for --estimator em --start random")
    if tagged:
        from eigentext.cli.hmm_tag import train_tagged

        train_tagged(
            files,
            output,
            n_states=states or 16,
            estimator=how,
            iterations=iterations,
            models=models,
            language=language.value if language else "generic",
            file_format=from_.value,
            column=column.value,
            seed=seed,
            on_error=on_error,
            data_name=data_name,
            data_licence=data_licence,
            quiet=quiet,
            json=json,
        )
        return
    with skipping(on_error, quiet=quiet) as log:
        bank = list(
            sentences(files, raw=raw, tokeniser=tokeniser, newlines=newlines.value, on_error=log)
        )
    if not any(bank):
        from eigentext.errors import DataError

        raise DataError(files[0], None, "no tokens, expected text")
    common: dict[str, Any] = {
        "vocab_size": vocab_size,
        "min_count": min_count,
        "seed": seed,
        "n_states": states or 10,
    }
    data = options.about_data(files, data_name, data_licence)
    try:
        if how in _OPERATORS:
            operators = {"estimator": how, "unigram_weight": unigram_weight, **common}
            figures = _train_operators(bank, output, operators, data)
        else:
            given: dict[str, Any] = {
                "start": start.value if how == "em" else "recovered",
                "n_starts": starts,
                "n_iter": 0 if how != "em" else 10 if iterations is None else iterations,
                "smoothing": smoothing,
                "precision": precision.value,
                "language": language.value if language else "english",
            }
            figures = _train_parameters(bank, output, {**given, **common}, data, quiet)
    except RankError as error:
        remedy = "take fewer --states" + (", or --start random" if how == "em" else "")
        raise SettingsError(f"{error}: {remedy}") from error
    if not quiet or json:
        told = {
            "estimator": how,
            "sentences": sum(map(bool, bank)),
            "tokens": sum(map(len, bank)),
            **figures,
            "skipped": skipped_count(log),
        }
        show_figures(told, as_json=json, results_on_stdout=output == "-")


def _refuse_idle(context: typer.Context, kind: str) -> None:
    """An option that this kind of model does not have would be passed over in silence."""
    from eigentext.errors import SettingsError

    for name, kinds in _ONLY_FOR.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE" and kind not in kinds:
            option = "--" + name.strip("_").replace("_", "-")
            raise SettingsError(f"{option} is for {' and '.join(kinds)}, not for {kind}")


def _train_operators(
    bank: list[list[str]], output: str, settings: dict[str, Any], data: dict[str, object]
) -> dict[str, Any]:
    from eigentext.sequences import SpectralHMM

    clock = Clock()
    model = SpectralHMM(**settings).fit(bank)
    model.save(output, data=data)
    return _figures(model, clock)


def _train_parameters(
    bank: list[list[str]],
    output: str,
    settings: dict[str, Any],
    data: dict[str, object],
    quiet: bool,
) -> dict[str, Any]:
    from eigentext.sequences import HMM

    clock = Clock()
    with progress_bar(quiet=quiet, unit="iterations") as update:
        model = HMM(**settings).fit(bank, progress=update)
    model.save(output, data=data)
    figures = _figures(model, clock)
    figures["log_likelihood_per_token"] = model.spread_["best"]
    if settings["n_starts"] > 1:
        figures["log_likelihood_of_starts"] = [round(one.final, 4) for one in model.starts_]
    return figures


def _figures(model: HMM | SpectralHMM, clock: Clock) -> dict[str, Any]:
    return {"states": model.n_states, "symbols": len(model.symbols_), **clock.figures()}
