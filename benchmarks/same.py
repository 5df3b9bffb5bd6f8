"""Has anything changed?  Trains every kind of model on the sample and prints sha256 sums.

    python benchmarks/same.py > before.txt             # and after a change:
    python benchmarks/same.py --against before.txt     # exit code 1, and the rows that differ
    python benchmarks/same.py hmm lpcfg.em             # the rows whose names begin so
    python benchmarks/same.py --jobs 2                 # the same sums

Three columns: the kind of model and how it was trained, the sum of its arrays and strings
(whatever they are called), and of what it answers.  A change of names or headers leaves the sums
alone; a change of arithmetic does not.  Sums are compared on one machine: another processor rounds
differently.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import os
import re
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

# A row is KIND.HOW, the command that trains the model, and the commands that use it.  The model is
# the file KIND.HOW ({} for short), or the first list in a folder of that name; commands may use
# models of other rows.  "fit" is for what has no command: module:Class, a treebank, and settings.
TABLE = """
counts.lr2
    words count sample/text.txt -o {} --contexts lr2 {jobs}
    words inspect {} --top 20
    convert {} -o words.tsv --pairs -
clusters.spectral
    words cluster sample/text.txt -o {} --method spectral --n-clusters 20 {jobs}
    words apply {} sample/text.txt -o out.clusters
clusters.spectral-ward
    words cluster sample/text.txt -o {} --method spectral --n-clusters 20 --hierarchy ward
    words apply {} sample/text.txt -o out.clusters
clusters.paper
    words cluster sample/text.txt -o {} --method paper --n-clusters 20
    words apply {} sample/text.txt -o out.clusters
clusters.exchange
    words cluster sample/text.txt -o {} --method exchange --n-clusters 20
    words apply {} sample/text.txt -o out.clusters
clusters.brown
    words cluster sample/text.txt -o {} --method brown --n-clusters 20
    words apply {} sample/text.txt -o out.clusters
class-bigram.spectral
    words train-lm clusters.spectral sample/text.txt -o {}
    words score {} sample/text.txt
    words inspect {}
embeddings.ppmi
    words embed sample/text.txt -o {} --scaling ppmi --n-components 20 {jobs}
    words inspect {} the
embeddings.sqrt-lr1
    words embed sample/text.txt -o {} --scaling sqrt --contexts lr1 --n-components 20
    words inspect {} the
lrmvl.three-rates
    words embed sample/text.txt -o {} --method lrmvl --n-components 10
    words inspect {} the
multiview.four-views
    words embed sample/text.txt -o {} --views left,right,document,characters --n-components 10
    words inspect {} the
topics.moments-em
    words train-topics sample/text.txt -o {} --n-topics 3 --documents 5 --min-documents 2 \
        --max-share 0.5 {jobs}
    words inspect {}
    words apply {} sample/text.txt --documents 5 -o out.tsv

hmm.em-spectral
    hmm train sample/text.txt -o {} --estimator em --start spectral --n-states 5 {jobs}
    hmm score {} sample/text.txt
    hmm apply {} sample/text.txt -o out.txt
hmm.em-recovered
    hmm train sample/text.txt -o {} --estimator em --start recovered --n-states 5
    hmm score {} sample/text.txt
hmm.em-tensor
    hmm train sample/text.txt -o {} --estimator em --start tensor --n-states 2
    hmm score {} sample/text.txt
hmm.em-random
    hmm train sample/text.txt -o {} --estimator em --start random --n-starts 3 --n-states 5
    hmm score {} sample/text.txt
hmm.anchor
    hmm train sample/text.txt -o {} --estimator anchor --n-states 5
    hmm score {} sample/text.txt
    hmm apply {} sample/text.txt -o out.txt
spectral-hmm.cca
    hmm train-spectral sample/text.txt -o {} --estimator cca --n-states 5
    hmm score {} sample/text.txt
