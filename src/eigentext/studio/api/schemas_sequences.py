"""What goes over the wire about sequences: the states of a model, and a text read by it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from eigentext.studio.api.schemas import ApiRequest, Text

#: files that are models of sequences
SequenceKind = Literal["hmm", "blocked-hmm", "spectral-hmm", "latent-tagger"]

#: of a state, and next states, that can be asked for
MOST_WORDS = 100


class SequencesRequest(ApiRequest):
    """A question to a model of sequences."""

    model: Text | None = Field(
        default=None, description="name of a model of sequences; or the first"
    )


class StatesRequest(SequencesRequest):
    """What is behind the model."""

    top: int = Field(default=8, ge=1, le=MOST_WORDS, description="how many words and next states")
    draw: bool = Field(default=False, description="an SVG of the transitions")


class SequenceState(BaseModel):
    """A state, or a tag of a latent tagger, as ``eigentext hmm inspect --json`` has it."""

    state: int
    name: str = Field(description="its number, or the tag")
    share: float = Field(description="of all tokens")
    words: list[tuple[str, float]] = Field(description="p(word | state), the likeliest")
    after: list[tuple[int, float]] = Field(description="p(next state | state), the likeliest")


class StatesAnswer(BaseModel):
    """The states, the most frequent first; or the singular values of operators.

    Of a model with blocked emissions no states are listed: each belongs to a single word.
    """

    model: str
    of: SequenceKind
    states: list[SequenceState]
    n_states: int = Field(description="of the model; dimensions, where it has operators")
    n_symbols: int = Field(description="words and classes of words that it tells apart")
    left_out: int = Field(description="rare states that are not listed")
    estimator: str | None = Field(default=None, description="of operators")
    singular_values: list[float] | None = Field(default=None, description="of operators")
    svg: str | None = None


class SequencesTextRequest(SequencesRequest):
    """Raw text, or sentences that are tokenised already."""

    text: Text | None = Field(default=None, description="raw text")
    sentences: list[list[Text]] | None = Field(default=None, description="lists of tokens")
    scheme: Text = Field(default="ptb", max_length=40, description="for text; see /api/health")
    method: Literal["viterbi", "posterior"] = Field(
        default="viterbi",
        description="states of the best path, or the best state for each token by itself; a "
        "latent tagger decodes as it was trained to",
    )
    top: int = Field(default=3, ge=1, le=20, description="how many likely states of each token")


class ReadToken(BaseModel):
    """A token: its symbol, its state, and its surprisal; null is what the model cannot say."""

    text: str
    symbol: str = Field(description="the token, or the class that stands for it")
    in_vocabulary: bool = Field(serialization_alias="known", description="it was seen in training")
    state: int | None
    p: float | None = Field(description="p(state | sentence)")
    likely: list[tuple[int, float]] = Field(description="the likeliest states and their p")
    surprisal: float | None = Field(
        description="-log p(token | tokens before it), natural; null where it is infinite too"
    )


class ReadSequence(BaseModel):
    """A sentence; perplexity is null where the model finds it impossible."""

    tokens: list[ReadToken]
    log_prob: float | None
    perplexity: float | None
    impossible: bool = Field(description="no sequence of states explains it")


class SequencesTextAnswer(BaseModel):
    """The sentences in order, and the figures of the whole text."""

    model: str
    of: SequenceKind
    sentences: list[ReadSequence]
    names: dict[int, str] = Field(description="of the states that are in the answer")
    n_tokens: int
    log_prob: float | None
    perplexity: float | None
    negative_rate: float | None = Field(
        description="of operators: share of tokens for which they had no positive value"
    )
