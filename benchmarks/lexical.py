"""Ranking analyses: the paper's tables on UD PADT with ALMOR candidates, and other languages.

    EIGENTEXT_DATA=... EIGENTEXT_ALMOR=... python benchmarks/lexical.py
    python benchmarks/lexical.py --keep FOLDER --rows "best|M_full" --folds 0,1
    python benchmarks/lexical.py --language ar16 --rows table4      # the paper's sixteen elements

Every (row, fold) is kept as a file in --keep, so that a run can be taken up again; the tables are
made of what is there.  Rows without a figure were not run.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from _data import data as data_folder
from _data import kept

from eigentext.evaluate.ranking import RankedItem, score_ranking
from eigentext.language.formats.conllu import read_sentences
from eigentext.lexical.analyzers import open_analyzer
from eigentext.lexical.analyzers.learned import LearnedAnalyzer
from eigentext.lexical.candidates import LabelSource
from eigentext.lexical.crossval import FoldResult, evaluate_ranker, folds_by_document
from eigentext.lexical.documents import LexDocument, read_conllu_documents, read_words_jsonl
from eigentext.lexical.ranker.model import LexicalRanker
from eigentext.lexical.ranker.templates import PAPER
from eigentext.lexical.schemes.labels import LabelScheme, load_scheme
from eigentext.linalg.ties import single_threaded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eigentext.lexical.analysis import Analyzer

FOLDS = 10
EVERY_ELEMENT = "*"  # in a list of targets: all elements of the scheme
ELEMENTS = load_scheme("arabic14").elements
PAPER_ELEMENTS = load_scheme("arabic16").elements  # the sixteen of the paper's table 4
PAPER_MODE = {
    "templates": PAPER,
    "targets": ("label", EVERY_ELEMENT),
    "transform": "variance",
    "holdout": 0.1,
    "passes": 1,
    "bits": 0,
    "weights": "svr",
    "min_count": 1,
}
NEIGHBOURS = ("label@-1", "label@1")  # section 4.1.1: the labels before and after the word
BEST: dict[str, Any] = {"passes": 3, "epochs": 2, "bits": 22}

ROWS: dict[str, dict[str, Any]] = {
    "best": BEST,
    "M_baseline": {**PAPER_MODE, "targets": ("label",), "document_counts": False},
    "M_uni": {**PAPER_MODE, "templates": ("form@0",), "document_counts": False},
    "M_aggr": {**PAPER_MODE, "document_counts": False},
    "M_full": PAPER_MODE,
    "M_full, softmax": {**PAPER_MODE, "weights": "softmax"},
    "M_full, linear regression": {**PAPER_MODE, "weights": "regression"},
    "M_full, classification SVM": {**PAPER_MODE, "weights": "svc"},
    "M_full, James-Stein": {**PAPER_MODE, "weights": "james-stein"},
    "M_full, Eq. 5 (plain counts)": {**PAPER_MODE, "transform": "count"},
    "M_full without D1 labels": {**PAPER_MODE, "observed": False},
    "M_lemma": {**PAPER_MODE, "targets": ("lemma",)},
    "M_lemma without Z_tf": {**PAPER_MODE, "targets": ("lemma",), "document_counts": False},
    "M_lemma'": {**PAPER_MODE, "targets": ("label", *(e for e in ELEMENTS if e != "lemma"))},
    **{
        f"M_{e}": {**PAPER_MODE, "targets": (e,)}
        for e in (*ELEMENTS, *PAPER_ELEMENTS)
        if e != "lemma"
    },
    "M_full, predicted neighbours": {**PAPER_MODE, "passes": 2, "second": NEIGHBOURS},
    "M_cheat on Z_full": {**PAPER_MODE, "passes": 2, "second": NEIGHBOURS, "oracle": True},
    "M_full, James-Stein on counts": {
        **PAPER_MODE,
        "weights": "james-stein",
        "transform": "count",
    },
    **{f"M_full, D2 x {s}": {**PAPER_MODE, "second_share": s} for s in (0.125, 0.25, 0.5)},
    "one pass, 9:1": {"passes": 1, "bits": 0, "epochs": 2, "holdout": 0.1},
    "one pass": {"passes": 1, "bits": 0, "epochs": 2},
    "two passes": {"passes": 2, "bits": 0, "epochs": 2},
    "two passes, pairs": {"passes": 2, "bits": 22, "epochs": 2},
    **{f"best at {share}": BEST for share in (0.125, 0.25, 0.5)},
    "M_cheat (oracle: gold neighbours)": {"passes": 2, "bits": 22, "epochs": 2, "oracle": True},
}
DEFAULT = (
    "best",
    "M_baseline",
    "M_uni",
    "M_ind",
    "M_full",
    "M_cheat (oracle: gold neighbours)",
    "most frequent label",
)


class FewerWeighing(LexicalRanker):
    """A ranker whose D2 is cut to a share of its documents; D1 stays as it is."""

    share = 1.0

    def _split(self, documents: list[LexDocument]) -> tuple[list[LexDocument], list[LexDocument]]:
        counted, held = super()._split(documents)
        return counted, held[: max(1, round(self.share * len(held)))]


class Setting:
    """Documents, scheme and candidates of one language; analyses are made once."""

    out_of_sample: dict[str, Analyzer] | None = None  # by document, if the analyzer is learned

    def __init__(
        self,
        documents: list[LexDocument],
        scheme: LabelScheme,
        analyzer: Analyzer,
        *,
        test: list[LexDocument] | None = None,
    ) -> None:
        self.documents = documents
        self.scheme = scheme
        self.analyzer = analyzer
        self.candidates = LabelSource(analyzer, scheme)
        self.test = test  # else folds

    def ranker(
        self, *, oracle: bool = False, second_share: float = 1.0, **settings: Any
    ) -> LexicalRanker:
        """A ranker, to be fitted with our candidates; ``second_share`` of D2 is used."""
        made = FewerWeighing(analyzer=self.analyzer, scheme=self.scheme, **settings)
        made.share = second_share
        made.oracle = oracle
        return made

    def fold(self, number: int) -> tuple[list[LexDocument], list[LexDocument]]:
        """The documents to train and to test on."""
        if self.test is not None:
            return self.documents, self.test
        fold = folds_by_document(self.documents, FOLDS)
        training = [d for d, f in zip(self.documents, fold, strict=True) if f != number]
        return training, [d for d, f in zip(self.documents, fold, strict=True) if f == number]


def most_frequent(
    setting: Setting, training: list[LexDocument], test: list[LexDocument]
) -> FoldResult:
    """Candidates by how often the form had the label, then the label at all, then the prior."""
    with_form: defaultdict[str, Counter[Any]] = defaultdict(Counter)
    at_all: Counter[Any] = Counter()
    for document in training:
        for word in document.words():
            if word.label is not None:
                with_form[word.form][word.label] += 1
                at_all[word.label] += 1

    def items() -> Iterator[RankedItem]:
        for document in test:
            for word in document.words():
                if word.scored and word.label is not None:
                    setting.candidates.observed = {word.form: tuple(with_form[word.form])}
                    found = setting.candidates(word.form)
                    labels = [candidate.label for candidate in found]
                    scores = [
                        with_form[word.form][c.label] + 1e-6 * at_all[c.label] + 1e-9 * c.prior
                        for c in found
                    ]
                    seen = bool(with_form[word.form])
                    yield RankedItem(word.label, labels, scores, seen, document.id)

    return FoldResult(score_ranking(items(), setting.scheme.elements), 0.0, 0.0, 0.0)


def plainly_most_frequent(
    setting: Setting, training: list[LexDocument], test: list[LexDocument]
) -> FoldResult:
    """The form's most frequent labels; for a new form those of the whole training set."""
    with_form: defaultdict[str, Counter[Any]] = defaultdict(Counter)
    at_all: Counter[Any] = Counter()
    for document in training:
        for word in document.words():
            if word.label is not None:
                with_form[word.form][word.label] += 1
                at_all[word.label] += 1
    top = Counter(dict(at_all.most_common(20)))

    def items() -> Iterator[RankedItem]:
        for document in test:
            for word in document.words():
                if word.scored and word.label is not None:
                    counts = with_form.get(word.form) or top
                    scores = [float(count) for count in counts.values()]
                    seen = word.form in with_form
                    yield RankedItem(word.label, list(counts), scores, seen, document.id)

    return FoldResult(score_ranking(items(), setting.scheme.elements), 0.0, 0.0, 0.0)


