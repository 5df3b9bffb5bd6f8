"""Counting the same text as plain lines and out of records: CPU seconds and peak memory.

    python benchmarks/records.py --lines 400000            # so many lines of the text

Each way runs in a process of its own, which warms the compiled code first; its memory is that of
the whole process, so that the first row is what there is to compare with.  Records have 20 lines.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from _data import plain_text

COUNT = """
import hashlib, resource, sys, time
from eigentext.counting.counting import count
from eigentext.base.files.opening import write_lines
write_lines("memory://warm.txt", ["a b c"] * 3)
write_lines("memory://warm.jsonl", ['{"text": "a b c"}'])
count(["memory://warm.txt", "memory://warm.jsonl"], contexts="r1")
began = time.process_time()
counts = count([sys.argv[1]], contexts="r1", memory="300MB", jobs=int(sys.argv[2]))
took = time.process_time() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(took, peak, counts.n_tokens, hashlib.sha256(counts.to_bytes()).hexdigest())
"""
RECORD = "WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: {}\r\n\r\n"


def write_all(folder: Path, text: str, n_lines: int) -> list[Path]:
    """The same lines in every format."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from eigentext.base.files.opening import atomic_write

    with open(text, encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in itertools.islice(file, n_lines)]
    texts = ["\n".join(lines[begin : begin + 20]) for begin in range(0, len(lines), 20)]
    (folder / "lines.txt").write_text("\n".join(lines), encoding="utf-8")
    objects = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()
    (folder / "a.jsonl").write_bytes(objects)
    with atomic_write(folder / "a.jsonl.zst") as out:
        out.write(objects)
    pq.write_table(pa.table({"text": texts}), folder / "a.parquet", row_group_size=2000)
    with (folder / "a.wet").open("wb") as out:
        for content in (text.encode() for text in texts):
            out.write(RECORD.format(len(content)).encode() + content + b"\r\n\r\n")
    return sorted(folder.iterdir(), key=lambda path: path.name != "lines.txt")


def main() -> None:
    """Print a row for every format and number of jobs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--text", help="an uncompressed text file; wiki of the data otherwise")
    parser.add_argument("--lines", type=int, default=400_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        paths = write_all(Path(scratch), options.text or plain_text(), options.lines)
        plain = sums = None
        for path, jobs in itertools.product(paths, (1, 2)):
            line = [sys.executable, "-c", COUNT, str(path), str(jobs)]
            done = subprocess.run(line, check=True, capture_output=True, text=True).stdout.split()
            seconds, peak = float(done[0]), float(done[1])
            plain, sums = plain or seconds, sums or done[3]
            same = "same counts" if done[3] == sums else "OTHER COUNTS"
            print(
                f"{path.name:12} jobs {jobs}  {path.stat().st_size / 1e6:6.0f} MB  "
                f"{seconds:6.2f} CPU s ({seconds / plain:.2f} x text)  peak {peak:5.0f} MB  "
                f"{int(done[2]):,} tokens, {same}",
                flush=True,
            )


if __name__ == "__main__":
    main()
