"""``eigentext dep latent``: a latent tree model from trees."""

from __future__ import annotations

from eigentext.cli import options
from eigentext.cli.command import Given, with_flags
from eigentext.cli.run import Training
from eigentext.cli.tree_input import trees_of
from eigentext.dependency.settings import LatentTreeSettings


@with_flags(LatentTreeSettings)
def latent(trees: options.Sources, run: Training, given: Given) -> None:
    """Learn a latent tree model: one hidden state per word, found by CCA and then EM.

    Its log p(words | tree) is shown by `dep score`, its states by `dep inspect`.

    Example:

        $ eigentext convert sample/train.mrg -o train.conllu

        $ eigentext dep latent train.conllu -o english.latent --n-states 50 --n-iter 5
    """
    from eigentext.dependency import LatentTreeModel

    model = LatentTreeModel(**given.settings(LatentTreeSettings))
    model.check()
    with run.reading("iterations") as (log, progress):
        bank = [tree for _, tree in trees_of(trees, on_error=log)]
        model.fit(bank, progress=progress)
    n_words = sum(map(len, bank))
    history = model.log_likelihoods_
    figures = {
        "trees": len(bank),
        "words": n_words,
        "observations": model.observations_.sizes[0],
        "states": model.n_states,
        "log_likelihood_per_word": history[-1] / n_words if history else None,
    }
    run.save(model, trees, figures)