spectral-hmm.hkz
    hmm train-spectral sample/text.txt -o {} --estimator hkz --n-states 5
    hmm score {} sample/text.txt
spectral-hmm.fru
    hmm train-spectral sample/text.txt -o {} --estimator fru --n-states 5
    hmm score {} sample/text.txt
blocked-hmm.words
    hmm train-blocked sample/text.txt -o {} --n-groups 5 --n-states 500 {jobs}
    hmm score {} sample/text.txt
    hmm apply {} sample/text.txt --method posterior -o out.txt
blocked-hmm.clusters
    hmm train-blocked sample/text.txt -o {} --n-groups 5 --n-states 200 --n-blocks 20
    hmm score {} sample/text.txt
latent-tagger.clustering
    hmm train-tagger sample/entities.bio -o {} --estimator clustering --n-states 4
    hmm apply {} sample/text.txt -o out.jsonl --kbest 2
latent-tagger.moments
    hmm train-tagger train.conllu -o {} --column xpos --estimator moments --n-states 4
    hmm apply {} sample/text.txt -o out.txt
latent-tagger.em
    hmm train-tagger train.conllu -o {} --column xpos --estimator em --n-iter 5 --n-states 4
    hmm apply {} sample/text.txt -o out.txt
latent-tagger.mixed-2-models
    hmm train-tagger train.conllu -o {} --column xpos --estimator mixed --n-models 2 \
        --n-states 4
    hmm apply {} sample/text.txt -o out.txt
latent-tagger.clustering-automata
    hmm train-tagger train.conllu -o {} --column xpos --estimator clustering --n-states 2 \
        --characters automata
    hmm apply {} sample/text.txt -o out.txt
string-automaton.both
    lab train-automaton train.conllu -o {} --statistic both --basis 100 --n-states 20 {jobs}
    lab score {} test.conllu
    lab inspect {}
class-automata.both
    lab train-automaton train.conllu -o {} --of classes --statistic both --basis 50 --n-states 10
    lab apply {} test.conllu --kbest 2
string-transducer.both
    lab train-automaton sample/treebank.conllu -o {} --of pairs --statistic both --basis 50 \
        --n-states 10 --order 3
    lab apply {} sample/treebank-dev.conllu --kbest 2

segmenter.4-epochs
    fit tagging.segmentation.model:Segmenter sample/treebank.conllu -o {} epochs=4 bits=14
    pipe train sample/treebank.conllu -o segment.pipe --segmenter {} --without morphology,parser
    pipe apply segment.pipe sample/raw.txt -o out.conllu --offsets
morph-tagger.clusters-vectors
    fit tagging.morphology.tagger:MorphTagger sample/treebank.conllu -o {} epochs=4 bits=15 \
        clusters=word.paths vectors=word.vectors
    pipe train sample/treebank.conllu -o tag.pipe --morphology {} --without segmenter,parser
    pipe apply tag.pipe sample/treebank-dev.conllu -o out.conllu --given words
tagger.clusters
    tag train sample/entities.bio -o {} --clusters word.paths
    tag apply {} sample/entities.bio -o out.bio
tagger.vectors-beam
    tag train sample/entities.bio -o {} --vectors word.vectors --entity-margin 0.2 --beam 4
    tag apply {} sample/text.txt -o out.jsonl --kbest 2
learned-analyzer.lemmas
    lex train-analyzer sample/treebank.conllu -o {}
    lex apply learned:{} words.txt -o out.jsonl
lexical.adagrad
    lex train sample/arabic.jsonl -o {} --weights adagrad --bits 16 {jobs}
    lex apply {} sample/arabic.txt -o out.jsonl
lexical.regression
    lex train sample/arabic.jsonl -o {} --weights regression --passes 2
    lex apply {} sample/arabic.txt -o out.jsonl
lexical.softmax
    lex train sample/arabic.jsonl -o {} --weights softmax --passes 2
    lex apply {} sample/arabic.txt -o out.jsonl

