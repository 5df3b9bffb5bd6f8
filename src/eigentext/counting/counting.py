"""Text to counts.

1. The sources are expanded and cut into shards.
2. First pass: every shard becomes segments of ids; their word tables are merged, ordered and cut
   into the vocabulary (or the vocabulary is given).
3. Second pass: the ids become pair counts, in runs that fit the memory setting.
4. The runs are added up, and all is handed out as a :class:`~eigentext.counting.counts.Counts`.

The result does not depend on the number of jobs, the engine, the memory setting or the shards.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from eigentext.base.engines import Engine, LocalEngine, cluster_in_use
from eigentext.base.files.opening import expand
from eigentext.base.hashing import fingerprint
from eigentext.base.progress import Progress
from eigentext.counting import workfolder
from eigentext.counting.contexts import Contexts, parse_contexts
from eigentext.counting.counts import Counts
from eigentext.counting.memory import Budget
from eigentext.counting.passes import CountingJob, first_pass, second_pass_away, second_pass_here
from eigentext.counting.raw_text import tokenised_files
from eigentext.counting.runs import RunStore
from eigentext.counting.segments import Handle, SegmentStore, handle_of
from eigentext.counting.shards import Shard, plan_shards
from eigentext.counting.vocabulary import Vocabulary, merge_types, select
from eigentext.errors import DataError, SettingsError


def count(
    sources: Iterable[str],
    *,
    contexts: str | Contexts | Iterable[int] = "lr2",
    vocab_size: int | None = None,
    min_count: int = 1,
    vocabulary: Counts | Vocabulary | Sequence[str] | None = None,
    jobs: int = 1,
    memory: str | int | Budget = "2GB",
    in_memory: int | None = None,
    tokeniser: str | None = None,
    newlines: str = "auto",
    field: str | None = None,
    work_dir: str | os.PathLike[str] | None = None,
    keep_work: bool = False,
    engine: Engine | None = None,
    progress: Progress | None = None,
    on_error: Callable[[DataError], None] | None = None,
) -> Counts:
    """Count words and word pairs in tokenised text, one sentence a line.

    With a ``tokeniser`` the text is raw, and ``newlines`` tells which line breaks end a sentence
    (``line_breaks``).  Of files of records (Parquet, JSON Lines, WARC: ``formats.records``) the
    text is what stands in ``field``, ``text`` unless told.  The vocabulary is the ``vocab_size``
    most frequent words seen at least ``min_count`` times, or the given one.  With a ``work_dir`` a
    killed job goes on where it was when it is called again with the same settings; the folder must
    be new, empty, or left by such a job, and what was written there is removed at the end unless
    ``keep_work``.
    ``memory`` bounds the process while it counts; pairs that take more than ``in_memory`` bytes,
    half of that unless told, are left on disk and mapped.
    ``on_error`` is called for each line that is not UTF-8 or too long, and for each record without
    text, which are then left out.

    >>> from eigentext.base.files.opening import atomic_write
    >>> with atomic_write("memory://count-example.txt") as out:
    ...     _ = out.write(b"the cat sat\\nthe cat ran\\n")
    >>> counts = count(["memory://count-example.txt"], contexts="r1")
    >>> counts.words
    ('cat', 'the', 'ran', 'sat', '<unk>')
    >>> int(counts.matrix(+1)[1, 0]), counts.n_tokens
    (2, 6)
    """
    if isinstance(sources, (str, os.PathLike)):
        raise TypeError(f"count() takes a list of sources: [{os.fspath(sources)!r}]")
    chosen_contexts = parse_contexts(contexts)
    fixed_words = _given_vocabulary(vocabulary, vocab_size, min_count)
    engine = engine or cluster_in_use() or LocalEngine(jobs)
    budget = memory if isinstance(memory, Budget) else Budget.share_out(memory, engine.jobs)
    names = expand(sources)
    if not names:
        raise SettingsError("no sources to count")
    if names.count("-") > 1 or ("-" in names and not engine.shares_memory):
        raise SettingsError("standard input can be counted once, and only by this process")
    skip = on_error is not None
    with workfolder.opened(work_dir, keep=keep_work) as folder:
        texts = names
        if tokeniser is not None:
            texts = tokenised_files(
                names, tokeniser, folder / "raw", newlines=newlines, field=field, on_error=on_error
            )
            field = None
        shards = plan_shards(texts, engine.jobs, budget.shard_bytes, field)
        key = _key(shards, budget, engine, skip=skip)
        resumable = work_dir is not None and "-" not in names
        if in_memory is None:
            in_memory = 2 * budget.run_bytes
        job = CountingJob(shards, engine, budget, folder, key, resumable, skip, progress)
        segments_folder = workfolder.stage(folder, "segments", key)
        segments = SegmentStore(segments_folder, budget.kept_bytes, keep_on_disk=resumable)
        results = first_pass(job, segments)
        n_skipped = 0
        for shard, result in zip(shards, results, strict=True):
            n_skipped += len(result.errors.lines)
            if on_error is not None:
                result.errors.tell(shard, on_error)
        handles = [handle for result in results for handle in result.handles]
        if not any(handle.n_tokens for handle in handles):
            more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
            raise DataError(names[0] + more, None, "no tokens, expected text")
        return _counted(
            job, handles, chosen_contexts, fixed_words, vocab_size, min_count, n_skipped, in_memory
        )


def count_sentences(
    sentences: Iterable[Sequence[str]],
    *,
    contexts: str | Contexts | Iterable[int] = "lr2",
    vocab_size: int | None = None,
    min_count: int = 1,
) -> Counts:
    """Count lists of tokens, as :func:`count` would if they were lines of a file.

    >>> count_sentences([["a", "cat"], ["a", "dog"]], contexts="r1").words
    ('a', 'cat', 'dog', '<unk>')
    """
    chosen_contexts = parse_contexts(contexts)
    fixed_words = _given_vocabulary(None, vocab_size, min_count)
    handle = handle_of(sentences)
    # the sentences are in memory, so their counts may be too: nothing goes to disk
    budget = dataclasses.replace(Budget(), run_bytes=2**62, table_bytes=2**62)
    job = CountingJob(
        (), LocalEngine(), budget, Path(), "", resumable=False, skip=False, progress=None
    )
    return _counted(job, [handle], chosen_contexts, fixed_words, vocab_size, min_count, 0, 2**62)


def _counted(
    job: CountingJob,
    handles: list[Handle],
    contexts: Contexts,
    fixed_words: Vocabulary | None,
    vocab_size: int | None,
    min_count: int,
    n_skipped: int,
    in_memory: int,
) -> Counts:
    """The vocabulary and the second pass, once all text is in segments."""
    n_tokens = sum(handle.n_tokens for handle in handles)
    if fixed_words is None:
        types, n_types, mappings = merge_types(
            [handle.types for handle in handles],
            4 * sum(handle.types_bytes for handle in handles),  # a table has spare room
            job.budget.table_bytes,
            lambda types: select(types, vocab_size, min_count),
            job.engine,
        )
        words, complete = Vocabulary(types), len(types) == n_types
        if mappings is not None:
            handles = [
                dataclasses.replace(handle, mapping=mapping)
                for handle, mapping in zip(handles, mappings, strict=True)
            ]
        unigrams = np.append(types.counts, n_tokens - types.counts.sum())
    else:
        words, complete = fixed_words, False
        unigrams = np.zeros(len(words), dtype=np.int64)
        for handle in handles:
            types = handle.types()
            np.add.at(unigrams, words.mapping(types), types.counts)
    runs = RunStore(job.folder / "spill", job.budget.run_bytes)
    if contexts.spans and job.engine.shares_memory:
        second_pass_here(job, handles, words, contexts, runs)
    elif contexts.spans:
        second_pass_away(job, words, contexts, runs)
    here = job.engine if job.engine.shares_memory else LocalEngine()
    entries = sum(run.n_entries for span in range(len(contexts.spans)) for run in runs.runs[span])
    large = 12 * entries > in_memory
    halves = tuple(
        runs.matrix(span, job.folder / "result", here, on_disk=large)
        for span in range(len(contexts.spans))
    )
    n_sentences = sum(handle.n_sentences for handle in handles)
    return Counts(words, unigrams, contexts, halves, n_tokens, n_sentences, n_skipped, complete)


def _given_vocabulary(
    vocabulary: Counts | Vocabulary | Sequence[str] | None, vocab_size: int | None, min_count: int
) -> Vocabulary | None:
    if min_count < 1:
        raise SettingsError(f"min_count must be 1 or more, found {min_count}")
    if vocab_size is not None and vocab_size < 1:
        raise SettingsError(f"vocab_size must be 1 or more, found {vocab_size}")
    if vocabulary is None:
        return None
    if vocab_size is not None or min_count > 1:
        raise SettingsError("with a given vocabulary there is no vocab_size or min_count to apply")
    if isinstance(vocabulary, Counts):
        return vocabulary.vocabulary
    if isinstance(vocabulary, Vocabulary):
        return vocabulary
    return Vocabulary.from_words(vocabulary)


def _key(shards: Sequence[Shard], budget: Budget, engine: Engine, *, skip: bool) -> str:
    """What must be the same for an unfinished job to be continued."""
    from eigentext import version

    return fingerprint(
        version.VERSION,
        [dataclasses.astuple(shard) for shard in shards],
        [budget.segment_types, budget.segment_tokens, budget.segment_bytes],
        engine.shares_memory,
        skip,
    )
