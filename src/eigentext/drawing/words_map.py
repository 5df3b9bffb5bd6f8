"""Word vectors as pictures: a map of frequent words, and the decay of singular values.

1. :func:`plane` projects vectors on their two principal directions, with fixed signs.
2. :func:`map_points` chooses frequent words, letters first of all, and places them.
3. :func:`word_map` draws them, coloured by the first bits of their clusters; :func:`decay_plot`
   draws singular values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigentext.drawing.plots import Plot, line_plot, scatter_words
from eigentext.errors import SettingsError
from eigentext.linalg.ties import principal_axes, single_threaded

_DECADES = 100.0  # from such a ratio on, a logarithmic axis has enough marks to be read
#: of a path that give a word its group: four groups, as many colours as can be told apart
COLOURED_BITS = 2


class MapPoints(NamedTuple):
    """Words, their points (n, 2), and the numbers of their groups, if there are any."""

    words: list[str]
    points: NDArray[np.float64]
    groups: list[int] | None


def plane(vectors: ArrayLike) -> NDArray[np.float64]:
    """The vectors on their two principal directions; the same vectors give the same bytes.

    The largest coordinate of each direction is positive.

    >>> plane([[0.0, 0, 1], [0, 0, 3], [0, 0, 2]])[:, 0].tolist()
    [-1.0, 1.0, 0.0]
    """
    rows = np.asarray(vectors, dtype=np.float64)
    rows = np.pad(rows, ((0, 0), (0, max(2 - rows.shape[1], 0))))
    with single_threaded():
        centred = rows - rows.mean(axis=0)
        _, axes = principal_axes(centred.T @ centred)
        return np.asarray(centred @ axes[:, :2])


def map_points(
    words: Sequence[str],
    vectors: ArrayLike,
    *,
    n_words: int = 200,
    paths: Mapping[str, str] | None = None,
) -> MapPoints:
    """Place the first words that have a letter; a group is the first bits of a word's path.

    The points are those of :func:`plane`, drawn in at the edges, arcsinh(x / median |x|).
    Words without a path are left out where ``paths`` are given.

    >>> map_points(["the", ",", "cat"], np.eye(3), paths={"the": "00", "cat": "11"}).words
    ['the', 'cat']
    """
    if n_words < 1:
        raise SettingsError(f"a map of {n_words} words: expected at least 1")
    rows = np.asarray(vectors)
    fits = (
        i
        for i, word in enumerate(words)
        if any(map(str.isalpha, word))
        and not word.startswith("<")
        and (paths is None or word in paths)
        and np.isfinite(rows[i]).all()
    )
    fit = list(islice(fits, n_words))  # of a large vocabulary only its beginning is looked at
    if not fit:
        raise SettingsError("no word to put on the map: none of the vectors' words has a cluster")
    shown = [words[i] for i in fit]
    groups = None
    if paths is not None:
        prefixes = [paths[word][:COLOURED_BITS] for word in shown]
        numbers = {prefix: k for k, prefix in enumerate(sorted(set(prefixes)))}
        groups = [numbers[prefix] for prefix in prefixes]
    points = plane(rows[fit])
    # a few words far out would squeeze all others: linear in the middle, logarithmic outside
    spread = np.median(np.abs(points), axis=0)
    return MapPoints(shown, np.arcsinh(points / np.where(spread > 0, spread, 1.0)), groups)


def word_map(placed: MapPoints, *, title: str = "") -> Plot:
    """The map; a label that would cover a more frequent word's is left out.

    >>> word_map(map_points(["cat", "dog"], np.eye(2))).svg().count("</text>")
    2
    """
    return scatter_words(placed.words, placed.points, groups=placed.groups, title=title)


def decay_plot(values: ArrayLike, *, name: str = "Omega", title: str = "") -> Plot:
    """Singular values by rank; ranks are logarithmic, values too where they span decades.

    >>> decay_plot([1.0, 0.5, 0.25]).svg().startswith("<svg ")
    True
    """
    heights = np.asarray(values, dtype=np.float64)
    positive = len(heights) > 1 and bool((heights > 0).all())
    return line_plot(
        {name: (np.arange(1, len(heights) + 1), heights)},
        title=title,
        x_label="rank",
        y_label="singular value",
        log_x=len(heights) > 1,
        log_y=positive and float(heights.max() / heights.min()) >= _DECADES,
    )
