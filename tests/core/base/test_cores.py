"""All cores, one answer: threads over fixed blocks."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from eigentext.base.cores import (
    available_cores,
    beside,
    cores_in_use,
    device_in_use,
    each,
    in_turn,
    is_idle,
    row_blocks,
    using_cores,
    using_device,
)
from eigentext.errors import SettingsError
from eigentext.linalg.ties import single_threaded


def test_results_stand_in_the_order_of_the_items_whichever_is_done_first():
    first_may_end = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            assert first_may_end.wait(30)
        else:
            first_may_end.set()
        return 10 * item

    with using_cores(2):
        assert each(work, range(2)) == [0, 10]  # with one thread the first would wait for ever


def test_work_inside_a_worker_stays_in_its_thread():
    def outer(_: int) -> tuple[int, bool]:
        here = threading.get_ident()
        return cores_in_use(), all(
            t == here for t in each(lambda _: threading.get_ident(), [1, 2])
        )

    with using_cores(3):
        assert cores_in_use() == 3
        assert each(outer, range(6)) == [(1, True)] * 6


def test_the_number_of_cores_is_that_of_the_innermost_and_comes_back():
    with using_cores(2):
        with using_cores(1):
            assert cores_in_use() == 1
            assert each(lambda _: threading.current_thread(), [0]) == [threading.current_thread()]
        assert cores_in_use() == 2
    assert cores_in_use() == 1
    with pytest.raises(SettingsError, match="jobs is 0"), using_cores(0):
        pass


def test_the_first_error_in_the_order_of_the_items_is_raised():
    def work(item: int) -> int:
        raise ValueError(str(item))

    with using_cores(2), pytest.raises(ValueError, match=r"^0$"):
        each(work, range(8))


def test_the_first_error_is_raised_also_where_both_fail():
    other_begun = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            assert other_begun.wait(30)
        other_begun.set()
        raise ValueError(str(item))

    with using_cores(2), pytest.raises(ValueError, match=r"^0$"):
        each(work, range(2))


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_results_come_in_turn_and_few_are_held(cores):
    begun = []

    def work(item: int) -> int:
        begun.append(item)
        return item

    with using_cores(cores):
        for at, result in enumerate(in_turn(work, range(40))):
            assert result == at
            assert max(begun) <= at + 2 * cores


def test_an_error_ends_the_turn():
    def work(item: int) -> int:
        if item == 3:
            raise ValueError(str(item))
        return item

    with using_cores(2):
        results = in_turn(work, range(40))
        assert [next(results) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(ValueError, match=r"^3$"):
            next(results)


def test_work_beside_goes_on_while_other_work_is_done():
    may_end = threading.Event()

    def long() -> bool:
        return may_end.wait(30)

    with using_cores(2):
        answer = beside(long)
        assert not any(map(is_idle, threading.enumerate()))
        each(lambda _: may_end.set(), [0])  # the other thread
        assert answer()
        others = set(threading.enumerate()) - {threading.current_thread()}
        assert any(map(is_idle, others))


def test_work_beside_is_done_when_asked_for_if_there_is_one_core():
    done: list[int] = []
    answer = beside(lambda: done.append(threading.get_ident()))
    assert not done
    answer()
    assert done == [threading.get_ident()]


def test_an_error_of_work_beside_is_raised_where_its_answer_is_asked_for():
    def failing() -> None:
        raise ValueError("aside")

    with using_cores(2):
        answer = beside(failing)
        with pytest.raises(ValueError, match="aside"):
            answer()


@pytest.mark.parametrize(("n_rows", "size"), [(0, 3), (1, 3), (3, 3), (10, 3)])
def test_blocks_cover_every_row_once(n_rows, size):
    rows = np.arange(n_rows)
    blocks = row_blocks(n_rows, size)
    assert [*rows] == [row for block in blocks for row in rows[block]]
    assert all(0 < block.stop - block.start <= size for block in blocks)


def test_there_is_at_least_one_core():
    assert available_cores() >= 1


def test_threads_hold_the_libraries_to_one_thread_until_the_last_has_left():
    """A fit that ends must not give other threads' libraries more threads in the middle."""

    def limits() -> set[int]:
        return {library["num_threads"] for library in threadpool_info()}

    before = limits()
    inside, leave = threading.Event(), threading.Event()
    seen: list[set[int]] = []

    def first() -> None:
        with single_threaded():
            inside.set()
            assert leave.wait(30)
            seen.append(limits())

    thread = threading.Thread(target=first)
    thread.start()
    assert inside.wait(30)
    with single_threaded():
        assert limits() == {1}
    leave.set()
    thread.join()
    assert seen == [{1}]
    assert limits() == before


@pytest.mark.parametrize("way", [each, lambda f, items: list(in_turn(f, items))])
def test_threads_have_the_device_that_is_in_use(way):
    with using_device("auto"), using_cores(2):
        assert way(lambda _: device_in_use(), range(8)) == ["auto"] * 8


def test_a_thread_that_works_in_turn_is_not_idle():
    may_end = threading.Event()

    def work(item: int) -> int:
        assert item == 0 or may_end.wait(30)
        return item

    with using_cores(2):
        results = in_turn(work, range(5))
        assert next(results) == 0  # and others are under way
        workers = [t for t in threading.enumerate() if t.name.startswith("eigentext")]
        assert workers
        assert not any(map(is_idle, workers))
        may_end.set()
        assert list(results) == [1, 2, 3, 4]
        assert all(map(is_idle, workers))
