"""Kernels: functions that numba compiles, and where the machine code is kept.

Every module of kernels takes ``njit`` from here.  A kernel that is called with new types is looked
for in three places:

1. **in the package**: a wheel may bring machine code (``compiled/``, made by ``.ci/kernels.py``
   for a processor that nearly everybody has: :data:`PORTABLE`), and then nothing is compiled;
2. **in the cache** of this machine: ``__pycache__`` beside the module or, where that cannot be
   written, the user's cache folder; ``NUMBA_CACHE_DIR`` names another;
3. **nowhere yet**: it is compiled and put into the cache.  That takes seconds, so the first time
   in a process the logger ``eigentext.compiling`` says so, and :mod:`~eigentext.base.ahead` lets
   all cores compile what else the command will need.

numba's own cache asks only whether the file of a kernel has changed.  But the code of the kernels
that it calls is compiled into it, so here the stamp of a kernel is a hash of its file *and of all
files of ours that it imports, and they import* (:func:`stamp_of`).
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import json
import logging
import os
import platform
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, TypeVar, cast

import llvmlite.binding
import numba
from numba.core import caching as _caching
from numba.core import config as _config
from numba.core.environment import Environment
from numba.core.registry import CPUDispatcher
from numba.core.runtime.nrt import rtsys

from eigentext.base import ahead

try:
    import fcntl

    _TAKE, _FREE = fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_UN
except ImportError:  # Windows
    _TAKE = _FREE = 0

caching: Any = _caching  # numba's own types are few
config: Any = _config
# what turns bytes into kernels; made without a look for a folder to keep them in
_IMPL = caching.CompileResultCacheImpl.__new__(caching.CompileResultCacheImpl)
Function = TypeVar("Function", bound="Callable[..., Any]")

#: Processor -> (its name for LLVM, what it must be able to do), by `platform.machine()`.  The
#: x86 one is what Intel has sold since 2013 and AMD since 2015.
PORTABLE = {
    "x86_64": (
        "x86-64-v3",
        ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2"),
    ),
    "aarch64": ("generic", ("neon",)),
    "arm64": ("apple-m1", ()),
}
PORTABLE["AMD64"] = PORTABLE["x86_64"]  # as Windows calls it

_PACKAGE = Path(__file__).parents[1]
_SHIPPED = _PACKAGE / "compiled"
_TO = os.environ.get("EIGENTEXT_KERNELS_TO")  # a folder: make what wheels bring
_LAYOUT = b"2"  # of what `_reduced` gives: what is kept in another is compiled anew
_IMPORT = re.compile(
    r"^(?:from\s+(eigentext[\w.]*)\s+import\s+(\([^)]*\)|[^\n]*)|import\s+(eigentext[\w.]*))",
    re.MULTILINE,
)

_log = logging.getLogger("eigentext.compiling")
_announced: list[bool] = []
_LONGEST = 60.0  # seconds to wait for a kernel that another process compiles
_LOOK = 0.02  # seconds between two looks whether it is done


def njit(function: Function | None = None, /, **options: Any) -> Any:
    """`numba.njit` with the cache of this module: ``@njit`` or ``@njit(nogil=True)``.

    >>> @njit
    ... def double(x):
    ...     return 2 * x
    >>> double(21)
    42
    """
    if function is None:
        return functools.partial(njit, **options)
    options["no_cfunc_wrapper"] = True  # the C function of a kernel that is passed as an argument
    kernel: Any = numba.njit(**options)(function)
    if isinstance(kernel, CPUDispatcher) and os.path.isfile(function.__code__.co_filename):
        cast("Any", kernel)._cache = KernelCache(function)
    return cast("Function", kernel)


class KernelCache:
    """Machine code of one kernel, a file for each list of types it was called with.

    It is what numba calls a cache, made of the public parts of numba's own: what turns a kernel
    into bytes and back, and files with an index.  Nothing is looked up before the first call: a
    module of kernels is imported quickly.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function

    @functools.cached_property
    def _local(self) -> Any:
        """What knows where this machine keeps the kernel; None where no folder can be written."""
        try:
            return caching.CompileResultCacheImpl(self._function)
        except RuntimeError:
            return None

    @functools.cached_property
    def _local_file(self) -> Any:
        local = self._local
        return local and self._file(local.locator.get_cache_path(), local.filename_base)

    @functools.cached_property
    def _shipped_file(self) -> Any:
        """The file in the package, or in the folder that the files of a wheel are made in."""
        folder = self._shipped_folder()
        name = f"{self._function.__qualname__}.py{sys.version_info[0]}{sys.version_info[1]}"
        return folder and self._file(str(folder), name)

    def _shipped_folder(self) -> Path | None:
        folder = compiled_folder()
        return folder and folder / self._function.__module__

    def _file(self, folder: str, name: str) -> Any:
        stamp = stamp_of(self._function.__code__.co_filename)
        return caching.IndexDataCacheFile(folder, name, stamp)

    @property
    def cache_path(self) -> Any:
        """The folder of the cache on this machine."""
        return self._local and self._local.locator.get_cache_path()

    def _key(self, sig: Any, codegen: Any) -> Any:
        """Types, processor, and what the function is made of, as numba's own caches have it."""
        cells = tuple(cell.cell_contents for cell in self._function.__closure__ or ())
        made_of = (self._function.__code__.co_code, caching.dumps(cells) if cells else b"")
        hashes = tuple(hashlib.sha256(part).hexdigest() for part in made_of)
        return sig, codegen.magic_tuple(), hashes

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code for a signature, or None: then numba compiles it."""
        _make_ready(target_context)
        data = self._read(sig, target_context)
        if data is None:
            self._announce()
            lock = self.lock(sig)
            lock.take(wait=_LONGEST)
            data = self._read(sig, target_context)  # another process may have been at it
            if data is not None:
                lock.free()
        if data is None:
            return None
        *payload, bitcode = data
        kernel = _IMPL.rebuild(target_context, payload)
        # LLVM's code, which is linked into a kernel that calls this one: parsed only for that
        clone = functools.partial(llvmlite.binding.parse_bitcode, bitcode)
        kernel.library._shared_module = SimpleNamespace(clone=clone)
        return kernel

    def _read(self, sig: Any, target_context: Any) -> Any:
        data = self._shipped_file and self._shipped_file.load(sig)
        if data is None and not _TO and self._local:
            try:
                data = self._local_file.load(self._key(sig, target_context.codegen()))
            except Exception:  # it is damaged, or names types that another release had
                with contextlib.suppress(OSError):
                    self.flush()
        return data

    def _announce(self) -> None:
        if not (ahead.start() or _announced):
            _announced.append(True)
            nowhere = "anew, as no folder to keep it can be written (NUMBA_CACHE_DIR names one)"
            how = "once for this machine" if _TO or self._local else nowhere
            _log.info("compiling, %s: this may take up to a minute", how)

    def is_there(self, sig: Any, target_context: Any) -> bool:
        """Whether the code for a signature is in the package or kept by this machine."""
        with contextlib.suppress(Exception):  # a damaged index is made anew
            if self._shipped_file and sig in self._shipped_file._load_index():
                return True
            key = self._key(sig, target_context.codegen())
            return not _TO and bool(self._local) and key in self._local_file._load_index()
        return False

    def lock(self, sig: Any) -> Lock:
        """Who compiles the kernel for a signature."""
        folder = _TO or (self._local and self._local.locator.get_cache_path())
        return Lock(folder, f"{self._function.__module__} {self._function.__qualname__} {sig}")

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled."""
        local, folder = self._local, self._shipped_folder()
        if local and local.check_cachable(data):
            if _TO and folder:
                folder.mkdir(parents=True, exist_ok=True)
                self._shipped_file.save(sig, _reduced(data))
            else:
                with contextlib.suppress(OSError):  # a full disk: then it is compiled once more
                    local.locator.ensure_cache_path()
                    self._local_file.save(self._key(sig, data.codegen), _reduced(data))
        self.lock(sig).free()

    def enable(self) -> None:
        """Caches are always on."""

    def disable(self) -> None:
        """Caches are always on."""

    def flush(self) -> None:
        """Forget what was compiled on this machine."""
        if self._local:
            self._local_file.flush()


