from __future__ import annotations

import contextlib
from dataclasses import FrozenInstanceError
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eigentext.base.files.opening import SkipLog
from eigentext.errors import DataError, SettingsError
from eigentext.language.formats.prm import _LABELS, _NUMBERS, _PAIRS, EvalbSettings, read_prm

if TYPE_CHECKING:
    from pathlib import Path

shared_folder = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

COLLINS = """\
##------------------##
## our own comments ##
##------------------##
DEBUG 0

MAX_ERROR 10
CUTOFF_LEN 40
LABELED 1
DELETE_LABEL TOP
DELETE_LABEL -NONE-
DELETE_LABEL ,
DELETE_LABEL\t:
DELETE_LABEL ``
DELETE_LABEL ''  \r
DELETE_LABEL .
DELETE_LABEL_FOR_LENGTH -NONE-
EQ_LABEL ADVP   PRT
# EQ_WORD a b
"""


def test_the_rules_of_collins(tmp_path: Path) -> None:
    file = tmp_path / "a.prm"
    file.write_bytes(COLLINS.encode())
    assert read_prm(file) == EvalbSettings.collins() == EvalbSettings()


def test_an_empty_file_is_evalb_without_one(tmp_path: Path) -> None:
    file = tmp_path / "a.prm"
    file.write_bytes(b"# nothing\n")
    got = read_prm(file)
    assert got == EvalbSettings.bare()
    assert (got.max_error, got.cutoff_len, got.labeled) == (10, 40, True)
    assert (got.delete_labels, got.equal_labels) == ((), ())


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("DELETE_LABELS TOP", "unknown key 'DELETE_LABELS', expected one of DEBUG"),
        ("delete_label TOP", "unknown key"),
        ("DELETE_LABEL", "DELETE_LABEL '', expected one label"),
        ("DELETE_LABEL A B", "expected one label"),
        ("DELETE_LABEL_FOR_LENGTH", "expected one label"),
        ("EQ_LABEL A", "expected two values"),
        ("EQ_WORD a b c", "expected two values"),
        ("DEBUG", "expected a whole number"),
        ("DEBUG x", "expected a whole number"),
        ("DEBUG -1", "expected a whole number"),
        ("MAX_ERROR 1 2", "expected a whole number"),
        ("MAX_ERROR 99999999999", "expected a whole number"),
        ("LABELED 2", "expected 0 or 1"),
        ("DISC_ONLY yes", "expected 0 or 1"),
        ("CUTOFF_LEN ٤", "expected a whole number"),
        ("LABELED 1", "LABELED was given before"),
    ],
)
def test_bad_lines(line: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "a.prm"
    file.write_text(f"LABELED 0\n{line}\nDELETE_LABEL X\n", encoding="utf-8")
    with pytest.raises(DataError, match=why) as caught:
        read_prm(file)
    assert caught.value.line == 2
    log = SkipLog()
    assert read_prm(file, on_error=log).delete_labels == ("X",)
    assert log.count == 1


names = st.text(
    st.characters(codec="utf-8", exclude_characters=" \t\r\v\f\n"), min_size=1, max_size=4
)
pairs = st.lists(st.tuples(names, names), max_size=3)
records = st.builds(
    EvalbSettings,
    debug=st.integers(0, 2),
    max_error=st.integers(0, 10**9 - 1),
    cutoff_len=st.integers(0, 99),
    labeled=st.booleans(),
    disc_only=st.booleans(),
    delete_labels=st.lists(names, max_size=3),
    delete_labels_for_length=st.lists(names, max_size=3),
    quote_labels=st.lists(names, max_size=3),
    equal_labels=pairs,
    equal_words=pairs,
)


def write_prm(record: EvalbSettings, path: Path) -> None:
    """A parameter file; DISC_ONLY, which EVALB itself lacks, only when it is on."""
    lines = [
        f"{key} {int(getattr(record, field))}"
        for key, field in _NUMBERS.items()
        if field != "disc_only" or record.disc_only
    ]
    lines += [
        f"{key} {label}" for key, field in _LABELS.items() for label in getattr(record, field)
    ]
    lines += [
        f"{key} {first} {second}"
        for key, field in _PAIRS.items()
        for first, second in getattr(record, field)
    ]
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())


@shared_folder
@given(record=records)
def test_round_trip(record: EvalbSettings, tmp_path: Path) -> None:
    write_prm(record, tmp_path / "a.prm")
    assert read_prm(tmp_path / "a.prm") == record


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"delete_labels": "TOP"}, TypeError),
        ({"delete_labels": ["A B"]}, SettingsError),
        ({"delete_labels": [""]}, SettingsError),
        ({"delete_labels": ["A\nLABELED 0"]}, SettingsError),
        ({"equal_labels": [("A", "B", "C")]}, SettingsError),
        ({"equal_labels": ["AB"]}, SettingsError),
        ({"cutoff_len": -1}, SettingsError),
    ],
)
def test_settings_that_make_no_sense(changes: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        EvalbSettings(**changes)


def test_the_record_is_frozen_and_hashable() -> None:
    record = EvalbSettings(delete_labels=["A"])  # type: ignore[arg-type]
    assert hash(record) == hash(EvalbSettings(delete_labels=("A",)))
    with pytest.raises(FrozenInstanceError):
        record.debug = 1  # type: ignore[misc]


@shared_folder
@given(
    raw=st.binary(max_size=100)
    | st.lists(st.sampled_from([*COLLINS.split(), "\n", " ", "#", "LABELED", "é", "9" * 5000]))
    .map(" ".join)
    .map(str.encode)
)
def test_fuzz(raw: bytes, tmp_path: Path) -> None:
    file = tmp_path / "a.prm"
    file.write_bytes(raw)
    with contextlib.suppress(DataError):
        record = read_prm(file)
        write_prm(record, tmp_path / "copy.prm")
        assert read_prm(tmp_path / "copy.prm") == record
