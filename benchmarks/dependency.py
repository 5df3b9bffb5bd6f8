"""The base parser of dependency trees beside MaltParser: UAS, LAS, seconds, k-best oracle.

    EIGENTEXT_DATA=... python benchmarks/dependency.py --keep FOLDER [--seeds 3] [--parts main ...]
    EIGENTEXT_DATA=... python benchmarks/dependency.py --keep FOLDER --parts options --seeds 1

Every row (one training of arcs on one treebank with one seed) is kept in FOLDER as soon as it is
there, and a run that was stopped goes on where it was.  ``--parts`` chooses what is made: ``main``
(orders and learners), ``tags`` (upos and xpos alone, without feats; tags predicted by our own
taggers), ``options`` (the default beside each option of ``dep train``, on dev and test),
``predicted`` (the default on tags, features and lemmas of ``MorphTagger``, with and without what
the tagger had second, and reranked, with words a second, tagging included, and the size of the
files; with ``--clusters`` also with these), ``malt`` (the default on gold tags, and reranked,
beside MaltParser: paired bootstraps), ``clusters``, ``oracle``, ``speed``.  ``--treebanks`` names
the folders for ``main`` and ``tags`` (English unless told), for ``options`` (the four others
unless told) and for ``predicted`` (all six unless told).  All rows but those of
``oracle`` and ``speed`` are made with each of the seeds 0, 1, ...  ``--show`` prints the tables of
what is there.

Scores are of the official test sets (``--split dev`` for others), all words, punctuation too,
relations without subtypes, upos, xpos and feats as in the treebank unless said.  Seconds are CPU
seconds of one thread with compiled code warm: training without reading, parsing with relations.
MaltParser's stored trees are scored by the same function in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _data import kept as kept_folder

from eigentext.dependency import DependencyParser, Reranker
from eigentext.dependency.decoding.search import Search
from eigentext.dependency.graph.encode import ArcBatch, TokenEncoder
from eigentext.dependency.graph.labels import (
    LabelModel,
    LabelSettings,
    label_templates,
    train_labels,
)
from eigentext.dependency.graph.projectivity import Projectivity, choose_projectivity
from eigentext.dependency.graph.tags import OwnTags, jackknifed, with_tags
from eigentext.dependency.graph.templates import (
    arc_templates,
    grandparent_templates,
    sibling_templates,
)
from eigentext.dependency.graph.training import ArcModel, ArcSettings, train_arcs
from eigentext.dependency.sentence import TaggedSentence
from eigentext.evaluate.bootstrap import compare
from eigentext.features.signatures import lowered
from eigentext.features.symbols import frequent_words
from eigentext.features.word_classes import clusters_of
from eigentext.language.formats import conllu, conllx
from eigentext.linalg.ties import single_threaded

Row = dict[str, Any]
ENGLISH = ("ewt", "gum")
OTHERS = ("fr-sequoia", "tr-imst", "hu-szeged", "pt-bosque")
MALT = {"ewt": "maltparser-ewt", "gum": "maltparser-gum"}
EPOCHS = ArcSettings().epochs
ORDERS = ("1", "2", "2g")  # arcs; and siblings; and grandparents
SPLITS = ("dev", "test")
OPTIONS = {  # of dep train: the order, and whether arcs may cross
    "default": ("2g", "auto"),
    "--projective": ("2g", True),
    "--nonprojective": ("2g", False),
    "--no-grandparents": ("2", "auto"),
    "--order 1": ("1", "auto"),
}


class Trees(NamedTuple):
    """A part of a treebank."""

    columns: list[TaggedSentence]
    heads: list[tuple[int, ...]]
    relations: list[tuple[str, ...]]


def home() -> Path:
    """Where the data lie."""
    return Path(os.environ["EIGENTEXT_DATA"])


def read(path: Path) -> Trees:
    """Words, tags, heads and relations of a CoNLL-U or CoNLL-X file."""
    found = Trees([], [], [])
    reader = conllx if path.suffix == ".conllx" else conllu
    for sentence in reader.read_sentences(str(path)):
        rows = sentence.rows
        found.columns.append(TaggedSentence.from_conllu(sentence))
        found.heads.append(sentence.heads or ())
        found.relations.append(tuple(r[7] for r in rows))
    return found


def scores(gold: Trees, heads: list[Any], relations: list[Any]) -> tuple[float, float]:
    """UAS and LAS in percent."""
    words = right = labelled = 0
    for k in range(len(gold.heads)):
        for g, p, a, b in zip(
            gold.heads[k], heads[k], gold.relations[k], relations[k], strict=True
        ):
            words += 1
            right += g == p
            labelled += g == p and a.split(":")[0] == b.split(":")[0]
    return 100.0 * right / words, 100.0 * labelled / words


def without_feats(columns: list[TaggedSentence]) -> list[TaggedSentence]:
    """The same with upos and xpos alone."""
    return [one._replace(feats=("_",) * len(one.forms)) for one in columns]


class Bank:
    """A treebank as arrays, with clusters and tags of one kind; made when first needed."""

    def __init__(
        self, name: str, split: str, clusters: str | None = None, tags: str = "gold"
    ) -> None:
        folder = home() / "dependency" / name
        self.train, self.test = read(folder / "train.conllu"), read(folder / f"{split}.conllu")
        self.tag_seconds = 0.0
        columns, tested = self.train.columns, self.test.columns
        self.clusters = clusters_of(clusters)
        if tags == "gold-feats":
            columns, tested = without_feats(columns), without_feats(tested)
        if tags == "own":
            began = time.process_time()
            settings: dict[str, Any] = {"clusters": self.clusters or None}
            trees = list(conllu.read_sentences(str(folder / "train.conllu")))
            columns = jackknifed(trees, **settings)
            tagger = OwnTags(**settings).fit(trees)
            tested = tagger.tag([one.forms for one in tested])
            self.tag_seconds = time.process_time() - began
        self.tested = tested
        upos = sorted({tag for one in columns for tag in one.upos})
        xpos = sorted({tag for one in columns for tag in one.xpos} | set(upos))
        self.encoder = TokenEncoder(
            vocabulary=frequent_words((lowered(form) for one in columns for form in one.forms), 1),
            clusters=self.clusters,
            upos=upos,
            xpos=xpos,
        )
        self.names = sorted({name for one in self.train.relations for name in one})
        number_of = {name: number for number, name in enumerate(self.names)}
        numbers = [[number_of[name] for name in one] for one in self.train.relations]
        self.batch = self.encoder.batch(columns, self.train.heads, numbers)
        self.test_batch = self.encoder.batch(tested)
        self._arcs: dict[Any, tuple[ArcModel, float]] = {}
        self._labels: dict[int, tuple[LabelModel, float]] = {}

    def arcs(
        self, order: str, learner: str, seed: int, n: int | None = None, told: Any = True
    ) -> tuple[ArcModel, Projectivity, float]:
        """Trained arcs, what was chosen, and the seconds; ``n``: from a few alone, to compile."""
        used = bool(self.clusters)
        settings = ArcSettings(
            order=int(order[0]),
            learner=learner,
            epochs=1 if n else EPOCHS,
            seed=seed,
            grandparents=order == "2g",
        )
        names = (
            arc_templates(clusters=used),
            sibling_templates(clusters=used) if settings.order == 2 else (),
            self.encoder.n_tags,
        )
        grand = grandparent_templates(clusters=used) if order == "2g" else ()
        began = time.process_time()
        chosen = choose_projectivity(self.batch, *names, settings, told, grand_names=grand)
        choosing = time.process_time() - began
        settings = chosen.applied(settings)
        if (settings, n) not in self._arcs:
            began = time.process_time()
            model = train_arcs(
                self.batch,
                *names,
                settings,
                grand_names=grand,
                sentences=None if n is None else np.arange(n),
            )
            self._arcs[settings, n] = model, time.process_time() - began
        model, training = self._arcs[settings, n]
        return model, chosen, choosing + training

    def labels(self, seed: int) -> tuple[LabelModel, float]:
        """Trained relations and the seconds it took; the same for both orders."""
        if seed not in self._labels:
            began = time.process_time()
            model = train_labels(
                self.batch,
                self.names,
                label_templates(clusters=bool(self.clusters)),
                LabelSettings(seed=seed),
            )
            self._labels[seed] = model, time.process_time() - began
        return self._labels[seed]


def one_row(bank: Bank, order: str, learner: str, seed: int, told: Any = True) -> Row:
    """Train and score."""
    arcs, chosen, seconds = bank.arcs(order, learner, seed, told=told)
    labels, label_seconds = bank.labels(seed)
    uas, las, spent = tested(bank, arcs, labels, bank.test, bank.test_batch)
    return {
        "uas": uas,
        "las": las,
        "arc_seconds": seconds,
        "label_seconds": label_seconds,
        "per_second": len(bank.test_batch) / spent,
        "chosen": str(chosen),
        "tag_seconds": bank.tag_seconds,
    }


def tested(
    bank: Bank, arcs: ArcModel, labels: LabelModel, gold: Trees, batch: ArcBatch
) -> tuple[float, float, float]:
    """UAS, LAS, and the seconds that parsing took."""
    began = time.process_time()
    found = arcs.decode(batch)
    numbers = labels.label(batch, found)
    spent = time.process_time() - began
    cut = batch.starts
    heads = [found[cut[k] + 1 : cut[k + 1]].tolist() for k in range(len(batch))]
    relations = [
        [bank.names[number] for number in numbers[cut[k] + 1 : cut[k + 1]]]
        for k in range(len(batch))
    ]
    return *scores(gold, heads, relations), spent


def oracle_row(bank: Bank, order: str, seed: int, k: int = 50) -> Row:
    """UAS of the best tree, and of the best in each list of k."""
    arcs, _, _ = bank.arcs(order, "mira", seed)
    words = first = best = 0
    seconds = 0.0
    for number, gold in enumerate(bank.test.heads):
        began = time.process_time()
        found, _ = Search(*arcs.scores(bank.test_batch, number), True).kbest(k)
        seconds += time.process_time() - began
        right = (found == np.array(gold)).sum(axis=1)
        words, first, best = words + len(gold), first + int(right[0]), best + int(right.max())
    return {
        "uas": 100.0 * first / words,
        "oracle": 100.0 * best / words,
        "per_second": len(bank.test.heads) / seconds,
    }


def speed_row(bank: Bank) -> Row:
    """Sentences a second, first order, with relations: from words and tags to heads and names."""
    parser = DependencyParser(order=1, epochs=1)
    train = list(conllu.read_sentences(str(home() / "dependency" / "ewt" / "train.conllu")))
    parser.fit(train)
    parser.trees(bank.tested)
    rates = []
    for _ in range(3):
        parser.encoder_._forget()  # tokens are looked up for the first time
        began = time.process_time()
        parser.trees(bank.tested)
        rates.append(len(bank.tested) / (time.process_time() - began))
    return {"per_second": float(np.median(rates))}


VARIANTS = ("best tags alone", "second tags", "second tags, order 1", "second tags, reranked")


class Predicted:
    """A treebank as a parser behind a tagger sees it: tags that were made without the sentence."""

    def __init__(self, name: str, split: str, seed: int, text: str | None) -> None:
        folder = home() / "dependency" / name
        self.train, self.test = (
            list(conllu.read_sentences(str(folder / f"{part}.conllu")))
            for part in ("train", split)
        )
        self.gold = read(folder / f"{split}.conllu")
        self.settings: dict[str, Any] = {"seed": seed, "clusters": clusters_of(text) or None}
        began = time.process_time()
        self.seen = list(map(with_tags, self.train, jackknifed(self.train, **self.settings)))
        self.jackknifing = time.process_time() - began
        began = time.process_time()
        self.tagger = OwnTags(**self.settings).fit(self.train)
        self.tagging = time.process_time() - began

        self._second: tuple[DependencyParser, float] | None = None

    def _parser(self, variant: str) -> tuple[DependencyParser, float]:
        """The parser and its CPU seconds; the one with second tags is made once."""
        order = 1 if variant.endswith("order 1") else 2
        alone = variant == VARIANTS[0]
        if order == 2 and not alone and self._second is not None:
            return self._second
        seen = self.seen
        if alone:
            seen = [one.with_columns(misc=["_"] * len(one)) for one in seen]
        few = DependencyParser(**self.settings | {"epochs": 1, "order": order})
        few.fit(seen[:50]).trees(self._asked(alone)[:5])  # compile
        began = time.process_time()
        parser = DependencyParser(**self.settings, order=order).fit(seen)
        found = parser, time.process_time() - began
        if order == 2 and not alone:
            self._second = found
        return found

    def _asked(self, alone: bool) -> list[TaggedSentence]:
        """The sentences to be parsed with the tagger's tags; ``alone``: without second ones."""
        tagged = self.tagger.tag([one.forms for one in self.test])
        return [one._replace(others=()) for one in tagged] if alone else tagged

    def row(self, variant: str) -> Row:
        """Train one parser on the tags, and score it."""
        alone = variant == VARIANTS[0]
        parser, trained = self._parser(variant)
        trees: Any = parser.trees
        size = len(parser.to_bytes())
        if variant.endswith("reranked"):
            began = time.process_time()
            generic = {"language": "generic"}
            reranker = Reranker(latent=generic, generative=generic, seed=self.settings["seed"])
            reranker.fit(self.seen, parser)
            trained += time.process_time() - began
            size += len(reranker.to_bytes())
            trees = partial(reranker.trees, parser)
            trees(self._asked(alone)[:5])  # compile
        spent = []
        for _ in range(3):
            parser.encoder_._forget()  # tokens are looked up for the first time
            if self.tagger.morphology is not None:
                self.tagger.morphology._prepare()
            began = time.process_time()
            heads, relations = trees(self._asked(alone))
            spent.append(time.process_time() - began)
        counts = labelled_counts(self.gold, heads, relations)
        uas, las = scores(self.gold, heads, relations)
        n_words = sum(len(one) for one in self.test)
        return {
            "uas": uas,
            "las": las,
            "seconds": trained,
            "jackknifing": self.jackknifing,
            "tagger": self.tagging,
            "words_per_second": n_words / min(spent),
            "per_second": len(self.test) / min(spent),
            "megabytes": size / 1e6,
            "chosen": str(parser.projectivity_),
            "right": [right for right, *_ in counts],
        }


