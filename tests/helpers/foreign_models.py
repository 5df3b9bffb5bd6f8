"""A small model of every kind, its use, and files that are wrong in one place each.

``python tests/helpers/foreign_models.py 200`` tries 200 wrong files of every model and prints how
each sort of outcome was met: ``refused`` (an error of ours: exit code 2), ``answered``, ``internal
error`` (any other exception) or ``crash`` (the process died).
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
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from eigentext.base import modelfile
from eigentext.errors import EigentextError
from eigentext.formats.conllu import make_sentence

_TEXT = [
    line.split()
    for line in (
        "the dog saw a cat .",
        "a cat saw the dog .",
        "the old dog ran .",
        "Mary saw John .",
        "a bird sang .",
        "the cat ran .",
    )
] * 4
_BITS = {"the": "00", "a": "00", "dog": "010", "cat": "010", "saw": "10", "ran": "11"}
_TREES = [
    make_sentence(
        ["the", "dog", "saw", "a", "cat"],
        upos=["DET", "NOUN", "VERB", "DET", "NOUN"],
        xpos=["DT", "NN", "VBD", "DT", "NN"],
        head=[2, 3, 0, 5, 3],
        deprel=["det", "nsubj", "root", "det", "obj"],
    ),
    make_sentence(
        ["Mary", "ran"],
        upos=["PROPN", "VERB"],
        xpos=["NNP", "VBD"],
        head=[2, 0],
        deprel=["nsubj", "root"],
    ),
    make_sentence(
        ["old", "dogs", "ran", "home"],
        upos=["ADJ", "NOUN", "VERB", "ADV"],
        xpos=["JJ", "NNS", "VBD", "RB"],
        head=[2, 3, 0, 3],
        deprel=["amod", "nsubj", "root", "advmod"],
    ),
] * 6
_SENTENCE = ["the", "dog", "Mary", "sang", "cat"]
_UPOS = ["DET", "NOUN", "PROPN", "VERB", "NOUN"]
_TAGGED = (
    [["we", "met", "Ann", "today"], ["Bob", "met", "us"], ["we", "ran"]] * 5,
    [["O", "O", "B-PER", "O"], ["B-PER", "O", "O"], ["O", "O"]] * 5,
)


# ---------------------------------------------------------------- models


def _graph_parser(path: Path) -> None:
    from eigentext.dependency import DependencyParser

    near = {"dog": [1.0, 0.0], "cat": [0.9, 0.1], "ran": [0.0, 1.0]}
    settings = {"order": 2, "grandparents": True, "epochs": 1, "bits": 10}
    DependencyParser(**settings, clusters=_BITS, vectors=near, labels=False).fit(_TREES).save(path)


def _graph_parser_own(path: Path) -> None:
    from eigentext.dependency import DependencyParser

    parser = DependencyParser(order=1, epochs=1, tags="own", bits=10).fit(_TREES)
    found = parser.relations_
    parser.relations_ = replace(  # fewer weights make a smaller file
        found,
        settings=replace(found.settings, bits=10),
        weights=found.weights[: (1 << 10) + len(found.relations)],
    )
    parser.save(path)


def _use_graph_parser(path: Path) -> None:
    from eigentext.dependency import DependencyParser

    parser = DependencyParser.load(path)
    upos = None if parser.tags == "own" else _UPOS
    parser.parse(_SENTENCE, upos=upos)
    parser.kbest(_SENTENCE, upos=upos, k=2)
    if parser.order == 1:
        parser.marginals(_SENTENCE, upos=upos)


def _latent_tree(path: Path) -> None:
    from eigentext.dependency.latent.model import LatentTreeModel
    from eigentext.trees.dependency import DependencyTree

    trees = [DependencyTree(s.forms, s.heads, tags=s.column("upos")) for s in _TREES]
    LatentTreeModel(6, n_iter=1, n_models=2, structure="valence").fit(trees).save(path)


def _use_latent_tree(path: Path) -> None:
    from eigentext.dependency.latent.inspection import states_of
    from eigentext.dependency.latent.model import LatentTreeModel
    from eigentext.trees.dependency import DependencyTree

    model = LatentTreeModel.load(path)
    tree = DependencyTree(_SENTENCE, [2, 4, 4, 0, 4], tags=_UPOS)
    model.log_prob(tree)
    model.posteriors(tree)
    model.sample([2, 0], seed=1)
    list(states_of(model, top=2))


def _generative(path: Path) -> None:
    from eigentext.dependency.generative.parser import GenerativeParser

    GenerativeParser(n_states=2, n_iter=1, min_count=1, per_state=1).fit(_TREES).save(path)


def _use_generative(path: Path) -> None:
    from eigentext.dependency.generative.parser import GenerativeParser

    parser = GenerativeParser.load(path)
    parser.parse(_SENTENCE, _UPOS)
    parser.parse(_SENTENCE, _UPOS, decoder="viterbi")
    parser.log_probs(_SENTENCE, _UPOS, None, [[2, 4, 4, 0, 4]])


def _reranker(path: Path) -> None:
    from eigentext.dependency.rerank.lists import KBestLists
    from eigentext.dependency.rerank.reranker import Reranker

    heads = {5: [[2, 3, 0, 5, 3], [3, 3, 0, 5, 3]], 2: [[2, 0], [0, 1]]}
    heads[4] = [[2, 3, 0, 3], [3, 3, 0, 3]]
    lists = KBestLists.of([(heads[len(s.forms)], [2.0, 1.0]) for s in _TREES])
    experts = ("latent", "generative", "valence")
    settings = {"latent": {"n_states": 6, "n_iter": 1}, "generative": {"n_states": 1, "n_iter": 0}}
    Reranker(experts=experts, kbest=2, folds=2, **settings).fit(_TREES, lists=lists).save(path)


def _use_reranker(path: Path) -> None:
    from eigentext.dependency.graph.answer import Parse
    from eigentext.dependency.rerank.reranker import Reranker
    from eigentext.trees.dependency import DependencyTree

    parses = [
        Parse(DependencyTree(_SENTENCE, heads, tags=_UPOS), 1.0)
        for heads in ([2, 4, 4, 0, 4], [2, 0, 2, 2, 4])
    ]
    Reranker.load(path).choose(make_sentence(_SENTENCE, upos=_UPOS), parses)


def _kbest_lists(path: Path) -> None:
    from eigentext.dependency.rerank.lists import KBestLists

    lists = KBestLists.of([([[0, 1], [2, 0]], [3.0, 1.0]), ([[0]], [0.5])])
    lists.made_with = {"k": 2}
    lists.save(path)


def _use_kbest_lists(path: Path) -> None:
    from eigentext.dependency.rerank.lists import KBestLists

    lists = KBestLists.load(path)
    for number in range(len(lists)):
        lists[number].heads.tolist()
    KBestLists.joined([lists, lists]).cut(1)
    lists.best_places([[0] * int(length) for length in lists.lengths])


def _tagger(path: Path) -> None:
    from eigentext.tagging import SequenceTagger

    vectors = {"Ann": [1.0, 0.0], "Bob": [0.9, 0.1], "met": [0.0, 1.0]}
    SequenceTagger(epochs=2, clusters=_BITS, vectors=vectors).fit(*_TAGGED).save(path)


def _use_tagger(path: Path) -> None:
    from eigentext.tagging import SequenceTagger

    tagger = SequenceTagger.load(path)
    tagger.predict([["we", "met", "Ann", "xyz"], ["Bob"]])


def _trees() -> list[Any]:
    from eigentext.datasets import load_english
    from eigentext.trees.constituent import Tree

    return [Tree.from_brackets(line) for line in load_english("train")][:40]


def _lpcfg(path: Path) -> None:
    from eigentext.constituency import LPCFG
    from eigentext.constituency.word_classes import WordClasses
    from eigentext.formats.brown_paths import PathEntry

    classes = WordClasses.from_paths(PathEntry(bits, word, 1) for word, bits in _BITS.items())
    LPCFG(n_states=2).fit(_trees(), classes=classes).save(path)


def _lpcfg_mixed(path: Path) -> None:
    from eigentext.constituency import LPCFG

    LPCFG(n_states=2, n_models=2).fit(_trees()).save(path)


def _use_lpcfg(path: Path) -> None:
    from eigentext.constituency import LPCFG
    from eigentext.constituency.inspection import nonterminals, rules_by_probability, states_of

    parser = LPCFG.load(path)
    found = parser.parse(["The", "farmer", "sold", "the", "xyzzy", "."], kbest=2, marginals=True)
    if parser.n_models == 1:
        parser.parse(["The", "farmer", "sold", "."], decoder="viterbi")
    parser.parse(["Yes"])
    parser.log_prob(found.tree)
    parser.sentence_log_prob(["The", "farmer", "sold", "."])
    list(rules_by_probability(parser.grammar_, top=2))
    for one in list(nonterminals(parser.grammar_))[:2]:
        list(states_of(parser.grammar_, one.label, top=2))


def _hmm(path: Path) -> None:
    from eigentext.sequences import HMM

    HMM(2, start="random", n_iter=1, n_starts=2).fit(_TEXT).save(path)


def _use_hmm(path: Path) -> None:
    from eigentext.sequences import HMM

    model = HMM.load(path)
    model.predict([_SENTENCE])
    model.perplexity([_SENTENCE])
    model.sample(1, 4)


def _spectral_hmm(path: Path) -> None:
    from eigentext.sequences import SpectralHMM

    SpectralHMM(2).fit(_TEXT).save(path)


def _spectral_hmm_fru(path: Path) -> None:
    from eigentext.sequences import SpectralHMM

    SpectralHMM(2, estimator="fru").fit(_TEXT).save(path)


def _use_spectral_hmm(path: Path) -> None:
    from eigentext.sequences import SpectralHMM

    model = SpectralHMM.load(path)
    model.perplexity([_SENTENCE])
    model.next_symbols([_SENTENCE])
    model.raw_probability([_SENTENCE])
    model.sample(1, 4)


def _latent_tagger(path: Path) -> None:
    from eigentext.sequences import LatentTagger

    X, y = [s.forms for s in _TREES], [s.column("upos") for s in _TREES]
    LatentTagger(n_states=2, n_models=2).fit(X, y).save(path)


def _use_latent_tagger(path: Path) -> None:
    from eigentext.sequences import LatentTagger

    tagger = LatentTagger.load(path)
    tagger.analyse(_SENTENCE, kbest=2)
    tagger.marginals(_SENTENCE)
    tagger.predict([_SENTENCE, ["ran"]])
    tagger.log_prob(_SENTENCE)


def _counts(path: Path) -> None:
    from eigentext.corpus.counting import count_sentences

    count_sentences(_TEXT, contexts="lr2").save(path)


def _use_counts(path: Path) -> None:
    from eigentext.corpus.counts import Counts
    from eigentext.words.embeddings.cca import cca_embeddings
    from eigentext.words.settings import CCASettings

    counts = Counts.load(path)
    counts + counts
    cca_embeddings(counts, CCASettings(2), on_rank="warn")


def _clusters(path: Path) -> None:
    from eigentext.words import SpectralClusters

    SpectralClusters(3).fit(_TEXT).save(path)


def _use_clusters(path: Path) -> None:
    from eigentext.words import SpectralClusters
    from eigentext.words.clusters.model import read_clusters

    model = SpectralClusters.load(path)
    model.transform(_SENTENCE)
    model.write_paths(f"{path}.paths")
    model.assign(_TEXT[:2])
    read_clusters(str(path))


def _class_bigram(path: Path) -> None:
    from eigentext.words.lm.class_bigram import ClassBigram

    ClassBigram(_BITS).fit(_TEXT).save(path)


def _use_class_bigram(path: Path) -> None:
    from eigentext.words.lm.class_bigram import ClassBigram

    model = ClassBigram.load(path)
    model.perplexity([_SENTENCE])
    model.distribution("the")
    model.sample(1, longest=5)


def _embeddings(path: Path) -> None:
    from eigentext.words import CCAEmbedding

    CCAEmbedding(4).fit(_TEXT).save(path)


def _use_embeddings(path: Path) -> None:
    from eigentext.words import CCAEmbedding

    model = CCAEmbedding.load(path)
    model.neighbours("dog", 2)
    model.transform([["dog", "xyzzy"]])
    model.embeddings_.export(f"{path}.txt")


def _lrmvl(path: Path) -> None:
    from eigentext.words import LRMVL

    LRMVL(4).fit(_TEXT).save(path)


def _use_lrmvl(path: Path) -> None:
    from eigentext.words import LRMVL

    model = LRMVL.load(path)
    model.transform([_SENTENCE])
    model.embeddings_.neighbours("dog", 2)


def _learned_analyzer(path: Path) -> None:
    from eigentext.lexical.analyzers.learned import LearnedAnalyzer

    LearnedAnalyzer.fit(_TREES).save(path)


def _use_learned_analyzer(path: Path) -> None:
    from eigentext.lexical.analyzers.learned import LearnedAnalyzer

    analyzer = LearnedAnalyzer.load(path)
    for word in ("dog", "cats", "Ran", "2000"):
        analyzer.analyse(word)


def _lexical(path: Path) -> None:
    from eigentext.lexical import LexicalRanker, load_scheme
    from eigentext.lexical.documents import Document, Word

    scheme = load_scheme("arabic14")

    def word(form: str, pos: str) -> Word:
        return Word(form, scheme.from_mapping({"lemma": form, "pos": pos, "det": "0"}))

    text = [Document(f"d{i}", [[word("من", "P"), word("علم", "N")]]) for i in range(4)]
    LexicalRanker(scheme=scheme, bits=10, passes=2, clusters={"من": "01"}).fit(text).save(path)


def _use_lexical(path: Path) -> None:
    from eigentext.lexical import LexicalRanker

    LexicalRanker.load(path).rank(["من", "علم", "كتب"])


# name: how it is made, and how it is used
MODELS: dict[str, tuple[Callable[[Path], None], Callable[[Path], None]]] = {
    "class-bigram": (_class_bigram, _use_class_bigram),
    "clusters": (_clusters, _use_clusters),
    "counts": (_counts, _use_counts),
    "dependency-generative": (_generative, _use_generative),
    "dependency-reranker": (_reranker, _use_reranker),
    "embeddings": (_embeddings, _use_embeddings),
    "graph-parser": (_graph_parser, _use_graph_parser),
    "graph-parser with taggers": (_graph_parser_own, _use_graph_parser),
    "hmm": (_hmm, _use_hmm),
    "kbest-lists": (_kbest_lists, _use_kbest_lists),
    "latent-tagger": (_latent_tagger, _use_latent_tagger),
    "latent-tree": (_latent_tree, _use_latent_tree),
    "learned-analyzer": (_learned_analyzer, _use_learned_analyzer),
    "lexical": (_lexical, _use_lexical),
    "lpcfg": (_lpcfg, _use_lpcfg),
    "lpcfg of moments": (_lpcfg_mixed, _use_lpcfg),
    "lrmvl": (_lrmvl, _use_lrmvl),
    "spectral-hmm": (_spectral_hmm, _use_spectral_hmm),
    "spectral-hmm reduced": (_spectral_hmm_fru, _use_spectral_hmm),
    "tagger": (_tagger, _use_tagger),
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


def try_one(use: Callable[[Path], None], path: Path) -> str:
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
