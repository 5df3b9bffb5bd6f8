"""What goes over the wire about words, their readings, and texts that somebody reads."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from eigentext.studio.api.schemas import ApiRequest, Text


class WordPosition(ApiRequest):
    """A word of the request; both numbers count from 0."""

    sentence: int = Field(ge=0)
    word: int = Field(ge=0)


class FixedLabel(WordPosition):
    """What a person decided about a word: the values of its label elements."""

    label: dict[Text, Text] = Field(description="as a candidate's label has them")


class LexicalRequest(ApiRequest):
    """Raw text, or sentences that are tokenised already: one document."""

    text: Text | None = Field(default=None, description="raw text, as of `lex apply --raw`")
    sentences: list[list[Text]] | None = Field(default=None, description="lists of tokens")
    model: Text | None = Field(default=None, description="name of a ranker; or the first")
    scheme: Text = Field(default="arabic", max_length=40, description="for text; see /api/health")
    top: int | None = Field(default=None, ge=1, description="how many candidates to list; or all")
    fixed: list[FixedLabel] = Field(default=[], description="decisions that the rest goes by")


class SegmentView(BaseModel):
    """A segment of a word, with its tag and what that means."""

    text: str
    tag: str
    kind: Literal["before", "stem", "after"]
    meaning: str


class PieceView(BaseModel):
    """A piece of the vocalised word, for colours; joined, the pieces are the word."""

    text: str
    kind: Literal["before", "stem", "after"]


class SenseView(BaseModel):
    """Another reading that has the same label."""

    lemma: str
    vocalised: str
    gloss: str


class CandidateView(BaseModel):
    """One label of a word, how probable it is here, and its most frequent reading."""

    rank: int = Field(description="from 1")
    label: dict[str, str]
    probability: float
    score: float
    source: str
    guess: bool = Field(description="the analyzer did not know the word and guessed this")
    lemma: str
    vocalised: str
    respelled: bool = Field(description="the reading has other letters than those typed")
    gloss: str
    root: str
    morphology: str = Field(description="the label in plain words")
    segments: list[SegmentView]
    pieces: list[PieceView]
    also: list[SenseView] = Field(description="further readings with this label")


class WordView(BaseModel):
    """A word as typed, with its candidates, best first."""

    form: str
    start: int | None = Field(description="its place in the text, in characters; for raw text")
    end: int | None
    guessed: bool = Field(description="neither analyzer nor training knew the word")
    margin: float = Field(description="how much more probable the first is than the second")
    decided: bool = Field(description="a person decided: the first candidate is what they chose")
    n_candidates: int
    candidates: list[CandidateView]


class RankedSentence(BaseModel):
    """The words of one sentence."""

    words: list[WordView]


class RankAnswer(BaseModel):
    """The sentences of the request, in order."""

    direction: Literal["ltr", "rtl"]
    language: str
    elements: list[str] = Field(description="the label elements, in order")
    sentences: list[RankedSentence]


class ReadRequest(ApiRequest):
    """A text that somebody reads."""

    text: Text
    kind: Literal["lex", "pipeline"] | None = Field(
        default=None, description="a ranker of readings or a pipeline; or the first that is there"
    )
    model: Text | None = Field(default=None, description="name of the model; or the first")
    top: int = Field(default=10, ge=1, le=50, description="readings of a word to list")


class ReadAnswer(RankAnswer):
    """The words of the text with their readings, and the best ones as CoNLL-U."""

    model: str
    kind: Literal["lex", "pipeline"]
    conllu: str
