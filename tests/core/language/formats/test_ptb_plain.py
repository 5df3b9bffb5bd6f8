"""Lines that hold one plain tree are read at a glance: with the same outcome as piece by piece."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eigentext.errors import DataError
from eigentext.language.formats import ptb
from eigentext.language.trees.constituent import Tree

if TYPE_CHECKING:
    from pathlib import Path

PIECES = st.sampled_from(
    [
        *["(", ")", " ", "\n", "\r\n", "\t", "A", "é", "(A b)", "((A b))", "(A  b)", "(A b )"],
        *[
            "(TOP (A b))\n",
            "(S (A b) (B c))\n",
            "( (S (A b)(B c)))\n",
            ") (C",
            "(A b) c",
            "( A b)",
        ],
    ]
)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plain")


def outcome(source: str) -> tuple[list[tuple[int, Tree]], list[str], int | str]:
    """Trees and faults when reading goes on; the number of trees, or the fault, when it stops."""
    met: list[DataError] = []
    saved = list(ptb.read_numbered_trees(source, on_error=met.append))
    try:
        whole: int | str = len(list(ptb.read_trees(source)))
    except DataError as error:
        whole = str(error)
    return saved, [str(error) for error in met], whole


@given(st.lists(PIECES, max_size=8).map("".join))
@example("(A b)) (C\n(A b)\n")
@example("(S (A b)) (S (A b))\n")
@example("(S (A b)))\n(S (A b))\n")
@example("( A)\n(A b)")
def test_the_same_as_piece_by_piece(scratch: Path, text: str) -> None:
    source = scratch / "case.mrg"
    source.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ptb, "_plain_tree", lambda line: None)
        expected = outcome(str(source))
    assert outcome(str(source)) == expected


@pytest.mark.parametrize(
    "line", ["(A b)", "(S (A b) (B c))", "( (S (A b)(C (B c))))  ", "((A b))"]
)
def test_plain_lines_are_seen(line: str) -> None:
    tree = ptb._plain_tree(line.rstrip() + " " * line.endswith(" "))
    assert tree == Tree.from_brackets(line)
    assert tree == Tree(tree.labels, tree.sizes.copy())


@pytest.mark.parametrize("line", ["", "A", "(A b", "(A b))", "(A b) (C d)", "(S (A b)) c", "(A)"])
def test_other_lines_are_not(line: str) -> None:
    assert ptb._plain_tree(line) is None
