"""Vectors from several views: similarity, unknown words, entities, tags; FastText beside.

    python benchmarks/embed_views.py          # the parts that need no file; or: --parts similarity
    python benchmarks/embed_views.py --parts tags --languages pt-bosque --seeds 5
    python benchmarks/embed_views.py --parts translations --pairs eng-deu.tsv eng-fra.index

``$EIGENTEXT_DATA`` names the folder of data.  Parts:

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
* defaults: the probe on dev with other values of ``exponent``, ``view_rank`` and ``ridge``, each
  against the default;
* translations: similarity with the view of another language and without, all words known.  A file
  of ``--pairs`` is one of ``words embed --pairs``, or the index of a dictionary in the format of
  dictd beside its ``.dict.dz`` (:func:`dictionary_pairs`).  Several files are several rows, and
  all of them one more; the last row has its translations shuffled, which should gain nothing.

In entities, tags and probes, vectors of words that are not in the vocabulary are made from
characters where the model can.  Intervals are of 95%, by a paired bootstrap: over sentences of
test (with the counts of all seeds added), over words in the probe, over pairs of words in
similarity; they do not tell of other training data.  CPU seconds are of one thread, from lists of
tokens to vectors.  FastText is gensim's: skip-gram, its own 5 epochs (10 for the small treebanks),
the same window, words and dimensions, otherwise its defaults; it is left out of the part entities.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from _data import data, plain_text

from eigentext.counting.counting import count_sentences
from eigentext.counting.encoding import EncodedText, encode_sentences
from eigentext.counting.vocabulary import Vocabulary
from eigentext.evaluate.bootstrap import compare
from eigentext.evaluate.ner import evaluate
from eigentext.evaluate.similarity import read_pairs, score_similarity
from eigentext.features.word_classes import VectorTable
from eigentext.language.formats.columns import read_columns
from eigentext.language.formats.conllu import read_sentences
from eigentext.linalg.ties import single_threaded
from eigentext.tagging.sequence import SequenceTagger
from eigentext.words import CCAEmbedding, MultiviewEmbedding
from eigentext.words.embeddings.multiview import WordPair, read_word_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

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
DOCUMENT, ALL = "left, right, document", "left, right, document, characters"
PARTS = ("similarity", "entities", "tags", "probe", "defaults", "translations")
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


def several_views(
    text: Text, name: str, views: Sequence[str], *, pairs: Any = None, **more: Any
) -> Made:
    """Ours; text that is ids already costs what encoding it once more does."""
    began = time.process_time()
    encode_sentences(text.sentences, vocab_size=VOCABULARY)
    with single_threaded():
        model = MultiviewEmbedding(text.size, views=tuple(views), **more)
        model.fit(text.encoded, pairs=pairs)
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


def systems(
    text: Text, options: argparse.Namespace, epochs: int, names: Sequence[str] = tuple(VIEWS)
) -> list[Made]:
    """All of them, one after the other."""
    made = [two_views(text)]
    made += [several_views(text, name, VIEWS[name]) for name in names]
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
    size = options.n_components
    made.append(several_views(text, f"{ALL}, view_rank {size}", VIEWS[ALL], view_rank=size))
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


def gain(ours: list[Any], theirs: list[Any] | None) -> str:
    """A difference with its interval: counts (right, gold, found), one row a sentence."""
    if theirs is None:
        return ""
    made = compare(ours, theirs, n_samples=2000)
    return f"{made.difference:+.2f} [{made.low:+.2f}, {made.high:+.2f}]"


def entities(made: list[Made], options: argparse.Namespace) -> None:
    """F1 of named entities."""
    for name in options.entities:
        splits = {}
        for split in ("train", "test"):
            read = list(read_columns(data() / "ner" / name / f"{split}.bio", scheme="bio2"))
            splits[split] = [one.tokens for one in read], [one.tags for one in read]
        head = f"{name}, F1 on test, {options.seeds} seed(s)"
        print(f"\n| {head} | F1 | of each seed | over no vectors | over two views |")
        print("|---|---|---|---|---|")
        tokens = [*splits["train"][0], *splits["test"][0]]
        words = sorted({word for one in tokens for word in one})
        rivals: list[Any] = []
        for one in [None, *made]:
            scores, counts = [], np.zeros((len(splits["test"][0]), 3))
            for seed in range(options.seeds):
                tagger = SequenceTagger(seed=seed, vectors=table(one, words)).fit(*splits["train"])
                result = evaluate(splits["test"][1], tagger.predict(splits["test"][0]))
                scores.append(result.f1)
                counts += np.array(result.sentence_counts)
            title = "no vectors" if one is None else one.name
            gains = [gain(counts, rival) for rival in (*rivals, None, None)[:2]]
            each = " ".join(f"{score:.1f}" for score in scores)
            cells = [title, f"{np.mean(scores):.2f}", each, *gains]
            print(f"| {' | '.join(cells)} |", flush=True)
            rivals.append(counts)


def table(made: Made | None, words: list[str]) -> VectorTable | None:
    """What a tagger takes: the vectors of all words that will be asked for."""
    if made is None:
        return None
    vectors = made.of(words)
    has = vectors.any(axis=1)
    return VectorTable([w for w, h in zip(words, has, strict=True) if h], vectors[has])


def treebank(name: str) -> tuple[dict[str, Sentences], dict[str, Sentences]]:
    """Words and universal tags of each part."""
    folder = data() / "dependency" / name
    parts = ("train", "dev", "test")
    read = {split: list(read_sentences(folder / f"{split}.conllu")) for split in parts}
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
        new = [[word not in seen for word in one] for one in forms["test"]]
        share = 100 * np.mean([word for one in new for word in one])
        head = f"{name}: UPOS on test, {options.seeds} seed(s) | CPU s of vectors"
        print(f"\n| {head} | all words | over no vectors | over two views ", end="")
        print(f"| unknown words ({share:.1f}%) | over no vectors | over two views |")
        print("|---" * 8 + "|")
        rivals: list[Any] = []
        for one in [None, *systems(text, options, 10, names=(ALL,))]:
            every, unseen = (np.zeros((len(new), 3)) for _ in range(2))
            for seed in range(options.seeds):
                tagger = SequenceTagger(seed=seed, vectors=table(one, words))
                found = tagger.fit(forms["train"], gold["train"]).predict(forms["test"])
                for at, (theirs, true, out) in enumerate(
                    zip(found, gold["test"], new, strict=True)
                ):
                    right = np.equal(np.array(theirs), np.array(true))
                    every[at] += right.sum(), len(right), len(right)
                    unseen[at] += right[out].sum(), sum(out), sum(out)
            title, cost = ("no vectors", 0.0) if one is None else (one.name, one.seconds)
            cells = [title, f"{cost:.1f}"]
            for which, counts in enumerate((every, unseen)):
                both = (*(rival[which] for rival in rivals), None, None)[:2]
                right, n, _ = counts.sum(0)
                cells += [f"{100 * right / n:.2f}", *(gain(counts, rival) for rival in both)]
            print(f"| {' | '.join(cells)} |", flush=True)
            rivals.append((every, unseen))


class Asked(NamedTuple):
    """Training words with their usual tags; words that training does not have, and their tags."""

    words: list[str]
    usual: list[str]
    new: list[str]
    truth: np.ndarray
    top: str


def asked_of(forms: dict[str, Sentences], gold: dict[str, Sentences], split: str) -> Asked:
    """What a probe learns from and is asked."""
    tag_counts: dict[str, Counter[str]] = defaultdict(Counter)
    for one, these in zip(forms["train"], gold["train"], strict=True):
        for word, tag in zip(one, these, strict=True):
            tag_counts[word][tag] += 1
    words = sorted(tag_counts)
    usual = [tag_counts[word].most_common(1)[0][0] for word in words]
    asked = [
        (word, tag)
        for one, these in zip(forms[split], gold[split], strict=True)
        for word, tag in zip(one, these, strict=True)
        if word not in tag_counts
    ]
    top = Counter(tag for word in words for tag in tag_counts[word]).most_common(1)[0][0]
    return Asked(words, usual, [w for w, _ in asked], np.array([tag for _, tag in asked]), top)


def told_by(made: Made, asked: Asked) -> np.ndarray:
    """Which of the unknown words get their tag from the vector alone."""
    from sklearn.linear_model import LogisticRegression

    unit, new = (
        rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        for rows in (made.of(asked.words), made.of(asked.new))
    )
    learned = LogisticRegression(C=10.0, max_iter=300).fit(unit, asked.usual)
    return np.asarray(learned.predict(new) == asked.truth)


def probe(options: argparse.Namespace) -> None:
    """UPOS of unknown words by their vectors alone."""
    print("\n| UPOS of unknown words by the vector alone | usual tag | views | FastText |")
    print("|---|---|---|---|")
    for name in options.languages:
        forms, gold = treebank(name)
        text = prepared(forms["train"], VOCABULARY, set(), 50)
        asked = asked_of(forms, gold, "test")
        cells = [f"{100 * np.mean(asked.truth == asked.top):.1f}"]
        rival = None if options.no_gensim else fast_text(text, 10)
        made = [several_views(text, ALL, VIEWS[ALL]), *([] if rival is None else [rival])]
        cells += [f"{100 * np.mean(told_by(one, asked)):.1f}" for one in made]
        print(f"| {name}, {len(asked.new)} words | {' | '.join(cells)} |", flush=True)


OTHERS: dict[str, dict[str, Any]] = {
    "exponent 0.5": {"exponent": 0.5},
    "exponent 2": {"exponent": 2.0},
    "view_rank 50": {"view_rank": 50},
    "view_rank 150": {"view_rank": 150},
    "ridge 0.005": {"ridge": 0.005},
    "ridge 0.02": {"ridge": 0.02},
}
"""Values beside the defaults 1, 75 (half as many again as 50) and 0.01."""


def defaults(options: argparse.Namespace) -> None:
    """The probe on dev with other settings, against the default ones."""
    for name in options.languages:
        forms, gold = treebank(name)
        text = prepared(forms["train"], VOCABULARY, set(), 50)
        asked = asked_of(forms, gold, "dev")
        usual = told_by(several_views(text, ALL, VIEWS[ALL]), asked)
        print(f"\n| {name}, {len(asked.new)} unknown words of dev | UPOS | over the default |")
        print(f"|---|---|---|\n| default | {100 * usual.mean():.2f} | |", flush=True)
        counts = [np.column_stack([usual, np.ones((len(usual), 2))])]
        for title, settings in OTHERS.items():
            told = told_by(several_views(text, ALL, VIEWS[ALL], **settings), asked)
            counts = [counts[0], np.column_stack([told, np.ones((len(told), 2))])]
            print(f"| {title} | {100 * told.mean():.2f} | {gain(*counts[::-1])} |", flush=True)


def ranks_differ(
    ours: np.ndarray, theirs: np.ndarray, gold: np.ndarray, n_samples: int = 2000
) -> tuple[float, float, float]:
    """Spearman x 100 of ours less that of theirs, and its interval; pairs are drawn anew."""
    from scipy.stats import rankdata

    def rho(draws: np.ndarray) -> np.ndarray:
        """(draws, 2)"""
        ranks = [rankdata(one[draws], axis=1) for one in (gold, ours, theirs)]
        unit = [one - one.mean(axis=1, keepdims=True) for one in ranks]
        unit = [one / np.linalg.norm(one, axis=1, keepdims=True) for one in unit]
        return 100 * np.column_stack([(unit[0] * one).sum(axis=1) for one in unit[1:]])

    whole = rho(np.arange(len(gold))[None])[0]
    drawn = rho(np.random.default_rng(0).integers(0, len(gold), (n_samples, len(gold))))
    low, high = np.percentile(drawn[:, 0] - drawn[:, 1], [2.5, 97.5])
    return float(whole[0] - whole[1]), float(low), float(high)


def cosines(made: Made, part: list[Any]) -> np.ndarray:
    """The cosine of each pair."""
    left, right = (made.of([pair[side] for pair in part]) for side in (0, 1))
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    return np.asarray((left * right).sum(axis=1) / np.maximum(lengths, 1e-9))


def with_and_without(rows: Iterator[tuple[Made, Made | None]], known: set[str]) -> None:
    """Similarity of known words: each row, and its difference from another."""
    sets = {
        name: [pair for pair in part if {pair[0], pair[1]} <= known]
        for name, part in similarity_sets().items()
    }
    heads = [f"{name} ({len(part)})" for name, part in sets.items()]
    print(f"\n| similarity | CPU s | mean | {' | '.join(heads)} |")
    print("|---" * (3 + len(heads)) + "|")
    for made, rival in rows:
        print(f"| {made.name} | {made.seconds:.0f} | {correlations(made, sets)} |", flush=True)
        if rival is None:
            continue
        cells = []
        for part in sets.values():
            gold = np.array([score for _, _, score in part])
            found = ranks_differ(cosines(made, part), cosines(rival, part), gold)
            cells.append("{:+.1f} [{:+.1f}, {:+.1f}]".format(*found))
        print(f"| over {rival.name} | | | {' | '.join(cells)} |", flush=True)


BESIDES = re.compile(r'<[^>]*>|\[[^]]*\]|\([^)]*\)|\{[^}]*\}|(?<!\S)/[^/]*/(?!\S)|^\d+\.|"')
"""What is no translation in a line of a dictionary: grammar, field, remarks, sounds, numbers."""


def dictionary_pairs(index: Path) -> list[WordPair]:
    """Words of a dictionary in the format of dictd with their translations, each counted once.

    A line of NAME.index is a headword in small letters, and where in NAME.dict.dz its entry is and
    how long, in digits to the base of 64.  The first line of an entry is the headword as it is
    spelt, with its sound between slashes.  The other lines that are not indented, without numbers
    and what is in brackets, are translations between commas or semicolons.  Headwords of several
    words are left out, translations of several words are not.
    """
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    value = {digit: number for number, digit in enumerate(digits)}

    def number(field: str) -> int:
        whole = 0
        for digit in field:
            whole = 64 * whole + value[digit]
        return whole

    with gzip.open(index.with_suffix(".dict.dz")) as packed:
        entries = packed.read()
    found: dict[tuple[str, str], float] = {}
    for line in index.read_text(encoding="utf-8").splitlines():
        folded, start, length = line.split("\t")[:3]
        begin = number(start)
        head, *rows = entries[begin : begin + number(length)].decode("utf-8").splitlines() or [""]
        word = head.split(" /")[0].strip()
        if not word or " " in word or folded.startswith("00"):
            continue
        for row in rows:
            plain = BESIDES.sub(" ", row)
            if row[:1].isspace() or ":" in plain:  # remarks, and names of other entries
                continue
            for other in re.split("[,;]", plain):
                if other.strip():
                    found[word, " ".join(other.split())] = 1.0
    return [(word, other, count) for (word, other), count in found.items()]


def translations(options: argparse.Namespace) -> None:
    """With words of another language and without."""
    if not options.pairs:
        sys.exit("the part translations needs --pairs, words and their translations")
    text = prepared(english(options), VOCABULARY, set(), options.n_components)
    known = set(text.encoded.vocabulary.words)
    files: dict[str, list[WordPair]] = {}
    for file in map(Path, options.pairs):
        read = dictionary_pairs(file) if file.suffix == ".index" else read_word_pairs(file)
        files[file.stem] = read
    if len(files) > 1:  # a word of two languages is two words
        several = [(a, f"{name} {b}", n) for name, part in files.items() for a, b, n in part]
        files["all of them"] = several
    for name, part in files.items():
        inside = {pair[0] for pair in part} & known
        print(f"{name}: {len(part):,} pairs, {len(inside):,} words of the vocabulary")

    def rows() -> Iterator[tuple[Made, Made | None]]:
        yield two_views(text), None
        without = several_views(text, ALL, VIEWS[ALL])
        yield without, None
        views = (*VIEWS[ALL], "translations")
        for name, part in files.items():
            yield several_views(text, f"the same and {name}", views, pairs=part), without
        # as many pairs of the same words, which say nothing
        order = np.random.default_rng(0).permutation(len(part)).tolist()
        dealt = [(a, part[at][1], n) for (a, _, n), at in zip(part, order, strict=True)]
        title = "the same and those translations, dealt out anew"
        yield several_views(text, title, views, pairs=dealt), without

    with_and_without(rows(), known)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS[:5]))
    parser.add_argument("--corpus", default="wiki", help="a name in the folder text of the data")
    parser.add_argument("--sentences", type=int, default=210_000)
    parser.add_argument("--n-components", type=int, default=200)
    parser.add_argument("--epochs", type=int, default=5, help="of FastText")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument(
        "--languages", nargs="+", default=["pt-bosque", "fr-sequoia", "tr-imst", "hu-szeged"]
    )
    parser.add_argument("--entities", nargs="+", default=["wnut17", "litbank"])
    parser.add_argument("--pairs", nargs="+", help="words and translations, for that part")
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
            views = [several_views(text, name, VIEWS[name]) for name in (DOCUMENT, ALL)]
            entities([two_views(text), *views], options)
    others = (tags, probe, defaults, translations)
    for part in others:
        if part.__name__ in options.parts:
            part(options)


if __name__ == "__main__":
    main()
