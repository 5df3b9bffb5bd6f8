"""Settings as people write them."""

from __future__ import annotations

import pytest

from eigentext.counting.contexts import Contexts, parse_contexts
from eigentext.counting.memory import Budget, parse_memory
from eigentext.errors import SettingsError


@pytest.mark.parametrize(
    ("setting", "positions", "bag"),
    [
        ("r1", (1,), 0),
        ("bigrams", (1,), 0),
        ("R2", (1, 2), 0),
        ("l2", (-2, -1), 0),
        ("lr1", (-1, 1), 0),
        ("LR2", (-2, -1, 1, 2), 0),
        ("-2,-1,+1", (-2, -1, 1), 0),
        (" +1 , -3 ", (1, -3), 0),
        ("bag5", (), 5),
        ("unigrams", (), 0),
        ([-1, 2], (-1, 2), 0),
        (Contexts((3,)), (3,), 0),
    ],
)
def test_settings(setting, positions, bag):
    contexts = parse_contexts(setting)
    assert contexts == Contexts(positions, bag)
    assert parse_contexts(str(contexts)) == contexts  # the name in the model file leads back


@pytest.mark.parametrize(
    "setting",
    [
        "",
        "r",
        "r0",
        "lr",
        "rl2",
        "bag",
        "bag0",
        "0",
        "1,1",
        "+-1",
        "1,,2",
        "1.5",
        "lr99999",
        "9999",
        [],
        [0],
        [1, 1],
        [1.5],
        [5000],
        Contexts((1,), 2),
        "١",
        "bag٢",
    ],
)
def test_bad_settings(setting):
    with pytest.raises(SettingsError, match="contexts"):
        parse_contexts(setting)


def test_only_distances_are_counted():
    assert parse_contexts("-3,-1,+1").spans == ((1, 1), (3, 3))
    assert parse_contexts("bag4").spans == ((1, 4),)
    assert parse_contexts("unigrams").spans == ()
    assert parse_contexts("unigrams").farthest == 0


@pytest.mark.parametrize(
    ("setting", "size"),
    [
        ("2GB", 2 * 10**9),
        ("2gb", 2 * 10**9),
        ("1GiB", 2**30),
        ("0.5 G", 5 * 10**8),
        ("64m", 64 * 10**6),
        (10**9, 10**9),
        ("1t", 10**12),
    ],
)
def test_memory(setting, size):
    assert parse_memory(setting) == size


@pytest.mark.parametrize("setting", ["", "GB", "2XB", "-1GB", "2 G B", "1e9", "nan", 5, "31MB"])
def test_bad_memory(setting):
    with pytest.raises(SettingsError, match="memory"):
        parse_memory(setting)


@pytest.mark.parametrize("memory", ["32MB", "200MB", "2GB", "1TB"])
@pytest.mark.parametrize("jobs", [1, 2, 64])
def test_the_shares_add_up_to_less_than_the_setting(memory, jobs):
    budget = Budget.share_out(memory, jobs)
    size = parse_memory(memory)
    reading = jobs * (140 * budget.segment_types + 4 * budget.segment_tokens) + budget.kept_bytes
    pairs = 28 * budget.batch_pairs + 2 * budget.run_bytes + budget.kept_bytes
    floor = 150_000 * jobs  # the smallest segment that is of use
    assert reading <= size + floor
    assert pairs <= size
    assert budget.batch_pairs < 2**31
