"""Many sentences through one parser, in order, by one or several processes."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from eigentext.constituency.decode import Decoder
    from eigentext.constituency.model import LPCFG, Parse

__all__ = ["parse_many"]

_CHUNK = 32
_parser: LPCFG | None = None  # of a worker process


def _hold(parser: LPCFG) -> None:
    global _parser
    _parser = parser


def _parse_held(
    sentences: Sequence[list[str]], *, kbest: int, marginals: bool, decoder: Decoder | None
) -> list[Parse | None]:
    if _parser is None:
        raise RuntimeError("the worker holds no parser")
    return _parse_chunk(_parser, sentences, kbest=kbest, marginals=marginals, decoder=decoder)


def _parse_chunk(
    parser: LPCFG,
    sentences: Sequence[list[str]],
    *,
    kbest: int,
    marginals: bool,
    decoder: Decoder | None,
) -> list[Parse | None]:
    return [
        parser.parse(tokens, kbest=kbest, marginals=marginals, decoder=decoder) if tokens else None
        for tokens in sentences
    ]


def parse_many(
    parser: LPCFG,
    sentences: Iterable[list[str]],
    *,
    jobs: int = 1,
    kbest: int = 1,
    marginals: bool = False,
    decoder: Decoder | None = None,
) -> Iterator[tuple[list[str], Parse | None]]:
    """(tokens, parse) in the order of the sentences; None for a sentence without tokens."""
    if jobs < 1:
        raise SettingsError(f"jobs must be 1 or more, found {jobs}")
    source = iter(sentences)
    chunks = iter(lambda: list(islice(source, _CHUNK)), [])
    if jobs == 1:
        for chunk in chunks:
            found = _parse_chunk(parser, chunk, kbest=kbest, marginals=marginals, decoder=decoder)
            yield from zip(chunk, found, strict=True)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    work = partial(_parse_held, kbest=kbest, marginals=marginals, decoder=decoder)
    # Fresh processes: a fork would inherit locks that threads of this process may hold.
    with ProcessPoolExecutor(jobs, get_context("spawn"), _hold, (parser,)) as pool:
        # A bounded window keeps memory flat and the order as it came.
        window: list[tuple[list[list[str]], Future[list[Parse | None]]]] = []
        for chunk in chunks:
            window.append((chunk, pool.submit(work, chunk)))
            if len(window) > 2 * jobs:
                done, future = window.pop(0)
                yield from zip(done, future.result(), strict=True)
        for done, future in window:
            yield from zip(done, future.result(), strict=True)
