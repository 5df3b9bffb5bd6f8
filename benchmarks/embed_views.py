"""Vectors from several views: similarity, unknown words, entities, tags; FastText beside.

    python benchmarks/embed_views.py                     # all parts; or one: --parts similarity
    python benchmarks/embed_views.py --parts tags --languages pt-bosque --seeds 5

``$EIGENTEXT_DATA`` names the folder of data.  Four parts:

* similarity: the first ``--sentences`` of a corpus (``--corpus``), its 30,000 most frequent words.
  Every third word of the similarity sets (by a hash) is left out of the vocabulary, and so is
  ``<unk>`` in the contexts and nothing in the text of FastText.  Spearman x 100 of the pairs of
  known words, and of the pairs with a word that was left out;
* entities: F1 of the sequence tagger (WNUT-17, LitBank) with vectors of the whole vocabulary,
  default settings;
* tags: treebanks whose own training text is all the text that there is for vectors (50
  dimensions): accuracy of UPOS on test, of all words and of those that the tagger has not seen.
* probe: the same treebanks; a linear classifier (logistic regression) is given nothing but the
  vector of a word, learns the usual tag of each training word, and tags the unknown words of test.

In the last three, vectors of words that are not in the vocabulary are made from characters where
the model can.  CPU seconds are of one thread, from lists of tokens to vectors.  FastText is
gensim's: skip-gram, ``--epochs`` (10 for the small treebanks), the same window, words and
dimensions, otherwise its defaults; it is left out of the part entities.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from _data import data, plain_text

from eigentext.corpus.counting import count_sentences
from eigentext.corpus.encoding import EncodedText, encode_sentences
from eigentext.corpus.vocabulary import Vocabulary
from eigentext.evaluate.ner import evaluate
from eigentext.evaluate.similarity import read_pairs, score_similarity
from eigentext.formats.columns import read_columns
from eigentext.formats.conllu import read_sentences
from eigentext.lexicon.word_classes import WordVectors
from eigentext.linalg.determinism import single_threaded
from eigentext.tagging import SequenceTagger
from eigentext.words import CCAEmbedding, MultiviewEmbedding

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SETS = {
    "WS-353": "EN-WS-353-ALL",
    "MEN": "EN-MEN-TR-3k",
    "RW": "EN-RW-STANFORD",
    "SimLex": "EN-SIMLEX-999",
    "SimVerb": "EN-SimVerb-3500",
}
VIEWS = {
    "left, right": ("left", "right"),
    "left, right, document": ("left", "right", "document"),
    "left, right, document, characters": ("left", "right", "document", "characters"),
}
ALL = "left, right, document, characters"
PARTS = ("similarity", "entities", "tags", "probe")
VOCABULARY = 30_000

Sentences = list[list[str]]


class Made(NamedTuple):
    """Vectors of words, in the order of the vocabulary; ``unknown`` gives those of other words."""

    name: str
    words: Sequence[str]
    vectors: np.ndarray
    seconds: float
    unknown: Callable[[list[str]], np.ndarray] | None = None

    def of(self, words: list[str]) -> np.ndarray:
        """The vector of each word, zeros where there is none."""
        row_of = {word: row for row, word in enumerate(self.words)}
        answer = np.zeros((len(words), self.vectors.shape[1]), np.float32)
        for at, word in enumerate(words):
            if word in row_of:
                answer[at] = self.vectors[row_of[word]]
        other = [at for at, word in enumerate(words) if word not in row_of]
        if self.unknown is not None and other:
            answer[other] = self.unknown([words[at] for at in other])
        return answer


class Text(NamedTuple):
    """Sentences, and the same as ids over the words that may have vectors."""

    sentences: Sentences
    encoded: EncodedText
    size: int


def prepared(sentences: Sentences, n_words: int, without: set[str], size: int) -> Text:
    """The text with the most frequent words but some."""
    encoded = encode_sentences(sentences, vocab_size=n_words + len(without))
    words = [word for word in encoded.vocabulary.words[:-1] if word not in without][:n_words]
    kept = Vocabulary.from_words(words)
    of_old = np.append(kept.encode(encoded.vocabulary.words), np.int32(-1))
    return Text(sentences, EncodedText(kept, of_old[encoded.ids]), size)


def two_views(text: Text) -> Made:
    """The vectors of one decomposition: a word and its bag of neighbours."""
    words = text.encoded.vocabulary.words
    known = set(words)
    began = time.process_time()
    with single_threaded():
        model = CCAEmbedding(text.size, contexts="bag5")
        cut = [[w if w in known else "<unk>" for w in one] for one in text.sentences]
        made = model.fit(count_sentences(cut, contexts=model.contexts_to_count())).embeddings_
    seconds = time.process_time() - began
    return Made("two views: word, bag of neighbours", made.words, made.vectors, seconds)


def several_views(text: Text, name: str, views: Sequence[str], **more: Any) -> Made:
    """Ours; text that is ids already costs what encoding it once more does."""
    began = time.process_time()
    encode_sentences(text.sentences, vocab_size=VOCABULARY)
    with single_threaded():
        model = MultiviewEmbedding(text.size, views=tuple(views), **more).fit(text.encoded)
    seconds = time.process_time() - began
    unknown = None if model.characters_ is None else model.characters_.vectors
    made = model.embeddings_
    return Made(f"views: {name}", made.words, made.vectors, seconds, unknown)


def fast_text(text: Text, epochs: int) -> Made | None:
    """gensim's FastText, with the same words."""
    try:
        from gensim.models import FastText
    except ImportError:
        print("(gensim is not installed: no FastText)")
        return None
    known = set(text.encoded.vocabulary.words)
    cut = [[word for word in one if word in known] for one in text.sentences]
    began = time.process_time()
    model = FastText(
        vector_size=text.size, window=5, sg=1, min_count=1, epochs=epochs, workers=1, seed=1
    )
    model.build_vocab(cut)
    model.train(cut, total_examples=len(cut), epochs=epochs)
    seconds = time.process_time() - began
    name = f"gensim FastText, {epochs} epochs"

    def unknown(words: list[str]) -> np.ndarray:
        return np.array([model.wv.get_vector(word) for word in words], np.float32)

    return Made(name, model.wv.index_to_key, model.wv.vectors, seconds, unknown)


