"""Table 1 of Dhillon et al. 2012: k-best lists of our base parser, reranked.

    python benchmarks/rerank.py lists --data ewt --order 1 --work DIR    # 3-fold lists, resumable
    python benchmarks/rerank.py table --data ewt --order 1 --work DIR    # the rows, dev and test
    python benchmarks/rerank.py sizes --data ewt --order 1 --work DIR    # k = 5 ... 50 on dev

``$EIGENTEXT_DATA`` names the folder with dependency/ewt/{train,dev,test}.conllu and
constituency/gum/{train,dev,test}.mrg; the trees of ``gum`` are those constituents, converted by
our head rules.  Punctuation is taken out of the sentences first, all lengths are kept, tags are
gold.  Lists of the training sentences come from 3-fold cross-validation, n = 50; so do the scores
of the latent models on them.  A hidden Markov model of the surface has no row: it gives all trees
of a list the same score.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from _data import kept
from protocols.punctuation import without_punctuation

from eigentext.dependency.graph.parser import DependencyParser
from eigentext.dependency.rerank.experts import fit_expert, jackknifed
from eigentext.dependency.rerank.features import TagCodes, TagTable, expert_column
from eigentext.dependency.rerank.learners import TagWeights, choose, log_linear, perceptron
from eigentext.dependency.rerank.lists import KBestLists, cross_validated, lists_of
from eigentext.dependency.sentence import TaggedSentence
from eigentext.errors import RankError
from eigentext.evaluate.bootstrap import compare
from eigentext.language.formats import conllu
from eigentext.language.formats.ptb import read_trees
from eigentext.language.trees.heads import to_dependencies
from eigentext.linalg.ties import single_threaded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.dependency.rerank.features import Expert
    from eigentext.language.formats.conllu import ConlluBlock

_COARSE = (
    ("NNP", "PROPN"),
    ("NN", "NOUN"),
    ("VB", "VERB"),
    ("MD", "AUX"),
    ("JJ", "ADJ"),
    ("RB", "ADV"),
    ("WRB", "ADV"),
    ("PRP", "PRON"),
    ("WP", "PRON"),
    ("EX", "PRON"),
    ("IN", "ADP"),
    ("RP", "ADP"),
    ("TO", "PART"),
    ("POS", "PART"),
    ("DT", "DET"),
    ("PDT", "DET"),
    ("WDT", "DET"),
    ("CC", "CCONJ"),
    ("CD", "NUM"),
    ("UH", "INTJ"),
)


def with_columns(table: TagTable, names: list[str]) -> TagTable:
    """The same with only these dense columns."""
    columns = [table.names.index(name) for name in names]
    return replace(table, dense=table.dense[:, columns], names=tuple(names))


def universal(tag: str) -> str:
    """A coarse tag for a Penn tag."""
    return next(
        (coarse for start, coarse in _COARSE if tag.startswith(start)),
        "PUNCT" if not tag[:1].isalpha() or tag in ("HYPH", "NFP") else "X",
    )


def read_bank(data: str, split: str) -> list[ConlluBlock]:
    """The trees of one split, punctuation taken out."""
    folder = Path(os.environ["EIGENTEXT_DATA"])
    if data == "ewt":
        read = conllu.read_sentences(str(folder / "dependency" / "ewt" / f"{split}.conllu"))
        found = [without_punctuation(sentence) for sentence in read]
    else:
        trees = map(
            to_dependencies, read_trees(str(folder / "constituency" / "gum" / f"{split}.mrg"))
        )
        found = []
        for tree in trees:
            coarse = [universal(tag) for tag in tree.tags or ()]
            columns = {"deprel": tree.relations, "xpos": tree.tags, "upos": coarse}
            whole = conllu.make_sentence(tree.forms, head=tree.heads.tolist(), **columns)
            found.append(without_punctuation(whole))
    return [sentence for sentence in found if sentence is not None]


def all_lists(
    data: str, order: int, epochs: int, work: Path, k: int = 50
) -> dict[str, tuple[list[ConlluBlock], KBestLists]]:
    """Sentences and lists of train (cross-validated), dev and test; what exists is read."""

    def new_parser() -> DependencyParser:
        return DependencyParser(
            order=order, grandparents=False, projective=True, epochs=epochs, labels=False
        )

    folder = work / f"{data}-{order}"
    banks = {split: read_bank(data, split) for split in ("train", "dev", "test")}
    found = {}
    parser = None
    for split in ("dev", "test"):
        path = folder / f"{split}.kbest"
        if not path.exists():
            if parser is None:
                parser = trained(new_parser(), banks["train"], folder / "all.parser")
            began = time.process_time()
            made = lists_of(parser, banks[split], k=k)
            print(f"{split}: {time.process_time() - began:.0f} CPU s for the lists", flush=True)
            made.made_with = {"k": k, "order": order, "epochs": epochs}
            made.save(path)
        found[split] = (banks[split], KBestLists.load(path))
    began = time.process_time()
    lists = cross_validated(new_parser(), banks["train"], k=k, folder=folder / "folds")
    print(f"train: {time.process_time() - began:.0f} CPU s for fold parsers, lists", flush=True)
    return {"train": (banks["train"], lists), **found}


def trained(
    parser: DependencyParser, sentences: list[ConlluBlock], path: Path
) -> DependencyParser:
    """The parser of all training sentences, read or made."""
    if path.exists():
        return DependencyParser.load(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    began = time.process_time()
    parser.fit(sentences)
    print(f"base parser: {time.process_time() - began:.0f} CPU s", flush=True)
    parser.save(path)
    return parser


SETTINGS: dict[str, dict[str, Any]] = {
    "latent": {"n_states": 200, "structure": "valence"},
    "latent@2": {"n_states": 200, "structure": "valence+distance+size", "seed": 1},
    "latent@3": {"n_states": 100, "structure": "valence", "edges": "adjacent", "seed": 2},
    "operators": {"n_states": 10, "on_rank": "ignore"},
    "generative": {},
}
LATENT = ("latent", "latent@2", "latent@3")
ROWS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("base score + templates", ()),
    ("+ log p, raw operators", ("operators",)),
    ("+ log p, valid form", ("latent",)),
    ("+ log p, valid form, three models", LATENT),
    ("+ log p, valid form, valence and distance", ("latent", "valence", "distance")),
    ("+ generative parser", ("generative",)),
    ("+ all of the valid ones", (*LATENT, "valence", "distance", "generative")),
    ("baseline: + HMM of root-to-leaf paths", ("paths",)),
)
Lists = dict[str, tuple[list["ConlluBlock"], KBestLists]]


def column(name: str, lists: Lists, folder: Path, **settings: Any) -> dict[str, np.ndarray]:
    """log p of all trees under one expert, jackknifed on train; kept in the folder."""
    kind = name.partition("@")[0]
    tag = "-".join([kind, *(f"{key}={value}" for key, value in sorted(settings.items()))])
    path = folder / f"column-{tag}.npz"
    if not path.exists():
        began = time.process_time()

        def fit(those: Sequence[ConlluBlock]) -> Expert:
            return fit_expert(kind, those, **settings)

        found = {"train": jackknifed(fit, *lists["train"])}
        expert = fit(lists["train"][0])
        for split in ("dev", "test"):
            sentences, those = lists[split]
            found[split] = expert_column(
                expert, [TaggedSentence.from_conllu(one) for one in sentences], those
            )
        np.savez(path, **found)
        print(f"{tag}: {time.process_time() - began:.0f} CPU s", flush=True)
    with np.load(path) as file:
        return {split: file[split] for split in file}


def counts_of(lists: Lists, split: str, places: np.ndarray) -> np.ndarray:
    """(sentences, 3): right heads of the chosen trees, words, words."""
    sentences, those = lists[split]
    right = those.right([one.heads or () for one in sentences])[those.tree_at[:-1] + places]
    return np.column_stack([right, those.lengths, those.lengths]).astype(float)


def say(name: str, counts: np.ndarray, rival: np.ndarray | None) -> None:
    """One row of the table."""
    uas = 100 * counts[:, 0].sum() / counts[:, 1].sum()
    complete = 100 * (counts[:, 0] == counts[:, 1]).mean()
    more = "| | |"
    if rival is not None:
        test = compare(counts, rival)
        cut = 100 * test.difference / (100 - test.second)
        more = f"| {cut:+.1f}% [{test.low:+.2f}, {test.high:+.2f}] | {test.p_value:.3f} |"
    print(f"| {name} | {uas:.2f} | {complete:.1f} {more}", flush=True)


def table(lists: Lists, folder: Path, learner: str, l2: float, splits: Sequence[str]) -> None:
    """The rows of table 1."""
    names = sorted({name for _, those in ROWS for name in those})
    columns = {name: column(name, lists, folder, **SETTINGS.get(name, {})) for name in names}
    known = {
        split: [TaggedSentence.from_conllu(one) for one in lists[split][0]] for split in lists
    }
    templates = TagCodes.of(known["train"])
    tables = {}
    for split, (sentences, those) in lists.items():
        mine = {name: found[split] for name, found in columns.items()}
        gold = [one.heads or () for one in sentences]
        tables[split] = TagTable.of(known[split], those, templates, mine, gold)
    weights: list[TagWeights] = []
    for _, those in ROWS:
        train = with_columns(tables["train"], ["base", *those])
        if learner == "perceptron":
            weights.append(perceptron(train, templates.size))
        else:
            start = weights[0] if weights else None
            turns = 30 if weights else 60
            weights.append(log_linear(train, templates.size, l2=l2, iterations=turns, start=start))
    for split in splits:
        print(f"\n{split}, {learner}\n")
        print("| | UAS | complete | cut of the error, UAS interval | p |\n|---|---|---|---|---|")
        sentences, those = lists[split]
        first = counts_of(lists, split, np.zeros(len(those), int))
        say("no reranking", first, None)
        rival = None
        for (name, used), found in zip(ROWS, weights, strict=True):
            mine = with_columns(tables[split], ["base", *used])
            counts = counts_of(lists, split, choose(mine, mine.scores(found)))
            say(name, counts, rival)
            rival = counts if rival is None else rival
        best = those.best_indices([one.heads or () for one in sentences])
        say("oracle of the lists", counts_of(lists, split, best), None)


def sizes(lists: Lists, states: Sequence[int], n: int) -> None:
    """Dev UAS of base score + log p for several k; weights from one held-out fold.

    ``n``: so many sentences of the fold and of dev; raw operators with many states are slow.
    """
    sentences, those = lists["train"]
    third = -(-len(sentences) // 3)
    held_out = (sentences[: min(n, third)], those.part(0, min(n, third)))
    some = min(n, len(lists["dev"][0]))
    lists = {"dev": (lists["dev"][0][:some], lists["dev"][1].part(0, some))}
    first = counts_of(lists, "dev", np.zeros(some, int))
    print(f"{some} sentences, base parser {100 * first[:, 0].sum() / first[:, 1].sum():.2f}\n")
    print("| | k | UAS, dev | learning | scoring 1,000 trees |\n|---|---|---|---|---|")
    for name in ("latent", "operators"):
        for k in states:
            settings: dict[str, Any] = {"n_states": k}
            if name == "operators":
                settings["on_rank"] = "ignore"
            if name == "latent":
                settings |= {"split": k >= 20, "structure": ""}
            try:
                one = fit_expert(name, sentences[third:], **settings)
                began = time.process_time()
                full = fit_expert(name, sentences, **settings)
                learned = time.process_time() - began
            except RankError as error:
                print(f"| {name} | {k} | {error} | | |", flush=True)
                continue
            made = {}
            for split, expert, (bank, lists_) in (
                ("train", one, held_out),
                ("dev", full, lists["dev"]),
            ):
                known = [TaggedSentence.from_conllu(sentence) for sentence in bank]
                began = time.process_time()
                found = expert_column(expert, known, lists_)
                scored = time.process_time() - began
                gold = [sentence.heads or () for sentence in bank]
                made[split] = TagTable.of(known, lists_, TagCodes(()), {name: found}, gold)
            weights = log_linear(made["train"], 24, l2=1.0, templates=False)
            counts = counts_of(lists, "dev", choose(made["dev"], made["dev"].scores(weights)))
            uas = 100 * counts[:, 0].sum() / counts[:, 1].sum()
            each = 1e6 * scored / len(lists["dev"][1].scores)
            print(f"| {name} | {k} | {uas:.2f} | {learned:.1f} s | {each:.0f} ms |", flush=True)


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", default="table", choices=("lists", "table", "sizes"))
    parser.add_argument("--data", choices=("ewt", "gum"), default="ewt")
    parser.add_argument("--order", type=int, choices=(1, 2), default=1)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--work", type=Path, help="A folder for lists and columns.")
    parser.add_argument("--learner", choices=("log-linear", "perceptron"), default="log-linear")
    parser.add_argument("--l2", type=float, default=20.0)
    parser.add_argument("--splits", nargs="+", default=["dev", "test"])
    parser.add_argument("--states", type=int, nargs="+", default=[5, 10, 20, 30, 40, 50])
    parser.add_argument("--sentences", type=int, default=600, help="For the part sizes.")
    given = parser.parse_args()
    given.work = given.work or kept(__file__)
    with single_threaded():
        lists = all_lists(given.data, given.order, given.epochs, given.work)
        if given.part == "table":
            folder = given.work / f"{given.data}-{given.order}"
            table(lists, folder, given.learner, given.l2, given.splits)
        elif given.part == "sizes":
            sizes(lists, given.states, given.sentences)


if __name__ == "__main__":
    main()
