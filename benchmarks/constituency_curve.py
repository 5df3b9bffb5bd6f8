"""Learning curves: F1 on dev against the number of training trees and the seconds of training.

    python benchmarks/constituency_curve.py                       # GUM, 5 to 100% of train
    python benchmarks/constituency_curve.py --states auto --svg docs/img

``$EIGENTEXT_DATA`` names the folder with constituency/{gum,craft,icepahc}/{train,dev}.mrg and the
Berkeley parser's output in peers/berkeley-*.mrg.  A share of the trees is every so many-th tree,
so that all genres are in it.  F1 by EVALB's rules (COLLINS.prm), a failed parse counts as empty.
Seconds are CPU seconds of one thread with reading and binarising; compiled code is warm.  The
peer's point is its stored output; its training time is what ``--peer-seconds`` says.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from eigentext.base.files.opening import numbered_lines
from eigentext.constituency import LPCFG
from eigentext.constituency.learn.search import f1_on
from eigentext.datasets import load_english
from eigentext.drawing.plots import Plot, line_plot
from eigentext.evaluate.parseval import evaluate, parse_prediction
from eigentext.language.formats.prm import EvalbSettings
from eigentext.language.formats.ptb import read_trees
from eigentext.language.trees.constituent import Tree
from eigentext.linalg.ties import single_threaded

if TYPE_CHECKING:
    from collections.abc import Iterable

SHARES = (0.05, 0.1, 0.25, 0.5, 1.0)


class CurvePoint(NamedTuple):
    """One trained parser: whose it is, trees and CPU seconds of training, F1."""

    name: str
    trees: int
    seconds: float
    f1: float


def share_of(trees: list[Tree], share: float) -> list[Tree]:
    """Trees spread evenly over the treebank."""
    wanted = max(1, round(share * len(trees)))
    return [trees[k * len(trees) // wanted] for k in range(wanted)]


def peer_point(folder: Path, data: str, gold: list[Tree], seconds: float) -> CurvePoint | None:
    """The Berkeley parser, trained on all trees, if its output is there."""
    for path in sorted((folder / "peers").glob(f"berkeley-sm*-{data}-dev.mrg*")):
        found = [parse_prediction(line) for _, line in numbered_lines(str(path))][: len(gold)]
        f1 = evaluate(gold, found, EvalbSettings.collins(), failed="empty").all.f1
        return CurvePoint("Berkeley", 0, seconds, f1)
    return None


def learning_curve(points: Iterable[CurvePoint], against: Literal["trees", "seconds"]) -> Plot:
    """F1 against the number of trees or the CPU seconds of training, on a logarithmic axis.

    Points of one name make a line; a name with one point, such as a peer's, is a dot.
    """
    by_name: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        # seconds to two digits: more is not known, and the axis is marked with them
        x = float(point.trees if against == "trees" else f"{point.seconds:.2g}")
        by_name.setdefault(point.name, []).append((x, point.f1))
    series = {}
    for name, pairs in by_name.items():
        x, y = np.array(sorted(pairs)).T
        series[name] = (x, y)
    x_label = "training trees" if against == "trees" else "training, CPU seconds"
    return line_plot(series, log_x=True, x_label=x_label, y_label="F1")


def main() -> None:
    """Print the table, then write the two drawings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", choices=("gum", "craft", "icepahc"), default="gum")
    parser.add_argument("--states", default="16", help="a number, or auto")
    parser.add_argument("--limit", type=int, default=None, help="only so many dev sentences")
    parser.add_argument("--peer-seconds", type=float, default=1200.0)
    parser.add_argument("--svg", default=None, help="folder for the drawings")
    options = parser.parse_args()
    folder = Path(os.environ["EIGENTEXT_DATA"])
    treebank = folder / "constituency" / options.data
    gold = list(read_trees(str(treebank / "dev.mrg")))[: options.limit]
    states = options.states if options.states == "auto" else int(options.states)
    warm = LPCFG(n_states=2).fit(Tree.from_brackets(text) for text in load_english("train"))
    warm.parse(gold[0].words)

    started = time.process_time()
    train = list(read_trees(str(treebank / "train.mrg")))
    reading = (time.process_time() - started) / len(train)  # a tree
    points = []
    peer = peer_point(folder, options.data, gold, options.peer_seconds)
    if peer is not None:
        points.append(peer._replace(trees=len(train)))
    print(f"| trees of {options.data} train | training, CPU s | F1 on {len(gold)} dev sentences |")
    print("|---|---|---|")
    for share in SHARES:
        trees = share_of(train, share)
        started = time.process_time()
        model = LPCFG(n_states=states).fit(trees)
        seconds = time.process_time() - started + reading * len(trees)
        points.append(CurvePoint("eigentext", len(trees), seconds, f1_on(model, gold)))
        print(
            f"| {len(trees):,} ({share:.0%}) | {seconds:.1f} | {points[-1].f1:.2f} |", flush=True
        )
    if peer is not None:
        of_peer = points[0]
        print(f"| {of_peer.trees:,}, Berkeley | {of_peer.seconds:,.0f} | {of_peer.f1:.2f} |")
        print(f"\nseconds: 1 / {of_peer.seconds / points[-1].seconds:.0f} of the peer's")
    if options.svg is not None:
        target = Path(options.svg)
        target.mkdir(parents=True, exist_ok=True)
        points.sort(key=lambda point: point.name != "eigentext")
        curves: tuple[Literal["trees", "seconds"], ...] = ("trees", "seconds")
        for against in curves:
            drawn = learning_curve(points, against).svg()
            (target / f"curve-{options.data}-{against}.svg").write_text(drawn)


if __name__ == "__main__":
    with single_threaded():
        main()
