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
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl

from eigentext.errors import DataError, SettingsError
from eigentext.language.doc import Doc
from eigentext.studio.api.pipes import STAGES, check_size
from eigentext.studio.api.udpipe_formats import READERS, WRITERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eigentext.studio.api.pipes import Pipes
    from eigentext.studio.service.settings import ServiceSettings


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
    check_size(request.data, limits)
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
        place = "" if error.line is None else f" at line {error.line}"
        raise SettingsError(f"Cannot read the data as {source}{place}: {error.why}") from error
    doc = Doc.from_conllu(sentences)
    return part(doc, keep="words" if tags else "tags"), frozenset()


def _without_tags(doc: Doc) -> Doc:
    blank = dict.fromkeys(("lemmas", "upos", "xpos", "feats"))
    return replace(doc, sentences=tuple(each.with_columns(**blank) for each in doc.sentences))
