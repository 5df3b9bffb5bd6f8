"""What goes over the wire about reading."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from eigentext.studio.api.schemas import Request, Text
from eigentext.studio.api.schemas_lexical import RankAnswer


class ReadRequest(Request):
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
