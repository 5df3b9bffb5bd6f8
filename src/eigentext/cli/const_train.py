"""``eigentext const train``: from trees to a parser."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.output import Clock, progress_bar, remark, show_figures, skipped_count, skipping

if TYPE_CHECKING:
    from eigentext.base.files.opening import SkipLog
    from eigentext.constituency.choose_states import States
    from eigentext.constituency.learn_semi import FreeText
    from eigentext.constituency.word_classes import WordClasses

WEIGHT, PARTIAL_WEIGHT, ROUNDS = 0.1, 1.0, 1  # as in learn_semi.FreeText


class EstimatorName(StrEnum):
    """How latent states are learned."""

    clustering = "clustering"
    em = "em"
    moments = "moments"
    mixed = "mixed"


class HeadsName(StrEnum):
    """Whose head rules."""

    english = "english"
    neutral = "neutral"


class LanguageName(StrEnum):
    """Whose word endings."""

    english = "english"
    generic = "generic"


def train(
    trees: options.Sources,
    output: options.ModelOutput,
    dev: Annotated[
        list[str] | None,
        typer.Option("--dev", help="Trees to score the parser on, and to choose --states by."),
    ] = None,
    states: Annotated[
        str,
        typer.Option(
            "--states",
            help="Most latent states of a nonterminal (1 to 64), or auto: from the spectrum, or "
            "search: the best on --dev.",
        ),
    ] = "16",
    ensemble: Annotated[
        int, typer.Option("--ensemble", min=1, help="So many models, trained with noise.")
    ] = 1,
    estimator: Annotated[
        EstimatorName | None,
        typer.Option(
            "--estimator",
            help="How latent states are learned; unless told, clustering for one model, mixed "
            "(clustering and moments in turn) for several.",
        ),
    ] = None,
    em: Annotated[
        int | None,
        typer.Option("--em", min=0, help="EM iterations: after clustering (1), or alone (50)."),
    ] = None,
    heads: Annotated[HeadsName, typer.Option("--heads", help="Head rules.")] = HeadsName.english,
    language: Annotated[
        LanguageName, typer.Option("--language", help="Signatures of unknown words.")
    ] = LanguageName.english,
    cut_tags: Annotated[
        bool,
        typer.Option(
            "--cut-tags", help="Cut tags at a hyphen, as phrases always are: N-SBJ to N."
        ),
    ] = False,
    clusters: Annotated[
        str | None, typer.Option("--clusters", help="Brown paths file: classes of rare words.")
    ] = None,
    vectors: Annotated[
        str | None, typer.Option("--vectors", help="word2vec file: classes of rare words.")
    ] = None,
    unlabelled: Annotated[
        list[str] | None,
        typer.Option("--unlabelled", help="Sentences without trees, one a line, tokenised."),
    ] = None,
    partial: Annotated[
        list[str] | None,
        typer.Option("--partial", help="Trees with some brackets; label X: any constituent."),
    ] = None,
    unlabelled_weight: Annotated[
        float, typer.Option("--unlabelled-weight", min=0, help="Of a count beside a tree's.")
    ] = WEIGHT,
    partial_weight: Annotated[
        float, typer.Option("--partial-weight", min=0, help="The same for --partial.")
    ] = PARTIAL_WEIGHT,
    unlabelled_rounds: Annotated[
        int, typer.Option("--unlabelled-rounds", min=0, help="EM rounds over both.")
    ] = ROUNDS,
    seed: options.Seed = 0,
    on_error: options.SkipErrors = options.OnError.stop,
    data_name: options.DataName = None,
    data_licence: options.DataLicence = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Train a parser on PTB-style trees.

    With --dev its F1 on those trees (EVALB's rules) is among the figures. Classes of words help
    most when trees are few; so do brackets without labels.

    Example:

        $ eigentext const train sample/train.mrg -o english.lpcfg --states 4

        $ eigentext const train sample/train.mrg -o auto.lpcfg --states auto --dev sample/dev.mrg

        $ eigentext const train sample/train.mrg -o more.lpcfg --states 2 --partial sample/dev.mrg
    """
    from eigentext.base.files.opening import check_writable, expand
    from eigentext.constituency import LPCFG
    from eigentext.constituency.choose_states import f1_on, search_states
    from eigentext.constituency.grammar import GrammarSettings
    from eigentext.errors import DataError, SettingsError
    from eigentext.formats.ptb import read_trees

    check_writable(output)
    clock = Clock()
    searching = states == "search"
    if searching and not dev:
        raise SettingsError("--states search needs --dev TREES to search on")
    settings: dict[str, Any] = {
        "estimator": None if estimator is None else estimator.value,
        "ensemble": ensemble,
        "em": em,
        "seed": seed,
        "grammar": GrammarSettings(heads=heads.value, language=language.value, cut_tags=cut_tags),
    }
    parser = LPCFG(states=16 if searching else _states(states), **settings)
    sources = expand(trees)
    about: dict[str, Any] = {}
    with skipping(on_error, quiet=quiet) as log, progress_bar(quiet=quiet) as update:
        read = [tree for source in sources for tree in read_trees(source, on_error=log)]
        if not read:
            raise DataError(", ".join(sources), None, "no trees, expected at least one")
        more: dict[str, Any] = {
            "classes": _classes(clusters, vectors, log),
            "text": _text(
                unlabelled,
                partial,
                log,
                weight=unlabelled_weight,
                rounds=unlabelled_rounds,
                partial_weight=partial_weight,
                cut_tags=cut_tags,
            ),
        }
        held_out = [t for source in expand(dev or []) for t in read_trees(source, on_error=log)]
        if dev and not held_out:
            raise DataError(", ".join(dev), None, "no trees, expected at least one")
        if searching:
            parser, tried = search_states(
                lambda m: LPCFG(states=m, **settings).fit(read, progress=update, **more),
                held_out,
                progress=update,
            )
            about["tried"] = {str(one.states): round(one.f1, 2) for one in tried}
            about["states"] = parser.states
            about["dev_f1"] = max(one.f1 for one in tried)
        else:
            parser.fit(read, progress=update, **more)
            if dev:
                about["dev_f1"] = f1_on(parser, held_out, progress=update)
    for states_tried, f1 in about.get("tried", {}).items():
        remark(f"--states {states_tried}: F1 {f1:.2f} on dev", quiet=quiet or json)
    parser.save(output, data=options.about_data(sources, data_name, data_licence))
    if json or not quiet:
        figures: dict[str, Any] = {
            "trees": len(read),
            "skipped": skipped_count(log),
            "nonterminals": len(parser.labels_),
            "rules": len(parser.coarse_.rules),
            **clock.figures(),
            **about,
        }
        if more["text"] is not None:
            figures["sentences_used"] = parser.semi_.n_used
            figures["too_long"] = parser.semi_.n_long
            figures["without_parse"] = parser.semi_.n_unparsed
        show_figures(figures, as_json=json, results_on_stdout=output == "-")


