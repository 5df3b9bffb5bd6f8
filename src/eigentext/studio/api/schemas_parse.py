"""What goes over the wire of ``/api/parse``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from eigentext.studio.api.schemas import ApiRequest, Text

_FAR = 100_000  # no sentence is so long
Layer = Literal["const", "dep"]
Label = Annotated[Text, Field(min_length=1, max_length=100)]
Name = Annotated[Text, Field(max_length=200)]


class SpanAsked(ApiRequest):
    """A constituent over the words from ``start`` up to ``end``, which is not in it; from 0."""

    start: int = Field(ge=0, le=_FAR)
    end: int = Field(ge=1, le=_FAR)
    label: Label | None = Field(default=None, description="null: any")


class TagAsked(ApiRequest):
    """The tag of a word; words count from 0."""

    word: int = Field(ge=0, le=_FAR)
    tag: Label


class ArcAsked(ApiRequest):
    """An arc; words count from 1, head 0 is the root, as in CoNLL-U."""

    head: int = Field(ge=0, le=_FAR)
    dependent: int = Field(ge=1, le=_FAR)
    relation: Label | None = Field(default=None, description="null: any")


class SentenceConstraints(ApiRequest):
    """What the trees of one sentence must and must not have."""

    sentence: int = Field(ge=0, le=_FAR, description="its number in the text, from 0")
    required: list[SpanAsked] = Field(default=[], max_length=1000)
    forbidden: list[SpanAsked] = Field(default=[], max_length=1000)
    tags: list[TagAsked] = Field(default=[], max_length=1000, description="of constituent trees")
    required_arcs: list[ArcAsked] = Field(default=[], max_length=1000)
    forbidden_arcs: list[ArcAsked] = Field(
        default=[], max_length=1000, description="with a relation: the arc may have another"
    )


class ParseRequest(ApiRequest):
    """Raw text, or sentences that are tokenised already."""

    text: Text | None = Field(default=None, description="raw text")
    sentences: list[list[Text]] | None = Field(default=None, description="lists of tokens")
    const: Name | None = Field(
        default=None, description="name of a constituency parser; null: the first"
    )
    dep: Name | None = Field(
        default=None,
        description="name of a dependency parser, or of a pipeline that has one, which then finds "
        "sentences and words too; null: the first.  `pipeline:NAME` and `dep:NAME` tell apart "
        "two of one name",
    )
    rerank: Name | None = Field(
        default=None,
        description="name of a reranker that puts trees of a dependency parser in order; null: "
        "none.  A pipeline has its own",
    )
    layers: list[Layer] | None = Field(
        default=None, min_length=1, max_length=2, description="null: what there are models for"
    )
    scheme: Text = Field(
        default="ptb",
        max_length=40,
        description="how text is split, unless a pipeline does it; see /api/health",
    )
    kbest: int = Field(default=1, ge=1, le=50, description="how many trees of a sentence")
    marginals: bool = Field(
        default=False, description="posteriors of constituents, probabilities of arcs"
    )
    constraints: list[SentenceConstraints] = Field(default=[], max_length=1000)
    only: list[Annotated[int, Field(ge=0, le=_FAR)]] | None = Field(
        default=None, description="numbers of the sentences to parse, from 0; null: all"
    )


class ParsedToken(BaseModel):
    """A word, and the characters (code points) of the raw text that it covers."""

    text: str
    start: int | None = Field(description="null: there was no raw text")
    end: int | None


class SpanView(BaseModel):
    """A constituent, or a tag over its word."""

    start: int
    end: int
    label: str
    kind: Literal["label", "tag"]
    posterior: float | None = Field(default=None, description="null: not asked for, or not known")


class ConstituentChoice(BaseModel):
    """One of the best trees; ``added`` and ``missing`` compare it with the best."""

    rank: int
    log_score: float | None
    log_prob: float | None
    brackets: str
    spans: list[SpanView]
    added: list[SpanView]
    missing: list[SpanView]
    svg: str | None = Field(description="null: too large to draw")


class ConstituentsView(BaseModel):
    """The best constituent tree, as `eigentext const apply` gives it."""

    brackets: str
    log_score: float | None
    log_prob: float | None
    flags: list[str]
    spans: list[SpanView]
    svg: str | None = Field(description="null: too large to draw")
    kbest: list[ConstituentChoice] = Field(description="empty unless more than one was asked for")


class ParsedWord(BaseModel):
    """A word and its head; words count from 1, head 0 is the root."""

    id: int
    form: str
    lemma: str = Field(description="_ where it is not known, as in CoNLL-U; so the next three")
    upos: str
    xpos: str
    feats: str
    head: int
    relation: str
    probability: float | None = None


class DependencyChoice(BaseModel):
    """One of the best trees; ``differs``: words with another arc than in the best."""

    rank: int
    score: float | None
    heads: list[int]
    relations: list[str]
    differs: list[int]
    conllu: str
    svg: str


class DependenciesView(BaseModel):
    """The best dependency tree, as `eigentext dep apply` or `eigentext pipe apply` gives it."""

    words: list[ParsedWord]
    score: float | None
    approximate: bool = Field(description="the search for the tree, or for the list of the best")
    conllu: str
    svg: str
    kbest: list[DependencyChoice] = Field(description="empty unless more than one was asked for")


class ParsedSentence(BaseModel):
    """One sentence with its trees."""

    index: int = Field(description="its number in the text, from 0")
    tokens: list[ParsedToken]
    constituents: ConstituentsView | None
    dependencies: DependenciesView | None


class ParseAnswer(BaseModel):
    """The sentences, and which models parsed them."""

    const: str | None
    dep: str | None
    n_sentences: int = Field(description="of the whole text")
    labels: list[str] = Field(description="that constituents may have")
    tags: list[str] = Field(description="that words may have in constituent trees")
    relations: list[str] = Field(description="that arcs may have")
    sentences: list[ParsedSentence]
