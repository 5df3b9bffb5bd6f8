"""Weighted automata: characters of unknown words, their tags, lemmas, and dependents of heads.

    python benchmarks/automata.py
    python benchmarks/automata.py --parts words guess --treebanks hu-szeged fr-sequoia

``$EIGENTEXT_DATA`` names the folder with dependency/TREEBANK/{train,dev,test}.conllu.

``words``   perplexity of a character (ends of words included) of words that the training set does
            not have: words of train, each once; held out are words of dev and test
``guess``   tags (UPOS) of unknown words of dev, learned from words of at most ten occurrences
``tagger``  UPOS of dev by HMM taggers, all words and unknown ones, with and without automata of
            characters beside the shapes of words, and shapes to a power as a control; p of
            paired bootstraps over sentences
``pairs``   lemmas of unknown (form, UPOS) of dev, each once, learned from different (form, UPOS)
``inflect`` the other way: forms of unknown (lemma, UPOS and features) of dev
``translit`` Arabic PADT (lexical/ar-padt/{a,b}.conllu), words of b that a does not have: vocalised
            form to Latin letters, and the bare form with UPOS and features to the vocalised one
``heads``   bits of a dependent: -log2 p(UPOS, tree) / words, trees of dev
``rerank``  UAS of dev, trees reranked with the generative expert, with automata, and with both
``start``   the generative parser of 8 states a tag from either start: log p of a word and UAS of
            dev, by EM iterations, gold tags, mean of ``--seeds`` seeds; the interval of the
            difference is that of the first seed

All choices are made on a tenth of the training data.  CPU seconds of this process, one thread.
"""

from __future__ import annotations

import argparse
import time
import unicodedata
from collections import Counter
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from _data import data
from rivals.edit_rules import EditRules
from rivals.ngrams import NGrams, SuffixGuesser, best_order
from rivals.trigram_tagger import TrigramTagger

from eigentext.dependency import DependencyParser, Reranker
from eigentext.dependency.generative.parser import GenerativeParser
from eigentext.dependency.rerank.lists import cross_validated, tagged_lists
from eigentext.dependency.sentence import TaggedSentence
from eigentext.evaluate.bootstrap import compare
from eigentext.lab import ClassAutomata, StringAutomaton, StringTransducer
from eigentext.lab.automata.model import ended
from eigentext.lab.automata.transducer import KneserNey, sequences_of_pairs
from eigentext.lab.experts import HeadAutomata, dependents
from eigentext.language.formats.conllu import ConlluBlock, read_sentences
from eigentext.sequences import HMM, LatentTagger
from eigentext.tagging.morphology.lemmas import Lemmatiser
from eigentext.tagging.morphology.tags import MorphTagSet
from eigentext.tagging.morphology.words import FormLexicon

TREEBANKS = ("ewt", "fr-sequoia", "tr-imst", "hu-szeged", "pt-bosque")
Answers = dict[str, tuple[list[str], str]]  # by name, with CPU seconds
MOST_WORDS = 3000  # unknown words that are scored
MOST_PAIRS = 8000  # training pairs, and
MOST_LEMMAS = 600  # pairs that are asked for


def sentences(treebank: str, split: str, most: int | None = None) -> list[ConlluBlock]:
    """The first sentences of a part of a treebank."""
    path = data() / "dependency" / treebank / f"{split}.conllu"
    return list(read_sentences(str(path)))[:most]


