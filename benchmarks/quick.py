"""A small fixed set, minutes instead of hours: has anything become slower or worse?

    python benchmarks/quick.py                  # compares with benchmarks/last.json
    python benchmarks/quick.py --keep           # and writes it, if nothing is worse
    python benchmarks/quick.py dep pipe         # these parts alone
    python benchmarks/quick.py --accept         # writes it whatever was found
    python benchmarks/quick.py --page           # writes docs/guide/results-quick.md, no more

One part for each model, on data below $EIGENTEXT_DATA, each in processes of its own, one thread,
compiled code warm.  Costs are CPU seconds over those of a fixed loop measured right before and
after in the same process, so that results of a busy machine and of another one can be held beside
each other; the least of ``--rounds`` counts.  Quality is absolute.  Whatever is beyond its
tolerance is printed; the exit code is 1 if any of that is for the worse.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _data import KEPT, data
from _results import calibration, changes, commit, machine, read, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LAST = Path(__file__).parent / "last.json"
PAGE = Path(__file__).parent.parent / "docs" / "guide" / "results-quick.md"
ONE_THREAD = dict.fromkeys(
    ("EIGENTEXT_JOBS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1"
)


class Sheet:
    """Where a part writes its figures."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.costs: dict[str, float] = {}
        self.quality: dict[str, dict[str, Any]] = {}

    @contextmanager
    def timed(self, stage: str, clock: Callable[[], float] | None = None) -> Iterator[None]:
        """CPU seconds go by this name: those of this process and its children, or a clock's."""
        clock = clock or _spent
        before = calibration()
        began = clock()
        yield
        spent = clock() - began
        self.seconds[stage] = spent
        self.costs[stage] = 2 * spent / (before + calibration())

    def good(self, name: str, value: float, tolerance: float, *, higher: bool = True) -> None:
        """A figure of quality; it is the same on one machine, and nearly so on others."""
        self.quality[name] = {
            "value": round(float(value), 5),
            "tolerance": tolerance,
            "higher": higher,
        }


def _spent() -> float:
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


# ---------------------------------------------------------------- the parts


def const(sheet: Sheet) -> None:
    """2,000 trees of GUM; the first 250 sentences of dev."""
    from eigentext.constituency import LPCFG
    from eigentext.datasets import load_english
    from eigentext.evaluate.parseval import evaluate
    from eigentext.language.formats.prm import EvalbSettings
    from eigentext.language.formats.ptb import read_trees
    from eigentext.language.trees.constituent import Tree

    folder = data() / "constituency/gum"
    trees = list(islice(read_trees(folder / "train.mrg"), 2000))
    gold = list(islice(read_trees(folder / "dev.mrg"), 250))
    sample = [Tree.from_brackets(line) for line in load_english("train")]
    LPCFG().fit(sample).parse(gold[0].words)
    with sheet.timed("train"):
        parser = LPCFG().fit(trees)
    with sheet.timed("parse"):
        found = [parser.parse(tree.words).tree for tree in gold]
    result = evaluate(gold, found, EvalbSettings.collins(), failed="empty")
    sheet.good("F1", result.all.f1, 0.3)


def dep(sheet: Sheet) -> None:
    """1,000 sentences of EWT with its tags; the first 500 of dev."""
    from eigentext.dependency import DependencyParser
    from eigentext.language.formats.conllu import read_sentences

    folder = data() / "dependency/ewt"
    train = list(islice(read_sentences(folder / "train.conllu"), 1000))
    dev = list(islice(read_sentences(folder / "dev.conllu"), 500))
    DependencyParser(epochs=1).fit(train[:40]).score(dev[:5])
    with sheet.timed("train"):
        parser = DependencyParser().fit(train)
    with sheet.timed("parse"):
        las = parser.score(dev)
    sheet.good("LAS", 100 * las, 0.3)


