"""The most that is done at once is still done, and one more is refused."""

from __future__ import annotations

import pytest

from eigentext.studio.service.limits import TooMuchError, check_length, check_parsing
from eigentext.studio.service.settings import ServiceSettings

LIMITS = ServiceSettings(max_characters=10, max_trees=3, max_words=8, max_tree_words=24)


@pytest.mark.parametrize(
    ("lengths", "kbest"), [([8], 3), ([8, 8, 8], 1), ([4, 2, 2], 3), ([1], 24), ([], 1)]
)
def test_what_is_just_within_the_limits(lengths: list[int], kbest: int) -> None:
    check_parsing(lengths, kbest, LIMITS)


@pytest.mark.parametrize(
    ("lengths", "kbest", "why"),
    [
        ([9], 1, "a sentence has 9 words; at most 8"),
        ([1, 1, 1, 1], 1, "found 4 sentences; at most 3"),
        ([5], 5, "5 words times 5 trees are 25; at most 24"),
        ([8, 8, 8], 2, "24 words times 2 trees are 48; at most 24"),
    ],
)
def test_one_more_is_refused(lengths: list[int], kbest: int, why: str) -> None:
    with pytest.raises(TooMuchError, match=why):
        check_parsing(lengths, kbest, LIMITS)


def test_the_length_of_a_text() -> None:
    check_length("x" * 10, LIMITS.max_characters)
    with pytest.raises(TooMuchError, match="11 characters; at most 10"):
        check_length("x" * 11, LIMITS.max_characters)
