"""Constituency parsing with few trees: word classes, plain sentences and brackets as well.

    python benchmarks/constituency_semi.py --share 10 --states 8 --seeds 3
    python benchmarks/constituency_semi.py --share 100 --states 16 --seeds 3 --only trees,paths

``$EIGENTEXT_DATA`` names the folder with constituency/gum/{train,dev}.mrg, a Brown paths file in
peers/ and plain text in text/.  ``--share`` percent of the training trees are given (every tenth
for 10); the others are sentences without trees, or with their brackets but no labels.  F1 and
tagging on dev, EVALB's rules with COLLINS.prm; CPU seconds of one thread, reading not included.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from eigentext.base.files.opening import numbered_lines
from eigentext.constituency import LPCFG
from eigentext.constituency.chart.constraints import Constraints
from eigentext.constituency.learn.semi import FreeText, partial_brackets
from eigentext.constituency.settings import LPCFGSettings
from eigentext.evaluate.parseval import evaluate
from eigentext.features.word_classes import WordClasses
from eigentext.language.formats.brown_paths import read_paths
from eigentext.language.formats.prm import EvalbSettings
from eigentext.language.formats.ptb import read_trees
from eigentext.language.formats.word2vec import load_vectors
from eigentext.linalg.ties import single_threaded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.language.trees.constituent import Tree

ALL = (
    "trees",
    "em",
    "paths",
    "vectors",
    "paths+vectors",
    "text",
    "wiki",
    "brackets",
    "paths+text",
    "paths+brackets",
)


def brackets_only(tree: Tree) -> tuple[list[str], Constraints]:
    """The tokens, and the spans of more than one word without labels."""
    words, known = partial_brackets(tree)
    spans = dict.fromkeys((one[0], one[1]) for one in known.required if one[1] - one[0] > 1)
    return words, Constraints(required=tuple(spans))


def main() -> None:
    """Print one row for each kind of knowledge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--share", type=int, default=10, help="percent of the training trees")
    parser.add_argument("--states", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument(
        "--only", default=",".join(ALL), help=f"rows, parts joined by +; else {','.join(ALL)}"
    )
    parser.add_argument("--paths", default=None, help="Brown paths; else those in peers/")
    parser.add_argument("--vectors", default=None, help="word2vec file; without it no such rows")
    parser.add_argument("--wiki", type=int, default=5000, help="sentences of plain text")
    parser.add_argument("--limit", type=int, default=None, help="only so many dev sentences")
    parser.add_argument("--weight", type=float, default=LPCFGSettings.unlabelled_weight)
    parser.add_argument("--partial-weight", type=float, default=LPCFGSettings.partial_weight)
    parser.add_argument("--rounds", type=int, default=LPCFGSettings.unlabelled_rounds)
    options = parser.parse_args()
    folder = Path(os.environ["EIGENTEXT_DATA"])
    gum = folder / "constituency" / "gum"
    every = round(100 / options.share)
    trees = list(read_trees(str(gum / "train.mrg")))
    some, others = trees[::every], [tree for i, tree in enumerate(trees) if i % every]
    gold = list(read_trees(str(gum / "dev.mrg")))[: options.limit]
    wanted = options.only.split(",")

    paths_file = options.paths or str(folder / "peers" / "wcluster-wiki50k-200.paths.xz")
    ways = {"paths": WordClasses.from_paths(read_paths(paths_file))}
    if options.vectors is not None:
        ways["vectors"] = WordClasses.from_vectors(*load_vectors(options.vectors))

    def wiki() -> list[list[str]]:
        source = sorted(str(path) for path in (folder / "text").glob("*wiki*"))[0]
        lines = (line.split() for _, line in numbered_lines(source))
        return list(islice((one for one in lines if 0 < len(one) < 30), options.wiki))

    def fit(kind: str, seed: int) -> LPCFG:
        parts = kind.split("+")
        # EM on text begins with one more E-step on the trees: "em" is that alone
        model = LPCFG(
            n_states=options.states,
            seed=seed,
            n_iter=2 if "em" in parts else None,
            unlabelled_weight=options.weight,
            partial_weight=options.partial_weight,
            unlabelled_rounds=options.rounds,
        )
        classes = [ways[part] for part in parts if part in ways]
        merged = WordClasses.merged(classes) if classes else None
        plain: list[Sequence[str]] = []
        if "text" in parts:
            plain += [tree.words for tree in others]
        if "wiki" in parts:
            plain += wiki()
        known = [brackets_only(tree) for tree in others] if "brackets" in parts else []
        if not plain and not known:
            return model.fit(some, classes=merged)
        return model.fit(some, classes=merged, text=FreeText(plain, known))

    warm = LPCFG(n_states=2).fit(some[:50], text=FreeText([some[0].words]))
    warm.parse(gold[0].words)  # compiled first
    print(
        f"{len(some)} trees, m={options.states}, weights {options.weight} and "
        f"{options.partial_weight}, {options.rounds} round(s)\n"
    )
    print("| knowledge | F1 | tagging | training s | sentences used | dropped |")
    print("|---|---|---|---|---|---|")
    for kind in wanted:
        if ("vectors" in kind and "vectors" not in ways) or (
            not others and ("text" in kind or "brackets" in kind)
        ):
            continue
        f1, tagging, seconds, used, dropped = [], [], [], 0, 0
        for seed in range(options.seeds):
            start = time.process_time()
            model = fit(kind, seed)
            seconds.append(time.process_time() - start)
            found = evaluate(gold, parsed(model, gold), EvalbSettings.collins(), failed="empty")
            f1.append(found.all.f1)
            tagging.append(found.all.tag_accuracy)
            if hasattr(model, "semi_"):
                used, dropped = model.semi_.n_used, model.semi_.n_long + model.semi_.n_unparsed
        spread = f" ({min(f1):.2f} to {max(f1):.2f})" if len(f1) > 1 else ""
        print(
            f"| {kind} | {statistics.fmean(f1):.2f}{spread} | {statistics.fmean(tagging):.2f} "
            f"| {statistics.fmean(seconds):.1f} | {used} | {dropped} |",
            flush=True,
        )


def parsed(model: LPCFG, gold: Sequence[Tree]) -> list[Tree]:
    """Every sentence, tokens given."""
    return [model.parse(tree.words).tree for tree in gold]


if __name__ == "__main__":
    with single_threaded():
        main()
