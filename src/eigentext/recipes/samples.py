"""Small models of every kind, made of the data that this package carries: for trying things out.

What is there already is not made again, so that a second call takes no time.  The models need
nothing of each other: two processes share them, since on a first run most of the time goes into
compiling.  They show what each model is for, not how good it can be.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eigentext import version
from eigentext.base.cores import available_cores
from eigentext.base.modelfile import read_header
from eigentext.base.parallel import in_order
from eigentext.errors import DataError, EigentextError

_ABOUT = {"name": "sample", "licence": "Apache-2.0"}
_ENGLISH = {**_ABOUT, "language": "en"}
_PYTHON = {"name": "documentation of Python", "licence": "PSF-2.0", "language": "en"}


def samples_folder() -> Path:
    """Where the models of this version are kept, by the XDG rule; it need not be there yet."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(cache) if os.path.isabs(cache) else Path.home() / ".cache"
    return base / "eigentext" / f"samples-{version.VERSION}"


def sample_models(
    folder: Path | None = None, say: Callable[[str], object] = lambda _: None
) -> list[Path]:
    """The files of the sample models, made if they are not there; ``say`` is told of each."""
    target = folder or samples_folder()
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(str(target), None, f"cannot be made: {error.strerror}") from error
    files = [target / name for names in SAMPLES for name in names]
    left = [names for names in SAMPLES if not all(_sound(target / name) for name in names)]
    if left:
        say(f"training sample models, once; they are kept in {target}")
    jobs = min(2, available_cores(), max(1, len(left)))
    done = len(files) - sum(map(len, left))
    for names, _ in in_order(_made, left, state=str(target), jobs=jobs, chunk=1):
        done += len(names)
        say(f"{done} of {len(files)}: {', '.join(names)}")
    return files


def _sound(path: Path) -> bool:
    try:
        return bool(read_header(path))
    except EigentextError:
        return False


def _made(target: str, tasks: list[tuple[str, ...]]) -> list[None]:
    for names in tasks:
        SAMPLES[names](Path(target))
    return [None] * len(tasks)


def _pipeline(target: Path) -> None:
    from eigentext.datasets import write_sample
    from eigentext.pipeline import Pipeline
    from eigentext.recipes.recipe import find_recipe

    with tempfile.TemporaryDirectory(prefix="eigentext-") as folder:
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

    with tempfile.TemporaryDirectory(prefix="eigentext-") as folder:
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

    with tempfile.TemporaryDirectory(prefix="eigentext-") as folder:
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


#: What makes which files; the slowest come first.
SAMPLES: dict[tuple[str, ...], Callable[[Path], None]] = {
    ("english.pipe",): _pipeline,
    ("python.clusters", "python.embeddings"): _words,
    ("english.dep",): _dependency,
    ("python.hmm",): _sequences,
    ("english.lpcfg",): _constituency,
    ("arabic.ranker",): _readings,
}
