"""Spectral learning against EM from random starts, on the same trees with the same chart.

    python benchmarks/constituency_em.py --states 8 16 32 --seeds 3 --iterations 50

For each number of states: EM (so many iterations, so many random starts, the best F1 counts), the
``clustering`` estimator and the ``moments`` estimator, trained on GUM train and scored on GUM dev
(EVALB's rules, COLLINS.prm).  CPU seconds of one thread, compiled code warm: ``learning`` is from
the prepared treebank to the parameters, ``with reading`` adds reading and binarising the trees.
The ratios are against the mean EM run.  ``$EIGENTEXT_DATA`` names the data.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from eigentext.constituency import LPCFG
from eigentext.constituency.settings import LPCFGSettings
from eigentext.constituency.transform import read_treebank
from eigentext.datasets import load_english
from eigentext.evaluate.parseval import evaluate
from eigentext.language.formats.prm import EvalbSettings
from eigentext.language.formats.ptb import read_trees
from eigentext.language.trees.constituent import Tree
from eigentext.linalg.ties import single_threaded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.constituency.settings import Estimator


class Run(NamedTuple):
    """One trained model."""

    seconds: float
    f1: float


def run(trees: Sequence[Tree], gold: Sequence[Tree], reading: float, **settings: Any) -> Run:
    """Train and score; the seconds of ``fit`` less those of preparing the trees."""
    start = time.process_time()
    parser = LPCFG(**settings).fit(trees)
    learning = time.process_time() - start - reading
    found = [parser.parse(tree.words).tree for tree in gold]
    return Run(learning, evaluate(gold, found, EvalbSettings.collins(), failed="empty").all.f1)


def main() -> None:
    """Print one table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--states", type=int, nargs="+", default=[8, 16, 32])
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--iterations", type=int, default=50)
    options.add_argument("--limit", type=int, default=None, help="only so many dev sentences")
    chosen = options.parse_args()
    folder = Path(os.environ["EIGENTEXT_DATA"]) / "constituency" / "gum"
    gold = list(read_trees(str(folder / "dev.mrg")))[: chosen.limit]
    small = [Tree.from_brackets(text) for text in load_english("train")]
    warm: list[Estimator] = ["clustering", "moments", "em"]
    for estimator in warm:
        em = 2 if estimator == "em" else None
        LPCFG(n_states=2, estimator=estimator, n_iter=em).fit(small).parse(gold[0].words)

    start = time.process_time()
    trees = list(read_trees(str(folder / "train.mrg")))
    parsed = time.process_time()
    read_treebank(trees, LPCFGSettings())
    preparing, reading = time.process_time() - parsed, parsed - start
    both = preparing + reading
    print(f"reading and binarising {len(trees)} trees: {both:.1f} s\n")
    print("| m | estimator | F1 | learning s | with reading s | EM / this | with reading |")
    print("|---|---|---|---|---|---|---|")
    for states in chosen.states:
        em = [
            run(
                trees,
                gold,
                preparing,
                n_states=states,
                estimator="em",
                n_iter=chosen.iterations,
                seed=s,
            )
            for s in range(chosen.seeds)
        ]
        mean = statistics.fmean(one.seconds for one in em)
        scores = ", ".join(f"{one.f1:.2f}" for one in em)
        name = f"EM, {chosen.iterations} iterations, best of {len(em)} ({scores})"
        best = max(one.f1 for one in em)
        print(f"| {states} | {name} | {best:.2f} | {mean:.1f} | {mean + both:.1f} | 1 | 1 |")
        for label, settings in (
            ("clustering", {"estimator": "clustering"}),
            ("moments", {"estimator": "moments"}),
        ):
            runs = [
                run(trees, gold, preparing, n_states=states, seed=s, **settings)
                for s in range(chosen.seeds)
            ]
            own = statistics.fmean(one.seconds for one in runs)
            f1 = statistics.fmean(one.f1 for one in runs)
            spread = f"{min(o.f1 for o in runs):.2f} to {max(o.f1 for o in runs):.2f}"
            print(
                f"| {states} | {label}, mean of {len(runs)} ({spread}) | {f1:.2f} | {own:.1f} "
                f"| {own + both:.1f} | {mean / own:.1f} | {(mean + both) / (own + both):.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    with single_threaded():
        main()
