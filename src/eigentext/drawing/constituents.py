"""Constituent trees as self-contained, accessible SVG.

The flow: labels and subtree sizes in preorder -> width of each subtree, from the last node to the
first -> left edges, from the first node to the last -> curves and labels.  Every subtree owns an
interval of the x axis and every height above the words owns a row, so that nothing can overlap,
and no step recurses.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from eigentext.drawing.svg import (
    FONT_SIZE,
    HALF_LABEL,
    MARGIN,
    data_group,
    is_right_to_left,
    number,
    shown_text,
    svg_box,
    svg_document,
    svg_lines,
    svg_text,
    text_width,
)
from eigentext.language.trees.constituent import Tree

_ROW = 44.0  # from one row of the tree to the next
_NODE_GAP = 16.0  # between neighbouring labels
_VALUE_COLOUR = "#3b82c4"
_MARK_COLOUR = "#d9622b"
_HIT = 26.0  # of a node that can be pointed at, at least
_SMALL = 11.5
_STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the legend


def tree_svg(
    tree: Tree,
    *,
    colours: Sequence[float] | None = None,
    title: str | None = None,
    legend: str = "",
    marked: Collection[int] = (),
    marked_as: str = "",
    data: bool = False,
) -> str:
    """Draw a constituent tree; the words stand on one line, each label above what it spans.

    `colours` gives each node (preorder) a value from 0 to 1, shown as the strength of a patch of
    colour behind its label; NaN means no patch.  A sentence in a right-to-left script is drawn
    from right to left.

    ``legend``     what the values are: a scale with this name below the tree
    ``marked``     nodes (preorder) with a dashed frame; ``marked_as`` says in the legend why
    ``data``       every node is a group ``et-node`` that says which it is (``data-start``,
                   ``data-end``, ``data-label``, ``data-role``: label, tag or word), for a page on
                   which nodes can be chosen

    >>> from eigentext.language.trees.constituent import Tree
    >>> svg = tree_svg(Tree.from_nested(("NP", ("DT", "the"), ("NN", "dog"))))
    >>> svg.startswith("<svg "), svg.count("<text ")
    (True, 5)
    """
    sizes = tree.sizes.tolist()
    n_nodes = len(sizes)
    values = _checked_values(colours, n_nodes)
    shown = [shown_text(label) for label in tree.labels]
    heights = _heights(sizes)
    widths = [
        text_width(label, FONT_SIZE, bold=size == 1)
        for label, size in zip(shown, sizes, strict=True)
    ]
    centres, width = _tree_columns(sizes, widths)
    mirrored = is_right_to_left(tree.words)

    scale, scale_width = _legend(legend if values is not None else "", marked_as if marked else "")
    full_width = max(width, scale_width) + 2 * MARGIN
    tree_height = heights[0] * _ROW + 2 * (MARGIN + HALF_LABEL)
    full_height = tree_height + (2 * HALF_LABEL + 6 if scale else 0)
    spans = tree.spans().tolist()
    x = [full_width - MARGIN - c if mirrored else MARGIN + c for c in centres]
    y = [MARGIN + HALF_LABEL + (heights[0] - height) * _ROW for height in heights]

    edges: list[str] = []
    patches: list[str] = []
    texts: list[str] = []
    for node in range(n_nodes):
        child, end = node + 1, node + sizes[node]
        while child < end:
            edges.append(_tree_edge(x[node], y[node], x[child], y[child]))
            child += sizes[child]
        value = values[node] if values is not None else math.nan
        behind = []
        if not math.isnan(value):
            behind.append(_patch(x[node], y[node], widths[node], value))
        if node in marked:
            behind.append(_frame(x[node], y[node], widths[node]))
        kind = "word" if sizes[node] == 1 else "tag" if sizes[node] == 2 else "label"
        note = "" if math.isnan(value) else f"{value:.3g}"
        role = "et-valued" if note and kind != "word" else f"et-{kind}"
        text = svg_text(role, x[node], y[node], shown[node], tree.labels[node], note)
        if not data:
            patches += behind
            texts.append(text)
            continue
        start, end = spans[node]
        about = {"start": start, "end": end, "label": tree.labels[node], "role": kind}
        if note:
            about["value"] = note
        box = x[node], y[node] - _HIT / 2, max(widths[node] + 10, _HIT)
        target = svg_box("et-hit", *box, _HIT, 6)
        texts.append(data_group("et-node", about, [*behind, target, text]))

    return svg_document(
        full_width,
        full_height,
        title=title or "Constituent tree",
        description=str(tree),
        parts=[*patches, svg_lines(edges), *texts, *_placed(scale, tree_height + 6)],
        mirrored=mirrored,
    )


# --- the legend, and what nodes are pointed at by ----------------------------------------------


def _legend(name: str, marked_as: str) -> tuple[list[tuple[str, float, float]], float]:
    """(kind or text, x, value or width) of each part of the legend, and the width of the whole."""
    parts: list[tuple[str, float, float]] = []
    x = MARGIN
    if name:
        for text, values in ((f"{name} 0", _STEPS), ("1", ())):
            width = text_width(text, _SMALL)
            parts.append((text, x, width))
            x += width + 6
            for value in values:
                parts.append(("patch", x, value))
                x += 20
            x += 6 if values else 14
    if marked_as:
        parts.append(("frame", x, 0.0))
        width = text_width(marked_as, _SMALL)
        parts.append((marked_as, x + 30, width))
        x += 30 + width
    return parts, x - MARGIN if parts else 0.0


def _placed(parts: Sequence[tuple[str, float, float]], y: float) -> list[str]:
    drawn = []
    for what, x, value in parts:
        if what == "patch":
            drawn.append(_patch(x + 10, y, 8, value))
        elif what == "frame":
            drawn.append(_frame(x + 12, y, 14))
        else:
            drawn.append(svg_text("et-legend", x + value / 2, y, what, what, "", _SMALL))
    return drawn


def _frame(x: float, y: float, width: float) -> str:
    look = f'fill="none" stroke="{_MARK_COLOUR}" stroke-width="1.8" stroke-dasharray="5 3"'
    return svg_box("et-mark", x, y - 11, width + 10, 22, 5, look)


# --- the layout of a tree ----------------------------------------------------------------------


def _heights(sizes: Sequence[int]) -> list[int]:
    """Rows of each node above the words: 0 for a word, one more than the highest child else."""
    heights = [0] * len(sizes)
    for node in range(len(sizes) - 1, -1, -1):
        child, end = node + 1, node + sizes[node]
        while child < end:
            heights[node] = max(heights[node], heights[child] + 1)
            child += sizes[child]
    return heights


def _tree_columns(
    sizes: Sequence[int], label_widths: Sequence[float]
) -> tuple[list[float], float]:
    """The middle of each label, and the width of the whole.

    Each subtree gets an interval as wide as its children's intervals side by side, or as its label
    if that is wider; a label stands over the middle between its first and its last child.
    """
    n_nodes = len(sizes)
    width = [0.0] * n_nodes
    centre = [0.0] * n_nodes  # within the subtree's own interval
    left = [0.0] * n_nodes  # within the parent's interval
    for node in range(n_nodes - 1, -1, -1):
        half = (label_widths[node] + _NODE_GAP) / 2
        if sizes[node] == 1:
            width[node], centre[node] = 2 * half, half
            continue
        child, end, edge = node + 1, node + sizes[node], 0.0
        last = child
        while child < end:
            left[child] = edge
            edge += width[child]
            last = child
            child += sizes[child]
        middle = (centre[node + 1] + left[last] + centre[last]) / 2
        shift = max(0.0, half - middle)
        if shift:
            child = node + 1
            while child < end:
                left[child] += shift
                child += sizes[child]
        centre[node] = middle + shift
        width[node] = max(edge + shift, centre[node] + half)
    for node in range(n_nodes):  # now from the root down: left edges on the page
        child, end = node + 1, node + sizes[node]
        while child < end:
            left[child] += left[node]
            child += sizes[child]
    return [start + offset for start, offset in zip(left, centre, strict=True)], width[0]


def _tree_edge(x_parent: float, y_parent: float, x_child: float, y_child: float) -> str:
    """A curve through the row gap under the parent, then straight down to the child."""
    start = y_parent + HALF_LABEL
    bend = y_parent + _ROW - HALF_LABEL  # above every label of the next row
    down = y_child - HALF_LABEL
    if abs(x_parent - x_child) < 0.01:
        return f"M{number(x_parent)} {number(start)}V{number(down)}"
    mid = number((start + bend) / 2)
    curve = f"C{number(x_parent)} {mid} {number(x_child)} {mid} {number(x_child)} {number(bend)}"
    drop = f"V{number(down)}" if down > bend else ""
    return f"M{number(x_parent)} {number(start)}{curve}{drop}"


def _patch(x: float, y: float, width: float, value: float) -> str:
    look = f'fill="{_VALUE_COLOUR}" fill-opacity="{number(0.06 + 0.69 * value)}"'
    return svg_box("et-value", x, y - 11, width + 10, 22, 5, look)


def _checked_values(colours: Sequence[float] | None, n_nodes: int) -> list[float] | None:
    if colours is None:
        return None
    values = [float(value) for value in colours]
    if len(values) != n_nodes:
        raise ValueError(f"colours has {len(values)} values, but the tree has {n_nodes} nodes")
    for value in values:
        if not (math.isnan(value) or 0.0 <= value <= 1.0):
            raise ValueError(f"colours must lie between 0 and 1, found {value}")
    return values
