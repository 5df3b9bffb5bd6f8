"""An iteration of Baum-Welch, ours and hmmlearn's, from the same start on the same text.

    python benchmarks/hmm_em.py                  # k = 10, 25, 50, 100
    python benchmarks/hmm_em.py --states 10 --iterations 5 --tokens 300000
    python benchmarks/hmm_em.py --starts 10      # and the spread of ten random starts

Text: wiki of $EIGENTEXT_DATA, the 9,999 most frequent words and <unk>, sentence lengths given.
hmmlearn is CategoricalHMM(implementation="scaling"); where it is not installed its columns stay
empty.  CPU seconds of one thread, compiling done before.  The log likelihoods before each
iteration must be the same to 1e-8; held-out perplexities of both, and of ours in single precision,
are those after the last iteration, on a part of the text that follows at a distance.
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

from eigentext.language.formats.text import read_sentences
from eigentext.linalg.ties import single_threaded
from eigentext.sequences import HMM, Encoded, Parameters, Symbols
from eigentext.sequences.hmm import inference
from eigentext.sequences.hmm.em import baum_welch

DATA = Path(os.environ.get("EIGENTEXT_DATA", "data"))
HELD_OUT = 60_000  # tokens


def texts(n_tokens):
    """Training and held-out sentences."""
    lines = read_sentences(str(DATA / "text" / "wiki.txt.xz"), drop_empty=True)

    def take(most):
        found, n = [], 0
        for tokens in lines:
            found.append(tokens)
            n += len(tokens)
            if n >= most:
                break
        return found

    train = take(n_tokens)
    list(islice(lines, 50_000))
    return train, take(HELD_OUT)


def ours(start, data, iterations, precision):
    """CPU seconds an iteration, and the result."""
    began = time.process_time()
    found = baum_welch(start, data, n_iter=iterations, precision=precision)
    return (time.process_time() - began) / iterations, found


def theirs(start, data, iterations):
    """The same by hmmlearn, as ours is returned; None where it is not installed."""
    try:
        from hmmlearn.hmm import CategoricalHMM
    except ImportError:
        return None
    model = CategoricalHMM(
        start.n_states,
        n_iter=iterations,
        tol=-np.inf,
        init_params="",
        implementation="scaling",
        n_features=start.n_symbols,
    )
    model.startprob_, model.transmat_, model.emissionprob_ = (
        np.array(one) for one in (start.initial, start.transition, start.emission)
    )
    X, lengths = data.ids[:, None].astype(np.int64), data.lengths
    began = time.process_time()
    model.fit(X, lengths)
    seconds = (time.process_time() - began) / iterations
    learned = Parameters(model.startprob_, model.transmat_, model.emissionprob_)
    return seconds, learned, list(model.monitor_.history)


def perplexity(parameters, held_out):
    """Of the held-out part; what has probability 0 after EM without smoothing gets a little."""
    mixed = 0.999 * parameters.emission + 0.001 / parameters.n_symbols
    sound = Parameters(parameters.initial, parameters.transition, mixed)
    return float(np.exp(inference.surprisals(sound, held_out).mean()))


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--states", type=int, nargs="+", default=[10, 25, 50, 100])
    parser.add_argument("--iterations", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=1_100_000)
    parser.add_argument("--starts", type=int, default=0, help="also so many random starts")
    parser.add_argument("--alone", action="store_true", help="without hmmlearn")
    asked = parser.parse_args()
    train, held_out = texts(asked.tokens)
    symbols = Symbols.fit(train, vocab_size=9_999, unknown="one")
    data, test = symbols.encode(train), symbols.encode(held_out)
    for precision in ("double", "single"):  # compile
        baum_welch(Parameters.random(2, 3), Encoded.of([[0, 1]]), n_iter=1, precision=precision)
    print(f"{data.n_tokens:,} tokens, {len(data):,} sentences, {len(symbols):,} symbols\n")
    heads = ["k", "ours, s", "single, s", "hmmlearn, s", "ratio", "single", "log p off by"]
    print("| " + " | ".join([*heads, "perplexity: ours / single / hmmlearn"]) + " |")
    print("|" + "---|" * 8)
    with single_threaded():
        for k in asked.states:
            start = Parameters.random(k, len(symbols), seed=0)
            double, found = ours(start, data, asked.iterations, "double")
            single, rough = ours(start, data, asked.iterations, "single")
            row = [str(k), f"{double:.3f}", f"{single:.3f}"]
            both = [perplexity(one.params, test) for one in (found, rough)]
            peer = None if asked.alone else theirs(start, data, asked.iterations)
            if peer is None:
                row += ["-"] * 4
            else:
                seconds, learned, history = peer
                off = np.abs(np.array(found.log_likelihoods) / np.array(history) - 1).max()
                row += [f"{seconds:.2f}", f"{seconds / double:.1f}", f"{seconds / single:.1f}"]
                row.append(f"{off:.1e}")
                both.append(perplexity(learned, test))
            print("| " + " | ".join([*row, " / ".join(f"{one:.3f}" for one in both)]) + " |")
        if asked.starts:
            show_starts(asked, data, test, symbols)


def show_starts(asked, data, test, symbols):
    """What random starts reach, beside the one spectral start."""
    print(f"\n{asked.starts} random starts and the spectral one, {asked.iterations} iterations")
    print(
        "| k | random: log p a token, best / mean / worst | std | CPU s each | spectral | CPU s |"
    )
    print("|" + "---|" * 6)
    for k in asked.states:
        common = {"n_iter": asked.iterations, "precision": "single", "symbols": symbols}
        began = time.process_time()
        random = HMM(k, start="random", n_starts=asked.starts, **common).fit_encoded(data, symbols)
        middle = time.process_time()
        spectral = HMM(k, start="spectral", **common).fit_encoded(data, symbols)
        end = time.process_time()
        spread = random.spread_
        print(
            f"| {k} | {spread['best']:.4f} / {spread['mean']:.4f} / {spread['worst']:.4f} | "
            f"{spread['std']:.4f} | {(middle - began) / asked.starts:.1f} | "
            f"{spectral.spread_['best']:.4f} | {end - middle:.1f} |"
        )


if __name__ == "__main__":
    main()
