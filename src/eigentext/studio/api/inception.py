"""``/api/inception/RECOMMENDER/predict`` and ``/train``: proposals for work in INCEpTION.

The protocol (https://inception-project.github.io, "External recommender"): INCEpTION posts JSON
with ``metadata`` (``layer``, ``feature``, ``projectId``), ``typeSystem`` (UIMA XML) and
``document`` (``xmi``, ``documentId``, ``userId``); to ``predict`` the answer is
``{"document": XMI}`` with new annotations of the layer, in which
``inception_internal_predicted`` is true; ``train`` has ``documents`` instead of one.

The flow, in a worker: the request's CAS -> sentences and tokens of DKPro's types, and what
annotators have done in the layer, as decisions -> the rest is proposed under them -> the CAS back.
The models are those of the first pipeline.  Models that INCEpTION trains go to a folder
(``inception``), one for each recommender, each written under a temporary name; every worker takes
the newest.

Where there are accounts it takes a token, of an annotator for proposals and of an adjudicator for
models.  INCEpTION sends nothing but its URL, so that may have the token in it (`TokenInPath`).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from fastapi import Request
from starlette.responses import Response

from eigentext.errors import DataError, EigentextError, MissingExtraError, SettingsError
from eigentext.language import Doc
from eigentext.studio.service.answering import told_plainly, unless_gone, written
from eigentext.studio.service.limits import NoModelError, TooMuchError
from eigentext.studio.tasks import open_task
from eigentext.studio.tasks.records import Finished
from eigentext.studio.tasks.task import numbers_of
from eigentext.studio.tasks.texts import sentence_of_spans, tags_of_spans

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import FastAPI
    from starlette.types import ASGIApp, Receive, Scope, Send

    from eigentext.base.types import Json
    from eigentext.language import Sentence
    from eigentext.studio.service.identity import Authenticator
    from eigentext.studio.service.models import Served
    from eigentext.studio.service.settings import ServiceSettings
    from eigentext.studio.service.workers import WorkerPool
    from eigentext.studio.tasks.task import Task

_DKPRO = "de.tudarmstadt.ukp.dkpro.core.api"
SENTENCE, TOKEN = (f"{_DKPRO}.segmentation.type.{name}" for name in ("Sentence", "Token"))
PREDICTED = "inception_internal_predicted"
_FORBIDDEN = re.compile(r"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)

#: what a recommender proposes: the task, and the column of the tags task
RECOMMENDERS = {
    "pos": ("tags", "xpos"),
    "upos": ("tags", "upos"),
    "xpos": ("tags", "xpos"),
    "feats": ("tags", "feats"),
    "lemma": ("tags", "lemma"),
    "ner": ("entities", ""),
}


class _Request(NamedTuple):
    layer: str
    feature: str
    documents: list[tuple[str, Any]]  # names and CASes


def task_of(recommender: str) -> str:
    """The name of the task behind a recommender.

    >>> task_of("lemma")
    'tags'
    """
    if recommender not in RECOMMENDERS:
        names = ", ".join(RECOMMENDERS)
        raise SettingsError(f"no recommender {recommender[:60]!r}: expected one of {names}")
    return RECOMMENDERS[recommender][0]


def predict(request: Mapping[str, object], task: Task, recommender: str) -> dict[str, str]:
    """The answer to ``predict``: the document with what is proposed for the layer."""
    query = _read(request, ["document"])
    name, cas = query.documents[0]
    _check_layer(cas, query, predicting=True)
    document, places = _document(name, cas)
    decided = _decisions(cas, query, document, places, recommender)
    kind = cas.typesystem.get_type(query.layer)
    score = f"{query.feature}_score"
    has_score = kind.get_feature(score) is not None
    for number in range(len(document.sentences)):
        proposal = task.propose(document, decided, number)
        for item in proposal.items:
            if item.decided or item.value is None:
                continue
            label = _label(item.value, recommender)
            start, end = _span(item.item)
            tokens = document.sentences[number].tokens
            begin, stop = tokens[start].start, tokens[end - 1].end
            if label is None:
                continue
            fields = {"begin": begin, "end": stop, PREDICTED: True, query.feature: label}
            if has_score:
                fields[score] = float(item.certainty)
            cas.add(kind(**fields))
    return {"document": cas.to_xmi()}


def examples(request: Mapping[str, object], recommender: str) -> list[Finished]:
    """The sentences of a ``train`` request that can be learned from.

    Of tags: those in which every word has one.  Of entities: all of documents that have any.
    """
    query = _read(request, ["documents"])
    finished = []
    for name, cas in query.documents:
        _check_layer(cas, query, predicting=False)
        document, places = _document(name, cas)
        decided = _decisions(cas, query, document, places, recommender)
        if not decided:
            continue
        for number, sentence in enumerate(document.sentences):
            values = {item: value for (s, item), value in decided.items() if s == number}
            analysis = _analysis(sentence, values, recommender)
            if analysis is not None:
                finished.append(Finished(name, number, sentence, analysis))
    return finished


def _read(request: Mapping[str, object], keys: list[str]) -> _Request:
    """The request with its CASes; what is missing or cannot be read is a DataError."""
    try:
        import cassis
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "INCEpTION's documents", extra="inception", modules=["dkpro-cassis"]
        ) from error

    def text(where: Mapping[str, object], name: str) -> str:
        value = where.get(name) if isinstance(where, dict) else None
        if not isinstance(value, str) or not value:
            raise DataError("request", None, f"expected a text {name!r}")
        if _FORBIDDEN.search(value):
            raise DataError("request", None, f"{name} declares entities, which are not read")
        return value

    if not isinstance(request, dict) or not isinstance(request.get("metadata"), dict):
        raise DataError("request", None, "expected an object with metadata, typeSystem, document")
    metadata = request["metadata"]
    layer, feature = text(metadata, "layer"), text(metadata, "feature")
    listed = request.get(keys[0])
    documents = listed if isinstance(listed, list) else [listed]
    if not documents:
        raise DataError("request", None, f"expected {keys[0]}")
    read = []
    types = text(request, "typeSystem")
    for number, document in enumerate(documents):
        if not isinstance(document, dict):
            raise DataError("request", None, f"expected {keys[0]} with xmi")
        xmi = text(document, "xmi")
        try:
            typesystem = cassis.load_typesystem(types)
            cas = cassis.load_cas_from_xmi(xmi, typesystem)
        except Exception as error:  # whatever a foreign parser makes of foreign XML
            why = f"no CAS can be read: {error}"
            raise DataError("request", None, " ".join(why.split())) from error
        name = document.get("documentId")
        read.append((str(number if name is None else name), cas))
    return _Request(layer, feature, read)


def _check_layer(cas: Any, request: _Request, *, predicting: bool) -> None:
    types = cas.typesystem
    for name in (request.layer, SENTENCE, TOKEN):
        if not types.contains_type(name):
            raise DataError("request", None, f"the type system has no type {name[:100]!r}")
    needed = [request.feature, *([PREDICTED] if predicting else [])]
    for feature in needed:
        if types.get_type(request.layer).get_feature(feature) is None:
            why = f"the layer {request.layer[:100]!r} has no feature {feature[:100]!r}"
            raise DataError("request", None, why)


def _document(name: str, cas: Any) -> tuple[Doc, dict[int, tuple[int, int]]]:
    """The sentences of a CAS; where each token begins: its sentence and number."""
    text = cas.sofa_string or ""
    sentences, places = [], {}
    for number, sentence in enumerate(cas.select(SENTENCE)):
        tokens = []
        for word, token in enumerate(cas.select_covered(TOKEN, sentence)):
            form = " ".join(text[token.begin : token.end].split()) or "_"
            tokens.append((form, token.begin, token.end, ()))
            places[token.begin] = number, word
        sentences.append(sentence_of_spans(tokens))
    return Doc(text, tuple(sentences), name), places


def _decisions(
    cas: Any,
    request: _Request,
    document: Doc,
    places: Mapping[int, tuple[int, int]],
    recommender: str,
) -> dict[tuple[int, str], Any]:
    column = RECOMMENDERS[recommender][1]
    decided: dict[tuple[int, str], Any] = {}
    for annotation in cas.select(request.layer):
        value = getattr(annotation, request.feature, None)
        proposed = getattr(annotation, PREDICTED, False)  # and made by nobody
        if proposed or not value or annotation.begin not in places:
            continue
        number, word = places[annotation.begin]
        if column:
            decided[number, f"t{word}"] = {column: " ".join(str(value).split())}
            continue
        tokens = document.sentences[number].tokens
        last = next((n for n in range(word, len(tokens)) if tokens[n].end >= annotation.end), word)
        kind = "_".join(str(value).split())
        decided[number, f"e{word}-{last + 1}"] = {"type": kind}
    return decided


def _span(item: str) -> tuple[int, int]:
    start, *ends = numbers_of(item)
    return start, ends[0] if ends else start + 1


def _label(value: Mapping[str, object], recommender: str) -> str | None:
    column = RECOMMENDERS[recommender][1]
    label = value.get(column) if column else value.get("type")
    if recommender == "pos" and label in (None, "_"):
        label = value.get("upos")  # a treebank without XPOS
    return None if label in (None, "_") else str(label)


def _analysis(sentence: Sentence, values: Mapping[str, Any], recommender: str) -> Json | None:
    column = RECOMMENDERS[recommender][1]
    n = len(sentence)
    if not n:
        return None
    if not column:
        spans = []
        for item, value in values.items():
            start, end = _span(item)
            spans.append({"start": start, "end": end, "type": value["type"]})
        return {"entities": spans, "tags": tags_of_spans(n, spans)}
    if len(values) < n:
        return None
    return {column: [values[f"t{word}"][column] for word in range(n)]}


#: routes that take longer bodies than others
LARGE = tuple(
    f"/api/inception/{name}/{what}" for name in RECOMMENDERS for what in ("predict", "train")
)

_ROUTES, _TOKEN = "/api/inception/", "/api/inception/token/"


class TokenInPath:
    """Takes a token out of a path: nothing further in, and no log, has it there."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        path = scope.get("path", "")
        if scope["type"] == "http" and path.startswith(_TOKEN):
            secret, _, rest = path.removeprefix(_TOKEN).partition("/")
            # in the scope that the server has, too: it writes the path to its log
            scope["path"] = _ROUTES + rest
            scope["raw_path"] = quote(scope["path"]).encode()
            others = [pair for pair in scope["headers"] if pair[0] != b"authorization"]
            said = f"Bearer {secret}".encode("latin-1", "replace")
            scope["headers"] = [*others, (b"authorization", said)]
        await self.app(scope, receive, send)


