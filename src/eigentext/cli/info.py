"""``eigentext info`` and ``warm``: what is in a file or is installed, and compiling beforehand."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from eigentext.base.parallel import in_order
from eigentext.base.registry import KINDS, class_of
from eigentext.cli import options
from eigentext.cli.command import argument, with_flags
from eigentext.cli.output import readable, remark, show_figures, show_table
from eigentext.errors import EigentextError, shortened

if TYPE_CHECKING:
    from eigentext.base.modelfile import Header

_LONGEST = 120  # characters of a value


@with_flags()
def info(
    file: str | None = argument("A model or its name; without it: this installation."),
    json: options.Json = False,
) -> None:
    """Print the header of a model file, or the versions of this installation.

    Example:
        $ eigentext info
    """
    if file is None:
        show_figures(_installation(), as_json=json)
        return
    from eigentext.base.modelfile import load, read_header
    from eigentext.base.registry import located

    header = read_header(file)
    if json:
        show_figures({"file": located(file), **asdict(header)}, as_json=True)
    else:
        show_figures({"file": located(file)}, as_json=False)
        _show(header)
    load(file)  # reads it all: a cut or a flipped bit is an error, after the header has been shown


def _show(header: Header) -> None:
    """The header as tables, with what each setting means."""
    plain = asdict(header)
    tables = {name: plain.pop(name) for name in ("data", "settings", "facts", "arrays")}
    entry = KINDS.get(header.kind)
    what = {} if entry is None else {"what": f"{entry.what}, by eigentext {entry.command}"}
    show_figures({"kind": plain.pop("kind"), **what, **plain}, as_json=False)
    helps = _helps(header.kind)
    columns = {
        name: [{"name": key, "value": value} for key, value in _flat(tables[name])]
        for name in ("data", "settings", "facts")
    }
    for row in columns["settings"] if helps else ():
        row["what it is"] = helps.get(row["name"].partition(".")[0], "")
    columns["arrays"] = [
        {"name": name, "type": dtype, "shape": " x ".join(f"{size:,}" for size in shape)}
        for name, (dtype, shape) in tables["arrays"].items()
    ]
    for name, rows in columns.items():
        if rows:
            show_table(name.capitalize(), rows)


def _flat(values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Names and values as text, those within others as ``outer.inner``.

    >>> list(_flat({"beam": 1e-4, "arcs": {"bits": 16}, "experts": ["latent", "valence"]}))
    [('beam', '0.0001'), ('arcs.bits', '16'), ('experts', 'latent, valence')]
    """
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from ((f"{name}.{inner}", text) for inner, text in _flat(value))
        elif isinstance(value, (dict, list)):
            yield name, shortened(", ".join(map(_exact, value)), _LONGEST) or "none"
        else:
            yield name, shortened(_exact(value), _LONGEST)


def _exact(value: object) -> str:
    """A value as it can be given again: numbers are not rounded.

    >>> _exact(0.0123456), _exact(True)
    ('0.0123456', 'True')
    """
    return repr(value) if isinstance(value, float) else readable(value)


def _helps(kind: str) -> dict[str, str]:
    """What each setting of a kind of model means; nothing for a kind that is no estimator."""
    from dataclasses import is_dataclass

    from eigentext.base.settings import declared

    home = class_of(kind)
    settings = declared(home) if is_dataclass(home) else {}
    return {name: declaration.help for name, declaration in settings.items()}


def _installation() -> dict[str, str]:
    import platform
    from importlib.metadata import PackageNotFoundError, version

    versions = {"eigentext": version("eigentext"), "python": platform.python_version()}
    for package in ("numpy", "scipy", "scikit-learn", "numba", "safetensors"):
        versions[package] = version(package)
    extras = (
        "web fastapi, cluster distributed, plot matplotlib, hub huggingface_hub, "
        "arabic pyaramorph, polish morfeusz2, spacy spacy, postgres psycopg"
    )
    for extra, package in map(str.split, extras.split(",")):
        try:
            versions[f"extra {extra}"] = f"{package} {version(package)}"
        except PackageNotFoundError:
            versions[f"extra {extra}"] = "not installed"
    return versions


