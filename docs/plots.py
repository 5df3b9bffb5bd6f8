"""The plots of the results pages, drawn from the figures in `docs/data`.

    python docs/plots.py

Each file there holds the points of one plot, with the command, data and machine behind them and
the rows of the results page that they stand in; a test compares the two.
"""

from __future__ import annotations

import json
from pathlib import Path

from eigentext.drawing.plots import line_plot

DOCS = Path(__file__).parent


def draw(path: Path) -> str:
    """One plot, as SVG."""
    plot = json.loads(path.read_text(encoding="utf-8"))
    series = {
        one["name"]: tuple([point[axis] for point in one["points"]] for axis in "xy")
        for one in plot["series"]
    }
    return line_plot(
        series,
        title=plot["title"],
        x_label=plot["x_label"],
        y_label=plot["y_label"],
        log_x=plot["log_x"],
    ).svg()


def draw_all(target: Path) -> None:
    """All of them into a folder."""
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted((DOCS / "data").glob("*.json")):
        (target / f"{path.stem}.svg").write_text(draw(path), encoding="utf-8")


if __name__ == "__main__":
    draw_all(DOCS / "img" / "plots")
