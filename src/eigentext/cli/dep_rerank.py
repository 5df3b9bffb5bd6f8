"""``eigentext dep rerank``: from dependency trees to a reranker of k-best lists."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.dep_train import read_trees
from eigentext.cli.output import Clock, progress_bar, show_figures, skipped_count, skipping


class RerankLearner(StrEnum):
    """How weights are learned."""

    log_linear = "log-linear"
    perceptron = "perceptron"


def rerank(
    trees: options.Sources,
    output: options.ModelOutput,
    base: Annotated[
        str | None,
        typer.Option(
            "--base",
            help="A model of `dep train`: the parsers of the folds take its settings.  It is best "
            "trained on the same trees.",
        ),
    ] = None,
    experts: Annotated[
        str,
        typer.Option(
            "--experts",
            help="Models of trees, joined by commas: latent, generative, valence, distance, "
            "paths, surface; or none.",
        ),
    ] = "latent,generative,valence,distance",
    learner: Annotated[
        RerankLearner, typer.Option("--learner", help="How weights are learned.")
    ] = RerankLearner.log_linear,
    states: Annotated[
        int | None, typer.Option("--states", min=1, help="Hidden states of the latent model.")
    ] = None,
    k: Annotated[int, typer.Option("--kbest", min=2, help="Trees in a list.")] = 50,
    folds: Annotated[
        int, typer.Option("--folds", min=2, help="Lists of each part by a parser of the others.")
    ] = 3,
    work: Annotated[
        str | None,
        typer.Option("--work", help="A folder for the lists; a stopped run goes on from there."),
    ] = None,
    seed: options.Seed = 0,
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
    from eigentext.dependency.parser import GraphParser
    from eigentext.dependency.rerank import Reranker

    check_writable(output)
    clock = Clock()
    names = [] if experts == "none" else [name.strip() for name in experts.split(",")]
    reranker = Reranker(
        learner=learner.value,
        experts=names,
        k=k,
        folds=folds,
        latent={} if states is None else {"k": states},
        seed=seed,
    )
    sources = expand(trees)
    # without grandparents k-best lists are exact
    parser = GraphParser(grandparents=False) if base is None else GraphParser.load(base)
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
