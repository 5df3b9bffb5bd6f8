"""The studio under load, and killed at random moments: waiting times, and nothing lost.

    python benchmarks/studio_load.py --clients 50 --seconds 120
    python benchmarks/studio_load.py --kills 50 [--store postgresql+psycopg://...]
    python benchmarks/studio_load.py --sentences 1000 5000 [-- --dep-model ewt.parser]

The first starts `eigentext studio` with the sample's models in a process of its own, and as many
clients as said on this machine: each asks for pages, parses, looks words up, reads, and decides in
an annotation project of its own, one request after the other with a pause as people make it
(``--pause``).  Printed are the median and the 99th percentile of each kind of request, errors, and
the slowest answer of ``/api/health``, which a process of its own asks ten times a second: in that
of the clients it would wait for them, not for the service.

The second kills the server (`eigentext serve`, without models) by ``kill -9`` at random moments
while annotators decide, starts it again on the same store, and holds all decisions that were
acknowledged against the history that the service tells: nothing may be missing.

The third imports so many sentences of EWT as one document, decides ``--keys`` arcs in sentences
all over it, and prints what a key costs: CPU of the server and of its workers, and the wait.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx
from _data import data

_WARM = 5  # decisions before those that are counted
SENTENCES = [
    "The dog sees a cat in the garden.",
    "My sister reads a long book about birds.",
    "We walked to the old house near the river.",
]
TREES = "\n".join(
    f"1\tthe\t_\tDET\tDT\t_\t2\tdet\t_\t_\n2\tdog\t_\tNOUN\tNN\t_\t3\tnsubj\t_\t_\n"
    f"3\tbarks{k}\t_\tVERB\tVBZ\t_\t0\troot\t_\t_\n"
    for k in range(40)
)


class Service:
    """`eigentext studio`, or `serve` (no models), in a process of its own."""

    def __init__(self, store: str, arguments: list[str], *, what: str = "studio") -> None:
        self.command = [sys.executable, "-m", "eigentext.cli", what, "--port", "0"]
        self.command += ["--annotations", store, *arguments]
        self.process: subprocess.Popen[str] | None = None
        self.address = ""

    def start(self) -> None:
        """Start, and wait until the models are there."""
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if "http://" in line:
                self.address = "http://" + line.partition("http://")[2].split()[0].rstrip("/.")
                break
        threading.Thread(target=self._drain, daemon=True).start()
        with new_client(self.address) as client:
            while True:
                try:
                    health = client.get("/api/health").json()
                    trained = not health["training"] or not health["training"]["names"]
                    if health["status"] == "ok" and trained:
                        return
                except httpx.HTTPError:
                    if self.process.poll() is not None:
                        sys.exit("the service ended by itself")
                time.sleep(0.05)

    def _drain(self) -> None:
        assert self.process is not None
        assert self.process.stdout is not None
        for _ in self.process.stdout:
            pass

    def cpu_seconds(self) -> tuple[float, float]:
        """CPU of the server, and of its workers, since they were started."""
        assert self.process is not None
        server, workers = 0.0, 0.0
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                cells = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            seconds = (int(cells[11]) + int(cells[12])) / os.sysconf("SC_CLK_TCK")
            if int(folder.name) == self.process.pid:
                server = seconds
            elif int(cells[1]) == self.process.pid:
                workers += seconds
        return server, workers

    def kill(self, how: int = signal.SIGKILL) -> None:
        """End it, without a warning unless told."""
        assert self.process is not None
        self.process.send_signal(how)
        self.process.wait()


def new_client(address: str, name: str = "") -> httpx.Client:
    """A client; certificates, which take 30 ms to load, are not needed on loopback."""
    head = {"X-Annotator": name} if name else {}
    return httpx.Client(base_url=address, headers=head, timeout=60, verify=False)


def watch(address: str, seconds: float, line: Any) -> None:
    """Ask for health ten times a second; how long each answer took goes to ``line``."""
    found = []
    with new_client(address) as client:
        client.get("/api/health").raise_for_status()
        line.send("ready")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.perf_counter()
            client.get("/api/health").raise_for_status()
            found.append(time.perf_counter() - began)
            time.sleep(0.1)
    line.send(found)


def project(address: str, name: str) -> tuple[httpx.Client, int]:
    """An annotator with a project and a document of their own."""
    client = new_client(address, name)
    made = client.post("/api/projects", json={"name": name, "task": "dependency"})
    made.raise_for_status()
    body = {"name": "text", "format": "conllu", "text": TREES}
    documents = client.post(f"/api/projects/{made.json()['id']}/documents", json=body)
    documents.raise_for_status()
    return client, int(documents.json()["documents"][0]["id"])


def change(chance: random.Random, number: int) -> dict[str, Any]:
    """A decision that can be told from all others: its note has a number."""
    return {
        "sentence": chance.randrange(40),
        "item": f"a{chance.randint(1, 2)}",
        "value": {"head": 3},
        "note": f"decision {number}",
        "seconds": 1.0,
        "keys": 1,
    }


def load(options: argparse.Namespace) -> None:
    """Many clients at a time."""
    with tempfile.TemporaryDirectory() as folder:
        service = Service(str(Path(folder, "a.db")), options.studio)
        service.start()
        models = httpx.get(f"{service.address}/api/models").json()["models"]
        kinds = {model["kind"] for model in models}
        times: dict[str, list[float]] = {}
        errors: list[str] = []
        lock = threading.Lock()
        line, theirs = multiprocessing.Pipe()
        watched = (service.address, options.seconds, theirs)
        watcher = multiprocessing.get_context("spawn").Process(target=watch, args=watched)
        watcher.start()
        line.recv()  # it is ready: the first burst is seen
        end = time.monotonic() + options.seconds

        def person(number: int) -> None:
            chance = random.Random(number)
            client, document = project(service.address, f"annotator {number}")
            path = f"/api/documents/{document}"
            for turn in range(1_000_000):
                if time.monotonic() >= end:
                    return
                asks: list[tuple[str, str, str, Any]] = [
                    ("page", "GET", "/parse", None),
                    ("parse", "POST", "/api/parse", {"text": chance.choice(SENTENCES)}),
                    ("propose", "GET", f"{path}/sentences/1", None),
                    ("decide", "POST", f"{path}/decisions", {"changes": [change(chance, turn)]}),
                ]
                if "words" in kinds:
                    asks.append(("words", "POST", "/api/words/look", {"word": "dog"}))
                kind, method, where, body = chance.choice(asks)
                began = time.perf_counter()
                try:
                    answer = client.request(method, where, json=body)
                    fine = answer.status_code == 200
                    wrong = "" if fine else f"{answer.status_code} {answer.text[:200]}"
                except httpx.HTTPError as error:
                    wrong = repr(error)
                spent = time.perf_counter() - began
                with lock:
                    times.setdefault(kind, []).append(spent)
                    if wrong:
                        errors.append(f"{kind}: {wrong}")
                time.sleep(chance.expovariate(1 / options.pause))

        people = [threading.Thread(target=person, args=(k,)) for k in range(options.clients)]
        for one in people:
            one.start()
        health = line.recv()
        watcher.join()
        for one in people:
            one.join()
        service.kill(signal.SIGTERM)
        print(f"{options.clients} clients, {options.seconds:g} s, pauses of {options.pause:g} s")
        print("| request | number | p50 ms | p99 ms | slowest ms |\n|---|---|---|---|---|")
        for kind, spent in [*sorted(times.items()), ("health", health)]:
            figures = (statistics.median(spent), centile(spent), max(spent))
            shown = " | ".join(f"{1e3 * seconds:.0f}" for seconds in figures)
            print(f"| {kind} | {len(spent):,} | {shown} |")
        print(f"errors: {len(errors)}", *errors[:5], sep="\n")
        if errors:
            sys.exit(1)


def centile(values: list[float], share: float = 0.99) -> float:
    """The value that so many are not above."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def kills(options: argparse.Namespace) -> None:
    """A server that is killed again and again, and what it had acknowledged."""
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or str(Path(folder, "a.db"))
        # one worker: what is saved goes through the server, and the next start is not held up
        service = Service(store, ["--workers", "1", *options.studio], what="serve")
        service.start()
        chance = random.Random(options.seed)
        acknowledged: dict[str, set[str]] = {}
        documents: dict[str, int] = {}
        run = f"{time.time():.0f}"
        for number in range(options.annotators):
            name = f"annotator {run} {number}"
            client, documents[name] = project(service.address, name)
            client.close()
            acknowledged[name] = set()
        n_decisions = 0
        for kill in range(options.kills):
            stop = threading.Event()

            def annotate(name: str, seed: int, stop: threading.Event = stop) -> None:
                own = random.Random(seed)
                with new_client(service.address, name) as client:
                    k = 0
                    while not stop.is_set():
                        one = change(own, k)
                        one["note"] = f"{seed} {k}"
                        try:
                            path = f"/api/documents/{documents[name]}/decisions"
                            answer = client.post(path, json={"changes": [one]})
                        except httpx.HTTPError:
                            return
                        if answer.status_code == 200:
                            acknowledged[name].add(one["note"])
                        k += 1

            people = [
                threading.Thread(target=annotate, args=(name, 1000 * kill + k))
                for k, name in enumerate(documents)
            ]
            for one in people:
                one.start()
            time.sleep(chance.uniform(0.05, options.longest))
            service.kill()
            stop.set()
            for one in people:
                one.join()
            service.start()
            lost = 0
            for name, document in documents.items():
                with new_client(service.address, name) as client:
                    told = client.get(f"/api/documents/{document}/history").json()["decisions"]
                lost += len(acknowledged[name] - {one["note"] for one in told})
            n_decisions = sum(map(len, acknowledged.values()))
            print(f"kill {kill + 1}: {n_decisions:,} acknowledged, {lost} lost", flush=True)
            if lost:
                sys.exit("acknowledged decisions are lost")
        service.kill(signal.SIGTERM)
        print(json.dumps({"kills": options.kills, "acknowledged": n_decisions, "lost": 0}))


