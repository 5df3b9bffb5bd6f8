"""``eigentext words score``, ``eval`` and ``inspect``: what models of words know."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from json import dumps
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eigentext.base.files.opening import check_writable, expand, numbered_lines
from eigentext.cli import options
from eigentext.cli.command import Flags, argument, flag, with_flags
from eigentext.cli.inputs import Field, is_model, kind_of_model
from eigentext.cli.output import check_picture, show_figures, write_picture
from eigentext.cli.verbs import Applying
from eigentext.cli.words_train import VECTORS, DocumentInput, sentences_with_tokens
from eigentext.errors import EigentextError, SettingsError

if TYPE_CHECKING:
    from eigentext.base.types import Json
    from eigentext.drawing.words_tree import ClusterTree
    from eigentext.words.clusters.model import SpectralClusters

Mix = Annotated[
    float | None,
    typer.Option(
        "--mix",
        min=0.0,
        max=1.0,
        help="Of a language model: weight of classes; words have the rest.",
    ),
]


def score(
    model: Annotated[str, typer.Argument(help="A model of `words train-lm`.")],
    corpus: options.Texts,
    mix: Mix = None,
    format_: options.Format = "native",
    field: Field = None,
) -> None:
    """Print the log probability of every sentence.

    Example:
        $ eigentext words cluster sample/text.txt -o text.clusters -m 20
        $ eigentext words train-lm text.clusters sample/text.txt -o text.lm
        $ eigentext words score text.lm sample/text.txt
    """
    from eigentext.words.lm.class_bigram import ClassBigram

    bigram = ClassBigram.load(model)
    for tokens in sentences_with_tokens(corpus, field):
        value = bigram.log_prob(tokens, mix=mix)
        if format_ == "jsonl":
            print(dumps({"log_prob": value, "tokens": tokens}, ensure_ascii=False))
        else:
            print(f"{value:.4f}\t{' '.join(tokens)}")


@with_flags()
def eval_(
    model: Annotated[
        str,
        typer.Argument(
            help="A model of vectors, clusters, topics or a language model; a word2vec file; the "
            "paths file of any Brown tool."
        ),
    ],
    gold: Annotated[
        list[str],
        typer.Argument(
            help="Of vectors: word pairs with scores, or questions a b c d.  Else text, or for "
            "clusters counts with the context +1.",
            show_default=False,
        ),
    ],
    text: DocumentInput,
    top: int = flag("Of topics: how many words have to cohere.", 10, min=1),
    mix: Mix = None,
    json: options.Json = False,
) -> None:
    """Score vectors by similarity and analogies, clusters by mutual information, and so on.

    Of a language model: the perplexity of text, by classes, by words (Kneser-Ney) and by both.
    Of topics: the perplexity of one half of each document given the other, and coherence (NPMI).

    Example:
        $ eigentext words embed sample/text.txt -o text.vec --n-components 20
        $ eigentext words inspect text.vec the of --top 9 -o pairs.tsv
        $ eigentext words eval text.vec pairs.tsv
        $ eigentext words cluster sample/text.txt -o text.clusters -m 20
        $ eigentext words eval text.clusters sample/text.txt
        $ eigentext words train-lm text.clusters sample/text.txt -o text.lm
        $ eigentext words eval text.lm sample/text.txt
    """
    kind = "clusters" if _is_paths_file(model) else "word2vec"
    if is_model(model):
        kind = kind_of_model(model, *VECTORS, "clusters", "topics", "class-bigram")
    if mix is not None and kind != "class-bigram":
        raise SettingsError("--mix is for a language model")
    if kind != "topics":
        text.refuse("is for topics", but=("--field",) if kind == "class-bigram" else ())
    if kind == "topics":
        figures = _of_topics(model, gold, text, top)
    elif kind == "class-bigram":
        figures = _of_language_model(model, gold, text.field, mix)
    else:
        figures = (_of_clusters if kind == "clusters" else _of_vectors)(model, expand(gold))
    if json or kind in ("topics", "class-bigram"):
        show_figures(figures, as_json=json)
        return
    for name, values in figures.items():
        print(name, *(f"{key} {value}" for key, value in values.items()), sep="\t")


def _first_line(path: str) -> str:
    """The first line that is neither empty nor a comment; nothing of what is no text."""
    try:
        lines = (line for _, line in numbered_lines(path) if line.strip() and line[0] != "#")
        return next(lines, "")
    except EigentextError:  # who reads it for what it is says what is wrong
        return ""


def _is_paths_file(path: str) -> bool:
    """Bits, a word and a count: what Brown tools write."""
    cells = _first_line(path).split("\t") if path != "-" and os.path.isfile(path) else []
    return len(cells) == 3 and not cells[0].strip("01")


def _of_topics(model: str, gold: list[str], text: DocumentInput, top: int) -> Json:
    import numpy as np

    from eigentext.evaluate.clustering import npmi_coherence
    from eigentext.words.topics.model import TopicModel

    topics = TopicModel.load(model)
    documents = list(text.texts(gold))
    number = {word: i for i, word in enumerate(topics.words_)}
    leading = [[number[word] for word, _ in view.words] for view in topics.views(top)]
    perplexity = topics.perplexity(documents)
    coherence = npmi_coherence(leading, topics.counts_of(documents))
    return {
        "documents": len(documents),
        "perplexity": round(perplexity, 2),
        "coherence": round(float(np.mean(coherence)), 4),
        "coherence_by_topic": [round(value, 4) for value in coherence.tolist()],
    }


def _of_language_model(model: str, gold: list[str], field: str | None, mix: float | None) -> Json:
    from eigentext.words.lm.class_bigram import ClassBigram

    bigram = ClassBigram.load(model)
    text = list(sentences_with_tokens(gold, field, needed=True))
    return {
        "perplexity": round(bigram.perplexity(text, mix=mix), 3),
        "classes_alone": round(bigram.perplexity(text, mix=1.0), 3),
        "kneser_ney_alone": round(bigram.perplexity(text, mix=0.0), 3),
        "sentences": len(text),
    }


def _of_clusters(model: str, gold: list[str]) -> Json:
    from eigentext.counting.counts import Counts
    from eigentext.evaluate.clustering import paths_information
    from eigentext.words.clusters.model import read_clusters

    if is_model(gold[0]) and len(gold) > 1:
        raise SettingsError("several files of counts: expected one, or text")
    clusters = read_clusters(model)
    text = Counts.load(gold[0]) if is_model(gold[0]) else gold
    figures = {
        "mutual_information": round(paths_information(clusters, text)[None], 4),
        "clusters": len(set(clusters.values())),
        "words": len(clusters),
    }
    return {Path(model).name: figures}


def _of_vectors(model: str, gold: list[str]) -> Json:
    from eigentext.evaluate import similarity as scores
    from eigentext.features.symbols import looked_up
    from eigentext.words.embeddings.vectors import load_space

    space = load_space(model)
    rows, vectors = space.row_of, space.unit
    figures: Json = {}
    for file in gold:
        first = _first_line(file)
        if first.startswith(":") or len(first.split()) == 4:  # questions, by their sections
            for section, questions in scores.read_analogies(file).items():
                answer = scores.score_analogies(rows, vectors, questions)
                figures[f"{Path(file).name}: {section}"] = {
                    "accuracy": None if isnan(answer.accuracy) else round(answer.accuracy, 4),
                    "right": answer.right,
                    "covered": answer.covered,
                    "questions": answer.total,
                }
            continue
        pairs = scores.read_pairs(file)
        result = scores.score_similarity(rows, vectors, pairs)
        figures[Path(file).name] = {
            "spearman": None if isnan(result.rho) else round(result.rho, 4),
            "covered": result.covered,
            "pairs": result.total,
        }
        if space.unknown is not None:  # the same with words outside the vocabulary
            words = [word for *pair, _ in pairs for word in pair if looked_up(rows, word) is None]
            more = space.with_words(words)
            result = scores.score_similarity(more.row_of, more.unit, pairs)
            figures[Path(file).name] |= {
                "spearman_all": None if isnan(result.rho) else round(result.rho, 4),
                "covered_all": result.covered,
            }
    return figures


@dataclass(kw_only=True)
class PageFlags(Flags):
    """What means something of clusters, which are shown on a page."""

    vectors: str | None = flag("Of clusters: vectors or a word2vec file, which add a map.")
    tree: str | None = flag("Also write the cluster tree here, .svg.", written=True)
    map_: str | None = flag("Also write the map of words, .svg or .png.", written=True)
    values: str | None = flag(
        "Also write the plot of singular values, .svg or .png.", written=True
    )
    title: str = flag("Of the page of clusters.", "Word clusters")
    max_words: int = flag("How many frequent words can be searched.", 100_000, min=1)
    map_words: int = flag("Words on the map.", 200, min=1)
    ends: int = flag("Ends of the drawn tree.", 40, min=1)


@with_flags()
def inspect(
    model: Annotated[
        str,
        typer.Argument(
            help="Counts; a model of clusters (or the paths file of any Brown tool), of topics, "
            "of vectors (or a word2vec file), a language model."
        ),
    ],
    words: list[str] | None = argument("Of vectors: words, or analogies cat:cats::dog."),
    *,
    run: Applying,
    page: PageFlags,
    top: int | None = flag(
        "How many words, neighbours or sentences.", min=0, show_default="10; of clusters 50"
    ),
    seed: int | None = flag("Of sentences that are drawn.", show_default="0"),
    format_: options.Format = "native",
) -> None:
    """Show frequent words, words of topics, nearest words, drawn sentences, a page of clusters.

    Counts: the most frequent words.  Topics: the words of each, the most probable first, and its
    share of the text.  Vectors: the words nearest to each word by cosine, or the answers to an
    analogy; unknown words have neighbours too where the model was made with the view characters.
    A language model: sentences drawn from it.

    Clusters: one HTML page to browse them by prefix, with counts and example words, which needs no
    network.  A model adds mutual information and singular values, --vectors a map and the nearest
    words.

    Example:
        $ eigentext words count sample/text.txt -o text.counts
        $ eigentext words inspect text.counts --top 5
        $ eigentext words embed sample/text.txt -o text.vec --n-components 20
        $ eigentext words inspect text.vec the of --top 3
        $ eigentext words train-topics sample/text.txt -o text.topics -k 2 --documents 4
        $ eigentext words inspect text.topics --top 5
        $ eigentext words cluster sample/text.txt -o text.clusters --paths paths -m 20
        $ eigentext words inspect text.clusters --vectors text.vec -o words.html --map map.svg
        $ eigentext words inspect paths -o paths.html --tree tree.svg
    """
    kinds = ("clusters", "counts", "topics", "class-bigram", *VECTORS)
    plain = "word2vec" if words else "clusters"
    kind = kind_of_model(model, *kinds) if is_model(model) else plain
    if (kind in (*VECTORS, "word2vec")) != bool(words):
        raise SettingsError("words are for a model of vectors" if words else "expected words")
    if seed is not None and kind != "class-bigram":
        raise SettingsError("--seed is for a language model")
    if kind == "clusters":
        if format_ != "native":
            raise SettingsError("--format is not for clusters: they are shown on a page")
        _show_clusters(model, run, page, 50 if top is None else top)
        return
    page.refuse("is for clusters")
    shown = _shown(model, kind, words or [], 10 if top is None else top, seed or 0)
    if format_ == "jsonl":
        run.write(dumps(record, ensure_ascii=False) for record, _ in shown)
    else:
        run.write(line for _, lines in shown for line in lines)


def _show_clusters(model: str, run: Applying, flags: PageFlags, top: int) -> None:
    from eigentext.drawing import words_map
    from eigentext.drawing.words_tree import cluster_tree_svg
    from eigentext.reports.words_page import PageVectors, words_report
    from eigentext.words.embeddings.vectors import load_words

    if flags.tree is not None and not flags.tree.lower().endswith(".svg"):
        raise SettingsError(f"--tree writes .svg, not {flags.tree!r}")
    for name, path in (("--map", flags.map_), ("--values", flags.values)):
        if path is not None:
            check_picture(path, name)
    if flags.map_ is not None and flags.vectors is None:
        raise SettingsError("--map needs --vectors")
    check_writable(run.output, flags.tree, flags.map_, flags.values)
    clusters, fitted = _tree_of(model, run)
    if flags.values is not None and (fitted is None or not len(fitted.singular_values_)):
        raise SettingsError(f"{model} has no singular values to plot")
    space = None if flags.vectors is None else PageVectors(*load_words(flags.vectors))
    page = words_report(
        clusters,
        title=flags.title,
        subtitle=os.path.basename(model),
        model=fitted,
        vectors=space,
        top=top,
        max_words=flags.max_words,
        map_words=flags.map_words,
        ends=flags.ends,
        remark=run.remark,
    )
    pictures: list[tuple[str, str | bytes]] = []
    if flags.tree is not None:
        pictures.append((flags.tree, cluster_tree_svg(clusters, ends=flags.ends)))
    if flags.map_ is not None and space is not None:
        placed = words_map.map_points(
            space.words, space.vectors, n_words=flags.map_words, paths=clusters.paths()
        )
        pictures.append((flags.map_, words_map.word_map(placed).as_file(flags.map_)))
    if flags.values is not None and fitted is not None:
        plot = words_map.decay_plot(fitted.singular_values_)
        pictures.append((flags.values, plot.as_file(flags.values)))
    page.write(run.output)
    for path, picture in pictures:
        write_picture(path, picture)
    figures = {
        "clusters": len(clusters.bits),
        "words": clusters.n_words,
        "page_bytes": len(page.html().encode("utf-8")),
    }
    run.tell(figures)


def _tree_of(model: str, run: Applying) -> tuple[ClusterTree, SpectralClusters | None]:
    """The tree of a model, with what else it knows, or of a paths file."""
    from eigentext.drawing.words_tree import read_tree

    if is_model(model):
        from eigentext.words.clusters.model import SpectralClusters

        fitted = SpectralClusters.load(model)
        return fitted.tree(), fitted
    with run.reading() as (log, _):
        return read_tree(model, on_error=log), None


def _shown(
    model: str, kind: str, words: list[str], top: int, seed: int
) -> Iterator[tuple[Json, list[str]]]:
    """What is shown of a model that has no page: records, and each of them as lines."""
    if kind == "counts":
        from eigentext.counting.counts import Counts

        counts = Counts.load(model)
        for word, n in list(zip(counts.words, counts.unigrams.tolist(), strict=True))[:top]:
            yield {"word": word, "count": n}, [f"{n}\t{word}"]
    elif kind == "topics":
        from eigentext.words.topics.model import TopicModel

        for view in TopicModel.load(model).views(top):
            leading = " ".join(word for word, _ in view.words)
            yield view._asdict(), [f"{view.topic}\t{view.share:.4f}\t{leading}"]
    elif kind == "class-bigram":
        from eigentext.words.lm.class_bigram import ClassBigram

        for tokens in ClassBigram.load(model).sample(top, seed=seed):
            yield {"tokens": tokens}, [" ".join(tokens)]
    else:
        from eigentext.words.embeddings.vectors import load_space

        for query, nearest in zip(words, load_space(model).nearest(words, top), strict=True):
            near = [{"word": word, "cosine": round(cosine, 4)} for word, cosine in nearest]
            lines = [f"{query}\t{word}\t{cosine:.4f}" for word, cosine in nearest]
            yield {"query": query, "neighbours": near}, lines
