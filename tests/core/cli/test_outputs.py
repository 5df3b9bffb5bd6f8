"""No command writes over what it reads: every input against every output, off the command line.

``LINES`` has every command that writes a file, with every input it can have; the walk over the
command line says which flags are outputs, and that neither a command nor an input is missing.
"""

from __future__ import annotations

import inspect
import itertools
import os
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import get_args

import pytest
import typer

from eigentext.base.files.opening import numbered_lines, write_lines
from eigentext.cli import options
from eigentext.cli.main import app
from eigentext.pipeline import Pipeline
from helpers.commands import ENVIRONMENT, eigentext

MADE = """
convert train.mrg -o trees.conllu
convert dev.mrg -o dev.conllu
words cluster text.txt -o a.clusters --paths paths -m 20 --vocab-size 100
words count text.txt -o a.counts --contexts lr1
words embed text.txt -o a.vec --n-components 10 --vectors vectors.txt
words inspect a.vec the of --top 3 -o near.tsv
convert a.counts -o words.parquet --pairs pairs.parquet
words train-lm a.clusters text.txt -o a.lm
words train-topics text.txt -o a.topics -k 2 --documents 4
lab train-automaton trees.conllu -o a.automaton --basis 50
lab train-automaton trees.conllu -o tags.automaton --of classes --basis 50
const train train.mrg -o a.lpcfg -k 1
lab train-bracketer dev.mrg -o a.bracketer
dep train trees.conllu -o a.parser --order 1 --epochs 1
dep train-latent trees.conllu -o a.latent -k 50 --n-iter 1
dep train-reranker trees.conllu --base a.parser --kbest 2 --experts valence -o a.rerank
hmm train text.txt -o a.hmm -k 3 --n-iter 1
hmm train-spectral text.txt -o b.hmm -k 3
tag train entities.bio -o a.tagger --epochs 1
lex train arabic.jsonl -o a.ranker --bits 12
lex train-analyzer trees.conllu -o a.rules
pipe train trees.conllu -o a.pipe --folds 2
annotate init team.db
annotate project team.db Trees --task dependency
annotate import team.db Trees trees.conllu
"""

