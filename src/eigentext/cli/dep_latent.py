"""``eigentext dep latent``: a latent tree model from trees."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from eigentext.cli import options
from eigentext.cli.dep_eval import trees_of as sentences_of
from eigentext.cli.output import Clock, progress_bar, show_figures, skipped_count, skipping

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eigentext.base.files.opening import OnError
    from eigentext.formats.conllu import Sentence
    from eigentext.trees.dependency import DependencyTree


class EdgeName(StrEnum):
    """What a child's state depends on, besides its parent's."""

    undirected = "undirected"
    directed = "directed"
    adjacent = "adjacent"
    ordered = "ordered"


def trees_of(
    sources: Iterable[str], *, on_error: OnError | None = None
) -> Iterator[tuple[Sentence, DependencyTree]]:
    """Sentences of CoNLL-U and CoNLL-X files with their trees; one without heads is an error.

    Tags are those of column UPOS, and of XPOS where that is empty.
    """
    from eigentext.base.files.opening import expand
    from eigentext.errors import DataError
    from eigentext.formats import conllu, conllx

    for source in expand(sources):
        for one in sentences_of(source, on_error):
            sentence = conllx.to_conllu(one) if isinstance(one, conllx.Sentence) else one
            if not isinstance(sentence, conllu.Sentence) or sentence.heads is None:
                why = "the sentence that begins here has no heads; expected a tree"
                found = DataError(one.source, one.first_line, why)
                if on_error is None:
                    raise found
                on_error(found)
                continue
            blank = set(sentence.column("upos")) == {"_"}
            yield sentence, conllu.to_dependency_tree(sentence, tags="xpos" if blank else "upos")


def latent(
    trees: options.Sources,
    output: options.ModelOutput,
    states: Annotated[
        int, typer.Option("--states", "-k", min=1, help="Hidden states, over all tags.")
    ] = 200,
    shared: Annotated[
        bool, typer.Option("--shared", help="All tags share the states; else each has its own.")
    ] = False,
    observations: Annotated[
        str,
        typer.Option("--observations", help="word|tag, word+tag (two emissions), tag or word."),
    ] = "word|tag",
    edges: Annotated[
        EdgeName, typer.Option("--edges", help="What a child's state depends on.")
    ] = EdgeName.directed,
    structure: Annotated[
        str,
        typer.Option(
            "--structure",
            help="What words show of the tree: valence, distance, size, joined by +; or nothing.",
        ),
    ] = "",
    iterations: Annotated[int, typer.Option("--iterations", min=0, help="Of EM.")] = 30,
    ensemble: Annotated[
        int, typer.Option("--ensemble", min=1, help="Models from different seeds, averaged.")
    ] = 1,
    min_count: Annotated[
        int, typer.Option("--min-count", min=1, help="Rarer words are shown by their looks.")
    ] = 2,
    on_error: options.SkipErrors = options.OnError.stop,
    seed: options.Seed = 0,
    data_name: options.DataName = None,
    data_licence: options.DataLicence = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Learn a latent tree model: one hidden state per word, found by CCA and then EM.

    Its log p(words | tree) is shown by `dep score`, its states by `dep inspect`.

    Example:

        $ eigentext convert sample/train.mrg -o train.conllu

        $ eigentext dep latent train.conllu -o english.latent --states 50 --iterations 5
    """
    from eigentext.base.files.opening import check_writable
    from eigentext.dependency import LatentTreeModel

    check_writable(output)
    clock = Clock()
    with skipping(on_error, quiet=quiet) as log:
        bank = [tree for _, tree in trees_of(trees, on_error=log)]
    model = LatentTreeModel(
        states,
        split=not shared,
        observations=observations,
        edges=edges.value,
        structure=structure,
        iterations=iterations,
        min_count=min_count,
        ensemble=ensemble,
        seed=seed,
    )
    with progress_bar(quiet=quiet, unit="iterations") as update:
        model.fit(bank, progress=lambda done, _: update(done, ensemble * iterations, "EM"))
    model.save(output, data=options.about_data(trees, data_name, data_licence))
    n_words = sum(map(len, bank))
    found = model.log_likelihoods
    figures = {
        "trees": len(bank),
        "words": n_words,
        "observations": model.observations_.sizes[0],
        "states": states,
        "log_likelihood_per_word": found[-1] / n_words if found else None,
        "skipped": skipped_count(log),
        **clock.figures(),
    }
    if not quiet or json:
        show_figures(figures, as_json=json)
