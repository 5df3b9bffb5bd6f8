from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import io
import itertools
import lzma
import os
import random
import stat
import subprocess
import sys
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eigentext.base.files import opening, writing
from eigentext.base.files.opening import (
    LONGEST_LINE,
    SkipLog,
    atomic_write,
    check_writable,
    expand,
    numbered_lines,
    open_binary,
    write_lines,
)
from eigentext.errors import DataError
from helpers import zstd

if TYPE_CHECKING:
    from pathlib import Path

PACK = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstd.compress,
    ".bz2": lambda raw: bz2.compress(raw, 1),
}
PACKED = [suffix for suffix in PACK if suffix]
shared_folder = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def content(source: Any) -> bytes:
    with open_binary(source) as stream:
        return stream.read()


def lines_of(raw: bytes) -> list[str]:
    """The plain twin of numbered_lines."""
    text = raw.decode().removeprefix("\ufeff").replace("\r\n", "\n")
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


# ------------------------------------------------------------ expand


def test_expand_keeps_the_order_given_and_sorts_each_glob(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.md"):
        (tmp_path / name).touch()
    (tmp_path / "folder.txt").mkdir()
    got = expand([tmp_path / "c.md", "-", f"{tmp_path}/*.txt"])
    assert got == [str(tmp_path / "c.md"), "-", str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]


def test_expand_goes_into_subfolders(tmp_path: Path) -> None:
    (tmp_path / "x" / "y").mkdir(parents=True)
    (tmp_path / "x" / "y" / "a.txt").touch()
    assert expand([f"{tmp_path}/**/*.txt"]) == [str(tmp_path / "x" / "y" / "a.txt")]


def test_expand_takes_a_real_name_with_brackets_as_it_is(tmp_path: Path) -> None:
    odd = tmp_path / "a[1]*.txt"
    odd.touch()
    assert expand([str(odd)]) == [str(odd)]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("nothing-here.txt", "no such file"),
        ("nothing-here-*.txt", "no file matches"),
        (".", "folder"),
        ("a\0b", "no such file"),
        ("memory://nothing-*.txt", "no file matches"),
        ("nosuchprotocol://a*.txt", "nosuchprotocol"),
    ],
)
def test_expand_says_what_is_missing(source: str, why: str) -> None:
    with pytest.raises(DataError, match=why) as caught:
        expand([source])
    assert caught.value.path == source


def test_expand_refuses_one_string() -> None:
    with pytest.raises(TypeError, match="list of sources"):
        expand("a.txt")


def test_expand_urls() -> None:
    base = f"memory://{uuid.uuid4().hex}"
    for name in ("b.txt", "a.txt", "c.md"):
        write_lines(f"{base}/{name}", [name])
    found = expand([f"{base}/*.txt", f"{base}/not-looked-for"])
    assert [source.rsplit("/", 1)[1] for source in found] == ["a.txt", "b.txt", "not-looked-for"]
    assert content(found[0]) == b"a.txt\n"
    cached = expand([f"simplecache::{base}/*.txt"])
    assert len(cached) == 2
    assert content(cached[1]) == b"b.txt\n"
    web = "https://host/list?page=1"
    assert expand([web]) == [web]


