"""Does the service's memory grow with every new word?  Requests of new words, one worker.

    EIGENTEXT_DATA=... EIGENTEXT_ALMOR=... python benchmarks/service_memory.py [--requests 40]

A ranker of all of PADT (trained once, and kept) is served to one worker, which gets requests of
2,000 Arabic-looking words that it has not met.  Printed: the worker's resident memory in MB before
the first request and after each, with its CPU seconds for it; Linux only (/proc).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from _data import data, kept

COMMAND = [sys.executable, "-m", "eigentext.cli"]
LETTERS = "ابتثجحخدذرزسشصضطظعغفقكلمنهوي"


def worker_of(server: int) -> int:
    """The process with the most memory below the server's."""
    below, found = [server], []
    while below:
        number = below.pop()
        children = Path(f"/proc/{number}/task/{number}/children").read_text().split()
        below += map(int, children)
        found += map(int, children)
    return max(found, key=megabytes)


def megabytes(process: int) -> int:
    """Resident memory."""
    told = Path(f"/proc/{process}/statm").read_text().split()
    return int(told[1]) * os.sysconf("SC_PAGE_SIZE") // 1_000_000


def seconds(process: int) -> float:
    """CPU time so far."""
    told = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def ask(address: str, words: list[str]) -> None:
    """Have the readings of these words ranked."""
    body = json.dumps({"text": " ".join(words)}).encode()
    head = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{address}/api/lex/rank", data=body, headers=head)
    with urllib.request.urlopen(request) as answer:
        answer.read()


def main() -> None:
    """Serve, ask, and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--words", type=int, default=2_000)
    chosen = parser.parse_args()
    model = kept(__file__) / "padt.ranker"
    if not model.exists():
        words = data() / "lexical/ar-padt/words.jsonl"
        told = ["lex", "train", str(words), "-o", str(model), "--analyzer", "almor"]
        subprocess.run([*COMMAND, *told], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told = ["serve", "--port", str(port), "--workers", "1", "--seconds", "600", "-q"]
    server = subprocess.Popen([*COMMAND, *told, "--lex-model", str(model)])
    address = f"http://127.0.0.1:{port}"
    try:
        while True:
            try:
                ask(address, ["من"])
                break
            except urllib.error.URLError:
                time.sleep(0.5)
        worker, draw = worker_of(server.pid), random.Random(0)
        print(f"before: {megabytes(worker)} MB", flush=True)
        for number in range(1, chosen.requests + 1):
            sizes = (draw.randint(4, 8) for _ in range(chosen.words))
            began = seconds(worker)
            ask(address, ["".join(draw.choices(LETTERS, k=size)) for size in sizes])
            spent = seconds(worker) - began
            print(f"request {number}: {megabytes(worker)} MB, {spent:.1f} CPU s", flush=True)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