# after the command: its flags and inputs, so that it would run; where it writes comes last
LINES = """
annotate backup: team.db -o O
annotate export: team.db Trees --unfinished -o O
annotate init: team.db --backup O
lab apply: tags.automaton trees.conllu -o O
lab score: a.automaton trees.conllu -o O
lab train-automaton: trees.conllu --basis 50 -o O
lab apply: a.bracketer test.mrg -o O
lab train-bracketer: dev.mrg --vectors vectors.txt -o O
const inspect: a.lpcfg --plot O.svg
const apply: a.lpcfg text.txt -o O
const score: a.lpcfg test.mrg -o O
const train: train.mrg --dev dev.mrg --clusters paths --unlabelled text.txt -k 1 -o O
const train: train.mrg --vectors vectors.txt -k 1 --partial dev.mrg -o O
convert: dev.mrg --to tokens -o O
convert: trees.conllu --against treebank.conllu -o O.svg
convert: trees.conllu --against treebank.conllu -o O.html
dep train-latent: trees.conllu --unlabelled treebank.conllu -k 50 --n-iter 1 -o O
dep apply: a.parser trees.conllu --rerank a.rerank -o O
dep train-reranker: trees.conllu --base a.parser --kbest 2 --experts valence -o O
dep score: a.latent trees.conllu -o O
dep score: a.rerank trees.conllu --parser a.parser -o O
dep train: trees.conllu --dev treebank-dev.conllu --order 1 --epochs 1 --clusters paths -o O
dep train: trees.conllu --vectors vectors.txt --order 1 --epochs 1 -o O
dep train-generative: trees.conllu --unlabelled treebank.conllu --dev dev.conllu -o O
hmm inspect: text.txt --plot O.svg
hmm inspect: a.hmm --graph O.svg
hmm inspect: b.hmm --plot O.svg
hmm apply: a.hmm text.txt -o O
hmm train: text.txt -k 3 --n-iter 1 -o O
hmm train-blocked: text.txt -k 300 --n-groups 3 -o O
hmm train-spectral: text.txt -k 3 -o O
hmm train-tagger: entities.bio -k 1 -o O
lex apply: a.rules text.txt -o O
lex train-analyzer: trees.conllu -o O
lex apply: a.ranker arabic.txt -o O
lex apply: a.ranker arabic.txt --analyzer learned:a.rules -o O
lex train: arabic.jsonl --bits 12 --clusters paths -o O
lex train: arabic.jsonl --bits 12 --vectors vectors.txt --scheme scheme.json -o O
lex train: arabic.jsonl --bits 12 --analyzer learned:a.rules -o O
model make: mine.toml --data . -o O
pipe apply: a.pipe raw.txt -o O
pipe apply: a.pipe treebank.conllu --format jsonl -o O
pipe apply: a.pipe treebank.conllu --format docbin -o O
pipe apply: a.pipe raw.txt -o O.gz
pipe train: trees.conllu --dev treebank-dev.conllu --analyzer learned:a.rules --folds 2 -o O
pipe train: trees.conllu --clusters paths --folds 2 -o O
pipe train: trees.conllu --vectors vectors.txt --folds 2 -o O
pipe train: trees.conllu --text text.txt --folds 2 --with const=a.lpcfg --with ner=a.tagger -o O
pipe train: trees.conllu --folds 2 --parser a.parser --reranker a.rerank -o O
pipe train: trees.conllu --folds 2 --segmenter a.segmenter --morphology a.morphology -o O
tag apply: a.tagger entities.bio -o O
tag train: entities.bio --dev entities.bio --clusters paths --epochs 1 -o O
tag train: entities.bio --vectors vectors.txt --epochs 1 -o O
words count: a.counts a.counts -o O
words apply: a.clusters text.txt -o O --paths P
words cluster: text.txt -m 20 -o O --paths P
words cluster: --counts a.counts -m 20 -o O --paths P
words count: text.txt --vocab-from a.counts --contexts lr1 -o O
words embed: text.txt --n-components 10 -o O --vectors P
words embed: --counts a.counts --n-components 10 -o O --vectors P
words embed: text.txt --views left,translations --pairs near.tsv --n-components 4 -o O
words count: --words words.parquet --pairs pairs.parquet -o O
words train-lm: a.clusters text.txt -o O
words inspect: a.vec the of --top 3 -o O
words inspect: a.clusters --vectors a.vec -o O --tree P.svg --map M.svg --values V.svg
words inspect: a.clusters --vectors vectors.txt -o O
words inspect: paths -o O
convert: a.counts -o O.parquet --pairs P
words apply: a.topics text.txt --documents 4 -o O
words train-topics: text.txt -k 2 --documents 4 -o O
words apply: a.vec text.txt -o O
"""

RECIPE = """
name = "mine"
title = "My own"
kind = "pipeline"
language = "en"
sources = [{ name = "mine", licence = "CC0-1.0" }]
train = ["trees.conllu"]
test = ["treebank-dev.conllu"]
tolerance = 2.0

[settings]
folds = 2
"""

# names that programs derive from that of an output: these are the user's own
DERIVED = [".unfinished", ".unfinished.json", ".unfinished.tmp", ".part", ".tmp", ".lock", ".bak"]
DERIVED += [".json", ".eigentext", ".eigentext-0.tmp", "-journal", "~"]
MINE = "my own"

# what takes text that is no file; a `source` is a backup, of which a store is made
NO_FILES = set(
    """basis beam by contexts data_licence data_name document documents entity_margin experts field
    from_ heads label language layer memory n_states n_topics ngram_weight observations of
    project rates refine scheduler source statistic structure text_features title to_format
    tokeniser unigram_weight verbs view_weights views without work""".split()
)

TEXT = (str, str | None, list[str], list[str] | None)


