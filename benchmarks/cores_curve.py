"""One process, more and more threads: seconds of the stages that take long, and that all agree.

    python benchmarks/cores_curve.py --cores 1 2 4 8 16 --output curve.json
    python benchmarks/cores_curve.py --data --cores 1 2 4 8 16           # models of real data

Needs numpy, scipy, numba and scikit-learn alone (``PYTHONPATH=src`` finds eigentext).

Without ``--data`` counts are drawn from a
class bigram model with Zipf's law for words (``--words``, ``--tokens``); with it models are
trained on GUM, EWT and wiki of $EIGENTEXT_DATA.  Each stage is run once to compile (on little
data, where it is real) and then once for each number of threads; wall seconds, the speed-up over
one thread, and whether the results are the same to the last bit, as they must be.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from eigentext.base.cores import available_cores, using_cores
from eigentext.linalg.scaling import cca_scale
from eigentext.linalg.svd import truncated_svd
from eigentext.sequences.hmm.em import baum_welch
from eigentext.sequences.hmm.parameters import Parameters
from eigentext.sequences.observations import Encoded
from eigentext.words.clusters.exchange import frequency_start, refine

if TYPE_CHECKING:
    from collections.abc import Callable


def class_pairs(n_words: int, n_tokens: int, *, n_classes: int = 300, seed: int = 0) -> Any:
    """(n, n) counts of neighbours: classes follow classes, words have Zipf's frequencies."""
    rng = np.random.default_rng(seed)
    share = 1.0 / (np.arange(n_words) + 2.7) ** 1.05
    of_class = rng.integers(0, n_classes, n_words)
    follows = rng.dirichlet(np.full(n_classes, 0.05), n_classes).cumsum(axis=1)
    members = [np.flatnonzero(of_class == c) for c in range(n_classes)]
    ends = [np.cumsum(share[m]) / share[m].sum() for m in members]
    weight = np.array([share[m].sum() for m in members])
    classes = rng.choice(n_classes, n_tokens, p=weight / weight.sum())
    after = np.empty(n_tokens, dtype=np.int64)
    for c in range(n_classes):
        here = classes == c
        after[here] = np.minimum(
            np.searchsorted(follows[c], rng.random(here.sum())), n_classes - 1
        )
    left, right = (draw(classes, members, ends, rng), draw(after, members, ends, rng))
    counts = csr_array((np.ones(n_tokens, np.int64), (left, right)), shape=(n_words, n_words))
    counts.sum_duplicates()
    return counts


def draw(classes: Any, members: list[Any], ends: list[Any], rng: Any) -> Any:
    """A word of each class."""
    words = np.empty(classes.shape[0], dtype=np.int64)
    for c, (own, end) in enumerate(zip(members, ends, strict=True)):
        here = np.flatnonzero(classes == c)
        words[here] = own[np.minimum(np.searchsorted(end, rng.random(here.size)), own.size - 1)]
    return words