lpcfg.moments
    const train sample/train.mrg -o {} --estimator moments --n-states 4 {jobs}
    const apply {} words.txt -o out.mrg --kbest 3 {jobs}
lpcfg.moments-rank-4
    const train sample/train.mrg -o {} --estimator moments --n-states 4 --rank 4
    const apply {} words.txt -o out.mrg
lpcfg.clustering
    const train sample/train.mrg -o {} --estimator clustering --n-states 4
    const apply {} words.txt -o out.jsonl --marginals
    const score {} sample/test.mrg -o out.txt
lpcfg.clustering-rank-4
    const train sample/train.mrg -o {} --estimator clustering --n-states 4 --rank 4
    const apply {} words.txt -o out.mrg
lpcfg.clustering-auto-viterbi
    const train sample/train.mrg -o {} --estimator clustering --n-states auto --decoder viterbi
    const apply {} words.txt -o out.mrg
lpcfg.clustering-unlabelled
    const train sample/train.mrg -o {} --estimator clustering --n-states 2 --unlabelled words.txt
    const apply {} words.txt -o out.mrg
lpcfg.clustering-partial
    const train sample/train.mrg -o {} --estimator clustering --n-states 2 --partial sample/dev.mrg
    const apply {} words.txt -o out.mrg
lpcfg.clustering-classes
    const train sample/train.mrg -o {} --estimator clustering --n-states 2 --clusters word.paths
    const apply {} words.txt -o out.mrg
lpcfg.em
    const train sample/train.mrg -o {} --estimator em --n-states 2 --n-iter 10
    const apply {} words.txt -o out.mrg {jobs}
lpcfg.pivot
    const train sample/train.mrg -o {} --estimator pivot --n-states 2
    const apply {} words.txt -o out.mrg
lpcfg.mixed-2-models
    const train sample/train.mrg -o {} --estimator mixed --n-states 2 --n-models 2 {jobs}
    const apply {} words.txt -o out.mrg {jobs}
lpcfg.moments-reranker
    const train sample/train.mrg -o {} --estimator moments --n-states 2 --rerank
    const apply {} words.txt -o out.mrg
bracketer.tree-metric
    lab train-bracketer sample/train.mrg -o {}
    lab apply {} sample/test.mrg -o out.mrg

graph-parser.order-2-mira
    dep train train.conllu -o {} --order 2 --learner mira --epochs 3
    dep apply {} test.conllu -o out.conllu --kbest 3 {jobs}
graph-parser.order-1-own-tags
    dep train train.conllu -o {} --order 1 --tags own --epochs 2
    dep apply {} test.conllu -o out.conllu {jobs}
    dep apply {} words.txt -o out.conllu --from tokens --marginals
graph-parser.perceptron-nonprojective-clusters-vectors
    dep train train.conllu -o {} --learner perceptron --nonprojective --no-grandparents \
        --epochs 2 --clusters word.paths --vectors word.vectors
    dep apply {} test.conllu -o out.conllu
kbest-lists.fold-0
    dep train-reranker train.conllu --base graph-parser.order-1-own-tags --kbest 5 --experts none \
        -o out.reranker --work {}
dependency-reranker.trees-latent-generative
    dep train-reranker train.conllu --base graph-parser.order-1-own-tags --kbest 5 -o {} \
        --features trees --experts latent,generative --n-states 20
    dep apply graph-parser.order-1-own-tags test.conllu --rerank {} -o out.conllu {jobs}
dependency-reranker.tags-perceptron-five-experts
    dep train-reranker train.conllu --base graph-parser.order-1-own-tags --kbest 5 -o {} \
        --features tags --learner perceptron --experts automata,valence,distance,paths,surface
    dep apply graph-parser.order-1-own-tags test.conllu --rerank {} -o out.conllu
