"""One HTML page to browse word clusters: by prefix, by word, by zooming into the tree.

1. :func:`words_browser` packs the tree into compact JSON (the words of each cluster in one string,
   prefixes as ranges of clusters) and puts it beside the script that shows it.
2. :func:`words_report` makes the page: the browser, the tree as a drawing, and, where there is
   more than a paths file, mutual information, singular values, neighbours and a map of words.

The page needs no network, and its content policy forbids it; words reach the page as data only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from numpy.typing import NDArray

from eigentext.drawing.plots import Plot
from eigentext.drawing.svg import escape, printable
from eigentext.drawing.words_map import decay_plot, map_points, word_map
from eigentext.drawing.words_tree import ClusterTree, cluster_tree_svg
from eigentext.errors import MissingExtraError, SettingsError
from eigentext.reports.html import Report
from eigentext.words.clusters.methods import WordClustering
from eigentext.words.clusters.model import SpectralClusters

_QUERIES = 3000  # so many frequent words have their neighbours in the page
_NEIGHBOURS = 10

_MARKUP = """\
<div class="wb">
<p id="wb-plain">Browsing needs JavaScript; the drawing below shows the tree without it.</p>
<div id="wb-browser" hidden>
<div class="wb-bar">
<div class="wb-find"><label for="wb-search">Find a word, or a prefix of bits</label>
<input id="wb-search" type="text" role="combobox" aria-expanded="false" aria-controls="wb-list"
aria-autocomplete="list" autocomplete="off" autocapitalize="off" spellcheck="false" dir="auto">
<ul id="wb-list" role="listbox" aria-label="Found" hidden></ul></div>
<div><label for="wb-weight">Width shows</label><select id="wb-weight">
<option value="words">words</option>TOKENS<option value="clusters">clusters</option>
</select></div>
<div class="wb-zoom"><button type="button" id="wb-in">Zoom in</button>
<button type="button" id="wb-out">Zoom out</button>
<button type="button" id="wb-whole">Whole tree</button></div>
</div>
<div id="wb-picture" role="group" aria-label="Tree, zoomable"></div>
<p class="wb-note">Shown: <span id="wb-at"></span>. Click a block to zoom into it, the top one to
zoom out; with the keyboard: arrows, Enter, + and −, / for the search box.</p>
<div class="wb-panes"><div id="wb-tree" role="tree" aria-label="Clusters by prefix"></div>
<section id="wb-detail" aria-label="Chosen prefix"></section></div>
<p id="wb-status" class="wb-note" role="status"></p>
</div>
<script type="application/json" id="wb-data">DATA</script>
</div>"""


@dataclass(frozen=True)
class PageVectors:
    """Words, by decreasing frequency, and their vectors (n, d)."""

    words: Sequence[str]
    vectors: NDArray[Any]


def words_browser(
    tree: ClusterTree,
    *,
    top: int = 50,
    max_words: int = 100_000,
    vectors: PageVectors | None = None,
) -> dict[str, str]:
    """Markup, style and script of the browser, for :meth:`Report.part`.

    The page holds the ``max_words`` most frequent words, and at least ``top`` of each cluster.

    >>> from eigentext.drawing.words_tree import tree_of_paths
    >>> from eigentext.language.formats.brown_paths import PathEntry
    >>> tree = tree_of_paths([PathEntry("0", "cat", 5), PathEntry("1", "</script>", 9)])
    >>> part = words_browser(tree)
    >>> sorted(part), part["markup"].count("</script>")
    (['markup', 'script', 'style'], 1)
    """
    if top < 1 or max_words < 1:
        raise SettingsError(f"{min(top, max_words)} words in a page: expected 1 or more")
    sizes = [len(words) for words in tree.words]
    n_shown = _n_shown(tree, top, max_words)
    data: dict[str, object] = {
        "bits": tree.bits,
        "words": [
            "\t".join(printable(word).replace("\t", "\ufffd") for word in words[:n])
            for words, n in zip(tree.words, n_shown, strict=True)
        ],
        "counts": [
            " ".join(map(str, counts[:n])) for counts, n in zip(tree.counts, n_shown, strict=True)
        ]
        if tree.counted
        else None,
        "sizes": sizes,
        "totals": [sum(counts) for counts in tree.counts],
        "nodes": tree.nodes,
        "counted": tree.counted,
        "top": top,
    }
    if vectors is not None:
        data["near"] = _near(tree, n_shown, vectors)
    packed = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    # inside strings only, where JSON may spell them so: no markup can begin in the data
    packed = packed.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    tokens = '<option value="tokens">tokens</option>' if tree.counted else ""
    assets = files("eigentext.reports")
    return {
        "markup": _MARKUP.replace("TOKENS", tokens).replace("DATA", packed),
        "style": assets.joinpath("words_page.css").read_text(encoding="utf-8"),
        "script": assets.joinpath("words_page.js").read_text(encoding="utf-8"),
    }


def _n_shown(tree: ClusterTree, top: int, max_words: int) -> list[int]:
    """How many words of each cluster go into the page."""
    if tree.n_words <= max_words:
        return [len(words) for words in tree.words]
    ranked = sorted(
        (
            (-count, rank, c)
            for c, counts in enumerate(tree.counts)
            for rank, count in enumerate(counts)
        )
    )
    n_shown = [0] * len(tree.words)
    for _, _, c in ranked[:max_words]:
        n_shown[c] += 1
    return [max(n, min(top, len(words))) for n, words in zip(n_shown, tree.words, strict=True)]


def _near(tree: ClusterTree, n_shown: list[int], vectors: PageVectors) -> dict[int, list[int]]:
    """Numbers of the nearest words of frequent words, among those in the page."""
    from eigentext.words.embeddings.vectors import WordSpace

    number: dict[str, int] = {}
    ranks: list[tuple[int, int, str]] = []
    start = 0
    for words, counts, n in zip(tree.words, tree.counts, n_shown, strict=True):
        for rank in range(n):
            number.setdefault(words[rank], start + rank)
            ranks.append((-counts[rank], rank, words[rank]))
        start += n
    rows = {word: row for row, word in enumerate(vectors.words) if word in number}
    ranks.sort()
    queries = list(dict.fromkeys(word for _, _, word in ranks if word in rows))[:_QUERIES]
    if not queries:
        raise SettingsError("no word of the clusters has a vector: do they belong together?")
    shared = list(rows)
    # the words go by their numbers here, so that none with colons passes for an analogy
    names = [str(number[word]) for word in shared]
    space = WordSpace(names, vectors.vectors[list(rows.values())])
    neighbours = space.nearest([str(number[word]) for word in queries], _NEIGHBOURS)
    return {
        number[word]: [int(name) for name, _ in near]
        for word, near in zip(queries, neighbours, strict=True)
    }


def words_report(
    tree: ClusterTree,
    *,
    title: str = "Word clusters",
    subtitle: str = "",
    model: SpectralClusters | None = None,
    vectors: PageVectors | None = None,
    top: int = 50,
    max_words: int = 100_000,
    map_words: int = 200,
    ends: int = 40,
    remark: Callable[[str], None] = print,
) -> Report:
    """The whole page; ``model`` adds figures of the clustering, ``vectors`` neighbours and a map.

    Without matplotlib the plots are left out, and ``remark`` is told so.

    >>> from eigentext.drawing.words_tree import tree_of_paths
    >>> from eigentext.language.formats.brown_paths import PathEntry
    >>> tree = tree_of_paths([PathEntry("0", "cat", 5), PathEntry("1", "the", 9)])
    >>> "wb-search" in words_report(tree).html()
    True
    """
    report = Report(title, subtitle)
    facts = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, value in _facts(tree, model)
    )
    report.part(f'<dl class="wb-facts">{facts}</dl>')
    report.section("Browse").part(
        **words_browser(tree, top=top, max_words=max_words, vectors=vectors)
    )
    report.section("Tree").figure(
        cluster_tree_svg(tree, ends=ends),
        "Prefixes with their most frequent words; those with most clusters are opened first",
    )
    plots: list[tuple[str, Plot, str]] = []
    if model is not None:
        _information(report, model.clustering_)
        if len(model.singular_values_):
            caption = "Singular values of the scaled context counts"
            plots.append(("Singular values", decay_plot(model.singular_values_), caption))
    if vectors is not None:
        placed = map_points(vectors.words, vectors.vectors, n_words=map_words, paths=tree.paths())
        caption = (
            f"{len(placed.words)} frequent words on the two main directions of their vectors, "
            "drawn in at the edges; colours are the first two bits of their clusters"
        )
        plots.append(("Map", word_map(placed), caption))
    try:
        for section, plot, caption in plots:
            svg = plot.svg()
            report.section(section).figure(svg, caption)
    except MissingExtraError as error:
        remark(f"plots are left out: {error}")
    return report


def _facts(tree: ClusterTree, model: SpectralClusters | None) -> list[tuple[str, str]]:
    """What stands at the head of the page."""
    facts = [("clusters", f"{len(tree.bits):,}"), ("words", f"{tree.n_words:,}")]
    if tree.counted:
        facts.append(("tokens", f"{tree.n_tokens:,}"))
    facts.append(("longest path", f"{max(map(len, tree.bits)):,} bits"))
    if model is not None:
        facts.append(("mutual information", f"{model.mutual_information_:.4f} nats"))
        facts.append(("method", model.method))
        if model.gamma_ is not None:  # vectors and Ward's variant were at work
            facts.append(("contexts", model.contexts))
            facts.append(("kappa", f"{model.kappa:g}"))
            facts.append(("gamma", f"{model.gamma_:.2f}"))
        facts.append(("seed", str(model.seed)))
    return facts


def _information(report: Report, clustering: WordClustering) -> None:
    from eigentext.evaluate.clustering import prefix_information

    longest = max(map(len, clustering.paths))
    lengths = [n for n in (1, 2, 3, 4, 6, 8, 10, 12, 16, 20) if n < longest] + [longest]
    values = prefix_information(clustering.pairs, clustering.paths, lengths)
    rows = []
    if clustering.information > 0:
        for n in lengths:
            groups = {path[:n] for path in clustering.paths}
            rows.append((n, len(groups), values[n], values[n] / clustering.information))
    report.section("Mutual information").text(
        "Of the groups of neighbouring words, in nats; a group is all clusters with the same "
        "first bits, and the last row is that of the clusters themselves."
    )
    report.table(
        ("bits", "groups", "mutual information", "share"), rows, caption="By length of prefix"
    )
    if clustering.history:
        report.table(
            ("pass", "mutual information"),
            list(enumerate(clustering.history, start=1)),
            caption="During exchange",
            digits=4,
        )
