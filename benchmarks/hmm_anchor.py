"""Unsupervised parts of speech: anchor HMM, Baum-Welch from random starts, word clusters.

    OPENBLAS_NUM_THREADS=1 python benchmarks/hmm_anchor.py
    OPENBLAS_NUM_THREADS=1 python benchmarks/hmm_anchor.py --raw wiki
    OPENBLAS_NUM_THREADS=1 python benchmarks/hmm_anchor.py --banks craft icepahc

The words of train.conllu of each treebank below $EIGENTEXT_DATA/dependency, with as many states as
it has universal tags; no tag is read before the score.  craft and icepahc are constituency
treebanks on which no setting was ever tried: 17 states, tags of their own up to the first hyphen.
Symbols of all HMMs: 10,000 words seen twice or more, generic signatures for the rest; tags are
Viterbi's.  Baum-Welch: 50 iterations from each random start.  Clusters: those of ``words
cluster``, of the words as they are (what is seen once included) and of the same symbols as the
HMMs.  ``--raw`` learns from 12 million words of text/NAME.txt.xz and those of the treebank (EWT
and GUM, unless told), and scores the treebank.  Many-to-one and V-measure in percent, of all
tokens and of those that are no punctuation; CPU seconds of learning.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from _data import data

from eigentext.evaluate.clustering import contingency, many_to_one, v_measure
from eigentext.language.formats.ptb import read_trees
from eigentext.language.formats.text import read_sentences
from eigentext.sequences import HMM, Symbols
from eigentext.tagging.sequence.reading import read_tagged
from eigentext.words.clusters.model import SpectralClusters

BANKS = ("ewt", "gum", "fr-sequoia", "tr-imst", "hu-szeged", "pt-bosque")
TREES = ("craft", "icepahc")
ITERATIONS = 50
KINDS = {
    "anchor": {},
    "anchor, without looks": {"looks": False},
    "anchor, two senses": {"senses": 2},
    "anchor + 1 iteration of EM": {"n_iter": 1},
    "anchor + 10 iterations of EM": {"n_iter": 10},
}


def treebank(name):
    """Sentences, and the tags of all tokens; a token with a space in it is joined."""
    if name in TREES:
        trees = list(read_trees(data() / "constituency" / name / "train.mrg"))
        tags = [tag.split("-")[0] or tag for tree in trees for tag in tree.tags]
        return [list(tree.words) for tree in trees], tags
    source = str(data() / "dependency" / name / "train.conllu")
    tokens, tags, _ = read_tagged([source], scheme="plain")
    text = [[token.replace(" ", "_") for token in sentence] for sentence in tokens]
    return text, [tag for sentence in tags for tag in sentence]


def judged(states, tags):
    """Many-to-one and V-measure in percent, of all tokens and of all but punctuation."""
    states, tags = np.asarray(states), np.asarray(tags)
    words = ~np.isin(tags, ["PUNCT", *",.:"])
    tables = [contingency(states[part], tags[part].tolist()) for part in (words | True, words)]
    return [100 * measure(table) for table in tables for measure in (many_to_one, v_measure)]


def hmm_row(text, tags, **settings):
    """Scores and the CPU seconds of an HMM; ``learn`` is what it learns from."""
    learn = settings.pop("learn", text)
    model = HMM(language="generic", **settings)
    symbols = Symbols.chosen(learn, model)
    encoded = symbols.encode(learn)
    begin = time.process_time()
    model.fit_encoded(encoded, symbols)
    spent = time.process_time() - begin
    return (*judged(np.concatenate(model.predict(text)), tags), spent)


def cluster_row(learn, text, tags, k):
    """The same of clusters."""
    begin = time.process_time()
    model = SpectralClusters(k).fit(learn)
    spent = time.process_time() - begin
    return (*judged(model.predict([word for words in text for word in words]), tags), spent)


def shown(name, n_tokens, kind, row):
    """A line of the table."""
    figures = " | ".join(f"{value:.1f}" for value in row)
    print(f"| {name} | {n_tokens:,} | {kind} | {figures} |", flush=True)


def bank_rows(name, seeds):
    """All rows of a treebank."""
    text, tags = treebank(name)
    k, n = 17 if name in TREES else len(set(tags)), len(tags)
    for kind, more in KINDS.items():
        shown(name, n, kind, hmm_row(text, tags, n_states=k, estimator="anchor", **more))
    rows = np.array(
        [
            hmm_row(text, tags, n_states=k, start="random", n_iter=ITERATIONS, seed=seed)
            for seed in range(seeds)
        ]
    )
    shown(name, n, f"Baum-Welch, mean of {seeds} starts", rows.mean(axis=0))
    shown(name, n, f"Baum-Welch, best of {seeds} starts (by tags)", rows.max(axis=0))
    shown(name, n, "words cluster", cluster_row(text, text, tags, k))
    symbols = Symbols.chosen(text, HMM(language="generic"))
    classes = symbols.decode(symbols.encode(text))
    shown(name, n, "words cluster, of symbols", cluster_row(classes, classes, tags, k))


def raw_rows(name, raw, most):
    """A treebank with what was learned from its words and raw text."""
    text, tags = treebank(name)
    learn, n_tokens = [], 0
    for sentence in read_sentences(str(data() / "text" / f"{raw}.txt.xz")):
        learn.append(sentence)
        n_tokens += len(sentence)
        if n_tokens >= most:
            break
    learn += text
    n_tokens += len(tags)
    k, told = len(set(tags)), f"{name}, learned from {raw}"
    more = {"start": "random", "n_iter": 20}
    row = hmm_row(text, tags, learn=learn, n_states=k, **more)
    shown(told, n_tokens, "Baum-Welch, one start, 20 iterations", row)
    for kind, more in list(KINDS.items())[:3]:
        row = hmm_row(text, tags, learn=learn, n_states=k, estimator="anchor", **more)
        shown(told, n_tokens, kind, row)
    row = cluster_row(learn, text, tags, k)
    shown(told, n_tokens, "words cluster", row)
    symbols = Symbols.chosen(learn, HMM(language="generic"))
    learned = symbols.decode(symbols.encode(learn))
    asked = symbols.decode(symbols.encode(text))
    row = cluster_row(learned, asked, tags, k)
    shown(told, n_tokens, "words cluster, of symbols", row)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--banks", nargs="*", help="default: six, with --raw EWT and GUM")
    parser.add_argument("--seeds", type=int, default=3, help="random starts of Baum-Welch")
    parser.add_argument("--raw", help="learn from this text instead: wiki, elife, eltec")
    parser.add_argument("--most", type=int, default=12_000_000, help="words of it")
    given = parser.parse_args()
    print("| data | words | learned by | many-to-one | V-measure | ... of words | | CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    if given.raw:
        for name in given.banks or BANKS[:2]:
            raw_rows(name, given.raw, given.most)
        return
    for name in given.banks or BANKS:
        bank_rows(name, given.seeds)


if __name__ == "__main__":
    main()
