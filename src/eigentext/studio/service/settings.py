"""What the service allows: sizes and times of requests, and the names it answers to."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ServiceSettings(BaseModel):
    """Settings of the service.

    >>> ServiceSettings().max_characters
    100000
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: Longest body of a request, in bytes; a longer one is answered with 413 and not read.
    max_body_bytes: int = Field(default=1_000_000, ge=1)
    #: Longest body of many requests in one; each line has the limit of a single one.
    max_batch_bytes: int = Field(default=100_000_000, ge=1)
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
    #: Models of any kind, each a file or the name of an installed one; the first of a kind is the
    #: default.  Those named below, by older settings, come after them.
    models: tuple[str, ...] = ()
    #: Files of `recipes.samples` that are not there: they are trained, and then served too.
    samples: tuple[str, ...] = ()
    #: A model of ``eigentext dep train``.
    dep_model: str | None = None
    #: Pipelines of ``eigentext pipe train``.
    pipes: tuple[str, ...] = ()
    #: Longest text that a pipeline takes in one request, in characters.
    max_pipe_characters: int = Field(default=1_000_000, ge=1)
    #: Longest body of a request to a pipeline, in bytes.
    max_pipe_body_bytes: int = Field(default=8_000_000, ge=1)
    #: A folder for models that INCEpTION trains; without one it cannot.
    inception: str | None = None
    #: A model of ``eigentext lex train``.
    lex_model: str | None = None
    #: Where the analyzer of such models lies, if not where it was in training.
    lex_analyzer: str | None = None
    #: Most words of a text whose readings are ranked.
    max_ranked_words: int = Field(default=2_000, ge=1)
    #: Most neighbours of a word, and answers to an analogy, that are given at once.
    max_neighbours: int = Field(default=100, ge=1)
    #: Most words on the map, and most that are looked at when two models are compared.
    max_map_words: int = Field(default=2_000, ge=1)
    #: Most words of a text that is read by a model of sequences.
    max_sequence_words: int = Field(default=5_000, ge=1)
    #: Most states of such a model that are listed; rarer ones are left out.
    max_states: int = Field(default=1_000, ge=1)
    #: Where decisions of annotators are kept, a file or the address of a PostgreSQL database;
    #: without one there is no annotating.
    annotations: str | None = None
    #: Whether annotators need passwords; without, everybody who reaches the service may do all.
    accounts: bool = False
    #: Where models learned from decisions are kept; by default beside the file of annotations.
    annotation_models: str | None = None
    #: The making of such a model may take so many seconds.
    retrain_seconds: float = Field(default=3_600.0, gt=0)
    #: Processes that do the work; each has the models in its memory.
    workers: int = Field(default=2, ge=1)
    #: Most requests that wait for a worker; one more is answered with 503.
    max_waiting: int = Field(default=200, ge=1)
    #: A request may wait so many seconds for a worker, and then take so many of its time.
    seconds: float = Field(default=30.0, gt=0)
    #: The headers of a request have to be there after so many seconds; else it is cut off.
    header_seconds: float = Field(default=20.0, gt=0)
    #: The whole body of a request, and each line of many in one, has to be there after so many.
    body_seconds: float = Field(default=20.0, gt=0)
    #: What brings many requests in one may wait for its client longer than that, for a second more
    #: with every so many bytes.
    least_bytes_a_second: float = Field(default=10.0, gt=0)
    #: Bytes of requests that the server holds at a time, those that wait for a worker too; past
    #: it, and for one client past half of it, the answer is 503.  The first 65,536 of each
    #: request do not count, so that ordinary ones are always taken.  At least two of the longest.
    max_bytes_in_flight: int = Field(default=64_000_000, ge=1)
    #: Most connections of one client (an address), and most bodies of many requests in one.
    max_client_connections: int = Field(default=256, ge=1)
    max_client_batches: int = Field(default=4, ge=1)
    #: Host names the service answers to; ``*`` is any.  Loopback servers answer to their own only.
    allowed_hosts: tuple[str, ...] = ("*",)
