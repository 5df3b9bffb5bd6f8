"""What goes over the wire about words, their readings, and sequences."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from eigentext.studio.api.schemas import ApiRequest, Text

_LONGEST = 200  # characters of a word, bits of a prefix
Word = Annotated[Text, StringConstraints(min_length=1, max_length=_LONGEST)]
Query = Annotated[Text, StringConstraints(min_length=1, max_length=3 * _LONGEST + 3)]
Bits = Annotated[str, StringConstraints(pattern="^[01]*$", max_length=_LONGEST)]


# ---- one word, prefixes, neighbours, the map, two models


class WordsRequest(ApiRequest):
    """A question to a model of words."""

    model: Text | None = Field(default=None, description="name of a model of words; or the first")


class CountedWord(BaseModel):
    """A word and how often it was seen; null where that is not known."""

    word: str
    count: int | None


class NearWord(BaseModel):
    """A neighbour; the cosine is null where there are clusters and no vectors."""

    word: str
    cosine: float | None


class UnknownWord(BaseModel):
    """A word that the model does not know, and known ones that are written much like it."""

    word: str
    near: list[str]


class FindRequest(WordsRequest):
    """A part of a word to look for."""

    text: Word
    n: int = Field(default=12, ge=1, le=100, description="how many words at most")


class FindAnswer(BaseModel):
    """Words with the text in them: the word itself, those that begin so, then others."""

    model: str
    words: list[str]


class LookRequest(WordsRequest):
    """A word to look up."""

    word: Word
    top: int = Field(default=50, ge=1, le=1000, description="how many members of its cluster")


class LookAnswer(BaseModel):
    """What the model knows of the word; ``unknown`` where it knows nothing."""

    model: str
    word: str
    unknown: UnknownWord | None = None
    why: str | None = Field(default=None, description="in plain words, where it is unknown")
    rank: int | None = Field(default=None, description="1 for the most frequent word")
    n_words: int = Field(description="of the model")
    count: int | None = Field(default=None, description="how often it was seen; null: not known")
    path: str | None = Field(default=None, description="bits of its cluster; null: no clusters")
    members: list[CountedWord] = Field(default=[], description="of its cluster, frequent first")
    n_members: int = 0


class TreeRequest(WordsRequest):
    """A prefix of the cluster hierarchy."""

    prefix: Bits = Field(default="", description="bits; the empty prefix is the whole tree")
    depth: int = Field(default=4, ge=0, le=6, description="how many generations below it")
    top: int = Field(
        default=24, ge=1, le=1000, description="how many frequent words of the prefix"
    )
    draw: bool = Field(default=False, description="an SVG of the tree below the prefix")


class Branch(BaseModel):
    """A prefix at which the tree parts, or a cluster, with its most frequent words."""

    prefix: str
    parent: str | None = Field(description="the prefix above it; null: the whole tree")
    depth: int = Field(description="generations below the prefix that was asked for")
    leaf: bool = Field(description="one cluster: nothing is below it")
    n_clusters: int
    n_words: int
    n_tokens: int
    words: list[str]


class TreeAnswer(BaseModel):
    """A prefix and what is below it, every parent before its children."""

    model: str
    prefix: str = Field(description="with the bits that all clusters below it share")
    n_clusters: int
    n_words: int
    n_tokens: int
    total_tokens: int = Field(description="of the whole tree")
    words: list[CountedWord] = Field(description="the most frequent below the prefix")
    above: list[str] = Field(description="prefixes on the way from the whole tree to this one")
    beside: list[Branch] = Field(description="the other branches of the prefix above")
    below: list[Branch] = Field(description="the prefix itself and the generations below it")
    svg: str | None = None


class NeighboursRequest(WordsRequest):
    """Words, or analogies ``a:b::c`` (a is to b as c is to what?)."""

    queries: list[Query] = Field(min_length=1, max_length=50)
    k: int = Field(default=10, ge=1, description="how many neighbours of each")


class QueryAnswer(BaseModel):
    """The neighbours of one query, as ``eigentext words inspect --format jsonl`` has them."""

    query: str
    neighbours: list[NearWord]
    unknown: list[UnknownWord] = Field(default=[], description="then there are no neighbours")
    why: str | None = Field(default=None, description="in plain words, where one is unknown")


class NeighboursAnswer(BaseModel):
    """The queries of the request, in order."""

    model: str
    by: str = Field(description="vectors; or clusters: frequent words of the same cluster")
    answers: list[QueryAnswer]


class MapRequest(WordsRequest):
    """Frequent words in the plane."""

    n_words: int = Field(default=500, ge=1, description="how many of the most frequent words")
    colours: Text | None = Field(
        default=None,
        description="a model of clusters whose first bits are the groups; null: the first that "
        "fits; empty: none",
    )


class MapAnswer(BaseModel):
    """Words by decreasing frequency and their places, as ``eigentext words inspect`` has them."""

    model: str
    words: list[str]
    points: list[tuple[float, float]]
    colours: str | None = Field(description="the model of clusters that the groups are from")
    groups: list[int] | None = Field(description="of each word, a place in prefixes")
    prefixes: list[str]
    n_words: int = Field(description="of the model")


class WordsCompareRequest(WordsRequest):
    """Two models, and a word to look up in both."""

    other: Text | None = Field(default=None, description="the second model; or the next there is")
    word: Word | None = None
    k: int = Field(default=10, ge=1, description="how many neighbours")
    n_words: int = Field(default=1000, ge=1, description="frequent words that are looked at")
    top: int = Field(default=30, ge=0, le=1000, description="how many words that moved")


class ComparedWord(BaseModel):
    """The neighbours of a word in both models, and what they share."""

    word: str
    first: list[NearWord] = Field(serialization_alias="one")
    other: list[NearWord]
    both: list[str]
    overlap: float = Field(description="share of the longer list that is in both")
    missing: list[str] = Field(description="neighbours that the other model does not know")


class MovedView(BaseModel):
    """A word whose neighbours differ, with those that one model alone has."""

    word: str
    overlap: float
    first: list[str] = Field(serialization_alias="one")
    other: list[str]


class WordsCompareAnswer(BaseModel):
    """A word in two models, and the words that moved most."""

    model: str
    other: str
    word: ComparedWord | None
    unknown: list[UnknownWord] = Field(description="the word, for each model that lacks it")
    why: str | None
    moved: list[MovedView]
    mean_overlap: float = Field(description="of all words that were looked at")
    n_shared: int = Field(description="words that were looked at; both models know them")


# ---- readings of words, and texts that somebody reads


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


# ---- the states of a model of sequences, and a text read by it

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
