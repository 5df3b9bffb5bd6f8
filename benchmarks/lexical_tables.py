"""The tables of docs/guide/lexical.md, from the rows that lexical.py and its rivals kept.

    python benchmarks/lexical_tables.py [KEEP [RIVALS_KEEP]]

Prints Markdown: our best, tables 4 and 5 of the paper, weights, Eq. 3 against Eq. 5, D2, Z_tf,
labels of D1, the learning curve with its extrapolation, other languages, rivals.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from _data import kept
from lexical import ELEMENTS, FOLDS, PAPER_ELEMENTS, ROWS, slug

if TYPE_CHECKING:
    from collections.abc import Sequence

Records = dict[int, dict[str, Any]]
WORDS, SCORED = 48_866, 39_472
PAPER_WORDS = 350_000


def load(keep: Path, row: str, language: str = "ar") -> Records:
    """The kept folds of a row."""
    files = sorted(keep.glob(f"{language}--{slug(row)}--*.json"))
    return {int(file.stem.rpartition("--")[2]): json.loads(file.read_text()) for file in files}


def mean(records: Records, *path: str, folds: Sequence[int] | None = None) -> float:
    """A figure over folds, each word counting once."""
    total = words = 0.0
    for fold, record in records.items():
        if folds is not None and fold not in folds:
            continue
        value: Any = record
        for name in path[:-1]:
            value = value[name]
        if value[path[-1]] is not None:
            size = value.get("words", record["words"])
            total += value[path[-1]] * size
            words += size
    return total / words if words else float("nan")


def line(*cells: object) -> None:
    """One row of a table."""
    print("| " + " | ".join(f"{c:.2f}" if isinstance(c, float) else str(c) for c in cells) + " |")


def head(*cells: str) -> None:
    """The first two lines of a table."""
    print()
    line(*cells)
    print("|---" * len(cells) + "|")


def our_best(best: Records) -> None:
    """The goals of the issue and every element."""
    print(f"\n## Our best: three passes\n\n{len(best)} folds.")
    head("figure", "reached", "goal")
    line("A1 / A2", f"{mean(best, 'a1'):.2f} / {mean(best, 'a2'):.2f}", "86 / 94")
    without = f"{mean(best, 'reduced', 'a1'):.2f} / {mean(best, 'reduced', 'a2'):.2f}"
    line("A1 / A2 without case", without, "")
    line("lemma", mean(best, "elements", "lemma", "a1"), 96.5)
    line("case", mean(best, "elements", "cas", "a1"), 91)
    line("words unseen in training", mean(best, "unseen", "a1"), 74)
    line("words seen in training", mean(best, "seen", "a1"), "")
    line("coverage of the gold label by C(t)", mean(best, "coverage"), 98)
    records = best.values()
    line("calibration error", f"{np.mean([r['calibration_error'] for r in records]):.4f}", "")
    line("training a fold, CPU s", f"{np.mean([r['train_seconds'] for r in records]):.0f}", 60)
    seconds = sum(r["rank_seconds"] for r in records) / len(best) * FOLDS
    line("ranking, words/s of one core", f"{WORDS / seconds:,.0f}", "3,000")
    folds = (f"{f}: {r['a1']:.1f} / {r['a2']:.1f}" for f, r in sorted(best.items()))
    print("\nBy fold, A1 / A2: " + "; ".join(folds) + ".")


def table_4(keep: Path, best: Records) -> None:
    """One model for each element beside M_full and our best."""
    full = load(keep, "M_full")
    print("\n## Table 4 of the paper: one model for each element")
    head("element", "folds", "M_e: A1", "A2", "M_full: A1", "A2", "our best: A1", "A2")
    for element in ELEMENTS:
        own = load(keep, f"M_{element}")
        if own:
            figures = [
                mean(r, "elements", element, which, folds=list(own))
                for r in (own, full, best)
                for which in ("a1", "a2")
            ]
            line(element, len(own), *figures)


def table_4_of_the_paper(keep: Path) -> None:
    """The paper's sixteen elements: one model for each beside M_full."""
    full = load(keep, "M_full", "ar16")
    print("\n## Table 4 of the paper: its sixteen elements")
    head("element", "folds", "M_e: A1", "A2", "M_full: A1", "A2")
    for element in PAPER_ELEMENTS:
        own = load(keep, f"M_{element}", "ar16")
        if own and full:
            figures = [
                mean(r, "elements", element, which, folds=list(own))
                for r in (own, full)
                for which in ("a1", "a2")
            ]
            line(element, len(own), *figures)


