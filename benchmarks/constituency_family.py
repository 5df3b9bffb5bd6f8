"""Two relatives of the constituency parser: rules as sums of products, and the pivot estimator.

    python benchmarks/constituency_family.py                      # both, GUM dev
    python benchmarks/constituency_family.py --part rank --data craft --every 3
    python benchmarks/constituency_family.py --part pivot --every 1
    python benchmarks/constituency_family.py --part share --data icepahc --every 10

``$EIGENTEXT_DATA`` names the folder with constituency/{gum,craft,icepahc}/{train,dev}.mrg.

``rank``   one model is trained, then its rules are brought into each form in turn, and the same
           sentences are parsed: F1, CPU milliseconds a sentence, those of them in the fine pass
           (which alone the form of rules changes), megabytes of rules, CPU seconds of the fit
``pivot``  estimators beside each other, without the bracket model: F1, CPU seconds of training,
           and the Berkeley parser's stored output on the same sentences; the difference from
           ``pivot`` with the 95% interval of a paired bootstrap over sentences
``share``  F1 of the pivot estimator on held-out training trees (every tenth of those taken, the
           first 250 of them), by the share of nodes that a pivot must have

Of dev, the first ``--limit`` sentences; tokens given, tags not; F1 by EVALB's rules (COLLINS.prm).
Training is on every ``--every``-th tree.  One thread, compiled code warm.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from _data import data
from constituency_gum import RULES, grammar_of, peer_trees

from eigentext.constituency import LPCFG
from eigentext.constituency import model as parsing
from eigentext.datasets import load_english
from eigentext.evaluate.bootstrap import compare, f1
from eigentext.evaluate.parseval import evaluate
from eigentext.lab.pivot import learn as pivot
from eigentext.language.formats.ptb import read_trees
from eigentext.language.trees.constituent import Tree
from eigentext.linalg.ties import single_threaded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eigentext.constituency.params import LatentParams


class FinePasses:
    """The fine pass with a clock."""

    def __init__(self) -> None:
        self.seconds, self.run = 0.0, parsing.fine_pass

    def __call__(self, *arguments: Any) -> Any:
        """What the fine pass gives."""
        start = time.process_time()
        found = self.run(*arguments)
        self.seconds += time.process_time() - start
        return found


def counts_of(gold: Sequence[Tree], found: Sequence[Tree | None]) -> np.ndarray:
    """(sentences, 3) by EVALB's rules; a failed parse counts as empty."""
    return np.array(evaluate(gold, found, RULES, failed="empty").counts(), float)


def parsed(parser: LPCFG, gold: Sequence[Tree]) -> tuple[np.ndarray, float, float]:
    """Counts for F1, and CPU milliseconds a sentence: of all, and of the fine pass."""
    parser.parse(gold[0].words)
    clock = FinePasses()
    vars(parsing)["fine_pass"] = clock
    start = time.process_time()
    found = [parser.parse(tree.words).tree for tree in gold]
    seconds = time.process_time() - start
    vars(parsing)["fine_pass"] = clock.run
    return counts_of(gold, found), 1000 * seconds / len(gold), 1000 * clock.seconds / len(gold)


def size_of(params: LatentParams) -> float:
    """Megabytes of the rules in memory, as they are stored."""
    low = params.low_rank
    return (params.tensor.nbytes if low is None else low.values.nbytes) / 1e6


def forms(params: LatentParams, ranks: Sequence[int]) -> Iterator[tuple[str, LatentParams, float]]:
    """The rules of a model in each form, and the CPU seconds that it took to find it."""
    whole = replace(params, tensor=params.whole_tensor, low_rank=None)
    yield "whole tensors", whole, 0.0
    start = time.process_time()
    tucker = whole.in_low_rank()
    yield "Tucker, 5% left out", tucker, time.process_time() - start
    for rank in ranks:
        start = time.process_time()
        products = whole.in_products(rank)
        yield f"at most {rank} products", products, time.process_time() - start


def rank_table(options: argparse.Namespace, trees: Sequence[Tree], gold: Sequence[Tree]) -> None:
    """Forms of the rules of one model for each estimator."""
    model = f"{options.data}, {options.states} states"
    print(f"| {model} | rules | F1 | ms | fine pass ms | MB | fit s |")
    print("|---|---|---|---|---|---|---|")
    for estimator in options.estimators:
        # a rank that saves nothing leaves all tensors whole, also those of moments
        settings = {"estimator": estimator, "n_states": options.states, "rank": 255}
        parser = LPCFG(**settings, **grammar_of(options.data)).fit(trees)
        for name, params, fit in forms(parser.grammar_.params[0], options.ranks):
            parser.grammar_ = replace(parser.grammar_, params=(params,))
            counts, ms, fine = parsed(parser, gold)
            own = float(f1(counts.sum(0)))
            row = f"{own:.2f} | {ms:.2f} | {fine:.2f} | {size_of(params):.1f} | {fit:.1f}"
            print(f"| {estimator} | {name} | {row} |", flush=True)


