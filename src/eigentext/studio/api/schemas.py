"""What goes over the wire: requests, answers, and the one shape of an error."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from eigentext.base.types import Json


def whole(text: str) -> str:
    """Refuse halves of surrogate pairs, which JSON can spell but no text can hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"character {error.start} is half of a surrogate pair; expected whole characters"
        ) from error
    return text


Text = Annotated[str, AfterValidator(whole)]


class ApiRequest(BaseModel):
    """What every request has in common: it names nothing that we do not know."""

    model_config = ConfigDict(extra="forbid")


class Fault(BaseModel):
    """Where the fault is and what was expected there; ``line`` counts from 1."""

    path: str
    line: int | None
    why: str


class ErrorAnswer(BaseModel):
    """The answer to every request that cannot be served."""

    error: Fault


class ModelView(BaseModel):
    """A model of this service."""

    name: str = Field(description="by which requests choose it among those of its kind")
    kind: str = Field(description="pipeline, const, dep, reranker, lex, words, hmm or tagger")
    of: str = Field(description="kind of its file, as `eigentext info` shows it")
    what: str = Field(description="in plain words")
    can: list[str] = Field(description="stages of a pipeline; else empty")
    language: str = Field(description="code; empty: not known")
    licence: str = Field(description="empty: not known")
    homes: list[str] = Field(description="of the data it learned from")
    summary: str = Field(description="half a line; empty until it is loaded")


class ModelsAnswer(BaseModel):
    """The models of this service; the first of a kind is the one that is meant without a name."""

    models: list[ModelView]


class LoadingView(BaseModel):
    """How far the loading of the models is."""

    done: int
    total: int
    name: str = Field(description="of the model that is being loaded")


class TrainingView(BaseModel):
    """How far the training of the sample models is."""

    done: int
    total: int
    names: list[str] = Field(description="of the files that are still to come")
    failed: dict[str, str] = Field(description="of those that could not be trained: why")


class Health(BaseModel):
    """What this service is and can do."""

    status: str = Field(description="ok; starting: models are being loaded; failed")
    loading: LoadingView | None = Field(default=None, description="while it is starting")
    why: str | None = Field(default=None, description="what went wrong when it failed")
    training: TrainingView | None = Field(
        default=None, description="while sample models are missing"
    )
    pages: list[str] = Field(default=[], description="that have a model they need, or will have")
    missing: dict[str, str] = Field(
        default={}, description="pages that have none yet, and what to do where none will come"
    )
    models: list[ModelView] = Field(default=[], description="the first of a kind is its default")
    version: str
    features: list[str]
    schemes: list[str]
    formats: list[str]
    limits: dict[str, int] = Field(description="of one request; tree_words: words times kbest")
    seconds: float = Field(description="that a request may take, and may wait before that")
    waiting: int = Field(description="requests that wait for a worker now")
    language: str | None = Field(default=None, description="of the readings that are ranked here")
    pipes: list[str] = Field(default=[], description="names of the pipelines, the default first")


class TokeniseRequest(ApiRequest):
    """Raw text to split into sentences and tokens."""

    text: Text = Field(description="raw text")
    scheme: Text = Field(default="generic", max_length=40, description="see /api/health")
    one_per_line: bool = Field(default=False, description="every line is one sentence")
    escape_brackets: bool = Field(default=False, description="( becomes -LRB-, as in treebanks")


class TokenView(BaseModel):
    """A token and the characters (code points) of the raw text that it covers."""

    text: str
    start: int
    end: int


class SentenceView(BaseModel):
    """The tokens of one sentence."""

    tokens: list[TokenView]


class TokeniseAnswer(BaseModel):
    """The sentences of the text, in order."""

    sentences: list[SentenceView]
    n_tokens: int


class TreesRequest(ApiRequest):
    """Trees in Penn Treebank brackets."""

    brackets: Text = Field(description="one or more trees, on any number of lines")
    head_rules: Literal["english", "neutral"] = Field(
        default="english", description="which child heads a constituent"
    )


class Dependency(BaseModel):
    """A word and its head; words count from 1, head 0 is the root."""

    id: int
    form: str
    tag: str
    head: int
    relation: str


class Drawings(BaseModel):
    """SVG of the cleaned tree, of the binarised tree, and of the dependencies."""

    tree: str
    binarised: str
    arcs: str


class TreeView(BaseModel):
    """One tree: cleaned of traces and function tags, binarised, and as dependencies."""

    line: int
    n_words: int
    brackets: str
    binarised: str
    dependencies: list[Dependency]
    drawings: Drawings | None
    note: str | None = Field(default=None, description="why something is missing")


class TreesAnswer(BaseModel):
    """The trees of the request, in order."""

    trees: list[TreeView]


class ConvertRequest(ApiRequest):
    """Sentences in one format that are wanted in another."""

    text: Text = Field(description="what a file in the source format would hold")
    source_format: Text = Field(max_length=40, description="see /api/health")
    target_format: Text = Field(max_length=40, description="see /api/health")
    head_rules: Literal["english", "neutral"] = Field(
        default="english", description="from constituents to dependencies"
    )
    strip: bool = Field(default=True, description="drop traces and function tags of trees")


class ConvertAnswer(BaseModel):
    """What a file in the target format would hold."""

    text: str
    n_sentences: int


class PipeRequest(ApiRequest):
    """A text for a pipeline."""

    text: Text
    model: Text | None = Field(
        default=None, description="name of a pipeline, a beginning of it, or a language; or first"
    )
    keep: Literal["sentences", "tokens"] | None = Field(
        default=None,
        alias="given",
        description="a sentence a line; or, too, white space between tokens",
    )
    top: int = Field(default=0, ge=0, le=50, description="readings of words and trees to list")
    probabilities: bool = Field(default=False, description="of the tags and heads")
    draw: bool = Field(default=False, description="draw the first sentences")


class PipeAnswer(BaseModel):
    """What the pipeline says."""

    model: str
    document: Json = Field(description="as `eigentext pipe apply --format jsonl` has it")
    drawings: list[str | None] = Field(
        description="SVG of the first sentences; null: it has no tree, or too many words"
    )
