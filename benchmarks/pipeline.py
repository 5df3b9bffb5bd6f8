"""The whole pipeline beside UDPipe 1.2: trained on the same files, scored by the official scorer.

    EIGENTEXT_DATA=... python benchmarks/pipeline.py
    python benchmarks/pipeline.py --treebanks hu-szeged ewt --systems ours
    python benchmarks/pipeline.py --show

For each treebank and system: train in a process of its own (CPU seconds, memory), parse the raw
text of the test set, and its words as they are given, score both with ``udtools``, and count words
a CPU second on one core.  Rows are kept in .bench/pipeline; ``published`` are UDPipe's rows for UD
2.5 in ``$EIGENTEXT_DATA/peers``, of older releases of the treebanks.

PADT is trained on its part a (the last tenth of its sentences are the dev set) and tested on part
b, both without vowel signs and with clitics joined to words, as people type.  ``ours+text`` is
ours with English raw text, whose clusters become features.

A treebank that nothing was chosen on is named by its folder, which has train, dev and
test.conllu; ``--published`` is then a table like that in ``$EIGENTEXT_DATA/peers`` with its rows.

    python benchmarks/pipeline.py --treebanks ud/Greek-GDT ud/Tamil-TTB --published udpipe.tsv

UDPipe takes half an hour to train a small treebank.  ``--udpipe-models`` is a folder of its
published models, ``tamil-ttb-ud-2.5-191206.udpipe`` and the like: those found there are run beside
ours instead.  They belong to the treebanks of UD 2.5 (tag r2.5 of each).

    python benchmarks/pipeline.py --treebanks ud/Tamil-TTB --udpipe-models FOLDER
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from _data import data, kept

COLUMNS = {
    "words": "Words",
    "sents": "Sentences",
    "upos": "UPOS",
    "xpos": "XPOS",
    "ufeats": "UFeats",
    "lemma": "Lemmas",
    "uas": "UAS",
    "las": "LAS",
    "mlas": "MLAS",
    "blex": "BLEX",
}
"""Column of the table -> metric of the scorer."""
PUBLISHED = {
    "ewt": "English-EWT",
    "gum": "English-GUM",
    "fr-sequoia": "French-Sequoia",
    "tr-imst": "Turkish-IMST",
    "pt-bosque": "Portuguese-Bosque",
    "hu-szeged": "Hungarian-Szeged",
    "ar-padt": "Arabic-PADT",
}
SYSTEMS = ("ours", "ours+text", "udpipe")
TEXT_SETTINGS = {"text_tokens": 10_000_000, "text_vocabulary": 50_000}
LEAST_WORDS = 50_000  # the text is repeated so long before its speed is taken


class Split(NamedTuple):
    """The files of a treebank, as CoNLL-U text."""

    train: str
    dev: str
    test: str


def _typed(treebank: Path, words: Path) -> list[str]:
    """The sentences of a vocalised treebank as people type them, each as CoNLL-U text."""
    from eigentext.language.formats.conllu import read_sentences
    from eigentext.recipes.gathering import as_typed

    sentences = as_typed(read_sentences(str(treebank)), str(words))
    return [sentence.verbatim.rstrip("\n") + "\n\n" for sentence in sentences]


def split_of(name: str) -> Split:
    """Training, development and test part of a treebank in the data folder."""
    if name == "ar-padt":
        folder = data() / "lexical" / name
        a, b = (_typed(folder / f"{part}.conllu", folder / "words.jsonl") for part in "ab")
        cut = len(a) * 9 // 10
        return Split(*("".join(blocks) for blocks in (a[:cut], a[cut:], b)))
    folder = Path(name) if Path(name).is_dir() else data() / "dependency" / name
    files = [folder / f"{part}.conllu" for part in Split._fields]
    # some treebanks have no dev part
    return Split(*(file.read_text("utf-8") if file.exists() else "" for file in files))


class Ours:
    """Our pipeline, with the face of the rival's."""

    def __init__(self, path: Path) -> None:
        from eigentext import load

        self.nlp = load(path)

    def raw(self, text: str) -> str:
        """Everything from raw text."""
        return str(self.nlp(text).to_conllu())

    def words(self, conllu: str) -> str:
        """Tags and trees for the words of a CoNLL-U text."""
        from eigentext.language import Doc

        return str(self.nlp(Doc.from_conllu(conllu), keep="words").to_conllu())