class Recommenders:
    """The recommenders of a service, in a worker."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._tasks: dict[tuple[str, float], Task] = {}

    def predict(self, recommender: str, body: bytes, limits: ServiceSettings) -> bytes:
        """The answer to ``predict``."""
        request = _decoded(body, limits)
        task = self._task(recommender, limits)
        return json.dumps(predict(request, task, recommender)).encode()

    def train(self, recommender: str, body: bytes, limits: ServiceSettings) -> bytes:
        """Learn from the documents of ``train``; the answer is empty."""
        folder = limits.inception
        if folder is None:
            raise NoModelError(
                "this service keeps no models of INCEpTION's: start it with `--inception FOLDER`, "
                "or untick 'Trainable' in INCEpTION"
            )
        request = _decoded(body, limits)
        task_of(recommender)
        sentences = examples(request, recommender)
        if not sentences:
            raise DataError("request", None, "no sentence is annotated throughout")
        model = open_task(task_of(recommender)).train(sentences)
        Path(folder).mkdir(parents=True, exist_ok=True)
        model.save(_path(folder, recommender))
        return b""

    def _task(self, recommender: str, limits: ServiceSettings) -> Task:
        name = task_of(recommender)
        if limits.inception is not None:
            path = _path(limits.inception, recommender)
            if path.exists():
                key = recommender, path.stat().st_mtime
                if key not in self._tasks:
                    self._tasks = {k: v for k, v in self._tasks.items() if k[0] != recommender}
                    self._tasks[key] = open_task(name, path)
                return self._tasks[key]
        pipeline = self._served.get("pipeline")
        task = open_task(name, pipeline)
        if task.model is None:
            raise NoModelError(f"the pipeline of this service has no model for {recommender!r}")
        return task


def _path(folder: str, recommender: str) -> Path:
    return Path(folder) / f"{recommender}.model"


def _decoded(body: bytes, limits: ServiceSettings) -> Any:
    if len(body) > limits.max_pipe_body_bytes:
        raise TooMuchError(f"at most {limits.max_pipe_body_bytes:,} bytes are read")
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise DataError("request", None, f"expected JSON: {error}") from error


def add_inception(
    app: FastAPI, limits: ServiceSettings, pool: WorkerPool, authenticator: Authenticator
) -> None:
    """Add the routes; INCEpTION's remote URL is ``/api/inception/ner`` and the like."""

    def add(job: str, action: str) -> None:
        @app.post(f"/api/inception/{{recommender}}/{job}", include_in_schema=False)
        async def inception(call: Request, recommender: str) -> Response:
            try:
                identity = await authenticator.identify(call)
                identity.require(action)
                body = await call.body()
                work = pool.run(f"inception/{job}", recommender, body, limits)
                answer = await unless_gone(call, work)
            except EigentextError as error:
                return told_plainly(error)
            return written(answer) if answer else Response(status_code=204)

    add("predict", "model.propose")  # INCEpTION asks for proposals
    add("train", "model.retrain")  # it sends what was annotated
