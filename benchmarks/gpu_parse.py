"""Constituency parsing on a graphics card and on one core: sentences a second, trees and F1.

    python benchmarks/gpu_parse.py --export gum-parse.npz       # where the treebank is
    python benchmarks/gpu_parse.py --run gum-parse.npz --result found.json      # where the card is
    python benchmarks/gpu_parse.py                              # both on one machine

``--export`` trains one model with the usual settings (moments, m=24) on GUM's training part of
``$EIGENTEXT_DATA`` and stores it in one file, with the dev sentences and their trees.  ``--run``
needs that file, numpy, scipy, numba, scikit-learn, safetensors, CuPy, a card, ``PYTHONPATH=src``.
It compares
posteriors and trees with those of the processor first, then says how long each part takes, and
the F1 of both by EVALB's rules (COLLINS.prm).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import traceback
from collections import Counter
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eigentext.accel.constituency.engine import CardJob
    from eigentext.accel.constituency.parser import CardParser
    from eigentext.constituency import LPCFG

DECODER: Any = "max-constituents"


def export(path: str, limit: int) -> None:
    """Train, and write the model, sentences and trees into one file."""
    from _data import data

    from eigentext.constituency import LPCFG
    from eigentext.language.formats.ptb import read_trees

    folder = data() / "constituency" / "gum"
    start = time.process_time()
    parser = LPCFG().fit(read_trees(str(folder / "train.mrg")))
    print(f"training: {time.process_time() - start:.1f} CPU s")
    gold = [str(tree) for tree in list(read_trees(str(folder / "dev.mrg")))[:limit]]
    stored = {"model": parser.to_bytes(), "gold": "\n".join(gold).encode()}
    np.savez(path, **{name: np.frombuffer(text, np.uint8) for name, text in stored.items()})
    print(f"{path}: {os.path.getsize(path) / 2**20:.1f} MiB, {len(gold)} sentences")


def read(path: str) -> tuple[LPCFG, list[Any]]:
    """The model and the gold trees of an exported file."""
    from eigentext.constituency import LPCFG
    from eigentext.language.trees.constituent import Tree

    with np.load(path) as stored:
        model, gold = stored["model"].tobytes(), stored["gold"].tobytes().decode()
    return LPCFG.from_bytes(model), [Tree.from_brackets(line) for line in gold.split("\n")]


def processor_posteriors(
    parser: LPCFG, tokens: Sequence[str]
) -> dict[tuple[int, int, int], float]:
    """(span, split, rule) -> posterior, by the processor; none where pruning was loosened."""
    from eigentext.constituency.answer import word_emissions
    from eigentext.constituency.chart.constraints import Constraints

    grammar = parser.grammar_
    words = grammar.forms(tokens)
    emissions = word_emissions(grammar.params, grammar.labels, words, None)
    masks = parser._masks(words, Constraints())
    chart, passes = parser._chart(emissions, masks, parser.beam, parser.threshold)
    if chart is None or not passes or chart.relaxed:
        return {}
    split = chart.spans[chart.item_span[chart.left], 1].tolist()
    keys = zip(chart.item_span[chart.parent].tolist(), split, chart.rule.tolist(), strict=True)
    return dict(zip(keys, passes[0].applications.tolist(), strict=True))


def card_posteriors(card: CardParser, job: CardJob) -> list[dict[tuple[int, int, int], float]]:
    """Of each sentence, (number of the span, split, rule) -> posterior of the application."""
    get = card.engine.get
    first_span, app_ptr = get(job["first_span"]).tolist(), get(job["app_ptr"])
    span = np.repeat(np.arange(len(app_ptr) - 1), np.diff(app_ptr))
    columns = [get(job[name]).tolist() for name in ("app_split", "app_rule", "app_post")]
    posteriors = []
    for first, last in pairwise(first_span):
        apps = slice(app_ptr[first], app_ptr[last])
        here = (span[apps] - first).tolist(), *(column[apps] for column in columns)
        posteriors.append({(s, k, r): p for s, k, r, p in zip(*here, strict=True)})
    return posteriors


def check(parser: LPCFG, card: CardParser, sentences: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Posteriors of the first sentences against the processor's."""
    several = [tokens for tokens in sentences if 1 < len(tokens) <= parser.longest]
    words = [parser.grammar_.forms(tokens) for tokens in several]
    job = card.job(words, DECODER)
    status = card.engine.get(job["status"])
    worst, wrong, compared = 0.0, 0, 0
    for b, (tokens, found) in enumerate(zip(several, card_posteriors(card, job), strict=True)):
        expected = processor_posteriors(parser, tokens)
        if status[b] or not expected:
            continue
        keys = expected.keys() & found.keys()
        wrong += len(expected.keys() ^ found.keys())
        compared += len(keys)
        worst = max([worst, *(abs(expected[key] - found[key]) for key in keys)])
    return {
        "sentences compared": len(several),
        "left to the processor": int((status != 0).sum()),
        "applications compared": compared,
        "applications of one side only": wrong,
        "largest difference of posteriors": worst,
    }


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Wall-clock seconds, and the answer."""
    start = time.perf_counter()
    answer = work()
    return time.perf_counter() - start, answer


def parts(card: CardParser, sentences: Sequence[Sequence[str]]) -> dict[str, float]:
    """Seconds of each part of one window, the card waited for behind every kernel."""
    from eigentext.accel.constituency import parser as module

    spent: Counter[str] = Counter()
    engine: Any = card.engine
    launch, arrays, room = engine.launch, module.sentence_arrays, card._room_for

    def waiting(name: str, function: Any) -> Any:
        def work(*given: Any, **named: Any) -> Any:
            start = time.perf_counter()
            answer = function(*given, **named)
            engine.wait()
            spent[name or str(given[0])] += time.perf_counter() - start
            return answer

        return work

    several = [tokens for tokens in sentences if 1 < len(tokens) <= card.parser.longest]
    several.sort(key=len, reverse=True)
    forms, words = timed(lambda: [card.grammar.forms(tokens) for tokens in several])
    spent["forms of words"] = forms
    engine.launch = waiting("", launch)
    module.sentence_arrays = waiting("arrays of sentences", arrays)
    card._room_for = waiting("room", room)  # type: ignore[method-assign]
    try:
        total, job = timed(lambda: card.job(words, DECODER))
        making, _ = timed(lambda: card.answers(job, words, several))
    finally:
        engine.launch, module.sentence_arrays = launch, arrays
        del card._room_for
    rest = total - sum(spent.values()) + forms
    return {**spent, "transfers and the rest": rest, "trees": making}


def rivals(parser: LPCFG, sentences: Sequence[Sequence[str]], n: int) -> dict[str, Any]:
    """One core of the processor on every k-th sentence, compiled code and words warm."""
    some = sentences[:: max(1, len(sentences) // n)]
    for tokens in some:
        parser.parse(tokens)
    seconds, _ = timed(lambda: [parser.parse(tokens) for tokens in some])
    return {"sentences": len(some), "sentences/s": len(some) / seconds}


def f1(gold: Sequence[Any], found: Sequence[Any]) -> dict[str, float]:
    """EVALB's figures."""
    from eigentext.evaluate.parseval import evaluate
    from eigentext.language.formats.prm import EvalbSettings

    result = evaluate(gold, [answer.tree for answer in found], EvalbSettings.collins())
    return {"F1": result.all.f1, "tagging": result.all.tag_accuracy}


