"""The parsers behind ``/api/parse``: one face for parsers and for pipelines that have one.

A request's text becomes :class:`Input` sentences, by a pipeline's own segmenter or by a scheme of
`tokenise.tokens`; each is then asked for trees (:class:`ParsedTrees`), with whatever it must have.
"""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from eigentext.errors import SettingsError
from eigentext.studio.service.limits import NoModelError, as_typed, check_length, tokens_of
from eigentext.studio.service.workers import StartingError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    import numpy as np
    import numpy.typing as npt

    from eigentext.constituency import LPCFG
    from eigentext.dependency import DependencyParser, Parse, Reranker
    from eigentext.dependency.decoding.constraints import AnyArc
    from eigentext.dependency.sentence import TaggedSentence
    from eigentext.language.sentence import Sentence
    from eigentext.pipeline import Pipeline
    from eigentext.studio.api.schemas_parse import ParseRequest
    from eigentext.studio.service.models import Served
    from eigentext.studio.service.settings import ServiceSettings

BLANKS = re.compile(r"[ \t\n\r\f\v]+")  # what ends a word in brackets
_TOKEN = re.compile(r"(?=.*\S)[^ \t\n\r\f\v]+")


class Input(NamedTuple):
    """A sentence to parse: its words, where they stood, and what a pipeline knows of it."""

    words: list[str]
    places: list[tuple[int, int]] | None
    doc: Sentence | None = None


class Arcs(NamedTuple):
    """Arcs that a tree must have, and such that it must not."""

    required: list[AnyArc]
    forbidden: list[AnyArc]


class ParsedTrees(NamedTuple):
    """The best trees of a sentence; ``marginals`` (n+1, n+1), ``conllu`` of each tree."""

    parses: list[Parse]
    words: TaggedSentence
    marginals: npt.NDArray[np.float64] | None
    conllu: list[str]


@dataclass(frozen=True)
class OfParser:
    """A parser of its own."""

    parser: DependencyParser
    reranker: Reranker | None = None
    pipeline: None = None  # nothing that finds sentences and words

    @property
    def relations(self) -> list[str]:
        """That arcs may have."""
        return _relations(self.parser)

    def trees(
        self, sentence: Input, number: int, *, k: int, marginals: bool, arcs: Arcs
    ) -> ParsedTrees:
        """The k best as `eigentext dep apply` has them, of the sentence of this number."""
        from eigentext.dependency.graph.answer import in_conllu
        from eigentext.language.formats.conllu import make_sentence

        parser = self.parser
        tagged = parser.tagged(sentence.words)  # once for all questions
        demands: Any = {"required_arcs": arcs.required, "forbidden_arcs": arcs.forbidden}
        if self.reranker is not None:
            listed = k if k > 1 else self.reranker.settings_.kbest
            parses = self.reranker.choose(tagged, parser.kbest(tagged, k=listed, **demands))[:k]
        elif k == 1:
            parses = [parser.parse(tagged, **demands)]
        else:
            parses = parser.kbest(tagged, k=k, **demands)
        chances = parser.marginals(tagged, **demands) if marginals else None
        bare = make_sentence(sentence.words)
        bare = bare.with_columns(**parser.tags_for(bare, tagged))
        return ParsedTrees(
            parses,
            tagged,
            chances,
            [
                in_conllu(bare, parse, rank=rank if k > 1 else None, marginals=chances).verbatim
                for rank, parse in enumerate(parses, start=1)
            ],
        )


@dataclass(frozen=True)
class OfPipeline:
    """The parser of a pipeline, which sees the pipeline's words and tags."""

    whole: Pipeline
    pipeline: Pipeline  # the same without trees: it finds sentences, words and tags

    @property
    def relations(self) -> list[str]:
        """That arcs may have."""
        return _relations(self.whole.parser_)

    def trees(
        self, sentence: Input, number: int, *, k: int, marginals: bool, arcs: Arcs
    ) -> ParsedTrees:
        """The k best as `eigentext pipe apply` has them."""
        from eigentext.language.doc import Doc
        from eigentext.pipeline.annotate import tagged_sentence

        doc_sentence = sentence.doc
        assert doc_sentence is not None  # noqa: S101 - for the type checker: the pipeline made it
        demands: Any = {"required_arcs": arcs.required, "forbidden_arcs": arcs.forbidden}
        parses = self.whole.parses(doc_sentence, k, **demands)
        chances = self.whole.marginals(doc_sentence, **demands) if marginals else None
        written = []
        for parse in parses:
            tree = doc_sentence.with_columns(
                heads=parse.tree.heads.tolist(), deprels=list(parse.tree.relations or ())
            )
            doc = Doc(" ".join(sentence.words), (tree,))
            written.append(doc.to_conllu(newdoc=number == 0, first_id=number + 1))
        return ParsedTrees(parses, tagged_sentence(doc_sentence), chances, written)


