"""Word vectors: eigentext against gensim's word2vec, CPU seconds and Spearman's correlations.

    python benchmarks/embeddings.py                      # elife, both tools in one run
    python benchmarks/embeddings.py --corpus wiki --keep-gensim FOLDER
    python benchmarks/embeddings.py --corpus wiki --stored-gensim FOLDER

Both take the same uncompressed file and the same vocabulary (the 50,000 most frequent words), give
200 dimensions from windows of 5 words on either side, and are scored on the same covered pairs by
the same code.  CPU seconds are of the whole job from the text file to the vectors, one thread;
compiling is done before, on a small text.  word2vec: negative 5, 5 epochs, workers 1; both CBOW
(sg=0) and skip-gram (sg=1).  ``--keep-gensim`` stores its vectors and seconds, which
``--stored-gensim`` takes in place of a run.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import shutil
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from eigentext.counting.counting import count
from eigentext.evaluate.similarity import read_pairs, score_similarity
from eigentext.language.formats.word2vec import load_vectors, write_vectors
from eigentext.linalg.ties import single_threaded
from eigentext.words import CCAEmbedding

SETS = {
    "WS-353": "EN-WS-353-ALL",
    "MEN": "EN-MEN-TR-3k",
    "RW": "EN-RW-STANFORD",
    "SimLex": "EN-SIMLEX-999",
}
MORE = {"RG-65": "EN-RG-65", "SimVerb": "EN-SimVerb-3500"}

Vectors = tuple[list[str], np.ndarray, float]


def eigentext(text: str, vocab_size: int, model: CCAEmbedding) -> Vectors:
    """Count and decompose, from the text file on."""
    began = time.process_time()
    with single_threaded():
        counts = count([text], contexts=model.contexts_to_count(), vocab_size=vocab_size)
        found = model.fit(counts).embeddings_
    seconds = time.process_time() - began
    return list(found.words[:-1]), found.vectors[:-1], seconds


def word2vec(text: str, words: list[str], skip_gram: int) -> Vectors:
    """gensim, from the text file on, with exactly these words."""
    from gensim import utils
    from gensim.models import Word2Vec

    kept = set(words)
    began = time.process_time()
    model = Word2Vec(
        vector_size=200,
        window=5,
        negative=5,
        sg=skip_gram,
        epochs=5,
        workers=1,
        seed=1,
        min_count=1,
    )
    # here, not above: without a corpus the constructor takes a rule and never applies it
    model.build_vocab(
        corpus_file=text,
        trim_rule=lambda word, *_: utils.RULE_KEEP if word in kept else utils.RULE_DISCARD,
    )
    if set(model.wv.index_to_key) != kept:
        raise SystemExit(f"gensim has {len(model.wv)} words, expected {len(kept)}")
    model.train(
        corpus_file=text,
        total_words=model.corpus_total_words,
        total_examples=model.corpus_count,
        epochs=model.epochs,
    )
    seconds = time.process_time() - began
    return list(model.wv.index_to_key), model.wv.vectors, seconds


def peer(text: str, words: list[str], name: str, skip_gram: int, options: argparse.Namespace):
    """gensim's vectors: from a stored run, or made now (and stored)."""
    file = f"gensim_{name}_sg{skip_gram}"
    if options.stored_gensim:
        at = Path(options.stored_gensim, file)
        if not at.with_suffix(".json").exists():
            return None
        known, vectors = load_vectors(at.with_suffix(".bin"))
        return known, vectors, json.loads(at.with_suffix(".json").read_text())["cpu_seconds"]
    made = word2vec(text, words, skip_gram)
    if options.keep_gensim:
        at = Path(options.keep_gensim, file)
        write_vectors(made[0], made[1], at.with_suffix(".bin"), binary=True)
        at.with_suffix(".json").write_text(json.dumps({"cpu_seconds": made[2]}))
    return made


def row(name: str, made: Vectors, data: Path) -> tuple[str, float, float]:
    """One line of the table, the mean of the four sets, and the seconds."""
    words, vectors, seconds = made
    places = {word: at for at, word in enumerate(words)}
    rhos = {}
    for title, file in (SETS | MORE).items():
        pairs = read_pairs(data / "wordsim" / f"{file}.txt")
        rhos[title] = score_similarity(places, vectors, pairs)
    mean = 100 * float(np.mean([rhos[title].rho for title in SETS]))
    cells = [f"{100 * rhos[title].rho:.1f}" for title in SETS | MORE]
    line = f"| {name} | {seconds:.1f} | {mean:.1f} | {' | '.join(cells)} |"
    return line, mean, seconds


def main() -> None:
    """Print the table of one corpus and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpus", default="elife", help="a name in the folder text of the data")
    parser.add_argument("--vocab-size", type=int, default=50_000)
    parser.add_argument("--keep-gensim", help="folder to store gensim's vectors in")
    parser.add_argument("--stored-gensim", help="folder with stored vectors of gensim")
    parser.add_argument("--no-gensim", action="store_true")
    parser.add_argument("--transforms", nargs="*", default=["ppmi", "sqrt"])
    options = parser.parse_args()
    data = Path(os.environ["EIGENTEXT_DATA"])
    with tempfile.TemporaryDirectory() as folder:
        text, small = (str(Path(folder, name)) for name in ("text.txt", "small.txt"))
        packed = data / "text" / f"{options.corpus}.txt.xz"
        with lzma.open(packed) as source, open(text, "wb") as target:
            shutil.copyfileobj(source, target)
        with open(text, "rb") as source:
            Path(small).write_bytes(b"".join(source.readline() for _ in range(20_000)))
        eigentext(small, 5_000, CCAEmbedding(50, contexts="bag5"))  # compiles
        print(f"{options.corpus}, {options.vocab_size} words; Spearman x 100\n")
        print("| | CPU s | mean of four |", " | ".join(SETS | MORE), "|")
        print("|---" * (3 + len(SETS | MORE)) + "|")
        ours = {}
        words: list[str] = []
        for transform in options.transforms:
            model = CCAEmbedding(contexts="bag5", scaling=transform)
            made = eigentext(text, options.vocab_size, model)
            words = made[0]
            line, *ours[transform] = row(f"eigentext, {transform}", made, data)
            print(line, flush=True)
        theirs = {}
        for skip_gram, title in ((0, "CBOW"), (1, "skip-gram")) if not options.no_gensim else ():
            made = peer(text, words, options.corpus, skip_gram, options)
            if made is None:
                print(f"(no stored vectors of word2vec, {title})")
                continue
            if set(made[0]) != set(words):
                raise SystemExit("the vocabularies differ")
            line, *theirs[title] = row(f"gensim word2vec, {title}", made, data)
            print(line, flush=True)
        mean, seconds = ours[options.transforms[0]]
        for title, (their_mean, their_seconds) in theirs.items():
            print(
                f"\nagainst {title}: {their_seconds / seconds:.1f} times less CPU, "
                f"mean {mean - their_mean:+.1f}"
            )


if __name__ == "__main__":
    main()
