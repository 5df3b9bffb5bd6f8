"""Word clusters: our methods, Liang's wcluster and word2vec + k-means, by CPU time and MI.

    python benchmarks/words_clusters.py --text wiki.txt                 # 50k words, m = 200 500
    python benchmarks/words_clusters.py --text wiki.txt --clusters 1000 --methods spectral exchange
    python benchmarks/words_clusters.py --text wiki.txt --wcluster PATH       # runs the peer too
    python benchmarks/words_clusters.py --text wiki.txt --gensim              # word2vec + k-means
    python benchmarks/words_clusters.py --text wiki.txt --scaling             # in n, m and N

``--text`` is a tokenised file, uncompressed ($EIGENTEXT_DATA/text/wiki.txt.xz for the figures in
docs/guide/words.md).  CPU seconds of one thread, from the file to ``paths``; compiled code is
warm.  One evaluator (pairs within lines, natural logarithm, words outside the clustering are
``<unk>``) computes the mutual information of every tool.  wcluster's stored paths in
$EIGENTEXT_DATA/peers are scored when the text is wiki; its seconds there are the reference.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _data import plain_text

from eigentext.counting.counting import count
from eigentext.evaluate.clustering import paths_information, prefix_information
from eigentext.language.formats.brown_paths import read_paths
from eigentext.linalg.ties import single_threaded
from eigentext.words.clusters.hierarchy import hierarchy
from eigentext.words.clusters.methods import contexts_to_count
from eigentext.words.clusters.model import SpectralClusters
from eigentext.words.settings import HIERARCHIES, METHODS

PREFIXES = (2, 4, 6, 8, 10, None)
REFERENCE = {200: 167.0, 500: 1197.0}  # CPU seconds of wcluster on wiki with 50k words


def wcluster_seconds(m: int) -> float:
    """Measured at 200 and 500; elsewhere by the power law through both."""
    from math import log

    slope = log(REFERENCE[500] / REFERENCE[200]) / log(500 / 200)
    return REFERENCE.get(m, REFERENCE[500] * (m / 500) ** slope)


def row(name: str, m: int, seconds: float, told: dict[int | None, float], peer: float) -> None:
    """One line of the table."""
    shown = " | ".join(f"{told[k]:.4f}" for k in (None, *PREFIXES[:-1]))
    print(f"| {name} | {m} | {seconds:.1f} | {peer / seconds:.0f} | {shown} |", flush=True)


def head(note: str) -> None:
    """Title and head of the table."""
    print(f"\n{note}\n")
    print(
        "| method | m | CPU s | times faster | MI | 2 bits | 4 bits | 6 bits | 8 bits | 10 bits |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")


def ours(
    text: str, m: int, vocab: int, method: str, folder: Path, contexts: str
) -> tuple[str, dict[str, float]]:
    """File to paths; gives the paths file and CPU seconds by stage."""
    target = str(folder / f"{method}-{m}.paths")
    began = time.process_time()
    counts = count([text], contexts=contexts_to_count(contexts), vocab_size=vocab)
    counted = time.process_time()
    model = SpectralClusters(m, method=method, contexts=contexts, vocab_size=vocab).fit(counts)
    fitted = time.process_time()
    model.write_paths(target)
    done = time.process_time()
    stages = {"count": counted - began, **model.clustering_.seconds, "write": done - fitted}
    return target, {**stages, "all": done - began, "gamma": model.gamma_ or 0.0}


def clusters_of(path: str) -> dict[str, str]:
    """Bits by word."""
    return {entry.word: entry.bits for entry in read_paths(path)}


def run_wcluster(binary: str, text: str, vocab: int, m: int, folder: Path) -> tuple[str, float]:
    """The peer on the same words, the others replaced by <unk>; its CPU seconds."""
    counts = count([text], contexts="unigrams", vocab_size=vocab)
    known = set(counts.words)
    reduced = folder / "text"
    with open(text, encoding="utf8") as lines, reduced.open("w", encoding="utf8") as out:
        for line in lines:
            out.write(" ".join(w if w in known else "<unk>" for w in line.split()) + "\n")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [binary, "--text", str(reduced), "--c", str(m), "--output_dir", str(folder / "wc")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return str(folder / "wc" / "paths"), spent


def run_gensim(text: str, vocab: int, m: int, target: Path) -> tuple[str, float]:
    """word2vec (100 dimensions, 5 epochs) and k-means: clusters without a hierarchy."""
    from gensim.models import Word2Vec
    from sklearn.cluster import MiniBatchKMeans

    began = time.process_time()
    model = Word2Vec(
        corpus_file=text,
        vector_size=100,
        window=5,
        workers=1,
        epochs=5,
        min_count=5,
        max_final_vocab=vocab,
    )
    vectors = model.wv.get_normed_vectors()
    labels = MiniBatchKMeans(m, random_state=0, n_init=3).fit_predict(vectors)
    lines = [
        f"{label:012b}\t{word}\t{model.wv.get_vecattr(word, 'count')}"
        for word, label in zip(model.wv.index_to_key, labels.tolist(), strict=True)
    ]
    target.write_text("\n".join(lines) + "\n", encoding="utf8")
    return str(target), time.process_time() - began


def hierarchies(text: str, m: int, vocab: int) -> None:
    """All ways to a tree over the same clusters."""
    model = SpectralClusters(m, vocab_size=vocab).fit(
        count([text], contexts="lr1", vocab_size=vocab)
    )
    pairs = model.clustering_.pairs
    print(f"\nHierarchies over the same {m} clusters: MI of prefixes\n")
    print("| hierarchy | CPU s | 2 bits | 4 bits | 6 bits | 8 bits | 10 bits | longest path |")
    print("|---|---|---|---|---|---|---|---|")
    for method in HIERARCHIES:
        hierarchy(pairs[:20, :20], method)  # compiled code is warm
        began = time.process_time()
        paths = hierarchy(pairs, method)
        spent = time.process_time() - began
        told = prefix_information(pairs, paths, [2, 4, 6, 8, 10])
        shown = " | ".join(f"{value:.3f}" for value in told.values())
        print(f"| {method} | {spent:.2f} | {shown} | {max(map(len, paths))} |", flush=True)


def scaling(text: str, folder: Path) -> None:
    """CPU seconds of the default method in n, m and N, one at a time."""
    with open(text, encoding="utf8") as lines:
        whole = lines.readlines()
    print(
        "\n| words | clusters | share of text | CPU s | of them exchange | MI |"
        "\n|---|---|---|---|---|---|"
    )
    settings = [(n, 200, 1.0) for n in (12_500, 25_000, 50_000, 100_000)]
    settings += [(50_000, m, 1.0) for m in (100, 400, 800)]
    settings += [(50_000, 200, share) for share in (0.25, 0.5)]
    for n, m, share in settings:
        part = folder / "part"
        part.write_text("".join(whole[: int(share * len(whole))]), encoding="utf8")
        _, seconds = ours(str(part), m, n, "spectral", folder, "lr1")
        told = paths_information(clusters_of(str(folder / f"spectral-{m}.paths")), [str(part)])
        print(
            f"| {n} | {m} | {share} | {seconds['all']:.1f} | {seconds['exchange']:.1f} "
            f"| {told[None]:.4f} |",
            flush=True,
        )


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--text", help="uncompressed; wiki of the data otherwise")
    parser.add_argument("--vocab", type=int, default=50_000)
    parser.add_argument("--clusters", type=int, nargs="+", default=[200, 500])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--contexts", default="lr1")
    parser.add_argument("--wcluster", help="path of the binary")
    parser.add_argument("--gensim", action="store_true")
    parser.add_argument("--hierarchies", action="store_true")
    parser.add_argument("--scaling", action="store_true")
    asked = parser.parse_args()
    asked.text = asked.text or plain_text()
    stored = Path(os.environ.get("EIGENTEXT_DATA", "."), "peers")
    with single_threaded(), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        warm = folder / "warm"
        with open(asked.text, encoding="utf8") as lines:
            warm.write_text("".join(line for line, _ in zip(lines, range(300), strict=False)))
        for method in METHODS:
            ours(str(warm), 20, 200, method, folder, asked.contexts)
        if asked.scaling:
            scaling(asked.text, folder)
        for m in asked.clusters:
            peer = wcluster_seconds(m)
            head(f"{asked.vocab} words, {m} clusters, {Path(asked.text).name}")
            peer_paths = stored / f"wcluster-wiki50k-{m}.paths.xz"
            if asked.wcluster:
                path, peer = run_wcluster(asked.wcluster, asked.text, asked.vocab, m, folder)
                row(
                    "wcluster",
                    m,
                    peer,
                    paths_information(clusters_of(path), [asked.text], PREFIXES),
                    peer,
                )
            elif peer_paths.exists() and "wiki" in asked.text:
                told = paths_information(clusters_of(str(peer_paths)), [asked.text], PREFIXES)
                row("wcluster (stored)", m, peer, told, peer)
            stages = {}
            for method in asked.methods:
                path, seconds = ours(asked.text, m, asked.vocab, method, folder, asked.contexts)
                stages[method] = seconds
                told = paths_information(clusters_of(path), [asked.text], PREFIXES)
                row(method, m, seconds["all"], told, peer)
            if asked.gensim:
                path, spent = run_gensim(asked.text, asked.vocab, m, folder / "w2v.paths")
                told = paths_information(clusters_of(path), [asked.text], PREFIXES)
                row("word2vec + k-means", m, spent, told, peer)
            print()
            for method, seconds in stages.items():
                shown = ", ".join(f"{stage} {value:.2f}" for stage, value in seconds.items())
                print(f"{method}: {shown}", flush=True)
            if asked.hierarchies:
                hierarchies(asked.text, m, asked.vocab)
    print(
        f"\npeak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
