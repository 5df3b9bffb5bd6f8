"""The reranker of the constituency parser: what it gives beside the decoders.

    python benchmarks/constituency_rerank.py                              # GUM dev
    python benchmarks/constituency_rerank.py --split test --ensemble 8
    python benchmarks/constituency_rerank.py --data craft

``$EIGENTEXT_DATA`` names the folder with constituency/{gum,craft,icepahc}/{train,dev,test}.mrg
and the Berkeley parser's output in peers/berkeley-*.mrg.  Weights are learned from lists of one
moments model (by cross-validation, ``eigentext.constituency.rerank``), and choose among the trees
of that model and of an ensemble; beside them stand the trees of max-constituents, the decoder
without a reranker.  F1 by EVALB's rules (COLLINS.prm), times in CPU seconds of one thread.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from constituency_gum import RULES, classes_of, counts, grammar_of, peer_trees

from eigentext.constituency import LPCFG
from eigentext.constituency.rerank import (
    DECODER,
    N_TREES,
    Reranker,
    TreeList,
    WordKeys,
    frequent_words,
    parsed_lists,
    tree_list,
)
from eigentext.constituency.transform import restore
from eigentext.datasets import load_english
from eigentext.evaluate.bootstrap import compare
from eigentext.evaluate.parseval import ParsevalResult, evaluate, score_pair
from eigentext.language.formats.ptb import read_trees
from eigentext.language.trees.clean import clean
from eigentext.language.trees.constituent import Tree
from eigentext.linalg.ties import single_threaded
from eigentext.linear.lists import learn_weights

if TYPE_CHECKING:
    from collections.abc import Sequence


class Lists(NamedTuple):
    """The best trees of the sentences that are scored, by one parser."""

    parser: LPCFG
    lists: list[tuple[TreeList, list[Tree]]]

    def result(self, gold: Sequence[Tree], reranker: Reranker | None) -> ParsevalResult:
        """Scores of the trees that the reranker chooses, or of the first."""
        chosen = []
        for tree, (trees, candidates) in zip(gold, self.lists, strict=True):
            best = 0
            if reranker is not None and len(candidates) > 1:
                n_models, table = len(self.parser.grammar_.params), self.parser.label_table
                words = self.parser.grammar_.forms(tree.words)
                best = int(reranker.order(trees, n_models, words, table)[0])
            chosen.append(candidates[best])
        return evaluate(gold, chosen, RULES, failed="empty")

    def usual(self, gold: Sequence[Tree]) -> ParsevalResult:
        """Scores of the parser's own trees, by the decoder that it has without a reranker."""
        found = [self.parser.parse(tree.words).tree for tree in gold]
        return evaluate(gold, found, RULES, failed="empty")

    def oracle(self, gold: Sequence[Tree]) -> ParsevalResult:
        """Scores of the best tree of each list."""
        best = [
            max(candidates, key=lambda one, tree=tree: score_pair(tree, one, RULES).f1)
            for tree, (_, candidates) in zip(gold, self.lists, strict=True)
        ]
        return evaluate(gold, best, RULES, failed="empty")


def lists_of(parser: LPCFG, gold: Sequence[Tree]) -> Lists:
    """Parse all sentences."""
    lists = []
    grammar = parser.grammar_
    for tree in gold:
        forest = parser.forest(tree.words, N_TREES)
        if forest is None:
            none = TreeList(None, np.zeros(1))  # type: ignore[arg-type]
            lists.append((none, [parser.parse(tree.words).tree]))
            continue
        skeletons = [forest.skeleton(rank) for rank in range(len(forest.roots))]
        candidates = [
            restore(skeleton.tree(grammar.labels, tree.words), grammar.wrapper)
            for skeleton in skeletons
        ]
        lists.append((tree_list(forest, parser.label_table), candidates))
    return Lists(parser, lists)


