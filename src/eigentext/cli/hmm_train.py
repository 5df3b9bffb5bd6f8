"""``eigentext hmm train``: a hidden Markov model of text, or a latent tagger of tagged text."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.command import Given, with_settings
from eigentext.cli.output import Clock, progress_bar, show_figures, skipped_count, skipping
from eigentext.cli.tag import Column, ColumnName, From, InputFormat
from eigentext.cli.text_input import sentences
from eigentext.sequences.settings import HMMSettings, LatentTaggerSettings, SpectralHMMSettings


@with_settings(HMMSettings, SpectralHMMSettings, LatentTaggerSettings)
def train(
    files: options.Sources,
    output: options.ModelOutput,
    given: Given,
    operators: Annotated[
        bool,
        typer.Option("--operators", help="Operators from moments alone, instead of EM."),
    ] = False,
    tagged: Annotated[
        bool, typer.Option("--tagged", help="Input has tags: learn a latent tagger.")
    ] = False,
    from_: From = InputFormat.auto,
    column: Column = ColumnName.upos,
    raw: options.Raw = False,
    tokeniser: options.Tokeniser = "ptb",
    newlines: options.Newlines = options.NewlinesName.auto,
    on_error: options.SkipErrors = options.OnError.stop,
    data_name: options.DataName = None,
    data_licence: options.DataLicence = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Learn a hidden Markov model of text (one tokenised sentence a line), or a latent tagger.

    EM gives valid parameters; --operators need no iteration but may be negative, which `hmm eval`
    counts.  Empty lines are passed over.  With --tagged the input is columns (token first, tag
    last) or CoNLL-U, and `hmm tag` uses the model.

    Example:

        $ eigentext hmm train sample/text.txt -o text.hmm --n-states 5

        $ eigentext hmm train sample/text.txt -o cca.hmm --operators --n-states 5

        $ eigentext hmm train sample/text.txt -o em.hmm --start random --n-starts 3 --n-states 5

        $ eigentext hmm train sample/entities.bio -o latent.model --tagged --n-states 4
    """
    from eigentext.base.files.opening import check_writable, expand
    from eigentext.errors import DataError, RankError, SettingsError
    from eigentext.sequences import HMM, LatentTagger, SpectralHMM
    from eigentext.tagging.reading import read_tagged

    check_writable(output)
    if tagged and operators:
        raise SettingsError("--tagged and --operators: expected one of them")
    of_text = {"--raw": raw, "--tokeniser": tokeniser != "ptb", "--newlines": newlines != "auto"}
    of_tags = {"--from": from_ != "auto", "--column": column != "upos"}
    for flag in [flag for flag, used in (of_text if tagged else of_tags).items() if used]:
        raise SettingsError(f"{flag} is for text with{'out' if tagged else ''} tags")
    model: Any
    if tagged:
        model = LatentTagger(**given.settings(LatentTaggerSettings))
    elif operators:
        model = SpectralHMM(**given.settings(SpectralHMMSettings))
    else:
        model = HMM(**given.settings(HMMSettings))
    model.check()
    clock = Clock()
    sources = expand(files)
    with (
        skipping(on_error, quiet=quiet) as log,
        progress_bar(quiet=quiet, unit="nodes" if tagged else "iterations") as update,
    ):
        if tagged:
            text, tags, _ = read_tagged(
                sources,
                file_format=from_.value,
                column=column.value,
                scheme="plain",
                on_error=log,
            )
            model.fit(text, tags, progress=update)
        else:
            text = list(
                sentences(
                    files, raw=raw, tokeniser=tokeniser, newlines=newlines.value, on_error=log
                )
            )
            if not any(text):
                raise DataError(files[0], None, "no tokens, expected text")
            try:
                model.fit(text, **({} if operators else {"progress": update}))
            except RankError as error:
                remedy = "" if operators else ", or --start random"
                raise SettingsError(f"{error}: take fewer --n-states{remedy}") from error
    model.save(output, data=options.about_data(sources, data_name, data_licence))
    if json or not quiet:
        figures = {
            "sentences": sum(map(bool, text)),
            "tokens": sum(map(len, text)),
            "skipped": skipped_count(log),
            **_figures(model),
            **clock.figures(),
        }
        show_figures(figures, as_json=json, results_on_stdout=output == "-")


def _figures(model: Any) -> dict[str, Any]:
    """What is worth telling of each kind."""
    from eigentext.sequences import HMM, LatentTagger

    if isinstance(model, LatentTagger):
        return {
            "tags": len(model.tags_),
            "n_states": int(sum(chain.m.sum() for chain in model.chains_)),
            "words": len(model.words_.words),
        }
    figures: dict[str, Any] = {"n_states": model.n_states, "symbols": len(model.symbols_)}
    if isinstance(model, HMM):
        figures["log_prob_per_token"] = model.spread_["best"]
        if model.n_starts > 1:
            figures["log_prob_of_starts"] = [round(start.final, 4) for start in model.starts_]
    return figures
