"""Small models of every kind, made of the data that this package carries: for trying things out.

What is there already is not made again, whoever made it meanwhile.  The models need nothing of
each other.  They show what each model is for, not how good it can be.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eigentext import version
from eigentext.base.files.storage import reason
from eigentext.base.files.writing import scratch_folder, take_lock
from eigentext.base.modelfile import read_header
from eigentext.errors import EigentextError, StorageError

_ABOUT = {"name": "sample", "licence": "Apache-2.0"}
_ENGLISH = {**_ABOUT, "language": "en"}
_PYTHON = {"name": "documentation of Python", "licence": "PSF-2.0", "language": "en"}


def samples_folder() -> Path:
    """Where the models of this version are kept, by the XDG rule; it need not be there yet."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(cache) if os.path.isabs(cache) else Path.home() / ".cache"
    return base / "eigentext" / f"samples-{version.VERSION}"


def sample_files() -> list[list[Path]]:
    """The files of all sample models, there or not; in one list those that are made together."""
    return [[samples_folder() / name for name in names] for names in SAMPLES.values()]


def is_ready(path: Path) -> bool:
    """Whether the file is there, and whole."""
    try:
        return bool(read_header(path))
    except EigentextError:
        return False


def make_samples(files: list[Path]) -> None:
    """Make the files of one maker, unless they are there; another process that does is waited for.

    A process that ends while it makes them leaves no part of a file under its name.
    """
    folder = files[0].parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = open(folder / f".{files[0].name}.lock", "ab")  # noqa: SIM115
    except OSError as error:
        raise StorageError(str(folder), None, f"cannot be written: {reason(error)}") from error
    with lock:
        take_lock(lock, wait=True)
        if not all(map(is_ready, files)):
            maker = next(maker for maker, names in SAMPLES.items() if files[0].name in names)
            maker(folder)


def _pipeline(target: Path) -> None:
    from eigentext.datasets import write_sample
    from eigentext.pipeline import Pipeline
    from eigentext.recipes.recipe import find_recipe

    with scratch_folder() as folder:
        write_sample(folder)
        pipeline = Pipeline(**find_recipe("sample").settings)
        pipeline.fit(Path(folder, "sample", "treebank.conllu"))
    pipeline.save(target / "english.pipe", data=_ENGLISH)


def _trees() -> list[Any]:
    from eigentext.datasets import load_english
    from eigentext.language.trees.constituent import Tree

    return [
        Tree.from_brackets(line)
        for split in ("train", "dev", "test")
        for line in load_english(split)
    ]


def _constituency(target: Path) -> None:
    from eigentext.constituency import LPCFG

    LPCFG(n_states=4, per_state=15).fit(_trees()).save(target / "english.lpcfg", data=_ENGLISH)


def _dependency(target: Path) -> None:
    from eigentext.dependency import DependencyParser
    from eigentext.language.formats import conllu
    from eigentext.language.trees.heads import to_dependencies

    sentences = [
        conllu.from_dependency_tree(to_dependencies(tree), tags="xpos") for tree in _trees()
    ]
    parser = DependencyParser(tags="own", epochs=4, bits=16).fit(sentences)
    parser.save(target / "english.dep", data=_ENGLISH)


def _readings(target: Path) -> None:
    from eigentext.datasets import write_sample
    from eigentext.lexical import LexicalRanker, load_scheme
    from eigentext.lexical.documents import read_documents

    with scratch_folder() as folder:
        write_sample(folder)
        words = [str(Path(folder, "sample", "arabic.jsonl"))]
        documents = read_documents(words, load_scheme("arabic14"))
    ranker = LexicalRanker(bits=14, passes=2).fit(documents)
    ranker.save(target / "arabic.ranker", data={**_ABOUT, "language": "ar"})


def _words(target: Path) -> None:
    from eigentext.counting.counting import count
    from eigentext.datasets.python_text import sentences
    from eigentext.language.formats.text import write_sentences
    from eigentext.words.clusters.model import SpectralClusters
    from eigentext.words.embeddings.cca import CCAEmbedding

    with scratch_folder() as folder:
        text = Path(folder, "python.txt")
        write_sentences(sentences(), text)
        counts = count([str(text)], contexts="lr2", vocab_size=3000)
    SpectralClusters(60).fit(counts).save(target / "python.clusters", data=_PYTHON)
    CCAEmbedding(50).fit(counts).save(target / "python.embeddings", data=_PYTHON)


def _sequences(target: Path) -> None:
    from itertools import islice

    from eigentext.datasets.python_text import sentences
    from eigentext.sequences import HMM

    text = list(islice(sentences(), 8000))
    model = HMM(20, start="recovered", n_iter=3, vocab_size=3000).fit(text)
    model.save(target / "python.hmm", data=_PYTHON)


#: What makes which files, and their kinds; the slowest come first.
SAMPLES: dict[Callable[[Path], None], dict[str, str]] = {
    _pipeline: {"english.pipe": "pipeline"},
    _words: {"python.clusters": "clusters", "python.embeddings": "embeddings"},
    _dependency: {"english.dep": "graph-parser"},
    _sequences: {"python.hmm": "hmm"},
    _constituency: {"english.lpcfg": "lpcfg"},
    _readings: {"arabic.ranker": "lexical"},
}
