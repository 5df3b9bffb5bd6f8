"""Files of the small models that are wrong in one place each, and what becomes of them.

``python -m helpers.foreign_models 200`` in ``tests/`` tries 200 wrong files of every model and
prints how each sort of outcome was met: ``refused`` (an error of ours: exit code 2),
``answered``, ``internal error`` (any other exception) or ``crash`` (the process died).
"""

from __future__ import annotations

import json
import multiprocessing
import random
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from eigentext.base import modelfile
from eigentext.errors import EigentextError
from helpers.small_models import SMALL, TEXT, TREES, Small

# ---------------------------------------------------------------- models


def _of(small: Small) -> tuple[Callable[[Path], object], Callable[[Path], object]]:
    """How the file is made, and how it is used."""

    def use(path: Path) -> object:
        return small.ask(small.kind.load(path))

    return lambda path: small.trained().save(path), use


def _kbest_lists(path: Path) -> None:
    from eigentext.dependency.rerank.lists import KBestLists

    lists = KBestLists.of([([[0, 1], [2, 0]], [3.0, 1.0]), ([[0]], [0.5])])
    lists.made_with = {"k": 2}
    lists.save(path)


def _labelled_lists(path: Path) -> None:
    import numpy as np

    from eigentext.dependency.graph.labels import LabelledList
    from eigentext.dependency.rerank.lists import KBestLists

    labels = [
        LabelledList(np.array(relations), 7 * np.ones((len(relations), len(relations[0]))))
        for relations in ([[0, 1], [1, 0]], [[0]])
    ]
    pairs = [([[0, 1], [2, 0]], [3.0, 1.0]), ([[0]], [0.5])]
    KBestLists.of(pairs, (("root", "obj"), labels)).save(path)


def _use_kbest_lists(path: Path) -> None:
    from eigentext.dependency.rerank.lists import KBestLists

    lists = KBestLists.load(path)
    for number in range(len(lists)):
        lists[number].heads.tolist()
    both = KBestLists.joined([lists, lists]).part(0, 1)
    if lists.relations is not None:
        both.relations_of(0).tolist()
    lists.best_indices([[0] * int(length) for length in lists.lengths])
    lists.right_words([([0] * int(length), ["root"] * int(length)) for length in lists.lengths])


def _counts(path: Path) -> None:
    from eigentext.counting.counting import count_sentences

    count_sentences(TEXT, contexts="lr2").save(path)


def _use_counts(path: Path) -> None:
    from eigentext.counting.counts import Counts
    from eigentext.words.embeddings.cca import cca_embeddings
    from eigentext.words.settings import CCASettings

    counts = Counts.load(path)
    counts + counts
    cca_embeddings(counts, CCASettings(2), on_rank="warn")


def _learned_analyzer(path: Path) -> None:
    from eigentext.lexical.analyzers.learned import LearnedAnalyzer

    LearnedAnalyzer.fit(TREES).save(path)


def _use_learned_analyzer(path: Path) -> None:
    from eigentext.lexical.analyzers.learned import LearnedAnalyzer

    analyzer = LearnedAnalyzer.load(path)
    for word in ("dog", "cats", "Ran", "2000"):
        analyzer.analyse(word)


# name: how it is made, and how it is used
MODELS: dict[str, tuple[Callable[[Path], object], Callable[[Path], object]]] = {
    "counts": (_counts, _use_counts),
    "kbest-lists": (_kbest_lists, _use_kbest_lists),
    "kbest-lists with relations": (_labelled_lists, _use_kbest_lists),
    "learned-analyzer": (_learned_analyzer, _use_learned_analyzer),
    **{name: _of(small) for name, small in SMALL.items()},
}


# ---------------------------------------------------------------- wrong files

_WILD = (-1, -2, 1, 2, 3, 7, 100, 10_000, 2**31 - 1, -(2**31), 2**40, 2**62, -(2**62))
_ODD = (float("nan"), float("inf"), -1.0, 0.0, 1e30, 1e300, -1e300, 1e-300)
_OTHER = (None, "x", -1, 0, 1, 2, 10**30, 1.5, True, [], {}, [1, "x"], {"x": 1}, 1e300, "")