def systems(text: Text, options: argparse.Namespace, epochs: int) -> list[Made]:
    """All of them, one after the other."""
    made = [two_views(text)]
    made += [several_views(text, name, views) for name, views in VIEWS.items()]
    rival = None if options.no_gensim else fast_text(text, epochs)
    return made if rival is None else [*made, rival]


def correlations(made: Made, pairs: dict[str, list[Any]]) -> str:
    """Cells of Spearman x 100, their mean first."""
    words = list(
        dict.fromkeys(word for part in pairs.values() for a, b, _ in part for word in (a, b))
    )
    rows = {word: row for row, word in enumerate(words)}
    vectors = made.of(words)
    rhos = {name: 100 * score_similarity(rows, vectors, part).rho for name, part in pairs.items()}
    cells = [f"{rho:.1f}" for rho in rhos.values()]
    return " | ".join([f"{np.mean(list(rhos.values())):.1f}", *cells])


def is_held_out(word: str) -> bool:
    """Every third word, by a hash."""
    return crc32(word.encode()) % 3 == 0


def english(options: argparse.Namespace) -> Sentences:
    """The first sentences of the corpus."""
    lines: Sentences = []
    with open(plain_text(options.corpus), encoding="utf-8") as source:
        for line in source:
            lines.append(line.split())
            if len(lines) == options.sentences:
                break
    return lines


def similarity_sets() -> dict[str, list[tuple[str, str, float]]]:
    """The pairs of each set."""
    return {name: read_pairs(data() / "wordsim" / f"{file}.txt") for name, file in SETS.items()}


