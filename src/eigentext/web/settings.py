"""What the service allows: sizes and times of requests, and the names it answers to."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["ServiceSettings"]


class ServiceSettings(BaseModel):
    """Settings of the service.

    >>> ServiceSettings().max_characters
    100000
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: Longest body of a request, in bytes; a longer one is answered with 413 and not read.
    max_body_bytes: int = Field(default=1_000_000, ge=1)
    #: Longest text in a request, in characters.
    max_characters: int = Field(default=100_000, ge=1)
    #: Most trees in a request.
    max_trees: int = Field(default=50, ge=1)
    #: A tree with more nodes is answered without drawings.
    max_drawn_nodes: int = Field(default=2_000, ge=1)
    #: Most words of a sentence that is parsed.
    max_words: int = Field(default=200, ge=1)
    #: Most words times trees (``kbest``) in a request to parse: what is drawn and sent grows so.
    max_tree_words: int = Field(default=4_000, ge=1)
    #: A model of ``eigentext dep train``; without one nothing is parsed.
    dep_model: str | None = None
    #: Pipelines of ``eigentext pipe train``; the first is the default.
    pipes: tuple[str, ...] = ()
    #: Longest text that a pipeline takes in one request, in characters.
    max_pipe_characters: int = Field(default=1_000_000, ge=1)
    #: Longest body of a request to a pipeline, in bytes.
    max_pipe_body_bytes: int = Field(default=8_000_000, ge=1)
    #: A model of ``eigentext lex train``; without one nothing is ranked.
    lex_model: str | None = None
    #: Where that model's analyzer lies, if not where it was in training.
    lex_analyzer: str | None = None
    #: Most words of a text whose readings are ranked.
    max_ranked_words: int = Field(default=2_000, ge=1)
    #: The file in which decisions of annotators are kept; without one there is no annotating.
    annotations: str | None = None
    #: Most texts in that file.
    max_documents: int = Field(default=10_000, ge=1)
    #: Processes that do the work; each has the models in its memory.
    workers: int = Field(default=2, ge=1)
    #: Most requests that wait for a worker; one more is answered with 503.
    max_waiting: int = Field(default=32, ge=1)
    #: A request may wait so many seconds for a worker, and then take so many of its time.
    seconds: float = Field(default=30.0, gt=0)
    #: The headers of a request have to be there after so many seconds; else it is cut off.
    header_seconds: float = Field(default=20.0, gt=0)
    #: The whole body of a request has to be there after so many seconds.
    body_seconds: float = Field(default=20.0, gt=0)
    #: Host names the service answers to; ``*`` is any.  Loopback servers answer to their own only.
    allowed_hosts: tuple[str, ...] = ("*",)
