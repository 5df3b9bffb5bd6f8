"""``eigentext dep train`` and its kin, and ``dep score``: from trees to models, and to numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eigentext.base.files.opening import OnError, expand
from eigentext.base.parallel import in_order
from eigentext.cli import options
from eigentext.cli.command import Flags, SettingFlags, flag, with_flags
from eigentext.cli.inputs import kind_of_model, training_trees, trees_of
from eigentext.cli.verbs import Applying, Training, Workers
from eigentext.dependency.settings import (
    DependencyParserSettings,
    GenerativeParserSettings,
    LatentTreeSettings,
    RerankerSettings,
)
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from eigentext.base.types import Json
    from eigentext.dependency import DependencyParser, GenerativeParser, LatentTreeModel, Reranker
    from eigentext.dependency.settings import Unlabelled, UnlabelledReport
    from eigentext.language.formats.conllu import ConlluBlock
    from eigentext.language.trees.dependency import DependencyTree

    Scorer = Callable[[ConlluBlock, DependencyTree], float]

Dev = Annotated[list[str] | None, typer.Option("--dev", help="Trees to score the parser on.")]


@dataclass(kw_only=True)
class UnlabelledText(Flags):
    """Sentences without trees, which are learned from beside the trees."""

    unlabelled: list[str] | None = flag("CoNLL-U with tags, whose trees are not read.")
    unlabelled_weight: float | None = flag(
        "What a count in such a sentence is worth beside one in a tree; by default "
        "chosen on held-out trees.",
        min=0,
    )
    unlabelled_trees: Literal["all", "best"] = flag(
        "Count all trees of such a sentence by their posteriors, or its best alone.", "all"
    )

    def __post_init__(self) -> None:
        """How such sentences count means nothing without any."""
        if not self.unlabelled:
            self.refuse("is about sentences without trees: give --unlabelled FILE")

    def read(self, on_error: OnError | None, **more: Any) -> Unlabelled | None:
        """The sentences, and how they count; None without any."""
        from eigentext.dependency.settings import Unlabelled
        from eigentext.language.formats.conllu import read_sentences

        if not self.unlabelled:
            return None
        sources = expand(self.unlabelled)
        sentences = [s for source in sources for s in read_sentences(source, on_error=on_error)]
        weight, trees = self.unlabelled_weight, self.unlabelled_trees
        return Unlabelled(sentences, weight, trees=trees, **more)


@dataclass(kw_only=True)
class UnlabelledRounds(UnlabelledText):
    """The same, learned from in rounds of their own."""

    unlabelled_rounds: int = flag("EM rounds over trees and these.", 3, min=0)


def _unlabelled_figures(report: UnlabelledReport, held_out: str) -> Json:
    """What became of the sentences; ``held_out`` names what chose the weight."""
    figures: Json = {
        "unlabelled_used": report.n_used if report.weight else 0,
        "unlabelled_too_long": report.n_left_out,
        "unlabelled_weight": report.weight,
    }
    if report.held_out:
        by_weight = {f"{weight:g}": round(share, 2) for weight, share in report.held_out.items()}
        figures[held_out] = by_weight
    return figures


@with_flags(DependencyParserSettings)
def train(
    trees: options.Sources,
    run: Training,
    settings: SettingFlags,
    dev: list[str] | None = flag("Trees to choose the number of passes by, and to score."),
) -> None:
    """Train a dependency parser on CoNLL-U trees.

    With --dev its UAS and LAS on those trees (CoNLL 2018 rules) are among the figures.

    Example:
        $ eigentext convert sample/train.mrg -o train.conllu
        $ eigentext dep train train.conllu -o english.parser --epochs 3
        $ eigentext dep train train.conllu -o plain.parser --order 1 --tags own --epochs 3
    """
    from eigentext.dependency import DependencyParser
    from eigentext.evaluate.attachment import evaluate

    sources = expand(trees)
    parser = DependencyParser(**settings.of(DependencyParserSettings))
    parser.check()
    with run.reading("steps") as (log, progress):
        treebank = training_trees(sources, log)
        held_out = training_trees(expand(dev), log) if dev else []
        parser.fit(treebank, held_out or None, progress=progress)
        chosen = parser.projectivity_  # may arcs cross, and what was seen where it was chosen
        figures: Json = {
            "sentences": len(treebank),
            "words": sum(map(len, treebank)),
            "bits": parser.arcs_.settings.bits,
            "projective": chosen.projective,
            "projective_why": chosen.why,
            "relations": len(parser.relations_.relations) if parser.relations_ else 0,
        }
        if chosen.words:
            figures |= {
                "held_out_words": chosen.words,
                "held_out_uas_projective": chosen.projective_uas,
                "held_out_uas_crossing": chosen.crossing_uas,
            }
        if held_out:
            result = evaluate(held_out, parser.predict(held_out))
            figures |= {"dev_uas": result.uas, "dev_las": result.las}
    run.remark(str(parser.projectivity_))
    run.save(parser, sources, figures)


@with_flags(GenerativeParserSettings)
def train_generative(
    trees: options.Sources,
    run: Training,
    settings: SettingFlags,
    text: UnlabelledRounds,
    dev: Dev = None,
) -> None:
    """Train a generative parser with hidden states, which gives heads and no relations.

    With --dev its UAS on those trees (CoNLL 2018 rules) is among the figures.

    Example:
        $ eigentext convert sample/train.mrg -o train.conllu
        $ eigentext dep train-generative train.conllu -o hidden.parser --n-states 2
        $ eigentext dep train-generative train.conllu -o u.parser --unlabelled train.conllu
    """
    from eigentext.cli.dep_apply import by_generative
    from eigentext.dependency import GenerativeParser
    from eigentext.evaluate.attachment import evaluate

    sources = expand(trees)
    parser = GenerativeParser(**settings.of(GenerativeParserSettings))
    parser.check()
    with run.reading("steps") as (log, progress):
        bank = training_trees(sources, log)
        held_out = training_trees(expand(dev), log) if dev else []
        unlabelled = text.read(log, rounds=text.unlabelled_rounds)
        parser.fit(bank, unlabelled=unlabelled, progress=progress)
        figures: Json = {"sentences": len(bank), "words": sum(map(len, bank)), "relations": 0}
        if unlabelled is not None:
            figures |= _unlabelled_figures(parser.unlabelled_, "held_out_uas")
        if held_out:
            figures["dev_uas"] = evaluate(held_out, by_generative(parser, held_out)).uas
    run.save(parser, sources, figures)


@with_flags(LatentTreeSettings)
def train_latent(
    trees: options.Sources, run: Training, settings: SettingFlags, text: UnlabelledText
) -> None:
    """Learn a latent tree model: one hidden state per word, found by CCA and then EM.

    Its log p(words | tree) is shown by `dep score`, its states by `dep inspect`.  Sentences of
    --unlabelled get their trees from a parser of the trees that are there.

    Example:
        $ eigentext convert sample/train.mrg -o train.conllu
        $ eigentext dep train-latent train.conllu -o english.latent --n-states 50 --n-iter 5
        $ eigentext dep train-latent train.conllu -o more.latent -k 50 --unlabelled train.conllu
    """
    from eigentext.dependency import LatentTreeModel

    model = LatentTreeModel(**settings.of(LatentTreeSettings))
    model.check()
    with run.reading("iterations") as (log, progress):
        treebank = [tree for _, tree in trees_of(trees, on_error=log)]
        unlabelled = text.read(log)
        model.fit(treebank, unlabelled=unlabelled, progress=progress)
    n_words = sum(map(len, treebank))
    history = model.log_likelihoods_
    used = unlabelled is not None and model.unlabelled_.weight
    figures: Json = {
        "trees": len(treebank),
        "words": n_words,
        "observations": model.observations_.sizes[0],
        "states": model.n_states,
        # the history is that of trees and text together
        "log_likelihood_per_word": history[-1] / n_words if history and not used else None,
    }
    if unlabelled is not None:
        figures |= _unlabelled_figures(model.unlabelled_, "held_out_in_order")
    run.save(model, trees, figures)


@with_flags(RerankerSettings)
def train_reranker(
    trees: options.Sources,
    run: Training,
    settings: SettingFlags,
    base: str | None = flag(
        "A model of `dep train`: the parsers of the folds take its settings.  It is best "
        "trained on the same trees."
    ),
    work: str | None = flag("A folder for the lists; a stopped run goes on from there."),
) -> None:
    """Train a reranker: which of the base parser's k best trees is the right one?

    Lists of the training sentences come from cross-validation, so that they are as wrong as those
    of new sentences; so do the scores of the experts.  Use it with `dep apply --rerank`.

    Example:
        $ eigentext convert sample/train.mrg -o train.conllu
        $ eigentext dep train train.conllu -o english.parser --order 1 --epochs 2
        $ eigentext dep train-reranker train.conllu --base english.parser --kbest 5 --experts generative,valence -o english.rerank
        $ eigentext dep apply english.parser train.conllu --rerank english.rerank -o out.conllu
    """  # noqa: E501
    from eigentext.dependency import DependencyParser, Reranker

    reranker = Reranker(**settings.of(RerankerSettings))
    reranker.check()
    sources = expand(trees)
    # without grandparents k-best lists are exact
    parser = DependencyParser(grandparents=False) if base is None else DependencyParser.load(base)
    with run.reading("steps") as (log, progress):
        treebank = training_trees(sources, log)
        reranker.fit(treebank, parser, folder=work, progress=progress)
    figures: dict[str, float] = {"sentences": len(treebank), "features": reranker.n_features}
    for name, weight in reranker.dense_weights.items():
        figures[f"weight_{name}"] = round(weight, 4)
    run.save(reranker, sources, figures)


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
    name, score_of = _scorer(model, parser)
    with run.reading("trees") as (log, _), workers.at_work(jobs):
        read = trees_of(trees, on_error=log)
        scored = in_order(_scored, read, state=score_of, jobs=jobs)
        scores = ((score, len(tree)) for (_, tree), score in scored)
        figures = run.write_scores(name, scores, format_)
    run.tell({**figures, "skipped": run.skipped})


def _scorer(path: str, base: str | None = None) -> tuple[str, Scorer]:
    """What the number is called, and how the model at this path scores a tree."""
    kinds = ("graph-parser", "dependency-generative", "dependency-reranker", "latent-tree")
    kind = kind_of_model(path, *kinds)
    if base is not None and kind != "dependency-reranker":
        raise SettingsError(f"--parser is for a reranker, and {path} is none")
    if kind == "latent-tree":
        from eigentext.dependency import LatentTreeModel

        return "log_prob", partial(_by_latent, LatentTreeModel.load(path))
    if kind == "graph-parser":
        from eigentext.dependency import DependencyParser
        from eigentext.dependency.graph.answer import tree_score

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
    from eigentext.dependency.graph.answer import judged

    tagged = parser.tagged_conllu(sentence)
    return reranker.choose(tagged, [judged(parser, sentence, tree)])[0].score
