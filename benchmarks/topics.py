"""Topics of documents: moments, moments and EM, EM from random starts, scikit-learn and gensim.

    OMP_NUM_THREADS=1 python benchmarks/topics.py

Texts of $EIGENTEXT_DATA: the first lines of the English wiki and eLife texts, and Icelandic
(IcePaHC) and Portuguese (Bosque) treebanks.  None of them marks its documents, so 10 successive
sentences are one, 20 of eLife; every tenth is held out.  Words: those of at least 5 documents and
at most a tenth of them, 10,000 at most.  Every learner gets the same counts.

perplexity  of every second word of a held-out document, given its other words; proportions of
            topics by the learner's own inference, and by ours for all
coherence   mean NPMI of the ten leading words of topics, in the documents of training
CPU s       of learning from counts, one thread
"""

from __future__ import annotations

import argparse
import time
from itertools import chain, islice

import numpy as np
from _data import data

from eigentext.corpus.documents import WordChoice, count_documents
from eigentext.evaluate.coherence import npmi_coherence
from eigentext.formats.ptb import read_trees
from eigentext.formats.text import read_sentences
from eigentext.tagging.reading import read_items
from eigentext.words import TopicModel
from eigentext.words.topics.inference import Topics, proportions_of, refined
from eigentext.words.topics.model import held_out_perplexity

CORPORA = {"wiki": 10, "elife": 20, "icelandic": 10, "portuguese": 10}


def sentences(name, most):
    """Lists of tokens."""
    if name == "icelandic":
        trees = read_trees(data() / "constituency" / "icepahc" / "train.mrg")
        return [list(tree.words) for tree in islice(trees, most)]
    if name == "portuguese":
        bank = read_items(str(data() / "dependency" / "pt-bosque" / "train.conllu"))
        return [list(item.tokens) for item in islice(bank, most)]
    return list(islice(read_sentences(data() / "text" / f"{name}.txt.xz"), most))


class Corpus:
    """Counts of training documents, and of the two halves of held-out ones."""

    def __init__(self, name, most):
        text, size = sentences(name, most), CORPORA[name]
        documents = [list(chain(*text[i : i + size])) for i in range(0, len(text), size)]
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


def random_start(corpus, k, n_iter):
    """The same EM, from topics drawn at random."""
    phi = np.random.default_rng(0).gamma(100.0, 0.01, (k, len(corpus.words)))
    begin = Topics(phi / phi.sum(axis=1, keepdims=True), np.full(k, 1 / k), 1.0)
    found = refined(begin, corpus.train, n_iter=n_iter).params
    return found.phi, lambda: proportions_of(found, corpus.given)


def scikit_learn(corpus, k, **settings):
    """LatentDirichletAllocation with its defaults."""
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(k, random_state=0, **settings).fit(corpus.train)
    phi = model.components_ / model.components_.sum(axis=1, keepdims=True)
    return phi, lambda: model.transform(corpus.given)


def gensim(corpus, k, **settings):
    """LdaModel with its defaults."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    names = dict(enumerate(corpus.words))
    documents = Sparse2Corpus(corpus.train.tocsc(), documents_columns=False)
    model = LdaModel(documents, k, id2word=names, random_state=0, **settings)

    def proportions():
        held = Sparse2Corpus(corpus.given.tocsc(), documents_columns=False)
        gamma, _ = model.inference(list(held))
        return gamma / gamma.sum(axis=1, keepdims=True)

    return model.get_topics().astype(np.float64), proportions


LEARNERS = {
    "no topics: the frequency of words": lambda c, k: unigram(c, k),
    "moments alone": lambda c, k: ours(c, k, refine=0),
    "moments alone, one topic a document": lambda c, k: ours(c, k, refine=0, alpha0=0.0),
    "moments, 10 iterations of EM": lambda c, k: ours(c, k),
    "moments, 50 iterations of EM": lambda c, k: ours(c, k, refine=50),
    "random start, 10 iterations of the same EM": lambda c, k: random_start(c, k, 10),
    "random start, 50 iterations of the same EM": lambda c, k: random_start(c, k, 50),
    "scikit-learn, batch": lambda c, k: scikit_learn(c, k),
    "scikit-learn, online": lambda c, k: scikit_learn(c, k, learning_method="online"),
    "gensim": lambda c, k: gensim(c, k),
    "gensim, 10 passes": lambda c, k: gensim(c, k, passes=10),
}


def row(corpus, k, learn):
    """Perplexity twice, coherence, and CPU seconds."""
    began = time.process_time()
    phi, proportions = learn(corpus, k)
    spent = time.process_time() - began
    same = proportions_of(Topics(phi, np.full(k, 1 / k), 1.0), corpus.given)
    leading = np.argsort(-phi, axis=1)[:, :10]
    return (
        held_out_perplexity(proportions(), phi, corpus.asked),
        held_out_perplexity(same, phi, corpus.asked),
        float(npmi_coherence(leading, corpus.train).mean()),
        spent,
    )


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpora", nargs="+", default=list(CORPORA), choices=list(CORPORA))
    parser.add_argument("--topics", type=int, nargs="+", default=[20])
    parser.add_argument("--sentences", type=int, default=60_000, help="At most, of each text.")
    given = parser.parse_args()
    print("| text | topics | learner | perplexity: own, same inference | coherence | CPU s |")
    print("|---|---|---|---|---|---|")
    for name in given.corpora:
        corpus = Corpus(name, given.sentences)
        ours(corpus, 2, refine=1)  # kernels are compiled
        n, V = corpus.train.shape
        for k in given.topics:
            about = f"{name}: {n:,} documents, {V:,} words, {corpus.train.sum():,} tokens"
            for label, learn in LEARNERS.items():
                try:
                    own, same, coherence, spent = row(corpus, k, learn)
                except ImportError:
                    print(f"| {about} | {k} | {label} | not installed | | |", flush=True)
                    continue
                figures = f"{own:,.0f}, {same:,.0f} | {coherence:.3f} | {spent:.1f}"
                print(f"| {about} | {k} | {label} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
