"""What each kernel costs to compile: CPU seconds of its own lines, and for how many types.

    python benchmarks/compiling.py [--command "pipe train"] [--most 40]

Every line of the manifest of kernels is compiled in this process, into an empty folder; numba's
events say when each begins and ends.  What a kernel calls is counted for that kernel, but LLVM
optimises the code of callees once more in each caller, and that counts for the caller.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import defaultdict
from typing import Any


def costs(command: str) -> dict[str, list[float]]:
    """The CPU seconds of each list of types, by kernel."""
    from numba.core import event

    from eigentext.base.ahead import lines_of

    by_kernel: dict[str, list[float]] = defaultdict(list)
    begun: list[list[float]] = []  # of kernels that are being compiled: begin, seconds of callees

    class Listener(event.Listener):
        def on_start(self, compile_event: Any) -> None:
            begun.append([time.process_time(), 0.0])

        def on_end(self, compile_event: Any) -> None:
            begin, callees = begun.pop()
            seconds = time.process_time() - begin
            if begun:
                begun[-1][1] += seconds
            function = compile_event.data["dispatcher"].py_func
            by_kernel[f"{function.__module__}.{function.__qualname__}"].append(seconds - callees)

    event.register("numba:compile", Listener())
    for line in lines_of(command):
        kernel, types = line.signature()
        kernel.compile(types)
    return by_kernel


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--command", default="", help="only what this command calls")
    parser.add_argument("--most", type=int, default=40, help="rows (default: %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder  # read when numba is imported
        by_kernel = costs(options.command)
    rows = sorted(((sum(s), len(s), name) for name, s in by_kernel.items()), reverse=True)
    for seconds, n_types, name in rows[: options.most]:
        print(f"{seconds:7.2f} {n_types:3d}  {name}")
    repeated = sum(sum(s) - max(s) for s in by_kernel.values())
    total, n_types = sum(row[0] for row in rows), sum(row[1] for row in rows)
    print(f"{total:7.2f} {n_types:3d}  all of {len(rows)} kernels; second types {repeated:.1f}")


if __name__ == "__main__":
    main()
