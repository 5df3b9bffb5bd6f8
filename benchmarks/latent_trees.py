"""Latent tree scores against real parser errors: does the gold tree score above a wrong one?

    python benchmarks/latent_trees.py                        # MaltParser's wrong trees, EWT dev
    python benchmarks/latent_trees.py --against parser --lists FOLDER
    python benchmarks/latent_trees.py --table k              # k = 5 .. 50, raw operators and valid

Pairs are sentences of EWT's development set whose tree the parser got wrong; the figure is the
share of pairs in which the gold tree has the higher score (ties count half), with its 95 percent
interval.  ``--against parser`` takes the 1-best trees of our own first-order parser, whose 50-best
lists are made once and kept in FOLDER; then ``--table combined`` is there, too.  CPU seconds, one
thread, compiling done before.
"""

from __future__ import annotations

import argparse
import os
import time
from itertools import islice
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from protocols.text_dictionary import learn_text_dictionary

from eigentext.dependency.latent.model import LatentTreeModel
from eigentext.dependency.latent.moments import TreeMoments, treebank_dictionary
from eigentext.dependency.latent.observations import Observations, WordForest
from eigentext.dependency.latent.operators import SpectralTreeOperators, examine, negative_rate
from eigentext.dependency.rerank.lists import KBestLists, lists_of
from eigentext.language.formats import conllu, conllx

DATA = Path(os.environ.get("EIGENTEXT_DATA", "data"))
KS = (5, 10, 20, 30, 40, 50)


class Scores:
    """Pairs of a gold and a wrong tree, and how a scorer does on them."""

    def __init__(self, gold, wrong):
        both = list(zip(gold, wrong, strict=True))
        self.places = [at for at, (tree, other) in enumerate(both) if (tree.heads != other).any()]
        self.pairs = [both[at] for at in self.places]

    def accuracy(self, scores):
        """Share of pairs in order, and half the width of its interval."""
        found = []
        for tree, wrong in self.pairs:
            a, b = scores(tree.forms, tree.tags, np.stack([tree.heads, wrong]))
            found.append((a > b) + 0.5 * (a == b))
        p = float(np.mean(found))
        return p, 1.96 * float(np.sqrt(p * (1 - p) / len(found)))


def read(path):
    """Sentences, and their trees."""
    sentences = list(conllu.read_sentences(str(path)))
    return sentences, [conllu.to_dependency_tree(one) for one in sentences]


def malt_trees(part):
    """MaltParser's heads on the development or the test set."""
    path = str(DATA / "peers" / f"maltparser-ewt-{part}.conllx")
    return [np.array(one.heads, np.int32) for one in conllx.read_sentences(path)]


def own_lists(folder, train, dev):
    """50-best lists of the first-order parser: development set, and jackknifed training set."""
    from eigentext.dependency import DependencyParser

    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "dev.eig"

    def new():
        return DependencyParser(order=1, labels=False, projective=True, epochs=8, bits=24)

    if kept.exists():
        of_dev = KBestLists.load(kept)
    else:
        of_dev = lists_of(new().fit(train), dev, k=50)
        of_dev.save(kept)
    return of_dev


def line(*cells):
    """One row of a Markdown table."""
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def table_of_k(train, judged):
    """Raw operators and the valid form for each k."""
    line(
        "k",
        "raw operators",
        "negative",
        "seconds",
        "valid, shared states",
        "seconds",
        "valid, states by tag",
        "seconds",
    )
    line(*["---"] * 8)
    for k in KS:
        cells = [k]
        began = time.process_time()
        raw = SpectralTreeOperators(k, on_rank="ignore").fit(train)
        cells.append("{:.3f} ± {:.3f}".format(*judged.accuracy(raw.log_scores)))
        cells += [f"{raw.negative_rate:.2f}", f"{time.process_time() - began:.1f}"]
        for split in (False, True):
            if split and k < 18:
                cells += ["", ""]
                continue
            began = time.process_time()
            model = LatentTreeModel(k, split=split, n_iter=12).fit(train)
            seconds = time.process_time() - began
            cells.append("{:.3f} ± {:.3f}".format(*judged.accuracy(model.log_probs)))
            cells.append(f"{seconds:.1f}")
        line(*cells)