class Lock:
    """Who compiles a kernel: a byte of a file in the folder of the cache, locked meanwhile.

    The system frees it when the process ends.  Where there are no such locks nobody waits.
    """

    _files: ClassVar[dict[str, int]] = {}  # folder -> file; closing it would free all its bytes

    def __init__(self, folder: str | None, key: str) -> None:
        self._folder = folder
        self._byte = int.from_bytes(hashlib.sha256(key.encode()).digest()[:7], "big")

    def take(self, *, wait: float) -> bool:
        """Take it, or False if another process has it for longer than this."""
        until = time.monotonic() + wait
        while not self._change(_TAKE):
            if time.monotonic() >= until:
                return False
            ahead.look()
            time.sleep(_LOOK)
        return True

    def free(self) -> None:
        """Others may have it."""
        self._change(_FREE)

    def _change(self, how: int) -> bool:
        """False if another process has it."""
        if self._folder is None or not _TAKE:
            return True
        try:
            if self._folder not in self._files:
                os.makedirs(self._folder, exist_ok=True)
                path = os.path.join(self._folder, ".compiling.lock")
                self._files[self._folder] = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return True
        try:
            fcntl.lockf(self._files[self._folder], how, 1, self._byte)
        except OSError as error:  # others: a file system without locks
            return error.errno not in (errno.EAGAIN, errno.EACCES)
        return True


