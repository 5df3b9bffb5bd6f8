"""The tagger's defaults: beam and entity margin on entities, names, noun chunks, parts of speech.

    python benchmarks/tagger_defaults.py --seeds 3
    python benchmarks/tagger_defaults.py --tasks wnut17 litbank --clusters clusters.paths

``$EIGENTEXT_DATA`` names the folder with ner/ and dependency/.  Tasks:

- ``wnut17``, ``litbank``: named entities
- ``chunks:fr-sequoia``, ...: noun phrases without what is nested in them, from UD trees: a noun
  with the determiners, adjectives, numerals and parts of names beside it; their type is the
  relation of the noun (subject, object, oblique, other)
- ``names:pt-bosque``, ...: runs of proper nouns that belong together (``flat``, ``compound``)
- ``upos:hu-szeged``, ...: parts of speech, which have no entity margin

F1 by the CoNLL rules, or accuracy for upos, mean over the seeds, for every margin and beam.  The
last row is what ``fit`` chooses on the training data alone; its seconds include the choice.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eigentext.language.formats.columns import read_columns
from eigentext.language.formats.conllu import ConlluBlock, read_sentences
from eigentext.linalg.ties import single_threaded
from eigentext.tagging.sequence import SequenceTagger

Split = tuple[list[Sequence[str]], list[Sequence[str]]]
_PARTS = {"det", "amod", "nummod", "compound", "flat"}
_ROLES = {"nsubj": "SUBJ", "obj": "OBJ", "obl": "OBL"}
TASKS = (
    "wnut17",
    "litbank",
    "chunks:fr-sequoia",
    "chunks:hu-szeged",
    "chunks:tr-imst",
    "names:pt-bosque",
    "names:hu-szeged",
    "upos:fr-sequoia",
    "upos:tr-imst",
)


def chunk_tags(sentence: ConlluBlock) -> list[str]:
    """Noun chunks in BIO2: a noun and its small dependents, as far as they are beside it."""
    heads = sentence.heads or ()
    relations = [one.partition(":")[0] for one in sentence.column("deprel")]
    tags = ["O"] * len(heads)
    for place, upos in enumerate(sentence.column("upos")):
        if upos not in ("NOUN", "PROPN") or relations[place] in _PARTS:
            continue
        near = {
            at for at, head in enumerate(heads) if head == place + 1 and relations[at] in _PARTS
        }
        begin, end = place, place + 1
        while begin - 1 in near:
            begin -= 1
        while end in near:
            end += 1
        kind = _ROLES.get(relations[place], "NP")
        tags[begin:end] = [f"B-{kind}", *[f"I-{kind}"] * (end - begin - 1)]
    return tags


def name_tags(sentence: ConlluBlock) -> list[str]:
    """Names in BIO2: proper nouns side by side of which each hangs from another of them."""
    heads, upos = sentence.heads or (), sentence.column("upos")
    relations = [one.partition(":")[0] for one in sentence.column("deprel")]
    tags = ["O"] * len(heads)
    begin = 0
    for place, tag in enumerate(upos):
        if tag != "PROPN":
            continue
        joined = False
        if place and upos[place - 1] == "PROPN":
            inside = range(begin + 1, place + 2)
            joined = any(
                heads[a - 1] == b and relations[a - 1] in ("flat", "compound")
                for a, b in [(place + 1, one) for one in inside]
                + [(one, place + 1) for one in inside]
            )
        if not joined:
            begin = place
        tags[place] = "I-NAME" if joined else "B-NAME"
    return tags


def read_task(home: Path, task: str, split: str) -> Split:
    """Tokens and tags."""
    kind, _, data = task.rpartition(":")
    if not kind:
        read = list(read_columns(home / "ner" / data / f"{split}.bio", scheme="bio2"))
        return [one.tokens for one in read], [one.tags for one in read]
    trees = list(read_sentences(home / "dependency" / data / f"{split}.conllu"))
    make = {"chunks": chunk_tags, "names": name_tags, "upos": lambda one: one.column("upos")}
    return [one.forms for one in trees], [make[kind](one) for one in trees]


def measured(
    splits: dict[str, Split],
    beams: Sequence[int | None],
    *,
    chosen: list[tuple[float, int]] | None = None,
    **settings: Any,
) -> list[tuple[float, float, float]]:
    """Scores on dev and test with each beam, and the CPU seconds of training, as often."""
    began = time.process_time()
    tagger = SequenceTagger(**settings).fit(*splits["train"])
    seconds = time.process_time() - began
    if chosen is not None:
        chosen.append((tagger.entity_margin_, tagger.beam_))
    found = []
    for beam in beams:
        tagger.beam = "auto" if beam is None else beam
        dev, test = (100 * tagger.score(*splits[part]) for part in ("dev", "test"))
        found.append((dev, test, seconds))
    return found


def shown(margin: object, beam: object, dev: float, test: float, seconds: float) -> None:
    """One row of a table."""
    print(f"| {margin} | {beam} | {dev:.2f} | {test:.2f} | {seconds:.1f} |", flush=True)


def main() -> None:
    """Read the arguments, train, and print one table per task."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", nargs="+", default=TASKS, metavar="TASK")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--beams", type=int, nargs="*", default=[1, 4])
    parser.add_argument("--margins", type=float, nargs="*", default=[0.5, 1.0, 2.0])
    parser.add_argument("--clusters", help="a paths file, for wnut17 and litbank")
    arguments = parser.parse_args()
    home = Path(os.environ["EIGENTEXT_DATA"])
    with single_threaded():
        for task in arguments.tasks:
            splits = {one: read_task(home, task, one) for one in ("train", "dev", "test")}
            is_plain = task.startswith("upos:")
            clusters = None if ":" in task else arguments.clusters
            print(f"\n{task}, {len(splits['train'][0])} sentences for training\n")
            print("| entity margin | beam | dev | test | training CPU s |\n|---|---|---|---|---|")
            for margin in arguments.margins[:1] if is_plain else arguments.margins:
                rows = [
                    measured(
                        splits, arguments.beams, clusters=clusters, entity_margin=margin, seed=seed
                    )
                    for seed in range(arguments.seeds)
                ]
                for beam, *means in zip(arguments.beams, *np.mean(rows, axis=0).T, strict=True):
                    shown(margin, beam, *means)
            rows, chosen = [], []
            for seed in range(arguments.seeds):
                rows += measured(splits, [None], clusters=clusters, seed=seed, chosen=chosen)
            pairs = "; ".join(f"{margin} and {beam}" for margin, beam in dict.fromkeys(chosen))
            shown("chosen by the tagger", pairs, *np.mean(rows, axis=0))
    print(f"\n{time.process_time():.0f} CPU s", file=sys.stderr)


if __name__ == "__main__":
    main()
