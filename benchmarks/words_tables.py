"""The tables and figure 6 of Stratos et al. 2014 on other text: clusters, information, NER.

    python benchmarks/words_tables.py --text wiki.txt --keep FOLDER               # tables 1 to 3
    python benchmarks/words_tables.py --text wiki.txt --keep FOLDER --kappas      # figure 6
    python benchmarks/words_tables.py --keep FOLDER --show                        # what is there

``--text`` is a tokenised file, uncompressed ($EIGENTEXT_DATA/text/wiki.txt.xz for the figures in
docs/guide/words.md).  Every row is kept in FOLDER (rows.jsonl, and the paths of its clusters) as
soon as it is known, and is not made again: the work can be stopped and taken up at any time.

Seconds are CPU seconds of one thread with compiled code warm, without reading and writing, as in
the paper.  The mutual information is in nats, by one evaluator for all.  F1 of whole entities on
WNUT-17 and LitBank is that of the tagger greedy, with an entity margin of 2.  wcluster's stored
paths in $EIGENTEXT_DATA/peers stand beside ours where they exist.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from _data import kept as kept_folder
from _data import plain_text
from ner import entities_of, run

from eigentext.counting.counting import count
from eigentext.evaluate.clustering import paths_information
from eigentext.language.formats.brown_paths import read_paths
from eigentext.linalg.ties import single_threaded
from eigentext.tagging.sequence import SequenceTagger
from eigentext.words.clusters.model import SpectralClusters

if TYPE_CHECKING:
    from collections.abc import Sequence

SETS = ("wnut17", "litbank")
WCLUSTER_SECONDS = {200: 167.0, 500: 1197.0}  # measured on wiki with 50k words

Row = dict[str, Any]


class Kept:
    """Rows by name, in a file of JSON lines."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.file = folder / "rows.jsonl"
        self.rows: dict[str, Row] = {}
        if self.file.exists():
            for line in self.file.read_text().splitlines():
                row = json.loads(line)
                self.rows[row["name"]] = row

    def add(self, name: str, **row: Any) -> Row:
        """Keep a row at once."""
        self.rows[name] = {"name": name, **row}
        with self.file.open("a") as out:
            out.write(json.dumps(self.rows[name]) + "\n")
        return self.rows[name]

    def paths(self, name: str) -> Path:
        """Where the clusters of a row lie."""
        return self.folder / f"{name}.paths"


class Text:
    """The counts of a text, made when they are first needed."""

    def __init__(self, file: str | None, vocab: int) -> None:
        self.file, self.vocab = file, vocab
        self._counts: Any = None

    @property
    def path(self) -> str:
        """Where the text lies."""
        if self.file is None:
            raise SystemExit("--text is needed for rows that are not there yet")
        return self.file

    @property
    def counts(self) -> Any:
        """Of two words on either side, which hold R1, LR1 and LR2."""
        if self._counts is None:
            warm_up(self.path)
            self._counts = count([self.path], contexts="lr2", vocab_size=self.vocab)
        return self._counts


def warm_up(file: str) -> None:
    """Compile: the first lines of the text through every method."""
    with tempfile.TemporaryDirectory() as folder, open(file, encoding="utf8") as lines:
        head = Path(folder, "head")
        head.write_text("".join(line for line, _ in zip(lines, range(300), strict=False)))
        counts = count([str(head)], contexts="lr2", vocab_size=200)
        for method in ("spectral", "paper", "exchange"):
            SpectralClusters(20, method=method).fit(counts)


def cluster(kept: Kept, text: Text, method: str, m: int, contexts: str, kappa: float) -> str:
    """The name of a row of clusters, made if it is not there."""
    name = f"{method}-{m}-{contexts}-{kappa:g}"
    if f"clusters {name}" not in kept.rows:
        counts = text.counts
        model = SpectralClusters(m, method=method, contexts=contexts, kappa=kappa).fit(counts)
        model.write_paths(str(kept.paths(name)))
        kept.add(
            f"clusters {name}",
            gamma=model.gamma_,
            seconds=model.clustering_.seconds,
            information=model.mutual_information_,
            longest=max(map(len, model.cluster_paths_)),
        )
    return name


def wcluster(kept: Kept, text: Text, m: int) -> str | None:
    """The peer's stored clusters as a row, if there are any for m."""
    name = f"wcluster-{m}"
    stored = Path(os.environ["EIGENTEXT_DATA"], "peers", f"wcluster-wiki50k-{m}.paths.xz")
    if not stored.exists():
        return None
    if f"clusters {name}" not in kept.rows:
        clusters = {entry.word: entry.bits for entry in read_paths(str(stored))}
        kept.paths(name).write_text("".join(f"{b}\t{w}\t1\n" for w, b in clusters.items()))
        # by the text: among words of equal count its vocabulary may have taken others than ours
        told = paths_information(clusters, [text.path])[None]
        kept.add(
            f"clusters {name}",
            gamma=None,
            seconds={"merge": WCLUSTER_SECONDS[m]},
            information=told,
        )
    return name