def similarity(sentences: Sentences, options: argparse.Namespace) -> None:
    """Pairs of known words, and pairs with a word that was left out of the vocabulary."""
    sets = similarity_sets()
    seen = {word for one in sentences for word in one}
    held_out = {w for part in sets.values() for a, b, _ in part for w in (a, b) if is_held_out(w)}
    text = prepared(sentences, VOCABULARY, held_out, options.n_components)
    made = systems(text, options, options.epochs)
    known = set(text.encoded.vocabulary.words)
    both = {
        name: [pair for pair in part if {pair[0], pair[1]} <= known] for name, part in sets.items()
    }
    known |= held_out & seen
    other = {
        name: [p for p in part if {p[0], p[1]} <= known and {p[0], p[1]} & held_out]
        for name, part in sets.items()
    }
    able = [one for one in made if one.unknown is not None]
    for title, pairs, several in (("known words", both, made), ("unknown words", other, able)):
        heads = [f"{name} ({len(part)})" for name, part in pairs.items()]
        print(f"\n| similarity, {title} | CPU s | mean | {' | '.join(heads)} |")
        print("|---" * (3 + len(heads)) + "|")
        for one in several:
            print(f"| {one.name} | {one.seconds:.0f} | {correlations(one, pairs)} |", flush=True)


def entities(made: list[Made], options: argparse.Namespace) -> None:
    """F1 of named entities."""
    for name in options.entities:
        splits = {}
        for split in ("train", "test"):
            read = list(read_columns(data() / "ner" / name / f"{split}.bio", scheme="bio2"))
            splits[split] = [one.tokens for one in read], [one.tags for one in read]
        print(f"\n| {name}, F1 on test, {options.seeds} seed(s) | F1 | gain |\n|---|---|---|")
        tokens = [*splits["train"][0], *splits["test"][0]]
        words = sorted({word for one in tokens for word in one})
        plain = 0.0
        for one in [None, *made]:
            scores = []
            for seed in range(options.seeds):
                tagger = SequenceTagger(seed=seed, vectors=table(one, words)).fit(*splits["train"])
                found = tagger.predict(splits["test"][0])
                scores.append(evaluate(splits["test"][1], found).f1)
            mean = float(np.mean(scores))
            plain = plain or mean
            title = "no vectors" if one is None else one.name
            print(f"| {title} | {mean:.2f} | {mean - plain:+.2f} |", flush=True)


def table(made: Made | None, words: list[str]) -> WordVectors | None:
    """What a tagger takes: the vectors of all words that will be asked for."""
    if made is None:
        return None
    vectors = made.of(words)
    has = vectors.any(axis=1)
    return WordVectors([w for w, h in zip(words, has, strict=True) if h], vectors[has])


def treebank(name: str) -> tuple[dict[str, Sentences], dict[str, Sentences]]:
    """Words and universal tags of train and test."""
    folder = data() / "dependency" / name
    read = {split: list(read_sentences(folder / f"{split}.conllu")) for split in ("train", "test")}
    forms = {
        split: [[form.replace(" ", "_") for form in one.forms] for one in part]
        for split, part in read.items()
    }
    gold = {split: [list(one.column("upos")) for one in part] for split, part in read.items()}
    return forms, gold