def _reduced(kernel: Any) -> tuple[Any, ...]:
    """What numba keeps of a kernel, so that little of it is parsed and imported again.

    numba parses LLVM's module of every kernel that it loads, which takes longer than all else: it
    gets one that has only the name by which Python calls the kernel, and the whole stands last.
    It also imports the modules of all functions that were compiled into the kernel, among them
    its own, such as one that imports ``scipy.linalg``: these are called ``numba``.
    """
    (name, kind, (code, bitcode)), *parts, environments = _IMPL.reduce(kernel)
    entry = f'define void @"{kernel.fndesc.llvm_cpython_wrapper_name}"() {{ ret void }}'
    stub = llvmlite.binding.parse_assembly(entry).as_bitcode()
    return (name, kind, (code, stub)), *parts, tuple(map(_light, environments)), bitcode


def _light(environment: Any) -> Any:
    """The environment of a function, in a module that is there, if it is one of numba's own."""
    if not environment.globals["__name__"].startswith("numba."):
        return environment
    light: Any = Environment({"__name__": "numba"})
    light.consts[:], light.env_name = environment.consts, environment.env_name
    return light


def _make_ready(target_context: object) -> None:
    """What machine code needs to run: numba's memory, and the symbols of its hashes.

    numba would fill its tables of types and functions here, which takes half a second; only
    compiling needs them, and fills them itself.
    """
    import numba.cpython.hashing  # noqa: F401

    rtsys.initialize(target_context)


@functools.cache
def compiled_folder() -> Path | None:
    """Where machine code for this processor, Python and numba is ready, or being made."""
    if _TO:
        return Path(_TO)
    if config.CPU_NAME is not None or config.CPU_FEATURES is not None:
        return None  # somebody asks for code for another processor
    try:
        made_for = json.loads((_SHIPPED / "made-for.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if made_for != manifest():
        return None
    host = llvmlite.binding.get_host_cpu_features()
    _, needed = PORTABLE[platform.machine()]
    return _SHIPPED if all(host.get(feature) for feature in needed) else None


def manifest() -> dict[str, str]:
    """What machine code in a package was made for: it serves nobody else.

    >>> sorted(manifest())
    ['machine', 'numba', 'processor', 'python', 'system']
    """
    machine = platform.machine()
    return {
        "machine": machine,
        "system": sys.platform,
        "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
        "numba": numba.__version__,
        "processor": PORTABLE.get(machine, ("", ()))[0],
    }


def stamp_of(file: str) -> str:
    """A hash of a module of kernels and of all modules of the package that it is made from."""
    hashes: dict[Path, bytes] = {}
    todo = [Path(file)]
    while todo:
        path = todo.pop()
        if path not in hashes:
            content, imported = _read(path)
            hashes[path] = content
            todo += imported
    inside = _PACKAGE.parent
    names = sorted((str(path.relative_to(inside)), content) for path, content in hashes.items())
    parts = [_LAYOUT, *(name.encode() + digest for name, digest in names)]
    return hashlib.sha256(b"\n".join(parts)).hexdigest()


@functools.cache
def _read(path: Path) -> tuple[bytes, list[Path]]:
    """The hash of a file, and the files of the package that it imports."""
    source = path.read_bytes()
    imported = []
    for package, names, whole in _IMPORT.findall(source.decode()):
        module = package or whole
        imported += _files(module)
        for name in re.findall(r"\w+", names):
            imported += _files(f"{module}.{name}")
    return hashlib.sha256(source).digest(), imported


@functools.cache
def _files(module: str) -> list[Path]:
    """The file of a module, if there is one of that name; this one makes no difference."""
    if module == __name__:
        return []
    path = _PACKAGE.parent.joinpath(*module.split("."))
    return [file for file in (path.with_suffix(".py"), path / "__init__.py") if file.exists()]