DepModel: TypeAlias = OfParser | OfPipeline  # what parses to dependencies


def _relations(parser: DependencyParser | None) -> list[str]:
    labeller = parser.relations_ if parser is not None else None
    return [] if labeller is None else list(labeller.relations)


# ---------------------------------------------------------------- which models


def chosen_const(served: Served, name: str | None) -> tuple[str, LPCFG]:
    """The name and the parser that is meant; one of a pipeline is one, too."""
    of_pipelines = {
        key: pipeline.const_
        for key in served.names("pipeline")
        if (pipeline := served.get("pipeline", key)).const_ is not None
    }
    kind, chosen = _which(served, "const", of_pipelines, name)
    return chosen, of_pipelines[chosen] if kind == "pipeline" else served.get("const", chosen)


def chosen_dep(
    served: Served, name: str | None, rerank: str | None = None
) -> tuple[str, DepModel]:
    """The name and the parser that is meant; a pipeline that has one is one, too.

    ``rerank`` names what puts its trees in order.
    """
    of_pipelines = {
        key: pipeline
        for key in served.names("pipeline")
        if (pipeline := served.get("pipeline", key)).parser_ is not None
    }
    kind, chosen = _which(served, "dep", of_pipelines, name)
    if kind == "dep":
        reranker = served.get("reranker", rerank) if rerank else None
        return chosen, OfParser(served.get("dep", chosen), reranker)
    if rerank:
        raise SettingsError(
            f"the pipeline {chosen} has its own order of trees: rerank must be null"
        )
    words = copy.copy(of_pipelines[chosen])
    for stage in ("parser", "reranker", "const", "ner"):
        words.use(stage, None)
    return chosen, OfPipeline(of_pipelines[chosen], words)


def _which(
    served: Served, kind: str, of_pipelines: Collection[str], name: str | None
) -> tuple[str, str]:
    """The kind and the name of the model that is meant; without a name the first of all."""
    there = [
        (facts.kind, facts.name)
        for facts in served.facts
        if facts.kind == kind or (facts.kind == "pipeline" and facts.name in of_pipelines)
    ]
    if not there:
        served.chosen(kind)  # says how to get one
    if not name:
        return there[0]
    kind_asked, _, rest = name.partition(":")
    if (kind_asked, rest) in there:
        return kind_asked, rest
    for candidate in ((kind, name), ("pipeline", name)):
        if candidate in there:
            return candidate
    names = ", ".join(key for _, key in there)
    raise SettingsError(f"no parser is called {name[:60]!r} here: {names}")


def there_are(served: Served, kind: str) -> bool:
    """Is there a model of this kind?"""
    try:
        (chosen_const if kind == "const" else chosen_dep)(served, None)
    except (NoModelError, StartingError):
        return False
    return True


# ---------------------------------------------------------------- which sentences


def sentences_to_parse(
    request: ParseRequest,
    dep: DepModel | None,
    limits: ServiceSettings,
    check: Callable[[Sequence[int]], object],
) -> list[Input]:
    """The sentences of the request: split by the pipeline, by a scheme, or as they came.

    ``check`` is told how many words each has, before anything but splitting is done to them; it
    raises an error if they are too many.
    """
    pipeline = dep.pipeline if dep is not None else None
    is_text = request.text is not None and request.sentences is None
    if pipeline is not None and is_text and pipeline.segmenter_ is not None:
        return _by_pipeline(request, pipeline, limits, check)
    tokens = tokens_of(request, limits, _TOKEN, least=1)
    if pipeline is not None and not is_text:
        return _by_pipeline(request, pipeline, limits, check)
    sentences = [
        Input(
            as_typed(request, sentence),
            [(token.start, token.end) for token in sentence] if is_text else None,
        )
        for sentence in tokens
    ]
    check([len(sentence.words) for sentence in sentences])
    if pipeline is None or not sentences:
        return sentences
    analysed = pipeline([sentence.words for sentence in sentences], keep="tokens").sentences
    return [sentence._replace(doc=doc) for sentence, doc in zip(sentences, analysed, strict=True)]


def _by_pipeline(
    request: ParseRequest,
    pipeline: Pipeline,
    limits: ServiceSettings,
    check: Callable[[Sequence[int]], object],
) -> list[Input]:
    from eigentext.pipeline.drafts import draft

    if request.text is None:
        split = draft(pipeline.segmenter_, request.sentences or [], "tokens")
    else:
        check_length(request.text, limits.max_characters)
        split = draft(pipeline.segmenter_, request.text, None)
    check([len(sentence.columns.forms) for sentence in split.sentences])
    sentences = []
    for sentence in pipeline(split, keep="words").sentences:
        places = [
            (token.start, token.end)
            for token in sentence.tokens
            for _ in range(token.first, token.last + 1)
        ]
        words = list(sentence.columns.forms)
        sentences.append(Input(words, places if request.text is not None else None, sentence))
    return sentences
