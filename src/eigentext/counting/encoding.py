"""Text to ids, for learners that go along it token by token."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np

from eigentext.base.files.opening import expand
from eigentext.base.files.writing import scratch_folder
from eigentext.base.progress import Progress
from eigentext.base.types import Int32s
from eigentext.counting.counting import count
from eigentext.counting.counts import Counts
from eigentext.counting.memory import Budget
from eigentext.counting.raw_text import tokenised_files
from eigentext.counting.segments import handle_of
from eigentext.counting.shards import ShardErrors, plan_shards, read_segments
from eigentext.counting.vocabulary import Vocabulary, select
from eigentext.errors import DataError, SettingsError


class EncodedText(NamedTuple):
    """A vocabulary, and the text as its ids with -1 after each sentence."""

    vocabulary: Vocabulary
    ids: Int32s

    @classmethod
    def of(
        cls, X: Iterable[Sequence[str]] | EncodedText, vocab_size: int | None, min_count: int
    ) -> EncodedText:
        """A text of ids as it is, or lists of tokens as ids; counts do not go along a text."""
        if isinstance(X, Counts):
            raise SettingsError("this goes along the text: sentences are meant, not counts")
        if isinstance(X, EncodedText):
            return X
        return encode_sentences(X, vocab_size=vocab_size, min_count=min_count)


def encode_sentences(
    sentences: Iterable[Sequence[str]], *, vocab_size: int | None = None, min_count: int = 1
) -> EncodedText:
    """Lists of tokens as ids.

    >>> vocabulary, ids = encode_sentences([["a", "cat", "sat"], [], ["a", "dog"]], vocab_size=2)
    >>> vocabulary.words, ids.tolist()
    (('a', 'cat', '<unk>'), [0, 1, 2, -1, 0, 2, -1])
    """
    handle = handle_of(sentences)
    types = handle.types()
    vocabulary = Vocabulary(types.take(select(types, vocab_size, min_count)[0]))
    of_type = np.append(vocabulary.mapping(types), np.int32(-1))  # the id -1 is the last entry
    ids = [of_type[part] for part in handle.ids(0, handle.n_ids)]
    return EncodedText(vocabulary, _without_empty_sentences(np.concatenate(ids)))


def encode_files(
    sources: Iterable[str],
    *,
    vocab_size: int | None = None,
    min_count: int = 1,
    jobs: int = 1,
    memory: str = "2GB",
    tokeniser: str | None = None,
    newlines: str = "auto",
    field: str | None = None,
    progress: Progress | None = None,
    on_error: Callable[[DataError], None] | None = None,
) -> EncodedText:
    """Text from files as ids.

    With a ``tokeniser`` the text is raw; of files of records it is what stands in ``field``.

    >>> from eigentext.base.files.opening import write_lines
    >>> _ = write_lines("memory://doc/ids.txt", ["a cat sat", "a dog"])
    >>> vocabulary, ids = encode_files(["memory://doc/ids.txt"], vocab_size=2)
    >>> vocabulary.words, ids.tolist()
    (('a', 'cat', '<unk>'), [0, 1, 2, -1, 0, 2, -1])
    """
    names = expand(sources)
    if "-" in names:
        raise SettingsError("the text is read twice: expected files, not standard input")
    with ExitStack() as stack:
        if tokeniser is not None:
            folder = stack.enter_context(scratch_folder())
            names = tokenised_files(
                names, tokeniser, folder, newlines=newlines, field=field, on_error=on_error
            )
            field = on_error = None  # what was wrong has been told
        vocabulary = count(
            names,
            contexts="unigrams",
            vocab_size=vocab_size,
            min_count=min_count,
            jobs=jobs,
            memory=memory,
            field=field,
            progress=progress,
            on_error=on_error,
        ).vocabulary
        budget = Budget.share_out(memory, 1)
        pieces: list[Int32s] = []
        for shard in plan_shards(names, 1, budget.shard_bytes, field):
            errors = None if on_error is None else ShardErrors()  # told of in the first reading
            for segment in read_segments(shard, budget, errors=errors):
                of_type = np.append(vocabulary.mapping(segment.types), np.int32(-1))
                pieces.extend(of_type[ids] for ids in segment.ids)  # the id -1 is the last entry
            pieces.append(np.array([-1], dtype=np.int32))
    return EncodedText(vocabulary, _without_empty_sentences(np.concatenate(pieces)))


def _without_empty_sentences(ids: Int32s) -> Int32s:
    ends = ids < 0
    again = ends & np.append(True, ends[:-1])
    return np.asarray(ids[~again])