def _parameters() -> dict[str, dict[str, tuple[str, bool]]]:
    """Of every command that writes files: what takes text, its flag, and whether it is written."""
    found: dict[str, dict[str, tuple[str, bool]]] = {}
    pending: list[tuple[str, typer.Typer]] = [("", app)]
    while pending:
        group, inside = pending.pop()
        pending += [(f"{group}{g.name} ", g.typer_instance) for g in inside.registered_groups]
        for command in inside.registered_commands:
            name = group + (command.name or command.callback.__name__)
            hints = inspect.get_annotations(command.callback, eval_str=True)
            found[name] = {}
            for parameter in inspect.signature(command.callback).parameters:
                kind, option = get_args(hints[parameter])[:2]
                if kind in TEXT:
                    flags = [option.default, *(option.param_decls or ())]  # typer's own way
                    named = [flag for flag in flags if str(flag).startswith("--")]
                    written = option.callback is NOTED
                    found[name][parameter] = ("".join(named[:1]), written)
    return {name: ps for name, ps in found.items() if any(w for _, w in ps.values())}


def _outputs_of(parameters: dict[str, tuple[str, bool]]) -> list[str]:
    return [flag for flag, written in parameters.values() if written]


NOTED = options.written("--output").callback
COMMANDS = _parameters()
CASES = [line.split(": ", 1) for line in LINES.strip().splitlines()]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample, and a model of every kind."""
    folder = tmp_path_factory.mktemp("outputs")
    assert eigentext("data", "get", "sample", "-o", ".", cwd=folder).returncode == 0
    folder /= "sample"
    for line in MADE.strip().splitlines():
        if not line.startswith("annotate"):  # SQLite has files beside a store
            for word in line.split():
                for end in DERIVED if word[0].isalpha() and not (folder / word).exists() else ():
                    (folder / (word + end)).write_text(MINE)
        done = eigentext(*line.split(), cwd=folder)
        assert done.returncode == 0, f"{line}\n{done.stderr.decode()}"
    pipeline = Pipeline.load(folder / "a.pipe")
    pipeline.segmenter_.save(folder / "a.segmenter")
    pipeline.morphology_.save(folder / "a.morphology")
    scheme = files("eigentext.lexical.schemes") / "arabic16.json"
    (folder / "scheme.json").write_bytes(scheme.read_bytes())
    (folder / "mine.toml").write_text(RECIPE)
    return folder


def _content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def _inputs(words: list[str], folder: Path) -> list[str]:
    """The files among the words of a line; some stand behind a name: ``const=a.lpcfg``."""
    bare = [word.rpartition("=")[2].rpartition(":")[2] for word in words]
    return list(dict.fromkeys(word for word in bare if (folder / word).is_file()))


def test_no_command_and_no_input_is_missing() -> None:
    lines: dict[str, list[str]] = {}
    for name, line in CASES:
        lines.setdefault(name, []).extend(line.split())
    assert set(lines) == set(COMMANDS)
    missing = {
        f"{name} {flag}"
        for name, parameters in COMMANDS.items()
        for parameter, (flag, _) in parameters.items()
        if flag and {"--output": "-o"}.get(flag, flag) not in lines[name]
        if parameter not in NO_FILES
    }
    assert not missing


def test_what_lies_beside_an_output_stays(made: Path) -> None:
    for line in MADE.strip().splitlines():
        for word in [] if line.startswith("annotate") else line.partition(" -o ")[2].split()[:1]:
            assert (made / word).is_file()
            assert {(made / (word + end)).read_text() for end in DERIVED} == {MINE}


@pytest.mark.parametrize(("name", "line"), CASES, ids=[": ".join(case) for case in CASES])
def test_an_output_that_is_an_input_is_refused(
    name: str, line: str, made: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(made, tmp_path / "all")
    words = line.split()
    outputs = [i + 1 for i, word in enumerate(words[:-1]) if words[i + 1][0] in "OPMV"]
    outputs = [i for i in outputs if words[i].partition(".")[0] in ("O", "P", "M", "V")]
    files = _inputs(words, folder)
    assert files
    before = _content(folder)
    for at in outputs:
        for number, file in enumerate(files):
            suffix = Path(words[at]).suffix
            link = f"link{suffix}"  # a name of the kind that the flag wants
            if (number + at) % 2:
                (folder / link).symlink_to(file)
            else:
                os.link(folder / file, folder / link)
            names = [link] if suffix else [link, file]
            for target in names:
                changed = [*words[:at], target, *words[at + 1 :]]
                done = eigentext(*name.split(), *changed, cwd=folder)
                message = done.stderr.decode()
                assert (done.returncode, message.count("\n")) == (2, 1), (changed, message)
                assert "an input of this command and its output too" in message, changed
            (folder / link).unlink()
            assert _content(folder) == before, changed


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("model make mine.toml --data . -o trees.conllu", "trees.conllu"),
        ("words count *.txt -o text.txt", "text.txt"),
        ("words count text.txt --jobs 2 -o text.txt", "text.txt"),
        ("convert file://{}/dev.mrg --from ptb --to tokens -o dev.mrg", "dev.mrg"),
        ("convert dev.mrg --to tokens -o file://{}/dev.mrg", "dev.mrg"),
        ("tag apply my-names entities.bio -o models/my-names.model", "models/my-names.model"),
        ("annotate export sqlite:///team.db Trees --unfinished -o team.db", "team.db"),
        ("annotate backup team.db -o team.db-wal", "team.db-wal"),
    ],
)
def test_nor_one_that_is_found_in_another_way(
    line: str, file: str, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(made, tmp_path / "all")
    monkeypatch.setitem(ENVIRONMENT, "EIGENTEXT_MODELS", str(folder / "models"))
    (folder / "models").mkdir()
    shutil.copy(folder / "a.tagger", folder / "models" / "my-names.model")
    (folder / file).touch()
    before = _content(folder)
    done = eigentext(*line.format(folder).split(), cwd=folder)
    assert done.returncode == 2
    assert b"an input of this command and its output too" in done.stderr
    assert _content(folder) == before


def test_nor_standard_input(made: Path, tmp_path: Path) -> None:
    shutil.copy(made / "dev.mrg", tmp_path / "dev.mrg")
    line = [sys.executable, "-m", "eigentext.cli", "convert", "-", "--from", "ptb"]
    with open(tmp_path / "dev.mrg", "rb") as stdin:
        done = subprocess.run(
            [*line, "--to", "tokens", "-o", "dev.mrg"],
            stdin=stdin,
            cwd=tmp_path,
            env=ENVIRONMENT,
            capture_output=True,
            check=False,
        )
    assert done.returncode == 2
    assert b"dev.mrg: an input of this command and its output too" in done.stderr
    assert (tmp_path / "dev.mrg").read_bytes() == (made / "dev.mrg").read_bytes()


@pytest.mark.parametrize("name", sorted(n for n, ps in COMMANDS.items() if _outputs_of(ps)[1:]))
def test_two_outputs_are_two_files(name: str, made: Path, tmp_path: Path) -> None:
    line = next(line for command, line in reversed(CASES) if command == name).split()
    needed = [word for word in line if word[0] not in "OPMV"]
    folder = shutil.copytree(made, tmp_path / "all")
    flags = _outputs_of(COMMANDS[name])
    kept = [word for word in needed if word not in flags and word != "-o"]
    (folder / "old.svg").write_text("old")
    (folder / "link.svg").symlink_to("old.svg")
    before = _content(folder)
    for first, second in itertools.combinations(flags, 2):
        for names in (("new.svg", "./new.svg"), ("old.svg", "link.svg")):
            given = [first, names[0], second, names[1]]
            done = eigentext(*name.split(), *kept, *given, cwd=folder)
            assert done.returncode == 2
            assert b"two outputs of this command" in done.stderr, done.stderr
            assert _content(folder) == before


def test_an_output_that_was_there_is_replaced_and_read_again(made: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(made, tmp_path / "all")
    for _ in range(2):  # the second time all of them are there
        for line in (
            "words count text.txt -o b.counts",
            "words cluster text.txt -o b.clusters --paths b.paths -m 5",
            "convert dev.mrg --to tokens -o /dev/null",
            "pipe apply a.pipe raw.txt -o b.conllu",
        ):
            done = eigentext(*line.split(), cwd=folder)
            assert done.returncode == 0, done.stderr


def test_in_python_a_file_may_be_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_lines(path, ["a"])
    write_lines(path, [line + "b" for _, line in numbered_lines(path)])
    assert path.read_text() == "ab\n"
