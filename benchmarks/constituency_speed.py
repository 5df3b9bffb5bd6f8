"""Constituency parsing: F1 against sentences a second, time against length, memory, processes.

    python benchmarks/constituency_speed.py                        # GUM dev
    python benchmarks/constituency_speed.py --data craft --limit 1000 --svg docs/img

1. *Frontier*: pruning, the bracket model, states and products of models, each with F1 by EVALB's
   rules (COLLINS.prm) and sentences a CPU second on one thread, beside the Berkeley parser (F1 of
   its stored output, ``--peer-speed`` sentences a second as measured by ``constituency_gum.py
   --jar``).
2. *Length*: ms for sentences of 10 to 160 words, which are cut out of the running text.
3. *Size*: MB of the file; MB of memory of a process that loads it and parses.
4. *Processes*: wall time of ``parse_many`` with 1 and with ``--jobs`` processes, start included.

``$EIGENTEXT_DATA`` names the folder with constituency/DATA/{train,dev}.mrg; compiled code is warm.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _data import data
from constituency_gum import grammar_of, peer_trees

from eigentext.constituency import LPCFG
from eigentext.evaluate.parseval import evaluate
from eigentext.language.formats.prm import EvalbSettings
from eigentext.language.formats.ptb import read_trees
from eigentext.linalg.ties import single_threaded

if TYPE_CHECKING:
    from eigentext.language.trees.constituent import Tree

RULES = EvalbSettings.collins()
LENGTHS = (10, 20, 40, 80, 160)
PRUNING: tuple[tuple[str, dict[str, float]], ...] = (
    ("no bracket model", {"bracket_weight": 0, "bracket_threshold": 0, "threshold": 1e-4}),
    ("brackets close spans only", {"bracket_weight": 0}),
    ("brackets weigh only", {"bracket_threshold": 0}),
    ("**default**", {}),
    ("bracket threshold 0.002", {"bracket_threshold": 2e-3}),
    ("threshold 0.0001", {"threshold": 1e-4}),
    ("threshold 0.003", {"threshold": 3e-3}),
    ("beam 0.001", {"beam": 1e-3}),
    ("beam and thresholds 0.003", {"beam": 3e-3, "threshold": 3e-3, "bracket_threshold": 3e-3}),
)
_MEMORY = """
import sys
from eigentext.constituency import LPCFG
parser = LPCFG.load(sys.argv[1])
for line in sys.stdin:
    parser.parse(line.split())
(peak,) = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(int(peak) / 1024)
"""


def scored(parser: LPCFG, gold: list[Tree]) -> tuple[float, float]:
    """F1 and sentences a CPU second."""
    for tree in gold[:10]:
        parser.parse(tree.words)
    start = time.process_time()
    trees = [parser.parse(tree.words).tree for tree in gold]
    seconds = time.process_time() - start
    return evaluate(gold, trees, RULES, failed="empty").all.f1, len(gold) / seconds


def frontier(parser: LPCFG, others: dict[str, LPCFG], gold: list[Tree]) -> list[tuple[Any, ...]]:
    """(name, F1, sentences a second) of ways to prune and of other models."""
    rows = []
    kept = {name: getattr(parser, name) for _, given in PRUNING for name in given}
    for name, given in PRUNING:
        parser.set_params(**{**kept, **given})
        rows.append((name, *scored(parser, gold)))
        print("| {} | {:.2f} | {:.0f} |".format(*rows[-1]), flush=True)
    parser.set_params(**kept)
    for name, other in others.items():
        rows.append((name, *scored(other, gold)))
        print("| {} | {:.2f} | {:.0f} |".format(*rows[-1]), flush=True)
    return rows


def of_length(gold: list[Tree], n_words: int, so_many: int = 20) -> list[list[str]]:
    """Sentences of just so many words, cut out of the running text."""
    words = [word for tree in gold for word in tree.words]
    step = max(1, len(words) // (so_many + n_words))
    return [words[k * step : k * step + n_words] for k in range(so_many)]


def memory(path: Path, gold: list[Tree]) -> float:
    """MB of a process that loads the parser and parses."""
    text = "".join(" ".join(tree.words) + "\n" for tree in gold[:100])
    command = [sys.executable, "-c", _MEMORY, str(path)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return float(done.stdout)


def draw(rows: list[tuple[Any, ...]], peer: tuple[float, float] | None, target: Path) -> None:
    """F1 against sentences a second."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "eigentext"
    figure, axes = plt.subplots(figsize=(7, 4.2))
    axes.semilogx(
        [speed for _, _, speed in rows], [f1 for _, f1, _ in rows], "o", label="eigentext"
    )
    for name, f1, speed in rows:
        axes.annotate(name.replace("*", ""), (speed, f1), fontsize=7)
    if peer is not None:
        axes.semilogx([peer[1]], [peer[0]], "s", label="Berkeley")
    axes.set_xlabel("sentences a CPU second, one thread")
    axes.set_ylabel("F1")
    axes.legend()
    figure.tight_layout()
    figure.savefig(target, metadata={"Date": None})