def _states(given: str) -> States:
    """A number or ``auto``; the parser itself knows which numbers it takes."""
    from eigentext.errors import SettingsError

    if given == "auto":
        return "auto"
    if not given.isdecimal():
        raise SettingsError(f"--states takes a number, auto or search, not {given!r}")
    return int(given)


def _classes(paths: str | None, vectors: str | None, log: SkipLog | None) -> WordClasses | None:
    """Classes of words from either file or both."""
    if paths is None and vectors is None:
        return None
    from eigentext.constituency.word_classes import WordClasses
    from eigentext.formats.brown_paths import read_paths
    from eigentext.formats.word2vec import load_vectors

    parts = []
    if paths is not None:
        parts.append(WordClasses.from_paths(read_paths(paths, on_error=log)))
    if vectors is not None:
        parts.append(WordClasses.from_vectors(*load_vectors(vectors, on_error=log)))
    return WordClasses.merged(parts)


def _text(
    unlabelled: list[str] | None,
    partial: list[str] | None,
    log: SkipLog | None,
    *,
    weight: float,
    partial_weight: float,
    rounds: int,
    cut_tags: bool,
) -> FreeText | None:
    """Sentences without trees and with some brackets."""
    if not unlabelled and not partial:
        return None
    from eigentext.base.files.opening import expand
    from eigentext.constituency.learn_semi import FreeText, partial_brackets
    from eigentext.formats.ptb import read_trees
    from eigentext.formats.text import read_sentences

    return FreeText(
        [
            tokens
            for source in expand(unlabelled or [])
            for tokens in read_sentences(source, drop_empty=True, on_error=log)
        ],
        [
            partial_brackets(tree, cut_tags=cut_tags)
            for source in expand(partial or [])
            for tree in read_trees(source, on_error=log)
        ],
        weight=weight,
        partial_weight=partial_weight,
        rounds=rounds,
    )
