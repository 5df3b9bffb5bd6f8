"""Rivals of the ranker over the same candidates, on UD PADT with ALMOR candidates.

    EIGENTEXT_DATA=... EIGENTEXT_ALMOR=... python benchmarks/lexical_rivals.py --keep FOLDER
    python benchmarks/lexical_rivals.py --keep FOLDER --rows "CRF|MIRA" --folds 0,1

Every (row, fold) is kept as a file in --keep, as benchmarks/lexical.py does; where the folder is
the same, the ranker's rows stand beside the rivals'.  CPU s are those of training.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _data import kept
from lexical import FOLDS, ROWS, Setting, languages, run_row, slug, table
from rivals.chains import ChainModel
from rivals.ranking import ElementClassifiers

from eigentext.lexical.crossval import MostFrequent, evaluate_ranker
from eigentext.linalg.ties import single_threaded

if TYPE_CHECKING:
    from collections.abc import Callable

RIVALS: dict[str, Callable[..., MostFrequent]] = {
    "most frequent analysis": MostFrequent,
    "classifiers of elements (as MADA)": lambda **s: ElementClassifiers(epochs=3, **s),
    "perceptron": lambda **s: ChainModel(method="perceptron", epochs=3, **s),
    "MIRA": lambda **s: ChainModel(method="mira", epochs=3, **s),
    "CRF": lambda **s: ChainModel(method="crf", epochs=3, **s),
}
RANKER = ("M_full", "one pass", "two passes, pairs", "best")


def run_rival(setting: Setting, row: str, number: int) -> dict[str, Any]:
    """One rival on one fold, as figures."""
    training, test = setting.fold(number)
    began = time.process_time()
    rival = RIVALS[row](analyzer=setting.analyzer, scheme=setting.scheme)
    rival.fit(training, candidates=setting.candidates)
    spent = time.process_time() - began
    result = evaluate_ranker(rival, test)
    record = result.scores.as_record()
    record.pop("documents")
    return {
        **record,
        "calibration_error": result.calibration_error,
        "train_seconds": spent,
        "rank_seconds": result.rank_seconds,
    }


def main() -> None:
    """Run what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, default=kept(__file__))
    parser.add_argument("--language", default="ar")
    parser.add_argument("--rows", default="|".join(RIVALS), help="by '|'; the ranker's too")
    parser.add_argument("--folds", default=",".join(map(str, range(FOLDS))))
    parser.add_argument("--almor", default="")
    parser.add_argument("--show", action="store_true", help="only print what is kept")
    chosen = parser.parse_args()
    rows = chosen.rows.split("|")
    unknown = [row for row in rows if row not in RIVALS and row not in ROWS]
    if unknown:
        parser.error(f"no row {unknown[0]!r}; rivals: {', '.join(RIVALS)}")
    chosen.keep.mkdir(parents=True, exist_ok=True)
    if not chosen.show:
        setting = languages(chosen.almor)[chosen.language]()
        for number in map(int, chosen.folds.split(",")):
            for row in rows:
                file = chosen.keep / f"{chosen.language}--{slug(row)}--{number}.json"
                if not file.exists():
                    with single_threaded():
                        record = (run_rival if row in RIVALS else run_row)(setting, row, number)
                    file.write_text(json.dumps(record))
                    print(row, number, record["a1"], record["a2"], flush=True)
    table(chosen.keep, chosen.language, [*RIVALS, *(r for r in RANKER if r not in RIVALS)])


if __name__ == "__main__":
    main()
