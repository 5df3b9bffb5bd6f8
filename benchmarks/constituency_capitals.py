"""F1 on dev sets as they are, in CAPITALS and in Title Case.

usage: EIGENTEXT_DATA=folder python benchmarks/constituency_capitals.py [--capitals-tell]

Of each dev set every n-th sentence is parsed as it is, and a third of those with other capitals;
``--capitals-tell`` takes every capital for what it is in running text, headline or not.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from eigentext.constituency import LPCFG, answer
from eigentext.evaluate.parseval import evaluate
from eigentext.language.formats.prm import EvalbSettings
from eigentext.language.formats.ptb import read_trees

EVERY = {"gum": 2, "craft": 6, "icepahc": 12}
RECASE = {
    "as it is": str,
    "CAPITALS": str.upper,
    "Title Case": lambda word: word[:1].upper() + word[1:],
}


def main() -> None:
    """One row a treebank, estimator and way of writing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", nargs="+", choices=EVERY, default=list(EVERY))
    parser.add_argument("--capitals-tell", action="store_true")
    options = parser.parse_args()
    if options.capitals_tell:
        answer.capitals_tell = lambda words, seen: True  # type: ignore[assignment]
    print("| treebank | estimator | written | F1 | tagging |\n|---|---|---|---|---|")
    for data in options.data:
        folder = Path(os.environ["EIGENTEXT_DATA"]) / "constituency" / data
        dev = list(read_trees(str(folder / "dev.mrg")))[:: EVERY[data]]
        other = data == "icepahc"
        grammar = {"heads": "neutral", "language": "generic"} if other else {}
        for estimator in ("clustering", "moments"):
            model = LPCFG(n_states=16, estimator=estimator, **grammar)
            model.fit(read_trees(str(folder / "train.mrg")))
            for name, recase in RECASE.items():
                gold = [
                    tree.with_words([recase(word) for word in tree.words])
                    for tree in (dev if recase is str else dev[::3])
                ]
                found = [model.parse(tree.words).tree for tree in gold]
                score = evaluate(gold, found, EvalbSettings.collins(), failed="empty").all
                row = f"| {data} | {estimator} | {name} | {score.f1:.2f} "
                print(f"{row}| {score.tag_accuracy:.2f} |", flush=True)


if __name__ == "__main__":
    main()
