"""``eigentext dep train``: from dependency trees to a parser."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.command import Given, with_settings
from eigentext.cli.output import Clock, progress_bar, remark, show_figures, skipped_count, skipping
from eigentext.dependency.settings import DependencyParserSettings, GenerativeParserSettings

if TYPE_CHECKING:
    from eigentext.base.files.opening import SkipLog
    from eigentext.base.progress import Progress
    from eigentext.dependency import DependencyParser, GenerativeParser
    from eigentext.formats.conllu import Sentence


class ParserName(StrEnum):
    """What is trained."""

    graph = "graph"
    generative = "generative"


@with_settings(DependencyParserSettings, GenerativeParserSettings)
def train(
    trees: options.Sources,
    output: options.ModelOutput,
    given: Given,
    dev: Annotated[
        list[str] | None,
        typer.Option("--dev", help="Trees to choose the number of passes by, and to score."),
    ] = None,
    model: Annotated[
        ParserName,
        typer.Option(
            "--model",
            help="A graph-based parser, or a generative one with hidden states (no relations).",
        ),
    ] = ParserName.graph,
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

        $ eigentext dep train train.conllu -o hidden.parser --model generative --n-states 2

        $ eigentext dep parse hidden.parser train.conllu -o predicted.conllu
    """
    from eigentext.base.files.opening import check_writable, expand
    from eigentext.dependency import DependencyParser, GenerativeParser

    check_writable(output)
    clock = Clock()
    sources = expand(trees)
    parser: DependencyParser | GenerativeParser
    if model is ParserName.generative:
        parser = GenerativeParser(**given.settings(GenerativeParserSettings))
    else:
        parser = DependencyParser(**given.settings(DependencyParserSettings))
    parser.check()
    with (
        skipping(on_error, quiet=quiet) as log,
        progress_bar(quiet=quiet, unit="steps") as update,
    ):
        read = read_trees(sources, log)
        held_out = read_trees(expand(dev), log) if dev else []
        if isinstance(parser, GenerativeParser):
            figures = _fit_generative(parser, read, held_out, update)
        else:
            figures = _fit_graph(parser, read, held_out, update)
    if isinstance(parser, DependencyParser):
        remark(str(parser.projectivity_), quiet=quiet)
    parser.save(output, data=options.about_data(sources, data_name, data_licence))
    if json or not quiet:
        figures = {
            "sentences": len(read),
            "words": sum(map(len, read)),
            "skipped": skipped_count(log),
            **clock.figures(),
            **figures,
        }
        show_figures(figures, as_json=json, results_on_stdout=output == "-")


def _fit_generative(
    parser: GenerativeParser, read: list[Sentence], held_out: list[Sentence], progress: Progress
) -> dict[str, Any]:
    from eigentext.cli.dep_generative import parsed
    from eigentext.evaluate.attachment import evaluate

    parser.fit(read, progress=progress)
    if not held_out:
        return {"relations": 0}
    predicted = [parsed(parser, sentence) for sentence in held_out]
    return {"relations": 0, "dev_uas": evaluate(held_out, predicted).uas}


def _fit_graph(
    parser: DependencyParser, read: list[Sentence], held_out: list[Sentence], progress: Progress
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


def read_trees(sources: list[str], on_error: SkipLog | None = None) -> list[Sentence]:
    """Sentences with a tree; one without is an error of its file, or skipped and counted."""
    from eigentext.dependency.graph.answer import with_heads
    from eigentext.errors import DataError
    from eigentext.formats.conllu import read_sentences

    sentences = []
    for source in sources:
        for sentence in read_sentences(source, on_error=on_error):
            try:
                sentences.append(with_heads(sentence))
            except DataError as error:
                if on_error is None:
                    raise
                on_error(error)
    if not sentences:
        raise DataError(", ".join(sources), None, "no sentences, expected some with heads")
    return sentences