def models(train, judged, first=None):
    """The default, what it is made of, and EM from random states."""
    line("model", "gold above wrong", "seconds", "log p per word")
    line(*["---"] * 4)
    n_words = sum(map(len, train))
    for name, how in (
        ("default: 200 states by tag, 30 EM iterations", {}),
        ("mean of 4 such models", {"n_models": 4}),
        ("clusters only, no EM", {"n_iter": 0}),
        ("EM from random states", {"start": "random"}),
        ("nodes show their valence", {"structure": "valence"}),
        ("undirected", {"edges": "undirected"}),
        ("40 states shared by all tags", {"n_states": 40, "split": False}),
        ("100 states by tag", {"n_states": 100}),
    )[:first]:
        began = time.process_time()
        model = LatentTreeModel(**how).fit(train)
        seconds = time.process_time() - began
        value = model.log_likelihood(train) / n_words
        accuracy = "{:.3f} ± {:.3f}".format(*judged.accuracy(model.log_probs))
        line(name, accuracy, f"{seconds:.1f}", f"{value:.3f}")


def times(train, dev):
    """Moments at k = 10, EM iterations, scoring."""
    seen = Observations.learn(train)
    began = time.process_time()
    forest = WordForest.of(train, seen)
    dictionary = treebank_dictionary(forest, seen.sizes[0], 10)
    moments = TreeMoments.of(forest, dictionary.U)
    print(
        f"moments at k = 10 from {len(train)} trees: {time.process_time() - began:.2f} s "
        f"(the paper: under 2 minutes)"
    )
    for k in (10, 40):
        raw = SpectralTreeOperators(k, on_rank="ignore").fit(train)
        found = examine(raw.moments_, largest=float(np.abs(raw.dictionary_.U).max()))
        values = " ".join(f"{x:.2g}" for x in found.singular_values["E_L"][:12])
        print(
            f"k = {k}: singular values of E_L {values}; condition of E_L "
            f"{found.conditions['E_L']:.1e}, of Omega {found.conditions['Omega']:.1e}; sigma_k "
            f"{found.sigma_k:.1e}; smallest element {found.smallest:.1e}; bound (7) asks for "
            f"{found.triples_needed:.1e} triples, there are {found.n_triples}; negative scores "
            f"on dev: {negative_rate(raw, dev):.2f}"
        )
    assert moments.n > 0
    for how in ({"n_states": 40, "split": False}, {"n_states": 200}):
        marks = []
        model = LatentTreeModel(n_iter=3, **how)
        model.fit(train, progress=lambda *_, at=marks: at.append(time.process_time()))
        began = time.process_time()
        for tree in dev:
            model.log_probs(tree.forms, tree.tags, np.repeat(tree.heads[None], 50, axis=0))
        rate = 50 * len(dev) / (time.process_time() - began)
        print(
            f"{how}: {marks[-1] - marks[-2]:.2f} s for an EM iteration; {rate:.0f} trees a "
            "second scored, in lists of 50"
        )