def labelled_counts(
    gold: Trees, heads: list[Any], relations: list[Any]
) -> list[tuple[int, int, int]]:
    """Words with the right head and relation, and all words twice, of each sentence."""
    counts = []
    for k, found in enumerate(heads):
        words = zip(gold.heads[k], found, gold.relations[k], relations[k], strict=True)
        right = sum(g == p and a.split(":")[0] == b.split(":")[0] for g, p, a, b in words)
        counts.append((right, len(found), len(found)))
    return counts


def malt_rows(name: str, split: str, seed: int) -> dict[str, Row]:
    """The default on gold tags beside MaltParser's stored trees: paired bootstraps of LAS."""
    folder = home() / "dependency" / name
    gold = read(folder / f"{split}.conllu")
    theirs = read(home() / "peers" / f"{MALT[name]}-{split}.conllx")
    train = list(conllu.read_sentences(str(folder / "train.conllu")))
    parser = DependencyParser(seed=seed).fit(train)
    generic = {"language": "generic"}
    reranker = Reranker(latent=generic, generative=generic, seed=seed).fit(train, parser)
    answers = {"": parser.trees(gold.columns), ", reranked": reranker.trees(parser, gold.columns)}
    rows = {}
    for what, (heads, relations) in answers.items():
        found = compare(
            labelled_counts(gold, heads, relations),
            labelled_counts(gold, theirs.heads, theirs.relations),
        )
        uas, las = scores(gold, heads, relations)
        size = len(parser.to_bytes()) + (len(reranker.to_bytes()) if what else 0)
        rows[what] = {"uas": uas, "las": las, "megabytes": size / 1e6}
        rows[what] |= {"malt": found.second, "low": found.low, "high": found.high}
        rows[what] |= {"p": found.p_value}
    return rows


