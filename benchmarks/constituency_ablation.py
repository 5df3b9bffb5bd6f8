"""What each part of the constituency parser is worth, on GUM dev.

    python benchmarks/constituency_ablation.py                 # every row
    python benchmarks/constituency_ablation.py --only features

Each row changes one thing of the default model (clustering, or moments where the row says so);
F1 by EVALB's rules with COLLINS.prm, mean over seeds.  ``$EIGENTEXT_DATA`` names the data.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigentext.constituency import LPCFG
from eigentext.constituency.settings import INSIDE_GROUPS, OUTSIDE_GROUPS, Smoothing
from eigentext.evaluate.parseval import evaluate
from eigentext.language.formats.prm import EvalbSettings
from eigentext.language.formats.ptb import read_trees
from eigentext.linalg.ties import single_threaded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eigentext.language.trees.constituent import Tree

Row = tuple[str, str, dict[str, Any]]
PAPER = {"inside": ("rule",), "outside": ("parent", "next_word")}


def rows() -> Iterator[Row]:
    """(part, what is changed, settings)."""
    moments = {"estimator": "moments"}
    yield "default", "clustering", {}
    yield "default", "moments", moments
    yield "features", "the paper's examples: rule; parent, next word", PAPER
    yield "features", "the same, moments", {**PAPER, **moments}
    inside = ("rule", "left_rule", "right_rule")
    yield "features", "and the children's rules", {**PAPER, "inside": inside}
    outside = ("parent", "grandparent", "path", "sibling", "next_word")
    yield "features", "and the rules above", {"inside": inside, "outside": outside}
    for group in INSIDE_GROUPS:
        rest = tuple(other for other in INSIDE_GROUPS if other != group)
        yield "features", f"inside without {group}", {"inside": rest}
    for group in OUTSIDE_GROUPS:
        rest = tuple(other for other in OUTSIDE_GROUPS if other != group)
        yield "features", f"outside without {group}", {"outside": rest}
    for kappa in (0.0, 5.0, 500.0, 1e9):
        name = "no scaling by frequency" if kappa == 1e9 else f"kappa = {kappa:g}"
        yield "scaling", f"clustering, {name}", {"kappa": kappa}
        yield "scaling", f"moments, {name}", {"kappa": kappa, **moments}
    base = Smoothing()
    yield (
        "smoothing",
        "clustering, no back-off of rules",
        {"smoothing": replace(base, C_rule=0.0, C_pair=0.0, C_single=0.0)},
    )
    for name in ("C_rule", "C_pair", "C_single"):
        yield "smoothing", f"clustering, {name} = 0", {"smoothing": replace(base, **{name: 0.0})}
    yield (
        "smoothing",
        "clustering, no states in the lexicon's back-off",
        {"smoothing": replace(base, k_state=0.0)},
    )
    for name in ("C_mean", "C_pair", "C_triple", "ridge"):
        yield (
            "smoothing",
            f"moments, {name} = 0",
            {**moments, "smoothing": replace(base, **{name: 0.0})},
        )
    yield "smoothing", "moments, plain (the paper)", {**moments, "plain": True}
    for direction in ("right", "left"):
        for h in (1, 2):
            settings = {"direction": direction, "markov_order": h}
            yield "binarisation", f"{direction}, h = {h}", settings
    for h in (0, 2, 3):
        yield "binarisation", f"head-outward, h = {h}", {"markov_order": h}
    yield "binarisation", "head-outward, neutral head rules", {"heads": "neutral"}
    yield "decoder", "max-rule-product", {"decoder": "max-rule-product"}
    yield "decoder", "max-recall", {"decoder": "max-recall"}
    yield "decoder", "viterbi", {"decoder": "viterbi"}
    yield "decoder", "moments, max-rule-product", {**moments, "decoder": "max-rule-product"}
    yield "decoder", "moments, max-recall", {**moments, "decoder": "max-recall"}
    for em in (0, 3, 10):
        yield "em", f"clustering and {em} EM iterations", {"n_iter": em}
    for states in (1, 4, 8, 12, 20, 24, 32):
        yield "states", f"clustering, m = {states}", {"n_states": states}
        yield "states", f"moments, m = {states}", {"n_states": states, **moments}
    yield "states", "clustering, m from the spectrum", {"n_states": "auto"}


def score(trees: Sequence[Tree], gold: Sequence[Tree], settings: dict[str, Any]) -> list[float]:
    """F1, tagging accuracy, training seconds, sentences a second."""
    start = time.process_time()
    parser = LPCFG(**settings).fit(trees)
    training = time.process_time() - start
    start = time.process_time()
    found = [parser.parse(tree.words).tree for tree in gold]
    speed = len(gold) / (time.process_time() - start)
    figures = evaluate(gold, found, EvalbSettings.collins(), failed="empty").all
    return [figures.f1, figures.tag_accuracy, training, speed]


def main() -> None:
    """Print one table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--only", nargs="+", default=None, help="parts: features, decoder, ...")
    options.add_argument("--seeds", type=int, default=2)
    options.add_argument("--limit", type=int, default=None, help="only so many dev sentences")
    chosen = options.parse_args()
    folder = Path(os.environ["EIGENTEXT_DATA"]) / "constituency" / "gum"
    gold = list(read_trees(str(folder / "dev.mrg")))[: chosen.limit]
    trees = list(read_trees(str(folder / "train.mrg")))
    print("| part | setting | F1 | tagging | training s | sentences/s |")
    print("|---|---|---|---|---|---|")
    for part, name, settings in rows():
        if chosen.only and part not in chosen.only:
            continue
        runs = [score(trees, gold, {**settings, "seed": seed}) for seed in range(chosen.seeds)]
        f1, tagging, training, speed = map(statistics.fmean, zip(*runs, strict=True))
        print(
            f"| {part} | {name} | {f1:.2f} | {tagging:.2f} | {training:.1f} | {speed:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    with single_threaded():
        main()
