"""Perplexity and CPU seconds of hidden Markov models on text, beside hmmlearn and bigrams.

    OMP_NUM_THREADS=1 python benchmarks/hmm_text.py --keep rows            # what is missing
    python benchmarks/hmm_text.py --keep rows --tables                     # tables from the rows

Text: wiki of $EIGENTEXT_DATA/text.  The first 1.1M (or 10M) tokens train, 50,000 tokens from
10.3M on are for settings, 50,000 from 10.7M on for the figures.  The 10,000 most frequent words
are symbols, all others one; every system sees the same symbols.  CPU seconds are those of one
thread from numbered tokens to the finished model (counting included), compiled before.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from itertools import product
from pathlib import Path

import numpy as np

from eigentext.base.files.opening import numbered_lines
from eigentext.linalg.ties import single_threaded
from eigentext.sequences import Parameters, Symbols
from eigentext.sequences.hmm.em import baum_welch, stepwise_em
from eigentext.sequences.hmm.inference import log_likelihoods
from eigentext.sequences.spectral.model import SpectralHMM
from eigentext.sequences.spectral.moments import Moments, pairs_of
from eigentext.sequences.spectral.recover import recover_parameters, spectral_start

PARTS = {"dev": (10_300_000, 10_350_000), "test": (10_700_000, 10_750_000)}
SIZES = {"1.1M": 1_100_000, "10M": 10_000_000}
STATES = (10, 25, 50, 100)
SHARES = (1e-3, 0.003, 0.01, 0.03, 0.1)  # of the unigram in every emission row
ITERATIONS = 30


def sentences(bounds):
    """Token lists of the lines that begin between these tokens, for each part."""
    found = {name: [] for name in bounds}
    at = 0
    for _, line in numbered_lines(str(Path(os.environ["EIGENTEXT_DATA"]) / "text/wiki.txt.xz")):
        tokens = line.split()
        for name, (begin, end) in bounds.items():
            if begin <= at < end and tokens:
                found[name].append(tokens)
        at += len(tokens)
    return found


class Text:
    """The three parts as numbers."""

    def __init__(self, size):
        parts = sentences({"train": (0, SIZES[size]), **PARTS})
        self.symbols = Symbols.fit(parts["train"], vocab_size=10_000, unknown="one")
        self.V = len(self.symbols)
        self.train, self.dev, self.test = (self.symbols.encode(one) for one in parts.values())
        self.unigram = self.symbols.unigram()

    def judged(self, parameters):
        """Share of the unigram chosen on dev; perplexity on dev and test."""
        emission = parameters.emission

        def perplexity(share, data):
            mixed = (1 - share) * emission + share * self.unigram
            soft = Parameters(parameters.initial, parameters.transition, mixed)
            return float(np.exp(-log_likelihoods(soft, data).sum() / data.n_tokens))

        dev, share = min((perplexity(share, self.dev), share) for share in SHARES)
        return {"dev": dev, "test": perplexity(share, self.test), "share": share}


def unigram(text, k):
    """Every token by itself."""
    begin = time.process_time()
    np.bincount(text.train.ids, minlength=text.V)
    spent = time.process_time() - begin
    found = {
        name: float(np.exp(-np.log(text.unigram[data.ids]).mean()))
        for name, data in (("dev", text.dev), ("test", text.test))
    }
    return [{"seconds": spent, **found}]


def kneser_ney(text, k):
    """Interpolated Kneser-Ney bigram; the first word of a sentence follows a mark of its own."""
    from eigentext.sequences import Encoded
    from eigentext.words.lm.kneser_ney import KneserNeyBigram

    def marked(data):
        ids = np.insert(data.ids, data.first[:-1], text.V)
        return Encoded(ids, data.first + np.arange(len(data.first)))

    begin = time.process_time()
    model = KneserNeyBigram(pairs_of(marked(text.train), text.V + 1))
    spent = time.process_time() - begin
    found = {}
    for name, data in (("dev", text.dev), ("test", text.test)):
        ids = marked(data).ids
        after = np.flatnonzero(ids != text.V)
        p = model.probabilities(ids[after - 1].astype(np.int64), ids[after].astype(np.int64))
        p = p / (1 - model.continuation[text.V] * model.backoff[ids[after - 1]])  # mark never
        found[name] = float(np.exp(-np.log(p).mean()))
    return [{"seconds": spent, **found}]


def spectral(estimator):
    """Operators; kappa and the weight of the unigram chosen on dev."""

    def run(text, k):
        best = None
        choices = [("cca", 100.0), ("cca", 400.0)]
        for kind, kappa in choices if estimator == "cca" else [*choices[1:], ("svd", 0.0)]:
            begin = time.process_time()
            model = SpectralHMM(k, estimator=estimator, dictionary=kind, kappa=kappa)
            model.fit_encoded(text.train, text.symbols)
            spent = time.process_time() - begin
            for weight in (0.1, 0.2, 0.4, 0.7):
                model.unigram_weight = weight
                dev = float(np.exp(model.surprisals_encoded(text.dev).mean()))
                if best is None or dev < best["dev"]:
                    best = {"dev": dev, "weight": weight, "seconds": spent}
                    best |= {"kappa": kappa, "svd": kind == "svd"}
                    best["test"] = float(np.exp(model.surprisals_encoded(text.test).mean()))
                    best["negative"] = model.negative_rate_
                    best["mass"] = model.negatives_.mass
                    best["megabytes"] = model.operators_.matrices.nbytes / 1e6
            del model
        return [best]

    return run


def recovered(text, k):
    """Clusters of CCA vectors, counted."""
    begin = time.process_time()
    found = recover_parameters(Moments.of(text.train, text.V), k)
    return [{"seconds": time.process_time() - begin, **text.judged(found)}]


def stepwise(start):
    """EM in small steps: one row a pass."""

    def run(text, k):
        rows = []
        begin = time.process_time()
        if start == "random":
            first = Parameters.random(k, text.V)
        else:
            first = spectral_start(Moments.of(text.train, text.V), k)

        def keep(number, value, parameters):
            nonlocal begin
            now = time.process_time()
            spent = now - begin
            rows.append({"step": number, "seconds": spent, **text.judged(parameters)})
            begin += time.process_time() - now

        stepwise_em(first, text.train, passes=3, progress=keep)
        return rows

    return run


def em(start):
    """Baum-Welch, judged every five iterations (and after 1 to 4)."""

    def run(text, k):
        spent = -time.process_time()
        if start == "random":
            parameters = Parameters.random(k, text.V)
        else:
            parameters = spectral_start(Moments.of(text.train, text.V), k)
        spent += time.process_time()
        rows, done = [], 0
        for until in (1, 2, 3, 5, 10, 15, 20, 25, ITERATIONS):
            spent -= time.process_time()
            result = baum_welch(parameters, text.train, n_iter=until - done, precision="single")
            spent += time.process_time()
            parameters, done = result.params, until
            train = float(np.exp(-result.log_likelihoods[-1] / text.train.n_tokens))
            row = {"step": until, "seconds": spent, "train": train}
            rows.append({**row, **text.judged(parameters)})
        return rows

    return run


def hmmlearn(text, k):
    """One iteration of hmmlearn's, and how far ours is from it."""
    from hmmlearn.hmm import CategoricalHMM

    start = Parameters.random(k, text.V)
    peer = CategoricalHMM(k, n_iter=1, implementation="scaling", init_params="", n_features=text.V)
    peer.startprob_, peer.transmat_ = start.initial, start.transition
    peer.emissionprob_ = start.emission
    begin = time.process_time()
    peer.fit(text.train.ids[:, None], text.train.lengths)
    spent = time.process_time() - begin
    begin = time.process_time()
    ours = baum_welch(start, text.train, n_iter=1).params
    own = time.process_time() - begin
    begin = time.process_time()
    baum_welch(start, text.train, n_iter=1, precision="single")
    single = time.process_time() - begin
    pairs = (
        (peer.startprob_, ours.initial),
        (peer.transmat_, ours.transition),
        (peer.emissionprob_, ours.emission),
    )
    off = max(float(np.abs(a - b).max()) for a, b in pairs)
    return [{"seconds": spent, "ours": own, "single": single, "difference": off}]