def _wiki(tokens: int) -> list[list[str]]:
    """The first lines of Wikipedia text, in all about so many tokens."""
    from eigentext.base.files.opening import numbered_lines

    lines: list[list[str]] = []
    n = 0
    for _, line in numbered_lines(data() / "text/wiki.txt.xz"):
        lines.append(line.split())
        n += len(lines[-1])
        if n >= tokens:
            break
    return lines


def words(sheet: Sheet) -> None:
    """2 million tokens: counts, 200 clusters of 20,000 words, vectors of 100 dimensions."""
    from eigentext.counting.counting import count
    from eigentext.evaluate.similarity import read_pairs, score_similarity
    from eigentext.words import CCAEmbedding, SpectralClusters

    lines = _wiki(2_000_000)
    SpectralClusters(5, vocab_size=1000).fit(lines[:500])
    CCAEmbedding(5, vocab_size=1000).fit(lines[:500])
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "text.txt")
        text.write_text("".join(" ".join(line) + "\n" for line in lines), encoding="utf-8")
        with sheet.timed("count"):
            count([str(text)], contexts="lr2", vocab_size=20_000)
    with sheet.timed("cluster"):
        clusters = SpectralClusters(200, vocab_size=20_000).fit(lines)
    sheet.good("mutual information", clusters.mutual_information_, 0.005)
    with sheet.timed("embed"):
        vectors = CCAEmbedding(100, vocab_size=20_000).fit(lines).embeddings_
    places = {word: row for row, word in enumerate(vectors.words)}
    pairs = read_pairs(data() / "wordsim/EN-MEN-TR-3k.txt")
    sheet.good("MEN", 100 * score_similarity(places, vectors.vectors, pairs).rho, 0.5)


def hmm(sheet: Sheet) -> None:
    """1 million tokens, 25 states; perplexity of the 50,000 tokens after them."""
    from eigentext.sequences import HMM

    lines = _wiki(1_050_000)
    cut = next(n for n in range(len(lines)) if sum(map(len, lines[n:])) <= 50_000)
    HMM(3, n_iter=1).fit(lines[:500]).perplexity(lines[:5])
    with sheet.timed("train"):
        model = HMM(25).fit(lines[:cut])
    with sheet.timed("score"):
        perplexity = model.perplexity(lines[cut:])
    sheet.good("perplexity", perplexity, 0.01 * perplexity, higher=False)


def lex(sheet: Sheet) -> None:
    """Readings of Turkish words by a learned analyzer, ranked: 600 sentences, 200 of dev."""
    from eigentext.language.formats.conllu import read_sentences
    from eigentext.lexical import LexicalRanker, load_scheme
    from eigentext.lexical.analyzers.learned import LearnedAnalyzer
    from eigentext.lexical.documents import read_conllu_documents

    folder = data() / "dependency/tr-imst"
    scheme = load_scheme("turkish")
    train, dev = (
        list(read_conllu_documents(folder / f"{name}.conllu", scheme, documents="sentence"))[:n]
        for name, n in (("train", 600), ("dev", 200))
    )
    sentences = list(islice(read_sentences(folder / "train.conllu"), 600))
    warm = LearnedAnalyzer.fit(sentences[:100], language="tr")
    LexicalRanker(analyzer=warm, scheme=scheme).fit(train[:100]).score(dev[:5])
    with sheet.timed("analyzer"):
        analyzer = LearnedAnalyzer.fit(sentences, language="tr")
    with sheet.timed("train"):
        ranker = LexicalRanker(analyzer=analyzer, scheme=scheme).fit(train)
    with sheet.timed("rank"):
        a1 = ranker.score(dev)
    sheet.good("A1", 100 * a1, 0.3)


