"""What a request may ask for: the errors, what is checked in every text, and bytes in flight."""

from __future__ import annotations

import re
from collections import Counter
from math import isfinite
from typing import TYPE_CHECKING, Protocol

from eigentext.counting.raw_text import tokenise_document
from eigentext.errors import DataError, EigentextError
from eigentext.language.token import Token
from eigentext.studio.service.workers import BusyError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.studio.service.settings import ServiceSettings


_NOT_BLANK = re.compile(r"(?s).*\S.*")


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


#: So much of each request does not count: what the server holds of any connection in any case.
FREE_BYTES = 65_536


class InFlight:
    """How many bytes of requests are held, of all clients together and of each, and batches.

    >>> flight = InFlight(1000)
    >>> with flight.request("ada") as held:
    ...     held.hold(FREE_BYTES + 500)
    ...     flight.total
    500
    >>> flight.total
    0
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.total = 0
        self.by_client: Counter[str] = Counter()
        self.batches: Counter[str] = Counter()

    def request(self, client: str) -> RequestBytes:
        """The account of one request."""
        return RequestBytes(self, client)


class RequestBytes:
    """What is held of one request; a context that ends with the request."""

    def __init__(self, flight: InFlight, client: str) -> None:
        self._flight, self._client, self._counted, self._ended = flight, client, 0, False

    def hold(self, n: int) -> None:
        """``n`` bytes are held from now on; a BusyError where all, or this client, hold more."""
        if self._ended:  # what is still under way is given up
            return
        flight, more = self._flight, max(0, n - FREE_BYTES) - self._counted
        if more > 0:
            if flight.total + more > flight.most:
                raise BusyError("too many long requests are being sent: try again later")
            if flight.by_client[self._client] + more > flight.most // 2:
                raise BusyError("too many long requests of yours are being sent: one by one")
        self._counted += more
        flight.total += more
        flight.by_client[self._client] += more
        if not flight.by_client[self._client]:
            del flight.by_client[self._client]

    def __enter__(self) -> RequestBytes:
        return self

    def __exit__(self, *_: object) -> None:
        self.hold(0)
        self._ended = True


def check_length(text: str, most: int) -> None:
    """Refuse a text that is too long for one request."""
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


def tokens_of(
    request: TextRequest,
    limits: ServiceSettings,
    token: re.Pattern[str] = _NOT_BLANK,
    least: int = 0,
) -> list[list[Token]]:
    """The sentences of the request; tokens that it brings as such stand at -1 of no text.

    Each of those has to match ``token``, and each sentence to have ``least`` of them.
    """
    if (request.text is None) == (request.sentences is None):
        raise DataError("input", None, "expected either text or sentences, and not both")
    if request.text is not None:
        check_length(request.text, limits.max_characters)
        return tokenise_document(request.text, request.scheme)
    why = (
        "an empty token"
        if token is _NOT_BLANK
        else "a token that is empty or has white space in it"
    )
    for number, words in enumerate(request.sentences or (), start=1):
        if len(words) < least or not all(map(token.fullmatch, words)):
            raise DataError("input", number, f"sentence {number} has {why}")
    return [[Token(word, -1, -1) for word in words] for words in request.sentences or ()]


def as_typed(request: TextRequest, tokens: Sequence[Token]) -> list[str]:
    """Tokens as they stand in the text: models themselves know quotes by their other names."""
    text = request.text
    return [t.form if text is None else text[t.start : t.end] for t in tokens]


def finite(score: float) -> float | None:
    """A number of an answer: JSON has no infinity."""
    return float(score) if isfinite(score) else None
