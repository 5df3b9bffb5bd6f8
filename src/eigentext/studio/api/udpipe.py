"""The REST interface of UDPipe (``/models``, ``/process``), for clients that speak it.

What it is: https://lindat.mff.cuni.cz/services/udpipe/api-reference.php.  Parameters come in the
address or in a form (URL-encoded or multipart).  ``tokenizer``, ``tagger`` and ``parser`` are
asked for by being there, even when they are empty; what they hold are options, ``;`` between them:

* ``tokenizer``: ``presegmented`` (a sentence a line), ``ranges`` (``TokenRange`` in MISC),
  ``normalized_spaces`` (no ``SpacesAfter`` and the like)
* ``input``: ``conllu`` unless the tokenizer is asked for, ``horizontal`` (words with blanks
  between them, a sentence a line), ``vertical`` (a word a line, an empty line after a sentence),
  ``generic_tokenizer`` (here the model's own)
* ``output``: ``conllu``, ``horizontal``, ``vertical`` (both with the option ``paragraphs``),
  ``plaintext`` (with ``normalized_spaces``), ``matxin``, ``epe``

Options of the tagger and the parser are passed over.  Errors are plain text.
"""

from __future__ import annotations

import json
from dataclasses import replace
from email.parser import BytesParser
from email.policy import HTTP
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from fastapi import Request
from starlette.responses import JSONResponse, Response

from eigentext.errors import DataError, EigentextError, SettingsError
from eigentext.language.doc import Doc
from eigentext.language.formats.conllu import make_sentence, parse_sentences
from eigentext.studio.api.pipes import STAGES
from eigentext.studio.service.answering import told_plainly, unless_gone, written
from eigentext.studio.service.limits import check_length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fastapi import FastAPI

    from eigentext.base.types import Json
    from eigentext.language.formats import conllu
    from eigentext.language.sentence import Sentence
    from eigentext.language.token import Word
    from eigentext.studio.api.pipes import Pipes
    from eigentext.studio.service.settings import ServiceSettings
    from eigentext.studio.service.workers import WorkerPool


class Process(NamedTuple):
    """What a client asks for; None: it does not."""

    data: str
    model: str | None = None
    tokenizer: str | None = None
    tagger: str | None = None
    parser: str | None = None
    input: str | None = None
    output: str | None = None

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> Process:
        """Of the fields of an address or a form; those that nobody knows are passed over."""
        if "data" not in fields:
            raise SettingsError("Required argument 'data' is missing.")
        return cls(**{name: fields[name] for name in cls._fields if name in fields})


# ---------------------------------------------------------------- fields


def fields_of(query: bytes, content_type: str, body: bytes) -> dict[str, str]:
    r"""The fields of a request; those of the body go before those of the address.

    >>> fields_of(b"model=en&tokenizer", "", b"")
    {'model': 'en', 'tokenizer': ''}
    >>> form = b'--x\r\nContent-Disposition: form-data; name="data"\r\n\r\nHi\n\r\n--x--\r\n'
    >>> fields_of(b"", "multipart/form-data; boundary=x", form)
    {'data': 'Hi\n'}
    """
    fields = _pairs(query)
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        fields |= _parts(content_type, body)
    elif kind == "application/x-www-form-urlencoded":
        fields |= _pairs(body)
    elif body.strip():
        raise SettingsError(f"Content-Type {kind or 'none'}, expected a form")
    return fields


def _pairs(encoded: bytes) -> dict[str, str]:
    try:
        text = encoded.decode("ascii")
        return dict(parse_qsl(text, keep_blank_values=True, errors="strict"))
    except ValueError as error:
        raise SettingsError("The arguments are not valid UTF-8.") from error


def _parts(content_type: str, body: bytes) -> dict[str, str]:
    head = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1", "replace")
    message = BytesParser(policy=HTTP).parsebytes(head + body)
    if not message.is_multipart():
        raise SettingsError("The form cannot be read: expected multipart/form-data.")
    fields = {}
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if not isinstance(name, str) or not isinstance(content, bytes):
            raise SettingsError("The form cannot be read: a part has no name.")
        try:
            fields[name] = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise SettingsError(f"The argument '{name}' is not valid UTF-8.") from error
    return fields


def _options(value: str | None) -> frozenset[str]:
    """The options of a stage; ``name=value`` stays whole."""
    return frozenset(item.strip() for item in (value or "").split(";") if item.strip())


