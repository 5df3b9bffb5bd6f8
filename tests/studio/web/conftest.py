"""A client for the application, without a server in between; one pool of workers per model."""

from __future__ import annotations

import shutil
import threading
import time
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from eigentext.studio.service.app import create_app, make_pool
from eigentext.studio.service.settings import ServiceSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from starlette.testclient import TestClient

    from eigentext.studio.service.workers import WorkerPool


_PATIENCE = 120_000  # milliseconds; a busy machine is slow, not wrong
_ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"),
    *("--disable-component-update", "--disable-sync"),
]


class Connect(Protocol):
    def __call__(self, **settings: object) -> TestClient: ...


class Serve(Protocol):
    def __call__(
        self, *, pool: WorkerPool | None = None, **settings: object
    ) -> AbstractContextManager[str]: ...


@pytest.fixture(scope="session")
def workers() -> Iterator[Callable[[ServiceSettings], WorkerPool]]:
    """Workers with the models of the settings; limits go with each request, so many share them."""
    pools: dict[tuple[object, ...], WorkerPool] = {}

    def of(settings: ServiceSettings) -> WorkerPool:
        named = settings.dep_model, settings.lex_model, settings.lex_analyzer
        models = (*named, settings.pipes, settings.models)
        if models not in pools:
            pools[models] = make_pool(settings.model_copy(update={"workers": 1, "seconds": 600}))
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
def serve(workers: Callable[[ServiceSettings], WorkerPool]) -> Serve:
    """Serve an application with the given settings, in a thread; a context with its address."""
    import uvicorn

    from eigentext.studio.service.protocol import protocol

    @contextmanager
    def served(*, pool: WorkerPool | None = None, **settings: object) -> Iterator[str]:
        chosen = ServiceSettings.model_validate(settings)
        mine = pool or workers(chosen)
        if not mine.starting:  # unless that is the point, nobody is told to come again later
            mine.start()
        app = create_app(chosen, pool=mine)
        http = protocol(chosen.header_seconds, chosen.max_client_connections)
        config = uvicorn.Config(app, port=0, log_level="critical", ws="none", http=http)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.02)
        assert server.started, "the server did not start"
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        server.should_exit = True
        thread.join()

    return served


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium; with a scope of one module, since no other loop can run beside it."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=_PATIENCE)
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A fresh page; whatever it complains about is kept in `page.complaints`."""
    context = browser.new_context(viewport={"width": 1100, "height": 800})
    context.set_default_timeout(_PATIENCE)
    page = context.new_page()
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("console", lambda m: page.complaints.append(m.text) if m.type == "error" else None)
    yield page
    context.close()


@pytest.fixture(scope="module")
def address(
    serve: Serve,
    dep_model: str,
    const_model: str,
    lex_model: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """A service to annotate with: models for trees and readings. Some tests have their own."""
    store = str(tmp_path_factory.mktemp("annotations") / "a.db")
    with serve(models=(dep_model, const_model, lex_model), annotations=store) as found:
        yield found


@pytest.fixture(scope="session")
def client(connect: Connect) -> TestClient:
    """A client of the application with its default settings."""
    return connect()


@pytest.fixture(scope="session")
def dep_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A dependency parser of the sample, with taggers of its own."""
    from eigentext.datasets import load_english
    from eigentext.dependency import DependencyParser
    from eigentext.language.formats import conllu
    from eigentext.language.trees.constituent import Tree
    from eigentext.language.trees.heads import to_dependencies

    trees = [to_dependencies(Tree.from_brackets(line)) for line in load_english("train")[:150]]
    sentences = [conllu.from_dependency_tree(tree, tags="xpos") for tree in trees]
    path = tmp_path_factory.mktemp("model") / "english.dep"
    DependencyParser(tags="own", epochs=3, bits=16).fit(sentences).save(path)
    return str(path)


@pytest.fixture(scope="session")
def lex_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A ranker of the sample's readings."""
    from eigentext.datasets import write_sample
    from eigentext.lexical import LexicalRanker
    from eigentext.lexical.documents import read_documents
    from eigentext.lexical.schemes.labels import load_scheme

    folder = tmp_path_factory.mktemp("ranker")
    write_sample(folder)
    documents = read_documents([f"{folder}/sample/arabic.jsonl"], load_scheme("arabic14"))
    path = folder / "arabic.ranker"
    LexicalRanker(bits=12, passes=2).fit(documents[:50]).save(path)
    return str(path)


@pytest.fixture(scope="session")
def pipe_models(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Files of a whole pipeline, and of one that has no parser."""
    from eigentext.pipeline import Pipeline
    from helpers.toy_treebank import SMALL, sentences, toy_pipeline

    folder = tmp_path_factory.mktemp("pipes")
    whole, short = folder / "spanish-toy.pipe", folder / "spanish-short.pipe"
    about = {"language": "es", "licence": "Apache-2.0", "sources": [{"home": "https://toy.org"}]}
    toy_pipeline().save(whole, data=about)
    Pipeline(**{**SMALL, "without": ("parser",)}).fit(sentences()).save(short)
    return str(whole), str(short)


@pytest.fixture(scope="session")
def const_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A constituency parser of the sample."""
    from eigentext.constituency import LPCFG
    from eigentext.datasets import load_english
    from eigentext.language.trees.constituent import Tree

    trees = [Tree.from_brackets(line) for line in load_english("train")]
    path = tmp_path_factory.mktemp("const") / "english.lpcfg"
    LPCFG(n_states=2).fit(trees).save(path)
    return str(path)


@pytest.fixture(scope="session")
def word_models(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Files of word clusters, and of two sets of word vectors."""
    from helpers.studio_models import word_models

    return word_models(tmp_path_factory.mktemp("words"))


@pytest.fixture(scope="session")
def sequence_models(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Files of an HMM, of one as operators, of a latent tagger, and of an HMM with blocks."""
    from helpers.studio_models import sequence_models

    return sequence_models(tmp_path_factory.mktemp("sequences"))
