from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import shutil
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import coo_array, csr_array, random_array

from eigentext.base.files.archives import SUFFIXES, packer
from eigentext.base.files.opening import RawChunks
from eigentext.base.layout import pack_csr, unpack_csr
from eigentext.base.modelfile import Header, load, read_header, save
from eigentext.errors import DataError, EigentextError, ModelFileError, SettingsError, StorageError
from helpers import golden_model

GOLDEN = Path(__file__).parents[2] / "golden"
DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]
shared_folder = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def small(path: Any, **changes: Any) -> Header:
    what: dict[str, Any] = {
        "kind": "demo",
        "arrays": {"x": np.arange(4, dtype=np.float32)},
        "settings": {"rank": 2},
        "format_version": 1,
        "strings": {"words": ["a", "bé"]},
        "seed": 3,
        "data": {"name": "d"},
    } | changes
    return save(path, **what)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal to the bit, NaN payloads and signs of zero included."""
    return (a.shape, a.dtype, a.tobytes()) == (b.shape, b.dtype, b.tobytes())


# ------------------------------------------------------------ golden


def test_golden_file_of_version_1_loads_for_ever() -> None:
    values = golden_model
    model = load(GOLDEN / "model-v1.eig", kind="golden", versions=[1])
    header = model.header
    assert (header.kind, header.format_version, header.seed) == ("golden", 1, values.SEED)
    assert (header.settings, header.data) == (values.SETTINGS, values.DATA)
    assert header.package_version == "0.1.0"
    assert model.strings == {"words": values.WORDS, "none": []}
    expected = values.arrays()
    assert sorted(model.arrays) == sorted(expected)
    for name, array in expected.items():
        assert same(model.arrays[name], array), name
    assert unpack_csr("pairs", model.arrays).toarray().tolist() == values.MATRIX


# ------------------------------------------------------------ round trips


@shared_folder
@given(data=st.data())
def test_arrays_round_trip(data: st.DataObject, tmp_path: Path) -> None:
    dtype = st.sampled_from(DTYPES).map(np.dtype)
    shape = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
    array = data.draw(hnp.arrays(dtype, shape))
    arrays = {"a": array, "t": array.T, "every-other": array[::2] if array.ndim else array}
    arrays["big"] = array.astype(array.dtype.newbyteorder(">"))
    file = tmp_path / "m.eig"
    small(file, arrays=arrays)
    back = load(file).arrays
    for name in ("a", "t", "every-other"):
        assert same(back[name], arrays[name]), name
    assert same(back["big"], array)
    assert back["a"].flags.writeable


@shared_folder
@given(
    words=st.lists(st.text(st.characters(codec="utf-8"), max_size=5)),
    chosen=st.dictionaries(
        st.text(max_size=5),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.text(max_size=3), inner, max_size=3)
            ),
            max_leaves=8,
        ),
        max_size=4,
    ),
    seed=st.none() | st.integers(),
)
def test_strings_and_settings_round_trip(
    words: list[str], chosen: dict[str, Any], seed: int | None, tmp_path: Path
) -> None:
    file = tmp_path / "m.eig"
    made = small(file, strings={"w": words}, settings=chosen, data=chosen, seed=seed)
    model = load(file)
    assert model.strings["w"] == words
    assert model.header.settings == chosen
    assert model.header.data == chosen
    assert model.header.seed == seed
    assert made == model.header == read_header(file)


def test_settings_that_look_like_our_own_marks(tmp_path: Path) -> None:
    odd = {"sha256": "0" * 64, "nested": {"sha256": "0" * 64}, '{"sha256":"': '{\\"sha256\\":\\"'}
    small(tmp_path / "m.eig", settings=odd, arrays={"sha256": np.zeros(3)})
    assert load(tmp_path / "m.eig").header.settings == odd


def test_numpy_scalars_and_tuples_in_settings_become_json(tmp_path: Path) -> None:
    small(tmp_path / "m.eig", settings={"k": np.float32(0.5), "n": np.int64(3), "t": (1, 2)})
    assert load(tmp_path / "m.eig").header.settings == {"k": 0.5, "n": 3, "t": [1, 2]}


@pytest.mark.parametrize(
    ("changes", "error", "why"),
    [
        ({"arrays": {"x": np.array(["a"])}}, TypeError, "'x' has type <U1"),
        ({"arrays": {"x": np.array([None])}}, TypeError, "'x' has type object"),
        ({"arrays": {"x": np.zeros(1, complex)}}, TypeError, "'x' has type complex128"),
        ({"arrays": {"x": np.zeros(1, "M8[s]")}}, TypeError, "datetime64"),
        ({"arrays": {"strings/x": np.zeros(1)}}, ValueError, "no 'strings/'"),
        ({"arrays": {'a"b': np.zeros(1)}}, ValueError, "letters, digits"),
        ({"arrays": {"": np.zeros(1)}}, ValueError, "letters, digits"),
        ({"strings": {"w": "one string"}}, TypeError, "not one string"),
        ({"strings": {"w w": []}}, ValueError, "letters, digits"),
        ({"strings": {"w": ["\ud800"]}}, DataError, "lone surrogate"),
        ({"settings": {"a": float("nan")}}, SettingsError, "settings.a is nan"),
        ({"settings": {"a": [1, float("inf")]}}, SettingsError, r"settings.a\[1\] is inf"),
        ({"settings": {1: 2}}, TypeError, "keys in a model file are strings"),
        ({"settings": {"a": {1}}}, TypeError, "settings.a is a set"),
    ],
)
def test_what_cannot_be_saved(
    changes: dict[str, Any], error: type[Exception], why: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=why):
        small(tmp_path / "m.eig", **changes)
    assert list(tmp_path.iterdir()) == []


def test_same_input_same_bytes(tmp_path: Path) -> None:
    one = {"b": np.arange(3), "a": np.ones((2, 2), np.float32)}
    two = {"a": np.ones((2, 4), np.float32)[:, ::2], "b": np.arange(3)}
    small(tmp_path / "1", arrays=one, settings={"x": 1, "y": [2]})
    small(tmp_path / "2", arrays=two, settings={"y": (2,), "x": 1})
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


@pytest.mark.parametrize("name", ["m.eig.gz", "m.eig.zst", "memory"])
def test_archives_and_urls(name: str, tmp_path: Path) -> None:
    path = "memory://models/m.eig" if name == "memory" else str(tmp_path / name)
    small(path)
    model = load(path, kind="demo", versions=[1])
    assert model.strings == {"words": ["a", "bé"]}
    assert model.arrays["x"].tolist() == [0, 1, 2, 3]
    assert read_header(path) == model.header


def test_a_plain_safetensors_reader_reads_it_too(tmp_path: Path) -> None:
    small(tmp_path / "m.eig")
    back = safetensors.numpy.load((tmp_path / "m.eig").read_bytes())
    assert back["x"].tolist() == [0, 1, 2, 3]
    assert bytes(back["strings/words/bytes"]) == "abé".encode()


def test_read_header_reads_no_arrays(tmp_path: Path) -> None:
    file = tmp_path / "m.eig"
    made = small(file)
    size = struct.unpack("<Q", file.read_bytes()[:8])[0]
    file.write_bytes(file.read_bytes()[: 8 + size])
    assert read_header(file) == made
    assert made.arrays["x"] == ("F32", (4,))


# ------------------------------------------------------------ sparse


@settings(max_examples=40, deadline=None)
@given(
    shape=st.tuples(st.integers(0, 6), st.integers(0, 6)),
    dtype=st.sampled_from(["int64", "float32", "float64"]),
    seed=st.integers(0, 99),
)
def test_csr_round_trip(shape: tuple[int, int], dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = random_array(shape, density=0.4, rng=rng).astype(dtype).tocsr()
    path = "memory://sparse/m.eig"
    small(path, arrays=pack_csr("m", matrix))
    back = unpack_csr("m", load(path).arrays)
    assert (back.dtype, back.shape) == (matrix.dtype, matrix.shape)
    assert np.array_equal(back.toarray(), matrix.toarray())


def test_csr_is_made_canonical_and_the_input_left_alone() -> None:
    messy = csr_array(
        (np.array([1, 2, 3]), np.array([2, 0, 2]), np.array([0, 3, 3])), shape=(2, 3)
    )
    packed = pack_csr("m", messy)
    assert packed["m/indices"].tolist() == [0, 2]
    assert packed["m/data"].tolist() == [2, 4]
    assert messy.indices.tolist() == [2, 0, 2]
    coo = coo_array(([1, 1], ([0, 0], [1, 1])), shape=(2, 2))
    assert unpack_csr("m", pack_csr("m", coo)).toarray().tolist() == [[0, 2], [0, 0]]


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("indices", np.array([9, 0])),
        ("indices", np.array([-1, 0])),
        ("indptr", np.array([0, 5, 1])),
        ("indptr", np.array([0])),
        ("shape", np.array([2])),
        ("shape", np.array([-2, 3])),
        ("data", np.array([1])),
        ("data", None),
    ],
)
def test_a_sparse_matrix_that_does_not_fit_together(part: str, value: Any) -> None:
    packed = pack_csr("m", csr_array(np.array([[0, 2, 0], [1, 0, 0]])))
    if value is None:
        del packed[f"m/{part}"]
    else:
        packed[f"m/{part}"] = value
    with pytest.raises(ModelFileError, match=r"m/data|damaged sparse matrix 'm'"):
        unpack_csr("m", packed)


# ------------------------------------------------------------ what is not a good model file


def test_wrong_kind_and_version_name_both(tmp_path: Path) -> None:
    file = tmp_path / "m.eig"
    small(file, kind="counts", format_version=4)
    with pytest.raises(ModelFileError) as caught:
        load(file, kind="lpcfg")
    assert caught.value.content == "counts of words"
    assert caught.value.supported == "a constituency parser made by `eigentext const train`"
    with pytest.raises(ModelFileError, match=r"version 4 of kind 'counts'.* version 1 or 2"):
        load(file, kind="counts", versions=[2, 1])
    assert load(file, kind="counts", versions={4}).header.format_version == 4


def test_files_of_others(tmp_path: Path) -> None:
    file = tmp_path / "other"
    safetensors.numpy.save_file({"x": np.zeros(3)}, file, metadata={"format": "np"})
    for read in (load, read_header):
        with pytest.raises(ModelFileError, match="without the metadata key 'eigentext'"):
            read(file)
    for raw in (b"", b"short", b"PK\x03\x04" + bytes(100), b"some text, longer than a few bytes"):
        file.write_bytes(raw)
        for read in (load, read_header):
            with pytest.raises(ModelFileError, match="no eigentext model"):
                read(file)
    with pytest.raises(DataError, match="no such file"):
        load(tmp_path / "missing")
    with pytest.raises(DataError, match="folder"):
        load(tmp_path)


def test_every_truncation_and_extension_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "m.eig"
    small(file)
    whole = file.read_bytes()
    for size in range(len(whole)):
        file.write_bytes(whole[:size])
        with pytest.raises(ModelFileError):
            load(file)
    file.write_bytes(whole[:-1])
    with pytest.raises(ModelFileError, match=f"truncated: {len(whole) - 1} bytes, expected"):
        load(file)
    file.write_bytes(whole + b"\0")
    with pytest.raises(ModelFileError, match="damaged"):
        load(file)


def _archive(suffix: str, content: bytes, zeros: int) -> bytes:
    packed = io.BytesIO()
    with packer(suffix, packed) as out:
        out.write(content)
        for _ in range(zeros >> 20):
            out.write(bytes(1 << 20))
    return packed.getvalue()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_more_is_unpacked_than_the_header_states(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small(tmp_path / "m.eig")
    whole = (tmp_path / "m.eig").read_bytes()
    file = tmp_path / f"m.eig{suffix}"
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    unpacked = []
    read = RawChunks.readinto

    def counted(self: RawChunks, buffer: Any) -> int:
        size = read(self, buffer)
        unpacked.append(size)
        return size

    monkeypatch.setattr(RawChunks, "readinto", counted)
    file.write_bytes(_archive(suffix, whole, 0))
    assert load(file).header.settings == {"rank": 2}
    for content, why in (
        (whole, f"goes on after the {len(whole):,} bytes that its header states"),
        (whole[:-3], f"goes on after the {len(whole):,} bytes that its header states"),
        (whole[:9], "damaged header|truncated"),
        (struct.pack("<Q", 100) + b"{", "damaged header"),
        (b"", "no eigentext model"),
    ):
        file.write_bytes(_archive(suffix, content, 64 << 20))
        unpacked.clear()
        with pytest.raises(ModelFileError, match=why):
            load(file)
        assert sum(unpacked) <= 4 << 20
        assert not list(scratch.iterdir())


def test_a_full_disk_is_named_where_a_model_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "m.eig.gz"
    small(file)
    usage = shutil.disk_usage(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=7))
        with pytest.raises(StorageError, match=r"m\.eig\.gz: it takes \d+ bytes in .* 7 are free"):
            load(file)

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    real = open

    def opened(path: Any, mode: str = "r", *more: Any, **options: Any) -> Any:
        handle = real(path, mode, *more, **options)
        if "x" in mode and os.path.basename(path) == "model":
            real_file, handle = handle, mock.MagicMock(write=full)
            handle.__enter__.return_value = handle
            handle.__exit__.side_effect = lambda *_: bool(real_file.close())
        return handle

    monkeypatch.setattr("builtins.open", opened)
    with pytest.raises(StorageError, match=r"cannot be unpacked in .*: No space left"):
        load(file)


@pytest.mark.parametrize("change", [1, 0x20, 0x80])
def test_a_flip_of_any_byte_is_noticed(change: int, tmp_path: Path) -> None:
    file = tmp_path / "m.eig"
    small(file)
    whole = bytearray(file.read_bytes())
    for at in range(len(whole)):
        whole[at] ^= change
        file.write_bytes(whole)
        with pytest.raises(ModelFileError):
            load(file)
        whole[at] ^= change
    file.write_bytes(whole)
    load(file)


@shared_folder
@given(at=st.integers(0, 2395), value=st.integers(0, 255))
def test_any_byte_in_any_place_of_the_golden_file(at: int, value: int, tmp_path: Path) -> None:
    whole = bytearray((GOLDEN / "model-v1.eig").read_bytes())
    if whole[at] == value:
        return
    whole[at] = value
    file = tmp_path / "m.eig"
    file.write_bytes(whole)
    with pytest.raises(ModelFileError):
        load(file)


@shared_folder
@given(raw=st.binary(max_size=200), length=st.none() | st.integers(0, 300))
def test_fuzz_arbitrary_bytes(raw: bytes, length: int | None, tmp_path: Path) -> None:
    file = tmp_path / "m.eig"
    file.write_bytes(raw if length is None else struct.pack("<Q", length) + b"{" + raw)
    for read in (load, read_header):
        with pytest.raises(ModelFileError):
            read(file)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)


def sealed(said: dict[str, Any], table: dict[str, Any], body: bytes) -> bytes:
    """A file with a right sha256 around whatever header: what a hand-made file could hold."""
    import hashlib

    text = json.dumps({"sha256": "0" * 64} | said, separators=(",", ":"))
    head = json.dumps(
        {"__metadata__": {"eigentext": text}} | table, separators=(",", ":")
    ).encode()
    content = struct.pack("<Q", len(head)) + head + body
    digest = hashlib.sha256(content).hexdigest().encode()
    mark = b'{\\"sha256\\":\\"'
    return content.replace(mark + b"0" * 64, mark + digest, 1)


GOOD_HEADER: dict[str, Any] = {
    "container": 1,
    "data": {},
    "facts": {},
    "format_version": 1,
    "kind": "demo",
    "package_version": "0",
    "seed": None,
    "settings": {},
}


def test_a_hand_made_good_file_loads(tmp_path: Path) -> None:
    file = tmp_path / "m.eig"
    table = {"x": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}}
    file.write_bytes(sealed(GOOD_HEADER, table, b"\1\2"))
    assert load(file).arrays["x"].tolist() == [1, 2]


def test_a_digest_in_another_place_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "m.eig"
    raw = sealed(GOOD_HEADER, {}, b"")
    size = struct.unpack("<Q", raw[:8])[0]
    file.write_bytes(struct.pack("<Q", size + 1) + raw[8:].replace(b'{\\"sha', b'{ \\"sha', 1))
    with pytest.raises(ModelFileError, match="sha256 is not in its place"):
        load(file)


@shared_folder
@given(field=st.sampled_from([*GOOD_HEADER, "sha256", ""]), value=json_values)
def test_fuzz_headers_with_a_right_sum(field: str, value: Any, tmp_path: Path) -> None:
    file = tmp_path / "m.eig"
    file.write_bytes(sealed(GOOD_HEADER | {field: value}, {}, b""))
    with contextlib.suppress(ModelFileError):
        load(file, versions=[1], kind="demo")


@shared_folder
@given(
    entry=st.fixed_dictionaries(
        {
            "dtype": st.sampled_from(["U8", "I64", "F8_E4M3", "BF16", "F4", "X"]) | json_values,
            "shape": st.lists(st.integers(-1, 9) | st.just(2**62), max_size=3) | json_values,
            "data_offsets": st.tuples(st.integers(-1, 9), st.integers(-1, 9)) | json_values,
        }
    ),
    name=st.sampled_from(["x", "strings/w/bytes", "strings/w/offsets"]),
    body=st.binary(max_size=16),
)
def test_fuzz_tables_with_a_right_sum(
    entry: dict[str, Any], name: str, body: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "m.eig"
    file.write_bytes(sealed(GOOD_HEADER, {name: entry}, body))
    with contextlib.suppress(ModelFileError):
        load(file)


@pytest.mark.parametrize(
    ("blob", "offsets"),
    [([97], [0, 2]), ([97], [1, 1]), ([97, 98], [0, 2, 1, 2]), ([97], []), ([255], [0, 1])],
)
def test_strings_that_do_not_fit_together(
    blob: list[int], offsets: list[int], tmp_path: Path
) -> None:
    table = {
        "strings/w/bytes": {"dtype": "U8", "shape": [len(blob)], "data_offsets": [0, len(blob)]},
        "strings/w/offsets": {
            "dtype": "I64",
            "shape": [len(offsets)],
            "data_offsets": [len(blob), len(blob) + 8 * len(offsets)],
        },
    }
    file = tmp_path / "m.eig"
    body = bytes(blob) + np.array(offsets, dtype=np.int64).tobytes()
    file.write_bytes(sealed(GOOD_HEADER, table, body))
    with pytest.raises(ModelFileError, match="damaged strings 'w'"):
        load(file)


def test_a_deeply_nested_header_is_no_crash(tmp_path: Path) -> None:
    deep = b'{"a":' + b"[" * (sys.getrecursionlimit() * 50)
    file = tmp_path / "m.eig"
    file.write_bytes(struct.pack("<Q", len(deep)) + deep)
    with pytest.raises(EigentextError, match="damaged header"):
        load(file)


def test_another_container_is_named(tmp_path: Path) -> None:
    file = tmp_path / "m.eig"
    file.write_bytes(sealed(GOOD_HEADER | {"container": 2}, {}, b""))
    with pytest.raises(ModelFileError, match="found container 2, but this needs container 1"):
        load(file)
