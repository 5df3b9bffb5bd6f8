"""``eigentext const train``: from trees to a parser."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from eigentext.cli import options
from eigentext.cli.output import progress_bar, show_figures, skipped_count, skipping


class EstimatorName(StrEnum):
    """How latent states are learned."""

    clustering = "clustering"
    em = "em"
    moments = "moments"
    mixed = "mixed"


class HeadsName(StrEnum):
    """Whose head rules."""

    english = "english"
    neutral = "neutral"


class LanguageName(StrEnum):
    """Whose word endings."""

    english = "english"
    generic = "generic"


def train(
    trees: options.Sources,
    output: options.ModelOutput,
    states: Annotated[
        int, typer.Option("--states", min=1, max=64, help="Most latent states of a nonterminal.")
    ] = 16,
    ensemble: Annotated[
        int, typer.Option("--ensemble", min=1, help="So many models, trained with noise.")
    ] = 1,
    estimator: Annotated[
        EstimatorName, typer.Option("--estimator", help="How latent states are learned.")
    ] = EstimatorName.clustering,
    em: Annotated[
        int | None,
        typer.Option("--em", min=0, help="EM iterations: after clustering (0), or alone (50)."),
    ] = None,
    heads: Annotated[HeadsName, typer.Option("--heads", help="Head rules.")] = HeadsName.english,
    language: Annotated[
        LanguageName, typer.Option("--language", help="Signatures of unknown words.")
    ] = LanguageName.english,
    seed: options.Seed = 0,
    on_error: options.SkipErrors = options.OnError.stop,
    data_name: options.DataName = None,
    data_licence: options.DataLicence = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Train a parser on PTB-style trees.

    Example:

        $ eigentext const train sample/train.mrg -o english.lpcfg --states 4
    """
    import time

    from eigentext.constituency import LPCFG
    from eigentext.constituency.grammar import GrammarSettings
    from eigentext.formats.opening import expand
    from eigentext.formats.ptb import read_trees

    began = time.process_time()
    parser = LPCFG(
        states=states,
        estimator=estimator.value,
        ensemble=ensemble,
        em=em,
        seed=seed,
        grammar=GrammarSettings(heads=heads.value, language=language.value),
    )
    sources = expand(trees)
    with skipping(on_error, quiet=quiet) as log, progress_bar(quiet=quiet) as update:
        read = [tree for source in sources for tree in read_trees(source, on_error=log)]
        parser.fit(read, progress=update)
    parser.save(output, data=options.about_data(sources, data_name, data_licence))
    if json or not quiet:
        figures = {
            "trees": len(read),
            "skipped": skipped_count(log),
            "nonterminals": len(parser.labels_),
            "rules": len(parser.coarse_.rules),
            "cpu_seconds": round(time.process_time() - began, 2),
        }
        show_figures(figures, as_json=json, results_on_stdout=output == "-")
