"""`eigentext words`: what is refused before work begins, odd input, and figures."""

from __future__ import annotations

import errno
import functools
import json
import math
import os
import re

import numpy as np
import pytest

from eigentext.base import modelfile
from eigentext.cli.main import run
from eigentext.counting import spill
from eigentext.counting.memory import Budget
from eigentext.counting.raw_text import read_tokenised
from eigentext.errors import DataError
from eigentext.language.formats.text import write_sentences
from eigentext.words.clusters import methods
from eigentext.words.clusters.model import SpectralClusters
from eigentext.words.embeddings.vectors import Embeddings
from eigentext.words.lm.class_bigram import ClassBigram

LINES = ["a cat ran", "a dog ran", "the cat sat", "the dog sat", "the dog ran"] * 3


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("\n".join(LINES) + "\n")
    return tmp_path


def words(*arguments):
    return run(["words", *map(str, arguments)])


def figures(capsys):
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    "arguments",
    [
        ["cluster", "text", "-o", "m", "-m", "3", "--paths", "no/such/p"],
        ["cluster", "text", "-o", "no/such/m", "-m", "3", "--paths", "p"],
        ["embed", "text", "-o", "m", "--n-components", "2", "--vectors", "no/such/v.bin"],
        [
            "embed",
            "text",
            "-o",
            "m",
            "--n-components",
            "2",
            "--vectors",
            "no/such/v",
            "--method",
            "lrmvl",
        ],
        ["apply", "text", "text", "-o", "m", "--paths", "no/such/p"],
        ["train-lm", "text", "text", "-o", "no/such/m"],
        ["inspect", "text", "-o", "m", "--tree", "no/such/t.svg"],
    ],
)
def test_a_folder_that_is_not_there_is_refused_before_the_text_is_read(
    folder, capsys, monkeypatch, arguments
):
    import eigentext.counting.counting
    import eigentext.counting.encoding  # or it would keep what is put there now

    def no_work(*_, **__):
        raise AssertionError("the text was read first")

    monkeypatch.setattr(eigentext.counting.counting, "count", no_work)
    assert words(*arguments) == 2
    assert "no such folder: no/such" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["text"]


