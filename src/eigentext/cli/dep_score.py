"""``eigentext dep score``: one number per tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from eigentext.cli import options
from eigentext.cli.dep_latent import trees_of
from eigentext.cli.output import show_figures, skipped_count, skipping

if TYPE_CHECKING:
    from eigentext.dependency import DependencyParser
    from eigentext.formats.conllu import Sentence
    from eigentext.trees.dependency import DependencyTree

    Scorer = Callable[[Sentence, DependencyTree], float]


def score(
    model: Annotated[
        str, typer.Argument(help="A model of `dep latent`, `dep train` or `dep rerank`.")
    ],
    trees: options.Sources,
    output: options.Output = "-",
    parser: Annotated[
        str | None, typer.Option("--parser", help="For a reranker: the parser it adds to.")
    ] = None,
    format_: options.Format = options.ResultFormat.native,
    on_error: options.SkipErrors = options.OnError.stop,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Print a number per tree: log p(words | tree) of a latent model, or a parser's score.

    Of a generative parser it is log p(words, tree); of a reranker, its score (with --parser).

    Example:

        $ eigentext convert sample/train.mrg -o train.conllu

        $ eigentext dep latent train.conllu -o english.latent --n-states 50 --n-iter 5

        $ eigentext dep score english.latent train.conllu -o scores.txt
    """
    from json import dumps

    from eigentext.base.files.writing import write_lines

    name, score_of = _scorer(model, parser)
    as_json = format_ is options.ResultFormat.jsonl
    total, n_trees, n_words, n_impossible = 0.0, 0, 0, 0

    def lines() -> Iterator[str]:
        nonlocal total, n_trees, n_words, n_impossible
        for sentence, tree in trees_of(trees, on_error=log):
            found = score_of(sentence, tree)
            n_trees += 1
            possible = found > float("-inf")
            if possible:
                total += found
                n_words += len(tree)
            else:
                n_impossible += 1
            line = {name: found if possible else None, "words": len(tree)}
            yield dumps(line) if as_json else f"{found:.6f}"

    with skipping(on_error, quiet=quiet) as log:
        write_lines(output, lines())
    if json or not quiet:
        figures = {
            "trees": n_trees,
            "words": n_words,
            name: total,
            "impossible": n_impossible,
            "skipped": skipped_count(log),
        }
        show_figures(figures, as_json=json, results_on_stdout=output == "-")


def _scorer(path: str, base: str | None = None) -> tuple[str, Scorer]:
    """What the number is called, and how the model at this path scores a tree."""
    from eigentext.base import modelfile
    from eigentext.base.registry import wrong_kind
    from eigentext.errors import SettingsError

    trees = ("graph-parser", "dependency-generative", "dependency-reranker", "latent-tree")
    kind = modelfile.read_header(path, *trees).kind
    if kind == "latent-tree":
        from eigentext.dependency import LatentTreeModel

        latent = LatentTreeModel.load(path)
        return "log_prob", lambda _, tree: latent.log_prob(tree)
    if kind == "graph-parser":
        from eigentext.dependency import DependencyParser

        parser = DependencyParser.load(path)
        return "score", lambda sentence, tree: _parser_score(parser, sentence, tree)
    if kind == "dependency-generative":
        from eigentext.dependency import GenerativeParser

        generative = GenerativeParser.load(path)
        return "log_prob", lambda sentence, tree: float(
            generative.log_probs(
                sentence.forms, sentence.column("upos"), sentence.column("xpos"), tree.heads[None]
            )[0]
        )
    if kind == "dependency-reranker":
        if base is None:
            raise SettingsError("a reranker adds to a parser's score: name it with --parser")
        from eigentext.dependency import Reranker
        from eigentext.dependency.graph.answer import Parse

        reranker, (_, base_score) = Reranker.load(path), _scorer(base)
        return (
            "score",
            lambda sentence, tree: (
                reranker.choose(sentence, [Parse(tree, base_score(sentence, tree))])[0].score
            ),
        )
    raise wrong_kind(path, kind, *trees)


def _parser_score(parser: DependencyParser, sentence: Sentence, tree: DependencyTree) -> float:
    """The score of any tree, with arcs that the parser's own search would not look at."""
    from eigentext.dependency.graph.training import Grandparents
    from eigentext.dependency.long_sentences import check_length

    check_length(len(sentence), "scores are")
    batch = parser.encoder_.batch([parser.columns_of(sentence)])
    total = _arc_score(*parser.arcs_.scores(batch, 0, pruned=False), tree)
    if parser.arcs_.settings.grandparents:
        total += Grandparents(parser.arcs_, batch, 0).total(tree.heads)
    return total


def _arc_score(arc, sib, tree: DependencyTree) -> float:  # type: ignore[no-untyped-def]
    """Sum over arcs and, for order 2, over neighbouring siblings outward from each head."""
    total = sum(float(arc[head, word]) for head, word, _ in tree.arcs)
    if sib is not None:
        for head, children in enumerate(tree.children):
            left = [word for word in reversed(children) if word < head]
            right = [word for word in children if word > head]
            for side in (left, right):
                before = head
                for word in side:
                    total += float(sib[head, before, word])
                    before = word
    return total
