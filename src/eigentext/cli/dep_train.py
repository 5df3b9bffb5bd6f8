"""``eigentext dep train``: from dependency trees to a parser."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.output import Clock, progress_bar, remark, show_figures, skipped_count, skipping

if TYPE_CHECKING:
    from eigentext.base.files.opening import SkipLog
    from eigentext.dependency import GraphParser
    from eigentext.dependency.projectivity import Projectivity
    from eigentext.formats.conllu import Sentence


class LearnerName(StrEnum):
    """How weights are learned."""

    mira = "mira"
    perceptron = "perceptron"


class ParserName(StrEnum):
    """What is trained."""

    graph = "graph"
    generative = "generative"


class TagsName(StrEnum):
    """Whose part-of-speech tags."""

    gold = "gold"
    own = "own"


def train(
    trees: options.Sources,
    output: options.ModelOutput,
    dev: Annotated[
        list[str] | None,
        typer.Option("--dev", help="Trees to choose the number of passes by, and to score."),
    ] = None,
    model: Annotated[
        ParserName,
        typer.Option(
            "--model",
            help="A graph-based parser, or a generative one with hidden states (no relations); "
            "of the options below it takes --states and --seed.",
        ),
    ] = ParserName.graph,
    states: Annotated[
        int,
        typer.Option("--states", min=1, max=64, help="Generative: most hidden states of a tag."),
    ] = 8,
    order: Annotated[
        int, typer.Option("--order", min=1, max=2, help="1: arcs; 2: siblings as well.")
    ] = 2,
    grandparents: Annotated[
        bool,
        typer.Option(
            "--grandparents/--no-grandparents",
            help="Order 2: look at the head's head as well.  More accurate; k-best lists are then "
            "approximate.",
        ),
    ] = True,
    learner: Annotated[
        LearnerName, typer.Option("--learner", help="How weights are learned.")
    ] = LearnerName.mira,
    projective: Annotated[
        bool | None,
        typer.Option(
            "--projective/--nonprojective",
            help="May arcs cross?  Unless told: if more heads are right with them in a part of "
            "the trees that is held out to see.",
        ),
    ] = None,
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="Passes over the trees.")] = 7,
    tags: Annotated[
        TagsName,
        typer.Option(
            "--tags",
            help="Learn from the tags in the files, or train taggers as well (own), so that text "
            "without tags can be parsed.",
        ),
    ] = TagsName.gold,
    clusters: Annotated[
        str | None, typer.Option("--clusters", help="Brown paths file: clusters of words.")
    ] = None,
    vectors: Annotated[
        str | None, typer.Option("--vectors", help="word2vec file: vectors of words.")
    ] = None,
    bits: Annotated[
        int | None,
        typer.Option(
            "--bits",
            min=10,
            max=30,
            help="2^bits weights of arcs; unless told, up to 24, as many as the words call for.",
        ),
    ] = None,
    seed: options.Seed = 0,
    on_error: options.SkipErrors = options.OnError.stop,
    data_name: options.DataName = None,
    data_licence: options.DataLicence = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Train a dependency parser on CoNLL-U trees.

    With --dev its UAS and LAS on those trees (CoNLL 2018 rules) are among the figures.

    Example:

        $ eigentext convert sample/train.mrg -o train.conllu

        $ eigentext dep train train.conllu -o english.parser --epochs 3

        $ eigentext dep train train.conllu -o plain.parser --order 1 --tags own --epochs 3

        $ eigentext dep train train.conllu -o hidden.parser --model generative --states 2

        $ eigentext dep parse hidden.parser train.conllu -o predicted.conllu
    """
    from eigentext.base.files.opening import check_writable, expand
    from eigentext.cli.dep_generative import parsed, refuse
    from eigentext.dependency import GenerativeParser, GraphParser
    from eigentext.evaluate.attachment import evaluate

    check_writable(output)
    clock = Clock()
    sources = expand(trees)
    generative = None
    if model is ParserName.generative:
        asked = {"--tags own": tags is TagsName.own, "--clusters": clusters, "--vectors": vectors}
        refuse({**asked, "--nonprojective": projective is False}, "not with --model generative")
        generative = GenerativeParser(states=states, seed=seed)
    parser = GraphParser(
        order=order,
        grandparents=grandparents,
        learner=learner.value,
        projective="auto" if projective is None else projective,
        epochs=epochs,
        clusters=clusters,
        vectors=vectors,
        tagger="own" if tags is TagsName.own else None,
        seed=seed,
    )
    figures: dict[str, Any] = {}
    with (
        skipping(on_error, quiet=quiet) as log,
        progress_bar(quiet=quiet, unit="steps") as update,
    ):
        read = read_trees(sources, log)
        held_out = read_trees(expand(dev), log) if dev else []
        if generative is not None:
            generative.fit(read, progress=update)
        else:
            parser.set_params(bits=bits or _bits_for(sum(map(len, read))))
            parser.fit(read, held_out if dev else None, progress=update)
        if dev and generative is not None:
            found = [parsed(generative, sentence) for sentence in held_out]
            figures = {"dev_uas": evaluate(held_out, found).uas}
        elif dev:
            result = evaluate(held_out, parser.predict(held_out))
            figures = {"dev_uas": result.uas, "dev_las": result.las}
    made = parser if generative is None else generative
    if generative is None:
        remark(str(parser.projectivity_), quiet=quiet)
    made.save(output, data=options.about_data(sources, data_name, data_licence))
    if json or not quiet:
        figures = {
            "sentences": len(read),
            "words": sum(map(len, read)),
            "skipped": skipped_count(log),
            **({} if generative is not None else _chosen(parser.projectivity_)),
            "relations": 0 if generative is not None else _n_relations(parser),
            **clock.figures(),
            **figures,
        }
        show_figures(figures, as_json=json, results_on_stdout=output == "-")


def _chosen(found: Projectivity) -> dict[str, Any]:
    """May arcs cross, and what was seen on the sentences held out to choose by."""
    figures: dict[str, Any] = {"projective": found.projective, "projective_why": found.why}
    if found.words:
        figures |= {
            "held_out_words": found.words,
            "held_out_uas_projective": found.projective_uas,
            "held_out_uas_crossing": found.crossing_uas,
        }
    return figures


def _n_relations(parser: GraphParser) -> int:
    return len(parser.relations_.relations) if parser.relations_ else 0


def _bits_for(n_words: int) -> int:
    """Some 64 weights for every word, but no fewer than 2^16 and no more than 2^24."""
    return min(24, max(16, (64 * n_words - 1).bit_length()))


def read_trees(sources: list[str], on_error: SkipLog | None = None) -> list[Sentence]:
    """Sentences with a tree; one without is an error of its file, or skipped and counted."""
    from eigentext.dependency.answer import with_heads
    from eigentext.errors import DataError
    from eigentext.formats.conllu import read_sentences

    found = []
    for source in sources:
        for sentence in read_sentences(source, on_error=on_error):
            try:
                found.append(with_heads(sentence))
            except DataError as error:
                if on_error is None:
                    raise
                on_error(error)
    if not found:
        raise DataError(", ".join(sources), None, "no sentences, expected some with heads")
    return found
