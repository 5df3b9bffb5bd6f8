"""``eigentext words embed | neighbours | eval``: word vectors, their neighbours, their worth."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.output import Clock, progress_bar, show_figures, skipping
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from eigentext.words.embeddings.cca import EmbeddingSettings


def register(app: typer.Typer) -> None:
    """Put these commands under ``eigentext words``."""
    app.command("embed")(embed)
    app.command("neighbours")(neighbours)
    app.command("eval")(evaluate)


def embed(
    output: options.ModelOutput,
    corpus: Annotated[
        list[str] | None,
        typer.Argument(help="Files, globs or URLs; '-' is standard input.", show_default=False),
    ] = None,
    counts: Annotated[
        str | None, typer.Option("--counts", help="Stored counts in place of a corpus.")
    ] = None,
    vectors: Annotated[
        str | None,
        typer.Option("--vectors", help="Write word2vec's format too: .bin binary, else text."),
    ] = None,
    size: Annotated[int, typer.Option("--size", min=1, help="Dimensions of a vector.")] = 200,
    contexts: Annotated[
        str | None,
        typer.Option(
            "--contexts", help="bag5, lr2, positions; default bag5, or what the counts hold."
        ),
    ] = None,
    weighting: Annotated[
        str | None,
        typer.Option("--weighting", help="Of near words in a bag: linear, harmonic or flat."),
    ] = None,
    method: Annotated[str, typer.Option("--method", help="cca or lrmvl.")] = "cca",
    transform: Annotated[
        str, typer.Option("--transform", help="Of the counts: ppmi, sqrt, log or none.")
    ] = "ppmi",
    exponent: Annotated[
        float | None, typer.Option("--exponent", help="On the singular values.")
    ] = None,
    kappa: Annotated[
        float | None, typer.Option("--kappa", help="Added to the totals, steadies rare words.")
    ] = None,
    smoothing: Annotated[
        float, typer.Option("--smoothing", help="Exponent on the totals of contexts.")
    ] = 1.0,
    shift: Annotated[float, typer.Option("--shift", help="Of PPMI: log(shift) off.")] = 1.0,
    fold_case: Annotated[
        bool,
        typer.Option("--fold-case/--keep-case", help="Contexts that differ in case are one."),
    ] = True,
    iterations: Annotated[int, typer.Option("--iterations", min=1, help="Rounds of LR-MVL.")] = 6,
    vocab_size: Annotated[
        int | None, typer.Option("--vocab-size", min=1, help="Keep the n most frequent words.")
    ] = None,
    min_count: Annotated[
        int, typer.Option("--min-count", min=1, help="Keep words seen at least so often.")
    ] = 1,
    memory: Annotated[
        str, typer.Option("--memory", help="Counting spills to disk beyond this.")
    ] = "2GB",
    jobs: options.Jobs = 1,
    raw: options.Raw = False,
    tokeniser: options.Tokeniser = "generic",
    newlines: options.Newlines = options.NewlinesName.auto,
    seed: options.Seed = 0,
    on_error: options.SkipErrors = options.OnError.stop,
    data_name: options.DataName = None,
    data_licence: options.DataLicence = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Make word vectors from a corpus or from stored counts.

    Only counting keeps to --memory: what is decomposed is held whole, 3.3 GB for 37 million tokens
    and 200,000 words. A smaller --vocab-size or a higher --min-count needs less.

    Example:

        $ eigentext words embed sample/text.txt -o text.vec --size 20 --vectors vectors.txt

        $ eigentext words count sample/text.txt -o text.counts --contexts lr2

        $ eigentext words embed --counts text.counts -o text.vec --size 20 --transform sqrt

        $ eigentext words embed sample/text.txt -o text.lrmvl --method lrmvl --size 10
    """
    from eigentext.base.files.opening import check_writable, expand
    from eigentext.words.embeddings.cca import EmbeddingSettings

    if (counts is None) == (not corpus):
        raise SettingsError("expected a corpus, or --counts, and not both")
    if method not in ("cca", "lrmvl"):
        raise SettingsError(f"method {method!r}: expected cca or lrmvl")
    if size < 1:
        raise SettingsError(f"size {size}: expected at least 1")
    check_writable(output, vectors)
    clock = Clock()
    sources = expand(corpus or [])
    with skipping(on_error, quiet=quiet) as log, progress_bar(quiet=quiet) as update:
        chosen = {"exponent": exponent, "kappa": kappa, "weighting": weighting}
        settings = EmbeddingSettings(
            size=size,
            transform=transform,  # type: ignore[arg-type]
            smoothing=smoothing,
            shift=shift,
            fold_case=fold_case,
            **{name: value for name, value in chosen.items() if value is not None},  # type: ignore[arg-type]
        )
        common: dict[str, Any] = {"vocab_size": vocab_size, "min_count": min_count}
        common |= {"jobs": jobs, "memory": memory, "progress": update, "on_error": log}
        common |= {"tokeniser": tokeniser if raw else None, "newlines": newlines.value}
        if method == "cca":
            found, figures = _cca(
                sources, counts, contexts, settings, common, seed, flat=weighting is None
            )
        else:
            if counts is not None:
                raise SettingsError("LR-MVL goes along the text: expected a corpus, not --counts")
            found, figures = _lrmvl(sources, size, iterations, kappa, common, seed)
    data = options.about_data(sources or [str(counts)], data_name, data_licence)
    found.save(output, data=data)
    if vectors is not None:
        found.export(vectors)
    if json or not quiet:
        figures |= clock.figures()
        show_figures(figures, as_json=json, results_on_stdout="-" in (output, vectors))