def tags(options: argparse.Namespace) -> None:
    """UPOS: all words of test, and those not seen in training."""
    for name in options.languages:
        forms, gold = treebank(name)
        text = prepared(forms["train"], VOCABULARY, set(), 50)
        seen = {word for one in forms["train"] for word in one}
        words = sorted(seen | {word for one in forms["test"] for word in one})
        new = [word not in seen for one in forms["test"] for word in one]
        share = 100 * np.mean(new)
        head = f"{name}: UPOS on test, {options.seeds} seed(s)"
        print(f"\n| {head} | CPU s of vectors | all words | unknown words ({share:.1f}%) |")
        print("|---|---|---|---|")
        for one in [None, *systems(text, options, 10)]:
            every, unseen = [], []
            for seed in range(options.seeds):
                tagger = SequenceTagger(seed=seed, vectors=table(one, words))
                found = tagger.fit(forms["train"], gold["train"]).predict(forms["test"])
                right = [
                    a == b
                    for x, y in zip(found, gold["test"], strict=True)
                    for a, b in zip(x, y, strict=True)
                ]
                every.append(np.mean(right))
                unseen.append(np.mean(np.array(right)[new]))
            title, cost = ("no vectors", 0.0) if one is None else (one.name, one.seconds)
            cells = f"{100 * np.mean(every):.2f} | {100 * np.mean(unseen):.2f}"
            print(f"| {title} | {cost:.1f} | {cells} |", flush=True)


def probe(options: argparse.Namespace) -> None:
    """UPOS of unknown words by their vectors alone."""
    from collections import Counter, defaultdict

    from sklearn.linear_model import LogisticRegression

    print("\n| UPOS of unknown words by the vector alone | usual tag | views | FastText |")
    print("|---|---|---|---|")
    for name in options.languages:
        forms, gold = treebank(name)
        text = prepared(forms["train"], VOCABULARY, set(), 50)
        tag_counts: dict[str, Counter[str]] = defaultdict(Counter)
        for one, these in zip(forms["train"], gold["train"], strict=True):
            for word, tag in zip(one, these, strict=True):
                tag_counts[word][tag] += 1
        words = sorted(tag_counts)
        usual = [tag_counts[word].most_common(1)[0][0] for word in words]
        asked = [
            (word, tag)
            for one, these in zip(forms["test"], gold["test"], strict=True)
            for word, tag in zip(one, these, strict=True)
            if word not in tag_counts
        ]
        truth = np.array([tag for _, tag in asked])
        top = Counter(tag for word in words for tag in tag_counts[word]).most_common(1)[0][0]
        cells = [f"{100 * np.mean(truth == top):.1f}"]
        made = [several_views(text, ALL, VIEWS[ALL])]
        rival = None if options.no_gensim else fast_text(text, 10)
        for one in [*made, *([] if rival is None else [rival])]:
            unit = one.of(words)
            unit /= np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-9)
            new = one.of([word for word, _ in asked])
            new /= np.maximum(np.linalg.norm(new, axis=1, keepdims=True), 1e-9)
            learned = LogisticRegression(C=10.0, max_iter=300).fit(unit, usual)
            cells.append(f"{100 * np.mean(learned.predict(new) == truth):.1f}")
        print(f"| {name}, {len(asked)} words | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--corpus", default="wiki", help="a name in the folder text of the data")
    parser.add_argument("--sentences", type=int, default=210_000)
    parser.add_argument("--n-components", type=int, default=200)
    parser.add_argument("--epochs", type=int, default=2, help="of FastText")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument(
        "--languages", nargs="+", default=["pt-bosque", "fr-sequoia", "tr-imst", "hu-szeged"]
    )
    parser.add_argument("--entities", nargs="+", default=["wnut17", "litbank"])
    parser.add_argument("--no-gensim", action="store_true")
    options = parser.parse_args()
    several_views(prepared([["a", "b", "c"]] * 9, 9, set(), 2), "", ("left", "right"))  # compiles
    if {"similarity", "entities"} & set(options.parts):
        sentences = english(options)
        print(f"{options.corpus}: {sum(map(len, sentences)):,} words, {VOCABULARY:,} types")
        if "similarity" in options.parts:
            similarity(sentences, options)
        if "entities" in options.parts:
            text = prepared(sentences, VOCABULARY, set(), options.n_components)
            made = [two_views(text), several_views(text, ALL, VIEWS[ALL])]
            entities(made, options)
    if "tags" in options.parts:
        tags(options)
    if "probe" in options.parts:
        probe(options)


if __name__ == "__main__":
    main()
