"""``eigentext dep inspect``: how far to trust operators on a treebank, what states are about."""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer

from eigentext.cli import options
from eigentext.cli.dep_latent import trees_of
from eigentext.cli.output import show_figures

_JUDGED = 500  # trees that the share of negative scores is counted on


def inspect(
    source: Annotated[
        str, typer.Argument(help="A treebank (.conllu, .conllx), or a model of `dep latent`.")
    ],
    n_states: Annotated[
        int, typer.Option("--n-states", "-k", min=1, help="For a treebank: dimensions.")
    ] = 10,
    dictionary: Annotated[
        str, typer.Option("--dictionary", help="For a treebank: svd or cca of tree neighbours.")
    ] = "cca",
    observations: Annotated[
        str, typer.Option("--observations", help="word|tag, word+tag, tag or word.")
    ] = "word|tag",
    state: Annotated[
        int | None, typer.Option("--state", help="For a model: this state alone.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="So many words and children.")] = 8,
    json: options.Json = False,
) -> None:
    """Show how far spectral operators can be trusted on a treebank, or what a model's states are.

    Of a treebank (CoNLL-U, CoNLL-X): condition numbers of the moments and operators, sigma_k, the
    smallest element, the number of triples that bound (7) of Dhillon et al. 2012 asks for, and
    the share of trees with a negative score.  Of a model: its states' words and children.

    Example:

        $ eigentext convert sample/train.mrg -o train.conllu

        $ eigentext dep inspect train.conllu --n-states 4

        $ eigentext dep latent train.conllu -o english.latent --n-states 50 --n-iter 5

        $ eigentext dep inspect english.latent --top 4
    """
    if _is_treebank(source):
        figures = _treebank(source, n_states, dictionary, observations)
        show_figures(figures, as_json=json)
        return
    from json import dumps

    from eigentext.dependency import LatentTreeModel
    from eigentext.dependency.latent.inspection import states_of
    from eigentext.errors import SettingsError

    found = list(states_of(LatentTreeModel.load(source), top=top))
    if state is not None:
        found = [one for one in found if one.state == state]
        if not found:
            raise SettingsError(f"no state {state} in this model")
    for one in found:
        if json:
            print(dumps(one._asdict(), ensure_ascii=False))
            continue
        words = ", ".join(f"{name} ({p:.2f})" for name, p in one.words)
        children = ", ".join(f"{where} {name} ({p:.2f})" for where, name, p in one.children)
        print(f"state {one.state} {one.tag}  {one.share:.4f} of all words")
        print(f"    words: {words}\n    children: {children}")


def _is_treebank(source: str) -> bool:
    """By its name; whatever is called otherwise is a model, or says that it is none."""
    from eigentext.errors import SettingsError
    from eigentext.formats.convert import format_of

    try:
        return source == "-" or format_of(source) in ("conllu", "conllx")
    except SettingsError:
        return False


def _treebank(source: str, k: int, dictionary: str, observations: str) -> dict[str, Any]:
    import numpy as np

    from eigentext.dependency import SpectralTreeOperators
    from eigentext.dependency.latent.conditioning import examine, negative_rate
    from eigentext.dependency.latent.moments import TreeMoments

    trees = [tree for _, tree in trees_of([source])]
    model = SpectralTreeOperators(k, observations=observations, dictionary=dictionary).fit(trees)
    words = round(float(np.mean([len(tree) for tree in trees])))
    levels = round(float(np.mean([tree.depths.max() for tree in trees])))
    seen = examine(
        cast(TreeMoments, model.moments_),
        largest=float(np.abs(model.dictionary_.U).max()),
        words=max(words, 1),
        levels=max(levels, 1),
    )
    judged = trees[:: max(1, len(trees) // _JUDGED)]
    return {
        "trees": len(trees),
        "triples": seen.n_triples,
        **{f"condition_{name}": value for name, value in seen.conditions.items()},
        "sigma_k": seen.sigma_k,
        "smallest_element": seen.smallest,
        "triples_needed_by_bound_7": seen.triples_needed,
        "for_words": seen.words,
        "for_levels": seen.levels,
        "eps": seen.eps,
        "delta": seen.delta,
        "negative_scores": negative_rate(model, judged),
    }