latent-tree.spectral-split
    dep train-latent train.conllu -o {} --start spectral --split --n-states 50 --n-iter 5
    dep score {} test.conllu -o out.txt
latent-tree.spectral-shared-valence-2-models
    dep train-latent train.conllu -o {} --start spectral --shared --structure valence \
        --n-models 2 --n-states 20 --n-iter 5
    dep score {} test.conllu -o out.txt
dependency-generative.spectral
    dep train-generative train.conllu -o {} --start spectral --n-states 4
    dep apply {} test.conllu -o out.conllu {jobs}
dependency-generative.automata
    dep train-generative train.conllu -o {} --start automata --n-states 4
    dep apply {} test.conllu -o out.conllu
dependency-generative.spectral-unlabelled
    dep train-generative train.conllu -o {} --start spectral --n-states 2 \
        --unlabelled test.conllu
    dep apply {} test.conllu -o out.conllu

pipeline.reranker
    pipe train sample/treebank.conllu -o {} --folds 2 --rerank yes
    pipe apply {} sample/raw.txt -o out.conllu --offsets {jobs}
    pipe apply {} sample/raw.txt -o out.jsonl --format jsonl --top 2 --probabilities
    pipe apply {} sample/treebank-dev.conllu -o out.conllu --given tags
pipeline.ready-constituents-entities
    pipe train sample/treebank.conllu -o {} --segmenter segmenter.4-epochs \
        --morphology morph-tagger.clusters-vectors --parser graph-parser.order-2-mira \
        --with const=lpcfg.clustering,ner=tagger.clusters
    pipe apply {} sample/raw.txt -o out.conllu
    pipe apply {} sample/raw.txt -o out.jsonl --format jsonl
"""

PREPARE = (
    "data get sample -o .",
    "convert sample/train.mrg -o train.conllu",
    "convert sample/test.mrg -o test.conllu",
    "convert sample/test.mrg -o words.txt",
    "words cluster sample/text.txt -o out.clusters --paths word.paths --n-clusters 20",
    "words embed sample/text.txt -o out.embeddings --vectors word.vectors --n-components 10",
)

MODEL = b'{"__metadata__":{"eigentext"'  # how a model file begins, after 8 bytes


class Row(NamedTuple):
    """A model file, the command that trains it, and the commands that use it."""

    name: str
    train: str
    use: list[str]

    @property
    def kind(self) -> str:
        """The kind of model that the name says."""
        return self.name.partition(".")[0]

    @property
    def file(self) -> Path:
        """The model file."""
        path = Path(self.name)
        return min(path.glob("*.kbest")) if path.is_dir() else path

    def needs(self) -> set[str]:
        """Files in its commands, among them models of other rows."""
        return set(re.split(r"[ =,:]", " ".join((self.train, *self.use)))) - {self.name}


def table(jobs: int = 1) -> dict[str, Row]:
    """The rows by name."""
    rows = {}
    for block in re.split(r"\n+(?=\S)", TABLE.strip()):
        name, *lines = (line.strip() for line in block.splitlines())
        train, *use = (
            line.replace("{}", name).replace("{jobs}", f"--jobs {jobs}") for line in lines
        )
        rows[name] = Row(name, train, use)
    return rows


def answer(line: str) -> bytes:
    """What the command prints and writes (to the file after ``-o``); of a model, its content."""
    from eigentext.cli.main import run

    words = line.split()
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()) as remarks:
        code = run(words)
    if code != 0:
        raise SystemExit(f"eigentext {line}\n{remarks.getvalue()}")
    printed.flush()
    output = Path(words[words.index("-o") + 1]) if "-o" in words else None
    file = output.read_bytes() if output is not None and output.is_file() else b""
    if output is not None and file[8:].startswith(MODEL):
        return content(output)  # training prints the seconds that it took
    return printed.buffer.getvalue() + file


def fit(home: str, treebank: str, _: str, output: str, *settings: str) -> None:
    """Train a model that has no command on a treebank, and store it."""
    from eigentext.language.formats.conllu import read_sentences

    module, name = home.split(":")
    pairs = (setting.split("=") for setting in settings)
    values = {key: int(value) if value.isdecimal() else value for key, value in pairs}
    model = getattr(import_module(f"eigentext.{module}"), name)(**values)
    model.fit(list(read_sentences(treebank))).save(output)


def content(path: Path) -> bytes:
    """The arrays and strings of a model file as bytes, in the order of their own sums.

    A model inside a model is a file of its own, whose header does not count either.
    """
    from eigentext.base.modelfile import load

    stored = load(path)
    parts = ["\n".join(strings).encode() for strings in stored.strings.values()]
    for array in stored.arrays.values():
        raw = array.tobytes()
        if array.dtype.name == "uint8" and raw[8:].startswith(MODEL):
            inner = Path("inner.model")
            inner.write_bytes(raw)
            parts.append(content(inner))
        else:
            parts.append(str((array.dtype, array.shape)).encode() + raw)
    return b"".join(sorted(hashlib.sha256(part).digest() for part in parts))


def train(row: Row, others: dict[str, Row]) -> None:
    """Train the model of a row, and before it those of other rows that it needs, once."""
    if Path(row.name).exists():
        return
    for name in sorted(row.needs() & others.keys()):
        train(others[name], others)
    if row.train.startswith("fit "):
        fit(*row.train.split()[1:])
    else:
        answer(row.train)


def sums(row: Row) -> list[str]:
    """The sums of a row's model and of its answers; a model of another kind is an error."""
    from eigentext.base.modelfile import load

    kind = load(row.file).header.kind
    if kind != row.kind:
        raise SystemExit(f"{row.name}: the model is of kind {kind}")
    answers = b"".join(map(answer, row.use))
    return [hashlib.sha256(part).hexdigest()[:16] for part in (content(row.file), answers)]