SYSTEMS = {
    "unigram": unigram,
    "kneser-ney": kneser_ney,
    "hmmlearn": hmmlearn,
    "stepwise-recovered": stepwise("recovered"),
    "em-random": em("random"),
    "em-recovered": em("recovered"),
    "recovered": recovered,
    "cca": spectral("cca"),
    "fru": spectral("fru"),
    "hkz": spectral("hkz"),
    "stepwise-random": stepwise("random"),
}
ONCE = ("unigram", "kneser-ney")  # no states


def compile_all(text):
    """Everything once on little, so that no time is compilation."""
    few = text.train.part(0, 300)
    moments = Moments.of(few, text.V)
    start = spectral_start(moments, 3, data=few)
    baum_welch(start, few, n_iter=1)
    baum_welch(start, few, n_iter=1, precision="single")
    log_likelihoods(start, few)
    for estimator in ("cca", "fru", "hkz"):
        model = SpectralHMM(2, estimator=estimator).fit_encoded(few, text.symbols)
        model.surprisals_encoded(few)


def run_missing(keep, sizes, states, systems):
    """Rows that are not there yet."""
    for size in sizes:
        text = None
        for k, name in product(states, systems):
            k_or_none = 0 if name in ONCE else k
            path = keep / f"{size}-{k_or_none}-{name}.json"
            if path.exists() or (name == "hmmlearn" and size != "1.1M"):
                continue
            if text is None:
                text = Text(size)
                compile_all(text)
            with single_threaded():
                rows = SYSTEMS[name](text, k)
            path.write_text(json.dumps(rows))
            print(path.name, {k: round(v, 3) for k, v in rows[-1].items()}, flush=True)


