"""``eigentext words report``: a page to browse word clusters, and pictures of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from eigentext.cli import options
from eigentext.cli.command import flag, with_flags
from eigentext.cli.output import check_picture, write_picture
from eigentext.cli.verbs import Run
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from eigentext.drawing.words_tree import ClusterTree
    from eigentext.words.clusters.model import SpectralClusters


@with_flags()
def report(
    model: Annotated[
        str, typer.Argument(help="A model of clusters, or the paths file of any Brown tool.")
    ],
    output: Annotated[
        str, options.written("--output", "-o", help="The HTML page to write; '-' is stdout.")
    ],
    run: Run,
    vectors: str | None = flag("A model of vectors or a word2vec file: adds a map."),
    tree: str | None = flag("Also write the cluster tree here, .svg.", written=True),
    map_: str | None = flag("Also write the map of words, .svg or .png.", written=True),
    values: str | None = flag(
        "Also write the plot of singular values, .svg or .png.", written=True
    ),
    title: str = flag("Of the page.", "Word clusters"),
    top: int = flag("Words of a cluster that are listed at once.", 50, min=1),
    max_words: int = flag("How many frequent words can be searched.", 100_000, min=1),
    map_words: int = flag("Words on the map.", 200, min=1),
    ends: int = flag("Ends of the drawn tree.", 40, min=1),
) -> None:
    """Write one HTML page to browse clusters by prefix, with counts and example words.

    The page needs no network.  A model adds mutual information and singular values, vectors add a
    map and the nearest words.

    Example:
        $ eigentext words cluster sample/text.txt -o text.clusters --paths paths -m 20
        $ eigentext words embed sample/text.txt -o text.vec --n-components 20
        $ eigentext words report text.clusters --vectors text.vec -o words.html --map map.svg
        $ eigentext words report paths -o paths.html --tree tree.svg
    """
    import os

    from eigentext.base.files.opening import check_writable
    from eigentext.drawing import words_map
    from eigentext.drawing.words_tree import cluster_tree_svg
    from eigentext.reports.words_page import PageVectors, words_report
    from eigentext.words.embeddings.neighbours import load_words

    if tree is not None and not tree.lower().endswith(".svg"):
        raise SettingsError(f"--tree writes .svg, not {tree!r}")
    for name, path in (("--map", map_), ("--values", values)):
        if path is not None:
            check_picture(path, name)
    if map_ is not None and vectors is None:
        raise SettingsError("--map needs --vectors")
    for path in (output, tree, map_, values):
        if path is not None:
            check_writable(path)
    clusters, fitted = _load(model, run)
    if values is not None and (fitted is None or not len(fitted.singular_values_)):
        raise SettingsError(f"{model} has no singular values to plot")
    space = None if vectors is None else PageVectors(*load_words(vectors))
    page = words_report(
        clusters,
        title=title,
        subtitle=os.path.basename(model),
        model=fitted,
        vectors=space,
        top=top,
        max_words=max_words,
        map_words=map_words,
        ends=ends,
        remark=run.remark,
    )
    pictures: list[tuple[str, str | bytes]] = []
    if tree is not None:
        pictures.append((tree, cluster_tree_svg(clusters, ends=ends)))
    if map_ is not None and space is not None:
        placed = words_map.map_points(
            space.words, space.vectors, n_words=map_words, paths=clusters.paths()
        )
        pictures.append((map_, words_map.word_map(placed).as_file(map_)))
    if values is not None and fitted is not None:
        plot = words_map.decay_plot(fitted.singular_values_)
        pictures.append((values, plot.as_file(values)))
    page.write(output)
    for path, picture in pictures:
        write_picture(path, picture)
    figures = {
        "clusters": len(clusters.bits),
        "words": clusters.n_words,
        "page_bytes": len(page.html().encode("utf-8")),
    }
    run.tell(figures, results_on_stdout=output == "-")


def _load(model: str, run: Run) -> tuple[ClusterTree, SpectralClusters | None]:
    """The tree of a model, with what else it knows, or of a paths file."""
    from eigentext.base.files.opening import open_binary
    from eigentext.drawing.words_tree import read_tree

    if model != "-":  # a model file cannot come by a pipe
        with open_binary(model) as stream:
            start = stream.read(9)
        if start[8:] == b"{":  # safetensors: eight bytes of length, then JSON
            from eigentext.words.clusters.model import SpectralClusters

            fitted = SpectralClusters.load(model)
            return fitted.tree(), fitted
    with run.reading() as (log, _):
        return read_tree(model, on_error=log), None