def _cca(
    sources: list[str],
    counts: str | None,
    contexts: str | None,
    settings: EmbeddingSettings,
    common: dict[str, Any],
    seed: int,
    *,
    flat: bool,
) -> tuple[Any, dict[str, Any]]:
    """Vectors by one SVD, and figures about them; ``flat`` where no weighting was asked for."""
    import time
    from dataclasses import replace

    from eigentext.corpus.counting import count
    from eigentext.corpus.counts import Counts
    from eigentext.words.embeddings.cca import cca_embeddings, contexts_to_count

    began = time.process_time()
    if counts is not None:
        held = Counts.load(counts)
        if flat and held.contexts.bag:
            settings = replace(settings, weighting="flat")
    else:
        contexts = contexts or "bag5"
        held = count(sources, contexts=contexts_to_count(contexts, settings.weighting), **common)
    counted = time.process_time()
    found = cca_embeddings(
        held,
        contexts=contexts,
        settings=settings,
        seed=seed,
        on_rank="error",
        progress=common["progress"],
    )
    values = found.singular_values
    return found, {
        "tokens": held.n_tokens,
        "words": len(found.words),
        "size": found.vectors.shape[1],
        "first_singular_value": float(values[0]),
        "last_singular_value": float(values[-1]),
        "cpu_seconds_counting": round(counted - began, 3),
        "cpu_seconds_svd": round(time.process_time() - counted, 3),
    }


def _lrmvl(
    sources: list[str],
    size: int,
    iterations: int,
    kappa: float | None,
    common: dict[str, Any],
    seed: int,
) -> tuple[Any, dict[str, Any]]:
    """Vectors by two CCAs over smoothed contexts, and figures about them."""
    from eigentext.words.embeddings.lrmvl import LRMVLSettings, fit_lrmvl, token_ids

    settings = LRMVLSettings(size=size, iterations=iterations)
    if kappa is not None:
        settings = LRMVLSettings(size=size, iterations=iterations, kappa=kappa)
    vocabulary, ids = token_ids(sources, **common)
    model = fit_lrmvl(ids, vocabulary.words, settings, seed=seed, progress=common["progress"])
    values = model.embeddings.singular_values
    return model, {
        "tokens": int((ids >= 0).sum()),
        "words": len(model.embeddings.words),
        "size": size,
        "first_correlation": float(values[0]),
        "last_correlation": float(values[-1]),
    }