def independent(
    setting: Setting, training: list[LexDocument], test: list[LexDocument]
) -> FoldResult:
    """M_ind: the lemma by M_lemma, the rest by M_lemma', put together."""
    shared = {"candidates": setting.candidates}
    lemma = setting.ranker(**ROWS["M_lemma"]).fit(training, **shared)
    rest = setting.ranker(**ROWS["M_lemma'"]).fit(training, **shared)
    encoded, by_lemma = lemma.score_documents(test)
    _, by_rest = rest.score_documents(test)
    words = [word for document in test for word in document.words()]

    def items() -> Iterator[RankedItem]:
        for place in np.flatnonzero(encoded.scored).tolist():
            begin, end = encoded.first[place], encoded.first[place + 1]
            labels = [c.label for c in encoded.candidates[place]]
            lemmas: dict[str, float] = {}
            morphs: dict[Any, float] = {}
            for label, one, two in zip(
                labels, by_lemma[begin:end].tolist(), by_rest[begin:end].tolist(), strict=True
            ):
                lemmas[label[0]] = max(lemmas.get(label[0], -np.inf), one)
                morphs[label[1:]] = max(morphs.get(label[1:], -np.inf), two)
            pairs = {(a, *b): lemmas[a] + morphs[b] for a in lemmas for b in morphs}
            gold = words[place].label
            if gold is not None:
                seen = words[place].form in lemma.seen_
                yield RankedItem(gold, list(pairs), list(pairs.values()), seen)

    return FoldResult(score_ranking(items(), setting.scheme.elements), 0.0, 0.0, 0.0)