def run(path: str, result: str | None, engine: Any = None) -> dict[str, Any]:
    """All figures; a part that fails is told with its traceback, and the next one follows."""
    figures: dict[str, Any] = {"python": platform.python_version(), "processor": _processor()}
    kept: dict[str, Any] = {}

    def part(name: str, work: Callable[[], Any]) -> None:
        start = time.perf_counter()
        try:
            figures[name] = work()
        except Exception:
            figures[name] = "FAILED"
            traceback.print_exc()
        figures_line = json.dumps(figures[name], default=float)
        print(f"[{time.perf_counter() - start:7.2f} s] {name}: {figures_line}", flush=True)

    def make() -> str:
        from eigentext.accel.constituency.engine import Card
        from eigentext.accel.constituency.parser import CardParser

        class Waiting(Card):
            """The card, which can be waited for."""

            def wait(self) -> None:
                self.cupy.cuda.Device().synchronize()

        kept["card"] = CardParser(parser, engine or Waiting())
        if engine is not None:
            return "emulated"
        import cupy

        name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        return f"{name}, CuPy {cupy.__version__}; refused: {parser.why_not_card('cuda')}"

    parser, gold = read(path)
    sentences = [list(tree.words) for tree in gold]
    # the processor's loops are compiled before anything is timed: it parses what the card leaves
    part("processor, compiled", lambda: len([parser.parse(sentences[0]), parser.parse(["Yes"])]))
    part("card", make)
    card: CardParser = kept["card"]
    part("kernels, compiled", lambda: len(card.parse_window(sentences[:8], DECODER)))
    part("check of 50 sentences", lambda: check(parser, card, sentences[:50]))
    part("check of all", lambda: check(parser, card, sentences))

    def public() -> dict[str, float]:
        list(parser.parse_many(sentences, device="cuda"))  # the grammar goes to the card
        seconds, found = timed(lambda: list(parser.parse_many(sentences, device="cuda")))
        return {"sentences/s": len(found) / seconds}

    def memory() -> float:
        import cupy

        return float(cupy.get_default_memory_pool().total_bytes() / 2**20)

    def whole(times: int) -> dict[str, float]:
        repeated = sentences * times
        seconds, kept["answers"] = timed(lambda: list(card.parse_many(repeated, DECODER)))
        n = len(repeated)
        return {"sentences": n, "seconds": seconds, "sentences/s": n / seconds}

    _forget_words(card)
    part("whole, words new", lambda: whole(1))
    part("whole, words known", lambda: whole(1))
    part("whole, 4 times the sentences", lambda: whole(4))
    part("parts, ms a sentence", lambda: _per_sentence(parts(card, sentences), len(sentences)))
    for kilobytes, warps in ((16, 2), (48, 4), (96, 8), (192, 16)):
        name = f"parts with {kilobytes} KB a block, {warps} warps of the fine pass"
        part(name, partial(_with_sizes, card, sentences, kilobytes, warps))
    if engine is None:
        part("parse_many with device cuda", public)
        part("memory of the card, MiB", memory)
    part("one core", lambda: rivals(parser, sentences, 300))
    part("F1 on the card", lambda: f1(gold, kept["answers"][: len(gold)]))

    def same() -> dict[str, Any]:
        kept["expected"] = [parser.parse(tokens) for tokens in sentences]
        pairs = list(zip(kept["answers"], kept["expected"], strict=False))
        return {
            "trees that differ": sum(one.tree != other.tree for one, other in pairs),
            "flags that differ": sum(one.flags != other.flags for one, other in pairs),
        }

    part("against the processor", same)
    part("F1 on the processor", lambda: f1(gold, kept["expected"]))
    print("\n| figure | value |\n|---|---|")
    for name, value in figures.items():
        print(f"| {name} | {json.dumps(value, default=float)} |")
    if result is not None:
        trees = [str(answer.tree) for answer in kept.get("answers", [])[: len(gold)]]
        text = json.dumps({"figures": figures, "trees": trees}, default=float)
        Path(result).write_text(text, encoding="utf-8")
    return figures


