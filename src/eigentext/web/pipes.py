"""``POST /api/pipe``: raw text in, everything the pipeline knows of it out.

The flow, in a worker: a name -> its pipeline, loaded once -> a `Doc` -> JSON, and arc diagrams of
the first sentences where they are wanted.  `udpipe` asks the same pipelines in another language.
"""

from __future__ import annotations

import copy
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from eigentext.drawing.arcs import arcs_svg
from eigentext.errors import SettingsError
from eigentext.web.limits import NoModelError, TooMuchError
from eigentext.web.schemas import PipeAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.pipeline import Doc, Pipeline
    from eigentext.pipeline.doc import DocSentence
    from eigentext.web.schemas import PipeRequest
    from eigentext.web.settings import ServiceSettings

__all__ = ["PipeFacts", "Pipes"]

_WIDTH = 960.0  # of a row of words; longer sentences are broken
_NAMES = {"segmenter": "tokenizer", "morphology": "tagger", "parser": "parser"}  # UDPipe's


class PipeFacts(NamedTuple):
    """What is known of a pipeline: its name, what it can do, and what it is made of."""

    name: str
    stages: tuple[str, ...]  # of tokenizer, tagger, parser
    language: str
    licence: str
    homes: tuple[str, ...]  # of the data it learned from


class Pipes:
    """The pipelines of a service, by name; the first is the default."""

    def __init__(self, models: Sequence[str]) -> None:
        self.pipelines: dict[str, Pipeline] = {}
        self.facts: dict[str, PipeFacts] = {}
        self._parts: dict[tuple[str, bool, bool], Pipeline] = {}
        for model in models:
            self._load(model)

    def _load(self, model: str) -> None:
        from eigentext.base.modelfile import read_header
        from eigentext.pipeline import Pipeline

        name = PurePath(model).name.partition(".")[0]
        if name in self.pipelines:
            raise SettingsError(f"two pipelines are called {name}: rename one of the files")
        pipeline = Pipeline.load(model)
        about = read_header(model).data
        sources = about.get("sources")
        homes = [str(each.get("home")) for each in sources or () if each.get("home")]
        self.pipelines[name] = pipeline
        self.facts[name] = PipeFacts(
            name,
            tuple(_NAMES[each] for each in _NAMES if getattr(pipeline, f"{each}_") is not None),
            str(about.get("language") or ""),
            str(about.get("licence") or ""),
            tuple(homes),
        )
        if pipeline.segmenter_ is not None:
            pipeline("Hello, world.")  # the first request would wait for compilers otherwise

    def chosen(self, asked: str | None) -> str:
        """The name of the pipeline that is meant: its own, a beginning of it, or its language.

        None and the empty string mean the first.
        """
        if not self.pipelines:
            raise NoModelError(
                "this service has no pipeline: start it with `eigentext serve --pipe FILE`, a "
                "file of `eigentext pipe train`"
            )
        if not asked:
            return next(iter(self.pipelines))
        if asked in self.pipelines:
            return asked
        begin = [name for name in self.pipelines if name.startswith(asked)]
        speak = [name for name, facts in self.facts.items() if facts.language == asked]
        for found in (*(name for name in begin if name.startswith(f"{asked}-")), *begin, *speak):
            return found
        raise SettingsError(f"Requested model '{asked}' does not exist.")

    def part(self, name: str, *, tagger: bool, parser: bool) -> Pipeline:
        """The pipeline of this name with these stages alone, besides the segmenter."""
        key = name, tagger, parser
        if key not in self._parts:
            part = copy.copy(self.pipelines[name])
            part.use("const", None)
            part.use("ner", None)
            if not tagger:
                part.use("morphology", None)
            if not parser:
                part.use("parser", None)
            self._parts[key] = part
        return self._parts[key]

    def answer(self, request: PipeRequest, limits: ServiceSettings) -> PipeAnswer:
        """Annotate the text of the request, within the limits."""
        name = self.chosen(request.model)
        check_size(request.text, limits)
        if request.top or request.probabilities:
            words = self.part(name, tagger=False, parser=False)(request.text, given=request.given)
            asked = words.n_words * max(1, request.top)
            if asked > limits.max_tree_words:
                raise TooMuchError(
                    f"{words.n_words:,} words times {max(1, request.top)} readings are {asked:,}; "
                    f"at most {limits.max_tree_words:,} are given at once"
                )
        doc = self.pipelines[name](
            request.text,
            given=request.given,
            top=request.top,
            probabilities=request.probabilities,
        )
        drawings = _drawings(doc, limits) if request.draw else []
        return PipeAnswer(model=name, document=doc.to_dict(), drawings=drawings)


def check_size(text: str, limits: ServiceSettings) -> None:
    """Refuse a text that is too long for one request."""
    most = limits.max_pipe_characters
    if len(text) > most:
        raise TooMuchError(f"the text has {len(text):,} characters; at most {most:,} are read")


def _drawings(doc: Doc, limits: ServiceSettings) -> list[str | None]:
    """Arc diagrams of the first sentences; None for one that is too long."""
    return [_drawing(sentence, limits) for sentence in doc.sentences[: limits.max_trees]]


def _drawing(sentence: DocSentence, limits: ServiceSettings) -> str | None:
    columns = sentence.columns
    if columns.heads is None or len(columns.forms) > limits.max_words:
        return None
    known: Any = sentence.alternatives
    return arcs_svg(
        columns.forms,
        list(columns.heads),
        columns.deprels,
        tags=columns.upos,
        title="Dependencies",
        probabilities=None if known is None else known.arcs_p,
        width=_WIDTH,
    )