def neighbours(
    model: Annotated[str, typer.Argument(help="A model of vectors, or a word2vec file.")],
    words: Annotated[list[str], typer.Argument(help="Words, or analogies a:b::c.")],
    k: Annotated[int, typer.Option("-k", min=1, help="So many neighbours of each.")] = 10,
    output: options.Output = "-",
    format_: options.Format = options.ResultFormat.native,
) -> None:
    """List the words nearest to a word by cosine, or the answers to an analogy.

    The columns are the query, the word and the cosine.

    Example:

        $ eigentext words embed sample/text.txt -o text.vec --size 20

        $ eigentext words neighbours text.vec the of -k 3
    """
    from json import dumps

    from eigentext.base.files.opening import write_lines
    from eigentext.words.embeddings.neighbours import load_words, nearest_words

    known, vectors = load_words(model)
    lines = []
    for query, found in zip(words, nearest_words(known, vectors, words, k), strict=True):
        if format_ is options.ResultFormat.jsonl:
            near = [{"word": word, "cosine": round(cosine, 4)} for word, cosine in found]
            lines.append(dumps({"query": query, "neighbours": near}, ensure_ascii=False))
        else:
            lines.extend(f"{query}\t{word}\t{cosine:.4f}" for word, cosine in found)
    write_lines(output, lines)


def evaluate(
    model: Annotated[
        str | None, typer.Argument(help="A model of vectors, or a word2vec file.")
    ] = None,
    similarity: Annotated[
        list[str] | None,
        typer.Option("--similarity", help="Files of word pairs with scores; globs too."),
    ] = None,
    analogies: Annotated[
        list[str] | None, typer.Option("--analogies", help="Files of questions a b c d.")
    ] = None,
    paths: Annotated[
        list[str] | None, typer.Option("--clusters", help="Clusters whose MI is wanted.")
    ] = None,
    counts: Annotated[
        str | None, typer.Option("--counts", help="Counts with the context +1, for --clusters.")
    ] = None,
    text: Annotated[
        list[str] | None, typer.Option("--text", help="Text in place of counts, for --clusters.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Score vectors by word similarity and analogies, and clusters by mutual information.

    Example:

        $ eigentext words embed sample/text.txt -o text.vec --size 20

        $ eigentext words neighbours text.vec the of -k 9 -o pairs.tsv

        $ eigentext words eval text.vec --similarity pairs.tsv
    """
    from eigentext.base.files.opening import expand

    if not (similarity or analogies or paths):
        raise SettingsError("nothing to score: expected --similarity, --analogies or --clusters")
    figures: dict[str, Any] = {}
    if similarity or analogies:
        if model is None:
            raise SettingsError("--similarity and --analogies need a model of vectors")
        figures |= _score_vectors(model, expand(similarity or []), expand(analogies or []))
    if paths:
        if (counts is None) == (not text):
            raise SettingsError("--clusters needs --counts or --text, and not both")
        figures |= _score_paths(expand(paths), counts, expand(text or []))
    if json:
        show_figures(figures, as_json=True)
        return
    for name, values in figures.items():
        print(name, *(f"{key} {value}" for key, value in values.items()), sep="\t")


def _score_vectors(model: str, similarity: list[str], analogies: list[str]) -> dict[str, Any]:
    from pathlib import Path

    from eigentext.evaluate import similarity as scores
    from eigentext.words.embeddings.neighbours import load_words

    words, vectors = load_words(model)
    places = {word: row for row, word in enumerate(words)}
    figures: dict[str, Any] = {}
    for file in similarity:
        found = scores.score_similarity(places, vectors, scores.read_pairs(file))
        figures[Path(file).name] = {
            "spearman": None if isnan(found.rho) else round(found.rho, 4),
            "covered": found.covered,
            "pairs": found.total,
        }
    for file in analogies:
        for section, questions in scores.read_analogies(file).items():
            answer = scores.score_analogies(places, vectors, questions)
            figures[f"{Path(file).name}: {section}"] = {
                "accuracy": None if isnan(answer.accuracy) else round(answer.accuracy, 4),
                "right": answer.right,
                "covered": answer.covered,
                "questions": answer.total,
            }
    return figures


def _score_paths(paths: list[str], counts: str | None, text: list[str]) -> dict[str, Any]:
    from pathlib import Path

    from eigentext.corpus.counts import Counts
    from eigentext.evaluate.clustering import paths_information
    from eigentext.formats.brown_paths import read_paths

    held = None if counts is None else Counts.load(counts)
    figures: dict[str, Any] = {}
    for file in paths:
        clusters = {entry.word: entry.bits for entry in read_paths(file)}
        found = paths_information(clusters, text if held is None else held)
        figures[Path(file).name] = {
            "mutual_information": round(found[None], 4),
            "clusters": len(set(clusters.values())),
            "words": len(clusters),
        }
    return figures
