"""Trees without a treebank: unlabelled F1 of induced brackets beside trees that know nothing.

    python benchmarks/induction.py                       # dev of GUM, CRAFT and IcePaHC
    python benchmarks/induction.py --split test --data gum craft

``$EIGENTEXT_DATA`` names the folder with constituency/{gum,craft,icepahc}.  A bracketer learns
from the words and gold tags of the training part (its first ``--train`` sentences); brackets of
training trees are not read.  Punctuation (every character is punctuation by Unicode, or the name
of a bracket) is taken out of text and trees; sentences have 3 to 10, 20 or 40 words without it.
Spans of one word and of the whole sentence are left out, each span counts once, labels do not,
and F1 is over all sentences together.  Random trees: every split is equally likely, mean of 5
seeds.  "right, cut at the verb" is cut where root=verb is, and right-branching in both parts.
CPU time of this process, one thread, compiled code warm.
"""

from __future__ import annotations

import argparse
import time
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from _data import data

from eigentext.evaluate.bootstrap import compare
from eigentext.evaluate.brackets import Span, spans_f1, spans_of
from eigentext.lab import Bracketer
from eigentext.lab.induction.model import is_punctuation
from eigentext.language.formats.ptb import read_trees
from eigentext.linalg.ties import single_threaded

if TYPE_CHECKING:
    from eigentext.language.trees.constituent import Tree

LENGTHS = (10, 20, 40)
VERBS = {"icepahc": ("VB", "VA", "BE", "HV", "DO", "DA", "MD", "RD")}  # tags of this treebank


def random_spans(n: int, rng: np.random.Generator) -> set[Span]:
    """A binary tree whose every split is equally likely."""
    spans, stack = set(), [(0, n)]
    while stack:
        start, end = stack.pop()
        if 1 < end - start < n:
            spans.add((start, end))
        if end - start > 1:
            split = int(rng.integers(start + 1, end))
            stack += [(start, split), (split, end)]
    return spans


def words_of(tree: Tree) -> list[tuple[str, str]]:
    """Words and tags."""
    return list(zip(tree.words, tree.tags, strict=True))


def cut_spans(tags: list[str], verbs: tuple[str, ...]) -> set[Span]:
    """Cut before the first verb, and right-branching in both parts."""
    n = len(tags)
    cut = next((k for k, tag in enumerate(tags) if k and tag.startswith(verbs)), 1)
    spans = {(i, cut) for i in range(cut - 1)} | {(i, n) for i in range(cut, n - 1)}
    return {span for span in spans if 1 < span[1] - span[0] < n}


def counts_of(gold: list[set[Span]], found: list[set[Span]]) -> np.ndarray:
    """(sentences, 3): matched, gold, predicted."""
    pairs = zip(gold, found, strict=True)
    return np.array([(len(a & b), len(a), len(b)) for a, b in pairs], float)


def measure(name: str, split: str, train: list[Tree], test: list[Tree]) -> None:
    """The rows of one treebank."""
    settings = {"verbs": VERBS[name]} if name in VERBS else {}
    began = time.process_time()
    model = Bracketer(**settings)
    model.fit([tree.words for tree in train], [tree.tags for tree in train])
    learned = time.process_time() - began
    words = [sum(not is_punctuation(word) for word in tree.words) for tree in test]
    gold = [spans_of(tree, is_punctuation) for tree in test]
    found: dict[str, list[set[Span]]] = {
        "right-branching": [{(i, n) for i in range(1, n - 1)} for n in words],
        "right, cut at the verb": [
            cut_spans([t for w, t in words_of(tree) if not is_punctuation(w)], model.verbs)
            for tree in test
        ],
        "left-branching": [{(0, j) for j in range(2, n)} for n in words],
    }
    cost = 0.0
    for root in ("middle", "first", "verb"):
        model.set_params(root=root)
        began = time.process_time()
        trees = [model.bracket(tree.words, tree.tags) for tree in test]
        cost = time.process_time() - began
        found[f"induced, root={root}"] = [spans_of(tree, is_punctuation) for tree in trees]
    rng = np.random.default_rng(0)
    chance = [[random_spans(n, rng) for n in words] for _ in range(5)]
    chosen = {most: [k for k, n in enumerate(words) if 2 < n <= most] for most in LENGTHS}

    def of(at: list[int], spans: list[set[Span]]) -> float:
        return 100 * spans_f1([gold[k] for k in at], [spans[k] for k in at])

    rows = {kind: [of(at, spans) for at in chosen.values()] for kind, spans in found.items()}
    rows["random, mean of 5"] = [
        float(np.mean([of(at, one) for one in chance])) for at in chosen.values()
    ]
    # a binary tree of n words has n - 2 brackets: the most are right if all gold ones are there
    rows["best binary trees"] = [
        200 * sum(len(gold[k]) for k in at) / sum(len(gold[k]) + words[k] - 2 for k in at)
        for at in chosen.values()
    ]
    print("| treebank | trees | up to 10 | up to 20 | up to 40 |\n|---|---|---|---|---|")
    for kind, figures in rows.items():
        print(f"| {name} {split} | {kind} | " + " | ".join(f"{f1:.1f}" for f1 in figures) + " |")
    sizes = ", ".join(str(len(at)) for at in chosen.values())
    all_gold = [gold[k] for k in chosen[40]]
    ours, rival = (
        counts_of(all_gold, [found[kind][k] for k in chosen[40]])
        for kind in ("induced, root=verb", "right-branching")
    )
    test_of = compare(ours, rival)
    print(
        f"\n{name}: {len(train)} sentences to learn from, {sizes} to measure; smoothing "
        f"{model.smoothing_:g}; {learned:.1f} CPU s to learn, {cost:.1f} to bracket "
        f"{len(test)} sentences; root=verb less right-branching up to 40 words "
        f"{test_of.difference:+.1f} [{test_of.low:+.1f}, {test_of.high:+.1f}]\n",
        flush=True,
    )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--data", nargs="+", default=["gum", "craft", "icepahc"])
    parser.add_argument("--train", type=int, default=12_000, help="Sentences to learn from.")
    parser.add_argument("--most", type=int, default=3_000, help="Sentences to measure on.")
    given = parser.parse_args()
    folder = data() / "constituency"
    with single_threaded():
        words, tags = [["a", "b", "c"]] * 4, [["A", "B", "C"]] * 4
        Bracketer(n_components=2).fit(words, tags).bracket(words[0], tags[0])  # compiles
        for name in given.data:
            train = islice(read_trees(str(folder / name / "train.mrg")), given.train)
            test = islice(read_trees(str(folder / name / f"{given.split}.mrg")), given.most)
            measure(name, given.split, list(train), list(test))


if __name__ == "__main__":
    main()
