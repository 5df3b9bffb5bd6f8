"""Kernels: their stamps, machine code that a package brings, and the word that one is compiled."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from eigentext.base import compiling
from eigentext.base.compiling import PORTABLE, compiled_folder, manifest, stamp_of

KERNEL = """
import logging, sys
from pathlib import Path
import numpy as np
from numba.core import event
from eigentext.base import compiling

compiled, told = [], []
class Listener(event.Listener):
    def on_start(self, one): compiled.append(one.data["dispatcher"].py_func.__name__)
    def on_end(self, one): pass
class Remarks(logging.Handler):
    def emit(self, record): told.append(record.getMessage())
event.register("numba:compile", Listener())
log = logging.getLogger("eigentext.compiling")
log.addHandler(Remarks())
log.setLevel(logging.INFO)
if len(sys.argv) > 1:
    compiling._SHIPPED = Path(sys.argv[1])
from eigentext.linalg.kernels import add_csr_times_block
y = np.zeros((1, 1))
for _ in range(2):
    starts, indices = np.array([[0, 2]]), np.array([0, 1], np.uint32)
    add_csr_times_block(starts, indices, np.array([2.0, 3.0]), np.ones((2, 1)), 0, y)
print(float(y[0, 0]), len(compiled), len(told))
"""


def compute(cache: Path, *arguments: str, kernel: str = KERNEL, **more: str) -> list[str]:
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", kernel, *arguments],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": path, **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Machine code of one kernel, as a wheel brings it."""
    name, features = PORTABLE.get(platform.machine(), ("", ()))
    if not name:
        pytest.skip(f"no processor is known that all {platform.machine()} machines have")
    folder = tmp_path_factory.mktemp("compiled")
    made = compute(
        tmp_path_factory.mktemp("none"),
        EIGENTEXT_KERNELS_TO=str(folder),
        NUMBA_CPU_NAME=name,
        NUMBA_CPU_FEATURES=",".join(f"+{one}" for one in features),
    )
    assert made == ["10.0", "1", "1"]
    (folder / "made-for.json").write_text(json.dumps(manifest()))
    return folder


def test_a_kernel_is_compiled_once_and_says_so(tmp_path: Path) -> None:
    assert compute(tmp_path) == ["10.0", "1", "1"]
    assert compute(tmp_path) == ["10.0", "0", "0"]


PAIRS = """
import pathlib, sys
from eigentext.base import compiling
compiling._PACKAGE = pathlib.Path({folder!r}, "x")
sys.path.insert(0, {folder!r})
from pairs import {name}
from sums import total
print(total({name}(2, 3)), sum(total.stats.cache_hits.values()))
"""


@pytest.mark.parametrize("change", ["renamed", "cut"])
def test_a_cache_that_cannot_be_read_is_made_anew(tmp_path: Path, change: str) -> None:
    kernel = "from eigentext.base.compiling import njit\n@njit\ndef total(p): return p.a + p.b\n"
    (tmp_path / "sums.py").write_text(kernel)

    def answers(name: str) -> list[str]:
        source = f"import typing\nclass {name}(typing.NamedTuple):\n    a: int\n    b: int\n"
        (tmp_path / "pairs.py").write_text(source)
        kernel = PAIRS.format(folder=str(tmp_path), name=name)
        return compute(tmp_path / "cache", kernel=kernel, PYTHONDONTWRITEBYTECODE="1")

    assert [answers("Pair"), answers("Pair")] == [["5", "0"], ["5", "1"]]
    if change == "cut":
        for index in (tmp_path / "cache").rglob("*.nbi"):
            index.write_bytes(index.read_bytes()[:-9])
    name = {"renamed": "Couple", "cut": "Pair"}[change]
    assert [answers(name), answers(name)] == [["5", "0"], ["5", "1"]]


def test_where_no_folder_can_be_written_it_is_compiled_anew(tmp_path: Path) -> None:
    kernel = f"""
from numba.core import caching
def refuse(self): raise OSError("read-only")
for locator in caching.CacheImpl._locator_classes: locator.ensure_cache_path = refuse
{KERNEL}
print(told[0])
"""
    answer = compute(tmp_path / "cache", kernel=kernel)
    assert answer[:3] == ["10.0", "1", "1"]
    assert "NUMBA_CACHE_DIR" in " ".join(answer)
    assert not (tmp_path / "cache").exists()


def test_machine_code_in_the_package_is_used(shipped: Path, tmp_path: Path) -> None:
    monkey = compiling._SHIPPED
    try:
        compiling._SHIPPED = shipped
        compiled_folder.cache_clear()
        usable = compiled_folder() is not None
    finally:
        compiling._SHIPPED = monkey
        compiled_folder.cache_clear()
    if not usable:
        pytest.skip("this processor cannot do what most can")
    assert compute(tmp_path, str(shipped)) == ["10.0", "0", "0"]
    # not for those who ask for another processor
    found = compute(tmp_path / "other", str(shipped), NUMBA_CPU_NAME="generic")
    assert found[:2] == ["10.0", "1"]