#: Command lines on the sample data that between them call every kernel the commands call; parts
#: need nothing of each other, so that cores share them.  The longest come first.
PARTS: dict[str, tuple[str, ...]] = {
    "dependency trees": (
        "convert sample/dev.mrg -o t.conllu",
        "dep train t.conllu -o a.parser --epochs 1",
        "dep apply a.parser t.conllu -o a.conllu --marginals",
        "dep apply a.parser t.conllu -o k.conllu --kbest 2",
        "dep train t.conllu -o b.parser --epochs 1 --order 1 --tags own",
        "dep apply b.parser t.conllu -o b.conllu --marginals",
        "dep apply b.parser t.conllu -o k.conllu --kbest 2",
    ),
    "pipelines": (
        "pipe train sample/treebank.conllu -o p.pipe --folds 2",
        "pipe apply p.pipe sample/raw.txt -o p.conllu",
        "pipe apply p.pipe sample/raw.txt -o p.jsonl --format jsonl --top 2",
        "pipe eval p.pipe sample/treebank-dev.conllu",
    ),
    "latent trees and rerankers": (
        "convert sample/dev.mrg -o t.conllu",
        "dep train-generative t.conllu -o g.parser --n-states 2",
        "dep apply g.parser t.conllu -o g.conllu",
        (
            "dep train-generative t.conllu -o u.parser --unlabelled t.conllu "
            "--unlabelled-weight 0.1 --n-states 1"
        ),
        "dep train-latent t.conllu -o l.latent --n-states 50 --n-iter 2",
        "dep train t.conllu -o a.parser --epochs 1",
        (
            "dep train-reranker t.conllu --base a.parser --kbest 3 --experts generative,valence "
            "-o a.rerank"
        ),
        "dep apply a.parser t.conllu --rerank a.rerank -o r.conllu",
    ),
    "constituents": (
        "const train sample/train.mrg -o a.lpcfg --n-states 4",
        "const apply a.lpcfg sample/text.txt -o a.mrg",
        "const apply a.lpcfg sample/text.txt -o k.mrg --kbest 3",
        "const score a.lpcfg sample/test.mrg -o scores.txt",
        "const eval sample/test.mrg sample/test.mrg",
        "lab train-bracketer sample/train.mrg -o a.bracketer",
        "lab apply a.bracketer sample/test.mrg -o b.mrg",
    ),
    "sequences": (
        "hmm train sample/text.txt -o a.hmm --n-states 3",
        "hmm eval a.hmm sample/text.txt --train sample/text.txt",
        "hmm train-spectral sample/text.txt -o o.hmm --n-states 3",
        "hmm score a.hmm sample/text.txt",
        "hmm train-blocked sample/text.txt -o b.hmm --n-groups 5",
        "hmm apply b.hmm sample/text.txt -o b.txt",
        "hmm eval b.hmm sample/text.txt",
        "hmm train-tagger sample/entities.bio -o l.model --n-states 2",
        "hmm apply l.model sample/text.txt -o l.txt --kbest 2 --marginals",
    ),
    "words": (
        "words count sample/text.txt -o a.counts --contexts lr2",
        "words cluster sample/text.txt -o a.clusters -m 10",
        "words cluster sample/text.txt -o b.clusters -m 10 --method brown",
        "words apply a.clusters sample/text.txt -o c.clusters",
        "words embed sample/text.txt -o a.vec --n-components 10",
        "words embed sample/text.txt -o l.vec --method lrmvl --n-components 4",
        "words train-topics sample/text.txt -o a.topics -k 2 --documents 4",
    ),
    "readings": (
        "lex train sample/arabic.jsonl -o a.ranker --bits 16",
        "lex apply a.ranker sample/arabic.txt -o a.jsonl",
        "lex apply a.ranker sample/arabic.txt -o a.txt --format vocalised",
        "convert sample/dev.mrg -o t.conllu",
        "lex train-analyzer t.conllu -o rules.eig",
        "lex apply rules.eig sample/text.txt -o readings.tsv",
    ),
    "tags": (
        "tag train sample/entities.bio -o a.tagger --epochs 2",
        "tag apply a.tagger sample/text.txt -o k.jsonl --kbest 2",
        "tag apply a.tagger sample/entities.bio -o a.bio",
    ),
}


def warm(jobs: options.Jobs = 0, quiet: options.Quiet = False) -> None:
    """Compile everything now, so that no later command has to.

    The fast parts of this program are compiled on the machine that runs them, when they are first
    needed, and kept.  This does all of it at once: after an installation, in an image, before a
    class.  A second time there is nothing to do, and a package that brings compiled parts for your
    processor has nothing to compile.

    Example:
        $ eigentext warm
    """
    names = list(PARTS)
    used = min(jobs, len(names))
    for done, (name, _) in enumerate(in_order(_warmed, names, state=None, jobs=used, chunk=1), 1):
        remark(f"{done} of {len(names)}: {name}", quiet=quiet)


def _warmed(_: None, names: list[str]) -> list[None]:
    for name in names:
        run_part(name)
    return [None] * len(names)


def run_part(name: str) -> None:
    """The commands of a part, in a folder of their own; what they print is not shown."""
    from eigentext.cli.main import run
    from eigentext.datasets.sample import write_sample

    here = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="eigentext-") as folder:
        write_sample(folder)
        os.chdir(folder)
        try:
            for line in PARTS[name]:
                errors = io.StringIO()
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
                    code = run(line.split())
                if code:
                    raise EigentextError(f"`eigentext {line}` failed: {errors.getvalue().strip()}")
        finally:
            os.chdir(here)
