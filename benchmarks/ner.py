"""Named entities and parts of speech: what clusters and vectors add to the tagger.

    python benchmarks/ner.py --clusters wcluster=wc.paths ours=our.paths
    python benchmarks/ner.py --clusters ours=our.paths --vectors cca=our.vec --seeds 5
    python benchmarks/ner.py --pos                       # UPOS on UD EWT

``$EIGENTEXT_DATA`` names the folder with ner/{wnut17,litbank}/{train,dev,test}.bio and
dependency/ewt.  One tagger per seed, trained on train alone with the default settings; F1 of whole
entities by the CoNLL (seqeval) rules, mean over the seeds with the lowest and highest.  The p
value is a paired bootstrap over sentences (counts of all seeds added) against no clusters with the
same beam.
With several tables of clusters each is also tested against every other.  Seconds are CPU time of
one thread, compiled code warm; training includes looking at the words and reading the clusters.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eigentext.evaluate.bootstrap import Comparison, compare
from eigentext.evaluate.ner import evaluate
from eigentext.language.formats.columns import read_columns
from eigentext.language.formats.conllu import read_sentences
from eigentext.linalg.ties import single_threaded
from eigentext.tagging.sequence import SequenceTagger

Split = tuple[list[Sequence[str]], list[Sequence[str]]]


class Outcome(NamedTuple):
    """Scores of one system on dev and test, a value per seed; counts by sentence of all seeds."""

    name: str
    beam: int | str
    dev: list[float]
    test: list[float]
    dev_counts: np.ndarray
    test_counts: np.ndarray
    seconds: float
    speed: float


def entities_of(folder: Path, split: str) -> Split:
    """Tokens and tags of a BIO file."""
    read = list(read_columns(folder / f"{split}.bio", scheme="bio2"))
    return [one.tokens for one in read], [one.tags for one in read]


def parts_of_speech_of(folder: Path, split: str) -> Split:
    """Tokens and universal tags of a CoNLL-U file."""
    read = list(read_sentences(folder / f"{split}.conllu"))
    return [one.forms for one in read], [one.column("upos") for one in read]


def run(
    name: str, splits: dict[str, Split], seeds: int, beams: list[Any], options: dict[str, Any]
) -> list[Outcome]:
    """Train with every seed and score, with each beam."""
    scores: dict[tuple[int, str], list[float]] = defaultdict(list)
    counts: dict[tuple[int, str], list[np.ndarray]] = defaultdict(list)
    speeds: dict[int, list[float]] = defaultdict(list)
    seconds: list[float] = []
    for seed in range(seeds):
        began = time.process_time()
        tagger = SequenceTagger(seed=seed, **options).fit(*splits["train"])
        seconds.append(time.process_time() - began)
        for beam, split in product(beams, ("dev", "test")):
            tokens, gold = splits[split]
            tagger.beam = beam
            began = time.process_time()
            found = tagger.predict(tokens)
            speeds[beam].append(sum(map(len, tokens)) / (time.process_time() - began))
            result = evaluate(gold, found)
            is_ner = tagger.tag_set_.scheme == "bio2"
            scores[beam, split].append(result.f1 if is_ner else result.token_accuracy)
            counts[beam, split].append(np.array(result.sentence_counts, np.float64))
    return [
        Outcome(
            name,
            beam,
            scores[beam, "dev"],
            scores[beam, "test"],
            np.sum(counts[beam, "dev"], axis=0),
            np.sum(counts[beam, "test"], axis=0),
            float(np.mean(seconds)),
            float(np.median(speeds[beam])),
        )
        for beam in beams
    ]


def spread(values: list[float]) -> str:
    """Mean, and the lowest and highest."""
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{np.mean(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def said(result: Comparison) -> str:
    """A difference with its p value."""
    return f"{result.difference:+.2f} (p = {result.p_value:.4f})"


def table(outcomes: list[Outcome], *, with_gain: bool) -> None:
    """One row per system, as Markdown."""
    columns = ["features", "beam", "dev", "test", "training CPU s", "tokens per CPU s"]
    if with_gain:
        columns[4:4] = ["gain on dev", "gain on test"]
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for one in outcomes:
        cells = [one.name, str(one.beam), spread(one.dev), spread(one.test)]
        plain = next(other for other in outcomes if other.beam == one.beam)
        if with_gain and one is plain:
            cells += ["", ""]
        elif with_gain:
            cells.append(said(compare(one.dev_counts, plain.dev_counts)))
            cells.append(said(compare(one.test_counts, plain.test_counts)))
        cells += [f"{one.seconds:.1f}", f"{one.speed:,.0f}"]
        print("| " + " | ".join(cells) + " |", flush=True)


def named(values: list[str]) -> dict[str, str]:
    """NAME=FILE pairs; a bare file is named after itself."""
    pairs = (value.partition("=") for value in values)
    return {
        name if mark else Path(name).name: file if mark else name for name, mark, file in pairs
    }


def main() -> None:
    """Read the arguments, train, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="+", default=["wnut17", "litbank"])
    parser.add_argument("--clusters", nargs="*", default=[], metavar="NAME=FILE")
    parser.add_argument("--vectors", nargs="*", default=[], metavar="NAME=FILE")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=None)
    parser.add_argument("--beams", type=int, nargs="+", help="else as the tagger chooses")
    parser.add_argument("--entity-margin", type=float, help="else as the tagger chooses")
    parser.add_argument("--pos", action="store_true", help="UPOS on EWT instead of entities")
    arguments = parser.parse_args()
    home = Path(os.environ["EIGENTEXT_DATA"])
    clusters, vectors = named(arguments.clusters), named(arguments.vectors)
    more: dict[str, Any] = {} if arguments.epochs is None else {"epochs": arguments.epochs}
    if arguments.entity_margin is not None:
        more["entity_margin"] = arguments.entity_margin
    systems: dict[str, dict[str, Any]] = {"no clusters": {}}
    systems.update({name: {"clusters": file} for name, file in clusters.items()})
    systems.update({name: {"vectors": file} for name, file in vectors.items()})
    SequenceTagger(epochs=1).fit([["warm"]], [["up"]]).tag(["now"])  # compiles
    with single_threaded():
        for data in ["ewt"] if arguments.pos else arguments.data:
            folder = home / ("dependency" if arguments.pos else "ner") / data
            read = parts_of_speech_of if arguments.pos else entities_of
            splits = {split: read(folder, split) for split in ("train", "dev", "test")}
            outcomes = [
                outcome
                for name, options in systems.items()
                for outcome in run(
                    name, splits, arguments.seeds, arguments.beams or ["auto"], {**options, **more}
                )
            ]
            print(f"\n{data}: {len(splits['train'][0])} sentences, {arguments.seeds} seed(s)\n")
            table(outcomes, with_gain=not arguments.pos)
            rivals = [one for one in outcomes if one.name in clusters]
            for one, other in combinations(rivals, 2):
                if one.beam == other.beam:
                    result = compare(one.test_counts, other.test_counts)
                    pair = f"{one.name} against {other.name}, beam {one.beam}"
                    print(f"\n{pair}, on test: {said(result)}", flush=True)


if __name__ == "__main__":
    main()
