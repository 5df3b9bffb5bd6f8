"""What a request may ask for: the errors, and what is checked in every text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from eigentext.corpus.raw_text import tokenise_document
from eigentext.errors import DataError, EigentextError

if TYPE_CHECKING:
    from eigentext.corpus.tokenise import Token
    from eigentext.web.settings import ServiceSettings

__all__ = ["NoModelError", "TextRequest", "TooMuchError", "check_length", "tokens_of_text"]


class NoModelError(EigentextError):
    """The service was started without the model that a request needs."""


class TooMuchError(EigentextError):
    """A request within the limit of bytes asks for more work than the settings allow."""


class TextRequest(Protocol):
    """A request that brings a raw text, or sentences of tokens."""

    text: str | None
    sentences: list[list[str]] | None

    @property
    def scheme(self) -> str:
        """The tokeniser of the text."""


def check_length(text: str, limits: ServiceSettings) -> None:
    """Refuse a text that is too long."""
    most = limits.max_characters
    if len(text) > most:
        raise TooMuchError(f"the text has {len(text):,} characters; at most {most:,} are read")


def tokens_of_text(request: TextRequest, limits: ServiceSettings) -> list[list[Token]] | None:
    """The sentences of the request's text; None where it brings sentences instead."""
    if (request.text is None) == (request.sentences is None):
        raise DataError("input", None, "expected either text or sentences, and not both")
    if request.text is None:
        return None
    check_length(request.text, limits)
    return tokenise_document(request.text, request.scheme)
