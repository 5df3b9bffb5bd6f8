"""Constituency parsing out of domain: trained on one treebank, scored on the other.

    python benchmarks/constituency_domains.py                       # GUM and CRAFT, both ways
    python benchmarks/constituency_domains.py --clusters own.paths

``$EIGENTEXT_DATA`` names the folder with constituency/{gum,craft}/{train,dev}.mrg.  Every parser
is trained with and without classes of words from raw text (a Brown paths file; unless told,
wcluster's of the data folder) and scored on the dev part of both treebanks: F1 by EVALB's rules
(COLLINS.prm).
"""

from __future__ import annotations

import argparse

from _data import data

from eigentext.constituency import LPCFG
from eigentext.evaluate.parseval import evaluate
from eigentext.features.word_classes import WordClasses
from eigentext.language.formats.brown_paths import read_paths
from eigentext.language.formats.prm import EvalbSettings
from eigentext.language.formats.ptb import read_trees
from eigentext.linalg.ties import single_threaded

TREEBANKS = ("gum", "craft")


def main() -> None:
    """Print F1 and tagging of every pair of treebanks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--clusters", default=None, help="Brown paths of words of raw text")
    parser.add_argument("--limit", type=int, default=1000, help="only so many dev sentences")
    options = parser.parse_args()
    folder = data() / "constituency"
    paths = options.clusters or str(data() / "peers" / "wcluster-wiki50k-500.paths.xz")
    classes = WordClasses.from_paths(read_paths(paths))
    gold = {
        name: list(read_trees(str(folder / name / "dev.mrg")))[: options.limit]
        for name in TREEBANKS
    }
    print("| trained on | classes of words | scored on | F1 | tagging |")
    print("|---|---|---|---|---|")
    for name in TREEBANKS:
        train = list(read_trees(str(folder / name / "train.mrg")))
        for known in (None, classes):
            model = LPCFG().fit(train, classes=known)
            for other in TREEBANKS:
                found = [model.parse(tree.words).tree for tree in gold[other]]
                result = evaluate(gold[other], found, EvalbSettings.collins(), failed="empty")
                told = "none" if known is None else "yes"
                f1, tags = result.all.f1, result.all.tag_accuracy
                print(f"| {name} | {told} | {other} | {f1:.2f} | {tags:.2f} |", flush=True)


if __name__ == "__main__":
    with single_threaded():
        main()
