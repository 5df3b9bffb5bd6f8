"""``eigentext dep rerank``: from dependency trees to a reranker of k-best lists."""

from __future__ import annotations

from typing import Annotated

import typer

from eigentext.cli import options
from eigentext.cli.command import Given, with_flags
from eigentext.cli.run import Training
from eigentext.cli.tree_input import training_trees
from eigentext.dependency.settings import RerankerSettings


@with_flags(RerankerSettings)
def rerank(
    trees: options.Sources,
    run: Training,
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
    from eigentext.base.files.opening import expand
    from eigentext.dependency import DependencyParser, Reranker

    reranker = Reranker(**given.settings(RerankerSettings))
    reranker.check()
    sources = expand(trees)
    # without grandparents k-best lists are exact
    parser = DependencyParser(grandparents=False) if base is None else DependencyParser.load(base)
    with run.reading("steps") as (log, progress):
        treebank = training_trees(sources, log)
        reranker.fit(treebank, parser, folder=work, progress=progress)
    figures: dict[str, float] = {
        "sentences": len(treebank),
        "features": reranker.n_features,
    }
    for name, weight in reranker.dense_weights.items():
        figures[f"weight_{name}"] = round(weight, 4)
    run.save(reranker, sources, figures)