def main() -> None:
    """Print the table, then the comparisons."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", choices=("gum", "craft", "icepahc"), default="gum")
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--states", type=int, default=24, help="of the moments model")
    parser.add_argument("--ensemble", type=int, default=1, help="models; 1: no ensemble")
    parser.add_argument("--ensemble-states", type=int, default=20, help="states in the ensemble")
    parser.add_argument("--clusters", default=None, help="Brown paths of words of raw text")
    parser.add_argument("--limit", type=int, default=None, help="only so many sentences")
    options = parser.parse_args()
    classes, grammar = classes_of(options.clusters), grammar_of(options.data)
    folder = Path(os.environ["EIGENTEXT_DATA"])
    treebank = folder / "constituency" / options.data
    gold = list(read_trees(str(treebank / f"{options.split}.mrg")))[: options.limit]
    train = [
        tree for tree in map(clean, read_trees(str(treebank / "train.mrg"))) if tree is not None
    ]
    small = [Tree.from_brackets(text) for text in load_english("train")]
    LPCFG(n_states=2, rerank=True).fit(small).parse(small[0].words)  # compiled code is warm

    one: dict[str, Any] = {"estimator": "moments", "n_states": options.states, **grammar}

    def fit(trees: Sequence[Tree]) -> LPCFG:
        return LPCFG(**one).fit(trees, classes=classes)

    start = time.process_time()
    parsers = {f"moments, m={options.states}": lists_of(fit(train), gold)}
    if options.ensemble > 1:
        settings = {"n_models": options.ensemble, "n_states": options.ensemble_states, **grammar}
        name = f"product of {options.ensemble}, m={options.ensemble_states}"
        parsers[name] = lists_of(LPCFG(**settings).fit(train, classes=classes), gold)
    print(f"training and parsing {len(gold)} sentences: {time.process_time() - start:.0f} s")
    start = time.process_time()
    lists = list(parsed_lists(train, fit))
    print(f"lists of {len(lists)} training sentences: {time.process_time() - start:.0f} s\n")
    frequent = frequent_words(train)

    print(
        "| features | number | training s | "
        + " | ".join(f"{name}: F1" for name in parsers)
        + " |"
    )
    print("|---|---|---|" + "---|" * len(parsers))
    first = {name: found.result(gold, None) for name, found in parsers.items()}
    _row("none: the first trees", 0, 0.0, first)
    usual = {name: found.usual(gold) for name, found in parsers.items()}
    _row("none: trees of max-constituents", 0, 0.0, usual)
    words = WordKeys(frozenset(frequent), LPCFG(**one).language)
    start = time.process_time()
    weights = learn_weights((item.features(words) for item in lists), DECODER, fixed=True)
    seconds = time.process_time() - start
    reranker = Reranker(frequent, weights, LPCFG(**one).language)
    chosen = {of: found.result(gold, reranker) for of, found in parsers.items()}
    _row("all", len(weights.keys), seconds, chosen)
    best = {name: found.oracle(gold) for name, found in parsers.items()}
    _row(f"the best of {N_TREES} trees", 0, 0.0, best)
    print()
    peer = peer_trees(options.data, options.split, folder)
    for name, mine in chosen.items():
        rivals = [("its first trees", first[name]), ("its trees of max-constituents", usual[name])]
        if peer is not None:
            theirs = evaluate(gold, peer[: options.limit], RULES, failed="empty")
            rivals.append((f"Berkeley, stored output ({theirs.all.f1:.2f})", theirs))
        for rival, other in rivals:
            found = compare(counts(mine), counts(other))
            print(
                f"{name}, reranked - {rival}: {found.difference:+.2f} F1, "
                f"{found.low:+.2f} to {found.high:+.2f} (95%), p = {found.p_value:.4f}"
            )


def _row(name: str, number: int, seconds: float, results: dict[str, ParsevalResult]) -> None:
    scores = " | ".join(
        f"{result.all.f1:.2f} ({result.all.f1_with_errors:.2f})" for result in results.values()
    )
    print(f"| {name} | {number:,} | {seconds:.0f} | {scores} |", flush=True)


if __name__ == "__main__":
    with single_threaded():
        main()
