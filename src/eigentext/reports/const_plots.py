"""Plots of constituency grammars: spectra of nonterminals, and curves of learning.

Numbers in, a plot out, by ``plots.line_plot``: nothing here knows of parsers, so tables that were
measured elsewhere, such as a peer's, can be drawn too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from eigentext.drawing.plots import Plot, line_plot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class CurvePoint(NamedTuple):
    """One trained parser: whose it is, trees and CPU seconds of training, F1."""

    name: str
    trees: int
    seconds: float
    f1: float


def singular_value_plot(spectra: Mapping[str, Sequence[float]], *, title: str = "") -> Plot:
    """Singular values of Omega_a by rank, one line a nonterminal.

    >>> singular_value_plot({"NP": [8.6, 3.4, 3.3], "VP": [8.7, 4.9]}).svg().startswith("<svg ")
    True
    """
    for label, values in spectra.items():
        if not len(values) or min(values) <= 0:
            raise ValueError(f"singular values of {label!r} must be positive, and there be some")
    series = {
        label: (np.arange(1.0, len(values) + 1), np.asarray(values, dtype=np.float64))
        for label, values in spectra.items()
    }
    x_label, y_label = "rank", "singular value of Omega"
    return line_plot(series, log_y=True, title=title, x_label=x_label, y_label=y_label)


def learning_curve(
    points: Iterable[CurvePoint],
    *,
    against: Literal["trees", "seconds"] = "trees",
    title: str = "",
) -> Plot:
    """F1 against the number of trees or the CPU seconds of training, on a logarithmic axis.

    Points of one name make a line; a name with one point, such as a peer's, is a dot.

    >>> ours = [CurvePoint("ours", 100, 0.5, 70.0), CurvePoint("ours", 1000, 4.0, 80.0)]
    >>> "a peer" in learning_curve([*ours, CurvePoint("a peer", 1000, 900.0, 79.0)]).svg()
    True
    """
    if against not in ("trees", "seconds"):
        raise ValueError(f"against must be trees or seconds, not {against!r}")
    by_name: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        # seconds to two digits: more is not known, and the axis is marked with them
        x = float(point.trees if against == "trees" else f"{point.seconds:.2g}")
        if not (x > 0 and np.isfinite(point.f1)):
            raise ValueError(f"{point} has no place on a logarithmic axis")
        by_name.setdefault(point.name, []).append((x, point.f1))
    series = {}
    for name, pairs in by_name.items():
        x, y = np.array(sorted(pairs)).T
        series[name] = (x, y)
    x_label = "training trees" if against == "trees" else "training, CPU seconds"
    return line_plot(series, log_x=True, title=title, x_label=x_label, y_label="F1")
