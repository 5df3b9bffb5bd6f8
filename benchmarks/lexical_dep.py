"""Does ranking help a parser?  UAS and LAS on UD PADT by where the words' labels come from.

    EIGENTEXT_DATA=... EIGENTEXT_ALMOR=... python benchmarks/lexical_dep.py --keep FOLDER --fold 0

Rows: labels by most frequent analysis, by the ranker, and gold.  The words that the parser sees
are those of the treebank (clitics apart), without vowels; a host word carries its typed word's
label as tags, a clitic itself.  With "lemmas", the host word is the label's lemma.
Labels of training documents come from models of the other training documents (--parts), so that
the parser learns from labels as good as those it will meet.  Labels are kept in --keep, so that a
run can be taken up again.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import unicodedata
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _data import kept
from lexical import Setting, languages

from eigentext.datasets.arabic_lexicon import ELEMENTS
from eigentext.dependency import DependencyParser
from eigentext.evaluate.attachment import evaluate
from eigentext.language.formats.conllu import ConlluBlock, make_sentence, read_sentences
from eigentext.lexical.crossval import MostFrequent
from eigentext.lexical.ranker.second_pass import best_rows
from eigentext.linalg.ties import single_threaded

if TYPE_CHECKING:
    from eigentext.lexical.documents import LexDocument
    from eigentext.lexical.ranker.model import LexicalRanker
    from eigentext.lexical.schemes.labels import Label

SOURCES = ("most frequent analysis", "ranker", "gold")
SHOWN = ("asp", "mood", "vox", "per", "gen", "num", "cas", "stt", "det")


def unvocalised(text: str) -> str:
    """Without vowel marks, as people write; alif wasla is an alif."""
    kept = "".join(c for c in text if unicodedata.category(c) != "Mn")
    return kept.replace("\u0671", "\u0627") or text


def labelled(
    setting: Setting,
    source: str,
    training: list[LexDocument],
    other: list[LexDocument],
    **options: Any,
) -> dict[str, list[list[Label]]]:
    """The best label of every word of the other documents, by document and sentence."""
    if source == "ranker":
        model: LexicalRanker | MostFrequent = setting.ranker(**options)
    else:
        model = MostFrequent()
    encoded, found = model.fit(training, candidates=setting.candidates).score_documents(other)
    best = (best_rows(encoded.first, found) - encoded.first[:-1]).tolist()
    labels = iter([c[row].label for c, row in zip(encoded.candidates, best, strict=True)])
    return {d.id: [[next(labels) for _ in line] for line in d.sentences] for d in other}


def all_labels(
    setting: Setting, source: str, fold: int, parts: int, keep: Path, **options: Any
) -> dict[str, list[list[Label]]]:
    """Labels of all documents, none of them from a model that saw the document."""
    how = "-".join(map(str, options.values())) if source == "ranker" else "counts"
    file = keep / f"labels--{source.replace(' ', '_')}--{how}--{fold}--{parts}.json"
    if file.exists():
        read: dict[str, list[list[Label]]] = json.loads(file.read_text())
        return read
    training, test = setting.fold(fold)
    found = labelled(setting, source, training, test, **options)
    for part in range(parts):
        own = training[part::parts]
        rest = [d for place, d in enumerate(training) if place % parts != part]
        found |= labelled(setting, source, rest, own, **options)
    file.write_text(json.dumps(found, ensure_ascii=False))
    return found


def tagged(
    tree: ConlluBlock, words: list[dict[str, Any]], labels: list[Label], *, lemmas: bool
) -> ConlluBlock:
    """The tree's words as typed, or by the label's lemma, with tags made of labels."""
    rows = tree.rows
    forms = [unvocalised(row[1]) for row in rows]
    upos, xpos, feats = list(forms), list(forms), ["_"] * len(forms)  # a clitic is its own tag
    place = 0
    for word, label in zip(words, labels, strict=True):
        pieces = 1 if word["vocalised"] == "+" else len(word["vocalised"].split("+"))
        gold = [row[2] for row in rows[place : place + pieces]]
        host = place + (gold.index(word["lemma"]) if word["lemma"] in gold else pieces - 1)
        of = dict(zip(ELEMENTS, label, strict=True))
        if lemmas and of["lemma"] not in ("", "-"):
            forms[host] = of["lemma"]
        upos[host] = of["pos"]
        xpos[host] = "".join(of[name] for name in ("pos", "asp", "cas", "stt", "det"))
        values = sorted(f"{name.title()}={of[name]}" for name in SHOWN if of[name] != "-")
        feats[host] = "|".join(values) or "_"
        place += pieces
    if place != len(rows):
        raise ValueError(f"{len(rows)} words in the tree, {place} in the labels")
    return make_sentence(
        forms,
        upos=upos,
        xpos=xpos,
        feats=feats,
        head=[int(row[6]) for row in rows],
        deprel=[row[7] for row in rows],
    )


def main() -> None:
    """Label, train, parse, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, default=kept(__file__))
    parser.add_argument("--fold", type=int, default=0)
    parser.add_argument("--parts", type=int, default=2)
    parser.add_argument("--passes", type=int, default=3, help="of the ranker")
    parser.add_argument("--bits", type=int, default=22, help="of the ranker")
    parser.add_argument("--epochs", type=int, default=5, help="of the parser")
    parser.add_argument("--rows", default="|".join(SOURCES))
    parser.add_argument("--almor", default="")
    chosen = parser.parse_args()
    chosen.keep.mkdir(parents=True, exist_ok=True)
    folder = Path(os.environ["EIGENTEXT_DATA"]) / "lexical/ar-padt"
    trees = [s for name in "ab" for s in read_sentences(folder / f"{name}.conllu")]
    lines = (folder / "words.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    setting = languages(chosen.almor)["ar"]()
    test_ids = {document.id for document in setting.fold(chosen.fold)[1]}
    print(
        "| labels | words | UAS | LAS | CPU s of the parser |\n|---|---|---|---|---|", flush=True
    )
    for source, lemmas in product(chosen.rows.split("|"), (False, True)):
        with single_threaded():
            by: dict[str, list[list[Label]]]
            if source == "gold":
                by = {
                    d.id: [[w.label or () for w in s] for s in d.sentences]
                    for d in setting.documents
                }
                other = all_labels(setting, SOURCES[0], chosen.fold, chosen.parts, chosen.keep)
                by = {  # words without gold have what the analyzer says
                    name: [
                        [own or tuple(more) for own, more in zip(s, t, strict=True)]
                        for s, t in zip(by[name], other[name], strict=True)
                    ]
                    for name in by
                }
            else:
                options = (
                    {"passes": chosen.passes, "bits": chosen.bits} if source == "ranker" else {}
                )
                by = all_labels(setting, source, chosen.fold, chosen.parts, chosen.keep, **options)
            left = {name: iter(sentences) for name, sentences in by.items()}
            made = [
                (
                    record["doc"],
                    tagged(tree, record["words"], next(left[record["doc"]]), lemmas=lemmas),
                )
                for tree, record in zip(trees, records, strict=True)
            ]
            began = time.process_time()
            model = DependencyParser(order=1, epochs=chosen.epochs, bits=22)
            model.fit([s for name, s in made if name not in test_ids])
            spent = time.process_time() - began
            gold = [s for name, s in made if name in test_ids]
            result = evaluate(gold, model.predict(gold))
        words = "lemmas" if lemmas else "forms"
        print(
            f"| {source} | {words} | {result.uas:.2f} | {result.las:.2f} | {spent:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
