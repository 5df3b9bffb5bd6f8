"""Kernels are compiled ahead: the manifest, helpers, and the lock of a kernel."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.base.ahead import Line, command_of, lines_of, spec_of, type_of
from eigentext.base.compiling import Lock
from eigentext.base.cores import available_cores
from eigentext.datasets.sample import write_sample
from helpers.waiting import until

ROOT = Path(__file__).parents[3]
SCALARS = st.sampled_from(["int64", "int32", "uint64", "float64", "float32", "bool"])
ARRAYS = st.builds(
    "{} {}{}{}".format,
    SCALARS,
    st.integers(1, 3),
    st.sampled_from("CA"),
    st.sampled_from(["", "r"]),
)
SPECS = st.recursive(
    SCALARS | ARRAYS | st.just("unicode_type"),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.lists(inner, min_size=3, max_size=3).map(
            lambda fields: {"eigentext.base.ahead:Line": fields}
        )
    ),
    max_leaves=6,
)


@given(SPECS)
def test_types_are_read_as_they_were_written(spec: Any) -> None:
    assert spec_of(type_of(json.loads(json.dumps(spec)))) == spec


def test_a_named_tuple_is_that_class() -> None:
    kind = type_of({"eigentext.base.ahead:Line": ["int64", "float64 1C", "bool"]})
    assert kind.instance_class is Line
    assert next(str(item) for item in kind) == "int64"


def test_types_that_numba_knows_by_value_are_refused() -> None:
    types: Any = import_module("numba.core.types")
    with pytest.raises(ValueError, match="does not know"):
        spec_of(types.literal(3))


def test_every_line_is_a_kernel_with_types_and_commands() -> None:
    """Beside the check of all commands below: each line can be compiled, once."""
    lines = lines_of("")
    assert len(lines) > 300
    assert len({json.dumps(line[:2]) for line in lines}) == len(lines)
    for line in lines:
        kernel, types = line.signature()
        assert len(types) == kernel.py_func.__code__.co_argcount, line.kernel
        assert line.commands, line.kernel
    shared = [line for line in lines if "pipe train" in line.commands]
    assert shared == lines_of("pipe train")
    assert 50 < len(shared) < len(lines)


def test_a_command_is_its_first_names() -> None:
    assert command_of(["demo", "-o", "report"]) == "demo"
    assert command_of(["convert", "a.mrg", "-o", "b"]) == "convert"
    assert command_of([]) == ""


@pytest.mark.long
def test_the_manifest_has_what_the_commands_call() -> None:
    script = [sys.executable, str(ROOT / ".ci/kernel_manifest.py"), "--check"]
    done = subprocess.run(script, capture_output=True, text=True, check=False, timeout=380)
    assert done.returncode == 0, done.stdout + done.stderr


def begin(tmp_path: Path, *line: str) -> subprocess.Popen[str]:
    """A command on a machine that has compiled nothing."""
    return subprocess.Popen(
        [sys.executable, "-c", "from eigentext.cli.main import main; main()", *line],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )


def helpers_of(tmp_path: Path) -> list[Path]:
    """Processes with the same folder for kernels that help to compile."""
    return [
        folder
        for folder in Path("/proc").glob("[0-9]*")
        if b"eigentext.base.ahead" in _read(folder / "cmdline")
        and str(tmp_path).encode() in _read(folder / "environ")
    ]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has ended
        return b""


TRAIN = ("tag", "train", "sample/entities.bio", "-o", "a.tagger", "--epochs", "1")


@pytest.mark.skipif(available_cores() < 2, reason="helpers need a second core")
def test_a_command_compiles_on_all_cores_and_once(tmp_path: Path) -> None:
    write_sample(tmp_path)
    told = []
    for _ in range(2):
        with begin(tmp_path, *TRAIN) as train:
            told.append(train.communicate()[1])
        assert train.returncode == 0, told
    first, second = (text.count("compiling 0 of ") for text in told)
    assert (first, second) == (1, 0)
    assert "Traceback" not in told[0]
    until(lambda: not helpers_of(tmp_path))


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc to look into")
@pytest.mark.skipif(available_cores() < 2, reason="helpers need a second core")
def test_helpers_end_with_a_command_that_is_killed(tmp_path: Path) -> None:
    write_sample(tmp_path)
    with begin(tmp_path, *TRAIN) as train:
        until(lambda: len(helpers_of(tmp_path)) == available_cores())
        train.kill()
    until(lambda: not helpers_of(tmp_path))


def hold(folder: str, taken: Any, free: Any) -> None:
    lock = Lock(folder, "kernel")
    assert lock.take(wait=0)
    taken.set()
    free.wait()
    lock.free()
    time.sleep(60)  # only a lock that is freed lets others go on


def test_who_waits_for_a_kernel_reads_what_the_other_compiled(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    taken, free = context.Event(), context.Event()
    other = context.Process(target=hold, args=(str(tmp_path), taken, free), daemon=True)
    other.start()
    taken.wait()
    lock = Lock(str(tmp_path), "kernel")
    assert not lock.take(wait=0)
    assert Lock(str(tmp_path), "another").take(wait=0)
    free.set()
    assert lock.take(wait=60)
    lock.free()
    other.kill()
    other.join()


def test_a_process_that_dies_holds_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    taken, free = context.Event(), context.Event()
    other = context.Process(target=hold, args=(str(tmp_path), taken, free), daemon=True)
    other.start()
    taken.wait()
    other.kill()
    other.join()
    assert Lock(str(tmp_path), "kernel").take(wait=0)


def test_where_no_folder_can_be_written_nobody_waits(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    lock = Lock(str(tmp_path / "file/folder"), "kernel")
    assert lock.take(wait=60)
    assert lock.take(wait=60)
    assert Lock(None, "kernel").take(wait=60)
