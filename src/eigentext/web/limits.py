"""What a request may ask for: the errors, and what is checked in every text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from eigentext.corpus.raw_text import tokenise_document
from eigentext.errors import DataError, EigentextError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.corpus.tokenise import Token
    from eigentext.web.settings import ServiceSettings

__all__ = [
    "NoModelError",
    "TextRequest",
    "TooMuchError",
    "check_length",
    "check_parsing",
    "tokens_of_text",
]


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


def check_parsing(lengths: Sequence[int], kbest: int, limits: ServiceSettings) -> None:
    """Refuse more sentences, words or trees than are parsed at once; ``lengths`` in words."""
    most_sentences, most_words = limits.max_trees, limits.max_words
    if len(lengths) > most_sentences:
        raise TooMuchError(
            f"found {len(lengths):,} sentences; at most {most_sentences:,} are parsed"
        )
    longest = max(lengths, default=0)
    if longest > most_words:
        raise TooMuchError(f"a sentence has {longest:,} words; at most {most_words:,} are parsed")
    words = sum(lengths)
    if words * kbest > limits.max_tree_words:
        raise TooMuchError(
            f"{words:,} words times {kbest} trees are {words * kbest:,}; "
            f"at most {limits.max_tree_words:,} are given at once"
        )


def tokens_of_text(request: TextRequest, limits: ServiceSettings) -> list[list[Token]] | None:
    """The sentences of the request's text; None where it brings sentences instead."""
    if (request.text is None) == (request.sentences is None):
        raise DataError("input", None, "expected either text or sentences, and not both")
    if request.text is None:
        return None
    check_length(request.text, limits)
    return tokenise_document(request.text, request.scheme)