@pytest.mark.parametrize("command", ["cluster", "embed"])
def test_a_disk_that_fills_up_during_a_spill(folder, capsys, monkeypatch, command):
    # so little memory that counting has to write its runs to disk
    little = Budget(segment_tokens=50, batch_pairs=20, run_bytes=100)
    monkeypatch.setattr(Budget, "share_out", lambda *_: little)
    work = folder / "temporary"
    work.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(work))
    written = []
    write = spill.write_array

    def full(path, array, mode="wb"):
        written.append(path)
        if "spill" in str(path):
            with open(path, mode) as out:
                out.write(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(path, array, mode)

    monkeypatch.setattr(spill, "write_array", full)
    size = ["-m", "3"] if command == "cluster" else ["--n-components", "3"]
    assert words(command, "text", "-o", "m", *size) == 2
    said = capsys.readouterr().err
    assert any("spill" in str(path) for path in written), "nothing was spilled"
    assert "cannot write intermediate results here: No space left" in said
    assert said.count("\n") == 1
    assert {path.name for path in folder.iterdir()} == {"text", "temporary"}
    assert not list(work.iterdir())


@pytest.mark.parametrize("command", ["cluster", "embed"])
def test_one_line_that_never_ends(folder, capsys, command):
    # longer than the blocks in which files are read
    (folder / "line").write_text(" ".join(LINES * 4000))
    (folder / "lines").write_text("\n".join(LINES * 4000))
    n_tokens = 3 * len(LINES) * 4000
    assert (folder / "line").stat().st_size > 500_000
    size = ["-m", "3"] if command == "cluster" else ["--n-components", "3"]
    for name in ("line", "lines"):
        assert words(command, name, "-o", f"{name}.m", *size, "--json") == 0
        assert figures(capsys)["tokens"] == n_tokens


@pytest.mark.parametrize(
    ("arguments", "writer"),
    [
        (["cluster", "text", "-m", "3", "--paths", "-"], (SpectralClusters, "write_paths")),
        (["apply", "old", "text", "--paths", "-"], (SpectralClusters, "write_paths")),
        (["embed", "text", "--n-components", "2", "--vectors", "-"], (Embeddings, "export")),
    ],
)
def test_a_file_beside_the_model_that_fails_does_not_lose_the_model(
    folder, monkeypatch, arguments, writer
):
    assert words("cluster", "text", "-o", "old", "-m", "3", "-q") == 0

    def closed(*_, **__):
        raise DataError("-", None, "nobody reads it")

    monkeypatch.setattr(*writer, closed)
    assert words(*arguments, "-o", "m", "-q") == 2
    assert modelfile.read_header("m").kind in ("clusters", "embeddings")


def test_a_line_that_cannot_be_read_is_left_out_where_that_is_asked_for(folder, capsys):
    assert words("cluster", "text", "-o", "old", "-m", "3", "-q") == 0
    with open("text", "ab") as out:
        out.write(b"\xff\n")
    arguments = ["train-lm", "old", "text", "-o", "lm", "--json"]
    assert words(*arguments) == 2
    capsys.readouterr()
    assert words(*arguments, "--on-error", "skip") == 0
    shown = figures(capsys)
    assert (shown["skipped"], shown["tokens"]) == (1, 4 * len(LINES))  # with an end of each line


@pytest.mark.parametrize("method", ["spectral", "exchange"])
def test_the_same_files_for_any_number_of_jobs(folder, method):
    for jobs in (1, 2):
        arguments = ["text", "-o", f"{jobs}.m", "--paths", f"{jobs}.paths", "-m", "3", "-q"]
        assert words("cluster", *arguments, "--jobs", jobs, "--method", method) == 0
    assert (folder / "1.paths").read_bytes() == (folder / "2.paths").read_bytes()
    assert (folder / "1.m").read_bytes() == (folder / "2.m").read_bytes()


def test_a_bound_that_clustering_cannot_hold_is_refused_before_the_text_is_read(
    folder, capsys, monkeypatch
):
    import eigentext.counting.counting

    assert words("cluster", "text", "-o", "m", "-m", "3", "--memory", "360MB", "-q") == 0
    (folder / "m").unlink()

    def no_work(*_, **__):
        raise AssertionError("the text was read first")

    monkeypatch.setattr(eigentext.counting.counting, "count", no_work)
    for memory in ("32MB", "349MB"):
        assert words("cluster", "text", "-o", "m", "-m", "3", "--memory", memory) == 2
        assert f"memory {memory} is too small to cluster words: 350MB" in capsys.readouterr().err
        assert not (folder / "m").exists()


def test_clusters_are_scored_by_text_or_counts(folder, capsys):
    assert words("cluster", "text", "-o", "m", "--paths", "p", "-m", "3", "--json") == 0
    told = figures(capsys)["mutual_information"]
    assert words("count", "text", "-o", "c", "--contexts", "r1", "-q") == 0
    for clusters, gold in (("p", "text"), ("m", "text"), ("p", "c"), ("m", "c")):
        assert words("eval", clusters, gold, "--json") == 0
        assert figures(capsys)[clusters] == {
            "mutual_information": pytest.approx(told, abs=1e-4),
            "clusters": 3,
            "words": 6,
        }
    assert words("eval", "p", "text") == 0
    assert capsys.readouterr().out.startswith("p\tmutual_information ")
    for line, why in (
        (["eval", "p"], "Missing argument"),
        (["eval", "m", "c", "c"], "several files of counts"),
        (["eval", "m", "text", "--documents", "2"], "--documents is for topics"),
        (["eval", "m", "text", "--mix", "1"], "--mix is for a language model"),
        (["eval", "c", "text"], "holds counts of words"),
        (["inspect", "m", "--format", "jsonl"], "--format is not for clusters"),
        (["inspect", "c", "cat"], "words are for a model of vectors"),
        (["inspect", "c", "--seed", "2"], "--seed is for a language model"),
        (["apply", "m", "text", "-o", "x", "--format", "jsonl"], "--format is for topics"),
    ):
        assert words(*line) == 2
        assert why in capsys.readouterr().err


def test_sentences_are_scored(folder, capsys):
    (folder / "p").write_text(
        "00\ta\t6\n00\tthe\t9\n01\tcat\t6\n01\tdog\t9\n1\tran\t9\n1\tsat\t6\n"
    )
    (folder / "new").write_text("the cat ran\n\nran the the\n")
    assert words("train-lm", "p", "text", "-o", "lm", "--mix", "0.7", "--json") == 0
    assert figures(capsys)["classes"] == 5  # with <unk> and the end of a sentence
    model = ClassBigram.load("lm")
    expected = [model.log_prob(s.split()) for s in ("the cat ran", "ran the the")]
    assert expected[0] > expected[1]
    assert words("score", "lm", "new", "--format", "jsonl") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["log_prob"] for row in rows] == expected
    assert rows[0]["tokens"] == ["the", "cat", "ran"]
    assert words("score", "lm", "new") == 0
    assert capsys.readouterr().out.splitlines()[1] == f"{expected[1]:.4f}\tran the the"
    assert words("score", "lm", "new", "--mix", "1", "--format", "jsonl") == 0
    by_class = json.loads(capsys.readouterr().out.splitlines()[0])["log_prob"]
    assert by_class == model.log_prob(["the", "cat", "ran"], mix=1.0) != expected[0]
    assert words("eval", "lm", "new", "--json") == 0
    assert figures(capsys)["perplexity"] == pytest.approx(math.exp(-sum(expected) / 8), abs=1e-3)