def show_predicted(kept: Kept) -> None:
    """The parser in its place behind the tagger, and beside MaltParser with gold tags."""
    rows = [row for key, row in kept.rows.items() if key.startswith("predicted ")]
    if rows:
        print(
            "\n| treebank | seed | parser | UAS | LAS | + on best tags alone | CPU s "
            "| jackknifing s | words/s | sentences/s | MB |\n|" + "---|" * 11
        )
    for row in rows:
        name, split, seed, variant = row["of"]
        plain = kept.rows.get(f"predicted {name} {split} seed {seed} {VARIANTS[0]}")
        ahead = ""
        if plain is not None and variant != VARIANTS[0]:
            folder = home() / "dependency" / name.partition("+")[0]
            words = [len(heads) for heads in read(folder / f"{split}.conllu").heads]
            pairs = [list(zip(one["right"], words, words, strict=True)) for one in (row, plain)]
            found = compare(*pairs)
            ahead = f"{found.difference:+.2f} [{found.low:+.2f}, {found.high:+.2f}]"
        print(
            f"| {name} {split} | {seed} | {variant} | {row['uas']:.2f} | {row['las']:.2f} "
            f"| {ahead} | {row['seconds']:.0f} | {row['jackknifing']:.0f} "
            f"| {row['words_per_second']:,.0f} | {row['per_second']:,.0f} "
            f"| {row['megabytes']:.1f} |"
        )
    malt = [row for key, row in kept.rows.items() if key.startswith("malt ")]
    if malt:
        print("\n| gold tags | UAS | LAS | MaltParser | difference | p | MB |\n|" + "---|" * 7)
    for row in malt:
        print(
            f"| {row['name']} | {row['uas']:.2f} | {row['las']:.2f} | {row['malt']:.2f} "
            f"| [{row['low']:+.2f}, {row['high']:+.2f}] | {row['p']:.4f} "
            f"| {row['megabytes']:.1f} |"
        )


