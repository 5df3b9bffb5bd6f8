"""A client for the application, without a server in between; one pool of workers per model."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Protocol

import pytest

from eigentext.web.app import create_app, make_pool
from eigentext.web.settings import ServiceSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.testclient import TestClient

    from eigentext.web.workers import WorkerPool


class Connect(Protocol):
    def __call__(self, **settings: object) -> TestClient: ...


@pytest.fixture(scope="session")
def workers() -> Iterator[Callable[[ServiceSettings], WorkerPool]]:
    """Workers with the models of the settings; limits go with each request, so many share them."""
    pools: dict[tuple[str | None, ...], WorkerPool] = {}

    def of(settings: ServiceSettings) -> WorkerPool:
        models = settings.dep_model, settings.lex_model, settings.lex_analyzer
        if models not in pools:
            pools[models] = make_pool(settings.model_copy(update={"workers": 1}))
        return pools[models]

    yield of
    for pool in pools.values():
        pool.close()


@pytest.fixture(scope="session")
def connect(workers: Callable[[ServiceSettings], WorkerPool]) -> Connect:
    """Make a client of an application with the given settings."""
    with warnings.catch_warnings():
        # newer starlettes would rather have httpx's successor; either will do
        warnings.filterwarnings("ignore", message="Using `httpx` with `starlette.testclient`")
        from starlette.testclient import TestClient

    def make(**settings: object) -> TestClient:
        chosen = ServiceSettings.model_validate(settings)
        return TestClient(create_app(chosen, pool=workers(chosen)))

    return make


@pytest.fixture(scope="session")
def client(connect: Connect) -> TestClient:
    """A client of the application with its default settings."""
    return connect()


@pytest.fixture(scope="session")
def dep_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A dependency parser of the sample, with taggers of its own."""
    from eigentext.datasets import load_english
    from eigentext.dependency import GraphParser
    from eigentext.formats import conllu
    from eigentext.trees.const_to_dep import to_dependencies
    from eigentext.trees.constituent import Tree

    trees = [to_dependencies(Tree.from_brackets(line)) for line in load_english("train")[:150]]
    sentences = [conllu.from_dependency_tree(tree, tags="xpos") for tree in trees]
    path = tmp_path_factory.mktemp("model") / "english.dep"
    GraphParser(tagger="own", epochs=3, bits=16).fit(sentences).save(path)
    return str(path)


@pytest.fixture(scope="session")
def lex_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A ranker of the sample's readings."""
    from eigentext.datasets import write_sample
    from eigentext.lexical import LexicalRanker
    from eigentext.lexical.labels import load_scheme
    from eigentext.lexical.reading import read_documents

    folder = tmp_path_factory.mktemp("ranker")
    write_sample(folder)
    documents = read_documents([f"{folder}/sample/arabic.jsonl"], load_scheme("arabic14"))
    path = folder / "arabic.ranker"
    LexicalRanker(bits=12, passes=2).fit(documents[:50]).save(path)
    return str(path)
