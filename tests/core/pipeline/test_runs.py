"""Runs over files: the same bytes for any number of processes, and after a kill."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eigentext.errors import StorageError
from eigentext.language import Doc
from eigentext.language.formats.conllu import read_sentences
from eigentext.pipeline import Pipeline, runs
from helpers.commands import ENVIRONMENT, eigentext
from helpers.sample_pipeline import pipeline, treebank

PARAGRAPH = " ".join(sentence.text for sentence in treebank()[:40])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline, and text of some pieces."""
    made = tmp_path_factory.mktemp("runs")
    pipeline().save(made / "english.pipe")
    text = "\r\n\r\n".join(["😀 Anna's\tdog", " ".join([PARAGRAPH] * 24)] * 4)
    (made / "text.txt").write_bytes(text.encode())
    (made / "more.txt").write_bytes(b"Anna slept")
    return made


def done(folder: Path, *arguments: object) -> None:
    result = eigentext("pipe", "apply", "english.pipe", *arguments, cwd=folder)
    assert result.returncode == 0, result.stderr.decode()


@pytest.fixture(scope="module")
def parsed(folder: Path) -> bytes:
    done(folder, "text.txt", "more.txt", "-o", "one.conllu", "--offsets")
    return (folder / "one.conllu").read_bytes()


def test_any_number_of_processes(folder: Path, parsed: bytes) -> None:
    done(folder, "text.txt", "more.txt", "-o", "two.conllu", "--offsets", "--jobs", 2)
    assert (folder / "two.conllu").read_bytes() == parsed
    assert not list(folder.glob("*.work"))
    sentences = list(read_sentences(folder / "two.conllu"))
    names = [sentence.metadata["sent_id"] for sentence in sentences]
    assert names == [str(number) for number in range(1, len(sentences) + 1)]
    text = (folder / "text.txt").read_bytes().decode()
    begins = [
        number for number, one in enumerate(sentences) if one.comments[0].startswith("# newdoc")
    ]
    assert begins == [0, len(sentences) - 1]
    for sentence in sentences[:-1]:
        for row in sentence.rows:
            place = dict(pair.split("=") for pair in row[9].split("|") if "=" in pair)
            if "TokenRange" in place:
                start, end = map(int, place["TokenRange"].split(":"))
                assert text[start:end].split() == row[1].split()


# the process tells of every unit that is safe, and is killed at one of them
_TOLD = """
import sys
from eigentext.cli.main import run
from eigentext.pipeline import runs
write = runs._Record.write
def telling(self, now, size):
    write(self, now, size)
    print(now.units, flush=True)
runs._Record.write = telling
sys.exit(run(sys.argv[1:]))
"""


def _killed(folder: Path, line: list[str], after: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _TOLD, "pipe", "apply", *line],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        for told in process.stdout:
            if int(told) == after:
                os.kill(process.pid, signal.SIGKILL)
                break
        assert process.wait() == -signal.SIGKILL
        os.set_blocking(process.stdout.fileno(), False)
        for _ in range(300):
            try:  # its end comes when the last process that could write there is gone
                if process.stdout.raw.read(1 << 16) == b"":  # type: ignore[attr-defined]
                    return
            except BlockingIOError:
                pass
            time.sleep(0.1)
        pytest.fail("worker processes are left behind")


def test_killed_it_goes_on(folder: Path, parsed: bytes) -> None:
    line = ["english.pipe", "text.txt", "more.txt", "-o", "cut.conllu", "--offsets"]
    _killed(folder, line, 2)
    work = folder / "cut.conllu.work" / "result"
    unfinished = work / "data"
    assert not (folder / "cut.conllu").exists()
    before = unfinished.read_bytes()
    assert 0 < len(before) < len(parsed)
    with unfinished.open("ab") as out:  # what was written after the last record is cut off
        out.write(b"half a lin")
    taken = json.loads((work / "done.json").read_text())["done"]
    assert taken[0] >= 2
    done(folder, *line[1:], "--resume")
    assert (folder / "cut.conllu").read_bytes() == parsed
    assert not list(folder.glob("cut.conllu.*"))


def test_killed_with_two_processes_it_goes_on_and_leaves_none_behind(
    folder: Path, parsed: bytes
) -> None:
    line = "english.pipe text.txt more.txt -o both.conllu --offsets --jobs 2".split()
    _killed(folder, line, 1)
    assert not (folder / "both.conllu").exists()
    done(folder, *line[1:], "--resume")
    assert (folder / "both.conllu").read_bytes() == parsed


def test_what_another_run_left_is_not_gone_on_with(folder: Path, parsed: bytes) -> None:
    line = ["english.pipe", "text.txt", "more.txt", "-o", "other.conllu"]
    _killed(folder, line, 2)
    done(folder, *line[1:], "--offsets", "--resume")
    assert (folder / "other.conllu").read_bytes() == parsed