@pytest.mark.parametrize("what", ["numba", "python", "machine", "system", "processor"])
def test_machine_code_for_others_is_left_alone(
    what: str, shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copytree(shipped, tmp_path / "compiled")
    (copy / "made-for.json").write_text(json.dumps({**manifest(), what: "other"}))
    monkeypatch.setattr(compiling, "_SHIPPED", copy)
    compiled_folder.cache_clear()
    try:
        assert compiled_folder() is None
    finally:
        compiled_folder.cache_clear()


def test_a_half_made_folder_serves_nobody(
    shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copytree(shipped, tmp_path / "compiled")
    (copy / "made-for.json").write_text("{")
    monkeypatch.setattr(compiling, "_SHIPPED", copy)
    compiled_folder.cache_clear()
    try:
        assert compiled_folder() is None
    finally:
        compiled_folder.cache_clear()


class TestStamps:
    @pytest.fixture
    def package(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
        package = tmp_path / "eigentext"
        (package / "room" / "kernels").mkdir(parents=True)
        (package / "base").mkdir()
        monkeypatch.setattr(compiling, "_PACKAGE", package)
        self.write(package / "base" / "hashing.py", "MIXER = 1\n")
        self.write(package / "base" / "other.py", "X = 1\n")
        self.write(
            package / "room" / "kernels" / "inner.py", "from eigentext.base import hashing\n"
        )
        self.write(
            package / "room" / "kernels" / "outer.py",
            "from eigentext.room.kernels.inner import (\n    one,\n    two,\n)\n"
            "if TYPE_CHECKING:\n    from eigentext.base.other import X\n",
        )
        yield package
        self.forget()

    @staticmethod
    def forget() -> None:
        compiling._read.cache_clear()
        compiling._files.cache_clear()

    def write(self, path: Path, text: str) -> None:
        path.write_text(text)
        self.forget()

    def test_what_is_compiled_in_counts(self, package: Path) -> None:
        outer = package / "room" / "kernels" / "outer.py"
        before = stamp_of(str(outer))
        assert stamp_of(str(outer)) == before
        self.write(package / "base" / "hashing.py", "MIXER = 2\n")
        assert stamp_of(str(outer)) != before
        self.write(package / "base" / "hashing.py", "MIXER = 1\n")
        assert stamp_of(str(outer)) == before

    def test_what_only_type_checkers_read_does_not(self, package: Path) -> None:
        outer = package / "room" / "kernels" / "outer.py"
        before = stamp_of(str(outer))
        self.write(package / "base" / "other.py", "X = 2\n")
        assert stamp_of(str(outer)) == before


def test_a_new_layout_of_numbas_cache_is_noticed(tmp_path: Path) -> None:
    """What `KernelCache` rests on: its methods and keys are those of numba's caches."""
    kernel = """
import inspect, numba
from eigentext.base.compiling import KernelCache
from eigentext.linalg.kernels import add_csr_times_block as kernel
from numba.core import caching

assert type(numba.njit(lambda x: x)._cache) is caching.NullCache  # numba's place for it
assert type(kernel._cache) is KernelCache
for name in caching._Cache.__abstractmethods__ | {"disable", "enable", "flush"}:
    theirs, ours = getattr(caching._Cache, name), getattr(KernelCache, name)
    assert isinstance(theirs, property) == isinstance(ours, property), name
    if not isinstance(theirs, property):
        assert list(inspect.signature(theirs).parameters) == list(
            inspect.signature(ours).parameters), name
assert not caching._Cache.__abstractmethods__ - set(vars(KernelCache))
files = inspect.signature(caching.IndexDataCacheFile).parameters
assert list(files) == ["cache_path", "filename_base", "source_stamp"]

def with_closure(number):
    return lambda x: x + number

codegen = kernel.targetctx.codegen()
for function in (kernel.py_func, with_closure(2)):
    theirs = caching.FunctionCache(function)
    assert theirs._index_key((), codegen) == KernelCache(function)._key((), codegen)
    assert theirs.cache_path == KernelCache(function).cache_path
"""
    (tmp_path / "layout.py").write_text(kernel)
    compute(tmp_path, kernel=f"import runpy; runpy.run_path({str(tmp_path / 'layout.py')!r})")


LINKED = """
import pathlib, sys
import numpy as np
from eigentext.base import compiling
compiling._PACKAGE = pathlib.Path({folder!r}, "x")
sys.path.insert(0, {folder!r})
from shares import shares, sorted_shares
x = np.array([3.0, 1.0])
for kernel in (shares, sorted_shares)[:int(sys.argv[1])]:
    print(*kernel(x), sum(kernel.stats.cache_hits.values()))
print("numba.np.arraymath" in sys.modules)
"""


def test_a_kernel_from_the_cache_imports_little_and_is_linked_into_another(tmp_path: Path) -> None:
    (tmp_path / "shares.py").write_text("""
import numpy as np
from eigentext.base.compiling import njit
@njit
def shares(x): return x / x.sum() if x.any() else x * np.nan
@njit
def sorted_shares(x): return np.sort(shares(x))
""")
    kernel = LINKED.format(folder=str(tmp_path))
    cache = tmp_path / "cache"
    assert compute(cache, "1", kernel=kernel) == ["0.75", "0.25", "0", "True"]
    assert compute(cache, "1", kernel=kernel) == ["0.75", "0.25", "1", "False"]
    both = compute(cache, "2", kernel=kernel)  # one is there, the other is compiled
    assert both == ["0.75", "0.25", "1", "0.25", "0.75", "0", "True"]
    both = compute(cache, "2", kernel=kernel)
    assert both == ["0.75", "0.25", "1", "0.25", "0.75", "1", "False"]
