"""``eigentext dep train``: from dependency trees to a parser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

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
from eigentext.cli.tree_input import training_trees
from eigentext.dependency.settings import DependencyParserSettings, GenerativeParserSettings

if TYPE_CHECKING:
    from eigentext.base.progress import Progress
    from eigentext.dependency import DependencyParser, GenerativeParser
    from eigentext.dependency.unlabelled import Unlabelled
    from eigentext.language.formats.conllu import ConlluBlock


@with_flags(DependencyParserSettings, GenerativeParserSettings)
def train(
    trees: options.Sources,
    run: Training,
    given: Given,
    dev: Annotated[
        list[str] | None,
        typer.Option("--dev", help="Trees to choose the number of passes by, and to score."),
    ] = None,
    model: Annotated[
        Literal["graph", "generative"],
        typer.Option(
            "--model",
            help="A graph-based parser, or a generative one with hidden states (no relations).",
        ),
    ] = "graph",
    unlabelled: Annotated[
        list[str] | None,
        typer.Option(
            "--unlabelled",
            help="For a generative parser: CoNLL-U with tags, whose trees are not read.",
        ),
    ] = None,
    unlabelled_weight: UnlabelledWeight = None,
    unlabelled_rounds: Annotated[
        int | None,
        typer.Option(
            "--unlabelled-rounds", min=0, help="EM rounds over trees and these. [default: 3]"
        ),
    ] = None,
    unlabelled_trees: UnlabelledTrees = "all",
) -> None:
    """Train a dependency parser on CoNLL-U trees.

    With --dev its UAS and LAS on those trees (CoNLL 2018 rules) are among the figures.

    Example:

        $ eigentext convert sample/train.mrg -o train.conllu

        $ eigentext dep train train.conllu -o english.parser --epochs 3

        $ eigentext dep train train.conllu -o plain.parser --order 1 --tags own --epochs 3

        $ eigentext dep train train.conllu -o hidden.parser --model generative --n-states 2

        $ eigentext dep parse hidden.parser train.conllu -o predicted.conllu

        $ eigentext dep train train.conllu -o u.parser --model generative --unlabelled train.conllu
    """
    from eigentext.base.files.opening import expand
    from eigentext.dependency import DependencyParser, GenerativeParser
    from eigentext.dependency.unlabelled import Unlabelled
    from eigentext.errors import SettingsError

    if unlabelled and model != "generative":
        raise SettingsError("--unlabelled is for --model generative")
    check_flags(unlabelled, unlabelled_weight, unlabelled_trees, unlabelled_rounds)
    sources = expand(trees)
    parser: DependencyParser | GenerativeParser
    if model == "generative":
        parser = GenerativeParser(**given.settings(GenerativeParserSettings))
    else:
        parser = DependencyParser(**given.settings(DependencyParserSettings))
    parser.check()
    with run.reading("steps") as (log, progress):
        treebank = training_trees(sources, log)
        held_out = training_trees(expand(dev), log) if dev else []
        if isinstance(parser, GenerativeParser):
            text = None
            if unlabelled:
                text = Unlabelled(
                    text_of(unlabelled, log),
                    unlabelled_weight,
                    3 if unlabelled_rounds is None else unlabelled_rounds,
                    unlabelled_trees,
                )
            figures = _fit_generative(parser, treebank, held_out, progress, text)
        else:
            figures = _fit_graph(parser, treebank, held_out, progress)
    if isinstance(parser, DependencyParser):
        run.remark(str(parser.projectivity_))
    counts = {"sentences": len(treebank), "words": sum(map(len, treebank))}
    run.save(parser, sources, counts | figures)


def _fit_generative(
    parser: GenerativeParser,
    read: list[ConlluBlock],
    held_out: list[ConlluBlock],
    progress: Progress,
    text: Unlabelled | None,
) -> dict[str, Any]:
    from eigentext.cli.dep_generative import parsed
    from eigentext.evaluate.attachment import evaluate

    parser.fit(read, unlabelled=text, progress=progress)
    figures: dict[str, Any] = {"relations": 0}
    if text is not None:
        figures |= text_figures(parser.unlabelled_, "held_out_uas")
    if held_out:
        predicted = [parsed(parser, sentence) for sentence in held_out]
        figures["dev_uas"] = evaluate(held_out, predicted).uas
    return figures


def _fit_graph(
    parser: DependencyParser,
    read: list[ConlluBlock],
    held_out: list[ConlluBlock],
    progress: Progress,
) -> dict[str, Any]:
    """Figures tell whether arcs may cross, and what was seen on the sentences to choose by."""
    from eigentext.evaluate.attachment import evaluate

    parser.fit(read, held_out or None, progress=progress)
    chosen = parser.projectivity_
    figures: dict[str, Any] = {
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
    return figures