def main() -> None:
    """Print the four tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", choices=("gum", "craft", "icepahc"), default="gum")
    parser.add_argument("--limit", type=int, default=None, help="only so many dev sentences")
    parser.add_argument("--models", type=int, default=8, help="of the product; 1: none")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--peer-speed", type=float, default=8.2)
    parser.add_argument("--svg", default=None, help="folder for the drawing")
    options = parser.parse_args()
    folder = data() / "constituency" / options.data
    train = list(read_trees(str(folder / "train.mrg")))
    gold = list(read_trees(str(folder / "dev.mrg")))[: options.limit]
    usual = grammar_of(options.data)
    start = time.process_time()
    model = LPCFG(**usual).fit(train)
    print(f"trained in {time.process_time() - start:.1f} CPU s\n")
    others = {f"{m} states": LPCFG(n_states=m, **usual).fit(train) for m in (8, 16, 32)}
    others["clustering, 16 states"] = LPCFG(estimator="clustering", n_states=16, **usual).fit(
        train
    )
    product = f"product of {options.models}, 20 states"
    if options.models > 1:
        settings = {"n_models": options.models, "n_states": 20}
        others[product] = LPCFG(**settings, **usual).fit(train)

    print("| pruning or model | F1 | sentences/s |")
    print("|---|---|---|")
    stored = peer_trees(options.data, "dev", data())
    peer = None
    if stored is not None:
        f1 = evaluate(gold, stored[: len(gold)], RULES, failed="empty").all.f1
        peer = (f1, options.peer_speed)
        print(f"| Berkeley | {f1:.2f} | {options.peer_speed} |")
    rows = frontier(model, others, gold)
    if options.svg is not None:
        draw(rows, peer, Path(options.svg) / f"speed-{options.data}.svg")

    print("\n| words | ms a sentence |")
    print("|---|---|")
    for n_words in LENGTHS:
        sentences = of_length(gold, n_words)
        start = time.process_time()
        for sentence in sentences:
            model.parse(sentence)
        print(f"| {n_words} | {(time.process_time() - start) / len(sentences) * 1e3:.1f} |")

    print("\n| model | file, MB | memory when parsing, MB |")
    print("|---|---|---|")
    for name, one in {"default": model, **others}.items():
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch) / "model.lpcfg"
            one.save(path)
            print(f"| {name} | {path.stat().st_size / 1e6:.1f} | {memory(path, gold):.0f} |")

    sentences = [list(tree.words) for tree in gold] * 4
    walls = []
    for jobs in (1, options.jobs):
        start = time.perf_counter()
        list(model.parse_many(sentences, jobs=jobs))
        walls.append(time.perf_counter() - start)
    print(
        f"\n{len(sentences):,} sentences: {walls[0]:.1f} s with one process, {walls[1]:.1f} s "
        f"with {options.jobs}, {walls[0] / walls[1]:.2f} times as fast"
    )


if __name__ == "__main__":
    with single_threaded():
        main()
