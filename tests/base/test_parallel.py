"""Items in order, over processes, with a window that does not grow."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from eigentext.base.parallel import in_order
from eigentext.errors import SettingsError


def powers(power: int, numbers: list[int]) -> list[tuple[int, int]]:
    return [(number**power, os.getpid()) for number in numbers]


def failing(_: None, numbers: list[int]) -> list[int]:
    if 7 in numbers:
        raise SettingsError("seven")
    return numbers


def test_answers_come_in_order_from_other_processes() -> None:
    found = list(in_order(powers, range(50), state=2, jobs=2, chunk=3))
    assert [item for item, _ in found] == list(range(50))
    assert [answer for _, (answer, _) in found] == [number**2 for number in range(50)]
    assert os.getpid() not in {pid for _, (_, pid) in found}


def test_one_job_stays_in_this_process_and_reads_no_further_than_it_must() -> None:
    read: list[int] = []

    def source() -> Iterator[int]:
        for number in range(100):
            read.append(number)
            yield number

    answers = in_order(powers, source(), state=1, chunk=4)
    assert next(answers) == (0, (0, os.getpid()))
    assert read == [0, 1, 2, 3]


def test_an_error_of_a_worker_is_raised_here() -> None:
    with pytest.raises(SettingsError, match="seven"):
        list(in_order(failing, range(10), state=None, jobs=2, chunk=2))


def test_no_jobs_is_refused() -> None:
    with pytest.raises(SettingsError, match="jobs is 0, expected a whole number of at least 1"):
        list(in_order(powers, [1], state=1, jobs=0))