def pipe(sheet: Sheet) -> None:
    """A whole pipeline of Hungarian, and its dev set from raw text by the rules of CoNLL 2018."""
    from eigentext import Pipeline
    from eigentext.evaluate.conll18 import evaluate
    from eigentext.language.formats.conllu import read_sentences
    from eigentext.tagging.segmentation import raw_text

    folder = data() / "dependency/hu-szeged"
    train = list(read_sentences(folder / "train.conllu"))
    dev = list(read_sentences(folder / "dev.conllu"))
    Pipeline(folds=2).fit(train[:40])("Ez egy mondat.")
    with sheet.timed("train"):
        pipeline = Pipeline().fit(train)
    text = raw_text(dev)
    with sheet.timed("run"):
        answer = pipeline(text)
    with tempfile.TemporaryDirectory() as place:
        parsed = Path(place, "parsed.conllu")
        parsed.write_text(answer.to_conllu(), encoding="utf-8")
        scores = evaluate(dev, list(read_sentences(parsed)))
    sheet.good("LAS", scores["LAS"].f1, 0.3)
    sheet.good("sentences", scores["Sentences"].f1, 0.5)


def service(sheet: Sheet) -> None:
    """The pipeline of our sample, served: 300 requests, CPU seconds of all its processes."""
    from eigentext.datasets import write_sample

    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder, "sample.pipe"))
        command = [sys.executable, "-m", "eigentext.cli"]
        treebank = str(write_sample(folder) / "treebank.conllu")
        subprocess.run([*command, "pipe", "train", treebank, "-o", model, "-q"], check=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        told = ["serve", "--port", str(port), "--workers", "1", "--model", model, "-q"]
        server = subprocess.Popen([*command, *told])
        try:
            answer = _first_answer(f"http://127.0.0.1:{port}/api/pipe", server)
            with sheet.timed("300 requests", lambda: _spent_below(server.pid)):
                for number in range(300):
                    answer(f"The farmer sold {number} old dogs to a friend. She saw a house.")
            sheet.good("megabytes", _megabytes_below(server.pid), 60, higher=False)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(30)


def _first_answer(
    address: str, server: subprocess.Popen[bytes], seconds: float = 180
) -> Callable[[str], None]:
    """Wait until the service answers; how to ask it."""

    def ask(text: str) -> None:
        body = json.dumps({"text": text}).encode()
        head = {"Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(address, body, head)) as answer:
            answer.read()

    end = time.monotonic() + seconds
    while True:
        try:
            ask("The farmer sold a dog.")
            return ask
        except urllib.error.URLError:
            if time.monotonic() > end or server.poll() is not None:
                raise
            time.sleep(0.3)


def _below(process: int) -> list[int]:
    """A process and all that it started."""
    found, left = [], [process]
    while left:
        found.append(left.pop())
        for task in Path(f"/proc/{found[-1]}/task").iterdir():
            left += map(int, (task / "children").read_text().split())
    return found


def _spent_below(process: int) -> float:
    ticks = 0
    for number in _below(process):
        told = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        ticks += int(told[11]) + int(told[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _megabytes_below(process: int) -> float:
    pages = sum(int(Path(f"/proc/{n}/statm").read_text().split()[1]) for n in _below(process))
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


PARTS: dict[str, Callable[[Sheet], None]] = {
    "const": const,
    "dep": dep,
    "words": words,
    "hmm": hmm,
    "lex": lex,
    "pipe": pipe,
    "service": service,
}

# ---------------------------------------------------------------- running them


def measured(part: str) -> dict[str, Any]:
    """The figures of a part, in this process."""
    from eigentext.linalg.ties import single_threaded

    sheet = Sheet()
    with single_threaded():
        PARTS[part](sheet)
    return {
        "costs": {name: round(cost, 3) for name, cost in sheet.costs.items()},
        "quality": sheet.quality,
        "seconds": {name: round(spent, 2) for name, spent in sheet.seconds.items()},
    }


def in_process(part: str, rounds: int) -> dict[str, Any]:
    """The figures of a part by processes of their own: the least costs of so many rounds."""
    best: dict[str, Any] = {}
    for _ in range(rounds):
        done = subprocess.run(
            [sys.executable, __file__, "--measure", part],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env={**os.environ, **ONE_THREAD},
        )
        made = json.loads(done.stdout.splitlines()[-1])
        for name, cost in made["costs"].items():
            if best and best["costs"][name] <= cost:
                made["costs"][name] = best["costs"][name]
                made["seconds"][name] = best["seconds"][name]
        best = made
    return best


def show(part: str, made: dict[str, Any]) -> None:
    """A row for each figure."""
    for name, cost in made["costs"].items():
        print(f"| {part} | {name} | {made['seconds'][name]:.2f} CPU s | {cost:.2f} |", flush=True)
    for name, told in made["quality"].items():
        print(f"| {part} | {name} | {told['value']:.2f} | |", flush=True)


def page(record: dict[str, Any]) -> str:
    """The page of documentation that shows a result."""
    at = record["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in sorted(at["packages"].items()))
    about = (
        f"{record['date']}, eigentext {at['eigentext']} ({record['commit'][:12]}), "
        f"{at['processor']}, {at['cores']} cores, Python {at['python']}, {packages}; one thread, "
        "compiled code warm."
    )
    lines = [
        "# The quick set",
        "",
        "Written by `python benchmarks/quick.py --page` from `benchmarks/last.json`.",
        "`make bench-quick` measures the same again and says what has become slower or worse. A",
        "cost is CPU seconds over those of a fixed loop in the same process: it can be compared",
        "between machines, seconds cannot.",
        "",
        about,
        "",
        "| part | what | time, cost | figures |",
        "|---|---|---|---|",
    ]
    for part, result in record["parts"].items():
        costs = [
            f"{name} {result['seconds'][name]:.2f} CPU s, {cost:.1f}"
            for name, cost in result["costs"].items()
        ]
        quality = [f"{name} {figure['value']:.2f}" for name, figure in result["quality"].items()]
        what = (PARTS[part].__doc__ or "").rstrip(".")
        lines.append(f"| {part} | {what} | {'; '.join(costs)} | {'; '.join(quality)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Measure, compare, print; 1 if something is worse than it was."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--rounds", type=int, default=2, help="processes for each part")
    parser.add_argument("--tolerance", type=float, default=1.3, help="times the cost")
    parser.add_argument("--keep", action="store_true", help="write last.json if nothing is worse")
    parser.add_argument("--accept", action="store_true", help="write last.json in any case")
    parser.add_argument("--page", action="store_true", help="write docs/guide/results-quick.md")
    parser.add_argument("--measure", choices=PARTS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.page:
        record = read(LAST)
        if record is None:
            parser.error(f"{LAST} has no results: run this without --page first")
        PAGE.write_text(page(record), encoding="utf-8")
        return 0
    data()
    if given.measure:
        print(json.dumps(measured(given.measure)))
        return 0
    if unknown := sorted(set(given.parts) - set(PARTS)):
        parser.error(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    last = read(LAST) or {"parts": {}}
    print("| part | figure | value | cost |\n|---|---|---|---|", flush=True)
    now = {}
    for part in given.parts or PARTS:
        now[part] = in_process(part, given.rounds)
        show(part, now[part])
    record = {
        "command": "python benchmarks/quick.py",
        "commit": commit(),
        "data": "$EIGENTEXT_DATA",
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": machine(),
        "parts": {**last["parts"], **now},
    }
    write(KEPT / "results" / "quick.json", record)
    compared = {name: last["parts"][name] for name in last["parts"] if name in now}
    found = changes(compared, now, tolerance=given.tolerance)
    print()
    for change in found:
        print(change)
    worse = [change for change in found if change.is_regression]
    print(f"{len(worse)} regressions, {len(found) - len(worse)} other changes")
    if given.accept or (given.keep and not worse):
        write(LAST, record)
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