def pivot_table(options: argparse.Namespace, trees: Sequence[Tree], gold: Sequence[Tree]) -> None:
    """Estimators beside each other."""
    rows: list[tuple[str, dict[str, Any]]] = [
        ("plain PCFG", {"estimator": "clustering", "n_states": 1}),
        ("clustering", {"estimator": "clustering"}),
        ("moments", {"estimator": "moments"}),
        ("pivot", {"estimator": "pivot"}),
        ("pivot, 1 iteration of EM", {"estimator": "pivot", "n_iter": 1}),
        ("em from random, 10 iterations", {"estimator": "em", "n_iter": 10}),
    ]
    about = f"{options.data}, {len(trees)} trees, {options.pivot_states} states"
    print(f"| {about} | F1 | pivot is ahead by | training s |\n|---|---|---|---|")
    peer = peer_trees(options.data, "dev", data())
    found: list[tuple[str, np.ndarray, str]] = []
    if peer is not None and options.every == 1:
        found.append(("Berkeley, stored output", counts_of(gold, peer[: len(gold)]), ""))
    for name, settings in rows:
        start = time.process_time()
        known = {"n_states": options.pivot_states, "bracket_weight": 0.0} | settings
        parser = LPCFG(**known, **grammar_of(options.data)).fit(trees)
        training = time.process_time() - start
        found.append((name, parsed(parser, gold)[0], f"{training:.1f}"))
    own = next(counts for name, counts, _ in found if name == "pivot")
    for name, counts, cost in found:
        told = compare(own, counts)
        ahead = f"{told.difference:+.2f} ({told.low:+.2f} to {told.high:+.2f})"
        print(f"| {name} | {told.second:.2f} | {ahead if name != 'pivot' else ''} | {cost} |")


def share_table(options: argparse.Namespace, trees: Sequence[Tree]) -> None:
    """The pivot estimator with each share, on trees held out of training."""
    kept = [tree for at, tree in enumerate(trees) if at % 10]
    held = trees[::10][:250]
    print(f"| {options.data}, {len(kept)} trees, {len(held)} held out | F1 |\n|---|---|")
    ways: list[tuple[str, float]] = [("clustering", 0.0), ("moments", 0.0)]
    for estimator, share in ways + [("pivot", share) for share in options.shares]:
        vars(pivot)["_SHARE"] = share
        parser = LPCFG(
            n_states=options.pivot_states,
            bracket_weight=0.0,
            estimator=estimator,
            **grammar_of(options.data),
        ).fit(kept)
        told = f"{estimator}, share {share:g}" if estimator == "pivot" else estimator
        print(f"| {told} | {float(f1(parsed(parser, held)[0].sum(0))):.2f} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--part", choices=("rank", "pivot", "share", "both"), default="both")
    parser.add_argument("--data", choices=("gum", "craft", "icepahc"), default="gum")
    parser.add_argument("--states", type=int, default=24, help="of the models whose form is tried")
    parser.add_argument("--pivot-states", type=int, default=16, help="of the estimators")
    parser.add_argument(
        "--shares", type=float, nargs="+", default=[0.0, 0.01, 0.03, 0.1, 0.3, 0.6]
    )
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 4, 8], help="to be tried")
    parser.add_argument("--estimators", nargs="+", default=["clustering", "moments"])
    parser.add_argument("--every", type=int, default=1, help="train on every so-many-th tree")
    parser.add_argument("--limit", type=int, default=300, help="so many sentences of dev")
    options = parser.parse_args()
    treebank = data() / "constituency" / options.data
    trees = list(read_trees(str(treebank / "train.mrg")))[:: options.every]
    gold = list(read_trees(str(treebank / "dev.mrg")))[: options.limit]
    sample = [Tree.from_brackets(text) for text in load_english("train")]
    for settings in ({"rank": 1}, {"estimator": "pivot", "n_iter": 1}):
        LPCFG(n_states=4, **settings).fit(sample).parse(gold[0].words)
    if options.part in ("rank", "both"):
        rank_table(options, trees, gold)
    if options.part in ("pivot", "both"):
        pivot_table(options, trees, gold)
    if options.part == "share":
        share_table(options, trees)


if __name__ == "__main__":
    with single_threaded():
        main()
