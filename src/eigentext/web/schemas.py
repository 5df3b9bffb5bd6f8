"""What goes over the wire: requests, answers, and the one shape of an error."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

__all__ = [
    "ConvertAnswer",
    "ConvertRequest",
    "Dependency",
    "DependencyAnswer",
    "DependencyRequest",
    "DependencyView",
    "Drawings",
    "ErrorAnswer",
    "Fault",
    "Health",
    "PipeAnswer",
    "PipeRequest",
    "Request",
    "SentenceView",
    "Text",
    "TokenView",
    "TokeniseAnswer",
    "TokeniseRequest",
    "TreeChoice",
    "TreeView",
    "TreesAnswer",
    "TreesRequest",
    "whole",
]


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


class Request(BaseModel):
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


class Health(BaseModel):
    """What this service is and can do."""

    status: str
    version: str
    features: list[str]
    schemes: list[str]
    formats: list[str]
    limits: dict[str, int] = Field(description="of one request; tree_words: words times kbest")
    seconds: float = Field(description="that a request may take, and may wait before that")
    waiting: int = Field(description="requests that wait for a worker now")
    language: str | None = Field(default=None, description="of the readings that are ranked here")
    pipes: list[str] = Field(default=[], description="names of the pipelines, the default first")


class TokeniseRequest(Request):
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


class TreesRequest(Request):
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


class ConvertRequest(Request):
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


class DependencyRequest(Request):
    """Raw text, or sentences that are tokenised already."""

    text: Text | None = Field(default=None, description="raw text")
    sentences: list[list[Text]] | None = Field(default=None, description="lists of tokens")
    scheme: Text = Field(default="ptb", max_length=40, description="for text; see /api/health")
    kbest: int = Field(default=1, ge=1, le=50, description="so many trees a sentence")
    marginals: bool = Field(default=False, description="probability of every arc of the best tree")


class TreeChoice(BaseModel):
    """One tree of a k-best list; in its drawing, what the best tree has not is coloured."""

    rank: int
    score: float | None
    heads: list[int]
    relations: list[str]
    svg: str


class DependencyView(BaseModel):
    """The best tree of a sentence, and the list of the k best when more than one is wanted."""

    tokens: list[str]
    dependencies: list[Dependency]
    score: float | None
    approximate: bool
    probabilities: list[float] | None
    svg: str
    kbest: list[TreeChoice]


class DependencyAnswer(BaseModel):
    """The sentences of the request, in order."""

    sentences: list[DependencyView]


class PipeRequest(Request):
    """A text for a pipeline."""

    text: Text
    model: str | None = Field(
        default=None, description="name of a pipeline, a beginning of it, or a language; or first"
    )
    given: Literal["sentences", "tokens"] | None = Field(
        default=None, description="a sentence a line; or, too, white space between tokens"
    )
    top: int = Field(default=0, ge=0, le=50, description="readings of words and trees to list")
    probabilities: bool = Field(default=False, description="of the tags and heads")
    draw: bool = Field(default=False, description="draw the first sentences")


class PipeAnswer(BaseModel):
    """What the pipeline says."""

    model: str
    document: dict[str, Any] = Field(description="as `eigentext pipe run --format jsonl` has it")
    drawings: list[str | None] = Field(
        description="SVG of the first sentences; null: it has no tree, or too many words"
    )