def compared(keep: Path, title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Rows by their figures over the whole label, on the folds that all of them have."""
    print(f"\n## {title}")
    head(
        "model", "folds", "A1", "A2", "without case A1", "unseen A1", "lemma", "coverage", "CPU s"
    )
    kept = [(name, found) for name, row in rows if (found := load(keep, row))]
    common = set.intersection(*(set(found) for _, found in kept)) if kept else set()
    for name, found in ((name, {f: found[f] for f in common}) for name, found in kept):
        line(
            name,
            len(found),
            mean(found, "a1"),
            mean(found, "a2"),
            mean(found, "reduced", "a1"),
            mean(found, "unseen", "a1"),
            mean(found, "elements", "lemma", "a1"),
            mean(found, "coverage"),
            f"{np.mean([r['train_seconds'] for r in found.values()]):.0f}",
        )


def learning_curve(keep: Path) -> None:
    """A1 by training words, and where two laws lead at the paper's size."""
    print("\n## Learning curve")
    head("model", "training words", "A1", "A2", "unseen A1")
    ends = []
    for model in ("M_full", "best"):
        parts = {share: load(keep, f"{model} at {share}") for share in (0.125, 0.25, 0.5)}
        folds = [f for f in parts[0.5] if all(f in part for part in parts.values())]
        full = load(keep, model)
        if not folds:
            continue
        sizes, points = [], []
        for part in (*parts.values(), full):
            scored = np.mean(
                [part[f].get("training_words", SCORED - part[f]["words"]) for f in folds]
            )
            sizes.append(float(scored) * WORDS / SCORED)
            points.append([mean(part, which, folds=folds) for which in ("a1", "a2")])
            line(model, f"{sizes[-1]:,.0f}", *points[-1], mean(part, "unseen", "a1", folds=folds))
        logs, target = np.log(sizes), np.log(PAPER_WORDS)
        for which, column in zip(("A1", "A2"), np.array(points).T, strict=True):
            straight = np.polyval(np.polyfit(logs[1:], column[1:], 1), target)
            power = 100 - np.exp(np.polyval(np.polyfit(logs, np.log(100 - column), 1), target))
            ends.append((model, which, f"{power:.1f}", f"{min(straight, 100.0):.1f}"))
    print(f"\nAt {PAPER_WORDS:,} words (the paper: 90.6 / 96.2):")
    head("model", "figure", "error as a power of size", "straight line in log size")
    for end in ends:
        line(*end)


def languages(keep: Path) -> None:
    """Other languages by the same code."""
    print("\n## Other languages")
    for language in ("pl", "tr"):
        head(f"model ({language})", "folds", "A1", "A2", "coverage")
        for row in ("most frequent label, no analyzer", "most frequent label", "best"):
            found = load(keep, row, language)
            if found:
                figures = (mean(found, which) for which in ("a1", "a2", "coverage"))
                line(row, len(found), *figures)


def rivals(keep: Path, best: Records, full: Records) -> None:
    """What else ranks the same candidates."""
    print("\n## Rivals")
    head(
        "model",
        "folds",
        "A1",
        "A2",
        "without case A1",
        "seen A1",
        "unseen A1",
        "lemma",
        "case",
        "calibration error",
        "CPU s",
    )
    names = (
        "most frequent analysis",
        "classifiers of elements (as MADA)",
        "perceptron",
        "MIRA",
        "CRF",
    )
    rows = [(name, found) for name in names if (found := load(keep, name))]
    rows += [("`LexicalRanker` as M_full", full), ("`LexicalRanker`", best)]
    common = set.intersection(*(set(found) for _, found in rows))
    for name, found in ((name, {f: found[f] for f in common}) for name, found in rows):
        if found:
            line(
                name,
                len(found),
                mean(found, "a1"),
                mean(found, "a2"),
                mean(found, "reduced", "a1"),
                mean(found, "seen", "a1"),
                mean(found, "unseen", "a1"),
                mean(found, "elements", "lemma", "a1"),
                mean(found, "elements", "cas", "a1"),
                f"{np.mean([r['calibration_error'] for r in found.values()]):.3f}",
                f"{np.mean([r['train_seconds'] for r in found.values()]):.0f}",
            )


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("keep", type=Path, nargs="?", default=kept("lexical"))
    parser.add_argument("rivals", type=Path, nargs="?", default=kept("lexical_rivals"))
    chosen = parser.parse_args()
    keep = chosen.keep
    if not load(keep, "best"):
        print("no rows are kept: run benchmarks/lexical.py first")
        return
    best, full, base = (load(keep, row) for row in ("best", "M_full", "M_baseline"))
    our_best(best)
    table_4(keep, best)
    table_4_of_the_paper(keep)
    compared(
        keep,
        "Table 5 of the paper",
        [
            ("most frequent label", "most frequent label"),
            ("M_baseline", "M_baseline"),
            ("M_uni", "M_uni"),
            ("M_ind", "M_ind"),
            ("M_aggr", "M_aggr"),
            ("M_full (regression SVM, Eq. 3)", "M_full"),
            ("our best, three passes", "best"),
        ],
    )
    error, cut = 100 - mean(base, "a1"), mean(full, "a1") - mean(base, "a1")
    print(f"\nFactoring cuts M_baseline's error by {100 * cut / error:.1f}% (goal: 25%).")
    compared(
        keep,
        "M_cheat: what gold neighbours would bring",
        [
            ("our features, two passes", "two passes, pairs"),
            (
                "M_cheat (oracle: the same with gold neighbours)",
                "M_cheat (oracle: gold neighbours)",
            ),
            ("our best, three passes", "best"),
        ],
    )
    compared(
        keep,
        "M_cheat on Z_full, as in the paper",
        [
            ("M_full", "M_full"),
            ("with predicted neighbours", "M_full, predicted neighbours"),
            ("M_cheat (oracle: gold neighbours)", "M_cheat on Z_full"),
        ],
    )
    compared(
        keep,
        "Weights",
        [
            ("James-Stein, from theory", "M_full, James-Stein"),
            ("James-Stein on plain counts", "M_full, James-Stein on counts"),
            ("linear regression", "M_full, linear regression"),
            ("regression SVM", "M_full"),
            ("classification SVM", "M_full, classification SVM"),
            ("softmax", "M_full, softmax"),
        ],
    )
    compared(
        keep,
        "Counts over variance (Eq. 3) and plain counts (Eq. 5)",
        [("Eq. 3", "M_full"), ("Eq. 5", "M_full, Eq. 5 (plain counts)")],
    )
    compared(
        keep,
        "A1 against the size of D2, D1 the same",
        [
            *((row.removeprefix("M_full, "), row) for row in ROWS if " D2 x " in row),
            ("all of D2 (a tenth of the documents)", "M_full"),
        ],
    )
    compared(
        keep,
        "Document counts (Z_tf) for the lemma",
        [("M_lemma", "M_lemma"), ("M_lemma without Z_tf", "M_lemma without Z_tf")],
    )
    compared(
        keep,
        "Labels seen in D1 as candidates (Eq. 9)",
        [("M_full", "M_full"), ("M_full without D1 labels", "M_full without D1 labels")],
    )
    learning_curve(keep)
    languages(keep)
    if any(chosen.rivals.glob("*.json")):
        rivals(chosen.rivals, best, full)


if __name__ == "__main__":
    main()
