"""Commands that read text read it out of records too, of whatever format and store."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import ClassVar

import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import fsspec
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.registry import _registry

from eigentext.base import modelfile
from eigentext.base.files.opening import expand
from eigentext.counting.counting import count
from eigentext.datasets.sample import sample_files
from eigentext.errors import DataError
from helpers import zstd
from helpers.commands import eigentext, started
from helpers.record_files import jsonl, parquet, warc_record, wet, write
from helpers.sample_pipeline import pipeline

LINES = sample_files()["text.txt"].decode().splitlines()
# several sentences a record
TEXTS = ["\n".join(LINES[begin : begin + 7]) for begin in range(0, len(LINES), 7)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The sample's text as a text file and in every other way."""
    made = tmp_path_factory.mktemp("records")
    write(made / "text.txt", sample_files()["text.txt"])
    write(made / "a.jsonl", jsonl(TEXTS))
    write(made / "a.jsonl.zst", zstd.compress(jsonl(TEXTS)))
    write(made / "a.parquet", parquet(TEXTS, rows=5))
    write(made / "a.warc.wet.gz", gzip.compress(wet(TEXTS)))
    write(made / "body.jsonl", jsonl(TEXTS, field="body"))
    write(made / "body.parquet", parquet(TEXTS, rows=5, field="body"))
    return made


def _same_files(folder: Path, command: str, source: str) -> None:
    """The command makes the same of this source as of the text file, but for the source's name."""
    for number, files in enumerate(("text.txt", source)):
        out = f"out{number}"
        done = eigentext(*command.format(files).split(), "-o", out, "-q", cwd=folder)
        assert done.returncode == 0, done.stderr.decode()
    first, second = (modelfile.load(folder / f"out{number}") for number in range(2))
    assert first.strings == second.strings
    assert first.header.settings == second.header.settings
    assert first.arrays.keys() == second.arrays.keys()
    for name, array in first.arrays.items():
        assert array.tobytes() == second.arrays[name].tobytes(), name


@pytest.mark.parametrize(
    "source",
    [
        "a.jsonl",
        "a.jsonl.zst",
        "a.parquet",
        "a.warc.wet.gz",
        "body.jsonl --field body",
        "body.parquet --field body --jobs 2",
    ],
)
def test_counts_are_those_of_the_text(folder, source):
    _same_files(folder, "words count {}", source)


@pytest.mark.parametrize(
    ("command", "source"),
    [
        ("words cluster {} -m 10", "a.parquet"),
        ("words embed {} --n-components 5", "body.jsonl --field body"),
        ("words embed {} --method lrmvl --n-components 4", "a.jsonl.zst"),
        ("hmm train {} --n-states 3 --start random", "a.parquet"),
        ("words train-lm clusters {}", "body.parquet --field body"),
        ("words apply clusters {}", "a.warc.wet.gz"),
    ],
)
def test_models_are_those_of_the_text(folder, command, source):
    if "clusters" in command:
        made = eigentext(*"words cluster text.txt -m 10 -o clusters -q".split(), cwd=folder)
        assert made.returncode == 0, made.stderr
    _same_files(folder, command, source)


def test_raw_records_are_paragraphs(folder):
    write(folder / "raw.jsonl", jsonl(["It rains. We\nstay in", "Good!"]))
    write(folder / "raw.txt", b"It rains. We\nstay in\n\nGood!\n")
    outputs = [
        eigentext(
            *f"words count {name} --raw --newlines join -o raw.counts -q --json".split(),
            cwd=folder,
        )
        for name in ("raw.jsonl", "raw.txt")
    ]
    figures = [json.loads(done.stdout) for done in outputs]
    assert [f["sentences"] for f in figures] == [3, 3]
    assert [f["tokens"] for f in figures] == [8, 8]


def test_each_record_is_a_document_of_the_pipeline(folder):
    pipeline().save(folder / "english.pipe")
    write(folder / "docs.jsonl", jsonl(["Anna slept. It rained.\n\nBob ran.", "", "It rains."]))
    write(folder / "one.txt", b"Anna slept. It rained.\n\nBob ran.")
    call = "pipe apply english.pipe {} --offsets -q"
    ours = eigentext(*call.format("docs.jsonl").split(), cwd=folder)
    assert ours.returncode == 0, ours.stderr
    documents = ours.stdout.decode().split("# newdoc id = ")[1:]
    assert [document.split("\n")[0] for document in documents] == ["docs.jsonl:1", "docs.jsonl:3"]
    alone = eigentext(*call.format("one.txt").split(), cwd=folder).stdout.decode()
    assert documents[0].partition("\n")[2] == alone.partition("id = one.txt\n")[2]
    assert "TokenRange=0:2" in documents[1]  # from the start of its own text
    for jobs in (1, 2):
        again = f"{call.format('docs.jsonl')} -o out{jobs}.conllu --jobs {jobs}"
        assert eigentext(*again.split(), cwd=folder).returncode == 0
        assert (folder / f"out{jobs}.conllu").read_bytes() == ours.stdout


def test_standard_input_has_a_field(folder):
    content = (folder / "a.jsonl").read_bytes()
    line = "words count - --field text -o stdin.counts --json".split()
    done = started(*line, cwd=folder, given=content)
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout)["tokens"] == sum(len(line.split()) for line in LINES)