def keys(options: argparse.Namespace) -> None:
    """What a decision costs in documents of several sizes."""
    with open(data() / "dependency" / "ewt" / "train.conllu", encoding="utf-8") as file:
        blocks = file.read().split("\n\n")
    print(
        "| sentences | CPU ms a key: server | worker | wait ms: p50 | p99 |\n|---|---|---|---|---|"
    )
    for n_sentences in options.sentences:
        with tempfile.TemporaryDirectory() as folder:
            arguments = ["--workers", "1", *options.studio]
            service = Service(str(Path(folder, "a.db")), arguments, what="serve")
            service.start()
            trees = "\n\n".join(_without_newdoc(one) for one in blocks[:n_sentences]) + "\n\n"
            file_name = Path(folder, "ewt.conllu")
            file_name.write_text(trees, "utf-8")
            command = [sys.executable, "-m", "eigentext.cli", "annotate"]
            create = ["project", str(Path(folder, "a.db")), "EWT", "--task", "dependency"]
            if options.model:
                create += ["--model", options.model]
            subprocess.run([*command, *create], check=True, stdout=subprocess.DEVNULL)
            bring = ["import", str(Path(folder, "a.db")), "EWT", str(file_name), "--quiet"]
            subprocess.run([*command, *bring], check=True)
            chance = random.Random(options.seed)
            waits = []
            spent = (0.0, 0.0)
            with new_client(service.address, "annotator") as client:
                client.get("/api/documents/1").raise_for_status()
                for number in range(-_WARM, options.keys):
                    if number == 0:
                        spent = service.cpu_seconds()
                    place = {"sentence": chance.randrange(n_sentences), "item": "a1"}
                    one = {**place, "value": {"deprel": "dep"}, "seconds": 1.0, "keys": 1}
                    began = time.perf_counter()
                    answer = client.post("/api/documents/1/decisions", json={"changes": [one]})
                    answer.raise_for_status()
                    waits.append(time.perf_counter() - began)
            server, worker = (
                1e3 * (now - before) / options.keys
                for now, before in zip(service.cpu_seconds(), spent, strict=True)
            )
            service.kill(signal.SIGTERM)
            wait = 1e3 * statistics.median(waits[_WARM:]), 1e3 * centile(waits[_WARM:])
            figures = f"{server:.1f} | {worker:.1f} | {wait[0]:.0f} | {wait[1]:.0f}"
            print(f"| {n_sentences:,} | {figures} |", flush=True)


def _without_newdoc(block: str) -> str:
    """A sentence of the one document that all of them make."""
    return "\n".join(line for line in block.split("\n") if not line.startswith("# newdoc"))


def main() -> None:
    """Do what is options for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--pause", type=float, default=1.0, help="mean seconds between requests")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--longest", type=float, default=1.5, help="seconds until a kill")
    parser.add_argument("--annotators", type=int, default=4)
    parser.add_argument("--store", help="the address of a PostgreSQL database; unless told SQLite")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("studio", nargs="*", help="further arguments of `eigentext studio`")
    parser.add_argument("--sentences", type=int, nargs="+", help="what a key costs in so many")
    parser.add_argument("--keys", type=int, default=50, help="decisions that are counted")
    parser.add_argument("--model", default="", help="name of the served model that proposes")
    options = parser.parse_args()
    if options.sentences:
        keys(options)
    elif options.kills:
        kills(options)
    else:
        load(options)


if __name__ == "__main__":
    main()
