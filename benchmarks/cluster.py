"""Counts, clusters and vectors by one core, by several, and by a Dask cluster: the same files?

    python benchmarks/cluster.py                             # wiki of the data, 2 workers here
    python benchmarks/cluster.py --text my.txt --vocab-size 200000 --clusters 1000
    python benchmarks/cluster.py --scheduler tcp://10.0.0.1:8786

For each stage and engine: the sha256 of the model file, CPU seconds of this process and of all
workers, and megabytes that went to the cluster (what is shared is counted once, however many
workers fetch it from each other) and came back.  Ends with code 1 where files differ.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import pickle
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _data import plain_text

from eigentext.base.cores import using_cores
from eigentext.base.engines import DaskEngine, using_cluster
from eigentext.counting.counting import count
from eigentext.words import CCAEmbedding, SpectralClusters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Weighed(DaskEngine):
    """A cluster that tells what travels."""

    sent = received = 0

    def share(self, value: Any, prepare: Callable[[Any], Any] | None = None) -> Any:
        """As it is, and weighed."""
        self.sent += len(pickle.dumps(value, protocol=5))
        return super().share(value, prepare)

    def map(self, function: Callable[[Any], Any], tasks: Any) -> Iterator[Any]:
        """As it is, with the results weighed; tasks themselves are small."""
        for result in super().map(function, tasks):
            self.received += len(pickle.dumps(result, protocol=5))
            yield result


def stages(text: str, options: argparse.Namespace, jobs: int) -> Iterator[tuple[str, Any]]:
    """What is made, one after the other, by whoever is in use."""
    contexts = {"contexts": "lr2", "vocab_size": options.vocab_size}
    counts = count([text], jobs=jobs, **contexts)
    yield "count", counts
    yield "cluster", SpectralClusters(options.clusters).fit(counts)
    yield "embed", CCAEmbedding(options.components).fit(counts)


def main() -> int:
    """Print a row for each stage and engine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--text", help="an uncompressed text file; wiki of the data otherwise")
    parser.add_argument("--vocab-size", type=int, default=50_000)
    parser.add_argument("--clusters", type=int, default=500)
    parser.add_argument("--components", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2, help="of a cluster on this machine")
    parser.add_argument("--scheduler", help="a cluster elsewhere")
    options = parser.parse_args()
    text = options.text or plain_text()
    print("stage    engine      CPU s here  of workers  MB sent  received  sha256")
    sums: dict[str, set[str]] = {}
    for engine in ("jobs 1", "jobs 2", "dask"):
        jobs = int(engine[5:] or 1)
        joined: Any = nullcontext()
        if engine == "dask":
            here = options.scheduler is None
            joined = Weighed.here(options.workers) if here else Weighed(options.scheduler)
        with joined as cluster, using_cores(jobs), using_cluster(cluster):
            began, before = time.process_time(), _of_workers(cluster)
            for stage, model in stages(text, options, jobs):
                spent, after = time.process_time() - began, _of_workers(cluster)
                found = _sha256(model)
                sums.setdefault(stage, set()).add(found)
                moved = (cluster.sent, cluster.received) if cluster else (0, 0)
                print(
                    f"{stage:8s} {engine:10s} {spent:11.1f} {after - before:11.1f} "
                    f"{moved[0] / 1e6:8.1f} {moved[1] / 1e6:9.1f}  {found[:16]}",
                    flush=True,
                )
                if cluster:
                    cluster.sent = cluster.received = 0
                began, before = time.process_time(), _of_workers(cluster)
    same = all(len(found) == 1 for found in sums.values())
    print("all files are the same" if same else "FILES DIFFER")
    return 0 if same else 1


def _of_workers(cluster: DaskEngine | None) -> float:
    """CPU seconds of all workers since they were started."""
    return 0.0 if cluster is None else sum(cluster.run_everywhere(time.process_time))


def _sha256(model: Any) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(os.fspath(path))
        return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