def wrong_array(array: np.ndarray, chance: random.Random) -> tuple[str, np.ndarray]:
    """The array with one thing wrong, and what that is."""
    array = array.copy()
    ways = ["type", "rank", "longer", "shorter", "empty", "all", "swap"]
    way = chance.choice([*ways, *["value"] * 9])
    if way == "type":
        kind = chance.choice(["int8", "uint64", "int32", "int64", "float16", "float64", "bool"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f"type {kind}", array.astype(kind)
    if way == "rank":
        return way, array.reshape(1, -1) if array.ndim == 1 else array.ravel()
    if way == "empty" or not array.size:
        return "empty", np.zeros((0, *array.shape[1:]), array.dtype)
    if way == "longer":
        return way, np.concatenate([np.atleast_1d(array), np.atleast_1d(array)[-1:]])
    if way == "shorter":
        return way, np.atleast_1d(array)[:-1]
    if way == "swap":
        return way, np.ascontiguousarray(np.flip(array))
    value = _value(array.dtype, chance)
    if way == "all":
        array[...] = value
    else:
        array.reshape(-1)[chance.randrange(array.size)] = value
    return f"{way} {value}", array


def _value(dtype: np.dtype[Any], chance: random.Random) -> Any:
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return chance.choice([n for n in _WILD if limits.min <= n <= limits.max])
    if dtype.kind == "b":
        return chance.choice([True, False])
    with np.errstate(all="ignore"):
        return np.asarray(chance.choice(_ODD)).astype(dtype)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for key in sorted(value):
            yield from _places(value[key], (*path, key))
    elif isinstance(value, list):
        for number in range(len(value)):
            yield from _places(value[number], (*path, number))


def wrong_settings(settings: dict[str, Any], chance: random.Random) -> tuple[str, dict[str, Any]]:
    """The settings with one thing wrong, and what that is."""
    settings = json.loads(json.dumps(settings))
    places = list(_places(settings))
    way = chance.choice(["missing", "extra", *["other"] * 6])
    if way == "extra" or not places:
        return "extra setting", {**settings, "extra": 1}
    *above, last = chance.choice(places)
    inner = settings
    for step in above:
        inner = inner[step]
    where = ".".join(map(str, [*above, last]))
    if way == "missing":
        del inner[last]
        return f"no setting {where}", settings
    inner[last] = chance.choice(_OTHER)
    return f"setting {where} is {inner[last]!r}", settings


def write_wrong(good: modelfile.ModelFile, path: Path, seed: int) -> str:
    """Write a file that is wrong in one place, with a right checksum; what is wrong with it."""
    chance = random.Random(seed)
    arrays, strings = dict(good.arrays), dict(good.strings)
    settings, facts = good.header.settings, good.header.facts
    parts = ["array"] * 6 * bool(arrays) + ["strings"] * 2 * bool(strings) + ["settings"] * 3
    part = chance.choice([*parts, "missing", "extra"])
    if part == "settings":
        if facts and chance.random() < len(facts) / (len(facts) + len(settings)):
            told, facts = wrong_settings(facts, chance)
        else:
            told, settings = wrong_settings(settings, chance)
    elif part == "array":
        name = chance.choice(sorted(arrays))
        told, arrays[name] = wrong_array(arrays[name], chance)
        told = f"{name}: {told}"
    elif part == "strings":
        name = chance.choice(sorted(strings))
        told, strings[name] = _wrong_strings(strings[name], chance)
        told = f"{name}: {told}"
    elif part == "missing":
        name = chance.choice(sorted([*arrays, *strings]))
        arrays.pop(name, None)
        strings.pop(name, None)
        told = f"no {name}"
    else:
        told, arrays["extra"] = "an array too many", np.arange(3)
    header = good.header
    modelfile.save(
        path,
        header.kind,
        arrays,
        settings=settings,
        facts=facts,
        format_version=header.format_version,
        strings=strings,
        seed=header.seed,
        data=header.data,
    )
    return told


def _wrong_strings(items: list[str], chance: random.Random) -> tuple[str, list[str]]:
    way = chance.choice(["shorter", "longer", "empty", "twice", "blank", "odd", "turned"])
    if way == "empty" or not items:
        return "empty", []
    at = chance.randrange(len(items))
    changed = {
        "shorter": items[:-1],
        "longer": [*items, "zzz"],
        "turned": items[::-1],
        "twice": [*items[:at], items[0], *items[at + 1 :]],
        "blank": [*items[:at], "", *items[at + 1 :]],
        "odd": [*items[:at], "\x00>+|\t𝔘[", *items[at + 1 :]],
    }
    return way, changed[way]


# ---------------------------------------------------------------- trying them


def try_one(use: Callable[[Path], object], path: Path) -> str:
    """What comes of using a file: the outcome, and for an internal error what it was."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            use(path)
    except EigentextError as error:
        return f"refused: {error}"
    except Exception as error:
        return f"internal error: {type(error).__name__}: {error}"
    return "answered"


def _try_seeds(model: str, good: Path, seeds: list[int], answers: Any) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
    folder = Path(tempfile.mkdtemp())
    loaded = modelfile.load(good)
    for seed in seeds:
        path = folder / "wrong"
        told = write_wrong(loaded, path, seed)
        answers.send((seed, told, None))
        answers.send((seed, told, try_one(MODELS[model][1], path)))
    answers.close()


def outcomes(
    model: str, good: Path, seeds: list[int], limit: float = 60.0
) -> list[tuple[int, str, str]]:
    """(seed, what was wrong, outcome) of each; in another process, which may die of it."""
    found = []
    left = list(seeds)
    context = multiprocessing.get_context("fork")
    while left:
        here, there = context.Pipe(duplex=False)
        worker = context.Process(target=_try_seeds, args=(model, good, left, there))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of BLAS are idle here
            worker.start()
        there.close()
        last = None
        try:
            while here.poll(limit):
                seed, told, outcome = here.recv()
                last = (seed, told)
                if outcome is not None:
                    found.append((seed, told, outcome))
                    left.remove(seed)
            worker.kill()
            worker.join()
            why = f"hung for {limit:.0f} s"
        except EOFError:
            worker.join()
            why = f"crash: signal {-(worker.exitcode or 0)}"
        if left:
            if last is None or last[0] not in left:
                raise RuntimeError(f"{model}: the worker ended before its work: {why}")
            found.append((*last, why))
            left.remove(last[0])
    return found


def _main() -> None:
    number = int(sys.argv[1])
    only = sys.argv[2:] or list(MODELS)
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for model in only:
            good = Path(folder, "good")
            MODELS[model][0](good)
            first = try_one(MODELS[model][1], good)
            if first != "answered":
                raise RuntimeError(f"{model}: {first}")
            found = outcomes(model, good, list(range(number)))
            counts = Counter(outcome.partition(":")[0] for _, _, outcome in found)
            total += counts
            print(model, dict(counts), flush=True)
            for seed, told, outcome in found:
                if not outcome.startswith(("refused", "answered")):
                    print(f"    {seed}: {told[:100]} -> {outcome[:160]}")
    print("all", dict(total))


if __name__ == "__main__":
    _main()
