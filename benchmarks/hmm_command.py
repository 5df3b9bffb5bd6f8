"""The whole command `eigentext hmm train`, from text to model file, beside hmmlearn's fit.

    python benchmarks/hmm_command.py             # k = 10, 25, 50, 100

Text: the first 1.1M tokens of wiki of $EIGENTEXT_DATA.  Ours is a process of its own, with
Python's start, reading, counting, the spectral start, ten iterations of Baum-Welch and the saved
file, as a user who gives no options gets it.  hmmlearn's CategoricalHMM(implementation="scaling")
from random runs one iteration on the same text, numbered beforehand with 10,000 words; the ratio
is for 30 iterations (its perplexity after them is in `hmm_text.py`).  CPU seconds, one thread,
compiled code already cached.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from _data import data

from eigentext.language.formats.text import read_sentences, write_sentences
from eigentext.sequences import Symbols

TOKENS = 1_100_000
ITERATIONS = 30


def first_sentences() -> list[list[str]]:
    """Sentences of wiki up to 1.1M tokens."""
    chosen, n = [], 0
    for tokens in read_sentences(str(data() / "text" / "wiki.txt.xz"), drop_empty=True):
        chosen.append(tokens)
        n += len(tokens)
        if n >= TOKENS:
            break
    return chosen


def command(text: Path, model: Path, k: int) -> float:
    """CPU seconds of the process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    line = [*(sys.executable, "-m", "eigentext.cli", "hmm", "train", str(text), "--quiet")]
    subprocess.run([*line, "--n-states", str(k), "-o", str(model)], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def hmmlearn_iteration(sentences: list[list[str]], k: int) -> float:
    """CPU seconds of one iteration."""
    from hmmlearn.hmm import CategoricalHMM

    encoded = Symbols.fit(sentences, vocab_size=10_000, unknown="one").encode(sentences)
    model = CategoricalHMM(k, n_iter=1, random_state=0, implementation="scaling")
    began = time.process_time()
    model.fit(encoded.ids.reshape(-1, 1), [len(tokens) for tokens in sentences])
    return time.process_time() - began


def main() -> None:
    """Print a row for each number of states."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, nargs="+", default=[10, 25, 50, 100])
    asked = parser.parse_args()
    sentences = first_sentences()
    with tempfile.TemporaryDirectory() as folder:
        text, model = Path(folder, "text.txt"), Path(folder, "text.hmm")
        write_sentences(sentences, text)
        command(text, model, 2)  # what is compiled is in the cache
        print(f"{'k':>4}{'command, CPU s':>16}{'hmmlearn, an iteration':>24}{'30 / command':>14}")
        for k in asked.states:
            ours, peer = command(text, model, k), hmmlearn_iteration(sentences, k)
            print(f"{k:>4}{ours:>16.1f}{peer:>24.1f}{ITERATIONS * peer / ours:>14.0f}", flush=True)


if __name__ == "__main__":
    main()
