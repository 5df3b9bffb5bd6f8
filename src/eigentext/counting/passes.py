"""The two passes, once for engines that share our memory and once for those that do not.

First pass (:func:`first_pass`): shards -> segments (types, counts, ids).
Second pass: the ids, now those of the vocabulary, -> runs of pair counts.

* :func:`second_pass_here`: the ids of the first pass are still there.  They are taken in batches
  that fit the budget; each batch is cut into one stretch per worker.
* :func:`second_pass_away`: each worker reads its shard again, knows the vocabulary, and sends back
  the pair counts of the shard.  Batch = shard.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eigentext.base.engines import Engine
from eigentext.base.files.writing import scratch_folder
from eigentext.base.hashing import fingerprint
from eigentext.base.progress import Progress
from eigentext.base.ragged import pointers
from eigentext.base.types import Int32s, Int64s
from eigentext.counting.contexts import Contexts
from eigentext.counting.interning import Types
from eigentext.counting.memory import Budget
from eigentext.counting.runs import PairRun, RunStore, count_pairs
from eigentext.counting.segments import Handle, SegmentStore, ShardResult
from eigentext.counting.shards import Segment, Shard, ShardErrors, read_segments
from eigentext.counting.spill import saved
from eigentext.counting.vocabulary import Vocabulary
from eigentext.counting.workfolder import stage

Piece = tuple[Handle, int, int]


class _Stopped(Exception):
    """Another worker failed; this one need not go on."""


@dataclass(frozen=True)
class CountingJob:
    """What both passes need to know."""

    shards: Sequence[Shard]
    engine: Engine
    budget: Budget
    folder: Path
    key: str
    resumable: bool
    skip: bool
    progress: Progress | None


class _Meter:
    """Adds up the bytes that the workers report, and tells them when to stop."""

    def __init__(self, job: CountingJob, stage: str) -> None:
        self._total = sum(shard.size for shard in job.shards)
        self._done = 0
        self._progress = job.progress
        self._stage = stage
        self._lock = threading.Lock()
        self.stopped = False

    def __call__(self, fresh: int) -> None:
        if self.stopped:
            raise _Stopped
        if self._progress is not None:
            with self._lock:
                self._done += fresh
                self._progress(self._done, self._total, self._stage)


def first_pass(job: CountingJob, store: SegmentStore) -> list[ShardResult]:
    """The segments of every shard, in the order of the shards."""
    meter = _Meter(job, "reading")
    earlier = [store.done_shard(number) for number in range(len(job.shards))]
    results: list[ShardResult] = []
    to_do = [number for number, result in enumerate(earlier) if result is None]

    def put(number: int, segments: Iterable[Segment], errors: ShardErrors) -> ShardResult:
        handles = [store.put(number, order, segment) for order, segment in enumerate(segments)]
        store.finish_shard(number, handles, errors)
        return ShardResult(tuple(handles), errors)

    def here(number: int) -> ShardResult:
        shard, errors = job.shards[number], ShardErrors()
        skipped = errors if job.skip else None
        segments = read_segments(shard, job.budget, errors=skipped, on_bytes=meter)
        return put(number, segments, errors)

    try:
        if job.engine.shares_memory:
            fresh = job.engine.map(here, to_do)
        else:
            away = [(job.shards[number], job.budget, job.skip) for number in to_do]
            tables = zip(to_do, job.engine.map(read_types, away), strict=True)
            fresh = (put(number, *result) for number, result in tables)
        for number, result in enumerate(earlier):
            results.append(result if result is not None else next(fresh))
            if result is not None or not job.engine.shares_memory:
                meter(job.shards[number].size)
    finally:
        meter.stopped = True
    return results


def read_types(task: tuple[Shard, Budget, bool]) -> tuple[list[Segment], ShardErrors]:
    """First pass of a worker elsewhere: segments without their ids."""
    shard, budget, skip = task
    errors = ShardErrors()
    segments = read_segments(shard, budget, errors=errors if skip else None)
    return [Segment(s.types, (), s.n_tokens, s.n_sentences) for s in segments], errors


def batches(handles: Sequence[Handle], limit: int) -> list[list[Piece]]:
    """Stretches of ids, in order, of at most ``limit`` ids each."""
    stretches: list[list[Piece]] = [[]]
    room = limit
    for handle in handles:
        begin = 0
        while begin < handle.n_ids:
            if room == 0:
                stretches.append([])
                room = limit
            end = min(handle.n_ids, begin + room)
            stretches[-1].append((handle, begin, end))
            room -= end - begin
            begin = end
    return stretches


def _known_ids(pieces: Sequence[Piece], vocabulary: Vocabulary, engine: Engine) -> Int32s:
    """The pieces one after the other, in ids of the vocabulary."""
    from eigentext.counting.kernels import interning as kernels

    if any(handle.mapping is None for handle, _, _ in pieces):
        _ = vocabulary.table  # made once, before the threads ask for it
    cuts = pointers(end - begin for _, begin, end in pieces)
    out = np.empty(int(cuts[-1]), dtype=np.int32)

    def fill(number: int) -> None:
        handle, begin, end = pieces[number]
        if handle.mapping is not None:
            mapping = handle.mapping
            chunks = handle.ids(begin, end)
        elif (
            end - begin < len(types := handle.types()) // 4
        ):  # few ids of many types: look up only these
            ids = np.concatenate([np.empty(0, dtype=np.int32), *handle.ids(begin, end)])
            used = np.unique(ids[ids >= 0])
            mapping = np.zeros(len(types), dtype=np.int32)
            mapping[used] = vocabulary.mapping(types.take(used.astype(np.int64)))
            chunks = [ids]
        else:
            mapping = vocabulary.mapping(types)
            chunks = handle.ids(begin, end)
        at = int(cuts[number])
        for chunk in chunks:
            kernels.translate(chunk, mapping, out[at : at + len(chunk)])
            at += len(chunk)

    for _ in engine.map(fill, range(len(pieces))):
        pass
    return out


def _last_ids(before: Sequence[list[Piece]], n_ids: int) -> list[Piece]:
    """Pieces with the last ids of earlier batches: the left context of the next batch."""
    tail: list[Piece] = []
    for handle, begin, end in (piece for batch in reversed(before) for piece in reversed(batch)):
        if n_ids == 0:
            break
        begin = max(begin, end - n_ids)
        tail.insert(0, (handle, begin, end))
        n_ids -= end - begin
    return tail


def second_pass_here(
    job: CountingJob,
    handles: Sequence[Handle],
    vocabulary: Vocabulary,
    contexts: Contexts,
    store: RunStore,
) -> None:
    """Count the pairs of all batches into the store; its keys are the numbers of the spans."""
    meter = _Meter(job, "pairs")
    widest = max((far - near + 1 for near, far in contexts.spans), default=1)
    planned = batches(handles, max(contexts.farthest, job.budget.batch_pairs // widest, 1))
    sizes = [sum(end - begin for _, begin, end in batch) for batch in planned]
    jobs = job.engine.jobs
    tasks = [(span, part) for span in range(len(contexts.spans)) for part in range(jobs)]
    pairs = _stage_folder(job, vocabulary, contexts, [sizes, jobs])
    total = sum(shard.size for shard in job.shards)
    for number, batch in enumerate(planned):
        names = [pairs / f"{number:06d}-{span}-{part}" for span, part in tasks]
        missing = [at for at, name in enumerate(names) if not job.resumable or saved(name) is None]
        for at, (span, _) in enumerate(tasks):
            if at not in missing:
                store.add(span, PairRun.from_disk(names[at]))
        if missing:
            tail = _last_ids(planned[:number], contexts.farthest)
            ids = _known_ids([*tail, *batch], vocabulary, job.engine)
            first = len(ids) - sizes[number]
            cuts = [first + sizes[number] * part // jobs for part in range(jobs + 1)]

            def counted(at: int, ids: Int32s = ids, cuts: list[int] = cuts) -> PairRun:
                span, part = tasks[at]
                begin, end = cuts[part], cuts[part + 1]
                run = count_pairs(ids, begin, end, contexts.spans[span], len(vocabulary))
                return run.to_disk(names[at]) if job.resumable else run  # noqa: B023

            for at, run in zip(missing, job.engine.map(counted, missing), strict=True):
                store.add(tasks[at][0], run)
        meter(total * (number + 1) // len(planned) - total * number // len(planned))


def _stage_folder(
    job: CountingJob, vocabulary: Vocabulary, contexts: Contexts, layout: object
) -> Path:
    """The folder for runs; those there are of the same text, words, contexts and cuts."""
    if not job.resumable:
        return job.folder / "pairs"
    types = vocabulary.types
    blob = types.blob[: int(types.offsets[-1])]
    key = fingerprint(job.key, blob, types.offsets, contexts.names, layout)
    return stage(job.folder, "pairs", key)


def second_pass_away(
    job: CountingJob, vocabulary: Vocabulary, contexts: Contexts, store: RunStore
) -> None:
    """Let the workers count the pairs of one shard each."""
    meter = _Meter(job, "pairs")
    layout = [(shard.source, shard.start, shard.stop) for shard in job.shards]
    pairs = _stage_folder(job, vocabulary, contexts, layout)
    spans = range(len(contexts.spans))
    names = [[pairs / f"{n:06d}-{span}" for span in spans] for n in range(len(job.shards))]
    missing = [
        n
        for n in range(len(job.shards))
        if not job.resumable or any(saved(name) is None for name in names[n])
    ]
    words = job.engine.share(vocabulary.types)
    tasks = [(words, job.shards[n], job.budget, job.skip, contexts) for n in missing]
    fresh = job.engine.map(count_shard, tasks)
    for number, shard in enumerate(job.shards):
        if number in missing:
            runs = [PairRun.of(*arrays) for arrays in next(fresh)]
            if job.resumable:
                runs = [run.to_disk(name) for run, name in zip(runs, names[number], strict=True)]
        else:
            runs = [PairRun.from_disk(name) for name in names[number]]
        for span, run in enumerate(runs):
            store.add(span, run)
        meter(shard.size)


def count_shard(
    task: tuple[Types, Shard, Budget, bool, Contexts],
) -> list[tuple[Int64s, Int32s, Int64s]]:
    """Second pass of a worker elsewhere: the CSR arrays of each span over one shard."""
    from eigentext.base.engines import LocalEngine

    types, shard, budget, skip, contexts = task
    vocabulary = Vocabulary(types)
    widest = max((far - near + 1 for near, far in contexts.spans), default=1)
    limit = max(contexts.farthest, budget.batch_pairs // widest, 1)
    tail = np.empty(0, dtype=np.int32)
    engine = LocalEngine()
    with scratch_folder() as folder:
        store = RunStore(folder, budget.run_bytes)
        for span in range(len(contexts.spans)):
            empty = np.zeros(len(vocabulary) + 1, dtype=np.int64)
            none = np.empty(0, dtype=np.int32)
            store.add(span, PairRun.of(empty, none, none.astype(np.int64)))
        for segment in read_segments(shard, budget, errors=ShardErrors() if skip else None):
            n_ids = sum(len(ids) for ids in segment.ids)
            handle = Handle(n_ids, segment.n_tokens, segment.n_sentences, 0, segment=segment)
            for batch in batches([handle], limit):
                fresh = _known_ids(batch, vocabulary, engine)
                ids = np.concatenate([tail, fresh])
                for span, distances in enumerate(contexts.spans):
                    run = count_pairs(ids, len(tail), len(ids), distances, len(vocabulary))
                    store.add(span, run)
                tail = ids[max(0, len(ids) - contexts.farthest) :].copy()
        results = []
        for span in range(len(contexts.spans)):
            blocks = list(store.total(span, engine))
            starts = [np.zeros(1, dtype=np.int64)]
            for block in blocks:
                starts.append(block[0][1:] + starts[-1][-1])
            columns = np.concatenate([block[1] for block in blocks])
            data = np.concatenate([block[2] for block in blocks])
            results.append((np.concatenate(starts), columns, data))
        return results