BAD_CALLS = [
    ("words count null.jsonl -o c", "null.jsonl:2: null in the field 'text', expected a string"),
    ("words count a.jsonl -o c --field nix", "a.jsonl:1: no field 'nix', found: id, text"),
    ("words count a.parquet -o c --field nix", "a.parquet: no column 'nix', found: id, text"),
    ("words count a.parquet -o c --field id", "a.parquet: column 'id' holds int64, expected"),
    ("words count a.warc.wet.gz -o c --field x", "a field is for JSON Lines and Parquet"),
    ("words count text.txt -o c --field x", "text.txt:1: expected a JSON object"),
    ("words count page.warc -o c", "page.warc: record 1: a record of type response"),
    ("hmm train null.jsonl -o c", "null.jsonl:2: null in the field 'text'"),
    ("words cluster --counts c.counts --field x -o c", "--field is for a corpus"),
    ("pipe apply english.pipe null.jsonl -o c", "null.jsonl:2: null in the field"),
    ("pipe apply english.pipe a.conllu --field x -o c", "--field is for text"),
]


@pytest.mark.parametrize(("line", "expected"), BAD_CALLS, ids=[line for line, _ in BAD_CALLS])
def test_bad_records_are_one_line_and_exit_code_2(folder, line, expected):
    write(folder / "null.jsonl", b'{"text": "a b"}\n{"text": null}\n{"text": "c d e"}\n')
    write(folder / "page.warc", warc_record("response", b"<html>"))
    write(folder / "a.conllu", b"1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    if "pipe" in line:
        pipeline().save(folder / "english.pipe")
    if "c.counts" in line:
        assert not eigentext(*"words count a.jsonl -o c.counts -q".split(), cwd=folder).returncode
    done = eigentext(*line.split(), cwd=folder)
    message = done.stderr.decode()
    assert done.returncode == 2, message
    assert message.startswith(f"eigentext: {expected}")
    assert message.count("\n") == 1
    assert not (folder / "c").exists()


def test_bad_records_are_skipped_and_counted(folder):
    write(folder / "null.jsonl", b'{"text": "a b"}\n{"text": null}\n{"text": "c d e"}\n')
    call = "words count null.jsonl -o skipped --on-error skip --json -q".split()
    done = eigentext(*call, cwd=folder)
    assert done.returncode == 0
    figures = json.loads(done.stdout)
    assert (figures["tokens"], figures["skipped"]) == (5, 1)


# ---------------------------------------------------------------- stores


class Hub(MemoryFileSystem):
    """What stands behind hf:// here: no network."""

    protocol = "hf"
    store: ClassVar[dict] = {}
    pseudo_dirs: ClassVar[list] = [""]

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return super()._strip_protocol(path.replace("hf://", "memory://"))


@pytest.fixture
def hub(monkeypatch):
    """Puts a file into a hub that is there for the length of a test."""
    monkeypatch.setitem(_registry, "hf", Hub)
    monkeypatch.setattr(Hub, "store", {})
    monkeypatch.setattr(Hub, "pseudo_dirs", [""])
    Hub.clear_instance_cache()
    return lambda path, content: Hub().pipe(f"/datasets/{path}", content)


def test_the_folder_of_a_dataset_is_its_files(hub):
    hub("me/rain/README.md", b"about")
    hub("me/rain/data/train-00000-of-00002.parquet", parquet(["It rains ."]))
    hub("me/rain/data/train-00001-of-00002.parquet", parquet(["It rains again ."]))
    hub("me/rain/old/a.jsonl", jsonl(["not this"]))
    files = expand(["hf://datasets/me/rain"])
    assert files == [f"hf://datasets/me/rain/data/train-0000{n}-of-00002.parquet" for n in (0, 1)]
    assert count(["hf://datasets/me/rain"], jobs=2).n_tokens == 7
    assert expand(files[:1]) == files[:1]
    hub("me/rain/data/test-00000-of-00001.parquet", parquet(["To be scored ."]))
    with pytest.raises(DataError, match=r"several folders or splits.*: data/\*test\*, data/\*tra"):
        expand(["hf://datasets/me/rain"])
    matches = expand(["hf://datasets/me/rain/data/*train*"])
    assert [match.replace("hf:///", "hf://") for match in matches] == files


def test_json_lines_and_other_files_of_datasets(hub):
    hub("me/c4/en/c4-train.00000-of-00001.json.gz", gzip.compress(jsonl(["It rains ."])))
    hub("me/c4/infos.json", b"{}")
    assert count(["hf://datasets/me/c4"]).n_tokens == 3
    hub("me/c4/de/c4-train.00000-of-00001.json.gz", gzip.compress(jsonl(["Es regnet ."])))
    with pytest.raises(DataError, match=r"de/\*train\*, en/\*train\*"):
        expand(["hf://datasets/me/c4"])
    assert count(["hf://datasets/me/c4/de"]).n_tokens == 3
    hub("me/none/a.bin", b"x")
    with pytest.raises(DataError, match=r"no \.parquet, \.jsonl or \.txt files here"):
        expand(["hf://datasets/me/none"])
    with pytest.raises(DataError, match="no such file"):
        count(["hf://datasets/me/nowhere/a.parquet"])


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.jsonl.zst", "a.warc.wet.gz"])
def test_records_behind_any_address(folder, name):
    address = f"memory://records-test/{name}"
    with fsspec.open(address, "wb") as out:
        out.write((folder / name).read_bytes())
    assert count([address], jobs=2) == count([str(folder / "text.txt")])


@pytest.mark.parametrize(
    ("address", "package"),
    [("s3://bucket/a.parquet", "s3fs"), ("gs://bucket/a.jsonl", "gcsfs"), ("az://b/a", "adlfs")],
)
def test_a_missing_driver_is_named(address, package, folder):
    if __import__("importlib.util").util.find_spec(package):
        pytest.skip(f"{package} is installed")
    done = eigentext("words", "count", address, "-o", "c", cwd=folder)
    message = done.stderr.decode()
    assert done.returncode in (1, 2)
    assert package in message
    assert message.count("\n") == 1