def train(system: str, treebank: str, target: Path) -> dict[str, Any]:
    """Train, write the model, and tell what it took; called in a process of its own."""
    split = split_of(treebank)
    if system == "udpipe":
        from rivals import udpipe

        compiled = 0.0
        began = time.process_time()
        udpipe.train(split.train, split.dev, target)
    else:
        from eigentext import Pipeline

        files = []
        for part in ("train", "dev"):
            files.append(target.with_suffix(f".{part}.conllu"))
            files[-1].write_text(getattr(split, part), encoding="utf-8")
        small = "\n\n".join(split.train.strip("\n").split("\n\n")[:40]) + "\n\n"
        tiny = target.with_suffix(".tiny.conllu")
        tiny.write_text(small, encoding="utf-8")
        began = time.process_time()
        Pipeline().fit([str(tiny)])  # the first call compiles
        compiled = time.process_time() - began
        with_text = system == "ours+text"
        text = str(data() / "text" / "wiki.txt.xz") if with_text else None
        settings: dict[str, Any] = TEXT_SETTINGS if with_text else {}
        began = time.process_time()
        Pipeline(**settings).fit([str(files[0])], text=text).save(target)
    return {
        "train_cpu_s": time.process_time() - began,
        "compile_cpu_s": compiled,
        "train_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "file_mb": target.stat().st_size / 1e6,
    }


def scores(gold: str, system: str) -> dict[str, float]:
    """The official F1 of each column that the treebank has."""
    from udtools import udeval

    from eigentext.evaluate.conll18 import lacking
    from eigentext.language.formats.conllu import parse_sentences

    absent = lacking(parse_sentences(gold))
    texts = (gold, system)
    evaluation = udeval.evaluate(*(udeval.load_conllu(io.StringIO(t), "", {}) for t in texts))
    return {
        name: 100 * evaluation[metric].f1
        for name, metric in COLUMNS.items()
        if metric not in absent
    }


def run(system: str, treebank: str, path: Path) -> dict[str, Any]:
    """Parse the test set both ways; called in a process of its own."""
    from eigentext.language.formats.conllu import parse_sentence
    from eigentext.tagging.segmentation import raw_text

    gold = split_of(treebank).test
    sentences = [parse_sentence(block) for block in gold.strip("\n").split("\n\n")]
    raw = raw_text(sentences)
    if system == "udpipe":
        from rivals.udpipe import UDPipe

        model: Any = UDPipe(path)
    else:
        model = Ours(path)
    answers = {"Raw text": model.raw(raw)}
    # before the scorer, whose memory is not ours
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    answers["Gold tok"] = model.words(gold)
    row: dict[str, Any] = {mode: scores(gold, answer) for mode, answer in answers.items()}
    for column in ("words", "sents"):  # which were given
        del row["Gold tok"][column]
    row["run_mb"] = memory
    n_words = sum(len(sentence) for sentence in sentences)
    times = -(-LEAST_WORDS // n_words)
    began = time.process_time()
    for _ in range(times):
        model.raw(raw)
    row["words_s"] = times * n_words / (time.process_time() - began)
    return row


def published(treebank: str, table: Path) -> dict[str, dict[str, float]]:
    """UDPipe's own rows for this treebank."""
    rows: dict[str, dict[str, float]] = {}
    with table.open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            if row["treebank"] == PUBLISHED.get(treebank, Path(treebank).name):
                figures = {name: row[name] for name in COLUMNS}
                rows[row["mode"]] = {k: float(v) for k, v in figures.items() if v != "-"}
    return rows


def ready_model(treebank: str, folder: Path | None) -> Path | None:
    """The published model of UDPipe for a treebank, if it is in the folder."""
    name = PUBLISHED.get(treebank, Path(treebank).name).lower().removeprefix("ud_")
    found = sorted(folder.glob(f"{name}-ud-*.udpipe")) if folder else []
    if folder and not found:
        print(f"no model of UDPipe for {treebank} in {folder}: training one", file=sys.stderr)
    return found[-1] if found else None


def child(stage: str, system: str, treebank: str, path: Path) -> dict[str, Any]:
    """``train`` or ``run`` in a process of its own, on one thread."""
    command = [sys.executable, __file__, "--stage", stage, "--systems", system]
    command += ["--treebanks", treebank, "--model", str(path)]
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **threads}
    )
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def line(name: str, figures: dict[str, float]) -> str:
    """One row of a table."""
    cells = (f"{figures[c]:.2f}" if c in figures else "-" for c in COLUMNS)
    return f"| {name} | " + " | ".join(cells) + " |"


