"""What text without annotation tells of words: clusters or vectors that all stages look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eigentext.base.hashing import fingerprint
from eigentext.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eigentext.base.files.opening import Source
    from eigentext.base.progress import Progress
    from eigentext.base.types import Json
    from eigentext.pipeline.model import Pipeline
    from eigentext.pipeline.training import WorkFolder
    from eigentext.tagging.segmentation import Segmenter

N_CLUSTERS = 512
N_DIMENSIONS = 200


def words_of_text(
    pipeline: Pipeline,
    segmenter: Segmenter | None,
    text: Source | Iterable[Source],
    files: WorkFolder,
    progress: Progress | None,
) -> Json:
    """Settings for the stages: ``clusters`` and ``vectors`` (as bits) of this text's words."""
    from eigentext.base.files.opening import expand
    from eigentext.features.word_classes import VectorTable, vector_bits
    from eigentext.pipeline.training import about_file, listed
    from eigentext.words import CCAEmbedding, SpectralClusters

    sources = expand(listed(text))
    segmented_by = "" if segmenter is None else segmenter.fingerprint()
    about = sources, list(map(about_file, sources)), pipeline.text_tokens, segmented_by
    size, seed = pipeline.text_vocabulary, pipeline.seed
    models: Json = {
        "clusters": SpectralClusters(N_CLUSTERS, vocab_size=size, seed=seed),
        "vectors": CCAEmbedding(N_DIMENSIONS, vocab_size=size, seed=seed),
    }
    read: list[list[str]] = []

    def sentences() -> list[list[str]]:
        """All of the text, read once for whichever models are not there yet."""
        if not read:
            read.extend(_sentences(sources, segmenter, pipeline.text_tokens, progress))
        if not read:
            raise DataError(sources[0], None, "no tokens, expected text")
        return read

    def trained(name: str) -> Any:
        model = models[name]
        key = fingerprint(*about, model.get_params())
        return files.get_or_make(name, key, lambda: model.fit(sentences(), progress=progress))

    features: Json = {}
    if "clusters" in pipeline.text_features:
        features["clusters"] = trained("clusters").word_paths()
    if "vectors" in pipeline.text_features:
        vectors = trained("vectors").embeddings_
        features["vectors"] = vector_bits(VectorTable(vectors.words, vectors.vectors))
    return features


def _sentences(
    sources: Iterable[str], segmenter: Segmenter | None, most: int, progress: Progress | None
) -> Iterator[list[str]]:
    """Words of sentences, up to so many; without a segmenter, text is tokenised already."""
    from eigentext.language.formats.text import split_tokens
    from eigentext.pipeline.pieces import document_pieces

    n_words = 0
    one_copy: dict[str, str] = {}  # one str a word, however often it occurs
    for source in sources:
        for _, piece in document_pieces(source):
            if segmenter is None:
                sentences = [split_tokens(line) for line in piece.text.split("\n")]
            else:
                sentences = [
                    [
                        word
                        for start, end, words in sentence.tokens
                        for word in words or (" ".join(piece.text[start:end].split()),)
                    ]
                    for sentence in segmenter.segment(piece.text)
                ]
            for words in sentences:
                if words:
                    n_words += len(words)
                    yield [one_copy.setdefault(word, word) for word in words]
            if progress is not None:
                progress(min(n_words, most), most, "reading")
            if n_words >= most:
                return
