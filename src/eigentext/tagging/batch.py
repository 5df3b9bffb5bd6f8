"""Many sentences through one tagger, in order, by one or several processes."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from eigentext.tagging.tagger import SequenceTagger, Tagging

__all__ = ["tag_many"]

_CHUNK = 2048
_tagger: SequenceTagger | None = None  # of a worker process


def _hold(tagger: SequenceTagger) -> None:
    global _tagger
    _tagger = tagger


def _tag_held(sentences: Sequence[Sequence[str]], *, n_best: int) -> list[list[Tagging]]:
    if _tagger is None:
        raise RuntimeError("the worker holds no tagger")
    return list(_tagger.stream_n_best(sentences, n_best))


def tag_many(
    tagger: SequenceTagger,
    sentences: Iterable[Sequence[str]],
    *,
    jobs: int = 1,
    n_best: int = 1,
) -> Iterator[list[Tagging]]:
    """The n best answers of each sentence, in the order of the sentences.

    Each sentence is tagged by itself, so the answers do not depend on ``jobs``.
    """
    if jobs < 1:
        raise SettingsError(f"jobs must be 1 or more, found {jobs}")
    source = iter(sentences)
    if jobs == 1:
        yield from tagger.stream_n_best(source, n_best)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    work = partial(_tag_held, n_best=n_best)
    chunks = iter(lambda: list(islice(source, _CHUNK)), [])
    # Fresh processes: a fork would inherit locks that threads of this process may hold.
    with ProcessPoolExecutor(jobs, get_context("spawn"), _hold, (tagger,)) as pool:
        window: list[Future[list[list[Tagging]]]] = []  # bounded: memory stays flat
        for chunk in chunks:
            window.append(pool.submit(work, chunk))
            if len(window) > 2 * jobs:
                yield from window.pop(0).result()
        for future in window:
            yield from future.result()