def differences(before: str, after: str) -> list[str]:
    """The rows that differ between two outputs, and in what."""
    old, new = (
        {name: rest for name, *rest in map(str.split, text.splitlines())}
        for text in (before, after)
    )
    changes = []
    for name in dict.fromkeys((*old, *new)):
        if name not in new or name not in old:
            changes.append(f"{name}: is {'new' if name in new else 'gone'}")
            continue
        pairs = zip(("model", "answers"), old[name], new[name], strict=True)
        changed = [what for what, a, b in pairs if a != b]
        if changed:
            changes.append(f"{name}: other {' and '.join(changed)}")
    return changes


def main() -> int:
    """Print a line for each row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="how the names of rows begin; by default all")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", help="a folder for the models; a temporary one otherwise")
    parser.add_argument("--against", type=Path, help="an output to compare with")
    options = parser.parse_args()
    names = tuple(options.names) or ("",)
    before = options.against.read_text("utf-8") if options.against else ""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    lines = []
    rows_by_model: dict[str, str] = {}  # two rows with one model say less than they seem to
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        folder = Path(options.keep or temporary)
        folder.mkdir(exist_ok=True, parents=True)
        os.chdir(folder)
        for line in PREPARE:
            answer(line)
        rows = table(options.jobs)
        for row in rows.values():
            if not row.name.startswith(names):
                continue
            train(row, rows)
            model, answers = sums(row)
            if rows_by_model.setdefault(model, row.name) != row.name:
                raise SystemExit(f"{row.name}: the same model as {rows_by_model[model]}")
            lines.append(f"{row.name:<52} {model} {answers}")
            print(lines[-1], flush=True)
    if not options.against:
        return 0
    rows_before = [line for line in before.splitlines() if line.startswith(names)]
    changes = differences("\n".join(rows_before), "\n".join(lines))
    print(*changes, sep="\n", end="\n" if changes else "", file=sys.stderr)
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main())
