"""Has anything changed? Trains every kind of model on the sample and prints sha256 sums.

    python benchmarks/same.py > before.txt       # and again after a change
    python benchmarks/same.py --jobs 2           # the same sums

Three columns: the kind of model, the sum of its arrays and strings (whatever they are called), and
of what it answers.  A change of names or headers leaves the last two alone; a change of arithmetic
does not.  Sums are compared on one machine: another processor rounds differently.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import os
import tempfile
from pathlib import Path
from typing import NamedTuple


class Made(NamedTuple):
    """A model: the commands that make and use it, and the files they write."""

    kind: str
    make: str
    use: tuple[str, ...]


MODELS = (
    Made("counts", "words count sample/text.txt -o m.counts --contexts lr2 {jobs}", ()),
    Made(
        "clusters",
        "words cluster sample/text.txt -o m.clusters --paths m.paths --n-clusters 20 {jobs}",
        ("words assign m.clusters sample/text.txt -o assigned.clusters -q",),
    ),
    Made(
        "embeddings",
        "words embed sample/text.txt -o m.embeddings --n-components 20 {jobs}",
        ("words neighbours m.embeddings the",),
    ),
    Made("lrmvl", "words embed sample/text.txt -o m.lrmvl --method lrmvl --n-components 10", ()),
    Made(
        "class-bigram",
        "words lm train m.clusters sample/text.txt -o m.class-bigram",
        (),
    ),
    Made(
        "tagger",
        "tag train sample/entities.bio -o m.tagger --clusters m.paths",
        ("tag apply m.tagger sample/entities.bio -o tagged.bio",),
    ),
    Made(
        "hmm",
        "hmm train sample/text.txt -o m.hmm --n-states 5",
        ("hmm score m.hmm sample/text.txt",),
    ),
    Made(
        "spectral-hmm",
        "hmm train sample/text.txt -o m.spectral-hmm --n-states 5 --operators",
        ("hmm score m.spectral-hmm sample/text.txt",),
    ),
    Made(
        "latent-tagger",
        "hmm train sample/entities.bio -o m.latent-tagger --tagged --n-states 4",
        ("hmm tag m.latent-tagger sample/text.txt -o tagged.txt",),
    ),
    Made(
        "lpcfg",
        "const train sample/train.mrg -o m.lpcfg --n-states 4",
        ("const parse m.lpcfg words.txt -o parsed.mrg --kbest 3 {jobs}",),
    ),
    Made(
        "lpcfg, moments",
        "const train sample/train.mrg -o m.moments --n-states 4 --estimator moments",
        ("const parse m.moments words.txt -o parsed.mrg {jobs}",),
    ),
    Made(
        "lpcfg, em",
        "const train sample/train.mrg -o m.em --n-states 2 --estimator em",
        ("const parse m.em words.txt -o parsed.mrg {jobs}",),
    ),
    Made(
        "lpcfg, mixed",
        "const train sample/train.mrg -o m.mixed --n-states 2 --n-models 2",
        ("const parse m.mixed words.txt -o parsed.mrg {jobs}",),
    ),
    Made(
        "graph-parser",
        "dep train train.conllu -o m.graph-parser --epochs 3",
        ("dep parse m.graph-parser test.conllu -o parsed.conllu --kbest 3 {jobs}",),
    ),
    Made(
        "graph-parser, own tags",
        "dep train train.conllu -o m.own --order 1 --tags own --epochs 2",
        ("dep parse m.own test.conllu -o parsed.conllu {jobs}",),
    ),
    Made(
        "latent-tree",
        "dep latent train.conllu -o m.latent-tree --n-states 50",
        ("dep score m.latent-tree test.conllu -o scores.txt",),
    ),
    Made(
        "dependency-generative",
        "dep train train.conllu -o m.generative --model generative",
        ("dep parse m.generative test.conllu -o parsed.conllu {jobs}",),
    ),
    Made(
        "dependency-reranker",
        "dep rerank train.conllu --base m.own --kbest 5 -o m.rerank",
        ("dep parse m.own test.conllu --rerank m.rerank -o parsed.conllu {jobs}",),
    ),
    Made(
        "learned-analyzer",
        "lex learn-analyzer train.conllu -o m.analyzer",
        ("lex analyse words.txt --analyzer learned:m.analyzer -o analyses.jsonl",),
    ),
    Made(
        "lexical",
        "lex train sample/arabic.jsonl -o m.lexical --bits 16",
        ("lex rank m.lexical sample/arabic.txt -o ranked.jsonl",),
    ),
)

MODEL = b'{"__metadata__":{"eigentext"'  # how a model file begins, after 8 bytes

PREPARE = (
    "data get sample -o .",
    "convert sample/train.mrg -o train.conllu",
    "convert sample/test.mrg -o test.conllu",
    "convert sample/test.mrg -o words.txt",
)


def answer(line: str) -> bytes:
    """What the command prints and writes (to the file after ``-o``)."""
    from eigentext.cli.main import run

    words = line.split()
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()) as said:
        if run(words) != 0:
            raise SystemExit(f"eigentext {line}\n{said.getvalue()}")
    written = Path(words[words.index("-o") + 1]) if "-o" in words else None
    printed.flush()
    file = written.read_bytes() if written is not None and written.is_file() else b""
    if file[8:].startswith(MODEL):
        file = content(str(written))
    return printed.buffer.getvalue() + file


def content(path: str) -> bytes:
    """The arrays and strings of a model file as bytes, in the order of their own sums.

    A model inside a model is a file of its own, whose header does not count either.
    """
    from eigentext.base.modelfile import load

    stored = load(path)
    parts = ["\n".join(strings).encode() for strings in stored.strings.values()]
    for array in stored.arrays.values():
        raw = array.tobytes()
        if array.dtype.name == "uint8" and raw[8:].startswith(MODEL):
            Path("inner.model").write_bytes(raw)
            parts.append(content("inner.model"))
        else:
            parts.append(str((array.dtype, array.shape)).encode() + raw)
    return b"".join(sorted(hashlib.sha256(part).digest() for part in parts))


def main() -> None:
    """Print a line for each kind of model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", help="a folder for the models; a temporary one otherwise")
    asked = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(asked.keep or temporary)
        folder.mkdir(exist_ok=True, parents=True)
        os.chdir(folder)
        for line in PREPARE:
            answer(line)
        for kind, make, use in MODELS:
            made = make.format(jobs=f"--jobs {asked.jobs}")
            answer(made)
            model = made.split()[made.split().index("-o") + 1]
            answers = b"".join(answer(one.format(jobs=f"--jobs {asked.jobs}")) for one in use)
            sums = (hashlib.sha256(part).hexdigest()[:16] for part in (content(model), answers))
            print(f"{kind:<26}", *sums, flush=True)


if __name__ == "__main__":
    main()
