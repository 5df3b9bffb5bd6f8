"""``POST /api/pipe``: raw text in, everything the pipeline knows of it out.

The flow, in a worker: a name -> its pipeline, loaded once -> a `Doc` -> JSON, and arc diagrams of
the first sentences where they are wanted.  `udpipe` asks the same pipelines in another language.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from eigentext.drawing.arcs import arcs_svg
from eigentext.errors import SettingsError
from eigentext.studio.api.schemas import PipeAnswer
from eigentext.studio.service.limits import TooMuchError, check_length

if TYPE_CHECKING:
    from eigentext.language.doc import Doc
    from eigentext.language.sentence import Sentence
    from eigentext.pipeline import Pipeline
    from eigentext.studio.api.schemas import PipeRequest
    from eigentext.studio.service.models import Served
    from eigentext.studio.service.settings import ServiceSettings

_WIDTH = 960.0  # of a row of words; longer sentences are broken
#: UDPipe's names of our stages.
STAGES = {"segmenter": "tokenizer", "morphology": "tagger", "parser": "parser"}


class Pipes:
    """The pipelines of a service, by name; the first is the default."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self.facts = {each.name: each for each in served.facts if each.kind == "pipeline"}
        self._parts: dict[tuple[str, bool, bool], Pipeline] = {}

    def chosen(self, requested: str | None) -> str:
        """The name of the pipeline that is meant: its own, a beginning of it, or its language.

        None and the empty string mean the first.
        """
        names = self._served.names("pipeline")
        if not names or not requested or requested in names:
            return self._served.chosen("pipeline", requested)
        begin = [name for name in names if name.startswith(requested)]
        speak = [name for name, facts in self.facts.items() if facts.language == requested]
        dashed = [name for name in begin if name.startswith(f"{requested}-")]
        for name in (*dashed, *speak, *begin):
            return name
        raise SettingsError(f"Requested model '{requested}' does not exist.")

    def part(self, name: str, *, tagger: bool, parser: bool) -> Pipeline:
        """The pipeline of this name with these stages alone, besides the segmenter."""
        key = name, tagger, parser
        if key not in self._parts:
            part = copy.copy(self._served.get("pipeline", name))
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
        check_length(request.text, limits.max_pipe_characters)
        if request.top or request.probabilities:
            words = self.part(name, tagger=False, parser=False)(request.text, keep=request.keep)
            n_readings = words.n_words * max(1, request.top)
            if n_readings > limits.max_tree_words:
                raise TooMuchError(
                    f"{words.n_words:,} words times {max(1, request.top)} readings are "
                    f"{n_readings:,}; at most {limits.max_tree_words:,} are given at once"
                )
        doc = self._served.get("pipeline", name)(
            request.text, keep=request.keep, top=request.top, probabilities=request.probabilities
        )
        drawings = _drawings(doc, limits) if request.draw else []
        return PipeAnswer(model=name, document=doc.to_dict(), drawings=drawings)


def _drawings(doc: Doc, limits: ServiceSettings) -> list[str | None]:
    """Arc diagrams of the first sentences; None for one that is too long."""
    return [_drawing(sentence, limits) for sentence in doc.sentences[: limits.max_trees]]


def _drawing(sentence: Sentence, limits: ServiceSettings) -> str | None:
    columns = sentence.columns
    if columns.heads is None or len(columns.forms) > limits.max_words:
        return None
    alternatives: Any = sentence.alternatives
    return arcs_svg(
        columns.forms,
        list(columns.heads),
        columns.deprels,
        tags=columns.upos,
        title="Dependencies",
        probabilities=None if alternatives is None else alternatives.arcs_p,
        width=_WIDTH,
    )
