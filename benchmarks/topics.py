"""Topics of documents: moments, moments and EM, EM from random starts, scikit-learn and gensim.

    OMP_NUM_THREADS=1 python benchmarks/topics.py
    OMP_NUM_THREADS=1 python benchmarks/topics.py --folders pages/de pages/fr --topics 20 50

Texts of $EIGENTEXT_DATA.  Treebanks that mark their documents: English (EWT, GUM) and Portuguese
(Bosque), all parts together.  Texts that do not: English wiki and eLife, and Icelandic (IcePaHC),
the first lines of them; 10 successive sentences are a document, 20 of eLife.  ``--folders`` takes
texts of your own instead: folders of text files, each of them a document, or files of JSON Lines,
each record of them one; raw text, cut into words by the generic tokeniser.

Every tenth document is held out.  Words: those of at least 5 documents and at most a tenth of
them, 10,000 at most.  Every learner gets the same counts.  Learners that begin at random are run
with ``--seeds`` seeds: their figures are means, with the standard deviation behind them.

perplexity  of every second word of a held-out document, given its other words; proportions of
            topics by the learner's own inference, and by ours for all
coherence   mean NPMI of the ten leading words of topics, in the documents of training
CPU s       of learning from counts, one thread
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from _data import data

from eigentext.counting.documents import WordChoice, count_documents, read_documents
from eigentext.evaluate.clustering import npmi_coherence
from eigentext.language.formats.ptb import read_trees
from eigentext.language.formats.text import read_sentences
from eigentext.words import TopicModel
from eigentext.words.topics.learn import Topics, proportions_of, refined
from eigentext.words.topics.model import held_out_perplexity

if TYPE_CHECKING:
    from collections.abc import Callable

MARKED = {"ewt": "ewt", "gum": "gum", "portuguese": "pt-bosque"}
CUT = {"wiki": 10, "elife": 20, "icelandic": 10}  # so many sentences are a document


def documents_of(name, most):
    """Lists of tokens, of a text by its name, of a folder or of a file."""
    if name in MARKED:
        folder = data() / "dependency" / MARKED[name]
        files = [folder / f"{part}.conllu" for part in ("train", "dev", "test")]
        return list(chain(*(read_documents(str(one), "document") for one in files)))
    if name not in CUT:
        path = Path(name)
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        return list(
            chain(*(read_documents(str(one), "file", tokeniser="generic") for one in files))
        )
    if name == "icelandic":
        trees = read_trees(data() / "constituency" / "icepahc" / "train.mrg")
        text = [list(tree.words) for tree in islice(trees, most)]
    else:
        text = list(islice(read_sentences(data() / "text" / f"{name}.txt.xz"), most))
    size = CUT[name]
    return [list(chain(*text[i : i + size])) for i in range(0, len(text), size)]


class Corpus:
    """Counts of training documents, and of the two halves of held-out ones."""

    def __init__(self, name, most):
        documents = documents_of(name, most)
        counted = count_documents(
            (one for i, one in enumerate(documents) if i % 10), WordChoice(10_000, 5, 0.1)
        )
        self.words, self.train, self.counted = counted.words, counted.matrix, counted
        known = set(counted.words)
        held = [[w.lower() for w in one if w.lower() in known] for one in documents[::10]]
        self.given, self.asked = (
            count_documents([one[begin::2] for one in held], words=self.words).matrix
            for begin in (0, 1)
        )


def ours(corpus, k, **settings):
    """Topics, and the proportions of held-out halves."""
    model = TopicModel(k, **settings).fit_counts(corpus.counted)
    topics = Topics(model.topics_, model.weights_, model.alpha0)
    return model.topics_, lambda: proportions_of(topics, corpus.given)


def unigram(corpus, k):
    """The same distribution k times."""
    often = np.asarray(corpus.train.sum(axis=0), np.float64) + 0.01
    phi = np.tile(often / often.sum(), (k, 1))
    return phi, lambda: np.full((corpus.given.shape[0], k), 1 / k)


def random_start(corpus, k, seed, n_iter):
    """The same EM, from topics drawn at random."""
    phi = np.random.default_rng(seed).gamma(100.0, 0.01, (k, len(corpus.words)))
    begin = Topics(phi / phi.sum(axis=1, keepdims=True), np.full(k, 1 / k), 1.0)
    found = refined(begin, corpus.train, n_iter=n_iter).params
    return found.phi, lambda: proportions_of(found, corpus.given)


def scikit_learn(corpus, k, seed, **settings):
    """LatentDirichletAllocation with its defaults."""
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(k, random_state=seed, **settings).fit(corpus.train)
    phi = model.components_ / model.components_.sum(axis=1, keepdims=True)
    return phi, lambda: model.transform(corpus.given)


def gensim(corpus, k, seed, **settings):
    """LdaModel with its defaults."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    names = dict(enumerate(corpus.words))
    documents = Sparse2Corpus(corpus.train.tocsc(), documents_columns=False)
    model = LdaModel(documents, k, id2word=names, random_state=seed, **settings)

    def proportions():
        held = Sparse2Corpus(corpus.given.tocsc(), documents_columns=False)
        gamma, _ = model.inference(list(held))
        return gamma / gamma.sum(axis=1, keepdims=True)

    return model.get_topics().astype(np.float64), proportions


