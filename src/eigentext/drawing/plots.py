"""Plots as SVG: lines, and maps of words.

The flow: numbers -> a matplotlib figure of its own (no pyplot, no global figures) -> SVG text ->
the same text made fit for a page: ink becomes ``currentColor`` (so that it follows light and dark
mode), ids get a prefix of their own (so that several plots share a page), dates and program names
are gone (so that the same numbers give the same bytes).  Series are named beside their lines, not
in a legend.

matplotlib comes with the extra ``plot`` and is imported when the first plot is drawn.
"""

from __future__ import annotations

import io
import threading
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigentext.drawing.svg import elide, fit_for_page, printable, text_width
from eigentext.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from eigentext.base.types import Float64s

#: Colours of series, in order; each has a contrast of at least 3 on white and on near-black.
PALETTE = ("#3b82c4", "#d9772b", "#3a9a63", "#9a6fd0", "#d4575b", "#8a8f98")

_INK = "#010203"  # stands for currentColor until the SVG is written
_FAINT = 0.25
_DOTS = 72  # per inch, as SVG counts them: one pixel is one point of a font
_FONT_SIZE = 10.0
_LONGEST_LABEL = 40

# matplotlib reads its settings from one global table; plots drawn at once must take turns.
_one_at_a_time = threading.Lock()

_RC: Any = {
    "svg.fonttype": "none",  # text stays text: selectable, shaped and ordered by the browser
    "svg.hashsalt": "eigentext",
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same measures everywhere
    "font.size": _FONT_SIZE,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.unicode_minus": True,
}


class Plot(NamedTuple):
    """A drawing that matplotlib makes when it is asked for: SVG for a page, or PNG on white.

    Raises :class:`MissingExtraError` then, where there is no matplotlib.
    """

    draw: Callable[[Figure], None]  # fills a figure
    size: tuple[float, float]  # in inches
    title: str

    def svg(self) -> str:
        """As SVG that is fit for a page."""
        raw = io.StringIO()
        with _figure(self) as figure:
            nothing = dict.fromkeys(["Creator", "Date", "Format", "Type"])
            figure.savefig(raw, format="svg", metadata=nothing, dpi=_DOTS)
        return fit_for_page(raw.getvalue(), self.title, ink=_INK)

    def png(self) -> bytes:
        """As PNG."""
        raw = io.BytesIO()
        with _figure(self) as figure:
            figure.patch.set(visible=True, facecolor="white")
            figure.savefig(raw, format="png", dpi=2 * _DOTS, metadata={"Software": None})
        return raw.getvalue()

    def as_file(self, path: str) -> bytes:
        """What a file of that name holds: PNG, or else SVG.

        >>> line_plot({"ours": ([1, 2, 3], [0.5, 0.7, 0.8])}).as_file("a.png")[1:4]
        b'PNG'
        """
        return self.png() if path.lower().endswith(".png") else self.svg().encode("utf-8")

    def _repr_svg_(self) -> str:
        return self.svg()


def line_plot(
    series: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    log_x: bool = False,
    log_y: bool = False,
    size: tuple[float, float] = (7.0, 3.8),
) -> Plot:
    """Each series (name -> x values, y values) as a line with its name at its end.

    >>> svg = line_plot({"ours": ([1, 2, 3], [0.5, 0.7, 0.8])}, x_label="rank").svg()
    >>> svg.startswith("<svg ") and "ours" in svg
    True
    """
    curves = {
        name: (_vector(f"x of {name!r}", x), _vector(f"y of {name!r}", y))
        for name, (x, y) in series.items()
    }
    if not curves:
        raise ValueError("there is no series to plot")
    for name, (x, y) in curves.items():
        if len(x) != len(y) or not len(x):
            raise ValueError(f"series {name!r} has {len(x)} x values and {len(y)} y values")

    def draw(figure: Figure) -> None:
        names = [elide(name, _LONGEST_LABEL) for name in curves]
        room = max(text_width(name, _FONT_SIZE) for name in names) / (_DOTS * size[0])
        axes = _axes(figure, size, title, x_label, y_label, right=min(room + 0.02, 0.4))
        axes.grid(axis="y", color=_INK, alpha=0.12, linewidth=0.8)
        if log_x:
            axes.set_xscale("log")
        if log_y:
            axes.set_yscale("log")
        ends = []
        for k, (x, y) in enumerate(curves.values()):
            colour = PALETTE[k % len(PALETTE)]
            few = len(x) <= 30
            axes.plot(x, y, color=colour, linewidth=1.9, marker="o" if few else None, markersize=4)
            finite = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
            ends.append((x[finite[-1]], y[finite[-1]]) if len(finite) else None)
        axes.margins(x=0.03, y=0.08)
        axes.autoscale_view()
        _plain_ticks(axes.xaxis if log_x else None, [x for x, _ in curves.values()])
        # names beside the ends of their lines, pushed apart where the ends lie close together
        placed = [k for k, end in enumerate(ends) if end is not None]
        spots = axes.transData.transform([ends[k] for k in placed]) if placed else np.empty((0, 2))
        heights = pushed_apart(spots[:, 1], distance=1.3 * _FONT_SIZE)
        right_edge = axes.transAxes.transform((1.0, 0.0))[0]
        for k, height in zip(placed, heights, strict=True):
            spot = figure.transFigure.inverted().transform((right_edge + 4, height))
            _write(figure, spot, names[k], color=PALETTE[k % len(PALETTE)], va="center")

    return Plot(draw, size, title or "Line plot")


