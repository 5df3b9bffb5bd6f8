"""Many sentences through one parser, in order, by one or several processes."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eigentext.constituency.model import LPCFG, Parse

__all__ = ["parse_many"]

_CHUNK = 32
_parser: LPCFG | None = None


def _hold(parser: LPCFG) -> None:
    global _parser
    _parser = parser


def _parse_chunk(
    sentences: Sequence[list[str]], *, kbest: int, marginals: bool
) -> list[Parse | None]:
    if _parser is None:
        raise RuntimeError("the worker holds no parser")
    return [
        _parser.parse(tokens, kbest=kbest, marginals=marginals) if tokens else None
        for tokens in sentences
    ]


def parse_many(
    parser: LPCFG,
    sentences: Iterable[list[str]],
    *,
    jobs: int = 1,
    kbest: int = 1,
    marginals: bool = False,
) -> Iterator[tuple[list[str], Parse | None]]:
    """(tokens, parse) in the order of the sentences; None for a sentence without tokens."""
    source = iter(sentences)
    work = partial(_parse_chunk, kbest=kbest, marginals=marginals)
    chunks = iter(lambda: list(islice(source, _CHUNK)), [])
    if jobs == 1:
        _hold(parser)
        for chunk in chunks:
            yield from zip(chunk, work(chunk), strict=True)
        return
    with ProcessPoolExecutor(jobs, initializer=_hold, initargs=(parser,)) as pool:
        # A bounded window keeps memory flat and the order as it came.
        window: list[tuple[list[list[str]], object]] = []
        for chunk in chunks:
            window.append((chunk, pool.submit(work, chunk)))
            if len(window) > 2 * jobs:
                done, future = window.pop(0)
                yield from zip(done, future.result(), strict=True)  # type: ignore[attr-defined]
        for done, future in window:
            yield from zip(done, future.result(), strict=True)  # type: ignore[attr-defined]
