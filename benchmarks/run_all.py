"""Run every benchmark on the data in $EIGENTEXT_DATA, one after the other.

usage: python benchmarks/run_all.py [NAME ...]

Every script runs without options, on data below $EIGENTEXT_DATA (and an ALMOR database at
$EIGENTEXT_ALMOR); rows that take long are kept below .bench or $EIGENTEXT_BENCH, so that a second
run prints them at once.  All of them together take many hours.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    """Run the benchmarks that are named, or all; return the number that failed."""
    if not os.environ.get("EIGENTEXT_DATA"):
        print("set EIGENTEXT_DATA to the folder of open data sets", file=sys.stderr)
        return 2
    wanted = set(sys.argv[1:])
    failed = 0
    for script in sorted(HERE.glob("*.py")):
        if script.name == "run_all.py" or script.name.startswith("_"):
            continue
        if wanted and script.stem not in wanted:
            continue
        print(f"== {script.stem}", flush=True)
        failed += subprocess.run([sys.executable, str(script)], check=False).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
