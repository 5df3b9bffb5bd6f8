"""The only way a model goes to disk and comes back: safetensors plus a JSON header.

Out, by :func:`save`:

1. arrays are brought to little-endian C order; lists of strings become a blob and offsets;
2. the header (kind, format version, package version, seed, data, settings, facts) becomes one JSON
   text under the safetensors metadata key ``eigentext``;
3. the sha256 of the whole file, taken while its own 64 digits read as zeros, is put into the
   header: safetensors itself does not notice a flipped bit;
4. the file is written under a temporary name and renamed; :func:`dumps` gives its bytes instead,
   for a model inside a model.

Back, by :func:`load` or :func:`loads`: header, kind, version, size and sha256 are checked in this
order, then the content against what its kind says of itself (``fields``); each failure is a
:class:`~eigentext.errors.ModelFileError` that names what was found and what would do.
:func:`read_header` stops after the header.  The same input always gives the same bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from eigentext import version
from eigentext.base.files.archives import suffix_of
from eigentext.base.files.opening import Source, atomic_write, open_binary
from eigentext.base.files.storage import is_url, reason
from eigentext.base.files.writing import scratch_folder
from eigentext.base.layout import lay_out, map_arrays, pack_strings, pieces, unpack_strings
from eigentext.base.registry import located, no_model, wrong_kind
from eigentext.base.values import Packed
from eigentext.errors import MissingExtraError, ModelFileError, SettingsError, StorageError

if TYPE_CHECKING:
    from eigentext.base.fields import Contents

METADATA_KEY = "eigentext"
CONTAINER = 1  # the layout described above; the models' own versions are `format_version`

_NO_DIGEST = "0" * 64
# The digest opens the JSON text, whose quotes are escaped inside the safetensors header.
_DIGEST_MARK = b'{\\"sha256\\":\\"'
_LONGEST_HEADER = 100_000_000  # the limit of safetensors itself
_ARRAY_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+/\[\]-]*")
_DTYPES = frozenset(
    ["bool", "float16", "float32", "float64"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)


@dataclass(frozen=True)
class Header:
    """What a model file says about itself."""

    kind: str
    format_version: int
    package_version: str
    seed: int | None
    data: dict[str, Any]  # what it was made from: name, licence
    settings: dict[str, Any]  # what it was made with
    facts: dict[str, Any]  # what else it has learned that is no array
    sha256: str
    arrays: dict[str, tuple[str, tuple[int, ...]]]  # safetensors' type and shape, for display


@dataclass(frozen=True)
class ModelFile:
    """A loaded model file: its header, its arrays and its lists of strings, by name."""

    path: str
    header: Header
    arrays: dict[str, np.ndarray]
    strings: dict[str, Sequence[str]]


@contextlib.contextmanager
def fitting(path: Source) -> Iterator[None]:
    """Whatever goes wrong while a model is made of a file is the file's fault.

    Not so a missing library.
    """
    shown = os.fspath(path)
    try:
        yield
    except MissingExtraError:
        raise
    except ModelFileError as error:  # of a model inside this one, or of this one
        why = error.why if error.path == shown else f"the model inside it: {error.why}"
        raise ModelFileError(shown, why=why) from error
    except Exception as error:
        reason = f"{error}" or type(error).__name__
        if isinstance(error, KeyError):
            reason = f"{reason} is missing"
        raise ModelFileError(shown, why=f"its parts do not fit: {reason}") from error


# ---------------------------------------------------------------- out


def save(path: Source, kind: str, arrays: Mapping[str, np.ndarray], **parts: Any) -> Header:
    """Write a model file, whole or not at all, and give back its header.

    A name that ends in .gz, .xz or .zst packs it; ``parts`` are those of :func:`_pieces`.

    >>> made = save("memory://doc/m.eig", "demo", {"x": np.arange(3)}, settings={"rank": 2},
    ...             format_version=1, strings={"words": ["a", "b"]})
    >>> back = load("memory://doc/m.eig", kind="demo")
    >>> back.arrays["x"].tolist(), back.strings["words"], back.header.settings
    ([0, 1, 2], ['a', 'b'], {'rank': 2})
    """
    target = os.fspath(path)
    header, content = _pieces(target, kind, arrays, **parts)
    with atomic_write(target) as out:
        for piece in content:
            out.write(piece)
    return header


def dumps(kind: str, arrays: Mapping[str, np.ndarray], **parts: Any) -> bytes:
    """The bytes that :func:`save` would write.

    >>> loads(dumps("demo", {"x": np.arange(3)}, settings={}, format_version=1)).arrays["x"].sum()
    np.int64(3)
    """
    return b"".join(_pieces("<model>", kind, arrays, **parts)[1])


def _pieces(
    shown: str,
    kind: str,
    arrays: Mapping[str, np.ndarray],
    *,
    settings: Mapping[str, object],  # what the class is made with again
    format_version: int,  # of this kind
    facts: Mapping[str, object] | None = None,  # what was learned and is no array
    strings: Mapping[str, Sequence[str]] | None = None,  # lists of words by name
    seed: int | None = None,
    data: Mapping[str, object] | None = None,  # name, licence and files that it was made from
) -> tuple[Header, Iterable[bytes | memoryview]]:
    """The header, and the file in pieces, so that its arrays are not copied."""
    stored = {name: _storable(name, array) for name, array in sorted(arrays.items())}
    for name, items in sorted((strings or {}).items()):
        _check_name(name)
        stored.update(pack_strings(shown, name, items))
    metadata = {
        "sha256": _NO_DIGEST,
        "container": CONTAINER,
        "data": _plain("data", data or {}),
        "facts": _plain("facts", facts or {}),
        "format_version": int(format_version),
        "kind": str(kind),
        "package_version": version.VERSION,
        "seed": None if seed is None else int(seed),
        "settings": _plain("settings", settings),
    }
    text = json.dumps(metadata, separators=(",", ":"))
    head, ordered = lay_out(stored, {METADATA_KEY: text})
    start = head.index(_DIGEST_MARK) + len(_DIGEST_MARK)
    end = start + len(_NO_DIGEST)
    digest = hashlib.sha256(head)
    for array in ordered:
        for piece in pieces(array):
            digest.update(piece)
    sha256 = digest.hexdigest()
    head = head[:start] + sha256.encode() + head[end:]
    header = _header_from(shown, {**metadata, "sha256": sha256}, _table_of(head))
    return header, chain([head], chain.from_iterable(map(pieces, ordered)))


def _check_name(name: str) -> None:
    if not _ARRAY_NAME.fullmatch(name) or name.startswith("strings/"):
        raise ValueError(f"{name!r}: names take letters, digits and _.+-/[], and no 'strings/'")


def _storable(name: str, array: np.ndarray) -> np.ndarray:
    _check_name(name)
    array = np.asanyarray(array)  # a map stays one
    if array.dtype.name not in _DTYPES:
        kinds = "bool, integers or float16/32/64"
        raise TypeError(f"array {name!r} has type {array.dtype}, but a model file holds {kinds}")
    return np.asanyarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def _plain(path: str, value: object) -> Any:
    """The value in JSON's own types, so that what is loaded equals what was saved."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if not np.isfinite(value):
            raise SettingsError(f"{path} is {value}, but a model file keeps finite numbers only")
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{path} has the key {key!r}; keys in a model file are strings")
        return {key: _plain(f"{path}.{key}", value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [_plain(f"{path}[{i}]", item) for i, item in enumerate(value)]
    raise TypeError(f"{path} is a {type(value).__name__}, which a model file cannot keep")


# ---------------------------------------------------------------- back


def load(
    path: Source,
    kind: str | None = None,
    versions: Collection[int] | None = None,
    contents: Contents | None = None,
    *,
    mapped: bool = False,
) -> ModelFile:
    """Read and check a model file, given by a path, a URL or the name of an installed model.

    ``kind`` and format ``versions`` may be any where they are None, and ``contents``, what a file
    of this kind must hold, where nobody uses them; with ``mapped`` large arrays stay in the file,
    which must not be changed while they are used.  What is no such file is a
    ModelFileError.

    >>> _ = save("memory://doc/k.eig", "counts", {}, settings={}, format_version=1)
    >>> load("memory://doc/k.eig", kind="lpcfg")
    Traceback (most recent call last):
    ...
    eigentext.errors.ModelFileError: memory://doc/k.eig: holds counts of words (made by \
`eigentext words count`); this needs a constituency parser made by `eigentext const train`
    """
    from safetensors import safe_open

    shown = located(path)
    with (
        _checked_file(shown, kind, versions) as (local, header, raw),
        _sound_arrays(shown),
        safe_open(local, framework="numpy") as tensors,
    ):
        if mapped:
            arrays = map_arrays(local, _table_of(raw), len(raw))
        else:
            arrays = {name: tensors.get_tensor(name) for name in sorted(header.arrays)}
    return _checked(shown, header, arrays, contents)


def loads(
    raw: bytes,
    kind: str | None = None,
    versions: Collection[int] | None = None,
    contents: Contents | None = None,
    *,
    name: str = "<model>",
) -> ModelFile:
    """Like :func:`load`, from the bytes of a file; ``name`` is for messages."""
    from safetensors.numpy import load as from_safetensors

    stream = io.BytesIO(raw)
    header, start = _checked_start(name, stream, kind, versions)
    _check_content(name, header, start, stream)
    with _sound_arrays(name):
        arrays = dict(sorted(from_safetensors(raw).items()))
    return _checked(name, header, arrays, contents)


@contextlib.contextmanager
def _sound_arrays(shown: str) -> Iterator[None]:
    from safetensors import SafetensorError

    try:
        yield
    except (SafetensorError, TypeError, KeyError, ValueError, AttributeError) as error:
        raise ModelFileError(shown, why=f"damaged arrays: {error}") from error


def _checked_start(
    shown: str, stream: BinaryIO, kind: str | None, versions: Collection[int] | None
) -> tuple[Header, bytes]:
    """The header, of the kind and version that are wanted, and the bytes of it."""
    header, raw = _read_start(shown, stream, () if kind is None else (kind,))
    if kind is not None and header.kind != kind:
        raise wrong_kind(shown, header.kind, kind)
    if versions is not None and header.format_version not in versions:
        readable = " or ".join(map(str, sorted(versions)))
        stored = f"format version {header.format_version} of kind {header.kind!r}"
        if header.package_version != version.VERSION:
            stored += f" (written by eigentext {header.package_version})"
        raise ModelFileError(shown, content=stored, supported=f"format version {readable}")
    return header, raw


def _checked(
    shown: str, header: Header, arrays: dict[str, np.ndarray], contents: Contents | None
) -> ModelFile:
    """The content held against what it must be, strings unpacked."""
    strings: dict[str, Sequence[str]] = {}
    for name in [key[8:-6] for key in arrays if re.fullmatch("strings/.+/bytes", key)]:
        blob = arrays.pop(f"strings/{name}/bytes")
        offsets = arrays.pop(f"strings/{name}/offsets", None)
        strings[name] = unpack_strings(shown, name, blob, offsets)
    if contents is not None:
        try:
            contents.check(Packed(arrays, strings, header.facts, header.settings, shown))
        except (ValueError, ArithmeticError) as error:
            raise ModelFileError(shown, why=f"not a sound model file: {error}") from error
    return ModelFile(shown, header, arrays, strings)


def read_header(path: Source, *needed: str) -> Header:
    """What a model file says about itself; the arrays are neither read nor checked.

    ``needed`` are the kinds that would do: the error for a file that is no model names them.

    >>> _ = save("memory://doc/h.eig", "demo", {}, settings={"rank": 2}, format_version=1)
    >>> read_header("memory://doc/h.eig").settings
    {'rank': 2}
    """
    shown = located(path)
    with open_binary(shown) as stream:
        return _read_start(shown, stream, needed)[0]


def header_of(raw: bytes, *, name: str = "<model>") -> Header:
    """Like :func:`read_header`, from the bytes of a file."""
    return _read_start(name, io.BytesIO(raw), ())[0]


@contextlib.contextmanager
def _checked_file(
    path: str, kind: str | None, versions: Collection[int] | None
) -> Iterator[tuple[str, Header, bytes]]:
    """A sound file, its header and the bytes of that: the file itself if it is a plain one.

    An archive, a URL or standard input is copied, as far as its header says that it goes.
    """
    with open_binary(path) as stream:
        header, raw = _checked_start(path, stream, kind, versions)
        if path != "-" and not is_url(path) and not suffix_of(path) and os.path.isfile(path):
            _check_content(path, header, raw, stream)
            yield path, header, raw
            return
        with scratch_folder() as folder:
            size, free = _stated_size(header, raw), shutil.disk_usage(folder).free
            if size > free:
                why = f"it takes {size:,} bytes in {folder.parent}, where {free:,} are free"
                raise StorageError(path, None, why)
            local = folder / "model"
            try:
                with open(local, "xb") as copy:
                    _check_content(path, header, raw, stream, copy)
            except OSError as error:
                why = f"cannot be unpacked in {folder.parent}: {reason(error)}"
                raise StorageError(path, None, why) from error
            yield str(local), header, raw


def _read_start(path: str, stream: BinaryIO, needed: Sequence[str]) -> tuple[Header, bytes]:
    """The header, and the raw bytes it was read from (length, then JSON)."""
    first, bracket = stream.read(8), stream.read(1)
    size = int.from_bytes(first, "little")
    if bracket != b"{" or not 0 < size <= _LONGEST_HEADER:
        raise no_model(path, *needed)
    raw = bracket + stream.read(size - 1)
    if len(raw) < size:
        raise ModelFileError(path, why=f"truncated: {len(raw)} of {size} bytes of the header")
    try:
        table = json.loads(raw)
        text = (table.pop("__metadata__", None) or {}).get(METADATA_KEY)
        metadata = None if text is None else json.loads(text)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ModelFileError(path, why=f"damaged header: {error}") from error
    if metadata is None:
        content = f"a safetensors file without the metadata key {METADATA_KEY!r}"
        raise ModelFileError(path, content=content, supported="a file that eigentext wrote")
    return _header_from(path, metadata, table), first + raw


def _table_of(head: bytes) -> Any:
    table = json.loads(head[8:])
    table.pop("__metadata__")
    return table


def _header_from(path: str, metadata: Any, table: Any) -> Header:
    try:
        if metadata["container"] != CONTAINER:
            container, needed = f"container {metadata['container']!r}", f"container {CONTAINER}"
            raise ModelFileError(path, content=container, supported=needed)
        header = Header(
            kind=metadata["kind"],
            format_version=metadata["format_version"],
            package_version=metadata["package_version"],
            seed=metadata["seed"],
            data=metadata["data"],
            settings=metadata["settings"],
            facts=metadata["facts"],
            sha256=metadata["sha256"],
            arrays={
                name: (str(entry["dtype"]), tuple(map(int, entry["shape"])))
                for name, entry in sorted(table.items())
            },
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelFileError(path, why=f"damaged header: {error!r}") from error
    sound = (
        isinstance(header.kind, str)
        and isinstance(header.format_version, int)
        and isinstance(header.sha256, str)
        and len(header.sha256) == len(_NO_DIGEST)
        and isinstance(header.data, dict)
        and isinstance(header.settings, dict)
        and isinstance(header.facts, dict)
    )
    if not sound:
        raise ModelFileError(path, why="damaged header: a field has the wrong type")
    return header


def _check_content(
    path: str, header: Header, raw: bytes, rest: BinaryIO, copy: BinaryIO | None = None
) -> None:
    """The content is as long as its header states and has its sum; it is copied on the way."""
    start = raw.find(_DIGEST_MARK) + len(_DIGEST_MARK)
    end = start + len(_NO_DIGEST)
    if raw[start:end] != header.sha256.encode():
        raise ModelFileError(path, why="damaged header: the sha256 is not in its place")
    digest = hashlib.sha256(raw[:start] + _NO_DIGEST.encode() + raw[end:])
    size, stated = len(raw), _stated_size(header, raw)
    if copy is not None:
        copy.write(raw)
    while block := rest.read(min(1 << 20, stated - size + 1)):
        size += len(block)
        if size > stated:
            why = f"damaged: it goes on after the {stated:,} bytes that its header states"
            raise ModelFileError(path, why=why)
        digest.update(block)
        if copy is not None:
            copy.write(block)
    if size < stated:
        raise ModelFileError(path, why=f"truncated: {size} bytes, expected {stated}")
    if digest.hexdigest() != header.sha256:
        actual, supported = f"content with sha256 {digest.hexdigest()[:12]}…", header.sha256[:12]
        raise ModelFileError(path, why=f"damaged: {actual}, expected {supported}…")


def _stated_size(header: Header, raw: bytes) -> int:
    """Bytes of the whole file, as its header has it."""
    bits = {"BOOL": 8, "F16": 16, "F32": 32, "F64": 64}
    size = len(raw)
    for dtype, shape in header.arrays.values():
        width = bits.get(dtype) or int(re.sub(r"\D", "", dtype)[:3] or 0)
        # floats: a hostile shape may be of any size
        items = 0.0 if 0 in shape else math.prod(float(min(abs(n), 1 << 62)) for n in shape)
        size += int(min(width // 8 * items, 1 << 62))
    return size