@pytest.mark.parametrize(
    "arguments",
    [
        ["cluster", "-m", "3"],
        ["embed", "--n-components", "2"],
        ["embed", "--n-components", "2", "--method", "lrmvl"],
    ],
    ids=["cluster", "embed", "lrmvl"],
)
def test_raw_text_is_tokenised_inside(folder, capsys, arguments):
    (folder / "raw").write_text("A cat ran. A dog ran.\nThe cat sat; the dog sat.\n" * 3)
    assert write_sentences(read_tokenised("raw", "ptb"), "tokens") > 3
    for name, more in (("raw", ["--raw", "--tokeniser", "ptb"]), ("tokens", [])):
        assert words(*arguments, name, "-o", f"{name}.m", "-q", *more) == 0
    same = [modelfile.load(folder / f"{name}.m") for name in ("raw", "tokens")]
    assert same[0].strings == same[1].strings
    for name, array in same[0].arrays.items():
        assert np.array_equal(array, same[1].arrays[name])


@pytest.mark.filterwarnings("ignore::eigentext.errors.RankWarning")
def test_every_long_stage_of_clustering_tells_its_progress(folder, monkeypatch):
    seen: dict[str, list[tuple[int, int]]] = {}

    def progress(done: int, total: int, stage: str) -> None:
        seen.setdefault(stage, []).append((done, total))

    text = [[f"w{i * j % 61}" for j in range(1, 9)] for i in range(200)]
    settings = {"method": "spectral", "kappa": 1.0}
    quiet = SpectralClusters(4, **settings).fit(text)
    svd = functools.partial(methods.truncated_svd, method="krylov")  # not dense, small as it is
    monkeypatch.setattr(methods, "truncated_svd", svd)
    told = SpectralClusters(4, **settings).fit(text, progress=progress)
    assert np.array_equal(quiet.labels_, told.labels_)
    SpectralClusters(4, method="exchange").fit(text, progress=progress)
    assert set(seen) >= {"svd", "ward", "exchange", "insertion"}
    assert all(0 <= done < total for some in seen.values() for done, total in some)
    assert len(seen["insertion"]) == len(told.words_) - 4  # so few words go in one by one


def test_rates_are_in_what_a_stage_counts(monkeypatch):
    """A terminal of 100 columns, with one bar for each stage."""
    import io

    import rich.console

    from eigentext.cli.output import progress_bar

    screen = io.StringIO()
    console = rich.console.Console(file=screen, force_terminal=True, width=100)
    monkeypatch.setattr(rich.console, "Console", lambda **_: console)
    monkeypatch.setenv("FORCE_COLOR", "1")  # so that stderr is taken for a terminal
    with progress_bar() as update:
        for stage in ("reading", "exchange", "svd"):
            update(10, 100, stage)
    shown = screen.getvalue()
    assert "words/s" in shown
    assert "directions/s" in shown
    assert re.search(r"reading[^\r\n]*B/s", shown)
    assert not re.search(r"(exchange|svd)[^\r\n]*B/s", shown)


def test_clusters_are_written_before_their_figures_are_made(tmp_path, monkeypatch):
    from eigentext.evaluate import clustering

    def fails(*_, **__):
        raise MemoryError

    monkeypatch.setattr(clustering, "prefix_information", fails)
    (tmp_path / "text").write_text("a cat ran\na dog sat\n" * 3)
    made = ["words", "cluster", str(tmp_path / "text"), "-m", "2", "-o"]
    assert run([*made, str(tmp_path / "quiet"), "-q"]) == 0
    assert run([*made, str(tmp_path / "told")]) != 0
    assert (tmp_path / "told").read_bytes()[:8]


@pytest.mark.parametrize("command", ["embed", "cluster"])
def test_a_device_that_is_not_there_and_one_that_is(folder, monkeypatch, capsys, command):
    from eigentext.accel import devices

    size = ["--n-components", "2"] if command == "embed" else ["--n-clusters", "2"]
    arguments = ["text", "-q", *size]
    monkeypatch.setattr(devices, "card", lambda: "CuPy sees none")
    assert words(command, *arguments, "-o", "none.model", "--device", "cuda") == 2
    assert "no graphics card was found: CuPy sees none" in capsys.readouterr().err
    assert not (folder / "none.model").exists()
    assert words(command, *arguments, "-o", "here.model") == 0
    assert words(command, *arguments, "-o", "auto.model", "--device", "auto") == 0
    assert (folder / "here.model").read_bytes() == (folder / "auto.model").read_bytes()