def scatter_words(
    words: Sequence[str],
    points: ArrayLike,
    *,
    groups: Sequence[int] | None = None,
    title: str = "",
    size: tuple[float, float] = (7.5, 6.0),
) -> Plot:
    """A map: each word at its point (n, 2), coloured by its group.

    Words come in order of importance: a label that would cover an earlier one is left out, its dot
    stays.

    >>> scatter_words(["cat", "dog"], [[0.0, 1.0], [1.0, 0.0]]).svg().count("</text>")
    2
    """
    if isinstance(words, str):
        raise TypeError("words must be a list of strings, not one str; did you mean a list?")
    spots = np.asarray(points, dtype=np.float64)
    if spots.shape != (len(words), 2) or not len(words):
        raise ValueError(f"expected points of shape ({len(words)}, 2), found {spots.shape}")
    if groups is not None and len(groups) != len(words):
        raise ValueError(f"found {len(groups)} groups for {len(words)} words")
    if not np.isfinite(spots).all():
        raise ValueError("points must be finite")

    def draw(figure: Figure) -> None:
        axes = _axes(figure, size, title, "", "", bare=True)
        kinds = {group: k for k, group in enumerate(dict.fromkeys(groups or [0]))}
        colours = [PALETTE[kinds[group] % len(PALETTE)] for group in groups or [0] * len(words)]
        axes.scatter(spots[:, 0], spots[:, 1], s=11, c=colours, linewidths=0)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.margins(0.06)
        axes.autoscale_view()
        pixels = axes.transData.transform(spots)
        edges = axes.transAxes.transform([(0.0, 0.0), (1.0, 1.0)])
        shown = [elide(printable(word), _LONGEST_LABEL) for word in words]
        font_size = _FONT_SIZE - 0.5
        widths = [text_width(word, font_size) for word in shown]
        corners = free_places(pixels, widths, 1.15 * font_size, edges)
        for word, colour, corner in zip(shown, colours, corners, strict=True):
            if corner is not None:
                at = figure.transFigure.inverted().transform(corner)
                _write(figure, at, word, va="center", color=colour, fontsize=font_size)

    return Plot(draw, size, title or "Map of words")


# --- where labels go, so that none covers another: pixels in, pixels out -----------------------


def pushed_apart(heights: ArrayLike, *, distance: float) -> list[float]:
    """The heights, moved as little as a simple sweep can until none are closer than `distance`.

    >>> pushed_apart([0.0, 1.0], distance=3)
    [-1.0, 2.0]
    """
    targets = np.asarray(heights, dtype=np.float64)
    order = np.argsort(targets, kind="stable")
    # blocks of neighbours that touch: [sum of wanted starts, number of members]
    blocks: list[list[float]] = []
    for rank, index in enumerate(order):
        blocks.append([targets[index] - rank * distance, 1])
        while len(blocks) > 1 and (blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]):
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    moved = [0.0] * len(targets)
    rank = 0
    for total, count in blocks:
        for _ in range(int(count)):
            moved[order[rank]] = float(total / count + rank * distance)
            rank += 1
    return moved