def raw_tables(train, dev, judged):
    """Raw operators: does more data help, do policies for negative scores help?"""
    line("trees", "k", "dictionary", "events", "negative on dev", "clip", "abs")
    line(*["---"] * 7)
    whole = len(train)
    for n, k, dictionary, events in (
        (whole // 8, 10, "cca", "triples"),
        (whole // 4, 10, "cca", "triples"),
        (whole // 2, 10, "cca", "triples"),
        (whole, 10, "cca", "triples"),
        (whole, 10, "svd", "triples"),
        (whole, 10, "cca", "instruments"),
        (whole, 3, "cca", "triples"),
    ):
        raw = SpectralTreeOperators(k, dictionary=dictionary, events=events, on_rank="ignore")
        raw.fit(train[:n])
        cells = [f"{negative_rate(raw, dev):.2f}"]
        for policy in ("clip", "abs"):
            raw.negatives = policy
            cells.append("{:.3f} ± {:.3f}".format(*judged.accuracy(raw.log_scores)))
        line(n, k, dictionary, events, *cells)


def text_tables(train, dev, judged, text):
    """Raw operators whose dictionary comes from text instead of trees (100,000 sentences)."""
    with open(text, encoding="utf8") as lines:
        sentences = [line.split() for line in islice(lines, 100_000)]
    seen = SpectralTreeOperators(10, on_rank="ignore").fit(train).observations_
    line("dictionary from text", "k", "negative on dev", "clip", "abs")
    line(*["---"] * 5)
    for method in ("svd", "cca", "lrmvl"):
        found = learn_text_dictionary(sentences, seen, 10, method=method)
        raw = SpectralTreeOperators(10, dictionary=found, on_rank="ignore").fit(train)
        cells = [f"{negative_rate(raw, dev):.2f}"]
        for policy in ("clip", "abs"):
            raw.negatives = policy
            cells.append("{:.3f} ± {:.3f}".format(*judged.accuracy(raw.log_scores)))
        line(method, 10, *cells)


def combined(sentences, train, dev_sentences, judged):
    """Latent models, valence and distance together.

    The weights are learned on the first third of the training sentences, from the wrong trees of a
    parser and the scores of models that know the other two thirds only.
    """
    from sklearn.linear_model import LogisticRegression

    from eigentext.dependency import DependencyParser
    from eigentext.dependency.rerank.experts import fit_expert
    from eigentext.dependency.sentence import TaggedSentence

    third = len(sentences) // 3
    parser = DependencyParser(order=1, labels=False, projective=True, epochs=8, bits=24)
    lists = lists_of(parser.fit(sentences[third:]), sentences[:third], k=1)
    wrong = [lists[at].heads[0].astype(np.int32) for at in range(third)]
    held_out = Scores(train[:third], wrong)

    def differences(of_sentences, of_trees, scored, asked, ensemble):
        models = [
            LatentTreeModel(structure=structure, n_models=ensemble).fit(of_trees)
            for structure in ("", "valence")
        ]
        counted = [fit_expert(name, of_sentences) for name in ("valence", "distance")]
        rows = []
        for place, (tree, other) in zip(scored.places, scored.pairs, strict=True):
            both = np.stack([tree.heads, other])
            known = TaggedSentence.from_conllu(asked[place])
            found = [m.log_probs(tree.forms, tree.tags, both) for m in models]
            found += [expert.log_probs(known, both) for expert in counted]
            rows.append([a - b for a, b in found])
        return np.array(rows)

    known = differences(sentences[third:], train[third:], held_out, sentences, 1)
    asked = differences(sentences, train, judged, dev_sentences, 4)
    both_ways = np.concatenate([known, -known])
    answers = np.repeat([1, 0], len(known))
    names = ("latent", "latent with valence", "valence", "distance")
    line("weights learned on a held-out third", "gold above wrong", "weights")
    line(*["---"] * 3)
    for chosen in ([0], [1], [0, 1], [0, 2, 3], [0, 1, 2, 3]):
        learned = LogisticRegression(fit_intercept=False).fit(both_ways[:, chosen], answers)
        values = asked[:, chosen] @ learned.coef_[0]
        p = float(np.mean((values > 0) + 0.5 * (values == 0)))
        width = 1.96 * float(np.sqrt(p * (1 - p) / len(values)))
        weights = " ".join(f"{w:.3f}" for w in learned.coef_[0])
        line(" + ".join(names[at] for at in chosen), f"{p:.3f} ± {width:.3f}", weights)


def main():
    """Run what was asked for."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--against", choices=("malt", "parser"), default="malt")
    arguments.add_argument(
        "--table", choices=("models", "k", "times", "raw", "combined", "all"), default="all"
    )
    arguments.add_argument("--lists", type=Path, default=Path("latent-lists"))
    arguments.add_argument("--part", choices=("dev", "test"), default="dev", help="for malt")
    arguments.add_argument("--text", help="tokenised text for dictionaries of raw operators")
    arguments.add_argument("--first", type=int, help="so many rows of the table of models")
    given = arguments.parse_args()
    part = given.part if given.against == "malt" else "dev"
    sentences, train = read(DATA / "dependency" / "ewt" / "train.conllu")
    dev_sentences, dev = read(DATA / "dependency" / "ewt" / f"{part}.conllu")
    LatentTreeModel(20, n_iter=1).fit(train[:200]).log_prob(dev[0])  # compiles
    SpectralTreeOperators(2).fit(train[:200]).log_score(dev[0])
    if given.against == "malt":
        wrong = malt_trees(part)
    else:
        lists = own_lists(given.lists, sentences, dev_sentences)
        wrong = [lists[at].heads[0].astype(np.int32) for at in range(len(lists))]
    judged = Scores(dev, wrong)
    print(f"{len(judged.pairs)} pairs of EWT {part}, wrong trees of {given.against}\n")
    if given.table in ("times", "all"):
        times(train, dev)
        print()
    if given.table in ("raw", "all"):
        raw_tables(train, dev, judged)
        if given.text:
            text_tables(train, dev, judged, given.text)
        print()
    if given.table in ("models", "all"):
        models(train, judged, given.first)
        print()
    if given.table in ("k", "all"):
        table_of_k(train, judged)
        print()
    if given.against == "parser" and given.table in ("combined", "all"):
        combined(sentences, train, dev_sentences, judged)


if __name__ == "__main__":
    main()
