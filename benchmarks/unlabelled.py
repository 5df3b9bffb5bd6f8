"""Sentences without trees beside a small treebank: the generative parser, or latent trees.

    python benchmarks/unlabelled.py
    python benchmarks/unlabelled.py --data tr-imst --trees 100 --ways all best
    python benchmarks/unlabelled.py --model latent --trees 100 300

``$EIGENTEXT_DATA`` names the folder with dependency/{ewt,hu-szeged,tr-imst}.  Trees are the first
100, 300 and 1,000 of the training part; sentences without trees are the following ones, up to
``--text`` of them, with their gold tags (``--tags own``: with tags of a tagger that was trained on
the same trees), without heads.  Those of more than 25 words are passed over.  UAS is on the first
``--test`` sentences of dev, all words, gold tags.  The weight of sentences without trees is chosen
among 0, 0.02, 0.1 and 0.5 by 3 folds of the trees; the last column has UAS in these folds.  One
state a tag unless told.  CPU seconds of this process, one thread, compiled code warm.

``--model latent``: latent tree models of 40 states.  Pairs are sentences of dev whose tree the
first-order graph parser of the same trees got wrong; the figure is the share of pairs, in percent,
in which the gold tree has the higher score, ties half.  The weight is chosen by such an order in
folds of the trees.
"""

from __future__ import annotations

import argparse
import time
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from _data import data

from eigentext.dependency import DependencyParser
from eigentext.dependency.generative.parser import GenerativeParser
from eigentext.dependency.latent.model import LatentTreeModel
from eigentext.dependency.settings import Unlabelled
from eigentext.evaluate.bootstrap import compare
from eigentext.language.formats.conllu import read_sentences, to_dependency_tree
from eigentext.linalg.ties import single_threaded

if TYPE_CHECKING:
    from collections.abc import Callable

    from eigentext.language.formats.conllu import ConlluBlock

    Judged = tuple[Callable[[Unlabelled | None], Any], Callable[[Any], np.ndarray]]

LANGUAGES = {"ewt": "english"}


def counts_of(parser: GenerativeParser, sentences: list[ConlluBlock]) -> np.ndarray:
    """(sentences, 3): right heads, words, words."""
    rows = []
    for sentence, answer in zip(sentences, parser.parse_many(sentences), strict=True):
        heads = np.array(sentence.heads)
        right = 0 if answer is None else int((answer.tree.heads == heads).sum())
        rows.append((right, len(heads), len(heads)))
    return np.array(rows, float)


def tagged_by_own(trees: list[ConlluBlock], text: list[ConlluBlock]) -> list[ConlluBlock]:
    """The text with the tags of a tagger that knows the trees alone."""
    from eigentext.tagging.sequence.tagger import SequenceTagger

    for column in ("upos", "xpos"):
        tagger = SequenceTagger().fit([s.forms for s in trees], [s.column(column) for s in trees])
        tags = tagger.predict([s.forms for s in text])
        pairs = zip(text, tags, strict=True)
        text = [s.with_columns(**{column: list(its)}) for s, its in pairs]  # type: ignore[arg-type]
    return text


def parser_judged(
    name: str, trees: list[ConlluBlock], test: list[ConlluBlock], given: argparse.Namespace
) -> Judged:
    """How a generative parser learns, and its right heads in test sentences."""
    language: Any = LANGUAGES.get(name, "generic")

    def learn(text: Unlabelled | None) -> GenerativeParser:
        parser = GenerativeParser(language=language, n_states=given.states or 1)
        return parser.fit(trees, unlabelled=text)

    return learn, lambda parser: counts_of(parser, test)


def latent_judged(
    name: str, trees: list[ConlluBlock], test: list[ConlluBlock], given: argparse.Namespace
) -> Judged:
    """How a latent tree model learns, and which of the pairs of test sentences are in order."""
    language: Any = LANGUAGES.get(name, "generic")
    n_states = given.states or 40
    wrong = DependencyParser(order=1, labels=False, projective=True, epochs=4).fit(trees)
    pairs = [
        (tree, np.stack([tree.heads, np.array(answer.heads)]))
        for tree, answer in zip(map(to_dependency_tree, test), wrong.predict(test), strict=True)
        if (tree.heads != np.array(answer.heads)).any()
    ]

    def learn(text: Unlabelled | None) -> LatentTreeModel:
        model = LatentTreeModel(n_states, language=language, structure=given.structure)
        return model.fit(map(to_dependency_tree, trees), unlabelled=text)

    def in_order(model: LatentTreeModel) -> np.ndarray:
        rows = []
        for tree, heads in pairs:
            gold, other = model.log_probs(tree.forms, tree.tags, heads)
            rows.append(((gold > other) + 0.5 * (gold == other), 1, 1))
        return np.array(rows, float)

    return learn, in_order


def measure(name: str, n_trees: int, given: argparse.Namespace) -> None:
    """The rows of a treebank of one size."""
    folder = data() / "dependency" / name
    train = list(read_sentences(str(folder / "train.conllu")))
    test = list(islice(read_sentences(str(folder / "dev.conllu")), given.test))
    trees, text = train[:n_trees], train[n_trees : n_trees + given.text]
    if given.tags == "own":
        text = tagged_by_own(trees, text)
    judged = {"generative": parser_judged, "latent": latent_judged}[given.model]
    learn, right = judged(name, trees, test, given)
    plain = right(learn(None))
    base = 100 * plain[:, 0].sum() / plain[:, 1].sum()
    for way in given.ways:
        began = time.process_time()
        model = learn(Unlabelled(text, given.weight, given.rounds, way))
        spent = time.process_time() - began
        counts = right(model)
        result = compare(counts, plain)
        report = model.unlabelled_
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
    parser.add_argument("--model", choices=("generative", "latent"), default="generative")
    parser.add_argument("--structure", default="", help="What nodes of latent trees show.")
    parser.add_argument("--states", type=int, help="By default 1 a tag, or 40 of latent trees.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--weight", type=float, help="A fixed weight, chosen by nobody.")
    parser.add_argument("--ways", nargs="+", choices=("all", "best"), default=["all"])
    parser.add_argument("--tags", choices=("gold", "own"), default="gold")
    given = parser.parse_args()
    what = {"generative": "UAS", "latent": "in order"}[given.model]
    print(f"| treebank | trees | sentences | way | {what} of trees | with text | difference "
          f"| weight | {what} in folds by weight | CPU |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|")
    with single_threaded():
        for name in given.data:
            for n_trees in given.trees:
                if name == "hu-szeged" and n_trees > 600:  # it has 910 trees in all
                    continue
                measure(name, n_trees, given)


if __name__ == "__main__":
    main()
