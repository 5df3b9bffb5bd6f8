"""``eigentext dep latent``: a latent tree model from trees."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.command import Given, with_flags
from eigentext.cli.dep_unlabelled import (
    UnlabelledTrees,
    UnlabelledWeight,
    check_flags,
    text_figures,
    text_of,
)
from eigentext.cli.run import Training
from eigentext.cli.tree_input import trees_of
from eigentext.dependency.settings import LatentTreeSettings


@with_flags(LatentTreeSettings)
def latent(
    trees: options.Sources,
    run: Training,
    given: Given,
    unlabelled: Annotated[
        list[str] | None,
        typer.Option(
            "--unlabelled",
            help="CoNLL-U with tags, whose trees are not read: a parser of the given trees gives "
            "them.",
        ),
    ] = None,
    unlabelled_weight: UnlabelledWeight = None,
    unlabelled_trees: UnlabelledTrees = "all",
) -> None:
    """Learn a latent tree model: one hidden state per word, found by CCA and then EM.

    Its log p(words | tree) is shown by `dep score`, its states by `dep inspect`.

    Example:

        $ eigentext convert sample/train.mrg -o train.conllu

        $ eigentext dep latent train.conllu -o english.latent --n-states 50 --n-iter 5

        $ eigentext dep latent train.conllu -o more.latent -k 50 --unlabelled train.conllu
    """
    from eigentext.dependency import LatentTreeModel
    from eigentext.dependency.unlabelled import Unlabelled

    check_flags(unlabelled, unlabelled_weight, unlabelled_trees)
    model = LatentTreeModel(**given.settings(LatentTreeSettings))
    model.check()
    with run.reading("iterations") as (log, progress):
        bank = [tree for _, tree in trees_of(trees, on_error=log)]
        text = None
        if unlabelled:
            text = Unlabelled(text_of(unlabelled, log), unlabelled_weight, trees=unlabelled_trees)
        model.fit(bank, unlabelled=text, progress=progress)
    n_words = sum(map(len, bank))
    history = model.log_likelihoods_
    used = text is not None and model.unlabelled_.weight
    figures: dict[str, Any] = {
        "trees": len(bank),
        "words": n_words,
        "observations": model.observations_.sizes[0],
        "states": model.n_states,
        # the history is that of trees and text together
        "log_likelihood_per_word": history[-1] / n_words if history and not used else None,
    }
    if text is not None:
        figures |= text_figures(model.unlabelled_, "held_out_in_order")
    run.save(model, trees, figures)