def _with_sizes(
    card: CardParser, sentences: Sequence[Sequence[str]], kilobytes: int, warps: int
) -> dict[str, float]:
    """The parts with other sizes of blocks."""
    from eigentext.accel.constituency import parser as module

    usual = module._MOST_SHARED, module._WARPS
    module._MOST_SHARED, module._WARPS = kilobytes << 10, {**module._WARPS, "fine": warps}
    try:
        return _per_sentence(parts(card, sentences), len(sentences))
    finally:
        module._MOST_SHARED, module._WARPS = usual


def _forget_words(card: CardParser) -> None:
    """All words are new again, as in the first text that a parser sees."""
    from eigentext.accel.constituency.engine import EmissionTable

    lexicon = card.table.lexicon
    for known in (lexicon, lexicon.tag_level):
        known._emissions.clear()
    lexicon.tag_level._shape_of.clear()
    card.table = EmissionTable(card.grammar)


def _per_sentence(seconds: dict[str, float], n: int) -> dict[str, float]:
    return {name: round(1000 * value / n, 4) for name, value in seconds.items()}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line for line in lines if line.startswith("model name")).split(": ")[1]
    except (OSError, StopIteration, IndexError):
        name = platform.processor()
    return f"{name}, {os.cpu_count()} cores"


def main() -> None:
    """See the module."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--export", default=None, help="write model and sentences here, no more")
    options.add_argument("--run", default=None, help="parse what --export wrote")
    options.add_argument("--result", default=None, help="figures and trees as JSON")
    options.add_argument("--limit", type=int, default=1575, help="sentences")
    chosen = options.parse_args()
    if chosen.run is not None:
        run(chosen.run, chosen.result)
        return
    if chosen.export is not None:
        export(chosen.export, chosen.limit)
        return
    from _data import kept

    path = str(kept(__file__) / "gum.npz")
    export(path, chosen.limit)
    run(path, chosen.result)


if __name__ == "__main__":
    main()
