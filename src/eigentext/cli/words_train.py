"""``eigentext words cluster``, ``embed``, ``train-...``: models of words from text or counts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eigentext.base.files.opening import OnError, check_writable, expand
from eigentext.cli import options
from eigentext.cli.command import SettingFlags, flag, with_flags
from eigentext.cli.inputs import Field, GenericText, TextInput
from eigentext.cli.verbs import Training, TrainingOnDevice, Workers, of_files
from eigentext.errors import DataError, RankError, SettingsError
from eigentext.words.settings import (
    CCASettings,
    ClassBigramSettings,
    ClusterSettings,
    LRMVLSettings,
    MultiviewSettings,
    TopicSettings,
)

if TYPE_CHECKING:
    from eigentext.base.types import Json
    from eigentext.words import LRMVL, CCAEmbedding, MultiviewEmbedding
    from eigentext.words.clusters.model import SpectralClusters

VECTORS = ("embeddings", "lrmvl", "multiview")  # kinds of models of vectors
PathsFile = Annotated[
    str | None, options.written("--paths", help="Also write bits TAB word TAB count here.")
]


@with_flags(ClusterSettings)
def cluster(
    run: TrainingOnDevice,
    corpus: options.CorpusOrCounts = None,
    *,
    text: GenericText,
    workers: Workers,
    counts: options.StoredCounts = None,
    paths: PathsFile = None,
    settings: SettingFlags,
    memory: str | None = flag(
        "Beyond this, counting goes to disk (2GB by default); clustering that needs "
        "more than was told is refused; 350MB is the least."
    ),
) -> None:
    """Cluster words into a binary hierarchy, as Brown clustering does, in seconds.

    Every word gets a path of bits; a prefix of it names a coarser cluster.  Clustering itself
    takes 32 bytes for each different pair of words, some 2GB for a billion words of text.

    Example:
        $ eigentext words cluster sample/text.txt -o text.clusters --paths paths -m 20
        $ eigentext words count sample/text.txt -o text.counts --contexts lr2
        $ eigentext words cluster --counts text.counts -o b.clusters --method brown -m 20
    """
    from eigentext.base.heap import map_large_blocks
    from eigentext.counting.counting import count
    from eigentext.counting.counts import Counts
    from eigentext.words.clusters.methods import check_memory
    from eigentext.words.clusters.model import SpectralClusters

    map_large_blocks()
    model = SpectralClusters(**settings.of(ClusterSettings))
    if (counts is None) == (not corpus):
        raise SettingsError("give either a corpus or --counts")
    if counts is not None and model.vocab_size is not None:
        raise SettingsError("--vocab-size is for a corpus: counts have their vocabulary already")
    if counts is not None:
        text.refuse("is for a corpus, not for --counts")
    model.check()
    check_writable(paths)
    if memory is not None:
        check_memory(memory)  # before a long count
    began = time.process_time()
    with run.reading() as (log, progress), workers.at_work(run.jobs):
        if counts is not None:
            counted, sources = Counts.load(counts, mapped=True), [counts]
        else:
            sources = expand(corpus or [])
            counted = count(
                sources,
                contexts=model.contexts_to_count(),
                vocab_size=model.vocab_size,
                jobs=run.jobs,
                memory=memory or "2GB",
                progress=progress,
                on_error=log,
                **text.to_count(),
            )
        seconds = {"input": time.process_time() - began}
        model.fit(counted, memory=memory, progress=progress)
    seconds |= model.clustering_.seconds
    figures = partial(_cluster_figures, model, counted.n_tokens, seconds)
    run.save(model, sources, figures, beside=paths)
    if paths is not None:
        model.write_paths(paths)


def _cluster_figures(model: SpectralClusters, n_tokens: int, seconds: dict[str, float]) -> Json:
    from eigentext.evaluate.clustering import prefix_information

    clustering = model.clustering_
    values = clustering.singular_values.tolist()
    lengths = [n for n in (2, 4, 6, 8, 10) if 2**n <= 4 * len(clustering.paths)]
    return {
        "tokens": n_tokens,
        "vocabulary": len(clustering.words),
        "clusters": len(clustering.paths),
        "mutual_information": round(clustering.information, 6),
        "mutual_information_by_pass": [round(value, 6) for value in clustering.history],
        "mutual_information_by_prefix": {
            str(k): round(v, 4)
            for k, v in prefix_information(clustering.pairs, clustering.paths, lengths).items()
        },
        "longest_path": max(map(len, clustering.paths)),
        "gamma": None if clustering.gamma is None else round(clustering.gamma, 3),
        "singular_values": [round(v, 4) for v in (*values[:3], *values[-1:])],
        "cpu_seconds_by_stage": {stage: round(s, 3) for stage, s in seconds.items()},
        "cpu_seconds_of_clustering": round(sum(seconds.values()) - seconds["input"], 3),
    }


@with_flags(CCASettings, LRMVLSettings, MultiviewSettings)
def embed(
    run: TrainingOnDevice,
    corpus: options.CorpusOrCounts = None,
    *,
    text: GenericText,
    workers: Workers,
    counts: options.StoredCounts = None,
    vectors: str | None = flag(
        "Write word2vec's format too: .bin binary, else text.", written=True
    ),
    method: Literal["cca", "lrmvl", "views"] | None = flag(
        "One decomposition of counts (cca), LR-MVL, or several views; by default cca, "
        "or views where --views is given."
    ),
    pairs: str | None = flag("For the view translations: word, foreign word, count, by tabs."),
    settings: SettingFlags,
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
    from eigentext.base.heap import map_large_blocks
    from eigentext.words import LRMVL, CCAEmbedding, MultiviewEmbedding

    map_large_blocks()
    if (counts is None) == (not corpus):
        raise SettingsError("expected a corpus, or --counts, and not both")
    model: Any
    method = method or ("views" if "views" in settings.values else "cca")
    if method != "views" and pairs:
        raise SettingsError("--pairs is for several views: expected --views")
    if method == "cca":
        model = CCAEmbedding(**settings.of(CCASettings))
    elif counts is not None:
        name = "LR-MVL goes" if method == "lrmvl" else "several views go"
        raise SettingsError(f"{name} along the text: expected a corpus, not --counts")
    elif method == "lrmvl":
        model = LRMVL(**settings.of(LRMVLSettings))
    else:
        model = MultiviewEmbedding(**settings.of(MultiviewSettings))
    if counts is not None:
        text.refuse("is for a corpus, not for --counts")
    model.check()
    check_writable(vectors)
    sources = expand(corpus or [])
    with run.reading() as (log, progress), workers.at_work(run.jobs):
        common: Json = {
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
    sizes = {"tokens": model.n_tokens_, "words": len(model.embeddings_.words)}
    run.save(model, sources or [str(counts)], sizes | figures, beside=vectors)
    if vectors is not None:
        model.embeddings_.export(vectors)


def _cca(model: CCAEmbedding, sources: list[str], counts: str | None, common: Json) -> Json:
    """Fit to counts, given or counted here; figures of the vectors."""
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
        "n_components": len(values),
        "first_singular_value": float(values[0]),
        "last_singular_value": float(values[-1]),
        "cpu_seconds_counting": round(between - began, 3),
        "cpu_seconds_svd": round(time.process_time() - between, 3),
    }


def _lrmvl(model: LRMVL, sources: list[str], common: Json) -> Json:
    """Fit to the text, as ids; figures of the vectors."""
    from eigentext.counting.encoding import encode_files

    text = encode_files(sources, **common)
    values = model.fit(text, progress=common["progress"]).embeddings_.singular_values
    return {
        "n_components": model.n_components,
        "first_correlation": float(values[0]),
        "last_correlation": float(values[-1]),
    }


def _views(model: MultiviewEmbedding, sources: list[str], pairs: str | None, common: Json) -> Json:
    """Fit to the text, as ids, with word pairs beside it; figures of the vectors."""
    from eigentext.counting.encoding import encode_files
    from eigentext.words.embeddings.multiview import read_word_pairs

    aligned = None if pairs is None else read_word_pairs(pairs, on_error=common["on_error"])
    text = encode_files(sources, **common)
    try:
        model.fit(text, pairs=aligned, progress=common["progress"])
    except RankError as error:
        raise SettingsError(f"{error}: take fewer --n-components") from error
    values = model.embeddings_.singular_values
    return {
        "n_components": model.n_components,
        "first_agreement": float(values[0]),
        "last_agreement": float(values[-1]),
        "features": 0 if model.characters_ is None else len(model.characters_.features),
        "character_ridge": model.ridge_,
    }


@dataclass(kw_only=True)
class DocumentInput(GenericText):
    """Texts that are cut into documents."""

    documents: str = flag(
        "What a document is in text files: line, paragraph (up to an empty line), file, "
        "or a number of lines.  Of files of records each record is one.  In CoNLL-U a line is "
        "a sentence, and document is what its comments mark.",
        "line",
    )

    def __post_init__(self) -> None:
        """How raw text is cut means nothing where text is cut already."""
        if not self.raw:
            self.refuse("is for raw text", but=("--field", "--documents"))

    def texts(self, files: list[str], on_error: OnError | None = None) -> Iterator[list[str]]:
        """Token lists, a document each, in the order of the files."""
        from eigentext.counting.documents import read_documents

        for source in expand(files):
            yield from read_documents(
                source,
                self.documents,
                tokeniser=self.tokeniser if self.raw else None,
                newlines=self.newlines,
                field=self.field,
                on_error=on_error,
            )


@with_flags(TopicSettings)
def train_topics(
    corpus: options.Texts, run: Training, settings: SettingFlags, text: DocumentInput
) -> None:
    """Learn topics, words that stand in the same documents, by moments and a few steps of EM.

    Moments of pairs and triples of words give topics without a search (--refine 0); iterations of
    EM that begin there make them better: how many, a tenth of the documents tells, held out.  With
    --alpha0 0 every document has one topic.

    Example:
        $ eigentext words train-topics sample/text.txt -o text.topics -k 2 --documents 4
        $ eigentext words inspect text.topics --top 5
    """
    from eigentext.words.topics.model import TopicModel

    model = TopicModel(**settings.of(TopicSettings))
    model.check()
    with run.reading("iterations") as (log, progress):
        try:
            model.fit(text.texts(corpus, log), progress=progress)
        except RankError as error:
            raise SettingsError(f"{error}: take fewer --n-topics") from error
        except DataError as error:
            raise of_files(error, expand(corpus), "documents") from None
    figures = {
        "documents": model.n_documents_,
        "tokens": model.n_tokens_,
        "vocabulary": len(model.words_),
        "topics": len(model.weights_),
        "residual": round(model.residual_, 4),
        "iterations": model.n_iter_,
    }
    run.save(model, expand(corpus), figures)


def sentences_with_tokens(
    corpus: list[str], field: str | None, on_error: OnError | None = None, *, needed: bool = False
) -> Iterator[list[str]]:
    """Sentences with tokens; where they are ``needed``, none at all is an error."""
    empty = True
    for tokens in TextInput(field=field).sentences(corpus, on_error):
        if tokens:
            empty = False
            yield tokens
    if needed and empty:
        raise DataError(", ".join(corpus), None, "no tokens, expected text")


@with_flags(ClassBigramSettings)
def train_lm(
    clusters: Annotated[str, typer.Argument(help="A model of `words cluster`, or a paths file.")],
    corpus: options.Texts,
    run: Training,
    settings: SettingFlags,
    field: Field = None,
) -> None:
    """Learn a class-based bigram model: which class follows which, and which words it has.

    Example:
        $ eigentext words cluster sample/text.txt -o text.clusters -m 20
        $ eigentext words train-lm text.clusters sample/text.txt -o text.lm
    """
    from eigentext.words.clusters.model import read_clusters
    from eigentext.words.lm.class_bigram import ClassBigram

    chosen = settings.of(ClassBigramSettings, clusters=read_clusters(clusters))
    with run.reading() as (log, _):
        model = ClassBigram(**chosen).fit(sentences_with_tokens(corpus, field, log, needed=True))
    figures = {
        "words": len(model.words_),
        "classes": len(model.names_),
        "tokens": int(model.pairs_.sum()),
        "discount": round(model.word_model_.discount, 4),
    }
    run.save(model, corpus, figures)
