"""Sentences without trees beside a small treebank: UAS of the generative parser with and without.

    python benchmarks/unlabelled.py
    python benchmarks/unlabelled.py --data tr-imst --trees 100 --ways all best

``$EIGENTEXT_DATA`` names the folder with dependency/{ewt,hu-szeged,tr-imst}.  Trees are the first
100, 300 and 1,000 of the training part; sentences without trees are the following ones, up to
``--text`` of them, with their gold tags (``--tags own``: with tags of a tagger that was trained on
the same trees), without heads.  Those of more than 25 words are passed over.  UAS is on the first
``--test`` sentences of dev, all words, gold tags.  The weight of sentences without trees is chosen
among 0, 0.02, 0.1 and 0.5 by 3 folds of the trees; the last column has UAS in these folds.  One
state a tag unless told.  CPU seconds of this process, one thread, compiled code warm.
"""

from __future__ import annotations

import argparse
import time
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from _data import data

from eigentext.dependency.generative.parser import GenerativeParser
from eigentext.dependency.generative.semi import Unlabelled
from eigentext.evaluate.bootstrap import compare
from eigentext.formats.conllu import read_sentences
from eigentext.linalg.determinism import single_threaded

if TYPE_CHECKING:
    from eigentext.formats.conllu import Sentence

LANGUAGES = {"ewt": "english"}


def counts_of(parser: GenerativeParser, sentences: list[Sentence]) -> np.ndarray:
    """(sentences, 3): right heads, words, words."""
    rows = []
    for sentence, answer in zip(sentences, parser.parse_many(sentences), strict=True):
        heads = np.array(sentence.heads)
        right = 0 if answer is None else int((answer.tree.heads == heads).sum())
        rows.append((right, len(heads), len(heads)))
    return np.array(rows, float)


def tagged_by_own(trees: list[Sentence], text: list[Sentence]) -> list[Sentence]:
    """The text with the tags of a tagger that knows the trees alone."""
    from eigentext.tagging.tagger import SequenceTagger

    for column in ("upos", "xpos"):
        tagger = SequenceTagger().fit([s.forms for s in trees], [s.column(column) for s in trees])
        tags = tagger.predict([s.forms for s in text])
        pairs = zip(text, tags, strict=True)
        text = [s.with_columns(**{column: list(its)}) for s, its in pairs]  # type: ignore[arg-type]
    return text


def measure(name: str, n_trees: int, given: argparse.Namespace) -> None:
    """The rows of a treebank of one size."""
    folder = data() / "dependency" / name
    train = list(read_sentences(str(folder / "train.conllu")))
    test = list(islice(read_sentences(str(folder / "dev.conllu")), given.test))
    trees, text = train[:n_trees], train[n_trees : n_trees + given.text]
    if given.tags == "own":
        text = tagged_by_own(trees, text)
    settings: dict[str, Any] = {
        "language": LANGUAGES.get(name, "generic"),
        "n_states": given.states,
    }
    plain = counts_of(GenerativeParser(**settings).fit(trees), test)
    base = 100 * plain[:, 0].sum() / plain[:, 1].sum()
    for way in given.ways:
        began = time.process_time()
        free = Unlabelled(text, given.weight, given.rounds, way)
        parser = GenerativeParser(**settings).fit(trees, unlabelled=free)
        spent = time.process_time() - began
        counts = counts_of(parser, test)
        result = compare(counts, plain)
        report = parser.unlabelled_
        held_out = ", ".join(f"{w:g}: {uas:.1f}" for w, uas in report.held_out.items())
        print(
            f"| {name} | {len(trees)} | {report.n_used} | {way} | {base:.2f} | "
            f"{base + result.difference:.2f} | {result.difference:+.2f} [{result.low:+.2f}, "
            f"{result.high:+.2f}] | {report.weight:g} | {held_out} | {spent:.0f} s |",
            flush=True,
        )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=["ewt", "hu-szeged", "tr-imst"])
    parser.add_argument("--trees", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--text", type=int, default=2000)
    parser.add_argument("--test", type=int, default=400)
    parser.add_argument("--states", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--weight", type=float, help="A fixed weight, chosen by nobody.")
    parser.add_argument("--ways", nargs="+", choices=("all", "best"), default=["all"])
    parser.add_argument("--tags", choices=("gold", "own"), default="gold")
    given = parser.parse_args()
    print("| treebank | trees | sentences | way | UAS of trees | with text | difference "
          "| weight | UAS in folds by weight | CPU |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|")
    with single_threaded():
        for name in given.data:
            for n_trees in given.trees:
                if name == "hu-szeged" and n_trees > 300:  # it has 910 trees in all
                    continue
                measure(name, n_trees, given)


if __name__ == "__main__":
    main()