def test_expand_file_url(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x")
    (found,) = expand([f"file://{tmp_path}/*.txt"])
    assert found == f"file://{tmp_path}/a.txt"
    assert content(found) == b"x"


# ------------------------------------------------------------ open_binary


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("where", ["path", "url"])
def test_reads_what_other_tools_packed(suffix: str, where: str, tmp_path: Path) -> None:
    raw = random.Random(5).randbytes(1_300_000)
    file = tmp_path / f"a.txt{suffix.upper()}"
    file.write_bytes(PACK[suffix](raw))
    assert content(file if where == "path" else f"file://{file}") == raw


@pytest.mark.parametrize("suffix", PACKED)
def test_members_in_a_row_are_one_content(suffix: str, tmp_path: Path) -> None:
    pack = PACK[suffix]
    file = tmp_path / f"a{suffix}"
    file.write_bytes(pack(b"one\n") + pack(b"") + pack(b"two\n") + bytes(8))
    assert content(file) == b"one\ntwo\n"


@pytest.mark.parametrize("suffix", PACKED)
def test_every_truncation_is_noticed(suffix: str, tmp_path: Path) -> None:
    whole = PACK[suffix](b"some words\n" * 30)
    file = tmp_path / f"a{suffix}"
    for size in range(len(whole)):
        file.write_bytes(whole[:size])
        with pytest.raises(DataError, match=r"truncated|an empty file|damaged"):
            content(file)


@pytest.mark.parametrize("suffix", PACKED)
def test_trailing_garbage_and_foreign_content_are_noticed(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"a{suffix}"
    for raw in (PACK[suffix](b"abc") + b"more, not packed", b"plain text, not packed at all"):
        file.write_bytes(raw)
        with pytest.raises(DataError, match=r"damaged|truncated"):
            content(file)


@pytest.mark.parametrize("suffix", PACKED)
def test_a_broken_archive_names_the_line_it_breaks_at(suffix: str, tmp_path: Path) -> None:
    raw = b"".join(b"%d %d\n" % (i, i * i) for i in range(20_000))
    whole = PACK[suffix](raw)
    file = tmp_path / f"a{suffix}"
    file.write_bytes(whole[: len(whole) // 2])
    seen = 0
    with pytest.raises(DataError) as caught:
        for seen, line in numbered_lines(file):  # noqa: B007
            pass
    assert seen > 1000
    assert caught.value.line == seen + 1


@pytest.mark.parametrize("suffix", [".xz", ".bz2"])
def test_a_small_archive_of_much_is_read_piece_by_piece(suffix: str, tmp_path: Path) -> None:
    size = 20_000_000
    file = tmp_path / f"bomb{suffix}"
    file.write_bytes(PACK[suffix](bytes(size)))
    total, largest = 0, 0
    with open_binary(file) as stream:
        while piece := stream.read1(1 << 24):
            total += len(piece)
            largest = max(largest, len(piece))
    assert total == size
    assert largest <= 1 << 20


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("nothing-here.txt", "no such file"),
        ("", "no such file"),
        (".", "folder"),
        ("a\0b", "cannot open"),
        ("memory://nothing/here.txt", "no such file"),
        ("nosuchprotocol://x", "nosuchprotocol"),
        ("file:///", "folder"),
    ],
)
def test_what_cannot_be_opened(source: str, why: str) -> None:
    with pytest.raises(DataError, match=why) as caught, open_binary(source):
        pass
    assert caught.value.path == source


def test_a_driver_that_breaks_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd(Exception):
        pass

    class File(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise Odd("connection lost")

    class Driver:
        def isdir(self, path: str) -> bool:
            return False

        def open(self, path: str, mode: str) -> File:
            return File()

    monkeypatch.setattr(opening, "filesystem_of", lambda url: (Driver(), url))
    with pytest.raises(DataError, match="Odd: connection lost"):
        content("s3://bucket/a.txt")


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo")))
    assert list(numbered_lines("-")) == [(1, "one"), (2, "two")]
    assert not sys.stdin.closed
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(DataError, match="standard input"):
        content("-")


def test_local_files_do_not_load_fsspec(tmp_path: Path) -> None:
    script = (
        "import sys; from eigentext.base.files.opening import *; "
        f"write_lines({str(tmp_path / 'a.gz')!r}, ['x']); "
        f"found = expand([{str(tmp_path / 'a*')!r}])[0]; "
        "print(list(numbered_lines(found)), 'fsspec' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "[(1, 'x')] False", done.stderr


# ------------------------------------------------------------ numbered_lines


@pytest.mark.parametrize(
    ("raw", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\n\n", ["a", ""]),
        (b"\xef\xbb\xbf", []),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\r\nb\rc\r", ["a\r", "b\rc\r"]),
        (
            "a\u2028b\x0bc\x0cd\x85e\u2029f\x1cg\n".encode(),
            ["a\u2028b\x0bc\x0cd\x85e\u2029f\x1cg"],
        ),
        (b"a\0b\n\0\n", ["a\0b", "\0"]),
    ],
)
def test_line_ends(raw: bytes, lines: list[str], tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(raw)
    assert list(numbered_lines(file)) == list(enumerate(lines, start=1))


@shared_folder
@given(
    text=st.text(st.sampled_from("ab\r\n\ufeff\u2028é𝄞\0"), max_size=60),
    block=st.integers(min_value=1, max_value=9),
)
def test_lines_for_any_block_size(text: str, block: int, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "_BLOCK", block)
        got = list(numbered_lines(file))
    assert got == list(enumerate(lines_of(text.encode()), start=1))


@shared_folder
@given(
    raw_lines=st.lists(
        st.sampled_from(
            [b"good", b"", b"caf\xc3\xa9\r", b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\x80"]
        )
    ),
    end=st.sampled_from([b"", b"\n"]),
    block=st.integers(min_value=3, max_value=30),
)
def test_bad_utf8_names_its_line(
    raw_lines: list[bytes], end: bytes, block: int, tmp_path: Path
) -> None:
    raw = b"\n".join(raw_lines) + end
    good, bad = [], []
    pieces = raw.split(b"\n")
    for number, piece in enumerate(pieces if pieces[-1] else pieces[:-1], start=1):
        try:
            text = piece.decode()
        except UnicodeDecodeError:
            bad.append(number)
        else:
            is_last_open = number == len(pieces)
            good.append((number, text if is_last_open else text.removesuffix("\r")))
    file = tmp_path / "a.txt"
    file.write_bytes(raw)
    seen: list[DataError] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "_BLOCK", block)
        assert list(numbered_lines(file, on_error=seen.append)) == good
        assert [error.line for error in seen] == bad
        if bad:
            before: list[tuple[int, str]] = []
            with pytest.raises(DataError, match="not UTF-8") as caught:
                before.extend(numbered_lines(file))
            assert caught.value.line == bad[0]


def test_bad_utf8_says_which_byte_and_guesses_utf16(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"fine\nab\xe9 cd\n")
    with pytest.raises(DataError) as caught:
        list(numbered_lines(file))
    assert str(caught.value) == f"{file}:2: not UTF-8: byte 0xe9 at position 3 of the line"
    file.write_bytes("hello\n".encode("utf-16"))
    with pytest.raises(DataError, match="UTF-16"):
        list(numbered_lines(file))


@pytest.mark.parametrize("suffix", ["", ".xz"])
def test_a_very_long_line(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"a.txt{suffix}"
    long = b"x" * LONGEST_LINE
    with atomic_write(file) as out:
        out.write(b"a\n" + long + b"\n" + long + b"x\nb\n" + long + b"x")
    lines = numbered_lines(file)
    assert [(number, len(line)) for number, line in itertools.islice(lines, 2)] == [
        (1, 1),
        (2, LONGEST_LINE),
    ]
    with pytest.raises(DataError, match="a line of more than 16,777,216 bytes") as caught:
        next(lines)
    assert caught.value.line == 3
    log = SkipLog()
    assert [number for number, _ in numbered_lines(file, on_error=log)] == [1, 2, 4]
    assert log.count == 2


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/random"])
def test_devices_without_an_end_are_refused_and_pipes_are_not(device, tmp_path) -> None:
    with pytest.raises(DataError, match="a device, expected a file"):
        next(numbered_lines(device))
    assert not list(numbered_lines("/dev/null"))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(pipe.write_bytes, b"through a pipe")
        assert list(numbered_lines(pipe)) == [(1, "through a pipe")]


@shared_folder
@given(raw=st.binary(max_size=300), suffix=st.sampled_from(list(PACK)))
def test_fuzz_arbitrary_bytes(raw: bytes, suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"a{suffix}"
    file.write_bytes(raw)
    with contextlib.suppress(DataError):
        numbers = [number for number, _ in numbered_lines(file)]
        assert numbers == list(range(1, len(numbers) + 1))


@shared_folder
@given(
    suffix=st.sampled_from(PACKED),
    position=st.floats(min_value=0, max_value=1, exclude_max=True),
    value=st.integers(0, 255),
    drop=st.integers(0, 3),
)
def test_fuzz_damaged_archives(
    suffix: str, position: float, value: int, drop: int, tmp_path: Path
) -> None:
    whole = bytearray(PACK[suffix](b"".join(b"line %d\n" % i for i in range(100))))
    at = int(position * len(whole))
    whole[at : at + drop] = [value]
    file = tmp_path / f"a{suffix}"
    file.write_bytes(bytes(whole))
    with contextlib.suppress(DataError):
        list(numbered_lines(file))


# ------------------------------------------------------------ atomic_write


@pytest.mark.parametrize("suffix", PACK)
def test_written_files_are_read_by_other_tools(suffix: str, tmp_path: Path) -> None:
    unpack = {
        "": bytes,
        ".gz": gzip.decompress,
        ".xz": lzma.decompress,
        ".bz2": bz2.decompress,
        ".zst": zstd.decompress,
    }[suffix]
    raw = b"a few words\n" * 1000
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    for file in (first, second):
        with atomic_write(file) as out:
            for start in range(0, len(raw), 777):
                out.write(raw[start : start + 777])
    assert unpack(first.read_bytes()) == raw
    assert first.read_bytes() == second.read_bytes(), "same bytes in, same file out"
    if suffix == ".gz":
        assert first.read_bytes()[4:8] == bytes(4), "no time stamp"
    assert sorted(p.name for p in tmp_path.iterdir()) == [first.name, second.name]


@shared_folder
@given(raw=st.binary(max_size=2000), suffix=st.sampled_from(list(PACK)), url=st.booleans())
def test_round_trip(raw: bytes, suffix: str, url: bool, tmp_path: Path) -> None:
    target = f"memory://round/a{suffix}" if url else str(tmp_path / f"a{suffix}")
    with atomic_write(target) as out:
        out.write(raw)
    assert content(target) == raw


def write_half(target: Any, error: type[BaseException]) -> None:
    with atomic_write(target) as out:
        out.write(b"half" * 300_000)
        raise error


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, OSError])
@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("old", [None, b"old"])
def test_a_failure_leaves_nothing_behind(
    error: type[BaseException], suffix: str, old: bytes | None, tmp_path: Path
) -> None:
    file = tmp_path / f"a{suffix}"
    if old is not None:
        file.write_bytes(old)
    with pytest.raises(error):
        write_half(file, error)
    assert [p.name for p in tmp_path.iterdir()] == ([] if old is None else [file.name])
    assert old is None or file.read_bytes() == old


def test_a_failure_leaves_nothing_behind_a_url() -> None:
    import fsspec

    base = uuid.uuid4().hex
    with pytest.raises(KeyboardInterrupt):
        write_half(f"memory://{base}/a.gz", KeyboardInterrupt)
    memory = fsspec.filesystem("memory")
    assert [path for path in memory.store if base in path] == []


def test_file_url_goes_the_local_way(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        write_half(f"file://{tmp_path}/a.txt", RuntimeError)
    assert list(tmp_path.iterdir()) == []
    write_lines(f"file://{tmp_path}/a.txt", ["x"])
    assert (tmp_path / "a.txt").read_bytes() == b"x\n"


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_disk_full(
    suffix: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_init = writing._GuardedWriter.__init__

    def full(self: Any, path: str, push: Any) -> None:
        def failing(data: Any) -> int:
            raise OSError(number, os.strerror(number))

        real_init(self, path, failing)

    monkeypatch.setattr(writing._GuardedWriter, "__init__", full)
    why = "disk full" if number == errno.ENOSPC else "cannot write"
    with pytest.raises(DataError, match=why), atomic_write(tmp_path / f"a{suffix}") as out:
        out.write(os.urandom(1_200_000))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", PACK)
def test_nothing_is_written_after_a_failure(suffix: str, tmp_path: Path) -> None:
    """Closing the layers flushes them once more; that must neither raise nor write."""
    sizes: list[int] = []
    real = writing._GuardedWriter.write

    def watched(self: Any, data: Any) -> int:
        if not self.given_up:
            sizes.append(len(data))
        if len(sizes) > 1:
            raise AssertionError("written to after the failure")
        self._push = failing
        return real(self, data)

    def failing(data: Any) -> int:
        raise OSError(errno.ENOSPC, "full")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing._GuardedWriter, "write", watched)
        with pytest.raises(DataError, match="disk full"):
            write_lines(tmp_path / f"a{suffix}", ["x" * 2_000_000])
    assert len(sizes) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_device_and_no_rename_over_devices() -> None:
    with pytest.raises(DataError, match="disk full"):
        write_lines("/dev/full", ["x"])
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
    check_writable("/dev/null")
    write_lines("/dev/null", ["x"])
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_named_pipe_is_written_to(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes here")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_lines(pipe, ["through"])
    reader.join()  # the writer has closed its end: there is nothing to wait for
    assert got == [b"through\n"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("no/such/folder/a.txt", "no such folder"),
        ("", "folder"),
        ("a/", "folder"),
        (".", "folder"),
        ("a\0b", "cannot write"),
        ("memory://", "folder"),
        ("nosuchprotocol://x", "nosuchprotocol"),
    ],
)
def test_what_cannot_be_written(name: str, why: str) -> None:
    with pytest.raises(DataError, match=why) as caught, atomic_write(name):
        pytest.fail("the block must not run")
    assert caught.value.path == name


def test_a_link_stays_a_link_and_modes_are_kept(tmp_path: Path) -> None:
    file, link = tmp_path / "a.txt", tmp_path / "link"
    file.write_bytes(b"old")
    file.chmod(0o640)
    link.symlink_to(file)
    write_lines(link, ["new"])
    assert link.is_symlink()
    assert file.read_bytes() == b"new\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_new_files_follow_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        write_lines(tmp_path / "a", ["x"])
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o644


def test_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    print("before", end="|")
    write_lines("-", ["naïve"])
    print("after")
    assert capfdbinary.readouterr().out == "before|naïve\nafter\n".encode()


def test_standard_output_keeps_what_came_before_a_failure(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    with pytest.raises(DataError, match="line end inside"):
        write_lines("-", ["fine", "two\nlines"])
    assert capfdbinary.readouterr().out == b"fine\n"


def test_a_reader_that_went_away_is_a_broken_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.BytesIO):
        def write(self, data: Any) -> int:
            raise BrokenPipeError(errno.EPIPE, "gone")

    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(Gone()))
    with pytest.raises(BrokenPipeError):
        write_lines("-", ["x"])


def test_write_lines_refuses_what_would_not_come_back(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line end inside") as caught:
        write_lines(tmp_path / "a", ["fine", "two\nlines"])
    assert caught.value.line == 2
    with pytest.raises(DataError, match="surrogate"):
        write_lines(tmp_path / "a", ["\ud800"])
    with pytest.raises(TypeError, match="list of lines"):
        write_lines(tmp_path / "a", "abc")
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------ SkipLog


def test_skip_log_counts_all_and_keeps_the_first() -> None:
    log = SkipLog(keep=3)
    assert str(log) == "nothing skipped"
    for line in range(1, 11):
        log(DataError("a", line, "bad"))
    assert (log.count, log.messages) == (10, ["a:1: bad", "a:2: bad", "a:3: bad"])
    assert str(log).startswith("10 items skipped; the first: a:1: bad")


def test_a_target_is_looked_at_before_work_begins(tmp_path):
    check_writable(tmp_path / "new", "-", None, "memory://anywhere/x", f"file://{tmp_path}/new")
    check_writable("/dev/null")
    assert not list(tmp_path.iterdir())
    for bad, why in (
        (tmp_path / "no" / "x", "no such folder"),
        (f"file://{tmp_path}/no/x", "no such folder"),
        (tmp_path, "a folder, expected a file name"),
        (f"{tmp_path}/x/", "a folder, expected a file name"),
        ("", "a folder, expected a file name"),
    ):
        with pytest.raises(DataError, match=why):
            check_writable("-", bad)


def test_the_content_is_on_disk_before_the_name_and_the_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the first sync a crash leaves an empty file, without the second the old one."""
    happened: list[tuple[str, int, int]] = []
    sync, replace = os.fsync, os.replace

    def recorded_sync(handle: int) -> None:
        about = os.fstat(handle)
        sync(handle)
        happened.append(("sync", about.st_ino, about.st_size))

    def recorded_replace(source: str, target: str) -> None:
        replace(source, target)
        about = os.stat(target)
        happened.append(("rename", about.st_ino, about.st_size))

    monkeypatch.setattr(os, "fsync", recorded_sync)
    monkeypatch.setattr(os, "replace", recorded_replace)
    with atomic_write(tmp_path / "a.txt") as out:
        out.write(b"all of it")
    written = (tmp_path / "a.txt").stat().st_ino
    assert happened[:2] == [("sync", written, 9), ("rename", written, 9)]
    assert [of[:2] for of in happened[2:]] == [("sync", tmp_path.stat().st_ino)]
