"""``eigentext dep rerank``: from dependency trees to a reranker of k-best lists."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.command import Given, with_settings
from eigentext.cli.dep_train import read_trees
from eigentext.cli.output import Clock, progress_bar, show_figures, skipped_count, skipping
from eigentext.dependency.settings import RerankerSettings


@with_settings(RerankerSettings)
def rerank(
    trees: options.Sources,
    output: options.ModelOutput,
    given: Given,
    base: Annotated[
        str | None,
        typer.Option(
            "--base",
            help="A model of `dep train`: the parsers of the folds take its settings.  It is best "
            "trained on the same trees.",
        ),
    ] = None,
    work: Annotated[
        str | None,
        typer.Option("--work", help="A folder for the lists; a stopped run goes on from there."),
    ] = None,
    on_error: options.SkipErrors = options.OnError.stop,
    data_name: options.DataName = None,
    data_licence: options.DataLicence = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Train a reranker: which of the base parser's k best trees is the right one?

    Lists of the training sentences come from cross-validation, so that they are as wrong as those
    of new sentences; so do the scores of the experts.  Use it with `dep parse --rerank`.

    Example:

        $ eigentext convert sample/train.mrg -o train.conllu

        $ eigentext dep train train.conllu -o english.parser --order 1 --epochs 2

        $ eigentext dep rerank train.conllu --base english.parser --kbest 5 --experts generative,valence -o english.rerank

        $ eigentext dep parse english.parser train.conllu --rerank english.rerank -o out.conllu
    """  # noqa: E501
    from eigentext.base.files.opening import check_writable, expand
    from eigentext.dependency.graph.parser import DependencyParser
    from eigentext.dependency.rerank.reranker import Reranker

    check_writable(output)
    clock = Clock()
    reranker = Reranker(**given.settings(RerankerSettings))
    reranker.check()
    sources = expand(trees)
    # without grandparents k-best lists are exact
    parser = DependencyParser(grandparents=False) if base is None else DependencyParser.load(base)
    with (
        skipping(on_error, quiet=quiet) as log,
        progress_bar(quiet=quiet, unit="steps") as update,
    ):
        read = read_trees(sources, log)
        reranker.fit(read, parser, folder=work, progress=update)
    reranker.save(output, data=options.about_data(sources, data_name, data_licence))
    if json or not quiet:
        figures: dict[str, Any] = {
            "sentences": len(read),
            "skipped": skipped_count(log),
            "templates": int((reranker.weights_.templates != 0).sum()),
            **{
                f"weight_{name}": round(float(value), 4)
                for name, value in zip(
                    reranker.weights_.names, reranker.weights_.dense, strict=True
                )
            },
            **clock.figures(),
        }
        show_figures(figures, as_json=json, results_on_stdout=output == "-")
