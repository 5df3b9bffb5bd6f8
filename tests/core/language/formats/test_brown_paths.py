from __future__ import annotations

import contextlib
import lzma
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eigentext.base.files.opening import SkipLog
from eigentext.errors import DataError
from eigentext.language.formats.brown_paths import PathEntry, read_paths, write_paths

if TYPE_CHECKING:
    from pathlib import Path

shared_folder = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.requires("data")
@pytest.mark.parametrize("clusters", [200, 500])
def test_what_wcluster_wrote_comes_back_byte_for_byte(
    clusters: int, data: Path, tmp_path: Path
) -> None:
    source = data / "peers" / f"wcluster-wiki50k-{clusters}.paths.xz"
    entries = list(read_paths(source))
    assert len({entry.bits for entry in entries}) == clusters
    assert write_paths(entries, tmp_path / "paths") == len(entries)
    assert (tmp_path / "paths").read_bytes() == lzma.decompress(source.read_bytes())


entries = st.builds(
    PathEntry,
    bits=st.text("01", max_size=8),
    word=st.text(st.characters(codec="utf-8", exclude_characters="\t\n"), min_size=1, max_size=6),
    count=st.integers(0, 10**18 - 1),
)


@shared_folder
@given(items=st.lists(entries, max_size=8))
def test_round_trip(items: list[PathEntry], tmp_path: Path) -> None:
    write_paths(items, tmp_path / "paths")
    assert list(read_paths(tmp_path / "paths")) == items


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("", "1 columns, expected 2 or 3"),
        ("0101", "1 columns"),
        ("01\ta\t1\tmore", "4 columns"),
        ("0121\ta\t1", "bits '0121', expected only 0 and 1"),
        ("٠\ta\t1", "only 0 and 1"),
        (" 01\ta\t1", "only 0 and 1"),
        ("01\t\t1", "an empty word"),
        ("01\ta\t", "count '', expected a whole number"),
        ("01\ta\t-1", "whole number"),
        ("01\ta\t1.5", "whole number"),
        ("01\ta\t1_0", "whole number"),
        ("01\ta\t٣", "whole number"),
        ("01\ta\t" + "9" * 19, "up to 18 digits"),
    ],
)
def test_bad_lines(line: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "paths"
    file.write_text(f"00\tfine\t1\n{line}\n1\tb\n", encoding="utf-8")
    with pytest.raises(DataError, match=why) as caught:
        list(read_paths(file))
    assert caught.value.line == 2
    log = SkipLog()
    assert list(read_paths(file, on_error=log)) == [
        PathEntry("00", "fine", 1),
        PathEntry("1", "b", None),
    ]
    assert log.count == 1


@pytest.mark.parametrize(
    "entry",
    [
        PathEntry("2", "a", 1),
        PathEntry("0", "", 1),
        PathEntry("0", "a\tb", 1),
        PathEntry("0", "a\n", 1),
        PathEntry("0", "a", None),
        PathEntry("0", "a", -1),
        PathEntry("0", "a", 10**18),
        PathEntry("0", "\ud800", 1),
    ],
)
def test_entries_that_cannot_be_written(entry: PathEntry, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        write_paths([PathEntry("0", "fine", 1), entry], tmp_path / "paths")
    assert caught.value.line == 2
    assert list(tmp_path.iterdir()) == []


@shared_folder
@given(
    raw=st.binary(max_size=100)
    | st.text("01\t\nab1 \r\ufeff", max_size=60).map(lambda text: text.encode())
)
def test_fuzz(raw: bytes, tmp_path: Path) -> None:
    file = tmp_path / "paths"
    file.write_bytes(raw)
    with contextlib.suppress(DataError):
        items = list(read_paths(file))
        counted = [PathEntry(item.bits, item.word, item.count or 0) for item in items]
        write_paths(counted, tmp_path / "copy")
        assert list(read_paths(tmp_path / "copy")) == counted
