"""What goes over the wire about words and their readings, and about what people decided."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from eigentext.web.schemas import Request, Text, whole

__all__ = [
    "Annotator",
    "CandidateView",
    "Choice",
    "DecideRequest",
    "DecisionAnswer",
    "DocumentAnswer",
    "DocumentRequest",
    "DocumentSummary",
    "DocumentsAnswer",
    "ExportFormat",
    "FixedLabel",
    "LexicalRequest",
    "PieceView",
    "Progress",
    "RankAnswer",
    "RankedSentence",
    "SegmentView",
    "SenseView",
    "UndoRequest",
    "WordPosition",
    "WordView",
]

ExportFormat = Literal["conllu", "jsonl"]
Annotator = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True, min_length=1, max_length=80, pattern=r"^[^\x00-\x1f]+$"
    ),
    AfterValidator(whole),
]

Revision = Annotated[
    int | None,
    Field(ge=0, description="the one that the annotator saw: 409 if another is the last one"),
]


class WordPosition(Request):
    """A word of the request; both numbers count from 0."""

    sentence: int = Field(ge=0)
    word: int = Field(ge=0)


class FixedLabel(WordPosition):
    """What a person decided about a word: the values of its label elements."""

    label: dict[Text, Text] = Field(description="as a candidate's label has them")


class LexicalRequest(Request):
    """Raw text, or sentences that are tokenised already: one document."""

    text: Text | None = Field(default=None, description="raw text, as of `lex rank --raw`")
    sentences: list[list[Text]] | None = Field(default=None, description="lists of tokens")
    scheme: Text = Field(default="arabic", max_length=40, description="for text; see /api/health")
    top: int | None = Field(default=None, ge=1, description="list so many candidates; or all")
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


class DocumentRequest(Request):
    """A text to annotate."""

    name: Text = Field(default="", max_length=200, description="the first words unless told")
    text: Text | None = Field(default=None, description="raw text")
    sentences: list[list[Text]] | None = Field(default=None, description="lists of tokens")
    scheme: Text = Field(default="arabic", max_length=40, description="for text; see /api/health")


class Progress(BaseModel):
    """How far an annotator is, and how often the ranker was right before a decision.

    Words without letters do not count for A1 and A2.
    """

    words: int
    decided: int
    scored: int = Field(description="decisions that count for A1 and A2")
    a1: float | None = Field(description="percent whose label was ranked first")
    a2: float | None = Field(description="percent whose label was among the first two")


class DocumentSummary(BaseModel):
    """A stored text."""

    id: int
    name: str
    created: str
    n_words: int
    usable: bool = Field(description="whether its labels are those of the model now served")
    annotators: dict[str, int] = Field(description="decided words by annotator")


class DocumentsAnswer(BaseModel):
    """All stored texts, oldest first."""

    documents: list[DocumentSummary]


class Choice(WordPosition):
    """A decision as it is stored; no label means that none of the candidates is right."""

    label: dict[str, str] | None
    rank: int | None = Field(description="of the label before the decision; none if not listed")
    at: str = Field(description="when, in UTC")


class DocumentAnswer(BaseModel):
    """A stored text, ranked by what this annotator decided."""

    id: int
    name: str
    text: str | None
    revision: int
    progress: Progress
    decisions: list[Choice]
    ranked: RankAnswer


class DecideRequest(WordPosition):
    """One decision."""

    annotator: Annotator
    revision: Revision = None
    label: dict[Text, Text] | None = Field(description="null: none of the candidates is right")


class UndoRequest(Request):
    """Take the annotator's last decision in this text back."""

    annotator: Annotator
    revision: Revision = None


class ChangedWord(BaseModel):
    """A word whose ranking a decision changed."""

    sentence: int
    word: int
    view: WordView


class DecisionAnswer(BaseModel):
    """What was saved or taken back, and what it changed."""

    sentence: int
    word: int
    choice: Choice | None = Field(description="the decision that holds for the word now")
    revision: int = Field(description="grows by one with every decision and every undo")
    progress: Progress
    changed: list[ChangedWord]
