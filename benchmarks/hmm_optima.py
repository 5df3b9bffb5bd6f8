"""Ten random starts of EM against the one spectral result, on planted models and on text.

    OMP_NUM_THREADS=1 python benchmarks/hmm_optima.py --keep rows --table planted
    OMP_NUM_THREADS=1 python benchmarks/hmm_optima.py --keep rows --table text

Planted: random models with distinct states, 5,000 sequences of 20 symbols; log likelihood a token
below that of the true parameters (0 is as good as the truth; EM can pass it by a little).  Text:
the first 300,000 tokens of $EIGENTEXT_DATA/text/wiki.txt.xz, 2,000 words and one class for the
rest; perplexity of the training text and of 50,000 later tokens.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from hmm_text import sentences

from eigentext.linalg.ties import single_threaded
from eigentext.sequences import Parameters, Symbols
from eigentext.sequences.hmm.em import baum_welch
from eigentext.sequences.hmm.inference import log_likelihoods, sample
from eigentext.sequences.spectral.moments import Moments
from eigentext.sequences.spectral.recover import recover_parameters, spectral_start

STARTS = 10


def planted(seed, k, V=100):
    """Every state shows some symbols often, and goes to some states often."""
    rng = np.random.default_rng(seed)
    emission = rng.dirichlet(np.full(V, 0.1), k) * 0.95 + 0.05 / V
    transition = rng.dirichlet(np.full(k, 0.3), k) * 0.9 + 0.1 / k
    return Parameters(np.full(k, 1 / k), transition, emission)


def drawn(model, seed):
    """5,000 sequences of 20 symbols."""
    return sample(model, 5000, 20, seed)


def improved(start, data, iterations):
    """Parameters after EM, mean log likelihood of a token, CPU seconds."""
    begin = time.process_time()
    found = baum_welch(start, data, n_iter=iterations).params
    spent = time.process_time() - begin
    return found, float(log_likelihoods(found, data).sum() / data.n_tokens), spent


def planted_rows(k, iterations=100):
    """One model: the truth, the spectral results, ten random starts."""
    model = planted(k, k)
    data = drawn(model, 1)
    moments = Moments.of(data, 100)
    row = {"k": k, "truth": float(log_likelihoods(model, data).sum() / data.n_tokens)}
    for name in ("diagonalise", "clusters"):
        begin = time.process_time()
        start = recover_parameters(moments, k, method=name, kappa=10.0, smoothing=0.05)
        made = time.process_time() - begin
        row[name] = float(log_likelihoods(start, data).sum() / data.n_tokens)
        _, row[f"{name}+EM"], spent = improved(start, data, iterations)
        row[f"{name}+EM seconds"] = spent + made
    found = [improved(Parameters.random(k, 100, seed), data, iterations) for seed in range(STARTS)]
    row["random"] = [value for _, value, _ in found]
    row["random seconds"] = sum(spent for _, _, spent in found)
    return row


def text_rows(k, iterations=30):
    """The same on text, with a held-out part."""
    parts = sentences({"train": (0, 300_000), "test": (10_700_000, 10_750_000)})
    symbols = Symbols.fit(parts["train"], vocab_size=2000, unknown="one")
    data, test = symbols.encode(parts["train"]), symbols.encode(parts["test"])

    def judged(start, seconds=0.0):
        found, value, spent = improved(start, data, iterations)
        soft = 0.99 * found.emission + 0.01 * symbols.unigram()
        soft = Parameters(found.initial, found.transition, soft)
        held = float(np.exp(-log_likelihoods(soft, test).sum() / test.n_tokens))
        return {"train": float(np.exp(-value)), "test": held, "seconds": seconds + spent}

    begin = time.process_time()
    start = spectral_start(Moments.of(data, len(symbols)), k, data=data)
    row = {"k": k, "spectral": judged(start, time.process_time() - begin)}
    row["random"] = [judged(Parameters.random(k, len(symbols), seed)) for seed in range(STARTS)]
    return row


def kept(path, make):
    """From the file, or made and written."""
    if not path.exists():
        with single_threaded():
            path.write_text(json.dumps(make()))
    return json.loads(path.read_text())


def main():
    """Run what is missing, print tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--keep", type=Path, default=Path("hmm-rows"))
    parser.add_argument("--table", choices=("planted", "text", "all"), default="all")
    given = parser.parse_args()
    given.keep.mkdir(parents=True, exist_ok=True)
    if given.table in ("planted", "all"):
        print("| k | eigenvectors | clusters | eigenvectors + EM | clusters + EM |", end="")
        print(" ten random starts + EM: best, median, worst |\n|---|---|---|---|---|---|")
        for k in (4, 8, 16):
            row = kept(given.keep / f"optima-planted-{k}.json", lambda k=k: planted_rows(k))
            below = [
                row["truth"] - row[name]
                for name in ("diagonalise", "clusters", "diagonalise+EM", "clusters+EM")
            ]
            cells = " | ".join(f"{one:.4f}" for one in below)
            lost = row["truth"] - np.array(row["random"])
            print(f"| {k} | {cells} | {lost.min():.4f}, {np.median(lost):.4f}, {lost.max():.4f} |")
    if given.table in ("text", "all"):
        print("\n| k | | train | test | CPU s |\n|---|---|---|---|---|")
        for k in (10, 25):
            row = kept(given.keep / f"optima-text-{k}.json", lambda k=k: text_rows(k))
            one = row["spectral"]
            print(
                f"| {k} | spectral start + 30 iterations | {one['train']:.1f} |"
                f" {one['test']:.1f} | {one['seconds']:.1f} |"
            )
            for name, pick in (("best", np.min), ("median", np.median), ("worst", np.max)):
                train, test = (
                    pick([r[part] for r in row["random"]]) for part in ("train", "test")
                )
                spent = sum(r["seconds"] for r in row["random"])
                print(
                    f"| {k} | random starts + 30 iterations, {name} of {STARTS} | {train:.1f} |"
                    f" {test:.1f} | {spent:.1f} (all) |"
                )


if __name__ == "__main__":
    main()
