"""Latent-variable taggers beside the bigram and trigram HMM and the perceptron.

    python benchmarks/hmm_tagger.py                      # all data sets, all systems
    python benchmarks/hmm_tagger.py --data ewt/upos fr-sequoia/upos --quick

``$EIGENTEXT_DATA`` names the folder with dependency/{ewt,fr-sequoia}/{train,dev,test}.conllu.  All
HMM taggers share one lexicon with its model of unknown words; they differ in what they know of
sequences.  Trained on train alone; settings were chosen on dev.  Known and unknown words are those
of test.  Seconds are CPU time of one
thread, compiled code warm, reading the files not counted; negative: share of the tag posteriors
that were below zero (moments).  The p values are paired bootstraps over the sentences of test.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rivals.trigram_tagger import TrigramTagger

from eigentext.evaluate.bootstrap import compare
from eigentext.linalg.ties import single_threaded
from eigentext.sequences.tagger.evaluation import evaluate_tagger
from eigentext.sequences.tagger.model import LatentTagger
from eigentext.tagging.sequence import SequenceTagger
from eigentext.tagging.sequence.reading import read_tagged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Tagged = tuple[list[list[str]], list[list[str]]]  # sentences, and their tags
DATA = ("ewt/upos", "fr-sequoia/upos", "ewt/xpos")
BIGRAM, TRIGRAM, CHOSEN = "bigram HMM (m = 1)", "trigram HMM", "clustering m = 16"


class Perceptron:
    """The averaged perceptron with the manners of the others."""

    def fit(self, X: list[list[str]], y: list[list[str]]) -> Perceptron:
        """Train with the default settings."""
        self.tagger = SequenceTagger(scheme="plain").fit(X, y)
        self.predict = self.tagger.predict
        self.known = {word for row in X for word in row}
        return self


def systems(quick: bool) -> dict[str, Callable[[], Any]]:
    """Makers of taggers by their names."""
    found: dict[str, Callable[[], Any]] = {
        BIGRAM: lambda: LatentTagger(1),
        TRIGRAM: TrigramTagger,
        "trigram HMM, posterior decoder": lambda: TrigramTagger(decoder="posterior"),
    }
    for m in (16,) if quick else (2, 4, 8, 16, 24):
        found[f"clustering m = {m}"] = lambda m=m: LatentTagger(m)
    if not quick:
        found["clustering m = 16, product decoder"] = lambda: LatentTagger(decoder="product")
        found["clustering m = 16, no EM"] = lambda: LatentTagger(n_iter=0)
    for m in (16,) if quick else (4, 8, 16):
        found[f"moments m = {m}"] = lambda m=m: LatentTagger(m, estimator="moments")
    if not quick:
        found["EM from random m = 8, 20 iterations"] = lambda: LatentTagger(
            8, estimator="em", n_iter=20
        )
        found["product of 3 clustering models, m = 16"] = lambda: LatentTagger(n_models=3)
        found["product of 4 mixed models, m = 16"] = lambda: LatentTagger(
            n_models=4, estimator="mixed"
        )
    found["perceptron (eigentext tag)"] = Perceptron
    return found


def split(name: str, part: str) -> Tagged:
    """Tagged sentences of a part of a data set such as ewt/xpos."""
    treebank, column = name.split("/")
    path = Path(os.environ["EIGENTEXT_DATA"]) / "dependency" / treebank / f"{part}.conllu"
    text, tags, _ = read_tagged([str(path)], column=column, scheme="plain")
    return text, tags


def right_by_sentence(tagger: Any, tagged: Tagged) -> np.ndarray:
    """(n, 3) right, all, all: what the bootstrap needs."""
    X, y = tagged
    right = [
        sum(a == b for a, b in zip(gold, tags, strict=True))
        for gold, tags in zip(y, tagger.predict(X), strict=True)
    ]
    length = [len(row) for row in X]
    return np.array([right, length, length], dtype=float).T


def negative_rate(tagger: Any, sentences: list[list[str]]) -> str:
    """Share of negative posteriors."""
    if not isinstance(tagger, LatentTagger) or tagger.estimator not in ("moments", "mixed"):
        return ""
    rates = [tagger.analyse(tokens).negative for tokens in sentences[:300]]
    return f"{100 * np.mean(rates):.1f}%"


def run(name: str, quick: bool, chosen: Sequence[str] | None) -> None:
    """One table."""
    train, dev, held_out = (split(name, part) for part in ("train", "dev", "test"))
    n_tokens = sum(map(len, held_out[0]))
    print(f"\n### {name} ({n_tokens:,} tokens of test)\n")
    print("| tagger | dev | test | known | unknown | train s | tokens/s | negative |")
    print("|---|---|---|---|---|---|---|---|")
    kept: dict[str, np.ndarray] = {}
    for system, make in systems(quick).items():
        if chosen and not any(word in system for word in chosen):
            continue
        began = time.process_time()
        tagger = make().fit(*train)
        trained = time.process_time() - began
        knows = (
            tagger.known.__contains__ if isinstance(tagger, Perceptron) else tagger.words_.knows
        )
        began = time.process_time()
        report = evaluate_tagger(tagger.predict, knows, *held_out)
        speed = n_tokens / (time.process_time() - began)
        on_dev = evaluate_tagger(tagger.predict, knows, *dev).accuracy
        negative = negative_rate(tagger, held_out[0])
        print(
            f"| {system} | {on_dev:.2f} | {report.accuracy:.2f} | {report.known:.2f} "
            f"| {report.unknown:.2f} | {trained:.1f} | {speed:,.0f} | {negative} |",
            flush=True,
        )
        if system in (BIGRAM, TRIGRAM, CHOSEN):
            kept[system] = right_by_sentence(tagger, held_out)
    for rival in (BIGRAM, TRIGRAM):
        if rival in kept and CHOSEN in kept:
            found = compare(kept[CHOSEN], kept[rival])
            print(
                f"\n{CHOSEN} - {rival}: {found.difference:+.2f} "
                f"({found.low:+.2f} to {found.high:+.2f}), p = {found.p_value:.4f}"
            )


def main() -> None:
    """Read the command line and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=DATA)
    parser.add_argument("--quick", action="store_true", help="the most important systems")
    parser.add_argument("--only", nargs="+", help="systems whose names hold one of these")
    settings = parser.parse_args()
    with single_threaded():
        X, y = split("fr-sequoia/upos", "train")
        for make in systems(settings.quick).values():  # compiles the kernels
            make().fit(X[:100], y[:100]).predict([["un", "mot"]])
        for name in settings.data:
            run(name, settings.quick, settings.only)


if __name__ == "__main__":
    main()