class Kept:
    """Rows by name, in a file of JSON lines."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "rows.jsonl"
        self.rows: dict[str, Row] = {}
        if self.file.exists():
            for line in self.file.read_text().splitlines():
                row = json.loads(line)
                self.rows[row["name"]] = row

    def add(self, name: str, row: Row) -> None:
        """Keep a row at once."""
        self.rows[name] = {"name": name, **row}
        with self.file.open("a") as out:
            out.write(json.dumps(self.rows[name]) + "\n")
        print(json.dumps(self.rows[name]), flush=True)


class Work:
    """What is asked for, row by row; treebanks are kept while they are in use."""

    def __init__(self, kept: Kept, split: str, clusters: dict[str, str | None]) -> None:
        self.kept, self.split, self.clusters = kept, split, clusters
        self._key: tuple[str, str, str] | None = None
        self._bank: Bank | None = None
        self._warm: set[str] = set()

    def bank(self, name: str, kind: str = "none", tags: str = "gold") -> Bank:
        """A treebank; the last one stays in memory."""
        if self._key != (name, kind, tags) or self._bank is None:
            self._bank = Bank(name, self.split, self.clusters[kind], tags)
            self._key = (name, kind, tags)
        return self._bank

    def make(
        self,
        name: str,
        order: str,
        learner: str,
        seed: int,
        kind: str = "none",
        tags: str = "gold",
    ) -> None:
        """One row, unless it is there."""
        key = f"{name} {self.split} order {order} {learner} {kind} {tags} seed {seed}"
        if key in self.kept.rows:
            return
        bank = self.bank(name, kind, tags)
        if order not in self._warm:  # compile outside the clock
            few_arcs, _, _ = bank.arcs(order, "mira", 0, n=20)
            few_arcs.decode(bank.encoder.batch(bank.tested[:5]))
            few = LabelSettings(epochs=1)
            train_labels(bank.batch, bank.names, label_templates(), few, sentences=np.arange(9))
            self._warm.add(order)
        self.kept.add(key, one_row(bank, order, learner, seed))

    def options(self, name: str, seed: int) -> None:
        """The default beside each option: one training each, scored on dev and on test."""
        for option, (order, told) in OPTIONS.items():
            keys = {split: f"options {name} {split} {option} seed {seed}" for split in SPLITS}
            if all(key in self.kept.rows for key in keys.values()):
                continue
            bank = self.bank(name)
            arcs, chosen, seconds = bank.arcs(order, "mira", seed, told=told)
            labels, _ = bank.labels(seed)
            for split, key in keys.items():
                gold = read(home() / "dependency" / name / f"{split}.conllu")
                uas, las, _ = tested(bank, arcs, labels, gold, bank.encoder.batch(gold.columns))
                row = {"uas": uas, "las": las, "arc_seconds": seconds, "chosen": str(chosen)}
                self.kept.add(key, row)

    def predicted(self, name: str, seed: int) -> None:
        """Tags, features and lemmas of a tagger; with clusters of words where there are some."""
        for kind, file in self.clusters.items():
            shown = name if file is None else f"{name}+{kind}"
            keys = {
                variant: f"predicted {shown} {self.split} seed {seed} {variant}"
                for variant in VARIANTS
            }
            missing = [variant for variant, key in keys.items() if key not in self.kept.rows]
            made = Predicted(name, self.split, seed, file) if missing else None
            for variant in missing if made is not None else ():
                row = made.row(variant)
                of = {"of": [shown, self.split, seed, variant]}
                self.kept.add(keys[variant], row | of)

    def run(self, parts: list[str], seeds: int, treebanks: list[str] | None) -> None:
        """All rows of these parts, the most wanted first."""
        for seed in range(seeds) if "main" in parts else ():
            for name in treebanks or ENGLISH:
                for order in ORDERS:
                    self.make(name, order, "mira", seed)
        for seed in range(seeds) if "options" in parts else ():
            for name in treebanks or OTHERS:
                self.options(name, seed)
        for seed in range(seeds) if "predicted" in parts else ():
            for name in treebanks or (*OTHERS, *ENGLISH):
                self.predicted(name, seed)
        for seed in range(seeds) if "malt" in parts else ():
            for name in treebanks or ENGLISH:
                key = f"malt {name} {self.split} seed {seed}"
                if key not in self.kept.rows:
                    for what, row in malt_rows(name, self.split, seed).items():
                        self.kept.add(f"{key}{what}", row)
        if "speed" in parts and "speed" not in self.kept.rows:
            self.kept.add("speed", speed_row(self.bank("ewt")))
        for order in ("1", "2") if "oracle" in parts else ():
            key = f"oracle ewt {self.split} order {order}"
            if key not in self.kept.rows:
                self.kept.add(key, oracle_row(self.bank("ewt"), order, 0))
        for kind in self.clusters if "clusters" in parts else ():
            for seed in range(seeds):
                for order in ORDERS:
                    self.make("ewt", order, "mira", seed, kind)
        for tags in ("gold-feats", "own") if "tags" in parts else ():
            for seed in range(seeds):
                for name in treebanks or ENGLISH:
                    for order in ORDERS:
                        self.make(name, order, "mira", seed, "none", tags)
        for seed in range(seeds) if "main" in parts else ():
            for name in treebanks or ENGLISH:
                for order in ORDERS:
                    self.make(name, order, "perceptron", seed)


def show_options(kept: Kept) -> None:
    """The default beside each option: means over the seeds, on dev and on test."""
    groups: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for key, row in kept.rows.items():
        if key.startswith("options "):
            _, name, split, *option = key.rpartition(" seed ")[0].split()
            at = groups.setdefault((name, " ".join(option)), {one: [] for one in SPLITS})
            at[split].append(row)
    if groups:
        print(
            "\n| treebank | option | seeds | dev UAS | dev LAS | test UAS | test LAS | arcs s "
            "| chosen, seed 0 |\n|" + "---|" * 9
        )
    for (name, option), by_split in groups.items():
        cells = [
            f"{np.mean([row[what] for row in by_split[split]]):.2f}"
            for split in SPLITS
            for what in ("uas", "las")
        ]
        first = by_split["test"][0]
        print(
            f"| {name} | {option} | {len(by_split['test'])} | {' | '.join(cells)} "
            f"| {first['arc_seconds']:.0f} | {first['chosen']} |"
        )


def show(kept: Kept, split: str) -> None:
    """The tables of what is there."""
    groups: dict[str, list[Row]] = {}
    for key, row in kept.rows.items():
        if " seed " in key and f" {split} order " in key:
            groups.setdefault(key.rpartition(" seed ")[0], []).append(row)
    print(
        "\n| treebank | order | learner | clusters | tags | seeds | UAS | LAS | +UAS on Malt "
        "| +LAS | arcs s | relations s | sentences/s |\n|" + "---|" * 13
    )
    malt: dict[str, tuple[float, float]] = {}
    for name, file in MALT.items():
        path = home() / "peers" / f"{file}-{split}.conllx"
        if path.exists():
            gold = read(home() / "dependency" / name / f"{split}.conllu")
            theirs = read(path)
            malt[name] = scores(gold, theirs.heads, theirs.relations)
            uas, las = malt[name]
            print(f"| {name} | | MaltParser | | gold | | {uas:.2f} | {las:.2f} |" + " |" * 5)
    for key in sorted(groups):
        name, _, _, order, learner, clusters, tags = key.split()
        rows = groups[key]
        mean = {
            what: float(np.mean([row[what] for row in rows]))
            for what in ("uas", "las", "arc_seconds", "label_seconds", "per_second")
        }
        ahead = " | "
        if name in malt and tags != "own":
            ahead = f"{mean['uas'] - malt[name][0]:+.2f} | {mean['las'] - malt[name][1]:+.2f}"
        print(
            f"| {name} | {order} | {learner} | {clusters} | {tags} | {len(rows)} "
            f"| {mean['uas']:.2f} | {mean['las']:.2f} | {ahead} | {mean['arc_seconds']:.0f} "
            f"| {mean['label_seconds']:.0f} | {mean['per_second']:.0f} |"
        )
    print("\n| 50-best, EWT | UAS of the first | oracle | gain | sentences/s |\n|" + "---|" * 5)
    for key, row in kept.rows.items():
        if key.startswith("oracle"):
            gain = row["oracle"] - row["uas"]
            print(
                f"| order {key[-1]} | {row['uas']:.2f} | {row['oracle']:.2f} | {gain:+.2f} "
                f"| {row['per_second']:.0f} |"
            )
    if "speed" in kept.rows:
        rate = kept.rows["speed"]["per_second"]
        print(f"\nParsing, first order, with relations, EWT {split}: {rate:.0f} sentences/s")


def main() -> None:
    """Make what is missing, and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--keep", default=str(kept_folder(__file__)), help="folder of rows")
    parser.add_argument("--seeds", type=int, default=3, help="how many: 0, 1, ...")
    parser.add_argument("--split", default="test")
    parser.add_argument("--clusters", help="a paths file of our clusters")
    parser.add_argument("--treebanks", nargs="+", help="folders of $EIGENTEXT_DATA/dependency")
    parts = ["main", "options", "predicted", "malt", "tags", "clusters", "oracle", "speed"]
    parser.add_argument("--parts", nargs="+", default=parts, choices=parts)
    parser.add_argument("--show", action="store_true", help="only print the tables")
    asked = parser.parse_args()
    kept = Kept(Path(asked.keep))
    clusters: dict[str, str | None] = {"none": None}
    if asked.clusters:
        clusters["ours"] = asked.clusters
        clusters["wcluster"] = str(home() / "peers" / "wcluster-wiki50k-500.paths.xz")
    if not asked.show:
        with single_threaded():
            Work(kept, asked.split, clusters).run(asked.parts, asked.seeds, asked.treebanks)
    show(kept, asked.split)
    show_options(kept)
    show_predicted(kept)


if __name__ == "__main__":
    main()