def _format(value: str | None, default: str) -> tuple[str, frozenset[str]]:
    """A format and its options: ``horizontal=paragraphs``."""
    name, _, options = (value or default).partition("=")
    return name, _options(options)


# ---------------------------------------------------------------- in a worker


def process(pipes: Pipes, request: Process, limits: ServiceSettings) -> bytes:
    """The answer, as JSON."""
    name = pipes.chosen(request.model)
    facts = pipes.facts[name]
    stages = [STAGES[stage] for stage in facts.can if stage in STAGES]
    check_length(request.data, limits.max_pipe_characters)
    for stage in ("tokenizer", "tagger", "parser"):
        if getattr(request, stage) is not None and stage not in stages:
            raise SettingsError(f"The model '{name}' has no {stage}.")
    output, options = _format(request.output, "conllu")
    if output not in WRITERS:
        raise SettingsError(f"Unknown output format '{output}'.")
    doc, said = _annotated(pipes, name, request)
    result = WRITERS[output](doc, options | said)
    answer = {"model": name, "acknowledgements": list(facts.homes), "result": result}
    return json.dumps(answer, ensure_ascii=False).encode()


def _annotated(pipes: Pipes, name: str, request: Process) -> tuple[Doc, frozenset[str]]:
    """The Doc with what was asked for, and the options of the tokenizer."""
    tags, trees = request.tagger is not None, request.parser is not None
    source, options = _format(request.input, "conllu")
    if request.tokenizer is not None or source == "generic_tokenizer":
        options |= _options(request.tokenizer)
        # a parser goes by tags, whether they are wanted or not
        part = pipes.part(name, tagger=tags or trees, parser=trees)
        doc = part(request.data, keep="sentences" if "presegmented" in options else None)
        return (doc if tags else _without_tags(doc)), options
    if source not in READERS:
        raise SettingsError(f"Unknown input format '{source}'.")
    part = pipes.part(name, tagger=tags, parser=trees)
    try:
        sentences = list(READERS[source](request.data))
    except DataError as error:
        where = "" if error.line is None else f" at line {error.line}"
        raise SettingsError(f"Cannot read the data as {source}{where}: {error.why}") from error
    doc = Doc.from_conllu(sentences)
    return part(doc, keep="words" if tags else "tags"), frozenset()


def _without_tags(doc: Doc) -> Doc:
    blank = dict.fromkeys(("lemmas", "upos", "xpos", "feats"))
    return replace(doc, sentences=tuple(each.with_columns(**blank) for each in doc.sentences))


_NO_BREAK = "\u00a0"  # a blank inside a word, where blanks are between words
_QUOTE = {'"': "&quot;"}


def _horizontal(data: str) -> Iterator[conllu.ConlluBlock]:
    for line in data.splitlines():
        if words := [word.replace(_NO_BREAK, " ").strip() for word in line.split(" ")]:
            yield from _sentence(words)


def _vertical(data: str) -> Iterator[conllu.ConlluBlock]:
    words: list[str] = []
    for line in [*data.split("\n"), ""]:
        word = line.partition("\t")[0].replace(_NO_BREAK, " ").strip()
        if word:
            words.append(word)
        else:
            yield from _sentence(words)
            words = []


def _sentence(words: list[str]) -> Iterator[conllu.ConlluBlock]:
    if spoken := [" ".join(word.split()) for word in words if word]:
        yield make_sentence(spoken)


READERS: dict[str, Callable[[str], Iterator[conllu.ConlluBlock]]] = {
    "conllu": lambda data: iter(parse_sentences(data) if data.strip() else ()),
    "horizontal": _horizontal,
    "vertical": _vertical,
}


def _as_conllu(doc: Doc, options: frozenset[str]) -> str:
    if "normalized_spaces" in options:
        doc = replace(doc, sentences=tuple(map(_normalised, doc.sentences)))
    return doc.to_conllu(offsets="ranges" in options) if doc.sentences else ""


def _normalised(sentence: Sentence) -> Sentence:
    """Without what MISC says of white space, but for SpaceAfter=No."""
    tokens = []
    for token in sentence.tokens:
        kept = [item for item in token.misc.split("|") if not item.startswith("Spaces")]
        tokens.append(token._replace(misc="|".join(kept) or "_"))
    return replace(sentence, tokens=tokens)


def _in_lines(line: Callable[[Sentence], str], doc: Doc, options: frozenset[str]) -> str:
    """What is said of each sentence, with an empty line where a paragraph begins."""
    paragraphs = "paragraphs" in options
    return "".join(
        ("\n" if paragraphs and number and sentence.new_paragraph else "") + line(sentence)
        for number, sentence in enumerate(doc.sentences)
    )


