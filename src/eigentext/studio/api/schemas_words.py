"""What goes over the wire about words: one word, prefixes, neighbours, the map, two models."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

from eigentext.studio.api.schemas import ApiRequest, Text

_LONGEST = 200  # characters of a word, bits of a prefix
Word = Annotated[Text, StringConstraints(min_length=1, max_length=_LONGEST)]
Query = Annotated[Text, StringConstraints(min_length=1, max_length=3 * _LONGEST + 3)]
Bits = Annotated[str, StringConstraints(pattern="^[01]*$", max_length=_LONGEST)]


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
