"""``eigentext dep inspect``: how far to trust operators on a treebank, what states are about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, cast

import typer

from eigentext.cli import options
from eigentext.cli.command import Flags, flag, with_flags
from eigentext.cli.inputs import trees_of
from eigentext.cli.output import show_figures
from eigentext.errors import SettingsError

_JUDGED = 500  # trees that the share of negative scores is counted on


@dataclass(kw_only=True)
class OperatorFlags(Flags):
    """The operators that are learned from a treebank to be judged."""

    n_states: int = flag("For a treebank: dimensions.", 10, "-k", min=1)
    dictionary: str = flag("For a treebank: svd or cca of tree neighbours.", "cca")
    observations: str = flag("For a treebank: word|tag, word+tag, tag or word.", "word|tag")


@with_flags()
def inspect(
    source: Annotated[
        str,
        typer.Argument(help="A treebank (.conllu, .conllx), or a model of `dep train-latent`."),
    ],
    operators: OperatorFlags,
    state: int | None = flag("For a model: this state alone."),
    top: int = flag("How many words and children of each state.", 8, min=1),
    json: options.Json = False,
) -> None:
    """Show how far spectral operators can be trusted on a treebank, or what a model's states are.

    Of a treebank (CoNLL-U, CoNLL-X): condition numbers of the moments and operators, sigma_k, the
    smallest element, the number of triples that bound (7) of Dhillon et al. 2012 asks for, and
    the share of trees with a negative score.  Of a model: its states' words and children.

    Example:
        $ eigentext convert sample/train.mrg -o train.conllu
        $ eigentext dep inspect train.conllu --n-states 4
        $ eigentext dep train-latent train.conllu -o english.latent --n-states 50 --n-iter 5
        $ eigentext dep inspect english.latent --top 4
    """
    if _is_treebank(source):
        if state is not None:
            raise SettingsError("--state is for a model, not for a treebank")
        show_figures(_treebank(source, operators), as_json=json)
        return
    operators.refuse("is for a treebank, not for a model")
    from json import dumps

    from eigentext.dependency import LatentTreeModel
    from eigentext.dependency.latent.inspection import states_of

    views = list(states_of(LatentTreeModel.load(source), top=top))
    if state is not None:
        views = [view for view in views if view.state == state]
        if not views:
            raise SettingsError(f"no state {state} in this model")
    if json:
        print(dumps({"states": [view._asdict() for view in views]}, ensure_ascii=False))
        return
    for view in views:
        words = ", ".join(f"{name} ({p:.2f})" for name, p in view.words)
        children = ", ".join(f"{where} {name} ({p:.2f})" for where, name, p in view.children)
        print(f"state {view.state} {view.tag}  {view.share:.4f} of all words")
        print(f"    words: {words}\n    children: {children}")


def _is_treebank(source: str) -> bool:
    """By its name; whatever is called otherwise is a model, or says that it is none."""
    from eigentext.language.formats.registry import format_of

    return source == "-" or bool(format_of(source, ("conllu", "conllx"), ""))


def _treebank(source: str, flags: OperatorFlags) -> dict[str, Any]:
    import numpy as np

    from eigentext.dependency import SpectralTreeOperators
    from eigentext.dependency.latent.conditioning import examine, negative_rate
    from eigentext.dependency.latent.moments import TreeMoments

    trees = [tree for _, tree in trees_of([source])]
    model = SpectralTreeOperators(
        flags.n_states, observations=flags.observations, dictionary=flags.dictionary
    ).fit(trees)
    words = round(float(np.mean([len(tree) for tree in trees])))
    levels = round(float(np.mean([tree.depths.max() for tree in trees])))
    conditions = examine(
        cast(TreeMoments, model.moments_),
        largest=float(np.abs(model.dictionary_.U).max()),
        words=max(words, 1),
        levels=max(levels, 1),
    )
    judged = trees[:: max(1, len(trees) // _JUDGED)]
    return {
        "trees": len(trees),
        "triples": conditions.n_triples,
        **{f"condition_{name}": value for name, value in conditions.conditions.items()},
        "sigma_k": conditions.sigma_k,
        "smallest_element": conditions.smallest,
        "triples_needed_by_bound_7": conditions.triples_needed,
        "for_words": conditions.words,
        "for_levels": conditions.levels,
        "eps": conditions.eps,
        "delta": conditions.delta,
        "negative_scores": negative_rate(model, judged),
    }
