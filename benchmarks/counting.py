"""Counting words and bigrams: eigentext against ``read().split()`` and ``Counter(zip(t, t[1:]))``.

    python benchmarks/counting.py --text wiki.txt          # an uncompressed text

Both run in this process, one after the other, several times; the best time of each counts.  The
compiled code is warm.  Ours does more: bigrams do not cross the line, UTF-8 is validated, unigrams
are counted too, and the result is a sorted matrix over a vocabulary ordered by count.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from _data import plain_text

from eigentext.counting.counting import count

if TYPE_CHECKING:
    from collections.abc import Callable


def baseline(path: str) -> Any:
    """What one would write by hand."""
    with open(path, encoding="utf-8") as text:
        tokens = text.read().split()
    return Counter(itertools.pairwise(tokens))


def ours(path: str, jobs: int, vocab_size: int | None = None) -> Any:
    """Unigrams and bigrams, and the words as strings."""
    counts = count([path], contexts="r1", jobs=jobs, vocab_size=vocab_size)
    return counts, counts.words


def timed(function: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """The best wall and CPU seconds (user and system, all threads)."""
    walls, cpus = [], []
    for _ in range(repeats):
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        result = function()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        del result
    return min(walls), min(cpus)


def main() -> None:
    """Print one line per way of counting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--text", help="an uncompressed text file; wiki of the data otherwise")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--baseline-repeats", type=int, default=2)
    options = parser.parse_args()
    options.text = options.text or plain_text()
    with tempfile.TemporaryDirectory() as folder:  # warm-up: load or build the compiled code
        sample = Path(folder) / "sample.txt"
        with open(options.text, "rb") as text:
            sample.write_bytes(b"".join(text.readlines(1 << 20)))
        ours(str(sample), 2)
    n_tokens = ours(options.text, 1)[0].n_tokens
    print(f"{options.text}: {n_tokens / 1e6:.1f}M tokens")
    titles = ("wall s", "CPU s", "M tokens/s", "wall ratio", "CPU ratio")
    print(" " * 34 + "".join(f"{title:>12s}" for title in titles))
    first = timed(lambda: baseline(options.text), options.baseline_repeats)
    rows = [("split and Counter", first)]
    for jobs in (1, 2):
        label = f"eigentext, {jobs} core{'s' if jobs > 1 else ''}"
        rows.append((label, timed(lambda jobs=jobs: ours(options.text, jobs), options.repeats)))
        rows.append(
            (
                f"{label}, 50,000 words",
                timed(lambda jobs=jobs: ours(options.text, jobs, 50_000), options.repeats),
            )
        )
    for label, (wall, cpu) in rows:
        print(
            f"{label:34s}{wall:12.3f}{cpu:12.3f}{n_tokens / wall / 1e6:12.1f}"
            f"{first[0] / wall:12.1f}{first[1] / cpu:12.1f}"
        )
    print(f"two cores over one: {rows[1][1][0] / rows[3][1][0]:.2f} times (wall)")


if __name__ == "__main__":
    main()