def free_places(
    dots: Float64s, widths: Sequence[float], height: float, edges: ArrayLike
) -> list[tuple[float, float] | None]:
    """For each dot the left middle of its label, or None where every place is taken."""
    (x_low, y_low), (x_high, y_high) = np.asarray(edges, dtype=np.float64)
    # left, low, right, high of every dot, then of the labels placed so far
    taken = np.empty((2 * len(dots), 4))
    taken[: len(dots)] = np.concatenate([dots - 2, dots + 2], axis=1)
    n_taken = len(dots)
    spots: list[tuple[float, float] | None] = []
    for (x, y), width in zip(dots.tolist(), widths, strict=True):
        spot = None
        offsets = (5, 0), (-5 - width, 0), (-width / 2, 0.8 * height), (-width / 2, -0.8 * height)
        for dx, dy in offsets:
            box = (x + dx - 1, y + dy - height / 2, x + dx + width + 1, y + dy + height / 2)
            if box[0] < x_low or box[2] > x_high or box[1] < y_low or box[3] > y_high:
                continue
            others = taken[:n_taken]
            covers = (others[:, :2] < box[2:]) & (others[:, 2:] > box[:2])  # in x, and in y
            if not covers.all(axis=1).any():
                taken[n_taken] = box
                n_taken += 1
                spot = (x + dx, y + dy)
                break
        spots.append(spot)
    return spots


# --- matplotlib --------------------------------------------------------------------------------


def _axes(
    figure: Figure,
    size: tuple[float, float],
    title: str,
    x_label: str,
    y_label: str,
    *,
    right: float = 0.02,
    bare: bool = False,
) -> Any:
    """Axes with just as much frame as they need; the title stands flush left above them."""
    inch_x, inch_y = 1 / size[0], 1 / size[1]
    left = 0.01 if bare else (0.55 + (0.2 if y_label else 0.0)) * inch_x
    low = (0.08 if bare else 0.3) * inch_y + (0.28 * inch_y if x_label else 0.0)
    high = 1 - (0.38 if title else 0.1) * inch_y
    axes = figure.add_axes((left, low, 1 - left - right, high - low))
    axes.patch.set_visible(False)
    for side, spine in axes.spines.items():
        spine.set_visible(not bare and side == "bottom")
        spine.set_alpha(_FAINT)
    axes.tick_params(length=0, labelsize=_FONT_SIZE - 1)
    if bare:
        axes.set_xticks([])
    if title:
        _write(figure, (0.0, 1 - 0.2 * inch_y), title, va="center", fontsize=_FONT_SIZE + 2)
    if x_label:
        _write(figure, (left, 0.14 * inch_y), x_label, va="center", alpha=0.75)
    if y_label:
        spot, look = (0.12 * inch_x, (low + high) / 2), {"rotation": 90, "alpha": 0.75}
        _write(figure, spot, y_label, va="center", ha="center", **look)
    return axes


def _plain_ticks(axis: Any, columns: Sequence[Float64s]) -> None:
    """Mark a logarithmic axis at the values themselves when they are few enough to read."""
    if axis is None:
        return
    marks = np.unique(np.concatenate(columns))
    marks = marks[np.isfinite(marks) & (marks > 0)]
    close = np.diff(np.log(marks)) < 0.06 * (np.log(marks[-1] / marks[0]) if len(marks) else 0)
    if 1 < len(marks) <= 10 and not close.any():
        axis.set_ticks(marks, labels=[f"{mark:,.4g}" for mark in marks])
        axis.set_ticks([], minor=True)


def _write(figure: Figure, spot: Iterable[float], text: str, **look: Any) -> None:
    x, y = spot
    figure.text(x, y, printable(text), parse_math=False, **look)


def require_matplotlib() -> None:
    """Say how to get matplotlib if it is not there: before any work, where a plot is asked for."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("plots", extra="plot", modules=["matplotlib"]) from error


@contextmanager
def _figure(plot: Plot) -> Iterator[Figure]:
    require_matplotlib()
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with _one_at_a_time, matplotlib.rc_context(_RC), warnings.catch_warnings():
        # the browser has the glyphs that matplotlib's own font lacks
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        figure = Figure(figsize=plot.size, dpi=_DOTS)
        FigureCanvasAgg(figure)
        figure.patch.set_visible(False)
        plot.draw(figure)
        yield figure


# --- checks ------------------------------------------------------------------------------------


def _vector(name: str, values: ArrayLike) -> Float64s:
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, found shape {vector.shape}")
    return vector