def all_scored(document: LexDocument) -> LexDocument:
    """The document with every labelled word counting, punctuation too."""
    return LexDocument(
        document.id,
        [[w._replace(scored=w.label is not None) for w in s] for s in document.sentences],
    )


def run_row(setting: Setting, row: str, number: int) -> dict[str, Any]:
    """One row on one fold, as figures."""
    training, test = setting.fold(number)
    began = time.process_time()
    upos = None
    if row == "most frequent label":
        result = most_frequent(setting, training, test)
    elif row == "most frequent label, no analyzer":
        result = plainly_most_frequent(setting, training, test)
    elif row == "M_ind":
        result = independent(setting, training, test)
    else:
        settings = dict(ROWS[row.partition(" at ")[0]])
        if " at " in row:  # a share of the training documents, for the learning curve
            share = float(row.partition(" at ")[2])
            training = training[: max(2, round(share * len(training)))]
        oracle = settings.pop("oracle", False)
        if EVERY_ELEMENT in settings.get("targets", ()):
            settings["targets"] = ("label", *setting.scheme.elements)
        if setting.scheme.language != "ar":
            settings["document_counts"] = False
        ranker = setting.ranker(oracle=oracle, **settings)
        ranker.fit(training, candidates=setting.candidates, out_of_sample=setting.out_of_sample)
        spent = time.process_time() - began
        for word in {word.form for document in test for word in document.words()}:
            setting.candidates(word)  # analyses are made before the ranking is timed
        result = evaluate_ranker(ranker, test)
        result.train_seconds = spent
        if "upos" in setting.scheme.elements:
            every = evaluate_ranker(ranker, [all_scored(d) for d in test]).scores.as_record()
            upos = every["elements"]["upos"]["a1"]
    record = result.scores.as_record()
    record.pop("documents")
    return {
        **record,
        "upos_of_all": upos,
        "training_words": sum(w.scored for d in training for w in d.words()),
        "calibration_error": result.calibration_error,
        "train_seconds": result.train_seconds,
        "rank_seconds": result.rank_seconds,
    }


