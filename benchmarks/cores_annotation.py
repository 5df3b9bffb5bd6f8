"""Training and running of taggers, parsers and pipelines on one core and on several.

    EIGENTEXT_DATA=... python benchmarks/cores_annotation.py
    python benchmarks/cores_annotation.py --jobs 1 2 4 8 16 --treebank ewt
    python benchmarks/cores_annotation.py --lock-step

Every command runs in a process of its own with each number of ``--jobs``: wall and CPU seconds
(workers too), how many times as fast as with one, and whether its file has the same bytes.

``--lock-step`` tells what it costs to hold several sentences against the same weights: LAS on the
dev sets of five treebanks (train sets cut to 3,000 sentences) by parsers that learned 1, 2, 4, 8
at a time, all else equal.
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from _data import data

TREEBANKS = ("hu-szeged", "tr-imst", "fr-sequoia", "ewt", "pt-bosque")
LINES = """
dep train {bank}/train.conllu -o {out}/gold.parser
dep train {bank}/train.conllu -o {out}/own.parser --tags own
dep apply {out}/own.parser {text} --from tokens -o {out}/trees.conllu
dep train-reranker {bank}/dev.conllu --base {out}/gold.parser -o {out}/trees.rerank
pipe train {bank}/train.conllu -o {out}/bank.pipe
pipe apply {out}/bank.pipe {text} -o {out}/parsed.conllu
tag train {ner}/train.bio -o {out}/ner.tagger
tag apply {out}/ner.tagger {text} -o {out}/tagged.bio
"""


def main() -> None:
    """Run all commands with each number of jobs, or compare sizes of the lock step."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--treebank", default="ewt")
    parser.add_argument("--sentences", type=int, default=10_000, help="of text that is parsed")
    parser.add_argument("--only", default="", help="commands that have this in them")
    parser.add_argument("--lock-step", action="store_true")
    given = parser.parse_args()
    if given.lock_step:
        compare_lock_steps()
        return
    with tempfile.TemporaryDirectory() as folder:
        compare_jobs(Path(folder), given)


def compare_jobs(folder: Path, given: argparse.Namespace) -> None:
    """Wall, CPU and bytes of each command."""
    text = folder / "text.txt"
    with lzma.open(data() / "text" / "wiki.txt.xz", "rt", encoding="utf-8") as lines:
        text.write_text("".join(islice(lines, given.sentences)), "utf-8")
    places = {
        "bank": data() / "dependency" / given.treebank,
        "ner": data() / "ner" / "wnut17",
        "text": text,
    }
    print("command\tjobs\twall s\tCPU s\ttimes as fast\tsame bytes")
    out = folder / "out"
    out.mkdir()
    for line in LINES.strip().splitlines():
        if given.only not in line:
            continue
        first: tuple[float, str] | None = None
        for jobs in given.jobs:
            words = line.format(out=out, **places).split()
            wall, cpu = run([*words, "--quiet", "--jobs", str(jobs)])
            file = Path(words[words.index("-o") + 1])
            found = hashlib.sha256(file.read_bytes()).hexdigest()
            first = first or (wall, found)
            shown = f"{wall:.1f}\t{cpu:.1f}\t{first[0] / wall:.2f}\t{found == first[1]}"
            print(f"{' '.join(line.split()[:2])} {file.name}\t{jobs}\t{shown}", flush=True)


def run(words: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds of one command and its workers."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", "eigentext.cli", *words], check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare_lock_steps(sizes: tuple[int, ...] = (1, 2, 4, 8)) -> None:
    """LAS by the number of sentences that are held against the same weights.

    One parser is trained whole; the others have its relations and its choice whether arcs may
    cross, so that nothing but the learning of arcs differs.
    """
    from eigentext.dependency import DependencyParser
    from eigentext.dependency.graph import parser as parsers
    from eigentext.dependency.graph import training
    from eigentext.evaluate.attachment import evaluate
    from eigentext.language.formats.conllu import read_sentences

    train_arcs, last = training.train_arcs, {}

    def remembered(*arguments: Any, **named: Any) -> Any:
        last["call"] = arguments, named
        return train_arcs(*arguments, **named)

    parsers.train_arcs = remembered  # type: ignore[attr-defined]
    print("treebank\t" + "\t".join(f"{size} at a time" for size in sizes))
    for name in TREEBANKS:
        bank = data() / "dependency" / name
        gold = list(read_sentences(bank / "dev.conllu"))
        training.LOCK_STEP = sizes[0]
        parser = DependencyParser().fit(islice(read_sentences(bank / "train.conllu"), 3000))
        (*given, settings), named = last["call"]
        row = []
        for size in sizes:
            training.LOCK_STEP = size
            parser.arcs_ = train_arcs(*given, replace(settings), **named)
            row.append(f"{evaluate(gold, parser.predict(gold)).las:.2f}")
        print("\t".join([name, *row]), flush=True)


if __name__ == "__main__":
    main()
