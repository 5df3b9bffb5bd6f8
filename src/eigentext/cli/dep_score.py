"""``eigentext dep score``: one number per tree."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from eigentext.cli import options
from eigentext.cli.command import flag, with_flags
from eigentext.cli.inputs import kind_of_model, trees_of
from eigentext.cli.verbs import Applying, Workers

if TYPE_CHECKING:
    from eigentext.dependency import DependencyParser, GenerativeParser, LatentTreeModel, Reranker
    from eigentext.language.formats.conllu import ConlluBlock
    from eigentext.language.trees.dependency import DependencyTree

    Scorer = Callable[[ConlluBlock, DependencyTree], float]


@with_flags()
def score(
    model: Annotated[str, typer.Argument(help="A model of `dep train` or its kin.")],
    trees: options.Sources,
    run: Applying,
    workers: Workers,
    parser: str | None = flag("For a reranker: the parser it adds to."),
    format_: options.Format = "native",
    jobs: options.Jobs = 1,
) -> None:
    """Print a number per tree: log p(words | tree) of a latent model, or a parser's score.

    Of a generative parser it is log p(words, tree); of a reranker, its score (with --parser).

    Example:
        $ eigentext convert sample/train.mrg -o train.conllu
        $ eigentext dep train-latent train.conllu -o english.latent --n-states 50 --n-iter 5
        $ eigentext dep score english.latent train.conllu -o scores.txt
    """
    from eigentext.base.parallel import in_order

    name, score_of = _scorer(model, parser)
    with run.reading("trees") as (log, _), workers.at_work(jobs):
        read = trees_of(trees, on_error=log)
        scored = in_order(_scored, read, state=score_of, jobs=jobs)
        scores = ((score, len(tree)) for (_, tree), score in scored)
        figures = run.write_scores(name, scores, format_)
    run.tell({**figures, "skipped": run.skipped})


def _scorer(path: str, base: str | None = None) -> tuple[str, Scorer]:
    """What the number is called, and how the model at this path scores a tree."""
    from eigentext.errors import SettingsError

    kinds = ("graph-parser", "dependency-generative", "dependency-reranker", "latent-tree")
    kind = kind_of_model(path, *kinds)
    if base is not None and kind != "dependency-reranker":
        raise SettingsError(f"--parser is for a reranker, and {path} is none")
    if kind == "latent-tree":
        from eigentext.dependency import LatentTreeModel

        return "log_prob", partial(_by_latent, LatentTreeModel.load(path))
    if kind == "graph-parser":
        from eigentext.dependency import DependencyParser
        from eigentext.dependency.graph.tree_score import tree_score

        return "score", partial(tree_score, DependencyParser.load(path))
    if kind == "dependency-generative":
        from eigentext.dependency import GenerativeParser

        return "log_prob", partial(_by_generative, GenerativeParser.load(path))
    if base is None:
        raise SettingsError("a reranker adds to a parser's score: name it with --parser")
    from eigentext.dependency import DependencyParser, Reranker

    return "score", partial(_by_reranker, Reranker.load(path), DependencyParser.load(base))


def _scored(score_of: Scorer, trees: list[tuple[ConlluBlock, DependencyTree]]) -> list[float]:
    """What a process does with its share of the trees."""
    return [score_of(sentence, tree) for sentence, tree in trees]


def _by_latent(model: LatentTreeModel, _: ConlluBlock, tree: DependencyTree) -> float:
    return model.log_prob(tree)


def _by_generative(parser: GenerativeParser, sentence: ConlluBlock, tree: DependencyTree) -> float:
    from eigentext.dependency.sentence import TaggedSentence

    return float(parser.log_probs(TaggedSentence.from_conllu(sentence), tree.heads[None])[0])


def _by_reranker(
    reranker: Reranker, parser: DependencyParser, sentence: ConlluBlock, tree: DependencyTree
) -> float:
    from eigentext.dependency.graph.tree_score import judged

    tagged = parser.tagged_conllu(sentence)
    return reranker.choose(tagged, [judged(parser, sentence, tree)])[0].score
