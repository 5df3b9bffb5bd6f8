"""EM of hidden Markov models with hundreds to thousands of states: a card beside the processor.

    python benchmarks/gpu_hmm.py --states 256 1024 4096

Needs numpy, scipy, numba, scikit-learn and CuPy or torch (``PYTHONPATH=src``).

The text is drawn at random: 25 words
a sentence, 10,000 different ones by Zipf's law; a model that begins at random does not care.
Seconds are of one step of EM after one to warm up, and tokens a second; the processor gets fewer
tokens where it would take long.  The first row checks the expected counts of both.
"""

from __future__ import annotations

import argparse
import time
import traceback
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.accel.devices import CupyBackend, TorchBackend
from eigentext.accel.hmm import DeviceMachine
from eigentext.base.cores import available_cores, using_cores
from eigentext.sequences.hmm.batches import Machine, StateCounts
from eigentext.sequences.hmm.parameters import Parameters
from eigentext.sequences.observations import Encoded

if TYPE_CHECKING:
    from eigentext.linalg.backend import Backend

SYMBOLS = 10_000


def text(n_tokens: int) -> Encoded:
    """Sentences of 25 words by Zipf's law."""
    rng = np.random.default_rng(0)
    share = 1 / (np.arange(SYMBOLS) + 2.7)
    ids = rng.choice(SYMBOLS, n_tokens // 25 * 25, p=share / share.sum())
    return Encoded.of(list(ids.reshape(-1, 25)))


def one_step(machine: Any, start: Parameters, precision: str) -> StateCounts:
    """Expected counts under the parameters."""
    machine.set(start.initial, start.transition, np.ascontiguousarray(start.emission.T), precision)
    counts = StateCounts.zeros(start.n_states, SYMBOLS)
    machine.expect(counts)
    return counts


def seconds(machine: Any, start: Parameters, precision: str) -> float:
    """Of one step; counts end on the processor, so all work is done when they are there."""
    one_step(machine, start, precision)
    began = time.perf_counter()
    one_step(machine, start, precision)
    return time.perf_counter() - began


def check(backend: Backend) -> float:
    """The largest difference of the expected counts, relative to the largest count."""
    data, start = text(5000), Parameters.random(64, SYMBOLS, 0)
    ours = one_step(DeviceMachine(data, 64, SYMBOLS, backend), start, "single")
    theirs = one_step(Machine(data, 64, SYMBOLS), start, "double")
    return max(float(np.abs(a - b).max() / b.max()) for a, b in zip(ours, theirs, strict=True))


def main() -> None:
    """Time all, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, nargs="+", default=[256, 1024, 4096])
    parser.add_argument("--tokens", type=int, default=1_000_000)
    asked = parser.parse_args()
    backends: list[Backend] = []
    for make in (CupyBackend, TorchBackend):
        try:
            backend = make()
            print(f"{make.__name__}: counts differ by {check(backend):.1e}", flush=True)
            backends.append(backend)
        except Exception:
            traceback.print_exc()
    print("\n| states | where | tokens | s a step | tokens/s |\n|---|---|---|---|---|")
    for k in asked.states:
        start = Parameters.random(k, SYMBOLS, 0)
        rows: list[tuple[str, Backend | None, str, int, int]] = [
            (f"{type(backend).__name__}, {precision}", backend, precision, 1, asked.tokens)
            for backend in backends
            for precision in ("single", "double")
        ]
        few = max(25_000, min(asked.tokens, 50_000 * 1024**2 // k**2))
        rows += [
            (f"processor, {cores} cores, single", None, "single", cores, few)
            for cores in sorted({1, available_cores()})
        ]
        for name, place, precision, cores, n_tokens in rows:
            data = text(n_tokens)
            try:
                with using_cores(cores):
                    machine = (
                        Machine(data, k, SYMBOLS)
                        if place is None
                        else DeviceMachine(data, k, SYMBOLS, place)
                    )
                    spent = seconds(machine, start, precision)
            except Exception:
                traceback.print_exc()
                continue
            rate = data.n_tokens / spent
            print(f"| {k} | {name} | {data.n_tokens:,} | {spent:.2f} | {rate:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