def show(keep: Path, treebanks: list[str], systems: list[str], table: Path) -> None:
    """The tables of what is kept."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for treebank in treebanks:
        for system in systems:
            file = keep / f"{Path(treebank).name}--{system}.json"
            if file.exists():
                rows[treebank, system] = json.loads(file.read_text())
    for mode in ("Raw text", "Gold tok"):
        print(f"\n{mode}\n\n| treebank, system | " + " | ".join(COLUMNS.values()) + " |")
        print("|" + "---|" * (len(COLUMNS) + 1))
        gains: dict[str, list[tuple[float, float]]] = {}
        for treebank in treebanks:
            known = published(treebank, table).get(mode)
            rivals = {"UDPipe 1.2, published": known} if known else {}
            if (treebank, "udpipe") in rows:
                rivals["UDPipe 1.2, run here"] = rows[treebank, "udpipe"][mode]
            for name, figures in rivals.items():
                print(line(f"{Path(treebank).name}, {name}", figures))
            for system in systems:
                if system == "udpipe" or (treebank, system) not in rows:
                    continue
                ours = rows[treebank, system][mode]
                print(line(f"**{Path(treebank).name}, {system}**", ours))
                for name, figures in rivals.items():
                    gains.setdefault(f"{system} less {name}", []).append(
                        (ours["las"] - figures["las"], ours["mlas"] - figures["mlas"])
                    )
        for name, differences in gains.items():
            n = len(differences)
            las, mlas = (sum(column) / n for column in zip(*differences, strict=True))
            print(f"\nmean of {n}, {name}: LAS {las:+.2f}, MLAS {mlas:+.2f}")
    print("\n| treebank, system | train CPU s | train MB | file MB | run MB | words/s | ratio |")
    print("|---|---|---|---|---|---|---|")
    for (treebank, system), row in rows.items():
        rival = rows.get((treebank, "udpipe"))
        ratio = f"{row['words_s'] / rival['words_s']:.1f}" if rival else "-"
        took = [f"{row[name]:.0f}" if name in row else "-" for name in ("train_cpu_s", "train_mb")]
        print(
            f"| {Path(treebank).name}, {system} | {' | '.join(took)} | "
            f"{row['file_mb']:.1f} | {row['run_mb']:.0f} | {row['words_s']:,.0f} | {ratio} |"
        )


def main() -> None:
    """Make the rows that are missing, then print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--treebanks", nargs="*", default=list(PUBLISHED), help="names or folders")
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument("--keep", type=Path, default=kept(__file__))
    parser.add_argument("--published", type=Path, help="figures to set beside, as TSV")
    parser.add_argument("--udpipe-models", type=Path, help="folder of UDPipe's published models")
    parser.add_argument("--show", action="store_true", help="only print what is kept")
    parser.add_argument("--stage", choices=("train", "run"), help="one step, used by the script")
    parser.add_argument("--model", type=Path, help="the model of that step")
    chosen = parser.parse_args()
    if chosen.stage:
        step = train if chosen.stage == "train" else run
        print(json.dumps(step(chosen.systems[0], chosen.treebanks[0], chosen.model)))
        return
    chosen.keep.mkdir(parents=True, exist_ok=True)
    for treebank in () if chosen.show else chosen.treebanks:
        for system in chosen.systems:
            if system == "ours+text" and treebank not in ("ewt", "gum"):
                continue  # the text is English
            name = f"{Path(treebank).name}--{system}"
            file = chosen.keep / f"{name}.json"
            if file.exists():
                continue
            model = chosen.keep / f"{name}.model"
            training = chosen.keep / f"{name}.train.json"
            ready = ready_model(treebank, chosen.udpipe_models) if system == "udpipe" else None
            if ready:
                row = {"model": ready.name, "file_mb": ready.stat().st_size / 1e6}
                row |= child("run", system, treebank, ready)
            else:
                if not (model.exists() and training.exists()):
                    training.write_text(json.dumps(child("train", system, treebank, model)))
                row = json.loads(training.read_text()) | child("run", system, treebank, model)
            file.write_text(json.dumps(row))
            print(treebank, system, json.dumps(row), file=sys.stderr)
    table = chosen.published or data() / "peers" / "udpipe-1.2-ud-2.5.tsv"
    show(chosen.keep, chosen.treebanks, chosen.systems, table)


if __name__ == "__main__":
    main()