def test_a_run_with_another_model_or_input_is_not_gone_on_with(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(self: runs._Record, now: runs.RunCounts, size: int) -> None:
        write(self, now, size)
        raise StorageError("out", None, "no space left on device")

    write = runs._Record.write
    model, words = folder / "own.pipe", folder / "words.tsv"
    tagging, cutting = (Pipeline.from_bytes(pipeline().to_bytes()) for _ in range(2))
    tagging.use("parser", None)
    cutting.use("parser", None)
    cutting.use("morphology", None)

    def run(*more: str) -> bytes:
        line = ("own.pipe", "words.tsv", "-o", "own.conllu", "--input", "vertical", *more)
        result = eigentext("pipe", "apply", *line, cwd=folder)
        assert result.returncode == 0, result.stderr
        return (folder / "own.conllu").read_bytes()

    def change(what: str) -> list[str]:
        if what == "model":
            cutting.save(model)
        if what == "input":
            old = words.stat().st_mtime_ns
            words.write_bytes(words.read_bytes().replace(b"dogs", b"cats"))  # the same size
            os.utime(words, ns=(old + 10**9, old + 10**9))
        return ["--offsets"] if what == "options" else []

    for what in ("nothing", "model", "input", "options"):
        tagging.save(model)
        words.write_bytes(b"dogs\nbark\n\n" * 300)
        with monkeypatch.context() as context:
            context.setattr(runs._Record, "write", full_disk)
            line = "own.pipe words.tsv -o own.conllu --input vertical".split()
            assert eigentext("pipe", "apply", *line, cwd=folder).returncode == 2
        assert (folder / "own.conllu.work").is_dir()
        changed = change(what)
        assert run(*changed, "--resume") == run(*changed), what


@pytest.mark.parametrize("resume", [[], ["--resume"]])
def test_what_the_user_has_beside_the_output_stays(folder: Path, resume: list[str]) -> None:
    names = ["mine.unfinished", "mine.unfinished.json", "mine.unfinished.tmp", "mine.work"]
    for name in names:
        (folder / name).write_text("my own")
    line = ["pipe", "apply", "english.pipe", "more.txt", "-o", "mine", *resume]
    assert eigentext(*line, cwd=folder).returncode == 2  # a file cannot be the work folder
    (folder / "mine.work").unlink()
    (folder / "mine.work").mkdir()
    (folder / "mine.work" / "data").write_text("my own")
    refused = eigentext(*line, cwd=folder)
    assert refused.returncode == 2
    assert b"mine.work is no work folder of eigentext" in refused.stderr
    assert (folder / "mine.work" / "data").read_text() == "my own"
    shutil.rmtree(folder / "mine.work")
    done(folder, *line[3:])
    assert [(folder / name).read_text() for name in names[:3]] == ["my own"] * 3
    assert not (folder / "mine.work").exists()


def test_json_lines_are_paragraphs_of_the_text(folder: Path) -> None:
    (folder / "some.txt").write_text(f"{PARAGRAPH}\n\n 😀\n \nAnna's dog")
    done(folder, "some.txt", "-o", "answer.jsonl", "--format", "jsonl")
    lines = (folder / "answer.jsonl").read_bytes().decode().split("\n")[:-1]
    docs = list(map(Doc.from_json, lines))
    text = (folder / "some.txt").read_text()
    assert len(docs) == 3
    assert "".join(doc.text for doc in docs) == text
    assert [text[doc.start :].startswith(doc.text) for doc in docs] == [True] * len(docs)
    assert [len(doc.sentences) > 0 for doc in docs] == [True] * len(docs)


def test_docbin(folder: Path) -> None:
    spacy = pytest.importorskip("spacy")
    (folder / "some.txt").write_text(f"{PARAGRAPH}\n\n 😀\n \nAnna's dog")
    done(folder, "some.txt", "-o", "answer.spacy", "--format", "docbin")
    docs = list(spacy.tokens.DocBin().from_disk(folder / "answer.spacy").get_docs(spacy.Vocab()))
    assert "".join(doc.text for doc in docs) == (folder / "some.txt").read_text()


@pytest.mark.parametrize(
    ("input_", "content", "forms"),
    [
        ("lines", "Anna slept. We sang.\nThe dog\n", [6, 2]),
        ("horizontal", "Anna slept.\nThe dog\n", [2, 2]),
        ("vertical", "Anna\tNNP\nslept\n\nThe\ndog", [2, 2]),
    ],
)
def test_other_inputs(folder: Path, input_: str, content: str, forms: list[int]) -> None:
    (folder / "input").write_text(content)
    done(folder, "input", "-o", "out.conllu", "--input", input_)
    assert [len(one) for one in read_sentences(folder / "out.conllu")] == forms


def test_conllu_keeps_its_comments(folder: Path) -> None:
    (folder / "dev.conllu").write_text("".join(s.verbatim for s in treebank("treebank-dev")))
    done(folder, "dev.conllu", "-o", "tags.conllu", "--given", "tags")
    for mine, right in zip(
        read_sentences(folder / "tags.conllu"), treebank("treebank-dev"), strict=True
    ):
        assert mine.comments == right.comments
        assert [row[:6] for row in mine.rows] == [row[:6] for row in right.rows]
        assert mine.ranges == right.ranges


def test_offsets_of_conllu_go_on_from_unit_to_unit(folder: Path) -> None:
    one = treebank("treebank-dev")
    ends = ["SpaceAfter=No", "SpacesAfter=\\n\\n", "_"]
    many = []
    for number in range(600):
        rows = one[number % len(one)].verbatim.rstrip("\n").split("\n")
        rows[-1] = rows[-1].rpartition("\t")[0] + "\t" + ends[number % 3]
        comment = ["# newpar"] if number % 7 == 0 else []
        many.append("\n".join([*comment, *(row for row in rows if row[0] != "#")]) + "\n\n")
    (folder / "many.conllu").write_text("".join(many))
    done(folder, "many.conllu", "-o", "placed.conllu", "--offsets", "--given", "words")
    text = Doc.from_conllu("".join(many)).text
    placed = 0
    for sentence in read_sentences(folder / "placed.conllu"):
        for form, misc in [(row[1], row[9]) for row in sentence.rows]:
            places = [item for item in misc.split("|") if item.startswith("TokenRange=")]
            for place in places:
                start, end = map(int, place.partition("=")[2].split(":"))
                assert text[start:end] == form
                placed += 1
    assert placed > 3000


def test_figures_of_every_format(folder: Path) -> None:
    pytest.importorskip("spacy")
    told = []
    for kind in ("conllu", "jsonl", "docbin"):
        line = ("more.txt", "-o", f"figures.{kind}", "--format", kind, "--json")
        result = eigentext("pipe", "apply", "english.pipe", *line, cwd=folder)
        told.append({key: json.loads(result.stdout)[key] for key in ("sentences", "words")})
    assert told == [{"sentences": 1, "words": 2}] * 3


def test_links_and_pipes_stay_what_they_are(folder: Path) -> None:
    done(folder, "more.txt", "-o", "plain.conllu")
    expected = (folder / "plain.conllu").read_bytes()
    (folder / "real.conllu").write_bytes(b"old")
    (folder / "real.conllu").chmod(0o600)
    (folder / "link.conllu").symlink_to("real.conllu")
    done(folder, "more.txt", "-o", "link.conllu")
    assert (folder / "link.conllu").is_symlink()
    assert (folder / "real.conllu").read_bytes() == expected
    assert (folder / "real.conllu").stat().st_mode & 0o777 == 0o600
    os.mkfifo(folder / "pipe")
    with subprocess.Popen(["cat", "pipe"], cwd=folder, stdout=subprocess.PIPE) as reader:
        done(folder, "more.txt", "-o", "pipe")
        assert reader.communicate()[0] == expected
    assert (folder / "pipe").is_fifo()
    assert not list(folder.glob("*.work"))


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no /dev/fd on this system")
def test_the_shells_own_pipes_and_readers_that_go_away(folder: Path) -> None:
    done(folder, "more.txt", "-o", "plain.conllu")
    read, write = os.pipe()
    code = "import sys; from eigentext.cli.main import run; sys.exit(run(sys.argv[1:]))"
    line = [sys.executable, "-c", code, "pipe", "apply", "english.pipe"]
    with subprocess.Popen(
        [*line, "more.txt", "-o", f"/dev/fd/{write}"],
        cwd=folder,
        env=ENVIRONMENT,
        pass_fds=[write],
    ) as process:
        os.close(write)
        with open(read, "rb") as stream:
            assert stream.read() == (folder / "plain.conllu").read_bytes()
    assert process.returncode == 0
    with subprocess.Popen(
        [*line, "text.txt"],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()  # as head does
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_standard_input_and_output(folder: Path) -> None:
    from helpers.commands import started

    result = started("pipe", "apply", "english.pipe", cwd=folder, given="Anna slept 😀".encode())
    assert result.returncode == 0
    assert "# text = Anna slept 😀\n" in result.stdout.decode()


@pytest.mark.long
def test_memory_does_not_grow_with_the_text(folder: Path) -> None:
    code = (
        "import resource, sys; from eigentext.cli.main import run; run(sys.argv[1:]); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    )
    used = []
    for copies in (1, 8):
        (folder / "long.txt").write_text("\n\n".join([" ".join([PARAGRAPH] * 10)] * copies))
        line = ["pipe", "apply", "english.pipe", "long.txt", "-o", "long.conllu"]
        result = subprocess.run(
            [sys.executable, "-c", code, *line],
            cwd=folder,
            env=ENVIRONMENT,
            capture_output=True,
            check=True,
        )
        used.append(int(result.stderr.split()[-1]))
    assert used[1] < used[0] + 40_000  # kB
