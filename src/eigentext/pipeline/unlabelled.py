"""What text without annotation tells of words: clusters that all stages look at."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from eigentext.base.fingerprint import fingerprint
from eigentext.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eigentext.base.files.opening import Source
    from eigentext.base.progress import Progress
    from eigentext.pipeline.model import Pipeline

__all__ = ["words_of_text"]

N_CLUSTERS = 512
VOCABULARY = 20_000


def words_of_text(
    pipeline: Pipeline,
    segmenter: Any,
    text: Source | Iterable[Source],
    files: Any,
    progress: Progress | None,
) -> dict[str, Any]:
    """Settings for the stages: ``clusters`` of the words of this text."""
    from eigentext.base.files.opening import expand
    from eigentext.pipeline.training import listed
    from eigentext.words import SpectralClusters

    sources = expand(listed(text))
    clusters = SpectralClusters(N_CLUSTERS, vocab_size=VOCABULARY, seed=pipeline.seed)
    about = [
        (os.stat(s).st_size, os.stat(s).st_mtime_ns) if os.path.exists(s) else () for s in sources
    ]
    segmented_by = "" if segmenter is None else segmenter.fingerprint()
    key = fingerprint(sources, about, clusters.get_params(), pipeline.text_tokens, segmented_by)

    def made() -> SpectralClusters:
        sentences = _sentences(sources, segmenter, pipeline.text_tokens, progress)
        first = next(sentences, None)
        if first is None:
            raise DataError(sources[0], None, "no tokens, expected text")

        def all_of_them() -> Iterator[list[str]]:
            yield first
            yield from sentences

        return clusters.fit(all_of_them(), progress=progress)

    return {"clusters": files.made("clusters", key, made).word_paths()}


def _sentences(
    sources: Iterable[str], segmenter: Any, most: int, progress: Progress | None
) -> Iterator[list[str]]:
    """Words of sentences, up to so many; without a segmenter, text is tokenised already."""
    from eigentext.formats.text import split_tokens
    from eigentext.pipeline.pieces import text_pieces

    n_words = 0
    for source in sources:
        for piece in text_pieces(source):
            if segmenter is None:
                found = [split_tokens(line) for line in piece.text.split("\n")]
            else:
                found = [
                    [
                        word
                        for start, end, words in sentence.tokens
                        for word in words or (" ".join(piece.text[start:end].split()),)
                    ]
                    for sentence in segmenter.segment(piece.text)
                ]
            for words in found:
                if words:
                    n_words += len(words)
                    yield words
            if progress is not None:
                progress(min(n_words, most), most, "reading")
            if n_words >= most:
                return