def read(keep, size, k, name):
    """Rows of one run, [] where there are none."""
    path = keep / f"{size}-{k}-{name}.json"
    return json.loads(path.read_text()) if path.exists() else []


def tables(keep, sizes):
    """All that is there, in Markdown."""
    for size in sizes:
        factor = SIZES[size] / SIZES["1.1M"]
        print(f"### {size} tokens\n")
        for name in ONCE:
            for row in read(keep, size, 0, name):
                print(f"{name}: dev {row['dev']:.1f}, test {row['test']:.1f}  ")
        print("\n| k | system | dev | test | CPU s | hmmlearn's 30 iterations / this |", end="")
        print(" not positive |\n|---|---|---|---|---|---|---|")
        for k in STATES:
            peer = read(keep, size if size == "1.1M" else "1.1M", k, "hmmlearn")
            theirs = ITERATIONS * peer[0]["seconds"] * factor if peer else None
            random = read(keep, size, k, "em-random")
            lines = []
            if random:
                last = random[-1]
                said = "EM from random, 30 iterations (hmmlearn's result)"
                lines.append((said, last, theirs or last["seconds"]))
                lines.append(("the same, our EM", last, last["seconds"]))
            for name in ("cca", "hkz", "fru"):
                lines += [
                    (f"operators, {name}", r, r["seconds"]) for r in read(keep, size, k, name)
                ]
            lines += [
                ("recovered, no EM", r, r["seconds"]) for r in read(keep, size, k, "recovered")
            ]
            lines += [
                (f"recovered + EM in small steps, {r['step']} passes", r, r["seconds"])
                for r in read(keep, size, k, "stepwise-recovered")
            ]
            lines += [
                (f"recovered + Baum-Welch, {r['step']} iterations", r, r["seconds"])
                for r in read(keep, size, k, "em-recovered")
                if r["step"] in (10, 30)
            ]
            lines += [
                (f"random + EM in small steps, {r['step']} passes", r, r["seconds"])
                for r in read(keep, size, k, "stepwise-random")[-1:]
            ]
            for said, row, seconds in lines:
                ratio = f"{theirs / seconds:.0f}" if theirs else ""
                rate = f"{row['negative']:.3f}" if "negative" in row else ""
                print(
                    f"| {k} | {said} | {row['dev']:.1f} | {row['test']:.1f} | {seconds:.2f} |"
                    f" {ratio} | {rate} |"
                )
        print("\nEqual CPU seconds, test perplexity (in brackets: CPU s):\n")
        print("| k | EM from random | recovered + Baum-Welch | recovered + small steps |")
        print("|---|---|---|---|")
        for k in STATES:
            random = read(keep, size, k, "em-random")
            for row in random:
                if row["step"] not in (5, 10, 20, 30):
                    continue
                cells = [f"{row['test']:.1f} ({row['seconds']:.2f})"]
                for name in ("em-recovered", "stepwise-recovered"):
                    in_time = [
                        r for r in read(keep, size, k, name) if r["seconds"] <= row["seconds"]
                    ]
                    best = in_time[-1] if in_time else None
                    cells.append(f"{best['test']:.1f} ({best['seconds']:.2f})" if best else "")
                print(f"| {k} | " + " | ".join(cells) + " |")
        print()
    print("One iteration of Baum-Welch on 1.1M tokens, CPU s:\n")
    print("| k | hmmlearn | ours, double | ours, single | ratio | largest difference |")
    print("|---|---|---|---|---|---|")
    for k in STATES:
        for row in read(keep, "1.1M", k, "hmmlearn"):
            print(
                f"| {k} | {row['seconds']:.2f} | {row['ours']:.2f} | {row['single']:.2f} |"
                f" {row['seconds'] / row['ours']:.1f}, {row['seconds'] / row['single']:.1f} |"
                f" {row['difference']:.0e} |"
            )


def main():
    """Run or print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--keep", type=Path, default=Path("hmm-rows"))
    parser.add_argument("--sizes", default="1.1M,10M")
    parser.add_argument("--states", default=",".join(map(str, STATES)))
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--tables", action="store_true")
    given = parser.parse_args()
    given.keep.mkdir(parents=True, exist_ok=True)
    sizes = given.sizes.split(",")
    if not given.tables:
        states = [int(k) for k in given.states.split(",")]
        run_missing(given.keep, sizes, states, given.systems.split(","))
    tables(given.keep, sizes)


if __name__ == "__main__":
    main()