def languages(almor: str) -> dict[str, Callable[[], Setting]]:
    """How each language's setting is made."""
    data = data_folder()

    def arabic(scheme: str) -> Setting:
        known = load_scheme(scheme)
        read = read_words_jsonl(data / "lexical/ar-padt/words.jsonl", known)
        return Setting(read, known, open_analyzer(f"almor:{almor}" if almor else "almor"))

    def polish() -> Setting:
        scheme = load_scheme("polish")
        path = data / "lexical/pl-pdb/a.conllu"
        read = read_conllu_documents(path, scheme, documents="sentence")
        return Setting(read, scheme, open_analyzer("morfeusz2"))

    def treebank(name: str, language: str) -> Setting:
        """Train and dev serve both the analyzer and the ranker, by ten analyzers out of sample."""
        scheme = load_scheme("turkish")  # lemma, part of speech and features of UD
        folder = data / "dependency" / name
        training: list[LexDocument] = []
        sentences: list[Any] = []
        for name in ("train", "dev"):
            path = folder / f"{name}.conllu"
            read = read_conllu_documents(path, scheme, documents="sentence")
            training += [LexDocument(f"{name} {d.id}", d.sentences) for d in read]
            sentences += read_sentences(path)
        test = read_conllu_documents(folder / "test.conllu", scheme, documents="sentence")
        made = Setting(
            training, scheme, LearnedAnalyzer.fit(sentences, language=language), test=test
        )
        made.out_of_sample = {}
        block = np.arange(len(sentences)) * FOLDS // len(sentences)
        for number in range(FOLDS):
            others = [s for s, b in zip(sentences, block, strict=True) if b != number]
            unseeing = LearnedAnalyzer.fit(others, language=language)
            for document, b in zip(training, block, strict=True):
                if b == number:
                    made.out_of_sample[document.id] = unseeing
        return made

    return {
        "ar": lambda: arabic("arabic14"),
        "ar16": lambda: arabic("arabic16"),
        "pl": polish,
        "tr": lambda: treebank("tr-imst", "tr"),
        "hu": lambda: treebank("hu-szeged", ""),
    }


def mean(records: Sequence[dict[str, Any]], *path: str) -> str:
    """A figure over folds, each word counting once."""
    total = words = 0.0
    for record in records:
        value: Any = record
        for name in path[:-1]:
            value = value[name]
        if value[path[-1]] is not None:
            total += value[path[-1]] * value.get("words", record["words"])
            words += value.get("words", record["words"])
    return f"{total / words:.2f}" if words else "-"


def table(keep: Path, language: str, rows: Sequence[str]) -> None:
    """Print what is kept."""
    head = "folds | A1 | A2 | without case | seen | unseen | lemma | pos | case | coverage | ECE"
    print(f"\n| model ({language}) | {head} | CPU s |")
    print("|---" * 13 + "|")
    for row in rows:
        files = sorted(keep.glob(f"{language}--{slug(row)}--*.json"))
        found = [json.loads(file.read_text()) for file in files]
        if not found:
            continue
        case = mean(found, "elements", "cas", "a1") if "cas" in found[0]["elements"] else "-"
        cells = [
            row,
            str(len(found)),
            mean(found, "a1"),
            mean(found, "a2"),
            mean(found, "reduced", "a1"),
            mean(found, "seen", "a1"),
            mean(found, "unseen", "a1"),
            mean(found, "elements", "lemma", "a1"),
            mean(found, "elements", "pos", "a1") if "pos" in found[0]["elements"] else "-",
            case,
            mean(found, "coverage"),
            f"{np.mean([r['calibration_error'] for r in found]):.4f}",
            f"{np.mean([r['train_seconds'] for r in found]):.1f}",
        ]
        print("| " + " | ".join(cells) + " |")


def slug(row: str) -> str:
    """The row's name in file names."""
    return "".join(letter if letter.isalnum() or letter in "._'" else "_" for letter in row)


def main() -> None:
    """Run what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, default=kept(__file__))
    parser.add_argument("--language", default="ar")
    parser.add_argument("--rows", default="|".join(DEFAULT), help="by '|'; 'all' for all")
    parser.add_argument("--folds", default=",".join(map(str, range(FOLDS))))
    parser.add_argument("--almor", default="")
    parser.add_argument("--show", action="store_true", help="only print what is kept")
    chosen = parser.parse_args()
    every = [*ROWS, "M_ind", "most frequent label", "most frequent label, no analyzer"]
    rows = every if chosen.rows == "all" else chosen.rows.split("|")
    if chosen.rows == "table4":
        rows = ["M_full", *(f"M_{element}" for element in PAPER_ELEMENTS)]
    chosen.keep.mkdir(parents=True, exist_ok=True)
    if not chosen.show:
        setting = languages(chosen.almor)[chosen.language]()
        for row in rows:
            folds = chosen.folds.split(",") if setting.test is None else ["0"]
            for number in map(int, folds):
                file = chosen.keep / f"{chosen.language}--{slug(row)}--{number}.json"
                if not file.exists():
                    with single_threaded():
                        record = run_row(setting, row, number)
                    file.write_text(json.dumps(record))
                    print(row, number, record["a1"], record["a2"], flush=True)
    table(chosen.keep, chosen.language, rows)


if __name__ == "__main__":
    main()
