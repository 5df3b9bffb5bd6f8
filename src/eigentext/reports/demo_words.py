"""The demo's words: clusters, vectors, neighbours and a map of the text that Python carries."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from eigentext.counting.counting import count
from eigentext.datasets.python_text import sentences
from eigentext.drawing.words_map import decay_plot, map_points, word_map
from eigentext.drawing.words_tree import ClusterTree, cluster_tree_svg
from eigentext.language.formats.text import write_sentences
from eigentext.reports.words_page import PageVectors, words_report
from eigentext.words.clusters.model import SpectralClusters
from eigentext.words.embeddings.cca import CCAEmbedding

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from eigentext.reports.html import Report

_CLUSTERS = 60
_QUERIES = ("list", "string", "returns", "the", "file", "error", "two")


def words_section(report: Report, target: Path, say: Callable[[str], None]) -> None:
    """Add the section, and write models, paths and the page ``words.html`` to the folder."""
    text = target / "python.txt"
    n_sentences = write_sentences(sentences(), text)
    few = count([str(text)], contexts="lr2", vocab_size=200)
    CCAEmbedding(10).fit(few)  # compile before the clock starts, here and below
    began = time.process_time()
    counts = count([str(text)], contexts="lr2", vocab_size=3000)
    counted = time.process_time() - began
    counts.save(target / "python.counts")
    began = time.process_time()
    vectors = CCAEmbedding(50).fit(counts).embeddings_
    embedded = time.process_time() - began
    clusters = SpectralClusters(_CLUSTERS)
    clusters.fit(few)
    clustering = clusters.fit(counts).clustering_
    clustered = sum(clustering.seconds.values())
    clusters.save(target / "python.clusters")
    clusters.write_paths(str(target / "python.paths"))
    say(
        f"words: {counts.n_tokens:,} tokens in {n_sentences:,} sentences counted in "
        f"{counted:.1f} s, 50 dimensions in {embedded:.1f} s, {_CLUSTERS} clusters in "
        f"{clustered:.1f} s, mutual information {clustering.information:.3f}"
    )
    tree = clusters.tree()
    page = words_report(
        tree,
        title="Words of Python's documentation",
        model=clusters,
        vectors=PageVectors(vectors.words, vectors.vectors),
        remark=say,
    )
    page.write(target / "words.html")
    report.section("Words").text(
        f"{counts.n_tokens:,} tokens from the documentation that every Python installation "
        f"carries; the {len(counts.words) - 1:,} most frequent words. From the same counts come "
        f"{_CLUSTERS} clusters in a hierarchy (mutual information {clustering.information:.3f} "
        "nats) and vectors of 50 dimensions."
    ).link("words.html", "All clusters and words on a page of their own, to browse and search")
    report.figure(
        cluster_tree_svg(tree, ends=24, words=5), "The cluster tree, with its most frequent words"
    )
    report.table(
        ("path", "words", "tokens", "most frequent"),
        _largest(tree, 12),
        caption="The clusters with most tokens",
    )
    report.figure(
        decay_plot(vectors.singular_values).svg(), "Singular values of the scaled context counts"
    )
    queries = [word for word in _QUERIES if word in vectors.words]
    rows = [(w, ", ".join(near for near, _ in vectors.neighbours(w, 6))) for w in queries]
    report.table(("word", "nearest by cosine"), rows, caption="Neighbours")
    placed = map_points(vectors.words, vectors.vectors, n_words=150, paths=tree.paths())
    report.figure(
        word_map(placed).svg(),
        "150 frequent words in the plane; colours are the first bits of clusters",
    )


def _largest(tree: ClusterTree, k: int) -> list[tuple[str, int, int, str]]:
    rows = [
        (bits, len(words), sum(counts), ", ".join(words[:8]))
        for bits, words, counts in zip(tree.bits, tree.words, tree.counts, strict=True)
    ]
    return sorted(rows, key=lambda row: -row[2])[:k]
