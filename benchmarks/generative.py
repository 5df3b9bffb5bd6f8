"""The generative parser: UAS on EWT with one state a tag and with several, and CPU seconds.

    python benchmarks/generative.py                      # dev
    python benchmarks/generative.py --split test --states 1 4 8

``$EIGENTEXT_DATA`` names the folder with dependency/ewt/{train,dev,test}.conllu.  All sentences,
all words, gold UPOS and XPOS.  Decoding by maximum expected right arcs, and by Viterbi over trees
and states.  CPU time of this process, one thread, compiled code warm.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eigentext.dependency.generative.parser import GenerativeParser
from eigentext.dependency.sentence import TaggedSentence
from eigentext.evaluate.bootstrap import compare
from eigentext.language.formats.conllu import read_sentences
from eigentext.linalg.ties import single_threaded

if TYPE_CHECKING:
    from eigentext.language.formats.conllu import ConlluBlock


def counts_of(parser: GenerativeParser, sentences: list[ConlluBlock], decoder: str) -> np.ndarray:
    """(sentences, 3): right heads, words, words."""
    rows = []
    for one in sentences:
        heads = parser.parse(TaggedSentence.from_conllu(one), decoder=decoder).tree.heads
        rows.append((int((heads == np.array(one.heads)).sum()), len(heads), len(heads)))
    return np.array(rows, float)


def main() -> None:
    """Train, parse, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--states", type=int, nargs="+", default=[1, 4, 8, 16])
    parser.add_argument("--data", default="ewt")
    parser.add_argument("--viterbi", action="store_true", help="Viterbi as well.")
    given = parser.parse_args()
    folder = Path(os.environ["EIGENTEXT_DATA"]) / "dependency" / given.data
    train = list(read_sentences(str(folder / "train.conllu")))
    held_out = list(read_sentences(str(folder / f"{given.split}.conllu")))
    print("| states a tag | states in all | UAS | over one state | training | parsing |")
    print("|---|---|---|---|---|---|")
    plain = None
    with single_threaded():
        GenerativeParser(n_states=2, n_iter=1).fit(train[:300]).parse(["a", "b"])  # compiles
        for states in given.states:
            began = time.process_time()
            model = GenerativeParser(n_states=states).fit(train)
            trained = time.process_time()
            counts = counts_of(model, held_out, "mbr")
            parsed = time.process_time()
            uas = 100 * counts[:, 0].sum() / counts[:, 1].sum()
            said = ""
            if plain is None:
                plain = counts
            else:
                test = compare(counts, plain)
                said = f"{test.difference:+.2f} [{test.low:+.2f}, {test.high:+.2f}]"
            print(
                f"| {states} | {int(model.params_.m.sum())} | {uas:.2f} | {said} | "
                f"{trained - began:.1f} s | {len(held_out) / (parsed - trained):.0f} a second |",
                flush=True,
            )
            if given.viterbi:
                best = counts_of(model, held_out, "viterbi")
                print(f"| {states}, Viterbi | | {100 * best[:, 0].sum() / best[:, 1].sum():.2f} |")


if __name__ == "__main__":
    main()