def _line_of(sentence: Sentence) -> str:
    return " ".join(form.replace(" ", _NO_BREAK) for form in sentence.forms) + "\n"


def _as_text(doc: Doc, options: frozenset[str]) -> str:
    if "normalized_spaces" not in options:
        return doc.text
    return _in_lines(lambda sentence: f"{sentence.text}\n", doc, frozenset({"paragraphs"}))


def _as_matxin(doc: Doc, options: frozenset[str]) -> str:
    """Trees as XML; a sentence without heads is empty."""
    blocks = []
    for number, sentence in enumerate(doc.sentences, start=1):
        words = sentence.words
        below: dict[int | None, list[Word]] = {}
        for word in words:
            below.setdefault(word.head, []).append(word)
        lines = [f'<SENTENCE ord="{number}" alloc="0">\n']
        pending = [(word, 1, False) for word in reversed(below.get(0, []))]
        while pending:  # no recursion: a tree may be as deep as its sentence is long
            word, depth, closing = pending.pop()
            pad = " " * depth
            if closing:
                lines.append(f"{pad}</NODE>\n")
                continue
            children = below.get(word.id, [])
            lines.append(f"{pad}<NODE {_node(word)}{'' if children else '/'}>\n")
            if children:
                pending.append((word, depth, True))
                pending += [(child, depth + 1, False) for child in reversed(children)]
        blocks.append("".join([*lines, "</SENTENCE>\n"]))
    whole = "\n".join(blocks)
    return f"<corpus>\n{whole}</corpus>\n" if blocks else "</corpus>\n"


def _node(word: Word) -> str:
    feats = "" if word.feats == "_" else word.feats
    said = {"form": word.form, "lem": word.lemma, "mi": feats, "si": word.deprel}
    cells = (f'{name}="{escape(value, _QUOTE)}"' for name, value in said.items())
    return f'ord="{word.id}" alloc="0" {" ".join(cells)}'


def _as_epe(doc: Doc, options: frozenset[str]) -> str:
    """The graphs of the EPE shared task: a line of JSON for each sentence."""
    lines = []
    for number, sentence in enumerate(doc.sentences, start=1):
        words = sentence.words
        nodes = []
        for word in words:
            node: Json = {"id": word.id, "form": word.form}
            if word.head == 0:
                node["top"] = True
            tags = {"upos": word.upos, "xpos": word.xpos}
            node["properties"] = {
                "lemma": word.lemma,
                **{name: "" if value == "_" else value for name, value in tags.items()},
                **{name: value for name, value in word.features.items() if value},
            }
            edges = [
                {"label": child.deprel, "target": child.id}
                for child in words
                if child.head == word.id
            ]
            nodes.append(node | ({"edges": edges} if edges else {}))
        graph = {"id": number, "nodes": nodes}
        lines.append(json.dumps(graph, ensure_ascii=False, separators=(", ", ":")) + "\n")
    return "".join(lines)


WRITERS: dict[str, Callable[[Doc, frozenset[str]], str]] = {
    "conllu": _as_conllu,
    "horizontal": partial(_in_lines, _line_of),
    "vertical": partial(
        _in_lines, lambda each: "".join(f"{form}\n" for form in (*each.forms, ""))
    ),
    "plaintext": _as_text,
    "matxin": _as_matxin,
    "epe": _as_epe,
}

#: the routes of pipelines that take longer bodies than others
LARGE = ("/api/pipe", "/process")


def add_udpipe(app: FastAPI, limits: ServiceSettings, pool: WorkerPool) -> None:
    """Add the routes."""

    @app.api_route("/models", methods=["GET", "POST"], include_in_schema=False)
    async def models() -> Response:
        """UDPipe's list of models."""
        listed = {
            pipe.name: [STAGES[stage] for stage in pipe.can if stage in STAGES]
            for pipe in pool.known.of("pipeline")
        }
        return JSONResponse({"models": listed, "default_model": next(iter(listed), "")})

    @app.api_route("/process", methods=["GET", "POST"], include_in_schema=False)
    async def process(call: Request) -> Response:
        """UDPipe's way to annotate."""
        try:
            fields = fields_of(
                call.scope["query_string"], call.headers.get("Content-Type", ""), await call.body()
            )
            request = Process.of(fields)
            return written(await unless_gone(call, pool.run("udpipe", request, limits)))
        except EigentextError as error:
            return told_plainly(error)