@dataclass(frozen=True)
class Learner:
    """A row: ``learn(corpus, k)``, or with a seed behind k where it begins at random."""

    name: str
    label: str
    learn: Callable
    seeded: bool = True


LEARNERS = (
    Learner("unigram", "no topics: the frequency of words", unigram, seeded=False),
    Learner("moments", "moments alone", lambda c, k: ours(c, k, refine=0), seeded=False),
    Learner(
        "single",
        "moments alone, one topic a document",
        lambda c, k: ours(c, k, refine=0, alpha0=0.0),
        seeded=False,
    ),
    Learner("auto", "moments and EM, the default", ours, seeded=False),
    Learner("em10", "moments, 10 iterations of EM", lambda c, k: ours(c, k, refine=10), False),
    Learner("em50", "moments, 50 iterations of EM", lambda c, k: ours(c, k, refine=50), False),
    Learner(
        "random10",
        "random start, 10 iterations of the same EM",
        lambda c, k, seed: random_start(c, k, seed, 10),
    ),
    Learner(
        "random50",
        "random start, 50 iterations of the same EM",
        lambda c, k, seed: random_start(c, k, seed, 50),
    ),
    Learner("batch10", "scikit-learn, batch, 10 iterations", scikit_learn),
    Learner(
        "batch50",
        "scikit-learn, batch, 50 iterations",
        lambda c, k, seed: scikit_learn(c, k, seed, max_iter=50),
    ),
    Learner(
        "online10",
        "scikit-learn, online, 10 passes",
        lambda c, k, seed: scikit_learn(c, k, seed, learning_method="online"),
    ),
    Learner("gensim1", "gensim, 1 pass", gensim),
    Learner("gensim10", "gensim, 10 passes", lambda c, k, seed: gensim(c, k, seed, passes=10)),
)


def figures(corpus, k, learner, n_seeds):
    """(seeds, 4): perplexity twice, coherence, and CPU seconds."""
    rows = []
    for seed in range(n_seeds if learner.seeded else 1):
        began = time.process_time()
        phi, proportions = learner.learn(corpus, k, *([seed] if learner.seeded else []))
        spent = time.process_time() - began
        same = proportions_of(Topics(phi, np.full(k, 1 / k), 1.0), corpus.given)
        leading = np.argsort(-phi, axis=1)[:, :10]
        rows.append(
            [
                held_out_perplexity(proportions(), phi, corpus.asked),
                held_out_perplexity(same, phi, corpus.asked),
                float(npmi_coherence(leading, corpus.train).mean()),
                spent,
            ]
        )
    return np.array(rows)


def cells(rows):
    """Means, with standard deviations where there are several seeds."""
    mean, shown = rows.mean(axis=0), []
    spread = rows.std(axis=0, ddof=1) if len(rows) > 1 else None
    for i, form in enumerate(("{:,.0f}", "{:,.0f}", "{:.3f}", "{:.1f}")):
        more = f" ± {form.format(spread[i])}" if spread is not None and i < 3 else ""
        shown.append(form.format(mean[i]) + more)
    return " | ".join(shown)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    names = [*MARKED, *CUT]
    parser.add_argument("--corpora", nargs="+", choices=names, help="By default all.")
    parser.add_argument("--folders", nargs="+", default=[], help="Texts of your own.")
    parser.add_argument("--topics", type=int, nargs="+", default=[20])
    parser.add_argument("--seeds", type=int, default=5, help="Of learners that begin at random.")
    parser.add_argument("--sentences", type=int, default=60_000, help="At most, of each text.")
    rows = [learner.name for learner in LEARNERS]
    parser.add_argument("--learners", nargs="+", choices=rows, default=rows)
    given = parser.parse_args()
    print("| text | topics | learner | perplexity | by the same inference | coherence | CPU s |")
    print("|---|---|---|---|---|---|---|")
    for name in given.folders + (given.corpora or ([] if given.folders else names)):
        corpus = Corpus(name, given.sentences)
        ours(corpus, 2, refine=1)  # kernels are compiled
        n, V = corpus.train.shape
        about = f"{Path(name).stem}: {n:,} documents, {V:,} words, {corpus.train.sum():,} tokens"
        for k in given.topics:
            for learner in LEARNERS:
                if learner.name not in given.learners:
                    continue
                try:
                    shown = cells(figures(corpus, k, learner, given.seeds))
                except ImportError:
                    shown = "not installed | | | "
                print(f"| {about} | {k} | {learner.label} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
