"""Perplexity and CPU seconds of hidden Markov models with blocked emissions, beside Kneser-Ney.

    OMP_NUM_THREADS=1 python benchmarks/hmm_blocked.py --keep rows         # what is missing
    python benchmarks/hmm_blocked.py --keep rows --tables                  # tables from the rows
    OMP_NUM_THREADS=1 python benchmarks/hmm_blocked.py --keep rows --sizes icelandic,portuguese

Text, parts and symbols are those of hmm_text.py: wiki of $EIGENTEXT_DATA/text, 1.1M or 10M tokens
train, 10,001 symbols.  Other texts: the words of the Icelandic (IcePaHC) and Portuguese (Bosque)
treebanks, and the first 1.2M tokens of the novels (eltec) and articles (elife); in their order,
the last twentieth is test, the one before it dev.  Every system sees the same symbols.  CPU
seconds are those of one thread, from numbered tokens to the finished model, compiled before.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from _data import data
from hmm_text import SIZES, Text, kneser_ney

from eigentext.language.formats.ptb import read_trees
from eigentext.language.formats.text import read_sentences
from eigentext.linalg.ties import single_threaded
from eigentext.sequences import BlockedHMM, Symbols
from eigentext.sequences.hmm.inference import surprisals
from eigentext.sequences.inspection import kneser_ney_trigram_surprisals
from eigentext.sequences.spectral.moments import Moments
from eigentext.sequences.spectral.recover import spectral_start
from eigentext.tagging.sequence.reading import read_items

WEIGHTS = (0.3, 0.4, 0.5, 0.6, 0.7)  # of the hidden Markov model in a mixture
PARTS = ("dev", "test")
OTHERS = ("icelandic", "portuguese", "eltec", "elife")
MOST = 1_200_000  # tokens of another text


def sentences_of(name):
    """Lists of tokens of another text, in its order."""
    if name == "icelandic":
        trees = read_trees(data() / "constituency" / "icepahc" / "train.mrg")
        return (list(tree.words) for tree in trees)
    if name == "portuguese":
        bank = read_items(str(data() / "dependency" / "pt-bosque" / "train.conllu"))
        return (list(item.tokens) for item in bank)
    return read_sentences(data() / "text" / f"{name}.txt.xz")


class OtherText:
    """Three parts of another text as numbers."""

    def __init__(self, name):
        text, n_tokens = [], 0
        for sentence in sentences_of(name):
            text.append(sentence)
            n_tokens += len(sentence)
            if n_tokens >= MOST:
                break
        cut = len(text) // 20
        self.symbols = Symbols.fit(text[: -2 * cut], vocab_size=10_000, unknown="one")
        self.V = len(self.symbols)
        self.train = self.symbols.encode(text[: -2 * cut])
        self.dev = self.symbols.encode(text[-2 * cut : -cut])
        self.test = self.symbols.encode(text[-cut:])


def trigram(text):
    """Interpolated modified Kneser-Ney: CPU seconds, and p of each token of dev and test."""
    p, begin = {}, time.process_time()
    for name in PARTS:
        p[name] = np.exp(-kneser_ney_trigram_surprisals(text.train, getattr(text, name), text.V))
    return (time.process_time() - begin) / len(PARTS), p


def figures(p):
    """Perplexities of dev and test."""
    return {name: float(np.exp(-np.log(p[name]).mean())) for name in PARTS}


def kneser_ney_trigram(text):
    """The peer."""
    spent, p = trigram(text)
    return {"seconds": spent, **figures(p)}


def dense(k):
    """The small model alone: CCA, clusters, three passes of EM in small steps."""

    def run(text):
        begin = time.process_time()
        found = spectral_start(Moments.of(text.train, text.V), k, data=text.train, passes=3)
        spent = time.process_time() - begin
        p = {name: np.exp(-surprisals(found, getattr(text, name))) for name in PARTS}
        return {"seconds": spent, **figures(p)}

    return run


def blocked(**settings):
    """Ours; the mixture with trigrams, its weight chosen on dev, is an extra figure."""

    def run(text):
        begin = time.process_time()
        model = BlockedHMM(**settings).fit_encoded(text.train, text.symbols)
        spent = time.process_time() - begin
        p = {name: np.exp(-model.surprisals_encoded(getattr(text, name))) for name in PARTS}
        _, other = trigram(text)
        mixed = _best_mixture(p, other)
        return {
            "seconds": spent,
            **figures(p),
            "states": model.parameters_.n_states,
            "transitions": len(model.parameters_.transition),
            "iterations": len(model.history_) - 1,
            "mixed": mixed["test"],
            "discounts": list(model.discounts_),
        }

    return run


def _best_mixture(p, other):
    tried = [
        figures({name: w * p[name] + (1 - w) * other[name] for name in PARTS}) for w in WEIGHTS
    ]
    return min(tried, key=lambda row: row["dev"])


SYSTEMS = {
    "Kneser-Ney bigram": lambda text: kneser_ney(text, 0)[0],
    "Kneser-Ney trigram": kneser_ney_trigram,
    "blocked, 100 groups, 40000 states": blocked(),
    "blocked, 25 groups, 40000 states": blocked(n_groups=25),
    "blocked, 200 groups, 60000 states": blocked(n_groups=200, n_states=60_000),
    "blocked, 100 groups, 20000 states": blocked(n_states=20_000),
    "blocked, 100 groups, 128 blocks, 4096 states": blocked(n_states=4096, n_blocks=128),
    "dense, 100 states": dense(100),
}


def run_missing(keep, sizes, systems):
    """Rows that are not there yet."""
    for size in sizes:
        text = None
        for name in systems:
            path = keep / f"{size} {name}.json"
            if path.exists():
                continue
            if text is None:
                text = OtherText(size) if size in OTHERS else Text(size)
                print(f"{size}: {text.train.n_tokens:,} tokens, {text.V:,} symbols", flush=True)
                few = text.train.part(0, 3000)
                blocked_few = BlockedHMM(n_groups=5).fit_encoded(few, text.symbols)
                blocked_few.surprisals_encoded(few)
            with single_threaded():
                row = SYSTEMS[name](text)
            path.write_text(json.dumps(row))
            print(size, name, row, flush=True)


def tables(keep, sizes):
    """All that is there, in Markdown."""
    for size in sizes:
        print(f"### {size} tokens\n")
        print("| system | dev | test | CPU s | iterations of EM | mixed with trigrams, test |")
        print("|---|---|---|---|---|---|")
        for name in SYSTEMS:
            path = keep / f"{size} {name}.json"
            if not path.exists():
                continue
            row = json.loads(path.read_text())
            mixed = f"{row['mixed']:.1f}" if "mixed" in row else ""
            print(
                f"| {name} | {row['dev']:.1f} | {row['test']:.1f} | {row['seconds']:.1f} |"
                f" {row.get('iterations', '')} | {mixed} |"
            )
        print()


def main():
    """Run or print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--keep", type=Path, default=Path("hmm-blocked-rows"))
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--systems", default=";".join(SYSTEMS))
    parser.add_argument("--tables", action="store_true")
    given = parser.parse_args()
    given.keep.mkdir(parents=True, exist_ok=True)
    sizes = given.sizes.split(",")
    if not given.tables:
        run_missing(given.keep, sizes, given.systems.split(";"))
    tables(given.keep, sizes)


if __name__ == "__main__":
    main()
