"""Constituency parsing: one model and a mixed ensemble, against the Berkeley parser.

    python benchmarks/constituency_gum.py                                # GUM dev
    python benchmarks/constituency_gum.py --split test --seeds 5
    python benchmarks/constituency_gum.py --data icepahc --ensemble 1

``$EIGENTEXT_DATA`` names the folder with constituency/{gum,craft,icepahc}/{train,dev,test}.mrg and
the Berkeley parser's output in peers/berkeley-*.mrg.  Tokens are given, tags are not.  F1 and
tagging by EVALB's rules (COLLINS.prm, no limit on errors), a failed parse counts as empty.
Training time is the CPU time of this process with reading and binarising, parsing speed is
sentences per CPU second, both on one thread; compiled code is warm.  With ``--jar`` the Berkeley
parser itself is trained and run.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from eigentext.base.files.opening import numbered_lines
from eigentext.constituency import LPCFG
from eigentext.datasets import load_english
from eigentext.evaluate.bootstrap import compare
from eigentext.evaluate.parseval import ParsevalResult, evaluate, parse_prediction
from eigentext.features.word_classes import WordClasses
from eigentext.language.formats.brown_paths import read_paths
from eigentext.language.formats.prm import EvalbSettings
from eigentext.language.formats.ptb import read_trees
from eigentext.language.trees.constituent import Tree
from eigentext.linalg.ties import single_threaded

if TYPE_CHECKING:
    from collections.abc import Sequence

ROUNDS = {"gum": 5, "craft": 4}  # split-merge rounds of the Berkeley grammar
RULES = EvalbSettings.collins()


class Run(NamedTuple):
    """One trained parser: how long it took, how fast and how well it parses."""

    training: float
    speed: float
    result: ParsevalResult


def grammar_of(data: str) -> dict[str, Any]:
    """Head rules and signatures by language."""
    if data == "icepahc":
        return {"heads": "neutral", "language": "generic"}
    return {}


def classes_of(paths: str | None) -> WordClasses | None:
    """Classes of words of a Brown paths file; None where there is none."""
    return None if paths is None else WordClasses.from_paths(read_paths(paths))


def train_and_parse(
    train: Path, gold: Sequence[Tree], data: str, classes: WordClasses | None, **settings: Any
) -> Run:
    """Train, parse every sentence of ``gold``, score."""
    start = time.process_time()
    parser = LPCFG(**grammar_of(data), **settings)
    parser.fit(read_trees(str(train)), classes=classes)
    training = time.process_time() - start
    parser.parse(gold[0].words)
    start = time.process_time()
    found = [parser.parse(tree.words).tree for tree in gold]
    speed = len(gold) / (time.process_time() - start)
    return Run(training, speed, evaluate(gold, found, RULES, failed="empty"))


def peer_trees(data: str, split: str, folder: Path) -> list[Tree | None] | None:
    """What the Berkeley parser printed, if it is there."""
    for suffix in (".mrg", ".mrg.xz"):
        path = folder / "peers" / f"berkeley-sm{ROUNDS.get(data, 0)}-{data}-{split}{suffix}"
        if path.exists():
            return [parse_prediction(line) for _, line in numbered_lines(str(path))]
    return None


def run_berkeley(jar: str, train: Path, gold: Sequence[Tree], rounds: int) -> Run:
    """Train and run the Berkeley parser; CPU seconds of its processes."""

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    with tempfile.TemporaryDirectory() as folder:
        grammar = str(Path(folder) / "grammar.gr")
        start = spent()
        subprocess.run(
            [
                *("java", "-XX:+UseSerialGC", "-Xmx6g", "-cp", jar),
                *("edu.berkeley.nlp.PCFGLA.GrammarTrainer", "-path", str(train), "-out", grammar),
                *("-treebank", "SINGLEFILE", "-SMcycles", str(rounds)),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        training, start = spent() - start, spent()
        text = "".join(" ".join(tree.words) + "\n" for tree in gold)
        printed = subprocess.run(
            ["java", "-XX:+UseSerialGC", "-Xmx6g", "-jar", jar, "-gr", grammar],
            check=True,
            input=text,
            capture_output=True,
            text=True,
        ).stdout
        parsing = spent() - start
    # It prints the wrapper on top without its label.
    lines = [line.replace("( (", "(TOP (", 1) for line in printed.splitlines()]
    found = [parse_prediction(line) for line in lines]
    return Run(training, len(gold) / parsing, evaluate(gold, found, RULES, failed="empty"))


def counts(result: ParsevalResult) -> list[tuple[int, int, int]]:
    """(matched, gold, test) of every sentence; one that EVALB leaves out counts for nothing."""
    return [(s.matched, s.gold, s.test) if s.status == 0 else (0, 0, 0) for s in result.sentences]


def line(name: str, runs: Sequence[Run]) -> str:
    """One row of the table: means over seeds, and the spread of F1."""
    f1 = [run.result.all.f1 for run in runs]
    spread = f" ({min(f1):.2f} to {max(f1):.2f})" if len(f1) > 1 else ""

    def mean(values: Sequence[float]) -> float:
        return statistics.fmean(values)

    return (
        f"| {name} | {mean(f1):.2f}{spread} "
        f"| {mean([r.result.all.f1_with_errors for r in runs]):.2f} "
        f"| {mean([r.result.all.tag_accuracy for r in runs]):.2f} "
        f"| {mean([r.result.all.complete_match for r in runs]):.1f} "
        f"| {mean([r.result.all.n_errors for r in runs]):.0f} "
        f"| {mean([r.training for r in runs]):.1f} | {mean([r.speed for r in runs]):.1f} |"
    )


def main() -> None:
    """Print the table, then the comparisons with the peer."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", choices=("gum", "craft", "icepahc"), default="gum")
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--states", type=int, default=16, help="of one clustering model")
    parser.add_argument(
        "--moments-states", type=int, default=24, help="of one moments model; 0: none"
    )
    parser.add_argument("--ensemble", type=int, default=8, help="models; 1: no ensemble")
    parser.add_argument("--ensemble-states", type=int, default=20, help="states in the ensemble")
    parser.add_argument("--seeds", type=int, default=1, help="seeds 0, 1, ...")
    parser.add_argument("--ensemble-seeds", type=int, default=1, help="so many ensembles")
    parser.add_argument("--limit", type=int, default=None, help="only so many sentences")
    parser.add_argument("--clusters", default=None, help="Brown paths of words of raw text")
    parser.add_argument("--jar", default=None, help="the Berkeley parser, to train and run it")
    parser.add_argument(
        "--cycles", type=int, default=None, help="split-merge rounds of --jar; 5, CRAFT 4"
    )
    options = parser.parse_args()
    folder = Path(os.environ["EIGENTEXT_DATA"])
    treebank = folder / "constituency" / options.data
    gold = list(read_trees(str(treebank / f"{options.split}.mrg")))[: options.limit]
    warm = LPCFG(n_states=2).fit(Tree.from_brackets(text) for text in load_english("train"))
    warm.parse(gold[0].words)

    print(
        "| parser | F1 | with errors as misses | tagging | complete | length errors | training s "
        "| sentences/s |"
    )
    print("|---|---|---|---|---|---|---|---|")
    train, classes = treebank / "train.mrg", classes_of(options.clusters)
    rivals: list[tuple[str, ParsevalResult]] = []
    peer = peer_trees(options.data, options.split, folder)
    if peer is not None:
        result = evaluate(gold, peer[: options.limit], RULES, failed="empty")
        rivals.append(("Berkeley, stored output", result))
        print(line(rivals[0][0], [Run(float("nan"), float("nan"), result)]), flush=True)
    if options.jar is not None and Path(options.jar).exists():
        rounds = options.cycles or ROUNDS.get(options.data, 5)
        run = run_berkeley(options.jar, train, gold, rounds)
        rivals.append((f"Berkeley, run here, {rounds} rounds", run.result))
        print(line(rivals[-1][0], [run]), flush=True)
    models: list[tuple[str, int, dict[str, Any]]] = [
        (
            f"clustering, m={options.states}",
            options.seeds,
            {"estimator": "clustering", "n_states": options.states},
        )
    ]
    if options.moments_states:
        states = options.moments_states
        settings = {"estimator": "moments", "n_states": states}
        models.append((f"moments, m={states}", options.seeds, settings))
    if options.ensemble > 1:
        settings = {"n_models": options.ensemble, "n_states": options.ensemble_states}
        name = f"product of {options.ensemble}, m={options.ensemble_states}"
        models.append((name, options.ensemble_seeds, settings))
    ours = []
    for name, n_seeds, settings in models:
        runs = [
            train_and_parse(train, gold, options.data, classes, seed=100 * seed, **settings)
            for seed in range(n_seeds)
        ]
        ours.append((name, runs[0].result))
        print(line(f"{name}, {n_seeds} seeds" if n_seeds > 1 else name, runs), flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\npeak memory {peak:.2f} GiB\n")
    for rival, theirs in rivals:
        for name, mine in ours:
            found = compare(counts(mine), counts(theirs))
            print(
                f"{name} - {rival}: {found.difference:+.2f} F1, "
                f"{found.low:+.2f} to {found.high:+.2f} (95%), p = {found.p_value:.4f}"
            )


if __name__ == "__main__":
    with single_threaded():
        main()