def thinned(items: list, most: int) -> list:
    """At most so many, at even distances."""
    return items[:: max(1, -(-len(items) // most))]


def seconds(began: float) -> str:
    """CPU seconds since."""
    return f"{time.process_time() - began:.1f} s"


# ---------------------------------------------------------------- characters


def word_lists(treebank: str) -> tuple[list[str], list[str]]:
    """Words of train, and unknown ones of dev and test; with a letter in them."""
    seen, others = (
        {
            form
            for split in splits
            for sentence in sentences(treebank, split)
            for form in sentence.forms
            if any(map(str.isalpha, form))
        }
        for splits in (("train",), ("dev", "test"))
    )
    return sorted(seen), thinned(sorted(others - seen), MOST_WORDS)


def words(treebank: str, statistics: list[str]) -> None:
    """A row for each model of characters."""
    train, rest = word_lists(treebank)
    about = f"{treebank}, {len(train):,} / {len(rest):,}"
    kept: dict[str, np.ndarray] = {}
    for name, kneser in (("Witten-Bell", False), ("Kneser-Ney", True)):
        began = time.process_time()
        order = best_order(train, kneser=kneser, orders=range(2, 8))
        nats = NGrams(order, kneser=kneser).fit(train).surprisals(rest)
        kept[name] = nats
        print(
            f"| {about} | {name}, order {order} | {np.exp(nats.mean()):.2f} | |",
            seconds(began),
            "|",
        )
    began = time.process_time()
    ended = [[*word, "</s>"] for word in train]
    hmm = HMM(50, n_iter=40, vocab_size=None, min_count=1, unknown="one").fit(ended)
    logs = hmm.log_prob([[*word, "</s>"] for word in rest])
    mean = -logs.sum() / sum(len(word) + 1 for word in rest)
    print(f"| {about} | HMM, 50 states, EM | {np.exp(mean):.2f} | |", seconds(began), "|")
    for statistic in statistics:
        began = time.process_time()
        own = {} if statistic == "both" else {"basis": 1000}
        model = StringAutomaton(statistic=statistic, **own).fit(train)
        nats = np.concatenate(model.surprisals(rest))
        figures = model.figures()
        told = f"{statistic}, rank {figures['n_states']}, basis {figures['basis']}"
        negative = f"{100 * model.negative_rate_:.1f}%"
        print(
            f"| {about} | automaton, {told} | {np.exp(nats.mean()):.2f} | {negative} |",
            seconds(began),
            "|",
            flush=True,
        )
        kept[statistic] = nats
    both = -np.log((np.exp(-kept["both"]) + np.exp(-kept["Kneser-Ney"])) / 2)
    print(
        f"| {about} | automaton and Kneser-Ney, half each | {np.exp(both.mean()):.2f} | | |",
        flush=True,
    )


# ---------------------------------------------------------------- tags of unknown words


def guess(treebank: str) -> None:
    """A row with the accuracy of both methods, and of their product."""
    counts = Counter(
        (form, tag)
        for sentence in sentences(treebank, "train")
        for form, tag in zip(sentence.forms, sentence.column("upos"), strict=True)
    )
    often: Counter[str] = Counter()
    for (form, _), n in counts.items():
        often[form] += n
    rare = sorted(pair for pair in counts if often[pair[0]] <= 10)
    asked = [
        (form, tag)
        for sentence in sentences(treebank, "dev")
        for form, tag in zip(sentence.forms, sentence.column("upos"), strict=True)
        if form not in often
    ]
    forms, tags = zip(*rare, strict=True)
    began = time.process_time()
    automata = ClassAutomata(basis=500).fit(forms, tags)
    trained = seconds(began)
    suffixes = SuffixGuesser().fit(forms, tags)
    different = sorted({form for form, _ in asked})
    own = dict(zip(different, automata.posteriors(different), strict=True))
    right = np.zeros(3)
    for form, tag in asked:
        a, b = own[form], suffixes.shares(form)
        for at, shares in enumerate((b, a, np.sqrt(a) * b)):
            right[at] += automata.classes_[int(shares.argmax())] == tag
    cells = " | ".join(f"{100 * n / len(asked):.2f}" for n in right)
    print(f"| {treebank}, {len(rare):,} / {len(asked):,} | {cells} | {trained} |", flush=True)


# ---------------------------------------------------------------- taggers


@dataclass(frozen=True)
class Sharper:
    """A control: an opinion with the same power, which only repeats what the shape says."""

    power: float

    def joined(self, p: np.ndarray, word: str) -> np.ndarray:
        """p^(1 + power)."""
        sharper = p ** (1 + self.power)
        return sharper / sharper.sum()


def tagger(treebank: str) -> None:
    """Rows for each tagger: shapes alone, sharper ones, and automata as well."""
    (X, y), (asked, gold) = (
        ([list(one.forms) for one in those], [one.column("upos") for one in those])
        for those in (sentences(treebank, "train"), sentences(treebank, "dev"))
    )
    known = {word for tokens in X for word in tokens}
    n_words = sum(map(len, asked))
    n_unknown = sum(word not in known for tokens in asked for word in tokens)

    def show(told: str, model: Any, trained: str, others: list[np.ndarray]) -> np.ndarray:
        """Print a row with p against the others; returns (sentences, 3) right, all, all."""
        model.tag(asked[0])  # compiles the kernels
        began = time.process_time()
        found = model.predict(asked)
        speed = n_words / (time.process_time() - began)
        right = [
            [(a == b, word not in known) for a, b, word in zip(*row, strict=True)]
            for row in zip(found, gold, asked, strict=True)
        ]
        new = 100 * sum(a for row in right for a, is_new in row if is_new) / n_unknown
        counts = np.array([[sum(a for a, _ in row), len(row), len(row)] for row in right])
        share = 100 * counts[:, 0].sum() / n_words
        ps = [f"{compare(counts, other).p_value:.4f}" for other in others]
        cells = " | ".join([*ps, *[""] * (2 - len(ps)), trained, f"{speed:,.0f}"])
        about = f"{treebank}, {n_words:,} / {n_unknown:,}"
        print(f"| {about} | {told} | {share:.2f} | {new:.2f} | {cells} |", flush=True)
        return counts

    for name, maker in {"trigram HMM": TrigramTagger, "latent tagger": LatentTagger}.items():
        began = time.process_time()
        model: Any = maker().fit(X, y)
        plain = show(f"{name} | shapes", model, seconds(began), [])
        began = time.process_time()
        model = maker(characters="automata").fit(X, y)
        trained = seconds(began)
        words_, own = model.words_, model.words_.characters
        if own is None:
            show(f"{name} | automata are not taken", model, trained, [plain])
            continue
        told = f"and automata, rank {own.automata.n_states}, power {own.power:g}"
        model.words_ = replace(words_, characters=Sharper(own.power))
        sharper = show(f"{name} | shapes, power {1 + own.power:g}", model, "", [plain])
        model.words_ = words_
        show(f"{name} | {told}", model, trained, [plain, sharper])


# ---------------------------------------------------------------- lemmas


def distance(a: str, b: str) -> int:
    """Least number of edits."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, start=1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


def lemma_counts(treebank: str, split: str) -> Counter[tuple[str, str, str]]:
    """How often each (form, UPOS, lemma) comes."""
    return Counter(
        triple
        for sentence in sentences(treebank, split)
        for triple in zip(
            sentence.forms, sentence.column("upos"), sentence.column("lemma"), strict=True
        )
        if "_" not in triple
    )


class Asked(NamedTuple):
    """A context (a tag, or a tag with features), a string, and what becomes of it."""

    context: str
    source: str
    target: str


def show_answers(about: str, learned: list[Asked], asked: list[Asked], answers: Answers) -> None:
    """Rows of these answers, of edit rules, of n-grams of pairs, and of the transducer."""
    began = time.process_time()
    rules = EditRules().fit(*map(list, zip(*learned, strict=True)))
    made = rules.predict([one.context for one in asked], [one.source for one in asked])
    answers["edit rules"] = (made, seconds(began))
    began = time.process_time()
    sources = [[f"<{one.context}>", *one.source] for one in learned]
    model = StringTransducer(basis=500).fit(sources, [one.target for one in learned])
    trained = time.process_time() - began
    told = model.figures()
    inputs = [[f"<{one.context}>", *one.source] for one in asked]

    def answered(weight: float | str) -> tuple[list[str], str]:
        began = time.process_time() - trained * (weight != 1)
        model.ngram_weight = weight
        return model.predict(inputs), seconds(began)

    mixed = f"transducer, {told['ngram_weight']:g} of n-grams"
    answers[f"automaton alone, rank {told['n_states']}, {told['pairs']} pairs"] = answered(0.0)
    answers[mixed] = answered("auto")
    answers["its n-grams alone, order 6"] = answered(1.0)
    began = time.process_time()
    # a peer by itself: its order is chosen, and rare pairs are one unknown pair
    strings = sequences_of_pairs(sources, [one.target for one in learned])
    order = best_order(strings, kneser=True, orders=range(4, 8))
    data = model.automaton_.symbols_.encode(map(ended, strings))
    ids = [data[at].tolist() for at in range(len(data))]
    n_symbols = len(model.automaton_.symbols_)
    model.ngrams_ = KneserNey.counted(ids, order=order, n_symbols=n_symbols)
    answers[f"n-grams of pairs alone, order {order}"] = (answered(1.0)[0], seconds(began))

    gold = [one.target for one in asked]
    right = {
        name: np.array([(a == b, 1, 1) for a, b in zip(made, gold, strict=True)], float)
        for name, (made, _) in answers.items()
    }
    for name, (made, cost) in answers.items():
        edits = np.mean([distance(a, b) for a, b in zip(made, gold, strict=True)])
        cells = [f"{uas(right[name]):.2f}", f"{edits:.3f}"]
        cells += ["" if name == mixed else gain(right[mixed], right[name]), cost]
        size = f"{len(learned):,} / {len(asked):,}"
        print(f"| {about}, {size} | {name} |", " | ".join(cells), "|", flush=True)


def pairs(treebank: str) -> None:
    """Rows of copying, the lemmatiser, and the transducer with its peers."""
    counts = lemma_counts(treebank, "train")
    known = {(form, tag) for form, tag, _ in counts}
    asked = sorted(one for one in lemma_counts(treebank, "dev") if one[:2] not in known)
    asked = thinned(asked, MOST_LEMMAS)
    learned = thinned(sorted(counts), MOST_PAIRS)
    answers: Answers = {"copy": ([form for form, *_ in asked], "")}
    began = time.process_time()
    tags = MorphTagSet((tag, "_", "_") for _, tag, _ in learned)
    number = {tag: at for at, tag in enumerate(tags.columns[0])}
    numbered = {
        (form, number[tag], lemma): counts[form, tag, lemma] for form, tag, lemma in learned
    }
    forms: Counter[tuple[str, int]] = Counter()
    for (form, tag, _), n in numbered.items():
        forms[form, tag] += n
    lemmatiser = Lemmatiser.learned(FormLexicon.counted(forms), tags, numbered)
    made = lemmatiser.lemmas(
        [form for form, *_ in asked], [number.get(tag, 0) for _, tag, _ in asked]
    )
    answers["lemmatiser of the morphology"] = (made, seconds(began))
    show_answers(
        treebank,
        [Asked(tag, form, lemma) for form, tag, lemma in learned],
        [Asked(tag, form, lemma) for form, tag, lemma in asked],
        answers,
    )


def inflect(treebank: str) -> None:
    """Rows of copying, and the transducer with its peers."""

    def triples(split: str) -> list[Asked]:
        return sorted(
            {
                Asked(f"{tag}|{features}", lemma, form)
                for sentence in sentences(treebank, split)
                for form, tag, features, lemma in zip(
                    sentence.forms,
                    *(sentence.column(name) for name in ("upos", "feats", "lemma")),
                    strict=True,
                )
                if "_" not in (form, tag, lemma)
            }
        )

    train = triples("train")
    known = {one[:2] for one in train}
    asked = thinned([one for one in triples("dev") if one[:2] not in known], MOST_LEMMAS)
    copied = {"copy": ([one.source for one in asked], "")}
    show_answers(treebank, thinned(train, MOST_PAIRS), asked, copied)


def translit() -> None:
    """Arabic: to Latin letters, and bare forms to vocalised ones."""

    def rows(name: str) -> list[tuple[str, str, str]]:
        path = data() / "lexical" / "ar-padt" / f"{name}.conllu"
        found = set()
        for sentence in read_sentences(str(path)):
            columns = (sentence.column(one) for one in ("upos", "feats", "misc"))
            for form, tag, features, misc in zip(sentence.forms, *columns, strict=True):
                latin = [x[9:] for x in misc.split("|") if x.startswith("Translit=")]
                if latin and any(map(str.isalpha, form)):
                    found.add((f"{tag}|{features}", form, latin[0]))
        return sorted(found)

    def bare(form: str) -> str:
        return "".join(x for x in form if not unicodedata.combining(x))

    train, rest = rows("a"), rows("b")
    for about, items in {
        "ar-padt, to Latin": lambda those: {Asked("", form, latin) for _, form, latin in those},
        "ar-padt, vocalised": lambda those: {
            Asked(tag, bare(form), form) for tag, form, _ in those
        },
    }.items():
        learned = sorted(items(train))
        known = {one.source for one in learned}
        asked = thinned([x for x in sorted(items(rest)) if x.source not in known], MOST_LEMMAS)
        answers = {"copy": ([one.source for one in asked], "")}
        show_answers(about, thinned(learned, MOST_PAIRS), asked, answers)


# ---------------------------------------------------------------- dependents


def heads(treebank: str, most: int) -> None:
    """Rows of Markov chains, automata, and the generative parser's model of tags."""
    train, rest = sentences(treebank, "train", most), sentences(treebank, "dev")
    n_words = sum(len(one.forms) for one in rest)
    about = f"{treebank}, {len(train):,} / {len(rest):,}"

    def show(name: str, nats: float, began: float) -> None:
        bits = nats / np.log(2) / n_words
        print(f"| {about} | {name} | {bits:.4f} |", seconds(began), "|", flush=True)

    def strings(those: list[ConlluBlock]) -> dict[str, list[tuple[str, ...]]]:
        found: dict[str, list[tuple[str, ...]]] = {}
        for one in those:
            for side, string in dependents(one.column("upos"), one.heads or ()):
                found.setdefault(side, []).append(string)
        return found

    seen, asked = strings(train), strings(rest)
    everything = [string for those in seen.values() for string in those]
    for order in (1, 2, 3):
        began = time.process_time()
        nats = 0.0
        for side, those in asked.items():
            chain = NGrams(order, kneser=False).fit(seen.get(side, everything))
            nats += float(chain.surprisals(those).sum())
        show(f"Markov chain of order {order - 1}, Witten-Bell", nats, began)
    began = time.process_time()
    automata = HeadAutomata.of([(one.column("upos"), one.heads or ()) for one in train])
    logs = [automata.log_probs_of(one.column("upos"), [one.heads or ()])[0] for one in rest]
    most_states = automata.model.figures()["most_states"]
    show(f"automata, rank up to {most_states}", -float(np.sum(logs)), began)
    for states in (1, 4):
        began = time.process_time()
        model = GenerativeParser(n_states=states, tagset="upos").fit(train)
        tags_only(model)
        logs = [
            model.log_probs(TaggedSentence.from_conllu(one), [one.heads or ()])[0] for one in rest
        ]
        show(f"generative parser, {states} state(s) a tag", -float(np.sum(logs)), began)


def tags_only(model: GenerativeParser) -> None:
    """Every word of a tag has probability 1: what is left is p(tags, tree)."""
    params = model.params_
    there = np.arange(params.E.shape[1]) < params.m[:, None]
    model._finish(replace(params, E=there[model._tag_of].astype(float)), model._tag_of)
    model._unseen = there.astype(float)


def right_heads(found: list[np.ndarray], gold: list[np.ndarray]) -> np.ndarray:
    """(sentences, 3): right heads, words, words."""
    rows = [(int((a == b).sum()), len(b), len(b)) for a, b in zip(found, gold, strict=True)]
    return np.array(rows, float)


def uas(counts: np.ndarray) -> float:
    """In percent."""
    return float(100 * counts[:, 0].sum() / counts[:, 1].sum())


def gain(counts: np.ndarray, base: np.ndarray) -> str:
    """The difference and its interval, paired bootstrap over sentences."""
    found = compare(counts, base)
    return f"{found.difference:+.2f} ({found.low:+.2f} to {found.high:+.2f})"


def start(treebank: str, most: int, seeds: int) -> None:
    """A row for each number of EM iterations: both starts."""
    train, rest = sentences(treebank, "train", most), sentences(treebank, "dev")
    gold = [np.array(one.heads) for one in rest]
    tagged = [TaggedSentence.from_conllu(one) for one in rest]
    language = "english" if treebank == "ewt" else "generic"
    about = f"{treebank}, {len(train):,} / {len(rest):,}"
    for n_iter in (0, 1, 3, 6, 12):
        logs: dict[str, list[float]] = {"spectral": [], "automata": []}
        right: dict[str, list[np.ndarray]] = {"spectral": [], "automata": []}
        for way, seed in product(logs, range(seeds)):
            model = GenerativeParser(n_iter=n_iter, start=way, language=language, seed=seed)
            model.fit(train)
            own = [
                model.log_probs(one, [heads])[0] for one, heads in zip(tagged, gold, strict=True)
            ]
            logs[way].append(float(np.sum(own)) / sum(map(len, gold)))
            trees = [model.parse(one).tree.heads for one in tagged]
            right[way].append(right_heads(trees, gold))
        cells = [f"{np.mean(those):.4f}" for those in logs.values()]
        cells += [f"{np.mean(list(map(uas, those))):.2f}" for those in right.values()]
        cells.append(gain(right["automata"][0], right["spectral"][0]))
        print(f"| {about} | {n_iter} |", " | ".join(cells), "|", flush=True)


def rerank(treebank: str, most: int) -> None:
    """A row with the UAS of the base parser and of rerankers with different experts."""
    train, rest = sentences(treebank, "train", most), sentences(treebank, "dev")
    base = DependencyParser(order=1, grandparents=False, labels=False, epochs=4)
    lists = cross_validated(base, train, k=10, folds=3)
    parser = base.fit(train)
    tagged = [TaggedSentence.from_conllu(one) for one in rest]
    found = tagged_lists(parser, tagged, k=10)
    gold = [np.array(one.heads) for one in rest]
    base_right = right_heads([found[at].heads[0] for at in range(len(gold))], gold)
    cells = [f"{uas(base_right):.2f}"]
    plain = None
    for experts in ((), ("generative",), ("automata",), ("generative", "automata")):
        own = {"n_states": 1, "tagset": "upos"}
        model = Reranker(experts=experts, kbest=10, folds=3, features="tags", generative=own)
        model.fit(train, lists=lists)
        scores = model._asked(tagged, found).scores(model.weights_)
        ends = np.cumsum([len(found[at].heads) for at in range(len(gold))])[:-1]
        best = [int(np.argmax(own)) for own in np.split(scores, ends)]
        right = right_heads([found[at].heads[place] for at, place in enumerate(best)], gold)
        plain = right if plain is None else plain
        cells.append(f"{uas(right):.2f}" + (f", {gain(right, plain)}" if experts else ""))
    print(f"| {treebank}, {len(train):,} / {len(rest):,} |", " | ".join(cells), "|", flush=True)


HEADERS = {
    "words": "| treebank, words learned / asked | model | perplexity | not positive | CPU |",
    "guess": "| treebank, words learned / asked | suffixes | automata | both | CPU of automata |",
    "tagger": "| treebank, words / unknown | tagger | unknown words by | all | unknown | "
    "p, shapes | p, sharper | training CPU | words/s |",
    "pairs": "| treebank, pairs learned / asked | model | right | edits a word "
    "| transducer is ahead by | CPU |",
    "inflect": "",
    "translit": "",
    "heads": "| treebank, sentences learned / asked | model | bits a dependent | CPU |",
    "rerank": "| treebank, sentences | base | no expert | generative | automata | both |",
    "start": "| treebank, sentences learned / asked | EM iterations | log p of a word, spectral "
    "| automata | UAS, spectral | automata | difference |",
}
HEADERS["inflect"] = HEADERS["translit"] = HEADERS["pairs"]


def main() -> None:
    """Print a table for each part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=tuple(HEADERS), default=list(HEADERS))
    parser.add_argument("--treebanks", nargs="+", choices=TREEBANKS, default=list(TREEBANKS))
    parser.add_argument("--sentences", type=int, default=4000, help="For heads, rerank, start.")
    parser.add_argument("--seeds", type=int, default=1, help="For start.")
    parser.add_argument(
        "--statistics",
        nargs="+",
        choices=("both", "substrings", "strings"),
        default=["both"],
        help="What the automata of words count; both is the first.",
    )
    given = parser.parse_args()
    for part in given.parts:
        print(f"\n{HEADERS[part]}\n" + "|---" * (HEADERS[part].count("|") - 1) + "|", flush=True)
        if part == "translit":
            translit()
            continue
        for treebank in given.treebanks:
            if part == "start":
                start(treebank, given.sentences, given.seeds)
            elif part in ("heads", "rerank"):
                {"heads": heads, "rerank": rerank}[part](treebank, given.sentences)
            elif part == "words":
                words(treebank, given.statistics)
            else:
                {"guess": guess, "tagger": tagger, "pairs": pairs, "inflect": inflect}[part](
                    treebank
                )


if __name__ == "__main__":
    main()
