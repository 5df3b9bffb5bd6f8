"""``eigentext words embed | vectors | neighbours | eval``: word vectors and their worth."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eigentext.cli import options
from eigentext.cli.command import Given, with_flags
from eigentext.cli.output import show_figures
from eigentext.cli.run import TrainingOnDevice
from eigentext.cli.text_input import GenericText
from eigentext.cli.workers import Workers
from eigentext.errors import RankError, SettingsError
from eigentext.words.settings import CCASettings, LRMVLSettings, MultiviewSettings

if TYPE_CHECKING:
    from eigentext.words import LRMVL, CCAEmbedding, MultiviewEmbedding


def register(app: typer.Typer) -> None:
    """Put these commands under ``eigentext words``."""
    app.command("embed")(embed)
    app.command("vectors")(vectors_of_words)
    app.command("neighbours")(neighbours)
    app.command("eval")(evaluate)


@with_flags(CCASettings, LRMVLSettings, MultiviewSettings)
def embed(
    run: TrainingOnDevice,
    corpus: options.CorpusOrCounts = None,
    *,
    text: GenericText,
    workers: Workers,
    counts: options.StoredCounts = None,
    vectors: Annotated[
        str | None,
        options.written("--vectors", help="Write word2vec's format too: .bin binary, else text."),
    ] = None,
    method: Annotated[
        Literal["cca", "lrmvl", "views"] | None,
        typer.Option(
            "--method",
            help="One decomposition of counts (cca), LR-MVL, or several views; by default cca, "
            "or views where --views is given.",
        ),
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option(
            "--pairs", help="For the view translations: word, foreign word, count, by tabs."
        ),
    ] = None,
    given: Given,
    memory: options.Memory = "2GB",
) -> None:
    """Make word vectors from a corpus or from stored counts.

    What does not fit into --memory goes to disk.  The vectors themselves must fit, twice while
    they are made: 850MB is the least for 200,000 words and 200 dimensions.

    Example:

        $ eigentext words embed sample/text.txt -o text.vec --n-components 20 --vectors vectors.txt

        $ eigentext words count sample/text.txt -o text.counts --contexts lr2

        $ eigentext words embed --counts text.counts -o text.vec --n-components 20 --scaling sqrt

        $ eigentext words embed sample/text.txt -o text.lrmvl --method lrmvl --n-components 10

        $ eigentext words embed sample/text.txt -o a.vec --views left,characters --n-components 10
    """
    from eigentext.base.files.opening import check_writable, expand
    from eigentext.base.heap import map_large_blocks
    from eigentext.words import LRMVL, CCAEmbedding, MultiviewEmbedding

    map_large_blocks()

    if (counts is None) == (not corpus):
        raise SettingsError("expected a corpus, or --counts, and not both")
    model: Any
    method = method or ("views" if "views" in given.values else "cca")
    if method != "views" and pairs:
        raise SettingsError("--pairs is for several views: expected --views")
    if method == "cca":
        model = CCAEmbedding(**given.settings(CCASettings))
    elif counts is not None:
        name = "LR-MVL goes" if method == "lrmvl" else "several views go"
        raise SettingsError(f"{name} along the text: expected a corpus, not --counts")
    elif method == "lrmvl":
        model = LRMVL(**given.settings(LRMVLSettings))
    else:
        model = MultiviewEmbedding(**given.settings(MultiviewSettings))
    if counts is not None:
        text.refuse("is for a corpus, not for --counts")
    model.check()
    check_writable(vectors)
    sources = expand(corpus or [])
    with run.reading() as (log, progress), workers.at_work(run.jobs):
        common: dict[str, Any] = {
            "vocab_size": model.vocab_size,
            "min_count": model.min_count,
            "jobs": run.jobs,
            "memory": memory,
            "progress": progress,
            "on_error": log,
            **text.to_count(),
        }
        if method == "cca":
            figures = _cca(model, sources, counts, common)
        elif method == "lrmvl":
            figures = _lrmvl(model, sources, common)
        else:
            figures = _views(model, sources, pairs, common)
    run.save(model, sources or [str(counts)], figures, beside=vectors)
    if vectors is not None:
        model.embeddings_.export(vectors)


def _cca(
    model: CCAEmbedding, sources: list[str], counts: str | None, common: dict[str, Any]
) -> dict[str, Any]:
    """Fit to counts, given or counted here; figures of the vectors."""
    import time

    from eigentext.base.heap import give_back
    from eigentext.counting.counting import count
    from eigentext.counting.counts import Counts
    from eigentext.counting.memory import parse_memory

    began = time.process_time()
    # more pairs than fit in this room stay on disk and are read in stretches
    room = parse_memory(common["memory"]) // 16
    if counts is not None:
        if model.vocab_size is not None or model.min_count > 1:
            raise SettingsError(
                "--vocab-size and --min-count are for a corpus: counts have their vocabulary"
            )
        counted = Counts.load(
            counts, mapped=counts != "-" and 12 * Counts.stored_pairs(counts) > room
        )
    else:
        model.contexts = model.contexts or "bag5"
        counted = count(sources, contexts=model.contexts_to_count(), in_memory=room, **common)
        give_back()
    between = time.process_time()
    model.fit(counted, memory=common["memory"], progress=common["progress"])
    values = model.embeddings_.singular_values
    return {
        "tokens": model.n_tokens_,
        "words": len(model.embeddings_.words),
        "n_components": len(values),
        "first_singular_value": float(values[0]),
        "last_singular_value": float(values[-1]),
        "cpu_seconds_counting": round(between - began, 3),
        "cpu_seconds_svd": round(time.process_time() - between, 3),
    }


def _lrmvl(model: LRMVL, sources: list[str], common: dict[str, Any]) -> dict[str, Any]:
    """Fit to the text, as ids; figures of the vectors."""
    from eigentext.counting.encoding import encode_files

    text = encode_files(sources, **common)
    values = model.fit(text, progress=common["progress"]).embeddings_.singular_values
    return {
        "tokens": model.n_tokens_,
        "words": len(model.embeddings_.words),
        "n_components": model.n_components,
        "first_correlation": float(values[0]),
        "last_correlation": float(values[-1]),
    }


def _views(
    model: MultiviewEmbedding, sources: list[str], pairs: str | None, common: dict[str, Any]
) -> dict[str, Any]:
    """Fit to the text, as ids, with word pairs beside it; figures of the vectors."""
    from eigentext.counting.encoding import encode_files
    from eigentext.words.embeddings.views import read_word_pairs

    aligned = None if pairs is None else read_word_pairs(pairs, on_error=common["on_error"])
    text = encode_files(sources, **common)
    try:
        model.fit(text, pairs=aligned, progress=common["progress"])
    except RankError as error:
        raise SettingsError(f"{error}: take fewer --n-components") from error
    values = model.embeddings_.singular_values
    return {
        "tokens": model.n_tokens_,
        "words": len(model.embeddings_.words),
        "n_components": model.n_components,
        "first_agreement": float(values[0]),
        "last_agreement": float(values[-1]),
        "features": 0 if model.characters_ is None else len(model.characters_.features),
        "character_ridge": model.ridge_,
    }


def vectors_of_words(
    model: Annotated[str, typer.Argument(help="A model of vectors, or a word2vec file.")],
    words: Annotated[list[str] | None, typer.Argument(help="Words.", show_default=False)] = None,
    words_of: Annotated[
        list[str] | None,
        typer.Option("--words-of", help="All words of these files: tokenised text or CoNLL-U."),
    ] = None,
    output: options.Output = "-",
) -> None:
    """Write the vectors of words in word2vec's format, those of unknown words too.

    A model with the view characters has vectors for any word.  Words without a vector are left
    out.  Taggers take the file as --vectors: give it the words of the text that is to be tagged.

    Example:

        $ eigentext words embed sample/text.txt -o a.vec --views left,characters --n-components 10

        $ eigentext words vectors a.vec the theses --words-of sample/text.txt -o vectors.txt
    """
    from eigentext.language.formats.word2vec import write_vectors
    from eigentext.words.embeddings.neighbours import load_space

    sentences = GenericText().sentences(words_of or [])
    wanted = dict.fromkeys([*(words or []), *(word for one in sentences for word in one)])
    if not wanted:
        raise SettingsError("no words: expected some, or --words-of")
    space = load_space(model).with_words(wanted)
    known = [word for word in wanted if word in space.row_of]
    if not known:
        raise SettingsError("none of these words has a vector in this model")
    rows = [space.row_of[word] for word in known]
    write_vectors(known, space.unit[rows], output, binary=output.endswith(".bin"))


def neighbours(
    model: Annotated[str, typer.Argument(help="A model of vectors, or a word2vec file.")],
    words: Annotated[list[str], typer.Argument(help="Words, or analogies cat:cats::dog.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many neighbours of each word.")] = 10,
    output: options.Output = "-",
    format_: options.Format = "native",
) -> None:
    """List the words nearest to a word by cosine, or the answers to an analogy.

    The columns are the query, the word and the cosine.  Unknown words have neighbours too where
    the model was made with the view characters.

    Example:

        $ eigentext words embed sample/text.txt -o text.vec --n-components 20

        $ eigentext words neighbours text.vec the of -k 3
    """
    from json import dumps

    from eigentext.base.files.opening import write_lines
    from eigentext.words.embeddings.neighbours import load_space

    lines = []
    for query, nearest in zip(words, load_space(model).nearest(words, k), strict=True):
        if format_ == "jsonl":
            near = [{"word": word, "cosine": round(cosine, 4)} for word, cosine in nearest]
            lines.append(dumps({"query": query, "neighbours": near}, ensure_ascii=False))
        else:
            lines.extend(f"{query}\t{word}\t{cosine:.4f}" for word, cosine in nearest)
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
        list[str] | None,
        typer.Option("--clusters", help="Models of `words cluster`, or paths files."),
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

        $ eigentext words embed sample/text.txt -o text.vec --n-components 20

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
    from eigentext.features.symbols import looked_up
    from eigentext.words.embeddings.neighbours import load_space

    space = load_space(model)
    rows, vectors = space.row_of, space.unit
    figures: dict[str, Any] = {}
    for file in similarity:
        pairs = scores.read_pairs(file)
        score = scores.score_similarity(rows, vectors, pairs)
        figures[Path(file).name] = {
            "spearman": None if isnan(score.rho) else round(score.rho, 4),
            "covered": score.covered,
            "pairs": score.total,
        }
        if space.unknown is not None:  # the same with words outside the vocabulary
            words = [word for *pair, _ in pairs for word in pair if looked_up(rows, word) is None]
            more = space.with_words(words)
            score = scores.score_similarity(more.row_of, more.unit, pairs)
            figures[Path(file).name] |= {
                "spearman_all": None if isnan(score.rho) else round(score.rho, 4),
                "covered_all": score.covered,
            }
    for file in analogies:
        for section, questions in scores.read_analogies(file).items():
            answer = scores.score_analogies(rows, vectors, questions)
            figures[f"{Path(file).name}: {section}"] = {
                "accuracy": None if isnan(answer.accuracy) else round(answer.accuracy, 4),
                "right": answer.right,
                "covered": answer.covered,
                "questions": answer.total,
            }
    return figures


def _score_paths(paths: list[str], counts: str | None, text: list[str]) -> dict[str, Any]:
    from pathlib import Path

    from eigentext.counting.counts import Counts
    from eigentext.evaluate.clustering import paths_information
    from eigentext.words.clusters.model import read_clusters

    held = None if counts is None else Counts.load(counts)
    figures: dict[str, Any] = {}
    for file in paths:
        clusters = read_clusters(file)
        information = paths_information(clusters, text if held is None else held)
        figures[Path(file).name] = {
            "mutual_information": round(information[None], 4),
            "clusters": len(set(clusters.values())),
            "words": len(clusters),
        }
    return figures
