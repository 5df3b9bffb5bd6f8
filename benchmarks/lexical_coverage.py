"""How often the right label is among a word's candidates, how many there are, and how fast.

Usage: EIGENTEXT_DATA=... EIGENTEXT_ALMOR=almor-msa-r13.db python benchmarks/lexical_coverage.py

Prints Markdown: coverage of ar-padt's gold labels by the ALMOR analyzer alone and with the labels
that the other nine document folds showed (Eq. 9), by kind of what is missing; candidates a word;
words a second in CPU seconds of one core; Turkish with rules learned from tr-imst; Polish with
morfeusz2 where it is installed.  The peer (camel-tools' own analyzer) runs in the same process if
it can be imported, and is skipped with the reason otherwise.
"""

from __future__ import annotations

import os
import time
import zlib
from collections import Counter, defaultdict
from pathlib import Path

from eigentext.errors import MissingExtraError
from eigentext.language.formats.conllu import read_sentences
from eigentext.lexical import (
    LabelSource,
    load_scheme,
    open_analyzer,
    read_conllu_documents,
    read_words_jsonl,
)
from eigentext.lexical.analyzers.learned import LearnedAnalyzer

FOLDS = 10


def measure(name, documents, source):
    """Coverage and candidates over scored words; a miss is named by what the nearest lacks."""
    elements = source.scheme.elements
    names = sorted((d.id for d in documents), key=lambda n: zlib.crc32(n.encode()))
    fold_of = {name: place % FOLDS for place, name in enumerate(names)}
    folds = defaultdict(lambda: defaultdict(set))
    for document in documents:
        for word in document.words():
            if word.scored and word.label:
                folds[word.form][word.label].add(fold_of[document.id])
    total = alone = together = count = 0
    missed, still = Counter(), Counter()
    for document in documents:
        for word in document.words():
            if not (word.scored and word.label):
                continue
            labels = {candidate.label for candidate in source(word.form)}
            total += 1
            count += len(labels)
            if word.label in labels:
                alone += 1
                together += 1
                continue
            nearest = min(
                labels, key=lambda x: (sum(a != b for a, b in zip(x, word.label, strict=True)), x)
            )
            triples = zip(elements, nearest, word.label, strict=True)
            kind = " + ".join(element for element, a, b in triples if a != b)
            if any(candidate.is_guess for candidate in source(word.form)):
                kind = f"unknown word: {kind}"
            missed[kind] += 1
            if folds[word.form][word.label] - {fold_of[document.id]}:
                together += 1
            else:
                still[kind] += 1
    print(f"\n| {name} | |\n|---|---|")
    print(f"| scored words | {total:,} |")
    print(f"| coverage, analyzer alone | {100 * alone / total:.2f}% |")
    print(f"| coverage with labels of the other folds | {100 * together / total:.2f}% |")
    print(f"| candidates a word | {count / total:.2f} |")
    print("\n| missing | words, alone | words, with the other folds |\n|---|---|---|")
    for kind, number in missed.most_common(12):
        print(f"| {kind} | {number} | {still[kind]} |")


def speed(name, analyse, words, again=True):
    """Words a second, first with new types only, then over the running text."""
    types = list(dict.fromkeys(words))
    start = time.process_time()
    for word in types:
        analyse(word)
    new = len(types) / (time.process_time() - start)
    row = f"| {name} | {new:,.0f} |"
    if again:
        start = time.process_time()
        for word in words:
            analyse(word)
        row += f" {len(words) / (time.process_time() - start):,.0f} |"
    else:
        row += " - |"
    print(row)


def camel_tools():
    """The peer's analyze function over the same database, or why there is none."""
    try:
        from camel_tools.calima_star.analyzer import CalimaStarAnalyzer
        from camel_tools.calima_star.database import CalimaStarDB
    except ImportError as error:
        return None, f"camel-tools==0.4.dev5 cannot be imported: {error}"
    database = CalimaStarDB(os.environ["EIGENTEXT_ALMOR"], "a")
    return CalimaStarAnalyzer(database, "NOAN_PROP").analyze, ""


def main():
    """Print all tables."""
    data = Path(os.environ["EIGENTEXT_DATA"])
    arabic = load_scheme("arabic14")
    documents = read_words_jsonl(data / "lexical/ar-padt/words.jsonl", arabic)
    words = [word.form for document in documents for word in document.words() if word.form]
    start = time.process_time()
    analyzer = open_analyzer("almor")
    loaded = time.process_time() - start
    print(f"ALMOR database loaded in {loaded:.2f} CPU s")
    print("\n| analyzer | new words/s | running words/s |\n|---|---|---|")
    speed("almor, ours", analyzer.analyse, words)
    peer, why = camel_tools()
    if peer:
        speed("camel-tools 0.4.dev5", peer, words, again=False)
    else:
        print(f"\npeer skipped: {why}")
    for spelling in ("careful", "tolerant", "strict"):
        chosen = open_analyzer("almor", spelling=spelling)
        measure(f"ar-padt, almor, spelling {spelling}", documents, LabelSource(chosen, arabic))
    turkish, folder = load_scheme("turkish"), data / "dependency/tr-imst"
    learned = LearnedAnalyzer.fit(read_sentences(folder / "train.conllu"), language="tr")
    for part in ("dev", "test"):
        documents = read_conllu_documents(folder / f"{part}.conllu", turkish)
        measure(f"tr-imst {part}, learned from train", documents, LabelSource(learned, turkish))
    try:
        morfeusz = open_analyzer("morfeusz2")
    except MissingExtraError as error:
        print(f"\nPolish skipped: {error}")
        return
    polish = load_scheme("polish")
    documents = read_conllu_documents(data / "lexical/pl-pdb/a.conllu", polish)
    measure("pl-pdb, morfeusz2", documents, LabelSource(morfeusz, polish))


if __name__ == "__main__":
    main()