def entities(kept: Kept, name: str | None, seeds: int) -> dict[str, Row]:
    """Scores of the tagger with these clusters (None: without), by data set."""
    home = Path(os.environ["EIGENTEXT_DATA"], "ner")
    found = {}
    for data in SETS:
        key = f"{data} {name or 'none'} seeds {seeds}"
        if key not in kept.rows:
            splits = {split: entities_of(home / data, split) for split in ("train", "dev", "test")}
            options = {} if name is None else {"clusters": str(kept.paths(name))}
            (one,) = run(
                name or "none", splits, seeds, [1], {**options, "entity_margin": 2.0, "beam": 1}
            )
            kept.add(key, dev=one.dev, test=one.test)
        found[data] = kept.rows[key]
    return found


def scores(found: dict[str, Row], splits: Sequence[str] = ("dev", "test")) -> str:
    """Cells with the mean F1 of each data set and split."""
    return " | ".join(f"{np.mean(found[data][split]):.2f}" for data in SETS for split in splits)


def tables(kept: Kept, text: Text, asked: argparse.Namespace) -> None:
    """Tables 1 to 3 in one: seconds, mutual information, entities."""
    cells = "method | m | gamma | SVD s | cluster s | exchange s | all s | MI"
    cells += " | WNUT dev | WNUT test | LitBank dev | LitBank test"
    print(f"\n| {cells} |\n|" + "---|" * 12)
    print(f"| no clusters |{' |' * 7} {scores(entities(kept, None, asked.seeds))} |")
    for m in asked.clusters:
        names = [wcluster(kept, text, m)]
        names += [cluster(kept, text, method, m, "lr1", 100.0) for method in asked.methods]
        for name in filter(None, names):
            row = kept.rows[f"clusters {name}"]
            spent = row["seconds"]
            grouped = [spent.get("svd", 0.0) + spent.get("omega", 0.0)]
            grouped += [spent.get("ward", 0.0) + spent.get("hierarchy", 0.0)]
            grouped += [spent.get("exchange", 0.0), sum(spent.values())]
            shown = " | ".join(f"{value:.1f}" if value else "" for value in grouped)
            gamma = f"{row['gamma']:.2f}" if row["gamma"] else ""
            f1 = scores(entities(kept, name, asked.seeds))
            method = name.split("-")[0]
            print(
                f"| {method} | {m} | {gamma} | {shown} | {row['information']:.4f} | {f1} |",
                flush=True,
            )


def kappas(kept: Kept, text: Text, asked: argparse.Namespace) -> None:
    """Figure 6: kappa and contexts, for the paper's own method."""
    m = asked.clusters[0]
    print(f"\nmethod paper, {m} clusters\n")
    print("| contexts | kappa | MI | gamma | WNUT dev | LitBank dev |\n|---|---|---|---|---|---|")
    for contexts in ("r1", "lr1", "lr2"):
        for kappa in (10.0, 100.0, 1000.0, 10000.0):
            name = cluster(kept, text, "paper", m, contexts, kappa)
            row = kept.rows[f"clusters {name}"]
            f1 = scores(entities(kept, name, asked.seeds), ["dev"])
            figures = f"{row['information']:.4f} | {row['gamma']:.2f} | {f1}"
            print(f"| {contexts} | {kappa:g} | {figures} |", flush=True)


def main() -> None:
    """Make what is missing, and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--text", help="uncompressed; wiki of the data otherwise")
    parser.add_argument("--keep", help="folder of rows and clusters")
    parser.add_argument("--vocab", type=int, default=50_000)
    parser.add_argument("--clusters", type=int, nargs="+", default=[200, 400, 500, 600, 800, 1000])
    parser.add_argument("--methods", nargs="+", default=["spectral", "exchange", "paper"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--kappas", action="store_true", help="figure 6, with the first of m")
    parser.add_argument("--show", action="store_true", help="list the rows that are there")
    asked = parser.parse_args()
    folder = Path(asked.keep or kept_folder(__file__))
    kept, text = Kept(folder), Text(asked.text or plain_text(), asked.vocab)
    if asked.show:
        for row in kept.rows.values():
            print(json.dumps(row))
        return
    SequenceTagger(epochs=1).fit([["warm"]], [["up"]]).tag(["now"])  # compiles
    with single_threaded():
        (kappas if asked.kappas else tables)(kept, text, asked)


if __name__ == "__main__":
    main()