def stages(asked: argparse.Namespace) -> dict[str, Callable[[], list[Any]]]:
    """What is timed; each gives the arrays of its result."""
    pairs = class_pairs(asked.words, asked.tokens)
    totals = np.asarray(pairs.sum(axis=1) + pairs.sum(axis=0)).ravel()
    order = np.argsort(-totals, kind="stable")
    Omega = cca_scale(pairs, kappa=200.0, dtype=np.float32)
    rng = np.random.default_rng(1)
    sentences = [rng.integers(0, 5000, 25) for _ in range(asked.tokens // 1000)]
    text = Encoded.of(sentences)

    def svd() -> list[Any]:
        found = truncated_svd(Omega, asked.rank, dtype=np.float32, overlap=0.9)
        return [found.U, found.S]

    def exchange() -> list[Any]:
        start = frequency_start(order, asked.clusters)
        return [refine(pairs, start, asked.clusters, order, passes=1).labels]

    def hmm() -> list[Any]:
        start = Parameters.random(asked.states, 5000, 0)
        found = baum_welch(start, text, n_iter=2).params
        return [found.transition, found.emission]

    return {"truncated SVD": svd, "exchange, two passes": exchange, "HMM, two steps of EM": hmm}


def trainings(asked: argparse.Namespace) -> dict[str, Callable[[bool], list[Any]]]:
    """Models of real data; each is trained on little, or on all, and gives its file's bytes."""
    from _data import data, plain_text

    from eigentext import HMM, LPCFG, CCAEmbedding, DependencyParser, SpectralClusters
    from eigentext.counting.counting import count
    from eigentext.language.formats.conllu import read_sentences
    from eigentext.language.formats.ptb import read_trees

    trees = list(read_trees(str(data() / "constituency" / "gum" / "train.mrg")))
    bank = list(read_sentences(str(data() / "dependency" / "ewt" / "train.conllu")))
    with open(plain_text(), encoding="utf-8") as lines:
        text = [line.split() for _, line in zip(range(50_000), lines, strict=False)]
    counts = {
        contexts: count([plain_text()], contexts=contexts, vocab_size=asked.words, jobs=2)
        for contexts in ("lr2", "-5,-4,-3,-2,-1,+1,+2,+3,+4,+5")
    }
    few, many = counts.values()

    def file(model: Any) -> list[Any]:
        return [np.frombuffer(model.to_bytes(), dtype=np.uint8)]

    return {
        "HMM, 50 states, wiki": lambda all_: file(HMM(50).fit(text if all_ else text[:2000])),
        "clusters of wiki": lambda _: file(SpectralClusters(asked.clusters).fit(few)),
        "vectors of wiki": lambda _: file(CCAEmbedding(200, contexts="bag5").fit(many)),
        "L-PCFG, GUM": lambda all_: file(LPCFG().fit(trees if all_ else trees[:300])),
        "L-PCFG, clustering, 5 steps of EM, GUM": lambda all_: file(
            LPCFG(estimator="clustering", n_iter=5).fit(trees if all_ else trees[:300])
        ),
        "dependency parser, gold tags, 2,000 sentences of EWT": lambda all_: file(
            DependencyParser(tags="gold").fit(bank[:2000] if all_ else bank[:200])
        ),
    }


def digest(arrays: list[Any]) -> str:
    """The first characters of a sum over all bytes."""
    told = hashlib.sha256()
    for array in arrays:
        told.update(np.ascontiguousarray(array).tobytes())
    return told.hexdigest()[:12]


def main() -> None:
    """Time all, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--tokens", type=int, default=20_000_000)
    parser.add_argument("--clusters", type=int, default=1000)
    parser.add_argument("--rank", type=int, default=400)
    parser.add_argument("--states", type=int, default=100)
    parser.add_argument("--data", action="store_true", help="train models of real data")
    parser.add_argument("--only", default="", help="stages that have this in their name")
    parser.add_argument("--output", help="figures as JSON")
    asked = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {available_cores()} cores", flush=True)
    rows = []
    head = " | ".join(f"{n} cores" for n in asked.cores)
    print(f"\n| stage | {head} | same result |\n|---|{'---|' * (len(asked.cores) + 1)}")
    drawn = {} if asked.data else stages(asked)
    chosen = trainings(asked) if asked.data else {n: lambda _, f=f: f() for n, f in drawn.items()}
    for name, stage in chosen.items():
        if asked.only not in name:
            continue
        with using_cores(max(asked.cores)):
            stage(False)
        told: dict[int, tuple[float, str]] = {}
        for cores in asked.cores:
            began = time.perf_counter()
            with using_cores(cores):
                result = stage(True)
            told[cores] = (time.perf_counter() - began, digest(result))
        first = told[asked.cores[0]][0]
        shown = " | ".join(f"{s:.1f} s ({first / s:.2f})" for s, _ in told.values())
        same = len({sum_ for _, sum_ in told.values()}) == 1
        print(f"| {name} | {shown} | {'yes' if same else 'NO'} |", flush=True)
        rows.append({"stage": name, "seconds": {n: s for n, (s, _) in told.items()}, "same": same})
    if asked.output:
        about = {"cores": available_cores(), "cpu": platform.processor(), "rows": rows}
        Path(asked.output).write_text(json.dumps(about, indent=1))
    if not all(row["same"] for row in rows):
        sys.exit("results differ")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
